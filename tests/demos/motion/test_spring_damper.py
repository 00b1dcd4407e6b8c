"""The damped spring: the pages' trajectories, its slope, and the energy that damping takes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.demos.motion.integration import INTEGRATORS, METHODS, DampedSpring, Spring
from pbd_gym.demos.motion.integrators import SpringDamperDemo, SpringOptions
from tests.demos.data import load

ORIGINAL = {
    "explicit": "ExplicitEuler",
    "symplectic": "SymplecticEuler",
    "RK2": "RungeKutta2",
    "implicit": "ImplicitEuler",
}
CASES = (
    (DampedSpring(5.0, 4.0, 0.0, 0.5), 0.01, 5.0 / 0.5, 0.005),
    (DampedSpring(20.0, 2.0, 0.3, 0.8), 0.05, 12.0 / 0.7, 0.05),
)


@pytest.mark.parametrize("case", [0, 1])
@pytest.mark.parametrize("name", INTEGRATORS)
def test_trajectories_of_the_original(name: str, case: int) -> None:
    spring, h, _, _ = CASES[case]
    rows = load("springs")[f"damper_c{case}_{ORIGINAL[name]}"]
    x, v = rows[0, :2], rows[0, 2:4]
    for row in rows[1:]:
        x, v = INTEGRATORS[name](spring, x, v, h)
        assert_allclose([*x, *v], row[:4], rtol=1e-9, atol=1e-9)
        kinetic, potential = spring.energies(x, v)
        assert_allclose([kinetic, potential, kinetic + potential], row[4:], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", [0, 1])
@pytest.mark.parametrize("name", INTEGRATORS)
def test_one_dimension_is_that_of_the_integrators(name: str, case: int) -> None:
    """The page that plots a spring of no rest length, by the integrators of the other demonstration."""
    _, _, square, h = CASES[case]
    method = {key.removesuffix(" Euler"): step for key, step in METHODS.items()}[name]
    rows = load("springs")[f"plot_c{case}_{ORIGINAL[name]}"]
    x, v = rows[0, 0], rows[0, 1]
    for row in rows[1:]:
        x, v = method(Spring(np.sqrt(square)), x, v, h)
        assert_allclose([x, v], row[:2], rtol=1e-9, atol=1e-9)


def test_slope_is_that_of_the_force() -> None:
    spring, x, step = DampedSpring(7.0, 1.5, 0.0, 1.0), np.array([0.8, -1.9]), 1e-6
    for axis in range(2):
        d = step * np.eye(2)[axis]
        difference = (spring.force(x + d, np.zeros(2)) - spring.force(x - d, np.zeros(2))) / (2 * step)
        assert_allclose(spring.slope(x)[:, axis], difference, atol=1e-8)


def test_demonstration_keeps_step_with_the_clock_and_the_hand() -> None:
    demo = SpringDamperDemo(SpringOptions(integrator="symplectic", time_step=0.03))
    for _ in range(30):
        demo.step()
    x, v = np.array([6.0, 0.0]), np.zeros(2)
    for _ in range(int(1.2 / 0.03 + 1e-9)):
        x, v = INTEGRATORS["symplectic"](demo.spring, x, v, 0.03)
    assert_allclose(demo.handles[0], x)
    demo.hold(0)
    demo.move(np.array([0.1, 0.2, 0.0]))
    demo.step()
    assert_allclose(demo.handles[0], x + np.array([0.1, 0.2]))
    assert_allclose(demo.velocities[0], np.array([0.1, 0.2]) * demo.fps)


def test_negative_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="needs a mass"):
        DampedSpring(1.0, 1.0, -0.1, 1.0)
