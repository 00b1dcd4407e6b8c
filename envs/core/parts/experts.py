"""Scripted experts: hands that follow waypoints, and helpers for scripts to observe and act."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.envs.core.data.hands import slots_of
from pbd_gym.envs.core.data.randomization import SIZE
from pbd_gym.envs.core.task import Expert, World


@dataclass(frozen=True)
class Waypoint:
    """Next target of one environment's hands, reached in a straight line."""

    positions: np.ndarray
    """[m], shape (hands, 3)."""
    closed: tuple[bool, ...]
    """Whether each hand holds on during the way; one that opens or closes does so before it moves."""
    speed: float = 1.0
    """Share of the largest step per action."""
    wait: int = 0
    """Actions to wait at the end of the way; with ``action_mode="pick_place"`` the hands wait there anyway."""


Plan = Callable[[World, int], Iterable[Waypoint]]
"""Function of a world and one of its environments that returns the waypoints of the hands; none if nothing is left to
do.
"""
Transfer = Callable[[World, int], tuple[np.ndarray, np.ndarray] | None]
"""Function of a world and one of its environments that returns where to pick and where to place [m], shape (3,) each;
None if nothing is left to do.
"""


@dataclass(frozen=True)
class Script:
    """An expert that follows waypoints, planned for each environment from its state.

    It acts in action mode ``"picker"``, ``"pick_place"`` or, with ``transfer``, ``"pick_then_place"``. The remaining
    plan of each environment is in :attr:`World.plans`: hands after each action, shape (hands, 4).
    """

    plan: Plan
    """Function called for an environment that begins an episode, or has reached all of its waypoints; without waypoints
    the hands stay in place, open. So they do at the goal, if a plan would take longer than the episode.
    """
    transfer: Transfer | None = None
    """Function that determines an action of mode ``"pick_then_place"``."""

    def __call__(self, world: World) -> np.ndarray:
        """Return the next action of every environment, shape (num_envs, size), float32."""
        with world.buffers.still():
            return self._actions(world)

    def _actions(self, world: World) -> np.ndarray:
        acts, steps = world.actions, world.plans
        if acts.mode == "pick_then_place" and self.transfer is not None:
            return transfer_actions(world, [self.transfer(world, env) for env in range(world.num_envs)])
        hands = grip_positions(world).astype(np.float64)
        found = np.zeros((world.num_envs, acts.grip_count, 4), dtype=np.float32)
        found[..., 3] = -1.0
        for env, begins in enumerate(world.buffers.peek("elapsed") == 0):
            if begins:
                steps[env].clear()
            if not steps[env]:
                self._expand(world, env, hands[env])
                late = len(steps[env]) > actions_left(world, env)
                if late and world.buffers.peek("at_goal")[env] != 0:  # it would be under way when the episode ends
                    steps[env].clear()
            if steps[env]:
                found[env] = steps[env].pop(0)
                if acts.mode == "picker":  # a displacement, towards where the hand should be by now
                    found[env, :, :3] = (found[env, :, :3] - hands[env]) / acts.hands.max_step
            elif acts.mode == "pick_place":
                found[env, :, :3] = box_share(world, env, hands[env])
        return np.clip(found, -1.0, 1.0).reshape(world.num_envs, -1)

    def _expand(self, world: World, env: int, hands: np.ndarray) -> None:
        """Turn the waypoints of a plan into the positions of the hands after each action."""
        max_step, steps = world.actions.hands.max_step, world.plans[env]
        for waypoint in self.plan(world, env):
            closed = np.where(waypoint.closed, 1.0, -1.0)[:, None]
            if world.actions.mode == "pick_place":
                steps.append(np.hstack([box_share(world, env, waypoint.positions), closed]))
                continue
            goal = within_box(world, env, waypoint.positions)
            way = goal - hands
            count = max(math.ceil(float(np.abs(way).max()) / (waypoint.speed * max_step) - 1e-6), 1)
            shares = [*(np.arange(count) + 1.0) / count, *[1.0] * waypoint.wait]
            steps.extend(np.hstack([hands + share * way, closed]) for share in shares)
            hands = goal


def expert_of(batch: Any, env_id: str = "") -> Callable[[], np.ndarray]:
    """Return a function that gives the actions of a task's scripted expert in a batch.

    Args:
        batch: environments of the task.
        env_id: their name in the message; by default their own id.

    Raises:
        ValueError: for a task without an expert.
    """
    expert: Expert | None = batch.task.expert
    if expert is None:
        name = env_id or (batch.spec.id if batch.spec else type(batch).__name__)
        raise ValueError(f"{name} has no scripted expert; choose another policy")
    return functools.partial(expert, batch.world)


# --- what experts look at ---------------------------------------------------------------------------------------------


def sizes(world: World) -> np.ndarray:
    """Return the size of each environment, shape (num_envs, 1)."""
    return world.buffers.peek("parameters")[:, [int(SIZE)]].astype(np.float64)


def grown(world: World, points: np.ndarray, env: int) -> np.ndarray:
    """Return points of the scene scaled to the size of an environment [m], shape (..., 3)."""
    anchor = np.array(world.anchor)
    return anchor + float(world.buffers.peek("parameters")[env, int(SIZE)]) * (points - anchor)


