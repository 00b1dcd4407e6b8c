"""A teacher made of two: the policy begins, the expert goes on where it has come to rest."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.envs.core.corrections import Corrections
from pbd_gym.envs.core.experts import expert_of
from pbd_gym.training.imitation import Args, clone
from pbd_gym.training.policies import MLPPolicy
from pbd_gym.training.relays import QUIET, Relay

ID = "PBDClothFlatten-v0"
TOWEL: dict[str, Any] = {"starts": 10, "resolution": 7}
STAY = np.tile(np.float32((0.0, 0.0, 0.0, -1.0)), 2)


@pytest.fixture
def batch() -> Any:
    env = gym.make_vec(ID, 3, obs_mode="memory", max_episode_steps=12, **TOWEL)
    env.reset(seed=0)
    yield env
    env.close()


def always(action: np.ndarray, size: int = 62) -> MLPPolicy:
    """Return a policy that does the same whatever it sees."""
    zeros = np.zeros((8, size), dtype=np.float32)
    return MLPPolicy(ID, {}, (zeros,), (action,), zeros[0], zeros[0] + 1.0)


def test_the_expert_goes_on_where_the_policy_rests(batch: Any) -> None:
    relay = Relay(batch, always(STAY), Corrections(expert_of(batch)))
    for step in range(12):
        actions = relay()
        stays = (actions == STAY).all(axis=1)
        assert relay.over.all() == (step >= QUIET - 1)
        assert stays.all() if step < QUIET - 1 else not stays.all()
        batch.step(actions)
    batch.step(relay())  # the next episode begins
    relay()
    assert not relay.over.any()


def test_a_policy_that_does_something_is_left_alone(batch: Any) -> None:
    moves = np.tile(np.float32((0.5, 0.1, 0.0, -1.0)), 2)
    relay = Relay(batch, always(moves), Corrections(expert_of(batch)))
    for _ in range(8):
        actions = relay()
        np.testing.assert_array_equal(actions, np.tile(moves, (3, 1)))
        batch.step(actions)


def test_what_is_at_its_goal_is_left_alone(batch: Any) -> None:
    relay = Relay(batch, always(STAY), Corrections(expert_of(batch)))
    for _ in range(5):
        batch.step(relay())
    batch.buffers["at_goal"].fill_(1)
    batch.state.held.fill_(-1)
    np.testing.assert_array_equal(relay(), np.tile(STAY, (3, 1)))


def test_a_policy_that_sees_something_else_is_refused(batch: Any) -> None:
    with pytest.raises(ValueError, match="sees what the agent sees first"):
        Relay(batch, always(STAY, 300), Corrections(expert_of(batch)))


def test_a_clone_of_both_sees_what_hands_are_near_to() -> None:
    """The whole way, on a towel of few particles."""
    args = Args(
        env_id=ID, demonstrations=4, abreast=4, epochs=2, noise=(0.05,), opening=ID, reach=True, hidden=(16,),
        env_kwargs={name: str(value) for name, value in TOWEL.items()}, steady=True,
    )  # fmt: skip
    args.refinement.starts = 10
    policy = clone(args)
    assert policy.canonical is not None and len(policy.mean) == policy.canonical.size == 238 + 2 * 9 * 3
