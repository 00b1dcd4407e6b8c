"""An environment with clay: permanent strains belong to the episode."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym import Plasticity, SoftMaterial
from pbd_gym.envs.soft import carry


def clay(density: float, young_modulus: float, poisson_ratio: float) -> SoftMaterial:
    """Return the material of the task, made to give way."""
    return SoftMaterial(density, young_modulus, poisson_ratio, "edges_and_volumes", Plasticity(yield_strain=1e-3))


def strain(env: Any) -> np.ndarray:
    """Largest permanent strain of each environment."""
    return np.abs(env.state.get_memory()).max(1)


def test_strains_end_with_their_episode_and_travel_with_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards resets, of all and of some environments, and branches: a dent is neither inherited nor lost."""
    monkeypatch.setattr(carry, "SoftMaterial", clay)
    env: Any = gym.make_vec("PBDSoftBody-v0", 3, resolution=1, settle_time=0.0, autoreset_mode="Disabled")
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(5):
        env.step(rng.uniform(-1, 1, env.action_space.shape).astype(np.float32))
    assert (strain(env) > 1e-3).all()
    saved, before = env.get_state(), env.state.get_memory()
    env.branch(np.array([1, 1, 0]))
    assert_array_equal(env.state.get_memory(), before[[1, 1, 0]])
    env.set_state(saved)
    assert_array_equal(env.state.get_memory(), before)
    env.reset(options={"reset_mask": np.array([False, True, False])})
    assert_array_equal(env.state.get_memory(), before * [[1], [0], [1]])
    env.reset(seed=1)
    assert_array_equal(strain(env), 0.0)
