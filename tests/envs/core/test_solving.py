"""Which solver a task runs is an argument of the environment."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

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


def test_piercings_are_counted_when_asked_for() -> None:
    """Without the count towels start and move as with it, to the bit, and nobody is told a number that is not one."""
    counted, plain = (
        gym.make_vec("PBDClothFold-v0", 2, resolution=8, piercings=piercings).unwrapped for piercings in (True, False)
    )
    assert counted.solver.options == plain.solver.options  # one kernel for both
    actions = random_actions(counted, 4)
    for batch in (counted, plain):
        batch.reset(seed=0)
    for action in actions:
        here, there = counted.step(action), plain.step(action)
        assert_same(here[:4], there[:4])
        assert set(here[4]) - set(there[4]) == {"piercings", "_piercings", "unpierced", "_unpierced"}
    assert counted.state.get_piercings().shape == (2,)
    with pytest.raises(RuntimeError, match="piercings=False"):
        plain.state.get_piercings()
    with pytest.raises(TypeError, match="piercings"):
        gym.make_vec("PBDClothFold-v0", 2, piercings="no")
    for batch in (counted, plain):
        batch.close()
