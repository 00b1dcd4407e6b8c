"""Solver choices: symmetric sweeps, Jacobi, Chebyshev acceleration and Rayleigh damping."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.materials.materials import RopeMaterial
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.coloring import batches, greedy_colors
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver

CHOICES: dict[str, dict[str, Any]] = {
    "gauss-seidel": {},
    "symmetric": {"method": "symmetric"},
    "jacobi": {"method": "jacobi"},
    "under-relaxed": {"method": "jacobi", "relaxation": 0.7},
    "chebyshev": {"method": "jacobi", "chebyshev": 0.99},
}


def hanging_chain() -> Scene:
    """A rope along the pull of gravity: no gradient turns, so that XPBD has one fixed point whatever the way there."""
    scene = Scene()
    rope = scene.add_rope(
        np.linspace((0.0, 0.0, 0.0), (0.0, -1.0, 0.0), 16), RopeMaterial(0.5, 1e-4, None), lines=False
    )
    scene.pin(rope[:1])
    return scene


def one_step(iterations: int, lanes: int = 1, dtype: Any = "float64", **choice: Any) -> np.ndarray:
    """Positions after one step of 1/60 s, shape (lanes, n, 3)."""
    model = Model(hanging_chain(), num_envs=lanes, dtype=dtype, lanes=lanes)
    solver = Solver(model, substeps=1, iterations=iterations, **{"compensate": False, **choice})
    state, control = solver.state(), solver.control()
    solver.step(state, control, 1 / 60)
    return state.get_positions()


@pytest.fixture(scope="module")
def solution() -> np.ndarray:
    return one_step(4000)


@pytest.mark.parametrize("choice", CHOICES)
def test_every_choice_converges_to_the_same_step(choice: str, solution: np.ndarray) -> None:
    """Guards the fixed point: schedules, shares and extrapolation change the way there, and not where it leads."""
    assert_allclose(one_step(12000, **CHOICES[choice]), solution, atol=1e-9)


def test_acceleration_and_order(solution: np.ndarray) -> None:
    """Guards what the choices are for: Gauss-Seidel beats Jacobi, Chebyshev's Jacobi beats both."""
    error = {name: np.abs(one_step(60, **choice) - solution).max() for name, choice in CHOICES.items()}
    assert error["gauss-seidel"] < 0.7 * error["jacobi"]
    assert error["chebyshev"] < 0.5 * error["gauss-seidel"]
    assert error["jacobi"] < error["under-relaxed"]
    assert error["symmetric"] < error["jacobi"]


@pytest.mark.parametrize("order", ["given", "colored"])
def test_symmetric_sweep_goes_back_the_way_it_came(order: Any) -> None:
    """Guards the schedule: without compliance, forth and back is one sweep over the list and the list turned round."""
    rng = np.random.default_rng(1)
    positions = rng.normal(size=(12, 3))
    pairs = np.array([[i, j] for i in range(12) for j in range(i)])[rng.permutation(66)[:30]]
    permutation, _ = batches(greedy_colors(pairs, 12)) if order == "colored" else (np.arange(30), None)
    there = pairs[permutation]
    found = []
    for indices, sweeps, method in ((pairs, 2, "symmetric"), (np.concatenate([there, there[::-1]]), 1, "gauss-seidel")):
        scene = Scene()
        scene.add_particles(positions, np.linspace(0.5, 2.0, 12))
        scene.add_distance_constraints(indices, 0.0, 1.0)
        model = Model(scene, dtype="float64", order=order if sweeps == 2 else "given")
        solver = Solver(model, substeps=1, iterations=sweeps, method=method, compensate=False)  # type: ignore[arg-type]
        state = solver.state()
        solver.step(state, solver.control(), 1 / 60)
        found.append(state.get_positions())
    assert_allclose(found[0], found[1], rtol=0, atol=1e-13)


@pytest.mark.parametrize("choice", CHOICES)
def test_lanes_change_no_bit(choice: str) -> None:
    """Guards the batch: a lane of sixteen is the lone environment."""
    alone = one_step(7, dtype="float32", **CHOICES[choice])[0]
    assert_array_equal(one_step(7, lanes=16, dtype="float32", **CHOICES[choice]), np.stack([alone] * 16))


