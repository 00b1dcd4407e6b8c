"""output="torch": the same numbers as in NumPy, as tensors that belong to the caller."""

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.error import ResetNeeded
from numpy.testing import assert_array_equal

from pbd_gym.envs.cloth.carry import ClothEnv
from tests.envs.helpers import AUTORESET, SMALL, assert_same, make_vec, random_actions

LIMIT = 5


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def to_numpy(value: Any) -> Any:
    """Return a nested result with arrays for tensors; fail where there is anything else."""
    if isinstance(value, dict):
        return {key: to_numpy(entry) for key, entry in value.items()}
    if isinstance(value, tuple):
        return tuple(to_numpy(entry) for entry in value)
    assert isinstance(value, torch.Tensor), type(value)
    return value.numpy()


@pytest.mark.parametrize("mode", AUTORESET)
@pytest.mark.parametrize("obs_mode", ["keypoints", "goal"])
def test_same_values(mode: str, obs_mode: str) -> None:
    """Guards every number and mask over the end of episodes; final_obs is the whole batch before the reset."""
    kwargs: dict[str, Any] = {"autoreset_mode": mode, "obs_mode": obs_mode, "max_episode_steps": LIMIT}
    ours, plain = make_vec(4, output="torch", **kwargs), make_vec(4, **kwargs)
    assert_same(to_numpy(ours.reset(seed=0)), plain.reset(seed=0))
    ends = 0
    for step, action in enumerate(random_actions(plain, 3 * LIMIT)):
        if step == 2:  # these two fall behind
            for env in (ours, plain):
                env.buffers["elapsed"].numpy()[[0, 2]] = 0
        result, expected = to_numpy(ours.step(torch.from_numpy(action))), plain.step(action)
        if "final_obs" in expected[4]:
            rows = expected[4].pop("final_obs")
            tensors = result[4].pop("final_obs")
            for row in np.flatnonzero(expected[4]["_final_obs"]):
                found = {k: v[row] for k, v in tensors.items()} if obs_mode == "goal" else tensors[row]
                assert_same(found, rows[row])
                ends += 1
        assert_same(result, expected)
        over = expected[2] | expected[3]
        if mode == "Disabled" and over.any():
            options = {"reset_mask": over}
            assert_same(to_numpy(ours.reset(options=options)), plain.reset(options=options))
    assert (ends > 8) == (mode == "SameStep")


@pytest.mark.parametrize("mode", AUTORESET[:2])
def test_without_waiting(mode: str) -> None:
    """Guards the way that CUDA takes: nothing is looked at on the host, and every number is the same."""
    kwargs: dict[str, Any] = {"autoreset_mode": mode, "max_episode_steps": LIMIT, "output": "torch", "threads": 1}
    ours, plain = make_vec(4, **kwargs), make_vec(4, **kwargs)
    ours.outputs.go_on()
    first, second = ours.reset(seed=0), plain.reset(seed=0)
    assert_same(to_numpy(first[0]), to_numpy(second[0]))
    for step, action in enumerate(random_actions(plain, 3 * LIMIT)):
        if step == 2:
            for env in (ours, plain):
                env.buffers["elapsed"].numpy()[[0, 2]] = 0
        result, expected = (to_numpy(env.step(torch.from_numpy(action))) for env in (ours, plain))
        assert_same(result[:4], expected[:4])
        for key, value in expected[4].items():
            assert_same(result[4][key], value, key)
        for key in result[4].keys() - expected[4].keys():  # what has nothing to say says so
            if key.startswith("_"):
                assert not result[4][key].any()


