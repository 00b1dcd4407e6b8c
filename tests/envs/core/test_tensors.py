"""Tensors all the way: masks, seeds and actions that are tensors, and wrappers with the numbers of Gymnasium's own."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import VectorEnv
from gymnasium.wrappers import vector
from numpy.testing import assert_array_equal

from pbd_gym.envs import torch as tensors

ID, SMALL = "PBDCloth-v0", {"rows": 4, "columns": 4, "settle_time": 0.5}


def batch(output: str = "torch", mode: str = "NextStep", num_envs: int = 4, steps: int = 3) -> Any:
    return gym.make_vec(ID, num_envs, output=output, autoreset_mode=mode, max_episode_steps=steps, **SMALL)


def test_masks_seeds_and_actions_are_tensors() -> None:
    """Guards the tensors of a step as masks, a seed for each environment, and every floating dtype."""
    with_tensors, with_arrays = batch(mode="Disabled"), batch("numpy", mode="Disabled")
    first = with_tensors.reset(seed=torch.tensor([5, 6, 7, 8]))[0]
    assert_array_equal(first, with_arrays.reset(seed=[5, 6, 7, 8])[0])
    assert_array_equal(first, with_arrays.reset(seed=5)[0])
    assert_array_equal(with_tensors.reset(seed=torch.tensor(5))[0], first)
    actions = torch.linspace(-1.0, 1.0, 24).reshape(4, 6)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        given = actions.to(dtype)
        observation, _, terminated, truncated, _ = with_tensors.step(given)
        assert_array_equal(observation, with_arrays.step(given.float().numpy())[0])
    assert (terminated | truncated).all()
    mask = torch.tensor([True, False, False, True])
    again, info = with_tensors.reset(options={"reset_mask": mask})
    assert_array_equal(again, with_arrays.reset(options={"reset_mask": mask.numpy()})[0])
    assert_array_equal(info["_performance"], mask)
    for bad in (mask.int(), mask[:3], [True] * 4, torch.zeros(4, dtype=torch.bool)):
        with pytest.raises(ValueError, match="reset_mask"):
            with_tensors.reset(options={"reset_mask": bad})


def test_a_seed_that_is_none_goes_on_with_its_stream() -> None:
    """Guards lists as Gymnasium's annotation has them."""
    env = batch("numpy", mode="Disabled")
    env.reset(seed=3)
    second = env.reset()[0]
    mixed = batch("numpy", mode="Disabled")
    mixed.reset(seed=3)
    observation = mixed.reset(seed=[None, 4, None, 3])[0]
    assert_array_equal(observation[[0, 2]], second[[0, 2]])
    fresh = batch("numpy", mode="Disabled").reset(seed=[4, 4, 3, 3])[0]
    assert_array_equal(observation[[1, 3]], fresh[[1, 3]])
    drawn = batch("numpy", mode="Disabled").reset(seed=[None, 4, None, 3])[0]
    assert_array_equal(drawn[[1, 3]], fresh[[1, 3]])
    assert (drawn[0] != drawn[2]).any()


def test_libraries_tell_a_batch_by_its_bases() -> None:
    """Guards skrl's detection, which looks at direct bases; its own wrapper then takes the batch."""
    assert VectorEnv in type(batch().unwrapped).__bases__


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_statistics_are_those_of_gymnasium(mode: str) -> None:
    """Guards sums, steps and the last episodes, across episodes that end at different times."""
    ours = tensors.RecordEpisodeStatistics(batch(mode=mode), buffer_length=5)
    theirs = vector.RecordEpisodeStatistics(batch("numpy", mode), buffer_length=5)
    ours.reset(seed=1), theirs.reset(seed=1)
    rng, early = np.random.default_rng(0), np.array([True, False, False, True])
    for k in range(11):
        actions = rng.uniform(-1.0, 1.0, (4, 6)).astype(np.float32)
        info, expected = ours.step(torch.as_tensor(actions))[-1], theirs.step(actions)[-1]
        ended = expected.get("_episode", np.zeros(4, dtype=bool))
        assert_array_equal(info["_episode"], ended)
        for name in ("r", "l"):
            values = expected["episode"][name] if ended.any() else np.zeros(4)
            np.testing.assert_allclose(info["episode"][name], values, rtol=1e-6, atol=1e-6)
        assert (info["episode"]["t"][torch.as_tensor(ended)] > 0.0).all()
        mask = early if k == 1 else ended
        if (mode == "Disabled" and ended.any()) or k == 1:
            for env in (ours, theirs):
                given = torch.as_tensor(mask) if env is ours else mask.copy()
                env.reset(options={"reset_mask": given})
    assert ours.episode_count == theirs.episode_count > 5
    np.testing.assert_allclose(ours.return_queue, list(theirs.return_queue), rtol=1e-6)
    assert ours.length_queue == list(theirs.length_queue)
    assert len(ours.time_queue) == 5 and min(ours.time_queue) > 0.0


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_normalising_is_that_of_gymnasium(mode: str) -> None:
    """Guards running statistics of observations, where Gymnasium takes the mode, and of rewards."""
    both = mode == "NextStep"
    ours, theirs = batch(mode=mode), batch("numpy", mode)
    ours, theirs = tensors.NormalizeReward(ours, gamma=0.9), vector.NormalizeReward(theirs, gamma=0.9)
    ours = tensors.NormalizeObservation(ours)
    theirs = vector.NormalizeObservation(theirs) if both else theirs
    ours.reset(seed=1), theirs.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(9):
        actions = rng.uniform(-1.0, 1.0, (4, 6)).astype(np.float32)
        observation, reward, terminated, truncated, info = ours.step(torch.as_tensor(actions))
        expected = theirs.step(actions)
        np.testing.assert_allclose(reward, expected[1], rtol=1e-4, atol=1e-5)
        assert observation.dtype == reward.dtype == torch.float32
        if both:
            np.testing.assert_allclose(observation, expected[0], rtol=2e-3, atol=2e-3)  # theirs sums in float32
        assert "final_obs" not in info or info["final_obs"].dtype == torch.float32
        if mode == "Disabled" and (terminated | truncated).any():
            ours.reset(), theirs.reset()
    ours.update_running_mean = False
    before = ours.obs_rms.mean.clone()
    ours.reset()
    assert torch.equal(ours.obs_rms.mean, before)


def test_what_wrappers_refuse() -> None:
    """Guards that each bad argument has its message."""
    for wrapper in (tensors.RecordEpisodeStatistics, tensors.NormalizeObservation, tensors.NormalizeReward):
        with pytest.raises(ValueError, match="output='torch'"):
            wrapper(batch("numpy"))
    with pytest.raises(ValueError, match="buffer_length"):
        tensors.RecordEpisodeStatistics(batch(), buffer_length=0)
    with pytest.raises(gym.error.InvalidBound, match="gamma"):
        tensors.NormalizeReward(batch(), gamma=1.5)
    for wrapped in (tensors.NormalizeReward, tensors.NormalizeObservation):
        with pytest.raises(gym.error.InvalidBound, match="epsilon"):
            wrapped(batch(), epsilon=0.0)
    goals = gym.make_vec(ID, 2, output="torch", obs_mode="goal", **SMALL)
    with pytest.raises(ValueError, match="one array"):
        tensors.NormalizeObservation(goals)
    env = tensors.RecordEpisodeStatistics(tensors.RecordEpisodeStatistics(batch()))
    env.reset(seed=0)
    with pytest.raises(ValueError, match="stats_key"):
        env.step(torch.zeros(4, 6))