def test_symmetric_sweep_of_a_lone_environment() -> None:
    """Guards the way back where eight constraints of a colour are projected together: it leaves none of them out.

    The colours of this cloth have 6 to 21 constraints, so that some are left over.
    """
    found = []
    for lanes in (1, 4):
        scene = Scene()
        scene.pin(scene.add_cloth(6, 7, lines=False).corners[:2])
        solver = Solver(Model(scene, lanes=lanes), substeps=2, iterations=2, method="symmetric")
        state, control = solver.state(), solver.control()
        for _ in range(2):
            solver.step(state, control, 1 / 60)
        found.append(state.get_positions())
    assert_array_equal(found[0], found[1])


def spring(compliance: float, damping_time: float) -> Scene:
    """Two balls of 2 kg on a spring of 1 m that is stretched by 1 cm."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_particles([(0.0, 0.0, 0.0), (1.01, 0.0, 0.0)], 2.0)
    scene.add_constraints("distance", [[0, 1]], compliance=compliance, rest_length=1.0, damping_time=damping_time)
    return scene


@pytest.mark.parametrize("iterations", [1, 4])
def test_damping_time_gives_the_damping_ratio(iterations: int) -> None:
    """Guards Rayleigh damping: an oscillation decays like exp(-zeta w t) with zeta = w tau / 2, first order in h."""
    compliance, tau, duration = 1e-3, 4e-3, 0.5
    omega = np.sqrt(1.0 / compliance)  # reduced mass 1 kg
    decays = []
    for damping_time in (0.0, tau):
        model = Model(spring(compliance, damping_time), dtype="float64")
        solver = Solver(model, substeps=20000, iterations=iterations, compensate=False)
        state, control = solver.state(), solver.control()
        solver.step(state, control, duration)
        x, v = (values[0, 1, 0] - values[0, 0, 0] for values in (state.get_positions(), state.get_velocities()))
        decays.append(np.log(np.hypot(x - 1.0, v / omega) / 0.01))
    # Implicit Euler decays by itself, like exp(-w^2 h t / 2); both decays are of small ratios, and add up.
    assert_allclose(decays[0], -(omega**2) * (duration / 20000) / 2 * duration, rtol=0.05)
    assert_allclose(decays[1] - decays[0], -tau * omega**2 / 2 * duration, rtol=0.05)


def test_damping_keeps_momentum_and_rigid_rods_fall_freely() -> None:
    """Guards the damping of a rigid constraint: it takes relative velocity only."""
    scene = spring(0.0, 0.1)
    scene.positions[1, 0] = 1.0
    scene.velocities[:] = [(0.0, 0.0, 0.0), (0.0, 1.0, 0.0)]
    model = Model(scene, dtype="float64")
    solver = Solver(model, substeps=2000)
    state, control = solver.state(), solver.control()
    solver.step(state, control, 0.2)
    velocities = state.get_velocities()[0]
    assert_allclose(velocities.sum(axis=0), [0.0, 1.0, 0.0], atol=1e-9)
    positions = state.get_positions()[0]
    about = positions - positions.mean(axis=0)
    spin = np.cross(about, velocities - velocities.mean(axis=0)).sum(axis=0)
    # A rod that turns by w h in a substep is pulled back by a share of (w h)^2 / 2, which its spin loses too.
    assert_allclose(spin, [0.0, 0.0, 0.5], rtol=2 * 2000 * (1.0 * 0.2 / 2000) ** 2 / 2)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"method": "newton"}, "method"),
        ({"method": "jacobi", "relaxation": 2.0}, "relaxation"),
        ({"relaxation": 0.5}, "relaxation"),
        ({"chebyshev": 1.0}, "chebyshev"),
        ({"chebyshev": float("nan")}, "chebyshev"),
    ],
)
def test_wrong_choices_are_named(arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Solver(Model(hanging_chain()), **arguments)


def test_wrong_damping_is_named() -> None:
    scene = Scene()
    scene.add_particles([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)], 1.0)
    with pytest.raises(ValueError, match="damping_time"):
        scene.add_constraints("distance", [[0, 1]], damping_time=-1.0)
