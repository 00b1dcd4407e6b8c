"""The soft-body tasks of the suite: what they measure, that experts solve them, and that their physics is sound."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.envs import TaskVectorEnv
from pbd_gym.envs.core.parts.experts import paddle_poses

EXPERTS: dict[tuple[str, str], float] = {
    ("PBDSoftLift-v0", "paddle"): 0.9,
    ("PBDSoftLift-v0", "picker"): 0.9,
    ("PBDSoftPush-v0", "paddle"): 0.9,
    ("PBDSoftShape-v0", "paddle"): 0.75,
}
"""What the scripted expert has to reach, by id and action mode."""


def make(env_id: str, num_envs: int, **kwargs: Any) -> Any:
    env = gym.make_vec(env_id, num_envs, **{"starts": 40, "autoreset_mode": "Disabled", **kwargs})
    assert isinstance(env, TaskVectorEnv)
    return env


@pytest.mark.parametrize(("env_id", "mode"), EXPERTS)
def test_expert(env_id: str, mode: str) -> None:
    """Guards that the task can be done within its limits, on states that training does not see."""
    env = make(env_id, 8, action_mode=mode)
    env.reset(seed=0, options={"split": "eval", "variation": np.arange(8)})
    for _ in range(env.max_episode_steps or 0):
        _, _, terminated, _, info = env.step(env.expert())
        assert not terminated.any()
    assert info["normalized_performance"].mean() >= EXPERTS[env_id, mode]
    assert info["is_success"].mean() >= 0.75


@pytest.mark.parametrize("env_id", sorted({env_id for env_id, _ in EXPERTS}))
def test_performance(env_id: str) -> None:
    """Guards the measure on made states: at the goal it is 0 and 1 normalised, half way it is half."""
    env = make(env_id, 3)
    env.reset(seed=0)
    start, goals = env.state.get_positions(), env.buffers.read("goals")
    still = env.get_state()
    away = goals - start[:, env.goal_particles]
    distance = np.linalg.norm(away, axis=2).mean(axis=1)
    assert_allclose(env.buffers.read("performance"), -distance, rtol=1e-5)
    for share in (0.0, 0.5, 1.0):
        env.set_state(still)
        env.state.set_positions(start + share * away.mean(axis=1, keepdims=True))
        for launch in env._score:
            launch.launch()
        rest = np.linalg.norm(goals - env.state.get_positions()[:, env.goal_particles], axis=2).mean(axis=1)
        assert_allclose(env.buffers.read("performance"), -rest, atol=1e-6)
        assert_allclose(env.buffers.read("terms")[:, 0], -rest, atol=1e-6)
        if len(env.goal_particles) == 1:
            assert_allclose(rest, (1.0 - share) * distance, atol=1e-6)
    env.set_state(still)
    there = start.copy()
    there[:, env.goal_particles] = goals
    env.state.set_positions(there)
    for launch in env._score:
        launch.launch()
    assert_allclose(env.buffers.read("performance"), 0.0, atol=1e-6)


@pytest.mark.parametrize("env_id", sorted({env_id for env_id, _ in EXPERTS}))
def test_starts_are_at_rest(env_id: str) -> None:
    """Guards the bank: whoever does nothing sees nothing move, and gains nothing."""
    env = make(env_id, 8)
    env.reset(seed=0)
    start = env.state.get_positions()
    strains = env.state.get_memory()
    for _ in range(15):
        info = env.step(np.zeros(env.action_space.shape, dtype=np.float32))[4]
    assert np.abs(env.state.get_positions() - start).max() < 1e-3
    assert_allclose(info["normalized_performance"], 0.0, atol=0.01)
    assert_allclose(env.state.get_memory(), strains, atol=1e-5)


def test_shaping_counts_in_the_reward_only() -> None:
    """Guards `near`: minus half the mean distance of the plates from the middle, in the reward, not the performance."""
    env = make("PBDSoftLift-v0", 3)
    env.reset(seed=0)
    for _ in range(8):
        _, reward, _, _, info = env.step(env.expert())
    middle = env.state.get_positions()[:, env.goal_particles]
    near = -0.5 * np.linalg.norm(paddle_poses(env)[0] - middle, axis=2).mean(axis=1)
    assert_allclose(info["reward_terms/near"], near, rtol=1e-5)
    assert_allclose(reward, info["performance"] + near, rtol=1e-5)
    assert "near" not in make("PBDSoftLift-v0", 1, action_mode="picker").task.score.term_names


def test_lifting_needs_friction() -> None:
    """Guards the physics of the lift: without friction on the plates the same hands leave the ball where it is."""
    env = make("PBDSoftLift-v0", 4, paddle_friction=0.0)
    env.reset(seed=0, options={"split": "eval", "variation": np.arange(4)})
    for _ in range(40):
        info = env.step(env.expert())[4]
    assert info["normalized_performance"].max() < 0.2


def test_a_dropped_ball_falls() -> None:
    """Guards that nothing sticks: a ball that was lifted falls to the ground once the plates open."""
    env = make("PBDSoftLift-v0", 4)
    env.reset(seed=0, options={"split": "eval", "variation": np.arange(4)})
    heights = [env.state.get_positions()[:, env.goal_particles[0], 1]]
    for _ in range(30):
        env.step(env.expert())
    heights.append(env.state.get_positions()[:, env.goal_particles[0], 1])
    for _ in range(20):
        env.step(np.tile(np.float32([-1, 0, 0, 1, 0, 0]), (4, 1)))
    heights.append(env.state.get_positions()[:, env.goal_particles[0], 1])
    assert (heights[1] > heights[0] + 0.08).all()
    assert_allclose(heights[2], heights[0], atol=0.01)


def test_clay_starts_with_the_strains_of_its_weight() -> None:
    """Guards that settling leaves its permanent strains to the episode, the same after every reset, and none else."""
    env = make("PBDSoftShape-v0", 3)
    env.reset(seed=0)
    before = env.state.get_memory()
    assert np.abs(before).max() > 1e-3  # the bar gives way a little at its lower edges
    assert_array_equal(before, np.broadcast_to(env.task.bar.strains(env.world), before.shape))
    for _ in range(25):
        env.step(env.expert())
    assert (np.abs(env.state.get_memory()).max(axis=1) > 0.1).all()
    env.reset(options={"reset_mask": np.array([True, False, True])})
    assert_array_equal(env.state.get_memory()[[0, 2]], before[[0, 2]])
    assert np.abs(env.state.get_memory()[1]).max() > 0.1


def test_clay_keeps_its_shape_and_rubber_does_not() -> None:
    """Guards the material of the task: what is pinched stays pinched, unless nothing gives way."""
    kept = {}
    for name, yields in (("clay", 0.02), ("rubber", 10.0)):
        env = make("PBDSoftShape-v0", 4, yield_strain=yields)
        env.reset(seed=0, options={"split": "eval", "variation": np.arange(4)})
        lengths = []
        for _ in range(60):
            lengths.append(
                np.linalg.norm(np.diff(env.state.get_positions()[:, env.task.bar.body.tets[:, :2]], axis=2), axis=3)
            )
            env.step(env.expert())
        kept[name] = np.abs(lengths[-1] / lengths[0] - 1.0).max(axis=(1, 2))
    assert (kept["clay"] > 0.3).all() and (kept["rubber"] < 0.05).all()


def test_shape_goals_need_their_own_pinches() -> None:
    """Guards against goals that are all alike: what makes one shape does not make another."""
    env = make("PBDSoftShape-v0", 8)
    env.reset(seed=0, options={"variation": np.arange(8)})
    own = env.expert
    for _ in range(60):
        info = env.step(np.roll(own(), 1, axis=0))[4]
    assert info["normalized_performance"].mean() < 0.6


@pytest.mark.parametrize("bad", [{"lift": (0.3, 0.1)}, {"radius": 0.0}, {"density": -1.0}])
def test_lift_refuses(bad: dict[str, Any]) -> None:
    """Guards the configuration: what is wrong is named."""
    with pytest.raises(ValueError, match=next(iter(bad))):
        make("PBDSoftLift-v0", 1, **bad)


@pytest.mark.parametrize("bad", [{"bar": (0.0, 0.1, 0.1)}, {"width": (0.5, 0.3)}, {"creep_rate": 0.0}])
def test_shape_refuses(bad: dict[str, Any]) -> None:
    """Guards the configuration: what is wrong is named."""
    with pytest.raises(ValueError, match=next(iter(bad))):
        make("PBDSoftShape-v0", 1, **bad)


@pytest.mark.parametrize("bad", [{"cells": (3, 2, 4)}, {"distance": (0.3, 0.1)}, {"max_turn": 0.0}])
def test_push_refuses(bad: dict[str, Any]) -> None:
    """Guards the configuration: what is wrong is named."""
    with pytest.raises(ValueError, match=next(iter(bad))):
        make("PBDSoftPush-v0", 1, **bad)


def test_inverted_tetrahedra_are_reported() -> None:
    """Guards the report: as many as the state counts, and no entry where there are none to count."""
    env = make("PBDSoftPush-v0", 2, ctrl_dt=0.002)
    env.reset(seed=0)
    positions = env.state.get_positions()
    positions[1] *= [-1.0, 1.0, 1.0]
    env.state.set_positions(positions)
    info = env.step(env.action_space.sample())[-1]
    assert info["inverted"].dtype == np.int64 and info["_inverted"].all()
    assert_array_equal(info["inverted"], env.state.get_inverted())
    assert info["inverted"][0] == 0 and info["inverted"][1] > 0
    rope: Any = gym.make_vec("PBDRopeStraighten-v0", 1)
    assert "inverted" not in rope.reset(seed=0)[-1]
