"""How iterations converge: the same step, done with more and more of them."""

from __future__ import annotations

import numpy as np

from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State

COUNTS = (2, 4, 8, 16, 32, 64, 128)
"""Iterations that are tried; from two on all take one kernel."""
CONVERGED = 512
"""Iterations, of Gauss-Seidel, after which a step counts as converged."""


def left_over(solver: Solver, state: State, time_step: float) -> np.ndarray:
    """Return how far a step of so many iterations is from the converged one, to which all methods lead.

    Args:
        solver: whose method it is.
        state: at the beginning of the step; it stays as it is.
        time_step: of the step [s].

    Returns:
        Largest distance of a particle of the first environment, for each of :data:`COUNTS` [m], shape (7,).
    """
    model, saved = solver.model, state.save()

    def reached(trial: Solver, iterations: int) -> np.ndarray:
        trial.set_steps(iterations=iterations)
        copy = trial.state()
        copy.load(saved)
        trial.step(copy, trial.control(), time_step)
        found: np.ndarray = copy.get_positions()[0].astype(np.float64)
        return found

    chosen = Solver(
        model, 1, damping=solver.damping, method=solver.method, relaxation=solver.relaxation,
        chebyshev=solver.chebyshev, threads=1,
    )  # fmt: skip
    end = reached(Solver(model, 1, damping=solver.damping, threads=1), CONVERGED)  # all methods lead there
    return np.array([np.linalg.norm(reached(chosen, count) - end, axis=1).max() for count in COUNTS])
