"""``make`` and ``make_vec`` mean the same: None, seeds, types of infos, and lists of pictures."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from numpy.testing import assert_array_equal

from pbd_gym.envs import ClothVectorEnv
from tests.envs.helpers import SMALL, SMALL_OF

PICK_PLACE = "PBDClothFoldPickPlace-v0"


@pytest.mark.parametrize(("given", "limit"), [({}, 100), (None, 100), (-1, None), (7, 7)])
def test_a_time_limit_of_none_is_that_of_the_id(given: Any, limit: int | None) -> None:
    arguments = {"max_episode_steps": given} if given != {} else {}
    batch = gym.make_vec("PBDCloth-v0", 2, **arguments, **SMALL)
    assert batch.unwrapped.max_episode_steps == limit  # type: ignore[attr-defined]
    again = gym.make_vec(EnvSpec.from_json(batch.spec.to_json()))  # type: ignore[union-attr]
    assert again.unwrapped.max_episode_steps == limit  # type: ignore[attr-defined]
    one = gym.make("PBDCloth-v0", **arguments, **SMALL)
    assert getattr(one, "_max_episode_steps", None) == limit
    assert one.unwrapped.batch.max_episode_steps is None  # type: ignore[attr-defined]


def test_a_class_has_no_limit_unless_it_is_given_one() -> None:
    assert ClothVectorEnv(2, **SMALL).max_episode_steps is None


def test_none_is_what_the_id_sets() -> None:
    """Guards ids that are another class's with an argument set: None made them the class's own."""
    small = SMALL_OF[PICK_PLACE]
    nothing = dict.fromkeys(("action_mode", "obs_mode", "reward_mode", "preset", "horizon", "autoreset_mode", "output"))
    batch = gym.make_vec(PICK_PLACE, 2, **nothing, **small)
    one = gym.make(PICK_PLACE, **nothing, **small)
    assert batch.get_attr("action_mode")[0] == one.unwrapped.batch.action_mode == "pick_place"  # type: ignore[attr-defined]
    assert gym.make_vec(PICK_PLACE, 2, action_mode="picker", **small).get_attr("action_mode")[0] == "picker"


def test_seeds_may_be_none_one_by_one() -> None:
    batch = gym.make_vec("PBDCloth-v0", 3, **SMALL)
    rows = batch.reset(seed=[4, None, 4])[0]
    assert_array_equal(rows[0], rows[2])
    assert (rows[0] != rows[1]).any()
    assert_array_equal(gym.make("PBDCloth-v0", **SMALL).reset(seed=4)[0], rows[0])


def test_infos_have_the_types_of_the_single_environments() -> None:
    """Guards code that moves from one to the other: what Gymnasium makes of single environments is the yardstick."""
    kwargs: dict[str, Any] = {**SMALL, "randomize": {"stiffness": (0.5, 2.0)}, "max_episode_steps": 2}
    ours, theirs = (gym.make_vec("PBDCloth-v0", 2, vectorization_mode=mode, **kwargs) for mode in (None, "sync"))
    for env in (ours, theirs):
        env.action_space.seed(0)
    found = [[env.reset(seed=3), *(env.step(env.action_space.sample()) for _ in range(3))] for env in (ours, theirs)]
    for mine, other in zip(*found, strict=True):
        assert {name: (v.dtype, v.shape) for name, v in mine[-1].items()} == {
            name: (v.dtype, v.shape) for name, v in other[-1].items()
        }
        for a, b in zip(mine[1:-1], other[1:-1], strict=True):
            assert np.asarray(a).dtype == np.asarray(b).dtype


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_lists_of_pictures_are_those_of_single_environments(mode: str) -> None:
    kwargs: dict[str, Any] = {
        **SMALL, "max_episode_steps": 3, "render_mode": "rgb_array_list", "render_options": {"size": 24},
    }  # fmt: skip
    ours = gym.make_vec("PBDCloth-v0", 2, autoreset_mode=mode, **kwargs)
    theirs = gym.make_vec("PBDCloth-v0", 2, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **kwargs)
    counts = []
    for env in (ours, theirs):
        env.reset(seed=1)
        env.action_space.seed(0)
        seen = []
        for step in range(5):
            env.step(env.action_space.sample())
            if step != 2:
                seen.append(env.render())
        counts.append([[len(pictures) for pictures in each] for each in seen])  # type: ignore[union-attr]
        first = seen[0][0][0]  # type: ignore[index]
        assert first.shape == (24, 24, 3) and first.dtype == np.uint8
    assert counts[0] == counts[1]
    assert counts[0][0] == [2, 2]
