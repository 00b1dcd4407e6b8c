"""The elastic energy that a window shows: closed forms, and what every kind turns into kinetic energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State
from pbd_gym.sim.traced import elastic_energy
from tests.constraints.samples import SAMPLES, TET


def state_of(scene: Scene, positions: Any, num_envs: int = 1) -> State:
    state = Solver(Model(scene, num_envs=num_envs, dtype="float64"), substeps=10).state()
    state.set_positions(np.asarray(positions, dtype=np.float64))
    return state


def segment(**parameters: Any) -> Scene:
    scene = Scene(grip_count=1)
    scene.add_particles([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], 2.0)
    scene.add_constraints("distance", [[0, 1]], label="spring", **parameters)
    return scene


def test_a_spring() -> None:
    """k (l - l0)^2 / 2, with factors of size and stiffness, in each environment its own."""
    state = state_of(segment(compliance=0.05), [[0.0, 0.0, 0.0], [1.3, 0.0, 0.0]], num_envs=2)
    state.set_parameters(size=np.array([1.0, 1.2]), stiffness=np.array([1.0, 3.0]))
    assert elastic_energy(state, 0) == pytest.approx(0.5 * 20.0 * 0.3**2)
    assert elastic_energy(state, 1) == pytest.approx(0.5 * 60.0 * 0.1**2)


def test_what_is_rigid_or_slack_stores_nothing() -> None:
    assert elastic_energy(state_of(segment(compliance=0.0), [[0.0, 0.0, 0.0], [1.3, 0.0, 0.0]])) == 0.0
    scene = Scene()
    scene.add_particles([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], 1.0)
    scene.add_constraints("tether", [[0, 1]], compliance=0.05)
    assert elastic_energy(state_of(scene, [[0.0, 0.0, 0.0], [0.7, 0.0, 0.0]])) == 0.0
    assert elastic_energy(state_of(scene, [[0.0, 0.0, 0.0], [1.3, 0.0, 0.0]])) == pytest.approx(0.9)


def test_a_volume() -> None:
    """A tetrahedron of 1/6 m^3 at 1.1 times its size: C = 0.331 / 6 m^3."""
    scene = Scene()
    scene.add_particles(TET, 1.0)
    scene.add_constraints("tet_volume", [[0, 1, 2, 3]], compliance=0.01)
    assert elastic_energy(state_of(scene, 1.1 * TET)) == pytest.approx((0.331 / 6) ** 2 / 0.02)


def test_a_cluster() -> None:
    """Two masses m, stretched by d and turned: each is d / 2 from its goal, 2 m (d / 2)^2 / (2 compliance)."""
    scene = Scene()
    scene.add_particles([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], 3.0)
    scene.add_constraints("shape_matching", [[0, 1]], compliance=0.01)
    state = state_of(scene, [[0.0, 0.0, 0.0], [0.0, 1.4, 0.0]])
    assert elastic_energy(state) == pytest.approx(2 * 3.0 * 0.2**2 / 0.02)


@pytest.mark.parametrize("kind", SAMPLES)
def test_every_kind_turns_it_into_kinetic_energy(kind: str) -> None:
    """Zero at rest; and when a deformed element is let go, motion gains what its constraint loses."""
    sample, rng = SAMPLES[kind], np.random.default_rng(3)
    rest = sample.rest(rng)
    count, width = rest.shape[:2]
    apart = rest + 10.0 * np.arange(count)[:, None, None]
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    particles = scene.add_particles(apart.reshape(-1, 3), 1.0)
    scene.add_constraints(kind, particles.reshape(count, width), **sample.parameters)
    solver = Solver(Model(scene, dtype="float64"), substeps=400)
    state, control = solver.state(), solver.control()
    assert elastic_energy(state) == pytest.approx(0.0, abs=1e-12)
    state.set_positions((apart + rng.uniform(-0.05, 0.05, rest.shape)).reshape(-1, 3))
    before = elastic_energy(state)
    assert before > 0.0
    solver.step(state, control, 0.1)
    kinetic = 0.5 * float((state.get_velocities()[0] ** 2).sum())
    assert kinetic > 1e-3 * before
    assert kinetic == pytest.approx(before - elastic_energy(state), rel=0.05)
