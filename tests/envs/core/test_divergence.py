"""What counts as a failure besides speed: what is too far, and goals, hands, colliders and ratings out of numbers."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.colliders import Plane, Sphere
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.episode.watching import MARGIN
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from tests.envs.helpers import AUTORESET, SMALL_OF, assert_same, make_vec, random_actions, rows_of

COUNT, BAD = 20, 3
OTHERS = np.arange(COUNT) != BAD


def spoil_goals(env: TaskVectorEnv) -> None:
    env.buffers["goals"].numpy()[BAD, 0, 1] = np.nan


def spoil_hands(env: TaskVectorEnv) -> None:
    env.state.grip_positions.numpy()[BAD, 0, 2] = np.inf


def spoil_rating(env: TaskVectorEnv) -> None:
    env.buffers["start_performance"].numpy()[BAD] = np.nan


def spoil_places(env: TaskVectorEnv) -> None:
    """Put all particles so far that they do not feel one another any more, at rest."""
    group, lane = divmod(BAD, env.model.lanes)
    env.state.positions_scalar.numpy()[group, :, 0, lane] = 1e20


SPOILS = {"goals": spoil_goals, "hands": spoil_hands, "rating": spoil_rating, "places": spoil_places}


@pytest.mark.parametrize("mode", AUTORESET)
@pytest.mark.parametrize("obs_mode", ["keypoints", "goal"])
@pytest.mark.parametrize("what", SPOILS)
def test_failure(what: str, obs_mode: str, mode: str) -> None:
    """Guards the contract of failures: ended alone, in that step, by name, and all that is shown is finite."""
    kwargs = {"autoreset_mode": mode, "obs_mode": obs_mode, "action_mode": "picker"}
    env, control = make_vec(COUNT, **kwargs), make_vec(COUNT, **kwargs)
    actions = random_actions(env, 12)
    for batch in (env, control):
        batch.reset(seed=0)
        batch.step(actions[0])
    SPOILS[what](env)
    result, expected = env.step(actions[1]), control.step(actions[1])
    observation, reward, terminated, truncated, info = result
    assert_array_equal(terminated, ~OTHERS)
    assert not truncated.any()
    assert env.observation_space.contains(observation) and np.isfinite(reward).all()
    report = info["final_info"] if mode == "SameStep" else info
    assert_array_equal(report["diverged"], ~OTHERS)
    assert not report["is_success"][BAD]
    for name in ("performance", "normalized_performance"):
        assert np.isfinite(report[name]).all()
    if mode == "SameStep":
        assert env.single_observation_space.contains(info["final_obs"][BAD])
    if obs_mode == "goal" and mode != "SameStep":
        paid: Any = env.compute_reward(observation["achieved_goal"], observation["desired_goal"])
        assert_array_equal(reward, paid)
    assert_same(rows_of(result[:4], OTHERS), rows_of(expected[:4], OTHERS))
    env.set_state(env.get_state())  # what is left is a state like any other
    if mode == "Disabled":
        env.reset(options={"reset_mask": ~OTHERS})
    for action in actions[2:]:
        result, expected = env.step(action), control.step(action)
        assert not result[2].any() and not result[4]["diverged"].any()
        assert env.observation_space.contains(result[0])
        assert_same(rows_of(result[:4], OTHERS), rows_of(expected[:4], OTHERS))


@pytest.mark.parametrize("reward_mode", ["dense", "delta", "normalized", "finish"])
def test_ratings_of_a_task_that_divides_by_zero(reward_mode: str) -> None:
    """Guards learners against the arithmetic of tasks: a rating that is no number ends the episode and counts as 0."""
    env = make_vec(COUNT, reward_mode=reward_mode)
    env.reset(seed=0)
    score = env._stepper.score

    class Broken:
        def launch(self) -> None:
            score.launch()
            env.buffers["terms"].numpy()[BAD, 1] = np.inf
            env.buffers["performance"].numpy()[BAD] = np.nan

    env._stepper.score = Broken()
    _, reward, terminated, _, info = env.step(random_actions(env, 1)[0])
    assert_array_equal(terminated, ~OTHERS)
    assert_array_equal(info["diverged"], ~OTHERS)
    assert np.isfinite(reward).all()
    assert all(np.isfinite(info[f"reward_terms/{name}"]).all() for name in env.task.score.term_names)


def test_moving_collider() -> None:
    """Guards paddles: one that is nowhere ends its environment alone, and is back in the next episode."""
    env = gym.make_vec("PBDSoftLift-v0", 3, **SMALL_OF["PBDSoftLift-v0"])
    assert isinstance(env, TaskVectorEnv)
    env.reset(seed=0)
    env.state.poses.numpy()[1, 0, :] = np.nan
    actions = random_actions(env, 3)
    observation, _, terminated, _, info = env.step(actions[0])
    assert_array_equal(terminated, [False, True, False])
    assert_array_equal(info["diverged"], [False, True, False])
    assert env.observation_space.contains(observation)
    for action in actions[1:]:
        observation, _, terminated, *_ = env.step(action)
        assert not terminated.any() and env.observation_space.contains(observation)


@pytest.mark.parametrize("lanes", [1, 4])
def test_engine_marks_what_is_far(lanes: int) -> None:
    """Guards the solver: a particle at rest far out has no speed that would give it away; and how far that is."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_particles([[0.0, 1.0, 0.0]], 1.0)
    model = Model(scene, num_envs=2, lanes=lanes)
    group, lane = divmod(1, lanes)

    def mark(place: float, far: float | None) -> list[int]:
        solver = Solver(model, substeps=10, far=far)
        state = solver.state()
        state.positions_scalar.numpy()[group, 0, 2, lane] = place
        solver.step(state, solver.control(), 0.01)
        found: list[int] = state.diverged.numpy()[:2].tolist()
        return found

    assert Solver(model).far == 13.0  # 3 m, and ten times as far as the scene reaches
    for far in (None, 40.0, 1e6):
        limit = far or 13.0
        assert mark(0.95 * limit, far) == [0, 0]
        for beyond in (1.05 * limit, -1.05 * limit, 2e6, 1e30):
            assert mark(beyond, far) == [0, 1]
    scene.add_collider(Plane(offset=-2.0))
    scene.add_collider(Sphere((0.0, 0.0, 4.0), 0.5))
    assert Solver(Model(scene)).far == pytest.approx(48.0)
    with pytest.raises(ValueError, match="far"):
        Solver(model, far=0.0)


