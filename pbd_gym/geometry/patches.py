"""Patches of a surface, the disc that represents each vertex in contacts, and panels that lie back to back at rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.geometry.edges import both_ways, by_owner, sides
from pbd_gym.geometry.neighbours import NeighbourGrid
from pbd_gym.runtime.devices import free_host_memory

COVER = 1.05
"""Radius of a disc, relative to that of the largest circumscribed circle of the triangles around it."""
NEAR_DISCS = 1.95
"""Distance along the surface, in discs, below which two vertices do not collide; neither do those closer than two
thicknesses.
"""
AT_ONCE = 2**14
"""Number of vertices whose lines are processed together: more take more memory."""
TABLE = 2**22
"""Number of pairs of vertices processed together: more take more memory."""
KIN_MEMORY = 64
"""Least memory taken by two vertices that are close along the surface, while a scene is built [B]. Measured: 70."""
OPPOSITE = -0.5
"""Cosine of the angle between two normals below which they face away from each other."""


@dataclass(frozen=True)
class Patches:
    """A disc for each vertex of a triangle mesh."""

    vertices: np.ndarray
    """Vertices of the mesh, shape (k,), sorted."""
    extent: np.ndarray
    """Radii of the discs [m], shape (k,): together they cover the mesh."""
    chords: np.ndarray
    """Vertices whose two connecting lines, from second to first and fourth to third, are nearly at right angles in the
    surface, shape (k, 4): their cross product is normal to it."""
    rim: np.ndarray
    """Whether a vertex is at the rim of the mesh, shape (k,), bool."""
    triangles: np.ndarray
    """Triangles as positions in ``vertices``, shape (t, 3)."""
    edges: np.ndarray
    """Edges as positions in ``vertices``, shape (e, 2)."""
    kin: np.ndarray
    """Pairs of vertices that are close along the surface, shape (m, 2), as positions in ``vertices``."""

    def narrowest_gap(self, positions: np.ndarray, thickness: float) -> float:
        """Return the distance of the two nearest patches that face each other, along the normal of the first [m].

        Args:
            positions: positions of all vertices [m], shape (n, 3).
            thickness: distance beyond which patches count as infinitely far apart [m].
        """
        x, count = positions[self.vertices], len(self.vertices)
        reach = float(np.hypot(self.extent.max(), thickness))
        pairs = NeighbourGrid(x, reach).pairs()
        known = self.kin[:, 0] * count + self.kin[:, 1]
        pairs = pairs[~np.isin(pairs[:, 0] * count + pairs[:, 1], known, assume_unique=True)]
        ends = positions[self.chords]
        normals = np.cross(ends[:, 0] - ends[:, 1], ends[:, 2] - ends[:, 3])
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
        between = x[pairs[:, 1]] - x[pairs[:, 0]]
        gaps = np.abs((between * normals[pairs[:, 0]]).sum(axis=1))
        beside = np.sqrt(np.maximum((between * between).sum(axis=1) - gaps * gaps, 0.0))
        parallel = np.abs((normals[pairs[:, 0]] * normals[pairs[:, 1]]).sum(axis=1)) > 0.9
        facing = parallel & (beside < np.maximum(self.extent[pairs[:, 0]], self.extent[pairs[:, 1]]))
        return float(gaps[facing & (gaps < thickness)].min(initial=np.inf))


def patches(positions: np.ndarray, triangles: np.ndarray, thickness: float) -> Patches:
    """Return the patches of a mesh.

    Args:
        positions: rest positions [m], shape (n, 3).
        triangles: shape (t, 3), int.
        thickness: thickness of the surface [m].

    Raises:
        MemoryError: if it has so many vertices within its thickness that their pairs would not fit.
    """
    vertices, flat = np.unique(triangles, return_inverse=True)
    corners, x = flat.reshape(-1, 3), positions[vertices]
    lengths = np.stack([np.linalg.norm(x[corners[:, k]] - x[corners[:, k - 1]], axis=1) for k in range(3)], axis=1)
    area = 0.5 * np.linalg.norm(
        np.cross(x[corners[:, 1]] - x[corners[:, 0]], x[corners[:, 2]] - x[corners[:, 0]]), axis=1
    )
    circle = np.minimum(lengths.prod(axis=1) / np.maximum(4.0 * area, 1e-300), lengths.max(axis=1) / np.sqrt(2.0))
    extent = np.zeros(len(vertices))
    for k in range(3):
        np.maximum.at(extent, corners[:, k], COVER * circle)
    edges, which = sides(corners)
    rim = np.zeros(len(vertices), dtype=bool)
    rim[edges[np.bincount(which) == 1]] = True
    range_ = np.maximum(NEAR_DISCS * extent, 2.0 * thickness)
    _check_kin(range_, corners, area, thickness)
    return Patches(vertices, extent, vertices[_chords(x, edges)], rim, corners, edges, _near(x, edges, range_))


def _check_kin(range_: np.ndarray, corners: np.ndarray, area: np.ndarray, thickness: float) -> None:
    """Refuse a mesh whose pairs of near vertices would not fit into memory, before minutes pass in vain."""
    own = np.bincount(corners.ravel(), weights=np.repeat(area / 3.0, 3))
    pairs = 0.5 * float(np.minimum(np.pi * range_**2 / np.maximum(own, 1e-300), len(range_)).sum())
    free = free_host_memory()
    if free is not None and KIN_MEMORY * pairs > free:
        raise MemoryError(
            f"a surface {thickness:g} m thick with {len(range_):,} vertices about {float(np.sqrt(own.mean())):.2g} m "
            f"apart has some {pairs:.2g} pairs of vertices too near to collide, which take "
            f"{KIN_MEMORY * pairs / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free: take fewer or make it thinner"
        )


def _chords(x: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the four ends of two lines for each vertex, chosen among itself and its neighbours, shape (k, 4)."""
    beside, starts = by_owner(both_ways(edges), len(x))
    degrees = np.diff(starts)
    found = np.zeros((len(x), 4), dtype=np.int64)
    for degree in np.unique(degrees):
        alike = np.flatnonzero(degrees == degree)
        for vertices in np.array_split(alike, -(-len(alike) // AT_ONCE)):
            ring = np.column_stack([beside[starts[vertices, None] + np.arange(degree), 0], vertices])
            a, b = np.triu_indices(degree + 1, 1)
            lines = x[ring[:, a]] - x[ring[:, b]]
            first = np.argmax((lines * lines).sum(axis=2), axis=1)[:, None]
            longest = np.take_along_axis(lines, first[..., None], axis=1)
            second = np.argmax(np.linalg.norm(np.cross(longest, lines), axis=2), axis=1)[:, None]
            found[vertices] = np.take_along_axis(ring, np.hstack([a[first], b[first], a[second], b[second]]), axis=1)
    return found


def _near(x: np.ndarray, edges: np.ndarray, range_: np.ndarray) -> np.ndarray:
    """Return the pairs that are within range of one of the two along a path of such vertices, shape (m, 2)."""
    count = len(x)
    beside, starts = by_owner(both_ways(edges), count)
    pairs = [np.zeros(0, dtype=np.int64)]
    rows = max(1, TABLE // max(count, 1))
    # Pairs of some vertices with all others: a mask of visited ones, and a list index for each new one. Both are
    # cleaned up entry by entry, since most vertices have few others near them.
    known, place = np.zeros(rows * count, dtype=bool), np.zeros(rows * count, dtype=np.int32)
    for first in range(0, count, rows):
        own = np.arange(first, min(first + rows, count))
        a, b, looked_at = own, own, [np.arange(len(own)) * count + own]
        known[looked_at[0]] = True
        while len(a):
            pairs.append((np.minimum(a, b) * count + np.maximum(a, b))[a != b])
            degrees = starts[b + 1] - starts[b]
            within = np.arange(degrees.sum()) - np.repeat(np.cumsum(degrees) - degrees, degrees)
            pair = np.repeat((a - first) * count, degrees) + beside[np.repeat(starts[b], degrees) + within, 0]
            pair = pair[~known[pair]]
            place[pair] = np.arange(len(pair))
            pair = pair[place[pair] == np.arange(len(pair))]  # each once
            known[pair] = True
            looked_at.append(pair)
            a, b = np.divmod(pair, count)
            a += first
            inside = np.linalg.norm(x[a] - x[b], axis=1) < range_[a]
            a, b = a[inside], b[inside]
        known[np.concatenate(looked_at)] = False
    found = np.sort(np.concatenate(pairs))  # millions on a fine mesh, for which np.unique takes several times as long
    return np.stack(np.divmod(found[np.diff(found, prepend=-1) > 0], max(count, 1)), axis=1)


@dataclass(frozen=True)
class Panels:
    """Vertices of a surface that lie back to back."""

    pairs: np.ndarray
    """Pairs of vertices, the lower number first, shape (m, 2), int."""
    sides: np.ndarray
    """A vertex and the triangle behind it, whose corners turn counter-clockwise as seen from the vertex, shape (s, 4),
    int."""
    gaps: np.ndarray
    """Distance of each vertex of ``sides`` from its triangle [m], shape (s,)."""


def panels(positions: np.ndarray, triangles: np.ndarray, reach: np.ndarray) -> Panels:
    """Find panels that lie back to back.

    Args:
        positions: rest positions [m], shape (n, 3).
        triangles: shape (t, 3), int; counter-clockwise seen from outside. reach: distance within which two vertices
        count as neighbours on two panels [m], shape (n,); for a pair the mean is used.
    """
    corners = positions[triangles]
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    vertex_normals = np.zeros_like(positions)
    for k in range(3):
        np.add.at(vertex_normals, triangles[:, k], areas)
    normals, vertex_normals = _unit(areas), _unit(vertex_normals)
    a, b = NeighbourGrid(positions, float(reach.max())).pairs().T
    between = positions[b] - positions[a]
    near = np.linalg.norm(between, axis=1) < 0.5 * (reach[a] + reach[b])
    behind = (between * vertex_normals[a]).sum(axis=1) < 0.0
    away = near & behind & ((vertex_normals[a] * vertex_normals[b]).sum(axis=1) < OPPOSITE)
    pairs = np.sort(np.stack([a, b], axis=1)[away], axis=1)
    found, gaps = [], []
    for vertex in np.unique(pairs):
        others = np.concatenate([pairs[pairs[:, 0] == vertex, 1], pairs[pairs[:, 1] == vertex, 0]])
        chosen = np.flatnonzero(np.isin(triangles, others).any(axis=1) & (normals @ vertex_normals[vertex] < OPPOSITE))
        offset = positions[vertex] - corners[chosen, 0]
        gap = -(offset * normals[chosen]).sum(axis=1)
        inside = _inside(corners[chosen], offset, areas[chosen]) & (gap > 0.0)
        if inside.any():
            best = int(np.argmin(np.where(inside, gap, np.inf)))
            found.append([vertex, *triangles[chosen[best], ::-1]])
            gaps.append(gap[best])
    return Panels(pairs, np.array(found, dtype=np.int64).reshape(-1, 4), np.array(gaps))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)


def _inside(corners: np.ndarray, offset: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """Return whether the foot of a point in the plane of each triangle is inside it, shape (k,), bool.

    Args:
        corners: corners of the triangles [m], shape (k, 3, 3). offset: vector from the first corner of each to the
        point [m], shape (k, 3). areas: twice their areas along their normals [m^2], shape (k, 3).
    """
    square = np.maximum((areas * areas).sum(axis=1), 1e-300)
    u, v = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    second = (np.cross(offset, v) * areas).sum(axis=1) / square
    third = (np.cross(u, offset) * areas).sum(axis=1) / square
    # A vertex right behind another one belongs to all of its triangles.
    inside: np.ndarray = (second > -1e-6) & (third > -1e-6) & (second + third < 1.0 + 1e-6)
    return inside
