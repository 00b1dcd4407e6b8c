"""Files of meshes: every format there and back, and one clear error for each way to fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Model, Scene, SoftMaterial, Solver
from pbd_gym.geometry.garments import tshirt
from pbd_gym.geometry.mesh_files import SOLIDS, SURFACES, read_tetmesh, read_trimesh, write_mesh
from pbd_gym.geometry.tetmeshes import ball, box, tetmesh

SHIRT = tshirt(spacing=0.06)
BALL = ball(0.1, 2)


def as_sets(positions: np.ndarray, cells: np.ndarray, digits: int) -> set[frozenset[tuple[float, ...]]]:
    """Describe cells by where their corners are, whatever the order of vertices and cells."""
    rounded = np.round(positions, digits) + 0.0
    return {frozenset(tuple(rounded[v]) for v in cell) for cell in cells.tolist()}


@pytest.mark.parametrize("suffix", SURFACES)
def test_triangles_there_and_back(suffix: str, tmp_path: Path) -> None:
    """Guards every format of triangles: the same surface, same way round, hanging together, STL's included."""
    path = tmp_path / f"shirt{suffix}"
    write_mesh(path, SHIRT.positions, SHIRT.triangles)
    found = read_trimesh(path)
    assert len(found.positions) == len(SHIRT.positions)
    assert len(found.hinges()) == len(SHIRT.hinges()) + len(SHIRT.free_edges)
    assert as_sets(found.positions, found.triangles, 5) == as_sets(SHIRT.positions, SHIRT.triangles, 5)
    a, b, c = found.positions[found.triangles].swapaxes(0, 1)
    assert (np.cross(b - a, c - a)[(a + b + c)[:, 2] > 1e-6, 2] > 0).all()
    half = read_trimesh(path, scale=0.5)
    assert_allclose(half.areas().sum(), found.areas().sum() / 4)


@pytest.mark.parametrize("suffix", SOLIDS)
def test_tetrahedra_there_and_back(suffix: str, tmp_path: Path) -> None:
    """Guards every format of tetrahedra: the same bits, positively oriented, with their surface and edges."""
    path = tmp_path / f"ball{suffix}"
    write_mesh(path, BALL.positions, BALL.tets)
    found = read_tetmesh(path)
    assert_array_equal(found.positions, BALL.positions)
    assert_array_equal(np.sort(found.tets, axis=1), np.sort(BALL.tets, axis=1))
    assert_array_equal(found.edges, BALL.edges)
    assert_allclose(found.volumes(), BALL.volumes())
    assert_allclose(read_tetmesh(path, scale=2.0).volume(), 8 * BALL.volume())


def test_a_state_goes_to_files_and_back(tmp_path: Path) -> None:
    """Guards export: of two bodies the one that is named is written, where it is now."""
    scene = Scene()
    scene.add_particles([[9.0, 9.0, 9.0]], 1.0)
    body = scene.add_soft_body(BALL, SoftMaterial.preset("gelatine"), position=(0, 1, 0))
    solver = Solver(Model(scene, dtype="float64"), substeps=10)
    state = solver.state()
    solver.step(state, solver.control(), 0.1)
    now = state.get_positions()[0]
    for name, cells in (("fall.vtu", body.tets), ("fall.obj", body.triangles), ("fall.vtk", body.triangles)):
        write_mesh(tmp_path / name, now, cells)
    assert_array_equal(read_tetmesh(tmp_path / "fall.vtu").positions, now[body.indices])
    assert_allclose(read_trimesh(tmp_path / "fall.obj").positions[:, 1].min(), now[body.indices, 1].min(), atol=1e-7)
    assert now[body.indices, 1].max() < 1.1


def test_negative_orientation_is_turned_over() -> None:
    """Guards the convention: programs differ in the sign of a tetrahedron, and all of one sign is no error."""
    turned = tetmesh(BALL.positions, BALL.tets[:, [0, 1, 3, 2]])
    assert_allclose(turned.volumes(), BALL.volumes())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, t: (p, t[:0]), "empty"),
        (lambda p, t: (p * np.nan, t), "finite"),
        (lambda p, t: (p, t + 1), "must name vertices"),
        (lambda p, t: (p, t.astype(float)), "whole numbers"),
        (lambda p, t: (p, np.concatenate([t[:3, [0, 1, 3, 2]], t[3:]])), "3 of 160 tetrahedra are inverted"),
        (lambda p, t: (p * [1, 1, 0], t), "160 of 160 tetrahedra are flat"),
        (lambda p, t: (p, np.concatenate([t, t[:1]])), "not a manifold"),
        (lambda p, t: (np.append(p, [p[t[0]].mean(axis=0)], 0), np.append(t, [[*t[0, :3], len(p)]], 0)), "not a"),
    ],
)
def test_bad_tetrahedra_are_refused(change, message: str) -> None:  # type: ignore[no-untyped-def]
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=message):
        tetmesh(*change(BALL.positions, BALL.tets.astype(np.int64)))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("empty.obj", "", "empty"),
        ("garbage.obj", "v 0 0\nf 1 2 3\n", "broken|empty"),
        ("broken.glb", "no glTF", "broken"),
        ("broken.ply", "ply\nformat ascii 1.0\nelement vertex 3\n", "broken|empty"),
        ("points.ply", "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nend_header\n", "broken|empty"),
        ("empty.stl", "solid a\nendsolid a\n", "broken|empty"),
        ("fan.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0 -1 0\nf 1 2 3\nf 1 2 4\nf 1 2 5\n", "more than two"),
        ("turned.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 3 4\n", "opposite ways"),
        ("broken.msh", "no mesh", "broken"),
        ("broken.vtk", "no mesh", "broken"),
        ("broken.vtu", "no mesh", "broken"),
        ("broken.node", "no mesh", "broken"),
        ("alone.ele", "1 4 0\n1 1 2 3 4\n", "broken"),
        ("short.off", "OFF\n3 1 0\n0 0 0\n", "broken.*announced"),
        ("alone.node", "4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n", r"broken: alone\.ele is not beside it"),
        ("broken.mesh", "no mesh", "broken"),
        ("broken.inp", "*NODE\n1, 0, 0\n", "broken: line 2: a node has 3 numbers, got 2"),
        ("shirt.stp", "", "must end in one of .obj"),
    ],
)
def test_bad_files_are_named(name: str, text: str, message: str, tmp_path: Path) -> None:
    """Guards messages: each names the file and what is wrong with it, whatever a library makes of it."""
    path = tmp_path / name
    path.write_text(text)
    read = read_tetmesh if path.suffix in SOLIDS else read_trimesh
    with pytest.raises(ValueError, match=rf"{name}.*({message})"):
        read(path)


