"""A thrown particle: three integrators beside the exact parabola, under a constant force.

Under a constant acceleration a, n steps of length h lead to `x0 + n h v0 + c h^2 a`. Exact is c = n^2/2. Explicit
Euler moves with the velocity before the step, c = n(n-1)/2, and flies too high; symplectic Euler with the one after
it, c = n(n+1)/2, and too low; both are off by half a step's worth, `h t a / 2`, which halves with h. RK2, the midpoint
rule, is exact here, and so is the average of the other two. Drag the ball at the tip of the arrow to throw otherwise.

Hairer, Norsett, Wanner 1993: Solving ordinary differential equations I, doi:10.1007/978-3-540-78862-1, chapter II.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pbd_gym.demos.history import History
from pbd_gym.demos.motion.integration import METHODS, System
from pbd_gym.demos.options import Options, option
from pbd_gym.demos.plane import PlaneDemo, raised
from pbd_gym.rendering import PALETTE, Frame

NAMES = ("explicit Euler", "symplectic Euler", "RK2")
ARROW = 0.25
"""How long a velocity is drawn [s]."""
DARK = (30, 34, 60)


@dataclass(frozen=True)
class Falling(System):
    """One coordinate under a constant acceleration; unlike other systems it does not start at rest."""

    constant: float
    """[m/s^2]"""
    speed: float
    """At the start [m/s]."""

    def acceleration(self, x: float) -> float:
        """Return a(x)."""
        return self.constant

    def slope(self, x: float) -> float:
        """Return da/dx."""
        return 0.0

    def energy(self, x: float, v: float) -> float:
        """Return ``v^2 / 2 - a x``."""
        return 0.5 * v**2 - self.constant * x

    def exact(self, x0: float, time: float) -> tuple[float, float]:
        """Return ``x0 + v0 t + a t^2 / 2`` and its rate."""
        return x0 + self.speed * time + 0.5 * self.constant * time**2, self.speed + self.constant * time


@dataclass(frozen=True)
class ThrowOptions(Options):
    """Numbers of the throw; its velocity is the arrow."""

    time_step: float = option(0.05, "of every integrator [s]", low=0.005, high=0.5)
    flight: float = option(1.0, "how long it flies [s]", low=0.1, high=3.0, step=0.1)
    mass: float = option(1.0, "of the particle [kg]", low=0.01, high=100.0)
    force_x: float = option(0.0, "constant force to the right [N]", low=-50.0, high=50.0, step=1.0)
    force_y: float = option(-9.81, "constant force upwards [N]", low=-50.0, high=50.0, step=1.0)


class ThrowDemo(PlaneDemo):
    """Four particles that leave the origin together."""

    options_type = ThrowOptions
    limits: ClassVar[tuple[tuple[float, float], tuple[float, float]]] = ((-3.0, -3.0), (3.0, 3.0))
    options: ThrowOptions

    def reset(self) -> None:
        """Go back to the start, with the options as they are now."""
        super().reset()
        self._throw()

    def start(self) -> np.ndarray:
        """Return where the tip of the arrow is at first [m], shape (1, 2): a velocity of (1, 4.5) m/s."""
        return ARROW * np.array([[1.0, 4.5]])

    def change(self, options: Options) -> None:
        """Throw again in the same direction, with other options."""
        assert isinstance(options, ThrowOptions)
        self.options = options
        self._throw()

    def _throw(self) -> None:
        options = self.options
        forces = (options.force_x, options.force_y)
        speeds = (self.handles[0] / ARROW).tolist()
        self.axes = [Falling(force / options.mass, speed) for force, speed in zip(forces, speeds, strict=True)]
        """The motion along x and along y."""
        self.time = 0.0
        count = int(options.flight / options.time_step + 1e-9)
        self.tracks = {name: self._track(name, count) for name in NAMES}
        """Positions after each step by method [m], shape (count + 1, 2)."""
        self.errors = History(*NAMES)
        self._measure()

    def _track(self, name: str, count: int) -> np.ndarray:
        columns = []
        for axis in self.axes:
            x, v, column = 0.0, axis.speed, [0.0]
            for _ in range(count):
                x, v = METHODS[name](axis, x, v, self.options.time_step)
                column.append(x)
            columns.append(column)
        return np.array(columns).T

    def exact(self, time: np.ndarray | float) -> np.ndarray:
        """Return where the particle really is at times [s], shape (k, 2)."""
        return np.array([[axis.exact(0.0, t)[0] for axis in self.axes] for t in np.atleast_1d(time).tolist()])

    @property
    def steps(self) -> int:
        """Return how many steps have been taken."""
        return min(int(self.time / self.options.time_step + 1e-9), len(self.tracks["RK2"]) - 1)

    def step(self) -> None:
        """Advance by one frame; a new velocity throws again."""
        before = self.handles[0].copy()
        super().step()
        if (self.handles[0] != before).any():
            self._throw()
        self._measure()

    def _measure(self) -> None:
        if self.time > self.options.flight:
            return
        truth = self.exact(self.steps * self.options.time_step)
        self.errors.add(
            self.time, *(float(np.linalg.norm(track[self.steps] - truth)) for track in self.tracks.values())
        )

    def perform(self) -> None:
        """Throw again, elsewhere, after a while."""
        if self.time > self.options.flight + 0.6:
            self.handles[0] = ARROW * np.array([1.6, 4.2])
            self._throw()

    def frame(self, caption: str = "") -> Frame:
        """Return what there is to see."""
        now = min(self.time, self.options.flight)
        times = np.linspace(0.0, now, 100)
        lines = [(raised(self.exact(times)), DARK), (raised(np.array([[0.0, 0.0], self.handles[0]])), (140, 150, 170))]
        balls = [self.handles[0], self.exact(now)[0]]
        for name, color in zip(NAMES, PALETTE, strict=False):
            track = self.tracks[name][: self.steps + 1]
            lines.append((raised(track), color))
            balls.append(track[-1])
        colors = [(150, 176, 206), DARK, *PALETTE[: len(NAMES)]]
        return Frame(
            raised(np.array(balls)), colors=np.array(colors), line_radius=0.035, polylines=lines,
            labels=[(np.array([*self.handles[0] + [0.0, 0.12], 0.0]), "velocity")],
            panels=[self.errors.panel("distance from the exact motion [m]")], caption=caption,
        )  # fmt: skip

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of what is shown at first [m], shape (3,) each."""
        return np.array([-0.8, -2.5, -0.1]), np.array([1.9, 1.7, 0.1])

    def readout(self) -> str:
        """Return the time and how far each is from the exact motion."""
        truth = self.exact(self.steps * self.options.time_step)[0]
        off = {name: np.linalg.norm(track[self.steps] - truth) for name, track in self.tracks.items()}
        words = [f"{name.removesuffix(' Euler')} {distance:.2g}" for name, distance in off.items()]
        return f"{super().readout()}   off by: {', '.join(words)} m"
