"""Rigid boxes in the plane that touch a floor: impulses, penalty forces, friction. NumPy, float64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NORMAL = np.array([0.0, 1.0])
SLIP = 1e-4
"""Speed along the floor below which the original does not normalise the direction of friction [m/s]."""
SWEEPS = 60
"""Largest number of sweeps over the contacts of a body."""
AGREED = 1e-13
"""Change of an impulse below which sweeps end [N s]."""
DEPTH = 2e-3
"""How deep a vertex may stay in the floor where nothing else pushes it out [m]."""


@dataclass(frozen=True)
class Floor:
    """How the floor answers.

    Raises:
        ValueError: for a number out of its range.
    """

    impulses: bool = True
    """Whether velocities of vertices that enter are reversed at once."""
    penalty: bool = True
    """Whether a spring pushes vertices out that are inside."""
    stiffness: float = 100.0
    """Of that spring [N/m]."""
    restitution: float = 0.5
    """Share of the speed that an impact gives back."""
    friction: float = 0.02
    """Coulomb's coefficient."""

    def __post_init__(self) -> None:
        if not (0.0 <= self.stiffness < np.inf and 0.0 <= self.restitution <= 1.0 and 0.0 <= self.friction < np.inf):
            raise ValueError(f"a floor needs stiffness and friction >= 0 and a restitution from 0 to 1, got {self}")


