"""Materials and sizes that nothing is trained on: the arguments of the benchmark's split ``shift``.

Each id has two variants, with half of the states each. Both have another material and another size, so an agent that
has learnt one material by heart fails in both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_TOWELS: Sequence[Mapping[str, Any]] = (
    {"fabric": "blanket", "size": (0.46, 0.46), "friction": 0.6},
    {"fabric": "denim", "size": (0.34, 0.42), "friction": 0.9},
)
"""Two fabrics that are as much softer and stiffer than a towel as towels may be, one of them another rectangle."""
_SQUARES: Sequence[Mapping[str, Any]] = (
    {"fabric": "blanket", "size": (0.46, 0.46), "friction": 0.6},
    {"fabric": "denim", "size": (0.34, 0.34), "friction": 0.9},
)
"""The same for towels that have to be square."""
_ROPES: Sequence[Mapping[str, Any]] = (
    {"bend_compliance": 0.005, "rope_length": 0.6, "friction": 0.8},
    {"bend_compliance": 0.08, "rope_length": 0.42, "friction": 1.2},
)
"""A stiff long rope and a limp short one."""
_KNOTS: Sequence[Mapping[str, Any]] = (
    {"bend_compliance": 0.01, "rope_length": 1.1, "self_friction": 0.2},
    {"bend_compliance": 0.04, "rope_length": 0.9, "self_friction": 0.4},
)
"""A stiffer, smoother and longer rope, and a limper, rougher and shorter one."""
_FOAM: Sequence[Mapping[str, Any]] = (
    {"young_modulus": 1.5e4, "density": 200.0, "friction": 0.4},
    {"young_modulus": 6e4, "density": 400.0, "friction": 0.6},
)
"""Half and twice as stiff."""
_WATER: Sequence[Mapping[str, Any]] = (
    {"viscosity": 0.05, "particles": 340},
    {"viscosity": 0.2, "particles": 260},
)
"""Oil in larger cups and syrup in smaller ones."""

SHIFTS: dict[str, Sequence[Mapping[str, Any]]] = {
    **{
        f"PBD{name}-v0": _TOWELS
        for name in (
            "ClothFlatten", "ClothFlattenPickPlace", "ClothFold", "ClothFoldPickPlace", "ClothFoldDrop",
            "ClothFoldCrumpled", "ClothDrop", "ClothUnfold", "ClothHang", "ClothClutter",
        )
    },
    **{f"PBD{name}-v0": _SQUARES for name in ("ClothFoldDiagonal", "Manipulation")},
    **{f"PBD{name}-v0": _ROPES for name in ("RopeStraighten", "RopeShape", "RopePush", "RopeWhip")},
    **{f"PBD{name}-v0": _KNOTS for name in ("RopeTie", "RopeUntie")},
    **{f"PBD{name}-v0": _FOAM for name in ("SoftLift", "SoftPush")},
    **{f"PBD{name}-v0": _WATER for name in ("PassWater", "PourWater", "PourWaterAmount", "PourLine", "PourSoup")},
}  # fmt: skip
"""Arguments of both variants, by id. The other ids have no such split."""
