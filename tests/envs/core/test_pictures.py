"""Pictures of environments show what there is to see."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.rendering import Camera


def towel_pixels(picture: np.ndarray) -> int:
    """Count those that are much bluer than red."""
    red, _, blue = np.moveaxis(picture.astype(int), -1, 0)
    return int((blue - red > 60).sum())


def test_a_camera_goes_after_what_has_been_carried_off() -> None:
    """Guards films of agents that spread a towel anywhere: it was out of the picture."""
    env: Any = gym.make_vec("PBDClothFold-v0", 2, resolution=8, starts=5, render_mode="rgb_array")
    env.reset(seed=0)
    x = env.state.get_positions()
    before = env.render()
    assert (env.pictures.strayed(x[0]) == 0.0).all()
    x[1] += (3.0, 0.0, -2.0)
    env.state.set_positions(x)
    first, second = env.render()
    assert (first == before[0]).all()
    assert towel_pixels(second) == pytest.approx(towel_pixels(before[1]), rel=0.2)
    env.close()


def test_a_camera_that_is_given_stays() -> None:
    given = {"camera": Camera()}
    env: Any = gym.make_vec("PBDClothFold-v0", 1, resolution=8, starts=5, render_mode="rgb_array", render_options=given)
    env.reset(seed=0)
    assert (env.pictures.strayed(env.state.get_positions()[0] + 5.0) == 0.0).all()
    env.close()
