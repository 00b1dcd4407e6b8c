"""Presets: every one makes an environment, what a user gives wins, and names that are not there are one error."""

import os

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import dataclasses
import inspect
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.env_match import check_environments_match
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.envs import TaskVectorEnv
from pbd_gym.envs.core.data.presets import MODES, PRESETS, Derived, preset_names, preset_values, with_preset
from pbd_gym.envs.core.data.validation import make_config
from pbd_gym.registry import ENTRIES, find
from pbd_gym.training.episodes.rollouts import unseen_arguments
from pbd_gym.training.imitation.refinement import training_world
from pbd_gym.training.settings.arguments import UNSEEN_SEED
from pbd_gym.training.settings.options import TrainArgs
from tests.envs.helpers import SMALL_OF

SMALL = {**SMALL_OF, "PBDTShirtFold-v0": {"spacing": 0.06, "substeps": 8, "starts": 2}}


def class_of(entry: Any) -> Any:
    return load_env_creator(entry.vector)


CASES = [
    (entry.id, name)
    for entry in ENTRIES
    for name in preset_names(class_of(entry).presets, entry.kwargs.get("action_mode"))
]  # as make_vec finds them


def test_there_are_presets_of_all_originals() -> None:
    assert {name for _, name in CASES} == {"softgym", "daxbench"}
    assert len(CASES) == 18
    used = [class_of(entry).presets for entry in ENTRIES]
    assert all(any(found is presets for found in used) for presets in PRESETS.values())


@pytest.mark.parametrize(("env_id", "name"), CASES)
def test_presets_are_plain_data_that_the_task_takes(env_id: str, name: str) -> None:
    """Guards names and values without making anything: a whole preset has thousands of particles."""
    entry = next(entry for entry in ENTRIES if entry.id == env_id)
    batch = class_of(entry)
    values = preset_values(batch.presets, name, entry.kwargs.get("action_mode"))
    assert set(MODES) <= set(inspect.signature(TaskVectorEnv.__init__).parameters)
    fields = {key: value for key, value in values.items() if key not in MODES}
    config = make_config(batch.config_type, fields)
    plain = {key: value for key, value in fields.items() if not isinstance(value, Derived)}
    assert {key: getattr(config, key) for key in plain} == plain
    unseen = unseen_arguments(env_id, 50, {"preset": name})
    assert (unseen["preset"], unseen["starts"], unseen["starts_seed"]) == (name, 50, UNSEEN_SEED)
    for field in dataclasses.fields(config):
        assert getattr(config, field.name) is not NotImplemented


@pytest.mark.parametrize(("env_id", "name"), CASES)
def test_checkers_pass(env_id: str, name: str) -> None:
    """Guards gym.make, its JSON, make_vec and its seeds, at a small size."""
    env = gym.make(env_id, preset=name, **SMALL[env_id])
    check_env(env.unwrapped)
    assert env.spec is not None
    check_environments_match(env, gym.make(EnvSpec.from_json(env.spec.to_json())), num_steps=2)
    envs: Any = gym.make_vec(env_id, 3, preset=name, **SMALL[env_id])
    one: Any = gym.make_vec(env_id, 1, preset=name, **SMALL[env_id])
    assert_array_equal(envs.reset(seed=4)[0][1], one.reset(seed=5)[0][0])


def test_what_a_user_gives_wins() -> None:
    small = {"resolution": 5, "substeps": 2, "starts": 3}
    env: Any = gym.make_vec("PBDClothFold-v0", 2, preset="softgym", **small)
    assert env.obs_mode == "reduced" and env.config.starts == 3 and env.config.resolution == 5
    assert_allclose(env.config.density * env.config.size[0] * env.config.size[1], 0.5)
    observation, info = env.reset(seed=0)
    sizes = info["parameters/size"]
    assert sizes[0] != sizes[1] and (np.abs(sizes - 1.0) <= 1 / 3 + 1e-6).all()
    corners = env.state.get_positions()[:, env.task.towel.corners].reshape(2, 12)
    hands = env.state.grip_positions.numpy()[:2].reshape(2, 6)
    assert_allclose(observation, np.concatenate([corners, hands], axis=1), atol=1e-6)
    given = {"obs_mode": "particles", "randomize": {}, "size": (0.5, 0.4), "best": -0.01}
    env = gym.make_vec("PBDClothFold-v0", 2, preset="softgym", **{**small, **given})
    assert env.obs_mode == "particles" and env.ranges == {} and env.config.size == (0.5, 0.4)
    assert env.task.score.best_performance == -0.01
    env = gym.make_vec("PBDClothFoldPickPlace-v0", preset="softgym", **small)
    assert env.actions.hands.upper == (0.45, 0.25, 0.45)  # that of pick-and-place


