"""Tetrahedral meshes for soft bodies: procedural shapes, filled surfaces and given meshes, in NumPy."""

from __future__ import annotations

import itertools

import numpy as np

from pbd_gym.geometry.lattices import box, lattice, positive
from pbd_gym.geometry.tetrahedra import TetMesh, from_tets, tetmesh
from pbd_gym.runtime.checks import whole

__all__ = ["TetMesh", "ball", "box", "lattice", "tetmesh", "torus"]


def ball(radius: float, resolution: int = 4) -> TetMesh:
    """Make a ball centred on the origin from an icosahedron whose 20 wedges are split ``resolution`` times each way.

    Args:
        radius: of the sphere on which the surface vertices lie [m].
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
    """Make a ring round the y axis, centred on the origin.

    Args:
        major_radius: from the middle of the ring to the middle of its tube [m].
        minor_radius: of the tube [m].
        segments: slices round the ring, at least 3.
        rings: layers from the middle of the tube to its surface, at least 1; gives 18 * rings^2 * segments tetrahedra.

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

    A face is cut in the same way whatever simplex it belongs to, so a conforming mesh stays one.

    Args:
        simplices: shape (s, d + 1), d = 2 or 3.
        n: pieces of each edge.
        corner_count: vertices that the simplices are made of.

    Returns:
        weights: of each new vertex, how many n-ths of each old one; shape (v, corner_count), int.
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
    """Return the points n >= x1 >= x2 >= ... >= 0 of a grid and the pieces of Kuhn's cubes that lie among them."""
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
