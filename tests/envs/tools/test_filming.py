"""A film in one line: of a scene and of environments, without a display."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from PIL import Image

import pbd_gym
from pbd_gym import Plane, Scene
from tests.envs.helpers import SMALL


def falling() -> Scene:
    """Return a scene of two linked particles that fall on the ground."""
    scene = Scene(contact_radius=0.02)
    scene.add_collider(Plane())
    scene.add_rope([(0.0, 0.6, 0.0), (0.2, 0.6, 0.0)])
    return scene


def length_of(path: Path) -> int:
    """Return how long a GIF lasts [ms]; equal pictures that follow one another are one in the file."""
    with Image.open(path) as image:
        found = []
        for k in range(image.n_frames):  # type: ignore[attr-defined]
            image.seek(k)
            found.append(image.info["duration"])
    return sum(found)


def test_a_scene_is_filmed_for_as_long_as_asked(tmp_path: Path) -> None:
    """Guards the times that ``step`` is told, and that the state it is given is the one that is shown."""
    times, heights = [], []

    def step(state: Any, control: Any, time: float) -> None:
        times.append(time)
        heights.append(float(state.get_positions()[0, 0, 1]))

    path = pbd_gym.film(
        falling(), tmp_path / "new" / "a.gif", step=step, seconds=0.4, fps=20, size=(96, 64), substeps=4
    )
    with Image.open(path) as image:
        assert image.size == (96, 64)
    assert length_of(path) == 8 * 50
    assert times == pytest.approx(np.arange(7) / 20)
    # Free fall, by the symplectic Euler of the substeps: 9.81 m/s^2 t (t + h) / 2.
    t = np.arange(7) / 20
    assert np.array(heights) == pytest.approx(heights[0] - 9.81 * t * (t + 1 / 80) / 2, abs=1e-3)


class Recalls:
    """Acts as Stable-Baselines3's models do, and counts since an episode began."""

    def __init__(self) -> None:
        self.starts: list[list[bool]] = []

    def predict(self, observation: Any, state: Any, episode_start: Any, deterministic: bool) -> tuple[Any, int]:
        assert deterministic and state == (len(self.starts) or None)
        self.starts.append(np.asarray(episode_start).tolist())
        return np.zeros((*observation.shape[:-1], 6), np.float32), len(self.starts)


@pytest.mark.parametrize(("seconds", "pictures"), [(None, 4), (0.2, 7)])
def test_an_episode_is_filmed(seconds: float | None, pictures: int, tmp_path: Path) -> None:
    env = gym.make("PBDCloth-v0", max_episode_steps=3, **SMALL)
    assert env.unwrapped.batch.action_time == pytest.approx(1 / 30)  # type: ignore[attr-defined]
    policy = Recalls()
    path = pbd_gym.film(env, tmp_path / "a.gif", policy=policy, seconds=seconds, size=48)
    assert length_of(path) == pictures * 30
    assert policy.starts == [[k % 3 == 0] for k in range(pictures - 1)]
    env.reset(seed=1)  # it is still open
    env.close()


def test_a_batch_is_filmed_side_by_side(tmp_path: Path) -> None:
    env = gym.make_vec("PBDCloth-v0", 4, max_episode_steps=2, **SMALL)
    policy = Recalls()
    pbd_gym.film(env, tmp_path / "a.gif", policy=policy, seconds=5 / 30, size=40)
    with Image.open(tmp_path / "a.gif") as image:
        assert image.size == (82, 82)
    # The batch resets in the step after an end: the third answer is the first of new episodes.
    assert policy.starts == [[k in (0, 3)] * 4 for k in range(5)]
    env.close()


class Dot(gym.Env[Any, Any]):
    """Another package's environment: grey, and a bit lighter with each step."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 100}  # noqa: RUF012
    observation_space = gym.spaces.Box(-1.0, 1.0, (1,))
    action_space = gym.spaces.Box(-1.0, 1.0, (1,))

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode, self.time = render_mode, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.time = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.time += 1
        return np.zeros(1, np.float32), 0.0, self.time == 12, False, {}

    def render(self) -> Any:
        return np.full((16, 16, 3), 20 * self.time, np.uint8)


def test_environments_of_others_are_filmed_no_faster_than_they_are(tmp_path: Path) -> None:
    """Guards the speed of what steps more often than a GIF shows pictures: of 100 steps a second every fourth."""
    pbd_gym.film(Dot("rgb_array"), tmp_path / "a.gif", policy="random")
    with Image.open(tmp_path / "a.gif") as image:
        shades = []
        for k in range(image.n_frames):  # type: ignore[attr-defined]
            image.seek(k)
            shades.append(np.asarray(image.convert("L")).mean())
            assert image.info["duration"] == 40
    assert shades == pytest.approx([0, 80, 160, 240], abs=4)


@pytest.mark.parametrize(
    ("what", "arguments", "error", "message"),
    [
        (falling, {"policy": "random"}, TypeError, "a scene has no agent"),
        (falling, {"seconds": 0}, ValueError, "seconds"),
        (falling, {"fps": 60}, ValueError, "fps"),
        (falling, {"path": "a.avi"}, ValueError, r"\.mp4 or a \.gif"),
        (falling, {"colour": 3}, TypeError, "colour"),
        (lambda: 3, {}, TypeError, "a Scene or an environment, got int"),
        (Dot, {"policy": "random"}, ValueError, "render_mode='rgb_array'"),
        (lambda: Dot("rgb_array"), {}, ValueError, "has no expert"),
        (lambda: Dot("rgb_array"), {"policy": 3}, TypeError, "policy must be"),
        (lambda: Dot("rgb_array"), {"step": print, "policy": "random"}, TypeError, "for scenes"),
    ],
)
def test_what_cannot_be_filmed_is_refused(
    what: Any, arguments: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    path = tmp_path / arguments.pop("path", "a.gif")
    with pytest.raises(error, match=message):
        pbd_gym.film(what(), path, **arguments)
    assert not path.exists()
