"""What is the same for every task: the end of a step, and the start of an episode."""

from typing import no_type_check

import warp as wp

from pbd_gym.envs.core.data.randomization import SIZE, random_stream, scaled

wp.set_module_options({"enable_backward": False})

NEXT_STEP = wp.constant(0)
SAME_STEP = wp.constant(1)
DISABLED = wp.constant(2)

OBSTACLE = wp.constant(0)
PADDLE = wp.constant(1)
GROUND = wp.constant(2)

DENSE = wp.constant(0)
SPARSE = wp.constant(1)
DELTA = wp.constant(2)
NORMALIZED = wp.constant(3)
FINISH = wp.constant(4)


@wp.func
@no_type_check
def empty_share(held: wp.array2d[wp.int32], env: int):
    """Share of the grips of an environment that hold nothing; 1 if it has none."""
    empty = int(0)
    for slot in range(held.shape[1]):
        if held[env, slot] < 0:
            empty += 1
    return float(empty) / float(wp.max(held.shape[1], 1)) + wp.where(held.shape[1] == 0, 1.0, 0.0)


@wp.func
@no_type_check
def sum_of_terms(terms: wp.array2d[float], env: int):
    """Sum of the reward terms of an environment."""
    total = float(0.0)
    for k in range(terms.shape[1]):
        total += terms[env, k]
    return total


@wp.func
@no_type_check
def finish_reward(normalized: float, at_goal: wp.int32, done: float, success: wp.int32):
    """Reward for putting something down: the normalised performance, what else is ``done``, and success.

    It is no less than -1 before the goal, or the few episodes that end much farther from it than they began would rule
    what is learned. At the goal it is more by what is done.
    """
    return wp.max(normalized, -1.0) + float(at_goal) * done + float(success)


@wp.func
@no_type_check
def done_share(let_go: int, empty: float, rest_steps: wp.int32, rest_needed: int):
    """Return what is done of what success asks for beside the goal.

    Hands let go: the share that is ``empty``. They learn to open one at a time, since those of an agent that tries this
    and that are hardly ever all at rest. Plates and cups, which let go of nothing, keep still: 1, and the share of the
    time for which all has to be at rest.
    """
    calm = wp.min(float(rest_steps) / float(wp.max(rest_needed, 1)), 1.0)
    return wp.where(let_go != 0, empty, 1.0 + calm)


