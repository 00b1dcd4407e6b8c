"""Materials in SI units, validated at construction.

There are two descriptions of cloth and ropes. :class:`ClothMaterial` and :class:`RopeMaterial` give the compliance of
each spring, so a finer mesh is a different cloth. :class:`~pbd_gym.materials.fabrics.Fabric` and
:class:`~pbd_gym.materials.fabrics.Cord` give laboratory measurements, and the springs follow from the mesh.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from pbd_gym.materials import presets, springs
from pbd_gym.runtime.checks import instance, number, real

if TYPE_CHECKING:
    from pbd_gym.geometry.grids import Grid
    from pbd_gym.geometry.trimeshes import TriMesh


@dataclass(frozen=True)
class ClothMaterial:
    """A cloth material, spring by spring.

    A compliance is the inverse of a spring constant: 0 is inextensible, larger is softer, and the static stretch of a
    spring under a force F is ``compliance * F`` (Macklin et al. 2016, XPBD, doi:10.1145/2994258.2994272). That holds
    for threads that are lines, as they are by default, at any substep, and for all springs within a few percent at the
    substeps that a solver chooses. With longer ones springs are softer, and the solver reports by how much
    (:mod:`pbd_gym.sim.substeps`). Numbers default to a light cotton-like fabric.

    Raises:
        ValueError: if a number is negative or not finite, density or thickness is zero, or the bending kind is unknown.
    """

    density: float = 0.2
    """Mass per area [kg/m^2] (not per volume: cloth is a surface)."""
    stretch_compliance: float = 1e-5
    """Compliance of structural constraints: along warp and weft of a sheet, along the edges of a garment [m/N]."""
    shear_compliance: float = 1e-2
    """Compliance of the diagonals of a sheet [m/N]: 100 N/m, as of woven cotton."""
    bend_compliance: float | None = 1e-2
    """Compliance of bending constraints, in the units of ``bending``; ``None`` omits them."""
    bending: str = "distance"
    """Bending constraint kind: ``distance`` [m/N] (skips one particle of a sheet, spans two triangles of a garment),
    ``thread_bending`` [rad^2/J] (``dihedral`` in garments, which have no threads), ``dihedral`` [rad^2/J] or
    ``isometric_bending`` [1/J].
    """
    thickness: float = 1.5e-3
    """Distance at which contact keeps layers apart, from middle to middle [m], whatever the particle spacing; above 0.
    """

    def __post_init__(self) -> None:
        _check_springs(self)
        check_bending(self)

    def sheet_compliances(
        self, sheet: Grid, wrinkles: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the compliances of ``sheet.structural``, ``sheet.shear`` and ``sheet.bending``.

        The last is for ``distance`` and ``thread_bending``; other kinds bend at hinges. In a sheet that ``wrinkles``,
        one diagonal of a sheared cell does the work of two and is twice as stiff.
        """
        bend = None if self.bend_compliance is None else np.full(len(sheet.bending), self.bend_compliance)
        structural = np.full(len(sheet.structural), self.stretch_compliance)
        shear = self.shear_compliance / (2.0 if wrinkles else 1.0)
        return structural, np.full(len(sheet.shear), shear), bend

    def edge_compliances(self, mesh: TriMesh) -> np.ndarray:
        """Return the compliances of ``mesh.edges()`` [m/N], shape (e,)."""
        return np.full(len(mesh.edges()), self.stretch_compliance)

    def hinge_compliances(self, corners: np.ndarray) -> np.ndarray | None:
        """Return the compliances of hinges with the given ``corners`` (h, 4, 3), or None without bending."""
        return None if self.bend_compliance is None else np.full(len(corners), self.bend_compliance)


