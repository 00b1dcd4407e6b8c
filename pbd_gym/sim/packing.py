"""Packing of environments that are awake into the same lanes: the launches around a step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.kernels.motion.packing import Layout, pack, unpack
from pbd_gym.runtime.compilation import first_launch
from pbd_gym.sim.control import Control
from pbd_gym.sim.model import Model
from pbd_gym.sim.state import State
from pbd_gym.sim.upload.arrays import fill

STATE = (
    "positions", "previous", "velocities", "inv_mass", "free_inv_mass", "parameters", "lam", "memory", "held",
    "grip_positions", "grip_forces", "pins", "poses", "diverged", "inverted",
)  # fmt: skip
"""Arrays of the state that belong to an environment between steps; all others are scratch."""
CONTACTS = ("asleep", "piercings", "overflow")
"""Those of its contacts."""
CONTROL = ("motion", "collider_motion", "forces")
"""Those of the control."""


def packs(model: Model, sleep: bool, groups: int) -> bool:
    """Return whether environments in some groups can share lanes: if they sleep, and lanes are not blocks of a GPU."""
    return sleep and model.lanes > 1 and not model.in_blocks and groups > 1


def _arrays(state: State, control: Control) -> list[Any]:
    """Return the arrays that belong to environments, without empty ones."""
    data, given = state.data(), control.data()
    found = [getattr(data, name) for name in STATE] + [getattr(data.contacts, name) for name in CONTACTS]
    found += [getattr(given, name) for name in CONTROL]
    if control.has_wind:
        found.append(given.air.wind)
    return [array for array in found if array.size]


def _layout(model: Model, arrays: list[Any]) -> Any:
    """Return where the numbers of environments are in arrays of vectors, one for each group, or of slots."""
    rows, words, strides = [], [], []
    for array in arrays:
        scalar = getattr(array.dtype, "_wp_scalar_type_", array.dtype)
        length = wp.types.type_size_in_bytes(scalar) // 4
        count = math.prod(array.shape[1:])
        in_lanes = array.dtype is model.vec
        rows.append(count)
        words.append(length)
        row, lane = (model.lanes, 1) if in_lanes else (1, count)
        strides.append((count * model.lanes * length, row * length, lane * length))
    layout: Any = Layout()
    addresses = np.array([array.ptr for array in arrays], dtype=np.uint64)
    fill(layout, model.device, addresses=addresses, rows=rows, words=words, strides=strides)
    return layout


class Packed:
    """Launches of a step around which environments change places, recorded as one.

    Args:
        launches: launches of some groups.
        state: state of the batch.
        control: its control.
        first: first group.
        count: number of groups.
    """

    def __init__(self, launches: list[Any], state: State, control: Control, first: int, count: int) -> None:
        model = state.model
        self._launches = launches
        layout = _layout(model, _arrays(state, control))
        swaps = wp.zeros((1 + count * model.lanes // 2, 2), dtype=wp.int32, device=model.device)
        given = [
            first * model.lanes, (first + count) * model.lanes, model.lanes, layout, model.rest_memory,
            state.memory_scalar, state.held, control.collider_motion, swaps,
        ]  # fmt: skip
        self._pack, self._unpack = (
            self._recorded(kernel, inputs, model.device)
            for kernel, inputs in ((pack, given), (unpack, [layout, swaps, model.lanes]))
        )

    @staticmethod
    def _recorded(kernel: Any, inputs: list[Any], device: Any) -> Any:
        with first_launch(kernel, device):
            return wp.launch(kernel, dim=1, inputs=inputs, device=device, record_cmd=True)

    def launch(self) -> None:
        """Launch the step. Environments go back to where they were even if an interrupt comes."""
        try:
            self._pack.launch()
            for launch in self._launches:
                launch.launch()
        finally:
            self._unpack.launch()
