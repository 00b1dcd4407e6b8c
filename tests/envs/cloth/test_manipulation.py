"""PBDManipulation-v0: every goal is a fold that can be made, each environment has its own, and some are held out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.envs import ManipulationVectorEnv
from pbd_gym.envs.cloth.manipulation import FLAT, FOLDS, HELD_OUT, TRAINING, fold_flat
from tests.envs.helpers import TOWEL

STARTS, GOALS = 40, 21
"""Thirty-two for training and eight for evaluation: every goal comes."""
EACH = np.array([*range(13), *range(32, 40)])
"""A start state of each goal."""


@pytest.fixture(scope="module")
def env() -> Iterator[ManipulationVectorEnv]:
    made: Any = gym.make_vec("PBDManipulation-v0", GOALS, starts=STARTS, split="all", max_episode_steps=200)
    yield made
    made.close()


def test_goals_for_training_and_those_held_out_are_apart(env: ManipulationVectorEnv) -> None:
    assert len(TRAINING) == 13 and len(HELD_OUT) == 8
    # Kinds and distances are apart, not orientations alone.
    assert not {FOLDS.get(kind) for kind, _ in TRAINING} & {FOLDS[kind] for kind, _ in HELD_OUT}
    assert set(TRAINING) | set(HELD_OUT) == {FLAT, *((kind, turn) for kind in FOLDS for turn in range(4))}
    for split, goals in (("train", TRAINING), ("eval", HELD_OUT)):
        met = set()
        for seed in range(0, 100, 20):
            env.reset(seed=seed, options={"split": split})
            met |= {env.task.goal_kind(env.world, row) for row in range(GOALS)}
        assert met == set(goals)


def test_the_expert_brings_every_towel_to_its_goal(env: ManipulationVectorEnv) -> None:
    """Guards goals that no towel keeps, and goals in a batch: what is observed and rated is each environment's own."""
    observation, _ = env.reset(seed=0, options={"variation": EACH})
    goals = env.buffers.read("goals")
    points = env.state.get_positions()[:, env.goal_particles]
    assert_allclose(observation[:, 54:81].reshape(GOALS, 9, 3), goals - points, atol=1e-6)
    for _ in range(100):
        *_, info = env.step(env.expert())
    done = info["is_success"]
    # One of twenty-one may be laid down badly: rounding differs between machines.
    assert done.mean() > 0.95, [env.task.goal_kind(env.world, row) for row in np.flatnonzero(~done)]
    # What was folded stays so: no layer slides on.
    laid = env.state.get_positions()
    for _ in range(50):
        *_, info = env.step(np.tile(np.float32([0.0, 0.0, 0.0, -1.0]), (GOALS, 2)))
    assert np.linalg.norm(env.state.get_positions() - laid, axis=2).mean(axis=1)[done].max() < 0.004
    assert info["is_success"][done].all()
    away = np.linalg.norm(env.state.get_positions()[:, env.goal_particles] - goals, axis=2)
    assert away.mean() < 0.03
    # With the goal of another environment they would not be there.
    others = np.linalg.norm(env.state.get_positions()[:, env.goal_particles] - np.roll(goals, 1, axis=0), axis=2)
    assert (others.mean(axis=1) > 2.0 * away.mean(axis=1)).mean() > 0.8


@pytest.mark.parametrize("kind", FOLDS)
def test_folds_are_what_they_are_called(kind: str) -> None:
    """Against geometry: how much is folded over, where the outermost point comes to lie, and that nothing stretches."""
    side = np.linspace(-0.2, 0.2, 25)
    angle = 0.3
    x = np.stack([*np.meshgrid(side, side, indexing="ij"), np.zeros((25, 25))], axis=2)[..., [1, 2, 0]]
    x = x @ np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    share = {"half": 0.5, "third": 1 / 3, "quarter": 0.25, "diagonal": 0.5, "corner": (0.5 * np.sqrt(2.0) - 0.2) ** 2}[
        kind
    ]
    seen = set()
    for turn in range(4):
        shape, over = fold_flat(x, kind, turn, 0.01)
        assert over.mean() == pytest.approx(share, abs=0.05)
        assert_allclose(shape[..., 1], 0.01 * over)
        assert_allclose(shape[~over], x[~over])
        for part in (over, ~over):
            a, b = x[part][:, [0, 2]], shape[part][:, [0, 2]]
            apart = [np.linalg.norm(y[:, None] - y[None], axis=2) for y in (a, b)]
            assert_allclose(*apart, atol=1e-9)
        moved = np.linalg.norm((shape - x)[..., [0, 2]], axis=2)
        ways = {"half": 1.0, "third": 2 / 3, "quarter": 0.5, "diagonal": np.sqrt(2.0), "corner": 1.014}
        farthest = 0.4 * ways[kind]
        assert moved.max() == pytest.approx(farthest, abs=1e-3)
        seen.add(tuple(over.ravel()))
    assert len(seen) == 4


def test_a_towel_that_is_no_square_is_refused() -> None:
    with pytest.raises(ValueError, match="square"):
        gym.make_vec("PBDManipulation-v0", 1, **{**TOWEL, "columns": 6})
