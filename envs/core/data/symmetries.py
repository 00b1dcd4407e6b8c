"""Symmetries of a task: what an agent has learned of one situation it then knows of its mirror images, too.

A square towel in a heap may be turned or mirrored, and its corners may be counted from another one: what is to be done
is turned, mirrored and counted likewise. :mod:`pbd_gym.training.symmetry.images` makes use of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MIRROR_X, MIRROR_Z = np.diag([-1, 1, 1]), np.diag([1, 1, -1])
"""Mirror images at the planes x = 0 and z = 0, as matrices, shape (3, 3), int."""
QUARTER = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
"""A quarter turn about the vertical, likewise."""


@dataclass(frozen=True)
class Symmetry:
    """A way to see a task as another one that is as likely: turned or mirrored, particles and hands counted anew."""

    axes: np.ndarray
    """What directions become: a signed permutation that leaves the vertical as it is, shape (3, 3), int."""
    particles: np.ndarray
    """Which particle each one stands for in the image, shape (n,), int."""
    hands: tuple[int, ...] = ()
    """Which hand each one stands for; paddles keep their numbers."""

    def __matmul__(self, first: Symmetry) -> Symmetry:
        """Return the symmetry that does ``first``, and then this one."""
        hands = tuple(first.hands[hand] for hand in self.hands)
        return Symmetry(self.axes @ first.axes, first.particles[self.particles], hands)

    @property
    def changes_nothing(self) -> bool:
        """Whether everything stays as it is."""
        counted_anew = list(self.hands) != sorted(self.hands) or (np.diff(self.particles) < 0).any()
        return not counted_anew and bool((self.axes == np.eye(3)).all())

    def image(self, positions: np.ndarray) -> np.ndarray:
        """Return where particles are in the image [m], or what else is a vector of each, shape (..., n, 3)."""
        return np.asarray(positions[..., self.particles, :] @ self.axes.T)


def generated(generators: Sequence[Symmetry]) -> tuple[Symmetry, ...]:
    """Return all symmetries that come of some of them, one after the other, but for the one that changes nothing."""
    found: dict[tuple[bytes, ...], Symmetry] = {}
    waiting = list(generators)
    while waiting:
        symmetry = waiting.pop(0)
        key = symmetry.axes.tobytes(), symmetry.particles.tobytes(), bytes(symmetry.hands)
        if key not in found:
            found[key] = symmetry
            waiting += [generator @ symmetry for generator in generators]
    return tuple(symmetry for symmetry in found.values() if not symmetry.changes_nothing)