@dataclass(frozen=True)
class RopeMaterial:
    """A rope material, spring by spring. Numbers default to a soft cotton cord of about 8 mm.

    Raises:
        ValueError: if a number is negative, not finite, or the density is zero.
    """

    density: float = 0.04
    """Mass per length [kg/m]."""
    stretch_compliance: float = 1e-6
    """Compliance of the segments [m/N]."""
    bend_compliance: float | None = 1e-2
    """Compliance of the constraints that skip one particle [m/N]; ``None`` omits them."""

    def __post_init__(self) -> None:
        _check_springs(self)

    @property
    def linear_density(self) -> float:
        """Mass per length [kg/m]."""
        return self.density

    def segment_compliances(self, lengths: np.ndarray) -> np.ndarray:
        """Return the compliance of each segment [m/N], shape (k,), from their lengths [m]."""
        return np.full(len(lengths), self.stretch_compliance)

    def joint_compliances(self, lengths: np.ndarray) -> np.ndarray | None:
        """Return the compliance between the ends of every two successive segments [m/N], shape (k - 1,), or None."""
        return None if self.bend_compliance is None else np.full(len(lengths) - 1, self.bend_compliance)


@dataclass(frozen=True)
class Plasticity:
    """Plastic yielding of a solid; see :mod:`pbd_gym.constraints.plastic_distance`. Numbers default to a soft clay.

    Raises:
        ValueError: if a number is out of its range.
    """

    yield_strain: float = 0.01
    """Strain below which an edge springs back."""
    creep_rate: float = 50.0
    """Rate at which strain beyond that becomes permanent [1/s]."""
    max_strain: float = 0.6
    """Largest permanent strain of an edge, in either direction, below 1."""

    def __post_init__(self) -> None:
        check_positive(self, ["creep_rate"])
        number("Plasticity.yield_strain", self.yield_strain, 0.0)
        if not 0.0 <= real("Plasticity.max_strain", self.max_strain) < 1.0:
            raise ValueError(f"Plasticity.max_strain must be at least 0 and below 1, got {self.max_strain}")


