"""What a script would do from wherever a learner has brought the hands."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.envs.core.parts.corrections import Corrections
from pbd_gym.envs.core.parts.experts import held_particles


def test_a_hand_that_closes_early_on_the_right_corner_may_keep_it() -> None:
    """Guards labels for learners: told to open again, they learned to drop what they had just taken hold of."""
    env: Any = gym.make_vec("PBDClothUnfold-v0", 8, starts=8, resolution=12)
    env.reset(seed=0)
    correct, corners = Corrections(env.task.expert, env.world), env.task.towel.corners
    actions = np.zeros((8, 2, 4), dtype=np.float32)
    actions[..., 3] = -1.0
    correct()  # it plans
    for number, progress in enumerate(correct.progress):
        going, taking = progress.left[0], progress.left[1]
        beside = going.positions + 0.15 * env.actions.hands.max_step  # not yet where it was told to go
        hands = env.state.grip_positions.numpy()
        hands[number, :2] = np.where(np.array(taking.closed)[:, None], beside, going.positions)
        env.state.grip_positions.assign(hands)
        actions[number, :, 3] = np.where(taking.closed, 1.0, -1.0)
    env.step(actions.reshape(8, -1))
    held = held_particles(env.world)
    right = np.array([np.isin(row[row >= 0], corners).all() and (row >= 0).any() for row in held])
    asked = correct().reshape(8, 2, 4)[..., 3] > 0.0
    assert right.sum() >= 4
    np.testing.assert_array_equal(asked[right], held[right] >= 0)
    env.close()
