"""Rigid bodies against closed forms: free rotation, slopes, tipping, falls, joints, poses; and what they do to others.

The scenes of the first part share one kernel, float64 on eight lanes, those of the second another, float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Model, Plane, RigidBody, Scene, Solver, State, geometry
from pbd_gym.colliders.solid import matrix_of
from pbd_gym.sim.control import Control

ENVS, DT, SUBSTEPS = 8, 1 / 60, 10
EPS = float(np.finfo(np.float64).eps)


def exact(scene: Scene, friction: float = 0.4, restitution: float = 0.0) -> tuple[Solver, State, Control]:
    """Return a solver in float64 for environments that may differ, with a floor."""
    scene.add_collider(Plane(friction=friction, restitution=restitution))
    solver = Solver(Model(scene, ENVS, dtype="float64", lanes=8), substeps=SUBSTEPS)
    state = solver.state()
    state.set_parameters(friction=1.0 + 1e-15 * np.arange(ENVS))  # the kernel is that of environments that differ
    return solver, state, solver.control()


def block(scene: Scene, sides: tuple[float, float, float], height: float, **options: Any) -> RigidBody:
    """Add a block with rounded edges, at a height [m]."""
    options = {"spacing": 0.05, "radius": 0.005, "contacts": False, **options}
    return scene.add_rigid_body(geometry.box((1, 1, 1), sides), 1000.0, position=(0.0, height, 0.0), **options)


def spread(scene: Scene, positions: np.ndarray) -> np.ndarray:
    """Return the distances of particles from each other [m], shape (e, n, n)."""
    return np.linalg.norm(positions[:, :, None] - positions[:, None], axis=3)


def about_z(angle: np.ndarray) -> np.ndarray:
    """Return quaternions (x, y, z, w) of turns about z [rad], shape (e, 4)."""
    return np.stack([0.0 * angle, 0.0 * angle, np.sin(0.5 * angle), np.cos(0.5 * angle)], axis=1)


def eulers_equations(inertia: np.ndarray, spin: np.ndarray, time: float, steps: int) -> np.ndarray:
    """Return angular velocities in the axes of the body after a time, ``I w' = (I w) x w`` by Runge-Kutta's method."""
    h, w = time / steps, spin

    def rate(w: np.ndarray) -> np.ndarray:
        return np.linalg.solve(inertia, np.cross(w @ inertia, w)[..., None])[..., 0]

    for _ in range(steps):
        a = rate(w)
        b = rate(w + 0.5 * h * a)
        c = rate(w + 0.5 * h * b)
        w = w + h / 6.0 * (a + 2.0 * b + 2.0 * c + rate(w + h * c))
    return w


def angular_momentum(scene: Scene, state: State) -> np.ndarray:
    """Return that of all particles about their centre of mass [kg m^2/s], shape (e, 3)."""
    x, v = state.get_positions(), state.get_velocities()
    share = scene.mass / scene.mass.sum()
    return np.einsum("k,ekx->ex", scene.mass, np.cross(x - (share @ x)[:, None], v))


def test_asymmetric_top_follows_eulers_equations() -> None:
    """Guards free rotation: no axis is at rest in space, one of them is unstable, and nothing is lost.

    The midpoint rule keeps the angular momentum to rounding; its iteration leaves ``(w h / 2)^6 < 1e-14`` a substep.
    The error of the rate is ``(w h)^2 / 12`` of it, here 1e-5, by which the top is early or late.
    """
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    body = block(scene, (0.3, 0.2, 0.1), 1.0)
    solver, state, control = exact(scene)
    axes = np.argsort(np.diag(body.inertia))
    spin = np.zeros((ENVS, 3))
    spin[:, axes[1]] = np.linspace(3.0, 6.0, ENVS)
    spin[:, axes[0]], spin[:, axes[2]] = 0.3, 0.2
    state.set_rigid_velocity(body, angular=spin)
    before = angular_momentum(scene, state)
    for _ in range(180):
        solver.step(state, control, DT)
    after = angular_momentum(scene, state)
    assert np.abs(after - before).max() < 180 * SUBSTEPS * 1e-14 * np.abs(before).max()
    wanted = eulers_equations(body.inertia, spin, 180 * DT, 3000)
    turns = np.stack([matrix_of(row) for row in state.get_rigid_poses()[:, 0, 3:]])
    found = np.einsum("eji,ej->ei", turns, state.get_rigid_velocities()[:, 0, 3:])
    assert_allclose(found, wanted, rtol=0, atol=2e-3)
    assert np.abs(wanted - spin).max() > 3.0  # it has turned over


def test_block_slides_above_the_angle_of_friction_and_sticks_below() -> None:
    """Guards friction of a body as a whole: ``a = g (sin - mu cos)`` beyond the angle, and rest before it."""
    scene = Scene()
    block(scene, (0.2, 0.1, 0.1), 0.05)
    solver, state, control = exact(scene, friction=0.4)
    slopes = np.arctan(0.4) * np.array([0.3, 0.6, 0.8, 0.95, 1.05, 1.2, 1.5, 2.0])
    state.set_parameters(gravity=9.81 * np.stack([np.sin(slopes), -np.cos(slopes), 0.0 * slopes], axis=1))
    for _ in range(60):
        solver.step(state, control, DT)
    speed = state.get_rigid_velocities()[:, 0]
    wanted = np.maximum(0.0, 9.81 * (np.sin(slopes) - 0.4 * np.cos(slopes)))
    assert_allclose(speed[:, 0], wanted, rtol=1e-2, atol=1e-3)
    assert_allclose(speed[:, 1:], 0.0, rtol=0, atol=2e-3)
    assert np.abs(state.get_rigid_poses()[:, 0, 3:6]).max() < 1e-3


def test_block_tips_over_beyond_its_critical_angle() -> None:
    """Guards the mass and the shape in contacts: it falls back where its centre is within the edge it stands on.

    Its corners stick out of the balls beneath them: ``tan = a / b`` for the half sides a and b.
    """
    scene = Scene()
    body = block(scene, (0.1, 0.2, 0.1), 0.1)
    solver, state, control = exact(scene, friction=1.0)
    critical = np.arctan(0.05 / 0.1)
    tilt = critical * np.array([0.3, 0.8, 0.95, 0.99, 1.01, 1.05, 1.2, 1.5])
    height = np.sin(tilt) * 0.05 + np.cos(tilt) * 0.1
    origin = np.stack([0.0 * tilt, height, 0.0 * tilt], axis=1)
    state.set_rigid_pose(body, origin, about_z(-tilt))
    assert_allclose(state.get_rigid_poses()[:, 0], np.concatenate([origin, about_z(-tilt)], axis=1), rtol=0, atol=1e-12)
    for _ in range(150):
        solver.step(state, control, DT)
    assert_allclose(state.get_rigid_poses()[:, 0, 1], [0.1] * 4 + [0.05] * 4, rtol=0, atol=1e-4)


def test_fall_from_a_metre() -> None:
    """Guards rigidity and restitution: the shape stays as it is in an impact at 4.4 m/s, and bounces are Newton's."""
    scene = Scene()
    body = block(scene, (0.2, 0.1, 0.1), 1.05)
    solver, state, control = exact(scene, restitution=0.5)
    turns = np.random.default_rng(0).normal(size=(ENVS, 4))
    turns[0] = (0.0, 0.0, 0.0, 1.0)
    state.set_rigid_pose(body, orientation=turns)
    at_rest = spread(scene, scene.positions[None])
    highest = 0.0
    for step in range(60):
        solver.step(state, control, DT)
        if step > 27:  # it has hit the floor
            highest = max(highest, float(state.get_rigid_poses()[0, 0, 1]) - 0.05)
        positions = state.get_positions()
        assert np.abs(spread(scene, positions) - at_rest).max() < 1e-12
        assert positions[:, body.samples, 1].min() > 0.005 - 0.005  # no ball is below the floor by more than it is wide
    assert highest == pytest.approx(0.25, rel=0.03)


