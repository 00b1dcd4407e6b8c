"""Bodies that keep their shape by shape matching: one cluster, and regions that overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.colliders import Plane
from pbd_gym.demos.cloth.sheet import SPACING
from pbd_gym.demos.options import Options, option, switch
from pbd_gym.demos.scene_demo import SceneDemo
from pbd_gym.demos.soft.soft_body import solid
from pbd_gym.geometry import tetmeshes
from pbd_gym.geometry.grids import grid
from pbd_gym.geometry.regions import lattice_regions
from pbd_gym.materials.materials import ShapeMaterial
from pbd_gym.rendering import PALETTE
from pbd_gym.scene.scene import Scene


@dataclass(frozen=True)
class ShapeMatchingOptions(Options):
    """Numbers of a body of one cluster."""

    shape: str = option("box", "shape of the body; two are flat", choices=("square", "lattice", "ball", "box", "torus"))
    stiffness: float = option(0.05, "share of the way to its place that a particle goes per step", low=1e-4, high=1.0)
    mass: float = option(1.0, "mass of a particle [kg]", low=1e-3, high=1e3)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]; 0 has no floor", low=-100.0, high=100.0, step=1.0)
    friction: float = option(0.3, "friction of the floor", low=0.0, high=2.0, step=0.1)
    restitution: float = option(0.3, "restitution of the floor", low=0.0, high=1.0, step=0.1)
    time_step: float = option(0.005, "time step of the solver [s]", low=1e-4, high=0.04)
    motion: str = switch(True, "whether particles move by themselves; without, drag them and see their places")
    places: str = switch(True, "whether lines lead to the places")
    damping: float = option(0.0, "rate at which velocities fade [1/s]", low=0.0, high=50.0, step=0.5)


class ShapeMatchingDemo(SceneDemo[ShapeMatchingOptions]):
    """A body that keeps its shape without any connection between its particles: shape matching with one cluster.

    After each step the rest shape is fitted to the particles by the best rigid motion, and every particle moves a share
    of the way to its place in it (thin lines). However far the particles are thrown, the body recovers: press `x`. The
    share is the stiffness; it is applied once per step, so shorter steps are stiffer. `region-shape-matching` lets a
    body bend.

    Mueller, Heidelberger, Teschner, Gross 2005: Meshless deformations based on shape matching,
    doi:10.1145/1073204.1073216. The square without gravity is that of RWTH's physics-simulation tutorial.
    """

    deeds = (("x", "throw the particles about", "scramble"),)
    rebuilt = ("shape",)

    def build(self) -> Scene:
        """Return the scene, with one grip for the hand."""
        options = self.options
        scene = Scene(gravity=(0.0, options.gravity, 0.0), grip_count=1)
        if options.gravity != 0.0:
            scene.add_collider(Plane(friction=options.friction, restitution=options.restitution))
        material = ShapeMaterial.from_alpha(options.stiffness, options.time_step)
        if options.shape in ("square", "lattice"):
            count, size = (2, 1.0) if options.shape == "square" else (6, 0.6)
            flat = grid(count, count, size, size)
            lift = 0.0 if options.gravity == 0.0 else 0.4 + size
            scene.add_shape_matching(flat.positions, material, mass=options.mass, position=(0.0, lift, 0.0))
            scene.triangles = flat.triangles
        else:
            mesh = solid(options.shape).mesh
            turn = np.array([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
            lowest = float((mesh.positions @ turn.T)[:, 1].min())
            scene.add_shape_matching(
                mesh, material, mass=options.mass, position=(0.0, 0.4 - lowest, 0.0), rotation=turn
            )
        return scene

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        self.random = np.random.default_rng(0)
        self._scrambled = False

    def scramble(self) -> None:
        """Put every particle at a random place around the middle of the body, above the floor, at rest."""
        here = self.positions()
        middle, reach = here.mean(axis=0), 0.5 * np.ptp(self.scene.positions, axis=0).max()
        flat = np.ptp(self.scene.positions, axis=0) > 0  # a flat body stays in its plane
        thrown = middle + reach * self.random.uniform(-1.0, 1.0, here.shape) * flat
        if self.scene.colliders:
            thrown[:, 1] = np.maximum(thrown[:, 1], 0.02)
        if self.held is not None:
            thrown[self.held] = here[self.held]
        self.state.set_positions(thrown)
        self.state.set_velocities(0.0)

    def perform(self) -> None:
        """Throw the particles about if nobody else does."""
        if self.time >= 2.0 and not self._scrambled:
            self._scrambled = True
            self.scramble()

    def goals(self) -> np.ndarray:
        """Return the rest shape in the rigid motion that best fits the particles [m], shape (n, 3)."""
        here, rest = self.positions(), self.scene.positions
        if not np.isfinite(here).all():  # there is nothing to fit to
            return here
        middle, offsets = here.mean(axis=0), rest - rest.mean(axis=0)  # all masses are equal
        u, _, v = np.linalg.svd((here - middle).T @ offsets)
        turn = u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ v))]) @ v
        goals: np.ndarray = middle + offsets @ turn.T
        return goals

    def step(self) -> None:
        """Advance by one frame; without motion, only the held particle moves, with the hand."""
        if self.options.motion == "on":
            super().step()
            return
        if self.held is not None:
            here = self.positions()
            here[self.held] += self._pull
            self.state.set_positions(here)
        self.let_pass(self.live.ctrl_dt)

    def move(self, pull: np.ndarray) -> None:
        """Move the hand by ``pull`` [m], shape (3,), during the next step."""
        super().move(pull)
        self._pull = pull

    def drawn(self) -> dict[str, Any]:
        """Return further fields of the frame: a line from each particle to its place."""
        if self.options.places == "off":
            return super().drawn()
        ways = np.stack([self.positions(), self.goals()], axis=1)
        return super().drawn() | {"polylines": [(way, PALETTE[3]) for way in ways]}

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the initial view [m], shape (3,) each."""
        if self.options.gravity == 0.0:
            return np.array([-1.2, -1.7, -0.2]), np.array([1.2, 0.7, 0.2])
        return np.array([-0.6, 0.0, -0.6]), np.array([0.6, 1.1, 0.6])

    def readout(self) -> str:
        """Return the time and the particles' distance from their places."""
        away = np.linalg.norm(self.positions() - self.goals(), axis=1)
        return f"{super().readout()}   from their places: mean {1000 * away.mean():.1f} mm"


