"""Wrenches: what rests on a collider weighs what it weighs, whatever is in between."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Box, Fabric, Model, Plane, Scene, Solver, State, geometry

G, FRAME = 9.81, 1 / 60
LYING = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]


def table() -> tuple[Scene, np.ndarray]:
    """Return a scene with things at rest on three colliders, and what lies on each [N]."""
    scene = Scene(contact_radius=0.005)
    scene.add_collider(Plane(friction=0.5))
    scene.add_collider(Box((1.0, 0.1, 0.0), (0.2, 0.1, 0.2), friction=0.5))
    scene.add_collider(Box((2.0, 0.1, 0.3), (0.2, 0.1, 0.2), friction=0.5), moving=True)
    cube = scene.add_rigid_body(geometry.box((2, 2, 2), (0.1, 0.1, 0.1)), 1000.0, 0.025, position=(1.05, 0.25, 0.0))
    cloth = scene.add_cloth(8, 8, (0.2, 0.2), position=(0.0, 0.006, 0.1), rotation=LYING)
    scene.add_particles([(2.1, 0.205, 0.35)], mass=0.3)
    return scene, G * np.array([scene.mass[cloth.indices.ravel()].sum(), cube.mass, 0.3])


def rolled(scene: Scene, steps: int, wrenches: bool = True, num_envs: int = 2, lanes: int = 4) -> State:
    solver = Solver(Model(scene, num_envs, lanes=lanes), substeps=10, wrenches=wrenches, threads=1)
    state, control = solver.state(), solver.control()
    for _ in range(steps):
        solver.step(state, control, FRAME)
    return state


def test_what_rests_weighs_what_it_weighs() -> None:
    """Guards particles, rigid bodies, the order of colliders, and the point that torques are about."""
    scene, weights = table()
    found = rolled(scene, 40).get_wrenches()
    assert found.shape == (2, 3, 6) and found.dtype == np.float32
    assert_array_equal(found[0], found[1])
    assert_allclose(found[0, :, 1], -weights, rtol=0.02)
    assert_allclose(found[0][:, [0, 2]], 0.0, atol=0.02 * weights[1])
    # Beside the middle of the box by 5 cm, and by 10 and 5 cm: lever x force.
    assert_allclose(found[0, 1, 3:], [0.0, 0.0, -0.05 * weights[1]], atol=0.02 * weights[1] * 0.05)
    assert_allclose(found[0, 2, 3:], [0.05 * weights[2], 0.0, -0.1 * weights[2]], atol=0.02 * weights[2] * 0.1)


def test_they_change_nothing_and_have_to_be_asked_for() -> None:
    scene = table()[0]
    asked, plain = rolled(scene, 3), rolled(scene, 3, wrenches=False)
    assert_array_equal(asked.get_positions(), plain.get_positions())
    with pytest.raises(RuntimeError, match="wrenches=True"):
        plain.get_wrenches()
    assert_array_equal(rolled(scene, 3, num_envs=1, lanes=1).get_wrenches()[0], asked.get_wrenches()[1])


@pytest.mark.parametrize("double", [False, True])
def test_of_steps_in_either_precision(double: bool) -> None:
    """Guards steps that work in float64 inside: what they sum comes back."""
    scene = Scene()
    scene.add_collider(Plane())
    scene.add_particles([(0.0, 0.005, 0.0)], mass=2.0)
    solver = Solver(Model(scene, lanes=1), substeps=10, wrenches=True, double=double)
    state, control = solver.state(), solver.control()
    for _ in range(3):
        solver.step(state, control, FRAME)
    assert_allclose(state.get_wrenches()[0, 0], [0.0, -2.0 * G, 0.0, 0.0, 0.0, 0.0], rtol=1e-3, atol=1e-6)


def test_a_scene_without_colliders_has_none() -> None:
    scene = Scene()
    scene.add_particles([(0.0, 0.0, 0.0)], mass=1.0)
    with pytest.raises(ValueError, match="wrenches=True needs a collider"):
        Solver(Model(scene), wrenches=True)


@pytest.mark.parametrize("sliding", [False, True])
def test_friction_pulls_and_bounces_push(sliding: bool) -> None:
    """Guards friction along the ground, and the mean force of a ball that bounces: m times the change of its speed."""
    scene = Scene()
    scene.add_collider(Plane(friction=0.3, restitution=0.0 if sliding else 0.8))
    scene.add_particles([(0.0, 0.005, 0.0)], mass=2.0)
    scene.velocities[0] = (50.0, 0.0, 0.0) if sliding else (0.0, -3.0, 0.0)
    solver = Solver(Model(scene), substeps=10, wrenches=True, quiet=True)
    state, control = solver.state(), solver.control()
    before = state.get_velocities()[0, 0].copy()
    solver.step(state, control, FRAME)
    force = state.get_wrenches()[0, 0, :3]
    gained = 2.0 * (state.get_velocities()[0, 0] - before) / FRAME
    assert_allclose(force, -gained - np.array([0.0, 2.0 * G, 0.0]), rtol=0.02, atol=0.05)


@pytest.mark.parametrize("floats", [False, True])
def test_a_tank_weighs_its_water(floats: bool) -> None:
    """Guards the walls of fluids: the floor carries the water and what floats in it; walls push nothing up."""
    scene = Scene()
    scene.add_collider(Plane(friction=0.0))
    for side in (-1, 1):
        scene.add_collider(Box((side * 0.1, 0.1, 0.0), (0.04, 0.1, 0.14), friction=0.0))
        scene.add_collider(Box((0.0, 0.1, side * 0.1), (0.14, 0.1, 0.04), friction=0.0))
    water = scene.add_fluid_block((-0.06, 0.0, -0.06), (0.06, 0.1, 0.06), spacing=0.02)
    weight = G * scene.mass[water].sum()
    if floats:
        cube = scene.add_rigid_body(geometry.box((2, 2, 2), (0.06, 0.06, 0.06)), 500.0, 0.02, position=(0.0, 0.14, 0.0))
        scene.add_fluid_boundary(cube.indices, cube.volumes)
        weight += G * cube.mass
    solver = Solver(Model(scene), substeps=8, damping=1.0, wrenches=True)
    state, control = solver.state(), solver.control()
    found = []
    for step in range(180):
        solver.step(state, control, FRAME)
        if step >= 120:
            found.append(state.get_wrenches()[0])
    force = np.mean(found, axis=0)[:, :3]
    assert force[0, 1] == pytest.approx(-weight, rel=0.02)
    assert_allclose(force[:, 1].sum(), -weight, rtol=0.02)
    assert force[1, 0] < 0.0 < force[3, 0]  # the walls along x are pressed outwards, as much as each other
    assert_allclose(force[[1, 3], 0].sum(), 0.0, atol=0.1 * abs(force[1, 0]))


def test_a_table_weighs_what_lies_on_cloth_with_a_thickness() -> None:
    """Guards cloth that friction with the table holds: of a box on it a tenth was read, and two fifths of a pile of
    layers that were put a little closer than they lie.
    """
    scene = Scene(contact_radius=0.003)
    scene.add_collider(Plane(friction=0.5))
    cloth = scene.add_cloth(8, 8, (0.14, 0.14), position=(0.0, 0.003, 0.07), rotation=LYING)
    scene.add_surface_contacts(cloth.triangles, 0.004, 0.4)
    for layer in range(3):
        place = (0.0, 0.003 + 0.0040004 * layer, 0.27)
        upper = scene.add_cloth(8, 8, (0.14, 0.14), Fabric.preset("towel"), place, LYING)
        scene.add_surface_contacts(upper.triangles, 0.004, 0.4)
    cube = scene.add_rigid_body(geometry.box((2, 2, 2), (0.06,) * 3), 2000.0, 0.012, position=(0.01, 0.036, 0.0))
    weight = G * (scene.mass.sum() - scene.mass[cube.indices].sum() + cube.mass)
    solver = Solver(Model(scene), substeps=10, wrenches=True, quiet=True)
    state, control, found = solver.state(), solver.control(), np.zeros(6)
    for step in range(60):
        solver.step(state, control, FRAME)
        found += state.get_wrenches()[0, 0] / 20 * (step >= 40)
    assert state.get_rigid_poses()[0, cube.index, 1] > 0.033  # on the cloth
    assert_allclose(found[1], -weight, rtol=0.02)
    assert_allclose(found[[0, 2]], 0.0, atol=0.02 * weight)
    assert_allclose(found[5], -0.01 * G * cube.mass, atol=0.002 * weight)
