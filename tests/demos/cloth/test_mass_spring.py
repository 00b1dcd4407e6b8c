"""Masses and springs against the tutorial, the continuous limit, and their own energy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.demos.cloth.mass_spring import MassSpring, MassSpringDemo, MassSpringOptions
from tests.demos.data import load


def make(oracle: dict[str, np.ndarray]) -> MassSpring:
    return MassSpring(
        oracle["x0"], oracle["inv_mass"], oracle["edges"], float(oracle["stiffness"]),
        float(oracle.get("damping", 0.0)), oracle["gravity"], rest_length=oracle["rest_len"],
    )  # fmt: skip


@pytest.mark.parametrize("name", ["ms_default_10x8", "ms_limit_6x5_k1000_dt0.0005"])
def test_reproduces_the_tutorial(name: str) -> None:
    """Guards forces, damping along the spring and the order of a step; nothing but rounding may differ."""
    oracle = load(name)
    system = make(oracle)
    count = 0
    for k, step in enumerate(oracle["steps"]):
        while count < step:
            system.step(float(oracle["dt"]))
            count += 1
        assert_allclose(system.positions, oracle["pos"][k], rtol=0, atol=1e-12)
        assert_allclose(system.velocities, oracle["vel"][k], rtol=0, atol=1e-10)


def test_demonstration_is_the_tutorials_sheet() -> None:
    """Guards what the options mean: the first frame that both have, 8 steps on."""
    oracle = load("ms_default_10x8")
    demo = MassSpringDemo(
        MassSpringOptions(columns=10, rows=8, mass=0.5, stiffness=5000.0, damping=10.0, time_step=0.005)
    )
    system = make(oracle)
    for _ in range(5):
        demo.step()
        for _ in range(demo.substeps):
            system.step(0.005)
    assert_allclose(demo.positions()[:, :2], system.positions, rtol=0, atol=1e-12)
    assert_allclose(demo.positions()[:, 2], 0.0, atol=0.0)


def test_converges_to_the_continuous_motion_in_first_order() -> None:
    """Against DOP853: the error halves with the step."""
    exact = load("ms_limit_6x5_k1000_ODE")
    errors = []
    for dt in (0.0005, 0.00025, 0.000125):
        stored = load(f"ms_limit_6x5_k1000_dt{dt}")
        system = make(stored)
        worst = 0.0
        for k in range(1, len(exact["times"])):
            for _ in range(round(0.025 / dt)):
                system.step(dt)
            worst = max(worst, float(np.abs(system.positions - exact["pos"][k]).max()))
        errors.append(worst)
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert_allclose(orders, 1.0, atol=0.05)


@pytest.mark.parametrize(("method", "bound"), [("symplectic", (0.99, 1.01)), ("explicit", (1.5, np.inf))])
def test_energy(method: Any, bound: tuple[float, float]) -> None:
    """One spring at rest length with a push: symplectic Euler keeps the energy near, explicit Euler gains."""
    system = MassSpring([[0.0, 0.0], [1.0, 0.0]], [0.0, 1.0], [[0, 1]], 100.0, gravity=(0.0, 0.0), method=method)
    system.velocities[1] = (1.0, 0.0)
    start = system.energy()
    energies = []
    for _ in range(5000):
        system.step(0.001)
        energies.append(system.energy() / start)
    assert bound[0] < np.mean(energies[-1000:]) < bound[1]


def test_momentum_is_kept() -> None:
    """Springs and dampers act and react: with nothing fixed, gravity alone changes the momentum."""
    rng = np.random.default_rng(0)
    inv_mass = rng.uniform(0.5, 2.0, 12)
    edges = np.array([(i, j) for i in range(12) for j in range(i)])
    system = MassSpring(rng.normal(size=(12, 3)), inv_mass, edges, 50.0, 2.0, (0.0, -9.81, 0.0))
    system.positions = system.positions + 0.1 * rng.normal(size=(12, 3))
    for _ in range(100):
        system.step(0.001)
    momentum = (system.velocities / inv_mass[:, None]).sum(axis=0)
    assert_allclose(momentum, [0.0, -9.81 * 0.1 * (1 / inv_mass).sum(), 0.0], atol=1e-10)


def test_explodes_where_it_must_and_says_so() -> None:
    demo = MassSpringDemo(MassSpringOptions(columns=6, rows=5, time_step=0.02))
    for _ in range(40):
        demo.step()
    assert demo.exploded
    assert "exploded" in demo.readout()
    demo.frame()
    demo.change(MassSpringOptions(columns=6, rows=5))  # starts again: there is nothing to go on from
    assert not demo.exploded


@pytest.mark.parametrize(
    "change",
    [{"edges": [[0, 2]]}, {"stiffness": -1.0}, {"positions": [[np.nan, 0.0], [1.0, 0.0]]}, {"method": "implicit"},
     {"inv_mass": [1.0, 1.0, 1.0]}],
)  # fmt: skip
def test_bad_input_is_named(change: dict[str, Any]) -> None:
    good: dict[str, Any] = {
        "positions": [[0.0, 0.0], [1.0, 0.0]], "inv_mass": 1.0, "edges": [[0, 1]], "stiffness": 1.0, "gravity": (0, 0)
    }  # fmt: skip
    MassSpring(**good)
    with pytest.raises(ValueError, match=next(iter(change))):
        MassSpring(**good | change)


def test_explodes_beyond_the_longest_step_and_not_before() -> None:
    """Guards the bound that the demonstration names, with dampers and without."""
    for damping in (0.0, 0.3):
        options = MassSpringOptions(columns=8, rows=8, damping=damping, gravity=0.0)
        for ratio, lives in ((0.97, True), (1.06, False)):
            demo = MassSpringDemo(replace(options, time_step=ratio * MassSpringDemo(options).longest_step))
            demo.system.positions[1:-1:3, :2] += 1e-3
            for _ in range(100):
                demo.step()
            assert demo.exploded is not lives, (damping, ratio)


def test_the_film_goes_beyond_the_longest_step() -> None:
    demo = MassSpringDemo()
    while demo.time < 4.0:
        demo.perform()
        demo.step()
    assert demo.exploded
    chosen = MassSpringDemo(MassSpringOptions(columns=6, rows=5, time_step=0.001))
    while chosen.time < 4.0:
        chosen.perform()
        chosen.step()
    assert chosen.time_step == 0.001  # as asked for
