"""Ropes and hands as scripts see them that tie and untie: strands, crossings and grips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.envs.core.parts.experts import box_of, grip_positions, held_particles, sizes
from pbd_gym.envs.core.task import World
from pbd_gym.envs.rope.knots import Crossings, find_crossings

CARRY, LIFT = 0.08, 0.045
"""Height at which ends are carried over strands, and to which a strand is lifted for an end to pass below, as shares of
the length of the rope.
"""
SLOW = 0.4
"""Share of the largest step at which something is lifted or drawn along the ground."""
OPEN = (False, False)
"""Neither hand holds anything."""
BOTH = (True, True)
"""Both hands hold on."""


def only(hand: int) -> tuple[bool, bool]:
    """Return that one hand is closed, and the other is open."""
    return hand == 0, hand == 1


@dataclass
class Strands:
    """One environment's rope, hands and crossings, as scripts see them."""

    x: np.ndarray
    """Particles [m], shape (n, 3)."""
    hands: np.ndarray
    """Places of the hands [m], shape (2, 3)."""
    held: np.ndarray
    """Particle in each hand, -1 for none, shape (2,), int."""
    length: float
    """Length of the rope at rest [m]."""
    floor: float
    """Height of the rope on the ground [m]."""
    crossings: Crossings

    @classmethod
    def of(cls, world: World, env: int, length: float) -> Strands:
        """Return those of an environment.

        Args:
            world: the environments.
            env: number of one.
            length: length of the rope in the scene [m].
        """
        x = world.state.get_positions(env).astype(np.float64)
        size = float(sizes(world)[env, 0])
        hands = grip_positions(world)[env].astype(np.float64)
        held, low = held_particles(world)[env], box_of(world, env)[0]
        return cls(x, hands, held, size * length, float(low[1]), find_crossings(x))

    @property
    def spacing(self) -> float:
        """Distance between neighbouring particles at rest [m]."""
        return self.length / (len(self.x) - 1)

    def nearest_hand(self, point: np.ndarray) -> int:
        """Return the hand that is nearest to a point."""
        return int(np.linalg.norm(self.hands - point, axis=1).argmin())

    def places(self, hand: int, place: np.ndarray) -> np.ndarray:
        """Return places of both hands [m], shape (2, 3), of which one stays where it is."""
        found = self.hands.copy()
        found[hand] = place
        return found

    def at(self, place: float) -> np.ndarray:
        """Return the point at a place along the rope [m], shape (3,)."""
        i = int(np.clip(place, 0, len(self.x) - 2))
        share = min(place - i, 1.0)
        return np.asarray((1.0 - share) * self.x[i] + share * self.x[i + 1])

    def count(self, share: float) -> int:
        """Return the number of particles on a share of the rope."""
        return max(round(share * (len(self.x) - 1)), 1)

    def high(self, point: np.ndarray, height: float = CARRY) -> np.ndarray:
        """Return a point at a height above the ground [m], shape (3,)."""
        return np.array([point[0], self.floor + height * self.length, point[2]])

    def low(self, point: np.ndarray) -> np.ndarray:
        """Return a point on the ground [m], shape (3,)."""
        return np.array([point[0], self.floor, point[2]])
