"""The way of constraints to the device, the same for every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp


def fill_table(
    table: Any, indices: np.ndarray, bounds: np.ndarray, first: int, values: dict[str, np.ndarray], device: Any
) -> None:
    """Upload constraints that are already in solve order into the table of their kind.

    Args:
        table: instance of the kind's ``table_type``; its array fields are filled in the types they are declared with.
        indices: particles of each constraint, shape (m, k), int32; field ``indices``.
        bounds: first constraint of each colour, and the end, shape (colours + 1,), int32; field ``bounds``.
        first: where the kind's multipliers start among those of all kinds; field ``first``.
        values: what the kind's ``prepare`` returned, shape (m, ...) each; a field of the same name each.
        device: Warp device.
    """
    for name, array in {"indices": indices, "bounds": bounds, **values}.items():
        declared = table._cls.vars[name].type
        setattr(table, name, wp.array(array, dtype=declared.dtype, ndim=declared.ndim, device=device))
    table.first = first
