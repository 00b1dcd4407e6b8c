"""Moving colliders that nothing is near: they are left out, and not a bit depends on that."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym import Box, Capsule, Model, Plane, Scene, Solver, Sphere
from pbd_gym.runtime.checks import FARTHEST

COLLIDERS = 70
"""More than there are bits in a set of them."""


def crowd(lines: bool, restitution: float) -> Scene:
    """Return a cloth that falls on a floor, with balls and capsules around it that will move through it."""
    rng = np.random.default_rng(6)
    scene = Scene(contact_radius=0.004)
    scene.add_collider(Plane(offset=-0.1, restitution=restitution))
    scene.add_collider(Box((0.1, -0.08, 0.0), (0.05, 0.02, 0.05)))
    lying = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    scene.add_cloth(7, 7, (0.2, 0.2), position=(-0.1, 0.05, 0.1), rotation=lying, lines=lines)
    for k in range(COLLIDERS):
        middle = rng.uniform(-0.5, 0.5, 3)
        start, end = tuple(middle - [0.02, 0.01, 0.0]), tuple(middle + np.array([0.02, 0.01, 0.03]))
        scene.add_collider(Sphere(tuple(middle), 0.01) if k % 3 else Capsule(start, end, 0.008), moving=True)
    return scene


@pytest.mark.parametrize(("lines", "restitution"), [(False, 0.0), (True, 0.3)])
@pytest.mark.parametrize("lanes", [1, 4])
def test_no_bit_depends_on_the_cull(lines: bool, restitution: float, lanes: int) -> None:
    """Guards what is left out: colliders that turn, shoot through the cloth and push it about give the same bits."""
    scene, results = crowd(lines, restitution), []
    for culled in (True, False):
        model = Model(scene, num_envs=3, lanes=lanes, device="cpu")
        if not culled:
            model.colliders.extent.fill_(FARTHEST)
        solver = Solver(model, substeps=6, quiet=True)
        state, control = solver.state(), solver.control()
        rng, found = np.random.default_rng(8), []
        for step in range(12):
            for k in scene.moving_colliders:
                way = -0.2 * state.get_poses()[:, scene.moving_colliders.index(k), :3]
                way += rng.normal(size=3) * (0.3 if step % 4 == 3 else 0.02)
                control.move_collider(k, way, rng.normal(size=3))
            solver.step(state, control, 0.02)
            found.append(np.concatenate([state.get_positions(), state.get_velocities()], axis=1).view(np.uint32))
        results.append(np.array(found))
    assert_array_equal(results[0], results[1])
    speeds = np.linalg.norm(results[0].view(np.float32)[:, :, 49:], axis=3)
    assert speeds.max() > 3.0  # faster than anything falls here: they do push


@pytest.mark.parametrize("self_contact", [False, True])
def test_no_environment_sees_what_is_near_in_another(self_contact: bool) -> None:
    """Guards lines that no collider is near: they are rounded as those beside one that lies in another's cloth."""
    scene = Scene(contact_radius=0.003)
    scene.add_collider(Plane(friction=0.4))
    scene.add_collider(Capsule((-0.1, 0.6, 0.0), (0.1, 0.6, 0.0), 0.02, friction=0.5), moving=True)
    cloth = scene.add_cloth(9, 9, (0.2, 0.2), position=(-0.1, 0.05, 0.1), rotation=[[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    if self_contact:
        scene.add_surface_contacts(cloth.triangles, 0.005, friction=0.3)
    model = Model(scene, num_envs=4, lanes=4, device="cpu")
    results = []
    for lowered in (False, True):
        solver = Solver(model, substeps=10, quiet=True)
        state, control = solver.state(), solver.control()
        for step in range(10):
            ways = np.zeros((4, 3))
            ways[2, 1] = -0.115 * lowered * (step < 5)  # down to the cloth, and into it
            control.move_collider(1, ways)
            solver.step(state, control, 0.02)
        assert state.supported.numpy().any() == lowered
        results.append(np.concatenate([state.get_positions(), state.get_velocities()], axis=1).view(np.uint32))
    assert_array_equal(results[0][[0, 1, 3]], results[1][[0, 1, 3]])
    assert (results[0][2] != results[1][2]).any()
