"""Images of samples under the symmetries of a task: environments agree with what is learned from."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.envs.core.data.symmetries import MIRROR_X, QUARTER, Symmetry, generated
from pbd_gym.training.symmetry.images import Images
from pbd_gym.training.symmetry.row_maps import row_maps

SMALL: dict[str, Any] = {"starts": 5, "max_episode_steps": 10}
TOWEL: dict[str, Any] = {**SMALL, "resolution": 7}


def in_image(batch: Any, symmetry: Symmetry, other: Any) -> None:
    """Bring another batch into the image of what a batch has begun, its goals included."""
    other.state.set_positions(symmetry.image(batch.state.get_positions()))
    other.state.set_velocities(symmetry.image(batch.state.get_velocities()))
    if batch.actions.grip_count:
        hands = batch.state.grip_positions.numpy()[:, list(symmetry.hands)] @ symmetry.axes.T
        other.state.grip_positions.assign(hands.astype(np.float32))


@pytest.mark.parametrize(
    ("env_id", "kwargs", "count"),
    [
        ("PBDClothFlatten-v0", TOWEL, 15),
        ("PBDClothFlattenPickPlace-v0", TOWEL, 15),
        ("PBDClothFlatten-v0", {**TOWEL, "obs_mode": "reduced"}, 15),
        ("PBDClothUnfold-v0", TOWEL, 15),
        ("PBDClothUnfold-v0", {**TOWEL, "size": (0.3, 0.2)}, 7),
        ("PBDManipulation-v0", {**TOWEL, "starts": 30}, 15),
        ("PBDClothHang-v0", {**TOWEL, "obs_mode": "memory"}, 1),
        ("PBDRopeStraighten-v0", {**SMALL, "particles": 19, "obs_mode": "particles"}, 15),
        ("PBDRopePush-v0", {**SMALL, "particles": 19}, 7),
    ],
)
def test_what_is_done_in_the_image_leads_to_the_image(env_id: str, kwargs: dict[str, Any], count: int) -> None:
    """Guards columns and signs: the image of a step is the step in the image, for what is seen and what is done."""
    batch, other = (gym.make_vec(env_id, 2, **kwargs) for _ in range(2))
    maps = row_maps(batch)
    assert len(maps) == len(batch.task.symmetries) == count
    random, long = np.random.default_rng(0), "PickPlace" in env_id
    own_goals = env_id in ("PBDRopePush-v0", "PBDManipulation-v0")  # the other's are where they were
    for symmetry, (of_observation, of_action) in zip(batch.task.symmetries, maps, strict=True):
        batch.reset(seed=3)
        other.reset(seed=3)
        in_image(batch, symmetry, other)
        action = random.uniform(-1.0, 1.0, batch.action_space.shape).astype(np.float32)
        seen, reward, *_ = batch.step(action)
        image, reward_there, *_ = other.step(of_action(action))
        expected = of_observation(seen)
        shown = getattr(batch.observations, "keypoints", batch.observations)
        points, size = 3 * len(getattr(shown, "reduced", shown).particles), shown.size
        tools = points if hasattr(shown, "reduced") else 2 * points
        if own_goals:
            tools += 3 * len(batch.goal_particles)
        compared = np.r_[0:points, tools:size]  # velocities tell rounding apart
        if not own_goals and not long:
            np.testing.assert_allclose(reward, reward_there, atol=1e-2)
        apart = np.abs(expected - image)[:, compared]
        # The mesh has its diagonals in one direction only, and in a second towels go ways of their own: hands do not.
        if long:
            apart = apart[:, points : points + 6]
        assert np.median(apart) < 1e-3 and (apart > 0.02).mean() < 0.1, f"{symmetry} {apart.max()}"
    batch.close()
    other.close()


def test_symmetries_are_a_group() -> None:
    """Guards products: what is done twice is counted once, and a quarter turn has to be done four times."""
    everything, hands = np.arange(4), (0, 1)
    quarter, mirror = (Symmetry(axes, everything, hands) for axes in (QUARTER, MIRROR_X))
    assert len(generated([quarter])) == 3 and len(generated([mirror])) == 1
    assert len(generated([quarter, mirror])) == 7
    places = np.random.default_rng(0).standard_normal((4, 3))
    other_end = Symmetry(np.eye(3, dtype=int), everything[::-1].copy(), (1, 0))
    both = other_end @ quarter
    np.testing.assert_array_equal(both.image(places), other_end.image(quarter.image(places)))
    assert both.hands == (1, 0)


def test_images_at_random_are_images() -> None:
    """Guards the tensors: each row is one of the images that arrays have, and observation and action go together."""
    batch: Any = gym.make_vec("PBDRopeStraighten-v0", 2, starts=5, particles=19)
    random = np.random.default_rng(0)
    seen = random.standard_normal((40, batch.single_observation_space.shape[0])).astype(np.float32)
    done = random.standard_normal((40, 8)).astype(np.float32)
    maps = row_maps(batch)
    all_seen = np.stack([seen, *(of_observations(seen) for of_observations, _ in maps)])
    all_done = np.stack([done, *(of_actions(done) for _, of_actions in maps)])
    some = Images(batch, torch.device("cpu"))(torch.tensor(seen), torch.tensor(done), torch.Generator().manual_seed(0))
    which = [int(np.flatnonzero((all_seen[:, k] == some[0][k].numpy()).all(axis=1))[0]) for k in range(40)]
    assert len(set(which)) > 8
    np.testing.assert_array_equal(some[1].numpy(), all_done[which, np.arange(40)])
    batch.close()


@pytest.mark.parametrize(
    ("env_id", "kwargs", "message"),
    [
        ("PBDSoftLift-v0", {}, "no symmetries"),
        ("PBDClothFold-v0", {**TOWEL, "obs_mode": "goal"}, "only particles can be mirrored"),
        ("PBDClothFlatten-v0", {**TOWEL, "action_mode": "pick_place", "hand_box": (-1, 0, -1, 2, 1, 1)}, "changes"),
    ],
)
def test_what_has_no_image_is_said(env_id: str, kwargs: dict[str, Any], message: str) -> None:
    """Guards the errors: a task without symmetries, observations without particles, and a box on one side."""
    batch = gym.make_vec(env_id, 2, **kwargs)
    with pytest.raises(ValueError, match=message):
        row_maps(batch)
    batch.close()
