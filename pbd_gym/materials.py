"""Materials in SI units, validated when they are made."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class ClothMaterial:
    """What a cloth is made of.

    A compliance is the inverse of a spring constant: 0 is inextensible, larger is softer, and the static stretch of a
    constraint under a force F is ``compliance * F`` whatever the time step or iteration count (Macklin et al. 2016,
    XPBD, doi:10.1145/2994258.2994272). Numbers default to a light cotton-like fabric.

    Raises:
        ValueError: if a number is negative, not finite, or the density is zero.
    """

    density: float = 0.2
    """Mass per area [kg/m^2] (not per volume: cloth is a surface)."""
    stretch_compliance: float = 1e-5
    """Compliance of structural constraints, along warp and weft [m/N]."""
    shear_compliance: float = 1e-4
    """Compliance of diagonal constraints [m/N]."""
    bend_compliance: float | None = 1e-2
    """Compliance of the constraints that skip one particle [m/N]; ``None`` leaves them out."""

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class RopeMaterial:
    """What a rope is made of. Numbers default to a soft cotton cord of about 8 mm.

    Raises:
        ValueError: if a number is negative, not finite, or the density is zero.
    """

    density: float = 0.04
    """Mass per length [kg/m]."""
    stretch_compliance: float = 1e-6
    """Compliance of the segments [m/N]."""
    bend_compliance: float | None = 1e-2
    """Compliance of the constraints that skip one particle [m/N]; ``None`` leaves them out."""

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class SoftMaterial:
    """What an elastic solid is made of: stable neo-Hookean rubber. Numbers default to a soft gel.

    Raises:
        ValueError: if a number is out of its range.
    """

    density: float = 1000.0
    """Mass per volume [kg/m^3]."""
    young_modulus: float = 1e5
    """Stiffness E [Pa]."""
    poisson_ratio: float = 0.45
    """How much it widens when squeezed, above -1 and below 0.5 (which would be incompressible)."""

    def __post_init__(self) -> None:
        for name in ("density", "young_modulus"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise ValueError(f"SoftMaterial.{name} must be finite and above zero, got {getattr(self, name)}")
        if not -1.0 < self.poisson_ratio < 0.5:
            raise ValueError(f"SoftMaterial.poisson_ratio must be above -1 and below 0.5, got {self.poisson_ratio}")


def _check(material: ClothMaterial | RopeMaterial) -> None:
    for field in fields(material):
        value = getattr(material, field.name)
        if value is None and field.name == "bend_compliance":
            continue
        if not math.isfinite(value) or value < 0 or (field.name == "density" and value == 0):
            kind = type(material).__name__
            raise ValueError(
                f"{kind}.{field.name} must be finite and not negative, and a density not zero: got {value}"
            )
