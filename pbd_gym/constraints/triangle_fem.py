"""Orthotropic elastic triangles: woven cloth, stiff along warp and weft and soft in shear."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind
from pbd_gym.constraints.tet_fem import green_strain
from pbd_gym.formulas import Matrix, Number, Vec3
from pbd_gym.kernels.solve.projection import Residual, energy
from pbd_gym.runtime.checks import finite, reals

_THIN = 1e-9
"""Twice the rest area over the square of the longest edge, below which a triangle counts as degenerate."""


def inverse_rest(
    positions: np.ndarray, indices: np.ndarray, warp: ArrayLike, material_positions: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the inverse of the rest edges in the material, and the rest areas.

    Args:
        positions: of all particles of the scene [m], shape (n, 3); the rest shape.
        indices: particles of each triangle, shape (m, 3).
        warp: direction of the warp in space at the triangles' current place, shape (3,) or (m, 3); only its part in the
            plane of a triangle counts. The weft is a quarter turn from it, counter-clockwise in a triangle whose
            particles turn that way.
        material_positions: where the corners lie in the flat cloth, along warp and weft [m], shape (m, 3, 2), instead
            of what follows from ``positions`` and ``warp``.

    Returns:
        The inverse of the matrix with columns ``X1 - X0`` and ``X2 - X0`` [1/m], shape (m, 2, 2), and areas [m^2],
        shape (m,).

    Raises:
        ValueError: for a triangle without area, a warp at a right angle to a triangle, a number that is not finite, or
            a wrong shape.
    """
    count = len(indices)
    if material_positions is not None:
        flat = finite("material_positions", material_positions, (count, 3, 2))
        edges = (flat[:, 1:] - flat[:, :1]).transpose(0, 2, 1)
        longest = np.linalg.norm(edges, axis=1).max(axis=1, initial=0.0)
    else:
        corners = positions[indices]
        sides = corners[:, 1:] - corners[:, :1]
        longest = np.linalg.norm(sides, axis=2).max(axis=1, initial=0.0)
        normal = np.cross(sides[:, 0], sides[:, 1])
        _need(np.linalg.norm(normal, axis=1) > _THIN * longest**2, "triangle {} has no area at rest")
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        along = finite("warp", warp, (count, 3))
        inside = along - np.einsum("ij,ij->i", along, normal)[:, None] * normal
        length = np.linalg.norm(inside, axis=1, keepdims=True)
        _need(length[:, 0] > 1e-6 * np.linalg.norm(along, axis=1), "warp is at a right angle to triangle {}")
        inside /= length
        axes = np.stack([inside, np.cross(normal, inside)], axis=1)
        edges = axes @ sides.transpose(0, 2, 1)
    double_area = np.abs(np.linalg.det(edges))
    _need(double_area > _THIN * longest**2, "triangle {} has no area at rest")
    return np.linalg.inv(edges), 0.5 * double_area


def _need(good: np.ndarray, message: str) -> None:
    """Raise a ValueError that names the first bad constraint."""
    if not good.all():
        raise ValueError(message.format(int(np.argmin(good))))