def test_pendulum_of_a_hinge_has_its_period() -> None:
    """Guards joints to space: ``T = 2 pi sqrt(I / (m g d))`` for small swings, and the hinge keeps to its axis."""
    scene = Scene()
    body = block(scene, (0.05, 0.4, 0.05), 1.0)
    scene.add_joint(body, None, (0.0, 1.2, 0.0), axis=(0.0, 0.0, 1.0))
    solver, state, control = exact(scene)
    tilt = np.linspace(0.05, 0.06, ENVS)
    origin = np.stack([0.2 * np.sin(tilt), 1.2 - 0.2 * np.cos(tilt), 0.0 * tilt], axis=1)
    state.set_rigid_pose(body, origin, about_z(tilt))
    state.set_rigid_velocity(body, angular=(0.0, 0.0, 0.0), linear=(0.0, 0.0, 0.0))
    angles = [tilt]
    for _ in range(150):
        solver.step(state, control, DT)
        angles.append(2.0 * state.get_rigid_poses()[:, 0, 5])
    found = np.array(angles)
    inertia = body.inertia[2, 2] + body.mass * 0.2**2
    period = 2.0 * np.pi * np.sqrt(inertia / (body.mass * 9.81 * 0.2)) * (1.0 + tilt**2 / 16.0)
    rising = [np.flatnonzero((a[:-1] < 0.0) & (a[1:] >= 0.0)) for a in found.T]
    times = np.array(
        [[k - a[k] / (a[k + 1] - a[k]) for k in rows[:2]] for a, rows in zip(found.T, rising, strict=True)]
    )
    assert_allclose(np.diff(times, axis=1)[:, 0] * DT, period, rtol=2e-3)
    pose = state.get_rigid_poses()[:, 0]
    assert np.abs(pose[:, [2, 3, 4]]).max() < 1e-4
    assert_allclose(np.hypot(pose[:, 0], pose[:, 1] - 1.2), 0.2, rtol=1e-5)


