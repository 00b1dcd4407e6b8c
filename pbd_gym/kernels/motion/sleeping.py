"""Sleep: an environment at rest keeps its positions, bit for bit, until something can move it.

An environment whose particles have been at rest for :data:`REST_TIME`, held by nothing, falls asleep at the end of a
control step: its velocities become zero. It wakes with the control step in which a hand holds one of its particles, a
collider moves, or a force or wind acts, or after its positions, velocities or parameters have been set. Awake
environments do not depend on others: sleeping ones that share their lanes are computed without contacts, and restored
afterwards.

An environment is at rest if no particle has moved faster than :data:`FAST` in a control step, and at most one in
:data:`FEW` faster than :data:`SLOW`: crumpled cloth is never quite still, and creeps and trembles at such speeds. Both
limits are lower where gravity is so weak that a body falling from rest would not exceed them. Nothing sleeps while
bodies that were placed in an overlap are still parting.
"""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.data.group import substep_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.step import control_type, settings_type, state_type
from pbd_gym.kernels.lanes.wide import Wide, barrier

REST_TIME = 0.2
"""Time for which an environment has been at rest when it falls asleep [s]."""
SLOW, FAST, FEW = 0.01, 0.05, 20
"""Largest mean speeds in a control step of particles at rest [m/s]: of most of them, and of one in so many."""
NEARLY = 0.999
"""Share of that time that suffices, because of rounding."""
MOST = 2**20
"""Number of particles to which one thread counts those that move."""
ASLEEP, STIRRED = 0, 1
"""Columns of ``contacts.asleep``: whether an environment sleeps, and how many particles have kept it from rest."""


@wp.func
@no_type_check
def is_held(held: wp.array2d[wp.int32], collider_motion: wp.array3d[Any], env: int):
    """Return whether a hand holds something in an environment, or a collider moves."""
    found = bool(False)
    for grip in range(held.shape[1]):
        if held[env, grip] >= 0:
            found = True
    for k in range(collider_motion.shape[1]):
        for number in range(6):
            if collider_motion[env, k, number] != collider_motion.dtype(0.0):
                found = True
    return found


class Sleep(NamedTuple):
    """Warp functions for all threads of a group."""

    doze: Any
    """Function (model, control, state, group, thread, threads) -> int: finds which environments sleep in this step,
    keeps what they have, and returns whether one is awake, 0 or 1.
    """
    settle: Any
    """Function (model, settings, state, now, group, thread, threads): puts back those that sleep, and lets others fall
    asleep.
    """


def _make_no_sleep(wide: Wide, data: Any) -> Sleep:
    """Build the functions of :class:`Sleep` for a kernel in which everything is awake."""
    control_, state_, substep_ = control_type(wide.vec), state_type(wide.vec), substep_type(wide.vec)
    settings_ = settings_type(wide.scalar)

    @wp.func
    @no_type_check
    def doze(model: data, control: control_, state: state_, group: int, thread: int, threads: int):
        return 1

    @wp.func
    @no_type_check
    def settle(
        model: data, settings: settings_, state: state_, now: substep_, group: int, thread: int, threads: int
    ):  # fmt: skip
        pass

    return Sleep(doze, settle)


@functools.cache
def _make_rest_column(data: Any) -> Any:
    """Build the function for the place of the time at rest among what is remembered."""

    @wp.func
    @no_type_check
    def rest_column(model: data):
        """Return the place of the time at rest among what is remembered; the number of piercings follows it."""
        return model.particle_contacts.first_memory + model.particle_contacts.members.shape[0]

    return rest_column


