"""Forces of rigid bodies: what they pull at hands with, and what contacts push them with."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Model, Plane, RigidBody, Scene, Solver
from pbd_gym.geometry import box

G, STEP, SUBSTEPS = 9.81, 1 / 60, 20
LOAD, BEAD = 0.2, 0.05


class Setting(NamedTuple):
    """A scene with rigid bodies, and what may be held of it."""

    scene: Scene
    beam: RigidBody
    """On which a load hangs by a thread; under it is the load."""
    plate: RigidBody
    block: RigidBody
    """Lies on the plate."""
    upper: RigidBody
    lower: RigidBody
    """Hangs on the upper one by a joint."""
    stand: RigidBody
    """On the ground, with a bead on it."""
    bead: int


def corner(scene: Scene, body: RigidBody, point: Any) -> int:
    return int(body.vertices[np.linalg.norm(scene.positions[body.vertices] - point, axis=1).argmin()])


@functools.cache
def setting() -> Setting:
    scene = Scene(grip_count=3)
    scene.add_collider(Plane(friction=0.5))
    beam = scene.add_rigid_body(box((2, 2, 11), (0.04, 0.04, 0.4)), 1000.0, 0.025, position=(0.0, 1.0, 0.0))
    end = corner(scene, beam, (0.02, 0.98, 0.2))
    load = scene.add_particles([scene.positions[end] - (0.0, 0.2, 0.0)], [LOAD])
    scene.add_distance_constraints([[end, int(np.asarray(load)[0])]])
    plate = scene.add_rigid_body(box((2, 2, 2), (0.12, 0.02, 0.12)), 1000.0, 0.02, position=(1.0, 0.0101, 0.0))
    block = scene.add_rigid_body(box((2, 2, 2), (0.06, 0.06, 0.06)), 2000.0, 0.02, position=(1.0, 0.0504, 0.0))
    upper, lower = (
        scene.add_rigid_body(box((2, 2, 2), (0.05, 0.05, 0.05)), d, 0.025, position=(2.0, y, 0.0), contacts=False)
        for d, y in ((2000.0, 1.0), (3000.0, 0.95))
    )
    scene.add_joint(upper, lower, (2.0, 0.975, 0.0))
    stand = scene.add_rigid_body(box((2, 2, 2), (0.06, 0.06, 0.06)), 1000.0, 0.02, position=(3.0, 0.0301, 0.0))
    bead = int(np.asarray(scene.add_particles([(3.0, 0.071, 0.0)], [BEAD]))[0])
    scene.add_particle_contacts([bead], 0.01, 0.5)
    return Setting(scene, beam, plate, block, upper, lower, stand, bead)


def solver_of(model: Model) -> Solver:
    return Solver(
        model, SUBSTEPS, grip_forces=True, contact_forces=True, wrenches=True, damping=1.0, quiet=True, threads=1
    )


@functools.cache
def batch() -> Solver:
    return solver_of(Model(setting().scene, 4, lanes=4))


def run(held: Any, steps: int, motion: Any = 0.0) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return means over the last third of the steps: forces at hands, and contact forces; and the state."""
    solver = batch()
    state, control = solver.state(), solver.control()
    state.hold(held)
    control.move(motion)
    pulls, pushes = [], []
    for k in range(steps):
        solver.step(state, control, STEP)
        if 3 * k >= 2 * steps:
            pulls.append(state.get_grip_forces().astype(np.float64))
            pushes.append(state.get_contact_forces().astype(np.float64))
    return np.mean(pulls, axis=0), np.mean(pushes, axis=0), state


def test_hands_carry_what_hangs_on_them() -> None:
    """Guards weights: of a beam by the law of the lever, with what hangs on it; of a plate and what lies on it; of two
    bodies that a joint holds together. And balls are pushed by all that touches them, so by nothing where it is free.
    """
    s = setting()
    scene = s.scene
    ends = [corner(scene, s.beam, (0.02, 1.02, z)) for z in (-0.2, 0.1)]
    tops = [corner(scene, s.plate, (1.0 + x, 0.02, z)) for x, z in ((-0.06, -0.06), (0.06, -0.06), (0.0, 0.06))]
    top = corner(scene, s.upper, (2.0, 1.025, 0.0))
    held = [[*ends, -1], tops, [top, -1, -1], [-1, -1, -1]]
    lift = np.zeros((4, 3, 3))
    lift[1, :, 1] = 2e-4
    pulls, pushes, state = run(held, 150, lift)
    span = scene.positions[ends[1], 2] + 0.2
    second = G * (s.beam.mass * 0.2 + LOAD * 0.4) / span
    first = G * (s.beam.mass + LOAD) - second
    assert_allclose(pulls[0, :, 1], [-first, -second, 0.0], atol=0.02 * (first + second))
    assert_allclose(pulls[1].sum(axis=0), [0.0, -G * (s.plate.mass + s.block.mass), 0.0], atol=0.02)
    assert_allclose(pulls[2, 0, 1], -G * (s.upper.mass + s.lower.mass), rtol=0.02)
    assert_array_equal(pulls[3], 0.0)
    weights = [G * body.mass for body in (s.plate, s.block, s.stand)]
    found = [pushes[3, body.indices].sum(axis=0) for body in (s.plate, s.block, s.stand)]
    assert_allclose(found, [[0.0, w, 0.0] for w in weights], atol=0.02 * sum(weights))
    assert_allclose(pushes[3, s.bead], [0.0, G * BEAD, 0.0], atol=0.02 * G * BEAD)
    assert_allclose(pushes[1, s.block.indices].sum(axis=0), [0.0, weights[1], 0.0], atol=0.02 * weights[1])
    assert_array_equal(pushes[2, s.upper.indices], 0.0)
    assert_allclose(state.get_wrenches()[3, 0, 1], G * -float(scene.mass.sum()), rtol=0.02)


def test_hands_bring_bodies_up_to_speed_and_slip() -> None:
    """Guards m (g + a), and the largest force of a hand: one body falls out of it, the other is held."""
    s = setting()
    top = corner(s.scene, s.upper, (2.0, 1.025, 0.0))
    solver = batch()
    state, control = solver.state(), solver.control()
    state.hold(np.full((4, 3), [top, -1, -1]))
    pull = []
    for k in range(20):
        control.move([0.0, 5.0 * (k + 0.5) * STEP * STEP, 0.0])
        solver.step(state, control, STEP)
        pull.append(state.get_grip_forces()[0, 0, 1])
    weight = G * (s.upper.mass + s.lower.mass)
    drag = weight / G * np.mean(5.0 * STEP * (np.arange(1, 20) + 0.5))  # damping of 1 / s
    assert np.mean(pull[1:]) == pytest.approx(-(G + 5.0) / G * weight - drag, rel=0.01)
    control.move(0.0)
    state.reset()
    state.hold(np.full((4, 3), [top, -1, -1]))
    control.set_force_limit([0.8 * weight, 1.6 * weight, np.inf, 0.5 * weight])
    slipped = np.zeros(4, dtype=bool)
    for _ in range(20):
        solver.step(state, control, STEP)
        slipped |= state.get_slipped()[:, 0]
    assert_array_equal(slipped, [True, False, False, True])
    below = state.get_positions()[:, s.upper.indices, 1].mean(axis=1)
    assert below[0] < below[1] - 0.2
