"""Ways along a mesh: lengths of the shortest paths between all vertices."""

from __future__ import annotations

import numpy as np


def unfolded_links(positions: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return short cuts across two triangles: the straight line between their outer vertices, once they lie flat.

    Args:
        positions: of the vertices [m], shape (n, 3).
        found: vertices of the shared edge and the two outer ones of each pair of triangles, shape (h, 4), int.

    Returns:
        Pairs of outer vertices whose line crosses the shared edge, shape (k, 2), int, and its length [m], shape (k,).
    """
    start, end, left, right = (positions[found[:, k]] for k in range(4))
    along = end - start
    length = np.linalg.norm(along, axis=1)
    unit = along / length[:, None]
    u, v = (np.einsum("ij,ij->i", outer - start, unit) for outer in (left, right))
    p = np.linalg.norm(left - start - u[:, None] * unit, axis=1)
    q = np.linalg.norm(right - start - v[:, None] * unit, axis=1)
    crossing = u + (v - u) * p / np.maximum(p + q, 1e-30)
    inside = (crossing >= 0.0) & (crossing <= length) & (p + q > 0.0)
    return found[inside][:, 2:], np.hypot(u - v, p + q)[inside]


def all_ways(positions: np.ndarray, edges: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the length of the shortest path along edges from each vertex to each other.

    Rows are relaxed in turn, to and fro along each axis, until none changes: a path that goes one way in space is found
    in one pass (fast sweeping, Zhao 2005, doi:10.1090/S0025-5718-04-01678-3, on a graph).

    Args:
        positions: of the vertices [m], shape (n, 3); they order the passes.
        edges: pairs of vertices, shape (m, 2), int.
        lengths: of the edges [m], shape (m,), not negative.

    Returns:
        Lengths [m], shape (n, n), float64; infinite where there is no path.
    """
    count = len(positions)
    ways = np.full((count, count), np.inf)
    np.fill_diagonal(ways, 0.0)
    ends, others = np.concatenate([edges, edges[:, ::-1]]).T
    order = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[order], np.arange(count + 1))
    others, steps = others[order], np.tile(lengths, 2)[order]
    axes = [np.argsort(positions[:, axis], kind="stable") for axis in range(3)]
    passes = [one for axis in axes for one in (axis, axis[::-1])]
    unchanged = 0
    while unchanged < len(passes):
        for one in passes:
            changed = False
            for i in one.tolist():
                near = slice(starts[i], starts[i + 1])
                if near.start == near.stop:
                    continue
                shorter = np.minimum(ways[i], (ways[others[near]] + steps[near, None]).min(axis=0))
                changed |= bool((shorter < ways[i]).any())
                ways[i] = shorter
            unchanged = 0 if changed else unchanged + 1
    return ways
