"""Actions: how a vector in [-1, 1] moves, grasps and releases particles, and moves solids.

Modes differ in their kernel; all of them determine the particle that each grip holds, and the displacement of each grip
or solid during the control step.
"""

from __future__ import annotations

from typing import Any, no_type_check

import warp as wp

from pbd_gym.envs.core.data.buffers import device_indices, filled, prepare
from pbd_gym.envs.core.data.hands import LIFT, Hands, slots_of
from pbd_gym.envs.core.data.modes import GRASPING_MODES
from pbd_gym.envs.core.data.randomization import SIZE, scaled
from pbd_gym.envs.core.parts.measures import point
from pbd_gym.envs.core.task import World
from pbd_gym.kernels.grips.holding import set_held

wp.set_module_options({"enable_backward": False})


@wp.func
@no_type_check
def limit_stretch(a: wp.vec3, b: wp.vec3, limit: float):
    """Return two points pulled together until they are at most ``limit`` apart."""
    gap = b - a
    distance = wp.length(gap)
    if distance > limit:
        shift = gap * (0.5 * (distance - limit) / distance)
        a += shift
        b -= shift
    return a, b


@wp.struct
class HandRow:
    """Capabilities of hands; see :class:`Hands`."""

    count: int
    """Number of hands."""
    stride: int
    """Numbers of each hand in an action."""
    absolute: int
    """Whether these are a place in the box rather than a displacement."""
    axes: int
    max_step: float
    max_change: float
    ctrl_dt: float
    lower: wp.vec3
    upper: wp.vec3
    floor: float
    max_stretch: float


@wp.kernel
@no_type_check
def move_grips(
    # In:
    actions: wp.array2d[float],
    hands: HandRow,
    parameters: wp.array2d[float],
    anchor: wp.vec3,
    rest: wp.array1d[wp.vec3],
    held: wp.array2d[wp.int32],
    grip_position: wp.array3d[float],
    lanes: int,
    positions: wp.array4d[float],
    velocities: wp.array4d[float],
    # Out:
    motion: wp.array3d[float],
):
    """Convert the first numbers of each hand, one per axis, to its displacement.

    They are a displacement or, if ``absolute`` is not zero, a place in the box, from -1 at its lower to 1 at its upper
    side, which is approached in a straight line. The displacement is limited to the box, whose walls stop a hand
    immediately, to the stretch limit, and so that held particles do not go below the box either.
    """
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    size = parameters[env, SIZE]
    low = scaled(hands.lower, anchor, size)
    high = scaled(hands.upper, anchor, size)
    lowest = scaled(wp.vec3(0.0, hands.floor, 0.0), anchor, size)
    for slot in range(hands.count):
        farthest = float(0.0)  # of the hands.axes of a hands.absolute place
        if hands.absolute != 0:
            for axis in range(hands.axes):
                a = wp.clamp(actions[env, slot * hands.stride + axis], -1.0, 1.0)
                target = low[axis] + 0.5 * (a + 1.0) * (high[axis] - low[axis])
                farthest = wp.max(farthest, wp.abs(target - grip_position[env, slot, axis]))
        for axis in range(3):
            start = grip_position[env, slot, axis]
            command = float(0.0)
            if axis < hands.axes:
                command = wp.clamp(actions[env, slot * hands.stride + axis], -1.0, 1.0)
            step = hands.max_step * command
            if hands.absolute != 0:
                away = low[axis] + 0.5 * (command + 1.0) * (high[axis] - low[axis]) - start
                step = away * wp.min(1.0, hands.max_step / wp.max(farthest, 1.0e-9))
                if axis >= hands.axes:
                    step = 0.0
            i_held = held[env, slot]
            if i_held >= 0 and hands.max_change > 0.0 and hands.absolute == 0:
                before = velocities[group, i_held, axis, lane] * hands.ctrl_dt
                step = wp.clamp(before + hands.max_change * command, -hands.max_step, hands.max_step)
            move = wp.clamp(start + step, low[axis], high[axis]) - start
            if i_held >= 0 and axis == 1:
                # A particle grasped below the hand is not pressed into the ground.
                move = wp.max(move, wp.min(lowest[axis] - positions[group, i_held, axis, lane], 0.0))
            motion[env, slot, axis] = move
    for first in range(hands.count):
        for second in range(first + 1, hands.count):
            i = held[env, first]
            j = held[env, second]
            if i >= 0 and j >= 0:
                # The held particle counts, since a hand may have grasped it from some distance.
                p = point(positions, group, i, lane)
                q = point(positions, group, j, lane)
                p_move = wp.vec3(motion[env, first, 0], motion[env, first, 1], motion[env, first, 2])
                q_move = wp.vec3(motion[env, second, 0], motion[env, second, 1], motion[env, second, 2])
                limit = hands.max_stretch * size * wp.length(rest[i] - rest[j])
                # Points already farther apart need not come closer, but rounding must not let them creep outwards.
                if wp.length(p - q) > 1.001 * limit:
                    limit = wp.length(p - q)
                p_end, q_end = limit_stretch(p + p_move, q + q_move, limit)
                for axis in range(3):
                    motion[env, first, axis] = p_end[axis] - p[axis]
                    motion[env, second, axis] = q_end[axis] - q[axis]


