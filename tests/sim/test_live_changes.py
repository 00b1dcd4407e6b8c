"""What may change while a simulation runs: numbers of the solver, and which particles are fixed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State

STEP = 1 / 30


def sheet(grips: int = 1) -> Scene:
    scene = Scene(grip_count=grips)
    scene.add_cloth(4, 5, (0.4, 0.3), lines=False)
    scene.pin([0, 4])
    return scene


def run(solver: Solver, state: State, steps: int) -> np.ndarray:
    control = solver.control()
    for _ in range(steps):
        solver.step(state, control, STEP)
    return state.get_positions()


@pytest.mark.parametrize(("chebyshev", "method"), [(0.0, "gauss-seidel"), (0.5, "jacobi")])
def test_other_steps_do_what_a_new_solver_does(chebyshev: float, method: str) -> None:
    model = Model(sheet(), 3)
    live, ready = (
        Solver(model, substeps=s, iterations=n, chebyshev=chebyshev, method=method, threads=1)
        for s, n in ((5, 1), (8, 3))
    )
    state = live.state()
    run(live, state, 4)
    other = ready.state()
    other.load(state.save())
    live.set_steps(substeps=8, iterations=3)
    assert_array_equal(run(live, state, 4), run(ready, other, 4))
    assert_array_equal(state.get_lambda(), other.get_lambda())
    live.set_steps(iterations=1)
    assert live.substeps == 8
    fresh = Solver(model, substeps=8, chebyshev=chebyshev, method=method, threads=1)
    other = fresh.state()
    other.load(state.save())
    assert_array_equal(run(live, state, 3), run(fresh, other, 3))


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "multipliers": {"iterations": 2},
    "jacobi": {"method": "jacobi", "iterations": 2},
    "chebyshev": {"chebyshev": 0.3, "iterations": 3},
}


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize(("first", "then"), [("plain", "chebyshev"), ("jacobi", "plain"), ("multipliers", "jacobi")])
def test_another_solver_goes_on_with_a_state(first: str, then: str, lanes: int) -> None:
    """Guards the memory that a solver needs: it used to write past the end of what the state of another one has."""
    model = Model(sheet(), lanes=lanes)
    before, after = (Solver(model, threads=1, **OPTIONS[name]) for name in (first, then))
    state, wanted = before.state(), after.state()
    run(before, state, 2)
    wanted.load(state.save())
    assert_array_equal(run(after, state, 2), run(after, wanted, 2))
    for name in ("lam", "delta", "recent", "packed", "lam_recent"):
        assert all(a >= b for a, b in zip(getattr(state, name).shape, getattr(wanted, name).shape, strict=True)), name
    run(before, state, 1)  # and back, with launches that were recorded


def test_bad_steps_leave_the_solver_as_it_was() -> None:
    solver = Solver(Model(sheet()), substeps=5)
    for bad in ({"substeps": 0}, {"substeps": 4, "iterations": -1}):
        with pytest.raises(ValueError, match="must be at least 1"):
            solver.set_steps(**bad)
    with pytest.raises(TypeError, match="iterations must be a whole number"):
        solver.set_steps(iterations=1.5)  # type: ignore[arg-type]
    assert (solver.substeps, solver.iterations) == (5, 1)


def test_what_the_scene_pins_is_set_free_and_something_else_fixed() -> None:
    """Environment 1 does as if the scene were pinned so; the others do not notice."""
    scene, other = sheet(), Scene(grip_count=1)
    other.add_cloth(4, 5, (0.4, 0.3), lines=False)
    other.pin([4, 7])
    solver, expected = Solver(Model(scene, 3), substeps=10, threads=1), Solver(Model(other, 3), substeps=10, threads=1)
    plain = run(solver, solver.state(), 10)
    state = solver.state()
    pinned = state.get_pinned()
    pinned[1] = False
    pinned[1, [4, 7]] = True
    state.set_pinned(pinned)
    assert_array_equal(state.get_pinned(), pinned)
    found = run(solver, state, 10)
    assert_array_equal(found[[0, 2]], plain[[0, 2]])
    assert_array_equal(found[1, [4, 7]], scene.positions[[4, 7]].astype(np.float32))
    assert_allclose(found[1], run(expected, expected.state(), 10)[1], atol=1e-6)
    state.reset()
    assert_array_equal(run(solver, state, 10), plain)


def test_pins_last_through_other_masses_and_grips() -> None:
    scene = sheet()
    solver = Solver(Model(scene), substeps=10, threads=1)
    state = solver.state()
    pinned = state.get_pinned()[0]
    pinned[[0, 9]] = False, True
    state.set_pinned(pinned)
    state.hold([[9]])
    state.set_parameters(density=2.0)
    mass = 1.0 / state.free_inv_mass_scalar.numpy()[0, 0, 0]
    assert mass == pytest.approx(2.0 * scene.mass[0])
    state.hold([[0]])
    assert state.inv_mass_scalar.numpy()[0, [0, 9], 0].tolist() == [0.0, 0.0]
    state.hold([[-1]])
    assert state.inv_mass_scalar.numpy()[0, 0, 0] > 0.0
    state.set_pinned(None)
    assert_array_equal(state.get_pinned()[0], scene.inv_mass == 0.0)


def test_a_particle_that_is_fixed_stops() -> None:
    scene = Scene()
    scene.add_particles([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]], 1.0, velocities=[[1.0, 0, 0], [1.0, 0, 0]])
    solver = Solver(Model(scene), substeps=10, threads=1)
    state = solver.state()
    state.set_pinned([True, False])
    found = run(solver, state, 5)[0]
    assert_array_equal(found[0], [0.0, 1.0, 0.0])
    assert found[1, 0] > 1.1


def test_bad_pins_leave_the_state_as_it_was() -> None:
    state = Solver(Model(sheet()), substeps=10).state()
    before = state.inv_mass_scalar.numpy().copy()
    with pytest.raises(ValueError, match=r"pinned must broadcast to shape \(1, 20\)"):
        state.set_pinned([True, False])
    with pytest.raises(TypeError, match="pinned must be bool"):
        state.set_pinned([1] * 20)
    assert_array_equal(state.inv_mass_scalar.numpy(), before)
