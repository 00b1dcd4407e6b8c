"""How environments are drawn: options of ``gym.make``, colours that tell numbers, and recordings by Gymnasium."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.rendering import Camera, RenderOptions
from pbd_gym.rendering.pictures.scenes import scene_coloring

SMALL: dict[str, Any] = {"rows": 6, "columns": 6}


def picture(steps: int = 3, **options: Any) -> np.ndarray:
    env = gym.make("PBDCloth-v0", render_mode="rgb_array", render_options={"size": 96, **options}, **SMALL)
    env.reset(seed=0)
    for _ in range(steps):
        env.step(np.full(6, 0.5, np.float32))
    found: Any = env.render()
    env.close()
    return np.asarray(found, dtype=int)


def test_every_option_changes_the_picture_its_own_way() -> None:
    """Guards that options reach the painter: each picture differs from all others."""
    plain = picture()
    assert plain.shape == (96, 96, 3)
    assert picture(size=(80, 40)).shape == (40, 80, 3)
    others = [
        picture(edges=False), picture(wireframe=True), picture(shadows=False), picture(antialias=False),
        picture(color_by="stretch"), picture(color_by="velocity"), picture(color_by="contact"),
        picture(camera={"distance": 9.0}), picture(camera=Camera(yaw=2.0)),
    ]  # fmt: skip
    for k, one in enumerate(others):
        assert all((one != other).any() for other in [plain, *others[:k]]), k
    blue = ((plain - plain.mean(axis=2, keepdims=True))[..., 2] > 40).mean()
    thin = ((others[1] - others[1].mean(axis=2, keepdims=True))[..., 2] > 40).mean()
    assert 0 < thin < 0.6 * blue  # one sees through a wireframe


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"size": 0}, ValueError, "size"),
        ({"size": (64, -3)}, ValueError, "size"),
        ({"color_by": "mood"}, ValueError, "color_by must be one of"),
        ({"edges": 1}, TypeError, "edges must be True or False"),
        ({"camera": 3}, TypeError, "a camera is"),
        ({"colour_by": "contact"}, TypeError, "did you mean 'color_by'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gym.make_vec("PBDCloth-v0", 1, render_options=options, **SMALL)


def test_options_may_be_given_whole() -> None:
    options = RenderOptions(size=32, wireframe=True)
    env: Any = gym.make_vec("PBDCloth-v0", 2, render_mode="rgb_array", render_options=options, **SMALL)
    env.reset(seed=0)
    assert [image.shape for image in env.render()] == [(32, 32, 3)] * 2
    env.close()


def test_colours_tell_stretch_speed_and_contact() -> None:
    """Guards the numbers behind the colours: 2 % of stretch, a known speed, what lies on the ground or on itself."""
    env: Any = gym.make_vec("PBDClothFold-v0", 1, starts=5, size=(0.3, 0.3))
    scene = env.scene
    rest = np.array(scene.positions)
    still = np.zeros_like(rest)
    stretched = scene_coloring("stretch", scene, 1.02 * rest, still)
    assert stretched is not None
    np.testing.assert_allclose(stretched.values, 2.0, rtol=1e-3)
    moving = scene_coloring("velocity", scene, rest, still + np.array([0.0, 0.3, 0.4]))
    assert moving is not None
    np.testing.assert_allclose(moving.values, 0.5)
    high = rest - rest.mean(axis=0) + np.array([0.0, 1.0, 0.0])
    low = high - [0.0, high[:, 1].min() - scene.contact_radius, 0.0]
    for positions, expected in ((high, 0.0), (low, 1.0)):
        touch = scene_coloring("contact", scene, positions, still)
        assert touch is not None and (touch.values == expected).all()
    folded = high.copy()  # one third upon the next
    radius = scene.particle_contacts[0].radius
    far = folded[:, 0] > 0.05
    folded[far] = folded[far] * [-1, 1, 1] + [0.1, 2 * radius, 0]
    touch = scene_coloring("contact", scene, folded, still)
    assert touch is not None and 0.5 < touch.values.mean() < 1.0
    assert scene_coloring("sides", scene, rest, still) is None
    env.close()


def test_colours_know_the_size_of_an_environment() -> None:
    """What is drawn larger is not stretched, and touches itself from farther away."""
    env: Any = gym.make_vec(
        "PBDClothFold-v0",
        2,
        starts=5,
        size=(0.3, 0.3),
        randomize={"size": (1.4, 1.4)},
        render_options={"color_by": "stretch"},
    )
    env.reset(seed=0)
    values = env.pictures.frame(1).coloring.values
    assert np.abs(values).max() < 3.0  # not 40 %
    scene = env.scene
    rest, radius = np.array(scene.positions), scene.particle_contacts[0].radius
    folded = 1.4 * (rest - rest.mean(axis=0)) + np.array([0.0, 1.0, 0.0])
    far = folded[:, 0] > 0
    folded[far] = folded[far] * [-1, 1, 1] + [0, 2.6 * radius, 0]  # one half upon the other
    for size, expected in ((1.0, 0.0), (1.4, 1.0)):
        touch = scene_coloring("contact", scene, folded, np.zeros_like(rest), size=size)
        assert touch is not None
        assert abs(touch.values[far].mean() - expected) < 0.2
    env.close()