def test_fast_soft_body() -> None:
    """Guards the limit of the speed: 165 m/s is no motion of a ball that hands move by 1 m/s."""
    env = gym.make_vec("PBDSoftBody-v0", 2, action_mode="picker", **SMALL_OF["PBDSoftBody-v0"])
    assert isinstance(env, TaskVectorEnv)
    env.reset(seed=0)
    env.state.hold([[-1, -1]])
    env.state.set_velocities([[[0.0, 0.0, 0.0]], [[0.0, 165.0, 0.0]]])
    _, _, terminated, _, info = env.step(np.full((2, env.actions.size), -1.0, dtype=np.float32))
    assert_array_equal(terminated, [False, True])
    assert_array_equal(info["diverged"], [False, True])


@pytest.mark.parametrize("env_id", ["PBDSoftBody-v0", "PBDPendulum-v0", "PBDCloth-v0"])
def test_wild_actions_are_no_failure(env_id: str) -> None:
    """Guards the limit of the speed from the other side: what hands can do leaves half of it free."""
    env = gym.make_vec(env_id, 8, **SMALL_OF[env_id])
    assert isinstance(env, TaskVectorEnv)
    env.reset(seed=0)
    rng, fastest = np.random.default_rng(0), 0.0
    for _ in range(60):
        env.step(np.sign(rng.uniform(-1.0, 1.0, (8, env.actions.size))).astype(np.float32))
        fastest = max(fastest, float(np.linalg.norm(env.state.get_velocities(), axis=2).max()))
        assert not env.state.diverged.numpy().any()
    assert fastest < 0.5 * env.solver.max_speed


def test_limit_grows_with_what_is_declared() -> None:
    """Guards falls: where gravity may be four times as strong and the box as large again, things may be faster."""
    plain = make_vec(1)
    varied = make_vec(1, randomize={"gravity": (1.0, 4.0), "size": (1.0, 4.0)})
    hand = MARGIN * np.sqrt(3.0) * plain.actions.hands.max_step / plain.config.ctrl_dt
    assert np.isclose(varied.solver.max_speed - hand, 4.0 * (plain.solver.max_speed - hand))
