"""Observations made of pictures: over resets, autoresets and restored states, in batches, in torch and in SB3."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from stable_baselines3 import PPO
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.vec_env import VecTransposeImage

from pbd_gym.envs.core.spaces.pixels import Pixels
from pbd_gym.envs.tools.sb3 import make_sb3_vec_env
from pbd_gym.rendering import Camera
from pbd_gym.rendering.batched.tables import camera_row, palette_row
from tests.envs.helpers import AUTORESET, ID, SMALL, assert_same, make_vec, random_actions, rows_of

VARIED = {"size": 36, "turn": 0.4, "shift": 0.1, "zoom": 0.2, "color": 0.2}


def pixels_of(env: Any) -> Any:
    return env.observations.rasterizer


@pytest.mark.parametrize("mode", AUTORESET)
def test_pictures_do_not_depend_on_the_batch(mode: str) -> None:
    """Guards seeds, lanes and the drawing of cameras and colours: one environment alone sees the same, to the bit."""
    kwargs: dict[str, Any] = {"obs_mode": "rgbd", "pixels": VARIED, "max_episode_steps": 3, "autoreset_mode": mode}
    many = make_vec(9, **kwargs)  # which has more lanes than one alone
    first, _ = many.reset(seed=10)
    actions = random_actions(many, 3 if mode == "Disabled" else 8)
    seen = [first, *(many.step(a)[0] for a in actions)]
    for env in (0, 7):
        alone = make_vec(1, **kwargs)
        found = [alone.reset(seed=10 + env)[0], *(alone.step(a[env : env + 1])[0] for a in actions)]
        for step, (a, b) in enumerate(zip(found, seen, strict=True)):
            assert_same(a, rows_of(b, slice(env, env + 1)), f"{env} {step}")
    assert len(np.unique(first["rgb"].reshape(9, -1), axis=0)) == 9


@pytest.mark.parametrize("varied", [{}, VARIED])
def test_colours_do_not_say_when_a_goal_is_reached(varied: dict[str, Any]) -> None:
    """Guards agents that learn from pictures: green is for people, or for who asks for it."""
    goal, reached = palette_row("goal"), palette_row("goal_reached")
    for hints in (False, True):
        env = make_vec(2, obs_mode="rgb", pixels={**varied, "hints": hints})
        env.reset(seed=0)
        colors = pixels_of(env).palette.numpy()
        assert np.array_equal(colors[:, reached], colors[:, goal]) != hints


def test_every_episode_is_seen_in_its_own_way() -> None:
    """Guards the drawing anew, and that nothing is drawn within an episode or without being asked for."""
    env = make_vec(2, obs_mode="rgb", pixels=VARIED)
    rows = []
    for _ in range(2):
        env.reset(seed=1 if not rows else None)
        rows.append((pixels_of(env).cameras.numpy().copy(), pixels_of(env).palette.numpy().copy()))
        env.step(np.zeros((2, 6), dtype=np.float32))
        assert_array_equal(pixels_of(env).cameras.numpy(), rows[-1][0])
    (cameras, colors), (later, _) = rows
    assert not np.array_equal(cameras, later) and not np.array_equal(cameras[0], cameras[1])
    axes = cameras[:, 1:4]
    assert np.allclose(axes @ axes.transpose(0, 2, 1), np.eye(3), atol=1e-6)
    assert colors.min() >= 0.0 and colors.max() <= 255.0 and not np.array_equal(colors[0], colors[1])
    plain = make_vec(2, obs_mode="rgb", pixels={"size": 36})
    plain.reset(seed=1)
    assert pixels_of(plain).cameras.shape[0] == 1


def test_cameras_that_vary_by_nothing_are_those_asked_for() -> None:
    """Guards the kernel that aims cameras against the class that says what they are."""
    cameras = (Camera(np.array([0.1, 1.0, 0.2]), 3.0, 0.8, 0.3), Camera(np.zeros(3), 5.0, -2.0, 9.0))
    env = make_vec(2, obs_mode="rgb", pixels=Pixels(32, cameras, color=0.1))
    env.reset(seed=0)
    expected = [camera_row(camera, (32, 32)) for camera in cameras] * 2
    np.testing.assert_allclose(pixels_of(env).cameras.numpy(), expected, rtol=0, atol=5e-6)


@pytest.mark.parametrize("obs_mode", ["rgb", "rgbd"])
def test_final_pictures_are_those_before_the_reset(obs_mode: str) -> None:
    """Guards final_obs: what the episode ended with, as an environment that is not reset shows it."""
    kwargs: dict[str, Any] = {"obs_mode": obs_mode, "pixels": VARIED, "max_episode_steps": 4}
    same, disabled = (make_vec(3, autoreset_mode=mode, **kwargs) for mode in ("SameStep", "Disabled"))
    same.reset(seed=5)
    disabled.reset(seed=5)
    for action in random_actions(same, 4):
        observation, *_, info = same.step(action)
        kept, *_ = disabled.step(action)
    assert info["_final_obs"].all()
    for env in range(3):
        assert_same(info["final_obs"][env], rows_of(kept, env))
        begun, _ = disabled.reset(options={"reset_mask": np.arange(3) == env})
        assert_same(rows_of(observation, env), rows_of(begun, env))


def test_restored_states_are_seen_as_before() -> None:
    """Guards that pictures follow from the state alone, cameras and colours included, and are not a part of it."""
    env = make_vec(2, obs_mode="segmentation", pixels=VARIED)
    env.reset(seed=3)
    saved = env.get_state()
    assert not any("segmentation" in name for name in saved)
    actions = random_actions(env, 3)
    first = [env.step(a)[0] for a in actions]
    env.reset(seed=99)
    env.set_state(saved)
    assert_same(tuple(env.step(a)[0] for a in actions), tuple(first))
    assert env.observations.labels == ("background", "body 0", "plane 0", "pickers", "goals")
    assert {1, 2, 3, 4} <= set(np.unique(first)) <= {0, 1, 2, 3, 4}


def test_several_cameras_share_the_channels() -> None:
    """Guards the order of channels: each camera's are what it gives alone."""
    cameras = [{"target": (0, 1, 0), "distance": 4.0, "yaw": yaw} for yaw in (0.0, 1.5)]
    both = make_vec(2, obs_mode="rgbd", pixels={"size": (40, 32), "cameras": cameras}).reset(seed=0)[0]
    assert both["rgb"].shape == (2, 32, 40, 6) and both["depth"].shape == (2, 32, 40, 2)
    for k, camera in enumerate(cameras):
        one = make_vec(2, obs_mode="rgbd", pixels={"size": (40, 32), "cameras": [camera]}).reset(seed=0)[0]
        assert_array_equal(both["rgb"][..., 3 * k : 3 * k + 3], one["rgb"])
        assert_array_equal(both["depth"][..., k : k + 1], one["depth"])


