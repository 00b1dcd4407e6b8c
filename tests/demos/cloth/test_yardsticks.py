"""Solvers of whole systems against each other, Newton's method on a scene, and converged XPBD."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.demos.cloth.yardsticks import METHODS, WholeSystem, YardstickOptions, YardsticksDemo
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.implicit_euler import ImplicitEuler
from tests.sim.oracles import load

GRAVITY = (0.0, -9.81, 0.0)


def net(method: str, iterations: int = 30, stiffness: float = 1000.0) -> WholeSystem:
    """Return a sheet that hangs by a corner, so that it moves in all three directions."""
    demo = YardsticksDemo(YardstickOptions(columns=4, rows=3, fixed=1, mass=0.1))
    rng = np.random.default_rng(0)
    start = demo.sheet.positions
    system = WholeSystem(start, demo.inv_mass, demo.sheet.edges, 1.0 / stiffness, GRAVITY, method, iterations)
    system.positions = start + 0.02 * rng.normal(size=start.shape) * (demo.inv_mass[:, None] > 0)
    return system


@pytest.mark.parametrize("method", ["newton", "newton-raphson"])
def test_exact_methods_do_the_step_of_a_scene(method: str) -> None:
    """Guards mass, sign and compliance of every term, against derivatives that are traced from formulas."""
    system = net(method)
    scene = Scene(gravity=GRAVITY)
    scene.add_particles(system.positions, 0.1)
    scene.add_distance_constraints(system.edges, system.compliance, rest_length=system.rest_length)
    scene.pin(np.flatnonzero(system.inv_mass == 0.0))
    truth = ImplicitEuler(scene)
    for _ in range(10):
        system.step(0.01)
        truth.advance(0.01)
        assert_allclose(system.positions, truth.positions, rtol=0, atol=1e-8)
    assert_allclose(system.force, (system.equations(0.01).values(system.positions)) / system.compliance, atol=1e-4)


def test_digits_double() -> None:
    """Newton's methods converge quadratically; going back by the shortest way does not, and ends off balance."""
    system = net("newton")
    for _ in range(3):
        system.step(0.01)
    left = {name: system.left_over(name, 0.01, 8) for name in METHODS}
    assert left["newton"][-1] < 1e-8 > left["newton-raphson"][-1]
    third = left["newton-raphson"]
    assert third[2] < 10.0 * third[1] ** 2 + 1e-9
    assert left["step-and-project"][-1] > 1e-4
    assert left["tournier"][0] == left["tournier"][-1] == third[0]


def test_step_and_project_leads_where_sweeps_lead() -> None:
    """Against the tutorial's XPBD with 400 sweeps, whose directions change from sweep to sweep: nearly the same."""
    oracle = load("xpbd_converged_6x5__fixed")
    gaps = {}
    for method in ("step-and-project", "newton"):
        system = WholeSystem(
            oracle["x0"],
            oracle["inv_mass"],
            oracle["edges"],
            float(oracle["compliance"]),
            oracle["gravity"],
            method,
            30,
        )
        done, gap = 0, 0.0
        for k, step in enumerate(oracle["steps"][:12]):
            while done < step:
                system.step(float(oracle["dt"]))
                done += 1
            gap = max(gap, float(np.abs(system.positions - oracle["pos"][k]).max()))
        gaps[method] = gap
    assert gaps["step-and-project"] < 1e-4, gaps


def test_one_solve_is_of_second_order() -> None:
    """Tournier's step differs from the exact one by what forces change in a step: four times less at half of it."""
    gaps = []
    for h in (0.004, 0.002):
        system = net("newton", stiffness=200.0)
        system.step(h)
        exact, once = (system.left_over(name, h, 20) for name in ("newton", "tournier"))
        gaps.append(once[0] * h**2)
        assert exact[-1] < 1e-7
    assert gaps[1] < gaps[0] / 3.5


def test_geometric_stiffness_keeps_a_taut_chain_calm() -> None:
    """A stiff chain with a heavy end at long steps keeps its length with one solve a step."""
    x = np.stack([0.1 * np.arange(11), np.zeros(11), np.zeros(11)], axis=1)
    edges = np.stack([np.arange(10), np.arange(1, 11)], axis=1)
    inv_mass = np.array([0.0, *[100.0] * 9, 0.1])
    system = WholeSystem(x, inv_mass, edges, 1e-7, GRAVITY, "tournier", 1)
    for _ in range(200):
        system.step(0.02)
        assert np.linalg.norm(system.positions, axis=1).max() < 1.2
    assert system.positions[-1, 1] < -0.5


def test_refuses_bad_input() -> None:
    x = np.zeros((2, 3))
    x[1, 0] = 1.0
    for wrong, match in (
        ({"compliance": 0.0}, "compliance"), ({"method": "bfgs"}, "method"), ({"edges": [[0, 2]]}, "particles 0 to 1"),
        ({"gravity": (0.0, np.nan, 0.0)}, "gravity"), ({"iterations": 0}, "iterations"),
    ):  # fmt: skip
        fine = {"positions": x, "inv_mass": [0.0, 1.0], "edges": [[0, 1]], "compliance": 1.0, "gravity": GRAVITY}
        with pytest.raises(ValueError, match=match):
            WholeSystem(**(fine | wrong))  # type: ignore[arg-type]
