"""Gymnasium's own wrappers work on single environments and on batches, without a warning."""

import os

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.wrappers import vector as vector_wrappers
from numpy.testing import assert_allclose, assert_array_equal

from tests.envs.helpers import AUTORESET, ID, SMALL, make_vec, poison, random_actions

LIMIT = 6


def test_attributes_as_sync_has_them() -> None:
    """Guards call, get_attr and set_attr: what SyncVectorEnv answers, from one batch."""
    batch = make_vec(3, render_mode="rgb_array")
    sync: Any = gym.make_vec(ID, 3, vectorization_mode="sync", render_mode="rgb_array", **SMALL)
    for env in (batch, sync):
        env.reset(seed=0)
        env.set_attr("level", 3)
        env.set_attr("level", [4, 4, 4])
        with pytest.raises(ValueError, match="3"):
            env.set_attr("level", [4, 4])
    for name in ("level", "render_mode", "action_space", "observation_space"):
        assert batch.get_attr(name) == sync.get_attr(name)
    assert_array_equal(batch.call("render"), sync.call("render"))
    with pytest.raises(ValueError, match="share level"):
        batch.set_attr("level", [1, 2, 3])
    with pytest.raises(AttributeError):
        batch.get_attr("nothing")


def test_statistics_of_single() -> None:
    """Guards return and length of an episode as the wrapper counts them."""
    env = wrappers.RecordEpisodeStatistics(gym.make(ID, max_episode_steps=LIMIT, **SMALL))
    env.reset(seed=0)
    env.action_space.seed(0)
    rewards: list[Any] = []
    for _ in range(LIMIT):
        _, reward, _, truncated, info = env.step(env.action_space.sample())
        rewards.append(reward)
    assert truncated
    assert_allclose(info["episode"]["r"], sum(rewards), rtol=1e-12)
    assert info["episode"]["l"] == LIMIT


@pytest.mark.parametrize("mode", AUTORESET)
def test_statistics_of_batch(mode: str) -> None:
    """Guards returns and lengths, in every mode, of environments that end at different times."""
    env = vector_wrappers.RecordEpisodeStatistics(make_vec(5, max_episode_steps=LIMIT, autoreset_mode=mode))
    batch: Any = env.unwrapped
    env.reset(seed=0)
    returns, lengths = np.zeros(5), np.zeros(5, dtype=int)
    begins = np.zeros(5, dtype=bool)
    episodes = 0
    for step, action in enumerate(random_actions(batch, 40)):
        if step in (3, 4, 17):
            poison(batch, step % 5)
        _, reward, terminated, truncated, info = env.step(action)
        if mode == "NextStep":
            reward, counted = np.where(begins, 0.0, reward), ~begins
        else:
            counted = np.ones(5, dtype=bool)
        returns += reward
        lengths += counted
        begins = terminated | truncated
        if begins.any():
            assert_array_equal(info["_episode"], begins)
            assert_allclose(info["episode"]["r"], np.where(begins, returns, 0.0), rtol=1e-6)
            assert_array_equal(info["episode"]["l"], np.where(begins, lengths, 0))
            returns[begins] = lengths[begins] = 0
            episodes += int(begins.sum())
            if mode == "Disabled":
                env.reset(options={"reset_mask": begins})
    assert env.episode_count == episodes > 20


def test_statistics_after_a_partial_reset() -> None:
    """Guards the others' statistics: those that were not reset count on, those that were start again."""
    env = vector_wrappers.RecordEpisodeStatistics(make_vec(4, max_episode_steps=LIMIT))
    env.reset(seed=0)
    actions = random_actions(env.unwrapped, 2 * LIMIT)  # type: ignore[arg-type]
    mask = np.array([False, True, True, False])
    rewards = [env.step(action)[1] for action in actions[:3]]
    env.reset(options={"reset_mask": mask})
    for action in actions[3:LIMIT]:
        _, reward, _, truncated, info = env.step(action)
        rewards.append(reward)
    assert_array_equal(truncated, ~mask)
    assert_array_equal(info["episode"]["l"], np.where(mask, 0, LIMIT))
    assert_allclose(info["episode"]["r"][~mask], np.sum(rewards, axis=0)[~mask], rtol=1e-6)


def test_video_of_single(tmp_path: Path) -> None:
    """Guards pictures for RecordVideo: a file that can be read, of as many pictures as there were steps."""
    env = gym.make(ID, render_mode="rgb_array", max_episode_steps=LIMIT, **SMALL)
    env = wrappers.RecordVideo(env, str(tmp_path / "videos"), episode_trigger=lambda episode: episode == 0)
    env.reset(seed=0)
    for _ in range(LIMIT):
        env.step(env.action_space.sample())
    picture = env.render()
    assert isinstance(picture, np.ndarray) and picture.dtype == np.uint8 and picture.shape == (512, 512, 3)
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 10  # it shows something
    env.close()
    assert [path.suffix for path in (tmp_path / "videos").iterdir()] == [".mp4"]
    assert all(path.stat().st_size > 1000 for path in (tmp_path / "videos").iterdir())


