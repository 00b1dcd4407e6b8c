"""The switch that lets a CPU execute what a GPU does."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import warp as wp
from numpy.testing import assert_array_equal

from pbd_gym import Model, Scene
from pbd_gym.runtime.devices import VARIABLE, fitting_block_dim

needs_blocks = pytest.mark.skipif(not hasattr(wp.config, "enable_cpu_blocks"), reason="Warp before 1.19")


def ball() -> Scene:
    scene = Scene()
    scene.add_particles([(0.0, 1.0, 0.0)], 1.0)
    return scene


@pytest.mark.parametrize("value", ["0", "-1", "1025", "32.0", "many", "1e2", "3 2"])
def test_nonsense_in_the_environment_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against a switch that is misspelt and does nothing."""
    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(ValueError, match=f"{VARIABLE} must be a whole number from 1 to 1024, got '{value}'"):
        Model(ball())


@pytest.mark.parametrize("value", [0, -1, 1025, 32.0, True, "many", [32], np.nan])
def test_nonsense_as_an_argument_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="block_dim must be a whole number from 1 to 1024"):
        Model(ball(), block_dim=value)


def test_an_old_warp_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards users of a Warp that would take no notice of a block."""
    monkeypatch.delattr(wp.config, "enable_cpu_blocks", raising=False)
    assert Model(ball()).thread_count == 1
    with pytest.raises(ValueError, match=r"needs Warp 1\.19"):
        Model(ball(), block_dim=2)


@pytest.mark.parametrize(
    ("work", "threads"), [(0, 32), (5.5, 32), (63, 32), (64, 64), (115, 64), (488, 256), (9e4, 256)]
)
def test_a_cuda_block_has_as_many_threads_as_work(work: float, threads: int) -> None:
    assert fitting_block_dim(work) == threads


@needs_blocks
def test_the_argument_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "64")
    assert (Model(ball()).thread_count, Model(ball()).in_blocks) == (64, True)
    assert (Model(ball(), block_dim=1).thread_count, Model(ball(), block_dim=1).in_blocks) == (1, False)
    monkeypatch.setenv(VARIABLE, "")
    assert Model(ball()).thread_count == 1


@needs_blocks
def test_environments_are_run_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the switch for those who use ``gym.make`` and ``make_vec``: the same bits, and Warp as it was."""
    before = wp.config.enable_cpu_blocks

    def played() -> list[np.ndarray]:
        single = gym.make("PBDPendulum-v0")
        vector = gym.make_vec("PBDPendulum-v0", num_envs=3)
        rng = np.random.default_rng(0)
        found = [single.reset(seed=1)[0], vector.reset(seed=2)[0]]
        for _ in range(3):
            found += single.step(rng.uniform(-1, 1, single.action_space.shape).astype(np.float32))[:2]
            found += vector.step(rng.uniform(-1, 1, vector.action_space.shape).astype(np.float32))[:2]
        counts.append(vector.unwrapped.model.thread_count)
        return [np.array(part) for part in found]

    counts: list[int] = []
    usual = played()
    monkeypatch.setenv(VARIABLE, "32")
    for one, other in zip(usual, played(), strict=True):
        assert_array_equal(other, one)
    assert counts == [1, 32]
    assert wp.config.enable_cpu_blocks == before
