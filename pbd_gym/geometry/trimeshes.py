"""Triangle meshes: the mesh type, checks that it suits cloth, and surfaces of revolution, in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.geometry.edges import first_alike, hinges, sides
from pbd_gym.geometry.repair import CellError, flat_triangles, repaired_triangles
from pbd_gym.runtime.checks import shaped, switch, whole


@dataclass(frozen=True)
class TriMesh:
    """A surface made of triangles, open or closed, of one or more parts. Make one with :func:`trimesh`.

    Its openings are traced along consistently oriented triangles. Vertices at the same place stay distinct.
    """

    positions: np.ndarray
    """Vertices at rest [m], shape (n, 3), float64."""
    triangles: np.ndarray
    """Vertices of each triangle, consistently oriented, shape (t, 3), int32."""
    free_edges: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int32))
    """Edges without bending resistance, such as seams; lower vertex first, shape (s, 2), int32."""
    landmarks: Mapping[str, int] = field(default_factory=dict)
    """Named vertices."""
    repairs: Mapping[str, int] = field(default_factory=dict)
    """Numbers of ``degenerate``, ``doubled`` and ``flipped`` triangles, if the mesh was made with ``repair``."""

    def edges(self) -> np.ndarray:
        """Return every edge once, lower vertex first, shape (e, 2), int32."""
        return sides(self.triangles)[0]

    def edge_areas(self) -> np.ndarray:
        """Return the area of the one or two triangles at each of :meth:`edges` [m^2], shape (e,)."""
        edges, which = sides(self.triangles)
        return np.bincount(which, weights=np.repeat(self.areas(), 3), minlength=len(edges))

    def areas(self) -> np.ndarray:
        """Return the area of each triangle [m^2], shape (t,)."""
        return _areas(self.positions, self.triangles)

    def normals(self) -> np.ndarray:
        """Return the unit normal of each triangle, from whose side its corners go counterclockwise, shape (t, 3)."""
        a, b, c = self.positions[self.triangles].swapaxes(0, 1)
        normals = np.cross(b - a, c - a)
        return np.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))

    def vertex_areas(self) -> np.ndarray:
        """Return the area that each vertex represents [m^2], a third of each adjoining triangle, shape (n,)."""
        weights = np.repeat(self.areas() / 3.0, 3)
        return np.bincount(self.triangles.ravel(), weights=weights, minlength=len(self.positions))

    def hinges(self) -> np.ndarray:
        """Return the edges over which the mesh bends: the shared edge, then the two wings, shape (h, 4), int32."""
        found = hinges(self.triangles)
        ends = np.sort(found[:, :2], axis=1).astype(np.int64)
        size = len(self.positions)
        free = self.free_edges.astype(np.int64)
        return found[~np.isin(ends[:, 0] * size + ends[:, 1], free[:, 0] * size + free[:, 1])]

    def boundary_loops(self) -> list[np.ndarray]:
        """Return the vertices around each opening, in order, each loop of shape (k,), int32; none for a closed mesh."""
        ahead = np.stack([self.triangles, np.roll(self.triangles, -1, axis=1)], axis=2).reshape(-1, 2)
        which = sides(self.triangles)[1]
        follow: dict[int, list[int]] = {}
        for start, end in ahead[np.bincount(which)[which] == 1].tolist():
            follow.setdefault(start, []).append(end)
        loops = []
        while follow:
            loop = [min(follow)]
            while loop[-1] in follow:
                ends = follow[loop[-1]]
                loop.append(ends.pop())
                if not ends:
                    del follow[loop[-2]]
            loops.append(np.array(loop[:-1], dtype=np.int32))
        return loops

    def components(self) -> np.ndarray:
        """Return the number of the connected part that each vertex belongs to, from 0, shape (n,)."""
        return np.unique(groups(len(self.positions), self.edges()), return_inverse=True)[1].reshape(-1)


def trimesh(vertices: ArrayLike, triangles: ArrayLike, weld: float = 1e-6, repair: bool = False) -> TriMesh:
    """Make a mesh of loose triangles: join coincident vertices, drop unused ones, and check the rest.

    STL files repeat each vertex in each triangle, and OBJ files along the seams of their textures; only joining them
    makes a connected surface.

    Args:
        vertices: [m], shape (v, 3).
        triangles: consistently oriented, shape (t, 3), int.
        weld: distance within which vertices are joined, relative to the diagonal of their bounding box.
        repair: whether degenerate and duplicate triangles are dropped, and those flipped that are oriented against
            their neighbours, or inwards in a closed part that lies in no other; ``repairs`` of the mesh counts them.

    Raises:
        TypeError: for a ``repair`` that is not True or False.
        ValueError: for a mesh that is empty, not finite or not a manifold, for a triangle without area, for neighbours
        of opposite orientation, or for a wrong shape.
    """
    if not (np.isfinite(weld) and weld >= 0):
        raise ValueError(f"weld must be finite and not negative, got {weld}")
    switch("repair", repair)
    points, faces = check_indices(vertices, triangles)
    joined = joined_vertices(points, np.unique(faces), weld)
    # Faces that were no triangles in the file are an error below, or repaired.
    distinct = (faces != np.roll(faces, -1, axis=1)).all(axis=1)
    faces = joined[faces]
    collapsed = distinct & (faces == np.roll(faces, -1, axis=1)).any(axis=1)
    numbers = np.flatnonzero(~collapsed)
    faces = faces[numbers]
    repairs: dict[str, int] = {}
    if repair:
        faces, rows, repairs = repaired_triangles(points, faces)
        numbers = numbers[rows]
        repairs["degenerate"] += int(collapsed.sum())
    if len(faces) == 0:
        raise ValueError("the surface is empty: every triangle collapses when near vertices are joined")
    check_manifold(faces, numbers)
    check_areas(points, faces, numbers)
    kept, flat = np.unique(faces, return_inverse=True)
    return TriMesh(points[kept], flat.reshape(faces.shape).astype(np.int32), repairs=repairs)


def check_areas(points: np.ndarray, faces: np.ndarray, numbers: np.ndarray | None = None) -> None:
    """Check that every triangle has an area, with a tolerance for the rounding of three collinear points.

    Args:
        points: [m], shape (v, 3).
        faces: shape (t, 3), int.
        numbers: their numbers in error messages, shape (t,); counted from 0 by default.

    Raises:
        ValueError: for a degenerate triangle.
    """
    flat_ones = np.flatnonzero(flat_triangles(points, faces))
    if len(flat_ones):
        first = int(flat_ones[0] if numbers is None else numbers[flat_ones[0]])
        raise CellError(f"{len(flat_ones)} triangles have no area; the first is number {first}", first)


def check_used(count: int, cells: np.ndarray, name: str) -> None:
    """Check that every vertex belongs to a triangle or tetrahedron, since others would have no mass.

    Args:
        count: number of vertices.
        cells: shape (m, k), int.
        name: name of the cells, for the message.

    Raises:
        ValueError: if a vertex belongs to none.
    """
    idle = np.setdiff1d(np.arange(count), cells)
    if len(idle):
        raise ValueError(f"{len(idle)} vertices belong to no {name}; the first is number {idle[0]}: leave them out")


def check_indices(vertices: ArrayLike, triangles: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return checked vertices (v, 3), float64, and triangles (t, 3), int64.

    Raises:
        ValueError: if there are no triangles, numbers are not finite, indices are out of range, or shapes are wrong.
    """
    points, faces = np.asarray(vertices, dtype=np.float64), np.asarray(triangles)
    check_vertices(points)
    if faces.size == 0:
        raise ValueError("the surface is empty: it has no triangles")
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu":
        raise ValueError(f"triangles must be whole numbers of shape (t, 3), got {faces.dtype} of shape {faces.shape}")
    wrong = (faces < 0) | (faces >= len(points))
    if wrong.any():
        triangle, corner = np.argwhere(wrong)[0]
        raise CellError(
            f"triangles must name vertices 0 to {len(points) - 1}, of which there are {len(points)}: "
            f"triangle {triangle} names {faces[triangle, corner]}",
            int(triangle),
        )
    return points, faces.astype(np.int64)


