"""Response of a particle to contact with a collider: push-out and Coulomb friction."""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.colliders.wrenches import make_note
from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.native import call, lanes_type

RELIEF_SPEED = 0.0015
"""Speed at which an initial overlap is removed where constraints would turn a jump into strain [m/s]. Remaining strain
gives a body energy that grows with the square of this speed: in random overlaps with one collider at most 1 % of the
energy that lifts it by a contact radius of 5 mm, and for cloth of springs between two colliders about 2 %.
"""


@functools.cache
def contact_type(vec: Any) -> Any:
    """Warp struct of one particle's contact with one collider."""

    @wp.struct
    class Contact:
        nx: vec
        """outward unit normal of the collider, in world axes"""
        ny: vec
        nz: vec
        depth: vec
        """penetration [m]; not positive where there is no contact"""
        early: vec
        """share of the depth present when the substep began [m]; it is removed without creating a speed"""
        ax: vec
        """position the particle would have now, had it stuck to the surface [m]"""
        ay: vec
        az: vec
        kinetic: vec
        """Coulomb coefficient for slip"""
        sticking: vec
        """Coulomb coefficient for sticking"""
        collider: wp.int32
        """number of the collider"""

    return Contact


@functools.cache
def make_response(wide: Wide, carries: bool = False, supports: bool = False, wrenches: bool = False) -> Any:
    """Build the response of particle ``i`` to one contact.

    It moves the particle out along the normal and reduces its slip on the surface in the substep. The slip is cancelled
    while it is at most ``sticking * depth``, and otherwise shortened by ``kinetic * depth``, where depth is the part
    gained in this substep: Coulomb's law for positions, Macklin et al. 2014 (Unified particle physics,
    doi:10.1145/2601097.2601152, eq. 24). Held and pinned particles stay in place. A lane without contact keeps its
    bits.

    Args:
        wide: lane count and precision.
        carries: whether unused friction is kept for the particle's next contact (``body.traction``), where contacts are
            resolved in several rounds.
        supports: whether the distance by which lines have pressed the particle on its collider, which may be negative,
            is added to the depth for friction: see :mod:`pbd_gym.kernels.colliders.supports`.
        wrenches: whether forces on the collider are recorded.
    """
    body_: Any = body_type(wide.vec)
    contact_: Any = contact_type(wide.vec)

    lanes = lanes_type(wide.lanes, wide.scalar)
    code = call("respond_to_collider", lanes, carries, supports, arguments="body, i, contact")

    @wp.func_native(code)
    def respond(body: body_, i: int, contact: contact_) -> None: ...

    return _make_noted(wide, respond, supports) if wrenches else respond


def _make_noted(wide: Wide, respond: Any, supports: bool) -> Any:
    """Build a response that records the push of the particle, and of lines with it, on the collider."""
    vec, scalar, pick, floor = wide.vec, wide.scalar, wide.pick, wide.floor
    body_: Any = body_type(vec)
    contact_: Any = contact_type(vec)
    note = make_note(wide)

    @wp.func
    @no_type_check
    def noted(body: body_, i: int, contact: contact_):
        none = vec(scalar(0.0))
        x = body.x[i, 0] - body.previous[i, 0]
        y = body.x[i, 1] - body.previous[i, 1]
        z = body.x[i, 2] - body.previous[i, 2]
        pressed = none
        if wp.static(supports):
            pressed = pick(contact.depth, floor(body.support[i, 3], scalar(0.0)), none)
        respond(body, i, contact)
        x = body.x[i, 0] - body.previous[i, 0] - x + wp.cw_mul(pressed, contact.nx)
        y = body.x[i, 1] - body.previous[i, 1] - y + wp.cw_mul(pressed, contact.ny)
        z = body.x[i, 2] - body.previous[i, 2] - z + wp.cw_mul(pressed, contact.nz)
        note(body, i, contact.collider, x, y, z)

    return noted
