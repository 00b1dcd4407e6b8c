"""Graft the way to the corners onto an agent that has learnt with its hands there already.

python -m pbd_gym.training.imitation.grafting runs/corners/model.npz --out grafted.npz

PPO finds by chance what hands can do that start at two corners of a heap, but never from a home away from it. What it
has found, or a clone has learnt, need not be lost: for the first actions hands go to those corners, which the agent
sees, and then it acts as before. The result is a network like any other, whose weights are computed, not fitted;
:mod:`pbd_gym.training.imitation.refinement` may go on from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import tyro
from gymnasium.envs.registration import load_env_creator

from pbd_gym.envs.core.spaces.observations import SINCE
from pbd_gym.registry import find
from pbd_gym.runtime.checks import whole
from pbd_gym.training.agents.pointing import AXES, HAND
from pbd_gym.training.agents.policies import MLPPolicy, find_policy
from pbd_gym.training.episodes.evaluation import scored
from pbd_gym.training.imitation.refinement import written
from pbd_gym.training.symmetry.columns import shown_columns, shown_particles

SHARP = 20.0
"""Input of a tanh that is 1 as far as float32 can tell."""
SMALL = 0.25
"""Input of a tanh for a metre: the way is shown as straight as it need be."""
TIME_UNIT = 100.0
"""Actions that make up one in the column of elapsed time."""


@dataclass
class Args:
    """Graft the way to the corners onto an agent of hands_at corners, with two hidden layers and tanh."""

    policy: Annotated[str, tyro.conf.Positional]
    """an id with a bundled policy, or a file NAME.npz"""
    actions: int = 8
    """actions that the way takes at most; the agent acts from then on"""
    eval_episodes: int = 100
    """unseen episodes on which the result is evaluated"""
    out: Path | None = None
    """file to write, runs/grafted/ID.npz by default"""


def grafted(policy: MLPPolicy, batch: Any, actions: int, closes: Sequence[bool] = (True, True)) -> MLPPolicy:
    """Return an agent whose hands go to the corners for some actions, and which then acts as ``policy``.

    A unit of the first layer tells whether it is time. On the way it holds the units of ``policy`` at 1 in the second
    layer, and later those that lead there; what these constants add to an action the unit takes away again.

    An agent with a memory remembers where its hands grasped, and not that they were elsewhere before: they close with
    the last action of the way, which is the agent's own first one, and its clocks are put back.

    Args:
        policy: agent that sees keypoints or a memory, with two hidden layers of tanh.
        batch: environments of two hands in action mode ``"picker"`` that show ``"memory"``.
        actions: number of actions until it acts; odd for an agent with a memory, whose clocks tell every second one.
        closes: which hands an agent with a memory closes first.

    Raises:
        ValueError: for another agent or other environments, or corners that are not shown.
    """
    whole("actions", actions, 1)
    shown, columns = shown_particles(batch), shown_columns(batch)
    size, total = shown.size, batch.observations.size
    if total == size or batch.action_mode != "picker":
        raise ValueError("the way is grafted for hands of pickers that see a memory")
    plain = policy.pointing is None and policy.canonical is None and policy.activation == "tanh"
    if not plain or policy.mean.shape not in ((size,), (total,)) or len(policy.weights) != 3:
        raise ValueError(f"grafting takes an agent of {size} or {total} numbers, with two hidden layers of tanh")
    corners = [int(one) for one in batch.task.hands.particles]
    if not set(corners) <= columns.points.keys():
        raise ValueError("the corners at which hands began are not among the keypoints that an agent sees")
    remembers = policy.mean.shape == (total,)
    one, bias_one, mean, spread = _put_back(policy, size, actions - 1) if remembers else _widened(policy, total)
    (two, three), (bias_two, bias_three) = (
        [np.asarray(part, dtype=np.float64) for part in parts[1:]] for parts in (policy.weights, policy.biases)
    )
    ways, elapsed = AXES * len(corners), 2 * size + 1
    until = (actions, actions - 1) if remembers else (actions,)  # when the agent acts, and when hands close
    first, second = len(one), len(two)
    # The first layer: the agent's units, how far it is to the corners, and whether it is time.
    layer, bias = np.zeros((first + ways + len(until), total)), np.zeros(first + ways + len(until))
    layer[:first], bias[:first] = one, bias_one
    for k in range(ways):
        hand, axis = divmod(k, AXES)
        for column, sign in ((columns.points[corners[hand]] + axis, 1.0), (columns.hands[hand] + axis, -1.0)):
            layer[first + k, column] = sign * SMALL * spread[column]
            bias[first + k] += sign * SMALL * mean[column]
    for k, when in enumerate(until, first + ways):
        layer[k, elapsed] = -SHARP * TIME_UNIT * spread[elapsed]
        bias[k] = SHARP * (when - 0.5 - TIME_UNIT * mean[elapsed])
    # The second: either the one or the other are held at 1.
    time = first + ways
    between, shift = np.zeros((second + ways + len(until), time + len(until))), np.zeros(second + ways + len(until))
    between[:second, :first], shift[:second] = two, bias_two + SHARP
    between[:second, time] = SHARP
    between[second : second + ways, first:time], shift[second : second + ways] = np.eye(ways), SHARP
    between[second : second + ways, time] = -SHARP
    between[second + ways :, time:] = SHARP * np.eye(len(until))
    # The last: the moves of both, without what is held.
    last = np.zeros((len(three), second + ways + len(until)))
    last[:, :second] = three
    gain = 1.0 / (SMALL * batch.actions.hands.max_step)
    for k in range(ways):
        last[k // AXES * HAND + k % AXES, second + k] = gain
    grips = np.zeros(len(three))
    grips[AXES::HAND] = 1.0
    on = -three.sum(axis=1) - bias_three  # to be added on the way
    off = -last[:, second : second + ways].sum(axis=1)  # and later
    if remembers:
        closing = grips.copy()
        closing[AXES::HAND] = closes
        last[:, second + ways + 1] = -closing  # open, and closed once it is time
        off, grips = off - closing, grips - closing
    on -= grips
    last[:, second + ways] = 0.5 * (on - off)
    weights = tuple(np.asarray(part, dtype=np.float32) for part in (layer, between, last))
    biases = tuple(np.asarray(part, dtype=np.float32) for part in (bias, shift, bias_three + 0.5 * (on + off)))
    return replace(
        policy,
        env_kwargs={**{name: value for name, value in policy.env_kwargs.items() if name != "hands_at"},
                    "obs_mode": "memory"},
        weights=weights, biases=biases, mean=mean.astype(np.float32), spread=spread.astype(np.float32),
    )  # fmt: skip


def _widened(policy: MLPPolicy, total: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the first layer of an agent of keypoints, which ignores a memory, and its inputs' mean and spread.

    Args:
        policy: the agent.
        total: inputs of an agent with a memory.
    """
    size = len(policy.mean)
    layer, mean, spread = np.zeros((len(policy.weights[0]), total)), np.zeros(total), np.ones(total)
    layer[:, :size], mean[:size], spread[:size] = policy.weights[0], policy.mean, policy.spread
    return layer, policy.biases[0], mean, spread