@wp.kernel
@no_type_check
def grasp(
    # In:
    actions: wp.array2d[float],
    stride: int,
    reach: float,
    hand_count: int,
    free_inv_mass: wp.array3d[float],
    lanes: int,
    positions: wp.array4d[float],
    # State:
    grip_position: wp.array3d[float],
    held: wp.array2d[wp.int32],
    inv_mass: wp.array3d[float],
    velocities: wp.array4d[float],
):
    """Release, then grasp: a closing hand grasps the nearest free particle within reach of its current place."""
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    for slot in range(hand_count):
        if actions[env, slot * stride + stride - 1] <= 0.0:
            set_held(env, slot, -1, free_inv_mass, lanes, held, inv_mass, velocities)
    for slot in range(hand_count):
        if actions[env, slot * stride + stride - 1] > 0.0 and held[env, slot] < 0:
            nearest = int(-1)
            best = reach * reach
            for i in range(positions.shape[1]):
                dx = positions[group, i, 0, lane] - grip_position[env, slot, 0]
                dy = positions[group, i, 1, lane] - grip_position[env, slot, 1]
                dz = positions[group, i, 2, lane] - grip_position[env, slot, 2]
                d2 = dx * dx + dy * dy + dz * dz
                if d2 <= best and inv_mass[group, i, lane] > 0.0:
                    best = d2
                    nearest = i
            set_held(env, slot, nearest, free_inv_mass, lanes, held, inv_mass, velocities)


@wp.kernel
@no_type_check
def pin(
    # In:
    actions: wp.array2d[float],
    particles: wp.array1d[wp.int32],
    free_inv_mass: wp.array3d[float],
    lanes: int,
    positions: wp.array4d[float],
    # State:
    grip_position: wp.array3d[float],
    held: wp.array2d[wp.int32],
    inv_mass: wp.array3d[float],
    velocities: wp.array4d[float],
    motion: wp.array3d[float],
):
    """Fix particle ``slot`` in space while its action is above zero, and release it otherwise."""
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    for slot in range(particles.shape[0]):
        i = particles[slot]
        if actions[env, slot] <= 0.0:
            set_held(env, slot, -1, free_inv_mass, lanes, held, inv_mass, velocities)
        elif held[env, slot] < 0 and inv_mass[group, i, lane] > 0.0:
            set_held(env, slot, i, free_inv_mass, lanes, held, inv_mass, velocities)
        for axis in range(3):
            motion[env, slot, axis] = 0.0
            grip_position[env, slot, axis] = positions[group, i, axis, lane]


@wp.kernel
@no_type_check
def stage(
    # In:
    actions: wp.array2d[float],
    at_place: int,
    carried: int,
    closed: float,
    height: float,
    lower: wp.vec3,
    upper: wp.vec3,
    parameters: wp.array2d[float],
    anchor: wp.vec3,
    # Out:
    commands: wp.array2d[float],
):
    """Write the equivalent of mode ``pick_place`` for one stage of an action: a place in the box, and the grip.

    While something is carried, y is the carrying height.
    """
    env = wp.tid()
    first = 3 * at_place
    size = parameters[env, SIZE]
    low = scaled(lower, anchor, size)
    high = scaled(upper, anchor, size)
    commands[env, 0] = actions[env, first]
    commands[env, 1] = actions[env, 1]
    commands[env, 2] = actions[env, first + 2]
    if carried != 0:
        commands[env, 1] = wp.clamp(2.0 * (height - low[1]) / (high[1] - low[1]) - 1.0, -1.0, 1.0)
    commands[env, 3] = closed


@wp.func
@no_type_check
def angle_of(poses: wp.array3d[float], env: int, slot: int):
    """Return the angle of a solid that turns only about the vertical [rad], from -pi to pi."""
    return 2.0 * wp.atan2(poses[env, slot, 4], poses[env, slot, 6])


@wp.kernel
@no_type_check
def move_paddles(
    # In:
    actions: wp.array2d[float],
    stride: int,
    max_step: float,
    max_turn: float,
    widest_turn: float,
    slots: wp.array1d[wp.int32],
    lower: wp.array1d[wp.vec3],
    upper: wp.array1d[wp.vec3],
    parameters: wp.array2d[float],
    anchor: wp.vec3,
    poses: wp.array3d[float],
    # Out:
    motion: wp.array3d[float],
):
    """Convert the numbers of each paddle to its displacement and its rotation about the vertical, limited to their
    ranges.
    """
    env = wp.tid()
    size = parameters[env, SIZE]
    for k in range(slots.shape[0]):
        slot = slots[k]
        low = scaled(lower[k], anchor, size)
        high = scaled(upper[k], anchor, size)
        for axis in range(3):
            start = poses[env, slot, axis]
            step = max_step * wp.clamp(actions[env, k * stride + axis], -1.0, 1.0)
            motion[env, slot, axis] = wp.clamp(start + step, low[axis], high[axis]) - start
        if stride > 3:
            angle = angle_of(poses, env, slot)
            turn = max_turn * wp.clamp(actions[env, k * stride + 3], -1.0, 1.0)
            motion[env, slot, 4] = wp.clamp(angle + turn, -widest_turn, widest_turn) - angle


