"""Scripted experts: hands that follow waypoints, which a task plans from the state whenever it has run out of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.envs.core.randomization import SIZE


@dataclass(frozen=True)
class Waypoint:
    """Where the hands of one environment go next, in a straight line."""

    places: np.ndarray
    """[m], shape (hands, 3)."""
    closed: tuple[bool, ...]
    """Whether each hand holds on during the way; one that opens or closes does so before it moves."""
    speed: float = 1.0
    """Share of the largest step per action."""
    wait: int = 0
    """Actions to stay at the end of the way; with ``action_mode="pick_place"`` the hands wait there anyway."""


Plan = Callable[[int], Iterable[Waypoint]]
"""From an environment to the waypoints of its hands; none where there is nothing left to do."""


class Script:
    """Turns the waypoints of every environment of a batch into actions.

    Args:
        batch: environments in action mode ``"picker"`` or ``"pick_place"``.
        plan: called for an environment that begins an episode, or whose waypoints have all been reached.
    """

    def __init__(self, batch: Any, plan: Plan) -> None:
        self.batch, self.plan = batch, plan
        self._steps: list[list[np.ndarray]] = [[] for _ in range(batch.num_envs)]

    def actions(self) -> np.ndarray:
        """Return the next action of every environment, shape (num_envs, size), float32."""
        batch = self.batch
        hands = batch.actions.grip_count
        places = batch.state.grip_positions.numpy()[: batch.num_envs, :hands].astype(np.float64)
        found = np.zeros((batch.num_envs, hands, 4), dtype=np.float32)
        found[..., 3] = -1.0
        for env, begins in enumerate(batch.buffers.peek("elapsed") == 0):
            if begins:
                self._steps[env].clear()
            if not self._steps[env]:
                self._expand(env, places[env])
            if self._steps[env]:
                found[env] = self._steps[env].pop(0)
                if batch.action_mode == "picker":  # a displacement, towards where the hand should be by now
                    found[env, :, :3] = (found[env, :, :3] - places[env]) / batch.actions.hands.max_step
            elif batch.action_mode == "pick_place":
                found[env, :, :3] = box_share(batch, env, places[env])
        return np.clip(found, -1.0, 1.0).reshape(batch.num_envs, -1)

    def _expand(self, env: int, places: np.ndarray) -> None:
        """Turn the waypoints of a plan into one place for each action."""
        batch, max_step = self.batch, self.batch.actions.hands.max_step
        for waypoint in self.plan(env):
            closed = np.where(waypoint.closed, 1.0, -1.0)[:, None]
            if batch.action_mode == "pick_place":
                self._steps[env].append(np.hstack([box_share(batch, env, waypoint.places), closed]))
                continue
            way = waypoint.places - places
            count = max(math.ceil(float(np.abs(way).max()) / (waypoint.speed * max_step) - 1e-6), 1)
            shares = [*(np.arange(count) + 1.0) / count, *[1.0] * waypoint.wait]
            self._steps[env].extend(np.hstack([places + share * way, closed]) for share in shares)
            places = waypoint.places


def expert_of(batch: Any, env_id: str = "") -> Callable[[], np.ndarray]:
    """Return what says what the scripted expert of a task would do now: actions, shape (num_envs, size), float32.

    Args:
        batch: environments of the task.
        env_id: what the message calls them; by default their own id.

    Raises:
        ValueError: for a task without an expert.
    """
    act: Callable[[], np.ndarray] | None = getattr(batch, "expert", None)
    if act is None:
        name = env_id or (batch.spec.id if batch.spec else type(batch).__name__)
        raise ValueError(f"{name} has no scripted expert; another policy has to act")
    return act


def box_share(batch: Any, env: int, places: np.ndarray) -> np.ndarray:
    """Return places [m], shape (..., 3), in the box of an environment's hands: -1 at its lower, 1 at its upper side.

    In a direction in which the box is flat there is but one place, 0.
    """
    hands, anchor = batch.actions.hands, np.array(batch.anchor)
    size = float(batch.buffers.peek("parameters")[env, int(SIZE)])
    low, high = (anchor + size * (np.array(corner) - anchor) for corner in (hands.lower, hands.upper))
    width = high - low
    share: np.ndarray = 2.0 * (places - low) / np.where(width > 0.0, width, 1.0) - 1.0
    return np.where(width > 0.0, share, 0.0)
