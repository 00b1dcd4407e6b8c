"""Tasks are plain: made from their numbers without a device, printed, and compared."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

from pbd_gym.envs import Modes, Rope, RopeTaskConfig, StartBank
from pbd_gym.envs.core.data.identity import same
from pbd_gym.envs.rope.shape import RopeShape, RopeShapeConfig

ALL_TASKS = """
import inspect
import gymnasium as gym
import pbd_gym
import warp as wp
from gymnasium.envs.registration import load_env_creator
from pbd_gym.envs import Modes
from pbd_gym.envs.core.data.validation import make_config
from pbd_gym.registry import ENTRIES
from tests.envs.helpers import SMALL_OF

for entry in ENTRIES:
    vector, spec = load_env_creator(entry.vector), gym.spec(entry.id)
    config = make_config(vector.config_type, SMALL_OF[entry.id])
    for mode in vector.action_modes:
        first, second = (vector.task_type(config, Modes(mode)) for _ in range(2))
        assert first == second and first is not second, entry.id
        assert f"<{type(first).__name__}: {first.scene.particle_count} particles" in repr(first)
        first.keypoints = first.keypoints + 1
        assert len(first.keypoints) == 0 or first != second, entry.id
    assert wp._src.context.runtime is None, entry.id
print("plain")
"""
NUMBERS: dict[str, Any] = {"particles": 9, "starts": 5}


def test_every_task_is_made_without_a_device() -> None:
    """Guards what a task may know: a world is there only when its parts are prepared."""
    done = subprocess.run([sys.executable, "-c", ALL_TASKS], capture_output=True, text=True, check=False)
    assert done.stdout.endswith("plain\n"), done.stderr


def make(modes: Modes | None = None, **numbers: Any) -> RopeShape:
    return RopeShape(RopeShapeConfig(**(NUMBERS | numbers)), modes or Modes("picker"))


def test_tasks_differ_by_their_numbers_modes_and_parts() -> None:
    assert make() == make()
    assert make() != make(starts=6) and make() != make(rope_length=0.6) and make() != make(ordered=True)
    assert make() == make(Modes("pick_place")) and make() != make(Modes("drag"))  # hands that cannot let go
    assert make() != make(Modes("picker", "goal"))
    other = make()
    other.starts = StartBank(Rope(RopeTaskConfig(**NUMBERS)).tangled)
    assert make() != other
    with pytest.raises(TypeError, match="unhashable"):
        hash(other)


@dataclass(frozen=True)
class Numbers:
    values: np.ndarray = field(default_factory=lambda: np.arange(3))


class Circle:
    def __init__(self, value: int) -> None:
        self.value, self.itself = value, self

    def method(self) -> int:
        return self.value


def scaled(factor: float) -> Any:
    return lambda x: factor * x


SAME = [
    (lambda: np.array([1.0, np.nan]), lambda: np.array([1.0, 2.0])),
    (lambda: np.zeros(2), lambda: np.zeros(2, dtype=np.float32)),
    (lambda: np.zeros((2, 1)), lambda: np.zeros((1, 2))),
    (lambda: {"a": [1, (2.0, "b")]}, lambda: {"a": [1, (2.0, "c")]}),
    (lambda: [1, 2], lambda: (1, 2)),
    (lambda: Numbers(), lambda: Numbers(np.arange(4))),
    (lambda: Circle(1), lambda: Circle(2)),
    (lambda: Circle(1).method, lambda: Circle(2).method),
    (lambda: scaled(2.0), lambda: scaled(3.0)),
    (lambda: partial(max, 1), lambda: partial(max, 2)),
    (lambda: None, lambda: 0),
]


@pytest.mark.parametrize(("value", "other"), SAME)
def test_what_is_the_same(value: Any, other: Any) -> None:
    assert same(value(), value()) and not same(value(), other()) and not same(other(), value())
