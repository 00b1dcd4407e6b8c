"""Emitters of particles and of rotating bodies, each with a lifetime. NumPy, float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pbd_gym.colliders import Plane, Solid, Sphere
from pbd_gym.demos.demo import Demo
from pbd_gym.demos.options import Options, option
from pbd_gym.demos.plane import PlaneDemo, raised
from pbd_gym.rendering import Coloring, Frame, Picker


@dataclass(frozen=True)
class Emitter:
    """A nozzle.

    Raises:
        ValueError: for a number out of its range.
    """

    position: tuple[float, float, float]
    """[m]"""
    direction: tuple[float, float, float]
    """Direction of the jet, of any length."""
    speed: float
    """Speed at which particles leave [m/s]."""
    spread: float
    """Half angle of the cone that the jet fills evenly [rad]."""
    rate: float
    """Particles per second."""
    lifetime: float
    """Lifetime of a particle [s]."""

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
    back on its surface. The normal speed is reversed and scaled by the restitution; the tangential speed is reduced by
    Coulomb friction for an impulse of ``1 + restitution`` times the normal speed.

    Args:
        emitters: the nozzles.
        colliders: the solids, with their friction and restitution.
        gravity: acceleration [m/s^2], shape (3,).
        radius: radius of a particle [m].
        seed: seed of the directions.

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
        """Add the particles that leave a nozzle in the next ``dt``; return each one's flight time within it."""
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


BALL = Sphere((0.0, 0.4, 0.0), 0.35, friction=0.1)
FLOOR = Plane(friction=0.3)
SUBSTEPS = 4
SHADES = 12
"""Number of colours between young and old; sprites are cached per colour."""
YOUNG, OLD = np.array([40, 130, 220]), np.array([226, 236, 246])


@dataclass(frozen=True)
class FountainOptions(Options):
    """Numbers of the fountain."""

    emitters: int = option(2, "nozzles", low=1, high=6)
    rate: float = option(120.0, "particles per second of each nozzle", low=0.0, high=1000.0)
    speed: float = option(5.0, "speed at which they leave [m/s]", low=0.0, high=20.0, step=0.5)
    spread: float = option(8.0, "half angle of the jet [degrees]", low=0.0, high=90.0, step=2.0)
    lifetime: float = option(2.5, "lifetime of a particle [s]", low=0.1, high=10.0, step=0.25)
    restitution: float = option(0.45, "share of the speed that a bounce gives back", low=0.0, high=1.0, step=0.05)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-50.0, high=50.0, step=1.0)


