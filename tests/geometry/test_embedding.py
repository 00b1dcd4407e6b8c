"""Fine surfaces carried by coarse tetrahedra: cages, places, masses, and a body that lands on its skin."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Model, Scene, SoftMaterial, Solver, geometry
from pbd_gym.colliders import Plane
from pbd_gym.geometry import TetMesh, TriMesh
from pbd_gym.geometry.embedding import embed, skin_masses
from pbd_gym.geometry.solid_angles import winding_number
from pbd_gym.geometry.surfaces import nearest_triangles
from pbd_gym.rendering.pictures.scenes import scene_frame


def surface(segments: int = 20, rings: int = 3) -> TriMesh:
    """The surface of a torus alone."""
    solid = geometry.torus(0.25, 0.1, segments, rings)
    used, triangles = np.unique(solid.triangles, return_inverse=True)
    return TriMesh(solid.positions[used], triangles.reshape(-1, 3).astype(np.int32))


@pytest.fixture(scope="module")
def torus() -> tuple[TriMesh, TetMesh]:
    skin = surface()
    return skin, geometry.cage(skin, 0.08)


def test_a_cage_fills_its_surface_and_hardly_leaves_it(torus: tuple[TriMesh, TetMesh]) -> None:
    skin, cage = torus
    corners = skin.positions[skin.triangles]
    staircase = geometry.lattice(skin.positions, skin.triangles, 0.08)

    def sticks_out(mesh: TetMesh) -> float:
        outside = mesh.positions[winding_number(mesh.positions, corners) < 0.5]
        return float(np.linalg.norm(nearest_triangles(outside, corners)[0] - outside, axis=1).max(initial=0.0))

    assert sticks_out(cage) < 0.5 * sticks_out(staircase)
    assert (cage.volumes() > 0.05 * 0.08**3 / 6).all()
    assert 0.6 < cage.volume() / staircase.volume() < 1.0
    assert np.array_equal(cage.tets, staircase.tets)


def test_places_are_reproduced_and_follow_any_affine_map(torus: tuple[TriMesh, TetMesh]) -> None:
    skin, cage = torus
    which, weights = embed(skin.positions, cage)
    assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    rng = np.random.default_rng(0)
    turn, shift = rng.normal(size=(3, 3)), rng.normal(size=3)
    carried = np.einsum("nk,nkc->nc", weights, (cage.positions @ turn.T + shift)[cage.tets[which]])
    assert_allclose(carried, skin.positions @ turn.T + shift, atol=1e-12)
    middles = cage.positions[cage.tets].mean(axis=1)
    found, inner = embed(middles, cage)
    assert_allclose(inner, 0.25, atol=1e-9)
    assert np.array_equal(found, np.arange(len(middles)))


def test_masses_keep_total_centre_and_sign(torus: tuple[TriMesh, TetMesh]) -> None:
    skin, cage = torus
    which, weights = embed(skin.positions, cage)
    mass = 700.0 * cage.vertex_volumes()
    coarse, light = skin_masses(mass, cage.tets[which], weights, skin.vertex_areas())
    assert (coarse > 0.0).all() and (light > 0.0).all() and light.sum() > 0.1 * mass.sum()
    assert coarse.sum() + light.sum() == pytest.approx(mass.sum(), rel=1e-12)
    assert_allclose(coarse @ cage.positions + light @ skin.positions, mass @ cage.positions, atol=1e-12)


def test_a_body_falls_freely_and_lands_on_its_skin(torus: tuple[TriMesh, TetMesh]) -> None:
    """In flight it is the body without a skin; on the floor it lies on the skin, which its tetrahedra have not left."""
    skin, cage = torus
    scene = Scene()
    scene.add_collider(Plane(friction=0.5))
    body = scene.add_soft_body(cage, SoftMaterial(1000.0, 2e5, 0.3), (0.0, 0.3, 0.0), skin=skin)
    assert set(scene.hidden) == set(body.indices) and len(body.skin) == len(skin.positions)
    frame = scene_frame(scene, scene.positions)
    assert set(np.unique(frame.triangles)) == set(body.skin)
    solver = Solver(Model(scene), substeps=16, iterations=1, quiet=True)
    state, control = solver.state(), solver.control()
    mass = 1.0 / scene.inv_mass

    def step(solver: Solver, frames: int) -> np.ndarray:
        for _ in range(frames):
            solver.step(state, control, 1 / 60)
        found: np.ndarray = state.get_positions()[0].astype(np.float64)
        return found

    centre = mass @ scene.positions / mass.sum()
    h = 1 / 60 / 16
    falling = step(solver, 6)
    n = 6 * 16
    assert_allclose(mass @ falling / mass.sum() - centre, [0.0, -9.81 * h * h * n * (n + 1) / 2, 0.0], atol=2e-4)
    solver = Solver(solver.model, substeps=16, iterations=1, damping=2.0, quiet=True)
    resting = step(solver, 150)
    assert abs(resting[body.skin][:, 1].min() - scene.contact_radius) < 1e-3
    assert resting[body.indices][:, 1].min() > 0.0
    which, weights = embed(skin.positions, cage)
    carried = np.einsum("nk,nkc->nc", weights, resting[body.tets[which]])
    assert np.linalg.norm(carried - resting[body.skin], axis=1).max() < 6e-3
    speed = np.linalg.norm(state.get_velocities()[0], axis=1)
    assert speed.max() < 0.05
