"""Solids of any closed triangle mesh, represented by a grid of sampled distances."""

import copy
import functools
from dataclasses import InitVar, dataclass, field
from typing import Any, no_type_check

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from pbd_gym.colliders.grid import Grid, sample
from pbd_gym.colliders.solid import Mesh, Solid, check_rotation
from pbd_gym.geometry.solid_angles import winding_number
from pbd_gym.geometry.surfaces import closed_surface, nearest_triangles
from pbd_gym.kernels.data.colliders import Distance, table_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.native import call, lanes_type
from pbd_gym.runtime.checks import shaped

SWEPT = True


@dataclass(frozen=True, eq=False)
class MeshCollider(Solid):
    """A solid with any surface, convex or not.

    Particles feel the signed distance sampled on a grid, linear between the samples: flat faces are exact, edges are
    rounded within a cell, and a curved face is off by about ``cell^2 / 8`` times its curvature. Colliders that share
    their arrays by :meth:`moved` share the grid.

    Args:
        vertices: [m], shape (v, 3).
        triangles: counter-clockwise seen from outside, shape (t, 3), int.
        position: where the origin of the vertices is [m], shape (3,).
        rotation: rotation applied to the vertices first, shape (3, 3).
        cell: side of a cell of the grid [m]; by default a 48th of the longest side of the mesh.
        margin: how far the grid reaches beyond the mesh [m]; not below the contact radius of the scene, and 3 cells by
            default.

    Raises:
        ValueError: for a mesh that is empty, open, inside out or not a manifold, one thinner than two cells anywhere, a
        grid of more than 16 million samples, a matrix that is not a rotation, or a bad surface or number.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    cell: InitVar[float | None] = None
    margin: InitVar[float | None] = None
    grid: Grid = field(init=False, repr=False)

    def __post_init__(self, cell: float | None, margin: float | None) -> None:
        points, faces = closed_surface(self.vertices, self.triangles)
        used, flat = np.unique(faces, return_inverse=True)
        fields = {
            "vertices": points[used],
            "triangles": flat.reshape(faces.shape),
            "position": shaped("position", self.position, (3,)),
            "rotation": check_rotation("a mesh collider", self.rotation),
        }
        fields["grid"] = sample(fields["vertices"], fields["triangles"], cell, margin)
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self.check_surface()

    # Arrays have no single truth value: a collider equals only itself.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def origin(self) -> np.ndarray:
        """Position of the origin of the vertices [m], shape (3,)."""
        return self.position

    @property
    def convex(self) -> bool:
        """False: a mesh may have any shape."""
        return False

    @property
    def half_thickness(self) -> float:
        """Half the thickness of the thinnest part [m]."""
        return self.grid.thickness / 2

    @property
    def slack(self) -> float:
        """A quarter of a cell [m]."""
        return self.grid.cell / 4

    @property
    def reach(self) -> float:
        """The margin of the grid [m]."""
        return self.grid.margin

    def moved(self, origin: ArrayLike, turn: ArrayLike) -> "MeshCollider":
        """Return a copy of the solid in another place."""
        there = copy.copy(self)
        object.__setattr__(there, "position", np.array(origin, dtype=np.float64))
        object.__setattr__(there, "rotation", np.asarray(turn) @ self.rotation)
        object.__setattr__(there, "surface_velocity", self.turned_velocity(turn))
        return there

    def reaching(self, margin: float) -> "MeshCollider":
        """Return a copy whose grid reaches as far beyond the mesh [m], or the collider itself if it does already.

        Raises:
            ValueError: for a grid of more than 16 million samples.
        """
        if margin <= self.reach:
            return self
        wider = copy.copy(self)
        object.__setattr__(wider, "grid", sample(self.vertices, self.triangles, self.grid.cell, margin))
        return wider

    def signed_distance(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance from the mesh itself, not from the grid; see :meth:`Solid.signed_distance`.

        Every point is compared with every triangle.
        """
        local = (np.asarray(points, dtype=np.float64) - self.position) @ self.rotation
        corners = self.vertices[self.triangles]
        nearest, which = nearest_triangles(local, corners)
        inside = winding_number(local, corners) > 0.5
        away = local - nearest
        gap = np.linalg.norm(away, axis=1)
        a, b, c = corners.swapaxes(0, 1)
        faces = np.cross(b - a, c - a)
        faces /= np.linalg.norm(faces, axis=1, keepdims=True)
        sign = np.where(inside, -1.0, 1.0)
        on = gap < 1e-12
        normal = np.where(on[:, None], faces[which], (sign / np.where(on, 1.0, gap))[:, None] * away)
        return sign * gap, normal @ self.rotation.T

    def mesh(self) -> Mesh:
        """Return the triangles in their place, to draw."""
        return self.vertices @ self.rotation.T + self.position, self.triangles


