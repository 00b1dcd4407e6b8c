"""What the distances between points, edges and triangles share: data, checks, and the choice of the closest points.

The difference of the closest points is ``d = sum_k b_k x_k`` with weights b that add up to zero. Because the closest
points minimise ``|d|``, the change of b drops out of the gradient of ``C = |d| - l0``, which is ``b_k d / |d|``.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.common.kind import Kind
from pbd_gym.constraints.common.limit import sides
from pbd_gym.formulas import Number, Scalar, Vec3, by_precision, clamp, dot, maximum, norm, stop_gradient, where
from pbd_gym.kernels.solve.projection import Residual
from pbd_gym.runtime.checks import finite


def foot(numerator: Number, denominator: Number) -> Number:
    """Return where on an edge, from 0 to 1, the point closest to another point is."""
    return clamp(numerator / maximum(denominator, 1e-30), 0.0, 1.0)


def closest(
    difference: Callable[..., Vec3],
    crossing: Sequence[Number],
    outside: Sequence[Number],
    candidates: Sequence[Sequence[Scalar]],
) -> Vec3:
    """Return the shortest of several differences, as one whose weights do not change.

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
        det: what is divided by.
        squares: the product of the squared lengths of the directions.
        numerators: what is divided.
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
    """Make a kind of distances between closest points.

    Args:
        name: of the kind.
        width: particles of a constraint.
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
            positions: of all particles of the scene [m], shape (n, 3).
            indices: particles of each constraint, shape (m, width).
            compliance: inverse stiffness [m/N], one number or shape (m,).
            rest_length: [m], one number or shape (m,); by default the distance between the closest points now.
            unilateral: whether it only keeps them apart, as a contact does; one value or shape (m,).

        Returns:
            Arrays by name, shape (m,) each.

        Raises:
            ValueError: for a number that is negative or not finite, or a wrong shape.
        """
        if rest_length is None:
            rest_length = distance(positions[indices])
        values = {}
        for key, value in (("rest_length", rest_length), ("compliance", compliance)):
            values[key] = finite(key, value, (len(indices),))
            if (values[key] < 0).any():
                raise ValueError(f"{key} must not be negative")
        return values | {"side": sides(unilateral, -1.0, len(indices))}

    return Kind(name, width, prepare, {"rest_length": ()}, formula, one_sided=True)


def edge_distance(points: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the distance of points from edges [m], shape (m,), for arrays of shape (m, 3)."""
    along, from_start = ends - starts, points - starts
    square = np.maximum(np.einsum("ij,ij->i", along, along), 1e-300)
    t = np.clip(np.einsum("ij,ij->i", along, from_start) / square, 0.0, 1.0)
    return np.linalg.norm(from_start - t[:, None] * along, axis=1)
