"""Position-level response to a contact: push out, then Coulomb friction."""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.wide import Wide


@functools.cache
def make_response(wide: Wide) -> Any:
    """Build the response of one particle to one collider on wide numbers."""
    vec, scalar = wide.vec, wide.scalar
    sqrt, floor, pick = wide.sqrt, wide.floor, wide.pick
    tiny = 1e-30

    @wp.func
    def positive_part(depth: vec, inv_mass: vec):
        return pick(inv_mass, floor(depth, scalar(0.0)), vec(scalar(0.0)))

    @wp.func
    def respond(
        x: wp.array2d[vec],
        previous: wp.array2d[vec],
        inv_mass: wp.array1d[vec],
        i: int,
        nx: vec,
        ny: vec,
        nz: vec,
        depth: vec,
        friction: scalar,
    ):
        """Move particle ``i`` out along the normal and hold back its slip during the substep.

        The slip is cancelled altogether while it is shorter than ``friction * depth`` (sticking), and shortened by that
        length otherwise (sliding): Coulomb's law on the level of positions, Macklin et al. 2014 (Unified particle
        physics, doi:10.1145/2601097.2601152, eq. 24) with one coefficient for both. Held and pinned particles are left
        where they are. A lane without contact keeps its bits.

        Args:
            x, previous: positions now and at the start of the substep [m], shape (particles, 3).
            inv_mass: shape (particles,) [1/kg].
            i: the particle.
            nx, ny, nz: outward unit normal of the collider, which is at rest.
            depth: penetration [m], not positive where there is no contact.
            friction: Coulomb coefficient.
        """
        # A held lane is treated like one without contact.
        push = positive_part(depth, inv_mass[i])
        qx = x[i, 0] + wp.cw_mul(nx, push)
        qy = x[i, 1] + wp.cw_mul(ny, push)
        qz = x[i, 2] + wp.cw_mul(nz, push)
        ux = qx - previous[i, 0]
        uy = qy - previous[i, 1]
        uz = qz - previous[i, 2]
        along = wp.cw_mul(ux, nx) + wp.cw_mul(uy, ny) + wp.cw_mul(uz, nz)
        tx = ux - wp.cw_mul(along, nx)
        ty = uy - wp.cw_mul(along, ny)
        tz = uz - wp.cw_mul(along, nz)
        slip = sqrt(wp.cw_mul(tx, tx) + wp.cw_mul(ty, ty) + wp.cw_mul(tz, tz))
        # Share of the slip that friction takes: at most all of it, and none without depth.
        grip = friction * push
        share = wp.cw_div(grip, floor(pick(slip - grip, slip, grip), scalar(tiny)))
        x[i, 0] = qx - wp.cw_mul(share, tx)
        x[i, 1] = qy - wp.cw_mul(share, ty)
        x[i, 2] = qz - wp.cw_mul(share, tz)

    return respond
