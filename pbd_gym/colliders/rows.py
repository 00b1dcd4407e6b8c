"""The table that carries colliders of any shape into the kernel: a row of numbers each."""

import functools
from typing import Any

import warp as wp


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct with what ``rows`` of a shape's module returns."""

    @wp.struct
    class ColliderTable:
        rows: wp.array2d[scalar]
        """one row a collider; what its numbers are, ``rows`` of the shape's module says"""

    return ColliderTable
