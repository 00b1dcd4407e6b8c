"""Impulses against the tutorial and their own laws."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.demos.cloth.impulses import ImpulseOptions, ImpulsesDemo, ImpulseSystem
from tests.demos.data import load


def test_reproduces_the_tutorial() -> None:
    """Nothing but rounding may differ; it grows a little over 300 steps."""
    oracle = load("ibds_10x8_f2")
    system = ImpulseSystem(
        oracle["x0"], oracle["inv_mass"], oracle["edges"], oracle["gravity"], int(oracle["numIterations"]),
        oracle["rest_len"],
    )  # fmt: skip
    done = 0
    for k, step in enumerate(oracle["steps"]):
        while done < step:
            system.step(float(oracle["dt"]))
            done += 1
        assert_allclose(system.positions, oracle["pos"][k], rtol=0, atol=1e-10)
        assert_allclose(system.velocities, oracle["vel"][k], rtol=0, atol=1e-8)


def test_demonstration_is_the_tutorials_sheet() -> None:
    oracle = load("ibds_10x8_f2")
    demo = ImpulsesDemo(ImpulseOptions(columns=10, rows=8, mass=0.5, time_step=0.005))
    demo.step()  # 8 steps
    (stored,) = np.flatnonzero(oracle["steps"] == 8)
    assert_allclose(demo.positions()[:, :2], oracle["pos"][stored], rtol=0, atol=1e-12)


def test_momentum_is_kept_and_one_rod_is_solved_at_once() -> None:
    """Impulses act and react along the rod: one sweep makes one rod right, and momenta stay."""
    rng = np.random.default_rng(0)
    system = ImpulseSystem(rng.normal(size=(2, 3)), [1.0, 0.25], [[0, 1]], (0.0, 0.0, 0.0), 1, [1.3])
    system.velocities = rng.normal(size=(2, 3))
    mass = 1.0 / system.inv_mass[:, None]
    momentum = (mass * system.velocities).sum(axis=0)
    for _ in range(10):
        system.step(0.01)
        assert_allclose((mass * system.velocities).sum(axis=0), momentum, atol=1e-12)
        span = system.positions[0] - system.positions[1]
        assert_allclose(np.linalg.norm(span), 1.3, atol=1e-12)
        assert abs(span @ (system.velocities[0] - system.velocities[1])) < 1e-12


def test_more_sweeps_stretch_less() -> None:
    stretch = []
    for iterations in (1, 4, 16):
        demo = ImpulsesDemo(ImpulseOptions(columns=6, rows=5, iterations=iterations))
        for _ in range(25):
            demo.step()
        stretch.append(np.abs(demo.stretch()).max())
    assert stretch[0] > 2 * stretch[1] > 4 * stretch[2]


@pytest.mark.parametrize(
    ("edges", "iterations", "error"), [([[0, 2]], 1, ValueError), ([[0, 1]], 0, ValueError), ([[0, 1]], 1.5, TypeError)]
)
def test_bad_input_is_refused(edges: list[list[int]], iterations: int, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"edges|iterations"):
        ImpulseSystem(np.eye(2), 1.0, edges, (0.0, 0.0), iterations)
