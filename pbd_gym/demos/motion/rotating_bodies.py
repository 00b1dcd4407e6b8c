"""An emitter of bodies that turn: position and angle, velocity and angular velocity, and a lifetime.

A rigid body in the plane has one coordinate more than a particle. Without torque its angular velocity stays, so that
`alpha += dt omega` is exact, while gravity changes its velocity first and the new velocity its position (symplectic
Euler). Bodies are let loose at the emitter, fade with age, and are gone after their lifetime: their number settles at
lifetime times rate. Drag the emitter.

Reeves 1983: Particle systems, a technique for modeling a class of fuzzy objects, doi:10.1145/357318.357320. The numbers
are those of RWTH's physics-simulation tutorial, whose trajectories it reproduces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pbd_gym.demos.options import Options, option
from pbd_gym.demos.plane import PlaneDemo, raised
from pbd_gym.rendering import Coloring, Frame

SIZE = 0.3
"""Side of a square [m]."""
LOW, HIGH = np.array([-5.0, 10.0, -15.0, 0.0]), np.array([5.0, 12.5, 15.0, np.pi])
"""Range of velocity [m/s], angular velocity [rad/s] and angle [rad] at the start."""
LAYER = 1e-4
"""Distance of one square in front of the next [m]: the younger ones are nearer."""


class RotatingBodies:
    """Bodies that an emitter lets loose.

    Args:
        draws: returns that many rows of four numbers from 0 to 1 each: velocity, angular velocity, angle.
        gravity: vertical acceleration [m/s^2].
        lifetime: age after which a body is gone [s].
        emission: bodies per step.
    """

    def __init__(
        self, draws: Callable[[int], np.ndarray], gravity: float = -9.81, lifetime: float = 3.0, emission: int = 5
    ) -> None:
        self.emitter = np.zeros(2)
        """[m], shape (2,)."""
        self.gravity, self.lifetime, self.emission = gravity, lifetime, emission
        self._draws = draws
        self.positions, self.velocities = np.zeros((0, 2)), np.zeros((0, 2))
        """[m], [m/s], shape (n, 2), the oldest first."""
        self.angles, self.spins, self.ages = np.zeros(0), np.zeros(0), np.zeros(0)
        """[rad], [rad/s], [s], shape (n,)."""

    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds: remove the old, emit, fly. What is new flies at once, at age 0."""
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
    lifetime: float = option(3.0, "how long a body is there [s]", low=0.1, high=10.0, step=0.25)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-50.0, high=50.0, step=1.0)
    time_step: float = option(0.005, "of a step [s]", low=0.001, high=0.04)
    seed: int = option(0, "of the velocities", low=0, high=10**6)


class RotatingBodiesDemo(PlaneDemo):
    """Squares that spray upwards."""

    options_type = BodyOptions
    limits: ClassVar[tuple[tuple[float, float], tuple[float, float]]] = ((-12.0, -12.0), (12.0, 12.0))
    max_pull = 0.6
    options: BodyOptions

    def reset(self) -> None:
        """Go back to the start, with the options as they are now."""
        super().reset()
        options, rng = self.options, np.random.default_rng(self.options.seed)
        self.bodies = RotatingBodies(
            lambda count: rng.random((count, 4)), options.gravity, options.lifetime, options.emission
        )

    def start(self) -> np.ndarray:
        """Return where the emitter is at first [m], shape (1, 2)."""
        return np.zeros((1, 2))

    def change(self, options: Options) -> None:
        """Go on with other numbers; bodies that are in the air stay there."""
        assert isinstance(options, BodyOptions)
        before, self.options = self.options, options
        if before.seed != options.seed:
            self.reset()
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
        self.handles[0, 0] = 4.0 * np.sin(1.2 * self.time)

    def frame(self, caption: str = "") -> Frame:
        """Return what there is to see: squares by their age."""
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

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of what is shown at first [m], shape (3,) each."""
        return np.array([-12.0, -12.0, -0.1]), np.array([12.0, 9.0, 0.1])

    def readout(self) -> str:
        """Return the time and how many bodies there are."""
        return f"{super().readout()}   {len(self.bodies.ages)} bodies"
