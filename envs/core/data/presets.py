"""Presets: the numbers of a task's originals, under the name of their suite.

A preset maps arguments of an environment to values: fields of the task's configuration, and those named in
:data:`MODES`. A user's arguments override it, including those that they replace (:data:`INSTEAD`). An entry whose key
is a pair, ``("softgym", "pick_place")``, is added to the preset in that action mode; if it is None, neither the
original nor the preset has such a mode. docs/presets.md lists what still differs from the originals; sources are the
files that it names.

x and z are swapped: SoftGym folds a cloth along x, and these towels are folded along z.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Presets = Mapping[str | tuple[str, str], Mapping[str, Any] | None]
"""Arguments by name of the preset, or by name and action mode."""
INSTEAD = {"rows": ("resolution",), "columns": ("resolution",), "resolution": ("rows", "columns")}
"""Arguments that another argument replaces: if a user gives the former, others' values of the latter are dropped."""
MODES = ("action_mode", "obs_mode", "reward_mode", "randomize", "horizon")
"""Arguments that are not fields of a configuration."""


@dataclass(frozen=True)
class Derived:
    """A preset's number that follows from other numbers of the task, which a user may give."""

    of: Callable[[Any], Any]
    """Function that computes it from the configuration of the other numbers."""


_SIDE = 0.553
"""Mean side of SoftGym's cloths [m]: 60 to 119 particles, 6.25 mm apart."""
_DROP_SIDE = 0.491
"""The same with the 60 to 99 particles of ClothDrop."""
_LETTER = {"hand_height": 0.1, "hand_gap": 0.08, "hand_box": (-0.33, 0.02, -0.33, 0.33, 0.28, 0.33)}


def _softgym_cloth(side: float, largest: float, **changes: Any) -> dict[str, Any]:
    """Return the numbers of SoftGym's cloths.

    Args:
        side: mean of the sides [m].
        largest: factor by which the largest is longer; the smallest is shorter by the same factor.
        **changes: other numbers of a task.
    """
    return {
        "size": (side, side),
        "resolution": 32,
        "density": Derived(lambda config: 0.5 / math.prod(config.size)),  # half a kilogram, whatever its size
        "friction": 0.75,
        "damping": 1.0,
        "max_step": 0.08,
        "reach": 0.06125,  # radius of a hand (SoftGym's picker), threshold, and radius of a particle
        "hand_gap": 0.2,
        "hand_box": (-0.35, 0.05, -0.65, 0.35, 0.45, 0.65),
        "starts": 1000,
        "obs_mode": "reduced",
        "randomize": {"size": (1.0 - largest, 1.0 + largest)},
        **changes,
    }


_PICK_PLACE: Presets = {("softgym", "pick_place"): {"hand_box": (-0.45, 0.05, -0.45, 0.45, 0.25, 0.45)}}
_HEAP = {"hands_at": "middle", "hand_height": 0.2, "lift": (0.5 / _SIDE, 1.0 / _SIDE)}
_HUNG = {"hands_at": "corners", "hand_height": 0.05}
_ROPE = {"hands_at": "middle", "starts": 1000, "obs_mode": "reduced", **_LETTER}
_DAXBENCH_CLOTH = {
    "size": (0.1875, 0.3875),
    "resolution": 32,
    "thickness": 0.0,  # pulled by one corner a thin towel, which hardly stretches, swings past the other half
    "starts": 100,
    "reach": 0.02,
    "hand_box": (-0.5, 0.0, -0.5, 0.5, 0.1, 0.5),
    "action_mode": "pick_then_place",
    "obs_mode": "particles",
}

