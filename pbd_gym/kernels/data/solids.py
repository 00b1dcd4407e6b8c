"""Table of the tetrahedra of solids."""

import functools
from typing import Any

import warp as wp


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct of all tetrahedra of a scene, each once."""

    @wp.struct
    class SolidTable:
        tets: wp.array[wp.vec4i]
        """particles, shape (m,)"""
        six_volumes: wp.array[scalar]
        """six times the volume at rest [m^3], shape (m,)"""

    return SolidTable
