"""The planner: it finds what is known to be best, repeats itself, and leaves the environment that it acts in alone."""

import dataclasses
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.tools.planning import CEMPlanner, CEMSettings, twin
from pbd_gym.registry import ENTRIES
from tests.envs.helpers import SMALL_OF, assert_same

QUICK = CEMSettings(candidates=24, iterations=2, elites=5, horizon=8, replan_every=4, knot_every=4)


def make(env_id: str, num_envs: int, **kwargs: Any) -> TaskVectorEnv:
    env = gym.make_vec(env_id, num_envs, **{**SMALL_OF[env_id], **kwargs})
    assert isinstance(env, TaskVectorEnv)
    return env


def act(env: TaskVectorEnv, planner: CEMPlanner, steps: int) -> tuple[np.ndarray, dict[str, Any]]:
    """Do some steps of a planner; return its actions, shape (steps, num_envs, size), and the last info."""
    actions, info = [], {}
    for _ in range(steps):
        actions.append(planner.actions())
        info = env.step(actions[-1])[4]
    return np.array(actions), info


@pytest.mark.parametrize(
    ("env_id", "steps", "least"),
    [("PBDCloth-v0", 60, 0.8), ("PBDRopeStraighten-v0", 16, 0.95), ("PBDSoftPush-v0", 24, 0.9)],
)
def test_it_solves_what_can_be_solved(env_id: str, steps: int, least: float) -> None:
    """Guards the method: from the same states, a plan is nearly perfect in both, and chance is not."""
    at_its_ends = {"hands_at": "corners"} if env_id == "PBDRopeStraighten-v0" else {}
    env = make(env_id, 2, **at_its_ends)
    env.reset(seed=6)
    start, random = env.get_state(), np.random.default_rng(0)
    for _ in range(steps):
        chance = env.step(random.uniform(-1.0, 1.0, (2, env.actions.size)))[4]["normalized_performance"]
    env.set_state(start)
    settings = CEMSettings(candidates=64, iterations=3, elites=8, horizon=12, replan_every=2, knot_every=2)
    planner = CEMPlanner(env, settings)
    _, info = act(env, planner, steps)
    assert (info["normalized_performance"] > least).all()
    assert chance.min() < least - 0.4


@pytest.mark.parametrize("env_id", [entry.id for entry in ENTRIES])
def test_every_id_can_be_planned(env_id: str) -> None:
    """Guards the twin of every task, and that what was simulated for the plan is what happens, to the bit."""
    env = make(env_id, 1, reward_mode="dense")
    env.reset(seed=0)
    settings = CEMSettings(candidates=4, iterations=1, elites=2, horizon=3, replan_every=3, knot_every=1)
    planner = CEMPlanner(env, settings)
    rewards = [float(env.step(planner.actions())[1][0]) for _ in range(3)]
    assert planner.predicted[0] == np.mean(rewards) + rewards[-1]


def test_the_environment_is_not_touched() -> None:
    env = make("PBDRopeStraighten-v0", 3)
    env.reset(seed=0)
    planner = CEMPlanner(env, QUICK)
    act(env, planner, 3)
    before = env.get_state()
    while planner._done[0]:  # until it plans anew
        planner.actions()
        assert_same(env.get_state(), before)
        planner._done %= QUICK.replan_every


def test_same_seed_same_plan() -> None:
    """Guards the streams: neither the batch, nor what else is in it, nor an earlier use of the planner matters."""
    plans = []
    for num_envs, seed in ((3, 5), (1, 5), (1, 6)):
        env = make("PBDClothDrop-v0", num_envs)
        env.reset(seed=7)
        planner = CEMPlanner(env, QUICK, seed)
        plans.append(act(env, planner, 9)[0][:, 0])
        env.reset(seed=7)
        assert_array_equal(act(env, planner, 9)[0][:, 0], plans[-1])
    assert_array_equal(plans[0], plans[1])
    assert (plans[0] != plans[2]).any()


def test_only_steps_of_the_episode_count() -> None:
    """Guards the end: a plan that looks beyond it is rated by what is left, and by the last step above all."""
    env = make("PBDCloth-v0", 2, max_episode_steps=5)
    env.reset(seed=0)
    planner = CEMPlanner(env, dataclasses.replace(QUICK, iterations=1, replan_every=1, final_weight=2.0))
    rewards = []
    for _ in range(5):
        predicted_now = planner.actions(), planner.predicted.copy()
        rewards.append(env.step(predicted_now[0])[1])
        if len(rewards) == 5:
            np.testing.assert_allclose(predicted_now[1], 3.0 * rewards[-1], rtol=1e-12)
    assert len(planner.branches.state.get_positions()) == 48


def test_a_candidate_that_diverges_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make("PBDCloth-v0", 1)
    env.reset(seed=0)
    planner = CEMPlanner(env, QUICK)
    advance = planner.branches.advance

    def spoilt(actions: np.ndarray) -> Any:
        result = advance(actions)
        planner.branches.buffers.write("diverged", np.arange(24) != 3)
        planner.branches.buffers.write("reward", 1.0 - 2.0 * (np.arange(24) == 3))
        return result

    monkeypatch.setattr(planner.branches, "advance", spoilt)
    planner.actions()
    assert planner.predicted[0] == -2.0


@pytest.mark.parametrize("mode", [{"obs_mode": "goal"}, {"action_mode": "pin"}, {"randomize": {"size": (0.8, 1.2)}}])
def test_modes(mode: dict[str, Any]) -> None:
    """Guards the twin in other modes, with sparse rewards of its model (there are none) and parameters that differ."""
    env = make("PBDCloth-v0", 2, **mode)
    env.reset(seed=0)
    act(env, CEMPlanner(env, QUICK), 2)


def test_pictures_are_planned_with() -> None:
    env = make("PBDCloth-v0", 1, obs_mode="rgb", pixels={"size": 16})
    env.reset(seed=0)
    small = dataclasses.replace(QUICK, candidates=4, elites=2, horizon=2, iterations=1)
    assert CEMPlanner(env, small).branches.pixels.size == (16, 16)
    assert twin(env, 3).single_observation_space == env.single_observation_space


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [("candidates", 0, ValueError), ("horizon", 2.5, TypeError), ("elites", 300, ValueError),
     ("inertia", 1.0, ValueError), ("start_spread", np.nan, ValueError), ("final_weight", -1.0, ValueError)],
)  # fmt: skip
def test_numbers_are_checked(field: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=field):
        CEMSettings(**{field: value})
    with pytest.raises(ValueError, match="candidates must be at least 2"):
        CEMSettings(candidates=1, elites=1)
