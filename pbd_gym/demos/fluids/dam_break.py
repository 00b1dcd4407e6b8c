"""A column of water in the corner of a tank with a post."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.colliders import Box, Plane
from pbd_gym.demos.options import Options, option
from pbd_gym.demos.scene_demo import SceneDemo
from pbd_gym.materials.fluids import FluidMaterial
from pbd_gym.scene.scene import Scene

SPACING = 0.05
TANK = (1.6, 0.6)
"""Length and depth of the tank [m]."""
POST = Box((1.1, 0.3, 0.3), (0.08, 0.3, 0.08), friction=0.1)


@dataclass(frozen=True)
class DamBreakOptions(Options):
    """Numbers of the dam break."""

    columns: int = option(10, "particles along the column", low=1, high=20)
    rows: int = option(14, "particles up the column", low=1, high=40)
    viscosity: float = option(1e-3, "viscosity of the fluid [Pa s]: water 0.001, honey 10", low=0.0, high=1e4)
    sweeps: int = option(4, "sweeps over the density constraints per step", low=1, high=50)
    clamp: float = option(0.0, "smallest density constraint; below 0 water contracts", low=-1.0, high=0.0, step=0.05)
    time_step: float = option(0.005, "time step of the solver [s]", low=5e-4, high=0.04)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-50.0, high=50.0, step=1.0)


class DamBreakDemo(SceneDemo[DamBreakOptions]):
    """A dam break in three dimensions: a column of water falls into an empty tank, runs round a post and comes to rest.

    Position-based fluids keep the density by a constraint for each particle: neighbours that crowd it push it away, and
    nothing pulls. More sweeps or shorter steps compress less; with too few, sound waves form and the water boils. Walls
    count as the water that would be behind them, so the lowest layers are as dense as the others. Raise the viscosity
    for honey.

    Macklin, Mueller 2013: Position based fluids, doi:10.1145/2461912.2461984. Martin, Moyce 1952 measured such fronts,
    doi:10.1098/rsta.1952.0006: none is faster than 2 sqrt(g height).
    """

    rebuilt = ("columns", "rows")

    def build(self) -> Scene:
        """Return the scene, with one grip for the hand."""
        options, (length, depth) = self.options, TANK
        scene = Scene(gravity=(0.0, options.gravity, 0.0), grip_count=1)
        for normal, offset in (
            ((0, 1, 0), 0.0), ((1, 0, 0), 0.0), ((-1, 0, 0), -length), ((0, 0, 1), 0.0), ((0, 0, -1), -depth)
        ):  # fmt: skip
            scene.add_collider(Plane(normal, offset, friction=0.1))
        scene.add_collider(POST)
        material = FluidMaterial(viscosity=options.viscosity, clamp=options.clamp, iterations=options.sweeps)
        upper = (SPACING * options.columns, SPACING * options.rows, depth)
        scene.add_fluid_block((0.0, 0.0, 0.0), upper, material, SPACING)
        return scene

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the initial view [m], shape (3,) each."""
        return np.zeros(3), np.array([TANK[0], 0.7, TANK[1]])

    def measures(self) -> str:
        """Return the compression of the water and its speed."""
        if self.diverged:
            return ""
        over = np.maximum(self.state.get_fluid_density()[0] - 1.0, 0.0)
        speed = np.sqrt((self.velocities() ** 2).sum(axis=1).mean())
        return f"compressed {100.0 * over.mean():.2f} %   speed {speed:.2f} m/s"