def grip_positions(world: World) -> np.ndarray:
    """Return the places of the agent's hands [m], shape (num_envs, grips, 3), float32; on a CPU a view of the state."""
    grips: np.ndarray = world.state.grip_positions.numpy()[: world.num_envs, : world.actions.grip_count]
    return grips


def held_particles(world: World) -> np.ndarray:
    """Return the particles held by the agent's hands, -1 for none, shape (num_envs, grips), int32; on a CPU a view."""
    held: np.ndarray = world.state.held.numpy()[: world.num_envs, : world.actions.grip_count]
    return held


def paddle_poses(world: World) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of paddles [m], shape (num_envs, paddles, 3), and their angles [rad], (num_envs, paddles)."""
    poses = world.state.get_poses()[:, slots_of(world.actions.paddles, world.model)].astype(np.float64)
    return poses[..., :3], 2.0 * np.arctan2(poses[..., 4], poses[..., 6])


def goals_and_points(world: World) -> tuple[np.ndarray, np.ndarray]:
    """Return the goals, and the positions of the goal particles [m], shape (num_envs, k, 3) each."""
    points = world.state.get_positions()[:, world.goal_particles].astype(np.float64)
    return world.buffers.peek("goals").astype(np.float64), points


def actions_left(world: World, env: int) -> int:
    """Return the number of actions left in an environment; without a time limit, a billion."""
    return (world.max_episode_steps or 10**9) - int(world.buffers.peek("elapsed")[env])


# --- what they act with -----------------------------------------------------------------------------------------------


def box_of(world: World, env: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper corner of the box of an environment's hands [m], shape (3,) each."""
    hands = world.actions.hands
    return grown(world, np.array(hands.lower), env), grown(world, np.array(hands.upper), env)


def box_share(world: World, env: int, positions: np.ndarray) -> np.ndarray:
    """Return positions [m], shape (..., 3), relative to the box of an environment's hands: from -1 to 1 on each axis.

    Along an axis on which the box is flat they are 0.
    """
    low, high = box_of(world, env)
    width = high - low
    share: np.ndarray = 2.0 * (positions - low) / np.where(width > 0.0, width, 1.0) - 1.0
    return np.where(width > 0.0, share, 0.0)


def within_box(world: World, env: int, positions: np.ndarray) -> np.ndarray:
    """Return the nearest places, shape (..., 3) [m], inside the box of an environment's hands."""
    low, high = box_of(world, env)
    found: np.ndarray = np.clip(positions, low, high)
    return found


def picker_actions(world: World, targets: np.ndarray, closed: np.ndarray) -> np.ndarray:
    """Return the actions that move hands to their targets as fast as possible, in a straight line.

    Args:
        world: environments in action mode ``"picker"`` or ``"pick_place"``.
        targets: target places [m], shape (num_envs, grips, 3).
        closed: whether they grasp or hold, bool, shape (num_envs, grips).

    Returns:
        Shape (num_envs, size), float32.
    """
    if world.actions.mode == "pick_place":
        move = np.stack([box_share(world, env, target) for env, target in enumerate(targets)])
    else:
        move = (targets - grip_positions(world)) / world.config.max_step
        move /= np.maximum(np.abs(move).max(axis=2, keepdims=True), 1.0)
    grip = np.where(closed, 1.0, -1.0)
    return np.concatenate([move, grip[..., None]], axis=2).reshape(world.num_envs, -1).astype(np.float32)


def farthest(x: np.ndarray, goals: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the point that is farthest from its goal, and that goal [m], shape (3,) each; see :data:`Transfer`.

    Args:
        x: points [m], shape (k, 3).
        goals: goals of these, shape (k, 3). least: smallest distance worth moving a point [m].
    """
    away = np.linalg.norm(goals - x, axis=1)
    worst = int(np.argmax(away))
    return (x[worst], goals[worst]) if away[worst] > least else None


def transfer_actions(world: World, transfers: Sequence[tuple[np.ndarray, np.ndarray] | None]) -> np.ndarray:
    """Return the actions that carry something from place to place, or pick at an empty corner of the box.

    Args:
        world: environments in action mode ``"pick_then_place"``.
        transfers: places to pick and to place for each environment [m], or None.

    Returns:
        Shape (num_envs, 6), float32.
    """
    found = np.ones((world.num_envs, 2, 3), dtype=np.float32)
    for env, places in enumerate(transfers):
        if places is not None:
            found[env] = box_share(world, env, np.stack(places))
    return np.clip(found, -1.0, 1.0).reshape(world.num_envs, -1)


def paddle_actions(world: World, moves: np.ndarray, turns: np.ndarray | None = None) -> np.ndarray:
    """Return the actions for given moves of paddles.

    Args:
        world: environments in action mode ``"paddle"``.
        moves: displacements [m], shape (num_envs, paddles, 3); one action covers as much as it can. turns: rotations
        [rad], shape (num_envs, paddles), for paddles that turn.

    Returns:
        Shape (num_envs, size), float32.
    """
    parts = [moves / world.config.max_step]
    if turns is not None:
        parts.append(turns[..., None] / world.actions.hands.max_turn)
    actions: Any = np.clip(np.concatenate(parts, axis=2), -1.0, 1.0)
    return actions.reshape(world.num_envs, -1).astype(np.float32)
