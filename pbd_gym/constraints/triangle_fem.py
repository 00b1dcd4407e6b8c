"""Orthotropic elastic triangles: woven cloth, stiff along warp and weft and soft in shear."""

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind
from pbd_gym.constraints.material_frame import inverse_rest
from pbd_gym.runtime.checks import finite


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
    young = np.asarray(young_modulus, dtype=np.float64)
    young = finite("young_modulus", young[..., None] if young.ndim == 0 else young, (count, 2))
    poisson = finite("poisson_ratio", np.asarray(poisson_ratio, dtype=np.float64), (count,))
    if (young <= 0).any():
        raise ValueError("young_modulus must be above zero")
    ratio = young[:, 1] / young[:, 0]
    room = 1.0 - poisson**2 * ratio  # 1 - nu nu'
    if (room <= 0).any():
        raise ValueError("poisson_ratio is too large: its product with the ratio from weft to warp must be below 1")
    if shear_modulus is None:
        shear_modulus = np.sqrt(young[:, 0] * young[:, 1]) / (2.0 * (1.0 + poisson * np.sqrt(ratio)))
    shear = finite("shear_modulus", np.asarray(shear_modulus, dtype=np.float64), (count,))
    if (shear <= 0).any():
        raise ValueError("shear_modulus must be above zero")
    inv_rest, area = inverse_rest(positions, indices, warp, material_positions)
    return {
        "inv_rest": inv_rest,
        "compliance": 1.0 / (young[:, 0] * area),
        "moduli": np.stack([1.0 / room, poisson * ratio / room, ratio / room, shear / young[:, 0]], axis=1),
    }


_CODE = """
    alpha *= inv_size * inv_size;  // the rest area, in the compliance, grows with the square of the size
    const N k0 = ENTRY(moduli, 0), k1 = ENTRY(moduli, 1), k2 = ENTRY(moduli, 2), k3 = ENTRY(moduli, 3);
    const V b00 = ENTRY(inv_rest, 0) * inv_size, b01 = ENTRY(inv_rest, 1) * inv_size;
    const V b10 = ENTRY(inv_rest, 2) * inv_size, b11 = ENTRY(inv_rest, 3) * inv_size;
    const V ux = x1 - x0, uy = y1 - y0, uz = z1 - z0;
    const V vx = x2 - x0, vy = y2 - y0, vz = z2 - z0;
    const V fx = ux * b00 + vx * b10, fy = uy * b00 + vy * b10, fz = uz * b00 + vz * b10;
    const V gx = ux * b01 + vx * b11, gy = uy * b01 + vy * b11, gz = uz * b01 + vz * b11;
    const V e00 = T(0.5) * (fx * fx + fy * fy + fz * fz - T(1)), e11 = T(0.5) * (gx * gx + gy * gy + gz * gz - T(1));
    const V e01 = T(0.5) * (fx * gx + fy * gy + fz * gz);
    const V s00 = k0 * e00 + k1 * e11, s11 = k1 * e00 + k2 * e11, s01 = T(2) * k3 * e01;
    const V twice = s00 * e00 + s11 * e11 + T(2) * s01 * e01;
    value = SQRT(FLOOR(twice, 0));
    scale = value;
    const V px = fx * s00 + gx * s01, py = fy * s00 + gy * s01, pz = fz * s00 + gz * s01;
    const V rx = fx * s01 + gx * s11, ry = fy * s01 + gy * s11, rz = fz * s01 + gz * s11;
    q1x = px * b00 + rx * b01; q1y = py * b00 + ry * b01; q1z = pz * b00 + rz * b01;
    q2x = px * b10 + rx * b11; q2y = py * b10 + ry * b11; q2z = pz * b10 + rz * b11;
"""

KIND = Kind("triangle_fem", 3, prepare, {"inv_rest": (2, 2), "moduli": (4,)}, lambda scalar: _CODE)
"""``C = sqrt(2 psi / E)`` of the energy per rest area ``psi = G : S / 2`` [J/m^2], E of the warp.

F = (x1 - x0, x2 - x0) B, of shape 3 x 2, with the inverse B of the rest edges along warp and weft, the Green strain
``G = (F^T F - I) / 2`` and the stress S (second Piola-Kirchhoff) of an orthotropic St. Venant-Kirchhoff sheet:
``S00 = E (G00 + nu' G11) / (1 - nu nu')``, ``S11 = E' (G11 + nu G00) / (1 - nu nu')``, ``S01 = 2 G_shear G01``, with
``nu' / E' = nu / E``, without which S would have no energy. The energy ``A psi = C^2 / (2 compliance)`` with
``compliance = 1 / (E A)`` is that of the material exactly. The gradient of C at x_k is ``F S b_k / C`` for row b_k of
B, and at x_0 minus the sum of these; the step takes ``scale = C``, so it is zero at rest and needs no threshold, as in
:func:`pbd_gym.constraints.tet_fem.make_kind`. Bender et al. 2014, doi:10.1016/j.cag.2014.07.004, section 4, here with
compliance: Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.
"""
