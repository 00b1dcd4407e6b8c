"""Holding of particles by grips: a held particle is infinitely heavy."""

from typing import Any, no_type_check

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
@no_type_check
def set_held(
    env: int,
    slot: int,
    particle: int,
    free_inv_mass: wp.array3d[Any],
    lanes: int,
    held: wp.array2d[wp.int32],
    inv_mass: wp.array3d[Any],
    velocities: wp.array4d[Any],
):
    """Make grip ``slot`` of environment ``env`` hold ``particle``, or nothing if that is -1.

    A released particle gets its inverse mass back and keeps its velocity, except that a pinned one stops where it is.
    """
    group = env // lanes
    lane = env % lanes
    old = held[env, slot]
    if old >= 0:
        inv_mass[group, old, lane] = free_inv_mass[group, old, lane]
        if free_inv_mass[group, old, lane] == inv_mass.dtype(0.0):
            for axis in range(3):
                velocities[group, old, axis, lane] = velocities.dtype(0.0)
    if particle >= 0:
        inv_mass[group, particle, lane] = inv_mass.dtype(0.0)
    held[env, slot] = particle


@wp.kernel
@no_type_check
def hold(
    wanted: wp.array2d[wp.int32],
    free_inv_mass: wp.array3d[Any],
    lanes: int,
    held: wp.array2d[wp.int32],
    inv_mass: wp.array3d[Any],
    velocities: wp.array4d[Any],
):
    """Make grips hold the wanted particles, shape (envs, grips); all release first, so that two grips can swap."""
    env = wp.tid()
    for slot in range(held.shape[1]):
        set_held(env, slot, -1, free_inv_mass, lanes, held, inv_mass, velocities)
    for slot in range(held.shape[1]):
        set_held(env, slot, wanted[env, slot], free_inv_mass, lanes, held, inv_mass, velocities)
