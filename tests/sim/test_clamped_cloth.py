"""Cloth between two rigid bodies in hands: it slips at Coulomb's law, by the force with which they press."""

import numpy as np
import pytest

from pbd_gym import Fabric, Model, Scene, Solver
from pbd_gym.geometry import box
from tests.sim.grasps import corners

STEP, THICKNESS, GAP = 0.02, 0.004, 1e-3
STEPS = 100
"""Steps in which the pull rises to one and a half of what Coulomb's law holds."""


@pytest.mark.parametrize(("friction", "substeps", "near"), [(0.3, 40, 5e-4), (1.0, 40, 2e-4), (0.5, 20, 5e-4)])
def test_cloth_slips_out_of_jaws_as_coulomb_says(friction: float, substeps: int, near: float) -> None:
    """Guards friction where pushes from both sides undo each other: it was that of 0.64 to 0.69 of the force."""
    scene = Scene(grip_count=8, gravity=(0.0, 0.0, 0.0))
    cloth = scene.add_cloth(21, 5, (0.04, 0.2), Fabric.preset("cotton"))
    scene.add_surface_contacts(cloth.triangles, THICKNESS, friction)
    places = scene.positions[cloth.indices.ravel()]
    middle, end = places.mean(axis=0), places[:, 1].min()
    apart = 0.5 * THICKNESS + 0.005 + GAP
    jaw, height = box((6, 4, 1), (0.06, 0.04, 0.01)), middle[1] + 0.07
    plates = [
        scene.add_rigid_body(jaw, 1000.0, friction=friction, position=(middle[0], height, side * apart))
        for side in (1.0, -1.0)
    ]
    solver = Solver(Model(scene), substeps=substeps, grip_forces=True, quiet=True)
    state, control = solver.state(), solver.control()
    state.hold([corners(scene, plates[0], 2, 1.0) + corners(scene, plates[1], 2, -1.0)])
    together = np.repeat([[0.0, 0.0, -(GAP + near) / 4], [0.0, 0.0, (GAP + near) / 4]], 4, axis=0)
    for motion in [together] * 4 + [np.zeros((8, 3))] * 20:
        control.move(motion[None])
        solver.step(state, control, STEP)
    pressed = abs(float(state.get_grip_forces()[0, :4, 2].sum()))
    between = np.flatnonzero(np.abs(scene.positions[:, 1] - plates[0].center[1]) < 0.015)
    between = np.intersect1d(between, cloth.indices)
    begin, pulled = state.get_positions()[0, between, 1].mean(), np.flatnonzero(scene.positions[:, 1] < end + 1e-6)
    forces = np.zeros((1, len(scene.positions), 3))
    share = slipped = 0.0
    for step in range(STEPS):
        share = 1.5 * (step + 1) / STEPS
        forces[0, pulled, 1] = -share * 2.0 * friction * pressed / len(pulled)
        control.set_forces(forces)
        solver.step(state, control, STEP)
        slipped = begin - state.get_positions()[0, between, 1].mean()
        if slipped > 0.015:
            break
    assert slipped > 0.015
    assert share == pytest.approx(1.0, abs=0.2)
