"""Hands with a largest force: what is heavier, or is torn up too fast, slips out of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Model, Scene, Solver, State
from pbd_gym.sim.control import Control

G, FRAME = 9.81, 0.02
ABOVE, BELOW = 0.1, 0.3
"""Masses of what is held and of what hangs on it, of the first of two pairs; the second is twice as heavy [kg]."""
WEIGHT = G * (ABOVE + BELOW)


def pairs(num_envs: int = 1, lanes: int = 1, substeps: int = 10, **options: Any) -> tuple[Solver, State, Control]:
    """Return two pairs of particles, one above the other, each held by its upper one."""
    scene = Scene(grip_count=2)
    for k in range(2):
        ends = scene.add_particles([(k, 0.0, 0.0), (k, -0.5, 0.0)], mass=[(k + 1) * ABOVE, (k + 1) * BELOW])
        scene.add_distance_constraints([ends])
    solver = Solver(
        Model(scene, num_envs, lanes=lanes), substeps=substeps, threads=1, **{"grip_forces": True, **options}
    )
    state, control = solver.state(), solver.control()
    state.hold([[0, 2]] * num_envs)
    return solver, state, control


@pytest.mark.parametrize(("lanes", "double"), [(1, False), (4, False), (1, True)])
def test_what_is_too_heavy_falls(lanes: int, double: bool) -> None:
    """Guards the limit of each environment, which grip opens, and that what is let go falls freely, from then on."""
    solver, state, control = pairs(3, lanes, double=double)
    control.set_force_limit([0.95 * WEIGHT, 1.05 * WEIGHT, 2.1 * WEIGHT])
    solver.step(state, control, FRAME)
    held = np.array([[-1, -1], [0, -1], [0, 2]])
    assert_array_equal(state.save()["held"], held)
    assert_array_equal(state.get_slipped(), held < 0)
    assert_allclose(state.get_grip_forces()[0, :, 1], [-WEIGHT, -2.0 * WEIGHT], rtol=1e-3)
    for _ in range(9):
        solver.step(state, control, FRAME)
        assert not state.get_slipped().any()
    assert_array_equal(state.save()["held"], held)
    assert_allclose(state.get_velocities()[0, :, 1], -G * 9 * FRAME, rtol=1e-3)
    assert_allclose(state.get_positions()[2, :, 1], [0.0, -0.5, 0.0, -0.5], atol=1e-5)
    if lanes == 4:
        alone, found, control = pairs()
        control.set_force_limit(1.05 * WEIGHT)
        for _ in range(10):
            alone.step(found, control, FRAME)
        assert_array_equal(found.get_positions()[0], state.get_positions()[1])


@pytest.mark.parametrize("substeps", [5, 40])
@pytest.mark.parametrize("strong", [False, True])
def test_what_is_torn_up_weighs_more(substeps: int, strong: bool) -> None:
    """Guards m (g + a), whatever the substeps, and what slips out of a hand on its way goes on with its velocity."""
    solver, state, control = pairs(substeps=substeps)
    needed = 2.0 * (ABOVE * G + BELOW * (G + 5.0))  # of the heavier one; the held particle is brought along for nothing
    control.set_force_limit(needed * (1.02 if strong else 0.98))
    for _ in range(3):  # at rest it is held
        solver.step(state, control, FRAME)
    assert_array_equal(state.save()["held"], [[0, 2]])
    control.move([0.0, 5.0 * FRAME * FRAME, 0.0])
    solver.step(state, control, FRAME)
    assert_array_equal(state.get_slipped(), [[False, not strong]])
    assert_allclose(state.get_velocities()[0, [0, 2], 1], 5.0 * FRAME, rtol=1e-3)
    solver.step(state, control, FRAME)
    falling = 5.0 * FRAME - (0.0 if strong else G * FRAME)
    assert_allclose(state.get_velocities()[0, [0, 2], 1], [5.0 * FRAME, falling], rtol=0.02)


def test_hands_without_a_limit_are_as_strong_as_ever() -> None:
    """Guards infinity, a limit that is taken back, and that a hand which has slipped may take hold again."""
    usual, asked = pairs(), pairs()
    asked[2].set_force_limit(np.inf)
    for solver, state, control in (usual, asked):
        solver.step(state, control, FRAME)
    assert_array_equal(usual[1].get_positions(), asked[1].get_positions())
    assert not usual[1].get_slipped().any()
    solver, state, control = asked
    control.set_force_limit(0.5 * WEIGHT)
    solver.step(state, control, FRAME)
    assert state.get_slipped().all()
    control.set_force_limit(1e300)
    state.hold([[0, 2]])
    for _ in range(3):
        solver.step(state, control, FRAME)
    assert not state.get_slipped().any()
    assert_array_equal(state.save()["held"], [[0, 2]])
    plain, state, control = pairs(grip_forces=False)
    control.set_force_limit([np.inf])
    plain.step(state, control, FRAME)
    control.set_force_limit(1.0)
    with pytest.raises(ValueError, match="grip_forces=True"):
        plain.step(state, control, FRAME)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, -np.inf, [1.0, 0.0], [1.0, 2.0, 3.0], "weak", None, True])
def test_limits_that_are_refused(bad: Any) -> None:
    _, _, control = pairs(2)
    control.set_force_limit([1.0, np.inf])
    with pytest.raises((TypeError, ValueError), match="force_limit"):
        control.set_force_limit(bad)
    assert_array_equal(control.force_limits.numpy()[:2], [1.0, np.inf])
