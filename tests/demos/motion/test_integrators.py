"""The integrators: orders of convergence, energies, and exact motions against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.special import ellipj

from pbd_gym.demos.motion.integration import METHODS, Pendulum, Spring, System, _elliptic
from pbd_gym.demos.motion.integrators import BOB, IntegratorOptions, IntegratorsDemo

SYSTEMS: list[System] = [Spring(3.0), Pendulum(3.0)]
ORDERS = {"explicit Euler": 1, "symplectic Euler": 1, "RK2": 2, "implicit Euler": 1}


def integrate(method: str, system: System, h: float, time: float, x: float = 1.0) -> tuple[float, float]:
    v = 0.0
    for _ in range(round(time / h)):
        x, v = METHODS[method](system, x, v, h)
    return x, v


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("method", METHODS)
def test_order_of_convergence(method: str, system: System) -> None:
    exact = system.exact(1.0, 1.5)
    errors = [np.linalg.norm(np.subtract(integrate(method, system, h, 1.5), exact)) for h in (2e-3, 1e-3, 5e-4)]
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert_allclose(orders, ORDERS[method], atol=0.06)


@pytest.mark.parametrize("system", SYSTEMS)
def test_energy_behaviour(system: System) -> None:
    """Explicit Euler and RK2 gain, implicit Euler loses, symplectic Euler stays, over a hundred swings."""
    h, start = 0.02, system.energy(1.0, 0.0)
    bounded = [name for name in METHODS if name != "explicit Euler"]
    ratio = {name: system.energy(*integrate(name, system, h, 100.0)) / start for name in bounded}
    assert system.energy(*integrate("explicit Euler", system, h, 10.0)) > 2.0 * start
    assert 1.0005 < ratio["RK2"] < 1.1
    assert ratio["implicit Euler"] < 1e-3
    assert abs(ratio["symplectic Euler"] - 1.0) < 0.06


def test_energy_of_a_spring_changes_by_the_factor_of_the_textbook() -> None:
    """Per step: explicit 1 + (h w)^2, implicit its inverse, RK2 1 + (h w)^4 / 4."""
    system, h = Spring(2.0), 0.1
    start, square = system.energy(0.7, 0.3), (0.1 * 2.0) ** 2
    factors = {"explicit Euler": 1 + square, "implicit Euler": 1 / (1 + square), "RK2": 1 + square**2 / 4}
    for name, factor in factors.items():
        assert_allclose(system.energy(*METHODS[name](system, 0.7, 0.3, h)) / start, factor, rtol=1e-13)


@pytest.mark.parametrize("m", [0.0, 0.1, 0.7, 0.999])
def test_elliptic_functions(m: float) -> None:
    for u in np.linspace(-12.0, 12.0, 41):
        assert_allclose(_elliptic(u, m), ellipj(u, m)[:3], rtol=0, atol=1e-10)


@pytest.mark.parametrize("start", [0.1, 1.0, 2.9])
@pytest.mark.parametrize("kind", [Spring, Pendulum])
def test_exact_motion_solves_the_equation(kind: type, start: float) -> None:
    system = kind(2.5)
    found = solve_ivp(lambda _, y: [y[1], system.acceleration(y[0])], (0, 4), [start, 0.0], rtol=1e-11, atol=1e-12)
    assert_allclose(system.exact(start, 4.0), found.y[:, -1], rtol=0, atol=1e-7)


@pytest.mark.parametrize("time_step", [0.04, 0.03, 0.1])
def test_demonstration_keeps_step_with_the_clock(time_step: float) -> None:
    """As many steps as fit into the time that is shown, whatever the frame rate."""
    demo = IntegratorsDemo(IntegratorOptions(time_step=time_step))
    for _ in range(30):
        demo.step()
    assert demo.steps == int(1.2 / time_step + 1e-9)
    x, v = integrate("RK2", Spring(4.0), time_step, demo.steps * time_step, 0.8)
    assert_allclose(demo.states["RK2"], (x, v))


@pytest.mark.parametrize("system", ["spring", "pendulum"])
@pytest.mark.parametrize("start", [0.1, 0.8, 2.0, 3.0])
def test_no_mass_covers_a_label(system: str, start: float) -> None:
    """Guards a spring let go at 2 m, whose mass hung above its hook and hid its name."""
    demo = IntegratorsDemo(IntegratorOptions(system=system, start=start, time_step=0.1))
    for _ in range(100):
        frame = demo.frame()
        names = np.array([position for position, _ in frame.labels])
        gap = np.abs(frame.positions[:, None] - names) - BOB
        assert ((gap[..., 0] > 0.4) | (gap[..., 1] > 0.1)).all()  # half the width and height of a name
        demo.step()


@pytest.mark.parametrize("start", [0.1, 0.8, 2.0, 3.0])
def test_springs_stay_above_the_panels_at_any_start(start: float) -> None:
    demo = IntegratorsDemo(IntegratorOptions(start=start))
    size = (480, 480)
    camera = demo.camera(size)
    lowest = 0.0
    for _ in range(60):
        (pixel,), _ = camera.project(demo.mass_positions()[:1] - [0.0, BOB, 0.0], size)
        lowest = max(lowest, pixel[1])
        demo.step()
    assert 200 < lowest < 0.72 * size[1]
