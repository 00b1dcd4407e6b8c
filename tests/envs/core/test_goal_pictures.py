"""Second pictures that show the goal: what is in them, when they are renewed, and which tasks have them."""

import importlib
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from numpy.testing import assert_allclose, assert_array_equal
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from pbd_gym.envs.cloth.drop import ClothDrop, ClothDropVectorEnv
from pbd_gym.envs.core.data.modes import PIXEL_MODES, Modes
from pbd_gym.envs.core.spaces.goal_pictures import WITH_GOAL_PICTURES
from pbd_gym.registry import ENTRIES
from pbd_gym.rendering import Camera
from pbd_gym.rendering.batched import Rasterizer
from tests.envs.helpers import AUTORESET, SMALL, SMALL_OF, assert_same, random_actions, rows_of

SIZE = (44, 36)
ID = "PBDManipulation-v0"
OTHERS = [entry for entry in ENTRIES if entry.id not in WITH_GOAL_PICTURES]


def make(env_id: str = ID, num_envs: int = 3, pixels: dict[str, Any] | None = None, **kwargs: Any) -> Any:
    pixels = {"size": SIZE, "goal_picture": True, **(pixels or {})}
    return gym.make_vec(env_id, num_envs, pixels=pixels, **{"obs_mode": "rgb", **SMALL_OF[env_id], **kwargs})


