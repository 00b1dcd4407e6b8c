"""Whether a line between particles of a surface runs along it, or through a hole."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from pbd_gym.geometry.edges import sides
from pbd_gym.geometry.trimeshes import groups

DETOUR = 1.3
"""A way along edges and across pairs of triangles is at most so much longer than the straight one, where there is cloth
between; round a hole that a segment spans it is longer."""


def check_surface_lines(lines: Sequence[np.ndarray], positions: np.ndarray, triangles: np.ndarray) -> None:
    """Check that lines between particles of one surface run along it.

    Args:
        lines: particles of each line in order, arrays of shape (k,), int.
        positions: of all particles at rest [m], shape (n, 3).
        triangles: of all surfaces, shape (t, 3), int.

    Raises:
        ValueError: for a segment that leaves the surface that both of its particles are on.
    """
    if not len(triangles):
        return
    number = np.repeat(np.arange(len(lines)), [len(line) - 1 for line in lines])
    segments = np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in lines]).astype(np.int64)
    count = len(positions)
    edges, which = sides(triangles)
    numbers, ordered = edges.astype(np.int64), np.sort(segments, axis=1)
    is_edge = np.isin(ordered[:, 0] * count + ordered[:, 1], numbers[:, 0] * count + numbers[:, 1])
    on_surface = np.zeros(count, dtype=bool)
    on_surface[triangles.ravel()] = True
    open_ones = np.flatnonzero(~is_edge & on_surface[segments].all(axis=1))
    if not len(open_ones):
        return
    piece, neighbours = groups(count, edges), _neighbours(triangles, edges[which])
    for k in open_ones.tolist():
        a, b = segments[k].tolist()
        straight = float(np.linalg.norm(positions[a] - positions[b]))
        if piece[a] == piece[b] and not _reaches(neighbours, positions, a, b, DETOUR * straight):
            raise ValueError(
                f"line {number[k]} runs through a hole: there is no cloth between particles {a} and {b}, "
                f"{straight:.3g} m apart"
            )


def _neighbours(triangles: np.ndarray, ends: np.ndarray) -> dict[int, set[int]]:
    """Return the vertices that each is joined to, by an edge or across one.

    Args:
        triangles: shape (t, 3), int.
        ends: of their sides, from each vertex to the next, lower vertex first, shape (3 t, 2), int.
    """
    found: dict[int, set[int]] = {}
    across: dict[tuple[int, int], list[int]] = {}
    opposite = np.roll(triangles, -2, axis=1).ravel()
    for (a, b), c in zip(ends.tolist(), opposite.tolist(), strict=True):
        found.setdefault(a, set()).add(b)
        found.setdefault(b, set()).add(a)
        for other in across.setdefault((a, b), []):
            found.setdefault(c, set()).add(other)
            found.setdefault(other, set()).add(c)
        across[a, b].append(c)
    return found


def _reaches(neighbours: dict[int, set[int]], positions: np.ndarray, start: int, end: int, most: float) -> bool:
    """Return whether some way from one vertex to another is no longer than ``most`` [m]."""
    queue, done = [(0.0, start)], set()
    while queue:
        way, vertex = heapq.heappop(queue)
        if vertex == end:
            return True
        if vertex not in done:
            done.add(vertex)
            for other in neighbours[vertex] - done:
                longer = way + float(np.linalg.norm(positions[vertex] - positions[other]))
                if longer <= most:
                    heapq.heappush(queue, (longer, other))
    return False
