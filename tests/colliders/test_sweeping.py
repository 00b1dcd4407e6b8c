"""Fast particles and thin obstacles: nothing passes through in a substep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.colliders import Box, Capsule, Cylinder, Sphere
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from tests.colliders.helpers import RADIUS, advance, rotation

THIN = 0.002
TURN = rotation(np.random.default_rng(9))
SHAPES = {
    "sheet": Box((0.0, 0.0, 0.0), (1.0, 1.0, THIN)),
    "tilted sheet": Box((0.0, 0.0, 0.0), (1.0, THIN, 1.0), tuple(map(tuple, TURN))),
    "sphere": Sphere((0.0, 0.0, 0.0), 0.01),
    "wire": Capsule((-1.0, 0.0, 0.0), (1.0, 0.0, 0.1), THIN),
    "needle": Cylinder((-1.0, -0.05, 0.0), (1.0, 0.05, 0.0), THIN),
    "disc": Cylinder((0.0, 0.0, -THIN), (0.0, 0.0, THIN), 0.5),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SHAPES)
def test_bullets_stop_at_what_they_hit(name: str, dtype: str) -> None:
    """Guards the path: one substep of 1 m at 500 m/s, against the first contact found by sampling the path finely.

    With friction that holds everything, a particle that hits ends where it hit, but for the step by which the search
    goes on, half a contact radius or less. One that misses ends where it was going. Between the two are paths that only
    graze the contact radius, by less than a step sees: of these it is asked that they end outside.
    """
    shape, rng = SHAPES[name], np.random.default_rng(17)
    starts = rng.normal(size=(60, 3)) * [0.02, 0.02, 0.05] + [0, 0, 0.5]
    ends = rng.normal(size=(60, 3)) * [0.02, 0.02, 0.05] - [0, 0, 0.5]
    starts = starts[shape.signed_distance(starts)[0] > 2 * RADIUS]
    ends = ends[: len(starts)]
    shares = np.linspace(0, 1, 10_001)
    path = starts[:, None] + shares[:, None] * (ends - starts)[:, None]
    distance = shape.signed_distance(path.reshape(-1, 3))[0].reshape(path.shape[:2])
    scene = Scene(gravity=(0, 0, 0), contact_radius=RADIUS)
    h = 0.002
    scene.add_particles(starts, 1.0, (ends - starts) / h)
    scene.add_collider(replace(shape, friction=1e6, static_friction=None))
    x, _ = advance(scene, h, 1, dtype)
    assert (shape.signed_distance(x)[0] > RADIUS - 1e-6).all()
    misses = distance.min(axis=1) > RADIUS + 1e-4
    assert_allclose(x[misses], ends[misses], rtol=0, atol=1e-6)
    step = (RADIUS + min(shape.half_thickness, 2 * RADIUS)) / 4
    hits = distance.min(axis=1) < RADIUS - step
    assert hits.sum() > 8
    first = path[hits, np.argmax(distance[hits] < RADIUS, axis=1)]
    assert (np.linalg.norm(x[hits] - first, axis=1) < 1.5 * step + 1e-3).all()


@pytest.mark.parametrize("name", ["sheet", "tilted sheet", "disc"])
def test_without_friction_the_slip_goes_on(name: str) -> None:
    """Guards the response: only the motion into the sheet is taken, the rest of the way along it is kept."""
    shape = SHAPES[name]
    flat = {"sheet": np.array([0.0, 0, 1]), "tilted sheet": TURN[:, 1], "disc": np.array([0.0, 0, 1])}[name]
    along = np.cross(flat, [0.3, 0.5, 0.2])
    along /= np.linalg.norm(along)
    start, move = 0.1 * flat - 0.1 * along, -0.3 * flat + 0.2 * along
    scene = Scene(gravity=(0, 0, 0), contact_radius=RADIUS)
    scene.add_particles([start], 1.0, [move / 0.002])
    scene.add_collider(replace(shape, friction=0.0, static_friction=None))
    x, v = advance(scene, 0.002, 1)
    assert_allclose(x[0], (THIN + RADIUS) * flat + 0.1 * along, rtol=0, atol=1e-12)
    assert_allclose(v[0] @ along, 0.2 / 0.002, rtol=1e-9)


def test_bullet_in_a_corner_of_two_sheets() -> None:
    """Guards several rounds and several colliders: what slides along one sheet does not pass the next."""
    scene = Scene(gravity=(0, 0, 0), contact_radius=RADIUS)
    scene.add_particles([[0.3, 0.2, 0.0]], 1.0, [[-400.0, -350.0, 0.0]])
    scene.add_collider(Box((0, 0, 0), (1.0, THIN, 1.0), friction=0.0))
    scene.add_collider(Box((0, 0, 0), (THIN, 1.0, 1.0), friction=0.0))
    x, _ = advance(scene, 0.002, 1)
    assert (x[0, :2] > THIN + RADIUS - 1e-12).all()


def test_leaving_and_slow_particles_are_left_alone() -> None:
    """Guards against false hits: a particle that leaves a sheet fast, and one that lies on it, keep their motion."""
    scene = Scene(gravity=(0, 0, 0), contact_radius=RADIUS)
    scene.add_particles([[0, RADIUS + THIN, 0], [0.2, RADIUS + THIN, 0]], 1.0, [[300.0, 400.0, 0.0], [0.5, 0.0, 0.0]])
    scene.add_collider(Box((0, 0, 0), (1.0, THIN, 1.0), friction=0.0))
    x, v = advance(scene, 0.002, 1)
    assert_array_equal(x[0], [0.6, RADIUS + THIN + 0.8, 0.0])
    assert_allclose(v[1], [0.5, 0.0, 0.0], atol=1e-12)


def test_fast_slide_on_a_thin_sheet_obeys_friction() -> None:
    """Guards what slides farther than the sheet is thick in a substep: the same deceleration as a slow one."""
    substeps, h = 200, 0.002
    scene = Scene(contact_radius=RADIUS)
    scene.add_particles([[0, RADIUS + THIN, 0]], 1.0, [[20.0, 0.0, 0.0]])
    scene.add_collider(Box((0, 0, 0), (100.0, THIN, 1.0), friction=0.4))
    x, v = advance(scene, substeps * h, substeps)
    assert_allclose(v[0], [20.0 - 0.4 * 9.81 * substeps * h, 0.0, 0.0], rtol=0, atol=1e-8)
    assert_allclose(x[0, 1], RADIUS + THIN, rtol=0, atol=1e-12)


def test_a_bullet_in_one_environment_changes_no_bit_of_the_others() -> None:
    """Guards lanes: paths are followed for a whole group as soon as one lane is fast."""
    scene = Scene(contact_radius=RADIUS)
    rng = np.random.default_rng(2)
    scene.add_particles(rng.uniform(-0.3, 0.3, (50, 3)), 1.0)
    scene.add_collider(Box((0, 0, 0), (0.5, 0.02, 0.5), restitution=0.5))
    scene.add_collider(Sphere((0.1, 0.2, 0.0), 0.1))
    results = []
    for speed in (0.0, 400.0):
        solver = Solver(Model(scene, num_envs=6, lanes=4), substeps=4)
        state = solver.state()
        velocities = np.zeros((6, 50, 3))
        velocities[2, :, 1] = -speed
        state.set_velocities(velocities)
        solver.step(state, solver.control(), 0.02)
        results.append(np.concatenate([state.get_positions(), state.get_velocities()], axis=1).view(np.uint32))
    others = np.arange(6) != 2
    assert (results[0][2] != results[1][2]).any()
    assert_array_equal(results[0][others], results[1][others])


def test_runaway_particles_end() -> None:
    """Guards the search against numbers without end: it stops, and the environment counts as diverged."""
    scene = Scene(gravity=(0, 0, 0), contact_radius=RADIUS)
    scene.add_particles([[0, 1.0, 0], [0, 2.0, 0]], 1.0)
    scene.add_collider(SHAPES["sheet"])
    scene.add_collider(SHAPES["sphere"])
    solver = Solver(Model(scene), substeps=3)
    state = solver.state()
    # Past the setter, which refuses such speeds.
    state.velocities_scalar.numpy()[0, :, :, 0] = [[1e30, -1e30, 0], [-1e38, 0, 0]]
    solver.step(state, solver.control(), 0.01)
    assert state.diverged.numpy()[0] == 1