DEPTH = 4
"""Particles across a bar, in both directions."""


@dataclass(frozen=True)
class RegionOptions(Options):
    """Numbers of a lattice of regions."""

    body: str = option("sheet", "a sheet hung by its corners, or a bar fixed at its left end", choices=("sheet", "bar"))
    columns: int = option(20, "particles along the width", low=2, high=60)
    rows: int = option(12, "particles along the height of the sheet", low=2, high=60)
    fixed: int = option(2, "corners of the sheet that are fixed: 1, the upper 2 or all 4", choices=(1, 2, 4))
    half_width: int = option(1, "steps to the border of a region", low=1, high=5)
    stiffness: float = option(1.0, "share of the way to its place that a particle goes per step", low=1e-4, high=1.0)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-100.0, high=100.0, step=1.0)
    time_step: float = option(0.01, "time step of the solver [s]", low=1e-3, high=0.04)
    iterations: int = option(1, "iterations of all regions per step", low=1, high=20)
    damping: float = option(0.0, "rate at which velocities fade [1/s]", low=0.0, high=50.0, step=0.5)


class RegionDemo(SceneDemo[RegionOptions]):
    """Shape matching in overlapping regions: a sheet or a bar that bends and returns to its shape.

    Every particle of a lattice has a region: itself and those up to `half width` steps away. Each region keeps its
    shape as the body of `shape-matching` does, and a particle moves to the mean of its goals in all its regions. Wide
    regions make a stiff body; a single region would make it rigid. Drag it, and change the half width.

    Rivers, James 2007: FastLSM, doi:10.1145/1276377.1276480. The sheet is that of RWTH's physics-simulation tutorial,
    whose trajectories it reproduces.
    """

    rebuilt = ("body", "columns", "rows", "fixed")
    method = "jacobi"
    max_pull = 2.0 * SPACING

    def build(self) -> Scene:
        """Return the scene, with one grip for the hand."""
        options = self.options
        scene = Scene(gravity=(0.0, options.gravity, 0.0), grip_count=1)
        material = ShapeMaterial.from_alpha(options.stiffness, options.time_step)
        if options.body == "sheet":
            flat = grid(options.rows, options.columns, SPACING * (options.columns - 1), SPACING * (options.rows - 1))
            regions = lattice_regions((options.rows, options.columns), options.half_width)
            scene.add_shape_matching(flat.positions - flat.positions[0], material, regions, mass=1.0)
            scene.triangles = flat.triangles
            last = len(flat.positions) - 1
            scene.pin([0, options.columns - 1, last + 1 - options.columns, last][: options.fixed])
            return scene
        cells = (options.columns - 1, DEPTH - 1, DEPTH - 1)
        mesh = tetmeshes.box(cells, tuple(SPACING * c for c in cells))  # type: ignore[arg-type]
        # The mesh numbers its vertices in its own way: this is their order in the lattice.
        x, y, z = np.round(mesh.positions / SPACING, 6).T
        order = np.lexsort((z, y, x))
        regions = lattice_regions((options.columns, DEPTH, DEPTH), options.half_width)
        scene.add_shape_matching(mesh, material, [order[region] for region in regions], mass=1.0)
        scene.pin(order[: DEPTH * DEPTH])
        return scene

    def perform(self) -> None:
        """Pull the last particle aside and up after one second, and release it after two."""
        if 1.0 <= self.time < 2.0:
            rest = self.scene.positions
            last = int(np.argmax(rest @ np.array([1.0, -0.1, 0.1])))
            size = float(np.ptp(rest, axis=0).max())
            self.drag(last, rest[last] + np.array([-0.2, 0.3, 0.4]) * size * np.sin(0.5 * np.pi * (self.time - 1.0)))
        elif self.held is not None:
            self.hold(None)

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the initial view [m], shape (3,) each."""
        lower, upper = super().view_box
        return lower - np.array([0.0, 0.3 * np.ptp(self.scene.positions[:, 0]), 0.0]), upper