def test_surface_without_tetrahedra(tmp_path: Path) -> None:
    write_mesh(tmp_path / "shirt.vtk", SHIRT.positions, SHIRT.triangles)
    with pytest.raises(ValueError, match=r"shirt\.vtk: the mesh is empty: it has no tetra.*geometry\.lattice"):
        read_tetmesh(tmp_path / "shirt.vtk")


@pytest.mark.parametrize("suffix", SURFACES)
def test_a_surface_is_no_solid(suffix: str, tmp_path: Path) -> None:
    """Guards the way on: who gives a surface where tetrahedra are wanted is told what fills it."""
    with pytest.raises(ValueError, match=r"must end in one of \.msh.*geometry\.lattice"):
        read_tetmesh(tmp_path / f"shirt{suffix}")
    with pytest.raises(TypeError, match=r"a TetMesh, got a TriMesh.*geometry\.lattice"):
        Scene().add_soft_body(SHIRT)  # type: ignore[arg-type]


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no file"):
        read_trimesh(tmp_path / "none.obj")


@pytest.mark.parametrize(
    ("name", "positions", "cells", "message"),
    [
        ("a.obj", BALL.positions, BALL.tets, "tetra cells go to .msh"),
        ("a.node", SHIRT.positions, SHIRT.triangles, "triangle cells go to .obj"),
        ("a.obj", SHIRT.positions, SHIRT.triangles[:, :2], "cells"),
        ("a.obj", SHIRT.positions, SHIRT.triangles[:0], "cells"),
        ("a.obj", SHIRT.positions[:3], SHIRT.triangles, "positions"),
    ],
)
def test_what_cannot_be_written(
    name: str, positions: np.ndarray, cells: np.ndarray, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        write_mesh(tmp_path / name, positions, cells)
    assert not (tmp_path / name).exists()


def test_the_extra_is_named(tmp_path: Path) -> None:
    """Guards a plain install: the modules import, and reading and writing say what is missing."""
    code = (
        "import sys\n"
        "sys.modules['trimesh'] = sys.modules['meshio'] = None\n"
        "from pbd_gym.geometry.mesh_files import read_tetmesh, read_trimesh, write_mesh\n"
        "import numpy as np\n"
        "open('a.glb', 'w').close(); open('a.vtk', 'w').close()\n"
        "calls = [lambda: read_trimesh('a.glb'), lambda: read_tetmesh('a.vtk')]\n"
        "calls += [lambda: write_mesh('b.ply', np.eye(3), np.array([[0, 1, 2]]))]\n"
        "for call in calls:\n"
        "    try: call()\n"
        "    except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["trimesh", "meshio", "trimesh"]
    assert done.stdout.count("[mesh]'") == 3


def test_edge_volumes_of_a_box() -> None:
    """Guards the share of each edge: six edges of each tetrahedron."""
    mesh = box((2, 1, 1), (2.0, 1.0, 1.0))
    shares = mesh.edge_volumes()
    assert shares.shape == (len(mesh.edges),)
    assert_allclose(shares.sum(), 6 * 2.0)
    index = [tuple(e) for e in mesh.edges.tolist()]
    a, b = index[5]
    expected = sum(v for t, v in zip(mesh.tets.tolist(), mesh.volumes(), strict=True) if a in t and b in t)
    assert_allclose(shares[5], expected)


@pytest.mark.parametrize("suffix", [*SURFACES, *SOLIDS])
def test_files_cut_short_and_folders_are_one_clear_error(suffix: str, tmp_path: Path) -> None:
    """Guards against readers that wait for a line that never comes, too: TetGen's."""
    path = tmp_path / f"mesh{suffix}"
    read: Any = read_trimesh if suffix in SURFACES else read_tetmesh
    write_mesh(path, *((SHIRT.positions, SHIRT.triangles) if suffix in SURFACES else (BALL.positions, BALL.tets)))
    whole = path.read_bytes()
    for length in (0, 10, len(whole) // 3):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=str(path)):
            read(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(ValueError, match=f"{path} is broken"):
        read(path)
