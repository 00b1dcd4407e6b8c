"""Volume constraints of tetrahedra, which keep a soft body from being squashed and turn inverted ones back."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind
from pbd_gym.formulas import Number, Vec3, cross, dot
from pbd_gym.kernels.solve.projection import Residual
from pbd_gym.runtime.checks import finite, not_negative


def prepare(
    positions: np.ndarray, indices: np.ndarray, compliance: ArrayLike = 0.0, rest_volume: ArrayLike | None = None
) -> dict[str, np.ndarray]:
    """Check and complete the numbers of new constraints.

    Args:
        positions: of all particles of the scene [m], shape (n, 3).
        indices: particles of each tetrahedron, shape (m, 4); seen from particle 0, particles 1, 2, 3 must turn so that
            ``(x1 - x0) . ((x2 - x0) x (x3 - x0))`` is positive at rest.
        compliance: inverse stiffness [m^6/J], one number or shape (m,); 0 is rigid.
        rest_volume: signed volume at rest [m^3], one number or shape (m,); by default that of the particles now.

    Returns:
        Arrays by name, shape (m,) each.

    Raises:
        ValueError: for a tetrahedron that is flat or inverted at rest, a compliance that is negative, a number that is
            not finite, or a wrong shape.
    """
    if rest_volume is None:
        corner = positions[indices[:, 0]]
        sides = [positions[indices[:, k]] - corner for k in (1, 2, 3)]
        rest_volume = np.einsum("ij,ij->i", sides[0], np.cross(sides[1], sides[2])) / 6.0
    shape = (len(indices),)
    values = {
        "rest_volume": finite("rest_volume", rest_volume, shape),
        "compliance": not_negative("compliance", compliance, shape),
    }
    bad = np.flatnonzero(values["rest_volume"] <= 0)
    if len(bad):
        raise ValueError(
            f"{len(bad)} of {len(indices)} tetrahedra are flat or inverted at rest; the first is number {bad[0]}, "
            f"particles {indices[bad[0]].tolist()}, volume {values['rest_volume'][bad[0]]:.3g} m^3 (swap two of its "
            "particles to turn it over)"
        )
    return values


def volume(x: Sequence[Vec3], rest_volume: Number, size: Number) -> Residual:
    """``C(x) = V - V0`` [m^3], ``V = p . (q x r) / 6`` with p, q, r the sides from particle 0.

    Gradients: ``q x r / 6`` at 1, ``r x p / 6`` at 2, ``p x q / 6`` at 3, and minus their sum at 0. V is signed, so an
    inverted tetrahedron is pushed back through flat. Energy ``C^2 / (2 compliance)``, compliance in m^6/J. Bender et
    al. 2014, doi:10.1111/cgf.12346; Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.
    """
    p, q, r = (corner - x[0] for corner in x[1:])
    return Residual(dot(p, cross(q, r)) / 6.0 - size**3 * rest_volume, scale=6.0)  # no sixths in the gradients


KIND = Kind("tet_volume", 4, prepare, {"rest_volume": ()}, volume)
"""See :func:`volume`."""
