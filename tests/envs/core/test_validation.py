"""Bad input raises one error that names what is wrong, before anything has changed."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.envs.cloth.carry import ClothEnv, ClothVectorEnv
from pbd_gym.sim.substeps import needed_substeps
from tests.envs.helpers import ID, SMALL, assert_same, make_vec, random_actions, roll

GOOD = np.zeros((3, 6), dtype=np.float32)


def spoiled(value: float) -> np.ndarray:
    actions = GOOD.copy()
    actions[1, 4] = value
    return actions


BAD_ACTIONS = {
    "one environment too many": (np.zeros((4, 6), dtype=np.float32), ValueError, r"\(3, 6\).*\(4, 6\)"),
    "one number too few": (GOOD[:, :5], ValueError, r"\(3, 6\).*\(3, 5\)"),
    "no batch": (GOOD[0], ValueError, r"\(3, 6\).*\(6,\)"),
    "would broadcast": (GOOD[:1], ValueError, r"\(3, 6\).*\(1, 6\)"),
    "integers": (GOOD.astype(np.int64), TypeError, "floating.*int64"),
    "booleans": (GOOD.astype(bool), TypeError, "floating.*bool"),
    "complex": (GOOD.astype(np.complex64), TypeError, "floating.*complex64"),
    "objects": (GOOD.astype(object), TypeError, "floating.*object"),
    "None": (None, TypeError, "floating"),
    "text": ("left", TypeError, "floating"),
    "NaN": (spoiled(np.nan), ValueError, "finite; row 1"),
    "infinity": (spoiled(-np.inf), ValueError, "finite; row 1"),
}


@pytest.mark.parametrize("name", BAD_ACTIONS)
def test_bad_actions(name: str) -> None:
    """Guards the step: what is refused leaves the environments as they were, bit for bit."""
    actions, error, message = BAD_ACTIONS[name]
    env = make_vec(3)
    env.reset(seed=0)
    roll(env, random_actions(env, 2))
    before = env.get_state()
    with pytest.raises(error, match=message):
        env.step(actions)
    assert_same(env.get_state(), before)
    expected = env.step(GOOD)
    env.set_state(before)
    assert_same(env.step(GOOD), expected)


@pytest.mark.parametrize(
    ("action", "error"),
    [
        (np.zeros(5, dtype=np.float32), ValueError),
        (np.zeros((1, 6), dtype=np.float32), ValueError),
        (np.zeros(6, dtype=np.int32), TypeError),
        (np.full(6, np.nan, dtype=np.float32), ValueError),
    ],
)
def test_bad_single_actions(action: np.ndarray, error: type[Exception]) -> None:
    """Guards the same behind gym.Env."""
    env = ClothEnv(**SMALL)
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(error):
        env.step(action)
    assert_same(env.get_state(), before)


def test_whole_numbers_in_a_list() -> None:
    """Guards what people type: step([0] * 6)."""
    env = ClothEnv(**SMALL)
    env.reset(seed=0)
    expected = env.step(np.zeros(6, dtype=np.float32))
    env.reset(seed=0)
    assert_same(env.step([0] * 6), expected)


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
def test_unknown_argument(make: Any) -> None:
    """Guards Python's own words, by which TorchRL finds out what an environment takes."""
    with pytest.raises(
        TypeError, match=r"__init__\(\) got an unexpected keyword argument 'frameskip'; ClothConfig has"
    ):
        make(ID, frameskip=1)
    with pytest.raises(TypeError, match=r"got an unexpected keyword argument 'colums'; did you mean 'columns'\?"):
        make(ID, colums=5)


@pytest.mark.parametrize("actions", [GOOD.tolist(), GOOD.astype(np.float64), GOOD.astype(np.float16), GOOD[:, ::-1]])
def test_good_actions(actions: Any) -> None:
    """Guards what must go on working: lists, other floating types, and arrays that are not contiguous."""
    env = make_vec(3)
    env.reset(seed=0)
    expected = env.step(GOOD)
    env.reset(seed=0)
    assert_same(env.step(actions), expected)


@pytest.mark.parametrize("size", [2.0, 1e30, -1e30, 1e300, -1e300])
def test_huge_actions_are_clipped(size: float) -> None:
    """Guards the conversion to float32, in which a finite action may become infinite, or a warning."""
    env = make_vec(3)
    env.reset(seed=0)
    expected = env.step(np.full((3, 6), np.sign(size)))
    env.reset(seed=0)
    result = env.step(np.full((3, 6), size))
    assert_same(result, expected)


