"""Shape matching in regions that overlap: a sheet or a bar that bends, and returns to its shape.

Every particle of a lattice has a region: itself and those up to `half width` steps away. Each region keeps its shape as
the body of `shape-matching` does, and a particle goes to the mean of what its regions want. Wide regions make a stiff
body; a rigid lattice would be one region. Drag it, and change the half width.

Rivers, James 2007: FastLSM, doi:10.1145/1276377.1276480. The sheet is that of RWTH's physics-simulation tutorial, whose
trajectories it reproduces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.demos.cloth.sheet import SPACING
from pbd_gym.demos.options import Options, option
from pbd_gym.demos.scene_demo import SceneDemo
from pbd_gym.geometry import tetmeshes
from pbd_gym.geometry.grids import grid
from pbd_gym.geometry.regions import lattice_regions
from pbd_gym.materials.materials import ShapeMaterial
from pbd_gym.scene.scene import Scene

DEPTH = 4
"""Particles across a bar, both ways."""


@dataclass(frozen=True)
class RegionOptions(Options):
    """Numbers of a lattice of regions."""

    body: str = option("sheet", "a sheet hung by its corners, or a bar fixed at its left end", choices=("sheet", "bar"))
    width: int = option(20, "particles along the width", low=2, high=60)
    height: int = option(12, "particles along the height of the sheet", low=2, high=60)
    fixed: int = option(2, "corners of the sheet that are fixed: 1, the upper 2 or all 4", choices=(1, 2, 4))
    half_width: int = option(1, "steps to the border of a region", low=1, high=5)
    stiffness: float = option(1.0, "share of the way to its place that a particle goes per step", low=1e-4, high=1.0)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-100.0, high=100.0, step=1.0)
    time_step: float = option(0.01, "of the solver [s]", low=1e-3, high=0.04)
    iterations: int = option(1, "of all regions per step", low=1, high=20)
    damping: float = option(0.0, "rate at which velocities fade [1/s]", low=0.0, high=50.0, step=0.5)


class RegionDemo(SceneDemo):
    """A lattice of overlapping regions."""

    options_type = RegionOptions
    options: RegionOptions
    rebuilt = ("body", "width", "height", "fixed")
    method = "jacobi"
    max_pull = 2.0 * SPACING

    def build(self) -> Scene:
        """Return the scene, with one grip for the hand."""
        options = self.options
        scene = Scene(gravity=(0.0, options.gravity, 0.0), grip_count=1)
        material = ShapeMaterial.from_alpha(options.stiffness, options.time_step)
        if options.body == "sheet":
            flat = grid(options.height, options.width, SPACING * (options.width - 1), SPACING * (options.height - 1))
            regions = lattice_regions((options.height, options.width), options.half_width)
            scene.add_shape_matching(flat.positions - flat.positions[0], material, regions, mass=1.0)
            scene.triangles = flat.triangles
            last = len(flat.positions) - 1
            scene.pin([0, options.width - 1, last + 1 - options.width, last][: options.fixed])
            return scene
        cells = (options.width - 1, DEPTH - 1, DEPTH - 1)
        mesh = tetmeshes.box(cells, tuple(SPACING * c for c in cells))  # type: ignore[arg-type]
        # The mesh numbers its vertices in its own way: this is their order in the lattice.
        x, y, z = np.round(mesh.positions / SPACING, 6).T
        order = np.lexsort((z, y, x))
        regions = lattice_regions((options.width, DEPTH, DEPTH), options.half_width)
        scene.add_shape_matching(mesh, material, [order[region] for region in regions], mass=1.0)
        scene.pin(order[: DEPTH * DEPTH])
        return scene

    def perform(self) -> None:
        """Take the last particle aside and up after one second, and let go of it after two."""
        if 1.0 <= self.time < 2.0:
            rest = self.scene.positions
            last = int(np.argmax(rest @ np.array([1.0, -0.1, 0.1])))
            size = float(np.ptp(rest, axis=0).max())
            self.drag(last, rest[last] + np.array([-0.2, 0.3, 0.4]) * size * np.sin(0.5 * np.pi * (self.time - 1.0)))
        elif self.held is not None:
            self.hold(None)

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of what is shown at first [m], shape (3,) each."""
        lower, upper = super().view_box
        return lower - np.array([0.0, 0.3 * np.ptp(self.scene.positions[:, 0]), 0.0]), upper
