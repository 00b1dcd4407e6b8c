"""Scripted experts: hands that follow waypoints, and what scripts need to look at and to act with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.envs.core.parts.sizing import grown
from pbd_gym.envs.core.spaces.paddles import slots_of
from pbd_gym.envs.core.task import Batch, Expert


@dataclass(frozen=True)
class Waypoint:
    """Where the hands of one environment go next, in a straight line."""

    positions: np.ndarray
    """[m], shape (hands, 3)."""
    closed: tuple[bool, ...]
    """Whether each hand holds on during the way; one that opens or closes does so before it moves."""
    speed: float = 1.0
    """Share of the largest step per action."""
    wait: int = 0
    """Actions to stay at the end of the way; with ``action_mode="pick_place"`` the hands wait there anyway."""


Plan = Callable[[int], Iterable[Waypoint]]
"""From an environment to the waypoints of its hands; none where there is nothing left to do."""


Transfer = Callable[[int], tuple[np.ndarray, np.ndarray] | None]
"""From an environment to where to pick and where to place [m], shape (3,) each; None where nothing is left to do."""


class Script:
    """An expert that follows waypoints, planned for each environment from its state.

    Args:
        batch: environments in action mode ``"picker"``, ``"pick_place"`` or, with ``transfer``, ``"pick_then_place"``.
        plan: called for an environment that begins an episode, or has reached all of its waypoints; without waypoints
            the hands stay where they are, open. So they do at the goal, if a way would take longer than the episode.
        transfer: says what one action of mode ``"pick_then_place"`` does.
    """

    def __init__(self, batch: Batch, plan: Plan, transfer: Transfer | None = None) -> None:
        self.batch, self.plan, self.transfer = batch, plan, transfer
        self.steps: list[list[np.ndarray]] = [[] for _ in range(batch.num_envs)]
        """What is left of the plan of each environment: hands after each action, shape (hands, 4)."""

    def __call__(self) -> np.ndarray:
        """Return the next action of every environment, shape (num_envs, size), float32."""
        with self.batch.buffers.still():
            return self._actions()

    def _actions(self) -> np.ndarray:
        batch = self.batch
        if batch.action_mode == "pick_then_place" and self.transfer is not None:
            return transfer_actions(batch, [self.transfer(env) for env in range(batch.num_envs)])
        hands = grip_positions(batch).astype(np.float64)
        found = np.zeros((batch.num_envs, batch.actions.grip_count, 4), dtype=np.float32)
        found[..., 3] = -1.0
        for env, begins in enumerate(batch.buffers.peek("elapsed") == 0):
            if begins:
                self.steps[env].clear()
            if not self.steps[env]:
                self._expand(env, hands[env])
                late = len(self.steps[env]) > actions_left(batch, env)
                if late and batch.buffers.peek("at_goal")[env] != 0:  # it would be under way when the episode ends
                    self.steps[env].clear()
            if self.steps[env]:
                found[env] = self.steps[env].pop(0)
                if batch.action_mode == "picker":  # a displacement, towards where the hand should be by now
                    found[env, :, :3] = (found[env, :, :3] - hands[env]) / batch.actions.hands.max_step
            elif batch.action_mode == "pick_place":
                found[env, :, :3] = box_share(batch, env, hands[env])
        return np.clip(found, -1.0, 1.0).reshape(batch.num_envs, -1)

    def _expand(self, env: int, hands: np.ndarray) -> None:
        """Turn the waypoints of a plan into the positions of the hands after each action."""
        batch, max_step = self.batch, self.batch.actions.hands.max_step
        for waypoint in self.plan(env):
            closed = np.where(waypoint.closed, 1.0, -1.0)[:, None]
            if batch.action_mode == "pick_place":
                self.steps[env].append(np.hstack([box_share(batch, env, waypoint.positions), closed]))
                continue
            goal = within_box(batch, env, waypoint.positions)
            way = goal - hands
            count = max(math.ceil(float(np.abs(way).max()) / (waypoint.speed * max_step) - 1e-6), 1)
            shares = [*(np.arange(count) + 1.0) / count, *[1.0] * waypoint.wait]
            self.steps[env].extend(np.hstack([hands + share * way, closed]) for share in shares)
            hands = goal


def expert_of(batch: Any, env_id: str = "") -> Expert:
    """Return the scripted expert of a task.

    Args:
        batch: environments of the task.
        env_id: what the message calls them; by default their own id.

    Raises:
        ValueError: for a task without an expert.
    """
    expert: Expert | None = batch.task.expert
    if expert is None:
        name = env_id or (batch.spec.id if batch.spec else type(batch).__name__)
        raise ValueError(f"{name} has no scripted expert; another policy has to act")
    return expert


# --- what experts look at ---------------------------------------------------------------------------------------------


def grip_positions(batch: Batch) -> np.ndarray:
    """Return where the agent's hands are [m], shape (num_envs, grips, 3), float32; on a CPU a view of the state."""
    grips: np.ndarray = batch.state.grip_positions.numpy()[: batch.num_envs, : batch.actions.grip_count]
    return grips


