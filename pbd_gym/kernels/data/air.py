"""Wind, and the triangles that feel it."""

import functools
from typing import Any

import warp as wp


@functools.cache
def air_type(vec: Any) -> Any:
    """Warp struct of wind, of the triangles that feel it, and of what it does to them."""
    scalar: Any = vec._wp_scalar_type_

    @wp.struct
    class Air:
        triangles: wp.array2d[wp.int32]
        """particles of each triangle, shape (t, 3)"""
        coefficients: wp.array2d[scalar]
        """of drag, along the normal and beside it, shape (t, 2)"""
        first: wp.array1d[wp.int32]
        """where in ``around`` the triangles of each particle begin, and the end, shape (n + 1,)"""
        around: wp.array1d[wp.int32]
        """triangles of each particle, one particle after the other, shape (3 t,)"""
        lightness: wp.array1d[scalar]
        """mass of each particle over m, the mass that it counts with where drag is stiff, shape (n,)"""
        wind: wp.array2d[vec]
        """velocity of the air [m/s] and its density [kg/m^3], shape (groups, 4)"""
        drag: wp.array3d[vec]
        """scratch: force on each corner of a triangle [N], and how much it grows with velocity at most [kg/s], shape
        (groups, t, 4)"""
        forces: wp.array3d[vec]
        """scratch: drag and all other forces on particles [N], shape (groups, n, 3)"""

    return Air
