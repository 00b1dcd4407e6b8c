"""Motion of rigid bodies: their initial places, free motion, joints, and final velocities.

``native/rigid_motion.h`` describes how a body turns in a substep, ``native/rigid_joints.h`` what else moves it.
"""

import functools
from typing import Any, NamedTuple

import warp as wp

from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.parameters import DENSITY, SIZE
from pbd_gym.kernels.data.rigid import scratch_type
from pbd_gym.kernels.lanes.rotation import SQUARINGS_OF_MANY
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.native import call, lanes_type


def rigid_call(function: str, wide: Wide, options: SweepOptions, *template: Any, arguments: str) -> str:
    """Return the C++ statement that calls a function of rigid bodies.

    Args:
        function: name in the namespace ``pbd``.
        wide: lane count and precision.
        options: options that the kernel is compiled for.
        *template: further template arguments.
        arguments: its arguments, by their names in the Warp function.
    """
    columns = (int(SIZE), int(DENSITY)) if options.varied else (-1, -1)
    chosen = f"pbd::RigidOptions<{4 if options.packed else 3}, {columns[0]}, {columns[1]}, "
    chosen += f"{int(options.wrenches)}, {int(options.grip_forces)}, {int(options.contact_forces)}>"
    return call(function, lanes_type(wide.lanes, wide.scalar), chosen, *template, arguments=arguments)


FALL = "pbd::Fall<decltype(now.fall_x)>{now.fall_x, now.fall_y, now.fall_z}"
"""Displacement by gravity in a substep, as an argument of native functions."""


class RigidMotion(NamedTuple):
    """Warp functions of (model, body, rigid, substep, group, thread, threads)."""

    find: Any
    """Function that locates bodies from their particles at the start of a step, after the prediction."""
    turn: Any
    """Function that turns the prediction of particles into the free motion of their body."""
    gather: Any
    """Function that moves bodies, with their particles, according to pushes on the particles and to joints."""
    settle: Any
    """Function that gives particles the velocities of their body, through the positions before the substep: ``previous
    = x - h v``.
    """


@functools.cache
def make_motion(wide: Wide, options: SweepOptions, data: Any, bouncing: bool) -> RigidMotion:
    """Build the motion of rigid bodies.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
        bouncing: whether velocities are read from ``body.velocity`` afterwards.
    """
    body_: Any = body_type(wide.vec)
    rigid_: Any = scratch_type(wide.vec)
    substep_: Any = substep_type(wide.vec)
    given, threads = "model, body, rigid", "group, thread, thread_count"
    whole = f"{given}, {threads}"
    squarings = SQUARINGS_OF_MANY[wide.scalar]

    @wp.func_native(rigid_call("find_bodies", wide, options, squarings, arguments=f"{given}, now.h, {threads}"))
    def find(
        model: data, body: body_, rigid: rigid_, now: substep_, group: int, thread: int, thread_count: int
    ) -> None: ...

    @wp.func_native(rigid_call("turn_bodies", wide, options, arguments=whole))
    def turn(
        model: data, body: body_, rigid: rigid_, now: substep_, group: int, thread: int, thread_count: int
    ) -> None: ...

    @wp.func_native(rigid_call("gather_bodies", wide, options, arguments=f"{given}, now.h, {FALL}, {threads}"))
    def gather(
        model: data, body: body_, rigid: rigid_, now: substep_, group: int, thread: int, thread_count: int
    ) -> None: ...

    @wp.func_native(rigid_call("settle_bodies", wide, options, bouncing, arguments=f"{given}, now, {threads}"))
    def settle(
        model: data, body: body_, rigid: rigid_, now: substep_, group: int, thread: int, thread_count: int
    ) -> None: ...

    return RigidMotion(find, turn, gather, settle)


class ContactMotion(NamedTuple):
    """Warp functions (model, body, rigid, substep, group, thread, threads) around contacts with particles."""

    expect: Any
    """Function that moves bodies to where they are expected to be kept, until ``gather`` takes that back."""
    carry: Any
    """Function that moves bodies between rounds of contacts, as ``gather`` does at the end of an iteration. Hands that
    are torn out of bodies do not draw at them once more."""


@functools.cache
def make_contact_motion(wide: Wide, options: SweepOptions, data: Any) -> ContactMotion:
    """Build the functions that move bodies before and between contacts.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
    """
    body_: Any = body_type(wide.vec)
    rigid_: Any = scratch_type(wide.vec)
    substep_: Any = substep_type(wide.vec)
    given, those = "model, body, rigid", "group, thread, threads"

    @wp.func_native(rigid_call("expect_bodies", wide, options, arguments=f"{given}, {those}"))
    def expect(
        model: data, body: body_, rigid: rigid_, now: substep_, group: int, thread: int, threads: int
    ) -> None: ...

    @wp.func_native(rigid_call("gather_bodies", wide, options, arguments=f"{given}, 0, {FALL}, {those}"))
    def carry(
        model: data, body: body_, rigid: rigid_, now: substep_, group: int, thread: int, threads: int
    ) -> None: ...

    return ContactMotion(expect, carry)
