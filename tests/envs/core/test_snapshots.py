"""get_state, set_state and branch: nothing of the future is lost, and a bad snapshot changes nothing."""

import io
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from tests.envs.helpers import (
    AUTORESET,
    ID,
    LOOSE,
    MODES,
    SMALL,
    SMALL_OF,
    assert_same,
    assert_same_step,
    make_vec,
    poison,
    random_actions,
    roll,
    rows_of,
)

LIMIT = 8


def through_file(saved: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Write a snapshot and read it back, without pickle."""
    file = io.BytesIO()
    np.savez(file, **saved)  # type: ignore[arg-type]
    file.seek(0)
    with np.load(file, allow_pickle=False) as loaded:
        return dict(loaded)


@pytest.mark.parametrize("autoreset_mode", AUTORESET[:2])
@pytest.mark.parametrize(("action_mode", "obs_mode"), MODES)
def test_continuation(action_mode: str, obs_mode: str, autoreset_mode: str) -> None:
    """Guards everything the future depends on: holds, grips, clocks, streaks, pending resets and random streams.

    The snapshot is taken on the step after which an autoreset is due, and restored into this batch and a fresh one.
    """
    kwargs = {"action_mode": action_mode, "obs_mode": obs_mode, "autoreset_mode": autoreset_mode}
    env, fresh = (make_vec(5, max_episode_steps=LIMIT, **kwargs) for _ in range(2))
    env.reset(seed=0)
    actions = random_actions(env, 3 * LIMIT)
    roll(env, actions[:LIMIT])
    saved = through_file(env.get_state())
    expected = [*roll(env, actions[LIMIT:]), env.reset()]
    for other in (env, fresh):
        other.set_state(saved)
        assert_same(saved, other.get_state())
        assert_same((*roll(other, actions[LIMIT:]), other.reset()), tuple(expected))


def test_picker_mid_grasp() -> None:
    """Guards masses: what a hand holds at the time of a snapshot is free or held again after it."""
    env = make_vec(4, action_mode="picker", **{k: v for k, v in LOOSE.items() if k not in SMALL or k == "settle_time"})
    env.reset(seed=0)
    held, free = np.zeros((2, 4, 8), dtype=np.float32)
    held[:, [3, 7]] = 1.0
    free[:, 0] = 0.3
    env.step(held)
    saved = env.get_state()
    first = roll(env, np.array([held, held, free]))
    fallen = env.get_state()
    assert (saved["physics.held"] >= 0).all() and (fallen["physics.held"] < 0).all()
    env.set_state(saved)
    assert_same(tuple(roll(env, np.array([held, held, free]))), tuple(first))
    then = roll(env, np.array([free, free]))
    env.set_state(fallen)
    assert_same(tuple(roll(env, np.array([free, free]))), tuple(then))


def test_single() -> None:
    """Guards the view of one environment."""
    env = gym.make(ID, action_mode="picker", **SMALL)
    env.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-1, 1, (20, 8)).astype(np.float32)
    for action in actions[:10]:
        env.step(action)
    saved = through_file(env.unwrapped.get_state())  # type: ignore[attr-defined]
    expected = [env.step(action) for action in actions[10:]] + [env.reset()]
    env.unwrapped.set_state(saved)  # type: ignore[attr-defined]
    for now, then in zip([env.step(action) for action in actions[10:]] + [env.reset()], expected, strict=True):
        assert_same(now, then)


def test_branch() -> None:
    """Guards planners: copies of an environment do what it would have done, in later episodes as well."""
    rows = np.array([3, 3, 0, 18, 3, *range(5, 20)])
    env, twin = (make_vec(20, max_episode_steps=LIMIT) for _ in range(2))
    actions = random_actions(env, 2 * LIMIT)
    for batch in (env, twin):
        batch.reset(seed=0)
        roll(batch, actions[:5])
    env.branch(rows)
    for action in actions[5:]:
        result = env.step(action[rows])
        expected = twin.step(action)
        assert_same_step(result, rows_of(expected, rows))


def test_rows_of_another_batch() -> None:
    """Guards snapshots of a batch of another size, whose lanes are laid out differently."""
    large, small = make_vec(50), make_vec(2)
    large.reset(seed=0)
    actions = random_actions(large, 10)
    roll(large, actions[:5])
    rows = np.array([41, 7])
    small.set_state(large.get_state(), rows)
    for action in actions[5:]:
        assert_same(small.step(action[rows])[:4], rows_of(large.step(action)[:4], rows))
    single = make_vec(1)
    single.set_state(large.get_state())  # by default its own row, the first
    assert_array_equal(single.get_state()["physics.positions"], large.get_state()["physics.positions"][:1])


def test_snapshot_is_a_copy() -> None:
    """Guards against views: a snapshot must not follow the environment, nor the environment the snapshot."""
    env = make_vec(1)
    env.reset(seed=0)
    saved = env.get_state()
    kept = {name: value.copy() for name, value in saved.items()}
    action = random_actions(env, 1)[0]
    env.step(action)
    assert_same(saved, kept)
    env.set_state(saved)
    for value in saved.values():
        value[...] = 0
    assert_same(env.get_state(), kept)


def _without(name: str) -> Any:
    return lambda saved: {key: value for key, value in saved.items() if key != name}


def _with(name: str, change: Any) -> Any:
    return lambda saved: {**saved, name: change(saved[name])}


BAD_SNAPSHOTS = {
    "no positions": _without("physics.positions"),
    "no seed": _without("episode.seed"),
    "empty": lambda saved: {},
    "too few particles": _with("physics.positions", lambda a: a[:, :-1]),
    "too few grips": _with("physics.held", lambda a: a[:, :-1]),
    "too few rows": _with("episode.goals", lambda a: a[:2]),
}
POISONED_SNAPSHOTS = {
    "nan in velocities": _with("physics.velocities", lambda a: np.full_like(a, np.nan)),
    "particle that does not exist": _with("physics.held", lambda a: np.full_like(a, 10_000)),
    "one particle in two hands": _with("physics.held", lambda a: np.zeros_like(a)),
}


def check_refused(change: Any) -> None:
    """Fail unless a changed snapshot is refused and the environment then goes on as if nothing had been."""
    env = make_vec(4)
    env.reset(seed=0)
    roll(env, random_actions(env, 3))
    saved = change(env.get_state())
    roll(env, random_actions(env, 3, seed=1))
    before = env.get_state()
    with pytest.raises(ValueError):
        env.set_state(saved)
    assert_same(env.get_state(), before)


@pytest.mark.parametrize("name", BAD_SNAPSHOTS)
def test_bad_snapshot(name: str) -> None:
    """Guards that a snapshot of something else is refused whole."""
    check_refused(BAD_SNAPSHOTS[name])


@pytest.mark.parametrize("name", POISONED_SNAPSHOTS)
def test_poisoned_snapshot(name: str) -> None:
    """Guards that contents are checked before anything is loaded."""
    check_refused(POISONED_SNAPSHOTS[name])


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros(3, dtype=int), np.zeros((4, 1), dtype=int), np.zeros(4), np.array([0, 1, 2, 4]),
        np.array([0, 1, 2, -1]), np.array([True, False, True, False]), np.zeros(0, dtype=int),
    ],
)  # fmt: skip
def test_bad_rows(rows: np.ndarray) -> None:
    """Guards against NumPy's kindness: negative and boolean rows would quietly mean something else."""
    env = make_vec(4)
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(ValueError, match="rows must"):
        env.branch(rows)
    assert_same(env.get_state(), before)


@pytest.mark.parametrize("other", [{"action_mode": "picker"}, {"obs_mode": "particles"}, {"rows": 5}])
def test_snapshot_of_another_mode(other: dict[str, Any]) -> None:
    """Guards against snapshots that would fit in part."""
    env = make_vec(2)
    env.reset(seed=0)
    stranger = make_vec(2, **other)
    stranger.reset(seed=0)
    before = env.get_state()
    with pytest.raises(ValueError, match="not a state of this environment"):
        env.set_state(stranger.get_state())
    assert_same(env.get_state(), before)


def test_snapshot_of_a_larger_bank() -> None:
    """Guards memory: the next episode would begin from a start state that is not there."""
    small, large = (gym.make_vec("PBDRope-v0", 2, **{**SMALL_OF["PBDRope-v0"], "starts": n}) for n in (4, 9))
    assert isinstance(small, TaskVectorEnv) and isinstance(large, TaskVectorEnv)
    small.reset(seed=0)
    large.reset(seed=0, options={"variation": 1})
    before = small.get_state()
    with pytest.raises(ValueError, match="more start states than the 4 there are here"):
        small.set_state(large.get_state())
    assert_same(small.get_state(), before)
    large.set_state(before)


def test_restoring_undoes_a_divergence() -> None:
    """Guards that neither NaNs nor the end they cause outlive a return to an earlier state."""
    env = make_vec(3)
    env.reset(seed=0)
    actions = random_actions(env, 6)
    roll(env, actions[:3])
    saved = env.get_state()
    expected = roll(env, actions[3:])
    env.set_state(saved)
    poison(env, 1)
    assert env.step(actions[3])[2][1]
    env.set_state(saved)
    assert_same(tuple(roll(env, actions[3:])), tuple(expected))
