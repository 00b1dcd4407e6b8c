"""Parts that all tasks share: the end of a step, and the start of an episode."""

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
    """Return the share of an environment's grips that hold nothing; 1 if it has none."""
    empty = int(0)
    for slot in range(held.shape[1]):
        if held[env, slot] < 0:
            empty += 1
    return float(empty) / float(wp.max(held.shape[1], 1)) + wp.where(held.shape[1] == 0, 1.0, 0.0)


@wp.func
@no_type_check
def sum_of_terms(terms: wp.array2d[float], env: int):
    """Return the sum of the reward terms of an environment."""
    total = float(0.0)
    for k in range(terms.shape[1]):
        total += terms[env, k]
    return total


@wp.func
@no_type_check
def finish_reward(normalized: float, at_goal: wp.int32, done: float, success: wp.int32):
    """Return the reward for putting something down: the normalised performance, other conditions ``done``, and success.

    It is at least -1 before the goal, since otherwise the few episodes that end much farther from it than they began
    would dominate the learning. At the goal the share that is done is added.
    """
    return wp.max(normalized, -1.0) + float(at_goal) * done + float(success)


@wp.func
@no_type_check
def done_share(let_go: int, empty: float, rest_steps: wp.int32, rest_needed: int):
    """Return the completed share of the conditions for success besides the goal.

    For hands, which must release, it is the share that is ``empty``. They learn to open one at a time, since the
    objects of an exploring agent are hardly ever all at rest. For plates and cups, which release nothing, it is 1 plus
    the share of the required rest time.
    """
    calm = wp.min(float(rest_steps) / float(wp.max(rest_needed, 1)), 1.0)
    return wp.where(let_go != 0, empty, 1.0 + calm)


@wp.struct
class Rules:
    """Rules that determine rewards and ends."""

    autoreset: int
    reward_mode: int
    time_limit: int
    """Steps of an episode, 0 for no limit."""
    best: float
    """Performance that counts as 1 when normalised."""
    success_at: float
    """Normalised performance that counts as being at the goal; if not above zero, the score decides."""
    let_go: int
    """Whether success requires that nothing is held."""
    rest_needed: int
    """Number of control steps for which success requires everything to be at rest."""


@wp.struct
class Physics:
    """Physics results of each environment."""

    held: wp.array2d[wp.int32]
    failed: wp.array1d[wp.int32]
    overflow: wp.array1d[wp.int32]
    pierced: wp.array1d[wp.int32]
    inverted: wp.array1d[wp.int32]


@wp.struct
class Rating:
    """Ratings of each environment; buffers by name."""

    terms: wp.array2d[float]
    start_performance: wp.array1d[float]
    last_performance: wp.array1d[float]
    performance: wp.array1d[float]
    normalized_performance: wp.array1d[float]
    reward: wp.array1d[float]


@wp.struct
class Signs:
    """Conditions of success; buffers by name."""

    rest_steps: wp.array1d[wp.int32]
    at_goal: wp.array1d[wp.int32]
    released: wp.array1d[wp.int32]
    at_rest: wp.array1d[wp.int32]
    met: wp.array2d[wp.int32]
    """Conditions of the task itself, shape (num_envs, conditions)."""
    is_success: wp.array1d[wp.int32]


@wp.struct
class Ends:
    """Progress of each episode, and its end conditions; buffers by name."""

    elapsed: wp.array1d[wp.int32]
    finished: wp.array1d[wp.int32]
    contact_overflow: wp.array1d[wp.int32]
    piercings: wp.array1d[wp.int32]
    inverted: wp.array1d[wp.int32]
    diverged: wp.array1d[wp.int32]
    terminated: wp.array1d[wp.int32]
    truncated: wp.array1d[wp.int32]
    restart: wp.array1d[wp.int32]


