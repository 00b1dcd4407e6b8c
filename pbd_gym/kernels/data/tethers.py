"""Tethers to held or pinned particles: the tables of a model and a state."""

import functools
from typing import Any

import numpy as np
import warp as wp

PIN_ANCHORS = 8
"""Largest number of pins of an environment with tethers; of more, those farthest from each other are used."""

LOOSE = 1e30
"""Sentinel length for "no tether" [m]."""


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct of the paths along bodies at rest, the same for all environments."""

    @wp.struct
    class TetherTable:
        body: wp.array1d[wp.int32]
        """number of the tethered body that a particle belongs to, -1 for none, shape (n,)"""
        bounds: wp.array2d[wp.int32]
        """first particle of each body and the end, shape (bodies, 2)"""
        offsets: wp.array1d[wp.int32]
        """offset of a body's paths, -1 for a body whose paths are straight in its pattern, shape (bodies,)"""
        pattern: wp.array2d[scalar]
        """positions in the flat pattern [m], shape (n, 2), whose axes are threads; apart on both without one"""
        ways: wp.array1d[scalar]
        """path lengths along each other body [m], rows for the particle at one end"""

    return TetherTable


def fill_tethers(table: Any, bodies: list[Any], particle_count: int, dtype: Any, device: Any) -> None:
    """Upload the path lengths along bodies.

    Args:
        table: instance of :func:`table_type`.
        bodies: each a :class:`pbd_gym.scene.tethered_body.TetheredBody`.
        particle_count: number of particles, n.
        dtype: NumPy type of the numbers.
        device: Warp device.
    """
    body = np.full(particle_count, -1, dtype=np.int32)
    pattern = np.zeros((particle_count, 2), dtype=dtype)
    bounds, offsets, ways, size = [], [], [np.zeros(0, dtype=dtype)], 0
    for number, found in enumerate(bodies):
        last = found.first + found.count
        body[found.first : last] = number
        bounds.append((found.first, last))
        offsets.append(-1 if found.ways is None else size)
        if found.ways is None:
            pattern[found.first : last] = found.places
        else:
            pattern[found.first : last] = np.arange(found.count)[:, None]  # none beside another
            ways.append(found.ways.astype(dtype).ravel())
            size += found.ways.size
    scalar = wp.float64 if dtype == np.float64 else wp.float32
    table.body = wp.array(body, dtype=wp.int32, device=device)
    table.bounds = wp.array(np.array(bounds, dtype=np.int32), dtype=wp.int32, device=device)
    table.offsets = wp.array(np.array(offsets, dtype=np.int32), dtype=wp.int32, device=device)
    table.pattern = wp.array(pattern, dtype=scalar, device=device)
    table.ways = wp.array(np.concatenate(ways), dtype=scalar, device=device)
