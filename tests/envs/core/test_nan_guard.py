"""An environment whose simulation fails is ended alone, in that step, and by name; its neighbours keep every bit."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from tests.envs.helpers import (
    AUTORESET,
    ID,
    SMALL,
    assert_same,
    assert_same_step,
    make_vec,
    poison,
    random_actions,
    rows_of,
)

COUNT = 20
"""More than one group of lanes."""
BAD = 3
OTHERS = np.arange(COUNT) != BAD
SPOILS = [
    ("velocities", np.nan), ("velocities", np.inf), ("velocities", -np.inf), ("velocities", 1e30),
    ("positions", np.nan), ("positions", np.inf), ("positions", 1e20),
]  # fmt: skip


def assert_shows_start(env: TaskVectorEnv, observation: Any) -> None:
    """Fail unless an observation shows the cloth as it hangs at the start, at rest, rather than clipped NaNs."""
    corners = env.start_positions[0, list(env.actions.hands.corners)]
    if isinstance(observation, dict):
        assert_array_equal(observation["achieved_goal"], corners[2:].ravel())
        observation = observation["observation"]
    assert_array_equal(observation[:12], corners.ravel())
    assert_array_equal(observation[12:24], 0.0)


@pytest.mark.parametrize("mode", AUTORESET)
@pytest.mark.parametrize(("what", "value"), SPOILS)
@pytest.mark.parametrize("obs_mode", ["keypoints", "goal"])
def test_batch(mode: str, what: str, value: float, obs_mode: str) -> None:
    """Guards the step of the failure and the episode after it, in each way of beginning anew."""
    env, control = (make_vec(COUNT, autoreset_mode=mode, obs_mode=obs_mode) for _ in range(2))
    actions = random_actions(env, 30)
    for batch in (env, control):
        batch.reset(seed=0)
    for action in actions[:5]:
        assert_same(env.step(action), control.step(action))

    poison(env, BAD, value, what)
    result, expected = env.step(actions[5]), control.step(actions[5])
    observation, reward, terminated, truncated, info = result
    assert_array_equal(terminated, ~OTHERS)
    assert not truncated.any()
    assert env.observation_space.contains(observation)
    assert -2.0 < reward[BAD] < 0.0  # it is rated where it is shown: at the start, away from the goals
    report = info["final_info"] if mode == "SameStep" else info
    shown = info["final_obs"][BAD] if mode == "SameStep" else rows_of(observation, BAD)
    assert_shows_start(env, shown)
    assert_array_equal(report["diverged"], ~OTHERS)
    assert np.isfinite(report["performance"]).all() and np.isfinite(report["normalized_performance"]).all()
    if mode == "SameStep":
        assert env.single_observation_space.contains(info["final_obs"][BAD])
        assert not info["diverged"].any()  # a new episode has begun, and it is sound
        info = {key: value for key, value in info.items() if "final" not in key}
    else:
        assert np.isfinite([info[f"reward_terms/{name}"] for name in env.task.score.term_names]).all()
        assert not info["is_success"][BAD]
    assert_same(rows_of(result[:4], OTHERS), rows_of(expected[:4], OTHERS))
    assert_same(rows_of(info, OTHERS), rows_of(expected[4], OTHERS))

    if mode == "Disabled":
        with pytest.raises(gym.error.ResetNeeded):
            env.step(actions[6])
        env.reset(options={"reset_mask": ~OTHERS})
    for step, action in enumerate(actions[6:]):
        result, expected = env.step(action), control.step(action)
        assert env.observation_space.contains(result[0])
        assert not result[2].any() and not result[4]["diverged"].any()
        resetting = mode == "NextStep" and step == 0
        assert (result[1][BAD] == 0.0) == resetting
        assert_same(rows_of(result[:4], OTHERS), rows_of(expected[:4], OTHERS))
    assert_array_equal(np.isfinite(env.state.get_velocities()), True)


@pytest.mark.parametrize(("what", "value"), SPOILS)
def test_next_episode_is_the_one_that_was_due(what: str, value: float) -> None:
    """Guards against traces of a failure: what follows is what follows a time limit, bit for bit."""
    failed, timed = make_vec(2, autoreset_mode="SameStep"), make_vec(2, autoreset_mode="SameStep")
    actions = random_actions(failed, 20)
    for env in (failed, timed):
        env.reset(seed=0)
        for action in actions[:3]:
            env.step(action)
    for row in (0, 1):
        poison(failed, row, value, what)
    assert failed.step(actions[3])[2].all()
    timed.reset()
    for action in actions[4:]:
        assert_same(failed.step(action), timed.step(action))


@pytest.mark.parametrize("particle", [0, 3, 5, 15])
def test_held_and_free_particles(particle: int) -> None:
    """Guards held particles, whose velocity is written over, and the lower corners, which are in the reward."""
    env = make_vec(2)
    env.reset(seed=0)
    poison(env, 1, np.nan, "positions", particle)
    observation, reward, terminated, _, info = env.step(random_actions(env, 1)[0])
    assert_array_equal(terminated, [False, True])
    assert_array_equal(info["diverged"], [False, True])
    assert np.isfinite(observation).all() and np.isfinite(reward).all()


@pytest.mark.parametrize("mode", AUTORESET)
def test_everything_fails_at_once(mode: str) -> None:
    """Guards batches in which nothing is left, and a failure at the time limit."""
    env = make_vec(COUNT, autoreset_mode=mode, max_episode_steps=2)
    env.reset(seed=0)
    actions = random_actions(env, 6)
    env.step(actions[0])
    for row in range(COUNT):
        poison(env, row)
    observation, _, terminated, truncated, _ = env.step(actions[1])
    assert terminated.all() and truncated.all()
    assert env.observation_space.contains(observation)
    if mode == "Disabled":
        env.reset()
    for action in actions[2:4]:
        observation, _, terminated, _, info = env.step(action)
        assert env.observation_space.contains(observation) and not terminated.any() and not info["diverged"].any()


@pytest.mark.parametrize(("what", "value"), SPOILS)
def test_single(what: str, value: float) -> None:
    """Guards the view of one environment, whose next episode is sound again."""
    env: Any = gym.make(ID, **SMALL)
    env.reset(seed=0)
    action = np.zeros(6, dtype=np.float32)
    env.step(action)
    poison(env.unwrapped.batch, 0, value, what)
    observation, reward, terminated, truncated, info = env.step(action)
    assert terminated and not truncated and info["diverged"] and not info["is_success"]
    assert env.observation_space.contains(observation) and -2.0 < reward < 0.0
    assert_shows_start(env.unwrapped.batch, observation)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(action)
    observation, info = env.reset()
    assert not info["diverged"] and env.observation_space.contains(observation)
    observation, _, terminated, _, info = env.step(action)
    assert not terminated and not info["diverged"] and env.observation_space.contains(observation)


@pytest.mark.parametrize("reward_mode", ["sparse", "dense"])
def test_failure_does_not_pay(reward_mode: str) -> None:
    """Guards the learner: a failure must not pay better than other steps, in goal mode as compute_reward says."""
    env: Any = make_vec(2, obs_mode="goal", reward_mode=reward_mode)
    env.reset(seed=0)
    poison(env, 1)
    observation, reward, *_ = env.step(np.zeros((2, 6), dtype=np.float32))
    assert_array_equal(reward, env.compute_reward(observation["achieved_goal"], observation["desired_goal"]))


def test_failure_of_an_environment_that_is_reset_anyway() -> None:
    """Guards next-step mode: what fails in the step that only resets is no end of the new episode."""
    env = make_vec(3, max_episode_steps=2)
    control = make_vec(3, max_episode_steps=2)
    actions = random_actions(env, 6)
    for batch in (env, control):
        batch.reset(seed=0)
        batch.step(actions[0])
        assert batch.step(actions[1])[3].all()
    poison(env, 1)
    for action in actions[2:]:
        assert_same_step(env.step(action), control.step(action))