@wp.struct
class StartStates:
    """Start states of episodes."""

    positions: wp.array2d[wp.vec3]
    """Positions of the particles, shape (starts, n) [m]."""
    memory: wp.array2d[float]
    """Permanent strains of clay, shape (1 or starts, k)."""
    held: wp.array1d[wp.int32]
    """Particle in each grip, -1 for none."""
    hands: wp.array2d[wp.vec3]
    """Places of the grips, shape (starts, grips) [m]."""
    poses: wp.array3d[float]
    """Poses of moving colliders, shape (1 or starts, moving, 7)."""
    roles: wp.array1d[wp.int32]
    """Role of each moving collider in the task."""


@wp.struct
class Bodies:
    """The physical state of the batch."""

    lanes: int
    free_inv_mass: wp.array3d[float]
    positions: wp.array4d[float]
    velocities: wp.array4d[float]
    inv_mass: wp.array3d[float]
    held: wp.array2d[wp.int32]
    grip_position: wp.array3d[float]
    memory: wp.array3d[float]
    poses: wp.array3d[float]


@wp.kernel
@no_type_check
def conclude(
    # In:
    rules: Rules,
    physics: Physics,
    # State:
    rating: Rating,
    signs: Signs,
    ends: Ends,
):
    """Compute the reward, count the step, and mark the environments that end and those that restart.

    The reward is the sum of the terms (dense, and sparse if the terms are sparse), the gain of performance (delta), the
    normalised performance, or :func:`finish_reward`. Success requires more than being at the goal if ``let_go`` is not
    zero (nothing may be held) or ``rest_needed`` is not (``rest_steps`` must have reached it), see
    :class:`pbd_gym.envs.core.task.Completion`, and all conditions of the task itself.

    ``finished`` marks environments whose episode was over before this step. In next-step mode they are reset now: their
    reward is zero and nothing ends. An environment whose physics failed (see :mod:`pbd_gym.envs.core.episode.watching`)
    has already been reset to the start, is rated there, and is terminated. So is one whose rating is not finite, which
    counts as zero.
    """
    env = wp.tid()
    resetting = rules.autoreset == NEXT_STEP and ends.finished[env] != 0
    bad, over, unrated = int(0), int(0), int(0)
    for k in range(rating.terms.shape[1]):
        if not wp.isfinite(rating.terms[env, k]):
            rating.terms[env, k] = 0.0
            unrated = 1
    start = rating.start_performance[env]
    if not wp.isfinite(start):
        start = 0.0
        rating.start_performance[env] = 0.0
        unrated = 1
    before = rating.last_performance[env]
    if not wp.isfinite(before):
        before = start
        unrated = 1
    if not wp.isfinite(rating.performance[env]):
        rating.performance[env] = start
        unrated = 1
    if not resetting:
        bad = wp.max(physics.failed[env], unrated)
        ends.elapsed[env] = ends.elapsed[env] + 1
        if rules.time_limit > 0 and ends.elapsed[env] >= rules.time_limit:
            over = 1
    if resetting:
        for k in range(rating.terms.shape[1]):
            rating.terms[env, k] = 0.0
    total = sum_of_terms(rating.terms, env)
    # 0 is where the episode started and 1 is perfect, as SoftGym defines it.
    normalized = (rating.performance[env] - start) / wp.max(rules.best - start, 1.0e-6)
    rating.normalized_performance[env] = normalized
    if rules.success_at > 0.0:
        signs.at_goal[env] = wp.where(normalized >= rules.success_at, 1, 0)
    signs.at_rest[env] = wp.where(signs.rest_steps[env] >= rules.rest_needed, 1, 0)
    if bad != 0:  # it has been reset to the start
        signs.at_goal[env] = 0
        signs.at_rest[env] = 0
    empty = empty_share(physics.held, env)
    signs.released[env] = wp.where(empty == 1.0, 1, 0)
    success = signs.at_goal[env] * signs.at_rest[env] * wp.where(rules.let_go != 0, signs.released[env], 1)
    for k in range(signs.met.shape[1]):
        success *= signs.met[env, k]
    signs.is_success[env] = success
    rating.last_performance[env] = rating.performance[env]
    if not resetting:
        if rules.reward_mode == DELTA:
            total = rating.performance[env] - before
        elif rules.reward_mode == NORMALIZED:
            total = normalized
        elif rules.reward_mode == FINISH:
            total = done_share(rules.let_go, empty, signs.rest_steps[env], rules.rest_needed)
            total = finish_reward(normalized, signs.at_goal[env], total, signs.is_success[env])
        elif rules.reward_mode == SPARSE and rules.success_at > 0.0:
            total = float(signs.is_success[env]) - 1.0
    if not wp.isfinite(total) or not wp.isfinite(normalized):  # finite terms whose sum is not
        total = 0.0
        rating.normalized_performance[env] = 0.0
        signs.at_goal[env] = 0
        signs.is_success[env] = 0
        if not resetting:
            bad = 1
    rating.reward[env] = total
    ends.contact_overflow[env] = physics.overflow[env]
    ends.piercings[env] = physics.pierced[env]
    ends.inverted[env] = physics.inverted[env]
    ends.diverged[env] = bad
    ends.terminated[env] = bad
    ends.truncated[env] = over
    ended = bad != 0 or over != 0
    ends.restart[env] = 0
    if resetting or (ended and rules.autoreset == SAME_STEP):
        ends.restart[env] = 1
    ends.finished[env] = 0
    if ended and rules.autoreset != SAME_STEP:
        ends.finished[env] = 1


