"""Measures of a rope's shape.

Kernels over the batch, as in :mod:`pbd_gym.envs.core.parts.measures`, in the sizes of the scene.
"""

from typing import no_type_check

import warp as wp

from pbd_gym.envs.core.data.randomization import SIZE, scaled
from pbd_gym.envs.core.parts.measures import distance_to_goals, point

wp.set_module_options({"enable_backward": False})

UNREACHED = wp.constant(1.0e9)
"""Value above any distance [m]."""


@wp.kernel
@no_type_check
def length_error(
    # In:
    first: int,
    last: int,
    length: float,
    parameters: wp.array2d[float],
    lanes: int,
    positions: wp.array4d[float],
    # Out:
    error: wp.array1d[float],
):
    """Return the difference between the distance of two particles and ``length`` [m]."""
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    gap = wp.length(point(positions, group, last, lane) - point(positions, group, first, lane))
    error[env] = wp.abs(gap / parameters[env, SIZE] - length)


@wp.kernel
@no_type_check
def straight(
    # In:
    count: int,
    most: float,
    parameters: wp.array2d[float],
    lanes: int,
    positions: wp.array4d[float],
    # Out:
    met: wp.array1d[wp.int32],
):
    """Check that none of the first ``count`` particles is farther than ``most`` from the line of both ends [m]."""
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    origin = point(positions, group, 0, lane)
    along = wp.normalize(point(positions, group, count - 1, lane) - origin)
    worst = float(0.0)
    for i in range(count):
        offset = point(positions, group, i, lane) - origin
        worst = wp.max(worst, wp.length(offset - wp.dot(offset, along) * along))
    met[env] = wp.where(worst <= most * parameters[env, SIZE], 1, 0)


@wp.kernel
@no_type_check
def mean_distance_to_shape(
    # In:
    start: wp.array1d[wp.int32],
    shapes: wp.array2d[wp.vec3],
    parameters: wp.array2d[float],
    anchor: wp.vec3,
    lanes: int,
    positions: wp.array4d[float],
    # Out:
    distance: wp.array1d[float],
):
    """Return the mean distance of all particles to the start state's goal shape, one by one [m]."""
    env = wp.tid()
    size = parameters[env, SIZE]
    row = start[env] % shapes.shape[0]
    count = shapes.shape[1]
    total = float(0.0)
    for i in range(count):
        total += wp.length(point(positions, env // lanes, i, env % lanes) - scaled(shapes[row, i], anchor, size))
    distance[env] = total / (float(count) * size)


@wp.kernel
@no_type_check
def matched_distance(
    # In:
    particles: wp.array1d[wp.int32],
    goals: wp.array3d[float],
    radius: float,
    parameters: wp.array2d[float],
    lanes: int,
    positions: wp.array4d[float],
    # Scratch, one row per environment and one column more than there are goals:
    goal_price: wp.array2d[float],
    particle_price: wp.array2d[float],
    cheapest: wp.array2d[float],
    taken_by: wp.array2d[wp.int32],
    came_from: wp.array2d[wp.int32],
    visited: wp.array2d[wp.int32],
    # Out:
    distance: wp.array1d[float],
    near_share: wp.array1d[float],
):
    """Return the mean distance of particles to goals, assigned so that the sum is smallest [m].

    ``near_share`` is the share of the particles within ``radius`` of their goals.

    The assignment is exact: shortest augmenting paths over reduced costs, O(k^3).
    Kuhn, "The Hungarian method for the assignment problem", 1955, doi:10.1002/nav.3800020109; Jonker and Volgenant,
    "A shortest augmenting path algorithm for dense and sparse linear assignment problems", 1987,
    doi:10.1007/BF02278710.
    """
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    count = particles.shape[0]
    for j in range(count + 1):  # column 0 stands for "no goal": a path starts there
        goal_price[env, j] = 0.0
        particle_price[env, j] = 0.0
        taken_by[env, j] = 0
    for i in range(1, count + 1):
        for j in range(count + 1):
            cheapest[env, j] = UNREACHED
            visited[env, j] = 0
        taken_by[env, 0] = i
        column = int(0)
        while taken_by[env, column] != 0:
            visited[env, column] = 1
            row = taken_by[env, column]
            p = point(positions, group, particles[row - 1], lane)
            step = float(UNREACHED)
            following = int(0)
            for j in range(1, count + 1):
                if visited[env, j] == 0:
                    g = wp.vec3(goals[env, j - 1, 0], goals[env, j - 1, 1], goals[env, j - 1, 2])
                    cost = wp.length(p - g) - particle_price[env, row] - goal_price[env, j]
                    if cost < cheapest[env, j]:
                        cheapest[env, j] = cost
                        came_from[env, j] = column
                    if cheapest[env, j] < step:
                        step = cheapest[env, j]
                        following = j
            if following == 0:  # no distance is finite: the environment has diverged and is reset
                break
            for j in range(count + 1):
                if visited[env, j] != 0:
                    particle_price[env, taken_by[env, j]] = particle_price[env, taken_by[env, j]] + step
                    goal_price[env, j] = goal_price[env, j] - step
                else:
                    cheapest[env, j] = cheapest[env, j] - step
            column = following
        while column != 0:  # everyone on the path moves on by one
            before = came_from[env, column]
            taken_by[env, column] = taken_by[env, before]
            column = before
    total = float(0.0)
    near = int(0)
    for j in range(1, count + 1):
        if taken_by[env, j] > 0:
            q = point(positions, group, particles[taken_by[env, j] - 1], lane)
            away = wp.length(q - wp.vec3(goals[env, j - 1, 0], goals[env, j - 1, 1], goals[env, j - 1, 2]))
            total += away
            if away <= radius * parameters[env, SIZE]:
                near += 1
    distance[env] = total / (float(count) * parameters[env, SIZE])
    near_share[env] = float(near) / float(count)


@wp.kernel
@no_type_check
def share_reached(shares: wp.array1d[float], least: float, met: wp.array1d[wp.int32]):
    """Check that a share is at least ``least``."""
    env = wp.tid()
    met[env] = wp.where(shares[env] + 1.0e-3 >= least, 1, 0)


@wp.kernel
@no_type_check
def forget_closest(
    # In:
    chosen: wp.array1d[wp.int32],
    # Out:
    closest: wp.array1d[float],
):
    """Forget the closest approach of earlier episodes."""
    env = wp.tid()
    if chosen[env] != 0:
        closest[env] = UNREACHED


@wp.kernel
@no_type_check
def closest_approach(
    # In:
    particles: wp.array1d[wp.int32],
    goals: wp.array3d[float],
    parameters: wp.array2d[float],
    lanes: int,
    positions: wp.array4d[float],
    # State:
    closest: wp.array1d[float],
    # Out:
    distance: wp.array1d[float],
):
    """Return the smallest mean distance of particles to their goals in the episode so far [m]."""
    env = wp.tid()
    now = distance_to_goals(env, particles, goals, parameters[env, SIZE], lanes, positions)
    closest[env] = wp.min(closest[env], now)
    distance[env] = closest[env]
