"""Conditions for strict success: that particles lie in their places, and that nothing is pierced.

A mean forgives a few particles that are far off. These conditions look at each of them.
"""

from __future__ import annotations

from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.buffers import device_indices, prepare
from pbd_gym.envs.core.data.randomization import SIZE
from pbd_gym.envs.core.parts.measures import point
from pbd_gym.envs.core.task import Condition, World

wp.set_module_options({"enable_backward": False})


@wp.kernel
@no_type_check
def most_near(
    # In:
    first: wp.array1d[wp.int32],
    second: wp.array1d[wp.int32],
    points: wp.array3d[float],
    least: float,
    radius: float,
    parameters: wp.array2d[float],
    lanes: int,
    positions: wp.array4d[float],
    # Out:
    met: wp.array1d[wp.int32],
):
    """Check that of a share of pairs the first particle is near the second, and the second near its point [m].

    A pair may be twice the same particle.
    """
    env = wp.tid()
    near = int(0)
    for k in range(first.shape[0]):
        p = point(positions, env // lanes, first[k], env % lanes)
        q = point(positions, env // lanes, second[k], env % lanes)
        away = wp.length(q - wp.vec3(points[env, k, 0], points[env, k, 1], points[env, k, 2]))
        if wp.max(wp.length(p - q), away) <= radius * parameters[env, SIZE]:
            near += 1
    met[env] = wp.where(float(near) + 1.0e-3 >= least * float(first.shape[0]), 1, 0)


@wp.kernel
@no_type_check
def nothing_pierced(pierced: wp.array1d[wp.int32], met: wp.array1d[wp.int32]):
    """Check that no edge goes through a surface."""
    env = wp.tid()
    met[env] = wp.where(pierced[env] == 0, 1, 0)


def in_place(
    least: float, particles: np.ndarray | None = None, points: str = "goals", onto: np.ndarray | None = None
) -> list[Condition]:
    """Return the condition ``in_place``: most particles are within ``goal_radius`` of the score from their points.

    Args:
        least: smallest share of the particles; with 0 there is no condition.
        particles: particles, shape (k,), int; by default the goal particles.
        points: buffer with a point for each, shape (num_envs, k, 3) [m].
        onto: particles that each must lie on, which have the points then, shape (k,), int.
    """
    return [_near("in_place", least, particles, onto, points, None)] if least > 0.0 else []


def undisturbed(particles: np.ndarray, points: str, radius: float) -> list[Condition]:
    """Return the condition ``undisturbed``: each particle is within a radius of its point.

    Args:
        particles: particles of things that must stay, shape (k,), int.
        points: buffer with a point for each, shape (num_envs, k, 3) [m].
        radius: [m].
    """
    return [_near("undisturbed", 1.0, particles, None, points, radius)]


def _near(
    name: str, least: float, particles: np.ndarray | None, onto: np.ndarray | None, points: str, radius: float | None
) -> Condition:
    """Return the condition that a share of particles is near, with the arguments of the two above; None for a radius is
    that of the score.
    """

    def check(world: World, met: Any) -> Any:
        b = world.buffers
        first = device_indices(world, world.goal_particles if particles is None else particles)
        second = first if onto is None else device_indices(world, onto)
        reach = world.task.score.goal_radius if radius is None else radius
        return prepare(
            world, most_near, first, second, b[points], least, reach, b["parameters"], world.model.lanes,
            world.state.positions_scalar, met,
        )  # fmt: skip

    return Condition(name, check)


def unpierced(config: Any, required: bool = True) -> list[Condition]:
    """Return the condition ``unpierced``, where piercings are counted: no edge goes through cloth.

    Args:
        config: numbers of a task with cloth.
        required: whether success requires it.
    """

    def check(world: World, met: Any) -> Any:
        return prepare(world, nothing_pierced, world.state.contacts.piercings, met)

    return [Condition("unpierced", check, required)] if config.piercings else []
