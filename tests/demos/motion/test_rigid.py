"""The demonstration of rigid bodies: nothing comes apart anywhere within the ranges of its options."""

from __future__ import annotations

import numpy as np
import pytest

from pbd_gym import Model, Solver
from pbd_gym.demos.motion.rigid import PITCH, ROPE, RigidDemo, RigidOptions


@pytest.mark.parametrize(
    "options",
    [
        RigidOptions(time_step=0.01, ball_density=2e4, rings=7),
        RigidOptions(time_step=0.01, ball_density=100.0, cup_density=2e4),
        RigidOptions(time_step=0.0025, ball_density=2e4, angle=90.0),
    ],
)
def test_rope_and_chain_hold(options: RigidOptions) -> None:
    """Guards the ranges: the rope stays within 5 %, and each ring of the chain hangs in the one above it.

    The 5 % are those of an impact at 10 ms, which pulls at one segment after the rope has been solved for.
    """
    demo = RigidDemo(options)
    scene = demo.build()
    solver = Solver(Model(scene), substeps=4)
    state, control = solver.state(), solver.control()
    for _ in range(round(2.0 / (4 * options.time_step))):
        solver.step(state, control, 4 * options.time_step)
        positions = state.get_positions()[0, demo.rope]
        assert np.linalg.norm(np.diff(positions, axis=0), axis=1).sum() < 1.05 * ROPE
    apart = -np.diff(state.get_rigid_poses()[0, : options.rings, 1])
    assert (apart > 0.8 * PITCH).all() and (apart < 1.2 * PITCH).all()
