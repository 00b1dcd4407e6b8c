"""Reading and writing of mesh files.

Triangles: OBJ, PLY, STL, OFF, glTF (.gltf, .glb). Tetrahedra: Gmsh (.msh), VTK (.vtk, .vtu), TetGen (.node with .ele
beside it), Medit (.mesh), Abaqus and CalculiX (.inp). glTF is read, and OBJ, PLY, STL, OFF and glTF are written, by
trimesh; Gmsh and VTK are read, and all of tetrahedra written, by meshio: the extra ``[mesh]`` brings both. No code in a
file is executed, and no other file is opened except the buffers that a .gltf names.
"""

from __future__ import annotations

import importlib
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.geometry.readers.abaqus import read_abaqus
from pbd_gym.geometry.readers.cells import Cells
from pbd_gym.geometry.readers.medit import read_medit
from pbd_gym.geometry.readers.obj import read_obj
from pbd_gym.geometry.readers.off import read_off
from pbd_gym.geometry.readers.ply import read_ply
from pbd_gym.geometry.readers.polygons import Polygons, triangles_of
from pbd_gym.geometry.readers.stl import read_stl
from pbd_gym.geometry.readers.tetgen import read_tetgen
from pbd_gym.geometry.repair import CellError
from pbd_gym.geometry.tetmeshes import TetMesh, tetmesh
from pbd_gym.geometry.trimeshes import TriMesh, trimesh
from pbd_gym.runtime.checks import number
from pbd_gym.runtime.extras import load_optional

SURFACES = (".obj", ".ply", ".stl", ".off", ".gltf", ".glb")
"""Suffixes of triangle files."""
SOLIDS = {
    ".msh": "gmsh",
    ".vtk": "vtk",
    ".vtu": "vtu",
    ".node": "tetgen",
    ".ele": "tetgen",
    ".mesh": "medit",
    ".inp": "abaqus",
}
"""Suffixes of tetrahedron files, and meshio's format name for each."""
_POLYGONS: dict[str, Callable[[bytes], Polygons]] = {
    ".obj": read_obj,
    ".ply": read_ply,
    ".stl": read_stl,
    ".off": read_off,
}
_CELLS = {3: "triangle", 4: "tetra"}
_HUGE = 10.0
"""Size beyond which a mesh is assumed to be in millimetres [m]."""
_PLURALS = {"hexahedron": "hexahedra", "wedge": "prisms", "pyramid": "pyramids", "polyhedron": "polyhedra"}
"""Names of cells that fill space but are not tetrahedra."""


def read_trimesh(path: str | Path, scale: float | None = None, weld: float = 1e-6, repair: bool = False) -> TriMesh:
    """Read the triangles of a file; polygons are triangulated, and the parts of a scene merged.

    Textures, normals, colours, groups and materials are ignored. Polygons need not be convex, but must not cross
    themselves.

    Args:
        path: .obj, .ply, .stl, .off, .gltf or .glb.
        scale: metres per unit of the file, 1 by default; a mesh of more than 10 m, perhaps in millimetres, then causes
        a warning. weld: distance within which vertices are joined; see :func:`pbd_gym.geometry.trimeshes.trimesh`.
        repair: whether flat, duplicate and flipped triangles are repaired; ``repairs`` of the mesh counts them.

    Raises:
        ValueError: for an unknown suffix, a broken file, or a mesh refused by
        :func:`pbd_gym.geometry.trimeshes.trimesh`.
            The message names the file and, for text files, the line.
        FileNotFoundError: if there is no such file.
        ImportError: for glTF without trimesh.
    """
    file = _existing(path, SURFACES)
    scale, hint = _metres(scale, file)
    library = None if file.suffix.lower() in _POLYGONS else _library("trimesh")
    lines: Sequence[int] = ()
    # Malformed files can make a reader fail in any way.
    try:
        if library is None:
            polygons = _POLYGONS[file.suffix.lower()](file.read_bytes())
            triangles, faces = triangles_of(polygons)
            vertices = polygons.vertices
            lines = np.asarray(polygons.lines)[faces].tolist() if len(polygons.lines) else ()
        else:
            mesh = library.load_scene(file, process=False).to_mesh()
            vertices, triangles = np.asarray(mesh.vertices), np.asarray(mesh.faces)
    except Exception as error:
        raise ValueError(f"{file} is broken: {_reason(error)}") from error
    made = _made(trimesh, file, lines, vertices * scale, triangles, weld, repair)
    _hint(file, made.positions, hint)
    return made


def read_tetmesh(path: str | Path, scale: float | None = None, weld: float = 1e-6, repair: bool = False) -> TetMesh:
    """Read the tetrahedra of a file; triangles, lines and points are ignored.

    Only the corners of higher-order cells are used, so that curved sides become straight.

    Args:
        path: .msh, .vtk, .vtu, .node, .ele, .mesh or .inp.
        scale: metres per unit of the file, 1 by default; a mesh of more than 10 m, perhaps in millimetres, then causes
        a warning. weld: distance within which vertices are joined; see :func:`pbd_gym.geometry.tetmeshes.tetmesh`.
        repair: whether flat, duplicate and flipped tetrahedra are repaired; ``repairs`` of the mesh counts them.

    Raises:
        ValueError: for an unknown suffix, a broken file, one that holds a surface or cells of other kinds that fill
        space,
            or a mesh refused by :func:`pbd_gym.geometry.tetmeshes.tetmesh`. The message names the file.
        FileNotFoundError: if there is no such file.
        ImportError: for Gmsh and VTK without meshio.
    """
    file = _existing(path, tuple(SOLIDS), ": a surface becomes a solid by geometry.lattice")
    scale, hint = _metres(scale, file)
    suffix = file.suffix.lower()
    if suffix in (".msh", ".vtk", ".vtu"):
        _library("meshio")
    try:
        if suffix in (".node", ".ele"):
            cells = read_tetgen(file)
        elif suffix == ".mesh":
            cells = read_medit(file.read_bytes())
        elif suffix == ".inp":
            cells = read_abaqus(file.read_bytes())
        else:
            cells = _by_meshio(file)
    except Exception as error:
        raise ValueError(f"{file} is broken: {_reason(error)}") from error
    _check_kinds(file, cells)
    made = _made(tetmesh, file, cells.lines, cells.vertices * scale, cells.tets, weld, repair)
    _hint(file, made.positions, hint)
    return made


