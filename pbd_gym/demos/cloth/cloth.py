"""The hanging sheet in the engine: compliant constraints (XPBD) and rigid ones (PBD), and how iterations converge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pbd_gym.colliders import Plane
from pbd_gym.demos.cloth.sheet import AnySheet, HangingSheet, SheetOptions, sheet
from pbd_gym.demos.options import option, switch
from pbd_gym.demos.scene_demo import SceneDemo
from pbd_gym.rendering import PALETTE, Curve, Frame, Panel
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State

COUNTS = (2, 4, 8, 16, 32, 64, 128)
"""Iteration counts that are tried; from two on all share one kernel."""
CONVERGED = 512
"""Number of Gauss-Seidel iterations after which a step counts as converged."""


def left_over(solver: Solver, state: State, time_step: float) -> np.ndarray:
    """Return how far a step with each number of iterations is from the converged one, to which all methods lead.

    Args:
        solver: solver with the method to measure.
        state: state at the beginning of the step, left unchanged.
        time_step: time step [s].

    Returns:
        Largest distance of a particle of the first environment, for each of :data:`COUNTS` [m], shape (7,).
    """
    model, saved = solver.model, state.save()

    def reached(trial: Solver, iterations: int) -> np.ndarray:
        trial.set_steps(iterations=iterations)
        copy = trial.state()
        copy.load(saved)
        trial.step(copy, trial.control(), time_step)
        found: np.ndarray = copy.get_positions()[0].astype(np.float64)
        return found

    chosen = Solver(
        model, 1, damping=solver.damping, method=solver.method, relaxation=solver.relaxation,
        chebyshev=solver.chebyshev, threads=1, compensate=False, quiet=True,
    )  # fmt: skip
    end = reached(Solver(model, 1, damping=solver.damping, threads=1), CONVERGED)  # all methods lead there
    return np.array([np.linalg.norm(reached(chosen, count) - end, axis=1).max() for count in COUNTS])


EVERY = 5
"""Number of frames between two measurements of convergence."""
LEAST = 1e-9
"""Smallest distance drawn; smaller ones are drawn as this [m]."""
GUSTS = 3.0
"""Time between gusts [s]."""
THICKNESS = 0.03
"""Distance of two layers of the cloth [m]; the sheet is as large as a sail."""
FRICTION = 0.4
"""Friction of the cloth on itself and on the ground."""


@dataclass(frozen=True)
class ClothOptions(SheetOptions):
    """Numbers of an XPBD cloth."""

    mass: float = option(0.01, "mass of each particle [kg]", low=1e-3, high=1e3)
    time_step: float = option(0.0025, "time step of the solver [s]", low=1e-4, high=0.04)
    iterations: int = option(5, "sweeps over all constraints per step", low=1, high=200)
    stiffness: float = option(10000.0, "stiffness of every constraint [N/m]; 0 makes it rigid", low=0.0, high=1e9)
    method: str = option("gauss-seidel", "type of sweep", choices=("gauss-seidel", "symmetric", "jacobi"))
    chebyshev: float = option(0.0, "chebyshev by which sweeps are extrapolated", low=0.0, high=0.99, step=0.1)
    convergence: str = switch(False, "whether a curve shows the remaining error of the iterations")
    wind: float = option(2.5, "speed of gusts towards the eye [m/s]; 0 for no air", low=0.0, high=30.0, step=0.5)
    surface: str = switch(True, "whether there is ground, and the cloth lies on it and on itself")


class SheetDemo(HangingSheet[AnySheet], SceneDemo[AnySheet]):
    """A hanging sheet of distance constraints, solved in the order in which they were added."""

    order = "given"
    rebuilt: ClassVar[tuple[str, ...]] = ("columns", "rows", "fixed")

    @property
    def compliance(self) -> float:
        """Inverse stiffness of the constraints [m/N]."""
        raise NotImplementedError

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw."""
        return self.dressed(super().frame(caption))

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


