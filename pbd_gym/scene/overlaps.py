"""Warnings about bodies that start deep inside colliders, which contacts may push out on the wrong side."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pbd_gym.colliders import MeshCollider, Solid
from pbd_gym.scene.base import BaseScene

SHARE = 0.75
"""Share of half a collider's thickness beyond which the nearest side may be the wrong one."""
ROUNDING = 1e-6
"""Depth attributed to rounding, as a share of the size of the scene or of a metre."""


def warn_of_overlaps(scene: BaseScene, stacklevel: int) -> None:
    """Warn once about bodies that start deep in a collider at rest, naming the deepest.

    A depth is too large beyond two contact radii and half of half the collider's thickness, and beyond the body's own
    extent across the surface if that is less: a body that stands half in a floor does not count, and one below it does.
    Pinned particles do not count, nor fluids, which refuse to start in colliders, nor colliders that move, since a pose
    may still be set. A body on both sides of a wall but not inside is not detected.

    Args:
        scene: scene with its particles at their start.
        stacklevel: stack level of the warning, for the caller.
    """
    free = scene.inv_mass > 0.0
    if scene.fluid is not None:
        free[scene.fluid.indices] = False
    at = np.flatnonzero(free)
    found: tuple[float, int, int] | None = None
    bodies: np.ndarray | None = None
    for number, collider in enumerate(scene.colliders):
        if number in scene.moving_colliders or type(collider).signed_distance is Solid.signed_distance:
            continue
        depth = _depths(collider, scene.positions[at])
        inside = depth > _least(scene, collider)
        if not inside.any():
            continue
        bodies = _bodies(scene) if bodies is None else bodies
        for body in np.unique(bodies[at[inside]]):
            own = np.flatnonzero(bodies[at] == body)
            deepest = int(own[depth[own].argmax()])
            distance, normal = collider.signed_distance(scene.positions[at[[deepest]]])
            extent = float(np.ptp(scene.positions[bodies == body] @ normal[0]))
            if -distance[0] > _limit(scene, collider, extent) and (found is None or -distance[0] > found[0]):
                found = float(-distance[0]), int(at[deepest]), number
    if found is not None:
        deep, particle, number = found[0] / scene.meter, *found[1:]
        kind = type(scene.colliders[number]).__name__
        warnings.warn(
            f"particle {particle} of {_name(scene, particle)} starts {deep:.3g} m inside collider {number}, a {kind}: "
            "contacts push it out on the nearest side, which may be the wrong one. Start it outside",
            RuntimeWarning,
            stacklevel=stacklevel + 1,
        )


def _least(scene: BaseScene, collider: Solid) -> float:
    """Return the depth below which no body is too deep [m]."""
    size = max(scene.meter, float(np.abs(scene.positions).max(initial=0.0)))
    return max(min(2.0 * scene.contact_radius, SHARE * collider.half_thickness), ROUNDING * size)


def _limit(scene: BaseScene, collider: Solid, extent: float) -> float:
    """Return the depth beyond which a body of a given extent across the surface is too deep [m]."""
    wanted = max(2.0 * scene.contact_radius, min(0.5 * collider.half_thickness, extent))
    return max(min(wanted, SHARE * collider.half_thickness), _least(scene, collider))


def _depths(collider: Any, points: np.ndarray) -> np.ndarray:
    """Return the depth of points inside a collider [m], shape (n,); in a mesh up to a cell of its grid."""
    if not isinstance(collider, MeshCollider):
        return -collider.signed_distance(points)[0]
    grid = collider.grid
    local = (points - collider.position) @ collider.rotation
    nodes = np.rint((local - grid.lower) / grid.cell)
    held = np.clip(nodes, 0, np.array(grid.values.shape) - 1).astype(np.int64)
    return np.where((nodes == held).all(axis=1), -grid.values[tuple(held.T)], -grid.margin)


def _bodies(scene: BaseScene) -> np.ndarray:
    """Return the lowest particle of each particle's body, connected by constraints or as a rigid body, shape (n,)."""
    groups: list[np.ndarray] = [body.indices for body in scene.rigid_bodies]
    groups += [part for batch in scene.constraints.values() for part in batch.indices]
    pairs: list[np.ndarray] = [np.zeros((0, 2), dtype=np.int64)]
    for group in groups:
        rows = np.atleast_2d(group)
        first = np.broadcast_to(rows[:, :1], rows.shape)
        pairs.append(np.stack([first.ravel(), rows.ravel()], axis=1))
    a, b = np.concatenate(pairs).T
    root = np.arange(scene.particle_count)
    while True:
        known = root.copy()
        least = np.minimum(root[a], root[b])
        for end in (a, b):
            np.minimum.at(root, known[end], least)
            np.minimum.at(root, end, least)
        root = root[root]
        if (root == known).all():
            return root


def _name(scene: BaseScene, particle: int) -> str:
    """Return the name of a particle's body, in words."""
    for body in scene.rigid_bodies:
        if particle in body.indices:
            return f"rigid body {body.index}"
    labels = {
        int(label)
        for batch in scene.constraints.values()
        for row, label in zip(_rows(batch.indices), np.concatenate(batch.labels), strict=True)
        if particle in row
    }
    names = ", ".join(repr(scene.labels[label]) for label in sorted(labels))
    return f"a body with constraints {names}" if names else "no body"


def _rows(parts: list[np.ndarray]) -> list[np.ndarray]:
    """Return the particles of each constraint."""
    return [row for part in parts for row in np.atleast_2d(part)]