def write_mesh(path: str | Path, positions: ArrayLike, cells: ArrayLike) -> None:
    """Write the triangles or tetrahedra of a state; unused particles are omitted.

    Binary formats of triangles hold single precision, OBJ eight decimals, the formats of tetrahedra every bit.

    Args:
        path: triangles go to .obj, .ply, .stl, .off, .gltf, .glb, .msh, .vtk and .vtu, tetrahedra to .msh, .vtk, .vtu,
            .node, .ele, .mesh and .inp.
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


def _existing(path: str | Path, suffixes: tuple[str, ...], advice: str = "") -> Path:
    file = Path(path)
    if file.suffix.lower() not in suffixes:
        about = advice if file.suffix.lower() in SURFACES else ""
        raise ValueError(f"{file.name} must end in one of {', '.join(suffixes)}{about}")
    if file.is_dir():
        raise ValueError(f"{file} is broken: it is a folder")
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    return file


def _metres(scale: float | None, file: Path) -> tuple[float, bool]:
    """Return the metres per unit, and whether to check the size; glTF is in metres by its standard."""
    if scale is None:
        return 1.0, file.suffix.lower() not in (".gltf", ".glb")
    return number("scale", scale, positive=True), False


def _hint(file: Path, positions: np.ndarray, wanted: bool) -> None:
    """Warn of a mesh that is larger than this package is meant for."""
    size = np.ptp(positions, axis=0)
    if wanted and size.max() > _HUGE:
        extents = " x ".join(f"{length:.4g}" for length in size)
        warnings.warn(
            f"{file} is {extents} m large: if it was drawn in millimetres, give scale=0.001; scale=1.0 if not",
            stacklevel=3,
        )


def _by_meshio(file: Path) -> Cells:
    """Read Gmsh's and VTK's formats."""
    reader = importlib.import_module(f"meshio.{SOLIDS[file.suffix.lower()]}")
    with warnings.catch_warnings():
        # NumPy only warns where the numbers of a text end too early.
        warnings.filterwarnings("error", message="string or file could not be read")
        mesh = reader.read(file)
    tets, others = [np.zeros((0, 4), dtype=np.int64)], {}
    for block in mesh.cells:
        kind = block.type.lower().replace("vtk_lagrange_", "").replace("vtk_bezier_", "")
        if kind.startswith("tetra"):
            tets.append(np.asarray(block.data)[:, :4].astype(np.int64))  # corners come first in every order
        else:
            name = kind.rstrip("0123456789")
            others[name] = others.get(name, 0) + len(block.data)
    # VTK files may hold numbers in the other byte order.
    vertices = np.asarray(mesh.points).astype(np.float64)
    return Cells(vertices, np.concatenate(tets), others)


def _check_kinds(file: Path, cells: Cells) -> None:
    """Raise a ValueError for a file without tetrahedra, or with other cells that fill space."""
    count = len(cells.tets)
    for kind, plural in _PLURALS.items():
        if cells.others.get(kind):
            has = f"{cells.others[kind]} {plural}" + (f" beside {count} tetrahedra" if count else " and no tetrahedra")
            raise ValueError(
                f"{file}: it holds {has}: split them where the file comes from, or fill its surface by geometry.lattice"
            )
    faces = {kind: n for kind, n in cells.others.items() if kind.startswith(("triangle", "quad", "polygon"))}
    if count == 0 and faces:
        held = ", ".join(f"{n} cells of kind {kind}" for kind, n in faces.items())
        raise ValueError(
            f"{file}: the mesh is empty: it has no tetrahedra but a surface ({held}), which geometry.lattice fills"
        )
    if count == 0 and cells.others:
        held = ", ".join(f"{n} of {kind}" for kind, n in cells.others.items())
        raise ValueError(f"{file}: the mesh is empty: it has no tetrahedra; it holds {held}")


def _reason(error: Exception) -> str:
    """Return an error's message, and its type if the message is empty."""
    said = str(error).strip()
    if isinstance(error, ValueError) and said:
        return said
    if isinstance(error, MemoryError):
        return "it announces more than there is memory for"
    frames = traceback.extract_tb(error.__traceback__)
    place = frames[-1] if frames else None
    where = f" in {Path(place.filename).parent.name}'s {place.name}, at {place.line!r}" if place else ""
    return f"{type(error).__name__}{': ' + said if said else where}"


def _library(name: str) -> Any:
    return load_optional(name, "for this file", "mesh")


def _made(make: Any, file: Path, lines: Sequence[int], *arguments: Any) -> Any:
    """Make a mesh; errors name the file and the lines of the cells concerned."""
    try:
        return make(*arguments)
    except CellError as error:
        found = sorted({lines[cell] for cell in error.cells}) if len(lines) else []
        where = f" (line{'s' if len(found) > 1 else ''} {', '.join(map(str, found))})" if found else ""
        raise ValueError(f"{file}: {error}{where}") from error
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
