"""Rigid bodies that begin in overlap are not thrown, and plates hold by what they squeeze with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Box, Model, Plane, RigidBody, Scene, Solver, State, geometry

G, FRAME = 9.81, 1 / 60
ENVS = 16


def energy(state: State, body: RigidBody, gravity: float) -> np.ndarray:
    """Return the energy of a cube in each environment [J]."""
    velocity = state.get_rigid_velocities()[:, body.index].astype(np.float64)
    height = state.get_rigid_poses()[:, body.index, 1].astype(np.float64)
    kinetic = body.mass * (velocity[:, :3] ** 2).sum(axis=1) + body.inertia[0, 0] * (velocity[:, 3:] ** 2).sum(axis=1)
    return 0.5 * kinetic + body.mass * gravity * height


def random_turns(rng: np.random.Generator) -> np.ndarray:
    turns = rng.normal(size=(ENVS, 4))
    turns[0], turns[1] = (0, 0, 0, 1), (0, 0, np.sin(0.02), np.cos(0.02))  # flat, and nearly so
    return turns / np.linalg.norm(turns, axis=1, keepdims=True)


@pytest.mark.parametrize("gravity", [0.0, G])
def test_being_pushed_out_is_no_speed(gravity: float) -> None:
    """Guards the depth that a substep begins with: taken for speed, it threw cubes at 1.4 to 20 m/s, by substep.

    Cubes turned at random begin up to 6 mm in the ground. What lifts them out is work against gravity, and no more.
    """
    scene = Scene(gravity=(0.0, -gravity, 0.0))
    scene.add_collider(Plane(friction=0.5))
    body = scene.add_rigid_body(geometry.box((2, 2, 2), (0.1, 0.1, 0.1)), 1000.0, 0.025, position=(0.0, 0.05, 0.0))
    solver = Solver(Model(scene, num_envs=ENVS, lanes=ENVS))
    rng = np.random.default_rng(1)
    for h in (4e-3, 1e-3, 2e-4):
        solver.set_steps(substeps=round(FRAME / h))
        state, control = solver.state(), solver.control()
        turns, depth = random_turns(rng), rng.uniform(5e-4, 6e-3, ENVS)
        origin = np.tile([0.0, 1.0, 0.0], (ENVS, 1))
        state.set_rigid_pose(body, origin, turns)
        origin[:, 1] -= state.get_positions()[:, body.vertices, 1].min(axis=1) + depth
        state.set_rigid_pose(body, origin, turns)
        before = energy(state, body, gravity)
        unit = body.mass * G * body.radius
        for _ in range(20):
            solver.step(state, control, FRAME)
            assert ((energy(state, body, gravity) - before - body.mass * gravity * depth) / unit).max() < 0.01
        low = state.get_positions()[:, body.vertices, 1].min(axis=1)
        assert low.min() > -2e-5  # out of the ground, where it was without gravity too
        if gravity == 0.0:
            assert low.max() < 2e-3 and np.abs(state.get_rigid_velocities()).max() < 5e-2


class Grip:
    """Cubes of 62 g between two plates, in the air, which overlap each of them by so much on either side.

    Args:
        friction: Coulomb coefficient of each environment.
        overlap: [m].
        substeps: of a step of 1/60 s.
    """

    def __init__(self, friction: np.ndarray, overlap: float, substeps: int) -> None:
        scene = Scene()
        at = 0.025 + 0.0075 + 0.002
        plates = [
            scene.add_collider(Box((side * at, 0.0, 0.0), (0.0075, 0.02, 0.011), friction=1.0), moving=True)
            for side in (-1, 1)
        ]
        self.cube = scene.add_rigid_body(geometry.box((2, 2, 2), (0.05, 0.05, 0.05)), 500.0, 0.0125)
        self.plates, self.solver = plates, Solver(Model(scene, num_envs=len(friction), lanes=8), substeps=substeps)
        self.state, self.control = self.solver.state(), self.solver.control()
        self.state.set_parameters(friction=friction, gravity=np.zeros((len(friction), 3)))
        self.move(8, [-(0.002 + overlap) / 8, 0.0, 0.0], opposite=True)
        self.state.set_parameters(gravity=np.tile([0.0, -G, 0.0], (len(friction), 1)))

    def move(self, frames: int, way: Any, opposite: bool = False) -> None:
        """Move the right plate by a way in each frame, the left one by the same or the opposite."""
        for plate, sign in zip(self.plates, (-1.0 if opposite else 1.0, 1.0), strict=True):
            self.control.move_collider(plate, displacement=sign * np.asarray(way))
        for _ in range(frames):
            self.solver.step(self.state, self.control, FRAME)
        for plate in self.plates:
            self.control.move_collider(plate, displacement=(0.0, 0.0, 0.0))

    def pose(self) -> np.ndarray:
        return self.state.get_rigid_poses()[:, self.cube.index]


@pytest.mark.parametrize("substeps", [8, 80])
@pytest.mark.parametrize("overlap", [2.5e-4, 1e-3])
def test_plates_hold_by_what_they_squeeze_with(overlap: float, substeps: int) -> None:
    """Guards what squeezes a body: M d / (2 ms)^2 from either side, whatever the substep. Cubes came out, and turned.

    Those held by 5 % more than they weigh stay and rise with the plates, those by 5 % less fall.
    """
    limit = G * 2e-3**2 / (2.0 * overlap)  # 2 mu N = W
    friction = np.array([0.8 * limit, 0.95 * limit, 1.05 * limit, 2.0 * limit, 0.5, 1.0])
    grip = Grip(friction, overlap, substeps)
    start = grip.pose()[:, 1]
    grip.move(12, (0.0, 0.0, 0.0))
    fallen = grip.pose()[:, 1] - start
    assert fallen[0] < -1e-3 and fallen[1] < -5e-4  # G / 20 for a fifth of a second: a centimetre at most
    assert_allclose(fallen[2:], 0.0, atol=2e-4)
    grip.move(30, (0.0, 0.1 * FRAME, 0.0))
    pose = grip.pose()[4:]
    assert_allclose(pose[:, :3], [[0.0, 0.05, 0.0]] * 2, atol=1e-3)
    assert np.abs(pose[:, 3:6]).max() < 2e-3


def test_a_cube_in_a_corner_leaves_it_along_both_walls() -> None:
    """Guards springs of several colliders: each overlap leaves by itself, and squeezes nothing."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_collider(Plane(friction=1.0))
    scene.add_collider(Box((-0.1, 0.0, 0.0), (0.1, 1.0, 1.0), friction=1.0))
    cube = scene.add_rigid_body(geometry.box((2, 2, 2), (0.1, 0.1, 0.1)), 1000.0, 0.025, position=(0.047, 0.049, 0.0))
    solver = Solver(Model(scene, lanes=1), substeps=20)
    state, control = solver.state(), solver.control()
    state.set_rigid_velocity(cube, linear=(0.0, 0.0, 0.3))
    for _ in range(30):
        solver.step(state, control, FRAME)
    assert_allclose(state.get_rigid_poses()[0, 0, :2], [0.05, 0.05], atol=5e-4)
    assert_allclose(state.get_rigid_velocities()[0, 0], [0, 0, 0.3, 0, 0, 0], atol=0.03)


