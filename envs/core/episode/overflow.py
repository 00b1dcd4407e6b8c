"""What a fluid had no room for in a step: neighbours and walls that its particles did not feel."""

from __future__ import annotations

from typing import no_type_check

import warp as wp

wp.set_module_options({"enable_backward": False})


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
