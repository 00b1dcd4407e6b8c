"""Particles that emitters spray out and that vanish when their time is up. NumPy, float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pbd_gym.colliders import Solid


@dataclass(frozen=True)
class Emitter:
    """A nozzle.

    Raises:
        ValueError: for a number out of its range.
    """

    position: tuple[float, float, float]
    """[m]"""
    direction: tuple[float, float, float]
    """Where the jet goes; need not have length 1."""
    speed: float
    """At which particles leave [m/s]."""
    spread: float
    """Half angle of the cone that the jet fills evenly [rad]."""
    rate: float
    """Particles per second."""
    lifetime: float
    """How long a particle is there [s]."""

    def __post_init__(self) -> None:
        numbers = [*self.position, *self.direction, self.speed, self.spread, self.rate, self.lifetime]
        if not np.isfinite(numbers).all() or not np.any(self.direction):
            raise ValueError(f"an emitter needs finite numbers and a direction, got {self}")
        if self.speed < 0 or not 0 <= self.spread <= np.pi or self.rate < 0 or self.lifetime <= 0:
            raise ValueError(f"an emitter needs speed, rate >= 0, spread in 0..pi and lifetime > 0, got {self}")

    def directions(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Return unit directions spread evenly over the cone, shape (count, 3)."""
        axis = np.array(self.direction, dtype=np.float64)
        axis /= np.linalg.norm(axis)
        side = np.cross(axis, [0.0, 0.0, 1.0] if abs(axis[2]) < 0.9 else [1.0, 0.0, 0.0])
        side /= np.linalg.norm(side)
        # The area of a spherical cap grows evenly with the cosine.
        cosine = 1.0 - rng.random(count) * (1.0 - np.cos(self.spread))
        sine, turn = np.sqrt(1.0 - cosine**2), 2.0 * np.pi * rng.random(count)
        across = np.cos(turn)[:, None] * side + np.sin(turn)[:, None] * np.cross(axis, side)
        found: np.ndarray = cosine[:, None] * axis + sine[:, None] * across
        return found


class Particles:
    """Free particles under gravity that bounce off solids.

    Between contacts a particle flies its exact parabola, whatever the step. A particle that has entered a solid is put
    back on the surface; the speed into it is reversed and reduced by the restitution, the speed along it by Coulomb
    friction, of an impulse of ``1 + restitution`` times the speed into it.

    Args:
        emitters: the nozzles.
        colliders: the solids, with their friction and restitution.
        gravity: acceleration [m/s^2], shape (3,).
        radius: of a particle [m].
        seed: of the directions.

    Raises:
        ValueError: for a radius that is negative or not finite.
    """

    def __init__(
        self,
        emitters: Sequence[Emitter],
        colliders: Sequence[Solid] = (),
        gravity: tuple[float, float, float] = (0.0, -9.81, 0.0),
        radius: float = 0.02,
        seed: int = 0,
    ) -> None:
        if not 0.0 <= radius < np.inf:
            raise ValueError(f"radius must be finite and not negative, got {radius}")
        self.emitters = list(emitters)
        self.colliders = list(colliders)
        self.gravity = np.array(gravity, dtype=np.float64)
        self.radius = radius
        self.time = 0.0
        """[s]"""
        self.positions = np.zeros((0, 3))
        """[m], shape (n, 3), the oldest particles first."""
        self.velocities = np.zeros((0, 3))
        """[m/s], shape (n, 3)."""
        self.ages = np.zeros(0)
        """[s], shape (n,)."""
        self.lifetimes = np.zeros(0)
        """[s], shape (n,)."""
        self._rng = np.random.default_rng(seed)

    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds: fly, leave the nozzles, bounce, vanish."""
        flown = np.full(len(self.ages), dt)
        for emitter in self.emitters:
            flown = np.concatenate([flown, self._emit(emitter, dt)])
        self.time += dt
        self.positions += flown[:, None] * self.velocities + 0.5 * flown[:, None] ** 2 * self.gravity
        self.velocities += flown[:, None] * self.gravity
        self.ages += flown
        for collider in self.colliders:
            self._bounce(collider)
        alive = self.ages < self.lifetimes
        for name in ("positions", "velocities", "ages", "lifetimes"):
            setattr(self, name, getattr(self, name)[alive])

    def _emit(self, emitter: Emitter, dt: float) -> np.ndarray:
        """Add the particles that leave a nozzle in the next ``dt``; return how long each flies within it."""
        # The k-th particle leaves at (k + 1) / rate, wherever steps begin and end.
        before, after = (int(emitter.rate * t * (1.0 + 1e-12)) for t in (self.time, self.time + dt))
        count = after - before
        flown = np.clip(self.time + dt - (before + 1 + np.arange(count)) / max(emitter.rate, 1e-300), 0.0, dt)
        self.positions = np.concatenate([self.positions, np.tile(emitter.position, (count, 1))])
        way = emitter.directions(count, self._rng)
        self.velocities = np.concatenate([self.velocities, emitter.speed * way])
        self.ages = np.concatenate([self.ages, np.zeros(count)])
        self.lifetimes = np.concatenate([self.lifetimes, np.full(count, emitter.lifetime)])
        return flown

    def _bounce(self, collider: Solid) -> None:
        if len(self.positions) == 0:
            return
        distance, normal = collider.signed_distance(self.positions)
        depth = self.radius - distance
        hit = depth > 0
        self.positions[hit] += depth[hit, None] * normal[hit]
        along = (self.velocities * normal).sum(axis=1)
        closing = hit & (along < 0)
        n, speed = normal[closing], along[closing, None]
        slide = self.velocities[closing] - speed * n
        slip = np.linalg.norm(slide, axis=1, keepdims=True)
        impulse = -(1.0 + collider.restitution) * speed
        keep = 1.0 - np.minimum(collider.friction * impulse / np.maximum(slip, 1e-12), 1.0)
        self.velocities[closing] = keep * slide - collider.restitution * speed * n