@dataclass(frozen=True)
class SoftMaterial:
    """An elastic solid. Numbers default to a soft gel.

    Raises:
        ValueError: if a number is out of its range, or the model is unknown.
    """

    density: float = 1000.0
    """Mass per volume [kg/m^3]."""
    young_modulus: float = 1e5
    """Stiffness E [Pa]."""
    poisson_ratio: float = 0.45
    """Lateral expansion under compression, above -1 and below 0.5 (which would be incompressible)."""
    model: str = "neo_hookean"
    """Constitutive model. ``neo_hookean``: stable neo-Hookean finite elements. ``edges_and_volumes``: every edge a
    spring, every tetrahedron a volume constraint; cheaper, and correct on average over directions for small strains
    (Poisson's ratio at least 1/4).
    """
    plasticity: Plasticity | None = None
    """Plastic yielding, as of clay; None for a body that always springs back. For ``edges_and_volumes``: edges yield,
    volumes do not.
    """
    damping_time: float = 0.0
    """Time constant of the damping [s], not negative: an oscillation of angular frequency w has the damping ratio
    ``w damping_time / 2``. A substep h damps about as much as one of h / 2 would, so without it bodies swing longer at
    more substeps.
    """

    def __post_init__(self) -> None:
        number("SoftMaterial.damping_time", self.damping_time, 0.0)
        if self.plasticity is not None:
            instance("SoftMaterial.plasticity", self.plasticity, Plasticity)
        if self.plasticity is not None and self.model != "edges_and_volumes":
            raise ValueError(f"SoftMaterial.plasticity needs model='edges_and_volumes', got {self.model!r}")
        check_positive(self, ["density", "young_modulus"])
        if not -1.0 < real("SoftMaterial.poisson_ratio", self.poisson_ratio) < 0.5:
            raise ValueError(f"SoftMaterial.poisson_ratio must be above -1 and below 0.5, got {self.poisson_ratio}")
        if self.model not in ("neo_hookean", "edges_and_volumes"):
            raise ValueError(f"SoftMaterial.model must be neo_hookean or edges_and_volumes, got {self.model!r}")
        if self.model == "edges_and_volumes" and self.poisson_ratio < 0.25:
            raise ValueError(
                "SoftMaterial.poisson_ratio must be at least 0.25 for edges_and_volumes (springs alone make 1/4, and "
                f"volumes can only add to it), got {self.poisson_ratio}"
            )

    @classmethod
    def preset(cls, name: str, **changes: Any) -> SoftMaterial:
        """Return a solid of :data:`pbd_gym.materials.presets.SOLIDS`, with ``changes`` to its numbers.

        Raises:
            ValueError: for an unknown name.
        """
        return cls(**take_preset(presets.SOLIDS, name) | changes)

    def edge_and_volume_compliances(
        self, lengths: np.ndarray, shares: np.ndarray, volumes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the compliances of edges [m/N] and tetrahedra [m^6/J] for ``edges_and_volumes``.

        Springs of ``5/2 mu`` for Young's modulus give Lame's constants ``mu`` and ``lambda' = mu``
        (:func:`pbd_gym.materials.springs.edge_stiffness`); volumes make up the rest of lambda: ``V0 / (lambda - mu)``.

        Args:
            lengths: lengths of the edges [m], shape (e,).
            shares: volume of the tetrahedra at each edge [m^3], shape (e,).
            volumes: volumes of the tetrahedra [m^3], shape (m,).

        Returns:
            Shapes (e,) and (m,); infinite for volumes if Poisson's ratio is 1/4, where they are not needed.
        """
        mu = self.young_modulus / (2.0 * (1.0 + self.poisson_ratio))
        rest = mu * (4.0 * self.poisson_ratio - 1.0) / (1.0 - 2.0 * self.poisson_ratio)  # lambda - mu
        with np.errstate(divide="ignore"):
            return 1.0 / springs.edge_stiffness(lengths, shares, 2.5 * mu), volumes / np.float64(rest)


@dataclass(frozen=True)
class ShapeMaterial:
    """A material of shape-matching bodies.

    Raises:
        ValueError: if a number is out of its range.
    """

    density: float = 1000.0
    """Mass per volume [kg/m^3], for bodies with a volume."""
    compliance: float = 0.0
    """Inverse stiffness per mass [s^2]; 0 is rigid. Deformations of a cluster oscillate with the angular frequency ``1
    / sqrt(compliance)``, whatever its mass.
    """
    damping_time: float = 0.0
    """Time constant of the damping [s]: an oscillation of angular frequency w has the damping ratio ``w damping_time /
    2``.
    """

    def __post_init__(self) -> None:
        check_positive(self, ["density"])
        for name in ("compliance", "damping_time"):
            number(f"ShapeMaterial.{name}", getattr(self, name), 0.0)

    @classmethod
    def from_alpha(cls, alpha: float, time_step: float, **changes: float) -> ShapeMaterial:
        """Return the material for which one step moves particles by the share ``alpha`` of the way to their goals.

        Args:
            alpha: the classical stiffness, above 0 and at most 1, rigid (Mueller et al. 2005,
                doi:10.1145/1073204.1073216).
            time_step: length of a substep [s]; at a different step the stiffness stays and the share changes.
            **changes: other numbers.

        Raises:
            ValueError: for a share or a time step out of range.
        """
        number("alpha", alpha, most=1.0, positive=True)
        number("time_step", time_step, positive=True)
        return cls(compliance=time_step**2 * (1.0 / alpha - 1.0), **changes)


def take_preset(table: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the numbers of a preset, or raise a ValueError that lists the known names."""
    if not isinstance(name, str) or name not in table:
        raise ValueError(f"there is no preset {name!r}; there are {', '.join(table)}")
    return table[name]


def check_positive(material: Any, names: list[str]) -> None:
    """Raise a ValueError that names the first of some material numbers that is not finite and positive."""
    for name in names:
        number(f"{type(material).__name__}.{name}", getattr(material, name), positive=True)


def check_bending(material: Any) -> None:
    """Raise a ValueError if a material's bending kind is unknown."""
    if material.bending not in springs.BENDING_KINDS:
        kinds = ", ".join(springs.BENDING_KINDS)
        raise ValueError(f"{type(material).__name__}.bending must be one of {kinds}, got {material.bending!r}")


def _check_springs(material: ClothMaterial | RopeMaterial) -> None:
    for field in fields(material):
        value = getattr(material, field.name)
        if field.name == "bending" or (value is None and field.name == "bend_compliance"):
            continue
        number(f"{type(material).__name__}.{field.name}", value, 0.0, positive=field.name in ("density", "thickness"))
