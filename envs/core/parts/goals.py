"""Goals that belong to start states: targets of particles, copied when an episode begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.buffers import Buffers, device_indices, device_points, prepare
from pbd_gym.envs.core.parts.conditions import in_place, unpierced
from pbd_gym.envs.core.parts.experts import grown
from pbd_gym.envs.core.parts.measures import copy_goals, mean_distance_to_goals
from pbd_gym.envs.core.task import Condition, Part, World, worked_out_once


@dataclass(frozen=True)
class StartGoals(Part):
    """A goal for each goal particle, which depends on the start state."""

    points: Callable[[World], np.ndarray]
    """Function that returns the goals of each start state [m], shape (1 or starts, k, 3), in a world that has its start
    states.
    """

    def begin(self, world: World, chosen: Any) -> Sequence[Any]:
        """Return the launch that sets the goals."""
        return [copy_points(world, chosen, np.asarray(self.points(world)), world.buffers["goals"])]


class GoalShape(Part):
    """Goal shape of the object, which depends on the start state: a target for each of many particles.

    It sets the targets of the chosen ``particles``, and the goals of the goal particles.

    Args:
        particles: those whose distance from their targets counts, shape (k,), int.
        shapes: function that returns the shape of all particles for each start state [m], shape (1 or starts, n, 3), in
        a world that
            has its start states.
    """

    def __init__(self, particles: np.ndarray, shapes: Callable[[World], np.ndarray]) -> None:
        self.particles, self._shapes = particles, shapes

    @worked_out_once
    def shapes(self, world: World) -> np.ndarray:
        """Return the shape for each start state [m], shape (1 or starts, n, 3), float32."""
        return np.asarray(self._shapes(world), dtype=np.float32)

    def of(self, world: World, env: int) -> np.ndarray:
        """Return the goal shape of an environment, in its size [m], shape (n, 3)."""
        start, shapes = int(world.buffers.peek("start")[env]), self.shapes(world)
        return grown(world, shapes[start % len(shapes)], env)

    def add_buffers(self, buffers: Buffers) -> None:
        buffers.add("targets", (len(self.particles), 3))

    def begin(self, world: World, chosen: Any) -> Sequence[Any]:
        """Return the launches that set targets and goals."""
        b, shapes = world.buffers, self.shapes(world)
        return [
            copy_points(world, chosen, shapes[:, self.particles], b["targets"]),
            copy_points(world, chosen, shapes[:, world.goal_particles], b["goals"]),
        ]

    def conditions(self, config: Any, required: bool = True) -> list[Condition]:
        """Return the conditions for success: most particles lie at their targets, and no edge goes through cloth.

        Args:
            config: numbers of the task, with ``in_place`` and ``piercings``.
            required: whether success requires that no edge goes through cloth; otherwise it is merely reported.
        """
        return [*in_place(config.in_place, self.particles, "targets"), *unpierced(config, required)]

    def mean_distance(self, world: World, out: Any) -> Any:
        """Return the launch for the mean distance of these particles from their targets [m]."""
        b = world.buffers
        return prepare(
            world, mean_distance_to_goals, device_indices(world, self.particles), b["targets"], b["parameters"],
            world.model.lanes, world.state.positions_scalar, out,
        )  # fmt: skip


def copy_points(world: World, chosen: Any, points: np.ndarray, out: Any) -> Any:
    """Return the launch that copies the points of each start state into an array, scaled to the size of the
    environment.

    Args:
        world: the environments.
        chosen: device array, shape (num_envs,), int32; rows of other environments stay unchanged.
        points: points of each start state [m], shape (1 or starts, k, 3).
        out: device array, shape (num_envs, k, 3), float32.
    """
    b = world.buffers
    return prepare(
        world, copy_goals, chosen, b["start"], device_points(world, points), b["parameters"], wp.vec3(*world.anchor),
        out, dim=(world.num_envs, points.shape[1]),
    )  # fmt: skip


def goal_points(world: World, achieved: np.ndarray, desired: np.ndarray) -> tuple[Any, Any]:
    """Return rows of achieved and desired goals as arrays of points on the host, shape (rows, goal particles, 3).

    Args:
        world: the environments, which may show two axes only.
        achieved: positions of the goal particles [m], shape (rows, axes * goal particles).
        desired: their goals [m], shape (rows, axes * goal particles).
    """
    axes = world.task.hands.axes
    points = np.zeros((2, len(achieved), len(world.goal_particles), 3), dtype=np.float32)
    points[..., :axes] = np.reshape([achieved, desired], (*points.shape[:3], axes))
    first, second = (wp.array(p, device="cpu", copy=False) for p in points)
    return first, second
