"""A saved state with one wrong array is refused by name, and changes nothing; or it is taken, and harms nothing."""

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from tests.envs.helpers import ID, SMALL_OF, assert_same, make_vec, random_actions, roll

ARRAYS: dict[str, list[str]] = {
    ID: [],
    "PBDSoftShape-v0": ["physics.memory", "episode.measures"],
    "PBDSoftLift-v0": ["physics.poses"],
    "PBDRopeWhip-v0": ["episode.closest"],
}
"""All arrays of a task with grips; of others what it has not: permanent strains, poses, and numbers of their own."""
FLOATS = [0.0, -1.0, 1e10, 1e30, -1e30, np.nan, np.inf, -np.inf]
INTEGERS = [0, -1, 5, 10**6, 2**31 - 1, -(2**31)]


def spoiled(value: np.ndarray) -> Iterator[tuple[str, Any]]:
    """Yield what an array of a snapshot may have become, each with a name."""
    for number in FLOATS if value.dtype.kind == "f" else INTEGERS:
        yield f"all {number}", np.full_like(value, number)
        last = value.copy()
        last.reshape(-1)[-1:] = number
        yield f"last {number}", last
    yield "beyond 32 bits", np.full(value.shape, 2**33 + 1)
    yield "beyond float32", np.full(value.shape, 1e300)
    yield "NaN", np.full(value.shape, np.nan)
    for kind in (bool, complex, object, str):
        yield str(kind), value.astype(kind)
    yield "list", value.tolist()
    yield "rows of different lengths", [[1], [2, 3]]
    yield "None", None
    yield "text", "x"
    yield "a number", 0.0
    yield "one axis more", value[..., None]
    yield "no rows", value[:0]
    if value.ndim > 1:
        yield "a column less", value[:, :-1]


def bits(saved: dict[str, np.ndarray]) -> dict[str, tuple[Any, ...]]:
    """Return what is the same where two states are, which is quicker to compare."""
    return {name: (value.dtype, value.shape, value.tobytes()) for name, value in saved.items()}


@pytest.mark.parametrize("env_id", ARRAYS)
def test_spoiled_arrays(env_id: str) -> None:
    """Guards against the end of the process, and against states that are half of one and half of another.

    Episodes are short, so that what is taken is also restarted from: a ``start_count`` of 0 divided by zero there.
    """
    mode = {"action_mode": "picker"} if env_id == ID else {}
    env = gym.make_vec(env_id, 2, max_episode_steps=5, **SMALL_OF[env_id], **mode)
    assert isinstance(env, TaskVectorEnv)
    actions = random_actions(env, 9)
    env.reset(seed=0)
    roll(env, actions[:3])
    saved = env.get_state()
    roll(env, actions[3:5])
    before = env.get_state()
    unchanged = bits(before)
    for name in ARRAYS[env_id] or saved:
        refused = 0
        for what, bad in spoiled(saved[name]):
            where = f"{name}: {what}"
            if name == "physics.parameters" and not what.startswith(("last", "NaN")):
                continue  # a batch whose parameters differ compiles other kernels
            try:
                env.set_state({**saved, name: bad})
            except (TypeError, ValueError) as error:
                refused += 1
                assert name.split(".")[1] in str(error), f"{where} is refused without its name: {error}"
                assert bits(env.get_state()) == unchanged, where
                continue
            for action in actions[5:]:
                observation, reward, *_ = env.step(action)
                assert env.observation_space.contains(observation), where
                assert np.isfinite(reward).all(), where
            env.set_state(before)
            assert bits(env.get_state()) == unchanged, where
        assert refused >= 8, (name, refused)


@pytest.mark.parametrize("saved", [None, [], "state", 3])
def test_no_mapping(saved: Any) -> None:
    env = make_vec(2)
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(TypeError, match="mapping"):
        env.set_state(saved)
    assert_same(env.get_state(), before)


def test_missing_and_unknown_arrays() -> None:
    """Guards the names: each array is needed, and none is passed over in silence."""
    env = make_vec(2)
    env.reset(seed=0)
    before = env.get_state()
    for name in before:
        with pytest.raises(ValueError, match=f"{name}.*missing"):
            env.set_state({key: value for key, value in before.items() if key != name})
    with pytest.raises(ValueError, match=r"physics\.temperature.*unknown"):
        env.set_state({**before, "physics.temperature": np.zeros(2)})
    assert_same(env.get_state(), before)


BAD_NUMBERS = {
    "no start states": ("episode.start_count", 0),
    "a range of starts that overflows": ("episode.start_first", 2**31 - 1),
    "a start that is not there": ("episode.start", 1),
    "goals of NaN": ("episode.goals", np.nan),
    "goals out of sight": ("episode.goals", 1e30),
    "positions out of sight": ("physics.positions", 1e30),
    "a size of zero": ("physics.parameters", 0.0),
    "parameters of zero": ("episode.parameters", 0.0),
    "a fixed size of zero": ("episode.fixed_parameters", 0.0),
    "integers of NaN": ("episode.elapsed", np.nan),
    "a count beyond 32 bits": ("episode.elapsed", 2**32),
}


@pytest.mark.parametrize("name", BAD_NUMBERS)
def test_bad_numbers(name: str) -> None:
    """Guards each number that ended the process or spoiled the episode."""
    array, number = BAD_NUMBERS[name]
    env = make_vec(2)
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(ValueError, match=array.split(".")[1]):
        env.set_state({**before, array: np.full(before[array].shape, number)})
    assert_same(env.get_state(), before)


def test_quaternion_of_zero() -> None:
    """Guards moving colliders: a quaternion of zero turns them by NaN."""
    env = gym.make_vec("PBDSoftLift-v0", 2, **SMALL_OF["PBDSoftLift-v0"])
    assert isinstance(env, TaskVectorEnv)
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(ValueError, match="poses"):
        env.set_state({**before, "physics.poses": np.zeros_like(before["physics.poses"])})
    assert_same(env.get_state(), before)


def test_lists_are_arrays_too() -> None:
    """Guards snapshots that went through JSON: lists of numbers are taken, bit for bit."""
    env = make_vec(2)
    env.reset(seed=0)
    before = env.get_state()
    roll(env, random_actions(env, 2))
    env.set_state({name: value.tolist() if value.size else value for name, value in before.items()})  # type: ignore[misc]
    assert_same(env.get_state(), before)


def test_randomized_parameters_are_checked_and_restored() -> None:
    """Guards the bounds of what is declared, at whose ends float32 rounds, and sizes that the scene has no room for."""
    ranges = {"stiffness": (1e-6, 1e-6), "size": (0.5, 2.0)}
    env = make_vec(2, randomize=ranges)
    env.reset(seed=0)
    before = env.get_state()
    env.set_state(before)
    assert_same(env.get_state(), before)
    for array in ("episode.parameters", "episode.fixed_parameters"):
        bad = before[array].copy()
        bad[:, 0] = 3.0
        with pytest.raises(ValueError, match="size"):
            env.set_state({**before, array: bad})
    assert_same(env.get_state(), before)
