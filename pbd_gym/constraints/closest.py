"""What the distances between points, edges and triangles share: data, checks, and the choice of the closest points.

The difference of the closest points is ``d = sum_k b_k x_k`` with weights b that add up to zero. Because the closest
points minimise ``|d|``, the change of b drops out of the gradient of ``C = |d| - l0``, which is ``b_k d / |d|``.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind
from pbd_gym.constraints.limit import LIMIT, sides
from pbd_gym.kernels.sweep import SOLVE
from pbd_gym.runtime.checks import finite


def clamped(position: str) -> str:
    """Return a C++ expression of a variable (V), or the nearer of 0 and 1 where it is not between them."""
    return f"({position} > T(1) ? V(T(1)) : FLOOR({position}, 0))"


def foot(name: str, numerator: str, denominator: str) -> str:
    """Return C++ statements that declare where on an edge, from 0 to 1, the point closest to another point is."""
    return f"""
    V {name} = ({numerator}) / FLOOR({denominator}, 1e-30);
    {name} = {clamped(name)};"""


def choose(names: Sequence[str], difference: Callable[..., str], candidates: Sequence[Sequence[str]]) -> str:
    """Return C++ statements that choose among candidates for the closest points, of which V ``best`` is the distance.

    Args:
        names: the variables (V) that say where the closest points are; they come in with the first candidate, and
            V ``inside``, positive where that is one.
        difference: from such names and an axis to a C++ expression for d along that axis.
        candidates: expressions (V) for each of ``names``, for each further candidate.
    """

    def square(values: Sequence[str]) -> str:
        return " + ".join(f"({difference(*values, axis)}) * ({difference(*values, axis)})" for axis in "xyz")

    far = "V(T(sizeof(T) == 4 ? 1e30 : 1e300))"
    parts = [f"    V best = {square(names)};\n    best = inside > T(0) ? best : {far};"]
    for number, values in enumerate(candidates):
        own = [f"{name}{number}" for name in names]
        declared = ", ".join(f"{name} = {value}" for name, value in zip(own, values, strict=True))
        parts.append(f"    const V {declared}, apart{number} = {square(own)};")
        parts += [
            f"    {name} = apart{number} < best ? {mine} : {name};" for name, mine in zip(names, own, strict=True)
        ]
        parts.append(f"    best = apart{number} < best ? apart{number} : best;")
    return "\n".join(parts)


_DISTANCE = """
    scale = SQRT(dx * dx + dy * dy + dz * dz);
    value = scale - size * NUMBER(rest_length);
"""


def make_kind(name: str, width: int, distance: Callable[[np.ndarray], np.ndarray], code: str, weights: str) -> Kind:
    """Make a kind of distances between closest points.

    Args:
        name: of the kind.
        width: particles of a constraint.
        distance: from corners of shape (m, width, 3) to distances [m], shape (m,).
        code: C++ statements on lanes that declare d, ``dx, dy, dz`` (V).
        weights: for each particle but 0, separated by spaces, the variable or number that is its b.
    """

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
            values[key] = finite(key, np.asarray(value, dtype=np.float64), (len(indices),))
            if (values[key] < 0).any():
                raise ValueError(f"{key} must not be negative")
        return values | {"side": sides(unilateral, -1.0, len(indices))}

    gradients = "".join(
        f"    q{k}x = {weight} * dx; q{k}y = {weight} * dy; q{k}z = {weight} * dz;\n"
        for k, weight in enumerate(weights.split(), 1)
    )
    text = code + _DISTANCE + gradients
    return Kind(name, width, prepare, {"rest_length": (), "side": ()}, lambda scalar: text, SOLVE + LIMIT)


def edge_distance(points: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the distance of points from edges [m], shape (m,), for arrays of shape (m, 3)."""
    along, from_start = ends - starts, points - starts
    square = np.maximum(np.einsum("ij,ij->i", along, along), 1e-300)
    t = np.clip(np.einsum("ij,ij->i", along, from_start) / square, 0.0, 1.0)
    return np.linalg.norm(from_start - t[:, None] * along, axis=1)
