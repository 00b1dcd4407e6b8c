"""Lattices of cubes, each of five tetrahedra: boxes, and solids that fill a closed surface."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.geometry.surfaces import closed_surface, winding_number
from pbd_gym.geometry.tetrahedra import TetMesh, from_tets
from pbd_gym.runtime.checks import whole

_MAX_CELLS = 2_000_000
"""Cubes beyond which a spacing is taken for a mistake: no solver here wants that many."""


def box(cells: tuple[int, int, int], size: tuple[float, float, float]) -> TetMesh:
    """Make a box of ``cells`` cells of five tetrahedra each, centred on the origin.

    Args:
        cells: along x, y and z, each at least 1.
        size: width, height and depth [m].

    Raises:
        TypeError: for cells that are not whole numbers.
        ValueError: for fewer than one cell, or a size that is not positive and finite.
    """
    if len(cells) != 3 or len(size) != 3:
        raise ValueError(f"a box needs three cell counts and three lengths, got {cells} and {size}")
    counts = [whole("cells", count, 1) for count in cells]
    lengths = np.array([positive("size", length) for length in size])
    filled = np.ones(counts, dtype=bool)
    corners, tets = grid_of_tets(filled)
    return from_tets((corners / np.array(counts) - 0.5) * lengths, tets)


def lattice(vertices: ArrayLike, triangles: ArrayLike, spacing: float) -> TetMesh:
    """Fill a closed surface with cubes of five tetrahedra each: a coarse solid to embed a fine surface in.

    The cubes whose middle is inside are taken. Their surface is a staircase that follows the given one to within the
    diagonal of a cube. Where cubes would hang together by an edge or a corner alone, which no elastic body can, one
    more is filled, so that the surface is always a manifold.

    Args:
        vertices: [m], shape (v, 3).
        triangles: counter-clockwise seen from outside, shape (t, 3), int. The surface may have several parts.
        spacing: edge of a cube [m].

    Raises:
        ValueError: for a surface that is empty, open, not a manifold, inside out or not finite; for indices out of
            range; for a spacing that is not positive and finite, that leaves no cube inside, or that gives more than
            two million cubes.
    """
    points, faces = closed_surface(vertices, triangles)
    spacing = positive("spacing", spacing)
    used = points[np.unique(faces)]
    lower, upper = used.min(axis=0), used.max(axis=0)
    with np.errstate(over="ignore"):
        # A surface of a whole number of cubes must not get one more through rounding.
        wanted = np.ceil((upper - lower) / spacing - 1e-6)
        total = wanted.prod()
    if not total <= _MAX_CELLS:
        raise ValueError(f"a spacing of {spacing} m gives more than {_MAX_CELLS} cubes: take a larger one")
    counts = np.maximum(wanted.astype(np.int64), 1)
    origin = (lower + upper) / 2 - counts * spacing / 2
    index = np.stack(np.meshgrid(*(np.arange(n) for n in counts), indexing="ij"), axis=-1)
    middles = origin + (index.reshape(-1, 3) + 0.5) * spacing
    filled = (winding_number(middles, points[faces]) > 0.5).reshape(counts)
    if not filled.any():
        raise ValueError(f"no cube of {spacing} m has its middle inside the surface: take a smaller spacing")
    corners, tets = grid_of_tets(repaired(filled))
    return from_tets(origin + corners * spacing, tets)


def positive(name: str, value: float) -> float:
    """Return a length.

    Raises:
        ValueError: unless it is positive and finite.
    """
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be positive and finite, got {value}")
    return float(value)


def grid_of_tets(filled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a grid of cells, shape (n, 3), int, and the tetrahedra of those that are ``filled``."""
    shape = np.array(filled.shape) + 1
    corners = np.stack(np.meshgrid(*(np.arange(n) for n in shape), indexing="ij"), axis=-1).reshape(-1, 3)
    cell = np.argwhere(filled)
    # Four tetrahedra cut off every other corner of a cube, and one is left. Mirrored from cell to cell, the diagonals
    # of neighbours meet.
    even = np.array([[0, 4, 2, 1], [6, 4, 2, 7], [5, 4, 1, 7], [3, 2, 1, 7], [4, 2, 1, 7]])
    mirrored = even ^ 4  # the corner number is 4 x + 2 y + z
    odd = cell.sum(axis=1) % 2 == 1
    local = np.where(odd[:, None, None], mirrored, even)
    offset = np.stack([local >> 2 & 1, local >> 1 & 1, local & 1], axis=-1)
    corner = cell[:, None, None] + offset
    tets = (corner[..., 0] * shape[1] + corner[..., 1]) * shape[2] + corner[..., 2]
    return corners, tets.reshape(-1, 4)


_BLOCK = np.array(list(itertools.product((0, 1), repeat=3)))
"""Cells round a vertex of a lattice, in the order of the bits of a pattern."""


@lru_cache(maxsize=1)
def _repairs() -> np.ndarray:
    """Return, for each pattern of 8 cells round a vertex, the least one that contains it and is a manifold there."""

    def joined(cells: list[int]) -> bool:
        """Say whether cells hang together by faces: neighbours differ in one bit."""
        reached = set(cells[:1])
        for _ in cells:
            reached |= {c for c in cells if any(c ^ bit in reached for bit in (1, 2, 4))}
        return len(reached) == len(cells)

    full = range(8)
    good = [joined([c for c in full if p >> c & 1]) and joined([c for c in full if not p >> c & 1]) for p in range(256)]
    return np.array(
        [min((q for q in range(256) if q & p == p and good[q]), key=lambda q: (q.bit_count(), q)) for p in range(256)]
    )


def repaired(filled: np.ndarray) -> np.ndarray:
    """Fill cells until any two that touch hang together by faces, and so do the empty ones."""
    repairs = _repairs()
    room = np.pad(filled, 1)
    inner = tuple(n - 1 for n in room.shape)

    def views() -> list[np.ndarray]:
        return [room[tuple(slice(o, o + n) for o, n in zip(offset, inner, strict=True))] for offset in _BLOCK]

    while True:
        pattern = sum(view.astype(np.int64) << bit for bit, view in enumerate(views()))
        wanted = repairs[pattern]
        if (wanted == pattern).all():
            return room[1:-1, 1:-1, 1:-1]
        for bit, view in enumerate(views()):
            view |= (wanted >> bit & 1).astype(bool)
