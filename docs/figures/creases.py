"""Whether creases stay where they are: ``python -m docs.figures.creases [resolution ...]``

Towels are folded in half, with a corner of the upper layer turned over, and left alone. What they gain in energy and
how far they go then, both from one second on, comes from nowhere.
"""

from __future__ import annotations

import sys
from typing import Any

import gymnasium as gym
import numpy as np

import pbd_gym  # noqa: F401  (registers the environments)
from pbd_gym.sim.traced import elastic_energy

CORNERS = np.linspace(0.03, 0.15, 24)
"""Heights of the triangles that are turned over [m]."""
GAP = 0.02
"""Between what is turned over and what it lies on, at first [m]."""
FIRST, LAST = 1.0, 8.0
"""What is compared [s]."""


def turned(rest: np.ndarray, direction: tuple[float, float], start: float) -> tuple[np.ndarray, np.ndarray]:
    """Return where points of a level sheet come to, and how high, if what is beyond a line is turned over.

    Args:
        rest: points [m], shape (n, 3).
        direction: of the way across the line, x and z.
        start: distance of the line from the origin along that way [m].
    """
    across = np.array([direction[0], 0.0, direction[1]]) / np.hypot(*direction)
    way, radius = rest @ across - start, 0.5 * GAP
    angle = np.clip(way / radius, 0.0, np.pi)
    goal = np.where(angle < np.pi, np.minimum(way, 0.0) + radius * np.sin(angle), np.pi * radius - way)
    return rest + (goal - way)[:, None] * across, radius * (1.0 - np.cos(angle))


def turn_over(env: Any, corners: np.ndarray) -> None:
    """Lay the towel of each environment down in half, a corner of its upper layer turned over.

    Args:
        env: a batch of ``PBDClothFold-v0``.
        corners: heights of the triangles [m], shape (num_envs,).
    """
    places = env.state.get_positions().astype(np.float64)
    rest = env.scene.positions - env.scene.positions.mean(axis=0)
    rest[:, 1] = 0.0
    for towel, corner in zip(places, corners, strict=True):
        points, height = turned(rest, (1.0, 1.0), np.sqrt(2.0) * rest[:, 0].max() - corner)
        points, more = turned(points, (1.0, 0.0), 0.0)
        points[:, 1] = towel[:, 1].min() + more + height
        towel[:] = points
    env.state.set_positions(places)


def energies(env: Any) -> np.ndarray:
    """Return the potential energy of each environment [J], shape (num_envs,)."""
    heights = env.state.get_positions()[..., 1] @ env.scene.mass
    return 9.81 * heights + [elastic_energy(env.state, k) for k in range(env.num_envs)]


def watch(resolution: int, corners: np.ndarray = CORNERS) -> tuple[np.ndarray, np.ndarray]:
    """Leave towels alone; return what their energy is multiplied by, and how far they go [m], shape (corners,) each."""
    env: Any = gym.make_vec("PBDClothFold-v0", len(corners), resolution=resolution).unwrapped
    env.reset(seed=0)
    turn_over(env, corners)
    away = np.tile(np.float32([0.0, 1.0, 0.0, -1.0]), (len(corners), 2))
    found = []
    for step in range(round(LAST / env.config.ctrl_dt)):
        if step == round(FIRST / env.config.ctrl_dt):
            found.append((energies(env), env.state.get_positions()))
        env.step(away)
    found.append((energies(env), env.state.get_positions()))
    env.close()
    (before, start), (after, end) = found
    return after / before, np.linalg.norm(end - start, axis=2).max(axis=1)


def main(*resolutions: int) -> None:
    """Print a line for each resolution."""
    for resolution in resolutions or (16, 32, 64):
        gained, went = watch(resolution)
        print(
            f"{resolution} x {resolution}: energy up by more than a tenth in {np.mean(gained > 1.1):.0%}, at most to"
            f" {gained.max():.2f} times; {np.mean(went > 0.02):.0%} went more than 2 cm, at most {went.max():.3f} m"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