def held_particles(batch: Batch) -> np.ndarray:
    """Return what the agent's hands hold, -1 for nothing, shape (num_envs, grips), int32; on a CPU a view."""
    held: np.ndarray = batch.state.held.numpy()[: batch.num_envs, : batch.actions.grip_count]
    return held


def paddle_poses(batch: Batch) -> tuple[np.ndarray, np.ndarray]:
    """Return where paddles are [m], shape (num_envs, paddles, 3), and their angles [rad], (num_envs, paddles)."""
    poses = batch.state.get_poses()[:, slots_of(batch.actions.paddles, batch.model)].astype(np.float64)
    return poses[..., :3], 2.0 * np.arctan2(poses[..., 4], poses[..., 6])


def goals_and_points(batch: Batch) -> tuple[np.ndarray, np.ndarray]:
    """Return goals, and where the goal particles are [m], shape (num_envs, k, 3) each."""
    points = batch.state.get_positions()[:, batch.goal_particles].astype(np.float64)
    return batch.buffers.peek("goals").astype(np.float64), points


def actions_left(batch: Batch, env: int) -> int:
    """Return how many actions are left to an environment; without a time limit, a billion."""
    return (batch.max_episode_steps or 10**9) - int(batch.buffers.peek("elapsed")[env])


# --- what they act with -----------------------------------------------------------------------------------------------


def box_of(batch: Batch, env: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper corner of the box of an environment's hands [m], shape (3,) each."""
    hands = batch.actions.hands
    return grown(batch, np.array(hands.lower), env), grown(batch, np.array(hands.upper), env)


def box_share(batch: Batch, env: int, positions: np.ndarray) -> np.ndarray:
    """Return where positions [m], shape (..., 3), are in the box of an environment's hands: from -1 to 1 on each axis.

    Along an axis on which the box is flat they are at 0.
    """
    low, high = box_of(batch, env)
    width = high - low
    share: np.ndarray = 2.0 * (positions - low) / np.where(width > 0.0, width, 1.0) - 1.0
    return np.where(width > 0.0, share, 0.0)


def within_box(batch: Batch, env: int, positions: np.ndarray) -> np.ndarray:
    """Return the places nearest to some, shape (..., 3) [m], in the box of an environment's hands."""
    low, high = box_of(batch, env)
    found: np.ndarray = np.clip(positions, low, high)
    return found


def picker_actions(batch: Batch, targets: np.ndarray, closed: np.ndarray) -> np.ndarray:
    """Return the actions that bring pickers to their targets as fast as they can, in a straight line.

    Args:
        batch: environments in action mode ``"picker"`` or ``"pick_place"``.
        targets: where to [m], shape (num_envs, grips, 3).
        closed: whether they grasp or hold, bool, shape (num_envs, grips).

    Returns:
        Shape (num_envs, size), float32.
    """
    if batch.action_mode == "pick_place":
        move = np.stack([box_share(batch, env, target) for env, target in enumerate(targets)])
    else:
        move = (targets - grip_positions(batch)) / batch.config.max_step
        move /= np.maximum(np.abs(move).max(axis=2, keepdims=True), 1.0)
    grip = np.where(closed, 1.0, -1.0)
    return np.concatenate([move, grip[..., None]], axis=2).reshape(batch.num_envs, -1).astype(np.float32)


def farthest(x: np.ndarray, goals: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the point that is farthest from its goal, and that goal [m], shape (3,) each; see :data:`Transfer`.

    Args:
        x: points [m], shape (k, 3).
        goals: where they are to be, likewise.
        least: distance of a point that is worth the while [m].
    """
    away = np.linalg.norm(goals - x, axis=1)
    worst = int(np.argmax(away))
    return (x[worst], goals[worst]) if away[worst] > least else None


def transfer_actions(batch: Batch, transfers: Sequence[tuple[np.ndarray, np.ndarray] | None]) -> np.ndarray:
    """Return the actions that carry something from place to place, or pick at a corner of the box and find nothing.

    Args:
        batch: environments in action mode ``"pick_then_place"``.
        transfers: for each environment where to pick and where to place [m], or None.

    Returns:
        Shape (num_envs, 6), float32.
    """
    found = np.ones((batch.num_envs, 2, 3), dtype=np.float32)
    for env, places in enumerate(transfers):
        if places is not None:
            found[env] = box_share(batch, env, np.stack(places))
    return np.clip(found, -1.0, 1.0).reshape(batch.num_envs, -1)


def paddle_actions(batch: Batch, moves: np.ndarray, turns: np.ndarray | None = None) -> np.ndarray:
    """Return the actions for moves of paddles.

    Args:
        batch: environments in action mode ``"paddle"``.
        moves: how far to go [m], shape (num_envs, paddles, 3); one action does as much of it as it can.
        turns: how far to turn [rad], shape (num_envs, paddles), for paddles that turn.

    Returns:
        Shape (num_envs, size), float32.
    """
    parts = [moves / batch.config.max_step]
    if turns is not None:
        parts.append(turns[..., None] / batch.actions.hands.max_turn)
    actions: Any = np.clip(np.concatenate(parts, axis=2), -1.0, 1.0)
    return actions.reshape(batch.num_envs, -1).astype(np.float32)
