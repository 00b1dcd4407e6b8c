"""Conveyor belts: colliders that stay while their surface runs. The law is Coulomb's: mu g t, up to its speed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Box, Control, Fabric, FluidMaterial, Model, Scene, SoftMaterial, Solver, State, geometry
from tests.colliders.samples import SAMPLES, TURN

CTRL_DT, SPEED, G = 1 / 60, 0.5, 9.81
LYING = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]
BELT = Box((0.0, -0.05, 0.0), (3.0, 0.05, 1.0), surface_velocity=(SPEED, 0.3, 0.0))  # 0.3 m/s along the normal: nothing


def started(scene: Scene, **options: Any) -> tuple[Solver, State, Control]:
    """Return what steps a scene, with 16 substeps."""
    solver = Solver(Model(scene), substeps=16, **options)
    return solver, solver.state(), solver.control()


@pytest.mark.parametrize(("friction", "tilt"), [(0.5, 0.0), (0.5, 0.2), (0.1, 0.2), (0.3, -0.1)])
def test_bodies_go_with_a_belt_by_coulombs_law(friction: float, tilt: float) -> None:
    """Guards a particle, a cloth, a soft block and a rigid box, on the level, up and down a slope of so many radians.

    Friction pulls along the belt with mu g cos(tilt), and weight back with g sin(tilt), until bodies go with the belt;
    where friction is the weaker one, they slide back for ever.
    """
    scene = Scene((-G * np.sin(tilt), -G * np.cos(tilt), 0.0), contact_radius=0.0)
    scene.add_collider(replace(BELT, friction=friction, static_friction=None))
    block = geometry.box((2, 1, 2), (0.1, 0.04, 0.1))
    bodies: dict[str, Any] = {
        "particle": scene.add_particles([(0.0, 0.0, 0.8)], mass=0.1),
        "cloth": scene.add_cloth(6, 6, (0.1, 0.1), Fabric.preset("cotton"), (0.0, 0.0, 0.35), rotation=LYING).indices,
        "soft": scene.add_soft_body(block, SoftMaterial(1000.0, 1e5, 0.3), position=(0.0, 0.02, -0.3)).indices,
        "rigid": scene.add_rigid_body(block, 1000.0, 0.02, position=(0.0, 0.02, -0.8)).indices,
    }
    solver, state, control = started(scene)
    for step in range(1, 10):
        solver.step(state, control, CTRL_DT)
        right = min(G * (friction * np.cos(tilt) - np.sin(tilt)) * step * CTRL_DT, SPEED)
        for name, indices in bodies.items():
            velocity = state.get_velocities()[0, np.ravel(indices)].mean(axis=0)
            assert_allclose(velocity, [right, 0.0, 0.0], atol=0.012, err_msg=f"{name} after {step} steps")


def test_a_belt_turns_and_moves_with_its_collider() -> None:
    """Guards the axes of the velocity: those of the collider; it is added to the collider's own. Backwards, too."""
    for sign in (1.0, -1.0):
        scene = Scene(contact_radius=0.0)
        belt = replace(BELT, friction=5.0, static_friction=None, surface_velocity=(sign * SPEED, 0.0, 0.0))
        number = scene.add_collider(belt, moving=True)
        scene.add_particles([(0.0, 0.0, 0.0)], mass=0.1)
        solver, state, control = started(scene)
        state.set_pose(number, orientation=(0.0, np.sin(np.pi / 4), 0.0, np.cos(np.pi / 4)))  # x becomes -z
        control.move_collider(number, (0.2 * CTRL_DT, 0.0, 0.0))
        for _ in range(3):
            solver.step(state, control, CTRL_DT)
        assert_allclose(state.get_velocities()[0, 0], [0.2, 0.0, -sign * SPEED], atol=1e-3)


def test_what_lands_fast_with_the_speed_of_the_belt_keeps_it() -> None:
    """Guards particles that would pass through in a substep: the belt runs while they are stopped, and not before."""
    scene = Scene(contact_radius=0.0)
    belt = replace(BELT, surface_velocity=(SPEED, 0.0, 0.0))
    scene.add_collider(belt, moving=True)
    speed, heights = 100.0, np.array([0.02, 0.05, 0.08])  # of 0.104 m in a substep
    places = [(0.0, height, 0.1 * i) for i, height in enumerate(heights)]
    scene.add_particles(places, mass=0.1, velocities=[(SPEED, -speed, 0.0)] * 3)
    solver, state, control = started(scene)
    solver.step(state, control, CTRL_DT)
    assert_allclose(state.get_velocities()[0], [[SPEED, 0.0, 0.0]] * 3, atol=5e-3)
    assert_allclose(state.get_positions()[0, :, 0], SPEED * CTRL_DT, atol=1e-4)


@pytest.mark.parametrize(("below", "above"), [(1.0, 0.5), (0.5, 1.0)])
def test_a_squeezed_particle_goes_with_the_surface_that_rubs_more(below: float, above: float) -> None:
    """Guards a belt and a plate at rest that leave a particle no room."""
    scene = Scene(contact_radius=0.005)
    scene.add_collider(replace(BELT, friction=below, static_friction=None), moving=True)
    lid = replace(BELT, center=(0.0, 0.058, 0.0), friction=above, static_friction=None, surface_velocity=None)
    scene.add_collider(lid, moving=True)
    scene.add_particles([(0.0, 0.004, 0.0)], mass=0.1)
    solver, state, control = started(scene)
    for _ in range(3):
        solver.step(state, control, CTRL_DT)
    assert_allclose(state.get_velocities()[0, 0, 0], SPEED if below > above else 0.0, atol=5e-3)


def test_a_belt_takes_a_fluid_along() -> None:
    """Guards fluids: a drop that rubs on a belt goes with it, and one on a table stays."""
    found = []
    for speed in (0.0, SPEED):
        scene = Scene()
        scene.add_collider(replace(BELT, friction=1.0, static_friction=None, surface_velocity=(speed, 0.0, 0.0)))
        sticky = FluidMaterial(wall_friction=1.0)
        drop = scene.add_fluid_block((-0.04, 0.0, -0.04), (0.04, 0.04, 0.04), sticky)
        solver, state, control = started(scene)
        for _ in range(6):
            solver.step(state, control, CTRL_DT)
        found.append(state.get_velocities()[0, drop, 0].mean())
    assert abs(found[0]) < 0.02
    assert 0.2 < found[1] < SPEED


@pytest.mark.parametrize("name", SAMPLES)
def test_the_velocity_turns_with_a_shape(name: str) -> None:
    """Guards `moved`, and that numbers of any kind become a tuple."""
    velocity: Any = np.array([0.1, -0.2, 0.3], dtype=np.float32)
    given = {"cell": 0.01, "margin": 0.06} if name == "mesh" else {}
    shape = replace(SAMPLES[name].shape, surface_velocity=velocity, **given)
    assert shape.surface_velocity == tuple(velocity.astype(float).tolist())
    assert_allclose(shape.moved(shape.origin, TURN).surface_velocity, TURN @ velocity, rtol=1e-12)
    assert SAMPLES[name].shape.moved(shape.origin, TURN).surface_velocity is None
