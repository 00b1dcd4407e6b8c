"""Rigid bodies that meet: overlaps throw nobody, impacts keep angular momentum, and bounce by their restitution."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Model, Plane, RigidBody, Scene, Solver, State, geometry

FRAME = 1 / 60
BALL = geometry.ball(0.05, 3)


def moments(scene: Scene, state: State) -> tuple[np.ndarray, np.ndarray, float]:
    """Return momentum [kg m/s], angular momentum [kg m^2/s] and kinetic energy [J] of all particles."""
    x, v, mass = state.get_positions()[0], state.get_velocities()[0], scene.mass[:, None]
    return (mass * v).sum(axis=0), (mass * np.cross(x, v)).sum(axis=0), 0.5 * float((mass * v * v).sum())


def pair(offset: float, friction: float = 0.5, restitution: float = 0.0) -> tuple[Scene, RigidBody, RigidBody]:
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    first, second = (
        scene.add_rigid_body(BALL, 1000.0, 0.02, friction=friction, position=at, restitution=restitution)
        for at in ((-0.08, 0.0, 0.0), (0.08, offset, 0.0))
    )
    return scene, first, second


def overlaps(scene: Scene, state: State) -> float:
    """Return how deep the balls of the first two bodies are in each other at most [m]."""
    one, two = (state.get_positions()[0, body.samples] for body in scene.rigid_bodies)
    gaps = np.linalg.norm(one[:, None] - two[None], axis=2)
    return sum(body.radius for body in scene.rigid_bodies) - float(gaps.min())


@pytest.fixture(scope="module")
def solver() -> Solver:
    return Solver(Model(pair(0.05)[0], dtype="float64", lanes=1))


@pytest.mark.parametrize(("substeps", "lost"), [(10, 0.03), (80, 0.004)])
def test_an_impact_beside_the_middle_keeps_angular_momentum(solver: Solver, substeps: int, lost: float) -> None:
    """Guards the point where friction acts: between the middles of balls it took 6 %, however short the substep.

    What is left goes with the substep.
    """
    solver.set_steps(substeps=substeps)
    state, control = solver.state(), solver.control()
    for body, speed in ((0, 1.0), (1, -1.0)):
        state.set_rigid_velocity(body, linear=(speed, 0.0, 0.0))
    push, spin, energy = moments(solver.model.scene, state)
    for _ in range(15):
        solver.step(state, control, FRAME)
    after = moments(solver.model.scene, state)
    assert abs(state.get_rigid_velocities()[0, 0, 5]) > 1.0  # they have met, with friction
    assert_allclose(after[0], push, atol=1e-9)
    assert_allclose(after[1], spin, atol=lost * np.abs(spin).max())
    assert after[2] < energy


def test_bodies_that_overlap_one_another_are_not_thrown(solver: Solver) -> None:
    """Guards overlaps of up to 8 mm: they left at 5 m/s. Half of v^2 stays below a hundredth of g r, with g = 9.81."""
    rng = np.random.default_rng(3)
    for h in (4e-3, 1e-3, 2e-4):
        solver.set_steps(substeps=round(FRAME / h))
        for overlap in rng.uniform(1e-3, 8e-3, 2):
            state, control = solver.state(), solver.control()
            state.set_rigid_pose(0, origin=(0.0, 0.0, 0.0))
            way = rng.normal(size=3)
            state.set_rigid_pose(1, origin=(0.1 - overlap) * way / np.linalg.norm(way))
            depth, fastest = overlaps(solver.model.scene, state), 0.0
            for _ in range(8):
                solver.step(state, control, FRAME)
                energy = moments(solver.model.scene, state)[2]
                fastest = max(fastest, energy)
            mass = sum(body.mass for body in solver.model.scene.rigid_bodies)
            assert fastest < 0.01 * mass * 9.81 * 0.01
            assert overlaps(solver.model.scene, state) < max(0.0, depth - 1e-3) + 1e-5


@pytest.mark.parametrize("substeps", [5, 20])
def test_light_bodies_in_heavy_ones_are_not_thrown(substeps: int) -> None:
    """Guards bodies that are put into heavier ones: a box of 20 g left one of 12 kg at 1.9 m/s (4 ms) or 0.6 (1 ms).

    It may not leave faster than it falls within a few substeps, and parts within 0.2 s.
    """
    scene = Scene()
    scene.add_collider(Plane(friction=0.4))
    for side, mass, at in ((0.06, 12.0, (0.0, 0.03, 0.0)), (0.12, 0.02, (0.02, 0.112, 0.0))):
        scene.add_rigid_body(geometry.box((1, 1, 1), (side,) * 3), mass / side**3, side / 4, position=at)
    solver = Solver(Model(scene, device="cpu"), substeps=substeps)
    state, control, fastest = solver.state(), solver.control(), 0.0
    for _ in range(20):
        solver.step(state, control, 0.02)
        fastest = max(fastest, float(np.abs(state.get_velocities()).max()))
    assert fastest < 0.08
    assert overlaps(scene, state) < 1e-3


@pytest.mark.parametrize("place", [-0.2, 0.1, 0.2])
def test_what_lies_on_a_long_body_does_so_wherever_it_is_held(place: float) -> None:
    """Guards reach: that of a held body was measured from the hand, and what lay more than it away fell through."""
    scene = Scene(grip_count=1)
    beam = scene.add_rigid_body(geometry.box((1, 1, 1), (0.6, 0.04, 0.1)), 700.0, 0.02)
    scene.add_joint(beam, None, (0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
    cube = geometry.box((1, 1, 1), (0.05, 0.05, 0.05))
    load = scene.add_rigid_body(cube, 2000.0, 0.02, position=(place, 0.045, 0.0))
    solver = Solver(Model(scene), substeps=10)
    state, control = solver.state(), solver.control()
    state.hold([[beam.samples[np.argmin(scene.positions[beam.samples, 0])]]])
    for _ in range(20):
        solver.step(state, control, FRAME)
    assert_allclose(state.get_rigid_poses()[0, load.index, :3], (place, 0.04, 0.0), atol=8e-3)


def test_fixed_bodies_hold_what_they_squeeze() -> None:
    """Guards what cannot part: two fixed boxes, 0.3 mm in a third between them, hold it by friction for 0.1 s.

    It would fall by 5 cm, or by 6 mm into the dents between their balls, where it ends up later.
    """
    scene = Scene()
    cube = geometry.box((1, 1, 1), (0.06, 0.06, 0.06))
    for x in (-0.0597, 0.0, 0.0597):
        scene.add_rigid_body(cube, 500.0, 0.015, position=(x, 0.0, 0.0))
    scene.pin(np.concatenate([scene.rigid_bodies[0].indices, scene.rigid_bodies[2].indices]))
    solver = Solver(Model(scene, device="cpu"), substeps=20)
    state, control = solver.state(), solver.control()
    for _ in range(6):
        solver.step(state, control, FRAME)
    assert abs(state.get_rigid_poses()[0, 1, 1]) < 3e-4


@pytest.mark.parametrize(("substeps", "restitution"), [(8, 0.5), (40, 0.9)])
def test_balls_bounce_by_their_restitution(substeps: int, restitution: float) -> None:
    """Guards restitution between bodies: that of a pair is the mean of its two, along the line of impact."""
    scene, first, _ = pair(0.0, friction=0.0, restitution=restitution)
    solver = Solver(Model(scene, dtype="float64", lanes=1), substeps=substeps)
    state, control = solver.state(), solver.control()
    state.set_rigid_velocity(first, linear=(1.0, 0.0, 0.0))
    for _ in range(15):
        solver.step(state, control, FRAME)
    speed = state.get_rigid_velocities()[0, :, 0]
    assert speed.sum() == pytest.approx(1.0)
    assert speed[1] - speed[0] == pytest.approx(restitution, abs=0.05)


@pytest.mark.parametrize("restitution", [-0.1, 1.1, np.nan, np.inf])
def test_a_restitution_is_a_share(restitution: float) -> None:
    scene = Scene()
    with pytest.raises(ValueError, match="restitution"):
        scene.add_rigid_body(BALL, 1000.0, 0.02, restitution=restitution)
    assert not scene.rigid_bodies and not scene.particle_count