def test_physics_and_rewards_are_those_of_other_modes() -> None:
    """Guards against pictures that change what they show."""
    states, seen = (make_vec(2, obs_mode=mode) for mode in ("keypoints", "rgb"))
    states.reset(seed=4)
    seen.reset(seed=4)
    for action in random_actions(states, 5):
        a, b = states.step(action), seen.step(action)
        assert_same(a[1:4], b[1:4])
    assert_array_equal(states.state.get_positions(), seen.state.get_positions())


def test_torch_tensors_are_fresh() -> None:
    """Guards the torch output: the same numbers, in memory of their own."""
    import torch

    env, twin = (make_vec(2, obs_mode="rgbd", output=output) for output in ("torch", "numpy"))
    first, expected = env.reset(seed=0)[0], twin.reset(seed=0)[0]
    kept = first["rgb"].clone()
    assert first["rgb"].dtype == torch.uint8 and first["depth"].dtype == torch.float32
    assert_array_equal(first["depth"].numpy(), expected["depth"])
    for action in random_actions(twin, 3):
        env.step(torch.from_numpy(action))
    assert torch.equal(first["rgb"], kept)


def test_ppo_learns_from_pictures() -> None:
    """Guards Stable-Baselines3's view: an image space that its own wrapper transposes, terminal observations too."""
    env = make_sb3_vec_env(ID, 2, 0, obs_mode="rgb", pixels={"size": 40}, max_episode_steps=4, **SMALL)
    assert is_image_space(env.observation_space)
    model = PPO("CnnPolicy", env, n_steps=8, batch_size=8, n_epochs=1, seed=0)
    model.learn(16)
    wrapped = model.get_env()
    assert isinstance(wrapped, VecTransposeImage)
    first = wrapped.reset()
    assert first.shape == (2, 3, 40, 40)
    for _ in range(4):
        observation, _, dones, infos = wrapped.step(np.zeros((2, 6), dtype=np.float32))
    assert dones.all() and infos[0]["terminal_observation"].shape == (3, 40, 40)
    assert_array_equal(env.batch.outputs.observation().transpose(0, 3, 1, 2), observation)
    env.close()


