"""Procedural garments: flat pieces of any outline, and a T-shirt sewn from two of them. In NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.geometry.trimeshes import TriMesh, check_manifold


def tshirt(width: float = 0.5, length: float = 0.7, spacing: float = 0.025, gap: float = 0.004) -> TriMesh:
    """Make a T-shirt that lies flat: a front and a back sewn along shoulders, sleeves and sides.

    It lies in the plane z = 0 with the front towards +z and the neck at the origin, sleeves along x, hem at
    y = -length. The neck, both sleeves and the hem are open. Seams are ``free_edges``, so that front and back spread
    without a spring that presses them together. ``landmarks`` names the corners (left is -x): ``hem_left``,
    ``armpit_left``, ``sleeve_low_left``, ``sleeve_top_left``, ``neck_left``, the same with ``right``, and the middles
    ``collar_front`` and ``collar_back``.

    Args:
        width: width across the chest, seam to seam [m]. length: length from the neck to the hem [m]. spacing:
        approximate distance between neighbouring vertices [m]. gap: gap between front and back away from the seams [m].

    Raises:
        ValueError: if a number is not positive and finite, the shirt is shorter than its sleeves reach down, or the
            spacing is too coarse for the sleeves.
    """
    for name, value in {"width": width, "length": length, "spacing": spacing, "gap": gap}.items():
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be positive and finite, got {value}")
    if length <= 0.7 * width:
        raise ValueError(f"length must be above 0.7 of the width, got {length} and {width}")
    # The right half, in widths, from the hem up; sleeves slope down by 24 degrees and are 0.36 wide.
    right = np.array([[0.5, -length / width], [0.5, -0.54], [0.69, -0.628], [0.84, -0.3], [0.18, 0.0]]) * width
    names = ["hem", "armpit", "sleeve_low", "sleeve_top", "neck"]
    angle = np.linspace(0.0, np.pi, 33)[1:-1]
    neck = width * np.stack([0.18 * np.cos(angle), -0.2 * np.sin(angle)], axis=1)
    left = right[::-1] * [-1, 1]
    # Each side of the outline as a line of points, and whether it is a seam: hem, side, under the sleeve, sleeve
    # opening, shoulder, neck, and back down on the left.
    lines = [np.stack([left[-1], right[0]])]
    lines += [right[i : i + 2] for i in range(4)]
    lines += [np.concatenate([right[-1:], neck, left[:1]])]
    lines += [left[i : i + 2] for i in range(4)]
    sewn = [False, True, True, False, True, False, True, False, True, True]
    pieces = [_resample(line, spacing) for line in lines]
    outline = np.concatenate([piece[:-1] for piece in pieces])
    flat, faces = fill_outline(outline, spacing)

    first = np.cumsum([0] + [len(piece) - 1 for piece in pieces])
    rim = len(outline)
    is_seam = np.zeros(len(flat), dtype=bool)
    free = []
    for start, end, seam in zip(first[:-1], first[1:], sewn, strict=True):
        if seam:
            along = np.arange(start, end + 1) % rim
            is_seam[along] = True
            free.append(np.stack([along[:-1], along[1:]], axis=1))
    back = np.arange(len(flat))
    back[~is_seam] = len(flat) + np.arange((~is_seam).sum())
    height = np.where(is_seam, 0.0, gap / 2)
    front_points = np.column_stack([flat, height])
    back_points = np.column_stack([flat, -height])[~is_seam]
    triangles = np.concatenate([faces, back[faces[:, ::-1]]])
    try:
        check_manifold(triangles)
    except ValueError as error:
        raise ValueError(f"a spacing of {spacing} m is too coarse for a shirt {width} m wide") from error

    corners = dict(zip(names, first[1:6], strict=True))
    landmarks = {f"{name}_right": int(corners[name]) for name in names}
    opposite = dict(zip(names[::-1], [*first[6:10], 0], strict=True))
    landmarks |= {f"{name}_left": int(opposite[name]) for name in names}
    middle = (first[5] + first[6]) // 2
    landmarks |= {"collar_front": int(middle), "collar_back": int(back[middle])}
    return TriMesh(
        np.concatenate([front_points, back_points]),
        triangles.astype(np.int32),
        np.sort(np.concatenate(free), axis=1).astype(np.int32),
        landmarks,
    )


def fill_outline(outline: ArrayLike, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """Triangulate a flat piece: equilateral triangles inside, Delaunay's towards the edge.

    Args:
        outline: corners of a simple polygon [m], counter-clockwise, shape (b, 2). They become vertices and its sides
            edges, so their distances should be near ``spacing``.
        spacing: side of the inner triangles [m].

    Returns:
        Vertices, shape (n, 2), the outline first, and triangles, counter-clockwise, shape (t, 3), int.

    Raises:
        ValueError: for an outline that is not finite, not counter-clockwise, of a wrong shape, or so narrow somewhere
            that its sides cannot be edges at this spacing.
    """
    rim = np.asarray(outline, dtype=np.float64)
    if rim.ndim != 2 or rim.shape[1] != 2 or len(rim) < 3 or not np.isfinite(rim).all():
        raise ValueError(f"outline must be finite and of shape (b, 2), b at least 3, got {rim.shape}")
    ahead = np.roll(rim, -1, axis=0)
    if (rim[:, 0] * ahead[:, 1] - rim[:, 1] * ahead[:, 0]).sum() <= 0:
        raise ValueError("outline must run counter-clockwise")
    lower, upper = rim.min(axis=0), rim.max(axis=0)
    step = np.array([spacing, spacing * 0.75**0.5])
    count = np.ceil((upper - lower) / step).astype(int) // 2 + 1
    row, column = np.mgrid[-count[1] : count[1] + 1, -count[0] : count[0] + 1]
    lattice = np.stack([(column + row % 2 / 2) * step[0], row * step[1]], axis=-1).reshape(-1, 2) + (lower + upper) / 2
    # A side is an edge of Delaunay's triangulation if no vertex lies in the circle on it: half a spacing is enough.
    inner = lattice[_inside(lattice, rim) & (_distance(lattice, rim) > 0.6 * spacing)]
    points = np.concatenate([rim, inner])
    triangles = _delaunay(points)
    a, b, c = points[triangles].swapaxes(0, 1)
    double = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    # Vertices along a straight side make triangles without area there.
    triangles = triangles[(double > 1e-3 * spacing**2) & _inside((a + b + c) / 3, rim)]
    size = len(points)
    sides = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2)
    wanted = np.arange(len(rim)) * size + (np.arange(len(rim)) + 1) % len(rim)
    if not np.isin(wanted, sides @ [size, 1]).all():
        raise ValueError(f"the outline is too narrow somewhere for a spacing of {spacing} m")
    return points, triangles


def _resample(line: np.ndarray, spacing: float) -> np.ndarray:
    """Return evenly spaced points along a line of points, both ends included."""
    reach = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    even = np.linspace(0.0, reach[-1], max(1, round(reach[-1] / spacing)) + 1)
    return np.stack([np.interp(even, reach, line[:, k]) for k in (0, 1)], axis=1)


def _inside(points: np.ndarray, rim: np.ndarray) -> np.ndarray:
    """Return which points lie in a polygon: a ray to the right crosses it an odd number of times."""
    x, y = points[:, None, 0], points[:, None, 1]
    start, end = rim, np.roll(rim, -1, axis=0)
    spans = (start[:, 1] <= y) != (end[:, 1] <= y)
    rise = np.where(start[:, 1] == end[:, 1], 1.0, end[:, 1] - start[:, 1])
    crossing = start[:, 0] + (y - start[:, 1]) / rise * (end[:, 0] - start[:, 0])
    return (spans & (x < crossing)).sum(axis=1) % 2 == 1


def _distance(points: np.ndarray, rim: np.ndarray) -> np.ndarray:
    """Return the distance of each point from the sides of a polygon."""
    side = np.roll(rim, -1, axis=0) - rim
    away = points[:, None] - rim
    share = np.clip((away * side).sum(axis=2) / (side * side).sum(axis=1), 0.0, 1.0)
    return np.linalg.norm(away - share[..., None] * side, axis=2).min(axis=1)


def _delaunay(points: np.ndarray) -> np.ndarray:
    """Return Delaunay's triangulation of the plane, counter-clockwise, shape (t, 3), int.

    Points enter one by one; the triangles whose circle holds the new one make way for a fan. Bowyer 1981,
    doi:10.1093/comjnl/24.2.162, and Watson 1981, doi:10.1093/comjnl/24.2.167.
    """
    count = len(points)
    span = float(np.ptp(points, axis=0).max())
    # Four vertices of a regular pattern may lie on one circle. A small, fixed disorder decides for all of them alike.
    disorder = 1e-7 * span * np.random.default_rng(0).uniform(-1.0, 1.0, size=points.shape)
    around = points.mean(axis=0) + 100.0 * span * np.array([[-2.0, -1.0], [2.0, -1.0], [0.0, 2.0]])
    place = np.concatenate([points + disorder, around])
    triangles = np.zeros((2 * count + 8, 3), dtype=np.int64)
    centre, square = np.zeros((len(triangles), 2)), np.full(len(triangles), -1.0)  # belongs to no triangle

    def put(slots: np.ndarray, corners: np.ndarray) -> None:
        triangles[slots] = corners
        a = place[corners[:, 0]]
        b, c = place[corners[:, 1]] - a, place[corners[:, 2]] - a
        twice = 2.0 * (b[:, 0] * c[:, 1] - b[:, 1] * c[:, 0])
        bb, cc = (b * b).sum(axis=1), (c * c).sum(axis=1)
        offset = np.stack([c[:, 1] * bb - b[:, 1] * cc, b[:, 0] * cc - c[:, 0] * bb], axis=1) / twice[:, None]
        centre[slots] = a + offset
        square[slots] = (offset * offset).sum(axis=1)

    put(np.array([0]), np.array([[count, count + 1, count + 2]]))
    unused = list(range(len(triangles) - 1, 0, -1))
    for new in range(count):
        away = place[new] - centre
        gone = np.flatnonzero(away[:, 0] ** 2 + away[:, 1] ** 2 < square)
        sides = {(t[k], t[k - 2]) for t in triangles[gone].tolist() for k in range(3)}
        rim = np.array([(a, b) for a, b in sides if (b, a) not in sides])
        square[gone] = -1.0
        unused.extend(gone.tolist())
        slots = np.array([unused.pop() for _ in rim])
        put(slots, np.column_stack([rim, np.full(len(rim), new)]))
    found = triangles[square >= 0]
    return found[(found < count).all(axis=1)]
