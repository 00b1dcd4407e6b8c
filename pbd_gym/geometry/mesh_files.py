"""Meshes from files and to files, by trimesh and meshio, which the extra ``[mesh]`` brings.

Triangles: OBJ, PLY, STL, glTF (.gltf, .glb). Tetrahedra: Gmsh (.msh), VTK (.vtk, .vtu), TetGen (.node with .ele beside
it).
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.geometry.tetmeshes import TetMesh, tetmesh
from pbd_gym.geometry.trimeshes import TriMesh, trimesh
from pbd_gym.runtime.extras import load_optional

SURFACES = (".obj", ".ply", ".stl", ".gltf", ".glb")
"""Suffixes of files of triangles."""
SOLIDS = {".msh": "gmsh", ".vtk": "vtk", ".vtu": "vtu", ".node": "tetgen", ".ele": "tetgen"}
"""Suffixes of files of tetrahedra, and the part of meshio that knows each."""
_CELLS = {3: "triangle", 4: "tetra"}


def read_trimesh(path: str | Path, scale: float = 1.0, weld: float = 1e-6) -> TriMesh:
    """Read the triangles of a file; polygons are split, and the parts of a scene put together.

    Args:
        path: .obj, .ply, .stl, .gltf or .glb.
        scale: metres per unit of the file.
        weld: how near vertices are joined; see :func:`pbd_gym.geometry.trimeshes.trimesh`.

    Raises:
        ValueError: for another suffix, a broken file, or a mesh refused by :func:`pbd_gym.geometry.trimeshes.trimesh`.
        FileNotFoundError: if there is no such file.
        ImportError: without trimesh.
    """
    file = _existing(path, SURFACES)
    library = _library("trimesh")
    # Malformed files make a reader fail in any way there is.
    try:
        scene = library.load_scene(file, process=False)
        mesh = scene.to_mesh()
        vertices, triangles = np.asarray(mesh.vertices), np.asarray(mesh.faces)
    except Exception as error:
        raise ValueError(f"{file} is broken: {error or type(error).__name__}") from error
    return _made(trimesh, file, vertices * scale, triangles, weld)


def read_tetmesh(path: str | Path, scale: float = 1.0) -> TetMesh:
    """Read the tetrahedra of a file; other cells, such as a surface, are left out.

    Args:
        path: .msh, .vtk, .vtu, .node or .ele.
        scale: metres per unit of the file.

    Raises:
        ValueError: for another suffix, a broken file, or a mesh refused by :func:`pbd_gym.geometry.tetmeshes.tetmesh`.
        FileNotFoundError: if there is no such file.
        ImportError: without meshio.
    """
    file = _existing(path, tuple(SOLIDS))
    _library("meshio")
    reader = importlib.import_module(f"meshio.{SOLIDS[file.suffix.lower()]}")
    try:
        if SOLIDS[file.suffix.lower()] == "tetgen":
            _check_tetgen(file)
        mesh = reader.read(file)
        blocks = [np.asarray(block.data) for block in mesh.cells if block.type == "tetra"]
        # VTK files may hold numbers in the other byte order.
        vertices = np.asarray(mesh.points).astype(np.float64)
        tets = np.concatenate([np.zeros((0, 4)), *blocks]).astype(np.int64)
    except Exception as error:
        raise ValueError(f"{file} is broken: {error or type(error).__name__}") from error
    return _made(tetmesh, file, vertices * scale, tets)


def write_mesh(path: str | Path, positions: ArrayLike, cells: ArrayLike) -> None:
    """Write the triangles or tetrahedra of a state; particles that none of them uses are left out.

    Binary formats of triangles hold single precision, OBJ eight decimals, the formats of tetrahedra every bit.

    Args:
        path: triangles go to any format, tetrahedra to .msh, .vtk, .vtu, .node or .ele.
        positions: [m], shape (n, 3), such as ``state.get_positions()[0]``.
        cells: triangles, shape (t, 3), or tetrahedra, shape (m, 4), such as ``body.tets``.

    Raises:
        ValueError: for a suffix that does not hold such cells, or arrays of a wrong shape.
        ImportError: without the library for the format.
    """
    file, points, corners = Path(path), np.asarray(positions, dtype=np.float64), np.asarray(cells)
    width = corners.shape[-1] if corners.ndim == 2 else 0
    if width not in _CELLS or len(corners) == 0 or corners.dtype.kind not in "iu":
        raise ValueError(f"cells must be whole numbers of shape (t, 3) or (m, 4), got {corners.dtype} {corners.shape}")
    if points.ndim != 2 or points.shape[1] != 3 or not 0 <= corners.min() <= corners.max() < len(points):
        raise ValueError(f"positions must be of shape (n, 3) and hold every particle of cells, got {points.shape}")
    suffix = file.suffix.lower()
    allowed = (*SURFACES, ".msh", ".vtk", ".vtu") if width == 3 else tuple(SOLIDS)
    if suffix not in allowed:
        raise ValueError(f"{_CELLS[width]} cells go to {', '.join(allowed)}, got {file.name}")
    used, flat = np.unique(corners, return_inverse=True)
    points, corners = points[used], flat.reshape(corners.shape)
    if suffix in SOLIDS:
        meshio = _library("meshio")
        mesh = meshio.Mesh(points, [(_CELLS[width], corners)])
        importlib.import_module(f"meshio.{SOLIDS[suffix]}").write(file, mesh)
        return
    library = _library("trimesh")
    surface = library.Trimesh(points, corners, process=False)
    if suffix == ".gltf":
        data = library.exchange.gltf.export_gltf(library.Scene(surface), embed_buffers=True)["model.gltf"]
    else:
        data = surface.export(file_type=suffix[1:])
    file.write_bytes(data.encode() if isinstance(data, str) else data)


def _existing(path: str | Path, suffixes: tuple[str, ...]) -> Path:
    file = Path(path)
    if file.suffix.lower() not in suffixes:
        raise ValueError(f"{file.name} must end in one of {', '.join(suffixes)}")
    if file.is_dir():
        raise ValueError(f"{file} is broken: it is a folder")
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    return file


def _check_tetgen(file: Path) -> None:
    """Check that TetGen's two files have a first line that counts, for which meshio would otherwise look forever.

    Raises:
        OSError: if one of them is not there.
        ValueError: if one has blank lines and comments only.
    """
    for suffix in (".node", ".ele"):
        with file.with_suffix(suffix).open() as lines:
            if not any(line.strip() and not line.strip().startswith("#") for line in lines):
                raise ValueError(f"{file.with_suffix(suffix).name} has no numbers")


def _library(name: str) -> Any:
    return load_optional(name, "for this file", "mesh")


def _made(make: Any, file: Path, *arguments: Any) -> Any:
    """Make a mesh; an error names the file."""
    try:
        return make(*arguments)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
