"""Places of the vectors in a row of observations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pbd_gym.envs.core.spaces.observations import MemoryObservations, Observations


@dataclass(frozen=True)
class Columns:
    """First columns of three-component vectors in an observation."""

    points: dict[int, int]
    """Position of each particle that is shown."""
    offsets: dict[int, int]
    """Vector to its goal, for each particle with a goal."""
    hands: tuple[int, ...]
    """Position of each hand."""
    remembered: int
    """Offset to the same columns at the last grasp; 0 for agents without a memory."""


def shown_particles(batch: Any) -> Observations:
    """Return the particles that a batch shows, now and, with a memory, in the past.

    Args:
        batch: environments in space that show ``"keypoints"``, ``"particles"`` or ``"memory"``.

    Raises:
        ValueError: for unsupported observations.
    """
    view = batch.observations
    shown = view.keypoints if isinstance(view, MemoryObservations) else view
    if not isinstance(shown, Observations) or shown.mode == "goal" or shown.axes != 3:
        raise ValueError(f"only particles can be mirrored, or pointed at, not obs_mode={batch.obs_mode!r}")
    return shown


def shown_columns(batch: Any) -> Columns:
    """Return the columns of the vectors that a batch shows.

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
