"""Time integration: the prediction of a substep, and velocities from its corrected positions."""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.data.group import body_type, make_gain, substep_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.step import settings_type, state_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.motion.packed import make_packed_advance


@functools.cache
def make_predict(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build the prediction of the first substep: ``x = x + h (v + h (g + w f))``.

    Positions before it are kept as ``previous``.

    It reads the state, and fills the positions and weights of ``body`` that are copies of it.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
    """
    positive, body_, substep_ = wide.positive, body_type(wide.vec), substep_type(wide.vec)
    state_ = state_type(wide.vec)
    gain = make_gain(wide, options, data)

    @wp.func
    @no_type_check
    def predict(model: data, state: state_, body: body_, now: substep_, group: int, thread: int, thread_count: int):
        positions = state.positions[group]
        inv_mass = state.inv_mass[group]
        for i in range(thread, positions.shape[0], thread_count):
            w = inv_mass[i]
            free = positive(w, now.h)
            if wp.static(options.shared > 0):
                body.inv_mass[i] = w
            if wp.static(options.packed):
                body.x[i, 3] = w
            for axis in range(3):
                v = body.velocity[i, axis] + gain(model, body, i, axis, w, free)
                p = positions[i, axis]
                body.previous[i, axis] = p
                body.x[i, axis] = p + now.h * v

    return predict


@functools.cache
def make_advance(wide: Wide, options: SweepOptions, data: Any, bouncing: bool) -> Any:
    """Build the transition from one substep to the next: ``v = (x - previous) / h``, damped, and the next prediction.

    Both take one pass over memory.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
        bouncing: whether velocities are in ``body.velocity`` already, after restitution.
    """
    vec, scalar, pick, positive = wide.vec, wide.scalar, wide.pick, wide.positive
    body_, substep_ = body_type(wide.vec), substep_type(wide.vec)
    gain = make_gain(wide, options, data)
    if options.packed and not (bouncing or options.forces or options.wind):
        return make_packed_advance(wide, data)

    @wp.func
    @no_type_check
    def advance(model: data, body: body_, now: substep_, thread: int, thread_count: int):
        one = vec(scalar(1.0))
        for i in range(thread, body.x.shape[0], thread_count):
            w = body.inv_mass[i]
            free = positive(w, now.h)
            factor = pick(w, now.velocity_factor, one)
            for axis in range(3):
                p = body.x[i, axis]
                v = (p - body.previous[i, axis]) * now.inv_h
                if wp.static(bouncing):
                    v = body.velocity[i, axis]
                    body.velocity[i, axis] = wp.cw_mul(v, factor)
                v = wp.cw_mul(v, factor) + gain(model, body, i, axis, w, free)
                body.previous[i, axis] = p
                body.x[i, axis] = p + now.h * v

    return advance


@functools.cache
def make_finish(wide: Wide, options: SweepOptions, bouncing: bool) -> Any:
    """Build the end of a step: velocities into the state, and positions too if ``body`` has copies of them.

    Environments in which a particle is faster than ``max_speed`` or farther away than ``far``, or has a NaN for
    its speed or place, are marked as diverged.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for.
        bouncing: whether velocities are in ``body.velocity`` already, after restitution.
    """
    vec, scalar, lanes, pick, exceeds = wide.vec, wide.scalar, wide.lanes, wide.pick, wide.exceeds
    body_, substep_, state_ = body_type(wide.vec), substep_type(wide.vec), state_type(wide.vec)
    settings_ = settings_type(scalar)
    copied = options.shared > 0 or options.packed

    @wp.func
    @no_type_check
    def finish(
        state: state_, settings: settings_, body: body_, now: substep_, group: int, thread: int, thread_count: int
    ):
        positions = state.positions[group]
        previous = state.previous[group]
        one = vec(scalar(1.0))
        bad = vec(scalar(0.0))
        # One comparison for both limits: a second one takes the loop off the vector unit. Far below either limit the
        # other quotient is all there is.
        one_number = scalar(1.0)
        per_speed2 = one_number / (settings.max_speed * settings.max_speed)
        per_distance2 = one_number / (settings.far * settings.far)
        for i in range(thread, positions.shape[0], thread_count):
            speed2 = vec(scalar(0.0))
            distance2 = vec(scalar(0.0))
            factor = pick(body.inv_mass[i], now.velocity_factor, one)
            for axis in range(3):
                v = (body.x[i, axis] - body.previous[i, axis]) * now.inv_h
                if wp.static(bouncing):
                    v = body.velocity[i, axis]
                v = wp.cw_mul(v, factor)
                body.velocity[i, axis] = v
                if wp.static(copied):
                    positions[i, axis] = body.x[i, axis]
                    previous[i, axis] = body.previous[i, axis]
                speed2 += wp.cw_mul(v, v)
                distance2 += wp.cw_mul(body.x[i, axis], body.x[i, axis])
            bad = exceeds(per_speed2 * speed2 + per_distance2 * distance2, one_number, bad)
        for lane in range(int(wp.static(lanes))):
            if bad[lane] > scalar(0.0):
                state.diverged[group * wp.static(lanes) + lane] = 1

    return finish
