"""Grids of sampled signed distances, made from closed triangle meshes."""

from dataclasses import dataclass
from typing import no_type_check

import numpy as np
import warp as wp

from pbd_gym.runtime.compilation import compiling
from pbd_gym.runtime.devices import find_device

wp.set_module_options({"enable_backward": False})

_MOST = 16_000_000
"""Number of samples above which the cell size is taken for a mistake: 64 MB."""
_SPREAD = np.array([[4, 1, 1], [1, 4, 1], [1, 1, 4], [2, 2, 2]]) / 6.0
"""Weights of the corners at sample points well within a triangle."""
_NONE = wp.constant(1.0e9)
"""Sentinel for "no distance found" [m]."""


@dataclass(frozen=True)
class Grid:
    """Signed distances of a mesh at the nodes of a regular grid."""

    lower: np.ndarray
    """Lowest corner of the grid [m], shape (3,), float64."""
    cell: float
    """Distance between neighbouring nodes [m]."""
    margin: float
    """Smallest distance between the mesh and the outermost nodes [m]."""
    values: np.ndarray
    """Signed distances [m], negative inside, shape (nx, ny, nz), float32."""
    thickness: float
    """Thickness of the thinnest part of the mesh, at least two cells [m]."""


def sample(vertices: np.ndarray, triangles: np.ndarray, cell: float | None, margin: float | None) -> Grid:
    """Sample the signed distance of a closed mesh.

    Args:
        vertices: [m], shape (v, 3), all of them used.
        triangles: counter-clockwise seen from outside, shape (t, 3).
        cell, margin: see :class:`pbd_gym.colliders.MeshCollider`.

    Raises:
        ValueError: if a number is not above zero, a part of the mesh is thinner than two cells, or there are too many
            samples.
    """
    lower, upper = vertices.min(axis=0), vertices.max(axis=0)
    cell = float((upper - lower).max() / 48 if cell is None else cell)
    margin = 3.0 * cell if margin is None else float(margin)
    for name, value in (("cell", cell), ("margin", margin)):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be positive and finite, got {value}")
    with np.errstate(over="ignore"):
        wanted = np.ceil((upper - lower + 2 * margin) / cell - 1e-6) + 1
    if not wanted.prod() <= _MOST:
        raise ValueError(f"a cell of {cell} m gives more than {_MOST} samples: take a larger one")
    counts = np.maximum(wanted.astype(np.int64), 2)
    middle = (lower + upper) / 2
    first = -(counts - 1) * cell / 2
    # Single precision, so relative to the middle of the mesh, where the numbers are small.
    device = find_device("cpu")
    with compiling():
        mesh = wp.Mesh(
            wp.array(vertices - middle, dtype=wp.vec3, device=device),
            wp.array(triangles.ravel(), dtype=wp.int32, device=device),
            support_winding_number=True,
        )
        values = wp.empty(tuple(counts.tolist()), dtype=float, device=device)
        wp.launch(measure, dim=values.shape, inputs=[mesh.id, wp.vec3(*first), cell, values], device=device)
        corners = (vertices - middle)[triangles]
        starts = np.concatenate([np.einsum("k,tkx->tx", weights, corners) for weights in _SPREAD])
        found = wp.empty(len(starts), dtype=float, device=device)
        owner = wp.array(np.tile(np.arange(len(triangles)), len(_SPREAD)), dtype=wp.int32, device=device)
        wp.launch(
            thickness,
            dim=len(starts),
            inputs=[mesh.id, wp.array(starts, dtype=wp.vec3, device=device), owner, 1e-4 * cell, found],
            device=device,
        )
    depths = found.numpy()
    thin, where = float(depths.min()), starts[int(depths.argmin())] + middle
    if thin < 2.0 * cell * (1 - 1e-5):
        raise ValueError(
            f"the mesh is only {thin:.3g} m thick near {np.round(where, 4).tolist()}, less than two cells of "
            f"{cell:.3g} m: give a cell of at most {thin / 2:.3g} m"
        )
    # A mesh without opposite sides, such as a tetrahedron, is as thick as the grid can tell.
    return Grid(middle + first, cell, margin, values.numpy(), thin if thin < _NONE else 2.0 * cell)


@wp.kernel
@no_type_check
def measure(mesh: wp.uint64, first: wp.vec3, cell: float, values: wp.array3d[float]):
    """Write the signed distance of each grid node."""
    i, j, k = wp.tid()
    point = first + cell * wp.vec3(float(i), float(j), float(k))
    found = wp.mesh_query_point_sign_winding_number(mesh, point, _NONE)
    nearest = wp.mesh_eval_position(mesh, found.face, found.u, found.v)
    values[i, j, k] = found.sign * wp.length(point - nearest)


@wp.kernel
@no_type_check
def thickness(
    mesh: wp.uint64, starts: wp.array[wp.vec3], faces: wp.array[wp.int32], skip: float, found: wp.array[float]
):
    """Write the distance to the opposite side of the mesh, measured perpendicular to its triangles.

    Faces that do not face the opposite way, such as the adjacent face of a cube, do not count.
    """
    i = wp.tid()
    normal = wp.mesh_eval_face_normal(mesh, faces[i])
    ray = wp.mesh_query_ray(mesh, starts[i] - skip * normal, -normal, _NONE)
    found[i] = _NONE
    if ray.result and wp.dot(ray.normal, normal) < -0.5:
        found[i] = ray.t + skip
