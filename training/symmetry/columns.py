"""Where the vectors stand in a row of what agents see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pbd_gym.envs.core.spaces.observations import MemoryObservations, Observations


@dataclass(frozen=True)
class Columns:
    """Columns of an observation where vectors of three numbers begin."""

    points: dict[int, int]
    """Of the position of each particle that is shown."""
    offsets: dict[int, int]
    """Of the way to its goal, for each particle with a goal."""
    hands: tuple[int, ...]
    """Of the position of each hand."""
    remembered: int
    """How much further on the same stand as they were at the last grasp; 0 for agents without a memory."""


def shown_particles(batch: Any) -> Observations:
    """Return which particles a batch shows, now and, with a memory, as they were.

    Args:
        batch: environments in space that show ``"keypoints"``, ``"particles"`` or ``"memory"``.

    Raises:
        ValueError: for other observations.
    """
    view = batch.observations
    shown = view.keypoints if isinstance(view, MemoryObservations) else view
    if not isinstance(shown, Observations) or shown.mode == "goal" or shown.axes != 3:
        raise ValueError(f"only particles can be mirrored, or pointed at, not obs_mode={batch.obs_mode!r}")
    return shown


def shown_columns(batch: Any) -> Columns:
    """Return where the vectors stand that a batch shows.

    Args:
        batch: environments in space that show ``"keypoints"``, ``"particles"`` or ``"memory"``.

    Raises:
        ValueError: as :func:`shown_particles`.
    """
    shown = shown_particles(batch)
    particles, goals = shown.particles.tolist(), shown.goal_particles.tolist()
    first = 6 * len(particles)
    hands = first + 3 * len(goals)
    return Columns(
        points={particle: 3 * k for k, particle in enumerate(particles)},
        offsets={particle: first + 3 * k for k, particle in enumerate(goals)},
        hands=tuple(hands + 3 * hand for hand in range(shown.grip_count)),
        remembered=0 if shown is batch.observations else shown.size,
    )
