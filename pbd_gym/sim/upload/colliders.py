"""Upload of colliders: sorted into the loops of a kernel, and written to its table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.colliders import SOLIDS, Plane, Sphere
from pbd_gym.colliders.mesh import MeshCollider
from pbd_gym.colliders.solid import Solid
from pbd_gym.kernels.data.colliders import Part, table_type
from pbd_gym.runtime.checks import FARTHEST
from pbd_gym.sim.upload.arrays import fill


def arrange(colliders: Sequence[Solid], moving: Sequence[int], shapes: Sequence[Any]) -> dict[Part, list[int]]:
    """Sort colliders into parts, in the order in which contacts are resolved.

    Moving colliders come first, so that those at rest have the last word: a box that presses a particle on the floor
    does not push it through.

    Args:
        colliders: colliders of a scene.
        moving: indices of moving ones.
        shapes: modules of the shapes, in their order.

    Returns:
        The indices of the colliders of each part; empty parts are omitted.
    """
    parts: dict[Part, list[int]] = {}
    for moves in (True, False):
        for shape in shapes:
            found = [
                i for i, c in enumerate(colliders) if (i in moving) is moves and type(c).__module__ == shape.__name__
            ]
            if found:
                runs = any(any(colliders[i].surface_velocity or ()) for i in found)
                parts[Part(shape, moves, runs)] = found
    return parts


def longest_segment(batches: Sequence[Any]) -> float:
    """Return the longest rest length of the segments of lines [m], 0 without lines."""
    lengths = [part for batch in batches for part in batch.values["rest_length"]]
    return max((float(np.max(part, initial=0.0)) for part in lengths), default=0.0)


def extent(collider: Any) -> float:
    """Return a collider's reach from its origin [m], beyond which nothing touches it."""
    if isinstance(collider, Plane) or type(collider) not in SOLIDS:  # shapes of others may draw what they like
        return FARTHEST
    if isinstance(collider, Sphere):
        return collider.radius
    return float(np.linalg.norm(collider.mesh()[0] - collider.origin, axis=1).max())


def fill_colliders(
    dtype: Any,
    colliders: Sequence[Solid],
    moving: Sequence[int],
    parts: dict[Part, list[int]],
    contact_radius: float,
    ball_radius: float,
    left_out: np.ndarray,
    line_reach: float,
    device: Any,
) -> Any:
    """Upload colliders.

    Args:
        dtype: NumPy type of the kernel's numbers.
        colliders: colliders of a scene.
        moving: indices of moving ones, in the order of their poses.
        parts: see :func:`arrange`.
        contact_radius: distance that particles keep from all of them [m].
        ball_radius: largest radius of balls of rigid bodies [m], 0 without any: grids reach as far.
        left_out: whether particles keep off colliders by themselves, shape (n,), or empty if none do.
        line_reach: distance within which lines look at them [m].
        device: target device.
    """
    scalar = wp.float32 if dtype is np.float32 else wp.float64
    table = table_type(scalar)()
    order = [i for found in parts.values() for i in found]
    rows: list[np.ndarray] = []
    first: list[int] = []
    samples = [np.zeros(0)]
    known: dict[int, int] = {}  # colliders may share a grid
    kept: list[Any] = []  # so that no two grids have the same identity
    for part, found in parts.items():
        for i in found:
            # One that moves is described in its own frame, which its pose places in the world.
            collider: Any = colliders[i].moved(np.zeros(3), np.eye(3)) if part.moving else colliders[i]
            if isinstance(collider, MeshCollider):
                collider = collider.reaching(ball_radius)
                kept.append(collider)
            rows.append(part.shape.row(collider, dtype))
            grid = id(getattr(collider, "grid", None))
            if grid not in known:
                known[grid] = sum(map(len, samples))
                samples.append(part.shape.samples(collider) if hasattr(part.shape, "samples") else np.zeros(0))
            first.append(known[grid])
    numbers = np.zeros((len(rows), max(map(len, rows), default=0)))
    for target, row in zip(numbers, rows, strict=True):
        target[: len(row)] = row
    surfaces = np.array(
        [[colliders[i].friction, colliders[i].static_friction, colliders[i].restitution] for i in order]
    ).reshape(-1, 3)
    if any(part.belt for part in parts):
        speeds = [colliders[i].surface_velocity or (0.0, 0.0, 0.0) for i in order]
        surfaces = np.concatenate([surfaces, speeds], axis=1)
    fill(
        table,
        device,
        contact_radius=contact_radius,
        bounds=np.cumsum([0, *map(len, parts.values())]),
        rows=numbers,
        samples=np.concatenate(samples),
        first=first,
        surfaces=surfaces,
        half_thickness=[colliders[i].half_thickness for i in order],
        thinnest=min((colliders[i].half_thickness for i in order if i not in moving), default=0.0),
        slack=[colliders[i].slack for i in order],
        bends=[contact_radius + colliders[i].bend_radius if colliders[i].convex else -1.0 for i in order],
        line_reach=line_reach,
        extent=[extent(colliders[i]) for i in order],
        origins=np.array([colliders[i].origin for i in order]).reshape(-1, 3),
        pose=[list(moving).index(i) for i in order if i in moving],
        left_out=left_out,
    )
    return table