BAD_RESETS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown option": ({"options": {"low": 0.1}}, "unknown reset options.*low.*reset_mask"),
    "mask is a list": ({"options": {"reset_mask": [True, False, True]}}, "bool array of shape"),
    "mask of integers": ({"options": {"reset_mask": np.array([1, 0, 1])}}, "bool array of shape"),
    "mask too short": ({"options": {"reset_mask": np.array([True, False])}}, "bool array of shape"),
    "mask of two axes": ({"options": {"reset_mask": np.ones((3, 1), dtype=bool)}}, "bool array of shape"),
    "mask chooses nothing": ({"options": {"reset_mask": np.zeros(3, dtype=bool)}}, "chooses no environment"),
    "negative seed": ({"seed": -1}, "not be negative.*-1"),
    "negative seed in a list": ({"seed": [1, -2, 3]}, "not be negative.*-2"),
    "too few seeds": ({"seed": [1, 2]}, "3 entries"),
}


@pytest.mark.parametrize("name", BAD_RESETS)
def test_bad_resets(name: str) -> None:
    """Guards reset: what is refused leaves the environments, and their random streams, as they were."""
    arguments, message = BAD_RESETS[name]
    env = make_vec(3)
    env.reset(seed=0)
    roll(env, random_actions(env, 2))
    before = env.get_state()
    with pytest.raises(ValueError, match=message):
        env.reset(**arguments)
    assert_same(env.get_state(), before)


def test_bad_first_reset() -> None:
    """Guards that an environment is not taken for one that was reset after a reset has failed."""
    env = make_vec(3)
    with pytest.raises(ValueError):
        env.reset(seed=-1)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(GOOD)


def test_first_reset_of_some() -> None:
    """Guards that environments which never began are not stepped: they have no goals and hang unsettled."""
    env = make_vec(3)
    with pytest.raises((ValueError, gym.error.ResetNeeded)):
        env.reset(seed=0, options={"reset_mask": np.array([True, False, False])})
        env.step(GOOD)


def test_step_before_reset() -> None:
    """Guards the order of calls, with and without Gymnasium's own wrapper."""
    for env in (make_vec(3), ClothEnv(**SMALL), gym.make(ID, **SMALL)):
        with pytest.raises(gym.error.ResetNeeded):
            env.step(np.zeros(env.action_space.shape or (), dtype=np.float32))


def test_empty_options() -> None:
    """Guards that no options, an empty dict, and a mask of None or of everything mean the same."""
    env = make_vec(3)
    expected = env.reset(seed=0)
    for options in ({}, {"reset_mask": None}, {"reset_mask": np.ones(3, dtype=bool)}):
        assert_same(env.reset(seed=0, options=options), expected)


BAD_ARGUMENTS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "render_mode": ({"render_mode": "depth"}, ValueError, "render_mode.*rgb_array.*'depth'"),
    "output": ({"output": "jax"}, ValueError, "output.*torch.*'jax'"),
    "reward_mode": ({"reward_mode": "shaped"}, ValueError, "reward_mode.*dense.*'shaped'"),
    "reward that no goal tells": ({"obs_mode": "goal", "reward_mode": "delta"}, ValueError, "'sparse', got 'delta'"),
    "obs_mode": ({"obs_mode": "keypoint"}, ValueError, "obs_mode.*keypoints.*'keypoint'"),
    "action_mode": ({"action_mode": "grab"}, ValueError, "action_mode.*picker.*'grab'"),
    "autoreset_mode": ({"autoreset_mode": "Never"}, ValueError, "Never"),
    "device": ({"device": "cuda:99"}, ValueError, "cuda:99"),
    "max_episode_steps": ({"max_episode_steps": 0}, ValueError, "max_episode_steps.*0"),
    "misspelt field": ({"row": 5}, TypeError, "'row'; did you mean 'rows'"),
    "misspelt weight": ({"efort_weight": 5}, TypeError, "did you mean 'effort_weight'"),
    "unknown field": ({"zzz": 5}, TypeError, "'zzz'; ClothConfig has .*rows, columns"),
    "one row": ({"rows": 1}, ValueError, "2 x 2"),
    "no columns": ({"columns": 0}, ValueError, "2 x 2"),
    "no size": ({"side": 0.0}, ValueError, "side"),
    "endless size": ({"side": float("inf")}, ValueError, "side"),
    "no time": ({"ctrl_dt": 0.0}, ValueError, "ctrl_dt"),
    "backward time": ({"ctrl_dt": -0.1}, ValueError, "ctrl_dt"),
    "backward settling": ({"settle_time": -1.0}, ValueError, "settle_time"),
    "no goal": ({"goal_radius": 0.0}, ValueError, "goal_radius"),
    "no steps at the goal": ({"goal_steps": 0}, ValueError, "goal_steps"),
    "negative reach": ({"reach": -1.0}, ValueError, "reach"),
    "hands that move by NaN": ({"max_step": float("nan")}, ValueError, "max_step"),
    "hands that move backwards": ({"max_step": -1.0}, ValueError, "max_step"),
    "negative compliance": ({"stretch_compliance": -1.0}, ValueError, "compliance"),
    "no mass": ({"density": 0.0}, ValueError, "density"),
    "negative damping": ({"damping": -1.0}, ValueError, "damping"),
    "no substeps": ({"substeps": 0}, ValueError, "substeps"),
    "no environments": ({"num_envs": 0}, ValueError, "num_envs.*0"),
    "fewer than none": ({"num_envs": -3}, ValueError, "num_envs.*-3"),
    "too many environments": ({"num_envs": 10**9}, MemoryError, "GiB"),
    "environments beyond 32 bits": ({"num_envs": 2**32 + 3}, ValueError, "num_envs"),
}
UNCHECKED: dict[str, tuple[dict[str, Any], Any, str]] = {
    "endless settling": ({"settle_time": float("inf")}, ValueError, "settle_time"),
    "reach of NaN": ({"reach": float("nan")}, ValueError, "reach"),
    "NaN in the turn of goals": ({"goal_turn": float("nan")}, ValueError, "goal_turn"),
    "NaN in the shift of goals": ({"goal_shift": (0.1, float("nan"), 0.1)}, ValueError, "goal_shift"),
    "NaN in a weight": ({"near_weight": float("nan")}, ValueError, "near_weight"),
    "no threads": ({"threads": 0}, ValueError, "threads"),
    "half a step": ({"max_episode_steps": 2.5}, (TypeError, ValueError), "max_episode_steps"),
    "half a substep": ({"substeps": 2.5}, (TypeError, ValueError), "substeps"),
    "unknown method": ({"method": "newton"}, ValueError, "method must be"),
    "no iterations": ({"iterations": 0}, ValueError, "iterations"),
    "too much acceleration": ({"chebyshev": 1.0}, ValueError, "chebyshev"),
    "relaxation of another method": ({"relaxation": 0.5}, ValueError, "jacobi"),
    "half an environment": ({"num_envs": 2.5}, (TypeError, ValueError), "num_envs"),
}


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_bad_arguments(name: str) -> None:
    """Guards what a user may give to gym.make_vec."""
    arguments, error, message = BAD_ARGUMENTS[name]
    with pytest.raises(error, match=message):
        ClothVectorEnv(**{**SMALL, **arguments})


