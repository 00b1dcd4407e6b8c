"""A particle on a spring with a damper, by four integrators: where energy goes, and where it should not.

Without damping the sum of kinetic and potential energy should stay as it is. Explicit Euler feeds the spring until it
breaks; implicit Euler damps by itself, the more, the longer the step; symplectic Euler and RK2 stay near. With damping
all lose energy, and what was a difference of character becomes one of accuracy. Drag a particle aside, give it a swing,
or press `t` to throw all of them sideways: the spring then turns and stretches at once.

Baraff, Witkin 1998: Large steps in cloth simulation, doi:10.1145/280814.280821. The start is that of RWTH's
physics-simulation tutorial, whose trajectories it reproduces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pbd_gym.demos.history import History
from pbd_gym.demos.motion.damped_spring import INTEGRATORS, DampedSpring
from pbd_gym.demos.options import Options, option
from pbd_gym.demos.plane import PlaneDemo, raised
from pbd_gym.rendering import PALETTE, Frame

LOST = 1e4
"""Nothing farther away than this is integrated any more [m]."""
SIDEWAYS = 4.0
"""Speed of the throw [m/s]."""


@dataclass(frozen=True)
class SpringOptions(Options):
    """Numbers of the spring."""

    integrator: str = option("all", "which of them", choices=("all", *INTEGRATORS))
    stiffness: float = option(5.0, "k [N/m]", low=0.0, high=1e4)
    rest_length: float = option(4.0, "of the spring [m]", low=0.0, high=6.0, step=0.5)
    damping: float = option(0.0, "of the damper [N s/m]", low=0.0, high=50.0, step=0.05)
    mass: float = option(0.5, "of the particle [kg]", low=0.01, high=100.0)
    time_step: float = option(0.01, "of every integrator [s]", low=1e-3, high=0.5)


class SpringDamperDemo(PlaneDemo):
    """Springs from one hook, each with its own integrator."""

    options_type = SpringOptions
    limits: ClassVar[tuple[tuple[float, float], tuple[float, float]]] = ((-8.0, -8.0), (8.0, 8.0))
    max_pull = 0.5
    options: SpringOptions

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        self.keys = {"t": ("throw them sideways", self.throw)}

    def reset(self) -> None:
        """Go back to the start, with the options as they are now."""
        options = self.options
        self.names = list(INTEGRATORS) if options.integrator == "all" else [options.integrator]
        super().reset()
        self.steps = 0
        self.velocities = np.zeros_like(self.handles)
        """[m/s], shape (n, 2)."""
        self.history = History(*(self.names if len(self.names) > 1 else ("total", "kinetic", "potential")))
        self._measure()

    @property
    def spring(self) -> DampedSpring:
        """Return the spring that all have."""
        options = self.options
        return DampedSpring(options.stiffness, options.rest_length, options.damping, options.mass)

    def start(self) -> np.ndarray:
        """Return where the particles are at first [m], shape (n, 2)."""
        return np.tile([6.0, 0.0], (len(self.names), 1))

    def change(self, options: Options) -> None:
        """Go on with other numbers; with another integrator start again."""
        assert isinstance(options, SpringOptions)
        before, self.options = self.options, options
        if before.integrator != options.integrator or not np.isfinite(self.handles).all():
            self.reset()
        self.steps = int(self.time / options.time_step + 1e-9)

    def throw(self) -> None:
        """Give every particle a velocity across its spring."""
        self.velocities = self.velocities + np.array([0.0, SIDEWAYS])

    def step(self) -> None:
        """Advance by one frame: the whole steps that end within it; what is held moves with the hand."""
        h, pull = self.options.time_step, self._pull
        super().step()
        count = int(self.time / h + 1e-9) - self.steps
        self.steps += count
        with np.errstate(all="ignore"):  # what flies apart is something to be seen here
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
        """Throw them after a while."""
        if round(self.time * self.fps) == 2 * self.fps:
            self.throw()

    def frame(self, caption: str = "") -> Frame:
        """Return what there is to see."""
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
        """Return whether labels would not lie upon each other."""
        gaps = np.linalg.norm(self.handles[:, None] - self.handles, axis=2) + 9.0 * np.eye(len(self.names))
        return bool(gaps.min() > 0.8)

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of what is shown at first [m], shape (3,) each."""
        return np.array([-8.0, -12.5, -0.1]), np.array([8.0, 7.0, 0.1])

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
