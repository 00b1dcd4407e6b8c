"""Effect of a task's symmetries on observations and actions: permutations and signs of rows of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.envs.core.data.symmetries import Symmetry
from pbd_gym.envs.core.spaces.observations import MemoryObservations, ReducedObservations
from pbd_gym.training.symmetry.columns import shown_particles


@dataclass(frozen=True)
class RowMap:
    """Signed permutation of a row of numbers."""

    index: np.ndarray
    """Source indices, shape (size,), int."""
    sign: np.ndarray
    """Signs, 1 or -1, shape (size,), float32."""

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return the images of some rows, shape (..., size)."""
        return np.asarray(rows[..., self.index] * self.sign)


class _Columns:
    """Collects a row map, block after block."""

    def __init__(self) -> None:
        self.index: list[int] = []
        self.sign: list[float] = []

    def vectors(self, first: int, order: Iterable[int], axes: np.ndarray) -> None:
        """Add three-component vectors, one after the other from column ``first`` on."""
        source, sign = np.abs(axes).argmax(axis=1), axes.sum(axis=1)
        for place in order:
            self.index += [first + 3 * place + int(axis) for axis in source]
            self.sign += [float(value) for value in sign]

    def numbers(self, columns: Iterable[int], sign: float = 1.0) -> None:
        """Add numbers that have no direction."""
        columns = list(columns)
        self.index += columns
        self.sign += [sign] * len(columns)

    def done(self) -> RowMap:
        """Return the map."""
        return RowMap(np.array(self.index, dtype=np.int64), np.array(self.sign, dtype=np.float32))


def _places(particles: np.ndarray, symmetry: Symmetry, rest: np.ndarray) -> np.ndarray:
    """Return the image of some particles under a symmetry, or the particle nearest to it at rest.

    If a towel has an even number of particles, the middle of a side is represented by one of two.
    """
    if not len(particles):
        return np.zeros(0, dtype=np.int64)
    images = rest[symmetry.particles[particles]]
    places = np.linalg.norm(images[:, None] - rest[particles], axis=2).argmin(axis=1)
    if len(set(places.tolist())) < len(particles):
        raise ValueError("the shown particles have no counterparts in the image")
    return places


def _handedness(axes: np.ndarray) -> float:
    """Return 1 for a rotation and -1 for a mirror image, which reverses angles."""
    return float(round(np.linalg.det(axes)))


def _reduced_map(view: ReducedObservations, goals: np.ndarray, symmetry: Symmetry, rest: np.ndarray) -> RowMap:
    """Return the map of an observation that consists of positions."""
    columns, particles = _Columns(), np.asarray(view.reduced.particles)
    columns.vectors(0, _places(particles, symmetry, rest), symmetry.axes)
    columns.vectors(3 * len(particles), _places(goals, symmetry, rest), symmetry.axes)
    columns.vectors(3 * (len(particles) + len(goals)), symmetry.hands[: view.grip_count], symmetry.axes)
    return columns.done()


def observation_map(batch: Any, symmetry: Symmetry) -> RowMap:
    """Return the map of an observation.

    Args:
        batch: environments that show ``"keypoints"``, ``"particles"``, ``"memory"`` or ``"reduced"``.
        symmetry: symmetry of its task.

    Raises:
        ValueError: for unsupported observations, or points that do not lie symmetrically.
    """
    view, rest = batch.observations, batch.scene.positions
    if isinstance(view, ReducedObservations):
        return _reduced_map(view, batch.goal_particles[: view.goal_count], symmetry, rest)
    shown = shown_particles(batch)
    columns, count = _Columns(), len(shown.particles)
    places = _places(shown.particles, symmetry, rest)
    for block in range(2):  # positions, velocities
        columns.vectors(3 * count * block, places, symmetry.axes)
    first = 6 * count
    columns.vectors(first, _places(shown.goal_particles, symmetry, rest), symmetry.axes)
    first += 3 * len(shown.goal_particles)
    hands = symmetry.hands[: shown.grip_count]
    columns.vectors(first, hands, symmetry.axes)
    columns.numbers(first + 3 * len(hands) + hand for hand in hands)
    first += 4 * len(hands)
    columns.vectors(first, range(len(shown.paddles)), symmetry.axes)
    if shown.turns:
        first += 3 * len(shown.paddles)
        columns.numbers(range(first, first + len(shown.paddles)), _handedness(symmetry.axes))
    found = columns.done()
    if not isinstance(view, MemoryObservations):
        return found
    index = np.concatenate([found.index, shown.size + found.index, np.arange(2 * shown.size, view.size)])
    return RowMap(index, np.concatenate([found.sign, found.sign, np.ones(view.size - 2 * shown.size, np.float32)]))


def action_map(batch: Any, symmetry: Symmetry) -> RowMap:
    """Return the map of an action.

    Args:
        batch: environments with hands or paddles. symmetry: symmetry of its task.

    Raises:
        ValueError: for unsupported actions, or a box that changes when rotated.
    """
    actions, columns, stride = batch.actions, _Columns(), batch.actions.stride
    if batch.action_mode not in ("drag", "picker", "pick_place", "paddle") or actions.hands.axes != 3:
        raise ValueError(f"only hands and paddles can be mirrored, not action_mode={batch.action_mode!r}")
    box = np.array([actions.hands.lower, actions.hands.upper])
    if batch.action_mode == "pick_place" and not np.allclose(np.sort(box @ symmetry.axes.T, axis=0), box):
        raise ValueError(f"places are shares of a box, and that from {box[0]} to {box[1]} changes")
    order = symmetry.hands if actions.grip_count else range(len(actions.paddles))
    for hand in order:
        columns.vectors(stride * hand, [0], symmetry.axes)
        turn = _handedness(symmetry.axes) if actions.turns else 1.0
        columns.numbers(range(stride * hand + 3, stride * (hand + 1)), turn)
    return columns.done()


def row_maps(batch: Any) -> list[tuple[RowMap, RowMap]]:
    """Return the maps of observations and actions for all symmetries of a task.

    Raises:
        ValueError: for a task without symmetries, and as :func:`observation_map` and :func:`action_map` do.
    """
    symmetries = batch.task.symmetries
    if not symmetries:
        raise ValueError("the task has no symmetries")
    return [(observation_map(batch, symmetry), action_map(batch, symmetry)) for symmetry in symmetries]


def stacked_maps(batch: Any) -> tuple[RowMap, RowMap]:
    """Return the maps of observations and actions, all images combined in one; the first is the identity.

    Index and sign have shape (images, size). Raises as :func:`row_maps`.
    """
    of_observations, of_actions = zip(*row_maps(batch), strict=True)
    return stacked(batch.observations.size, of_observations), stacked(batch.actions.size, of_actions)


def stacked(size: int, maps: Sequence[RowMap] = ()) -> RowMap:
    """Combine maps of rows into one, shape (1 + maps, size), after the identity."""
    index = np.stack([np.arange(size), *(one.index for one in maps)])
    return RowMap(index, np.stack([np.ones(size, np.float32), *(one.sign for one in maps)]))
