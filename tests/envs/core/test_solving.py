"""Which solver a task runs is an argument of the environment."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from pbd_gym.envs.tools.planning import twin
from tests.envs.helpers import ID, SMALL, assert_same, make_vec, random_actions, roll


def test_the_solver_is_chosen_by_arguments() -> None:
    """They arrive at it, what moves is still cloth, and a copy of the batch for planning steps alike, to the bit."""
    usual, env = make_vec(2), make_vec(2, method="jacobi", iterations=4, chebyshev=0.9)
    solver = env.solver
    assert (solver.method, solver.iterations, solver.chebyshev) == ("jacobi", 4, 0.9)
    copy = twin(env, 2)
    actions = random_actions(env, 5)
    for batch in (usual, env, copy):
        batch.reset(seed=0)
    copy.set_state(env.get_state())
    assert_same(tuple(roll(copy, actions)), tuple(roll(env, actions)))
    roll(usual, actions)
    here, there = (batch.state.get_positions() for batch in (usual, env))
    assert (here != there).any()
    assert np.abs(here - there).mean() < 0.02  # [m]
    assert env.memory_report().total > usual.memory_report().total


def test_of_a_single_environment() -> None:
    env = gym.make(ID, **SMALL, method="symmetric", iterations=2)
    assert env.unwrapped.batch.solver.method == "symmetric"  # type: ignore[attr-defined]
    env.close()
