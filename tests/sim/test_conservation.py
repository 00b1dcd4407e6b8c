"""What a step keeps: linear momentum, angular momentum of a projection, and never more energy than before."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.materials.materials import ClothMaterial
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.control import Control
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State

EPS = float(np.finfo(np.float64).eps)
NO_GRAVITY = (0.0, 0.0, 0.0)


def start(scene: Scene, iterations: int = 1) -> tuple[Solver, State, Control]:
    solver = Solver(Model(scene, dtype="float64"), substeps=1, iterations=iterations)
    return solver, solver.state(), solver.control()


def test_projection_conserves_linear_and_angular_momentum() -> None:
    """Guards the weights: each projection has sum m dx = 0 and sum m x cross dx = 0, x being predicted positions."""
    rng = np.random.default_rng(1)
    count = 50
    mass = rng.uniform(0.1, 10.0, 2 * count)
    scene = Scene(gravity=NO_GRAVITY)
    scene.add_particles(rng.normal(size=(2 * count, 3)), mass, rng.normal(size=(2 * count, 3)))
    scene.add_distance_constraints(
        rng.permutation(2 * count).reshape(-1, 2), rng.uniform(0.0, 1e-2, count), rng.uniform(0.1, 2.0, count)
    )
    solver, state, control = start(scene)
    h = 0.01
    predicted = scene.positions + h * scene.velocities
    solver.step(state, control, h)
    shift = mass[:, None] * (state.get_positions()[0] - predicted)
    assert np.abs(shift).max() > 0.1
    for pair in scene.constraints["distance"].indices[0]:
        size = np.abs(mass[pair, None] * predicted[pair]).max() * 10 * EPS
        assert_allclose(shift[pair].sum(0), 0.0, atol=size)
        assert_allclose(np.cross(predicted[pair], shift[pair]).sum(0), 0.0, atol=size * 10)


@pytest.mark.parametrize("iterations", [1, 5])
def test_free_cloth_conserves_linear_momentum(iterations: int) -> None:
    """Guards the sweep of many constraints: without gravity and pins no momentum appears.

    A step rounds every velocity by about eps |x| / h; 200 steps of 48 particles stay below the sum of these.
    """
    rng = np.random.default_rng(2)
    scene = Scene(gravity=NO_GRAVITY)
    cloth = scene.add_cloth(6, 8, lines=False)
    solver, state, control = start(scene, iterations=iterations)
    state.set_velocities(rng.normal(size=(cloth.indices.size, 3)))
    mass, h = 1.0 / scene.inv_mass, 0.005
    before = mass @ state.get_velocities()[0]
    for _ in range(200):
        solver.step(state, control, h)
    assert_allclose(mass @ state.get_velocities()[0], before, rtol=0, atol=200 * mass.sum() * 5 * EPS / h)


def swing(h: float, iterations: int) -> np.ndarray:
    """Let a flat cloth, held at two corners, swing for 3 s; return its energy after each step [J]."""
    material = ClothMaterial(stretch_compliance=1e-3, shear_compliance=1e-3, bend_compliance=1e-2)
    scene = Scene()
    cloth = scene.add_cloth(8, 8, material=material, rotation=[[1, 0, 0], [0, 0, -1], [0, 1, 0]], lines=False)
    scene.pin(cloth.corners[:2])
    solver, state, control = start(scene, iterations=iterations)
    batch = scene.constraints["distance"]
    pairs = np.concatenate(batch.indices)
    rest, compliance = (np.concatenate(batch.values[key]) for key in ("rest_length", "compliance"))
    free = scene.inv_mass > 0
    mass = 1.0 / scene.inv_mass[free]
    energies = []
    for _ in range(round(3.0 / h)):
        x, v = state.get_positions()[0], state.get_velocities()[0]
        stretch = np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1) - rest
        kinetic = 0.5 * mass @ (v[free] ** 2).sum(1)
        energies.append(kinetic + 9.81 * mass @ x[free, 1] + 0.5 * (stretch**2 / compliance).sum())
        solver.step(state, control, h)
    return np.array(energies)


def test_energy_of_a_swinging_cloth_does_not_grow() -> None:
    """Guards against energy made by the solver: converged XPBD is implicit Euler and loses some in every step."""
    energies = swing(2e-3, iterations=5)
    assert np.diff(energies).max() < 0.0
    assert energies[-1] < energies[0] - 0.1


def test_energy_that_one_sweep_makes_vanishes_with_the_step() -> None:
    """Guards the default of one sweep per substep: what a sweep leaves unsolved falls off faster than h^2.

    Unsolved constraints make energy now and then; halving the step must divide the largest growth by more than 4, and
    at 0.5 ms it is below 1e-3 of the 0.97 J that the middle of the cloth can turn by falling 0.5 m.
    """
    growth = [
        np.max(energies - np.minimum.accumulate(energies)) for energies in (swing(h, 1) for h in (2e-3, 1e-3, 5e-4))
    ]
    assert growth[1] < growth[0] / 4
    assert growth[2] < growth[1] / 4
    assert growth[2] < 1e-3
