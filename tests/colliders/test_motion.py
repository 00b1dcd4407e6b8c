"""Colliders that a task moves: what they carry, what they push, and that environments do not mix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.colliders import Box, Capsule, Cylinder, Plane, Sphere
from pbd_gym.colliders.solid import matrix_of
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from tests.colliders.helpers import RADIUS, rotation
from tests.colliders.samples import NAMES, SAMPLES

EPS = float(np.finfo(np.float64).eps)
GRAVITY = 9.81
H = 0.002


def begin(scene: Scene, substeps: int = 10, **options: Any) -> tuple[Solver, Any, Any]:
    solver = Solver(Model(scene, **({"dtype": "float64"} | options)), substeps=substeps)
    return solver, solver.state(), solver.control()


@pytest.mark.parametrize("name", NAMES)
def test_moved_shape_is_the_shape_seen_from_elsewhere(name: str) -> None:
    """Guards `origin` and `moved`: distances of moved points to the moved shape stay, and normals turn along."""
    rng = np.random.default_rng(3)
    shape, turn, place = SAMPLES[name].shape, rotation(rng), rng.normal(size=3)
    points = rng.normal(size=(200, 3))
    distance, normal = shape.signed_distance(points)
    there = shape.moved(place, turn)
    far, turned = there.signed_distance((points - shape.origin) @ turn.T + place)
    if name != "plane":  # whose origin is its point nearest to the world's
        assert_allclose(there.origin, place, atol=1e-14)
    assert_allclose(far, distance, atol=1e-13)
    assert_allclose(turned, normal @ turn.T, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_pose_puts_a_shape_where_moved_does(name: str) -> None:
    """Guards the frames in the kernel: what touches is pushed as by a collider that stands there from the start."""
    rng = np.random.default_rng(5)
    quaternion, place = rng.normal(size=4), rng.normal(size=3)
    there = SAMPLES[name].shape.moved(place, matrix_of(quaternion))
    scene = Scene(gravity=(0, 0, 0), contact_radius=RADIUS)
    points = place + rng.uniform(-0.3, 0.3, (300, 3))
    sample = SAMPLES[name]
    if sample.error > 1e-6:  # deep inside, a distance that is only nearly right may lead to another side
        points = points[there.signed_distance(points)[0] > -0.02]
    scene.add_particles(points, 1.0)
    number = scene.add_collider(SAMPLES[name].shape, moving=True)
    solver, state, control = begin(scene, 1)
    state.set_pose(number, place, quaternion)
    solver.step(state, control, 0.01)
    distance, normal = there.signed_distance(points)
    touched = distance < RADIUS
    assert 20 < touched.sum() < 300
    found = state.get_positions()[0]
    after = there.signed_distance(found)[0]
    assert_allclose(after, np.maximum(distance, RADIUS), rtol=0, atol=sample.error)
    if sample.error < 1e-6:  # and the direction is exact as well
        expected = points + np.maximum(RADIUS - distance, 0)[:, None] * normal
        assert_allclose(found, expected, rtol=0, atol=sample.error)


@pytest.mark.parametrize("substeps", [4, 16])
def test_what_a_pose_overlaps_leaves_without_speed(substeps: int) -> None:
    """Guards what `State.set_pose` promises: it is out at once, and at rest, whatever the substep."""
    scene = Scene(gravity=(0, 0, 0), contact_radius=0.0)
    scene.add_particles([[0.0, 0.0, 0.0]], 1.0)
    number = scene.add_collider(Sphere((0.0, -1.0, 0.0), 0.2), moving=True)
    solver, state, control = begin(scene, substeps)
    state.set_pose(number, [0.0, -0.19, 0.0])
    solver.step(state, control, 0.016)
    assert_allclose(state.get_positions()[0, 0], [0.0, 0.01, 0.0], atol=1e-12)
    assert_allclose(state.get_velocities()[0, 0], 0.0, atol=1e-9)


def test_motion_goes_where_it_was_sent() -> None:
    """Guards interpolation: a straight line at constant speed, and a turn round a fixed axis at constant rate."""
    scene = Scene()
    scene.add_particles([[0, 9.0, 0]], 1.0)
    scene.add_collider(Plane())
    number = scene.add_collider(SAMPLES["box"].shape, moving=True)
    solver, state, control = begin(scene)
    axis, angle = np.array([0.6, 0.0, 0.8]), 0.7
    control.move_collider(number, [0.1, 0.2, 0.3], axis * angle)
    for step in range(1, 4):
        solver.step(state, control, 0.02)
        pose = state.get_poses()[0, 0]
        assert_allclose(pose[:3], np.array([0.1, 0.2, 0.3]) * (step + 1), rtol=0, atol=4 * EPS)
        half = angle * step / 2
        assert_allclose(pose[3:], [*axis * np.sin(half), np.cos(half)], rtol=0, atol=8 * EPS)
    frames = state.frames.numpy()[0, 0, :, 0]
    assert_allclose(frames[3:12].reshape(3, 3), matrix_of(pose[3:]), rtol=0, atol=8 * EPS)
    half = angle * (step - 1 + 0.9) / 2  # where the last of ten substeps began
    assert_allclose(frames[15:].reshape(3, 3), matrix_of([*axis * np.sin(half), np.cos(half)]), rtol=0, atol=8 * EPS)


def test_a_still_pose_keeps_its_bits() -> None:
    """Guards poses against rounding: what is not moved does not drift."""
    scene = Scene()
    scene.add_particles([[0, 1.0, 0]], 1.0)
    number = scene.add_collider(SAMPLES["box"].shape, moving=True)
    solver, state, control = begin(scene, dtype="float32")
    state.set_pose(number, [0.1, 0.2, 0.3], [0.1, 0.2, 0.3, 0.4])
    before = state.get_poses()
    for _ in range(20):
        solver.step(state, control, 0.02)
    assert_array_equal(state.get_poses(), before)


@pytest.mark.parametrize("speed", [0.3, -2.0])
def test_moving_box_carries_a_particle(speed: float) -> None:
    """Guards friction against the moving surface: sliding until the speeds are equal, then at rest on the box.

    From the other speed the particle is taken along at mu g, and then goes on with the box, to rounding.
    """
    friction, substeps = 0.5, 100
    scene = Scene(contact_radius=RADIUS)
    scene.add_particles([[0, RADIUS, 0]], 0.2)
    number = scene.add_collider(Box((0, -0.1, 0), (5.0, 0.1, 5.0), friction=friction), moving=True)
    solver, state, control = begin(scene, substeps)
    control.move_collider(number, [speed * substeps * H, 0, 0])
    slide = abs(speed) / (friction * GRAVITY)  # how long it slides [s]
    steps = int(np.ceil(slide / (substeps * H))) + 2
    for _ in range(steps):
        solver.step(state, control, substeps * H)
        if state.get_poses()[0, 0, 0] == speed * substeps * H:  # after the first step it still slides
            gained = np.sign(speed) * min(friction * GRAVITY * substeps * H, abs(speed))
            assert_allclose(state.get_velocities()[0, 0, 0], gained, rtol=0, atol=1e-10)
    assert_allclose(state.get_velocities()[0, 0], [speed, 0, 0], rtol=0, atol=1e-11)
    behind = abs(state.get_poses()[0, 0, 0] - state.get_positions()[0, 0, 0])
    # It has lost v^2 / (2 mu g), and up to a substep's travel as speeds change in steps.
    assert_allclose(behind, speed**2 / (2 * friction * GRAVITY), rtol=0, atol=abs(speed) * H)
    assert_allclose(state.get_positions()[0, 0, 1], RADIUS, rtol=0, atol=1e-12)


@pytest.mark.parametrize("factor", [0.98, 1.02])
def test_accelerated_box_keeps_hold_up_to_static_friction(factor: float) -> None:
    """Guards the static coefficient: a box that gains speed at mu_s g in each step loses what lies on it, or does not.

    In a step the speed is constant, so the jump comes in its first substep: held while it is below mu_s g h.
    """
    static, kinetic = 0.6, 0.3
    scene = Scene(contact_radius=RADIUS)
    scene.add_particles([[0, RADIUS, 0]], 0.2)
    box = Box((0, -0.1, 0), (50.0, 0.1, 5.0), friction=kinetic, static_friction=static)
    number = scene.add_collider(box, moving=True)
    solver, state, control = begin(scene, 1)
    for step in range(1, 100):
        control.move_collider(number, [factor * static * GRAVITY * H * H * step, 0, 0])
        solver.step(state, control, H)
    slipped = state.get_poses()[0, 0, 0] - state.get_positions()[0, 0, 0]
    if factor < 1:
        assert abs(slipped) < 1e-12
    else:  # once it slips it is taken along at mu_k g only
        gap = (factor * static - kinetic) * GRAVITY
        assert_allclose(slipped, gap * (99 * H) ** 2 / 2, rtol=0.05)


@pytest.mark.parametrize("acceleration", [0.0, 2.0])
@pytest.mark.parametrize("factor", [0.995, 1.005])
def test_angle_of_friction_on_a_moving_slope(factor: float, acceleration: float) -> None:
    """Guards the threshold on a slope that moves at constant speed, or is pushed under what lies on it.

    In the frame of a slope that accelerates by a towards its fall, gravity leans by atan(a / g) into the slope, and
    what lies on it sticks while the angle less the lean is below that of friction.
    """
    angle = np.radians(25.0)
    friction = factor * np.tan(angle - np.arctan2(acceleration, GRAVITY))
    normal = np.array([-np.sin(angle), np.cos(angle), 0.0])  # rises towards +x
    scene = Scene(contact_radius=RADIUS)
    scene.add_particles([normal * RADIUS], 0.3)
    number = scene.add_collider(Plane(tuple(normal), friction=friction), moving=True)
    solver, state, control = begin(scene, 1)
    speed = 0.4
    state.set_velocities([speed, 0.0, 0.0])
    for step in range(1, 501):
        control.move_collider(number, [(speed - acceleration * H * step) * H, 0, 0])
        solver.step(state, control, H)
    moved = state.get_positions()[0, 0] - normal * RADIUS - state.get_poses()[0, 0, :3]
    assert abs(moved @ normal) < 1e-12
    downhill = np.array([-np.cos(angle), -np.sin(angle), 0.0])
    if factor > 1:
        assert np.linalg.norm(moved) < 1e-10
    else:  # half a second squared of what 0.5 % of friction leaves
        along = GRAVITY * np.sin(angle) - acceleration * np.cos(angle)
        assert_allclose(moved @ downhill, 0.5 * (1 - factor) * along, rtol=0.01)


def test_turning_drum_moves_a_particle_at_the_speed_of_its_surface() -> None:
    """Guards where friction acts: the top of a drum goes R sin(omega h) in a substep, not R + the contact radius."""
    radius, omega = 0.3, 4.0
    scene = Scene(contact_radius=RADIUS)
    scene.add_particles([[0, radius + RADIUS, 0]], 0.2)
    axis = rotation(np.random.default_rng(2))[0] * [1, 0, 1]
    axis /= np.linalg.norm(axis)
    ends = (tuple(0.2 * axis + 0.1 * axis), tuple(-0.2 * axis + 0.1 * axis))
    for kind in (Cylinder, Capsule):
        scene.colliders.clear()
        scene.moving_colliders.clear()
        drum = scene.add_collider(kind(*ends, radius, friction=1000.0), moving=True)
        solver, state, control = begin(scene, 1)
        control.move_collider(drum, 0.0, axis * omega * H)
        solver.step(state, control, H)
        along = np.cross(axis, [0, 1, 0]) * radius * np.sin(omega * H)
        assert_allclose(state.get_positions()[0, 0] - scene.positions[0], along, rtol=0, atol=1e-13)


@pytest.mark.parametrize("omega", [2.0, -5.0])
def test_turntable_carries_a_particle_round(omega: float) -> None:
    """Guards rotation: what sticks to a turntable goes round with it, at its radius.

    The surface's travel is taken where the particle is before friction holds it, omega^2 R h^2 too far out, so it lags
    by omega h times that in each substep: omega^3 R h^2 t in all, which a fourth of h^2 has a fourth of.
    """
    reach, time = 0.4, 2.0
    needed = omega**2 * reach / GRAVITY
    lags = []
    for substeps in (50, 100):
        scene = Scene(contact_radius=RADIUS)
        scene.add_particles([[reach, RADIUS, 0.0]], 0.2)
        number = scene.add_collider(Cylinder((0, -0.1, 0), (0, 0.0, 0), 1.0, friction=1.5 * needed), moving=True)
        solver, state, control = begin(scene, substeps)
        state.set_velocities([0.0, 0.0, -omega * reach])
        control.move_collider(number, 0.0, [0, omega * time / 20, 0])
        for _ in range(20):
            solver.step(state, control, time / 20)
        x, h = state.get_positions()[0, 0], time / 20 / substeps
        angle = omega * time
        assert_allclose(np.hypot(x[0], x[2]), reach, rtol=0, atol=abs(omega) ** 3 * reach * h**2 * time)
        lags.append(np.linalg.norm(x - [reach * np.cos(angle), RADIUS, -reach * np.sin(angle)]))
        assert lags[-1] < 1.1 * abs(omega) ** 3 * reach * h**2 * time
    assert_allclose(lags[0] / lags[1], 4.0, rtol=0.05)


def test_fast_wall_takes_a_particle_along() -> None:
    """Guards a thin collider that moves farther than it is thick in each substep: what it meets goes before it."""
    scene = Scene(gravity=(0, 0, 0), contact_radius=RADIUS)
    scene.add_particles([[0.5, 0, 0], [0.9, 0.1, 0.0]], 0.2)
    number = scene.add_collider(Box((0, 0, 0), (0.005, 0.5, 0.5)), moving=True)
    solver, state, control = begin(scene, 10)
    control.move_collider(number, [2.0, 0, 0])  # 0.2 m a substep, and the wall with the particle is 0.03 m
    solver.step(state, control, 0.02)
    assert_allclose(state.get_positions()[0, :, 0], 2.0 + 0.005 + RADIUS, rtol=0, atol=1e-12)
    assert_allclose(state.get_velocities()[0, :, 0], 100.0, rtol=1e-9)


def crowd(num_envs: int, lanes: int, dtype: str, seed: int = 4) -> tuple[Solver, Any, Any]:
    """A scene with things that move and that rest, restitution and fast particles; environments that differ."""
    scene = Scene(contact_radius=RADIUS)
    rng = np.random.default_rng(seed)
    scene.add_particles(rng.uniform(-1, 1, (60, 3)), 1.0, rng.normal(size=(60, 3)) * 8)
    numbers = [scene.add_collider(SAMPLES[name].shape, moving=True) for name in ("sphere", "box")]
    scene.add_collider(Plane(offset=-1.0, restitution=0.7, friction=0.2, static_friction=0.4))
    scene.add_collider(Box((0.6, -0.3, 0.0), (0.2, 0.01, 0.3), restitution=0.3))
    solver, state, control = begin(scene, 4, num_envs=num_envs, lanes=lanes, dtype=dtype)
    draws = np.random.default_rng(seed + 1)
    numbers_of = [draws.normal(size=(17, k)) for _ in numbers for k in (3, 4, 3, 3)]
    for i, number in enumerate(numbers):
        place, turn, shift, spin = (values[:num_envs] for values in numbers_of[4 * i : 4 * i + 4])
        state.set_pose(number, 0.4 * place, turn)
        control.move_collider(number, 0.1 * shift, 0.3 * spin)
    return solver, state, control


@pytest.mark.parametrize(("dtype", "lanes"), [("float32", 8), ("float64", 4)])
def test_lanes_and_batches_change_no_bit(dtype: str, lanes: int) -> None:
    """Guards poses, bounces and swept paths in lanes: an environment's bits do not depend on the others or on L."""
    results = []
    for num_envs, width in ((5, 1), (17, lanes)):
        solver, state, control = crowd(num_envs, width, dtype)
        for _ in range(5):
            solver.step(state, control, 0.04)
        kept = state.get_positions(), state.get_velocities(), state.get_poses()
        results.append(np.concatenate([part[:5].reshape(5, -1) for part in kept], axis=1))
    assert np.isfinite(results[0]).all()
    bits = np.array(results).view(np.uint32 if dtype == "float32" else np.uint64)
    for other in bits[1:]:
        assert_array_equal(other, bits[0])
    assert len(np.unique(bits[0][:, -3])) > 1