def test_rgbd_suits_policies_of_dicts() -> None:
    """Guards that Stable-Baselines3 takes the dict of pictures and depths."""
    env = make_sb3_vec_env(ID, 2, 0, obs_mode="rgbd", pixels={"size": 36}, **SMALL)
    PPO("MultiInputPolicy", env, n_steps=4, batch_size=8, n_epochs=1, seed=0).learn(8)


@pytest.mark.parametrize(
    ("pixels", "error", "message"),
    [
        ({"size": 0}, ValueError, "side of a picture must be at least 1"),
        ({"size": (64, 0)}, ValueError, "side of a picture must be at least 1"),
        ({"size": (64, 64, 3)}, ValueError, "a width and a height"),
        ({"far": 0.0}, ValueError, "far must be finite and above zero"),
        ({"turn": -0.1}, ValueError, "turn must be finite and not negative"),
        ({"color": np.nan}, ValueError, "color must be finite"),
        ({"zoom": 1.0}, ValueError, "zoom must be below 1"),
        ({"shadows": 1}, TypeError, "shadows must be True or False"),
        ({"goal_picture": "rgb"}, TypeError, "goal_picture must be True or False"),
        ({"cameras": [3]}, TypeError, "a camera is"),
        ({"cameras": [{"yam": 3}]}, TypeError, "did you mean 'yaw'"),
        ({"cameras": [{"distance": -3.0}]}, ValueError, "distance of a camera must be finite and above zero"),
        ({"sise": 64}, TypeError, "did you mean 'size'"),
    ],
)
def test_errors(pixels: dict[str, Any], error: type[Exception], message: str) -> None:
    """Guards bad input: one message that names what is wrong."""
    with pytest.raises(error, match=message):
        make_vec(1, obs_mode="rgb", pixels=pixels)


def test_shadows_are_asked_for() -> None:
    """Guards the way of the option to the rasteriser: only the ground darkens, and only when asked."""
    plain, shaded = (make_vec(2, obs_mode="rgb", pixels={"size": 48, "shadows": asked}) for asked in (False, True))
    assert_array_equal(plain.reset(seed=0)[0], make_vec(2, obs_mode="rgb", pixels={"size": 48}).reset(seed=0)[0])
    change = shaded.reset(seed=0)[0].astype(int) - plain.reset(seed=0)[0]
    assert change.max() == 0
    assert 0.005 < (change.min(axis=3) < -1).mean() < 0.3  # that of a cloth that hangs is narrow


def test_pixels_need_a_mode_that_shows_them() -> None:
    """Guards against pictures that are asked for and never given."""
    with pytest.raises(ValueError, match="pixels apply with obs_mode in"):
        gym.make(ID, pixels={"size": 64}, **SMALL)
