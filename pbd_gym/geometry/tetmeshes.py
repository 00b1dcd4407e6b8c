"""Solids made of tetrahedra: the mesh type, balls, rings, lattices and filled surfaces, in NumPy.

Every mesh is conforming (two tetrahedra share a whole face or none of it), has no duplicate and no unused vertices, and
its tetrahedra are positively oriented: (b - a) x (c - a) . (d - a) > 0. Lattices consist of cubes of five tetrahedra
each.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.geometry.edges import first_alike
from pbd_gym.geometry.repair import CellError, flat_tetrahedra, repaired_tetrahedra
from pbd_gym.geometry.solid_angles import winding_number
from pbd_gym.geometry.surfaces import closed_surface
from pbd_gym.geometry.trimeshes import check_vertices, joined_vertices
from pbd_gym.runtime.checks import switch, whole

_MAX_CELLS = 2_000_000
"""Number of cubes above which a spacing is taken for a mistake: no solver here needs that many."""


@dataclass(frozen=True)
class TetMesh:
    """A solid made of tetrahedra."""

    positions: np.ndarray
    """Vertices at rest [m], shape (n, 3), float64."""
    tets: np.ndarray
    """Vertices of each tetrahedron, positively oriented, shape (m, 4), int32."""
    triangles: np.ndarray
    """Surface, counter-clockwise seen from outside, shape (t, 3), int32."""
    edges: np.ndarray
    """Edges of the tetrahedra, each once with the lower vertex first, shape (e, 2), int32."""
    repairs: Mapping[str, int] = field(default_factory=dict)
    """Numbers of ``degenerate``, ``doubled`` and ``flipped`` tetrahedra, if the mesh was made with ``repair``."""

    def volumes(self) -> np.ndarray:
        """Return the volume of each tetrahedron [m^3], shape (m,)."""
        return _volumes(self.positions, self.tets)

    def vertex_volumes(self) -> np.ndarray:
        """Return the volume that belongs to each vertex, a quarter of each of its tetrahedra [m^3], shape (n,)."""
        shares = np.zeros(len(self.positions))
        np.add.at(shares, self.tets.ravel(), np.repeat(0.25 * self.volumes(), 4))
        return shares

    def edge_volumes(self) -> np.ndarray:
        """Return the volume of the tetrahedra at each edge [m^3], shape (e,)."""
        _, which = np.unique(np.sort(_pairs(self.tets), axis=1), axis=0, return_inverse=True)
        return np.bincount(which.reshape(-1), weights=np.repeat(self.volumes(), 6), minlength=len(self.edges))

    def volume(self) -> float:
        """Return the volume of the whole mesh [m^3]."""
        return float(self.volumes().sum())


def tetmesh(vertices: ArrayLike, tets: ArrayLike, weld: float = 1e-6, repair: bool = False) -> TetMesh:
    """Make a mesh of given tetrahedra: join coincident vertices, drop unused ones, and check the rest.

    Programs write each part of a body with nodes of its own; only joining them makes a connected body.

    Args:
        vertices: [m], shape (v, 3); those that no tetrahedron uses are dropped.
        tets: shape (m, 4), int, all of one orientation. Programs differ in the sign convention: a mesh that is negative
        throughout is inverted. weld: distance within which vertices are joined, relative to the diagonal of their
        bounding box. repair: whether flat and duplicate tetrahedra are dropped, and those with the minority orientation
        flipped; ``repairs`` of the mesh counts them.

    Raises:
        TypeError: for a ``repair`` that is not True or False.
        ValueError: for a mesh that is empty, not finite or not a manifold (three tetrahedra at a face, or two that
            overlap there), for a tetrahedron that is flat, or inverted where others are not, or for a wrong shape.
    """
    if not (np.isfinite(weld) and weld >= 0):
        raise ValueError(f"weld must be finite and not negative, got {weld}")
    switch("repair", repair)
    points, cells = np.asarray(vertices, dtype=np.float64), np.asarray(tets)
    check_vertices(points)
    if cells.size == 0:
        raise ValueError("the mesh is empty: it has no tetrahedra")
    if cells.ndim != 2 or cells.shape[1] != 4 or cells.dtype.kind not in "iu":
        raise ValueError(f"tets must be whole numbers of shape (m, 4), got {cells.dtype} of shape {cells.shape}")
    outside = (cells < 0) | (cells >= len(points))
    if outside.any():
        tet, corner = np.argwhere(outside)[0]
        raise CellError(
            f"tets must name vertices 0 to {len(points) - 1}: tetrahedron {tet} names {cells[tet, corner]}", int(tet)
        )
    if not repair:
        _check_tetrahedra(points, cells)
    joined = joined_vertices(points, np.unique(cells), weld)[cells]
    collapsed = _has_twice(joined) & ~_has_twice(cells)
    numbers = np.flatnonzero(~collapsed)
    cells = joined[numbers].astype(np.int64)
    if len(cells) == 0:
        raise ValueError("the mesh is empty: every tetrahedron collapses when near vertices are joined")
    volumes = _volumes(points, cells)
    repairs: dict[str, int] = {}
    if repair:
        stays, repairs = repaired_tetrahedra(points, cells, volumes)
        repairs["degenerate"] += int(collapsed.sum())
        cells, numbers, volumes = cells[stays], numbers[stays], volumes[stays]
        if len(cells) == 0:
            raise ValueError("the mesh is empty: every tetrahedron is flat")
    turned = np.where((volumes < 0)[:, None], cells[:, [0, 1, 3, 2]], cells) if repair else cells
    _check_faces(turned, numbers)
    return replace(from_tets(points, cells), repairs=repairs)


def _has_twice(cells: np.ndarray) -> np.ndarray:
    """Return whether each cell has a repeated vertex."""
    ordered = np.sort(cells, axis=1)
    return (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)


def _check_tetrahedra(points: np.ndarray, cells: np.ndarray) -> None:
    """Raise a ValueError for a flat tetrahedron, or an inverted one where others are not."""
    volumes = _volumes(points, cells)
    flat = np.flatnonzero(flat_tetrahedra(volumes, points[cells]))
    if len(flat):
        raise CellError(f"{len(flat)} of {len(cells)} tetrahedra are flat; the first is number {flat[0]}", int(flat[0]))
    wrong = np.flatnonzero(np.sign(volumes) != np.sign(np.median(np.sign(volumes)) or 1.0))
    if len(wrong):
        first = int(wrong[0])
        raise CellError(f"{len(wrong)} of {len(cells)} tetrahedra are inverted; the first is number {first}", first)


def _check_faces(cells: np.ndarray, numbers: np.ndarray) -> None:
    """Raise a ValueError for faces that more than two tetrahedra share, or two from the same side."""
    pair = first_alike(np.sort(cells, axis=1))
    if pair is not None:
        a, b = numbers[list(pair)].tolist()
        raise CellError(f"the mesh is not a manifold: tetrahedra {a} and {b} have the same vertices", a, b)
    faces = _faces(cells)
    owners = np.repeat(numbers, 4)
    _, which, uses = np.unique(np.sort(faces, axis=1), axis=0, return_inverse=True, return_counts=True)
    if uses.max() > 2:
        around = owners[which.reshape(-1) == np.argmax(uses > 2)].tolist()
        raise CellError(
            f"the mesh is not a manifold: a face belongs to more than two tetrahedra, {', '.join(map(str, around))}",
            *around,
        )
    start = np.argmin(faces, axis=1)[:, None]
    pair = first_alike(np.take_along_axis(faces, (start + np.arange(3)) % 3, axis=1))
    if pair is not None:
        a, b = owners[list(pair)].tolist()
        raise CellError(
            f"the mesh is not a manifold: two tetrahedra, {a} and {b}, lie on the same side of a face", a, b
        )


def _volumes(positions: np.ndarray, tets: np.ndarray) -> np.ndarray:
    a, b, c, d = positions[tets].swapaxes(0, 1)
    return (np.cross(b - a, c - a) * (d - a)).sum(axis=1) / 6.0


def _faces(tets: np.ndarray) -> np.ndarray:
    """Return the faces of each tetrahedron, counter-clockwise seen from outside, shape (4 m, 3)."""
    return tets[:, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]].reshape(-1, 3)


def from_tets(positions: np.ndarray, tets: np.ndarray) -> TetMesh:
    """Make a mesh of tetrahedra: drop unused vertices, orient them, and find surface and edges.

    Args:
        positions: [m], shape (v, 3).
        tets: shape (m, 4), int, each of either orientation.
    """
    used, flat = np.unique(tets, return_inverse=True)
    positions, tets = np.ascontiguousarray(positions[used]), flat.reshape(tets.shape).astype(np.int32)
    negative = _volumes(positions, tets) < 0
    tets[negative, 2:] = tets[negative, 2:][:, ::-1]
    faces = _faces(tets)  # those that no other tetrahedron shares are the surface
    _, first, uses = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    return TetMesh(positions, tets, faces[np.sort(first[uses == 1])], np.unique(np.sort(_pairs(tets), axis=1), axis=0))


def _pairs(tets: np.ndarray) -> np.ndarray:
    """Return the sides of each tetrahedron, shape (6 m, 2)."""
    return tets[:, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]].reshape(-1, 2)


def box(cells: tuple[int, int, int], size: tuple[float, float, float]) -> TetMesh:
    """Make a box of ``cells`` cells of five tetrahedra each, centred on the origin.

    Args:
        cells: cells along x, y and z, each at least 1.
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

    Cubes whose middle is inside are kept. Their surface is a staircase that follows the given one to within the
    diagonal of a cube. Where cubes would be joined by only an edge or a corner, which no elastic body can be, one more
    is filled, so the surface is always a manifold.

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
    """Return a length after checking it.

    Raises:
        ValueError: unless it is positive and finite.
    """
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be positive and finite, got {value}")
    return float(value)