@wp.kernel
@no_type_check
def reset_state(
    # In:
    chosen: wp.array1d[wp.int32],
    start: wp.array1d[wp.int32],
    states: StartStates,
    parameters: wp.array2d[float],
    anchor: wp.vec3,
    # State:
    bodies: Bodies,
):
    """Put the chosen environments into their start configuration, at rest, including hands, and clear clay's memory.

    Moving colliders go to their place in the start state. Places of paddles grow with the size of the task, and the
    height of the ground is drawn elsewhere: ``roles`` distinguishes them.
    """
    env, i = wp.tid()
    if chosen[env] == 0:
        return
    group = env // bodies.lanes
    lane = env % bodies.lanes
    point = scaled(states.positions[start[env], i], anchor, parameters[env, SIZE])
    for axis in range(3):
        bodies.positions[group, i, axis, lane] = point[axis]
        bodies.velocities[group, i, axis, lane] = 0.0
    mass = bodies.free_inv_mass[group, i, lane]
    for slot in range(states.held.shape[0]):
        if states.held[slot] == i:
            mass = 0.0
    bodies.inv_mass[group, i, lane] = mass
    for slot in range(i, bodies.memory.shape[1], bodies.positions.shape[1]):
        bodies.memory[group, slot, lane] = states.memory[start[env] % states.memory.shape[0], slot]
    if i == 0:
        row = start[env] % states.poses.shape[0]
        for slot in range(states.poses.shape[1]):
            for number in range(7):
                if states.roles[slot] != GROUND or number != 1:
                    bodies.poses[env, slot, number] = states.poses[row, slot, number]
            if states.roles[slot] == PADDLE:
                origin = wp.vec3(states.poses[row, slot, 0], states.poses[row, slot, 1], states.poses[row, slot, 2])
                origin = scaled(origin, anchor, parameters[env, SIZE])
                for axis in range(3):
                    bodies.poses[env, slot, axis] = origin[axis]
        for slot in range(states.held.shape[0]):
            bodies.held[env, slot] = states.held[slot]
            hand = scaled(states.hands[start[env], slot], anchor, parameters[env, SIZE])
            for axis in range(3):
                bodies.grip_position[env, slot, axis] = hand[axis]


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
    """Begin a new episode of the chosen environments, and sample its start."""
    env = wp.tid()
    if chosen[env] != 0:
        elapsed[env] = 0
        episode[env] = episode[env] + 1
        # A separate stream, so that the goals do not depend on the number of starts.
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
    """Store the performance at the beginning of an episode, from which the first gain is counted, however it is
    normalised.

    No episode begins with a success: nothing has been done, and rest has not been observed yet.
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
    """Add up the overflows of each environment; one with a fluid is a group of its own."""
    env = wp.tid()
    fluid_overflow[env] = left_out[env, 0] + left_out[env, 1]
