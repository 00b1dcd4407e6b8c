"""Positions of a lone environment in rows of four, x, y, z and the weight: one register holds two particles.

A batch has a number for each environment at every place, which fill the vector units. A lone environment fills them
with several constraints of a colour instead (:mod:`pbd_gym.kernels.solve.sweep`), for which whole rows are loaded and
stored.
"""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.native import call, scalar_name


@functools.cache
def make_packed_advance(wide: Wide, data: Any) -> Any:
    """Build :func:`pbd_gym.kernels.motion.integration.make_advance` for packed positions, one lane and one thread.

    Args:
        wide: lane count and precision.
        data: the struct of the whole model.
    """
    body_: Any = body_type(wide.vec)
    substep_: Any = substep_type(wide.vec)

    @wp.func_native(call("advance_packed", scalar_name(wide.scalar), arguments="body, now"))
    def advance(model: data, body: body_, now: substep_, thread: int, thread_count: int) -> None: ...

    return advance
