"""The double pendulum against its equations of motion."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from pbd_gym.demos.motion.double_pendulum import DoublePendulumDemo, PendulumOptions


def lagrange(options: PendulumOptions, time: float) -> np.ndarray:
    """Both bobs at ``time`` by the Euler-Lagrange equations of the two angles, shape (2, 2)."""
    m1, m2, l1, l2, g = options.mass1, options.mass2, options.length1, options.length2, -options.gravity

    def rhs(_: float, y: np.ndarray) -> list[float]:
        a, b, u, v = y
        matrix = [[(m1 + m2) * l1, m2 * l2 * np.cos(a - b)], [l1 * np.cos(a - b), l2]]
        right = [
            options.force * np.cos(a) - m2 * l2 * v**2 * np.sin(a - b) - (m1 + m2) * g * np.sin(a),
            options.force / m2 * np.cos(b) + l1 * u**2 * np.sin(a - b) - g * np.sin(b),
        ]
        return [u, v, *np.linalg.solve(matrix, right)]

    start = [*np.radians([options.angle1, options.angle2]), 0.0, 0.0]
    a, b = solve_ivp(rhs, (0.0, time), start, rtol=1e-10, atol=1e-12).y[:2, -1]
    first = np.array([l1 * np.sin(a), -l1 * np.cos(a)])
    return np.array([first, first + np.array([l2 * np.sin(b), -l2 * np.cos(b)])])


@pytest.mark.parametrize("masses", [(1.0, 1.0), (2.0, 0.5)])
def test_follows_the_equations_of_motion_in_first_order(masses: tuple[float, float]) -> None:
    errors = []
    for time_step in (0.004, 0.002, 0.001):
        options = PendulumOptions(
            angle1=60.0, angle2=20.0, mass1=masses[0], mass2=masses[1], length2=0.7, time_step=time_step, iterations=20
        )
        demo = DoublePendulumDemo(options)
        for _ in range(20):
            demo.step()
        errors.append(np.abs(demo.positions()[1:, :2] - lagrange(options, demo.time)).max())
    assert errors[-1] < 0.02
    assert_allclose(
        np.log2(np.array(errors[:-1]) / errors[1:]), 1.0, atol=0.3
    )  # single precision blurs the smallest step


def test_energy_is_lost_in_proportion_to_the_step_and_never_gained() -> None:
    lost = []
    for time_step in (0.002, 0.001):
        demo = DoublePendulumDemo(PendulumOptions(time_step=time_step, iterations=10))
        start = sum(demo.energies())
        for _ in range(25):
            demo.step()
            assert sum(demo.energies()) < start + 1e-3
        lost.append(start - sum(demo.energies()))
    assert 1.4 < lost[0] / lost[1] < 2.8


def test_trace_and_curves_are_of_what_moves() -> None:
    demo = DoublePendulumDemo()
    for _ in range(10):
        demo.step()
    frame = demo.frame()
    ((trace, _),) = frame.polylines
    assert trace.shape == (11, 3)
    assert_allclose(trace[-1], frame.positions[2])
    total, kinetic, potential = frame.panels[0].curves
    assert_allclose(total.y, kinetic.y + potential.y)
    assert_allclose(kinetic.y[0], 0.0)


def test_starts_where_it_is_told_and_feels_a_force() -> None:
    """Rods that start stretched snap to their lengths; a sideways force is in the equations of motion."""
    demo = DoublePendulumDemo(PendulumOptions(start="0.5,-0.5,1,-2"))
    assert_allclose(demo.positions()[1:, :2], [[0.5, -0.5], [1.0, -2.0]], atol=1e-6)
    demo.step()
    assert_allclose(np.linalg.norm(np.diff(demo.positions(), axis=0), axis=1), 1.0, atol=1e-3)
    with pytest.raises(ValueError, match="four numbers"):
        PendulumOptions(start="1,2,3")
    options = PendulumOptions(angle1=60.0, angle2=20.0, time_step=0.002, iterations=20, force=3.0)
    demo = DoublePendulumDemo(options)
    for _ in range(20):
        demo.step()
    assert_allclose(demo.positions()[1:, :2], lagrange(options, demo.time), atol=0.02)