@pytest.mark.parametrize("name", UNCHECKED)
def test_unchecked_arguments(name: str) -> None:
    """Guards the promise of a ValueError for a number out of range, at once and by name."""
    arguments, error, message = UNCHECKED[name]
    with pytest.raises(error, match=message):
        ClothVectorEnv(**{**SMALL, **arguments})


@pytest.mark.parametrize("num_envs", [0, -1])
def test_bad_count_through_gymnasium(num_envs: int) -> None:
    """Guards the way through the registry."""
    with pytest.raises(ValueError, match="num_envs"):
        gym.make_vec(ID, num_envs, **SMALL)


@pytest.mark.parametrize("name", ["misspelt field", "obs_mode", "render_mode"])
@pytest.mark.filterwarnings("ignore:.*The environment is being initialised with render_mode")  # Gymnasium's own advice
def test_bad_arguments_of_single(name: str) -> None:
    """Guards gym.make."""
    arguments, error, message = BAD_ARGUMENTS[name]
    with pytest.raises(error, match=message):
        gym.make(ID, **{**SMALL, **arguments})


def test_caller_keeps_arrays() -> None:
    """Guards the caller's arrays: actions and seeds are read only, clipped ones included."""
    env = make_vec(3)
    seeds = [1, 2, 3]
    env.reset(seed=seeds)  # type: ignore[arg-type]
    assert seeds == [1, 2, 3]
    actions = np.full((3, 6), 7.0, dtype=np.float32)
    actions.flags.writeable = False
    env.step(actions)
    assert_array_equal(actions, 7.0)


def test_a_single_environment_has_no_autoreset() -> None:
    with pytest.raises(ValueError, match="make_vec takes autoreset_mode"):
        gym.make(ID, autoreset_mode="Disabled", **SMALL)


def test_bodies_choose_their_substeps() -> None:
    """Without a number a finer cloth takes more: with the resolution, for its strain grows with the square of both."""
    counts = []
    for rows in (16, 31):
        env: Any = gym.make_vec("PBDCloth-v0", 1, substeps=None, rows=rows, columns=rows, settle_time=0.0)
        counts.append(env.unwrapped.solver.substeps)
        assert counts[-1] == needed_substeps(env.unwrapped.scene, 1 / 30, softening=0.1, forces=False)
        env.close()
    assert counts == [14, 17]
    with pytest.raises(ValueError, match="substeps"):
        gym.make_vec("PBDClothFold-v0", 1, substeps=0)
