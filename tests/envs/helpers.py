"""What the environment tests share: a small cloth that steps in microseconds, and exact comparison of results."""

import importlib
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.testing import assert_array_equal

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.modes import PIXEL_MODES
from pbd_gym.registry import ENTRIES, find
from pbd_gym.training.agents.policies import shipped_ids

ID = "PBDCloth-v0"
UNTRAINED = next(entry.id for entry in ENTRIES if entry.id not in shipped_ids())
"""An id without a bundled agent."""
SMALL: dict[str, Any] = {"rows": 4, "columns": 4, "settle_time": 0.5}
"""A cloth of 16 particles: what these tests are about does not depend on its size."""
TOWEL: dict[str, Any] = {"rows": 5, "columns": 5, "substeps": 8, "starts": 5}
"""The like for the cloth tasks of the suite."""
CUP: dict[str, Any] = {"particles": 30, "starts": 5, "settle_time": 0.4}
"""The like for the water tasks."""
CUPS: dict[str, dict[str, Any]] = {
    "PBDPassWater-v0": CUP,
    "PBDPourWater-v0": CUP,
    "PBDPourWaterAmount-v0": CUP,
    "PBDPourSoup-v0": {**CUP, "tofu_side": 0.01},
    "PBDPourLine-v0": CUP,
}
"""The water tasks, whose cups do not grow."""
SMALL_OF: dict[str, dict[str, Any]] = {
    "PBDCloth-v0": SMALL,
    "PBDRope-v0": {"particles": 9, "starts": 4, "settle_time": 0.2},
    "PBDSoftBody-v0": {"resolution": 1, "settle_time": 0.2},
    "PBDPendulum-v0": {"substeps": 10},
    "PBDClothFlatten-v0": TOWEL,
    "PBDClothFlattenPickPlace-v0": TOWEL,
    "PBDClothFold-v0": TOWEL,
    "PBDClothFoldPickPlace-v0": TOWEL,
    "PBDClothFoldDiagonal-v0": TOWEL,
    "PBDClothFoldDrop-v0": TOWEL,
    "PBDClothFoldCrumpled-v0": TOWEL,
    "PBDClothDrop-v0": TOWEL,
    "PBDClothUnfold-v0": TOWEL,
    "PBDClothHang-v0": TOWEL,
    "PBDClothFoldTwice-v0": TOWEL,
    "PBDClothFoldTwiceCrumpled-v0": TOWEL,
    "PBDClothFoldCrumpledPicture-v0": TOWEL,
    "PBDClothHangThree-v0": TOWEL,
    "PBDClothClutter-v0": TOWEL,
    "PBDManipulation-v0": TOWEL,
    "PBDTShirtFold-v0": {"spacing": 0.1, "substeps": 8, "starts": 2},
    "PBDRopeStraighten-v0": {"particles": 9, "substeps": 8, "starts": 5},
    "PBDRopeShape-v0": {"particles": 11, "substeps": 8, "starts": 5},
    "PBDRopeTie-v0": {"particles": 33, "substeps": 16, "starts": 5},
    "PBDRopeUntie-v0": {"particles": 33, "substeps": 16, "starts": 5},
    "PBDSoftLift-v0": {"resolution": 1, "substeps": 8, "starts": 5},
    "PBDSoftPush-v0": {"cells": [2, 2, 2], "substeps": 8, "starts": 5},
    "PBDSoftShape-v0": {"cells": [2, 1, 2], "substeps": 8, "starts": 5},
    "PBDRopePush-v0": {"particles": 9, "substeps": 8, "starts": 5},
    "PBDRopeWhip-v0": {"particles": 9, "substeps": 8, "starts": 5},
    **CUPS,
}
"""The like for every id: a new id needs a line here, and then all of the API tests are run on it."""
LOOSE: dict[str, Any] = {
    **SMALL, "settle_time": 0.0, "damping": 0.0,
    "stretch_compliance": 1e6, "shear_compliance": 1e6, "bend_compliance": 1e6,
}  # fmt: skip
"""A cloth whose threads are too soft to be felt: its particles fall freely and can be put anywhere."""


