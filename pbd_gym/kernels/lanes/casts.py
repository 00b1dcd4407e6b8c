"""Copies between precisions, which Warp's own copies do not support."""

from typing import no_type_check

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
@no_type_check
def widen(source: wp.array1d[wp.float32], target: wp.array1d[wp.float64]):
    """Copy float32 numbers into float64 ones."""
    i = wp.tid()
    target[i] = wp.float64(source[i])


@wp.kernel
@no_type_check
def narrow(source: wp.array1d[wp.float64], target: wp.array1d[wp.float32]):
    """Round float64 numbers to float32 ones."""
    i = wp.tid()
    target[i] = wp.float32(source[i])
