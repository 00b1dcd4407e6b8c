"""Pointing agents: each hand moves to one of the keypoints, takes its particle to that one's goal, or stays.

A script's next step is a choice among a few, which a network makes by a score for each: between two corners it chooses
one, whereas a network that outputs the motion itself takes their mean, and reaches neither. The agent observes the
place of the chosen point, so hands reach it exactly. Neural nets that point: Vinyals et al. 2015, "Pointer networks",
arXiv:1506.03134; a choice and a correction to it: Shafiullah et al. 2022, "Behavior transformers", arXiv:2206.11251.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pbd_gym.training.symmetry.columns import shown_columns

AXES = 3
"""Numbers of a move in an action."""
HAND = AXES + 1
"""Numbers of a hand in an action: a move and a grip."""
MORE = 3
"""Outputs for each hand beside the scores: whether it closes, its speed, and its rise."""
LEVEL = np.array([1.0, 0.1, 1.0])
"""Penalty for a move that does not lead to a target, along each axis."""
SLOW = 1e-3
"""Penalty for leading there slowly: hands that hardly move go nowhere."""
FAR = 0.02
"""Penalty for the distance of a hand from the point to whose goal it goes [1/m]."""


@dataclass(frozen=True)
class Pointing:
    """Interpretation of a pointing network's outputs.

    The targets of a hand are: to stay, each of the points, and the goal of each of them, for the one that it holds. The
    outputs are a score for each target, the highest of which counts; whether the hand closes (above zero); its speed,
    as a share; and how far it rises above the line. At full speed it covers as much of its way to the target as one
    action allows, along a straight line.
    """

    points: np.ndarray
    """First columns of an observation for the positions of the points that hands may go to, shape (points,), int."""
    offsets: np.ndarray
    """First columns for their vectors to their goals, -1 for a point without a goal, shape (points,), int."""
    hands: np.ndarray
    """First columns for the positions of the hands, shape (hands,), int."""
    max_step: np.ndarray
    """Largest step of a hand along an axis [m], shape ()."""
    full_speed: np.ndarray = field(default_factory=lambda: np.array(False))
    """Whether hands always move at full speed, whatever the outputs say, shape (), bool."""

    @property
    def targets(self) -> int:
        """Number of targets of a hand."""
        return 1 + 2 * len(self.points)

    @property
    def outputs(self) -> int:
        """Number of outputs of the network for each hand."""
        return self.targets + MORE

    def moves(self, observations: np.ndarray) -> np.ndarray:
        """Return the moves to all targets at full speed, shape (..., hands, targets, 3).

        Args:
            observations: shape (..., size).
        """
        count, zero = len(self.points), observations.shape[-1]
        to_points = self._to_points(observations)
        seen = np.append(
            np.asarray(observations, dtype=np.float64), np.zeros((*observations.shape[:-1], AXES)), axis=-1
        )
        way = np.zeros((*to_points.shape[:-2], self.targets, AXES))
        way[..., 1 : 1 + count, :] = to_points
        offsets = np.where(self.offsets < 0, zero, self.offsets)[:, None] + np.arange(AXES)
        way[..., 1 + count :, :] = seen[..., offsets][..., None, :, :]
        steps = way / float(self.max_step)
        found: np.ndarray = steps / np.maximum(np.abs(steps).max(axis=-1, keepdims=True), 1.0)
        return found

    def _to_points(self, observations: np.ndarray) -> np.ndarray:
        """Return the vectors from the hands to all points [m], shape (..., hands, points, 3)."""
        seen, axes = np.asarray(observations, dtype=np.float64), np.arange(AXES)
        points, hands = seen[..., self.points[:, None] + axes], seen[..., self.hands[:, None] + axes]
        found: np.ndarray = points[..., None, :, :] - hands[..., None, :]
        return found

    def actions(self, observations: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Return the actions of the hands.

        Args:
            observations: observations of the agent, shape (..., size). outputs: outputs of its network, shape (...,
            hands * self.outputs).

        Returns:
            Shape (..., 4 * hands), not clipped.
        """
        rows = outputs.reshape(*outputs.shape[:-1], len(self.hands), self.outputs)
        scores, grips, speed, rise = np.split(rows, [-MORE, -2, -1], axis=-1)
        chosen = scores.argmax(axis=-1)[..., None, None]
        if self.full_speed:
            speed = np.ones_like(speed)
        move = speed * np.take_along_axis(self.moves(observations), chosen, axis=-2)[..., 0, :]
        move[..., 1] += rise[..., 0]
        return np.concatenate([move, np.where(grips > 0.0, 1.0, -1.0)], axis=-1).reshape(*outputs.shape[:-1], -1)

    def lessons(self, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Return the target outputs for actions that an expert chose: the target to which these lead.

        Args:
            observations: shape (steps, size).
            actions: shape (steps, 4 * hands).

        Returns:
            For each hand the number of the target, whether it closes (1 or 0), its speed and its rise, shape
            (steps, hands * 4), float32.
        """
        meant = actions.reshape(len(actions), len(self.hands), HAND)
        found = np.empty((len(actions), len(self.hands), 1 + MORE), dtype=np.float32)
        for first in range(0, len(actions), 4096):
            rows = slice(first, first + 4096)
            moves, goes = self.moves(observations[rows]), meant[rows, :, None, :AXES]
            along = (moves * goes).sum(axis=-1) / np.maximum((moves**2).sum(axis=-1), 1e-9)
            speed = np.ones_like(along) if self.full_speed else np.clip(along, 0.0, 1.0)
            speed = speed[..., None]
            apart = goes - speed * moves
            # Hands also rise and sink on their way. Among targets in one direction it is the one reached fastest.
            off = (apart**2 * LEVEL).sum(axis=-1) + SLOW * (1.0 - speed[..., 0]) ** 2
            # Paths to the goals of a fold are parallel: the held point is the nearest one.
            off[..., 1 + len(self.points) :] += FAR * np.linalg.norm(self._to_points(observations[rows]), axis=-1)
            chosen = off.argmin(axis=-1)[..., None, None]
            found[rows, :, :1] = chosen[..., 0]
            found[rows, :, 2:3] = np.take_along_axis(speed, chosen, axis=-2)[..., 0]
            found[rows, :, 3:] = np.take_along_axis(apart[..., 1:2], chosen, axis=-2)[..., 0, :]
        found[..., 1] = meant[..., AXES] > 0.0
        return found.reshape(len(actions), -1)


def check_pointing(pointing: Pointing, size: int, outputs: int) -> int:
    """Check a file's pointing data, and return the size of the actions.

    Args:
        pointing: data in the file. size: size of an observation. outputs: number of the network's outputs.

    Raises:
        ValueError: for invalid columns, or a wrong number of outputs.
    """
    points, offsets, hands, step, full_speed = (np.asarray(part) for part in vars(pointing).values())
    for name, columns, least in (("points", points, 0), ("offsets", offsets, -1), ("hands", hands, 0)):
        if columns.ndim != 1 or columns.dtype.kind != "i" or not len(columns):
            raise ValueError(f"pointing {name} must be columns in a row, got {columns.dtype} of shape {columns.shape}")
        if (columns < least).any() or (columns > size - AXES).any():
            raise ValueError(f"pointing {name} must be columns of vectors of three numbers in an observation")
    if len(points) != len(offsets):
        raise ValueError(f"pointing needs an offset for each point, got {len(offsets)} for {len(points)}")
    if step.shape or step.dtype.kind != "f" or not 0.0 < step < np.inf:
        raise ValueError(f"pointing max_step must be a number above zero, got {step}")
    if full_speed.shape or full_speed.dtype.kind != "b":
        raise ValueError(f"pointing full_speed must be true or false, got {full_speed}")
    if outputs != len(hands) * pointing.outputs:
        raise ValueError(f"hands that point need {len(hands) * pointing.outputs} outputs, got {outputs}")
    return HAND * len(hands)


def pointing_of(batch: Any, full_speed: bool = False) -> Pointing:
    """Return the pointing scheme of a task: at keypoints, to grasp them, and at the goal of the held one.

    Args:
        batch: environments in action mode ``"picker"`` that show keypoints.
        full_speed: see :class:`Pointing`.

    Raises:
        ValueError: for unsuitable observations or actions.
    """
    if batch.action_mode != "picker":
        raise ValueError(f"only pickers can point, not action_mode={batch.action_mode!r}")
    columns = shown_columns(batch)
    parts = (columns.points.values(), (columns.offsets.get(one, -1) for one in columns.points), columns.hands)
    points, offsets, hands = (np.array(list(part), dtype=np.int16) for part in parts)
    return Pointing(
        points, offsets, hands, np.array(batch.actions.hands.max_step, dtype=np.float32), np.array(full_speed)
    )
