"""Rigid bodies stick to slopes up to the static coefficient of friction, and slide by the kinetic one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Model, Plane, Scene, Solver, geometry

G, KINETIC = 9.81, 0.4
FRAME = 1 / 60


@pytest.mark.parametrize(
    ("height", "substeps", "static"),  # each with each of the others
    [(0.05, 8, 0.6), (0.1, 8, 0.8), (0.05, 20, 0.8), (0.1, 20, 0.6), (0.05, 80, 0.6), (0.1, 80, 0.8)],
)
def test_a_box_holds_up_to_its_static_friction(height: float, substeps: int, static: float) -> None:
    """Guards what decides that a box slides: balls that seemed to, in sweeps that had not converged, drew it down from
    a tangent of 0.44 on.

    A plane tilts within a second from 0 to slopes below and above the limit. What slides does so by kinetic friction.
    """
    tangents = np.array([0.45, 0.9 * static, 0.98 * static, 1.02 * static, 1.3 * static])
    scene = Scene()
    scene.add_collider(Plane(friction=KINETIC, static_friction=static))
    scene.add_rigid_body(geometry.box((1, 1, 1), (0.1, height, 0.1)), 500.0, 0.0125, position=(0.0, height / 2, 0.0))
    solver = Solver(Model(scene, num_envs=len(tangents)), substeps=substeps)
    state, control = solver.state(), solver.control()

    def go(frames: int, share: float) -> None:
        angle = np.arctan(tangents) * share
        state.set_parameters(gravity=G * np.stack([np.sin(angle), -np.cos(angle), np.zeros_like(angle)], axis=1))
        for _ in range(frames):
            solver.step(state, control, ctrl_dt=FRAME)

    go(30, 0.0)
    for k in range(60):
        go(1, (k + 1) / 60)
    speed, before = state.get_rigid_velocities()[:, 0, 0], state.get_rigid_poses()[:, 0, 0]
    go(60, 1.0)
    way = state.get_rigid_poses()[:, 0, 0] - before
    assert way[:3].max() < 2e-3  # it creeps by a millimetre a second at most
    angle = np.arctan(tangents[3:])
    pull = G * (np.sin(angle) - KINETIC * np.cos(angle))
    assert (way[3:] > 0.5 * pull * 0.5).all()
    gained = state.get_rigid_velocities()[-1, 0, 0] - speed[-1]
    # Five metres from the origin, single precision feels little of what gravity does in 0.2 ms.
    assert_allclose(gained, pull[-1], rtol=0.15 if substeps == 80 else 0.02)


def test_a_box_that_slides_stops_by_kinetic_friction() -> None:
    """Guards the decision for what moves: static friction does not brake, and holds once it has stopped."""
    scene = Scene()
    scene.add_collider(Plane(friction=KINETIC, static_friction=0.9))
    box = scene.add_rigid_body(geometry.box((1, 1, 1), (0.1, 0.02, 0.1)), 500.0, 0.01, position=(0.0, 0.01, 0.0))
    solver = Solver(Model(scene, num_envs=3), substeps=20)
    state, control = solver.state(), solver.control()
    start = np.array([0.5, 1.0, 2.0])
    state.set_rigid_velocity(box, linear=np.stack([start, 0.0 * start, 0.0 * start], axis=1))
    for _ in range(60):
        solver.step(state, control, ctrl_dt=FRAME)
    assert_allclose(state.get_rigid_poses()[:, 0, 0], start**2 / (2.0 * KINETIC * G), rtol=0.03)
    assert np.abs(state.get_rigid_velocities()).max() < 1e-2