def test_saved_states_have_poses() -> None:
    """Guards save, load and branching: the future is the same to the bit, from any row."""
    solver, state, control = crowd(6, 8, "float32")
    solver.step(state, control, 0.04)
    saved = state.save()
    solver.step(state, control, 0.04)
    future = state.save()
    rows = np.array([3, 1, 1, 0, 5, 3])
    state.load(saved)
    solver.step(state, control, 0.04)
    for name, value in future.items():
        assert_array_equal(state.save()[name], value, err_msg=name)
    state.load(saved, rows)
    assert_array_equal(state.save()["poses"], saved["poses"][rows])
    with pytest.raises(ValueError, match="poses must be finite"):
        state.load(saved | {"poses": np.full_like(saved["poses"], np.nan)})
    state.reset()
    assert_allclose(state.get_poses()[:, :, 3:], np.broadcast_to([0, 0, 0, 1], (6, 2, 4)))


def test_held_particles_are_not_pushed_by_what_moves() -> None:
    """Guards infinite mass against moving colliders, to the bit."""
    scene = Scene(gravity=(0, 0, 0), contact_radius=RADIUS)
    scene.add_particles([[0.3, 0, 0], [0.3, 0.1, 0]], 1.0)
    scene.pin([0])
    number = scene.add_collider(Box((0, 0, 0), (0.01, 1.0, 1.0), restitution=0.5), moving=True)
    solver, state, control = begin(scene)
    control.move_collider(number, [1.0, 0, 0])
    solver.step(state, control, 0.02)
    assert_array_equal(state.get_positions()[0, 0], [0.3, 0, 0])
    assert state.get_positions()[0, 1, 0] > 1.0


