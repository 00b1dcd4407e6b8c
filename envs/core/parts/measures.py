"""Measures of an object's shape and place: areas and distances, one kernel each, over the batch.

Environments may differ in size. All measures are scaled back to size one, so that they can be compared.
"""

import math
from typing import Any, no_type_check

import warp as wp

from pbd_gym.envs.core.data.buffers import of_buffers
from pbd_gym.envs.core.data.randomization import SIZE, scaled
from pbd_gym.envs.core.task import World
from pbd_gym.kernels.native import MODULE_OPTIONS

wp.set_module_options(MODULE_OPTIONS | {"enable_backward": False})


@wp.func
@no_type_check
def point(positions: wp.array4d[float], group: int, i: int, lane: int):
    """Return the position of a particle [m]."""
    return wp.vec3(positions[group, i, 0, lane], positions[group, i, 1, lane], positions[group, i, 2, lane])


@wp.func
@no_type_check
def is_there(depot: wp.vec3, x: float, y: float, z: float) -> bool:
    """Return whether a particle at x, y, z [m] is anywhere but in the depot."""
    return x != depot[0] or y != depot[1] or z != depot[2]


def depot_of(world: World) -> wp.vec3:
    """Return the place where inactive fluid particles are parked, which do not count [m].

    Without such a place it is NaN, so nothing is in it.
    """
    fluid = world.scene.fluid
    return wp.vec3(math.nan) if fluid is None or fluid.depot is None else wp.vec3(*fluid.depot.tolist())


@wp.func_native("return pbd::bit_count(word);")
def ones(word: wp.uint32) -> int: ...  # type: ignore[empty-body]  # bits that are set


@wp.func
@no_type_check
def write_goal(goals: wp.array3d[float], env: int, k: int, goal: wp.vec3):
    """Set the goal of a goal particle [m]."""
    for axis in range(3):
        goals[env, k, axis] = goal[axis]


@wp.func
@no_type_check
def middle_of(shapes: wp.array2d[wp.vec3], row: int):
    """Return the mean of the points of a shape [m]."""
    middle = wp.vec3()
    for k in range(shapes.shape[1]):
        middle += shapes[row, k] / float(shapes.shape[1])
    return middle


