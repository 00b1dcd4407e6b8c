"""Cloth and ropes as a laboratory measures them, in SI units: the same at any resolution.

``Fabric.preset("denim")`` and ``Cord.preset("nylon")`` take measured numbers from :mod:`pbd_gym.materials.presets`; how
the springs of a mesh follow from moduli is in :mod:`pbd_gym.materials.springs`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pbd_gym.materials import presets, springs
from pbd_gym.materials.materials import check_bending, check_positive, take_preset
from pbd_gym.runtime.checks import real

if TYPE_CHECKING:
    from pbd_gym.geometry.grids import Grid
    from pbd_gym.geometry.trimeshes import TriMesh


@dataclass(frozen=True)
class Fabric:
    """A cloth by its elastic moduli: an isotropic sheet, or a woven one with a shear and bending stiffness of its own.

    What a mesh of springs makes of it: on a rectangular sheet Young's modulus along warp and weft and the shear modulus
    are exact for small strains; Poisson's ratio follows from them. On a triangle mesh Young's modulus is exact for
    equilateral triangles and approximate for others, Poisson's ratio is 1/3, and ``shear_modulus`` has no effect.
    Bending is exact for cylinders along the axes of a regular mesh with ``dihedral``, and of a sheet with
    ``thread_bending``, which leaves twist free. The others hold the moment at one angle from cell to cell,
    ``bend_angle``: a finer mesh folds by less, and is limper. Everything is linear and isotropic.
    docs/lab/fabrics.md has the bending lengths.

    Raises:
        ValueError: if a number is out of its range, or the bending kind is unknown.
    """

    density: float
    """Mass per area [kg/m^2]."""
    young_modulus: float
    """E [Pa]; E times the thickness is the force per width and strain [N/m]."""
    thickness: float
    """t [m], also how far contact keeps layers apart."""
    poisson_ratio: float = 0.3
    """Widening when squeezed, above -1 and at most 0.5."""
    shear_modulus: float | None = None
    """G [Pa]; by default that of an isotropic sheet, ``E / (2 (1 + nu))``. Threads that turn make it far lower."""
    bend_stiffness: float | None = None
    """Flexural rigidity D [N m]; by default that of a plate, ``E t^3 / (12 (1 - nu^2))``. Threads that slip make it far
    lower."""
    bending: str = "thread_bending"
    """Constraint kind that bends: ``thread_bending`` (linear, cheap; garments, which have no threads, take
    ``dihedral``), ``dihedral`` (linear), ``distance`` or ``isometric_bending``."""
    bend_angle: float = math.pi / 6
    """Fold at which ``distance`` and ``isometric_bending`` hold the moment of D [rad], below pi."""

    def __post_init__(self) -> None:
        positive = ["density", "young_modulus", "thickness", "bend_angle"]
        positive += [name for name in ("shear_modulus", "bend_stiffness") if getattr(self, name) is not None]
        check_positive(self, positive)
        if not -1.0 < real("Fabric.poisson_ratio", self.poisson_ratio) <= 0.5:
            raise ValueError(f"Fabric.poisson_ratio must be above -1 and at most 0.5, got {self.poisson_ratio}")
        _check_angle(self)
        check_bending(self)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Fabric:
        """Return a measured fabric of :data:`pbd_gym.materials.presets.FABRICS`, with ``changes`` to its numbers.

        Raises:
            ValueError: for an unknown name.
        """
        return cls(**take_preset(presets.FABRICS, name) | changes)

    @property
    def tension(self) -> float:
        """Young's modulus times thickness [N/m]."""
        return self.young_modulus * self.thickness

    @property
    def shear(self) -> float:
        """Shear modulus times thickness [N/m]."""
        if self.shear_modulus is None:
            return self.tension / (2.0 * (1.0 + self.poisson_ratio))
        return self.shear_modulus * self.thickness

    @property
    def flexural_rigidity(self) -> float:
        """Moment per width and curvature, D [N m]."""
        if self.bend_stiffness is None:
            return self.tension * self.thickness**2 / (12.0 * (1.0 - self.poisson_ratio**2))
        return self.bend_stiffness

    def sheet_compliances(
        self, sheet: Grid, wrinkles: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the compliances of ``sheet.structural``, ``sheet.shear`` and ``sheet.bending``.

        The last is for ``distance`` and ``thread_bending``; other kinds bend at hinges. Where a sheet ``wrinkles`` one
        diagonal of a sheared cell does the work of two, and is twice as stiff; both pull where threads are stretched.
        """
        lengths = _lengths(sheet.positions, sheet.structural)
        across = sheet.cell[0] * sheet.cell[1] / lengths
        modulus = self.shear * (2.0 if wrinkles else 1.0)
        stretch = springs.grid_stiffness(lengths, sheet.structural_widths, across, self.tension, modulus)
        shear = np.full(len(sheet.shear), springs.diagonal_stiffness(sheet.cell, modulus))
        step = _lengths(sheet.positions, sheet.bending) / 2.0
        hinge = self.flexural_rigidity * sheet.bending_widths / step
        if self.bending == "thread_bending":
            return 1.0 / stretch, 1.0 / shear, 1.0 / hinge
        return 1.0 / stretch, 1.0 / shear, springs.fold_compliance(hinge, step, step, 0.0, self.bend_angle)

    def edge_compliances(self, mesh: TriMesh) -> np.ndarray:
        """Return the compliances of ``mesh.edges()`` [m/N], shape (e,)."""
        lengths = _lengths(mesh.positions, mesh.edges())
        return 1.0 / springs.edge_stiffness(lengths, mesh.edge_areas(), self.tension)

    def hinge_compliances(self, corners: np.ndarray) -> np.ndarray | None:
        """Return the compliances of hinges whose corners lie at ``corners``, shape (h, 4, 3)."""
        stiffness = springs.hinge_stiffness(corners, self.flexural_rigidity)
        return springs.hinge_compliance(self.bending, corners, stiffness, self.bend_angle)


@dataclass(frozen=True)
class Cord:
    """A rope by its thickness and moduli: a round rod.

    A joint of two segments should hold the moment ``E I phi / l``; the distance constraint that bends it does so at
    ``bend_angle``, is softer in flatter bends and stiffer in sharper ones (see
    :func:`pbd_gym.materials.springs.fold_compliance`): for small angles ``8 E I / (l^3 bend_angle^2)`` [N/m]. Stretch
    is that of ``E A / l`` per segment, of which the segments carry what the joints leave; where segments are so short
    that less than a tenth is left (solid rods below some five radii), the rope is stiffer.

    Raises:
        ValueError: if a number is not positive and finite.
    """

    density: float
    """Mass per volume of the round section [kg/m^3]."""
    young_modulus: float
    """E [Pa]."""
    radius: float
    """r [m]; the area is ``A = pi r^2``."""
    bend_stiffness: float | None = None
    """E I [N m^2]; by default that of a solid rod, ``E pi r^4 / 4``. Strands that slip make it far lower."""
    bend_angle: float = math.pi / 6
    """Turn from segment to segment at which the moment of E I is held [rad], below pi."""

    def __post_init__(self) -> None:
        positive = ["density", "young_modulus", "radius", "bend_angle"]
        check_positive(self, positive + ["bend_stiffness"] * (self.bend_stiffness is not None))
        _check_angle(self)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Cord:
        """Return a rope of :data:`pbd_gym.materials.presets.CORDS`, with ``changes`` to its numbers.

        Raises:
            ValueError: for an unknown name.
        """
        return cls(**take_preset(presets.CORDS, name) | changes)

    @property
    def area(self) -> float:
        """Of the section [m^2]."""
        return math.pi * self.radius**2

    @property
    def linear_density(self) -> float:
        """Mass per length [kg/m]."""
        return self.density * self.area

    @property
    def flexural_rigidity(self) -> float:
        """Moment per curvature, E I [N m^2]."""
        if self.bend_stiffness is None:
            return self.young_modulus * math.pi * self.radius**4 / 4.0
        return self.bend_stiffness

    def segment_compliances(self, lengths: np.ndarray) -> np.ndarray:
        """Return the compliance of each segment [m/N], shape (k,), from their lengths [m]."""
        whole = self.young_modulus * self.area / lengths
        # Under an even strain half of the energy of a joint falls to either segment.
        joints = (lengths[:-1] + lengths[1:]) ** 2 / (2.0 * self.joint_compliances(lengths))
        carried = (np.append(joints, 0.0) + np.insert(joints, 0, 0.0)) / lengths**2
        return 1.0 / np.maximum(whole - carried, 0.1 * whole)

    def joint_compliances(self, lengths: np.ndarray) -> np.ndarray:
        """Return the compliance between the ends of each two segments [m/N], shape (k - 1,)."""
        near, far = lengths[:-1], lengths[1:]
        hinge = self.flexural_rigidity / (0.5 * (near + far))
        return springs.fold_compliance(hinge, near, far, 0.0, self.bend_angle)


def _lengths(positions: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    return np.linalg.norm(positions[pairs[:, 1]] - positions[pairs[:, 0]], axis=1)


def _check_angle(material: Fabric | Cord) -> None:
    if material.bend_angle >= math.pi:
        raise ValueError(f"{type(material).__name__}.bend_angle must be below pi, got {material.bend_angle}")
