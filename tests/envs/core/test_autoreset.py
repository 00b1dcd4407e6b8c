"""The three ways of beginning anew, each against Gymnasium's own SyncVectorEnv of our single environment."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.testing import assert_array_equal

from tests.envs.helpers import (
    AUTORESET,
    ID,
    SMALL,
    assert_same,
    assert_same_step,
    make_vec,
    named,
    poison,
    random_actions,
    rows_of,
    start_observation,
)

LIMIT = 7
COUNT = 5


def make_pair(mode: str, **kwargs: Any) -> tuple[Any, Any]:
    """Return a batch, and Gymnasium's vector environment of as many single ones."""
    ours = make_vec(COUNT, max_episode_steps=LIMIT, autoreset_mode=mode, **kwargs)
    theirs = gym.make_vec(
        ID, COUNT, vectorization_mode="sync", vector_kwargs={"autoreset_mode": AutoresetMode(mode)},
        max_episode_steps=LIMIT, **{**SMALL, **kwargs},
    )  # fmt: skip
    assert isinstance(theirs, SyncVectorEnv)
    return ours, theirs


@pytest.mark.parametrize("mode", AUTORESET)
@pytest.mark.parametrize(("obs_mode", "action_mode"), [("keypoints", "drag"), ("goal", "picker"), ("particles", "pin")])
def test_equals_gymnasium(mode: str, obs_mode: str, action_mode: str) -> None:
    """Guards observations, rewards, ends, infos and masks, bit for bit, over episodes that end at different times.

    Environments are spoiled now and then, in both, so that they are terminated out of step with the time limit: alone,
    several at once, at the time limit, twice in a row, and on the step on which they are reset anyway.
    """
    ours, theirs = make_pair(mode, obs_mode=obs_mode, action_mode=action_mode)
    assert_same_step(ours.reset(seed=11), theirs.reset(seed=11))
    spoil = {3: [0], 4: [0, 2], 5: [2], 9: [1, 4], 12: [3], 20: [0, 1, 2, 3, 4], 25: [2], 26: [2]}
    ends: list[np.ndarray] = []
    for step, action in enumerate(random_actions(ours, 50)):
        for env in spoil.get(step, []):
            poison(ours, env)
            poison(theirs.envs[env].unwrapped.batch, 0)
        result = ours.step(action)
        assert_same_step(result, theirs.step(action), f"step {step}")
        ends.append(result[2] | result[3])
        if mode == "Disabled" and ends[-1].any():
            options = {"reset_mask": ends[-1]}
            assert_same_step(ours.reset(options=options), theirs.reset(options=dict(options)), f"reset {step}")
    assert ours.buffers.read("episode").min() > 4
    assert (np.any(ends, axis=1) & ~np.all(ends, axis=1)).sum() > 5  # environments did fall out of step


def test_next_step() -> None:
    """Guards what learners rely on: the step after an end takes no action, pays nothing, and shows the next start."""
    env = make_vec(3, max_episode_steps=LIMIT)
    env.reset(seed=0)
    actions = random_actions(env, LIMIT + 1)
    for action in actions[:LIMIT]:
        _, _, terminated, truncated, _ = env.step(action)
    assert truncated.all() and not terminated.any()
    saved = env.get_state()
    expected = start_observation(env, np.ones(3, dtype=bool))
    results = []
    for action in (actions[LIMIT], np.full_like(actions[0], -1.0)):
        env.set_state(saved)
        results.append(env.step(action))
        observation, reward, terminated, truncated, info = results[-1]
        assert_array_equal(observation, expected)
        assert_array_equal(reward, 0.0)
        assert not terminated.any() and not truncated.any()
        assert not any(value.any() for value in named(info, "reward_terms").values())
    assert_same(results[0], results[1])
    env.set_state(saved)
    assert_same(results[0][4], env.reset()[1])


