"""Paths along the edges of a mesh that go as straight as they can: threads of a weave, ropes, seams of a garment."""

from __future__ import annotations

import numpy as np


def edge_paths(positions: np.ndarray, edges: np.ndarray, angle: float = np.pi / 4) -> list[np.ndarray]:
    """Divide edges into paths, each edge belonging to exactly one.

    At each vertex the two edges that continue one another best are joined, then the next two, as long as the path turns
    by no more than ``angle``. A rectangular weave falls into its threads, a chain stays whole, and a regular mesh of
    triangles falls into straight paths in three directions. No path comes to a vertex twice: a ring is cut once.

    Args:
        positions: of the vertices at rest [m], shape (n, 3).
        edges: pairs of vertices, shape (m, 2), int, each pair once.
        angle: by how much a path may turn at a vertex at most [rad].

    Returns:
        The vertices of each path in order, arrays of shape (k,), int32, k at least 2; by their first edge.

    Raises:
        ValueError: for an edge without length, or one that is there twice.
    """
    edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    along = positions[edges[:, 1]] - positions[edges[:, 0]]
    lengths = np.linalg.norm(along, axis=1)
    if (lengths == 0.0).any():
        a, b = edges[int(np.argmin(lengths))]
        raise ValueError(f"the edge of particles {a} and {b} has no length")
    if len(np.unique(np.sort(edges, axis=1), axis=0)) < len(edges):
        raise ValueError("an edge is there twice")
    following = _continuations(edges, along / lengths[:, None], len(positions), np.cos(angle))
    done = np.zeros(len(edges), dtype=bool)
    paths = []
    for edge in range(len(edges)):
        if not done[edge]:
            paths += _simple_paths(_walk(edge, edges, following, done))
    return paths


def _continuations(edges: np.ndarray, directions: np.ndarray, count: int, least: float) -> np.ndarray:
    """Return which edge goes on from either end of each edge, -1 for none, shape (m, 2)."""
    following = np.full((len(edges), 2), -1, dtype=np.int64)
    ends = np.concatenate([edges[:, 0], edges[:, 1]])
    order = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[order], np.arange(count + 1))
    for vertex in range(count):
        here = order[starts[vertex] : starts[vertex + 1]]
        if len(here) < 2:
            continue
        edge, side = here % len(edges), here // len(edges)
        outward = directions[edge] * np.where(side == 0, 1.0, -1.0)[:, None]
        straightness = -outward @ outward.T
        pairs = [(-round(straightness[i, j], 9), i, j) for i in range(len(here)) for j in range(i)]
        free = np.ones(len(here), dtype=bool)
        for negative, i, j in sorted(pairs):
            if -negative >= least - 1e-9 and free[i] and free[j]:
                free[i] = free[j] = False
                following[edge[i], side[i]], following[edge[j], side[j]] = edge[j], edge[i]
    return following


def _walk(edge: int, edges: np.ndarray, following: np.ndarray, done: np.ndarray) -> list[int]:
    """Return the vertices of the whole path through an edge, whose edges are marked; a ring ends where it began."""
    done[edge] = True
    path = [int(edges[edge, 0]), int(edges[edge, 1])]
    for _ in range(2):  # onwards, then onwards the other way round
        current, side = edge, 1 if path[-1] == edges[edge, 1] else 0
        while following[current, side] >= 0:
            vertex, current = path[-1], int(following[current, side])
            if done[current]:  # a ring is closed
                return path
            done[current] = True
            side = 1 if edges[current, 0] == vertex else 0
            path.append(int(edges[current, side]))
        path.reverse()
    return path


def _simple_paths(path: list[int]) -> list[np.ndarray]:
    """Cut a path wherever it would come to one of its vertices again."""
    found, start, seen = [], 0, {path[0]}
    for place in range(1, len(path)):
        if path[place] in seen:
            if place - start > 1:
                found.append(path[start:place])
                start = place - 1
                seen = {path[start]}
        seen.add(path[place])
    found.append(path[start:])
    return [np.array(part, dtype=np.int32) for part in found if len(part) > 1]