def grid_of_tets(filled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a grid of cells, shape (n, 3), int, and the tetrahedra of the ``filled`` cells."""
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
"""Offsets of the cells around a lattice vertex, in the order of a pattern's bits."""


@lru_cache(maxsize=1)
def _repairs() -> np.ndarray:
    """Return, for each pattern of 8 cells around a vertex, the smallest manifold pattern that contains it."""

    def joined(cells: list[int]) -> bool:
        """Return whether cells are connected by faces: neighbours differ in one bit."""
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
    """Fill cells until any two touching cells are connected by faces, and so are the empty ones."""
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


def ball(radius: float, resolution: int = 4) -> TetMesh:
    """Make a ball centred on the origin from an icosahedron whose 20 wedges are split ``resolution`` times each way.

    Args:
        radius: radius of the sphere on which the surface vertices lie [m].
        resolution: layers from the centre to the surface, at least 1; gives 20 * resolution^3 tetrahedra.

    Raises:
        TypeError: for a resolution that is not a whole number.
        ValueError: for a resolution below 1, or a radius that is not positive and finite.
    """
    resolution = whole("resolution", resolution, 1)
    radius = positive("radius", radius)
    corners, faces = _icosahedron()
    wedges = np.concatenate([np.full((len(faces), 1), len(corners)), faces], axis=1)
    weights, tets = _subdivide(wedges, resolution, len(corners) + 1)
    flat = weights[:, :-1] @ corners
    # Layers of the icosahedron become spheres: only the direction is kept, and the layer tells how far out.
    layer = 1.0 - weights[:, -1] / resolution
    return from_tets(radius * layer[:, None] * _unit(flat), tets)


def torus(major_radius: float, minor_radius: float, segments: int = 24, rings: int = 2) -> TetMesh:
    """Make a ring around the y axis, centred on the origin.

    Args:
        major_radius: distance from the middle of the ring to the middle of its tube [m]. minor_radius: radius of the
        tube [m]. segments: slices around the ring, at least 3. rings: layers from the middle of the tube to its
        surface, at least 1; gives 18 * rings^2 * segments tetrahedra.

    Raises:
        TypeError: for counts that are not whole numbers.
        ValueError: for counts that are too low, a radius that is not positive and finite, or a tube so thick that the
            hole closes.
    """
    segments, rings = whole("segments", segments, 3), whole("rings", rings, 1)
    major_radius, minor_radius = positive("major_radius", major_radius), positive("minor_radius", minor_radius)
    if minor_radius >= major_radius:
        raise ValueError(f"minor_radius must be below major_radius, got {minor_radius} and {major_radius}")
    # The cross section: six sectors of a hexagon, made round like the ball.
    turn = np.arange(6) * np.pi / 3
    corners = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    sectors = np.array([[6, k, (k + 1) % 6] for k in range(6)])
    weights, faces = _subdivide(sectors, rings, 7)
    layer = 1.0 - weights[:, -1] / rings
    disc = minor_radius * layer[:, None] * _unit(weights[:, :-1] @ corners)
    angles = np.arange(segments) * 2 * np.pi / segments
    reach = major_radius + disc[:, 0]
    around = np.stack([np.cos(angles), np.zeros(segments), np.sin(angles)], axis=1)
    positions = around[:, None] * reach[:, None] + np.array([0.0, 1.0, 0.0]) * disc[:, 1, None]
    # Prisms between slices. Each of their sides is cut from its lower vertex here to its higher one in the next slice,
    # so that neighbours agree.
    a, b, c = np.sort(faces, axis=1).T
    step = len(disc)
    low = np.arange(segments)[:, None] * step
    high = (np.arange(segments)[:, None] + 1) % segments * step
    parts = [
        (low + a, low + b, low + c, high + c),
        (low + a, low + b, high + b, high + c),
        (low + a, high + a, high + b, high + c),
    ]
    tets = np.concatenate([np.stack(part, axis=-1).reshape(-1, 4) for part in parts])
    return from_tets(positions.reshape(-1, 3), tets)


def _unit(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 1e-9, length, np.inf)  # the centre stays where it is


def _icosahedron() -> tuple[np.ndarray, np.ndarray]:
    """Return 12 corners at unit distance and 20 triangles."""
    golden = (1 + 5**0.5) / 2
    signs = [(s, t * golden) for s in (-1.0, 1.0) for t in (-1.0, 1.0)]
    corners = np.array([np.roll([0.0, s, t], shift) for shift in range(3) for s, t in signs])
    near = np.linalg.norm(corners[:, None] - corners[None], axis=2) < 2.0 + 1e-9  # an edge is 2 long
    triples = [t for t in itertools.combinations(range(12), 3) if near[np.ix_(t, t)].all()]
    return _unit(corners), np.array(triples)


def _subdivide(simplices: np.ndarray, n: int, corner_count: int) -> tuple[np.ndarray, np.ndarray]:
    """Split each triangle or tetrahedron into n^d similar ones by parallel cuts.

    A face is cut the same way in each of its simplices, so a conforming mesh stays conforming.

    Args:
        simplices: shape (s, d + 1), d = 2 or 3.
        n: pieces of each edge.
        corner_count: vertices that the simplices are made of.

    Returns:
        weights: weight of each old vertex in each new one, in n-ths; shape (v, corner_count), int.
        pieces: shape (s * n^d, d + 1).
    """
    dimension = simplices.shape[1] - 1
    chain, pieces = _chains(dimension, n)
    weights = np.zeros((len(simplices), len(chain), corner_count), dtype=np.int64)
    for k in range(dimension + 1):
        # n >= x1 >= x2 >= ... >= 0 are cumulative weights: their differences are the barycentric ones.
        share = (n if k == 0 else chain[:, k - 1]) - (0 if k == dimension else chain[:, k])
        weights[np.arange(len(simplices))[:, None], np.arange(len(chain)), simplices[:, k, None]] = share
    # Whole numbers say exactly which vertices of neighbours are the same.
    unique, inverse = np.unique(weights.reshape(-1, corner_count), axis=0, return_inverse=True)
    table = inverse.reshape(len(simplices), len(chain))
    return unique, table[:, pieces].reshape(-1, dimension + 1)


def _chains(dimension: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the points n >= x1 >= x2 >= ... >= 0 of a grid and the pieces of Kuhn's cubes among them."""
    points = [p for p in itertools.product(range(n + 1), repeat=dimension) if list(p) == sorted(p, reverse=True)]
    number = {point: i for i, point in enumerate(points)}
    pieces = []
    for start in points:
        for order in itertools.permutations(range(dimension)):
            walk = [start]
            for axis in order:
                walk.append(tuple(c + (k == axis) for k, c in enumerate(walk[-1])))
            if all(point in number for point in walk):
                pieces.append([number[point] for point in walk])
    return np.array(points), np.array(pieces)
