"""Success means done: at the goal, let go, at rest; and ``info`` says which of these is missing."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import load_env_creator
from numpy.testing import assert_array_equal

from pbd_gym.envs import Completion
from pbd_gym.envs.rope import tie, untie
from pbd_gym.registry import ENTRIES, find
from tests.envs.helpers import SMALL_OF

HOLDING = ("PBDCloth-v0", "PBDSoftBody-v0", "PBDPendulum-v0", "PBDRopeWhip-v0")
"""Tasks whose point is to hold something, or to hit: they ask for their goals alone."""
OTHERS = [entry.id for entry in ENTRIES if entry.id not in HOLDING]


MEANS: dict[str, Any] = {"in_place": 0.0}
"""Arguments with which a task looks at means alone, so that any state can count as its goal."""


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
def test_success_takes_all_three(env_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards each condition, missing alone, and that the sparse reward is that of the success."""
    monkeypatch.setattr(tie, "OVERHAND", 0)  # the knots that episodes begin with are those asked for
    monkeypatch.setattr(untie, "UNTIED", 1)
    means = {"action_mode": "picker"} if env_id == "PBDRope-v0" else MEANS
    straight = {"off_chord": 1.0} if env_id in ("PBDRopeStraighten-v0", "PBDRopeUntie-v0") else {}
    from_home = getattr(load_env_creator(find(env_id).vector).config_type, "hands_at", None) == "home"
    near = {"hands_at": "corners"} if from_home else {}  # to hold it
    env = make(env_id, reward_mode="sparse", **means, **straight, **near)
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
    assert info["is_success"].all() and all(info[name].all() for name in env.task.score.condition_names)
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
    env = make("PBDClothDrop-v0", reward_mode="finish", **MEANS)
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


def near_and_far(env: Any, particles: np.ndarray, buffer: str, shares: tuple[float, float], radius: float) -> Any:
    """Put the goals of a share of the particles of each environment on them, and the others' outside of a radius."""
    points = env.state.get_positions()[:, particles]
    for number, share in enumerate(shares):
        off = np.arange(len(particles)) >= round(share * len(particles))
        points[number, off] += np.array([1.1 * radius, 0.0, 0.0], dtype=np.float32)
    env.buffers.write(buffer, points)


@pytest.mark.parametrize("env_id", ["PBDRopePush-v0", "PBDSoftShape-v0", "PBDClothUnfold-v0", "PBDTShirtFold-v0"])
def test_success_looks_at_each_particle(env_id: str) -> None:
    """Guards against a mean that forgives: nine tenths of the particles must lie within their radius."""
    env = make(env_id)
    act(env, -1.0, 5)
    cloth = env_id in ("PBDClothUnfold-v0", "PBDTShirtFold-v0")
    particles = env.task.goal.particles if cloth else env.goal_particles
    near_and_far(env, particles, "targets" if cloth else "goals", (0.95, 0.75), env.task.score.goal_radius)
    env.buffers.write("start_performance", -1e6)
    _, info = act(env)
    assert info["at_goal"].all() and info["at_rest"].all()
    assert_array_equal(info["in_place"], [True, False])
    assert_array_equal(info["is_success"], [True, False])
    _, info = env.reset(seed=0)
    assert info["in_place"].dtype == np.bool_ and not info["is_success"].any()


