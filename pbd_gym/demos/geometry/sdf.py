"""Signed distances: colliders in the engine, and a field in the plane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.colliders import Box, Capsule, Cylinder, Plane, Solid, Sphere
from pbd_gym.demos.options import Options, option
from pbd_gym.demos.plane import PlaneDemo, raised
from pbd_gym.demos.scene_demo import SceneDemo
from pbd_gym.geometry.grids import LYING
from pbd_gym.materials.materials import ClothMaterial
from pbd_gym.rendering import PALETTE, Frame, Raster
from pbd_gym.rendering.colors import ramp
from pbd_gym.scene.scene import Scene

SHADES = 10
"""Number of colours between near and far; sprites are cached per colour."""
NEAR, FAR = np.array([214, 74, 44]), np.array([74, 116, 196])
PLACES = ((-0.5, -0.5), (0.5, -0.5), (-0.5, 0.5), (0.5, 0.5))
"""Places of the solids: x and z [m]."""


@dataclass(frozen=True)
class SDFOptions(Options):
    """Numbers of the falling particles or cloths."""

    falling: str = option("particles", "falling objects", choices=("particles", "cloth"))
    friction: float = option(0.3, "Coulomb coefficient of every solid", low=0.0, high=2.0, step=0.1)
    restitution: float = option(0.2, "share of the speed that an impact gives back", low=0.0, high=1.0, step=0.1)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-100.0, high=100.0, step=1.0)
    time_step: float = option(0.002, "time step of the solver [s]", low=1e-4, high=0.04)


def solids(friction: float, restitution: float) -> dict[str, Solid]:
    """Return the shapes, by name."""
    turn = np.array([[0.8, 0.0, 0.6], [0.0, 1.0, 0.0], [-0.6, 0.0, 0.8]])
    tilt = np.array([[0.9, -np.sqrt(0.19), 0.0], [np.sqrt(0.19), 0.9, 0.0], [0.0, 0.0, 1.0]])
    x, y, z = ((float(a), float(b), float(c)) for a, b, c in turn @ tilt)
    surface: dict[str, Any] = {"friction": friction, "restitution": restitution}
    return {
        "sphere": Sphere((-0.5, 0.35, -0.5), 0.25, **surface),
        "box": Box((0.5, 0.35, -0.5), (0.2, 0.2, 0.2), (x, y, z), **surface),
        "capsule": Capsule((-0.7, 0.25, 0.5), (-0.3, 0.4, 0.5), 0.15, **surface),
        "cylinder": Cylinder((0.5, 0.1, 0.5), (0.5, 0.45, 0.5), 0.22, **surface),
    }


class SDFDemo(SceneDemo[SDFOptions]):
    """Signed-distance colliders: particles or cloths fall on a ball, a box, a capsule and a cylinder above a floor.

    A solid is a function that says how far a point is from its surface, negative inside, and which way is out. That is
    all a contact needs: a point at some depth is moved out by that depth along the normal, and friction resists its
    slip. The particles are coloured by their distance to the nearest solid.

    Macklin et al. 2014: Unified particle physics, doi:10.1145/2601097.2601152, section 6.1.
    """

    box = ((-1.0, 0.0, -0.9), (1.0, 1.0, 0.9))
    rebuilt = ("falling",)

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
        """Return further fields of the frame: the particles coloured by distance, and the names of the solids."""
        share = np.floor(SHADES * np.clip(self.distance() / 0.5, 0.0, 1.0)) / SHADES
        names = [(np.array([x, 0.75, z]), name) for name, (x, z) in zip(self.solids, PLACES, strict=True)]
        return super().drawn() | {
            "colors": np.round(NEAR + share[:, None] * (FAR - NEAR)).astype(np.int64),
            "line_radius": self.scene.contact_radius,
            "labels": names,
        }

    def readout(self) -> str:
        """Return the time and the smallest distance to a solid."""
        return f"{super().readout()}   smallest distance {1000 * self.distance().min():.1f} mm"


HALF = 1.6
"""Half the width of the visible field [m]."""
CELLS = 240
STRIPE = 0.1
"""Distance between lines of equal distance [m]."""
STEP = 1e-6
"""Step of the central differences [m]."""
STEEP = 1e-3
"""Gradient length below which there is no normal."""
DARK = (30, 34, 60)

Distance = Callable[[np.ndarray], np.ndarray]


def disc_distance(points: np.ndarray, center: np.ndarray, radius: float) -> np.ndarray:
    """Return ``|x - c| - r`` of points [m], shape (n, 2): shape (n,)."""
    found: np.ndarray = np.linalg.norm(points - center, axis=1) - radius
    return found


def box_distance(points: np.ndarray, center: np.ndarray, size: np.ndarray, rounding: float) -> np.ndarray:
    """Return ``min(max(d_x, d_y), 0) + |max(d, 0)| - t`` with ``d = |x - c| - size / 2`` of points [m], shape (n,)."""
    d = np.abs(points - center) - 0.5 * size
    inside = np.minimum(d.max(axis=1), 0.0)
    found: np.ndarray = inside + np.linalg.norm(np.maximum(d, 0.0), axis=1) - rounding
    return found


def normals(distance: Distance, points: np.ndarray) -> np.ndarray:
    """Return the unit gradient of a distance at points by central differences, shape (n, 2); zero where undefined."""
    slopes = np.stack([distance(points + step) - distance(points - step) for step in STEP * np.eye(2)], axis=1)
    slopes /= 2.0 * STEP
    length = np.linalg.norm(slopes, axis=1, keepdims=True)
    return np.where(length > STEEP, slopes / np.where(length > STEEP, length, 1.0), 0.0)


@dataclass(frozen=True)
class FieldOptions(Options):
    """Shape of the solid."""

    shape: str = option("box", "shape of the solid", choices=("sphere", "box"))
    size_x: float = option(1.4, "size x of the box; twice the radius of the sphere [m]", low=0.1, high=3.0, step=0.1)
    size_y: float = option(0.8, "size y of the box [m]", low=0.1, high=3.0, step=0.1)
    rounding: float = option(0.1, "rounding by which the surface is moved outwards [m]", low=0.0, high=0.5, step=0.05)


class FieldDemo(PlaneDemo[FieldOptions]):
    """A signed distance as a field: the distance of every point of the plane from a surface, negative inside.

    Its gradient has length 1 and points the shortest way out, so one evaluation at x tells where the surface is
    nearest: `s = x - d(x) n(x)`. That is all a contact needs. The stripes are lines of equal distance, a tenth of a
    metre apart. Where two points of the surface are equally near, the normal jumps: drag the query point across the
    middle of the box. `rounding` moves the surface outwards by subtracting from the distance, which rounds the corners.

    Hart 1996: Sphere tracing, doi:10.1007/s003710050084; Macklin et al. 2014: Unified particle physics,
    doi:10.1145/2601097.2601152, section 6.1.
    """

    box = ((-HALF, -HALF, -0.01), (HALF, HALF, 0.01))
    limits = ((-HALF, -HALF), (HALF, HALF))
    rebuilt = ()

    def start(self) -> np.ndarray:
        """Return the initial places of the centre and the query point [m], shape (2, 2)."""
        return np.array([[0.0, 0.0], [1.1, 0.9]])

    def distance(self, points: np.ndarray) -> np.ndarray:
        """Return the signed distance of points [m], shape (n, 2): shape (n,)."""
        options, center = self.options, self.handles[0]
        if options.shape == "sphere":
            return disc_distance(points, center, 0.5 * options.size_x + options.rounding)
        return box_distance(points, center, np.array([options.size_x, options.size_y]), options.rounding)

    def query(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Return distance, normal and closest point of the query point."""
        point = self.handles[1:]
        distance, normal = self.distance(point), normals(self.distance, point)
        return float(distance[0]), normal[0], point[0] - distance[0] * normal[0]

    def perform(self) -> None:
        """Move the query point around and through the solid."""
        self.handles[1] = [1.2 * np.cos(0.9 * self.time + 0.6), 0.95 * np.sin(1.7 * self.time + 1.1)]

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw."""
        middle = (np.arange(CELLS) + 0.5) / CELLS * 2 * HALF - HALF
        distance = self.distance(np.stack(np.meshgrid(middle, middle), axis=-1).reshape(-1, 2))
        colors = ramp(0.5 - distance / (2 * HALF))
        away = np.abs(distance / STRIPE - np.round(distance / STRIPE)) * STRIPE
        width = 2.0 * HALF / CELLS
        colors *= (1.0 - 0.2 * np.exp(-((away / width) ** 2)))[:, None]
        surface = np.exp(-((0.6 * distance / width) ** 2))[:, None]
        colors += surface * (np.array(DARK) - colors)
        found, normal, closest = self.query()
        point = self.handles[1]
        out = np.array([closest, closest + 0.35 * normal])
        lines = [(raised(np.array([point, closest])), DARK), (raised(out), PALETTE[3])]
        return Frame(
            raised(np.array([*self.handles, closest])), colors=np.array([PALETTE[0], DARK, PALETTE[3]]),
            line_radius=0.04, polylines=lines,
            labels=[(np.array([point[0], point[1] + 0.14, 0.0]), f"{found:.3f} m")],
            rasters=[Raster((-HALF, -HALF), (HALF, HALF), colors.reshape(CELLS, CELLS, 3).round().astype(np.uint8))],
            caption=caption,
        )  # fmt: skip

    def readout(self) -> str:
        """Return the result of the query."""
        found, normal, closest = self.query()
        (nx, ny), (x, y) = normal, closest
        return f"distance {found:.3f} m   normal ({nx:.2f}, {ny:.2f})   closest ({x:.2f}, {y:.2f})"
