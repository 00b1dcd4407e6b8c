"""Contacts between particles.

Cloth on itself, rope on itself, body against body; and edges that went through a surface.

The work is done by ``native/particle_contacts.h`` and ``native/piercings.h``, which say how.
"""

import functools
from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.parameters import FRICTION, INV_SIZE, SIZE
from pbd_gym.kernels.data.particle_contacts import BALL, CHUNK, INNER, KEPT, NUMBERS, RIM, lists_type
from pbd_gym.kernels.data.rigid import (
    CENTER,
    COLUMNS,
    GONE,
    INV_MASS,
    INVERSE,
    OFFSET,
    START,
    START_TURN,
    TURN,
    TWIST,
    scratch_type,
)
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.native import call, lanes_type

FATNESS, FINE_FATNESS = 0.95, 1.25
"""Radius of the ball with which a creased patch brakes others, in radii of its disc: for coarse patches, where that is
0.7 particle distances on a square grid, and for fine ones. Hardly anything gets through the fatter balls, but coarse
creases made of them would spring open.
"""
FATTER = 2.2, 0.67
"""Transition from one to the other as patches get coarser: the radius is the sum of this many half thicknesses and this
many disc radii.
"""
NEARNESS = 0.95 * FATNESS
"""Distance, in sums of two discs' radii, within which edges that pierce a disc are searched: everything as near as this
is among the candidates, whatever else is included for the sake of other environments.
"""


def ball_radius(radius: np.ndarray, extent: np.ndarray) -> np.ndarray:
    """Return the radius with which a creased patch brakes others [m], shape (k,); a ball keeps its own.

    Args:
        radius: half of the thickness of a disc, or the radius of a ball [m], shape (k,).
        extent: radius of the disc [m], 0 for a ball, shape (k,).
    """
    fine = np.minimum(FINE_FATNESS * extent, FATTER[0] * radius + FATTER[1] * extent)
    return np.maximum(radius, np.maximum(fine, FATNESS * extent))


def _options_type(options: SweepOptions) -> str:
    """Return the C++ name of ``pbd::ContactOptions`` for the options of a kernel."""
    flags = f"{int(options.surfaces)}, {int(options.rigid)}, {int(options.bouncy)}, {int(options.varied)}"
    sizes = f"{4 if options.packed else 3}, {CHUNK}, {NUMBERS}, {KEPT}"
    roles = f"pbd::MemberRoles<{INNER}, {RIM}, {BALL}>"
    scales = f"pbd::ScaleColumns<{int(SIZE)}, {int(INV_SIZE)}, {int(FRICTION)}>"
    columns = COLUMNS, CENTER, TURN, START, START_TURN, OFFSET, INV_MASS, INVERSE, GONE, TWIST
    carry = f"pbd::CarryColumns<{', '.join(map(str, columns))}>"
    return f"pbd::ContactOptions<{flags}, {sizes}, {roles}, {scales}, {carry}>"


@functools.cache
def make_particle_contacts(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build the function that separates overlapping particles of one group, with Coulomb friction.

    Args:
        wide: lane count and precision.
        options: what the kernel is compiled for. Where environments differ, radii grow with the size, and friction has
            a factor.
        data: the struct of the whole model.
    """
    scalar: Any = wide.scalar
    body_: Any = body_type(wide.vec)
    lists_: Any = lists_type(wide.vec)
    rigid_: Any = scratch_type(wide.vec)
    shape = f"pbd::BallShape{{{FATNESS}, {FINE_FATNESS}, {FATTER[0]}, {FATTER[1]}}}"
    arguments = f"model, body, lists, rigid, inv_h, substep, group, thread, thread_count, {shape}"
    lanes = lanes_type(wide.lanes, wide.scalar)

    @wp.func_native(call("separate_members", lanes, _options_type(options), arguments=arguments))
    def separate(
        model: data, body: body_, lists: lists_, rigid: rigid_, inv_h: scalar, substep: int, group: int, thread: int,
        thread_count: int,
    ) -> None: ...  # fmt: skip

    return separate


@functools.cache
def make_piercings(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build the function that counts the edges that go through a surface, after contacts have been resolved.

    Args:
        wide: lane count and precision.
        options: what the kernel is compiled for.
        data: the struct of the whole model.
    """
    body_: Any = body_type(wide.vec)
    lists_: Any = lists_type(wide.vec)
    arguments = f"model, body, lists, group, thread, thread_count, {NEARNESS}"
    lanes = lanes_type(wide.lanes, wide.scalar)

    @wp.func_native(call("count_piercings", lanes, _options_type(options), arguments=arguments))
    def count_piercings(
        model: data, body: body_, lists: lists_, group: int, thread: int, thread_count: int
    ) -> None: ...

    return count_piercings


@functools.cache
def make_contacts(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build the contacts between particles, and the count of those they could not hold, which the last substep takes.

    Args:
        wide: lane count and precision.
        options: what the kernel is compiled for.
        data: the struct of the whole model.
    """
    scalar, body_, lists_, rigid_ = wide.scalar, body_type(wide.vec), lists_type(wide.vec), scratch_type(wide.vec)
    separate = make_particle_contacts(wide, options, data)
    count_piercings = make_piercings(wide, options, data) if options.surfaces else None

    @wp.func
    @no_type_check
    def resolve(
        model: data, body: body_, lists: lists_, rigid: rigid_, inv_h: scalar, substep: int, counts: bool, group: int,
        thread: int, threads: int,
    ):  # fmt: skip
        separate(model, body, lists, rigid, inv_h, substep, group, thread, threads)
        if wp.static(options.surfaces):
            if counts:
                count_piercings(model, body, lists, group, thread, threads)

    return resolve