def check_vertices(points: np.ndarray) -> None:
    """Check that vertices are finite and of shape (v, 3).

    Raises:
        ValueError: if they are not; the message names the first bad one.
    """
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"vertices must be finite and of shape (v, 3), got {points.shape}")
    lost = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(lost):
        raise ValueError(
            f"vertices must be finite: {len(lost)} of {len(points)} are not; the first is number {lost[0]}, "
            f"{points[lost[0]].tolist()}"
        )


def check_manifold(faces: np.ndarray, numbers: np.ndarray | None = None) -> int:
    """Check that triangles form a two-sided surface; return how many edges belong to a single triangle.

    Args:
        faces: shape (t, 3), int.
        numbers: their numbers in error messages, shape (t,); counted from 0 by default.

    Raises:
        ValueError: if a triangle has a vertex twice, two triangles have the same vertices, an edge has more than two
            triangles, or neighbours have opposite orientations.
    """
    numbers = np.arange(len(faces)) if numbers is None else numbers
    ahead = np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2)
    repeated = ahead[:, 0] == ahead[:, 1]
    if repeated.any():
        where = numbers[np.argmax(repeated) // 3]
        raise CellError(f"the surface is not a manifold: triangle {where} has the same vertex twice", int(where))
    pair = first_alike(np.sort(faces, axis=1))
    if pair is not None:
        a, b = numbers[list(pair)]
        raise CellError(
            f"the surface is not a manifold: triangles {a} and {b} have the same vertices, "
            f"{sorted(faces[pair[0]].tolist())}",
            int(a),
            int(b),
        )
    which = sides(faces)[1]
    uses = np.bincount(which)
    if (uses > 2).any():
        around = numbers[np.flatnonzero(which == np.argmax(uses > 2)) // 3].tolist()
        raise CellError(
            f"the surface is not a manifold: {(uses > 2).sum()} edges have more than two triangles; at the first are "
            f"{', '.join(map(str, around[:-1]))} and {around[-1]}",
            *around,
        )
    pair = first_alike(ahead)
    if pair is not None:
        a, b = numbers[np.array(pair) // 3]
        raise CellError(
            "the surface is not a manifold with two sides: neighbouring triangles run opposite ways round, of which the"
            f" first are {a} and {b}; turn one of them (exchange two of its vertices)",
            int(a),
            int(b),
        )
    return int((uses == 1).sum())


def groups(count: int, pairs: np.ndarray) -> np.ndarray:
    """Return the smallest member of the group of each of ``count`` items joined by ``pairs`` (m, 2), shape (count,)."""
    label = np.arange(count)
    while True:
        least = np.minimum(label[pairs[:, 0]], label[pairs[:, 1]])
        new = label.copy()
        np.minimum.at(new, label[pairs[:, 0]], least)
        np.minimum.at(new, label[pairs[:, 1]], least)
        new = new[new]
        if (new == label).all():
            return label
        label = new


def joined_vertices(points: np.ndarray, used: np.ndarray, weld: float) -> np.ndarray:
    """Return for each point the first of the points that coincide with it, shape (v,).

    Args:
        points: [m], shape (v, 3).
        used: points to join, in order; others stay unchanged.
        weld: distance within which points are joined, relative to the diagonal of the used points' bounding box.
    """
    result = np.arange(len(points))
    result[used] = used[_joined(points[used], weld * float(np.linalg.norm(np.ptp(points[used], axis=0))))]
    return result


def _joined(points: np.ndarray, tolerance: float) -> np.ndarray:
    """Return for each point the first of the points that coincide with it, joining chains of near neighbours."""
    # Along a direction that no model has for an axis few points lie side by side.
    along = points @ np.array([0.8018, 0.5345, 0.2673])
    order = np.argsort(along, kind="stable")
    sorted_points, sorted_along = points[order], along[order]
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    for step in range(1, len(points)):
        near = sorted_along[step:] - sorted_along[:-step] <= tolerance
        if not near.any():
            break
        gaps = np.linalg.norm(sorted_points[step:][near] - sorted_points[:-step][near], axis=1)
        first = np.flatnonzero(near)[gaps <= tolerance]
        pairs.append(np.stack([order[first], order[first + step]], axis=1))
    return groups(len(points), np.concatenate(pairs))


def _areas(positions: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    a, b, c = positions[triangles].swapaxes(0, 1)
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)


def revolution(profile: ArrayLike, segments: int = 24) -> TriMesh:
    """Revolve a profile around the y axis.

    Seen with the axis on the left, a profile that runs counter-clockwise has its outside on the right: from the bottom
    to the top of a cylinder, or around a cup from the middle of its foot over its outside and its rim to the inside of
    its bottom. It is closed where it starts and ends on the axis, or where its last point is its first.

    Args:
        profile: distance from the axis and height of each point [m], shape (k, 2), k at least 2.
        segments: segments of each circle, at least 3.

    Raises:
        TypeError: for anything but numbers.
        ValueError: for fewer than two points, a negative distance, only points on the axis, too few segments, or a
            profile that touches itself.
    """
    points = shaped("profile", profile, (-1, 2))
    segments = whole("segments", segments, 3)
    if len(points) < 2 or (points[:, 0] < 0.0).any() or not points[:, 0].any():
        raise ValueError(f"a profile needs at least 2 points, none left of the axis and not all on it, got {points}")
    angles = 2.0 * np.pi * np.arange(segments) / segments
    around = np.stack([np.cos(angles), np.zeros(segments), -np.sin(angles)], axis=1)
    vertices = points[:, None, :1] * around + points[:, None, 1:] * np.array([0.0, 1.0, 0.0])
    a = (np.arange(len(points) - 1)[:, None] * segments + np.arange(segments)).ravel()
    b = (np.arange(len(points) - 1)[:, None] * segments + np.roll(np.arange(segments), -1)).ravel()
    c, d = a + segments, b + segments
    faces = np.concatenate([np.stack([a, b, d], axis=1), np.stack([a, d, c], axis=1)])
    flat = vertices.reshape(-1, 3)
    corners = flat[faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return trimesh(flat, faces[area > 1e-12 * np.ptp(points, axis=0).max() ** 2])
