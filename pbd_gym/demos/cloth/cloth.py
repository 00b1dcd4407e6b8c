"""A hanging cloth under extended position-based dynamics (XPBD), which a person drags with the mouse.

Distance constraints along rows, columns and diagonals are solved one after the other (Gauss-Seidel). Each has a
compliance, the inverse of its stiffness. Given enough iterations to converge, further ones or shorter steps change the
stretch no more; the stiffness does. Compare with `pbd-cloth`, whose stiffness comes from the iteration count, and with
`mass-spring`, which explodes where the time step is too long. `--wind 8` lets the wind blow at it
(:mod:`pbd_gym.kernels.air_drag`).

Macklin, Mueller, Chentanez 2016: XPBD, doi:10.1145/2994258.2994272. The sheet is that of RWTH's
physics-simulation tutorial, whose trajectories it reproduces with `--mass 0.5 --time-step 0.01`.
"""

from __future__ import annotations

from dataclasses import dataclass

from pbd_gym.demos.cloth.sheet import HangingSheet, SheetOptions, sheet
from pbd_gym.demos.options import option
from pbd_gym.demos.scene_demo import SceneDemo
from pbd_gym.scene.scene import Scene


@dataclass(frozen=True)
class ClothOptions(SheetOptions):
    """Numbers of an XPBD cloth."""

    time_step: float = option(0.005, "of the solver [s]", low=1e-4, high=0.04)
    iterations: int = option(5, "sweeps over all constraints per step", low=1, high=200)
    stiffness: float = option(1000.0, "of every constraint [N/m]; 0 makes it rigid", low=0.0, high=1e9)
    wind: float = option(0.0, "speed of the air towards the eye [m/s]; without any there is no air", low=0.0, high=30.0)


class SheetDemo(HangingSheet, SceneDemo):
    """A hanging sheet of distance constraints, solved in the order in which they were added."""

    order = "given"
    rebuilt = ("width", "height", "fixed")

    @property
    def compliance(self) -> float:
        """Inverse stiffness of the constraints [m/N]."""
        raise NotImplementedError

    def measures(self) -> str:
        """Return further lines of measured numbers, for a window."""
        return "" if self.diverged else self.live.readout(stretch=False)

    def build(self) -> Scene:
        """Return the scene, with one grip for the hand."""
        options = self.options
        scene = Scene(gravity=(0.0, options.gravity, 0.0), grip_count=1)
        self.sheet = sheet(options)
        scene.add_particles(self.sheet.positions, options.mass)
        scene.add_distance_constraints(self.sheet.edges, self.compliance)
        scene.pin(self.sheet.fixed)
        scene.triangles = self.sheet.triangles
        scene.add_air_drag(scene.triangles)
        return scene


class ClothDemo(SheetDemo):
    """The sheet with compliant constraints."""

    options_type = ClothOptions
    options: ClothOptions

    def _load(self, scene: Scene) -> None:
        super()._load(scene)
        if self.options.wind > 0.0:
            self.control.set_wind((0.0, 0.0, self.options.wind))

    @property
    def compliance(self) -> float:
        """Inverse stiffness of the constraints [m/N]; the tutorial takes a stiffness of 0 for a rigid constraint."""
        return 1.0 / self.options.stiffness if self.options.stiffness > 0 else 0.0