PRESETS: dict[str, Presets] = {
    "ClothFlatten": {"softgym": _softgym_cloth(_SIDE, 1 / 3, **_HEAP), **_PICK_PLACE},
    "ClothFold": {
        "softgym": _softgym_cloth(
            _SIDE, 1 / 3, hands_at="edge", hand_height=0.1, hand_box=(-0.35, 0.05, -0.93, 0.35, 0.45, 0.37), best=0.0
        ),
        **_PICK_PLACE,
        "daxbench": {**_DAXBENCH_CLOTH, "friction": 0.5, "start_turn": 0.0, "start_shift": 0.05},
        ("daxbench", "pick_then_place"): {"horizon": 3},
        ("daxbench", "pick_place"): None,
    },
    "ClothFoldCrumpled": {"softgym": _softgym_cloth(_SIDE, 1 / 3, best=0.0, horizon=100, **_HEAP)},
    "ClothDrop": {
        "softgym": _softgym_cloth(
            _DROP_SIDE, 0.248, max_step=0.16, hand_box=(-0.45, 0.55, -0.495, 0.45, 1.95, 0.205),
            hang_height=(0.1 / _DROP_SIDE, 0.2 / _DROP_SIDE),
            hang_shift=(-0.5 - 0.1 / _DROP_SIDE, -0.5 + 0.1 / _DROP_SIDE), **_HUNG,
        ),
    },
    "ClothFoldDrop": {
        "softgym": _softgym_cloth(
            _SIDE, 1 / 3, best=0.0, hand_box=(-0.45, 0.05, -0.527, 0.45, 1.95, 0.173),
            hang_height=(0.1 / _SIDE, 0.2 / _SIDE), hang_shift=(-0.5 - 0.1 / _SIDE, -0.5 + 0.1 / _SIDE), **_HUNG,
        ),
    },
    "ClothUnfold": {
        "daxbench": {**_DAXBENCH_CLOTH, "friction": 3.0, "folds": 3},
        ("daxbench", "pick_then_place"): {"horizon": 15},
    },
    "TShirtFold": {
        "daxbench": {
            "width": 0.357,
            "length": 0.5,
            "spacing": 0.0125,
            "friction": 0.9,
            "starts": 100,
            "reach": 0.02,
            "hand_box": (-0.5, 0.0, -0.5, 0.5, 0.1, 0.5),
            "action_mode": "pick_then_place",
            "obs_mode": "particles",
        },
        ("daxbench", "pick_then_place"): {"horizon": 5},
    },
    "RopeStraighten": {"softgym": _ROPE},
    "RopeShape": {"softgym": _ROPE},
    "RopePush": {
        "daxbench": {
            "particles": 33,
            "rope_length": 0.25,
            "friction": 0.9,
            "plate_width": 0.03,
            "paddle_friction": 0.1,
            "distance": (0.1, 0.175),
            "starts": 100,
        },
    },
    "PassWater": {"softgym": {"starts": 1000, "start": (0.0, 0.0)}},
    "PourWater": {"softgym": {"starts": 1000}},
    "PourSoup": {"daxbench": {"starts": 100, "amount": (1.0, 1.0)}},
    "PourWaterAmount": {"softgym": {"starts": 1000, "amount": (1.0, 1.0)}},
    "RopeWhip": {"daxbench": {"rope_length": 0.38, "max_step": 0.02, "starts": 100}},
}  # fmt: skip
"""Presets of each task, by its name."""


def preset_names(presets: Presets, action_mode: str | None = None) -> list[str]:
    """Return the names of the presets that a task has in an action mode, by default in any."""
    names = (name for name in presets if isinstance(name, str))
    return [name for name in names if presets.get((name, action_mode or ""), {}) is not None]


def preset_values(presets: Presets, preset: str | None, action_mode: str | None) -> dict[str, Any]:
    """Return the arguments of a preset.

    Args:
        presets: presets of the task.
        preset: name of one, or None.
        action_mode: the user's action mode.

    Raises:
        ValueError: for a preset that the task does not have in this mode; the message lists those it has.
    """
    if preset is None:
        return {}
    names = preset_names(presets, action_mode)
    if preset not in names:
        known = f"it has {', '.join(map(repr, names))}" if names else "it has none"
        mode = f" with action_mode={action_mode!r}" if preset in preset_names(presets) else ""
        raise ValueError(f"preset {preset!r} is not one of this task's{mode}: {known}")
    values = presets[preset] or {}
    return {**values, **(presets.get((preset, action_mode or values.get("action_mode", ""))) or {})}


def with_preset(
    presets: Presets,
    preset: str | None,
    action_mode: str | None,
    modes: Mapping[str, Any],
    overrides: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return modes and configuration fields: those of a preset, unless the user has given others.

    Args:
        presets: presets of the task.
        preset: name of one, or None.
        action_mode: the user's action mode.
        modes: the user's modes, None for those not given; all of :data:`MODES`.
        overrides: configuration fields given by the user.

    Raises:
        ValueError: for a preset that the task does not have.
    """
    values = preset_values(presets, preset, action_mode)
    found = {name: values.get(name) if modes[name] is None else modes[name] for name in MODES}
    fields = {name: value for name, value in values.items() if name not in MODES}
    return found, with_defaults(fields, overrides)


def with_defaults(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a user's arguments, and the defaults that none of them replaces."""
    others = {other for name in given for other in INSTEAD.get(name, ())}
    return {**{name: value for name, value in defaults.items() if name not in others}, **given}