class FountainDemo(Demo[FountainOptions]):
    """A fountain: emitters spray particles that fly, bounce off a ball and the floor, and vanish after their lifetime.

    A particle system is the simplest simulation there is: no particle knows another. Its parts are emitters (rate,
    speed, spread), a law of motion (a parabola here, exact at any frame rate), contacts (restitution and friction) and
    lifetimes. Colour shows age. The count settles at rate times lifetime. Drag the nozzles.

    Reeves 1983: Particle systems, a technique for modeling a class of fuzzy objects, doi:10.1145/357318.357320.
    """

    box = ((-1.3, 0.0, -1.0), (1.3, 1.6, 1.0))
    rebuilt = ()

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        options = self.options
        self.places = self._ring()
        """Places of the nozzles [m], shape (n, 3)."""
        self.particles = Particles(self._nozzles(), self._solids(), (0.0, options.gravity, 0.0), radius=0.02)

    def _ring(self) -> np.ndarray:
        turns = np.pi + 2.0 * np.pi * np.arange(self.options.emitters) / self.options.emitters
        return np.stack([0.9 * np.cos(turns), np.full_like(turns, 0.05), 0.9 * np.sin(turns)], axis=1)

    def _nozzles(self) -> list[Emitter]:
        options = self.options
        found = []
        for x, y, z in self.places.tolist():
            found.append(
                Emitter(
                    (x, y, z), (-0.24 * x, 1.0, -0.24 * z),
                    options.speed, float(np.radians(options.spread)), options.rate, options.lifetime,
                )
            )  # fmt: skip
        return found

    def _solids(self) -> list[Solid]:
        return [replace(solid, restitution=self.options.restitution) for solid in (BALL, FLOOR)]

    def adapt(self) -> None:
        """Apply changed options; particles in the air stay there."""
        options = self.options
        if len(self.places) != options.emitters:
            self.places, self.held = self._ring(), None
        self.particles.emitters = self._nozzles()
        self.particles.gravity = np.array([0.0, options.gravity, 0.0])
        self.particles.colliders = self._solids()

    def step(self) -> None:
        """Advance by one frame; a dragged nozzle follows the hand above the floor and tilts towards the ball."""
        if self.held is not None:
            self.places[self.held] += self._pull
            self.places[self.held, 1] = max(self.places[self.held, 1], 0.0)
            self.particles.emitters = self._nozzles()
        for _ in range(SUBSTEPS):
            self.particles.step(1.0 / self.fps / SUBSTEPS)
        self.let_pass(1.0 / self.fps)

    def positions(self) -> np.ndarray:
        """Return the nozzles, which the mouse can take [m], shape (n, 3)."""
        return self.places.copy()

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw."""
        age = np.floor(SHADES * self.particles.ages / self.particles.lifetimes) / SHADES
        colors = np.round(YOUNG + age[:, None] * (OLD - YOUNG)).astype(np.int64)
        return Frame(
            self.particles.positions,
            colors=colors,
            line_radius=self.particles.radius,
            pickers=[Picker(place, 0.04, k == self.held) for k, place in enumerate(self.places)],
            planes=[(FLOOR.normal, FLOOR.offset)],
            spheres=[(BALL.center, BALL.radius)],
            caption=caption,
        )

    def readout(self) -> str:
        """Return the time and the number of particles."""
        return f"{super().readout()}   {len(self.particles.ages)} particles"


SIZE = 0.3
"""Side of a square [m]."""
LOW, HIGH = np.array([-5.0, 10.0, -15.0, 0.0]), np.array([5.0, 12.5, 15.0, np.pi])
"""Range of velocity [m/s], angular velocity [rad/s] and angle [rad] at emission."""
LAYER = 1e-4
"""Distance between successive squares in depth [m]: younger ones are nearer."""


class RotatingBodies:
    """Bodies released by an emitter.

    Args:
        draws: function of a count that returns that many rows of four numbers from 0 to 1 each: velocity, angular
            velocity, angle.
        gravity: vertical acceleration [m/s^2].
        lifetime: age after which a body is gone [s].
        emission: bodies per step.
    """

    def __init__(
        self, draws: Callable[[int], np.ndarray], gravity: float = -9.81, lifetime: float = 3.0, emission: int = 5
    ) -> None:
        self.emitter = np.zeros(2)
        """Place of the emitter [m], shape (2,)."""
        self.gravity, self.lifetime, self.emission = gravity, lifetime, emission
        self._draws = draws
        self.positions, self.velocities = np.zeros((0, 2)), np.zeros((0, 2))
        """[m], [m/s], shape (n, 2), the oldest first."""
        self.angles, self.spins, self.ages = np.zeros(0), np.zeros(0), np.zeros(0)
        """[rad], [rad/s], [s], shape (n,)."""

    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds: remove the old, emit, fly. New bodies fly in the same step, at age 0."""
        kept = self.ages + dt <= self.lifetime
        new = LOW + (HIGH - LOW) * self._draws(self.emission)
        places = np.tile(self.emitter, (self.emission, 1))
        self.velocities = np.concatenate([self.velocities[kept], new[:, :2]]) + np.array([0.0, dt * self.gravity])
        self.positions = np.concatenate([self.positions[kept], places]) + dt * self.velocities
        self.spins = np.concatenate([self.spins[kept], new[:, 2]])
        self.angles = np.concatenate([self.angles[kept], new[:, 3]]) + dt * self.spins
        self.ages = np.concatenate([self.ages[kept] + dt, np.zeros(self.emission)])

    def corners(self) -> np.ndarray:
        """Return the corners of the squares, counter-clockwise [m], shape (n, 4, 2)."""
        turn = self.angles[:, None] + 0.25 * np.pi * np.array([1.0, 3.0, 5.0, 7.0])
        way = np.stack([np.cos(turn), np.sin(turn)], axis=2)
        found: np.ndarray = self.positions[:, None] + SIZE / np.sqrt(2.0) * way
        return found


