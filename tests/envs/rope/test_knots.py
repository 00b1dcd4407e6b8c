"""Tying and untying: the invariant that tells knots, what counts as tied, and that scripts do it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.envs.rope.knots import find_crossings, v2
from pbd_gym.envs.rope.untie import overhand
from tests.envs.helpers import SMALL_OF
from tests.sim.test_knots import determinant


def trefoil(t: np.ndarray) -> np.ndarray:
    """Return a long trefoil as a polynomial, its height along y (Shastri 1992)."""
    return np.stack([t**3 - 3.0 * t, t**5 - 10.0 * t, t**4 - 4.0 * t**2], axis=1)


def figure_eight(t: np.ndarray) -> np.ndarray:
    """Return a long figure-eight knot as a polynomial (the same)."""
    x = 0.4 * t * (t**2 - 7.0) * (t**2 - 10.0)
    z = t**4 - 13.0 * t**2
    return np.stack([x, 0.1 * t * (t**2 - 4.0) * (t**2 - 9.0) * (t**2 - 12.0), z], axis=1)


def loops(t: np.ndarray) -> np.ndarray:
    """Return a line that goes round three times on its way up, which any pull undoes."""
    angle = 2.0 * np.pi * t
    return np.stack([2.0 * np.cos(angle) + 0.3 * t, 0.5 * t, 2.0 * np.sin(angle) + 0.3 * t], axis=1)


@pytest.mark.parametrize(
    ("curve", "reach", "value", "colours"),
    [(trefoil, 2.15, 1, 3), (figure_eight, 3.6, -1, 5), (loops, 1.5, 0, 1)],
)
@pytest.mark.parametrize("mirrored", [False, True])
def test_v2_tells_knots(
    curve: Callable[[np.ndarray], np.ndarray], reach: float, value: int, colours: int, mirrored: bool
) -> None:
    """Guards values against tables of knots, for either hand and any direction; the determinant says which they are."""
    x = curve(np.linspace(-reach, reach, 300)) * [1.0, -1.0 if mirrored else 1.0, 1.0]
    assert determinant(x) == colours
    for angle in np.linspace(0.1, 6.0, 7):
        c, s = np.cos(angle), np.sin(angle)
        turned = x @ np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
        assert v2(find_crossings(turned)) == (value, value)
        assert v2(find_crossings(turned[::-1])) == (value, value)


def test_an_end_that_has_not_come_out_ties_nothing() -> None:
    """Guards that both continuations of the ends must agree: a knot that lacks its last crossing is none."""
    x = overhand(np.random.default_rng(1), 400, 1.0, 0.006)
    crossings = find_crossings(x)
    last = int(np.concatenate([crossings.over, crossings.under]).max())
    assert v2(crossings) == (1, 1)
    assert sorted(v2(find_crossings(x[: last - 2]))) == [0, 1]


@pytest.fixture(scope="module")
def small() -> Any:
    env: Any = gym.make_vec("PBDRopeUntie-v0", 4, **SMALL_OF["PBDRopeUntie-v0"]).unwrapped
    env.reset(seed=0)
    return env


def rated(env: Any, positions: np.ndarray) -> dict[str, Any]:
    """Return the infos of ropes put somewhere, shape (num_envs, n, 3) [m], without a step of time."""
    env.state.set_positions(positions)
    env._score.launch()
    return {name: env.buffers.read(name).tolist() for name in ("unknotted", "unpassed", "knot")}


def test_the_kernel_finds_what_numpy_finds(small: Any) -> None:
    """Guards the crossings and both values on knots, random walks and a rope with more crossings than are looked at."""
    rng, n = np.random.default_rng(0), small.config.particles
    walks = np.cumsum(rng.normal(size=(4, n, 3)), axis=1) * [0.02, 0.005, 0.02]
    walks[0] = overhand(rng, n, 1.0, 0.01)
    angle = np.arange(n) * 2.39  # a star, of which each segment crosses most of the others
    walks[3] = np.stack([0.2 * np.cos(angle), 1e-3 * np.arange(n), 0.2 * np.sin(angle)], axis=1)
    found = rated(small, walks)
    for x, (count, up, down) in zip(small.state.get_positions(), found["knot"], strict=True):
        crossings = find_crossings(x.astype(np.float64))
        assert count == len(crossings.over)
        if count <= 48:
            assert (up, down) == v2(crossings)
    assert found["knot"][3][0] > 48 and found["unknotted"][3] == 0 and found["unknotted"][0] == 0


def test_a_rope_pulled_through_itself_is_not_untied() -> None:
    """Guards ``unpassed``: a knot that hands pull through itself is undone, and not untied, until the next episode."""
    env: Any = gym.make_vec("PBDRopeUntie-v0", 2, hands_at="corners", **SMALL_OF["PBDRopeUntie-v0"]).unwrapped
    env.reset(seed=0)
    passed = np.zeros(2, dtype=int)
    for _ in range(40):
        ends = env.state.get_positions()[:, [0, -1]]
        apart = ends - ends.mean(axis=1, keepdims=True)
        apart /= np.linalg.norm(apart, axis=2, keepdims=True)
        actions = np.concatenate([apart, np.ones((2, 2, 1))], axis=2)
        actions[1] = [0.0, 0.0, 0.0, -1.0]
        info = env.step(actions.reshape(2, -1).astype(np.float32))[4]
        passed += info["passages"]
        assert_array_equal(info["unpassed"], passed == 0)
    assert passed[0] > 0 and passed[1] == 0
    assert info["unknotted"].tolist() == [True, False]
    env.reset(seed=1)
    assert_array_equal(env.buffers.read("unpassed"), 1)


def test_knots_need_particles() -> None:
    with pytest.raises(ValueError, match="particles must be at least 33"):
        gym.make_vec("PBDRopeTie-v0", 1, particles=20)


@pytest.mark.parametrize("name", ["RopeTie", "RopeUntie"])
def test_experts(name: str) -> None:
    """Guards that knots can be tied and untied, without a rope that goes through itself, in the time there is."""
    env: Any = gym.make_vec(f"PBD{name}-v0", 8, starts=8).unwrapped
    env.reset(seed=0, options={"split": "all", "variation": np.arange(8)})
    for _ in range(env.max_episode_steps):
        info = env.step(env.expert())[4]
    assert info["is_success"].sum() >= 7, {name: info[name].tolist() for name in env.task.score.condition_names}
