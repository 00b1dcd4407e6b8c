"""Slipping grips: they open at the end of a control step in which the held body pulled too hard."""

from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.grips.holding import set_held

wp.set_module_options({"enable_backward": False})


@wp.kernel
@no_type_check
def slip(
    # In:
    first: int,
    limits: wp.array1d[Any],
    forces: wp.array3d[Any],
    free_inv_mass: wp.array3d[Any],
    lanes: int,
    # State:
    held: wp.array2d[wp.int32],
    inv_mass: wp.array3d[Any],
    velocities: wp.array4d[Any],
    # Out:
    slipped: wp.array2d[wp.int32],
):
    """Open every grip whose force [N] is above the limit of its environment, and record which have opened.

    This is a separate kernel that runs after the step, so without limits steps are unchanged.
    """
    env = first + wp.tid()
    for grip in range(held.shape[1]):
        x = forces[env, grip, 0]
        y = forces[env, grip, 1]
        z = forces[env, grip, 2]
        opens = int(0)
        if held[env, grip] >= 0 and wp.sqrt(x * x + y * y + z * z) > limits[env]:
            set_held(env, grip, -1, free_inv_mass, lanes, held, inv_mass, velocities)
            opens = 1
        slipped[env, grip] = opens
