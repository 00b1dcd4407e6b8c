"""The thrown particle: closed forms of each integrator, and the pages' trajectories."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.demos.motion.integrators import ARROW, ThrowDemo, ThrowOptions
from tests.demos.data import load

ORIGINAL = {"explicit Euler": "ExplicitEuler", "symplectic Euler": "SymplecticEuler", "RK2": "RungeKutta2"}


@pytest.mark.parametrize(("case", "options"), [
    (0, {}), (1, {"time_step": 0.1, "force_y": -3.0}),
])  # fmt: skip
def test_tracks_are_those_of_the_original_and_of_closed_forms(case: int, options: dict[str, float]) -> None:
    demo, tables = ThrowDemo(ThrowOptions(flight=3.0, **options)), load("springs")
    h, force = demo.options.time_step, demo.options.force_y
    for name, offset in (("explicit Euler", -1), ("symplectic Euler", 1), ("RK2", 0)):
        track = demo.tracks[name]
        n = np.arange(len(track))
        height = n * h * 4.5 + 0.5 * n * (n + offset) * h**2 * force
        assert_allclose(track, np.stack([n * h * 1.0, height], axis=1), atol=1e-12)
        wanted = tables[f"time_c{case}_{ORIGINAL[name]}"]
        assert_allclose(track[: len(wanted)], wanted, atol=1e-12)


def test_dragging_the_arrow_throws_anew() -> None:
    demo = ThrowDemo()
    for _ in range(10):
        demo.step()
    demo.hold(0)
    demo.move(np.array([0.05, -0.02, 0.0]))
    demo.step()
    assert demo.time == 0.0
    assert_allclose([axis.speed for axis in demo.axes], [1.0 + 0.05 / ARROW, 4.5 - 0.02 / ARROW])
