"""Collider shapes in random poses, and what is known of them from elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from pbd_gym.colliders.box import Box
from pbd_gym.colliders.capsule import Capsule
from pbd_gym.colliders.cylinder import Cylinder
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver

NAMES = ("box", "capsule", "cylinder")
RADIUS = 0.01
"""Contact radius of the scenes here [m]."""


def rotation(rng: np.random.Generator) -> np.ndarray:
    """A random rotation matrix."""
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return turn * np.sign(np.linalg.det(turn))


def posed(name: str, turn: np.ndarray, middle: np.ndarray, sizes: np.ndarray, friction: float = 0.5) -> Any:
    """A shape whose own y axis is its axis; ``sizes`` are half extents, or (radius, half length, unused)."""
    if name == "box":
        return Box(tuple(middle), tuple(sizes), tuple(map(tuple, turn)), friction=friction)
    along = turn[:, 1] * sizes[1]
    kind = Capsule if name == "capsule" else Cylinder
    return kind(tuple(middle - along), tuple(middle + along), sizes[0], friction=friction)


def surface(name: str, turn: np.ndarray, middle: np.ndarray, sizes: np.ndarray, n: int = 60) -> np.ndarray:
    """Points all over the surface of :func:`posed`, no more than about ``max(sizes) * pi / n`` apart, shape (m, 3)."""
    line, angles = np.linspace(-1, 1, n), np.linspace(0, 2 * np.pi, 2 * n)
    if name == "box":
        u, v = (a.ravel() for a in np.meshgrid(line, line))
        faces = [np.insert(np.stack([u, v], 1), k, s, axis=1) for k in range(3) for s in (-1.0, 1.0)]
        local = np.concatenate(faces) * sizes
    else:
        radius, half = sizes[:2]
        turns, heights = (a.ravel() for a in np.meshgrid(angles, line))
        parts = [np.stack([radius * np.cos(turns), half * heights, radius * np.sin(turns)], 1)]
        for sign in (-1.0, 1.0):
            if name == "cylinder":
                share = np.linspace(0, 1, n)
                turns, share = (a.ravel() for a in np.meshgrid(angles, share))
                flat, level = radius * share, np.full(len(share), half)
            else:
                turns, tilt = (a.ravel() for a in np.meshgrid(angles, np.linspace(0, np.pi / 2, n)))
                flat, level = radius * np.cos(tilt), half + radius * np.sin(tilt)
            parts.append(np.stack([flat * np.cos(turns), sign * level, flat * np.sin(turns)], 1))
        local = np.concatenate(parts)
    return local @ turn.T + middle


def place(scene: Scene, *colliders: Any) -> None:
    """Add colliders to a scene."""
    for collider in colliders:
        scene.add_collider(collider)


def advance(scene: Scene, ctrl_dt: float, substeps: int, dtype: str = "float64") -> np.ndarray:
    """Advance one environment by one control step; return positions and velocities, shape (2, n, 3)."""
    solver = Solver(Model(scene, dtype=dtype), substeps=substeps)  # type: ignore[arg-type]
    state = solver.state()
    solver.step(state, solver.control(), ctrl_dt)
    return np.stack([state.get_positions()[0], state.get_velocities()[0]])
