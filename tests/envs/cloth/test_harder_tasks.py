"""Tasks with more than one fold or towel, and those that are seen in pictures alone."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_allclose

import pbd_gym  # noqa: F401  (registers the ids)
from tests.envs.helpers import SMALL_OF


def make(name: str, num_envs: int = 1, **kwargs: Any) -> Any:
    env: Any = gym.make_vec(f"PBD{name}-v0", num_envs, **kwargs).unwrapped
    env.reset(seed=0)
    return env


def rated(env: Any, positions: np.ndarray) -> dict[str, Any]:
    """Return the info after a step in which particles are put somewhere, shape (num_envs, n, 3) [m], by idle hands."""
    env.state.set_positions(positions)
    idle = np.zeros((env.num_envs, 8), np.float32)
    idle[:, [3, 7]] = -1.0
    info: dict[str, Any] = env.step(idle)[4]
    return info


@pytest.mark.parametrize("rows", [16, 17])
def test_a_towel_folded_twice_has_four_layers(rows: int) -> None:
    """Guards the goal for even and odd rows: every particle on the last quarter, none through another."""
    env = make("ClothFoldTwice", rows=rows, columns=8, substeps=8, starts=4)
    goals, config = env.task.goals(env.world, 0), env.config
    layer, last = 2.0 * env.task.towel.radius, goals[-1]
    heights = np.round((goals[..., 1] - goals[..., 1].min()) / layer).astype(int)
    assert set(heights[:, 0]) == {0, 1, 2, 3}
    assert_allclose(goals[0] - last, np.broadcast_to([0.0, layer, 0.0], last.shape), atol=1e-6)
    over = np.linalg.norm((goals - last)[..., [0, 2]], axis=-1)
    assert over.max() <= 0.25 * config.size[1] + 1e-6
    for height in range(4):  # of one layer no two rows are at the same place
        places = goals[heights[:, 0] == height, 0]
        apart = np.linalg.norm(places[:, None] - places[None], axis=-1) + np.eye(len(places))
        assert apart.min() > 0.9 * config.spacings[1]


@pytest.mark.parametrize(("shift", "met"), [(0.01, True), (0.03, False)])
def test_towels_in_the_way_must_stay(shift: float, met: bool) -> None:
    env = make("ClothClutter", **SMALL_OF["PBDClothClutter-v0"])
    positions = env.state.get_positions()
    positions[:, env.task.towel.indices] = env.task.goals(env.world, 0)
    positions[:, env.task.others[1].indices, 0] += shift
    info = rated(env, positions)
    assert info["at_goal"][0] and info["in_place"][0] and bool(info["undisturbed"][0]) == met


def test_two_of_three_towels_are_not_enough() -> None:
    env = make("ClothHangThree", **SMALL_OF["PBDClothHangThree-v0"])
    positions = np.asarray(env.task.goal.of(env.world, 0))[None].copy()
    assert rated(env, positions)["at_goal"][0]
    lies = env.task.towels[1].indices
    env.reset(seed=0)
    positions[:, lies] = env.state.get_positions()[:, lies]
    info = rated(env, positions)
    assert not info["at_goal"][0] and not info["in_place"][0]


@pytest.mark.parametrize(("name", "least"), [("ClothFoldTwice", 5), ("ClothHangThree", 5), ("ClothClutter", 5)])
def test_experts(name: str, least: int) -> None:
    """Guards that the tasks can be solved, strictly, in their time."""
    env = make(name, 6, starts=6)
    env.reset(seed=0, options={"split": "all", "variation": np.arange(6)})
    for _ in range(env.max_episode_steps):
        info = env.step(env.expert())[4]
    assert info["is_success"].sum() >= least, info["normalized_performance"]


@pytest.mark.parametrize("name", ["ClothFoldCrumpledPicture", "PourLine"])
def test_pictures_are_all_there_is(name: str) -> None:
    env = make(name, **SMALL_OF[f"PBD{name}-v0"])
    assert env.obs_mode == "rgb" and env.single_observation_space.dtype == np.uint8
    with pytest.raises(ValueError, match="obs_mode must be one of"):
        gym.make_vec(f"PBD{name}-v0", 1, obs_mode="keypoints", pixels=None, **SMALL_OF[f"PBD{name}-v0"])
