"""A hare's surface for `pbd-gym demo soft-body`: ``python -m docs.figures.hare FILE.npz`` (needs scikit-image).

The animal is a smooth union of ellipsoids, so the mesh is our own and free to use. Its triangles come from marching
cubes and are evened out: vertices move to the middle of their neighbours, and back onto the surface.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

SPACING = 0.046
"""Spacing of the grid, in units of the figure."""
BLEND = 0.045
"""Width over which parts flow into each other."""
ROUNDS = 20
"""Number of times that triangles are evened out."""


class Part(NamedTuple):
    """An ellipsoid of revolution, longest along an axis that leans in the plane x-y and outward along z."""

    middle: tuple[float, float, float]
    """Where it is; z is its distance from the plane of symmetry."""
    radii: tuple[float, float]
    """Half of its length, and of its width."""
    axis: tuple[float, float, float]
    """Direction of its length."""


PARTS = (
    Part((0.02, 0.33, 0.0), (0.37, 0.27), (1.0, 0.22, 0.0)),  # body
    Part((-0.17, 0.28, 0.13), (0.22, 0.15), (0.5, 1.0, 0.0)),  # thighs
    Part((-0.08, 0.06, 0.17), (0.19, 0.065), (1.0, 0.0, 0.1)),  # hind feet
    Part((0.32, 0.25, 0.10), (0.23, 0.1), (-0.15, 1.0, 0.0)),  # forelegs
    Part((0.38, 0.05, 0.10), (0.09, 0.06), (1.0, 0.0, 0.0)),  # forefeet
    Part((0.32, 0.56, 0.0), (0.26, 0.2), (0.35, 1.0, 0.0)),  # neck
    Part((0.44, 0.80, 0.0), (0.22, 0.18), (1.0, -0.25, 0.0)),  # head
    Part((0.55, 0.74, 0.05), (0.09, 0.075), (1.0, 0.0, 0.0)),  # cheeks
    Part((0.27, 1.08, 0.10), (0.26, 0.095), (-0.4, 1.0, 0.25)),  # ears
    Part((-0.39, 0.36, 0.0), (0.10, 0.09), (0.3, 1.0, 0.0)),  # tail
)


def distance(points: np.ndarray) -> np.ndarray:
    """Return about how far points are outside the hare, shape (..., 3) to (...)."""
    folded = points * np.array([1.0, 1.0, 0.0]) + np.abs(points[..., 2:]) * np.array([0.0, 0.0, 1.0])
    total = np.zeros(points.shape[:-1])
    for part in PARTS:
        axis = np.array(part.axis) / np.linalg.norm(part.axis)
        way = folded - np.array(part.middle)
        along = way @ axis
        across = np.sqrt(np.maximum((way * way).sum(axis=-1) - along * along, 0.0))
        long, wide = part.radii
        # First-order distance of an ellipsoid from its implicit function and the length of its gradient.
        level = np.hypot(along / long, across / wide)
        slope = np.hypot(along / long**2, across / wide**2)
        total += np.exp(-np.clip(level * (level - 1.0) / np.maximum(slope, 1e-9), -1.0, 1.0) / BLEND)
    return -BLEND * np.log(total)


def _onto_surface(points: np.ndarray) -> np.ndarray:
    """Return points moved onto the hare's surface by Newton steps along its gradient."""
    step = 1e-4
    for _ in range(3):
        value = distance(points)
        gradient = np.stack([distance(points + step * e) - distance(points - step * e) for e in np.eye(3)], axis=-1)
        gradient /= 2.0 * step
        points = points - (value / np.maximum((gradient * gradient).sum(axis=-1), 1e-6))[:, None] * gradient
    return points


def surface() -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and triangles of the hare, of length one, facing outward."""
    from scipy.sparse import coo_matrix
    from skimage.measure import marching_cubes

    lower, upper = np.array([-0.7, -0.15, -0.5]), np.array([0.8, 1.55, 0.5])
    axes = [np.arange(a, b, SPACING) for a, b in zip(lower, upper, strict=True)]
    field = distance(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1))
    vertices, triangles, _, _ = marching_cubes(field, 0.0, spacing=(SPACING,) * 3)
    vertices = vertices + lower
    count = len(vertices)
    ends = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    ends = np.concatenate([ends, ends[:, ::-1]])
    near = coo_matrix((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count)).tocsr()
    near.data[:] = 1.0
    degree = np.asarray(near.sum(axis=1))
    for _ in range(ROUNDS):
        vertices = _onto_surface(0.5 * vertices + 0.5 * (near @ vertices) / degree)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    if np.einsum("ij,ij->", a, np.cross(b, c)) < 0.0:
        triangles = triangles[:, ::-1]
    extent = vertices.max(axis=0) - vertices.min(axis=0)
    middle = 0.5 * (vertices.max(axis=0) + vertices.min(axis=0))
    return (vertices - middle) / extent.max(), triangles


def main(file: str) -> None:
    """Write vertices [unit length], float32, and triangles, uint16."""
    vertices, triangles = surface()
    np.savez_compressed(file, vertices=vertices.astype(np.float32), triangles=triangles.astype(np.uint16))
    print(f"{file}: {len(vertices)} vertices, {len(triangles)} triangles")


if __name__ == "__main__":
    main(sys.argv[1])
