"""Canonical images: an agent that acts in them does in an image the image of what it does."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.training.agents.policies import MLPPolicy, load_policy
from pbd_gym.training.imitation.refinement import InImages, refine
from pbd_gym.training.learners.fitting import fitted_policy
from pbd_gym.training.settings.imitation import FitArgs, RefinementArgs
from pbd_gym.training.symmetry.canonical import REACH, Canonical, canonical_images
from pbd_gym.training.symmetry.row_maps import row_maps

ID = "PBDClothUnfold-v0"
SMALL: dict[str, Any] = {"starts": 5, "resolution": 7, "max_episode_steps": 10, "obs_mode": "memory"}


@pytest.fixture(scope="module")
def batch() -> Any:
    env = gym.make_vec(ID, 8, **SMALL)
    env.reset(seed=1)
    return env


def seen(batch: Any) -> np.ndarray:
    """Return observations of towels that lie in no order."""
    return np.random.default_rng(0).standard_normal((50, batch.single_observation_space.shape[0])).astype(np.float32)


def agent(batch: Any, canonical: Canonical | None) -> MLPPolicy:
    """Return one with weights at random."""
    random = np.random.default_rng(2)
    observations, actions = seen(batch), random.uniform(-1.0, 1.0, (50, 8)).astype(np.float32)
    args = FitArgs(epochs=1, hidden=(16,))
    return fitted_policy(ID, SMALL, observations, actions, args, canonical=canonical)


def test_all_images_have_one_canonical_image(batch: Any) -> None:
    canonical, observations = canonical_images(batch), seen(batch)
    chosen = canonical.choose(observations)
    assert len(np.unique(chosen)) > 8  # of 16
    expected = canonical.observations(observations, chosen)
    for of_observation, _ in row_maps(batch):
        image = of_observation(observations)
        assert_allclose(canonical.observations(image, canonical.choose(image)), expected)


def test_an_agent_does_in_an_image_the_image_of_what_it_does(batch: Any) -> None:
    policy, other = agent(batch, canonical_images(batch)), agent(batch, None)
    observations, worst = seen(batch), 0.0
    for of_observation, of_action in row_maps(batch):
        assert_allclose(policy(of_observation(observations)), of_action(policy(observations)), atol=1e-6)
        worst = max(worst, float(np.abs(other(of_observation(observations)) - of_action(other(observations))).max()))
    assert worst > 0.1  # without canonical images it does something else


def test_what_was_folded_over_comes_first(batch: Any) -> None:
    """The corner that is farthest from its goal is corner 0, and the hand that is nearer to it is hand 0."""
    canonical, view = canonical_images(batch), batch.observations.keypoints
    observation = batch.reset(seed=1)[0]
    image = canonical.observations(observation, canonical.choose(observation))
    offsets = image[:, 54:81].reshape(-1, 9, 3)
    corners = np.linalg.norm(offsets[:, [0, 2, 6, 8]], axis=2)
    assert view.size == 89 and (corners.argmax(axis=1) == 0).mean() > 0.8


def test_hands_are_seen_near_to_what_they_may_take(batch: Any) -> None:
    canonical, observation = canonical_images(batch), batch.reset(seed=1)[0]
    chosen = canonical.choose(observation)
    image = canonical.observations(observation, chosen)
    near, laid = np.split(image[:, canonical.seen_index.shape[1] :], [-27], axis=1)
    near = near.reshape(-1, 2, 2, 9, 3)  # hands, keypoints and goals
    points, goals, hands = (image[:, first : first + size] for first, size in ((0, 27), (54, 27), (81, 6)))
    places = np.stack([points, points + goals], axis=1).reshape(-1, 1, 2, 9, 3)
    away = (places - hands.reshape(-1, 2, 1, 1, 3)) / REACH
    assert_allclose(near, np.clip(away, -1.0, 1.0), atol=1e-5)
    assert_allclose(laid, np.clip(goals / REACH, -1.0, 1.0), atol=1e-5)
    assert (np.abs(near) < 1.0).all(axis=-1).any() and canonical.size == image.shape[1]


def test_a_batch_in_canonical_images_is_the_same_batch(batch: Any) -> None:
    """Guards refinement: what an agent does in the images is what its policy does in the world."""
    canonical = canonical_images(batch)
    policy = agent(batch, canonical)
    plain = dataclasses.replace(policy, canonical=None)
    tensors = gym.make_vec(ID, 8, output="torch", **SMALL)
    inside = InImages(tensors, canonical, torch.device("cpu"))
    observation, image = batch.reset(seed=3)[0], inside.reset(seed=3)[0]
    for _ in range(6):
        observation = batch.step(policy(observation))[0]
        image = inside.step(torch.as_tensor(plain(image.numpy())))[0]
        assert (image.numpy() == canonical.observations(observation, canonical.choose(observation))).all()
    tensors.close()
    chosen = canonical.choose(seen(batch))
    assert len(np.unique(chosen)) > 8 and (inside.images.choose(torch.as_tensor(seen(batch))).numpy() == chosen).all()


def test_an_agent_in_images_is_refined_past_the_ends_of_episodes(batch: Any) -> None:
    """The last observation of an episode is no image, and of another size."""
    policy = agent(batch, canonical_images(batch))
    args = RefinementArgs(steps=200, num_envs=2, rounds=1, watched=1, eval_episodes=1, starts=5, enough=2.0)
    assert refine(policy, args).canonical is not None


def test_files_hold_canonical_images(batch: Any, tmp_path: Path) -> None:
    policy, observations = agent(batch, canonical_images(batch)), seen(batch)
    policy.save(tmp_path / "a.npz")
    again = load_policy(tmp_path / "a.npz")
    assert again.canonical is not None and (again(observations) == policy(observations)).all()
    assert (again(observations[3]) == policy(observations)[3]).all()


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("seen_index", lambda x: np.zeros_like(x), "once in each"),
        ("done_index", lambda x: x[:, :-1], "once in each"),
        ("done_sign", lambda x: 2 * x, "-1 or 1"),
        ("terms", lambda x: x + 10_000, "columns of vectors"),
        ("places", lambda x: x - 2, "columns of vectors"),
        ("weights", lambda x: x[:-1], "columns, with shape"),
        ("weights", lambda x: x * np.nan, "finite"),
    ],
)
def test_files_with_other_images_are_refused(name: str, value: Any, match: str, batch: Any, tmp_path: Path) -> None:
    canonical = canonical_images(batch)
    wrong = dataclasses.replace(canonical, **{name: value(getattr(canonical, name))})
    dataclasses.replace(agent(batch, canonical), canonical=wrong).save(tmp_path / "a.npz")
    with pytest.raises(ValueError, match=match):
        load_policy(tmp_path / "a.npz")


def test_tasks_without_goals_or_symmetries_have_none() -> None:
    for env_id, match in (("PBDClothFlatten-v0", "shows no goals"), ("PBDSoftLift-v0", "no symmetries")):
        env = gym.make_vec(env_id, 2, **({**SMALL, "obs_mode": "keypoints"} if "Cloth" in env_id else {}))
        with pytest.raises(ValueError, match=match):
            canonical_images(env)
        env.close()
