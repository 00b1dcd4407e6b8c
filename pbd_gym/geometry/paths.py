"""Paths over a mesh: shortest paths between vertices, straight paths along edges, and lines that leave the surface."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from pbd_gym.geometry.edges import sides
from pbd_gym.geometry.trimeshes import groups

DETOUR = 1.3
"""Largest ratio of a path along edges and across pairs of triangles to the straight line, where there is cloth between;
around a hole that a segment spans it is longer.
"""


def unfolded_links(positions: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return short cuts across two triangles: the straight line between their outer vertices when laid flat.

    Args:
        positions: positions of the vertices [m], shape (n, 3).
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
    """Return the length of the shortest path along edges between every two vertices.

    Rows are relaxed in turn, forwards and backwards along each axis, until none changes: a path that goes one way in
    space is found in one pass (fast sweeping, Zhao 2005, doi:10.1090/S0025-5718-04-01678-3, on a graph).

    Args:
        positions: positions of the vertices [m], shape (n, 3); they order the passes.
        edges: pairs of vertices, shape (m, 2), int.
        lengths: lengths of the edges [m], shape (m,), not negative.

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


def edge_paths(positions: np.ndarray, edges: np.ndarray, angle: float = np.pi / 4) -> list[np.ndarray]:
    """Divide edges into paths, each edge belonging to exactly one.

    At each vertex the two edges that continue each other best are joined, then the next two, as long as the path turns
    by no more than ``angle``. A rectangular weave falls into its threads, a chain stays whole, and a regular mesh of
    triangles falls into straight paths in three directions. No path visits a vertex twice: a ring is cut once.

    Args:
        positions: rest positions of the vertices [m], shape (n, 3).
        edges: pairs of vertices, shape (m, 2), int, each pair once.
        angle: largest turn of a path at a vertex [rad].

    Returns:
        The vertices of each path in order, arrays of shape (k,), int32, k at least 2; sorted by first edge.

    Raises:
        ValueError: for an edge without length, or a duplicate edge.
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
    """Return the edge that continues each edge at either end, -1 for none, shape (m, 2)."""
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
    """Return the vertices of the whole path through an edge, and mark its edges; a ring ends where it began."""
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
    """Cut a path wherever it would revisit one of its vertices."""
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


def check_surface_lines(lines: Sequence[np.ndarray], positions: np.ndarray, triangles: np.ndarray) -> None:
    """Check that lines between particles of one surface run along it.

    Args:
        lines: particles of each line in order, arrays of shape (k,), int.
        positions: rest positions of all particles [m], shape (n, 3). triangles: triangles of all surfaces, shape (t,
        3), int.

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
    """Return the vertices joined to each vertex, by an edge or across one.

    Args:
        triangles: shape (t, 3), int.
        ends: ends of their sides, from each vertex to the next, lower vertex first, shape (3 t, 2), int.
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
    """Return whether some path from one vertex to another is no longer than ``most`` [m]."""
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
