"""Integrators side by side: springs and pendulums, a throw, and a damped spring."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.demos.demo import Demo, History, clear_box
from pbd_gym.demos.motion.integration import INTEGRATORS, METHODS, DampedSpring, Pendulum, Spring, System
from pbd_gym.demos.options import Options, option
from pbd_gym.demos.plane import PlaneDemo, raised
from pbd_gym.rendering import PALETTE, Frame
from pbd_gym.rendering.pictures.charts import dashes

NAMES = ("exact", *METHODS)
SHORT = tuple(name.removesuffix(" Euler") for name in NAMES)
APART = 1.45
"""Distance between the systems [m]."""
ROD = 0.8
"""Drawn length of a pendulum [m]."""
BOB = 0.12
"""Radius of a mass [m]."""
CLEARANCE = 0.3
"""Smallest distance of a mass below its spring's hook [m]."""


@dataclass(frozen=True)
class IntegratorOptions(Options):
    """Numbers of the comparison."""

    system: str = option("spring", "moving system", choices=("spring", "pendulum"))
    time_step: float = option(0.04, "time step of every integrator [s]", low=1e-3, high=0.5)
    omega: float = option(4.0, "angular frequency (of small swings) [rad/s]", low=0.1, high=50.0)
    start: float = option(0.8, "displacement at the start [m, or rad for a pendulum]", low=0.01, high=3.0, step=0.1)


class IntegratorsDemo(Demo[IntegratorOptions]):
    """Four integrators and the exact motion side by side, on a spring or a pendulum, with their energies.

    Explicit Euler gains energy until it flies apart; implicit Euler loses it and comes to rest; symplectic Euler, at
    the same cost as explicit, keeps it within bounds; RK2 is more accurate by an order, and still gains a little.
    Lengthen the time step and see which of them remain stable. Position-based dynamics belongs to the family of
    implicit Euler.

    Hairer, Lubich, Wanner 2006: Geometric numerical integration, doi:10.1007/3-540-30666-8, chapter I.
    """

    flat = True

    def reset(self) -> None:
        """Restart with the current options."""
        options = self.options
        super().reset()
        self.steps = 0
        self.system: System = Spring(options.omega) if options.system == "spring" else Pendulum(options.omega)
        self.states = {name: (options.start, 0.0) for name in METHODS}
        """Position and velocity by method."""
        self.motion, self.energy = History(*SHORT), History(*SHORT)
        self._measure()

    def step(self) -> None:
        """Advance by one frame: the whole steps that end within it."""
        h = self.options.time_step
        frame = round(self.time * self.fps) + 1
        count = int(frame / self.fps / h + 1e-9) - self.steps
        with np.errstate(over="ignore", invalid="ignore"):  # divergence is meant to be seen here
            for _ in range(count):
                self.states = {name: METHODS[name](self.system, *state, h) for name, state in self.states.items()}
        self.steps += count
        self.time = frame / self.fps
        self._measure()

    def _measure(self) -> None:
        x0 = self.options.start
        all_states = [self.system.exact(x0, self.time), *self.states.values()]
        start = self.system.energy(x0, 0.0)
        self.motion.add(self.time, *(x for x, _ in all_states))
        self.energy.add(self.time, *(self.system.energy(x, v) / start for x, v in all_states))

    @property
    def rest_length(self) -> float:
        """Drawn rest length of a spring [m], at which the exact motion stays below the hook."""
        return max(1.0, self.options.start + CLEARANCE)

    def mass_positions(self) -> np.ndarray:
        """Return the drawn places of the masses [m], shape (5, 3); the exact one is first.

        A mass that would fly past its spring's hook is drawn just below it, and the panel shows how far it went.
        """
        x = np.array([self.system.exact(self.options.start, self.time)[0], *(x for x, _ in self.states.values())])
        if self.options.system == "spring":
            y = np.clip(x, -20.0, self.rest_length - CLEARANCE) - self.rest_length
            return _hooks() + np.stack([np.zeros_like(x), y, np.zeros_like(x)], axis=1)
        return _hooks() + ROD * np.stack([np.sin(x), -np.cos(x), np.zeros_like(x)], axis=1)

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw."""
        masses, hooks = self.mass_positions(), _hooks()
        spring = self.options.system == "spring"
        links = [_coil(*ends) if spring else np.array(ends) for ends in zip(hooks, masses, strict=True)]
        ceiling = hooks[[0, -1]] + np.array([[-0.4, 0.0, 0.0], [0.4, 0.0, 0.0]])
        above = 0.25 if spring else ROD + BOB + 0.2  # where no mass gets
        names = [(hook + np.array([0.0, above, 0.0]), name) for hook, name in zip(hooks, SHORT, strict=True)]
        bound = (1.5 if spring else 2.0) * self.options.start
        return Frame(
            masses,
            colors=np.array(PALETTE[: len(NAMES)]),
            line_radius=BOB,
            polylines=[(line, (90, 98, 118)) for line in [ceiling, *links]],
            labels=names,
            panels=[
                self.motion.panel("position [m]" if spring else "angle [rad]", (-bound, bound)),
                self.energy.panel("relative energy", (0.0, 2.0)),
            ],
            caption=caption,
        )

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the initial view [m], shape (3,) each."""
        reach = self.rest_length + self.options.start if self.options.system == "spring" else ROD
        above = 0.5 if self.options.system == "spring" else ROD + BOB + 0.5
        return clear_box((-3.1, -max(reach + BOB, 1.8), -0.1), (3.1, above, 0.1))

    def readout(self) -> str:
        """Return the time and the change of each energy since the start."""
        start = self.system.energy(self.options.start, 0.0)
        ratios = [self.system.energy(*state) / start for state in self.states.values()]
        words = [f"{name} {ratio:.3g}" for name, ratio in zip(SHORT[1:], ratios, strict=True)]
        return f"{super().readout()}   energy: {', '.join(words)}"


