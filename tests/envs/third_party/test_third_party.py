"""The task that docs/custom_tasks.md explains, in a module outside of the package: it does all that ours do."""

from __future__ import annotations

import ast
import importlib
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from numpy.testing import assert_array_equal
from stable_baselines3.common.env_checker import check_env as check_env_sb3

import pbd_gym.envs as envs
from pbd_gym import registry
from pbd_gym.registry import find
from tests.docs.pages import ROOT

ID = "RopeRing-v0"
SMALL: dict[str, Any] = {"particles": 9, "substeps": 8, "starts": 5}


@pytest.fixture(scope="module")
def rope_ring(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("third_party")
    shutil.copy(ROOT / "docs" / "examples" / "own" / "rope_ring.py", folder)
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("rope_ring")
    finally:
        sys.path.remove(str(folder))
        for table in (registry._OTHERS, gym.registry):
            table.pop(ID, None)  # the tests that follow in this process see the package's own ids


def test_it_imports_public_names_only(rope_ring: ModuleType) -> None:
    tree = ast.parse(Path(str(rope_ring.__file__)).read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name for name in modules if str(name).startswith("pbd_gym")} == {"pbd_gym.envs"}


def test_it_is_made_by_gymnasium(rope_ring: ModuleType) -> None:
    env = gym.make("rope_ring:" + ID, **SMALL)
    assert type(env.unwrapped) is rope_ring.RopeRingEnv and isinstance(env.unwrapped, envs.TaskEnv)
    assert env.unwrapped.__doc__ == rope_ring.RopeRingVectorEnv.__doc__
    assert env.spec is not None and env.spec.max_episode_steps == 40
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert_array_equal(env.reset(seed=1)[0], again.reset(seed=1)[0])
    batch = gym.make_vec(ID, 3, **SMALL)
    assert type(batch) is rope_ring.RopeRingVectorEnv and isinstance(batch, envs.TaskVectorEnv)
    assert_array_equal(batch.reset(seed=1)[0][0], env.reset(seed=1)[0])


@pytest.mark.parametrize("modes", [{}, {"action_mode": "pick_place"}, {"obs_mode": "rgb", "pixels": {"size": 40}}])
def test_checkers(rope_ring: ModuleType, modes: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(ID, **SMALL, **modes).unwrapped)
        check_env_sb3(gym.make(ID, **SMALL, **modes).unwrapped)


def test_its_score(rope_ring: ModuleType) -> None:
    """Guards the measure: the distance of the ends, whatever the size, and what it counts."""
    env: Any = gym.make_vec(ID, 2, randomize={"size": (1.0, 2.0)}, **SMALL)
    env.reset(seed=0, options={"parameters": {"size": [1.0, 2.0]}})
    info = env.step(np.zeros(env.action_space.shape, dtype=np.float32))[4]
    ends = env.state.get_positions()[:, [0, -1]]
    distance = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) / [1.0, 2.0]
    np.testing.assert_allclose(info["performance"], -distance, rtol=1e-5)
    np.testing.assert_allclose(info["normalized_performance"], 1.0 - distance / 0.4, rtol=1e-4)


def test_expert_from_kept_starts(rope_ring: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the start bank, which is kept and taken again, and that the task can be solved."""
    monkeypatch.setenv("PBD_GYM_CACHE", str(tmp_path))
    first: Any = gym.make_vec(ID, 8, starts=40)
    (bank,) = tmp_path.iterdir()
    made = bank.stat().st_mtime_ns
    env: Any = gym.make_vec(ID, 8, starts=40)
    assert bank.stat().st_mtime_ns == made
    assert_array_equal(env.start_positions, first.start_positions)
    env.reset(seed=0, options={"split": "eval", "variation": np.arange(8)})
    for _ in range(40):
        _, _, terminated, truncated, info = env.step(env.expert())
        assert not terminated.any()
    assert truncated.all()
    assert info["normalized_performance"].mean() > 0.9 and info["is_success"].mean() >= 0.75


def test_pictures(rope_ring: ModuleType) -> None:
    pytest.importorskip("pygame")
    env = gym.make(ID, render_mode="rgb_array", render_options={"size": 64}, **SMALL)
    env.reset(seed=0)
    picture: Any = env.render()
    assert picture.shape == (64, 64, 3) and len(np.unique(picture)) > 10
    env.close()


def test_stable_baselines3(rope_ring: ModuleType) -> None:
    env = envs.make_sb3_vec_env(ID, 3, seed=0, max_episode_steps=2, **SMALL)
    env.reset()
    for _ in range(2):
        env.step_async(np.zeros((3, 8), dtype=np.float32))
        _, rewards, dones, infos = env.step_wait()
    assert dones.all() and rewards.dtype == np.float32
    assert {"terminal_observation", "TimeLimit.truncated", "episode"} <= infos[0].keys()


def test_registering(rope_ring: ModuleType) -> None:
    """Guards the table: the same task again is fine, another of its name or of ours is not, nor is a class."""
    entry = find(ID)
    envs.register(ID, entry.single, entry.vector, entry.max_episode_steps)
    for taken, steps in ((ID, 41), ("PBDCloth-v0", 100), ("CartPole-v1", 500)):
        with pytest.raises(ValueError, match="already"):
            envs.register(taken, entry.single, entry.vector, steps)
    with pytest.raises(ValueError, match="module:Class"):
        envs.register("Another-v0", rope_ring.RopeRingEnv, entry.vector, 40)
    assert find(ID) == entry and "Another-v0" not in gym.registry
