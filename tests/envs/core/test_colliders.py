"""Colliders that move, in environments: every episode begins with them where they were added."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from numpy.testing import assert_array_equal

from pbd_gym.colliders import Box
from pbd_gym.envs.cloth.carry import ClothCarry, ClothConfig, ClothVectorEnv
from pbd_gym.envs.core.data.modes import Modes
from tests.envs.helpers import SMALL_OF


class Tray(ClothCarry):
    """The cloth task with a tray."""

    def __init__(self, config: ClothConfig, modes: Modes) -> None:
        super().__init__(config, modes)
        self.tray = self.scene.add_collider(Box((0.0, 0.1, 0.0), (0.3, 0.01, 0.3)), moving=True)


class TrayVectorEnv(ClothVectorEnv):
    task_type = Tray


def make(**options: Any) -> Any:
    small = SMALL_OF["PBDCloth-v0"]
    return TrayVectorEnv(4, max_episode_steps=3, **(small | options))


def test_episodes_begin_with_colliders_where_they_were_added() -> None:
    """Guards resets of some environments and autoresets: the others' trays stay where they are."""
    env = make(autoreset_mode=AutoresetMode.SAME_STEP)
    env.reset(seed=0)
    start = env.state.get_poses()
    assert_array_equal(start[:, 0], np.tile(np.float32([0, 0.1, 0, 0, 0, 0, 1]), (4, 1)))
    env.control.move_collider(env.task.tray, [0.1, 0.0, 0.0], [0.0, 0.1, 0.0])
    actions = np.zeros(env.action_space.shape, np.float32)
    env.step(actions)
    moved = env.state.get_poses()
    assert (moved[:, 0, 0] == np.float32(0.1)).all()
    mask = np.array([True, False, True, False])
    env.reset(options={"reset_mask": mask})
    assert_array_equal(env.state.get_poses(), np.where(mask[:, None, None], start, moved))
    env.step(actions)
    env.step(actions)  # the two that were not reset are at the limit
    poses = env.state.get_poses()[:, 0, 0]
    assert_array_equal(poses == 0, [False, True, False, True])
    assert_array_equal(poses[mask], np.float32(0.1) + np.float32(0.1))
    env.close()


def test_snapshots_and_branches_keep_poses() -> None:
    env = make()
    env.reset(seed=1)
    env.state.set_pose(env.task.tray, [[0.01 * i, 0.2, 0.0] for i in range(4)])
    saved = env.get_state()
    env.branch(np.array([2, 2, 0, 3]))
    assert_array_equal(env.state.get_poses()[:, 0, 0], np.float32([0.02, 0.02, 0.0, 0.03]))
    env.set_state(saved)
    assert_array_equal(env.state.get_poses()[:, 0, 0], np.float32([0.0, 0.01, 0.02, 0.03]))
    env.close()


def test_pictures_show_them_where_they_are() -> None:
    pytest.importorskip("pygame")
    env = make(render_mode="rgb_array")
    env.reset(seed=1)
    before = env.render()[0]
    env.state.set_pose(env.task.tray, [0.4, 0.5, 0.0])
    assert (env.render()[0] != before).any(axis=2).sum() > 200
    env.close()
