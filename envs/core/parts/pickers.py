"""Hands of a manipulation task: their reach, their start, and their box."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pbd_gym.envs.core.data.hands import Hands
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.manipulation import ManipulationConfig

STARTS = ("corners", "edge", "middle", "home", "drawn")
"""Values of ``PickerConfig.hands_at``."""
HOME, HIGH = 0.85, 0.5
"""Distance of the home from the middle of the box, as a share of that of its side, and least height of drawn places, as
a share of the height of the box.
"""


@dataclass(frozen=True)
class PickerConfig(ManipulationConfig):
    """Numbers of tasks in which two hands grasp and carry."""

    reach: float = 0.06
    """Distance from which a hand grasps [m]."""
    hands_at: str = "corners"
    """Start of the hands: at the ``"corners"`` that the task begins with (the ends of a rope), or side by side along x
    over the middle between these (``"edge"``) or over the middle of the object (``"middle"``). With ``"home"``
    they start side by side at one side of their box, away from the object, and with ``"drawn"`` anywhere in the upper
    half of the box: then what they grasp has to be found.
    """
    hand_height: float = 0.0
    """Initial height over the corners, or over the ground with ``"edge"`` and ``"middle"`` [m]."""
    hand_gap: float = 0.2
    """Distance between them with ``"edge"``, ``"middle"`` and ``"home"`` [m]."""
    hand_box: tuple[float, float, float, float, float, float] | None = field(default=None, metadata={"signed": True})
    """Box that the hands stay in: x, y and z of its lower corner, then of the upper one [m]; by default one that fits
    the object.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("reach",))
        if self.hands_at not in STARTS:
            raise ValueError(f"hands_at must be one of {STARTS}, got {self.hands_at!r}")
        box = self.hand_box
        if box is None:
            return
        object.__setattr__(self, "hand_box", tuple(box))
        if any(low > high for low, high in zip(box[:3], box[3:], strict=True)):
            raise ValueError(f"hand_box must be the lower corner and then the upper one, got {box}")


def two_pickers(
    config: PickerConfig,
    particles: Iterable[int],
    corners: Iterable[int],
    box: tuple[tuple[float, float, float], tuple[float, float, float]],
    floor: float,
    holding: bool = False,
) -> Hands:
    """Return the two hands of a task.

    Args:
        config: its numbers.
        particles: particles that they hold or start at.
        corners: particles that ``pin`` mode can fix.
        box: lower and upper corner of their box, if ``config`` has none [m].
        floor: height below which they do not lead their particles [m].
        holding: whether they hold them.
    """
    first, second = (int(particle) for particle in particles)
    given = config.hand_box
    lower, upper = box if given is None else (given[:3], given[3:])
    return Hands(
        particles=(first, second),
        corners=tuple(int(corner) for corner in corners),
        reach=config.reach,
        max_step=config.max_step,
        lower=lower,
        upper=upper,
        floor=floor,
        holding=holding,
        places=partial(start_places, config, (first, second), (lower, upper), holding),
    )


def start_places(
    config: PickerConfig,
    particles: tuple[int, int],
    box: tuple[Sequence[float], Sequence[float]],
    holding: bool,
    positions: np.ndarray,
) -> np.ndarray:
    """Return the start places of the hands [m], shape (starts, 2, 3).

    Args:
        config: numbers of the task.
        particles: particles that they hold or start at.
        box: lower and upper corner of their box [m].
        holding: whether they hold them, and so start there instead of anywhere away from the object.
        positions: start positions [m], shape (starts, n, 3).
    """
    corners = positions[:, list(particles)]
    low, high = np.array(box, dtype=np.float64)
    if config.hands_at == "home" and not holding:
        home = 0.5 * (low + high) + [0.0, 0.0, -0.5 * HOME * (high - low)[2]]
        aside = 0.5 * config.hand_gap * np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
        return np.asarray(np.repeat((home + aside)[None], len(positions), axis=0))
    if config.hands_at == "drawn" and not holding:
        rng = np.random.default_rng([config.starts_seed, 2])  # another stream than that of goals
        low[1] += HIGH * (high - low)[1]
        return rng.uniform(low, high, (len(positions), 2, 3))
    if config.hands_at in ("corners", "home", "drawn"):
        return np.asarray(corners + np.array([0.0, config.hand_height, 0.0]))
    if config.hands_at == "edge":
        middle = corners.mean(axis=1)
    else:
        middle = 0.5 * (positions.min(axis=1) + positions.max(axis=1))
    places = np.repeat(middle[:, None], 2, axis=1)
    places[..., 0] += 0.5 * config.hand_gap * np.array([1.0, -1.0])
    places[..., 1] = config.hand_height
    return places
