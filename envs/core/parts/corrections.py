"""Corrections by a script from wherever somebody else has moved the hands: labels for a learner."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pbd_gym.envs.core.parts.experts import Script, Waypoint, actions_left, grip_positions, held_particles, within_box
from pbd_gym.envs.core.task import World

NEAR, PASSING, PLACED = 0.12, 0.35, 0.1
"""Distances, in steps of a hand, at which it counts as having arrived: to grasp something, in passing, and with
something to lay down. Layers of a towel lie 5 mm apart, and a step of 8 cm is common: a learner that closes its hand a
centimetre away grasps the wrong one.
"""
TAKEN = 0.4
"""Distance, in steps of a hand, from the intended point at which another one is acceptable, for a hand that has closed
early.
"""
PATIENCE = 5
"""Number of actions without progress after which it replans."""
LATE = 15
"""Number of final actions in which objects at their goal are left alone."""


@dataclass
class _Progress:
    """Progress of one environment with its plan."""

    left: list[Waypoint] = field(default_factory=list)
    """Remaining waypoints of its hands."""
    waited: int = 0
    """Number of actions waited at the first waypoint."""
    tries: int = 0
    """Number of actions without progress towards it."""
    best: float = np.inf
    """Smallest distance from it so far [steps of a hand]."""
    taken: np.ndarray | np.bool = np.False_
    """Hands that have held something on the way, bool, shape (hands,)."""


class Corrections:
    """Follows the waypoints of a script by feedback: hands go straight to the next one from wherever they are.

    They close or open before they continue, and stay until that is done. If they have lost the held particle, or do not
    get where they should, it replans. So its actions follow from observable quantities, and a learner that lags behind,
    or does something else, is shown how to continue from there. The script itself dictates step after step by time.

    Args:
        script: script of the task.
        world: environments in action mode ``"picker"``.
    """

    def __init__(self, script: Script, world: World) -> None:
        self.script, self.world = script, world
        self.progress = [_Progress() for _ in range(world.num_envs)]

    def __call__(self) -> np.ndarray:
        """Return the next action of every environment, shape (num_envs, size), float32."""
        with self.world.buffers.still():
            return self._actions()

    def _actions(self) -> np.ndarray:
        world = self.world
        hands, holds = grip_positions(world).astype(np.float64), held_particles(world) >= 0
        found = np.zeros((world.num_envs, world.actions.grip_count, 4), dtype=np.float32)
        found[..., 3] = -1.0
        for env, begins in enumerate(world.buffers.peek("elapsed") == 0):
            if begins:
                self.progress[env] = _Progress()
            waypoint = self._next(env, hands[env], holds[env])
            if waypoint is None:
                continue
            way, step = within_box(world, env, waypoint.positions) - hands[env], world.actions.hands.max_step
            closed = np.array(waypoint.closed)
            ready = (closed == holds[env]) | (closed & (self.progress[env].tries >= PATIENCE - 1))
            length = np.abs(way).max() / (waypoint.speed * step)  # hands that carry something together arrive together
            found[env, :, :3] = ready.all() * way / step / max(length, 1.0)
            found[env, :, 3] = np.where(closed, 1.0, -1.0)
        return found.reshape(world.num_envs, -1)

    def _next(self, env: int, hands: np.ndarray, holds: np.ndarray) -> Waypoint | None:
        """Return the current target of the hands, None if nothing is left to do."""
        world, planned = self.world, False
        while True:
            progress = self.progress[env]
            if not progress.left:
                at_goal = world.buffers.peek("at_goal")[env] != 0
                if planned or (at_goal and actions_left(world, env) < LATE):
                    return None
                self.progress[env], planned = _Progress(list(self.script.plan(world, env))), True
                continue
            waypoint = progress.left[0]
            closed = np.array(waypoint.closed)
            if self._taken_early(env, holds):
                self.progress[env] = _Progress(progress.left[1:])
                continue
            if (progress.taken & ~holds).any():  # it has lost something
                progress.left.clear()
                continue
            progress.taken = progress.taken | (holds & closed)
            there, step = within_box(world, env, waypoint.positions), world.actions.hands.max_step
            away = float(np.abs(there - hands).max()) / step
            following = progress.left[1] if len(progress.left) > 1 else None
            passes = following is not None and waypoint.wait == 0 and following.closed == waypoint.closed
            enough = PASSING if passes else PLACED if closed.any() else NEAR
            if away <= enough and (closed == holds).all():
                if progress.waited >= waypoint.wait:
                    self.progress[env] = _Progress(progress.left[1:])
                    continue
                progress.waited += 1
                return waypoint
            lag = away + float((closed != holds).sum())
            progress.tries = 0 if lag < progress.best - 0.1 else progress.tries + 1
            progress.best = min(lag, progress.best)
            if progress.tries > PATIENCE:
                progress.left.clear()
                continue
            return waypoint

    def _taken_early(self, env: int, holds: np.ndarray) -> bool:
        """Return whether hands on their way to grasp something have already done so."""
        first, *later = self.progress[env].left
        closed = np.array(later[0].closed if later else first.closed)
        if np.any(first.closed) or not closed.any() or (closed != holds).any():
            return False
        held = held_particles(self.world)[env][closed]
        apart = self.world.state.get_positions(env)[held] - first.positions[closed]
        return bool(np.abs(apart).max() <= TAKEN * self.world.actions.hands.max_step)
