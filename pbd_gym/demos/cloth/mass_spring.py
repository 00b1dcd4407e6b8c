"""A hanging cloth of masses and damped springs, integrated with an Euler method: what PBD was invented against.

Forces are found first and steps follow them, so a step that is long for the stiffness makes the cloth explode: press
the right arrow on the time step or the stiffness, and watch the energy. The fastest wave of a sheet of springs k and
masses m, in which every other column moves the other way, has the frequency sqrt(8 k / m); symplectic steps h are
stable while h (h + 2 c / k) is below 4 over its square, with dampers c. The film goes beyond that in its third second.
The explicit method, which moves with the old velocity, gains energy at every step length; only damping holds it.
`cloth` has the same particles and edges and stands any step.

Provot 1995: Deformation constraints in a mass-spring model to describe rigid cloth behavior, Graphics Interface. The
sheet is that of RWTH's physics-simulation tutorial, whose trajectories it reproduces with `--mass 0.5 --damping 10
--stiffness 5000 --time-step 0.005`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pbd_gym.demos.cloth.sheet import SheetOptions
from pbd_gym.demos.cloth.sheet_system import SheetSystemDemo
from pbd_gym.demos.cloth.springs import MassSpring, Method
from pbd_gym.demos.history import History
from pbd_gym.demos.options import Options, option
from pbd_gym.rendering import Frame


@dataclass(frozen=True)
class MassSpringOptions(SheetOptions):
    """Numbers of a mass-spring cloth."""

    time_step: float = option(0.002, "of the integration [s]", low=1e-4, high=0.04)
    stiffness: float = option(1000.0, "of every spring [N/m]", low=0.0, high=1e9)
    damping: float = option(0.3, "of every spring [N s/m]", low=0.0, high=1e3, step=0.05)
    method: str = option("symplectic", "Euler method", choices=("symplectic", "explicit"))


class MassSpringDemo(SheetSystemDemo):
    """The sheet under springs."""

    options_type: ClassVar[type[Options]] = MassSpringOptions
    original = MassSpringOptions(mass=0.5, damping=10.0, stiffness=5000.0, time_step=0.005)
    options: MassSpringOptions

    system: MassSpring

    def reset(self) -> None:
        """Go back to the start, with the options as they are now."""
        super().reset()
        self._as_it_comes = self.options == MassSpringOptions()
        """Whether nobody has asked for other numbers, such as a step that would be overruled."""
        self.history = History("total", "kinetic", "elastic", "gravity")
        self._start = self.system.energies()[2]

    def step(self) -> None:
        """Advance by one frame, and measure the energies."""
        super().step()
        if not self.exploded:
            kinetic, elastic, gravity = self.system.energies()
            lifted = gravity - self._start
            self.history.add(self.time, kinetic + elastic + lifted, kinetic, elastic, lifted)

    @property
    def longest_step(self) -> float:
        """The longest step of the symplectic method that is stable [s]."""
        options = self.options
        if not options.stiffness:
            return float("inf")
        lag = options.damping / options.stiffness
        return float(np.sqrt(lag**2 + 0.5 * options.mass / options.stiffness) - lag)

    def perform(self) -> None:
        """Pull at the sheet; then take longer and longer steps, until it explodes."""
        super().perform()
        if self.time > 2.6 and self._as_it_comes and not self.exploded:
            ratio = 0.9 if self.time < 3.2 else 1.1
            self.change(replace(self.options, time_step=round(ratio * self.longest_step, 4)))

    def readout(self) -> str:
        """Return the time, how far the sheet is stretched, and how long a step may be."""
        steps = f"step {1e3 * self.options.time_step:.1f} ms"
        limit = f", stable below {1e3 * self.longest_step:.1f} ms" if self.options.method == "symplectic" else ""
        return f"{super().readout()}   {steps}{limit}"

    def frame(self, caption: str = "") -> Frame:
        """Return what there is to see, with the energies since the start."""
        return replace(super().frame(caption), panels=[self.history.panel("energy [J]")])

    def make_system(self) -> MassSpring:
        """Return the springs."""
        options = self.options
        method: Method = "explicit" if options.method == "explicit" else "symplectic"
        return MassSpring(
            self.sheet.positions, self.inv_mass.copy(), self.sheet.edges,
            options.stiffness, options.damping, (0.0, options.gravity, 0.0), method,
        )  # fmt: skip