def row(shape: MeshCollider, dtype: Any) -> np.ndarray:
    """Return the kernel's parameters.

    Returns:
        position (3) [m], rotation by rows (9), lowest corner of the grid (3) [m], cell [m], 1 / cell [1/m], counts (3),
        margin [m]; shape (21,), float64.
    """
    grid = shape.grid
    return np.r_[
        shape.position, shape.rotation.ravel(), grid.lower, grid.cell, 1 / grid.cell, grid.values.shape, grid.margin
    ]


def samples(shape: MeshCollider) -> np.ndarray:
    """Return the samples of the grid [m], x slowest, shape (count,)."""
    return shape.grid.values.ravel()


@functools.cache
def make_distance(wide: Wide) -> Distance:
    """Build the signed distance and normal of a mesh."""
    table = table_type(wide.scalar)
    vec: Any = wide.vec
    scalar: Any = wide.scalar
    sqrt, floor, pick, any_positive = wide.sqrt, wide.floor, wide.pick, wide.any_positive
    rows: Any = wp.types.matrix(shape=(4, wide.lanes), dtype=scalar)

    code = call("look_up_distance", lanes_type(wide.lanes, scalar), arguments="samples, first, nx, ny, nz, x, y, z")

    @wp.func_native("return " + code)
    def lookup(
        samples: wp.array[scalar], first: int, nx: int, ny: int, nz: int, x: vec, y: vec, z: vec
    ) -> rows: ...  # fmt: skip

    @wp.func
    @no_type_check
    def clamp(a: vec, high: scalar):
        return -floor(-floor(a, scalar(0.0)), -high)

    @wp.func
    @no_type_check
    def local(colliders: table, k: int, x: vec, y: vec, z: vec):
        """Return the point in the axes of the mesh, relative to the lowest corner of the grid, in cells."""
        dx = x - vec(colliders.rows[k, 0])
        dy = y - vec(colliders.rows[k, 1])
        dz = z - vec(colliders.rows[k, 2])
        lx = colliders.rows[k, 3] * dx + colliders.rows[k, 6] * dy + colliders.rows[k, 9] * dz
        ly = colliders.rows[k, 4] * dx + colliders.rows[k, 7] * dy + colliders.rows[k, 10] * dz
        lz = colliders.rows[k, 5] * dx + colliders.rows[k, 8] * dy + colliders.rows[k, 11] * dz
        dense = colliders.rows[k, 16]
        gx = dense * (lx - vec(colliders.rows[k, 12]))
        gy = dense * (ly - vec(colliders.rows[k, 13]))
        gz = dense * (lz - vec(colliders.rows[k, 14]))
        return gx, gy, gz

    @wp.func
    @no_type_check
    def read(colliders: table, k: int, gx: vec, gy: vec, gz: vec):
        nx = int(colliders.rows[k, 17])
        ny = int(colliders.rows[k, 18])
        nz = int(colliders.rows[k, 19])
        return lookup(colliders.samples, colliders.first[k], nx, ny, nz, gx, gy, gz)

    @wp.func
    @no_type_check
    def distance(colliders: table, k: int, x: vec, y: vec, z: vec):
        """Return the grid's value inside it, and a lower bound outside: the distance to the grid plus its margin."""
        gx, gy, gz = local(colliders, k, x, y, z)
        ox = gx - clamp(gx, colliders.rows[k, 17] - scalar(1.0))
        oy = gy - clamp(gy, colliders.rows[k, 18] - scalar(1.0))
        oz = gz - clamp(gz, colliders.rows[k, 19] - scalar(1.0))
        outside = sqrt(wp.cw_mul(ox, ox) + wp.cw_mul(oy, oy) + wp.cw_mul(oz, oz))
        result = colliders.rows[k, 15] * outside + vec(colliders.rows[k, 20])
        if any_positive(vec(scalar(1e-30)) - outside):
            result = pick(outside, result, read(colliders, k, gx, gy, gz)[0])
        return result

    @wp.func
    @no_type_check
    def normal(colliders: table, k: int, x: vec, y: vec, z: vec):
        gx, gy, gz = local(colliders, k, x, y, z)
        found = read(colliders, k, gx, gy, gz)
        ax = found[1]
        ay = found[2]
        az = found[3]
        size = sqrt(wp.cw_mul(ax, ax) + wp.cw_mul(ay, ay) + wp.cw_mul(az, az))
        inverse = wp.cw_div(vec(scalar(1.0)), floor(size, scalar(1e-30)))
        ax = wp.cw_mul(ax, inverse)
        ay = wp.cw_mul(ay, inverse)
        az = wp.cw_mul(az, inverse)
        nx = colliders.rows[k, 3] * ax + colliders.rows[k, 4] * ay + colliders.rows[k, 5] * az
        ny = colliders.rows[k, 6] * ax + colliders.rows[k, 7] * ay + colliders.rows[k, 8] * az
        nz = colliders.rows[k, 9] * ax + colliders.rows[k, 10] * ay + colliders.rows[k, 11] * az
        return nx, ny, nz

    return Distance(distance, normal)
