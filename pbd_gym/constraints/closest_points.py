"""Distances between points, edges and triangles: particles, ropes and cloth that come close to each other.

The difference of the closest points is ``d = sum_k b_k x_k`` with weights b that add up to zero. Because the closest
points minimise ``|d|``, the change of b drops out of the gradient of ``C = |d| - l0``, which is ``b_k d / |d|``.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind, sides
from pbd_gym.formulas import Number, Scalar, Vec3, by_precision, clamp, dot, maximum, norm, stop_gradient, where
from pbd_gym.kernels.solve.projection import Residual
from pbd_gym.runtime.checks import not_negative


def foot(numerator: Number, denominator: Number) -> Number:
    """Return the position on an edge, from 0 to 1, of the point closest to another point."""
    return clamp(numerator / maximum(denominator, 1e-30), 0.0, 1.0)


def closest(
    difference: Callable[..., Vec3],
    crossing: Sequence[Number],
    outside: Sequence[Number],
    candidates: Sequence[Sequence[Scalar]],
) -> Vec3:
    """Return the shortest of several differences, with weights that are held fixed.

    Args:
        difference: from weights to a difference d.
        crossing: weights of the first candidate.
        outside: conditions, none of which holds where the first candidate counts.
        candidates: weights of the others.
    """
    weights = list(crossing)
    d = difference(*weights)
    best = dot(d, d)
    for condition in outside:
        best = where(condition, by_precision(best, 1e30, 1e300), best)
    for candidate in candidates:
        d = difference(*candidate)
        nearer = dot(d, d) < best
        best = where(nearer, dot(d, d), best)
        weights = [where(nearer, mine, old) for mine, old in zip(candidate, weights, strict=True)]
    return difference(*map(stop_gradient, weights))


def crossing_weights(det: Number, squares: Number, numerators: Sequence[Number]) -> tuple[Number, list[Number]]:
    """Return whether two directions are (nearly) parallel, and quotients by a determinant where they are not.

    Args:
        det: denominator.
        squares: the product of the squared lengths of the directions.
        numerators: numerators of the quotients.
    """
    parallel = det < by_precision(det, 1e-6, 1e-14) * squares
    inverse = 1.0 / where(parallel, 1.0, maximum(det, 1e-30))
    return parallel, [numerator * inverse for numerator in numerators]


def make_kind(
    name: str,
    width: int,
    distance: Callable[[np.ndarray], np.ndarray],
    difference: Callable[[Sequence[Vec3]], Vec3],
) -> Kind:
    """Make a constraint kind for distances between closest points.

    Args:
        name: name of the kind.
        width: number of particles of a constraint.
        distance: from corners of shape (m, width, 3) to distances [m], shape (m,).
        difference: from traced positions to d, the difference of the closest points.
    """

    def formula(x: Sequence[Vec3], rest_length: Number, size: Number) -> Residual:
        length = norm(difference(x))
        return Residual(length - size * rest_length, scale=length)

    def prepare(
        positions: np.ndarray,
        indices: np.ndarray,
        compliance: ArrayLike = 0.0,
        rest_length: ArrayLike | None = None,
        unilateral: ArrayLike = False,
    ) -> dict[str, np.ndarray]:
        """Check and complete the numbers of new constraints.

        Args:
            positions: positions of all particles of the scene [m], shape (n, 3).
            indices: particles of each constraint, shape (m, width).
            compliance: inverse stiffness [m/N], one number or shape (m,).
            rest_length: [m], one number or shape (m,); by default the distance between the closest points now.
            unilateral: whether the constraint only keeps them apart, as a contact does; one value or shape (m,).

        Returns:
            Arrays by name, shape (m,) each.

        Raises:
            ValueError: for a number that is negative or not finite, or a wrong shape.
        """
        if rest_length is None:
            rest_length = distance(positions[indices])
        shape = (len(indices),)
        return {
            "rest_length": not_negative("rest_length", rest_length, shape),
            "compliance": not_negative("compliance", compliance, shape),
            "side": sides(unilateral, -1.0, len(indices)),
        }

    return Kind(name, width, prepare, {"rest_length": ()}, formula, one_sided=True)


def edge_distance(points: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the distance of points from edges [m], shape (m,), for arrays of shape (m, 3)."""
    along, from_start = ends - starts, points - starts
    square = np.maximum(np.einsum("ij,ij->i", along, along), 1e-300)
    t = np.clip(np.einsum("ij,ij->i", along, from_start) / square, 0.0, 1.0)
    return np.linalg.norm(from_start - t[:, None] * along, axis=1)


def _edge_point_distance(corners: np.ndarray) -> np.ndarray:
    return edge_distance(corners[:, 0], corners[:, 1], corners[:, 2])


def edge_point(x: Sequence[Vec3]) -> Vec3:
    """Return d of ``C(x) = |d| - l0`` [m], from particle 0 to the closest point of the edge 1-2.

    ``d = (1 - t) x_1 + t x_2 - x_0`` with ``t = (x_2 - x_1) . (x_0 - x_1) / |x_2 - x_1|^2``, not below 0 and not above
    1. Gradients ``b_k d / |d|`` with ``b = (-1, 1 - t, t)``. Energy ``C^2 / (2 compliance)``, compliance in m/N. Bender
    et al. 2014, doi:10.1111/cgf.12346; multiplier of Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.
    """
    along, to_point = x[2] - x[1], x[0] - x[1]
    t = foot(dot(along, to_point), dot(along, along))
    return stop_gradient(t) * along - to_point


