"""A hanging cloth of masses and damped springs, integrated with an Euler method: what PBD was invented against.

Forces are found first and steps follow them, so a step that is long for the stiffness makes the cloth explode: press
the right arrow on the time step or the stiffness, and watch the energy. The explicit method, which moves with the old
velocity, gains energy at every step length; only damping holds it. `cloth` has the same particles and edges and stands
any step.

Provot 1995: Deformation constraints in a mass-spring model to describe rigid cloth behavior, Graphics Interface. The
sheet is that of RWTH's physics-simulation tutorial, whose trajectories it reproduces with `--mass 0.5 --damping 10
--stiffness 5000 --time-step 0.005`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

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
        self.history = History("total", "kinetic", "elastic", "gravity")
        self._start = self.system.energies()[2]

    def step(self) -> None:
        """Advance by one frame, and measure the energies."""
        super().step()
        if not self.exploded:
            kinetic, elastic, gravity = self.system.energies()
            lifted = gravity - self._start
            self.history.add(self.time, kinetic + elastic + lifted, kinetic, elastic, lifted)

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
