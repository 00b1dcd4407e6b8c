"""Constraint stiffnesses from elastic moduli.

How stiff a spring must be to represent its share of a sheet, rod or solid.

A bending spring has the moment ``c phi`` at a fold angle ``phi``. Of the constraint kinds, ``dihedral`` does so at
every angle, and ``thread_bending`` nearly. ``distance`` (across the fold) and ``isometric_bending`` do not resist a
flat fold and resist a sharp one more than proportionally: their stiffness is chosen so that the moment is right at one
reference angle. A distance constraint across a fold also resists stretch, by ``4 k`` for each spring k that spans two
cells: at 2 cm, 4 % of the tension of a jersey.
"""

from __future__ import annotations

import numpy as np

BENDING_KINDS = ("distance", "thread_bending", "dihedral", "isometric_bending")
"""Constraint kinds that can bend cloth."""


def hinge_kind(kind: str) -> str:
    """Return the constraint kind that bends the edges of a triangle mesh, which has no threads."""
    return "dihedral" if kind == "thread_bending" else kind


def grid_stiffness(
    lengths: np.ndarray, widths: np.ndarray, across: np.ndarray, tension: float, shear: float
) -> np.ndarray:
    """Return the stiffness of the springs along rows and columns of a grid whose cells have two diagonals [N/m].

    With diagonals of :func:`diagonal_stiffness` a cell of sides l and s stores, per area, ``1/2 C_l e_l^2 + 1/2 C_s
    e_s^2 + G e_l e_s + 1/2 G g^2`` under the strains e and g, where ``C_l = k l / s + G (l / s)^2``. The sheet has the
    uniaxial stiffness Y along both when ``C_l = C_s = C`` and ``C - G^2 / C = Y``. This is exact for small strains,
    except for Poisson's ratio, which is ``G / C``: springs alone cannot have any other (Cauchy's relation); an
    isotropic sheet of Poisson's ratio 1/3 is reproduced exactly.

    Args:
        lengths: l of each spring [m], shape (m,).
        widths: width of the strip it carries [m], shape (m,); half as much at the border of the sheet.
        across: s, the side of a cell across it [m], shape (m,).
        tension: Y, Young's modulus times thickness [N/m].
        shear: G, shear modulus times thickness [N/m].

    Raises:
        ValueError: for cells so long that their diagonals alone are stiffer than the sheet.
    """
    modulus = 0.5 * (tension + np.hypot(tension, 2.0 * shear))
    rest = modulus - shear * (lengths / across) ** 2
    if (rest <= 0).any():
        raise ValueError(
            f"cells of {lengths.max():.3g} m by {across.min():.3g} m are too long for this fabric: the ratio must stay "
            f"below {np.sqrt(modulus / shear):.2f}"
        )
    return rest * widths / lengths


def diagonal_stiffness(cell: tuple[float, float], shear: float) -> float:
    """Return the stiffness of both diagonals of a cell [N/m] that gives the shear stiffness of a sheet [N/m].

    A shear g stretches them by ``+- l s g / d``, d their length: ``2 k (l s / d)^2 g^2 / 2 = 1/2 G g^2 l s``.
    """
    return 0.5 * shear * (cell[0] ** 2 + cell[1] ** 2) / (cell[0] * cell[1])


def edge_stiffness(lengths: np.ndarray, shares: np.ndarray, modulus: float) -> np.ndarray:
    """Return the stiffness of the edges of a mesh of triangles or tetrahedra as springs: ``k = Y share / l^2``.

    Averaged over directions the springs of a triangle (share: its area) store ``1/2 Y 3/8 (2 e:e + tr(e)^2)`` per area:
    an isotropic sheet of uniaxial stiffness Y and Poisson's ratio 1/3. The springs of a tetrahedron (share: its volume)
    store ``1/2 Y 2/5 (2 e:e + tr(e)^2)`` per volume: a solid of Young's modulus Y and Poisson's ratio 1/4. Exact on
    equilateral triangles, approximate elsewhere: van Gelder 1998, Approximate simulation of elastic membranes by
    triangulated spring meshes, doi:10.1080/10867651.1998.10487490.

    Args:
        lengths: lengths of the edges [m], shape (e,).
        shares: sum over the elements at each edge, shape (e,) [m^2] or [m^3].
        modulus: Young's modulus times thickness [N/m], or Young's modulus [Pa].

    Returns:
        [N/m], shape (e,).
    """
    return modulus * shares / lengths**2