def prepare(
    positions: np.ndarray,
    indices: np.ndarray,
    young_modulus: ArrayLike,
    poisson_ratio: ArrayLike = 0.0,
    shear_modulus: ArrayLike | None = None,
    warp: ArrayLike = (1.0, 0.0, 0.0),
    material_positions: ArrayLike | None = None,
) -> dict[str, np.ndarray]:
    """Check the material and measure the rest shape of new triangles.

    Moduli are those of the sheet [N/m]: force per width over strain, which is Young's modulus [Pa] times thickness.

    Args:
        positions: of all particles of the scene [m], shape (n, 3); the rest shape.
        indices: particles of each triangle, shape (m, 3).
        young_modulus: along warp and weft [N/m], one number for both, or shape (2,) or (m, 2); above 0.
        poisson_ratio: how much the weft shortens for a stretch along the warp by 1, one number or shape (m,). The ratio
            the other way round follows from it: nu / E is the same both ways.
        shear_modulus: [N/m], one number or shape (m,), above 0; by default ``sqrt(E E') / (2 (1 + sqrt(nu nu')))`` of
            both directions, which is that of an isotropic sheet where they are alike.
        warp: direction of the warp in space where the triangles are now, shape (3,) or (m, 3).
        material_positions: where the corners lie in the flat cloth, along warp and weft [m], shape (m, 3, 2), instead
            of what follows from ``positions`` and ``warp``.

    Returns:
        Arrays by name, the first axis of length m: ``inv_rest`` [1/m], shape (m, 2, 2); ``compliance``, 1 / (E A)
        [1/J]; ``moduli`` over E of the warp, shape (m, 4): of the stretch along the warp, both, the weft, and shear.

    Raises:
        ValueError: for a number out of its range, a wrong shape, a material that could give more energy than it was
            given (nu nu' of both directions must be below 1), or a triangle without area.
    """
    count = len(indices)
    young = reals("young_modulus", young_modulus)
    young = finite("young_modulus", young[..., None] if young.ndim == 0 else young, (count, 2))
    poisson = finite("poisson_ratio", poisson_ratio, (count,))
    if (young <= 0).any():
        raise ValueError("young_modulus must be above zero")
    ratio = young[:, 1] / young[:, 0]
    room = 1.0 - poisson**2 * ratio  # 1 - nu nu'
    if (room <= 0).any():
        raise ValueError("poisson_ratio is too large: its product with the ratio from weft to warp must be below 1")
    if shear_modulus is None:
        shear_modulus = np.sqrt(young[:, 0] * young[:, 1]) / (2.0 * (1.0 + poisson * np.sqrt(ratio)))
    shear = finite("shear_modulus", shear_modulus, (count,))
    if (shear <= 0).any():
        raise ValueError("shear_modulus must be above zero")
    inv_rest, area = inverse_rest(positions, indices, warp, material_positions)
    return {
        "inv_rest": inv_rest,
        "compliance": 1.0 / (young[:, 0] * area),
        "moduli": np.stack([1.0 / room, poisson * ratio / room, ratio / room, shear / young[:, 0]], axis=1),
    }


def orthotropic(x: Sequence[Vec3], inv_rest: Matrix, moduli: Sequence[Number], inv_size: Number) -> Residual:
    """``C = sqrt(2 psi / E)`` of the energy per rest area ``psi = G : S / 2`` [J/m^2], E of the warp.

    F = (x1 - x0, x2 - x0) B, of shape 3 x 2, with the inverse B of the rest edges along warp and weft, the Green strain
    ``G = (F^T F - I) / 2`` and the stress S (second Piola-Kirchhoff) of an orthotropic St. Venant-Kirchhoff sheet:
    ``S00 = E (G00 + nu' G11) / (1 - nu nu')``, ``S11 = E' (G11 + nu G00) / (1 - nu nu')``, ``S01 = 2 G_shear G01``,
    with ``nu' / E' = nu / E``, without which S would have no energy. The energy ``A psi = C^2 / (2 compliance)`` with
    ``compliance = 1 / (E A)`` is that of the material exactly; see :func:`pbd_gym.kernels.solve.projection.energy`.
    Bender et al. 2014, doi:10.1016/j.cag.2014.07.004, section 4, here with compliance: Macklin et al. 2016,
    doi:10.1145/2994258.2994272, eq. 17-18.
    """
    strain = green_strain(Matrix.of_columns(x[1] - x[0], x[2] - x[0]) @ (inv_rest * inv_size))
    warp, weft, shear = strain[0, 0], strain[1, 1], strain[0, 1]
    along, both, across, slant = moduli
    twice = along * warp**2 + 2.0 * both * warp * weft + across * weft**2 + 4.0 * slant * shear**2
    return energy(0.5 * twice)


# The rest area, in the compliance, grows with the square of the size.
KIND = Kind("triangle_fem", 3, prepare, {"inv_rest": (2, 2), "moduli": (4,)}, orthotropic, compliance_power=-2)
"""See :func:`orthotropic`."""