@pytest.mark.parametrize("waits", [True, False])
def test_transitions_are_steps_without_infos(waits: bool) -> None:
    """Guards every number over the end of episodes, and that nothing is copied."""
    kwargs: dict[str, Any] = {"autoreset_mode": "SameStep", "max_episode_steps": LIMIT, "output": "torch", "threads": 1}
    ours, plain = make_vec(4, **kwargs), make_vec(4, **kwargs)
    with pytest.raises(ResetNeeded, match="before transition"):
        ours.transition(torch.zeros(4, 6))
    if not waits:
        ours.outputs.go_on()
    for env in (ours, plain):
        env.reset(seed=0)
        env.buffers["elapsed"].numpy()[[0, 2]] = 2
    ends = 0
    for action in map(torch.from_numpy, random_actions(plain, 2 * LIMIT)):
        found, (observation, reward, terminated, truncated, info) = ours.transition(action), plain.step(action)
        for mine, expected in zip(found, (observation, reward, terminated, truncated), strict=False):
            assert torch.equal(mine, expected) and mine.dtype == expected.dtype
        over = terminated | truncated
        ends += int(over.sum())
        assert (found.last is None) == (waits and not over.any())
        if over.any():
            assert torch.equal(found.last[over], info["final_obs"][over])
    assert ends == 8
    assert found.observation.data_ptr() == ours.buffers.tensor("observation").data_ptr()


@pytest.mark.parametrize("kwargs", [{}, {"output": "torch", "obs_mode": "goal"}])
def test_transitions_are_for_tensors(kwargs: dict[str, Any]) -> None:
    env = make_vec(2, **kwargs)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="transition is for output='torch'"):
        env.transition(torch.zeros(2, 6))


def test_types() -> None:
    """Guards dtypes and devices."""
    env = make_vec(3, output="torch")
    observation, info = env.reset(seed=0)
    assert observation.dtype == torch.float32 and observation.shape == (3, 30) and observation.device.type == "cpu"
    assert info["performance"].dtype == torch.float32 and info["_performance"].dtype == torch.bool
    observation, reward, terminated, truncated, info = env.step(torch.zeros(3, 6))
    assert observation.dtype == torch.float32
    assert reward.dtype == torch.float32 and reward.shape == (3,)
    assert terminated.dtype == truncated.dtype == torch.bool
    assert info["is_success"].dtype == info["diverged"].dtype == torch.bool
    assert info["reward_terms/rest"].dtype == torch.float32


def test_single_has_no_tensors() -> None:
    """Guards gym.make, which would warn at every reset: refuse tensors, or say in the metadata that they come."""
    try:
        env = ClothEnv(output="torch", **SMALL)
    except ValueError:
        return
    assert env.metadata.get("torch") or isinstance(env.reset(seed=0)[0], np.ndarray)


def test_tensors_are_fresh() -> None:
    """Guards against tensors that share memory with the buffers of the next step."""
    env = make_vec(2, output="torch")
    first = env.reset(seed=0)[0]
    second, reward, *_, info = env.step(torch.ones(2, 6))
    tensors = [first, second, reward, info["performance"], info["reward_terms/effort"]]
    kept = [tensor.clone() for tensor in tensors]
    for _ in range(3):
        env.step(-torch.ones(2, 6))
    for now, then in zip(tensors, kept, strict=True):
        assert torch.equal(now, then)
    first.fill_(7.0)  # nor may the caller's changes come back
    assert (env.reset(seed=0)[0] != 7.0).all()


def test_torch_actions() -> None:
    """Guards tensors as actions: with gradients, in double precision, not contiguous, and for NumPy output as well."""
    env = make_vec(3)
    action = random_actions(env, 1)[0]
    env.reset(seed=0)
    expected = env.step(action)
    for tensor in (
        torch.from_numpy(action),
        torch.from_numpy(action).double(),
        torch.from_numpy(action).requires_grad_(),
        torch.from_numpy(np.ascontiguousarray(action.T)).T,
    ):
        env.reset(seed=0)
        assert_same(env.step(tensor), expected)
    with pytest.raises(TypeError, match="floating"):
        env.step(torch.zeros(3, 6, dtype=torch.int64))
    with pytest.raises(ValueError, match="shape"):
        env.step(torch.zeros(6))
    with pytest.raises(ValueError, match="finite"):
        env.step(torch.full((3, 6), float("nan")))
    assert_array_equal(action, random_actions(env, 1)[0])
