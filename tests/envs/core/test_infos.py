"""Infos are flat, always of the same names, and arrays that other libraries take as they are."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from tests.envs.helpers import AUTORESET, ID, SMALL, make_vec, named, random_actions, roll

LIMIT = 2
RANGES = {"stiffness": (0.5, 2.0)}


def arrays(info: dict[str, Any]) -> list[np.ndarray]:
    """Return all arrays of numbers in an info."""
    found = [each for value in info.values() if isinstance(value, dict) for each in arrays(value)]
    return found + [value for value in info.values() if isinstance(value, np.ndarray) and value.dtype != object]


@pytest.mark.parametrize("mode", AUTORESET[:2])
def test_names_and_arrays(mode: str) -> None:
    """Guards libraries that allocate what a reset shows (TorchRL, Minari), and those that take no strides (JAX)."""
    env = make_vec(3, max_episode_steps=LIMIT, autoreset_mode=mode, randomize=RANGES)
    first = env.reset(seed=0)[1]
    infos = [first, *(step[4] for step in roll(env, random_actions(env, LIMIT + 1)))]
    for info in infos:
        assert set(first) == set(info) - {"final_obs", "_final_obs", "final_info", "_final_info"}
        assert all(array.flags.c_contiguous for array in arrays(info))
        assert all(value.dtype == np.float64 for value in named(info, "reward_terms").values())
        assert all(info[f"_{name}"].all() for name in first if not name.startswith("_"))
    assert not any(value.any() for value in named(first, "reward_terms").values())
    assert any("final_info" in info for info in infos) == (mode == "SameStep")


def test_names_of_single() -> None:
    """Guards the like of one environment: numbers of Python, zeros at a reset, and what a step of the batch has."""
    env, batch = gym.make(ID, randomize=RANGES, **SMALL), make_vec(1, randomize=RANGES)
    infos = [env.reset(seed=0)[1], env.step(env.action_space.sample())[4]]
    batch.reset(seed=0)
    assert infos[0].keys() == infos[1].keys() == set(batch.outputs.info_names)
    assert set(named(infos[0], "reward_terms").values()) == {0.0}
    assert all(type(value) in (float, int, bool) for info in infos for value in info.values())
