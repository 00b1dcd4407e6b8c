"""Wind, and the triangles that feel it."""

import functools
from typing import Any

import warp as wp


@functools.cache
def air_type(vec: Any) -> Any:
    """Warp struct of wind, the triangles that feel it, and its effect on them."""
    scalar: Any = vec._wp_scalar_type_

    @wp.struct
    class Air:
        triangles: wp.array2d[wp.int32]
        """particles of each triangle, shape (t, 3)"""
        coefficients: wp.array2d[scalar]
        """drag coefficients along the normal and tangentially, shape (t, 2)"""
        first: wp.array1d[wp.int32]
        """offset in ``around`` of each particle's triangles, and the end, shape (n + 1,)"""
        around: wp.array1d[wp.int32]
        """triangles of each particle, one particle after the other, shape (3 t,)"""
        lightness: wp.array1d[scalar]
        """ratio of each particle's mass to m, the effective mass where drag is stiff, shape (n,)"""
        wind: wp.array2d[vec]
        """velocity of the air [m/s] and its density [kg/m^3], shape (groups, 4)"""
        drag: wp.array3d[vec]
        """scratch: force on each corner of a triangle [N], and the upper bound of its growth with velocity [kg/s],
        shape (groups, t, 4)
        """
        forces: wp.array3d[vec]
        """scratch: drag and all other forces on particles [N], shape (groups, n, 3)"""

    return Air