class Moves:
    """Launches that apply the actions of a batch.

    Args:
        world: the environments; the numbers of their actions are in the buffer ``actions``.
    """

    def __init__(self, world: World) -> None:
        self._launches: list[list[Any]] = []
        """Launches of each control step of an action; those of the last one serve all that follow."""
        acts, numbers = world.actions, world.buffers["actions"]
        if acts.mover is not None:
            self._launches.append([acts.mover.prepare(numbers, world.state, world.control)])
        elif acts.paddles:
            self._launches.append([_move_paddles(world)])
        elif acts.mode == "pin":
            particles, motion = device_indices(world, acts.particles), world.control.motion
            self._launches.append([prepare(world, pin, numbers, particles, *_where(world), *_grips(world), motion)])
        elif not acts.stages:
            max_step = acts.hands.max_step
            self._launches.append(_control_step(world, numbers, acts.stride, acts.mode == "pick_place", max_step))
        for count, (at_place, carried, closed) in acts.stages:
            commands = wp.zeros((world.num_envs, 4), dtype=float, device=world.model.device)
            staged = prepare(
                world, stage, numbers, at_place, carried, closed, _floor(acts.hands) + LIFT,
                *_box(acts.hands), world.buffers["parameters"], world.anchor, commands,
            )  # fmt: skip
            fast = 1.0e6 if not self._launches else acts.hands.max_step  # the first is immediate
            self._launches.extend([[staged, *_control_step(world, commands, 4, True, fast)]] * count)

    def launch(self, step: int = 0) -> None:
        """Apply the current actions in one of their control steps."""
        for command in self._launches[min(step, len(self._launches) - 1)]:
            command.launch()


def _grips(world: World) -> tuple[Any, ...]:
    """Return the arrays of hands, and of the data that changes when they grasp something."""
    state = world.state
    return state.grip_positions, state.held, state.inv_mass_scalar, state.velocities_scalar


def _where(world: World) -> tuple[Any, ...]:
    """Return the masses and positions that grasping hands use."""
    return world.state.free_inv_mass_scalar, world.model.lanes, world.state.positions_scalar


def _box(hands: Hands) -> tuple[Any, Any]:
    return wp.vec3(*hands.lower), wp.vec3(*hands.upper)


def _floor(hands: Hands) -> float:
    return hands.lower[1] if hands.floor is None else hands.floor


def _control_step(world: World, numbers: Any, stride: int, absolute: bool, max_step: float) -> list[Any]:
    """Return the launches of a control step: grasp or release, then move.

    Args:
        world: the environments.
        numbers: device array, shape (num_envs, at least stride * hands), float32.
        stride: numbers per hand. absolute: whether they are a place in the box rather than a displacement.
        max_step: largest move along an axis [m].
    """
    acts, hands, state = world.actions, world.actions.hands, world.state
    rest = wp.array(world.scene.positions, dtype=wp.vec3, device=world.model.device)
    lower, upper = _box(hands)
    row = filled(
        HandRow,
        count=acts.grip_count,
        stride=stride,
        absolute=int(absolute),
        axes=hands.axes,
        max_step=max_step,
        max_change=hands.max_change,
        ctrl_dt=world.config.ctrl_dt,
        lower=lower,
        upper=upper,
        floor=_floor(hands),
        max_stretch=hands.max_stretch,
    )
    take = prepare(world, grasp, numbers, stride, hands.reach, acts.grip_count, *_where(world), *_grips(world))
    move = prepare(
        world, move_grips, numbers, row, world.buffers["parameters"], world.anchor, rest, state.held,
        state.grip_positions, world.model.lanes, state.positions_scalar, state.velocities_scalar, world.control.motion,
    )  # fmt: skip
    return [take, move] if acts.mode in GRASPING_MODES else [move]


def _move_paddles(world: World) -> Any:
    """Return the launch that converts actions to the motion of paddles."""
    acts, hands, state = world.actions, world.actions.hands, world.state
    lower, upper = (
        wp.array([getattr(paddle, name) for paddle in acts.paddles], dtype=wp.vec3, device=world.model.device)
        for name in ("lower", "upper")
    )
    return prepare(
        world, move_paddles, world.buffers["actions"], acts.stride, hands.max_step, hands.max_turn, hands.widest_turn,
        device_indices(world, slots_of(acts.paddles, world.model)), lower, upper, world.buffers["parameters"],
        world.anchor, state.poses, world.control.collider_motion,
    )  # fmt: skip
