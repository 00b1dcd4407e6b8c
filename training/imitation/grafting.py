"""Graft the way to the corners onto an agent that has learnt with its hands there already.

python -m pbd_gym.training.imitation.grafting runs/corners/model.npz --out grafted.npz

PPO finds by chance what hands can do that start at two corners of a heap, but never from a home away from it. What it
has found need not be lost: for the first actions hands go to those corners, which the agent sees, and then it acts as
before. The result is a network like any other, whose weights are computed, not fitted;
:mod:`pbd_gym.training.imitation.refinement` may go on from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import tyro
from gymnasium.envs.registration import load_env_creator

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


def grafted(policy: MLPPolicy, batch: Any, actions: int) -> MLPPolicy:
    """Return an agent whose hands go to the corners for some actions, and which then acts as ``policy``.

    A unit of the first layer tells whether it is time. On the way it holds the units of ``policy`` at 1 in the second
    layer, and later those that lead there; what these constants add to an action the unit takes away again.

    Args:
        policy: agent that sees keypoints, with two hidden layers of tanh.
        batch: environments of two hands in action mode ``"picker"`` that show ``"memory"``.
        actions: number of actions until it acts.

    Raises:
        ValueError: for another agent or other environments, or corners that are not shown.
    """
    whole("actions", actions, 1)
    shown, columns = shown_particles(batch), shown_columns(batch)
    size, total = shown.size, batch.observations.size
    if total == size or batch.action_mode != "picker":
        raise ValueError("the way is grafted for hands of pickers that see a memory")
    plain = policy.pointing is None and policy.canonical is None and policy.activation == "tanh"
    if not plain or policy.mean.shape != (size,) or len(policy.weights) != 3:
        raise ValueError(f"grafting takes an agent of PPO that sees {size} numbers, with two hidden layers of tanh")
    corners = [int(one) for one in batch.task.hands.particles]
    if not set(corners) <= columns.points.keys():
        raise ValueError("the corners at which hands began are not among the keypoints that an agent sees")
    mean, spread = np.zeros(total), np.ones(total)
    mean[:size], spread[:size] = policy.mean, policy.spread
    (one, two, three), (bias_one, bias_two, bias_three) = (
        [np.asarray(part, dtype=np.float64) for part in parts] for parts in (policy.weights, policy.biases)
    )
    ways = AXES * len(corners)
    first, second = len(one), len(two)
    # The first layer: the agent's units, how far it is to the corners, and whether it is time to go there.
    layer, bias = np.zeros((first + ways + 1, total)), np.zeros(first + ways + 1)
    layer[:first, :size], bias[:first] = one, bias_one
    for k in range(ways):
        hand, axis = divmod(k, AXES)
        for column, sign in ((columns.points[corners[hand]] + axis, 1.0), (columns.hands[hand] + axis, -1.0)):
            layer[first + k, column] = sign * SMALL * spread[column]
            bias[first + k] += sign * SMALL * mean[column]
    layer[-1, 2 * size + 1], bias[-1] = -SHARP * TIME_UNIT, SHARP * (actions - 0.5)
    # The second: either the one or the other are held at 1.
    between, shift = np.zeros((second + ways + 1, first + ways + 1)), np.zeros(second + ways + 1)
    between[:second, :first], shift[:second] = two, bias_two + SHARP
    between[:second, -1] = SHARP
    between[second:-1, first:-1], shift[second:-1] = np.eye(ways), SHARP
    between[second:-1, -1] = -SHARP
    between[-1, -1] = SHARP
    # The last: the moves of both, without what is held.
    last = np.zeros((len(three), second + ways + 1))
    last[:, :second] = three
    gain = 1.0 / (SMALL * batch.actions.hands.max_step)
    for k in range(ways):
        last[k // AXES * HAND + k % AXES, second + k] = gain
    open_hands = np.zeros(len(three))
    open_hands[AXES::HAND] = -1.0
    on = open_hands - three.sum(axis=1) - bias_three  # to be added on the way
    off = -last[:, second:-1].sum(axis=1)  # and later
    last[:, -1] = 0.5 * (on - off)
    weights = tuple(np.asarray(part, dtype=np.float32) for part in (layer, between, last))
    biases = tuple(np.asarray(part, dtype=np.float32) for part in (bias, shift, bias_three + 0.5 * (on + off)))
    return replace(
        policy,
        env_kwargs={**{name: value for name, value in policy.env_kwargs.items() if name != "hands_at"},
                    "obs_mode": "memory"},
        weights=weights, biases=biases, mean=mean.astype(np.float32), spread=spread.astype(np.float32),
    )  # fmt: skip


def main(args: Args) -> MLPPolicy:
    """Graft, evaluate on unseen training starts, and write the agent."""
    policy = find_policy(args.policy)
    batch: Any = gym.make_vec(policy.env_id, 1, obs_mode="memory", **_small(policy.env_id)).unwrapped
    found = grafted(policy, batch, args.actions)
    batch.close()
    return written(scored(found, args.eval_episodes, split="train"), args.out, "grafted")


def _small(env_id: str) -> dict[str, Any]:
    """Return arguments that make a batch in no time: a bank of a few states, of the same task."""
    batch: Any = load_env_creator(find(env_id).vector)
    fields = getattr(batch.config_type, "__dataclass_fields__", {})
    return {"starts": 5} if "starts" in fields else {}


if __name__ == "__main__":
    main(tyro.cli(Args))
