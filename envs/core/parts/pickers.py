"""Hands of a manipulation task: their reach, their start, and their box."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pbd_gym.envs.core.data.hands import Hands
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.manipulation import ManipulationConfig

STARTS = ("corners", "edge", "middle")
"""Values of ``PickerConfig.hands_at``."""


@dataclass(frozen=True)
class PickerConfig(ManipulationConfig):
    """Numbers of tasks in which two hands grasp and carry."""

    reach: float = 0.06
    """Distance from which a hand grasps [m]."""
    hands_at: str = "corners"
    """Start of the hands: at the ``"corners"`` that the task begins with (the ends of a rope), or side by side along x
    over the middle between these (``"edge"``) or over the middle of the object (``"middle"``).
    """
    hand_height: float = 0.0
    """Initial height over the corners, or over the ground with ``"edge"`` and ``"middle"`` [m]."""
    hand_gap: float = 0.2
    """Distance between them with ``"edge"`` and ``"middle"`` [m]."""
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
        config: its numbers. particles: particles that they hold or start at. corners: particles that ``pin`` mode can
        fix. box: lower and upper corner of their box, if ``config`` has none [m]. floor: height below which they do not
        lead their particles [m]. holding: whether they hold them.
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
        places=partial(start_places, config, (first, second)),
    )


def start_places(config: PickerConfig, particles: tuple[int, int], positions: np.ndarray) -> np.ndarray:
    """Return the start places of the hands [m], shape (starts, 2, 3).

    Args:
        config: numbers of the task.
        particles: particles that they hold or start at.
        positions: start positions [m], shape (starts, n, 3).
    """
    corners = positions[:, list(particles)]
    if config.hands_at == "corners":
        return np.asarray(corners + np.array([0.0, config.hand_height, 0.0]))
    if config.hands_at == "edge":
        middle = corners.mean(axis=1)
    else:
        middle = 0.5 * (positions.min(axis=1) + positions.max(axis=1))
    places = np.repeat(middle[:, None], 2, axis=1)
    places[..., 0] += 0.5 * config.hand_gap * np.array([1.0, -1.0])
    places[..., 1] = config.hand_height
    return places
