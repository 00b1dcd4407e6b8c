"""Steps in float64 for a batch in float32: twins of its model, state and control, and the copies between them.

Velocities are changes of position over a substep h, and forces are changes of these: float32's rounding of a position
amounts to an acceleration of ``ulp(x) / h^2``, in which 1 mm at h = 1 ms is much and 1 um at h = 0.05 ms is forty times
gravity. So the error grows as h gets smaller. Where it would be visible, a control step works in float64 from beginning
to end: positions are rounded only once, at its end, which does not affect velocities and forces. Nothing else is kept
from step to step, so a step still depends only on a state in float32.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.kernels.data.colliders import table_type
from pbd_gym.kernels.data.step import control_type, model_data
from pbd_gym.kernels.lanes import casts

GIVEN = ("positions", "velocities", "inv_mass", "free_inv_mass", "memory", "grip_positions", "poses")
"""Arrays of a state that a step reads."""
FOUND = (
    "positions", "previous", "velocities", "memory", "grip_positions", "poses", "lam", "grip_forces", "pushes",
    "wrench_sums",
)  # fmt: skip
"""Arrays of a state that a step changes."""
SHARED = {"": ("held", "pins", "diverged", "inverted"), "contacts": ("overflow", "piercings"), "fluid": ("overflow",)}
"""Integer arrays that both share, by the struct that contains them."""
MOVES = ("motion", "collider_motion", "forces", "emission")
"""Arrays of a control that differ from step to step."""

Pair = tuple[Any, Any]
"""An array in float32, and its counterpart in float64."""


def rounding(reach: float, h: float, gravity: float) -> float:
    """Return float32's rounding of positions, as a share of gravity's displacement in a substep.

    Args:
        reach: distance from the origin along an axis [m].
        h: the substep [s].
        gravity: [m/s^2]; without gravity, forces are assumed to be as large as weight on Earth.
    """
    return float(np.spacing(np.float32(reach))) / ((gravity or 9.81) * h * h)


def _wide(dtype: Any) -> Any:
    """Return the float64 type of an array."""
    if dtype is wp.float32:
        return wp.float64
    if getattr(dtype, "_wp_scalar_type_", None) is not wp.float32:
        return dtype
    shape = dtype._shape_
    return wp.types.vector(*shape, dtype=wp.float64) if len(shape) == 1 else wp.types.matrix(shape, dtype=wp.float64)


def widened(array: Any) -> Any:
    """Return a copy of a Warp array in float64; integer arrays are returned unchanged."""
    dtype = _wide(array.dtype)
    if dtype is array.dtype:
        return array
    found = wp.empty(array.shape, dtype=dtype, device=array.device)
    if found.size:
        found.assign(array.numpy().astype(np.float64))
    return found


def widen_struct(source: Any, target: Any) -> Any:
    """Fill a float64 struct from a float32 struct with the same fields, and return it."""
    for name, variable in target._cls.vars.items():
        value = getattr(source, name)
        if wp.types.is_array(variable.type):
            if value is not None and value.shape:
                setattr(target, name, widened(value))
        elif hasattr(value, "_cls"):
            widen_struct(value, getattr(target, name))
        else:
            setattr(target, name, float(value) if variable.type in (wp.float32, wp.float64) else value)
    return target


def double_model(model: Any) -> Any:
    """Return the constants of a :class:`pbd_gym.sim.model.Model` in float64, in the same order and layout."""
    twin = copy.copy(model)
    twin.dtype, twin.scalar = np.dtype(np.float64), wp.float64
    twin.vec = wp.types.vector(length=model.lanes, dtype=wp.float64)
    twin.gravity, twin.inv_mass = widened(model.gravity), widened(model.inv_mass)
    tables = model.contact_count > 0, model.anchor_room > 0, model.fluid_options is not None, model.has_rigid
    twin.data = widen_struct(model.data, model_data(wp.float64, model.kinds, *tables)())
    twin.colliders = widen_struct(model.colliders, table_type(wp.float64)())
    return twin


def double_state(state: Any, model: Any) -> tuple[Any, list[Pair], list[Pair]]:
    """Create the float64 twin of a state, and list the arrays to copy before and after each step.

    Args:
        state: state in float32. model: model from :func:`double_model`.

    Returns:
        Arrays in float64, pairs of arrays that a step reads, and of those that it changes.
    """
    twin = state.twin(model)
    for name, fields in SHARED.items():
        source, target = (getattr(each, name) if name else each for each in (state, twin))
        for each in fields:
            if not name or name == "contacts" or model.fluid_options is not None:
                setattr(target, each, getattr(source, each))
    before = [(getattr(state, name), getattr(twin, name)) for name in GIVEN]
    before.append((state.parameters.rows, twin.parameters.rows))
    after = [(getattr(state, name), getattr(twin, name)) for name in FOUND]
    if model.fluid_options is not None:
        after.append((state.fluid.density, twin.fluid.density))
    return twin, before, after


def double_control(control: Any, model: Any) -> tuple[Any, list[Pair]]:
    """Create the float64 twin of a control: the struct for the kernel, and pairs of arrays that a step reads."""
    source = control.data()
    target = widen_struct(source, control_type(model.vec)())
    pairs = [(getattr(source, name), getattr(target, name)) for name in MOVES]
    if control.has_wind:
        pairs.append((source.air.wind, target.air.wind))
    return target, pairs


def _numbers(array: Any, scalar: Any, first: int, count: int, groups: int) -> Any:
    """Return the memory of some groups of a batch as one row of numbers."""
    size = array.size * wp.types.type_size_in_bytes(array.dtype) // wp.types.type_size_in_bytes(scalar) // groups
    start = array.ptr + first * size * wp.types.type_size_in_bytes(scalar)
    return wp.array(ptr=start, shape=(count * size,), dtype=scalar, device=array.device)


def record_casts(pairs: Iterable[Pair], first: int, count: int, groups: int, back: bool) -> Iterator[Any]:
    """Yield recorded launches that copy some groups of arrays.

    Args:
        pairs: arrays in float32 and in float64.
        first: first group. count: number of groups. groups: number of groups of the whole batch.
        back: whether to copy into float32.
    """
    for single, double in pairs:
        if not single.size:
            continue
        ends = [_numbers(single, wp.float32, first, count, groups), _numbers(double, wp.float64, first, count, groups)]
        kernel = casts.narrow if back else casts.widen
        inputs = ends[::-1] if back else ends
        yield wp.launch(kernel, dim=len(ends[0]), inputs=inputs, device=single.device, record_cmd=True)