class ClothDemo(SheetDemo[ClothOptions]):
    """A cloth under extended position-based dynamics (XPBD) that hangs in the wind and is dragged with the mouse.

    Distance constraints along rows, columns and diagonals are solved one after the other (Gauss-Seidel). Each has a
    compliance, the inverse of its stiffness. Given enough iterations to converge, the stretch depends on the stiffness
    and no longer on iterations or step length. Compare with `pbd-cloth`, whose stiffness comes from the iteration
    count, and with `mass-spring`, which explodes where the time step is too long. The sheet weighs 0.25 kg/m^2, as bed
    linen does, gusts move it (:mod:`pbd_gym.kernels.motion.air_drag`), and it lies down on the ground and on itself:
    press `c` to release its corners.

    Choose another solver, and switch `convergence` on to see how far each number of iterations is from the converged
    result: simultaneous corrections (Jacobi) need many more iterations than successive ones (Gauss-Seidel), and
    Chebyshev extrapolation makes up for it, until its parameter, an estimate of the spectral radius, is too large.

    Macklin, Mueller, Chentanez 2016: XPBD, doi:10.1145/2994258.2994272; Wang 2015: A Chebyshev semi-iterative approach
    for accelerating projective and position-based dynamics, doi:10.1145/2816795.2818063. The sheet is that of RWTH's
    physics-simulation tutorial. With `--mass 0.5 --time-step 0.01 --stiffness 1000 --wind 0 --surface off`, or after
    the key `o`, it moves as it does there.
    """

    deeds = (("c", "let go of the corners", "let_go"),)
    original = ClothOptions(mass=0.5, time_step=0.01, stiffness=1000.0, wind=0.0, surface="off")
    rebuilt = ("columns", "rows", "fixed", "surface")

    def build(self) -> Scene:
        """Return the scene, with one grip for the hand."""
        scene = super().build()
        if self.options.surface == "on":
            scene.add_collider(Plane(offset=1.2 * float(self.sheet.positions[:, 1].min()), friction=FRICTION))
            scene.add_surface_contacts(scene.triangles, THICKNESS, FRICTION)
        return scene

    def _load(self, scene: Scene) -> None:
        super()._load(scene)
        if self.options.wind > 0.0:
            self.control.set_wind((0.0, 0.0, self.options.wind))

    def let_go(self) -> None:
        """Release all corners."""
        self.state.set_pinned(np.zeros(len(self.sheet.positions), bool))

    def perform(self) -> None:
        """Pull at a lower corner, then release one upper corner and then the other."""
        super().perform()
        pinned = self.state.get_pinned()[0]
        for particle, moment in zip(self.sheet.fixed, (4.0, 5.0, 5.5, 6.0), strict=False):
            pinned[particle] &= self.time < moment
        self.state.set_pinned(pinned)

    @property
    def compliance(self) -> float:
        """Inverse stiffness of the constraints [m/N]; in the tutorial a stiffness of 0 means rigid."""
        return 1.0 / self.options.stiffness if self.options.stiffness > 0 else 0.0

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        self.errors: np.ndarray | None = None
        """Distances from the converged step [m], shape (7,), once they have been measured."""

    def step(self) -> None:
        """Advance by one frame; every fifth time, measure the remaining error of each iteration count."""
        if self.options.convergence == "off" or self.diverged:
            self.errors = None
        elif round(self.time * self.fps) % EVERY == 0:
            self.errors = left_over(self.solver, self.state, self.live.ctrl_dt / self.solver.substeps)
        if self.options.wind > 0.0:
            self.control.set_wind((0.0, 0.0, self.options.wind * np.sin(np.pi * self.time / GUSTS) ** 2))
        super().step()

    def drawn(self) -> dict[str, Any]:
        """Return further fields of the frame, with the curve."""
        if self.errors is None:
            return super().drawn()
        counts = np.log2(np.array(COUNTS, np.float64))
        curve = Curve(self.options.method, counts, np.log10(np.maximum(self.errors, LEAST)), PALETTE[0])
        title = "log10 of the distance from the converged step [m]"
        return super().drawn() | {"panels": [Panel(title, [curve], x_label="log2 of iterations")]}


@dataclass(frozen=True)
class PBDClothOptions(SheetOptions):
    """Numbers of a PBD cloth."""

    time_step: float = option(0.005, "time step of the solver [s]", low=1e-4, high=0.04)
    iterations: int = option(5, "sweeps over all constraints per step", low=1, high=200)


class PBDClothDemo(SheetDemo[PBDClothOptions]):
    """A hanging cloth under position-based dynamics (PBD).

    Constraints are rigid, and the iteration count decides how rigid they look.

    Every sweep brings each pair of particles to its distance at once. This disturbs the neighbours, so the cloth looks
    stiffer with more iterations or a shorter time step: its stretch is an error, not a material. The compliance of
    `cloth` repairs that.

    Mueller, Heidelberger, Hennix, Ratcliff 2007: Position based dynamics, doi:10.1016/j.jvcir.2007.01.005. The sheet is
    that of RWTH's physics-simulation tutorial, whose trajectories it reproduces with `--mass 0.5 --iterations 2`.
    """

    original = PBDClothOptions(mass=0.5, iterations=2)

    @property
    def compliance(self) -> float:
        """Inverse stiffness of the constraints [m/N]."""
        return 0.0