def test_a_fold_must_lie_on_its_other_half() -> None:
    """Guards folds, whose halves are compared pair by pair: upper on lower, lower at its place."""
    env = make("PBDClothFold-v0", rest_speed=10.0, rest_time=0.0)
    x = env.state.get_positions()
    fold, radius = env.task.goal, env.task.score.goal_radius
    x[:, fold.upper] = x[:, fold.lower] + np.float32([0.0, 0.006, 0.0])
    x[1, fold.upper[: len(fold.upper) // 2]] += np.float32([0.0, 0.0, 1.5 * radius])
    env.state.set_positions(x)
    _, info = act(env)
    assert_array_equal(info["in_place"], [True, False])
    env.reset(seed=0)
    env.state.set_positions(x + np.float32([1.5 * radius, 0.0, 0.0]))
    assert not act(env)[1]["in_place"].any()


def test_a_rope_with_a_bump_is_not_straight() -> None:
    """Guards the worst particle: a rope whose ends are far enough apart, and whose middle is off their line."""
    env = make("PBDRopeStraighten-v0", rest_speed=10.0, rest_time=0.0)
    x = np.repeat(env.scene.positions[None], 2, axis=0)
    x[..., 2] += np.array([[0.01], [0.04]]) * np.sin(np.linspace(0.0, np.pi, x.shape[1]))
    env.state.set_positions(x)
    _, info = act(env)
    x = env.state.get_positions()
    across = np.cross(x - x[:, :1], x[:, -1:] - x[:, :1])
    off = np.linalg.norm(across, axis=2).max(axis=1) / np.linalg.norm(x[:, -1] - x[:, 0], axis=1)
    assert off[0] < 0.02 < off[1] and info["at_goal"].all()
    assert_array_equal(info["straight"], [True, False])
    assert_array_equal(info["is_success"], [True, False])


def test_what_is_spilled_after_the_pour_counts() -> None:
    """Guards the cups: 3 % of the water beside them, whenever it got there, and the rest poured as it should be."""
    env = make("PBDPourWater-v0", rest_speed=10.0, rest_time=0.0, particles=60)
    model, floors = env.model, [cup.colliders[0] for cup in (env.task.cup, env.task.target)]
    poses, x = env.state.get_poses(), env.state.get_positions()
    for number, spilled in enumerate((1, 4)):
        first, second = (poses[number, model.pose_index(floor), 0] for floor in floors)
        there = np.flatnonzero(x[number, :, 1] > -1.0)
        x[number, there, 0] += second - first  # into the other cup
        x[number, there[:spilled]] = [second + 0.5, 0.05, 0.3]
    env.state.set_positions(x)
    _, info = act(env)
    assert info["at_goal"].all()
    assert_array_equal(info["unspilled"], [True, False])
    assert_array_equal(info["is_success"], [True, False])


@pytest.mark.parametrize(("env_id", "required"), [("PBDClothUnfold-v0", 1), ("PBDTShirtFold-v0", 0)])
def test_a_pierced_towel_is_no_success(env_id: str, required: int) -> None:
    """Guards against cloth that lies in its place and goes through itself; of a T-shirt that is only reported."""
    env = make(env_id, in_place=0.0, rest_speed=10.0, rest_time=0.0)
    env.buffers.write("start_performance", -1e6)
    _, info = act(env)
    assert info["unpierced"].all() and info["is_success"].all()
    counts = env.state.contacts.piercings
    counts.assign(np.int32([0, 1] + [0] * (len(counts) - 2)))
    env._score.launch()
    env._stepper.episodes.conclude.launch()
    assert_array_equal(env.buffers.peek("unpierced"), [1, 0])
    assert_array_equal(env.buffers.peek("is_success"), [1, 1 - required])
    assert "unpierced" not in make(env_id, piercings=False).reset(seed=0)[1]


def test_every_condition_is_in_info_of_one_and_of_many() -> None:
    """Guards names and types: bools in the single environment, arrays of them in a batch."""
    names = ("at_goal", "released", "at_rest", "in_place", "unpierced")
    one = gym.make("PBDClothFold-v0", **SMALL_OF["PBDClothFold-v0"])
    info = one.reset(seed=0)[1]
    assert all(type(info[name]) is bool for name in names)
    assert all(type(one.step(one.action_space.sample())[4][name]) is bool for name in names)
    env = make("PBDClothFold-v0")
    _, info = act(env)
    assert env.task.score.condition_names == names
    assert all(info[name].dtype == np.bool_ and info[name].shape == (2,) and info[f"_{name}"].all() for name in names)
