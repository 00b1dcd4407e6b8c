"""What the elastic tetrahedra share: data, checks, deformation gradient and the XPBD step.

Each kind (:mod:`~pbd_gym.constraints.tet_stvk`, :mod:`~pbd_gym.constraints.tet_corotated` and the two parts of stable
neo-Hookean) adds a *material*: what follows from the deformation gradient.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.common.kind import Kind
from pbd_gym.formulas import Matrix, Number, Vec3, dot
from pbd_gym.kernels.solve.projection import Residual
from pbd_gym.runtime.checks import finite

_FLAT = 1e-9
"""Six rest volumes over the cube of the longest edge, below which a tetrahedron counts as flat."""


def prepare(
    positions: np.ndarray, indices: np.ndarray, young_modulus: ArrayLike, poisson_ratio: ArrayLike
) -> dict[str, np.ndarray]:
    """Check the material and measure the rest shape of new tetrahedra.

    Args:
        positions: of all particles of the scene [m], shape (n, 3); the rest shape.
        indices: particles of each tetrahedron, shape (m, 4), with ``(x1 - x0) x (x2 - x0) . (x3 - x0) > 0``.
        young_modulus: E [Pa], one number or shape (m,); above 0.
        poisson_ratio: nu, one number or shape (m,); above -1 and below 0.5.

    Returns:
        Arrays by name, the first axis of length m: ``inv_rest``, the inverse of the matrix with columns x1 - x0,
        x2 - x0, x3 - x0 at rest [1/m]; ``compliance``, 1 / (E V) [1/J]; ``lame``, the Lame constants mu and
        lambda over E.

    Raises:
        ValueError: for a number out of its range, a wrong shape, or a tetrahedron that is flat or turned inside out.
    """
    count = len(indices)
    young = finite("young_modulus", young_modulus, (count,))
    poisson = finite("poisson_ratio", poisson_ratio, (count,))
    if (young <= 0).any():
        raise ValueError("young_modulus must be above zero")
    if ((poisson <= -1) | (poisson >= 0.5)).any():
        raise ValueError("poisson_ratio must be above -1 and below 0.5")
    edges = rest_edges(positions, indices)
    return {
        "inv_rest": np.linalg.inv(edges),
        "compliance": 6.0 / (young * np.linalg.det(edges)),
        "lame": np.stack([0.5 / (1.0 + poisson), poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))], axis=1),
    }


def rest_edges(positions: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return the matrices with columns x1 - x0, x2 - x0, x3 - x0 of tetrahedra [m], shape (m, 3, 3).

    Raises:
        ValueError: for a tetrahedron that is flat or turned inside out.
    """
    corners = positions[indices]
    edges = (corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1)
    six_volumes = np.linalg.det(edges)
    longest = np.sqrt((edges**2).sum(axis=1).max(axis=1, initial=0.0))
    bad = np.flatnonzero(~(six_volumes > _FLAT * longest**3))
    if len(bad):
        tet = bad[0]
        raise ValueError(
            f"tetrahedron {tet} (particles {indices[tet].tolist()}) must have a positive rest volume, got "
            f"{six_volumes[tet] / 6.0:.3g} m^3; swap two of its particles to turn it right side out"
        )
    return edges


def neo_hookean_prepare(
    positions: np.ndarray, indices: np.ndarray, young_modulus: ArrayLike, poisson_ratio: ArrayLike
) -> dict[str, np.ndarray]:
    """Do as :func:`prepare`, for either part of the neo-Hookean energy.

    Raises:
        ValueError: as there, and for a Poisson ratio below 0, where the hydrostatic part would be negative.
    """
    values = prepare(positions, indices, young_modulus, poisson_ratio)
    if (values["lame"][:, 1] < 0).any():
        raise ValueError("poisson_ratio of a neo-Hookean material must not be negative")
    return values


def deformation(x: Sequence[Vec3], inv_rest: Matrix, inv_size: Number) -> Matrix:
    """Return the deformation gradient ``F = (x1 - x0, x2 - x0, x3 - x0) B`` with the inverse B of the rest edges."""
    return Matrix.of_columns(*(corner - x[0] for corner in x[1:])) @ (inv_rest * inv_size)


def green_strain(f: Matrix) -> Matrix:
    """Return ``(F^T F - I) / 2``; entries that are equal are computed once."""
    columns = f.columns
    return Matrix(
        tuple(tuple(0.5 * (dot(a, b) - 1.0) if a is b else 0.5 * dot(a, b) for b in columns) for a in columns)
    )


def make_kind(
    name: str,
    density: Callable[[Matrix, Number, Number], Residual | Number],
    prepare: Callable[..., dict[str, np.ndarray]] = prepare,
) -> Kind:
    """Make a kind of elastic tetrahedra: ``C = sqrt(2 psi / E)``, whose energy is ``E V C^2 / 2 = V psi``.

    That energy is ``C^2 / (2 compliance)`` with ``compliance = 1 / (E V)``: the material's exactly. At rest the
    gradient of C is 0/0; :func:`pbd_gym.kernels.solve.projection.energy` says why the step needs no threshold. Macklin
    et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.

    Args:
        name: of the kind.
        density: from the deformation gradient, mu / E and lambda / E to the residual of ``psi / E``, with the energy
            density psi [Pa].
        prepare: checks the parameters.
    """

    def formula(
        x: Sequence[Vec3], inv_rest: Matrix, lame: tuple[Number, Number], inv_size: Number
    ) -> Residual | Number:
        return density(deformation(x, inv_rest, inv_size), *lame)

    # The rest volume, in the compliance, grows with the cube of the size.
    return Kind(name, 4, prepare, {"inv_rest": (3, 3), "lame": (2,)}, formula, compliance_power=-3)
