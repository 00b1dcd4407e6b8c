"""What a contact with a collider does to a particle: push-out and Coulomb friction."""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.lanes.snippets import with_lanes
from pbd_gym.kernels.lanes.wide import Wide


@functools.cache
def contact_type(vec: Any) -> Any:
    """Warp struct of one particle's contact with one collider."""

    @wp.struct
    class Contact:
        nx: vec
        """outward unit normal of the collider, in the axes of the world"""
        ny: vec
        nz: vec
        depth: vec
        """penetration [m]; not positive where there is no contact"""
        ax: vec
        """where the particle would be now, had it stuck to the surface [m]"""
        ay: vec
        az: vec
        kinetic: vec
        """Coulomb coefficient of what slides"""
        sticking: vec
        """Coulomb coefficient of what does not"""

    return Contact


# Products and sums stay apart, as in the plain Warp around: results do not depend on what a compiler joins.
_RESPOND = """
    T* const at = (T*)wp::address(body.x, i, 0);
    const T* const w = (const T*)wp::address(body.inv_mass, i);
    EACH_LANE {
        PBD_CONTRACT_OFF
        const V kx = LOAD(contact.nx.c), ky = LOAD(contact.ny.c), kz = LOAD(contact.nz.c);
        const V none = V(T(0)), one = V(T(1));
        // A held lane is treated like one without contact.
        const V push = LOAD(w) > T(0) ? FLOOR(LOAD(contact.depth.c), 0) : none;
        const V qx = LOAD(at) + kx * push, qy = LOAD(at + LANES) + ky * push, qz = LOAD(at + 2 * LANES) + kz * push;
        const V ux = qx - LOAD(contact.ax.c), uy = qy - LOAD(contact.ay.c), uz = qz - LOAD(contact.az.c);
        const V along = ux * kx + uy * ky + uz * kz;
        const V tx = ux - along * kx, ty = uy - along * ky, tz = uz - along * kz;
        const V slip = SQRT(tx * tx + ty * ty + tz * tz);
        const V all = push > T(0) ? one : none;
#if SUPPORTS
        T* const pressed = (T*)wp::address(body.support, i, 3);
        const V load = FLOOR(push + (push > T(0) ? LOAD(pressed) : none), 0);
        STORE(pressed, push > T(0) ? none : LOAD(pressed));
#else
        const V load = push;
#endif
#if CARRIES
        T* const kept = (T*)wp::address(body.traction, i);
        const V carried = all * LOAD(kept);
#else
        const V carried = none;
#endif
        // Share of the slip that friction takes: all of it where it sticks, and none without depth.
        const V slides = slip - (LOAD(contact.sticking.c) * load + carried);
        const V most = LOAD(contact.kinetic.c) * load + carried;
        const V taken = slides > T(0) ? most : all;
        const V share = taken / (slides > T(0) ? FLOOR(slip, 1e-30) : one);
#if CARRIES
        STORE(kept, push > T(0) ? FLOOR(most - slip, 0) : LOAD(kept));
#endif
        STORE(at, qx - share * tx);
        STORE(at + LANES, qy - share * ty);
        STORE(at + 2 * LANES, qz - share * tz);
    }
"""


@functools.cache
def make_response(wide: Wide, carries: bool = False, supports: bool = False) -> Any:
    """Build the response of particle ``i`` to one contact.

    It moves the particle out along the normal and holds back its slip on the surface during the substep. The slip is
    cancelled altogether while it is no longer than ``sticking * depth``, and shortened by ``kinetic * depth``
    otherwise: Coulomb's law on the level of positions, Macklin et al. 2014 (Unified particle physics,
    doi:10.1145/2601097.2601152, eq. 24). Held and pinned particles are left where they are. A lane without contact
    keeps its bits.

    Args:
        wide: lane count and precision.
        carries: whether what friction has not needed is added to what it may take at the next contact of the particle
            (``body.traction``), where contacts come in several rounds.
        supports: whether what lines have pressed the particle on its collider by counts with the depth, for friction,
            or, where it is negative, less than the depth does: see :mod:`pbd_gym.kernels.colliders.supports`.
    """
    body_: Any = body_type(wide.vec)
    contact_: Any = contact_type(wide.vec)

    flags = {"CARRIES": int(carries), "SUPPORTS": int(supports)}
    defined = "".join(f"#define {name} {value}\n" for name, value in flags.items())
    text = defined + _RESPOND + "".join(f"\n#undef {name}\n" for name in flags)

    @wp.func_native(with_lanes(wide, text))
    def respond(body: body_, i: int, contact: contact_) -> None: ...

    return respond