@pytest.mark.parametrize("restitution", [0.0, 0.8])
def test_noise_on_particles_is_no_speed(restitution: float) -> None:
    """Guards rigid bodies whose particles are set with noise of 3 to 120 mm: their way back into the body was taken for
    speed, and threw a cube on the ground 25 to 1200 m up. Now energy comes from overlaps alone, at the limit above.
    """
    scene = Scene()
    scene.add_collider(Plane(restitution=restitution))
    body = scene.add_rigid_body(geometry.box((2, 2, 2), (0.1, 0.1, 0.1)), 1000.0, restitution=restitution)
    solver = Solver(Model(scene, num_envs=ENVS, lanes=ENVS), quiet=True)
    rng = np.random.default_rng(2)
    for h in (4e-3, 1e-3):
        solver.set_steps(substeps=round(FRAME / h))
        state, control = solver.state(), solver.control()
        noise = np.repeat([0.0, 0.003, 0.03, 0.12], ENVS // 4)[:, None, None]
        placed = state.get_positions() + noise * rng.normal(size=(ENVS, len(body.indices), 3))
        placed[..., 1] += np.tile([0.03, 0.05, 0.07, 0.2], ENVS // 4)[:, None]
        state.set_positions(placed)
        start = state.get_positions()
        assert_allclose(start[:, body.indices].mean(axis=1), placed.mean(axis=1), atol=0.02)
        spans = np.linalg.norm(start[:, :1] - start, axis=2) - np.linalg.norm(body.rest[:1] - body.rest, axis=1)
        assert np.abs(spans).max() < 1e-6
        lowest = start[:, body.vertices, 1].min(axis=1)
        before = energy(state, body, G) + body.mass * G * np.maximum(-lowest, 0.0)
        for _ in range(30):
            solver.step(state, control, FRAME)
            assert (energy(state, body, G) < before + 0.01 * body.mass * G * 0.1).all()


def test_rigid_positions_keep_their_bits() -> None:
    """Guards what is set as it was got: only scattered bodies move, and neither held nor pinned particles."""
    scene = Scene(gravity=(0.0, 0.0, 0.0), grip_count=1)
    cube = geometry.box((2, 2, 2), (0.1, 0.1, 0.1))
    one, other = (scene.add_rigid_body(cube, 1000.0, position=(0.3 * k, 0.0, 0.0)) for k in range(2))
    scene.pin([other.vertices[0]])
    solver = Solver(Model(scene, 2, lanes=1), substeps=10, quiet=True)
    state, control = solver.state(), solver.control()
    state.hold([[one.vertices[3]], [-1]])
    state.set_rigid_velocity(one, (0.1, 0.2, 0.3), (1.0, 2.0, 3.0))
    for shift in (900.0, 0.0):  # where float32 rounds by 61 um
        if shift:
            state.set_positions(state.get_positions() + np.array([shift, 0.0, 0.0]))
            state.set_rigid_velocity(one, (0.1, 0.2, 0.3), (1.0, 2.0, 3.0))
        else:
            state.reset()
            state.hold([[one.vertices[3]], [-1]])
        solver.step(state, control, FRAME)
        got = state.get_positions()
        state.set_positions(got)
        assert_array_equal(state.get_positions(), got)
    away = got.copy()
    away[0, one.vertices[3]] += 0.02
    away[1, other.vertices[0]] += 0.02
    state.set_positions(away)
    assert_array_equal(state.get_positions(), away)
    away[1, other.vertices[5]] += 0.02
    state.set_positions(away)
    now = state.get_positions()
    assert_array_equal(np.flatnonzero((now != away).any(axis=2)[0]), [])
    moved = np.flatnonzero((now != away).any(axis=2)[1])
    assert set(moved) == set(other.indices) - {other.vertices[0]}
    assert np.linalg.norm(now - got, axis=2)[1, moved].max() < 1e-3
