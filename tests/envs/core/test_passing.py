"""Infos of what goes through ropes: counted over all control steps of an action, and forgotten with an episode."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from tests.envs.helpers import SMALL_OF

ID = "PBDRopePush-v0"


def make(num_envs: int, **kwargs: Any) -> Any:
    return gym.make_vec(ID, num_envs, **{**SMALL_OF[ID], "particles": 40, **kwargs}).unwrapped


def test_ropes_that_pass_are_counted() -> None:
    """Guards the sum over an action, lanes, resets, and that asking changes nothing else."""
    env, plain = make(2, passages=True), make(2)
    for batch in (env, plain):
        infos = batch.reset(seed=0)[1]
    assert "passages" not in infos
    assert env.solver.options == plain.solver.options  # one kernel for both
    rest = np.zeros((2, env.actions.size), dtype=np.float32)
    info = env.step(rest)[4]
    assert info["passages"].dtype == np.int64 and not info["passages"].any()
    plain.step(rest)
    assert env.state.get_positions().tobytes() == plain.state.get_positions().tobytes()
    # A rope in the air that is thrown together goes through itself in many places.
    rng = np.random.default_rng(0)
    x, v = env.state.get_positions(), env.state.get_velocities()
    x[1] = rng.uniform(-0.1, 0.1, x[1].shape)
    x[1, :, 1] += 0.5
    v[1] = rng.uniform(-5.0, 5.0, x[1].shape)
    env.state.set_positions(x)
    env.state.set_velocities(v)
    step, found = env.solver.step, np.zeros(2, dtype=np.int64)

    def watched(*given: Any) -> None:
        step(*given)
        found[:] += env.state.get_passages()

    env.solver.step = watched
    passed = env.step(rest)[4]["passages"]
    assert passed.tolist() == found.tolist()
    assert passed[0] == 0 and passed[1] > 0
    info = env.reset(options={"reset_mask": np.array([False, True])})[1]
    assert not info["passages"].any()
    with pytest.raises(TypeError, match="passages"):
        make(1, passages="yes")
    for batch in (env, plain):
        batch.close()
