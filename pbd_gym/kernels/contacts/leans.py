"""Leaning lines: knots, and ropes hooked into each other.

Lines are solved exactly, and contacts afterwards. A taut line would pass through the body it lies on: it regains its
length in every substep with whatever force that takes, and contacts give way little by little. Three measures prevent
that.

* A particle remembers the direction in which contacts have pushed it, its lean, for some substeps. Along the lean it
  counts as heavier in the system of its line, since the body that it is pressed on moves along:
  :mod:`pbd_gym.kernels.solve.lines`.
* A line with such particles yields where it is tauter than contacts can resist within a substep. A compliance that
  grows with its tension limits that tension, and spreads the stretch over the whole line instead of the few segments at
  a knot. The line returns to its own stiffness within some substeps; this too is remembered. One that has become far
  too long regains its length at a bounded speed only.
* Contacts are resolved in rounds, in which balls that have passed each other within the substep return to their sides.

A rope that is too short for its knot stretches, and pulls harder at the hands as they move farther apart.
"""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.lanes.wide import Wide

ROUNDS = 4
"""Rounds of contacts in an iteration, where lines lean on them; see :func:`contact_rounds`."""
KEPT = 0.8
"""Share of its lean that a particle keeps in a substep without a contact push."""
FORGOTTEN = 1e-4
"""Square of the lean below which it counts as zero."""


def contact_rounds(options: SweepOptions) -> int:
    """Return the rounds of contacts between particles in an iteration.

    Rigid bodies move in between. One round where pushes on their particles are summed, which are read off how far these
    have been displaced.
    """
    return ROUNDS if options.leans and not (options.rigid and options.contact_forces) else 1


class Leans(NamedTuple):
    """Warp functions with the arguments (body, thread, threads), for all threads."""

    before: Any
    """Function that records the particles' displacement so far in this substep. Contacts move none before they have met
    at a barrier.
    """
    after: Any
    """Function that finds the direction in which contacts have pushed the particles since: the first numbers of
    ``body.memory``, three per particle, followed by one per line. Lines may read it beyond the next barrier.
    """


@functools.cache
def make_leans(wide: Wide) -> Leans:
    """Build the functions around the contacts of a substep."""
    vec, scalar, sqrt, pick = wide.vec, wide.scalar, wide.sqrt, wide.pick
    body_ = body_type(vec)

    @wp.func
    @no_type_check
    def before(body: body_, thread: int, threads: int):
        for i in range(thread, body.x.shape[0], threads):
            for axis in range(3):
                body.untouched[i, axis] = body.x[i, axis] - body.previous[i, axis]

    @wp.func
    @no_type_check
    def after(body: body_, thread: int, threads: int):
        none = vec(scalar(0.0))
        for i in range(thread, body.x.shape[0], threads):
            x = body.x[i, 0] - body.previous[i, 0] - body.untouched[i, 0]
            y = body.x[i, 1] - body.previous[i, 1] - body.untouched[i, 1]
            z = body.x[i, 2] - body.previous[i, 2] - body.untouched[i, 2]
            square = wp.cw_mul(x, x) + wp.cw_mul(y, y) + wp.cw_mul(z, z)
            over = wp.cw_div(vec(scalar(1.0)), sqrt(square) + vec(scalar(1e-30)))
            old_x = scalar(KEPT) * body.memory[3 * i]
            old_y = scalar(KEPT) * body.memory[3 * i + 1]
            old_z = scalar(KEPT) * body.memory[3 * i + 2]
            left = wp.cw_mul(old_x, old_x) + wp.cw_mul(old_y, old_y) + wp.cw_mul(old_z, old_z)
            kept = left - vec(scalar(FORGOTTEN))
            body.memory[3 * i] = pick(square, wp.cw_mul(x, over), pick(kept, old_x, none))
            body.memory[3 * i + 1] = pick(square, wp.cw_mul(y, over), pick(kept, old_y, none))
            body.memory[3 * i + 2] = pick(square, wp.cw_mul(z, over), pick(kept, old_z, none))

    return Leans(before, after)
