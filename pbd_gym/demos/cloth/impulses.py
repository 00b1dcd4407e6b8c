"""A hanging cloth of rods that impulses keep at their lengths: constraints solved for velocities, one step ahead.

`pbd-cloth` moves positions and takes velocities from them; here velocities are changed so that positions will come out
right, and once more so that nothing moves along a rod. Both need several sweeps, because rods share particles, and both
are the stiffer, the more of them: the stretch that is left is an error and no material.

Bender, Schmitt 2006: Fast dynamic simulation of multi-body systems using impulses, VRIPHYS. The sheet is that of
RWTH's physics-simulation tutorial, whose trajectories it reproduces with `--mass 0.5 --time-step 0.005`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pbd_gym.demos.cloth.impulse_system import ImpulseSystem
from pbd_gym.demos.cloth.sheet import SheetOptions
from pbd_gym.demos.cloth.sheet_system import SheetSystemDemo
from pbd_gym.demos.options import Options, option


@dataclass(frozen=True)
class ImpulseOptions(SheetOptions):
    """Numbers of a cloth of rods."""

    width: int = option(20, "particles along the width", low=2, high=60)
    height: int = option(14, "particles along the height", low=2, high=60)
    time_step: float = option(0.01, "of a step [s]", low=1e-3, high=0.04)
    iterations: int = option(2, "sweeps over all rods per step, for positions and again for velocities", low=1, high=50)


class ImpulsesDemo(SheetSystemDemo):
    """The sheet under impulses."""

    options_type: ClassVar[type[Options]] = ImpulseOptions
    original = ImpulseOptions(mass=0.5, time_step=0.005)
    options: ImpulseOptions

    def make_system(self) -> ImpulseSystem:
        """Return the rods."""
        gravity = (0.0, self.options.gravity, 0.0)
        return ImpulseSystem(
            self.sheet.positions, self.inv_mass.copy(), self.sheet.edges, gravity, self.options.iterations
        )
