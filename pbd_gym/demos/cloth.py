"""A hanging cloth under extended position-based dynamics (XPBD), which a person drags with the mouse.

Distance constraints along rows, columns and diagonals are solved one after the other (Gauss-Seidel). Each has a
compliance, the inverse of its stiffness. Given enough iterations to converge, further ones or shorter steps change the
stretch no more; the stiffness does. Compare with `pbd-cloth`, whose stiffness comes from the iteration count, and with
`mass-spring`, which explodes where the time step is too long.

Macklin, Mueller, Chentanez 2016: XPBD, doi:10.1145/2994258.2994272. The sheet is that of RWTH's
physics-simulation tutorial, whose trajectories it reproduces with `--mass 0.5 --time-step 0.01`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.demos.options import option
from pbd_gym.demos.scene_demo import SceneDemo
from pbd_gym.demos.sheet import SPACING, SheetOptions, lower_corner, sheet, swing
from pbd_gym.scene import Scene


@dataclass(frozen=True)
class ClothOptions(SheetOptions):
    """Numbers of an XPBD cloth."""

    time_step: float = option(0.005, "of the solver [s]", low=1e-4, high=0.04)
    iterations: int = option(5, "sweeps over all constraints per step", low=1, high=200)
    stiffness: float = option(1000.0, "of every constraint [N/m]; 0 makes it rigid", low=0.0, high=1e9)


class SheetDemo(SceneDemo):
    """A hanging sheet of distance constraints, solved in the order in which they were added."""

    order = "given"
    rebuilt = ("width", "height", "fixed")
    max_pull = 2.0 * SPACING
    options: SheetOptions

    @property
    def compliance(self) -> float:
        """Inverse stiffness of the constraints [m/N]."""
        raise NotImplementedError

    def build(self) -> Scene:
        """Return the scene, with one grip for the hand."""
        options = self.options
        scene = Scene(gravity=(0.0, options.gravity, 0.0), grip_count=1)
        self.sheet = sheet(options)
        scene.add_particles(self.sheet.positions, options.mass)
        scene.add_distance_constraints(self.sheet.edges, self.compliance)
        scene.pin(self.sheet.fixed)
        scene.triangles = self.sheet.triangles
        return scene

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of what is shown at first [m], shape (3,) each: with room for the cloth to stretch."""
        lower, upper = super().view_box
        return lower - np.array([0.0, 0.35 * np.ptp(self.scene.positions[:, 1]), 0.0]), upper

    def perform(self) -> None:
        """Lift a lower corner after one second, and let go of it a second and a half later."""
        if 1.0 <= self.time < 2.5:
            particle = lower_corner(self.options)
            self.drag(particle, swing(self.sheet.positions, particle, self.time - 1.0))
        elif self.held is not None:
            self.hold(None)

    def stretch(self) -> np.ndarray:
        """Return the strain of every constraint, shape (m,)."""
        here, rest = self.positions(), self.sheet.positions
        first, second = self.sheet.edges.T
        length = np.linalg.norm(here[first] - here[second], axis=1)
        strain: np.ndarray = length / np.linalg.norm(rest[first] - rest[second], axis=1) - 1.0
        return strain

    def readout(self) -> str:
        """Return the time and how far the cloth is stretched."""
        strain = self.stretch()
        return f"{super().readout()}   stretch: mean {100 * strain.mean():.1f} %, largest {100 * strain.max():.1f} %"


class ClothDemo(SheetDemo):
    """The sheet with compliant constraints."""

    options_type = ClothOptions
    options: ClothOptions

    @property
    def compliance(self) -> float:
        """Inverse stiffness of the constraints [m/N]; the tutorial takes a stiffness of 0 for a rigid constraint."""
        return 1.0 / self.options.stiffness if self.options.stiffness > 0 else 0.0
