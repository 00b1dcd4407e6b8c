"""Agents that point: each hand goes to one of the keypoints, takes what it holds to a goal, or stays.

What a script does next is a choice of one among a few, which a network makes by a score for each: between two corners
it takes one, where a network that puts out the motion itself takes their mean, and comes to neither. Where the chosen
one is, the agent sees; so hands come there exactly. Neural nets that point: Vinyals et al. 2015, "Pointer networks",
arXiv:1506.03134; a choice and what is to be added to it: Shafiullah et al. 2022, "Behavior transformers",
arXiv:2206.11251.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.training.columns import shown_columns

AXES = 3
"""Numbers of a move."""
HAND = AXES + 1
"""Numbers of a hand in an action: a move and a grip."""


@dataclass(frozen=True)
class Pointing:
    """What the outputs of a network say that points.

    For each hand there are a score for each target, whether it closes (above zero), and what is to be added to the move
    to the target, shape (3,). The target with the highest score counts. A move is what the hand can do of its way in an
    action, along a straight line, as a share of its largest step.
    """

    targets: np.ndarray
    """Columns of an observation where vectors begin of which a way is made, shape (hands, targets, 3), int: one that
    counts, one that is added, one that is subtracted; -1 is the zero vector."""
    max_step: np.ndarray
    """Largest step of a hand along an axis [m], shape ()."""

    @property
    def hands(self) -> int:
        """Hands that are told what to do."""
        return len(self.targets)

    @property
    def outputs(self) -> int:
        """Outputs of the network for each hand."""
        return self.targets.shape[1] + 1 + AXES

    def moves(self, observations: np.ndarray) -> np.ndarray:
        """Return the moves to all targets, shape (..., hands, targets, 3), for observations of shape (..., size)."""
        zero = observations.shape[-1]
        seen = np.append(
            np.asarray(observations, dtype=np.float64), np.zeros((*observations.shape[:-1], AXES)), axis=-1
        )
        columns = np.where(self.targets < 0, zero, self.targets)[..., None] + np.arange(AXES)
        way = seen[..., columns[:, :, 0]] + seen[..., columns[:, :, 1]] - seen[..., columns[:, :, 2]]
        steps = way / float(self.max_step)
        found: np.ndarray = steps / np.maximum(np.abs(steps).max(axis=-1, keepdims=True), 1.0)
        return found

    def actions(self, observations: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Return what the hands do.

        Args:
            observations: what the agent sees, shape (..., size).
            outputs: of its network, shape (..., hands * self.outputs).

        Returns:
            Shape (..., 4 * hands), not clipped.
        """
        rows = outputs.reshape(*outputs.shape[:-1], self.hands, self.outputs)
        scores, grips, more = np.split(rows, [-HAND, -AXES], axis=-1)
        chosen = scores.argmax(axis=-1)[..., None, None]
        move = np.take_along_axis(self.moves(observations), chosen, axis=-2)[..., 0, :] + more
        return np.concatenate([move, np.where(grips > 0.0, 1.0, -1.0)], axis=-1).reshape(*outputs.shape[:-1], -1)

    def lessons(self, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Return what the outputs should be for actions that an expert chose: the target that comes nearest to it.

        Args:
            observations: shape (steps, size).
            actions: shape (steps, 4 * hands).

        Returns:
            For each hand the number of the target, whether it closes (1 or 0), and what is to be added, shape
            (steps, hands * 5), float32.
        """
        meant = actions.reshape(len(actions), self.hands, HAND)
        found = np.empty((len(actions), self.hands, 1 + HAND), dtype=np.float32)
        for first in range(0, len(actions), 4096):
            rows = slice(first, first + 4096)
            apart = meant[rows, :, None, :AXES] - self.moves(observations[rows])
            nearest = (apart**2).sum(axis=-1).argmin(axis=-1)
            found[rows, :, 0] = nearest
            found[rows, :, 2:] = np.take_along_axis(apart, nearest[..., None, None], axis=-2)[..., 0, :]
        found[..., 1] = meant[..., AXES] > 0.0
        return found.reshape(len(actions), -1)


def check_pointing(pointing: Pointing, size: int, outputs: int) -> int:
    """Check what a file says, and return how many numbers the actions have.

    Args:
        pointing: what it says.
        size: numbers that the agent sees.
        outputs: of its network.

    Raises:
        ValueError: for columns that are none, or other outputs.
    """
    targets, step = pointing.targets, np.asarray(pointing.max_step)
    if targets.ndim != 3 or targets.shape[2] != AXES or targets.dtype.kind != "i":
        raise ValueError(f"pointing targets must be columns of shape (hands, targets, 3), got {targets.shape}")
    if (targets < -1).any() or (targets > size - AXES).any():
        raise ValueError("pointing targets must be columns of vectors of three numbers in an observation")
    if step.shape or step.dtype.kind != "f" or not 0.0 < step < np.inf:
        raise ValueError(f"pointing max_step must be a number above zero, got {step}")
    if outputs != pointing.hands * pointing.outputs:
        raise ValueError(f"hands that point need {pointing.hands * pointing.outputs} outputs, got {outputs}")
    return HAND * pointing.hands


def pointing_of(batch: Any) -> Pointing:
    """Return how agents point in a task: at keypoints, to take them, and at goals, for what is held.

    Args:
        batch: environments with pickers in action mode ``"picker"`` that show keypoints.

    Raises:
        ValueError: for other observations or actions.
    """
    if batch.action_mode != "picker" or batch.observations.axes != AXES:
        raise ValueError(f"only pickers can point, not action_mode={batch.action_mode!r}")
    columns = shown_columns(batch)
    held = [(offset, -1, -1) for offset in columns.offsets.values()]
    targets = [
        [(-1, -1, -1), *((point, -1, hand) for point in columns.points.values()), *held] for hand in columns.hands
    ]
    return Pointing(np.array(targets, dtype=np.int16), np.array(batch.actions.hands.max_step, dtype=np.float32))
