"""What iterations leave over, by method."""

from __future__ import annotations

from typing import Any

import numpy as np

from pbd_gym import Solver
from pbd_gym.demos.cloth.cloth import COUNTS, ClothDemo, ClothOptions, left_over


def test_methods_converge_as_they_are_known_to() -> None:
    """Further iterations come nearer; Jacobi needs more of them, and Chebyshev's extrapolation fewer again."""
    demo = ClothDemo(ClothOptions(columns=8, rows=6, stiffness=1e5, convergence="on", wind=0.0, surface="off"))
    for _ in range(3):
        demo.step()
    before = demo.positions()

    def measured(**choice: Any) -> np.ndarray:
        return left_over(Solver(demo.solver.model, 1, threads=1, **choice), demo.state, demo.time_step)

    gauss_seidel, jacobi = measured(), measured(method="jacobi")
    chebyshev = measured(method="jacobi", chebyshev=0.98)
    np.testing.assert_array_equal(demo.positions(), before)
    for errors in (gauss_seidel, jacobi, chebyshev):
        assert (np.diff(errors[:6]) < 0.0).all()
    at = COUNTS.index(64)
    assert gauss_seidel[at] < 0.2 * jacobi[at]
    assert chebyshev[at] < 0.5 * jacobi[at]
    (panel,) = demo.frame().panels
    assert demo.errors is not None and len(panel.curves[0].x) == len(demo.errors) == len(COUNTS)


def test_a_hand_does_not_follow_what_has_diverged() -> None:
    """Guards the window: an extrapolation that is too large sends particles to where no number is."""
    demo = ClothDemo(ClothOptions(columns=8, rows=6, method="jacobi", chebyshev=0.99, wind=0.0, surface="off"))
    demo.hold(47)
    demo.move(np.full(3, np.nan))
    demo.step()
    assert np.isfinite(demo.positions()).all()