@pytest.mark.parametrize("obs_mode", ["keypoints", "goal"])
def test_same_step(obs_mode: str) -> None:
    """Guards final_obs and final_info: an object array with None for who goes on, and masks at every level."""
    env = make_vec(4, max_episode_steps=LIMIT, autoreset_mode="SameStep", obs_mode=obs_mode)
    env.reset(seed=0)
    goes_on = make_vec(4, autoreset_mode="Disabled", obs_mode=obs_mode)  # the same without a limit
    actions = random_actions(env, LIMIT)
    goes_on.reset(seed=0)
    for env_index in (1, 3):  # these two will reach the limit, the others are younger
        assert env.buffers["elapsed"].numpy()[env_index] == 0
    for step, action in enumerate(actions):
        if step == 3:
            for batch in (env, goes_on):
                batch.buffers["elapsed"].numpy()[[0, 2]] = 0
        observation, reward, terminated, truncated, info = env.step(action)
        last = goes_on.step(action)
    ended = np.array([False, True, False, True])
    assert_array_equal(truncated, ended)
    assert not terminated.any()
    assert_array_equal(reward, last[1])  # the reward is that of the last step, not of the reset
    for key in ("final_obs", "final_info"):
        assert_array_equal(info[f"_{key}"], ended)
    assert info["final_obs"].dtype == object and info["final_obs"].shape == (4,)
    assert info["final_obs"][0] is None and info["final_obs"][2] is None
    for row in (1, 3):
        assert_same(info["final_obs"][row], rows_of(last[0], row))
        assert env.single_observation_space.contains(info["final_obs"][row])
    assert_same(rows_of(observation, ~ended), rows_of(last[0], ~ended))
    final, terms = info["final_info"], named(info["final_info"], "reward_terms")
    for name in ("performance", "normalized_performance", "is_success", "diverged"):
        assert_array_equal(final[f"_{name}"], ended)
        assert_array_equal(final[name][ended], last[4][name][ended])
        assert not final[name][~ended].any()
    for name in env.task.score.term_names:
        assert_array_equal(final[f"_reward_terms/{name}"], ended)
        assert_array_equal(terms[name][ended], last[4][f"reward_terms/{name}"][ended])
        assert_array_equal(info[f"reward_terms/{name}"], np.where(ended, 0.0, last[4][f"reward_terms/{name}"]))
    assert_array_equal(info["normalized_performance"][ended], 0.0)
    # What comes back is the start of the next episode, as reset would show it.
    env.buffers["episode"].numpy()[ended] -= 1
    assert_same(rows_of(observation, ended), rows_of(env.reset(options={"reset_mask": ended})[0], ended))


def test_nothing_in_masked_rows() -> None:
    """Guards against numbers that mean nothing: Gymnasium leaves zeros where a mask says there is no value."""
    env = make_vec(3, autoreset_mode="SameStep")
    env.reset(seed=0)
    poison(env, 1)
    info = env.step(random_actions(env, 1)[0])[4]
    terms, final = named(info, "reward_terms"), named(info["final_info"], "reward_terms")
    for name in env.task.score.term_names:
        assert_array_equal(terms[name] == 0.0, [False, True, False])
        assert_array_equal(final[name][[0, 2]], 0.0)


def test_disabled_refuses_to_step_over_an_end() -> None:
    """Guards that no environment is stepped past its end, not even among others that may go on."""
    env = make_vec(3, max_episode_steps=LIMIT, autoreset_mode="Disabled")
    env.reset(seed=0)
    actions = random_actions(env, LIMIT + 1)
    for action in actions[:LIMIT]:
        env.step(action)
    saved = env.get_state()
    with pytest.raises(gym.error.ResetNeeded, match="reset_mask"):
        env.step(actions[LIMIT])
    assert_same(saved, env.get_state())
    env.reset(options={"reset_mask": np.array([True, False, True])})
    with pytest.raises(gym.error.ResetNeeded):
        env.step(actions[LIMIT])
    env.reset(options={"reset_mask": np.array([False, True, False])})
    env.step(actions[LIMIT])


@pytest.mark.parametrize("mode", AUTORESET)
@pytest.mark.parametrize("seed", [None, 5])
def test_partial_reset(mode: str, seed: int | None) -> None:
    """Guards that a partial reset touches none of the others, now or later, and leaves the caller's dict alone."""
    env, control = (make_vec(COUNT, autoreset_mode=mode) for _ in range(2))
    actions = random_actions(env, 20)
    mask = np.array([False, True, False, False, True])
    env.reset(seed=0)
    control.reset(seed=0)
    for action in actions[:6]:
        before = env.step(action)
        control.step(action)
    options = {"reset_mask": mask}
    observation, info = env.reset(seed=seed, options=options)
    assert set(options) == {"reset_mask"} and options["reset_mask"] is mask
    assert_array_equal(mask, [False, True, False, False, True])
    assert_array_equal(observation[~mask], before[0][~mask])
    assert (observation[mask] != before[0][mask]).any(axis=1).all()
    for name in ("performance", "normalized_performance", "is_success", "diverged"):
        assert_array_equal(info[f"_{name}"], mask)
        assert not info[name][~mask].any()
    assert (info["performance"][mask] < 0).all()
    assert not any(value.any() for value in named(info, "reward_terms").values())
    if seed is not None:
        assert_array_equal(observation[mask], make_vec(COUNT).reset(seed=seed)[0][mask])
    for action in actions[6:]:
        assert_same(rows_of(env.step(action)[:4], ~mask), rows_of(control.step(action)[:4], ~mask))


def test_full_reset_ends_everything() -> None:
    """Guards that a reset in the middle of an episode restarts clocks: no early truncation, no pending autoreset."""
    for mode in AUTORESET:
        env = make_vec(2, max_episode_steps=LIMIT, autoreset_mode=mode)
        env.reset(seed=0)
        actions = random_actions(env, LIMIT)
        for action in actions[: LIMIT - 1]:
            env.step(action)
        env.reset()
        for step, action in enumerate(actions):
            _, _, _, truncated, _ = env.step(action)
            assert truncated.all() == (step == LIMIT - 1), mode
        env.reset()
        _, reward, _, truncated, info = env.step(actions[0])
        assert (reward != 0.0).all() and not truncated.any() and info["reward_terms/distance"].all(), mode
