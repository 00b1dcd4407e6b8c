"""A fountain: emitters spray particles that fly, bounce off a ball and the floor, and vanish when their time is up.

A particle system is the simplest simulation there is: no particle knows another. Its parts are emitters (rate, speed,
spread), a law of motion (a parabola here, exact at any frame rate), contacts (restitution and friction) and lifetimes.
Colour shows age. The count settles at rate times lifetime. Drag the nozzles.

Reeves 1983: Particle systems, a technique for modeling a class of fuzzy objects, doi:10.1145/357318.357320.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pbd_gym.colliders import Plane, Solid, Sphere
from pbd_gym.demos.demo import Demo
from pbd_gym.demos.motion.emitters import Emitter, Particles
from pbd_gym.demos.options import Options, option
from pbd_gym.rendering import Frame, Picker

BALL = Sphere((0.0, 0.4, 0.0), 0.35, friction=0.1)
FLOOR = Plane(friction=0.3)
SUBSTEPS = 4
SHADES = 12
"""Colours between young and old; sprites are kept per colour."""
YOUNG, OLD = np.array([40, 130, 220]), np.array([226, 236, 246])


@dataclass(frozen=True)
class FountainOptions(Options):
    """Numbers of the fountain."""

    emitters: int = option(2, "nozzles", low=1, high=6)
    rate: float = option(120.0, "particles per second of each nozzle", low=0.0, high=1000.0)
    speed: float = option(5.0, "at which they leave [m/s]", low=0.0, high=20.0, step=0.5)
    spread: float = option(8.0, "half angle of the jet [degrees]", low=0.0, high=90.0, step=2.0)
    lifetime: float = option(2.5, "how long a particle is there [s]", low=0.1, high=10.0, step=0.25)
    restitution: float = option(0.45, "share of the speed that a bounce gives back", low=0.0, high=1.0, step=0.05)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-50.0, high=50.0, step=1.0)


class FountainDemo(Demo):
    """Nozzles in a ring that lean inwards, a ball and a floor."""

    options_type = FountainOptions
    options: FountainOptions

    def reset(self) -> None:
        """Go back to the start, with the options as they are now."""
        self.time = 0.0
        self.held = None
        options = self.options
        self.places = self._ring()
        """Of the nozzles [m], shape (n, 3)."""
        self._pull = np.zeros(3)
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

    def change(self, options: Options) -> None:
        """Go on with other options; particles that are in the air stay there."""
        assert isinstance(options, FountainOptions)
        self.options = options
        if len(self.places) != options.emitters:
            self.places, self.held = self._ring(), None
        self.particles.emitters = self._nozzles()
        self.particles.gravity = np.array([0.0, options.gravity, 0.0])
        self.particles.colliders = self._solids()

    def step(self) -> None:
        """Advance by one frame; a nozzle goes where the hand goes, above the floor, and leans to the ball."""
        if self.held is not None:
            self.places[self.held] += self._pull
            self.places[self.held, 1] = max(self.places[self.held, 1], 0.0)
            self.particles.emitters = self._nozzles()
        self._pull = np.zeros(3)
        for _ in range(SUBSTEPS):
            self.particles.step(1.0 / self.fps / SUBSTEPS)
        self.time += 1.0 / self.fps

    def positions(self) -> np.ndarray:
        """Return the nozzles, which the mouse can take [m], shape (n, 3)."""
        return self.places.copy()

    def move(self, pull: np.ndarray) -> None:
        """Move the hand by ``pull`` [m], shape (3,), during the next step."""
        self._pull = pull

    def frame(self, caption: str = "") -> Frame:
        """Return what there is to see."""
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

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of what is shown at first [m], shape (3,) each."""
        return np.array([-1.3, 0.0, -1.0]), np.array([1.3, 1.6, 1.0])

    def readout(self) -> str:
        """Return the time and how many particles there are."""
        return f"{super().readout()}   {len(self.particles.ages)} particles"