@pytest.mark.parametrize(
    ("env_id", "preset", "given", "counts"),
    [
        ("PBDClothFold-v0", "daxbench", {}, (32, 16)),
        ("PBDClothFold-v0", "daxbench", {"resolution": 64}, (64, 31)),
        ("PBDClothUnfold-v0", "daxbench", {"size": (0.4, 0.2)}, (17, 32)),
        ("PBDClothFold-v0", "daxbench", {"rows": 8, "columns": 5}, (8, 5)),
        ("PBDClothFold-v0", "softgym", {"columns": 9}, (9, 9)),
    ],
)
def test_the_grid_follows_from_what_a_user_gives(
    env_id: str, preset: str, given: dict[str, Any], counts: tuple[int, int]
) -> None:
    fields = with_preset(class_of(find(env_id)).presets, preset, None, dict.fromkeys(MODES), given)[1]
    config = make_config(class_of(find(env_id)).config_type, fields)
    assert (config.rows, config.columns) == counts


def test_tools_have_no_grid_of_their_own_where_a_user_gives_one() -> None:
    """Guards ``pbd-gym train --env-kwargs resolution 16``, whose tuned numbers have rows and columns."""
    assert training_world("PBDClothFold-v0", 5, {"rows": 8}).keys() == {"split", "starts", "starts_seed", "rows"}
    args = TrainArgs(env_id="PBDClothFoldPickPlace-v0", env_kwargs={"resolution": "16"})
    assert "rows" in args.settings().training_env
    assert args.everything()[2].get("rows") is None and args.everything()[2]["resolution"] == 16


def test_half_a_kilogram_whatever_the_size() -> None:
    """Guards the mass of SoftGym's cloths of a user's size, unless the density is the user's too."""
    given: dict[str, Any] = {"preset": "softgym", "resolution": 5, "substeps": 2, "starts": 3}
    for size in ((0.6, 0.4), (0.3, 0.3)):
        env: Any = gym.make_vec("PBDClothFold-v0", 1, size=size, **given)
        assert_allclose((1.0 / env.scene.inv_mass).sum(), 0.5)
    assert gym.make_vec("PBDClothFold-v0", 1, size=(0.6, 0.4), density=0.3, **given).unwrapped.config.density == 0.3


def test_no_preset_of_a_mode_that_the_original_lacks() -> None:
    """DaXBench's folds are made by transfers, which this id does not have."""
    message = "'daxbench' is not one of this task's with action_mode='pick_place': it has 'softgym'"
    with pytest.raises(ValueError, match=message):
        gym.make_vec("PBDClothFoldPickPlace-v0", preset="daxbench")


def test_horizon() -> None:
    """Guards that the sooner of both ends an episode, in a batch and in a single environment."""
    small = {"preset": "daxbench", "rows": 4, "columns": 4, "substeps": 2, "starts": 3}
    assert gym.make_vec("PBDClothUnfold-v0", 1, **small).unwrapped.max_episode_steps == 15
    assert gym.make_vec("PBDClothUnfold-v0", 1, horizon=2, **small).unwrapped.max_episode_steps == 2
    assert gym.make_vec("PBDClothUnfold-v0", 1, action_mode="picker", **small).unwrapped.max_episode_steps == 100
    env = gym.make("PBDClothFold-v0", **small)
    env.reset(seed=0)
    ends = [env.step(env.action_space.sample())[3] for _ in range(3)]
    assert ends == [False, False, True]


@pytest.mark.parametrize(
    ("env_id", "message"),
    [
        ("PBDClothFold-v0", "preset 'softgim' is not one of this task's: it has 'softgym', 'daxbench'"),
        ("PBDClothHang-v0", "preset 'softgim' is not one of this task's: it has none"),
    ],
)
def test_unknown_preset(env_id: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gym.make(env_id, preset="softgim")
    with pytest.raises(ValueError, match=message):
        gym.make_vec(env_id, preset="softgim")


def test_a_transfer_picks_carries_and_lets_go() -> None:
    """Guards one whole action: a corner of the towel is where it was to be placed, and nothing is held."""
    env: Any = gym.make_vec(
        "PBDClothFold-v0", 2, action_mode="pick_then_place", size=(0.3, 0.3), resolution=5, starts=3, start_turn=0.0
    )
    env.reset(seed=0)
    x = env.task.towel.shape(env.world, 0).astype(np.float64)
    goal = x[0, 0] - [0.1, 0.0, 0.05]
    low, high = (np.array(corner) for corner in (env.actions.hands.lower, env.actions.hands.upper))
    action = np.concatenate([2.0 * (place - low) / (high - low) - 1.0 for place in (x[0, 0], goal)])
    nothing = np.ones(6)
    env.step(np.stack([action, nothing]).astype(np.float32))
    assert (env.state.held.numpy()[:2] < 0).all()
    assert_allclose(env.task.towel.shape(env.world, 0)[0, 0, [0, 2]], goal[[0, 2]], atol=0.04)
    assert_allclose(env.task.towel.shape(env.world, 1), x, atol=1e-3)


def test_experts_of_daxbench() -> None:
    """Guards plans of whole transfers: a towel is folded in three, and unfolded in fifteen of them."""
    for name, floor in (("ClothFold", 0.6), ("ClothUnfold", 0.6)):
        env: Any = gym.make_vec(f"PBD{name}-v0", 4, preset="daxbench", starts=5, rows=16, columns=8)
        env.reset(seed=0)
        for _ in range(env.max_episode_steps):
            info = env.step(env.expert())[4]
        assert info["normalized_performance"].mean() > floor
