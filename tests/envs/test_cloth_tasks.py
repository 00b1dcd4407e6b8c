"""The cloth tasks of the suite: what their performance says of hand-made shapes, and that experts solve them."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.envs.cloth_tasks import ClothTaskVectorEnv, fitted


def make(name: str, num_envs: int = 1, **kwargs: Any) -> Any:
    env = gym.make_vec(f"PBD{name}-v0", num_envs, **{"starts": 5, **kwargs})
    assert isinstance(env, ClothTaskVectorEnv)
    env.reset(seed=0)
    return env


def rate(env: Any, shape: np.ndarray) -> tuple[float, float]:
    """Return performance and normalised performance of a towel put somewhere, shape (rows, columns, 3)."""
    positions = env.state.get_positions()
    positions[:, env.cloth.indices] = shape
    env.state.set_positions(positions)
    env._score.launch()
    env._conclude.launch()
    return float(env.buffers.peek("performance")[0]), float(env.buffers.peek("normalized_performance")[0])


@pytest.mark.parametrize(
    ("name", "floor"),
    [("ClothFlatten", 0.85), ("ClothFlattenPickPlace", 0.75)],
)
def test_expert(name: str, floor: float) -> None:
    """Guards that the task can be solved, in its time, from start states that nobody has trained on."""
    count = 8
    env = make(name, count, starts=5 * count)
    env.reset(seed=0, options={"split": "eval", "variation": np.arange(count)})
    for _ in range(env.max_episode_steps):
        _, _, terminated, truncated, info = env.step(env.expert())
        assert not terminated.any()
    assert truncated.all()
    assert info["normalized_performance"].mean() >= floor, info["normalized_performance"]


def test_fit() -> None:
    """Guards the placement of a flat shape over one that lies turned and shifted, and that it stays upright."""
    shape = np.random.default_rng(0).normal(size=(4, 5, 3))
    for angle in (0.0, 0.7, 3.0):
        c, s = np.cos(angle), np.sin(angle)
        turned = shape @ np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]]) + [1.0, 0.0, -2.0]
        assert_allclose(fitted(shape, turned), turned, atol=1e-12)


def test_flatten_performance() -> None:
    """Guards the covered area of the flat towel, of one folded in half wherever it lies, and of one on end."""
    env = make("ClothFlatten")
    flat, side, r = env.flat, env.config.side, 0.75 * env.config.spacing
    area, normalized = rate(env, flat)
    assert_allclose(area, side * side + 4 * side * r + np.pi * r * r, rtol=0.01)
    assert_allclose(normalized, 1.0, atol=0.02)
    folded = flat.copy()
    folded[..., 0] = np.abs(folded[..., 0])
    width = (side - env.config.spacing) / 2  # the middle of the towel is between two columns
    half = side * width + 2 * (side + width) * r + np.pi * r * r
    for shift in ([0.0, 0.0, 0.0], [0.3, 0.0, -0.2]):
        assert_allclose(rate(env, folded + shift)[0], half, rtol=0.04)  # the rim is made of arcs
    upright = flat.copy()
    upright[..., [0, 1]] = upright[..., [1, 0]] * [0.0, 1.0] + [0.0, 0.5]
    assert_allclose(rate(env, upright)[0], 2 * side * r + np.pi * r * r, rtol=0.04)
