"""Whole environments on a GPU, against the CPU. Run with ``pytest -m gpu`` where there is one."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import warp as wp
from gymnasium.envs.registration import load_env_creator

from pbd_gym.envs.core.data.modes import PIXEL_MODES
from pbd_gym.registry import ENTRIES, find
from tests.envs.helpers import MODES, make_vec, random_actions

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def need_cuda() -> None:
    if not wp.is_cuda_available():
        pytest.skip("there is no CUDA device")


@pytest.mark.parametrize(("action_mode", "obs_mode"), MODES)
def test_an_episode_is_the_same_on_both(action_mode: str, obs_mode: str) -> None:
    """Guards the kernels of the environments: goals, actions, scores and resets agree to float32 rounding.

    A move of ``pick_place`` is some hundred control steps, in which rounding grows: after a few of them, cloth of
    another device may lie in another fold.
    """
    rounding, steps = (0.01, 1) if action_mode == "pick_place" else (1e-3, 12)
    options: dict[str, Any] = {"action_mode": action_mode, "obs_mode": obs_mode, "max_episode_steps": 8}
    cpu, gpu = make_vec(20, **options), make_vec(20, device="cuda:0", **options)
    for env in (cpu, gpu):
        env.reset(seed=3)
    np.testing.assert_allclose(gpu.buffers.read("goals"), cpu.buffers.read("goals"), atol=1e-6)
    for action in random_actions(cpu, steps):
        expected, found = cpu.step(action), gpu.step(action)
        for k in (1, 2, 3):
            np.testing.assert_allclose(found[k], expected[k], atol=rounding)
        observations = (expected[0], found[0]) if isinstance(expected[0], dict) else ({"": expected[0]}, {"": found[0]})
        for name, value in observations[0].items():
            apart = np.abs(observations[1][name] - value.astype(np.float64))
            limit = 1.0 if value.dtype == np.uint8 else 20.0 * rounding  # velocities magnify it by 1 / h
            # Edges may fall on the other side of a pixel.
            assert np.mean(~(apart <= limit)) <= (1e-3 if obs_mode in PIXEL_MODES else 0.0)


def test_same_seed_same_bits_on_the_gpu() -> None:
    """Guards against races: two runs, and a larger batch, give the same bits."""
    results = []
    for num_envs in (20, 20, 100):
        env = make_vec(num_envs, device="cuda:0")
        env.reset(seed=0)
        for action in random_actions(env, 10, num_envs=20):
            padded = np.zeros((num_envs, action.shape[1]), dtype=np.float32)
            padded[:20] = action
            observation = env.step(padded)[0]
        results.append(observation[:20])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_tensors_stay_on_the_device() -> None:
    env = make_vec(4, device="cuda:0", output="torch")
    observation, _ = env.reset(seed=0)
    assert observation.is_cuda
    observation, reward, terminated, *_ = env.step(np.zeros((4, 6), dtype=np.float32))
    assert observation.is_cuda and reward.is_cuda and terminated.is_cuda


@pytest.mark.parametrize("env_id", [entry.id for entry in ENTRIES])
def test_every_task_is_the_same_as_graphs(env_id: str) -> None:
    """Guards every kernel of every task: steps replayed as CUDA graphs have the bits of launches one by one."""
    few = {"starts": 5} if hasattr(load_env_creator(find(env_id).vector).config_type, "starts") else {}
    plain, graphs = (
        gym.make_vec(env_id, 4, device="cuda:0", output=output, **few).unwrapped for output in ("numpy", "torch")
    )
    for env in (plain, graphs):
        env.reset(seed=0)
    for action in random_actions(plain, 3):
        expected, found = plain.step(action), graphs.step(action)
        np.testing.assert_array_equal(found[1].cpu().numpy(), expected[1].astype(np.float32))
    assert not expected[4]["diverged"].any()
    np.testing.assert_array_equal(graphs.state.get_positions(), plain.state.get_positions())
    np.testing.assert_array_equal(plain.state.get_positions(2), plain.state.get_positions()[2])
