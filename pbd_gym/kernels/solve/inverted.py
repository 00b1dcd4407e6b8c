"""Count of tetrahedra that a step leaves inverted or flat, by ``native/inverted.h``."""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.data.parameters import SIZE
from pbd_gym.kernels.data.solids import table_type
from pbd_gym.kernels.data.step import state_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.native import call, lanes_type


@functools.cache
def make_inverted(wide: Wide) -> Any:
    """Build the function that counts inverted tetrahedra in every environment of a group, for all threads."""
    solids_: Any = table_type(wide.scalar)
    state_: Any = state_type(wide.vec)
    given = "solids, state.positions, state.parameters"
    arguments = f"{given}, {int(SIZE)}, state.inverted, group, thread, thread_count"

    @wp.func_native(call("count_inverted", lanes_type(wide.lanes, wide.scalar), arguments=arguments))
    def count_inverted(solids: solids_, state: state_, group: int, thread: int, thread_count: int) -> None: ...

    return count_inverted
