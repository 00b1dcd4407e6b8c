"""Bodies as the scene builds them, left alone: at rest they stay, in motion they gain no energy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from pbd_gym import ClothMaterial, Cord, Fabric, Model, RopeMaterial, Scene, ShapeMaterial, SoftMaterial, Solver
from pbd_gym.geometry import revolution
from pbd_gym.geometry.garments import tshirt
from pbd_gym.geometry.grids import grid
from pbd_gym.geometry.regions import graph_regions
from pbd_gym.geometry.tetmeshes import ball, box, lattice, torus
from pbd_gym.geometry.trimeshes import TriMesh
from tests.sim.newton import terms_of

EPS = {dtype: float(np.finfo(dtype).eps) for dtype in ("float32", "float64")}


def octahedron() -> tuple[np.ndarray, np.ndarray]:
    """Vertices and outward triangles of an octahedron of 0.1 m."""
    vertices = 0.1 * np.concatenate([np.eye(3), -np.eye(3)])
    upper = [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2]]
    return vertices, np.array(upper + [[b, a, 5] for a, b, _ in upper])


def matched(scene: Scene) -> None:
    """Add a ball of overlapping regions."""
    mesh = ball(0.1, 2)
    scene.add_shape_matching(mesh, ShapeMaterial(compliance=1e-6), graph_regions(mesh.edges, len(mesh.positions)))


BUILDERS: dict[str, Callable[[Scene], object]] = {
    "cloth": lambda scene: scene.add_cloth(6, 7, lines=False),
    "rope": lambda scene: scene.add_rope([[0, 0, 0], [0.1, 0, 0], [0.2, 0.05, 0], [0.25, 0.05, 0.1]], lines=False),
    "box": lambda scene: scene.add_soft_body(box((2, 3, 2), (0.2, 0.3, 0.1))),
    "ball": lambda scene: scene.add_soft_body(ball(0.1, 2)),
    "torus": lambda scene: scene.add_soft_body(torus(0.1, 0.04, 8, 1)),
    "lattice": lambda scene: scene.add_soft_body(lattice(*octahedron(), 0.05)),
    "edges_and_volumes": lambda scene: scene.add_soft_body(ball(0.1, 2), SoftMaterial(model="edges_and_volumes")),
    "shape_matching": matched,
    "shirt": lambda scene: scene.add_garment(
        tshirt(spacing=0.08), Fabric.preset("jersey", bending="distance"), lines=False
    ),
    "denim_shirt": lambda scene: scene.add_garment(tshirt(spacing=0.08), Fabric.preset("denim"), lines=False),
    "denim": lambda scene: scene.add_cloth(5, 5, (0.1, 0.1), Fabric.preset("denim", bending="distance"), lines=False),
    "cord": lambda scene: scene.add_rope(np.linspace([0, 0, 0], [0.3, 0.1, 0], 8), Cord.preset("nylon"), lines=False),
}


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("body", BUILDERS)
def test_rest_shape_stays_at_rest(body: str, dtype: str) -> None:
    """Guards rest values of every builder: without forces 1,000 substeps move nothing but by rounding.

    A substep rounds positions of up to 1 m by eps, and the velocity keeps what was rounded: it walks at random, by
    n^(1/2) eps / h after n substeps, and the position by n^(3/2) eps.
    """
    scene = Scene(gravity=(0, 0, 0))
    BUILDERS[body](scene)
    solver = Solver(Model(scene, dtype=dtype), substeps=20)  # type: ignore[arg-type]
    state, control = solver.state(), solver.control()
    before = state.get_positions()
    for _ in range(50):
        solver.step(state, control, 1 / 60)
    assert np.abs(state.get_positions() - before).max() < 1000**1.5 * EPS[dtype]


def hanging_cloth() -> Scene:
    """A flat sheet held at two corners."""
    scene = Scene()
    flat = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    scene.pin(
        scene.add_cloth(6, 6, (0.5, 0.5), ClothMaterial(0.2, 1e-4, 1e-3, 1e-2), rotation=flat, lines=False).corners[:2]
    )
    return scene


def swinging_rope() -> Scene:
    """A horizontal rope held at one end."""
    scene = Scene()
    scene.pin(scene.add_rope(np.linspace([0, 0, 0], [0.5, 0, 0], 9), RopeMaterial(0.1, 1e-4, 1e-2), lines=False)[:1])
    return scene


def squeezed_beam() -> Scene:
    """A free beam; it starts at 70 % of its length."""
    scene = Scene(gravity=(0, 0, 0))
    scene.add_soft_body(box((3, 1, 1), (0.3, 0.1, 0.1)), SoftMaterial(1000.0, 1e5, 0.45))
    return scene


def energy(scene: Scene, x: np.ndarray, v: np.ndarray) -> float:
    """Kinetic, elastic and gravitational energy [J]."""
    free = scene.inv_mass > 0
    mass = 1.0 / scene.inv_mass[free]
    moving = 0.5 * mass @ (v[free] ** 2).sum(1) - mass @ (x[free] @ scene.gravity)
    return float(moving + sum(term.energy(x).sum() for term in terms_of(scene)))


@pytest.mark.parametrize("iterations", [1, 10])
@pytest.mark.parametrize(
    ("make", "stretch"), [(hanging_cloth, 1.0), (swinging_rope, 1.0), (squeezed_beam, [0.7, 1.1, 1.1])]
)
def test_energy_does_not_grow_in_ten_thousand_substeps(
    make: Callable[[], Scene], stretch: float | list[float], iterations: int
) -> None:
    """Guards stability without damping, over 5 s of substeps of 0.5 ms.

    Ten sweeps solve a substep, and implicit Euler only ever loses energy. One sweep leaves something unsolved, which
    may give some back for a while: 1.2 % of the motion for this stiff cloth, and an eighth of that at half the step.
    """
    scene = make()
    solver = Solver(Model(scene, dtype="float64"), substeps=40, iterations=iterations)
    state, control = solver.state(), solver.control()
    state.set_positions(scene.positions * stretch)
    energies, kinetic = [energy(scene, state.get_positions()[0], state.get_velocities()[0])], 0.0
    mass = 1.0 / np.where(scene.inv_mass > 0, scene.inv_mass, np.inf)
    for _ in range(250):
        solver.step(state, control, 0.02)
        v = state.get_velocities()[0]
        kinetic = max(kinetic, 0.5 * mass @ (v**2).sum(1))
        energies.append(energy(scene, state.get_positions()[0], v))
    found = np.array(energies)
    assert found[-1] < found[0] - 0.1 * kinetic
    growth = found - np.minimum.accumulate(found)
    assert growth.max() <= (1e-12 if iterations == 10 else 0.02) * kinetic


def test_bad_meshes_are_named() -> None:
    """Guards the reason: a mass of zero, say, tells neither which vertex, nor that its mesh is to blame."""
    places = (
        0.1
        * np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0.5, 0]])
        @ np.linalg.qr(np.arange(9.0).reshape(3, 3) ** 2 + np.eye(3))[0]
    )
    faces = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)
    cube, sheet, pot = box((1, 1, 1), (0.1, 0.1, 0.1)), grid(2, 3, 0.2, 0.1), revolution([(0, 0), (1, 0), (0, 1)], 8)
    far = [[1.0, 1.0, 1.0]]
    loose = replace(cube, positions=np.concatenate([cube.positions, far]))
    flat = replace(cube, positions=cube.positions * [1.0, 1.0, 0.0])
    holed = TriMesh(np.concatenate([pot.positions, far]), pot.triangles)
    scene = Scene()
    calls: list[tuple[Callable[[Any], object], object, str]] = [
        (scene.add_garment, TriMesh(places, faces), "1 vertices belong to no triangle; the first is number 4"),
        (scene.add_garment, TriMesh(places, np.append(faces, [[2, 1, 4]], axis=0)), "no area; the first is number 2"),
        (scene.add_garment, TriMesh(places[:4], faces + np.array([[0], [1]])), "there are 4: triangle 1 names 4"),
        (scene.add_garment, TriMesh(places[:4], faces[[0, 1, 0]]), "0 and 2 have the same vertices, .0, 1, 2."),
        (scene.add_garment, TriMesh(places[:4], np.array([[0, 1, 2], [0, 3, 2]])), "the first are 0 and 1; turn one"),
        (scene.add_sheet, replace(sheet, areas=sheet.areas * [1, 1, 1, 1, 0, 1]), "no area; the first is number 4"),
        (scene.add_soft_body, loose, "1 vertices belong to no tetrahedron; the first is number 8"),
        (scene.add_soft_body, flat, "tetrahedra are flat or inverted; the first is number 0"),
        (scene.add_shape_matching, loose, "1 vertices belong to no tetrahedron; the first is number 8"),
        (partial(scene.add_rigid_body, density=100.0), holed, "1 vertices belong to no triangle"),
    ]
    for builder, mesh, message in calls:
        with pytest.raises(ValueError, match=message):
            builder(mesh)
    assert scene.particle_count == 0