def _make_doze(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build :attr:`Sleep.doze` where environments sleep."""
    scalar, lanes, exceeds = wide.scalar, wide.lanes, wide.exceeds
    vec: Any = wide.vec
    control_, state_ = control_type(vec), state_type(vec)
    rest_column = _make_rest_column(data)

    @wp.func
    @no_type_check
    def doze(model: data, control: control_, state: state_, group: int, thread: int, threads: int):
        zero = scalar(0.0)
        asleep = state.contacts.asleep
        positions = state.positions[group]
        previous = state.previous[group]
        velocities = state.velocities[group]
        kept = state.slept[group]
        if thread == 0:
            for lane in range(int(wp.static(lanes))):
                env = group * wp.static(lanes) + lane
                held = is_held(state.held, control.collider_motion, env)
                time = state.memory[group, rest_column(model)]
                rested = time[lane] >= scalar(wp.static(NEARLY * REST_TIME))
                asleep[env, wp.static(ASLEEP)] = wp.where(rested and not held, 1, 0)
                asleep[env, wp.static(STIRRED)] = wp.where(held, positions.shape[0], 0)
        barrier()
        # A sleeping particle has no velocity, and is where the last substep left it, unless somebody has moved it.
        stirs = vec(zero)
        pushed = vec(zero)
        for i in range(thread, positions.shape[0], threads):
            for axis in range(3):
                x = positions[i, axis]
                kept[i, axis] = x
                stirs = exceeds(wp.abs(velocities[i, axis]), zero, stirs)
                stirs = exceeds(wp.abs(x - previous[i, axis]), zero, stirs)
                if wp.static(options.forces):
                    pushed = exceeds(wp.abs(control.forces[group, i, axis]), zero, pushed)
        if wp.static(options.wind):
            for axis in range(3):
                blows = wp.cw_mul(control.air.wind[group, axis], control.air.wind[group, 3])
                pushed = exceeds(wp.abs(blows), zero, pushed)
        for lane in range(int(wp.static(lanes))):
            env = group * wp.static(lanes) + lane
            if stirs[lane] + pushed[lane] > zero:
                asleep[env, wp.static(ASLEEP)] = 0
            if pushed[lane] > zero:
                asleep[env, wp.static(STIRRED)] = positions.shape[0]
        barrier()
        awake = int(0)
        pierced = state.memory[group, rest_column(model) + 1]
        for lane in range(int(wp.static(lanes))):
            env = group * wp.static(lanes) + lane
            if asleep[env, wp.static(ASLEEP)] == 0:
                awake = 1
            elif thread == 0:
                state.contacts.piercings[env] = int(pierced[lane])
        if wp.static(lanes > 1):
            for k in range(thread, state.memory.shape[1], threads):
                state.slept_memory[group, k] = state.memory[group, k]
        return awake

    return doze


def _make_put_back(wide: Wide) -> Any:
    """Build the function that puts environments back where they slept."""
    scalar, pick = wide.scalar, wide.pick
    vec: Any = wide.vec
    state_ = state_type(vec)

    @wp.func
    @no_type_check
    def put_back(state: state_, asleep: vec, group: int, thread: int, threads: int):
        """Put environments back where they slept."""
        none = vec(scalar(0.0))
        for i in range(thread, state.positions.shape[1], threads):
            for axis in range(3):
                x = state.slept[group, i, axis]
                state.positions[group, i, axis] = pick(asleep, x, state.positions[group, i, axis])
                state.previous[group, i, axis] = pick(asleep, x, state.previous[group, i, axis])
                state.velocities[group, i, axis] = pick(asleep, none, state.velocities[group, i, axis])
        for k in range(thread, state.memory.shape[1], threads):
            state.memory[group, k] = pick(asleep, state.slept_memory[group, k], state.memory[group, k])

    return put_back


def _make_stirred(wide: Wide, data: Any) -> Any:
    """Build the function that counts the particles for which environments are not at rest."""
    scalar, exceeds = wide.scalar, wide.exceeds
    vec: Any = wide.vec
    state_, substep_, settings_ = state_type(vec), substep_type(vec), settings_type(scalar)

    @wp.func
    @no_type_check
    def stirred(model: data, settings: settings_, state: state_, now: substep_, group: int, thread: int, threads: int):
        """Return for how many particles, at most, environments are not at rest: all of them if one alone is enough."""
        one = vec(scalar(1.0))
        all = vec(scalar(state.positions.shape[1]))
        count = vec(scalar(0.0))
        none = vec(scalar(0.0))
        # Whatever falls from rest has that speed in the middle of this time.
        limit = scalar(wp.static(0.5 * REST_TIME)) * (scalar(0.5) * now.inv_h) * now.resting_speed
        time = settings.h * scalar(settings.substeps)
        slow = vec(time * scalar(wp.static(SLOW)))
        fast = vec(time * scalar(wp.static(FAST)))
        share = wp.min(one, limit * (one[0] / scalar(wp.static(FAST))))
        slow2 = wp.cw_mul(wp.cw_mul(slow, share), wp.cw_mul(slow, share))
        fast2 = wp.cw_mul(wp.cw_mul(fast, share), wp.cw_mul(fast, share))
        for i in range(thread, state.positions.shape[1], threads):
            square = vec(scalar(0.0))
            for axis in range(3):
                way = state.positions[group, i, axis] - state.slept[group, i, axis]
                square += wp.cw_mul(way, way)
            count += exceeds(square - slow2, scalar(0.0), none)
            count += wp.cw_mul(all, exceeds(square - fast2, scalar(0.0), none))
        first = model.particle_contacts.first_memory
        for k in range(thread, model.particle_contacts.members.shape[0], threads):
            count += wp.cw_mul(all, exceeds(wp.abs(state.memory[group, first + k]), scalar(0.0), none))
        return count

    return stirred


def _make_settle(wide: Wide, data: Any) -> Any:
    """Build :attr:`Sleep.settle` where environments sleep."""
    scalar, lanes, pick = wide.scalar, wide.lanes, wide.pick
    vec: Any = wide.vec
    state_, substep_, settings_ = state_type(vec), substep_type(vec), settings_type(scalar)
    rest_column, put_back, stirred = _make_rest_column(data), _make_put_back(wide), _make_stirred(wide, data)

    @wp.func
    @no_type_check
    def settle(model: data, settings: settings_, state: state_, now: substep_, group: int, thread: int, threads: int):
        asleep = state.contacts.asleep
        column = rest_column(model)
        flags = vec(scalar(0.0))
        slept = int(0)
        for lane in range(int(wp.static(lanes))):
            if asleep[group * wp.static(lanes) + lane, wp.static(ASLEEP)] != 0:
                flags[lane] = scalar(1.0)
                slept = 1
        if wp.static(lanes > 1):
            if slept != 0:
                put_back(state, flags, group, thread, threads)
        count = stirred(model, settings, state, now, group, thread, threads)
        for lane in range(int(wp.static(lanes))):
            found = int(wp.min(count[lane], scalar(wp.static(float(MOST)))))
            if found > 0:
                wp.atomic_add(asleep, group * wp.static(lanes) + lane, wp.static(STIRRED), found)
        barrier()
        time = settings.h * scalar(settings.substeps)
        long_enough = scalar(wp.static(NEARLY * REST_TIME))
        rest = state.memory[group, column]
        pierced = state.memory[group, column + 1]
        still = vec(scalar(0.0))
        for lane in range(int(wp.static(lanes))):
            env = group * wp.static(lanes) + lane
            if flags[lane] > scalar(0.0):
                if thread == 0:
                    state.diverged[env] = 0
                    state.contacts.piercings[env] = int(pierced[lane])
            else:
                few = asleep[env, wp.static(STIRRED)] * wp.static(FEW) <= state.positions.shape[1]
                rested = rest[lane]
                if rested >= long_enough:  # it has just been woken
                    rested = scalar(0.0)
                rested = rested + time
                if not few or state.diverged[env] != 0:
                    rested = scalar(0.0)
                rest[lane] = rested
                pierced[lane] = scalar(state.contacts.piercings[env])
                if rested >= long_enough:
                    still[lane] = scalar(1.0)
        barrier()
        if thread == 0:
            state.memory[group, column] = rest
            state.memory[group, column + 1] = pierced
        zero = vec(scalar(0.0))
        for i in range(thread, state.positions.shape[1], threads):
            for axis in range(3):
                x = state.positions[group, i, axis]
                state.previous[group, i, axis] = pick(still, x, state.previous[group, i, axis])
                state.velocities[group, i, axis] = pick(still, zero, state.velocities[group, i, axis])
        barrier()

    return settle


@functools.cache
def make_sleep(wide: Wide, options: SweepOptions, data: Any) -> Sleep:
    """Build both functions of :class:`Sleep`.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model, with contacts of surfaces if environments sleep.
    """
    if not options.sleep:
        return _make_no_sleep(wide, data)
    return Sleep(_make_doze(wide, options, data), _make_settle(wide, data))
