"""Rigid bodies touch colliders with their faces too, not only with the balls on them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from pbd_gym import Box, MeshCollider, Model, Plane, Scene, Solver, Sphere, geometry

FRAME, G, ENVS = 1 / 60, 9.81, 8
SIDE, HIGH, PEG, BALL = 0.2, 0.1, 0.004, 0.03
AWAY = (0.0, -50.0, 0.0)
CENTERED = [0, 3, 6]
"""Environments in which the middle of the box is over what it falls on."""
PLACES = np.array([(1, 2), (12, 12), (-40, 17), (0, 0), (30, -8), (5, 55), (2, -1), (-21, 32)]) * 1e-3


@pytest.mark.parametrize("substeps", [8, 40])
def test_a_box_does_not_sink_between_its_balls(substeps: int) -> None:
    """Guards contacts between balls, 25 mm apart: a peg of 8 mm went through the box, a ball 2.6 mm into it.

    In each environment a box falls by 2 mm on one collider, a peg, a ball or a peg made of a mesh.
    """
    scene = Scene(contact_radius=0.0)
    kinds = [
        Box((0.0, -0.1, 0.0), (PEG, 0.1, PEG), friction=0.5),
        Sphere((0.0, -BALL, 0.0), BALL, friction=0.5),
        MeshCollider(*_prism(), position=np.array((0.0, -0.1, 0.0)), friction=0.5, cell=0.002),
    ]
    pegs = [scene.add_collider(kind, moving=True) for kind in kinds]
    shape = geometry.box((2, 1, 2), (SIDE, HIGH, SIDE))
    body = scene.add_rigid_body(shape, 1000.0, 0.025, position=(0.0, 0.5 * HIGH + 2e-3, 0.0))
    solver = Solver(Model(scene, num_envs=ENVS, lanes=ENVS), substeps=substeps, wrenches=True)
    state, control = solver.state(), solver.control()
    chosen = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    tops = np.zeros((ENVS, 4, 3))
    for k, peg in enumerate(pegs):
        below = np.array([0.0, -BALL if k == 1 else -0.1, 0.0])
        places = np.stack([PLACES[:, 0], np.zeros(ENVS), PLACES[:, 1]], axis=1)
        state.set_pose(peg, origin=np.where((chosen == k)[:, None], places + below, AWAY))
        if k == 1:
            tops[chosen == k] = (places + below)[chosen == k, None]
        else:
            square = PEG * np.array([(-1, 0, -1), (1, 0, -1), (-1, 0, 1), (1, 0, 1)])
            tops[chosen == k] = places[chosen == k, None] + square
    unit = body.mass * G * body.radius
    for _ in range(10):
        solver.step(state, control, FRAME)
        pose = state.get_rigid_poses()[:, 0].astype(np.float64)
        velocity = state.get_rigid_velocities()[:, 0].astype(np.float64)
        turn = Rotation.from_quat(pose[:, 3:])
        inside = np.stack([turn.inv().apply(tops[:, c] - pose[:, :3]) for c in range(4)], axis=1)
        depth = inside[..., 1].max(axis=1) + 0.5 * HIGH + np.where(chosen == 1, BALL, 0.0)
        assert depth.max() < 2e-4
        spin = turn.inv().apply(velocity[:, 3:])
        energy = body.mass * (G * (pose[:, 1] - 0.5 * HIGH - 2e-3) + 0.5 * (velocity[:, :3] ** 2).sum(axis=1))
        energy += 0.5 * np.einsum("ei,ij,ej->e", spin, body.inertia, spin)
        assert energy.max() < 0.01 * unit
    assert_allclose(pose[CENTERED, 1], 0.5 * HIGH, atol=2e-4)
    assert (pose[[1, 2, 4, 5, 7], 1] < 0.5 * HIGH - 1e-3).all()  # those tip over
    pushed = state.get_wrenches()[CENTERED, :, 1].sum(axis=1)
    assert_allclose(pushed, -body.mass * G, rtol=0.1)


STANDING = {
    "box": (geometry.box((1, 1, 1), (0.12, 0.2, 0.1)), (0.12, 0.2)),
    "can": (geometry.revolution([(0.0, -0.075), (0.03, -0.075), (0.03, 0.075), (0.0, 0.075)]), (0.06, 0.15)),
}


@pytest.mark.parametrize(("shape", "substeps"), [("box", None), ("can", 40)])
def test_what_stands_on_a_slope_tips_over_its_edge(shape: str, substeps: int | None) -> None:
    """Guards corners: a box stood on the balls beneath its face, a radius inside its edges, and tipped at 0.77.

    It tips where the tangent of the slope exceeds its width over its height, also at the default spacing.
    """
    mesh, (wide, high) = STANDING[shape]
    slopes = np.arctan(wide / high * np.array([0.5, 0.8, 0.9, 1.07, 1.15, 1.3, 1.5, 1.7]))
    scene = Scene()
    scene.add_collider(Plane(friction=2.0))
    scene.add_rigid_body(mesh, 500.0, position=(0.0, 0.5 * high, 0.0))
    solver = Solver(Model(scene, num_envs=ENVS, lanes=ENVS), substeps=substeps)
    state, control = solver.state(), solver.control()
    state.set_parameters(gravity=G * np.stack([np.sin(slopes), -np.cos(slopes), 0.0 * slopes], axis=1))
    for _ in range(75):
        solver.step(state, control, FRAME)
    tilt = np.arccos(np.clip(Rotation.from_quat(state.get_rigid_poses()[:, 0, 3:]).as_matrix()[:, 1, 1], -1.0, 1.0))
    assert (np.degrees(tilt) > 20.0).tolist() == [False] * 3 + [True] * 5
    assert np.degrees(tilt[:3]).max() < 2.0


def test_a_ball_falls_through_the_hole_of_a_ring() -> None:
    """Guards the reach of a mesh's grid: a ball lay on the box around a ring with cells of a fifth of its radius."""
    ring = geometry.torus(0.2, 0.05)
    scene = Scene(contact_radius=0.0)
    scene.add_collider(MeshCollider(ring.positions, ring.triangles, cell=0.005, friction=0.3))
    scene.add_collider(Plane(offset=-0.06))
    body = scene.add_rigid_body(geometry.ball(0.05, 5), 1000.0, 0.05, position=(0.0, 0.1, 0.0))
    solver = Solver(Model(scene), substeps=10)
    state, control = solver.state(), solver.control()
    for _ in range(40):
        solver.step(state, control, FRAME)
    assert state.get_rigid_poses()[0, body.index, 1] < 0.0


def _prism() -> tuple[np.ndarray, np.ndarray]:
    mesh = geometry.box((1, 1, 1), (2 * PEG, 0.2, 2 * PEG))
    return mesh.positions, mesh.triangles
