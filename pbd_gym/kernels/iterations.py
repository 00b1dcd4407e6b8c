"""What follows a sweep: Jacobi's corrections are applied, Chebyshev's iterations extrapolated."""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.sweep import body_type
from pbd_gym.kernels.wide import Wide


@functools.cache
def make_apply(wide: Wide) -> Any:
    """Build the function that adds the corrections that a Jacobi sweep gathered, and clears them."""
    vec, scalar, body_ = wide.vec, wide.scalar, body_type(wide.vec)

    @wp.func
    def apply(body: body_, thread: int, thread_count: int):
        for i in range(thread, body.x.shape[0], thread_count):
            for axis in range(3):
                body.x[i, axis] = body.x[i, axis] + body.delta[i, axis]
                body.delta[i, axis] = vec(scalar(0.0))

    return apply


@functools.cache
def make_next_omega(scalar: Any) -> Any:
    """Build the recurrence of Chebyshev's weights."""

    @wp.func
    def next_omega(omega: scalar, spectral_radius: scalar, iteration: int):
        """Return the weight of this iteration: 1 twice, ``2 / (2 - rho^2)``, then ``4 / (4 - rho^2 omega)``.

        Golub, Varga 1961; Wang 2015, doi:10.1145/2816795.2818063, eq. 11. The acceleration begins in the third
        iteration, the first that has two before it.
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
def make_extrapolation(wide: Wide) -> tuple[Any, Any]:
    """Build the functions that extrapolate positions and multipliers over the last iterations.

    ``y = omega (y_new - y_older) + y_older`` for both: a position moved without its multiplier would break the balance
    of forces that the iteration is to reach.
    """
    vec, scalar = wide.vec, wide.scalar

    @wp.func
    def extrapolate(
        x: wp.array2d[vec],
        recent: wp.array2d[vec],
        older: wp.array2d[vec],
        omega: scalar,
        iteration: int,
        thread: int,
        thread_count: int,
    ):
        for i in range(thread, x.shape[0], thread_count):
            for axis in range(3):
                value = x[i, axis]
                if iteration > 1:
                    value = omega * (value - older[i, axis]) + older[i, axis]
                older[i, axis] = recent[i, axis]
                recent[i, axis] = value
                x[i, axis] = value

    @wp.func
    def extrapolate_multipliers(
        lam: wp.array1d[vec],
        recent: wp.array1d[vec],
        older: wp.array1d[vec],
        omega: scalar,
        iteration: int,
        thread: int,
        thread_count: int,
    ):
        for c in range(thread, lam.shape[0], thread_count):
            value = lam[c]
            if iteration > 1:
                value = omega * (value - older[c]) + older[c]
            older[c] = recent[c]
            recent[c] = value
            lam[c] = value

    return extrapolate, extrapolate_multipliers
