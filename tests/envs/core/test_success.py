"""Success means done: at the goal, let go, at rest; and ``info`` says which of these is missing."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.envs import Completion
from pbd_gym.registry import ENTRIES
from tests.envs.helpers import SMALL_OF

HOLDING = ("PBDCloth-v0", "PBDSoftBody-v0", "PBDPendulum-v0", "PBDRopeWhip-v0")
"""Tasks whose point is to hold something, or to hit: they ask for their goals alone."""
OTHERS = [entry.id for entry in ENTRIES if entry.id not in HOLDING]


def make(env_id: str, **kwargs: Any) -> Any:
    env = gym.make_vec(env_id, 2, **{**SMALL_OF[env_id], "max_episode_steps": 1000, **kwargs})
    env.reset(seed=0)
    return env


def act(env: Any, grip: float = -1.0, steps: int = 1) -> tuple[np.ndarray, dict[str, Any]]:
    """Act with hands that stay, and close if ``grip`` is above 0; return the rewards and the info of the last step."""
    hands, found = env.actions.hands, (np.zeros(2), {})
    for _ in range(steps):
        action = np.zeros((2, env.actions.size), dtype=np.float32)
        if env.action_mode in ("picker", "pick_place"):
            numbers = action.reshape(2, -1, 4)
            numbers[..., 3] = grip
            if env.action_mode == "pick_place":  # a place in the box
                low, high = np.array(hands.lower), np.array(hands.upper)
                numbers[..., :3] = 2.0 * (env.state.grip_positions.numpy()[:2, :2] - low) / (high - low) - 1.0
        _, reward, _, _, info = env.step(action)
        found = reward, info
    return found


def be_at_the_goal(env: Any) -> None:
    """Count the present state as at the goal: a start that was incomparably worse, or goals where the object is."""
    env.buffers.write("start_performance", -1e6)
    if len(env.goal_particles):
        env.buffers.write("goals", env.state.get_positions()[:, env.goal_particles])
        env.buffers.write("streak", 100)


@pytest.mark.parametrize("env_id", OTHERS)
def test_success_takes_all_three(env_id: str) -> None:
    """Guards each condition, missing alone, and that the sparse reward is that of the success."""
    env = make(env_id, reward_mode="sparse", **({"action_mode": "picker"} if env_id == "PBDRope-v0" else {}))
    grips = "released" in env.task.score.completion.conditions
    assert grips == (env.action_mode in ("picker", "pick_place"))
    if grips:  # held
        act(env, 1.0, 60)
        be_at_the_goal(env)
        reward, info = act(env, 1.0)
        assert info["at_goal"].all() and info["at_rest"].all() and not info["released"].any()
        assert not info["is_success"].any()
        assert_array_equal(reward, 0.0 if env_id == "PBDRope-v0" else -1.0)  # that one's is about its goals alone
    act(env, -1.0, 60)
    if env.action_mode != "pick_place":  # in the air for a moment; an action of pick_place would see it land again
        env.state.set_velocities(np.full((2, env.scene.particle_count, 3), [0.0, 0.5, 0.0]))
        be_at_the_goal(env)
        if env_id == "PBDRope-v0":
            env.buffers.write("goals", env.buffers.peek("goals") + np.float32([0.0, 0.01, 0.0]))
        _, info = act(env)
        assert info["at_goal"].all() and info.get("released", np.True_).all() and not info["at_rest"].any()
        assert not info["is_success"].any()
        act(env, -1.0, 60)
    be_at_the_goal(env)
    reward, info = act(env)
    assert info["is_success"].all() and all(info[name].all() for name in env.task.score.completion.conditions)
    assert_array_equal(reward, 0.0)
    if env_id != "PBDRope-v0":  # elsewhere
        env.buffers.write("start_performance", env.buffers.read("performance"))
        reward, info = act(env)
        assert info["at_rest"].all() and not info["at_goal"].any() and not info["is_success"].any()
        assert_array_equal(reward, -1.0)
    info = env.reset(seed=1)[1]
    assert not any(info[name].any() for name in ("at_goal", "at_rest", "is_success"))


@pytest.mark.parametrize("env_id", HOLDING)
def test_what_is_held_is_a_success_while_held(env_id: str) -> None:
    env = make(env_id)
    assert env.task.score.completion == Completion() and "at_goal" not in env.reset(seed=0)[1]
    be_at_the_goal(env)
    if env_id == "PBDRopeWhip-v0":
        _, info = act(env)
        assert info["is_success"].all() and (env.state.held.numpy()[:2] >= 0).all()


def test_to_finish_pays() -> None:
    """Guards the reward that makes agents let go: nothing more at the goal while held, then 1 more, and 2 at rest."""
    env = make("PBDClothDrop-v0", reward_mode="finish")
    for grip, steps, more in ((1.0, 60, 0.0), (-1.0, 0, 1.0), (-1.0, 60, 2.0)):
        act(env, grip, steps)
        be_at_the_goal(env)
        reward, info = act(env, grip)
        assert info["at_goal"].all() and (info["is_success"] == (more == 2.0)).all()
        np.testing.assert_allclose(reward, info["normalized_performance"] + more, atol=1e-6)


def test_to_keep_still_pays() -> None:
    """Guards the same reward where nothing is held: 1 more at the goal, and a third more for each step at rest."""
    env = make("PBDSoftPush-v0", reward_mode="finish", rest_time=0.24)
    assert env.task.score.completion.rest_steps(0.08) == 3
    be_at_the_goal(env)
    for more in (1.0 / 3.0, 2.0 / 3.0, 2.0):
        reward, info = act(env)
        assert info["at_goal"].all()
        np.testing.assert_allclose(reward, info["normalized_performance"] + 1.0 + more, atol=1e-5)


def test_a_towel_held_in_its_place_is_no_success_with_goals_either() -> None:
    """Guards goal mode: the reward follows from the goals alone, and success asks for more."""
    env = make("PBDClothUnfold-v0", obs_mode="goal")
    env.state.set_positions(np.repeat(env.scene.positions[None], 2, axis=0))
    grips = env.state.get_positions()[:, list(env.actions.particles)]
    env.state.grip_positions.assign(np.pad(grips, ((0, len(env.state.grip_positions.numpy()) - 2), (0, 0), (0, 0))))
    reward, info = act(env, 1.0, 10)
    assert_array_equal(reward, 0.0)
    assert info["at_goal"].all() and info["at_rest"].all() and not info["is_success"].any()
    reward, info = act(env, -1.0, 10)
    assert_array_equal(reward, 0.0)
    assert info["is_success"].all()


def test_rest_takes_its_time_and_its_speed() -> None:
    """Guards both numbers: the first steps of a towel at rest are not yet rest, and what it counts in is m/s."""
    env = make("PBDClothUnfold-v0", rest_time=0.4, substeps=32)  # five steps of 0.08 s
    assert [bool(act(env)[1]["at_rest"].all()) for _ in range(6)] == [False] * 4 + [True] * 2
    saved = env.get_state()
    for factor, still in ((0.9, True), (1.1, False)):
        env.set_state(saved)
        x = env.state.get_positions()
        for _ in range(6):
            env._stepper.rest.before_step()
            x[:, :, 0] += factor * 0.01 * 0.08
            env.state.set_positions(x)
            env._stepper.rest.after_step()
        assert (env.buffers.peek("rest_steps") == (5 if still else 0)).all()
    for name in ("rest_speed", "rest_time"):
        with pytest.raises(ValueError, match=name):
            make("PBDClothUnfold-v0", **{name: -1.0})