def modes_of(env_id: str) -> list[tuple[str, str]]:
    """Action and observation modes that a task takes; those of an id that stands for one mode are its own.

    One id has every pair of them, and its pictures one by one. The others have every mode, each once with the first of
    the other sort: what is seen does not depend on how one acts. Their pictures come all at once.
    """
    entry = find(env_id)
    module, name = entry.vector.split(":")
    task = getattr(importlib.import_module(module), name)
    actions = [entry.kwargs["action_mode"]] if "action_mode" in entry.kwargs else task.action_modes
    states = [obs for obs in task.obs_modes if obs not in PIXEL_MODES] or list(task.obs_modes[:1])
    if env_id == ID:
        once = ("reduced", "memory")
        pairs = [(action, obs) for action in actions for obs in states if obs not in once]
        return [*pairs, *((actions[0], obs) for obs in task.obs_modes if obs in (*once, *PIXEL_MODES))]
    return [*((action, states[0]) for action in actions), *((actions[0], obs) for obs in (*states[1:], "rgbd"))]


MODES = modes_of(ID)
AUTORESET = ["NextStep", "SameStep", "Disabled"]


def make_vec(num_envs: int = 1, **kwargs: Any) -> TaskVectorEnv:
    env = gym.make_vec(ID, num_envs, **{**SMALL, **kwargs})
    assert isinstance(env, TaskVectorEnv)
    return env


def random_actions(env: TaskVectorEnv, steps: int, seed: int = 0, num_envs: int | None = None) -> np.ndarray:
    """Return actions in [-1, 1], shape (steps, num_envs, size), float32."""
    shape = (steps, num_envs or env.num_envs, env.actions.size)
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def assert_same(a: Any, b: Any, where: str = "") -> None:
    """Fail unless two nested results have the same keys and values, bit for bit once they are in one precision."""
    if isinstance(a, dict):
        assert isinstance(b, dict), where
        assert a.keys() == b.keys(), f"{where}: {sorted(a.keys() ^ b.keys())}"
        for key in a:
            assert_same(a[key], b[key], f"{where}/{key}")
    elif isinstance(a, tuple):
        assert isinstance(b, tuple) and len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{where}/{i}")
    elif isinstance(a, np.ndarray) and a.dtype == object:
        assert b.dtype == object and a.shape == b.shape, where
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{where}/{i}")
    elif a is None or b is None:
        assert a is None and b is None, where
    else:
        assert np.asarray(a).dtype.kind == np.asarray(b).dtype.kind, where
        assert_array_equal(a, b, err_msg=where, strict=False)


def assert_same_step(a: Any, b: Any, where: str = "") -> None:
    """Fail unless two results of a step or reset are the same, infos where their masks say that there is one."""
    assert_same(a[:-1], b[:-1], where)
    assert_same(_masked(a[-1]), _masked(b[-1]), where)


def _masked(info: dict[str, Any]) -> dict[str, Any]:
    """Return an info with nothing in the rows that its masks leave out."""
    found: dict[str, Any] = {}
    for key, value in info.items():
        if f"_{key}" in info and isinstance(value, np.ndarray):
            blank: Any = None if value.dtype == object else np.zeros_like(value)
            value = np.where(info[f"_{key}"], value, blank)
        found[key] = _masked(value) if isinstance(value, dict) else value
    return found


def rows_of(result: Any, rows: Any) -> Any:
    """Return some rows of every array of a nested result."""
    if isinstance(result, dict):
        return {key: rows_of(value, rows) for key, value in result.items()}
    if isinstance(result, tuple):
        return tuple(rows_of(value, rows) for value in result)
    return result[rows]


def named(info: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return the infos ``prefix/name`` by name."""
    return {key.removeprefix(f"{prefix}/"): value for key, value in info.items() if key.startswith(f"{prefix}/")}


def roll(env: TaskVectorEnv, actions: np.ndarray) -> list[Any]:
    """Step through actions and return what every step gave."""
    return [env.step(a) for a in actions]


def poison(batch: TaskVectorEnv, env: int, value: float = np.nan, what: str = "velocities", particle: int = 5) -> None:
    """Spoil one number of one environment."""
    group, lane = divmod(env, batch.model.lanes)
    getattr(batch.state, f"{what}_scalar").numpy()[group, particle, 1, lane] = value


def start_observation(env: TaskVectorEnv, rows: np.ndarray) -> Any:
    """Return what a reset of the given environments would show; the environment itself is left as it was."""
    saved = env.get_state()
    observation, _ = env.reset(options={"reset_mask": rows})
    env.set_state(saved)
    return observation
