"""A hanging cloth of masses and damped springs, integrated with an Euler method: what PBD was invented against.

Forces are found first and steps follow them, so a step that is long for the stiffness makes the cloth explode: press
the right arrow on the time step or the stiffness. The explicit method, which moves with the old velocity, gains energy
at every step length; only damping holds it. `cloth` has the same particles and edges and stands any step.

Provot 1995: Deformation constraints in a mass-spring model to describe rigid cloth behavior, Graphics Interface. The
sheet is that of RWTH's physics-simulation tutorial, whose trajectories it reproduces with `--mass 0.5 --damping 10
--stiffness 5000 --time-step 0.005`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pbd_gym.demos.options import Options, option
from pbd_gym.demos.sheet import HangingSheet, SheetOptions, sheet
from pbd_gym.demos.springs import MassSpring, Method
from pbd_gym.render import Frame, Picker


@dataclass(frozen=True)
class MassSpringOptions(SheetOptions):
    """Numbers of a mass-spring cloth."""

    time_step: float = option(0.002, "of the integration [s]", low=1e-4, high=0.04)
    stiffness: float = option(1000.0, "of every spring [N/m]", low=0.0, high=1e9)
    damping: float = option(0.3, "of every spring [N s/m]", low=0.0, high=1e3, step=0.05)
    method: str = option("symplectic", "Euler method", choices=("symplectic", "explicit"))


class MassSpringDemo(HangingSheet):
    """The sheet under springs."""

    options_type: ClassVar[type[Options]] = MassSpringOptions
    options: MassSpringOptions

    def reset(self) -> None:
        """Go back to the start, with the options as they are now."""
        self.time = 0.0
        self.held = None
        self._load()

    def _load(self) -> None:
        options = self.options
        self.sheet = sheet(options)
        self.inv_mass = np.full(len(self.sheet.positions), 1.0 / options.mass)
        self.inv_mass[self.sheet.fixed] = 0.0
        gravity = (0.0, options.gravity, 0.0)
        method: Method = "explicit" if options.method == "explicit" else "symplectic"
        self.system = MassSpring(
            self.sheet.positions, self.inv_mass.copy(), self.sheet.edges,
            options.stiffness, options.damping, gravity, method,
        )  # fmt: skip
        self.substeps = max(1, round(1.0 / self.fps / options.time_step))
        self._pull = np.zeros(3)

    def change(self, options: Options) -> None:
        """Go on with other options from where the particles are, if they are still the same particles."""
        assert isinstance(options, MassSpringOptions)
        before, self.options = self.options, options
        if self.exploded or any(getattr(before, n) != getattr(options, n) for n in ("width", "height", "fixed")):
            self.reset()
            return
        positions, velocities = self.system.positions, self.system.velocities
        self._load()
        self.system.positions, self.system.velocities = positions, velocities

    def step(self) -> None:
        """Advance by one frame; what is held follows the hand in as many equal steps."""
        dt = self.options.time_step
        hand = self._pull / self.substeps
        with np.errstate(over="ignore", invalid="ignore"):  # an explosion is something to be seen here
            for _ in range(self.substeps):
                if self.held is not None:
                    self.system.positions[self.held] += hand
                    self.system.velocities[self.held] = hand / dt
                self.system.step(dt)
        self._pull = np.zeros(3)
        self.time += self.substeps * dt

    @property
    def exploded(self) -> bool:
        """Whether positions have gone beyond all bounds."""
        return not bool((np.abs(self.system.positions) < 1e3).all())

    def positions(self) -> np.ndarray:
        """Return the particles [m], shape (n, 3)."""
        return self.system.positions.copy()

    def hold(self, particle: int | None) -> None:
        """Put a particle into the hand; None opens the hand."""
        self.held = particle
        self.system.inv_mass = self.inv_mass.copy()
        self.system.velocities[self.inv_mass == 0] = 0.0
        if particle is not None:
            self.system.inv_mass[particle] = 0.0

    def move(self, pull: np.ndarray) -> None:
        """Move the hand by ``pull`` [m], shape (3,), during the next step."""
        self._pull = pull

    def readout(self) -> str:
        """Return the time and how far the springs are stretched."""
        return "exploded: press r to start again" if self.exploded else super().readout()

    def frame(self, caption: str = "") -> Frame:
        """Return what there is to see."""
        here = self.positions()
        hand = [] if self.held is None or self.exploded else [Picker(here[self.held], 0.1, True)]
        return Frame(
            here, self.sheet.triangles, pinned=np.flatnonzero(self.inv_mass == 0), pickers=hand, caption=caption
        )