def seen_by(env: Any, images: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Return pictures of the present, by a rasteriser of its own that knows of no goals."""
    camera = Camera.overview(*env.pictures.view_box(), SIZE)
    rasterizer = Rasterizer(env.model, [camera], SIZE, images, far=env.pixels.far)
    rasterizer.draw(env.state)
    return {name: rasterizer.image(name).numpy().copy() for name in images}


@pytest.mark.parametrize("env_id", WITH_GOAL_PICTURES)
def test_the_picture_is_what_a_goal_looks_like_that_is_reached(env_id: str) -> None:
    """Guards shapes and sizes: with everything in its goal, and the hands below the ground, the present looks so."""
    env = make(env_id, obs_mode="rgbd", randomize={"size": (0.7, 1.3)})
    found, _ = env.reset(seed=4, options={"split": "all"})
    assert env.observation_space.contains(found) and list(found) == ["rgb", "depth", "goal_rgb", "goal_depth"]
    starts = env.buffers.read("start")
    shapes = np.asarray(env.task.goal_shapes(env.world), dtype=np.float64)
    anchor, sizes = np.array(env.world.anchor), env.buffers.read("parameters")[:, 0]
    assert np.ptp(sizes) > 0.1
    points = env.observations.goal_pictures.points.numpy()
    assert_allclose(points, anchor + sizes[:, None, None] * (shapes[starts % len(shapes)] - anchor), atol=1e-6)
    # The goals that are observed and rated are in it.
    assert_allclose(points[:, env.goal_particles], env.buffers.read("goals"), atol=1e-6)
    env.state.set_positions(points)
    env.state.grip_positions.fill_(-50.0)
    for paddle in env.actions.paddles:
        env.state.set_pose(paddle.collider, [0.0, -50.0, 0.0])
    before = seen_by(env, ("rgb", "depth"))
    for name, image in before.items():
        assert_array_equal(found[f"goal_{name}"], image)
        assert all(len(np.unique(one)) > 10 for one in image)
    env.close()


def test_it_differs_where_goals_differ() -> None:
    """Guards the batch: every environment has the picture of its own goal, and equal goals look the same."""
    env = make(num_envs=6, starts=21, rows=8, columns=8)
    goals = env.reset(seed=0, options={"variation": [0, 13, 1, 2, 3, 4]})[0]["goal_rgb"]
    kinds = [env.task.goal_kind(env.world, row) for row in range(6)]
    assert kinds[:2] == [("flat", 0)] * 2 and len(set(kinds)) == 5
    assert_array_equal(goals[0], goals[1])
    assert len(np.unique(goals.reshape(6, -1), axis=0)) == 5


@pytest.mark.parametrize("mode", AUTORESET)
def test_it_is_renewed_when_an_episode_begins(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards all ways into an episode, and that ordinary steps draw nothing."""
    env = make(num_envs=4, autoreset_mode=mode, max_episode_steps=3, randomize={"size": (0.6, 1.0)})
    alone, drawn = make(num_envs=1, randomize={"size": (0.6, 1.0)}), []
    pictures = env.observations.goal_pictures.rasterizer
    draw = pictures.draw

    def counted(state: Any) -> None:
        drawn.append(env.observations.goal_pictures.new.numpy().copy())
        draw(state)

    monkeypatch.setattr(pictures, "draw", counted)

    def check(observation: Any, began: np.ndarray, where: str) -> None:
        """Compare with pictures of episodes of the same starts and sizes, and what was drawn with what began."""
        assert_array_equal(np.any([began & False, *(d.astype(bool) for d in drawn)], axis=0), began, err_msg=where)
        drawn.clear()
        for row in range(4):
            start, size = int(env.buffers.peek("start")[row]), float(env.buffers.peek("parameters")[row, 0])
            fresh, _ = alone.reset(options={"split": "all", "variation": start, "parameters": {"size": size}})
            assert_array_equal(observation["goal_rgb"][row], fresh["goal_rgb"][0], err_msg=f"{where}, {row}")

    everyone, mask = np.ones(4, dtype=bool), np.array([False, True, False, True])
    observation, _ = env.reset(seed=0)
    check(observation, everyone, "first")
    actions = random_actions(env, 9)
    check(env.step(actions[0])[0], ~everyone, "step")
    observation, _ = env.reset(options={"reset_mask": mask})  # ends are now at different times
    check(observation, mask, "mask")
    for action in actions[1:]:
        before, episode = observation, env.buffers.read("episode")
        observation, *_, info = env.step(action)
        began = env.buffers.read("episode") != episode
        check(observation, began, "step")
        for row in np.flatnonzero(info.get("_final_obs", ~everyone)):
            assert_array_equal(info["final_obs"][row]["goal_rgb"], before["goal_rgb"][row])
        ended = env.buffers.read("finished").astype(bool)
        if mode == "Disabled" and ended.any():
            observation, _ = env.reset(options={"reset_mask": ended})
            check(observation, ended, "mask")
    assert len(np.unique(observation["goal_rgb"].reshape(4, -1), axis=0)) > 1


def test_it_follows_states_that_are_restored_and_copied() -> None:
    """Guards set_state and branch: the picture belongs to the episode, wherever that goes on."""
    env = make(num_envs=3, obs_mode="segmentation", starts=21)
    options = {"variation": [0, 2, 4]}
    first, _ = env.reset(seed=1, options=options)
    saved = env.get_state()
    assert not any("segmentation" in name for name in saved)
    action = np.zeros((3, env.actions.size), dtype=np.float32)
    goals = first["goal_segmentation"]
    assert len(np.unique(goals.reshape(3, -1), axis=0)) == 3
    env.reset(options={"variation": [6, 8, 10]})
    assert not (env.step(action)[0]["goal_segmentation"] == goals).all()
    env.set_state(saved)
    assert_array_equal(env.step(action)[0]["goal_segmentation"], goals)
    env.branch([2, 2, 0])
    assert_array_equal(env.step(action)[0]["goal_segmentation"], goals[[2, 2, 0]])
    pictured = env.observations.labels[1]
    assert pictured == "body 0" and {1, 2} == set(np.unique(goals))  # the towel and the ground: no pickers, no marks


@pytest.mark.parametrize("output", ["numpy", "torch"])
def test_it_does_not_depend_on_the_batch(output: str) -> None:
    """Guards bits whatever num_envs, where cameras, colours and sizes differ as well, and fresh arrays."""
    varied = {"turn": 0.4, "shift": 0.1, "zoom": 0.2, "color": 0.2, "shadows": True}
    kwargs: dict[str, Any] = {"obs_mode": "rgbd", "pixels": varied, "max_episode_steps": 2, "output": output}
    kwargs["randomize"] = {"size": (0.7, 1.2)}
    many = make(num_envs=9, **kwargs)  # which has more lanes than one alone
    actions, first = random_actions(many, 4), many.reset(seed=10)[0]
    kept = {name: np.copy(value.numpy() if output == "torch" else value) for name, value in first.items()}
    seen = [first, *(many.step(a)[0] for a in actions)]
    if output == "torch":
        seen = [{name: value.numpy() for name, value in observation.items()} for observation in seen]
    assert_same(seen[0], kept)
    for env in (0, 7):
        alone = make(num_envs=1, **{**kwargs, "output": "numpy"})
        found = [alone.reset(seed=10 + env)[0], *(alone.step(a[env : env + 1])[0] for a in actions)]
        for step, (a, b) in enumerate(zip(found, seen, strict=True)):
            assert_same(a, rows_of(b, slice(env, env + 1)), f"{env} {step}")
    assert len(np.unique(kept["goal_rgb"].reshape(9, -1), axis=0)) == 9
    # Another seed is another camera, even if the number of the episode and the start are the same.
    options = {"variation": 1, "parameters": {"size": 1.0}}
    one, other = (many.reset(seed=seed, options=options)[0]["goal_rgb"] for seed in (10, 30))
    assert (one != other).any()
    assert kept["goal_rgb"].shape == (9, 36, 44, 3) and kept["goal_depth"].dtype == np.float32


def test_the_expert_makes_the_picture_come_true() -> None:
    """Guards the sense of it all: a towel that has been folded covers what it covers in the picture."""
    env = make("PBDClothFold-v0", 2, obs_mode="segmentation", rows=12, columns=12, substeps=None)
    observation, _ = env.reset(seed=0)

    def overlap(observation: Any) -> np.ndarray:
        """Return the share of pixels of the towel that both have, where neither a picker nor a mark is."""
        now, goal = observation["segmentation"], observation["goal_segmentation"]
        clear = now <= 2
        both, either = (now == 1) & (goal == 1) & clear, ((now == 1) | (goal == 1)) & clear
        return np.asarray(both.sum(axis=(1, 2, 3)) / either.sum(axis=(1, 2, 3)))

    first = overlap(observation)
    for _ in range(30):
        observation, *_, info = env.step(env.expert())
    assert info["normalized_performance"].min() > 0.8
    assert first.max() < 0.6 and overlap(observation).min() > 0.8


@pytest.mark.parametrize("obs_mode", PIXEL_MODES)
def test_checkers(obs_mode: str) -> None:
    """Guards the single environment in every mode: spaces, dtypes, determinism."""
    pixels = {"size": SIZE, "goal_picture": True}
    env = gym.make("PBDClothUnfold-v0", obs_mode=obs_mode, pixels=pixels, **SMALL_OF["PBDClothUnfold-v0"])
    space = env.observation_space
    assert isinstance(space, gym.spaces.Dict)
    names = ("rgb", "depth") if obs_mode == "rgbd" else (obs_mode,)
    assert set(space) == {*names, *(f"goal_{name}" for name in names)}
    assert all(space[name] == space[f"goal_{name}"] for name in names)
    check_env(env.unwrapped)
    # Its convolutional networks take uint8 only, and it says so of every float32 image; depth stays in metres.
    check_env_sb3(env.unwrapped, warn=obs_mode not in ("depth", "rgbd"))


@pytest.mark.parametrize("entry", OTHERS, ids=lambda entry: entry.id)
def test_tasks_without_a_shape_say_so(entry: Any) -> None:
    """Guards the list of ids in the message, which is to be complete."""
    module, name = entry.vector.split(":")
    if "rgb" not in getattr(importlib.import_module(module), name).obs_modes:
        pytest.skip("a task without pictures")
    with pytest.raises(ValueError, match=r"goal_picture=True needs a task whose goal is a shape .* PBDManipulation-v0"):
        make(entry.id, 1)


def test_shapes_of_a_wrong_size_are_refused() -> None:
    """Guards tasks of one's own."""

    class Flat(ClothDrop):
        def __init__(self, config: Any, modes: Modes) -> None:
            super().__init__(config, modes)
            self.goal_shapes = lambda world: np.zeros((2, 3, 3))

    class Wrong(ClothDropVectorEnv):
        task_type = Flat

    with pytest.raises(ValueError, match=r"must return shape \(1 or 5, 25, 3\), got \(2, 3, 3\)"):
        Wrong(1, obs_mode="rgb", pixels={"goal_picture": True}, **SMALL_OF["PBDClothDrop-v0"])


def test_without_the_option_nothing_changes() -> None:
    """Guards the observations there are: one array, and the same present with and without."""
    plain, both = make("PBDClothDrop-v0", 2, {"goal_picture": False}), make("PBDClothDrop-v0", 2)
    assert isinstance(plain.single_observation_space, gym.spaces.Box)
    assert_array_equal(plain.reset(seed=3)[0], both.reset(seed=3)[0]["rgb"])
    for action in random_actions(plain, 3):
        assert_array_equal(plain.step(action)[0], both.step(action)[0]["rgb"])
    with pytest.raises(ValueError, match="pixels apply with obs_mode in"):
        gym.make("PBDCloth-v0", pixels={"goal_picture": True}, **SMALL)
