"""The hanging sheet of masses and damped springs, integrated by the classical Euler methods. NumPy, float64."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.demos.cloth.sheet import RodSystem, SheetOptions, SheetSystemDemo
from pbd_gym.demos.demo import History
from pbd_gym.demos.options import option
from pbd_gym.rendering import Frame
from pbd_gym.rendering.colors import Color

Method = Literal["symplectic", "explicit"]


class MassSpring(RodSystem):
    """Particles joined by springs of energy ``k (|d| - l0)^2 / 2`` with a damper alongside each.

    The force of a spring on its first end is ``-(k (|d| - l0) + c v . n) n`` with ``d = x_i - x_j``, ``n = d / |d|``
    and ``v = v_i - v_j``; the other end gets the opposite. Steps longer than about ``2 / omega`` for the fastest
    oscillation ``omega`` make it explode, the problem that position-based dynamics was invented to solve: Provot 1995,
    Deformation constraints in a mass-spring model, Graphics Interface.

    Args:
        positions, inv_mass, edges, gravity, rest_length: as for :class:`pbd_gym.demos.cloth.sheet.RodSystem`.
        stiffness: k [N/m].
        damping: c [N s/m].
        method: ``"symplectic"`` moves with the new velocity, ``"explicit"`` with the old one.

    Raises:
        ValueError: for a wrong shape, a number that is not finite or negative where it must not be, or an unknown
        method.
    """

    def __init__(
        self,
        positions: ArrayLike,
        inv_mass: ArrayLike,
        edges: ArrayLike,
        stiffness: float,
        damping: float = 0.0,
        gravity: ArrayLike = (0.0, -9.81, 0.0),
        method: Method = "symplectic",
        rest_length: ArrayLike | None = None,
    ) -> None:
        super().__init__(positions, inv_mass, edges, gravity, rest_length)
        if method not in ("symplectic", "explicit"):
            raise ValueError(f"method must be 'symplectic' or 'explicit', got {method!r}")
        if not (0 <= stiffness < np.inf and 0 <= damping < np.inf):
            raise ValueError(f"stiffness and damping must be finite and not negative, got {stiffness} and {damping}")
        self.stiffness, self.damping, self.method = stiffness, damping, method
        self.first, self.second = self.edges.T

    def forces(self) -> np.ndarray:
        """Return the spring force on each particle [N], shape (n, d), without gravity."""
        span = self.positions[self.first] - self.positions[self.second]
        length = np.linalg.norm(span, axis=1)
        direction = span / np.maximum(length, 1e-12)[:, None]
        closing = ((self.velocities[self.first] - self.velocities[self.second]) * direction).sum(axis=1)
        pull = (self.stiffness * (length - self.rest_length) + self.damping * closing)[:, None] * direction
        count = len(self.positions)
        return np.stack(
            [
                np.bincount(self.second, pull[:, axis], count) - np.bincount(self.first, pull[:, axis], count)
                for axis in range(pull.shape[1])
            ],
            axis=1,
        )

    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds. Particles of inverse mass 0 keep their velocity."""
        before = self.velocities
        free = self.inv_mass[:, None] > 0
        self.velocities = before + dt * np.where(free, self.gravity + self.inv_mass[:, None] * self.forces(), 0.0)
        self.positions = self.positions + dt * (before if self.method == "explicit" else self.velocities)

    def energy(self) -> float:
        """Return the total kinetic, elastic and gravitational energy of the free particles [J]."""
        return sum(self.energies())

    def energies(self) -> tuple[float, float, float]:
        """Return kinetic, elastic and gravitational energy of the free particles [J].

        The last is measured from the origin.
        """
        free = self.inv_mass > 0
        mass = 1.0 / self.inv_mass[free]
        kinetic = 0.5 * float(mass @ (self.velocities[free] ** 2).sum(axis=1))
        length = np.linalg.norm(self.positions[self.first] - self.positions[self.second], axis=1)
        elastic = 0.5 * self.stiffness * float(((length - self.rest_length) ** 2).sum())
        return kinetic, elastic, -float(mass @ (self.positions[free] @ self.gravity))


SANE, EXPLODED = 1.0, 4.0
"""Strain of an edge below which the sheet is shown, and above which it has exploded: a pull alone does not reach it."""
BURST: Color = (226, 40, 60)
"""Colour of edges that explode."""


@dataclass(frozen=True)
class MassSpringOptions(SheetOptions):
    """Numbers of a mass-spring cloth."""

    time_step: float = option(0.002, "time step of the integration [s]", low=1e-4, high=0.04)
    stiffness: float = option(1000.0, "stiffness of every spring [N/m]", low=0.0, high=1e9)
    damping: float = option(0.3, "damping of every spring [N s/m]", low=0.0, high=1e3, step=0.05)
    method: str = option("symplectic", "Euler method", choices=("symplectic", "explicit"))


