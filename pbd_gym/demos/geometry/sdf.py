"""Signed-distance colliders: particles or cloths that fall on a ball, a box, a capsule and a cylinder above a floor.

A solid is a function that says how far a point is from its surface, negative inside, and which way is out. That is all
a contact needs: what is inside by a depth is moved out by it along the normal, and friction holds back its slip. The
particles are coloured by their distance to the nearest solid.

Macklin et al. 2014: Unified particle physics, doi:10.1145/2601097.2601152, section 6.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.colliders import Box, Capsule, Cylinder, Plane, Solid, Sphere
from pbd_gym.demos.options import Options, option
from pbd_gym.demos.scene_demo import SceneDemo
from pbd_gym.geometry.grids import LYING
from pbd_gym.materials.materials import ClothMaterial
from pbd_gym.scene.scene import Scene

SHADES = 10
"""Colours between near and far; sprites are kept per colour."""
NEAR, FAR = np.array([214, 74, 44]), np.array([74, 116, 196])
PLACES = ((-0.5, -0.5), (0.5, -0.5), (-0.5, 0.5), (0.5, 0.5))
"""Where the solids stand: x and z [m]."""


@dataclass(frozen=True)
class SDFOptions(Options):
    """Numbers of what falls."""

    falling: str = option("particles", "what falls", choices=("particles", "cloth"))
    friction: float = option(0.3, "Coulomb coefficient of every solid", low=0.0, high=2.0, step=0.1)
    restitution: float = option(0.2, "share of the speed that an impact gives back", low=0.0, high=1.0, step=0.1)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-100.0, high=100.0, step=1.0)
    time_step: float = option(0.002, "of the solver [s]", low=1e-4, high=0.04)


def solids(friction: float, restitution: float) -> dict[str, Solid]:
    """Return the shapes, by name."""
    turn = np.array([[0.8, 0.0, 0.6], [0.0, 1.0, 0.0], [-0.6, 0.0, 0.8]])
    tilt = np.array([[0.9, -np.sqrt(0.19), 0.0], [np.sqrt(0.19), 0.9, 0.0], [0.0, 0.0, 1.0]])
    x, y, z = ((float(a), float(b), float(c)) for a, b, c in turn @ tilt)
    surface = {"friction": friction, "restitution": restitution}
    return {
        "sphere": Sphere((-0.5, 0.35, -0.5), 0.25, **surface),
        "box": Box((0.5, 0.35, -0.5), (0.2, 0.2, 0.2), (x, y, z), **surface),
        "capsule": Capsule((-0.7, 0.25, 0.5), (-0.3, 0.4, 0.5), 0.15, **surface),
        "cylinder": Cylinder((0.5, 0.1, 0.5), (0.5, 0.45, 0.5), 0.22, **surface),
    }


class SDFDemo(SceneDemo):
    """Four solids above a floor, and something above each."""

    options_type = SDFOptions
    rebuilt = ("falling",)
    options: SDFOptions

    def build(self) -> Scene:
        """Return the scene, with one grip for the hand."""
        options = self.options
        scene = Scene(gravity=(0.0, options.gravity, 0.0), contact_radius=0.02, grip_count=1)
        self.solids = solids(options.friction, options.restitution)
        self.floor = Plane(friction=options.friction, restitution=options.restitution)
        for solid in (self.floor, *self.solids.values()):
            scene.add_collider(solid)
        for x, z in PLACES:
            if options.falling == "cloth":
                material = ClothMaterial(stretch_compliance=1e-6, shear_compliance=1e-4, bend_compliance=1e-1)
                scene.add_cloth(16, 16, (0.7, 0.7), material, (x, 0.9, z - 0.35), LYING)
            else:
                axis, levels = np.linspace(-0.2, 0.2, 6), np.linspace(0.8, 1.2, 4)
                grid = np.stack(np.meshgrid(x + axis, levels, z + axis, indexing="ij"), axis=-1)
                scene.add_particles(grid.reshape(-1, 3), 0.01)
        return scene

    def distance(self) -> np.ndarray:
        """Return the signed distance of each particle to the nearest solid [m], shape (n,)."""
        here = self.positions()
        every = [solid.signed_distance(here)[0] for solid in (self.floor, *self.solids.values())]
        nearest: np.ndarray = np.min(every, axis=0)
        return nearest

    def drawn(self) -> dict[str, Any]:
        """Return further fields of the frame: the particles by their distance, and what the solids are called."""
        share = np.floor(SHADES * np.clip(self.distance() / 0.5, 0.0, 1.0)) / SHADES
        names = [(np.array([x, 0.75, z]), name) for name, (x, z) in zip(self.solids, PLACES, strict=True)]
        return super().drawn() | {
            "colors": np.round(NEAR + share[:, None] * (FAR - NEAR)).astype(np.int64),
            "line_radius": self.scene.contact_radius,
            "labels": names,
        }

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of what is shown at first [m], shape (3,) each."""
        return np.array([-1.0, 0.0, -0.9]), np.array([1.0, 1.0, 0.9])

    def readout(self) -> str:
        """Return the time and the smallest distance to a solid."""
        return f"{super().readout()}   smallest distance {1000 * self.distance().min():.1f} mm"