@wp.kernel
@no_type_check
def conclude(
    # In:
    autoreset: int,
    reward_mode: int,
    time_limit: int,
    best: float,
    success_at: float,
    let_go: int,
    rest_needed: int,
    rest_steps: wp.array1d[wp.int32],
    held: wp.array2d[wp.int32],
    failed: wp.array1d[wp.int32],
    overflow: wp.array1d[wp.int32],
    pierced: wp.array1d[wp.int32],
    # State:
    start_performance: wp.array1d[float],
    last_performance: wp.array1d[float],
    terms: wp.array2d[float],
    elapsed: wp.array1d[wp.int32],
    finished: wp.array1d[wp.int32],
    performance: wp.array1d[float],
    at_goal: wp.array1d[wp.int32],
    # Out:
    normalized_performance: wp.array1d[float],
    released: wp.array1d[wp.int32],
    at_rest: wp.array1d[wp.int32],
    is_success: wp.array1d[wp.int32],
    reward: wp.array1d[float],
    contact_overflow: wp.array1d[wp.int32],
    piercings: wp.array1d[wp.int32],
    diverged: wp.array1d[wp.int32],
    terminated: wp.array1d[wp.int32],
    truncated: wp.array1d[wp.int32],
    restart: wp.array1d[wp.int32],
):
    """Work out the reward, count the step, and say which environments end and which begin anew.

    The reward is the sum of the terms (dense, and sparse where terms are made so), the gain of performance (delta), the
    normalised performance, or :func:`finish_reward`. ``success_at`` is the normalised performance that counts as being
    at the goal; where it is not above zero the score has filled ``at_goal`` itself. Success takes more where ``let_go``
    is not zero (nothing is held) or ``rest_needed`` is not (``rest_steps`` has come to it); see
    :mod:`pbd_gym.envs.core.episode.rest`.

    ``finished`` marks environments whose episode was over before this step. In next-step mode they are only reset now:
    their reward is zero and nothing ends. An environment whose physics failed (see
    :mod:`pbd_gym.envs.core.episode.divergence`) has been put back to the start already, is rated there, and is
    terminated. So is one whose rating is not finite: it counts as zero.
    """
    env = wp.tid()
    resetting = autoreset == NEXT_STEP and finished[env] != 0
    bad, over, unrated = int(0), int(0), int(0)
    for k3 in range(terms.shape[1]):
        if not wp.isfinite(terms[env, k3]):
            terms[env, k3] = 0.0
            unrated = 1
    start = start_performance[env]
    if not wp.isfinite(start):
        start = 0.0
        start_performance[env] = 0.0
        unrated = 1
    before = last_performance[env]
    if not wp.isfinite(before):
        before = start
        unrated = 1
    if not wp.isfinite(performance[env]):
        performance[env] = start
        unrated = 1
    if not resetting:
        bad = wp.max(failed[env], unrated)
        elapsed[env] = elapsed[env] + 1
        if time_limit > 0 and elapsed[env] >= time_limit:
            over = 1
    if resetting:
        for k in range(terms.shape[1]):
            terms[env, k] = 0.0
    total = sum_of_terms(terms, env)
    # 0 is where the episode started and 1 is perfect, as SoftGym defines it.
    normalized = (performance[env] - start) / wp.max(best - start, 1.0e-6)
    normalized_performance[env] = normalized
    if success_at > 0.0:
        at_goal[env] = wp.where(normalized >= success_at, 1, 0)
    at_rest[env] = wp.where(rest_steps[env] >= rest_needed, 1, 0)
    if bad != 0:  # it has been put back to the start
        at_goal[env] = 0
        at_rest[env] = 0
    empty = empty_share(held, env)
    released[env] = wp.where(empty == 1.0, 1, 0)
    is_success[env] = at_goal[env] * at_rest[env] * wp.where(let_go != 0, released[env], 1)
    last_performance[env] = performance[env]
    if not resetting:
        if reward_mode == DELTA:
            total = performance[env] - before
        elif reward_mode == NORMALIZED:
            total = normalized
        elif reward_mode == FINISH:
            total = done_share(let_go, empty, rest_steps[env], rest_needed)
            total = finish_reward(normalized, at_goal[env], total, is_success[env])
        elif reward_mode == SPARSE and success_at > 0.0:
            total = float(is_success[env]) - 1.0
    if not wp.isfinite(total) or not wp.isfinite(normalized):  # finite terms whose sum is not
        total = 0.0
        normalized_performance[env] = 0.0
        at_goal[env] = 0
        is_success[env] = 0
        if not resetting:
            bad = 1
    reward[env] = total
    contact_overflow[env] = overflow[env]
    piercings[env] = pierced[env]
    diverged[env] = bad
    terminated[env] = bad
    truncated[env] = over
    ended = bad != 0 or over != 0
    restart[env] = 0
    if resetting or (ended and autoreset == SAME_STEP):
        restart[env] = 1
    finished[env] = 0
    if ended and autoreset != SAME_STEP:
        finished[env] = 1