def test_joined_bodies_keep_their_momenta() -> None:
    """Guards joints between bodies: three of them that fly about as one lose neither momentum nor the joints."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    mesh = geometry.box((1, 1, 1), (0.2, 0.05, 0.05))
    bodies = [
        scene.add_rigid_body(mesh, 1000.0, 0.05, 0.005, contacts=False, position=(0.2 * k, 2.0, 0.0)) for k in range(3)
    ]
    for k in range(2):
        scene.add_joint(bodies[k], bodies[k + 1], (0.2 * k + 0.1, 2.0, 0.0))
    solver, state, control = exact(scene)
    rng = np.random.default_rng(1)
    for body in bodies:
        state.set_rigid_velocity(body, rng.normal(0.0, 0.3, (ENVS, 3)), rng.normal(0.0, 3.0, (ENVS, 3)))
    solver.step(state, control, DT)
    spin, push = angular_momentum(scene, state), scene.mass @ state.get_velocities()
    for _ in range(30):
        solver.step(state, control, DT)
    assert_allclose(scene.mass @ state.get_velocities(), push, rtol=0, atol=1e-11)
    # A correction at the end of a substep acts along levers that have turned meanwhile, by w h = 0.01 and less.
    assert_allclose(angular_momentum(scene, state), spin, rtol=0, atol=1e-2 * np.abs(spin).max())
    poses = state.get_rigid_poses()
    turns = np.array([[matrix_of(pose[3:]) for pose in env] for env in poses])
    for k in range(2):
        one, two = (poses[:, k + n, :3] + turns[:, k + n] @ (s, 0.0, 0.0) for n, s in ((0, 0.1), (1, -0.1)))
        assert np.linalg.norm(one - two, axis=1).max() < 2e-4


def cup(scene: Scene, **options: Any) -> RigidBody:
    """Add a cup, 10 cm high, of an open mesh with walls."""
    profile = [(0.0, 0.0), (0.035, 0.0), (0.045, 0.1)]
    return scene.add_rigid_body(geometry.revolution(profile, 20), 1200.0, 0.012, thickness=0.01, **options)


def table(size: int = 1) -> tuple[Scene, dict[str, RigidBody], np.ndarray]:
    """Return a floor with a chain of rings, a box with a lid, a cup with marbles in it, and a ball on a rope."""
    scene = Scene(grip_count=1)
    scene.add_collider(Plane(friction=0.6))
    ring = geometry.torus(0.05, 0.012, 20, 1)
    turns = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]), np.array([[0.0, -1, 0], [0, 0, -1], [1, 0, 0]])
    bodies = {}
    for k in range(5):
        place = (1.0, 0.9 - 0.074 * k, 0.0)
        bodies[f"ring {k}"] = scene.add_rigid_body(ring, 2000.0, 0.012, position=place, rotation=turns[k % 2])
    scene.pin(bodies["ring 0"].indices)
    pot = geometry.revolution([(0.0, 0.0), (0.08, 0.0), (0.08, 0.1)], 24)
    bodies["pot"] = scene.add_rigid_body(pot, 1500.0, 0.014, thickness=0.012, position=(0.5, 0.006, 0.0))
    lid = geometry.revolution([(0.0, 0.0), (0.09, 0.0), (0.09, 0.014), (0.0, 0.014)], 24)
    bodies["lid"] = scene.add_rigid_body(lid, 800.0, 0.014, 0.006, position=(0.5, 0.114, 0.0))
    bodies["cup"] = cup(scene, position=(0.0, 0.005, 0.0))
    for k in range(3):
        place = (0.0, 0.03 + 0.03 * k, 0.005 * k)
        bodies[f"marble {k}"] = scene.add_rigid_body(geometry.ball(0.012, 2), 2500.0, 0.008, position=place)
    rope = scene.add_rope(np.linspace([0.0, 0.6, 0.3], [0.0, 0.15, 0.3], 16), lines=False)
    scene.pin(rope[:1])
    bodies["ball"] = scene.add_rigid_body(geometry.ball(0.04, 3), 2000.0, 0.02, position=(0.0, 0.11, 0.3))
    scene.add_joint(bodies["ball"], int(rope[-1]), (0.0, 0.15, 0.3))
    return scene, bodies, rope


@pytest.fixture(scope="module")
def played() -> dict[str, Any]:
    """Play one scene to its end: a hand lifts the lid, and the ball swings against the cup."""
    scene, bodies, rope = table()
    solver = Solver(Model(scene, 2, lanes=1), substeps=16)
    state, control = solver.state(), solver.control()
    rest = [state.get_rigid_poses()]
    for _ in range(60):
        solver.step(state, control, DT)
    rest.append(state.get_rigid_poses())
    saved = state.save()
    # The second environment has its ball pulled back, and a hand at the knob of its lid.
    swinging = np.concatenate([rope, bodies["ball"].indices])
    x = state.get_positions()
    pivot, angle = np.array([0.0, 0.6, 0.3]), np.radians(70.0)
    turn = np.array([[1, 0, 0], [0, np.cos(angle), np.sin(angle)], [0, -np.sin(angle), np.cos(angle)]])
    x[1, swinging] = pivot + (x[1, swinging] - pivot) @ turn
    state.set_positions(x)
    state.set_velocities(np.zeros_like(x))
    top = bodies["lid"].vertices[scene.positions[bodies["lid"].vertices, 1].argmax()]
    state.hold([[-1], [top]])
    control.move(np.array([[[0.0, 0.0, 0.0]], [[0.0, 0.003, 0.0]]]))
    path = []
    for _ in range(75):
        solver.step(state, control, DT)
        path.append(state.get_rigid_poses())
    return {
        "scene": scene, "bodies": bodies, "rope": rope, "rest": rest, "path": np.array(path), "state": state,
        "saved": saved, "solver": solver, "control": control,
    }  # fmt: skip


def test_a_chain_of_rings_hangs_by_contacts(played: dict[str, Any]) -> None:
    """Guards contacts between rigid bodies: rings that nothing joins carry each other, a pitch of 76 mm apart.

    Four balls leave a dent into which a fifth sinks by 0.29 of their diameter, here 3.5 mm, and so does the
    dent of the other ring.
    """
    bodies, poses = played["bodies"], played["path"][-1][0]
    heights = np.array([poses[bodies[f"ring {k}"].index, 1] for k in range(5)])
    assert heights[0] == pytest.approx(0.9, abs=1e-6)
    assert_allclose(-np.diff(heights), 0.076, rtol=0, atol=0.007)


def test_things_stay_where_they_stand(played: dict[str, Any]) -> None:
    """Guards rest: a pot with a lid on it, and a cup with marbles in it, for a second and more."""
    bodies, before, after = played["bodies"], played["rest"][1][0], played["path"][-1][0]
    for name in ("pot", "lid", "cup"):
        k = bodies[name].index
        assert_allclose(after[k, :3], before[k, :3], rtol=0, atol=2e-3)
        assert 1.0 - 2.0 * (after[k, 3] ** 2 + after[k, 5] ** 2) > 0.999
    assert after[bodies["lid"].index, 1] > 0.1
    for k in range(3):
        marble = after[bodies[f"marble {k}"].index, :3]
        assert np.hypot(marble[0], marble[2]) < 0.04 and 0.01 < marble[1] < 0.09


def test_a_hand_lifts_the_lid(played: dict[str, Any]) -> None:
    """Guards grips: the lid hangs by the vertex that is held, off the pot, which stays; its shape is as it was."""
    bodies, scene, state = played["bodies"], played["scene"], played["state"]
    lid, pot = bodies["lid"], bodies["pot"]
    lifted = played["path"][-1][1]
    x = state.get_positions()[1, lid.indices]
    assert x[:, 1].min() > 0.12
    assert_allclose(lifted[pot.index], played["rest"][1][1, pot.index], rtol=0, atol=0.01)
    at_rest = spread(scene, scene.positions[None, lid.indices])
    assert np.abs(spread(scene, x[None]) - at_rest).max() < 1e-3 * at_rest.max()


def test_a_ball_on_a_rope_knocks_the_cup_over(played: dict[str, Any]) -> None:
    """Guards joints to particles and momentum in contacts: the cup falls, and the ball stays on its rope."""
    bodies, path = played["bodies"], played["path"][:, 1]
    k = bodies["cup"].index
    up = 1.0 - 2.0 * (path[:, k, 3] ** 2 + path[:, k, 5] ** 2)
    assert up.min() < 0.3
    ball, end = path[-1, bodies["ball"].index], played["state"].get_positions()[1, played["rope"][-1]]
    top = ball[:3] + matrix_of(ball[3:]) @ (0.0, 0.04, 0.0)
    assert np.linalg.norm(top - end) < 1e-3


def test_a_saved_state_goes_on_with_the_same_bits(played: dict[str, Any]) -> None:
    """Guards that particles are all that lasts, and bad names of bodies, which change nothing."""
    solver, saved = played["solver"], played["saved"]
    results = []
    for _ in range(2):
        state, control = solver.state(), solver.control()
        state.load(saved)
        solver.step(state, control, DT)
        again = solver.state()
        again.load(state.save())
        solver.step(again, control, DT)
        results.append(again.get_positions())
    assert_array_equal(*results)
    with pytest.raises(ValueError, match="no such rigid body"):
        state.set_rigid_pose(99, (0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="orientation"):
        state.set_rigid_pose(0, orientation=np.zeros(4))
    # An environment that has diverged does not keep the others from being read.
    poses = state.get_rigid_poses()
    rows, lanes = state.positions_scalar.numpy(), state.model.lanes
    rows[1 // lanes, ..., 1 % lanes] = np.inf
    state.positions_scalar.assign(rows)
    assert np.isnan(state.get_rigid_poses()[1]).all() and np.isnan(state.get_rigid_velocities()[1]).all()
    assert_array_equal(state.get_rigid_poses()[0], poses[0])
    with pytest.raises(ValueError, match="chebyshev"):
        Solver(solver.model, substeps=10, chebyshev=0.5, iterations=3)