@pytest.mark.parametrize("mode", ["NextStep", "Disabled"])
def test_video_of_batch(mode: str, tmp_path: Path) -> None:
    """Guards pictures of a batch: one per environment, each of its own."""
    batch = make_vec(4, render_mode="rgb_array", max_episode_steps=LIMIT, autoreset_mode=mode)
    env = vector_wrappers.RecordVideo(
        batch,
        str(tmp_path / "videos"),
        video_aspect_ratio=(1, 1),
        record_first_only=False,
        episode_trigger=lambda e: e == 0,
    )
    env.reset(seed=0)
    for action in random_actions(batch, LIMIT + 1 if mode == "NextStep" else LIMIT):
        env.step(action)
    pictures = batch.render()
    assert isinstance(pictures, tuple) and len(pictures) == 4
    for i, picture in enumerate(pictures):
        assert picture.dtype == np.uint8 and picture.shape == (512, 512, 3)
        assert all((picture != other).any() for other in pictures[:i])
    env.close()
    assert [path.suffix for path in (tmp_path / "videos").iterdir()] == [".mp4"]


def test_same_picture_of_single_and_row() -> None:
    """Guards which environment of a batch a picture shows."""
    batch = make_vec(6, render_mode="rgb_array")
    single = gym.make(ID, render_mode="rgb_array", **SMALL)
    batch.reset(seed=0)
    single.reset(seed=4)
    for action in random_actions(batch, 3):
        batch.step(action)
        single.step(action[4])
    assert_array_equal(batch.render()[4], single.render())


def test_render_needs_a_mode() -> None:
    """Guards the message for who asks for pictures of an environment that was made without."""
    env = make_vec(2)
    env.reset(seed=0)
    with pytest.raises(RuntimeError, match="render_mode"):
        env.render()


@pytest.mark.parametrize("num_envs", [1, 3])
def test_window(num_envs: int) -> None:
    """Guards the window, of one environment and of several side by side."""
    env = make_vec(num_envs, render_mode="human")
    env.reset(seed=0)
    for action in random_actions(env, 2):
        env.step(action)
        assert env.render() is None
    env.close()
    env.close()


def test_normalize_observation_of_batch() -> None:
    """Guards the default autoreset mode, which this wrapper insists on."""
    env = vector_wrappers.NormalizeObservation(make_vec(50))
    observation, _ = env.reset(seed=0)
    for action in random_actions(env.unwrapped, 60):  # type: ignore[arg-type]
        observation, *_ = env.step(action)
        assert env.observation_space.contains(observation.astype(np.float32))
    assert np.abs(observation.mean()) < 1.0 and observation.std() < 3.0


@pytest.mark.parametrize("mode", AUTORESET)
def test_transforms_of_batch(mode: str) -> None:
    """Guards wrappers of rewards, actions, and observations (for which Gymnasium refuses same-step resets)."""
    batch = make_vec(3, max_episode_steps=LIMIT, autoreset_mode=mode)
    env: Any = vector_wrappers.TransformReward(batch, lambda reward: 2 * reward)
    env = vector_wrappers.RescaleAction(env, np.full(6, -8, np.float32), np.full(6, 8, np.float32))
    scale = 1
    if mode != "SameStep":
        env = vector_wrappers.RescaleObservation(env, np.float32(-1), np.float32(1))
        scale = 100
    control = make_vec(3, max_episode_steps=LIMIT, autoreset_mode=mode)
    assert_allclose(env.reset(seed=0)[0] * scale, control.reset(seed=0)[0], atol=1e-4)
    for action in random_actions(batch, LIMIT):
        observation, reward, _, truncated, info = env.step(8 * action)
        expected = control.step(action)
        assert_allclose(observation * scale, expected[0], atol=1e-4)
        assert_allclose(reward, 2 * expected[1], rtol=1e-6)
    assert truncated.all()
    assert info.keys() == expected[4].keys()


def test_flatten_and_filter_goal_observations() -> None:
    """Guards the dict of goal mode, single and batched."""
    single = wrappers.FlattenObservation(gym.make(ID, obs_mode="goal", **SMALL))
    assert single.observation_space.shape == (36,)
    assert single.observation_space.contains(single.reset(seed=0)[0])
    batch = vector_wrappers.FlattenObservation(make_vec(3, obs_mode="goal"))
    observation = batch.reset(seed=0)[0]
    assert observation.shape == (3, 36)
    assert_array_equal(observation[0], single.reset(seed=0)[0])
    chosen = vector_wrappers.FilterObservation(make_vec(3, obs_mode="goal"), ["achieved_goal"])
    assert set(chosen.reset(seed=0)[0]) == {"achieved_goal"}


def test_stack_and_time() -> None:
    """Guards wrappers of single environments that keep observations for later."""
    env: Any = gym.make(ID, max_episode_steps=LIMIT, **SMALL)
    env = wrappers.FrameStackObservation(wrappers.TimeAwareObservation(env), 3)
    env.action_space.seed(0)
    first = env.reset(seed=0)[0]
    plain: Any = gym.make(ID, **SMALL)
    expected = [plain.reset(seed=0)[0]]
    for _ in range(2):
        action = env.action_space.sample()
        stacked = env.step(action)[0]
        expected.append(plain.step(action)[0])
    assert first.shape == (3, 31)
    assert_array_equal(stacked[:, :30], np.asarray(expected))
