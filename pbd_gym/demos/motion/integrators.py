"""Four integrators and the exact motion side by side, on a spring or a pendulum, with their energies.

Explicit Euler gains energy until it flies apart; implicit Euler loses it and comes to rest; symplectic Euler, at the
same cost as explicit, keeps it within bounds; RK2 is more exact by an order, and still gains a little. Make the time
step longer and see which of them stand it. Position-based dynamics is in the family of implicit Euler.

Hairer, Lubich, Wanner 2006: Geometric numerical integration, doi:10.1007/3-540-30666-8, chapter I.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.demos.demo import Demo
from pbd_gym.demos.history import History
from pbd_gym.demos.motion.integration import METHODS, Pendulum, Spring, System
from pbd_gym.demos.options import Options, option
from pbd_gym.rendering import PALETTE, Frame

NAMES = ("exact", *METHODS)
SHORT = tuple(name.removesuffix(" Euler") for name in NAMES)
APART = 1.45
"""Distance of the systems [m]."""
ROD = 0.8
"""Length of a pendulum as it is drawn [m]."""
BOB = 0.12
"""Radius of a mass [m]."""
CLEARANCE = 0.3
"""How far below its hook a mass on a spring stays [m]."""


@dataclass(frozen=True)
class IntegratorOptions(Options):
    """Numbers of the comparison."""

    system: str = option("spring", "what moves", choices=("spring", "pendulum"))
    time_step: float = option(0.04, "of every integrator [s]", low=1e-3, high=0.5)
    omega: float = option(4.0, "angular frequency (of small swings) [rad/s]", low=0.1, high=50.0)
    start: float = option(0.8, "where it is let go [m, or rad for a pendulum]", low=0.01, high=3.0, step=0.1)


class IntegratorsDemo(Demo):
    """Springs or pendulums in a row; the left one moves exactly."""

    options_type = IntegratorOptions
    flat = True
    options: IntegratorOptions

    def reset(self) -> None:
        """Go back to the start, with the options as they are now."""
        options = self.options
        self.time = 0.0
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
        with np.errstate(over="ignore", invalid="ignore"):  # what flies apart is something to be seen here
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
        """Length of a spring at rest as it is drawn [m]: the exact motion stays below the hook."""
        return max(1.0, self.options.start + CLEARANCE)

    def mass_positions(self) -> np.ndarray:
        """Return where the masses are drawn [m], shape (5, 3); the exact one is first.

        A mass on a spring that would fly past its hook is drawn just below it, and the panel shows how far it went.
        """
        x = np.array([self.system.exact(self.options.start, self.time)[0], *(x for x, _ in self.states.values())])
        if self.options.system == "spring":
            y = np.clip(x, -20.0, self.rest_length - CLEARANCE) - self.rest_length
            return _hooks() + np.stack([np.zeros_like(x), y, np.zeros_like(x)], axis=1)
        return _hooks() + ROD * np.stack([np.sin(x), -np.cos(x), np.zeros_like(x)], axis=1)

    def frame(self, caption: str = "") -> Frame:
        """Return what there is to see."""
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
        """Lower and upper corner of what is shown at first [m], shape (3,) each."""
        reach = self.rest_length + self.options.start if self.options.system == "spring" else ROD
        top, bottom = 2.0, reach + BOB
        # Panels cover the lowest third.
        return np.array([-3.4, -max(4.2, (top + bottom) / 0.67 - top), -0.1]), np.array([3.4, top, 0.1])

    def readout(self) -> str:
        """Return the time and each energy relative to the start."""
        start = self.system.energy(self.options.start, 0.0)
        ratios = [self.system.energy(*state) / start for state in self.states.values()]
        words = [f"{name} {ratio:.3g}" for name, ratio in zip(SHORT[1:], ratios, strict=True)]
        return f"{super().readout()}   energy: {', '.join(words)}"


def _hooks() -> np.ndarray:
    """Return where the systems hang [m], shape (5, 3)."""
    across = APART * (np.arange(len(NAMES)) - 0.5 * (len(NAMES) - 1))
    return np.stack([across, np.zeros(len(NAMES)), np.zeros(len(NAMES))], axis=1)


def _coil(hook: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return the zigzag of a spring between two points [m], shape (18, 3)."""
    side = np.zeros((18, 3))
    side[2:-2, 0] = 0.09 * np.resize([1.0, -1.0], 14)
    zigzag: np.ndarray = hook + np.linspace(0.0, 1.0, 18)[:, None] * (mass - hook) + side
    return zigzag
