"""Phases of rigid bodies: before, in and after the iterations of a substep.

A rigid body is a set of particles, and nothing else lasts from step to step. A step begins by finding the place and
orientation of each body from its particles, and then moves it as a body of six degrees of freedom, with its particles.
So everything that handles particles handles rigid bodies: constraints, contacts, fluids, grips, pins, forces and wind.
Their effect on a particle becomes an impulse on its body (``native/rigid_joints.h``). Colliders, joints and other
bodies (``native/rigid_meetings.h``) act on the body as a whole at once, and so do contacts with other particles, which
take the mass of the body into account (:mod:`pbd_gym.kernels.contacts.particles`). These come first, and find it where
it is expected to be kept by the others (``expect_bodies`` in ``native/rigid_motion.h``).

A held or pinned particle counts as many times heavier than its body, so that it stays in place and the body turns about
it. What constraints and other particles push is taken up by it. Against colliders, other bodies and other hands it is
no stronger than a damped spring: a body that touches a collider or another body, or is torn from its hand, moves as if
it were free, and each hand pulls at it with ``M (2 v / s + d / s^2)``, where M is the body's mass, d its distance from
the hand, v their relative speed, and s 5 ms (``hand_weight`` in ``native/rigid_bodies.h``). So a collider meets a held
body with the momentum that it has, not with that of a thousand bodies, and is then pressed with a force that does not
depend on the substep.
"""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.data.colliders import Part, table_type
from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.rigid import scratch_type
from pbd_gym.kernels.lanes.wide import Wide, barrier
from pbd_gym.kernels.rigid.contacts import make_collide
from pbd_gym.kernels.rigid.motion import make_motion, rigid_call


class RigidPhases(NamedTuple):
    """Warp functions for one group; absent in a scene without rigid bodies."""

    find: Any
    """Function (model, body, rigid, substep, group, thread, threads), called after the first prediction of a step."""
    turn: Any
    """Function (model, body, rigid, substep, group, thread, threads), called after every prediction."""
    solve: Any
    """Function (model, colliders, body, rigid, substep, group, thread, threads), called at the end of every iteration.
    """
    settle: Any
    """Function (model, body, rigid, substep, group, thread, threads), called after the last iteration."""


@functools.cache
def make_rigid(wide: Wide, options: SweepOptions, data: Any, parts: tuple[Part, ...], bouncing: bool) -> RigidPhases:
    """Build the phases of rigid bodies.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
        parts: colliders by shape and by whether they move.
        bouncing: whether some collider has a restitution.
    """
    if not options.rigid:
        return RigidPhases(None, None, None, None)
    body_, rigid_, substep_ = body_type(wide.vec), scratch_type(wide.vec), substep_type(wide.vec)
    colliders_ = table_type(wide.scalar)
    find, turn, gather, settle = make_motion(wide, options, data, bouncing)
    collide = make_collide(wide, options, data, parts, bouncing) if parts else None
    find_near, part = _make_meetings(wide, options, data) if options.particle_contacts else (None, None)

    @wp.func
    @no_type_check
    def solve(
        model: data, colliders: colliders_, body: body_, rigid: rigid_, now: substep_, group: int, thread: int,
        thread_count: int,
    ):  # fmt: skip
        gather(model, body, rigid, now, group, thread, thread_count)
        # With colliders, then with each other, and with colliders again where bodies have met.
        for round in range(wp.static(2 if options.particle_contacts else 1)):
            if wp.static(bool(parts)):
                if round == 0 or rigid.met[group] > 0:
                    for b in range(thread, model.rigid.radius.shape[0], thread_count):
                        collide(model, colliders, body, rigid, now, round, group, b)
                    barrier()
            if wp.static(options.particle_contacts):
                if round == 0 and model.rigid.meets.shape[0] > 0:
                    find_near(model, body, rigid, group, thread, thread_count)
                    part(model, body, rigid, now, group, thread)

    return RigidPhases(find, turn, solve, settle)


def _make_meetings(wide: Wide, options: SweepOptions, data: Any) -> tuple[Any, Any]:
    """Build the contacts of rigid bodies with each other.

    Returns:
        Warp functions of (model, body, rigid, group, thread, threads), which lists the faces of other bodies that each
        point of a body is near; and of (model, body, rigid, substep, group, thread), which pushes bodies off each
        other, and says in ``rigid.busy`` and ``rigid.met`` where some meet.
    """
    body_: Any = body_type(wide.vec)
    rigid_: Any = scratch_type(wide.vec)
    substep_: Any = substep_type(wide.vec)
    find_code = rigid_call(
        "find_near_bodies", wide, options, arguments="model, body, rigid, group, thread, thread_count"
    )
    part_code = rigid_call(
        "part_bodies", wide, options, options.bouncy, arguments="model, body, rigid, now, group, thread"
    )

    @wp.func_native(find_code)
    def find(model: data, body: body_, rigid: rigid_, group: int, thread: int, thread_count: int) -> None: ...

    @wp.func_native(part_code)
    def part(model: data, body: body_, rigid: rigid_, now: substep_, group: int, thread: int) -> None: ...

    return find, part
