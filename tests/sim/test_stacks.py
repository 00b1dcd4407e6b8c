"""Rigid bodies on each other: stacks stand, momentum is kept, and an environment does not notice the others."""

from __future__ import annotations

import numpy as np
import pytest

from pbd_gym import Model, Plane, Scene, Solver, geometry

SIDE = 0.1
"""Of a cube [m]."""


def stack(densities: tuple[float, ...], cells: int = 2) -> Scene:
    """Return cubes on each other, of densities from below [kg/m^3], of meshes with so many cells along a side."""
    scene = Scene()
    scene.add_collider(Plane(friction=0.5))
    cube = geometry.box((cells, cells, cells), (SIDE, SIDE, SIDE))
    for k, density in enumerate(densities):
        scene.add_rigid_body(cube, density, position=(0.0, (k + 0.5) * SIDE, 0.0))
    return scene


@pytest.mark.parametrize("densities", [(1e3,) * 3, (1e3,) * 5, (500.0, 2000.0), (8000.0, 500.0)])
def test_stacks_stand(densities: tuple[float, ...]) -> None:
    """Guards contacts of whole bodies: parted ball by ball, five cubes were in each other after half a second.

    At 10 substeps of 1/30 s.
    """
    solver = Solver(Model(stack(densities)), substeps=10)
    state, control = solver.state(), solver.control()
    for _ in range(180):
        solver.step(state, control, ctrl_dt=1 / 30)
    origin = state.get_rigid_poses()[0, :, :3]
    np.testing.assert_allclose(np.diff(origin[:, 1]), SIDE, atol=0.002 * SIDE)
    assert np.abs(origin[:, [0, 2]]).max() < 0.2 * SIDE
    assert np.abs(state.get_rigid_velocities()).max() < 0.01


@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize(
    ("densities", "substeps"), [((1e3,) * 3, 2), ((1e3,) * 5, 4), ((1e3,) * 6, 8), ((500.0, 8000.0), 8)]
)
def test_stacks_do_not_creep(densities: tuple[float, ...], substeps: int, cells: int) -> None:
    """Guards sweeps over contacts between bodies, at substeps of 2.5 to 10 ms, as docs/rigid_bodies.md says.

    With a third of them stacks walked and turned until they fell, three cubes at 10 ms within five seconds.
    """
    solver = Solver(Model(stack(densities, cells)), substeps=substeps)
    state, control = solver.state(), solver.control()
    for _ in range(500):
        solver.step(state, control, ctrl_dt=0.02)
    origin = state.get_rigid_poses()[0, :, :3]
    np.testing.assert_allclose(np.diff(origin[:, 1]), SIDE, atol=0.002 * SIDE)
    assert np.abs(origin[:, [0, 2]]).max() < 0.2 * SIDE


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_collision_keeps_momentum(lanes: int) -> None:
    """Guards impulses between bodies: as much to one as to the other, at the same point.

    The angular momentum is out by 2 %, and by 0.5 % with a quarter of the substep: points move while they are pushed.
    """
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    cube = geometry.box((2, 2, 2), (SIDE, SIDE, SIDE))
    one = scene.add_rigid_body(cube, 1000.0, friction=0.0)
    scene.add_rigid_body(cube, 3000.0, position=(0.13, 0.03, 0.02), friction=0.0)
    solver = Solver(Model(scene, lanes, dtype="float64", lanes=lanes), substeps=10)
    state, control = solver.state(), solver.control()
    state.set_rigid_velocity(one, linear=(1.0, 0.0, 0.0), angular=(0.0, 3.0, 0.0))

    def momenta() -> np.ndarray:
        moved = scene.mass[:, None] * state.get_velocities()
        return np.stack([moved.sum(axis=1), np.cross(state.get_positions(), moved).sum(axis=1)], axis=1)

    before = momenta()
    for _ in range(10):
        solver.step(state, control, 1 / 60)
    after = momenta()
    np.testing.assert_allclose(after[:, 0], before[:, 0], atol=1e-12)
    np.testing.assert_allclose(after[:, 1], before[:, 1], atol=0.04 * np.abs(before[:, 1]).max())
    assert state.get_rigid_velocities()[0, 1, 0] > 0.1  # they have met


def test_bodies_that_do_not_meet_keep_their_bits() -> None:
    """Guards lanes: more rounds are for environments in which bodies meet, and each has contacts of its own."""
    scene, found = stack((1e3, 1e3)), []
    for height in (0.5, 0.15):  # of the upper cube, in every second environment
        solver = Solver(Model(scene, 4, lanes=4), substeps=10)
        state, control = solver.state(), solver.control()
        heights = [0.5, height, 0.15, height]
        state.set_rigid_pose(1, origin=[(0.0, y, 0.0) for y in heights])
        for _ in range(12):
            solver.step(state, control, 1 / 60)
        found.append(state.get_positions())
    np.testing.assert_array_equal(found[0][[0, 2]], found[1][[0, 2]])
    np.testing.assert_array_equal(found[1][1], found[1][2])