def hinge_stiffness(corners: np.ndarray, bending: float) -> np.ndarray:
    """Return the moment per angle of the hinges of a triangle mesh [J/rad^2], ``c = D l^2 / (A0 + A1)``.

    A cylinder of curvature w, rolled along an axis of a grid or of an equilateral mesh, folds the hinges along the axis
    by ``w (A0 + A1) / l`` and no others, and the sum of ``c phi^2 / 2`` is then ``D w^2 / 2`` per area. An equilateral
    mesh is a plate, isotropic, with -1/3 for Poisson's ratio of bending (Seung and Nelson 1988,
    doi:10.1103/PhysRevA.38.1005): a strip with free sides has 8/9 of D. A grid whose diagonals all run one way twists
    when it is bent; where it may, it has 4/5 of D. Other meshes are approximate.

    Args:
        corners: [m], shape (h, 4, 3): shared edge 0-1, wings 2 and 3.
        bending: D, the flexural rigidity of the sheet [N m].
    """
    edge, areas = _edge_and_areas(corners)
    return bending * edge**2 / areas


def hinge_compliance(kind: str, corners: np.ndarray, stiffness: np.ndarray, angle: float) -> np.ndarray:
    """Return the compliance, in the units of ``kind``, of constraints that represent hinges.

    Args:
        kind: one of :data:`BENDING_KINDS`.
        corners: rest positions [m], shape (h, 4, 3): shared edge 0-1, wings 2 and 3. Only its lengths count: a hinge
            folded at rest gets the numbers of a flat one.
        stiffness: c of each [J/rad^2], shape (h,).
        angle: fold angle at which nonlinear kinds have the moment ``c angle`` [rad].

    Returns:
        Shape (h,).
    """
    if hinge_kind(kind) == "dihedral":
        return 1.0 / stiffness
    edge, areas = _edge_and_areas(corners)
    if kind == "isometric_bending":
        # C = 6 l^2 / (A0 + A1) sin^2(phi / 2); the moment is C C' / compliance.
        value = 6.0 * edge**2 / areas * np.sin(angle / 2) ** 2
        slope = 3.0 * edge**2 / areas * np.sin(angle)
        return value * slope / (stiffness * angle)
    along = (corners[:, 1] - corners[:, 0]) / edge[:, None]
    feet, heights = [], []
    for wing in (2, 3):
        side = corners[:, wing] - corners[:, 0]
        feet.append((side * along).sum(axis=1))
        heights.append(np.linalg.norm(side - feet[-1][:, None] * along, axis=1))
    return fold_compliance(stiffness, heights[0], heights[1], feet[1] - feet[0], angle)


def fold_compliance(
    stiffness: np.ndarray, near: np.ndarray, far: np.ndarray, offset: np.ndarray | float, angle: float
) -> np.ndarray:
    """Return the compliance of a distance constraint across a fold [m/N].

    The ends are ``d(phi) = sqrt(near^2 + far^2 + 2 near far cos(phi) + offset^2)`` apart. A spring k between them has
    the moment ``k (d(0) - d) near far sin(phi) / d``, which is set to ``c phi`` at the reference angle. For three
    points a distance l apart and a small angle k is ``8 c / (l phi)^2``.

    Args:
        stiffness: c, moment per angle [J/rad^2], shape (m,).
        near: distance of one end from the fold [m], shape (m,).
        far: distance of the other, shape (m,).
        offset: offset of the ends along the fold [m].
        angle: reference angle [rad].
    """
    flat = np.sqrt((near + far) ** 2 + offset**2)
    folded = np.sqrt(near**2 + far**2 + 2.0 * near * far * np.cos(angle) + offset**2)
    return (flat - folded) * near * far * np.sin(angle) / (folded * stiffness * angle)


def _edge_and_areas(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    edge = corners[:, 1] - corners[:, 0]
    areas = sum(0.5 * np.linalg.norm(np.cross(edge, corners[:, k] - corners[:, 0]), axis=1) for k in (2, 3))
    return np.linalg.norm(edge, axis=1), np.asarray(areas)