@wp.kernel
@no_type_check
def reset_state(
    # In:
    chosen: wp.array1d[wp.int32],
    start: wp.array1d[wp.int32],
    start_positions: wp.array2d[wp.vec3],
    parameters: wp.array2d[float],
    anchor: wp.vec3,
    start_memory: wp.array2d[float],
    start_held: wp.array1d[wp.int32],
    start_hands: wp.array2d[wp.vec3],
    free_inv_mass: wp.array3d[float],
    start_poses: wp.array3d[float],
    roles: wp.array1d[wp.int32],
    lanes: int,
    # State:
    positions: wp.array4d[float],
    velocities: wp.array4d[float],
    inv_mass: wp.array3d[float],
    held: wp.array2d[wp.int32],
    grip_position: wp.array3d[float],
    memory: wp.array3d[float],
    poses: wp.array3d[float],
):
    """Put the chosen environments into their start configuration, at rest, hands included, and let clay forget.

    Colliders that move go to where the start state has them. Places of paddles grow with the size of the task, and the
    height of the ground is drawn elsewhere: ``roles`` says which is what.
    """
    env, i = wp.tid()
    if chosen[env] == 0:
        return
    group = env // lanes
    lane = env % lanes
    point = scaled(start_positions[start[env], i], anchor, parameters[env, SIZE])
    for axis in range(3):
        positions[group, i, axis, lane] = point[axis]
        velocities[group, i, axis, lane] = 0.0
    mass = free_inv_mass[group, i, lane]
    for slot in range(start_held.shape[0]):
        if start_held[slot] == i:
            mass = 0.0
    inv_mass[group, i, lane] = mass
    for slot1 in range(i, memory.shape[1], positions.shape[1]):
        memory[group, slot1, lane] = start_memory[start[env] % start_memory.shape[0], slot1]
    if i == 0:
        row = start[env] % start_poses.shape[0]
        for slot3 in range(start_poses.shape[1]):
            for number in range(7):
                if roles[slot3] != GROUND or number != 1:
                    poses[env, slot3, number] = start_poses[row, slot3, number]
            if roles[slot3] == PADDLE:
                origin = wp.vec3(start_poses[row, slot3, 0], start_poses[row, slot3, 1], start_poses[row, slot3, 2])
                origin = scaled(origin, anchor, parameters[env, SIZE])
                for axis3 in range(3):
                    poses[env, slot3, axis3] = origin[axis3]
        for slot2 in range(start_held.shape[0]):
            held[env, slot2] = start_held[slot2]
            hand = scaled(start_hands[start[env], slot2], anchor, parameters[env, SIZE])
            for axis2 in range(3):
                grip_position[env, slot2, axis2] = hand[axis2]


@wp.kernel
@no_type_check
def begin(
    # In:
    chosen: wp.array1d[wp.int32],
    seed: wp.array1d[wp.int32],
    start_first: wp.array1d[wp.int32],
    start_count: wp.array1d[wp.int32],
    # State:
    start: wp.array1d[wp.int32],
    elapsed: wp.array1d[wp.int32],
    episode: wp.array1d[wp.int32],
    finished: wp.array1d[wp.int32],
    streak: wp.array1d[wp.int32],
    rest_steps: wp.array1d[wp.int32],
    diverged: wp.array1d[wp.int32],
):
    """Count a new episode for the chosen environments, and sample what it starts from."""
    env = wp.tid()
    if chosen[env] != 0:
        elapsed[env] = 0
        episode[env] = episode[env] + 1
        # A stream of its own, so that the goals do not depend on how many starts there are.
        random = random_stream(~seed[env], episode[env])
        start[env] = start_first[env] + wp.randi(random, 0, start_count[env])
        finished[env] = 0
        streak[env] = 0
        rest_steps[env] = 0
        diverged[env] = 0


@wp.kernel
@no_type_check
def remember(
    # In:
    chosen: wp.array1d[wp.int32],
    performance: wp.array1d[float],
    held: wp.array2d[wp.int32],
    # Out:
    last_performance: wp.array1d[float],
    at_goal: wp.array1d[wp.int32],
    released: wp.array1d[wp.int32],
    at_rest: wp.array1d[wp.int32],
    is_success: wp.array1d[wp.int32],
):
    """Note how well an episode begins: the first gain is counted from there, whatever it is normalised with.

    No episode begins with a success: nothing has been done, and nobody has watched whether anything moves.
    """
    env = wp.tid()
    if chosen[env] != 0:
        last_performance[env] = performance[env]
        at_goal[env] = 0
        released[env] = wp.where(empty_share(held, env) == 1.0, 1, 0)
        at_rest[env] = 0
        is_success[env] = 0


@wp.kernel
@no_type_check
def count_overflow(
    # In:
    left_out: wp.array2d[wp.int32],
    # Out:
    fluid_overflow: wp.array1d[wp.int32],
):
    """Add up what each environment had no room for; one with a fluid is a group of its own."""
    env = wp.tid()
    fluid_overflow[env] = left_out[env, 0] + left_out[env, 1]