@dataclass(frozen=True)
class BodyOptions(Options):
    """Numbers of the emitter."""

    emission: int = option(2, "bodies per step", low=0, high=20)
    lifetime: float = option(3.0, "lifetime of a body [s]", low=0.1, high=10.0, step=0.25)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-50.0, high=50.0, step=1.0)
    time_step: float = option(0.005, "time step [s]", low=0.001, high=0.04)
    seed: int = option(0, "seed of the velocities", low=0, high=10**6)


class RotatingBodiesDemo(PlaneDemo[BodyOptions]):
    """An emitter of rotating bodies: position and angle, velocity and angular velocity, and a lifetime.

    A rigid body in the plane has one coordinate more than a particle. Without torque its angular velocity is constant,
    so `alpha += dt omega` is exact, while gravity changes its velocity first and the new velocity its position
    (symplectic Euler). Bodies are released at the emitter, fade with age, and vanish after their lifetime: their number
    settles at lifetime times rate. Drag the emitter.

    Reeves 1983: Particle systems, a technique for modeling a class of fuzzy objects, doi:10.1145/357318.357320. The
    numbers are those of RWTH's physics-simulation tutorial, whose trajectories it reproduces.
    """

    box = ((-15.0, -14.0, -0.1), (15.0, 10.5, 0.1))
    limits = ((-12.0, -12.0), (12.0, 12.0))
    rebuilt = ("seed",)
    max_pull = 0.6

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        options, rng = self.options, np.random.default_rng(self.options.seed)
        self.bodies = RotatingBodies(
            lambda count: rng.random((count, 4)), options.gravity, options.lifetime, options.emission
        )

    def start(self) -> np.ndarray:
        """Return the initial place of the emitter [m], shape (1, 2)."""
        return np.zeros((1, 2))

    def adapt(self) -> None:
        """Apply changed numbers; bodies in the air stay there."""
        options = self.options
        self.bodies.emission, self.bodies.gravity = options.emission, options.gravity
        self.bodies.lifetime = options.lifetime

    def step(self) -> None:
        """Advance by one frame."""
        super().step()
        self.bodies.emitter = self.handles[0].copy()
        for _ in range(max(1, round(1.0 / self.fps / self.options.time_step))):
            self.bodies.step(self.options.time_step)

    def perform(self) -> None:
        """Move the emitter to and fro."""
        self.handles[0, 0] = 2.0 * np.sin(1.2 * self.time)

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw: squares coloured by age."""
        count = len(self.bodies.ages)
        corners = raised(self.bodies.corners().reshape(-1, 2))
        corners[:, 2] = LAYER * np.repeat(np.arange(count), 4)
        first = 4 * np.arange(count)[:, None]
        triangles = np.concatenate([first + np.array(half) for half in ([0, 1, 2], [0, 2, 3])])
        ages = np.repeat(self.bodies.ages, 4)
        return Frame(
            np.concatenate([self.positions(), corners]), triangles=1 + triangles, line_radius=0.25,
            coloring=Coloring("age [s]", np.concatenate([[0.0], ages]), 0.0, self.bodies.lifetime), caption=caption,
        )  # fmt: skip

    def readout(self) -> str:
        """Return the time and the number of bodies."""
        return f"{super().readout()}   {len(self.bodies.ages)} bodies"