class MassSpringDemo(SheetSystemDemo[MassSpringOptions]):
    """A hanging cloth of masses and damped springs under an Euler method: the problem that PBD was invented to solve.

    The step follows forces computed at its start, so a step too long for the stiffness makes the cloth explode: raise
    the time step or the stiffness with the right arrow, and watch the energy. The fastest wave of a sheet of springs k
    and masses m, in which every other column moves the other way, has the frequency sqrt(8 k / m); symplectic steps h
    are stable while h (h + 2 c / k) is below 4 over its square, with dampers c. The film exceeds that limit in its
    third second. The explicit method, which moves with the old velocity, gains energy at every step length; only
    damping holds it. `cloth` has the same particles and edges and is stable at any step.

    Provot 1995: Deformation constraints in a mass-spring model to describe rigid cloth behavior, Graphics Interface.
    The sheet is that of RWTH's physics-simulation tutorial, whose trajectories it reproduces with `--mass 0.5 --damping
    10 --stiffness 5000 --time-step 0.005`.
    """

    original = MassSpringOptions(mass=0.5, damping=10.0, stiffness=5000.0, time_step=0.005)

    system: MassSpring

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        self._as_it_comes = self.options == MassSpringOptions()
        """Whether all numbers are still the defaults, so that nobody's chosen step is overruled."""
        self.history = History("total", "kinetic", "elastic", "gravity")
        self._start = self.system.energies()[2]
        self.burst: np.ndarray | None = None
        """Edges that exploded, shape (k, 2); None while none have."""
        self._sane = self.system.positions

    @property
    def exploded(self) -> bool:
        """Return whether edges have exploded; the sheet then stays as it was before."""
        return self.burst is not None or super().exploded

    def advance(self) -> None:
        """Do one step of the integration, unless the sheet has exploded."""
        if self.exploded:
            return
        super().advance()
        with np.errstate(over="ignore", invalid="ignore"):
            strain = np.abs(self.stretch())
        most = np.nan_to_num(strain, nan=np.inf).max(initial=0.0)
        if most < SANE:
            self._sane = self.system.positions
        elif not most < EXPLODED:
            self.burst = self.sheet.edges[~(strain < SANE)]
            self.system.positions, self.system.velocities = self._sane, np.zeros_like(self._sane)

    def step(self) -> None:
        """Advance by one frame, and measure the energies."""
        if self.exploded:
            self.let_pass(self.substeps * self.time_step)
            return
        super().step()
        if self._sane is self.system.positions and not self.exploded:
            kinetic, elastic, gravity = self.system.energies()
            lifted = gravity - self._start
            self.history.add(self.time, kinetic + elastic + lifted, kinetic, elastic, lifted)

    @property
    def longest_step(self) -> float:
        """Longest stable step of the symplectic method [s]."""
        options = self.options
        if not options.stiffness:
            return float("inf")
        lag = options.damping / options.stiffness
        return float(np.sqrt(lag**2 + 0.5 * options.mass / options.stiffness) - lag)

    def perform(self) -> None:
        """Pull at the sheet, then lengthen the steps until it explodes."""
        super().perform()
        if self.time > 2.6 and self._as_it_comes and not self.exploded:
            ratio = 0.9 if self.time < 3.2 else 1.1
            self.change(replace(self.options, time_step=round(ratio * self.longest_step, 4)))

    def readout(self) -> str:
        """Return the time, the stretch of the sheet, and the longest stable step."""
        steps = f"step {1e3 * self.options.time_step:.1f} ms"
        limit = f", stable below {1e3 * self.longest_step:.1f} ms" if self.options.method == "symplectic" else ""
        return f"{super().readout()}   {steps}{limit}"

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw, with the change of energies since the start, and edges that explode in red."""
        found = super().frame(caption)
        edges = [] if self.burst is None else [(pair, BURST) for pair in found.positions[self.burst]]
        return replace(
            found, polylines=[*found.polylines, *edges], panels=[self.history.panel("energy since the start [J]")]
        )

    def make_system(self) -> MassSpring:
        """Return the springs."""
        options = self.options
        method: Method = "explicit" if options.method == "explicit" else "symplectic"
        return MassSpring(
            self.sheet.positions, self.inv_mass.copy(), self.sheet.edges,
            options.stiffness, options.damping, (0.0, options.gravity, 0.0), method,
        )  # fmt: skip
