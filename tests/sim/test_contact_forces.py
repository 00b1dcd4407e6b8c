"""Forces of contacts: what rests weighs what it weighs, and what slides is held back by its friction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.colliders import Plane
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State

STEP = 1 / 30
G = 9.81


def towel() -> Scene:
    scene = Scene(contact_radius=0.01)
    scene.add_collider(Plane(friction=0.5))
    lying = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    scene.add_cloth(5, 5, (0.2, 0.2), position=(0.0, 0.012, 0.1), rotation=lying, lines=False)
    return scene


def rolled(scene: Scene, steps: int, num_envs: int = 1, **options: Any) -> State:
    solver = Solver(Model(scene, num_envs, **options), substeps=10, damping=2.0, contact_forces=True, threads=1)
    state, control = solver.state(), solver.control()
    if num_envs > 1:
        state.set_parameters(density=np.arange(1.0, num_envs + 1.0))
    for _ in range(steps):
        solver.step(state, control, STEP)
    return state


def test_a_towel_weighs_what_it_weighs() -> None:
    """Guards mass, time step and lanes: environments of other densities, in one vector."""
    scene = towel()
    state = rolled(scene, 60, num_envs=3)
    forces = state.get_contact_forces()
    weight = scene.mass.sum() * G * np.array([1.0, 2.0, 3.0])
    assert forces.shape == (3, 25, 3) and forces.dtype == np.float32
    assert_allclose(forces[:, :, 1].sum(axis=1), weight, rtol=0.02)
    assert_allclose(forces[:, :, [0, 2]].sum(axis=1), 0.0, atol=0.02 * weight[0])


def test_particles_push_one_another() -> None:
    """Guards contacts between particles: the lower of two carries both, and is itself pushed by the ground for both."""
    scene = Scene(contact_radius=0.1)
    scene.add_collider(Plane())
    pair = scene.add_particles([[0.0, 0.1, 0.0], [0.0, 0.3, 0.0]], [1.0, 2.0])
    scene.add_particle_contacts(pair, radius=0.1)
    lower, upper = rolled(scene, 30).get_contact_forces()[0, :, 1]
    assert upper == pytest.approx(2.0 * G, rel=0.02)
    assert lower == pytest.approx(1.0 * G, rel=0.02)  # 3 G from the ground, 2 G from above


def test_friction_is_part_of_it() -> None:
    """Guards the direction along the ground: a particle that slides is held back by Coulomb's force."""
    scene = Scene(contact_radius=0.1)
    scene.add_collider(Plane(friction=0.3))
    scene.add_particles([[0.0, 0.1, 0.0]], [2.0])
    scene.velocities[0, 0] = 50.0
    force = rolled(scene, 3).get_contact_forces()[0, 0]
    assert_allclose(force, [-0.3 * 2.0 * G, 2.0 * G, 0.0], rtol=0.02, atol=0.01)


def test_it_has_to_be_asked_for_and_changes_nothing() -> None:
    """Guards the bits of the simulation, and what is told where nothing was summed."""
    asked = rolled(towel(), 5)
    solver = Solver(Model(towel()), substeps=10, damping=2.0, threads=1)
    state, control = solver.state(), solver.control()
    for _ in range(5):
        solver.step(state, control, STEP)
    assert_array_equal(state.get_positions(), asked.get_positions())
    with pytest.raises(RuntimeError, match="contact_forces=True"):
        state.get_contact_forces()
    with pytest.raises(ValueError, match="chebyshev"):
        Solver(Model(towel()), substeps=10, iterations=4, chebyshev=0.5, contact_forces=True)
