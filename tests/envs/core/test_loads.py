"""Infos of what colliders are pushed with: the ground reads what lies on it, and a plate what it pushes."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.envs.core.data.modes import Modes
from pbd_gym.envs.pendulum import PendulumConfig, PendulumVectorEnv
from tests.envs.helpers import SMALL_OF, poison

ID = "PBDRopePush-v0"
NUMBERS = {**SMALL_OF[ID], "wrenches": True}
"""A rope on the ground, and a plate that moves: two colliders."""
LIMIT = 3


def make(num_envs: int, **kwargs: Any) -> Any:
    return gym.make_vec(ID, num_envs, **{**NUMBERS, **kwargs}).unwrapped


def pushes(env: Any, steps: int) -> np.ndarray:
    """Return actions that move the plate towards the rope, to the right."""
    actions = np.zeros((steps, env.num_envs, env.actions.size), dtype=np.float32)
    actions[..., 0] = 1.0
    return actions


def test_the_ground_reads_the_weight_and_the_plate_what_it_pushes() -> None:
    """Guards the numbers: those of the state; a rope at rest has its weight, and pushes back what pushes it."""
    env = make(2)
    info = env.reset(seed=0)[1]
    assert info["wrenches"].shape == (2, 2, 6) and info["wrenches"].dtype == np.float32
    assert not info["wrenches"].any() and info["_wrenches"].all()
    weight = 9.81 * env.scene.mass.sum()
    for _ in range(10):
        found = env.step(np.zeros((2, env.actions.size), dtype=np.float32))[4]["wrenches"]
    assert_allclose(found[:, 0, 1], -weight, rtol=0.02)
    assert (np.abs(found[:, 1]) < 0.05 * weight).all()
    felt = np.zeros(2)
    for action in pushes(env, 25):
        found = env.step(action)[4]["wrenches"]
        assert_allclose(found, env.state.get_wrenches(), rtol=1e-5, atol=1e-6)
        felt = np.maximum(felt, -found[:, 1, 0])
    assert (felt > 0.02 * weight).all()
    assert env.memory_report().total > make(2, wrenches=False).memory_report().total


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_episodes_begin_with_nothing(mode: str) -> None:
    """Guards autoreset and partial resets: zeros where an episode begins, and in ``final_info`` what the last bore."""
    env = make(2, max_episode_steps=LIMIT, autoreset_mode=mode)
    env.reset(seed=0)
    actions = pushes(env, LIMIT + 1)
    infos = [env.step(action)[4] for action in actions]
    assert all(info["wrenches"][:, 0, 1].all() for info in infos[: LIMIT - 1])
    last = infos[LIMIT - 1]
    if mode == "SameStep":
        assert_allclose(last["final_info"]["wrenches"], after_pushes(LIMIT), rtol=0, atol=0)
        assert not last["wrenches"].any() and infos[LIMIT]["wrenches"].any()
        return
    assert last["wrenches"].any() and not infos[LIMIT]["wrenches"].any()
    env.step(actions[0])
    info = env.reset(options={"reset_mask": np.array([True, False])})[1]
    assert not info["wrenches"].any() and info["_wrenches"].tolist() == [True, False]
    assert env.buffers.peek("wrenches")[1].any()  # of the one that goes on


def after_pushes(steps: int) -> np.ndarray:
    """Return what a batch without an end has after so many pushes."""
    env = make(2)
    env.reset(seed=0)
    found: np.ndarray = [env.step(action)[4]["wrenches"] for action in pushes(env, steps)][-1]
    return found


def test_a_failed_environment_bore_nothing() -> None:
    env = make(2)
    env.reset(seed=0)
    env.step(pushes(env, 1)[0])
    poison(env, 1)
    info = env.step(pushes(env, 1)[0])[4]
    assert info["diverged"].tolist() == [False, True]
    assert info["wrenches"][0].any() and not info["wrenches"][1].any()


def test_of_a_single_environment() -> None:
    """Guards the shape, fresh arrays, and that one environment reads what the first of a batch does."""
    env, batch = gym.make(ID, **NUMBERS), make(3)
    first = env.reset(seed=0)[1]["wrenches"]
    batch.reset(seed=0)
    action = pushes(batch, 1)[0]
    found = env.step(action[0])[4]["wrenches"]
    assert_array_equal(first, np.zeros((2, 6), dtype=np.float32))
    assert found.dtype == np.float32
    assert_array_equal(found, batch.step(action)[4]["wrenches"][0])
    saved = env.unwrapped.get_state()  # type: ignore[attr-defined]
    assert saved.keys() == make(1, wrenches=False).get_state().keys()  # plans may be made without


def test_for_stable_baselines() -> None:
    sb3 = pytest.importorskip("pbd_gym.envs.tools.sb3")
    env = sb3.make_sb3_vec_env(ID, 2, seed=0, max_episode_steps=1, **NUMBERS)
    env.reset()
    assert env.reset_infos[0]["wrenches"].shape == (2, 6)
    info = env.step(np.zeros((2, *env.action_space.shape), dtype=np.float32))[3][0]
    assert info["wrenches"].shape == (2, 6) and info["wrenches"].any() and type(info["performance"]) is float
    env.close()


class Bare(PendulumVectorEnv.task_type):  # type: ignore[name-defined, misc]
    """A pendulum over nothing."""

    def __init__(self, config: PendulumConfig, modes: Modes) -> None:
        super().__init__(config, modes)
        self.scene.colliders.clear()


class BareVectorEnv(PendulumVectorEnv):
    """The like in a batch."""

    task_type = Bare


def test_a_task_without_a_collider_refuses() -> None:
    with pytest.raises(ValueError, match="wrenches=True needs a collider"):
        BareVectorEnv(1, wrenches=True)
