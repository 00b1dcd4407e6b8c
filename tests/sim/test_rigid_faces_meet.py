"""Faces of rigid bodies on each other: as flat as the mesh, they rub by Coulomb's law and carry heavier bodies.

Balls that touch balls left dents: plates stuck in each other, coarse boxes sank in, light ones were driven through.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Model, Plane, RigidBody, Scene, Solver, State, geometry

FRAME, G = 1 / 60, 9.81


def add_box(
    scene: Scene, size: tuple[float, float, float], density: float, at: tuple[float, float, float], **more: float
) -> RigidBody:
    return scene.add_rigid_body(geometry.box((1, 1, 1), size), density, position=at, **more)


def run(scene: Scene, substeps: int, seconds: float, wrenches: bool = False) -> State:
    solver = Solver(Model(scene), substeps, wrenches=wrenches, quiet=True)
    state, control = solver.state(), solver.control()
    for _ in range(round(seconds / FRAME)):
        solver.step(state, control, FRAME)
    return state


@pytest.fixture(scope="module")
def plates() -> tuple[Scene, Model]:
    """Return three plates on each other, on ice."""
    scene = Scene()
    scene.add_collider(Plane(friction=0.0))
    for k in range(3):
        add_box(scene, (0.2, 0.04, 0.2), 500.0, (0.0, 0.04 * (k + 0.5), 0.0), friction=0.2)
    return scene, Model(scene)


@pytest.mark.parametrize("substeps", [10, 40])
@pytest.mark.parametrize(("pull", "wanted"), [(0.3, (0.1, 0.1, 0.1)), (0.7, (0.25, 0.25, 0.2)), (1.2, (0.4, 0.6, 0.2))])
def test_plates_rub_by_coulombs_law(
    plates: tuple[Scene, Model], substeps: int, pull: float, wanted: tuple[float, ...]
) -> None:
    """Guards friction between bodies, 0.2, where the middle one of three is pulled by so many times its weight.

    With 0.7 the upper one slips, and those below stay together: (0.7 - 0.2) / 2. Balls made 0.36 of 0.2.
    """
    scene, model = plates
    solver = Solver(model, substeps)
    state, control = solver.state(), solver.control()
    for _ in range(20):
        solver.step(state, control, FRAME)
    middle, forces = scene.rigid_bodies[1], np.zeros((1, scene.particle_count, 3))
    forces[0, middle.indices, 0] = pull * G * scene.mass[middle.indices]
    control.set_forces(forces)
    before = state.get_rigid_velocities()[0, :, 0]
    for _ in range(6):
        solver.step(state, control, FRAME)
    gained = (state.get_rigid_velocities()[0, :, 0] - before) / (6 * FRAME * G)
    assert_allclose(gained, wanted, atol=0.004)


@pytest.mark.parametrize(("below", "above", "beside"), [(0.5, 5.0, 0.0), (0.1, 1.6, 0.03), (1.0, 20.0, 0.02)])
def test_light_boxes_carry_heavy_ones(below: float, above: float, beside: float) -> None:
    """Guards the solve with the ground's contacts: 1.6 kg near the edge of 0.1 kg fell through it."""
    scene = Scene()
    scene.add_collider(Plane(friction=0.5))
    add_box(scene, (0.1, 0.1, 0.1), below / 1e-3, (0.0, 0.05, 0.0))
    add_box(scene, (0.1, 0.1, 0.1), above / 1e-3, (beside, 0.15, 0.0))
    state = run(scene, 10, 1.5, wrenches=True)
    pose = state.get_rigid_poses()[0]
    assert_allclose(pose[:, 1], [0.05, 0.15], atol=2e-4)
    assert abs(pose[1, 0] - beside) < 4e-3
    assert_allclose(-state.get_wrenches()[0, 0, 1], G * (below + above), rtol=2e-3)


@pytest.mark.parametrize("share", [0.4, 0.5])
def test_coarse_boxes_lie_on_faces(share: float) -> None:
    """Guards faces: balls 2.5 radii apart fell between those of the box below, by 20 mm."""
    scene = Scene()
    scene.add_collider(Plane())
    for at in ((0.0, 0.05, 0.0), (0.013, 0.15, 0.017)):
        add_box(scene, (0.1, 0.1, 0.1), 500.0, at, spacing=0.04, radius=0.04 * share)
    pose = run(scene, 10, 1.0).get_rigid_poses()[0]
    assert_allclose(pose[:, 1], [0.05, 0.15], atol=1e-4)


@pytest.mark.parametrize(("share", "slides"), [(0.97, False), (1.03, True)])
def test_a_box_slides_down_a_body(share: float, slides: bool) -> None:
    """Guards the angle of friction, and the acceleration beyond it, on another body."""
    angle = np.arctan(0.5) * share
    scene = Scene(gravity=(G * np.sin(angle), -G * np.cos(angle), 0.0))
    scene.add_collider(Plane(friction=5.0))
    add_box(scene, (0.6, 0.04, 0.6), 2000.0, (0.0, 0.02, 0.0), friction=0.5)
    add_box(scene, (0.1, 0.06, 0.1), 500.0, (-0.1, 0.07, 0.0), friction=0.5)
    pose = run(scene, 10, 1.0).get_rigid_poses()[0]
    way = pose[1, 0] - pose[0, 0] + 0.1
    wanted = G * (np.sin(angle) - 0.5 * np.cos(angle)) / 2.0 if slides else 0.0
    assert_allclose(way, wanted, rtol=0.02, atol=1e-3)


@pytest.mark.parametrize(("beside", "falls"), [(0.047, False), (0.053, True)])
def test_a_box_tips_over_the_corners_of_another(beside: float, falls: bool) -> None:
    """Guards corners: balls along the lower edges are a radius farther in, where a box of 0.1 m tipped at 0.04."""
    scene = Scene()
    scene.add_collider(Plane(friction=0.8))
    add_box(scene, (0.1, 0.1, 0.1), 2000.0, (0.0, 0.05, 0.0))
    add_box(scene, (0.1, 0.05, 0.2), 500.0, (beside, 0.125, 0.0))
    assert (run(scene, 10, 1.5).get_rigid_poses()[0, 1, 1] < 0.1) == falls


def test_thin_plates_have_two_sides() -> None:
    """Guards plates twice as thick as their balls: both sides are one plane there, and a block sank in."""
    scene = Scene()
    scene.add_collider(Plane())
    add_box(scene, (0.12, 0.02, 0.12), 1000.0, (0.0, 0.01, 0.0), spacing=0.02)
    add_box(scene, (0.06, 0.06, 0.06), 2000.0, (0.0, 0.05, 0.0), spacing=0.02)
    pose = run(scene, 20, 0.5).get_rigid_poses()[0]
    assert_allclose(pose[:, 1], [0.01, 0.05], atol=1e-4)


def test_stacks_are_still() -> None:
    """Guards impulses that balance: cubes that left their overlaps at once rocked for ever, at 0.1 rad/s."""
    scene = Scene()
    scene.add_collider(Plane(friction=0.5))
    for k in (4, 0, 2, 1, 3):
        add_box(scene, (0.1, 0.1, 0.1), 500.0, (1e-3 * k, 0.05 + 0.1 * k, 0.0))
    state = run(scene, 6, 3.0)
    assert np.abs(state.get_rigid_velocities()).max() < 5e-3
    assert_allclose(np.sort(state.get_rigid_poses()[0, :, 1]), 0.05 + 0.1 * np.arange(5), atol=2e-4)
