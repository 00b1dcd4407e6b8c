"""Packing: during a control step, environments that are awake share groups of lanes.

A group of lanes takes as long with one awake environment as with all of them awake. So before a step, awake
environments change places with sleeping ones until they fill as few groups as possible; the other groups return at
once. After the step all go back, so no other code sees them elsewhere. Results do not depend on the place.

Sleep is predicted from an environment's memory, hands and colliders. The step itself decides: an environment that wakes
for another reason is only in a less favourable place for that step.
"""

from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.motion.sleeping import NEARLY, REST_TIME, is_held

wp.set_module_options({"enable_backward": False})

_AT_ONCE = 64
"""Number of rows exchanged for all pairs of environments in turn, while these rows are in the nearest cache."""


@wp.struct
class Layout:
    """Arrays of a batch, as words of four bytes, one row for each number of an environment."""

    addresses: wp.array1d[wp.uint64]
    """address of each array, shape (arrays,)"""
    rows: wp.array1d[wp.int32]
    """numbers of an environment, shape (arrays,)"""
    words: wp.array1d[wp.int32]
    """words of a number, shape (arrays,)"""
    strides: wp.array2d[wp.int32]
    """words from one group to the next, from row to row, and from lane to lane, shape (arrays, 3)"""


@wp.func
@no_type_check
def place_of(layout: Layout, array: int, slot: int, lanes: int):
    """Return the address of the first number of an environment."""
    group = wp.uint64(slot // lanes) * wp.uint64(layout.strides[array, 0])
    lane = wp.uint64(slot % lanes) * wp.uint64(layout.strides[array, 2])
    return layout.addresses[array] + wp.uint64(4) * (group + lane)


@wp.func
@no_type_check
def exchange(layout: Layout, swaps: wp.array2d[wp.int32], lanes: int):
    """Exchange the numbers of pairs of environments, whose number is in the first row."""
    count = swaps[0, 0]
    for array in range(layout.addresses.shape[0] * wp.min(count, 1)):
        rows = layout.rows[array]
        words = layout.words[array]
        stride = layout.strides[array, 1]
        size = rows * stride
        for chunk in range((rows + wp.static(_AT_ONCE) - 1) // wp.static(_AT_ONCE)):
            begin = chunk * wp.static(_AT_ONCE)
            end = wp.min(begin + wp.static(_AT_ONCE), rows)
            for pair in range(1, count + 1):
                one = wp.array(
                    ptr=place_of(layout, array, swaps[pair, 0], lanes), shape=(size,), dtype=wp.uint32
                )  # fmt: skip
                other = wp.array(
                    ptr=place_of(layout, array, swaps[pair, 1], lanes), shape=(size,), dtype=wp.uint32
                )  # fmt: skip
                for row in range(begin, end):
                    for word in range(words):
                        k = row * stride + word
                        kept = one[k]
                        one[k] = other[k]
                        other[k] = kept


@wp.kernel
@no_type_check
def pack(
    # In:
    first: int,
    end: int,
    lanes: int,
    layout: Layout,
    column: int,
    memory: wp.array3d[Any],
    held: wp.array2d[wp.int32],
    collider_motion: wp.array3d[Any],
    # Out:
    swaps: wp.array2d[wp.int32],
):
    """Choose pairs of environments, one that is awake and one that sleeps, and exchange them.

    Args:
        first: first slot of the groups.
        end: end of their slots (exclusive).
        lanes: slots of a group.
        layout: arrays to exchange.
        column: place of the time at rest in the memory.
        memory: what environments remember, shape (groups, memory, lanes).
        held: particle in each grip, shape (slots, grips).
        collider_motion: motion of colliders in the step, shape (slots, moving, 6).
        swaps: number of pairs in the first row, then the slots of each, shape (1 + pairs, 2).
    """
    if swaps[0, 0] > 0:  # an interrupt has come in between
        exchange(layout, swaps, lanes)
    awake = int(0)
    groups = int(0)
    last = int(-1)
    for slot in range(first, end):
        if not dozes(memory, held, collider_motion, column, lanes, slot):
            awake += 1
            if slot // lanes != last:
                last = slot // lanes
                groups += 1
    needed = (awake + lanes - 1) // lanes
    count = int(0)
    if needed < groups:
        free = int(first)
        for slot in range(first + needed * lanes, end):
            if not dozes(memory, held, collider_motion, column, lanes, slot):
                while not dozes(memory, held, collider_motion, column, lanes, free):
                    free += 1
                count += 1
                swaps[count, 0] = slot
                swaps[count, 1] = free
                free += 1
    swaps[0, 0] = count
    exchange(layout, swaps, lanes)


@wp.func
@no_type_check
def dozes(
    memory: wp.array3d[Any],
    held: wp.array2d[wp.int32],
    collider_motion: wp.array3d[Any],
    column: int,
    lanes: int,
    slot: int,
):
    """Return whether an environment is likely to sleep in the next step."""
    rested = wp.float64(memory[slot // lanes, column, slot % lanes])
    return rested >= wp.float64(wp.static(NEARLY * REST_TIME)) and not is_held(held, collider_motion, slot)


@wp.kernel
@no_type_check
def unpack(layout: Layout, swaps: wp.array2d[wp.int32], lanes: int):
    """Exchange the pairs of :func:`pack` back."""
    exchange(layout, swaps, lanes)
    swaps[0, 0] = 0
