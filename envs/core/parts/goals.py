"""Goals that belong to start states: where particles are to come to, copied when an episode begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.buffers import Buffers
from pbd_gym.envs.core.data.launches import device_indices, device_points, prepare
from pbd_gym.envs.core.parts.measures import copy_goals, mean_distance_to_goals
from pbd_gym.envs.core.parts.sizing import grown
from pbd_gym.envs.core.task import Batch, Part


class StartGoals(Part):
    """A goal for each goal particle, which depends on the start state.

    Args:
        batch: the environments.
        points: returns the goals of each start state [m], shape (1 or starts, k, 3); it is called when the start states
            are there.
    """

    def __init__(self, batch: Batch, points: Callable[[], np.ndarray]) -> None:
        super().__init__(batch)
        self._points = points

    @cached_property
    def points(self) -> np.ndarray:
        """Goals of each start state [m], shape (1 or starts, k, 3)."""
        return np.asarray(self._points())

    def begin(self, chosen: Any) -> Sequence[Any]:
        """Return the launch that sets the goals."""
        return [copy_points(self.batch, chosen, self.points, self.batch.buffers["goals"])]


class GoalShape(Part):
    """The shape that the object is to take, which depends on the start state: a target for each of many particles.

    It sets the targets of the chosen ``particles``, and the goals of the goal particles.

    Args:
        batch: the environments.
        particles: those whose distance from their targets counts, shape (k,), int.
        shapes: returns the shape of all particles for each start state [m], shape (1 or starts, n, 3); it is called
            when the start states are there.
    """

    def __init__(self, batch: Batch, particles: np.ndarray, shapes: Callable[[], np.ndarray]) -> None:
        super().__init__(batch)
        self.particles, self._shapes = particles, shapes

    @cached_property
    def shapes(self) -> np.ndarray:
        """Shape for each start state [m], shape (1 or starts, n, 3), float32."""
        return np.asarray(self._shapes(), dtype=np.float32)

    def of(self, env: int) -> np.ndarray:
        """Return the shape that an environment is to take, in its size [m], shape (n, 3)."""
        start = int(self.batch.buffers.peek("start")[env])
        return grown(self.batch, self.shapes[start % len(self.shapes)], env)

    def add_buffers(self, buffers: Buffers) -> None:
        buffers.add("targets", (len(self.particles), 3))

    def begin(self, chosen: Any) -> Sequence[Any]:
        """Return the launches that set targets and goals."""
        batch, b = self.batch, self.batch.buffers
        return [
            copy_points(batch, chosen, self.shapes[:, self.particles], b["targets"]),
            copy_points(batch, chosen, self.shapes[:, batch.goal_particles], b["goals"]),
        ]

    def mean_distance(self, out: Any) -> Any:
        """Return the launch for the mean distance of these particles from their targets [m]."""
        batch, b = self.batch, self.batch.buffers
        return prepare(
            batch, mean_distance_to_goals, device_indices(batch, self.particles), b["targets"], b["parameters"],
            batch.model.lanes, batch.state.positions_scalar, out,
        )  # fmt: skip


def copy_points(batch: Batch, chosen: Any, points: np.ndarray, out: Any) -> Any:
    """Return the launch that copies the points of each start state into an array, in the size of the environment.

    Args:
        batch: the environments.
        chosen: device array, shape (num_envs,), int32; rows of other environments are left as they are.
        points: of each start state [m], shape (1 or starts, k, 3).
        out: device array, shape (num_envs, k, 3), float32.
    """
    b = batch.buffers
    return prepare(
        batch, copy_goals, chosen, b["start"], device_points(batch, points), b["parameters"], wp.vec3(*batch.anchor),
        out, dim=(batch.num_envs, points.shape[1]),
    )  # fmt: skip


def goal_points(batch: Batch, achieved: np.ndarray, desired: np.ndarray) -> tuple[Any, Any]:
    """Return rows of achieved and desired goals as arrays of points on the host, shape (rows, goal particles, 3).

    Args:
        batch: the environments, which may show two axes only.
        achieved: positions of the goal particles [m], shape (rows, axes * goal particles).
        desired: their goals [m], likewise.
    """
    axes = batch.observations.axes
    points = np.zeros((2, len(achieved), len(batch.goal_particles), 3), dtype=np.float32)
    points[..., :axes] = np.reshape([achieved, desired], (*points.shape[:3], axes))
    first, second = (wp.array(p, device="cpu", copy=False) for p in points)
    return first, second
