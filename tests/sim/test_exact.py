"""The engine's defaults, many substeps of one sweep, against the exact motion of the same particles and springs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Model, Solver
from tests.sim.exact import exact_motion
from tests.sim.test_newton import BODIES, in_motion


@pytest.mark.parametrize("body", BODIES)
def test_substeps_converge_to_the_exact_motion(body: str) -> None:
    """Guards everything that a step does together: halving the substep halves the error, first order, down to nothing.

    Two runs without the term of first order, ``2 x(h/2) - x(h)``, are off by the second order only: what they differ by
    for h and h/2 bounds the second one threefold.
    """
    scene, x, v = in_motion(body)
    seconds = 0.05
    wanted, _ = exact_motion(scene, x, v, seconds)
    found = []
    for substeps in (400, 800, 1600):
        solver = Solver(Model(scene, dtype="float64"), substeps=substeps, compensate=False)
        state = solver.state()
        state.set_positions(x)
        state.set_velocities(v)
        solver.step(state, solver.control(), seconds)
        found.append(state.get_positions()[0])
    errors = [float(np.linalg.norm(y - wanted)) for y in found]
    assert np.linalg.norm(wanted - x) > 100 * errors[0]
    assert_allclose(errors[0] / errors[1], 2.0, rtol=0.15)
    assert_allclose(errors[1] / errors[2], 2.0, rtol=0.08)
    coarse, fine = 2 * found[1] - found[0], 2 * found[2] - found[1]
    assert np.linalg.norm(fine - wanted) < np.linalg.norm(fine - coarse)
