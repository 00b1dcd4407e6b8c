"""Agents that point: hands go exactly to what is chosen, and a clone learns to choose."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.envs.core.parts.experts import grip_positions
from pbd_gym.training.agents.pointing import Pointing, pointing_of
from pbd_gym.training.agents.policies import MLPPolicy, load_policy
from pbd_gym.training.imitate import clone
from pbd_gym.training.imitation.refinement import refine
from pbd_gym.training.learners.fitting import fitted_policy
from pbd_gym.training.settings.imitation import FitArgs, ImitateArgs, RefinementArgs

ID = "PBDRopeShape-v0"
SMALL: dict[str, Any] = {"particles": 11, "substeps": 8, "starts": 60}
POINTS = 10


@pytest.fixture(scope="module")
def batch() -> Any:
    env = gym.make_vec(ID, 6, **SMALL)
    env.reset(seed=1)
    return env


def agent(batch: Any, actions: np.ndarray, **about: Any) -> MLPPolicy:
    """Return one that learned a little, with small arguments of its environment."""
    seen = np.random.default_rng(0).standard_normal((len(actions), 98)).astype(np.float32)
    return fitted_policy(ID, SMALL, seen, actions, FitArgs(epochs=1, hidden=(8,)), pointing=pointing_of(batch), **about)


def outputs(pointing: Pointing, targets: list[int], grip: float) -> np.ndarray:
    """Return outputs of a network that chooses a target for each hand, at full speed, for six environments."""
    rows = np.zeros((6, len(targets), pointing.outputs))
    rows[:, np.arange(len(targets)), targets] = 3.0
    rows[..., -3], rows[..., -2] = grip, 1.0
    return rows.reshape(6, -1)


def test_hands_come_to_what_they_point_at(batch: Any) -> None:
    """Guards columns and units: hand 0 comes to keypoint 7, hand 1 stays, and what is held comes to its goal."""
    pointing, observation = pointing_of(batch), batch.reset(seed=2)[0]
    assert pointing.targets == 1 + 2 * POINTS
    before = grip_positions(batch).copy()
    for _ in range(12):
        observation = batch.step(pointing.actions(observation, outputs(pointing, [1 + 7, 0], -1.0)))[0]
    points = observation[:, : 3 * POINTS].reshape(6, POINTS, 3)
    assert_allclose(grip_positions(batch)[:, 0], points[:, 7], atol=1e-4)
    assert_allclose(grip_positions(batch)[:, 1], before[:, 1], atol=1e-5)
    assert np.abs(before[:, 0] - points[:, 7]).max(axis=1).min() > 0.02
    for _ in range(30):
        observation = batch.step(pointing.actions(observation, outputs(pointing, [1 + POINTS + 7, 0], 1.0)))[0]
    offsets = observation[:, 60:90].reshape(6, POINTS, 3)
    assert np.abs(offsets[:, 7]).max() < 0.005


def test_lessons_say_what_was_done(batch: Any) -> None:
    """Guards fitting: a network that has learned its lessons does what it was shown."""
    pointing, random = pointing_of(batch), np.random.default_rng(3)
    seen = random.uniform(-0.3, 0.3, (40, 98))
    seen[2, 60:90] = np.tile(seen[2, 60:63], POINTS)  # goals of a fold that lie in parallel: of these, what is near
    near = np.linalg.norm(seen[2, :30].reshape(POINTS, 3) - seen[2, 93:96], axis=1).argmin()
    targets = random.integers(pointing.targets, size=(40, 2))
    targets[2, 1] = 1 + POINTS + near
    speed = np.where(targets > 0, random.uniform(0.3, 1.0, (40, 2)), 0.0)
    rise = random.uniform(-0.2, 0.2, (40, 2))
    moves = np.take_along_axis(pointing.moves(seen), targets[..., None, None], axis=2)[:, :, 0]
    closes = random.random((40, 2)) < 0.5
    meant = np.concatenate([speed[..., None] * moves, np.where(closes, 1.0, -1.0)[..., None]], axis=2)
    meant[..., 1] += rise
    lessons = pointing.lessons(seen, meant.reshape(40, 8)).reshape(40, 2, 4)
    assert (lessons[..., 0] == targets).mean() > 0.8 and lessons[2, 1, 0] == targets[2, 1]
    assert (lessons[..., 1] == closes).all()
    rows = np.zeros((40, 2, pointing.outputs))
    np.put_along_axis(rows, lessons[..., :1].astype(int), 1.0, axis=2)
    rows[..., -3:] = lessons[..., 1:] - [0.5, 0.0, 0.0]
    found = pointing.actions(seen, rows.reshape(40, -1))
    assert np.abs(found - meant.reshape(40, 8)).mean() < 0.02  # of two targets in one direction it may be either
    assert_allclose(pointing.actions(seen[4], rows[4].reshape(-1)), found[4], atol=1e-9)


def test_at_full_speed_outputs_say_nothing_of_it(batch: Any, tmp_path: Path) -> None:
    pointing, fast = pointing_of(batch), pointing_of(batch, full_speed=True)
    seen, targets = np.random.default_rng(7).uniform(-0.3, 0.3, (6, 98)), [3, 1 + POINTS + 2]
    usual = outputs(pointing, targets, 1.0)
    slow = usual.reshape(6, 2, -1).copy()
    slow[..., -2] = 0.2
    expected = pointing.actions(seen, usual)
    assert_allclose(pointing.actions(seen, slow.reshape(6, -1))[:, 0], 0.2 * expected[:, 0])
    assert_array_equal(fast.actions(seen, slow.reshape(6, -1)), expected)
    halved = expected.reshape(6, 2, 4) * [0.5, 1.0, 0.5, 1.0]
    lessons = fast.lessons(seen, halved.reshape(6, 8)).reshape(6, 2, 4)
    assert (lessons[..., 2] == 1.0).all()
    policy = dataclasses.replace(agent(batch, halved.reshape(6, 8).astype(np.float32)), pointing=fast)
    policy.save(tmp_path / "a.npz")
    assert_array_equal(load_policy(tmp_path / "a.npz")(seen), policy(seen))
    with pytest.raises(ValueError, match="for agents that point"):
        small = {name: str(value) for name, value in SMALL.items()}
        clone(ImitateArgs(env_id=ID, full_speed=True, env_kwargs=small, refinement=RefinementArgs(steps=0)))


def test_a_file_says_how_its_agent_points(batch: Any, tmp_path: Path) -> None:
    policy = agent(batch, np.random.default_rng(4).uniform(-1.0, 1.0, (50, 8)).astype(np.float32))
    policy.save(tmp_path / "a.npz")
    seen = np.random.default_rng(5).standard_normal((20, 98)).astype(np.float32)
    assert_array_equal(load_policy(tmp_path / "a.npz")(seen), policy(seen))
    assert np.abs(policy(seen)).max() <= 1.0 and policy(seen).shape == (20, 8)
    assert policy.pointing is not None
    columns = np.arange(POINTS, dtype=np.int16)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"hands": np.full(2, 97, dtype=np.int16)}, "hands must be columns of vectors"),
        ({"points": columns - 1}, "points must be columns of vectors"),
        ({"points": columns[:9]}, "an offset for each point"),
        ({"points": columns[:9], "offsets": columns[:9]}, "outputs"),
        ({"points": columns.reshape(2, 5)}, "in a row"),
        ({"max_step": np.array(0.0, dtype=np.float32)}, "above zero"),
        ({"full_speed": np.array(1.0)}, "true or false"),
    ]
    for what, message in wrong:
        other = dataclasses.replace(policy, pointing=dataclasses.replace(policy.pointing, **what))
        other.save(tmp_path / "b.npz")
        with pytest.raises(ValueError, match=message):
            load_policy(tmp_path / "b.npz")


def test_a_choice_is_learned_exactly(batch: Any) -> None:
    """Guards what it is for: of an expert that goes to the highest keypoint, a network of motions makes a mean."""
    pointing, random = pointing_of(batch), np.random.default_rng(6)

    def lesson(count: int) -> tuple[np.ndarray, np.ndarray]:
        seen = random.uniform(-0.3, 0.3, (count, 98)).astype(np.float32)
        highest = seen[:, 1:30:3].argmax(axis=1)
        moves = pointing.moves(seen)[np.arange(count), :, 1 + highest]
        return seen, np.append(moves, np.ones((count, 2, 1)), axis=2).reshape(count, 8).astype(np.float32)

    args = FitArgs(epochs=6, hidden=(64,), batch_size=64, activation="relu")
    seen, meant = lesson(6000)
    agents = [fitted_policy(ID, SMALL, seen, meant, args, pointing=how) for how in (pointing, None)]
    unseen, expected = lesson(500)
    exact = [(np.abs(one(unseen) - expected).max(axis=1) < 0.2).mean() for one in agents]
    assert exact[0] > 0.6 and exact[1] < 0.05


def test_what_cannot_point_is_refused(batch: Any) -> None:
    push = gym.make_vec("PBDSoftPush-v0", 1, starts=1, split="all")
    with pytest.raises(ValueError, match="only pickers can point"):
        pointing_of(push)
    push.close()
    with pytest.raises(ValueError, match="steps 0"):
        clone(ImitateArgs(env_id=ID, point=True, env_kwargs={name: str(value) for name, value in SMALL.items()}))
    towel = {"resolution": "7", "starts": "5"}
    with pytest.raises(ValueError, match="learns from no images"):
        images = RefinementArgs(steps=0, images=True)
        clone(ImitateArgs(env_id="PBDClothUnfold-v0", point=True, env_kwargs=towel, refinement=images))
    policy = agent(batch, np.zeros((50, 8), dtype=np.float32))
    with pytest.raises(ValueError, match="is not refined"):
        refine(policy, RefinementArgs(steps=10, eval_episodes=2, enough=2.0))
    small = {name: str(value) for name, value in SMALL.items()}
    for wrong in ({"handed": 1.5}, {"corrected": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            clone(ImitateArgs(env_id=ID, env_kwargs=small, refinement=RefinementArgs(steps=0), **wrong))