@wp.kernel
@no_type_check
def covered_area(
    # In:
    particles: wp.array1d[wp.int32],
    radius: float,
    cell: float,
    side: int,
    parameters: wp.array2d[float],
    lanes: int,
    positions: wp.array4d[float],
    # Scratch:
    covered: wp.array2d[wp.uint32],
    # Out:
    area: wp.array1d[float],
):
    """Return the area that discs of ``radius`` about the particles cover, seen from above [m^2].

    They are counted in a square grid of ``side`` x ``side`` cells, about the mean of the particles, a row of which is
    some words of ``covered``; a cell counts if its middle is in a disc. Unlike SoftGym's, the grid does not stretch
    with the object.
    """
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    words = covered.shape[1]
    per_row = words // side
    for word in range(words):
        covered[env, word] = wp.uint32(0)
    sum_x = float(0.0)
    sum_z = float(0.0)
    for k in range(particles.shape[0]):
        sum_x += positions[group, particles[k], 0, lane]
        sum_z += positions[group, particles[k], 2, lane]
    # From positions to cells.
    scale = 1.0 / (parameters[env, SIZE] * cell)
    shift_x = 0.5 * float(side) - scale * sum_x / float(particles.shape[0])
    shift_z = 0.5 * float(side) - scale * sum_z / float(particles.shape[0])
    r = radius / cell
    for k in range(particles.shape[0]):
        x = scale * positions[group, particles[k], 0, lane] + shift_x
        z = scale * positions[group, particles[k], 2, lane] + shift_z
        for row in range(wp.max(int(wp.floor(z - r)), 0), wp.min(int(wp.floor(z + r)) + 1, side)):
            dz = float(row) + 0.5 - z
            reach2 = r * r - dz * dz
            if reach2 >= 0.0:
                reach = wp.sqrt(reach2)
                first = wp.max(int(wp.ceil(x - reach - 0.5)), 0)
                last = wp.min(int(wp.floor(x + reach - 0.5)), side - 1)
                for word in range(first // 32, last // 32 + 1):
                    low = wp.max(first - 32 * word, 0)
                    high = wp.min(last - 32 * word, 31)
                    if high >= low:
                        span = (~wp.uint32(0) >> wp.uint32(31 - high + low)) << wp.uint32(low)
                        covered[env, row * per_row + word] = covered[env, row * per_row + word] | span
    count = int(0)
    for word in range(words):
        count += ones(covered[env, word])
    area[env] = float(count) * cell * cell


@wp.func
@no_type_check
def distance_to_goals(
    env: int,
    particles: wp.array1d[wp.int32],
    goals: wp.array3d[float],
    size: float,
    lanes: int,
    positions: wp.array4d[float],
):
    """Return the mean distance of particles to their goals in an environment of a given size [m]."""
    total = float(0.0)
    for k in range(particles.shape[0]):
        p = point(positions, env // lanes, particles[k], env % lanes)
        total += wp.length(p - wp.vec3(goals[env, k, 0], goals[env, k, 1], goals[env, k, 2]))
    return total / (float(particles.shape[0]) * size)


@wp.kernel
@no_type_check
def mean_distance_to_goals(
    # In:
    particles: wp.array1d[wp.int32],
    goals: wp.array3d[float],
    parameters: wp.array2d[float],
    lanes: int,
    positions: wp.array4d[float],
    # Out:
    distance: wp.array1d[float],
):
    """Return the mean distance of particles to their goals [m]."""
    env = wp.tid()
    distance[env] = distance_to_goals(env, particles, goals, parameters[env, SIZE], lanes, positions)


@wp.kernel
@no_type_check
def weighted_distance_to_shapes(
    # In:
    start: wp.array1d[wp.int32],
    shapes: wp.array2d[wp.vec3],
    weights: wp.array2d[float],
    parameters: wp.array2d[float],
    anchor: wp.vec3,
    lanes: int,
    positions: wp.array4d[float],
    # Out:
    distance: wp.array1d[float],
):
    """Return the weighted sum of the distances of all particles to the start state's goal shape, one by one [m]."""
    env = wp.tid()
    size = parameters[env, SIZE]
    row = start[env]
    total = float(0.0)
    for i in range(shapes.shape[1]):
        away = point(positions, env // lanes, i, env % lanes) - scaled(shapes[row, i], anchor, size)
        total += weights[row, i] * wp.length(away)
    distance[env] = total / size


@wp.kernel
@no_type_check
def mean_distance_of_pairs(
    # In:
    first: wp.array1d[wp.int32],
    second: wp.array1d[wp.int32],
    parameters: wp.array2d[float],
    lanes: int,
    positions: wp.array4d[float],
    # Out:
    distance: wp.array1d[float],
):
    """Return the mean distance between the particles of each pair [m]."""
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    total = float(0.0)
    for k in range(first.shape[0]):
        total += wp.length(point(positions, group, first[k], lane) - point(positions, group, second[k], lane))
    distance[env] = total / (float(first.shape[0]) * parameters[env, SIZE])


@wp.kernel
@no_type_check
def mean_distance_to_paddles(
    # In:
    particle: int,
    slots: wp.array1d[wp.int32],
    poses: wp.array3d[float],
    parameters: wp.array2d[float],
    lanes: int,
    positions: wp.array4d[float],
    # Out:
    distance: wp.array1d[float],
):
    """Return the mean distance of paddles from a particle [m]."""
    env = wp.tid()
    p = point(positions, env // lanes, particle, env % lanes)
    total = float(0.0)
    for k in range(slots.shape[0]):
        slot = slots[k]
        total += wp.length(wp.vec3(poses[env, slot, 0], poses[env, slot, 1], poses[env, slot, 2]) - p)
    distance[env] = total / (float(slots.shape[0]) * parameters[env, SIZE])


@wp.func
@no_type_check
def mean_square(actions: wp.array2d[float], env: int):
    """Return the mean square of an action after clipping."""
    effort = float(0.0)
    for a in range(actions.shape[1]):
        clipped = wp.clamp(actions[env, a], -1.0, 1.0)
        effort += clipped * clipped / float(actions.shape[1])
    return effort


@wp.struct
class FirstRating:
    """Ratings of the first state of an episode; buffers by name."""

    performance: wp.array1d[float]
    start_performance: wp.array1d[float]
    normalized_performance: wp.array1d[float]
    is_success: wp.array1d[wp.int32]


def first_rating(world: World) -> Any:
    """Return the buffers for the rating of an episode's first state, as a struct."""
    return of_buffers(FirstRating, world.buffers)


@wp.func
@no_type_check
def begin_rating(
    env: int,
    now: float,
    zero: float,
    rating: FirstRating,
):
    """Store the performance of the first state, and the performance that counts as 0 when normalised."""
    rating.performance[env] = now
    rating.start_performance[env] = zero
    rating.normalized_performance[env] = 0.0
    rating.is_success[env] = 0


@wp.kernel
@no_type_check
def weigh(
    # In:
    measures: wp.array2d[float],
    weights: wp.array1d[float],
    counts: wp.array1d[float],
    actions: wp.array2d[float],
    effort_weight: float,
    # Out:
    terms: wp.array2d[float],
    performance: wp.array1d[float],
):
    """Weight measures into reward terms; the last term is the effort.

    The performance is the sum of those that count (1 rather than 0).
    """
    env = wp.tid()
    total = float(0.0)
    for k in range(measures.shape[1]):
        value = weights[k] * measures[env, k]
        terms[env, k] = value
        total += counts[k] * value
    performance[env] = total
    terms[env, measures.shape[1]] = -effort_weight * mean_square(actions, env)


@wp.kernel
@no_type_check
def rate_start(
    # In:
    chosen: wp.array1d[wp.int32],
    fixed: int,
    start_value: float,
    # Out:
    rating: FirstRating,
):
    """Set the performance that counts as 0: that of the first state, or a fixed number."""
    env = wp.tid()
    if chosen[env] == 0:
        return
    now = rating.performance[env]
    begin_rating(env, now, wp.where(fixed != 0, start_value, now), rating)


@wp.kernel
@no_type_check
def copy_goals(
    # In:
    chosen: wp.array1d[wp.int32],
    start: wp.array1d[wp.int32],
    points: wp.array2d[wp.vec3],
    parameters: wp.array2d[float],
    anchor: wp.vec3,
    # Out:
    goals: wp.array3d[float],
):
    """Copy the points of each chosen environment's start state, scaled to its size."""
    env, k = wp.tid()
    if chosen[env] == 0:
        return
    write_goal(goals, env, k, scaled(points[start[env] % points.shape[0], k], anchor, parameters[env, SIZE]))


@wp.kernel
@no_type_check
def rate_goals(
    # In:
    achieved: wp.array3d[float],
    desired: wp.array3d[float],
    sparse: int,
    radius: float,
    # Out:
    reward: wp.array1d[float],
):
    """Compute the reward of goal mode: minus the mean distance, or 0 while it is below ``radius`` and -1 otherwise."""
    row = wp.tid()
    total = float(0.0)
    for k in range(achieved.shape[1]):
        p = wp.vec3(achieved[row, k, 0], achieved[row, k, 1], achieved[row, k, 2])
        total += wp.length(p - wp.vec3(desired[row, k, 0], desired[row, k, 1], desired[row, k, 2]))
    reward[row] = goal_reward(total / float(achieved.shape[1]), sparse, radius)


@wp.func
@no_type_check
def goal_reward(mean: float, sparse: int, radius: float):
    """Return the reward for a mean distance to the goals."""
    if sparse != 0:
        return wp.where(mean < radius, 0.0, -1.0)
    return -mean


@wp.kernel
@no_type_check
def reach_goals(
    # In:
    distance: wp.array2d[float],
    sparse: int,
    radius: float,
    # Out:
    terms: wp.array2d[float],
    at_goal: wp.array1d[wp.int32],
):
    """Compute the terms of goal mode, and whether the goals are reached, if both must follow from the goals alone."""
    env = wp.tid()
    for k in range(terms.shape[1]):
        terms[env, k] = 0.0
    terms[env, 0] = goal_reward(distance[env, 0], sparse, radius)
    at_goal[env] = wp.where(distance[env, 0] < radius, 1, 0)
