"""Distance constraints whose rest length yields: edges of clay, a wire that stays bent."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints import distance
from pbd_gym.constraints.kind import Kind
from pbd_gym.formulas import Number, Vec3, clamp, maximum, norm, where
from pbd_gym.kernels.solve.projection import Residual
from pbd_gym.runtime.checks import finite, not_negative, reals


def prepare(
    positions: np.ndarray,
    indices: np.ndarray,
    yield_strain: ArrayLike,
    creep_rate: ArrayLike = np.inf,
    max_strain: ArrayLike = 0.5,
    compliance: ArrayLike = 0.0,
    rest_length: ArrayLike | None = None,
) -> dict[str, np.ndarray]:
    """Check and complete the numbers of new constraints.

    Args:
        positions: of all particles of the scene [m], shape (n, 3).
        indices: particles of each constraint, shape (m, 2).
        yield_strain: elastic strain below which nothing yields, one number or shape (m,); not negative.
        creep_rate: how fast the strain beyond that becomes permanent [1/s], one number or shape (m,); above 0, infinite
        for immediately. max_strain: limit of the permanent strain in either direction, one number or shape (m,); not
        negative and below 1. compliance: inverse stiffness [m/N], one number or shape (m,). rest_length: [m], one
        number or shape (m,), above 0; by default the distance the particles have now.

    Returns:
        Arrays by name, shape (m,) each.

    Raises:
        ValueError: for a number that is out of its range or not finite, or a wrong shape.
    """
    count = len(indices)
    values = distance.prepare(positions, indices, compliance, rest_length)
    if (values["rest_length"] <= 0).any():
        raise ValueError("rest_length of a plastic_distance must be above zero: strain is relative to it")
    for name, value in (("yield_strain", yield_strain), ("max_strain", max_strain)):
        values[name] = not_negative(name, value, (count,))
    if (values["max_strain"] >= 1).any():
        raise ValueError("max_strain must be below 1: an edge cannot shrink to nothing")
    rate = reals("creep_rate", creep_rate)
    if not (rate > 0).all():
        raise ValueError("creep_rate must be above zero")
    values["creep_time"] = finite("creep_rate", 1.0 / rate, (count,))
    return values


def stretch(
    x: Sequence[Vec3],
    before: Sequence[Vec3],
    rest_length: Number,
    yield_strain: Number,
    max_strain: Number,
    creep_time: Number,
    memory: Number,
    first_iteration: Number,
    size: Number,
    inv_h: Number,
) -> Residual:
    """``C(x) = |x_1 - x_0| - l0 (1 + p)`` [m], where the permanent strain p starts at zero and belongs to the state.

    Once per substep, before anything is projected, the elastic strain ``e = |x_1 - x_0| / l0 - 1 - p`` is evaluated.
    The part beyond the yield strain flows, ``dp/dt = (e - yield sign e) / tau`` with tau = 1 / creep rate, by one step
    of implicit Euler, which cannot overshoot however small tau is; p stays between -max and max. This can only lower
    the elastic energy ``C^2 / (2 compliance)``. Edges alone do not preserve volume: with ``tet_volume``, whose rest
    volume does not change, a body keeps its volume while its shape yields.

    Springs with a yield strain and a flow rate: Clavet, Beaudoin, Poulin 2005, doi:10.1145/1073368.1073400; yield and
    largest strain as in O'Brien, Bargteil, Hodgins 2002, doi:10.1145/566654.566579. It needs one number per edge and no
    decomposition of a tetrahedron's deformation, so the same kind serves solids, cloth and ropes.
    """
    rest = size * rest_length
    elastic = norm(before[1] - before[0]) / rest - 1.0 - memory  # strain left by the last substep
    low, high = elastic + yield_strain, elastic - yield_strain
    beyond = where(low < 0.0, low, maximum(high, 0.0))
    flown = clamp(memory + beyond / (1.0 + inv_h * creep_time), -max_strain, max_strain)
    permanent = where(first_iteration, flown, memory)
    length = norm(x[1] - x[0])
    return Residual(length - rest * (1.0 + permanent), scale=length, memory=permanent)


KIND = Kind(
    "plastic_distance",
    2,
    prepare,
    {"rest_length": (), "yield_strain": (), "max_strain": (), "creep_time": ()},
    stretch,
)
"""See :func:`stretch`."""
