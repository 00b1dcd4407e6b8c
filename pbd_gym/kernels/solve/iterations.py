"""Iterations of a substep: one sweep over all kinds, followed by Jacobi's corrections and Chebyshev's extrapolation."""

import functools
from dataclasses import replace
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.step import state_type
from pbd_gym.kernels.lanes.wide import Wide, barrier


@functools.cache
def make_sweeps(wide: Wide, options: SweepOptions, data: Any, kinds: tuple[Any, ...]) -> Any:
    """Build the sweep over the constraints of all kinds, in their order.

    With ``options.symmetric`` every second iteration visits kinds, colours and constraints in reverse order.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
        kinds: the constraint kinds, in the order in which an iteration sweeps them.
    """
    scalar, body_ = wide.scalar, body_type(wide.vec)
    join = functools.partial(_then, wide, data)
    sweeps = [kind.make_sweep(wide, data, options) for kind in kinds] or [_nothing(wide, data)]
    forwards = _joined(join, sweeps)
    if not options.symmetric:
        return forwards
    backwards = _joined(join, sweeps[::-1])

    @wp.func
    @no_type_check
    def sweep(model: data, body: body_, inv_h: scalar, iteration: int, only: int, thread: int, thread_count: int):
        if iteration % 2 == 1:
            backwards(model, body, inv_h, iteration, only, thread, thread_count)
        else:
            forwards(model, body, inv_h, iteration, only, thread, thread_count)

    return sweep


@functools.cache
def make_damping(wide: Wide, options: SweepOptions, data: Any, kinds: tuple[Any, ...]) -> Any:
    """Build the sweep that damps velocities, over the damped kinds in their order; None if there are none.

    It visits constraints one after the other, whatever the method of the iterations.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
        kinds: all constraint kinds, in the order in which an iteration sweeps them.
    """
    one_by_one = replace(options, jacobi=False, symmetric=False, keep_lambda=False)
    sweeps = [kind.make_sweep(wide, data, one_by_one, True) for kind in kinds if kind.name in options.damped]
    return _joined(functools.partial(_then, wide, data), sweeps) if sweeps else None


def _joined(join: Any, sweeps: list[Any]) -> Any:
    """Join sweeps into one, in halves: each call takes a copy of the model's tables on the stack."""
    middle = len(sweeps) // 2
    return sweeps[0] if middle == 0 else join(_joined(join, sweeps[:middle]), _joined(join, sweeps[middle:]))


def _nothing(wide: Wide, data: Any) -> Any:
    """Return the sweep of a scene without constraints."""
    scalar, body_ = wide.scalar, body_type(wide.vec)

    @wp.func
    @no_type_check
    def sweep(model: data, body: body_, inv_h: scalar, iteration: int, only: int, thread: int, thread_count: int):
        pass

    return sweep


def _then(wide: Wide, data: Any, before: Any, last: Any) -> Any:
    """Join two sweeps into one."""
    scalar, body_ = wide.scalar, body_type(wide.vec)

    @wp.func
    @no_type_check
    def sweep(model: data, body: body_, inv_h: scalar, iteration: int, only: int, thread: int, thread_count: int):
        before(model, body, inv_h, iteration, only, thread, thread_count)
        last(model, body, inv_h, iteration, only, thread, thread_count)

    return sweep


@functools.cache
def make_next_omega(scalar: Any) -> Any:
    """Build the recurrence of Chebyshev's weights."""

    @wp.func
    @no_type_check
    def next_omega(omega: scalar, spectral_radius: scalar, iteration: int):
        """Return the weight of an iteration from the previous one.

        It is 1 twice, ``2 / (2 - rho^2)``, then ``4 / (4 - rho^2 omega)``: Golub, Varga 1961; Wang 2015,
        doi:10.1145/2816795.2818063, eq. 11. Acceleration starts with the third iteration, the first that has two before
        it.
        """
        square = spectral_radius * spectral_radius
        following = scalar(4.0) / (scalar(4.0) - square * omega)
        if iteration < 2:
            following = scalar(1.0)
        if iteration == 2:
            following = scalar(2.0) / (scalar(2.0) - square)
        return following

    return next_omega


@functools.cache
def make_correct(wide: Wide, options: SweepOptions) -> Any:
    """Build the function that follows a sweep: it applies Jacobi's corrections and extrapolates iterations.

    Chebyshev acceleration is ``y = omega (y_new - y_older) + y_older``, for positions and for multipliers: a position
    that moved without its multiplier would break the balance of forces that iterations converge to.
    """
    vec, body_, state_ = wide.vec, body_type(wide.vec), state_type(wide.vec)
    scalar = wide.scalar

    @wp.func
    @no_type_check
    def add_delta(body: body_, thread: int, thread_count: int):
        for i in range(thread, body.x.shape[0], thread_count):
            for axis in range(3):
                body.x[i, axis] = body.x[i, axis] + body.delta[i, axis]
                body.delta[i, axis] = vec(scalar(0.0))

    @wp.func
    @no_type_check
    def extrapolated(value: vec, older: vec, omega: scalar, iteration: int):
        found = value
        if iteration > 1:
            found = omega * (value - older) + older
        return found

    @wp.func
    @no_type_check
    def extrapolate(
        state: state_, body: body_, group: int, omega: scalar, iteration: int, thread: int, thread_count: int
    ):
        recent = state.recent[group]
        older = state.older[group]
        for i in range(thread, body.x.shape[0], thread_count):
            for axis in range(3):
                value = extrapolated(body.x[i, axis], older[i, axis], omega, iteration)
                older[i, axis] = recent[i, axis]
                recent[i, axis] = value
                body.x[i, axis] = value
        lam_recent = state.lam_recent[group]
        lam_older = state.lam_older[group]
        for c in range(thread, body.lam.shape[0], thread_count):
            multiplier = extrapolated(body.lam[c], lam_older[c], omega, iteration)
            lam_older[c] = lam_recent[c]
            lam_recent[c] = multiplier
            body.lam[c] = multiplier

    @wp.func
    @no_type_check
    def correct(state: state_, body: body_, group: int, omega: scalar, iteration: int, thread: int, thread_count: int):
        if wp.static(options.jacobi):
            add_delta(body, thread, thread_count)
        if wp.static(options.chebyshev):
            extrapolate(state, body, group, omega, iteration, thread, thread_count)
        barrier()

    return correct