def _put_back(policy: MLPPolicy, size: int, late: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the first layer of an agent with a memory that begins late, and its inputs' mean and spread.

    Args:
        policy: the agent.
        size: keypoints that it sees, each of them twice.
        late: number of actions before it begins.

    Raises:
        ValueError: for an odd number.
    """
    if late % 2:
        raise ValueError(f"an agent with a memory begins after an odd number of actions, got {late + 1}")
    layer, mean, spread = (np.array(part, dtype=np.float64) for part in (policy.weights[0], policy.mean, policy.spread))
    mean[2 * size + 1] += late / TIME_UNIT
    clock, marks = 2 * size + 2 + SINCE, late // 2
    dropped = slice(len(mean) - marks, None)  # marks that no episode reaches any more: they stay 0
    bias = policy.biases[0] + layer[:, dropped] @ np.clip(-mean / spread, -policy.limit, policy.limit)[dropped]
    for part, empty in ((layer, 0.0), (mean, 0.0), (spread, 1.0)):
        part[..., clock + marks :] = part[..., clock : part.shape[-1] - marks].copy()
        part[..., clock : clock + marks] = empty
    return layer, bias, mean, spread


def main(args: Args) -> MLPPolicy:
    """Graft, evaluate on unseen training starts, and write the agent."""
    policy = find_policy(args.policy)
    batch: Any = gym.make_vec(policy.env_id, 1, obs_mode="memory", **_small(policy.env_id)).unwrapped
    found = grafted(policy, batch, args.actions, first_grips(policy))
    batch.close()
    return written(scored(found, args.eval_episodes, split="train"), args.out, "grafted")


def first_grips(policy: MLPPolicy) -> list[bool]:
    """Return which hands an agent closes in its first action from the corners."""
    kwargs = {**policy.env_kwargs, **_small(policy.env_id), "hands_at": "corners"}
    env: Any = gym.make_vec(policy.env_id, 1, **kwargs).unwrapped
    action = policy(env.reset(seed=0)[0])[0]
    env.close()
    return [bool(grip > 0.0) for grip in action[AXES::HAND]]


def _small(env_id: str) -> dict[str, Any]:
    """Return arguments that make a batch in no time: a bank of a few states, of the same task."""
    batch: Any = load_env_creator(find(env_id).vector)
    fields = getattr(batch.config_type, "__dataclass_fields__", {})
    return {"starts": 5} if "starts" in fields else {}


if __name__ == "__main__":
    main(tyro.cli(Args))
