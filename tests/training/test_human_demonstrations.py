"""What was played becomes a Minari dataset, without what no agent could do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("minari")

from pbd_gym.cli import main
from pbd_gym.envs.tools.demonstrations import PIN, DemonstrationRecorder
from pbd_gym.training.data.datasets import read_dataset, read_episodes
from tests.envs.helpers import SMALL


def test_episodes_of_actions_alone_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorder = DemonstrationRecorder("PBDCloth-v0", **SMALL)
    action = np.full(recorder.env.action_space.shape or (), 0.25, np.float32)
    for seed, particle in ((4, -1), (5, 9), (6, -1)):
        recorder.reset(seed)
        for _ in range(3):
            recorder.step(action, particle, np.zeros(3), by_person=True)
    recorder.reset(7)
    recorder.step(action)
    recorder.turn(PIN, 9)
    recorder.step(action)
    recorder.reset(8)  # the pin is gone
    recorder.step(action)
    recorder.turn("gravity [m/s²]", 1.0)  # and stays so
    recorder.reset(9)
    recorder.step(action)
    recorder.env.close()
    recorder.demonstrations.save(tmp_path / "a.npz")
    out = tmp_path / "played-v0"
    assert main(["replay", str(tmp_path / "a.npz"), "--minari", str(out)]) == 0
    assert "3 of 6 episodes" in capsys.readouterr().out
    found = list(read_episodes(read_dataset(out)))
    assert [episode.seed for episode in found] == [4, 6, 8]
    originals = recorder.demonstrations.episodes[:3:2]
    for episode, original in zip(found[:2], originals, strict=True):
        assert_array_equal(episode.observations, np.array(original.observations))
        assert_array_equal(episode.actions, np.array([action] * 3))
        assert episode.truncations.tolist() == [False, False, True]


def test_nothing_to_write_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorder = DemonstrationRecorder("PBDCloth-v0", **SMALL)
    recorder.reset(0)
    recorder.turn(PIN, 9)
    recorder.step(recorder.interactive.action())
    recorder.env.close()
    recorder.demonstrations.save(tmp_path / "a.npz")
    assert main(["replay", str(tmp_path / "a.npz"), "--minari", str(tmp_path / "x-v0")]) == 1
    assert "nothing to write" in capsys.readouterr().err