class Box:
    """A box, y is up and the floor is y = 0.

    Args:
        center: [m], shape (2,).
        angle: counter-clockwise [rad].
        size: length and width [m].
        mass: [kg].
        original: whether to reproduce the program that this is modelled on: it solves one vertex after the other, so
            that a box that lands flat leaves turning; lets bodies sink that only impulses hold; takes the velocity
            before the impulse for the friction of the spring; and lets friction reverse a slip.
    """

    def __init__(
        self,
        center: np.ndarray,
        angle: float,
        size: tuple[float, float] = (2.0, 1.0),
        mass: float = 1.0,
        original: bool = False,
    ) -> None:
        self.position, self.velocity = np.array(center, dtype=np.float64), np.zeros(2)
        """Of the centre [m], [m/s], shape (2,)."""
        self.angle, self.spin = float(angle), 0.0
        """[rad], [rad/s]"""
        self.mass, self.inertia = mass, mass * (size[0] ** 2 + size[1] ** 2) / 12.0
        """[kg], [kg m^2]"""
        self.original = original
        self.corners = 0.5 * np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]]) * size
        """In the frame of the box [m], shape (4, 2)."""

    def arms(self) -> np.ndarray:
        """Return the vertices as seen from the centre [m], shape (4, 2)."""
        cosine, sine = np.cos(self.angle), np.sin(self.angle)
        found: np.ndarray = self.corners @ np.array([[cosine, sine], [-sine, cosine]])
        return found

    def energy(self, gravity: float) -> float:
        """Return kinetic energy and that of the height above the floor [J]."""
        moving = 0.5 * self.mass * float(self.velocity @ self.velocity) + 0.5 * self.inertia * self.spin**2
        return moving - self.mass * gravity * float(self.position[1])

    def step(self, dt: float, gravity: float, floor: Floor) -> None:
        """Advance by ``dt`` seconds: contacts, then symplectic Euler."""
        arms = self.arms()
        touching = arms[self.position[1] + arms[:, 1] < 0.0]
        force, torque = (self._original if self.original else self._mended)(touching, floor, 2.0 * abs(gravity) * dt)
        self.velocity = self.velocity + dt * (force / self.mass + [0.0, gravity])
        self.position = self.position + dt * self.velocity
        self.spin += dt * torque / self.inertia
        self.angle += dt * self.spin
        if floor.impulses and not floor.penalty and not self.original:
            self.position[1] += max(-DEPTH - self.position[1] - self.arms()[:, 1].min(), 0.0)

    def _speed(self, arm: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.velocity + self.spin * np.array([-arm[1], arm[0]])
        return found

    def _push(self, impulse: np.ndarray, arm: np.ndarray) -> None:
        self.velocity = self.velocity + impulse / self.mass
        self.spin += float(_cross(arm, impulse)) / self.inertia

    def _weight(self, arm: np.ndarray, direction: np.ndarray) -> float:
        """Return the speed along a direction that an impulse of 1 along it gives to a vertex [1/kg]."""
        return 1.0 / self.mass + float(_cross(arm, direction)) ** 2 / self.inertia

    def _penalty(self, arm: np.ndarray, floor: Floor, along: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the force of the spring at a vertex with its friction against ``along`` [N], and its torque [N m]."""
        push = -floor.stiffness * (self.position[1] + arm[1]) * NORMAL
        force = push - floor.friction * float(np.linalg.norm(push)) * along
        return force, float(_cross(arm, force))

    def _original(self, arms: np.ndarray, floor: Floor, rest: float) -> tuple[np.ndarray, float]:
        """Solve one vertex after the other. Returns the force and the torque of the springs."""
        force, torque = np.zeros(2), 0.0
        for arm in arms:
            speed = self._speed(arm)
            along = speed - (speed @ NORMAL) * NORMAL
            if np.linalg.norm(along) > SLIP:
                along = along / np.linalg.norm(along)
            impulse = -(1.0 + floor.restitution) * (speed @ NORMAL) / self._weight(arm, NORMAL) * NORMAL
            impulse = impulse - floor.friction * np.linalg.norm(impulse) * along
            if impulse @ NORMAL > 0.0 and floor.impulses:
                self._push(impulse, arm)
            if floor.penalty:
                pushed, turned = self._penalty(arm, floor, along)
                force, torque = force + pushed, torque + turned
        return force, torque

    def _mended(self, arms: np.ndarray, floor: Floor, rest: float) -> tuple[np.ndarray, float]:
        """Solve all vertices together. Returns the force and the torque of the springs.

        Args:
            arms: the vertices in the floor [m], shape (k, 2).
            floor: how it answers.
            rest: speed below which nothing bounces [m/s]: that of two steps of free fall.
        """
        if floor.impulses:
            self._solve(arms, floor, rest)
        force, torque = np.zeros(2), 0.0
        for arm in arms if floor.penalty else ():
            speed = self._speed(arm)
            if not (floor.impulses and speed[1] > rest):
                slip = np.array([np.sign(speed[0]), 0.0]) * min(1.0, abs(speed[0]) / max(rest, SLIP))
                pushed, turned = self._penalty(arm, floor, slip)
                force, torque = force + pushed, torque + turned
        return force, torque

    def _solve(self, arms: np.ndarray, floor: Floor, rest: float) -> None:
        """Find impulses after which every vertex leaves at its restitution, by projected Gauss-Seidel sweeps.

        Impulses push only, and friction is at most the coefficient times the push: Catto 2005, Iterative dynamics with
        temporal coherence, Game Developers Conference.
        """
        vx, vy, spin = float(self.velocity[0]), float(self.velocity[1]), self.spin
        light, turns = 1.0 / self.mass, 1.0 / self.inertia
        places = [(float(x), float(y)) for x, y in arms]
        speeds = [vy + spin * x for x, _ in places]
        wanted = [-floor.restitution * speed if speed < -rest else 0.0 for speed in speeds]
        pushes, frictions = [0.0] * len(places), [0.0] * len(places)
        for _ in range(SWEEPS if places else 0):
            largest = 0.0
            for k, (x, y) in enumerate(places):  # plain numbers: arrays of two would take ten times as long
                before = pushes[k]
                pushes[k] = max(before + (wanted[k] - vy - spin * x) / (light + turns * x * x), 0.0)
                change = pushes[k] - before
                vy, spin = vy + light * change, spin + turns * x * change
                bound, old = floor.friction * pushes[k], frictions[k]
                frictions[k] = min(max(old + (spin * y - vx) / (light + turns * y * y), -bound), bound)
                slip = frictions[k] - old
                vx, spin = vx + light * slip, spin - turns * y * slip
                largest = max(largest, abs(change), abs(slip))
            if largest < AGREED:
                break
        self.velocity, self.spin = np.array([vx, vy]), spin


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    found: np.ndarray = a[0] * b[1] - a[1] * b[0]
    return found