def _hooks() -> np.ndarray:
    """Return the places of the systems' hooks [m], shape (5, 3)."""
    across = APART * (np.arange(len(NAMES)) - 0.5 * (len(NAMES) - 1))
    return np.stack([across, np.zeros(len(NAMES)), np.zeros(len(NAMES))], axis=1)


def _coil(hook: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return the zigzag of a spring between two points [m], shape (18, 3)."""
    side = np.zeros((18, 3))
    side[2:-2, 0] = 0.09 * np.resize([1.0, -1.0], 14)
    zigzag: np.ndarray = hook + np.linspace(0.0, 1.0, 18)[:, None] * (mass - hook) + side
    return zigzag


THROWN = ("explicit Euler", "symplectic Euler", "RK2")
DASH = 0.05
"""Length of a dash [m]."""
ARROW = 0.25
"""Time whose displacement a velocity arrow shows [s]."""
DARK = (30, 34, 60)


@dataclass(frozen=True)
class Falling(System):
    """One coordinate under constant acceleration; unlike other systems it does not start at rest."""

    constant: float
    """Acceleration [m/s^2]."""
    speed: float
    """Initial speed [m/s]."""

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

    time_step: float = option(0.05, "time step of every integrator [s]", low=0.005, high=0.5)
    flight: float = option(1.0, "duration of the flight [s]", low=0.1, high=3.0, step=0.1)
    mass: float = option(1.0, "mass of the particle [kg]", low=0.01, high=100.0)
    force_x: float = option(0.0, "constant force to the right [N]", low=-50.0, high=50.0, step=1.0)
    force_y: float = option(-9.81, "constant force upwards [N]", low=-50.0, high=50.0, step=1.0)


class ThrowDemo(PlaneDemo[ThrowOptions]):
    """A thrown particle: three integrators beside the exact parabola, under a constant force.

    Under a constant acceleration a, n steps of length h lead to `x0 + n h v0 + c h^2 a`. The exact value is c = n^2/2.
    Explicit Euler moves with the velocity before the step, c = n(n-1)/2, and flies too high; symplectic Euler moves
    with the one after it, c = n(n+1)/2, and flies too low. Both are off by `h t a / 2`, which halves with h. RK2, the
    midpoint rule, is exact here, and so is the average of the other two. Drag the ball at the tip of the arrow to
    change the throw.

    Hairer, Norsett, Wanner 1993: Solving ordinary differential equations I, doi:10.1007/978-3-540-78862-1, chapter II.
    """

    limits = ((-3.0, -3.0), (3.0, 3.0))
    rebuilt = ()

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        self.adapt()

    def start(self) -> np.ndarray:
        """Return the initial tip of the arrow [m], shape (1, 2): a velocity of (1, 4.5) m/s."""
        return ARROW * np.array([[1.0, 4.5]])

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the initial view [m], shape (3,) each."""
        return clear_box((-0.35, -0.4, -0.1), (1.75, 1.25, 0.1))

    def adapt(self) -> None:
        """Throw again in the same direction."""
        options = self.options
        forces = (options.force_x, options.force_y)
        speeds = (self.handles[0] / ARROW).tolist()
        self.axes = [Falling(force / options.mass, speed) for force, speed in zip(forces, speeds, strict=True)]
        """Motion along x and along y."""
        self.time = 0.0
        count = int(options.flight / options.time_step + 1e-9)
        self.tracks = {name: self._track(name, count) for name in THROWN}
        """Positions after each step by method [m], shape (count + 1, 2)."""
        self.errors = History(*THROWN)
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
        """Return the particle's exact places at times [s], shape (k, 2)."""
        return np.array([[axis.exact(0.0, t)[0] for axis in self.axes] for t in np.atleast_1d(time).tolist()])

    @property
    def steps(self) -> int:
        """Return the number of steps taken."""
        return min(int(self.time / self.options.time_step + 1e-9), len(self.tracks["RK2"]) - 1)

    def step(self) -> None:
        """Advance by one frame; a new velocity throws again."""
        before = self.handles[0].copy()
        super().step()
        if (self.handles[0] != before).any():
            self.adapt()
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
            self.adapt()

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw."""
        now = min(self.time, self.options.flight)
        times = np.linspace(0.0, now, 100)
        lines = [(raised(self.exact(times)), DARK), (raised(np.array([[0.0, 0.0], self.handles[0]])), (140, 150, 170))]
        balls = [self.handles[0], self.exact(now)[0]]
        for name, color in zip(THROWN, PALETTE, strict=False):
            track = self.tracks[name][: self.steps + 1]
            # RK2 is exact here: dashed, it leaves the exact parabola to be seen.
            parts = dashes(track, 1, DASH) if name == "RK2" and len(track) > 1 else [track]
            lines += [(raised(part), color) for part in parts]
            balls.append(track[-1])
        colors = [(150, 176, 206), DARK, *PALETTE[: len(THROWN)]]
        return Frame(
            raised(np.array(balls)), colors=np.array(colors), line_radius=0.035, polylines=lines,
            labels=[(np.array([*self.handles[0] + [0.0, 0.12], 0.0]), "velocity"), *self._names(balls[2:], now)],
            panels=[self.errors.panel("distance from the exact motion [m]")], caption=caption,
        )  # fmt: skip

    def _names(self, places: list[np.ndarray], now: float) -> list[tuple[np.ndarray, str]]:
        """Return the names of the methods beside their particles, unless these are too close together."""
        gaps = np.linalg.norm(places[0] - places[1]), np.linalg.norm(places[2] - places[1])
        if now < 0.3 or min(gaps) < 0.08:
            return []
        words = [name.removesuffix(" Euler") for name in THROWN]
        words[2] = "exact and RK2"
        return [
            (raised(place[None] + [0.1 + 0.024 * len(word), 0.0])[0], word)
            for place, word in zip(places, words, strict=True)
        ]

    def readout(self) -> str:
        """Return the time and each method's distance from the exact motion."""
        truth = self.exact(self.steps * self.options.time_step)[0]
        off = {name: np.linalg.norm(track[self.steps] - truth) for name, track in self.tracks.items()}
        words = [f"{name.removesuffix(' Euler')} {distance:.2g}" for name, distance in off.items()]
        return f"{super().readout()}   off by: {', '.join(words)} m"


LOST = 1e4
"""Distance beyond which a particle is no longer integrated [m]."""
SIDEWAYS = 4.0
"""Speed of the throw [m/s]."""


@dataclass(frozen=True)
class SpringOptions(Options):
    """Numbers of the spring."""

    integrator: str = option("all", "integrator to show", choices=("all", *INTEGRATORS))
    stiffness: float = option(5.0, "k [N/m]", low=0.0, high=1e4)
    rest_length: float = option(4.0, "rest length of the spring [m]", low=0.0, high=6.0, step=0.5)
    damping: float = option(0.0, "damping of the damper [N s/m]", low=0.0, high=50.0, step=0.05)
    mass: float = option(0.5, "mass of the particle [kg]", low=0.01, high=100.0)
    time_step: float = option(0.01, "time step of every integrator [s]", low=1e-3, high=0.5)


class SpringDamperDemo(PlaneDemo[SpringOptions]):
    """A particle on a spring with a damper, by four integrators: where energy goes, and where it should not.

    Without damping the sum of kinetic and potential energy should stay constant. Explicit Euler adds energy until the
    spring breaks; implicit Euler damps on its own, and more so with longer steps; symplectic Euler and RK2 stay close.
    With damping all lose energy, and they differ only in accuracy. Drag a particle aside, give it a swing, or press `t`
    to throw all of them sideways: the spring then turns and stretches at once.

    Baraff, Witkin 1998: Large steps in cloth simulation, doi:10.1145/280814.280821. The start is that of RWTH's
    physics-simulation tutorial, whose trajectories it reproduces.
    """

    deeds = (("t", "throw them sideways", "throw"),)
    limits = ((-8.0, -8.0), (8.0, 8.0))
    rebuilt = ("integrator",)
    max_pull = 0.5

    def reset(self) -> None:
        """Restart with the current options."""
        options = self.options
        self.names = list(INTEGRATORS) if options.integrator == "all" else [options.integrator]
        super().reset()
        self.adapt()
        self.velocities = np.zeros_like(self.handles)
        """[m/s], shape (n, 2)."""
        self.history = History(*(self.names if len(self.names) > 1 else ("total", "kinetic", "potential")))
        self._measure()

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the initial view [m], shape (3,) each."""
        return clear_box((-7.2, -4.0, -0.1), (7.2, 5.0, 0.1))

    @property
    def spring(self) -> DampedSpring:
        """Return the spring that all particles share."""
        options = self.options
        return DampedSpring(options.stiffness, options.rest_length, options.damping, options.mass)

    def start(self) -> np.ndarray:
        """Return the initial places of the particles [m], shape (n, 2)."""
        return np.tile([6.0, 0.0], (len(self.names), 1))

    def adapt(self) -> None:
        """Recompute the number of steps taken, as if all had had the new length."""
        self.steps = int(self.time / self.options.time_step + 1e-9)

    @property
    def exploded(self) -> bool:
        """Return whether a particle has diverged."""
        return not np.isfinite(self.handles).all()

    def throw(self) -> None:
        """Give every particle a velocity across its spring."""
        self.velocities = self.velocities + np.array([0.0, SIDEWAYS])

    def step(self) -> None:
        """Advance by one frame: the whole steps that end within it; the held particle follows the hand."""
        h, pull = self.options.time_step, self._pull[:2]
        super().step()
        count = int(self.time / h + 1e-9) - self.steps
        self.steps += count
        with np.errstate(all="ignore"):  # divergence is meant to be seen here
            for k, name in enumerate(self.names):
                if k == self.held:
                    self.velocities[k] = pull * self.fps
                    continue
                state = (self.handles[k], self.velocities[k])
                for _ in range(count):
                    if np.abs(state[0]).max() < LOST:
                        state = INTEGRATORS[name](self.spring, *state, h)
                self.handles[k], self.velocities[k] = state
        self._measure()

    def energies(self) -> np.ndarray:
        """Return kinetic and potential energy of each [J], shape (n, 2)."""
        return np.array([self.spring.energies(x, v) for x, v in zip(self.handles, self.velocities, strict=True)])

    def _measure(self) -> None:
        found = self.energies()
        self.history.add(self.time, *(found.sum(axis=1) if len(found) > 1 else (found.sum(), *found[0])))

    def perform(self) -> None:
        """Throw the particles after a while."""
        if round(self.time * self.fps) == 2 * self.fps:
            self.throw()

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw."""
        colors = [PALETTE[list(INTEGRATORS).index(name)] for name in self.names]
        lines = [(coil(place), color) for place, color in zip(self.handles, colors, strict=True)]
        names = [
            (np.array([place[0], place[1] + 0.5, 0.0]), name)
            for place, name in zip(self.handles, self.names, strict=True)
        ]
        return Frame(
            raised(np.concatenate([self.handles, np.zeros((1, 2))])), colors=np.array([*colors, (90, 98, 118)]),
            line_radius=0.22, polylines=lines, labels=names if self._apart() else [],
            panels=[self.history.panel("total energy [J]" if len(self.names) > 1 else "energy [J]")], caption=caption,
        )  # fmt: skip

    def _apart(self) -> bool:
        """Return whether labels would not overlap."""
        gaps = np.linalg.norm(self.handles[:, None] - self.handles, axis=2) + 9.0 * np.eye(len(self.names))
        return bool(gaps.min() > 0.8)

    def readout(self) -> str:
        """Return the time and each energy."""
        total = self.energies().sum(axis=1)
        words = [f"{name} {energy:.4g}" for name, energy in zip(self.names, total, strict=True)]
        return f"{super().readout()}   energy: {', '.join(words)} J"


def coil(end: np.ndarray) -> np.ndarray:
    """Return the zigzag of a spring from the origin to a point [m], shape (34, 3)."""
    length = max(float(np.linalg.norm(end)), 1e-9)
    across = 0.18 * np.array([-end[1], end[0]]) / length
    side = np.zeros(34)
    side[2:-2] = np.resize([1.0, -1.0], 30)
    return raised(np.linspace(0.0, 1.0, 34)[:, None] * end + side[:, None] * across)
