"""A hanging cloth under position-based dynamics (PBD): the constraints are rigid, and iterations decide how nearly.

Every sweep brings each pair of particles to its distance at once. What that undoes for the neighbours is left over, so
the cloth looks the stiffer, the more iterations or the shorter the time step: its stretch is an error and no material.
That is what the compliance of `cloth` repairs.

Mueller, Heidelberger, Hennix, Ratcliff 2007: Position based dynamics, doi:10.1016/j.jvcir.2007.01.005. The sheet is
that of RWTH's physics-simulation tutorial, whose trajectories it reproduces with `--mass 0.5 --iterations 2`.
"""

from __future__ import annotations

from dataclasses import dataclass

from pbd_gym.demos.cloth.cloth import SheetDemo
from pbd_gym.demos.cloth.sheet import SheetOptions
from pbd_gym.demos.options import option


@dataclass(frozen=True)
class PBDClothOptions(SheetOptions):
    """Numbers of a PBD cloth."""

    time_step: float = option(0.005, "of the solver [s]", low=1e-4, high=0.04)
    iterations: int = option(5, "sweeps over all constraints per step", low=1, high=200)


class PBDClothDemo(SheetDemo):
    """The sheet with rigid constraints."""

    options_type = PBDClothOptions
    original = PBDClothOptions(mass=0.5, iterations=2)

    @property
    def compliance(self) -> float:
        """Inverse stiffness of the constraints [m/N]."""
        return 0.0