BAD = {
    "at rest": (lambda s, c: s.set_pose(0, [0, 0, 0]), "does not move"),
    "unknown": (lambda s, c: c.move_collider(7, [0, 0, 0]), "does not move"),
    "shape": (lambda s, c: s.set_pose(1, [0, 0]), "origin must broadcast"),
    "nan": (lambda s, c: s.set_pose(1, [0, 0, np.nan]), "origin must be finite"),
    "zero": (lambda s, c: s.set_pose(1, orientation=[0, 0, 0, 0]), "other than zero"),
    "orientation": (lambda s, c: s.set_pose(1, orientation=[0, 0, 1]), "orientation must broadcast"),
    "displacement": (lambda s, c: c.move_collider(1, [np.inf, 0, 0]), "displacement must be finite"),
    "rotation": (lambda s, c: c.move_collider(1, 0.0, [0, 0]), "rotation must broadcast"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_poses_and_motions_are_refused(name: str) -> None:
    scene = Scene()
    scene.add_particles([[0, 1.0, 0]], 1.0)
    scene.add_collider(Plane())
    assert scene.add_collider(Sphere((0, 0, 0), 0.1), moving=True) == 1
    _, state, control = begin(scene, num_envs=3)
    before, (act, words) = state.get_poses(), BAD[name]
    with pytest.raises(ValueError, match=words):
        act(state, control)
    assert_array_equal(state.get_poses(), before)
    assert not control.collider_motion.numpy().any()
