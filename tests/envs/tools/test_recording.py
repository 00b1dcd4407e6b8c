"""Films and trajectories of episodes: by the command line, and by Gymnasium's own wrappers."""

from __future__ import annotations

import gc
import re
import subprocess
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import RecordVideo
from gymnasium.wrappers.vector import RecordVideo as VectorRecordVideo
from imageio_ffmpeg import get_ffmpeg_exe
from numpy.testing import assert_array_equal
from PIL import Image
from pxr import Usd, UsdGeom

from pbd_gym.cli import main
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.tools.recording import RandomActor, make_batch, moments, record
from pbd_gym.rendering.pictures.images import save_film, save_mp4
from tests.envs.helpers import poison

SMALL: dict[str, Any] = {"rows": 6, "columns": 6, "max_episode_steps": 6}
KWARGS = ["--env-kwargs", "rows", "6", "columns", "6", "max_episode_steps", "6"]


def film(path: Path) -> tuple[tuple[int, int], float, list[np.ndarray]]:
    """Return the size, the pictures per second, and the pictures of a video."""
    command = [get_ffmpeg_exe(), "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    run = subprocess.run(command, capture_output=True, check=True)
    about = re.search(rb"Video: h264.*?, (\d+)x(\d+).*?, ([\d.]+) fps", run.stderr)
    assert about is not None
    width, height = int(about[1]), int(about[2])
    return (width, height), float(about[3]), list(np.frombuffer(run.stdout, np.uint8).reshape(-1, height, width, 3))


def test_an_mp4_shows_the_pictures_it_was_made_of(tmp_path: Path) -> None:
    """Guards order, size (odd ones get a row or column more) and speed; pictures come through a generator."""
    shades = [40, 120, 200, 120, 40]
    save_mp4(tmp_path / "a.mp4", (np.full((51, 65, 3), shade, np.uint8) for shade in shades), fps=10)
    size, fps, pictures = film(tmp_path / "a.mp4")
    assert size == (66, 52) and fps == 10
    assert [round(float(picture.mean())) for picture in pictures] == pytest.approx(shades, abs=4)


def test_a_divergence_ends_the_episode_of_all() -> None:
    """Guards films of several environments, at the end of a training run for one: the next step was refused."""
    env = make_batch("PBDCloth-v0", 3, **SMALL)
    asked = []

    def act(batch: TaskVectorEnv, observation: Any, begins: bool) -> np.ndarray:
        asked.append(begins)
        if len(asked) == 3:
            poison(batch, 1, particle=20)
        return np.zeros((3, 6), dtype=np.float32)

    found = [info["diverged"].tolist() for info in moments(env, act, 2)]
    assert found == [[False] * 3] * 3 + [[False, True, False]] + [[False] * 3] * 7
    assert asked == [True, False, False, True, False, False, False, False, False]


@pytest.mark.parametrize(
    ("name", "images", "fps", "message"),
    [
        ("a.mp4", [], 30, "at least one picture"),
        ("a.gif", [], 30, "at least one picture"),
        ("a.mp4", [np.zeros((4, 4, 3), np.uint8), np.zeros((6, 4, 3), np.uint8)], 30, "one size"),
        ("a.mp4", [np.zeros((4, 4), np.uint8)], 30, "uint8 of shape"),
        ("a.mp4", [np.zeros((4, 4, 3), np.uint8)], 0, "fps must be positive"),
        ("a.avi", [np.zeros((4, 4, 3), np.uint8)], 30, "an .mp4 or a .gif file, got 'a.avi'"),
    ],
)
def test_bad_films_are_refused(name: str, images: list[np.ndarray], fps: float, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        save_film(tmp_path / name, images, fps)


def test_moments_are_starts_and_steps_of_whole_episodes() -> None:
    """Guards that no episode begins by itself, that seeds go on, and that the same seeds act the same."""

    def heights(episodes: int, seed: int) -> list[np.ndarray]:
        env = make_batch("PBDCloth-v0", 2, **SMALL)
        found = [env.state.get_positions() for _ in moments(env, RandomActor(1), episodes, seed)]
        env.close()
        return found

    first = heights(2, 5)
    assert len(first) == 2 * 7
    assert_array_equal(first[0], first[7])  # both at rest, before the first step
    assert (first[6] != first[7]).any()
    for one, other in zip(first, heights(2, 5), strict=True):
        assert_array_equal(one, other)


def test_the_command_writes_a_contact_sheet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "sheet.mp4"
    options = ["--policy", "random", "--num-envs", "3", "--columns", "2", "--size", "48", "--every", "2"]
    assert main(["record", "PBDCloth-v0", "--out", str(out), *options, *KWARGS]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    size, fps, pictures = film(out)
    assert size == (98, 98) and fps == 15 and len(pictures) == 4
    assert pictures[0][60:, 60:].min() > 240  # the fourth place is empty
    assert np.ptp(pictures[0][:48, :48].astype(int)) > 60


def test_the_command_writes_a_gif_in_other_colours(tmp_path: Path) -> None:
    options = ["--policy", "random", "--size", "48", "--episodes", "2", "--color-by", "velocity", "--wireframe"]
    out = tmp_path / "a.gif"
    assert main(["record", "PBDCloth-v0", "--out", str(out), "--colors", "32", *options, *KWARGS]) == 0
    with Image.open(out) as gif:
        assert gif.size == (48, 48) and gif.n_frames > 7


@pytest.mark.parametrize("policy", ["trained", "plan"])
def test_what_the_package_knows_acts_in_films(policy: str, tmp_path: Path) -> None:
    out = tmp_path / "a.gif"
    short = ["--policy", policy, "--size", "40", "--every", "2", "--env-kwargs", "max_episode_steps", "4"]
    assert main(["record", "PBDCloth-v0", "--out", str(out), *short]) == 0
    with Image.open(out) as gif:
        assert gif.size == (40, 40) and gif.n_frames == 3


def test_the_command_exports_what_the_expert_does(tmp_path: Path) -> None:
    """Guards the way from a task to a file: as many moments as steps and a start, and the cloth is moved."""
    out = tmp_path / "fold.usda"
    small = ["--env-kwargs", "starts", "5", "max_episode_steps", "9"]
    assert main(["export", "PBDClothFold-v0", "--out", str(out), "--every", "3", *small]) == 0
    stage: Any = Usd.Stage.Open(str(out))
    cloth = UsdGeom.Mesh(stage.GetPrimAtPath("/World/body_0")).GetPointsAttr()
    assert cloth.GetTimeSamples() == [0, 1, 2, 3] and stage.GetTimeCodesPerSecond() == pytest.approx(12.5 / 3)
    assert np.abs(np.array(cloth.Get(3)) - np.array(cloth.Get(0))).max() > 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["record", "PBDCloth-v0", "--policy", "expert", "--out", "a.mp4"], "PBDCloth-v0 has no scripted expert"),
        (["record", "PBDCloth-v0", "--out", "a.avi", "--policy", "random"], "an .mp4 or a .gif"),
        (["record", "PBDCloth-v0", "--out", "b/a.gif", "--policy", "random", "--colors", "1"], "colors in 2..256"),
        (["record", "PBDClot-v0", "--out", "a.gif"], "PBDCloth-v0"),
        (["record", "--policy", "none.zip", "--out", "a.gif"], "none.zip"),
        (["record", "--policy", "plan", "--out", "a.gif"], "--policy plan needs an id"),
        (["export", "PBDCloth-v0", "--policy", "random", "--out", "a.fbx", "--env-kwargs", "rows"], "names and values"),
        (["export", "PBDCloth-v0", "--policy", "random", "--out", "a.fbx"], "ends in one of"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 1
    lines = capsys.readouterr().err.splitlines()
    assert message in lines[-1] and all("compiling" in line for line in lines[:-1])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # moviepy leaves pipes to the collector
def test_gymnasium_records_a_single_environment(tmp_path: Path) -> None:
    env = gym.make("PBDCloth-v0", render_mode="rgb_array", render_options={"size": 64}, **SMALL)
    recorded: Any = RecordVideo(
        env, str(tmp_path / "film"), episode_trigger=lambda episode: episode == 1, disable_logger=True
    )
    for _ in range(2):
        recorded.reset(seed=0)
        over = False
        while not over:
            _, _, terminated, truncated, _ = recorded.step(recorded.action_space.sample())
            over = terminated or truncated
    recorded.close()
    gc.collect()
    (path,) = (tmp_path / "film").glob("*.mp4")
    size, fps, pictures = film(path)
    assert size == (64, 64) and fps == 30 and len(pictures) in (6, 7)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # moviepy leaves pipes to the collector
def test_gymnasium_records_a_batch(tmp_path: Path) -> None:
    env = gym.make_vec("PBDCloth-v0", 3, render_mode="rgb_array", render_options={"size": 32}, **SMALL)
    recorded: Any = VectorRecordVideo(
        env, str(tmp_path / "film"), record_first_only=False, video_aspect_ratio=(3, 1), video_length=4,
        step_trigger=lambda step: step == 1, disable_logger=True,
    )  # fmt: skip
    recorded.reset(seed=0)
    for _ in range(8):
        recorded.step(recorded.action_space.sample())
    recorded.close()
    gc.collect()
    (path,) = (tmp_path / "film").glob("*.mp4")
    size, _, pictures = film(path)
    assert size == (96, 32) and len(pictures) in (4, 5)


def test_a_film_of_no_pictures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="every must be"):
        record(tmp_path / "a.gif", "PBDCloth-v0", RandomActor(), every=0, env_kwargs=SMALL)


@pytest.mark.parametrize("mode", ["drag", "pick_place"])
def test_films_last_as_long_as_what_they_show(mode: str) -> None:
    """Guards the pictures per second where an action takes many control steps."""
    env: Any = gym.make("PBDCloth-v0", action_mode=mode, **SMALL)
    batch = env.unwrapped.batch
    steps = batch.actions.repeat
    assert (steps > 10) == (mode == "pick_place")
    assert batch.action_time == pytest.approx(steps * batch.config.ctrl_dt)
    fps = env.metadata["render_fps"]
    assert type(fps) is int and fps == max(round(1.0 / batch.action_time), 1)