EDGE_POINT = make_kind("edge_point", 3, _edge_point_distance, edge_point)
"""See :func:`edge_point`."""


def _edge_edge_distance(corners: np.ndarray) -> np.ndarray:
    a, b, c, d = (corners[:, k] for k in range(4))
    u, v, r = b - a, d - c, c - a
    uu, vv, uv, ru, rv = (np.einsum("ij,ij->i", *pair) for pair in ((u, u), (v, v), (u, v), (r, u), (r, v)))
    det = uu * vv - uv * uv
    safe = np.where(det > 1e-14 * uu * vv, det, np.inf)
    s, t = (ru * vv - rv * uv) / safe, (ru * uv - rv * uu) / safe
    inside = np.isfinite(safe) & (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)
    crossing = np.linalg.norm(r + t[:, None] * v - s[:, None] * u, axis=1)
    ends = np.stack([edge_distance(*rows) for rows in ((a, c, d), (b, c, d), (c, a, b), (d, a, b))])
    return np.where(inside, np.minimum(crossing, ends.min(0)), ends.min(0))


def edge_edge(x: Sequence[Vec3]) -> Vec3:
    """Return d of ``C(x) = |d| - l0`` [m], between the closest points of the edges 0-1 and 2-3.

    ``d = (1 - t) x_2 + t x_3 - (1 - s) x_0 - s x_1``, with s and t where the lines come closest if that lies on both
    edges, and otherwise the best of the four candidates at an end of one edge. Clamping s and t separately, as some
    programs do, finds other points, whose distance has a different gradient. Gradients ``b_k d / |d|`` with ``b = (s -
    1, -s, 1 - t, t)``. Energy ``C^2 / (2 compliance)``, compliance in m/N. Bender et al. 2014, doi:10.1111/cgf.12346;
    multiplier of Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.
    """
    u, v, r = x[1] - x[0], x[3] - x[2], x[2] - x[0]
    uu, vv, uv, ru, rv = dot(u, u), dot(v, v), dot(u, v), dot(r, u), dot(r, v)
    # (Nearly) parallel lines are equally close anywhere, so an end is as good a choice.
    parallel, (s, t) = crossing_weights(uu * vv - uv * uv, uu * vv, [ru * vv - rv * uv, ru * uv - rv * uu])

    def between(s: Scalar, t: Scalar) -> Vec3:
        return r + t * v - s * u

    return closest(
        between,
        [s, t],
        [parallel, s < 0.0, s > 1.0, t < 0.0, t > 1.0],
        [[0.0, foot(-rv, vv)], [1.0, foot(uv - rv, vv)], [foot(ru, uu), 0.0], [foot(ru + uv, uu), 1.0]],
    )


EDGE_EDGE = make_kind("edge_edge", 4, _edge_edge_distance, edge_edge)
"""See :func:`edge_edge`."""


def _triangle_point_distance(corners: np.ndarray) -> np.ndarray:
    p, a, b, c = (corners[:, k] for k in range(4))
    edges = np.stack([edge_distance(p, *ends) for ends in ((a, b), (a, c), (b, c))]).min(0)
    normal = np.cross(b - a, c - a)
    square = np.maximum(np.einsum("ij,ij->i", normal, normal), 1e-300)
    second = np.einsum("ij,ij->i", np.cross(p - a, c - a), normal) / square
    third = np.einsum("ij,ij->i", np.cross(b - a, p - a), normal) / square
    plane = np.abs(np.einsum("ij,ij->i", p - a, normal)) / np.sqrt(square)
    return np.where((second > 0) & (third > 0) & (second + third < 1), plane, edges)


def triangle_point(x: Sequence[Vec3]) -> Vec3:
    """Return d of ``C(x) = |d| - l0`` [m], from particle 0 to the closest point of the triangle 1-2-3.

    ``d = (1 - s - t) x_1 + s x_2 + t x_3 - x_0``, with s and t of the foot of particle 0 in the plane of the triangle
    if that is inside, and else of the closest point of the three sides. Gradients ``b_k d / |d|`` with
    ``b = (-1, 1 - s - t, s, t)``. The distance is unsigned: a point that has passed through is kept on the far side.
    Energy ``C^2 / (2 compliance)``, compliance in m/N. Bender et al. 2014, doi:10.1111/cgf.12346; multiplier of Macklin
    et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.
    """
    u, v, r = x[2] - x[1], x[3] - x[1], x[0] - x[1]
    w = v - u
    uu, vv, uv, ru, rv = dot(u, u), dot(v, v), dot(u, v), dot(r, u), dot(r, v)
    flat, (s, t) = crossing_weights(uu * vv - uv * uv, uu * vv, [ru * vv - rv * uv, rv * uu - ru * uv])
    opposite = foot(dot(r - u, w), dot(w, w))

    def to_plane(s: Scalar, t: Scalar) -> Vec3:
        return s * u + t * v - r

    return closest(
        to_plane,
        [s, t],
        [flat, s < 0.0, t < 0.0, s + t > 1.0],
        [[foot(ru, uu), 0.0], [0.0, foot(rv, vv)], [1.0 - opposite, opposite]],
    )


TRIANGLE_POINT = make_kind("triangle_point", 4, _triangle_point_distance, triangle_point)
"""See :func:`triangle_point`."""
