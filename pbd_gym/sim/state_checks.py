"""Checks of values that a state is set to: grips, quaternions, and whole saved states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.runtime.checks import FARTHEST, FASTEST, LARGEST, broadcast, finite, integers, reals
from pbd_gym.sim.model import Model
from pbd_gym.sim.parameters import Parameters


def check_held(model: Model, held: ArrayLike) -> np.ndarray:
    """Return the particle for each grip to hold, -1 for none, shape (num_envs, grips), int.

    Raises:
        ValueError: for a wrong shape, a dtype that is not integer, a particle that does not exist, one in two grips at
            once, or a scene without grips.
    """
    wanted = broadcast("held", integers("held", held), (model.num_envs, model.grip_count))
    if wanted.size == 0:
        raise ValueError("held must be integers, and the scene needs grips")
    if wanted.min() < -1 or wanted.max() >= model.particle_count:
        raise ValueError(f"held must be -1 or a particle from 0 to {model.particle_count - 1}")
    ordered = np.sort(wanted, axis=1)
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
        raise ValueError("held names a particle twice: one particle cannot be in two grips")
    return wanted


def check_orientation(orientation: ArrayLike, count: int) -> np.ndarray:
    """Return quaternions (x, y, z, w) scaled to length one, shape (count, 4), float64.

    Raises:
        TypeError: for anything but real numbers.
        ValueError: for a wrong shape, a number that is not finite, or a quaternion of zero.
    """
    given = finite("orientation", orientation, (count, 4))
    length = np.linalg.norm(given, axis=1, keepdims=True)
    if (length < 1e-6).any():
        raise ValueError("orientation must be a quaternion (x, y, z, w) other than zero")
    return given / length


def check_rows(rows: Any, count: int) -> np.ndarray:
    """Return the saved row for each of ``count`` environments, shape (count,), int; its own if ``rows`` is None.

    Raises:
        ValueError: for a wrong shape, or a dtype that is not integer.
    """
    if rows is None:
        return np.arange(count)
    given = integers("rows", rows)
    if given.shape != (count,):
        raise ValueError(f"rows must be integers of shape ({count},), got {given.dtype} {given.shape}")
    return given


def check_names(saved: Any, expected: Any) -> None:
    """Check that a saved state has exactly the expected arrays.

    Raises:
        TypeError: if it is not a mapping.
        ValueError: for an array that is missing, or one that is unknown.
    """
    if not isinstance(saved, Mapping):
        raise TypeError(f"a saved state is a mapping from names to arrays, got {type(saved).__name__}")
    for name in expected:
        if name not in saved:
            raise ValueError(f"this is not a state of this scene and these modes: {name!r} is missing")
    for name in saved:
        if name not in expected:
            raise ValueError(f"this is not a state of this scene and these modes: {name!r} is unknown here")


def take_rows(name: str, array: np.ndarray, rows: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return rows of one saved array, shape (rows, *shape).

    Raises:
        ValueError: if its rows have a wrong shape, or some row is missing.
    """
    if array.ndim != 1 + len(shape) or array.shape[1:] != shape:
        raise ValueError(f"{name} must have shape {('rows', *shape)}, got {array.shape}")
    if rows.size and (rows.min() < 0 or rows.max() >= len(array)):
        raise ValueError(f"rows must be from 0 to {len(array) - 1}, the rows of {name}")
    return array[rows]


def check_saved(model: Model, parameters: Parameters, saved: Any, rows: Any = None) -> dict[str, np.ndarray]:
    """Check everything that :meth:`pbd_gym.sim.state.State.save` returned, possibly for another batch of the same
    scene.

    Args:
        model: model of the state that will load it. parameters: parameters of that state. saved: arrays by name. rows:
        row for each environment, shape (num_envs,), int; its own if None.

    Returns:
        The rows taken of each array, shape (num_envs, ...).

    Raises:
        TypeError: for anything but a mapping, or arrays of anything but numbers.
        ValueError: for an array that is missing, unknown, of a wrong shape or dtype, or with a number that is not
            finite or out of its range. The message names the array.
    """
    shapes: dict[str, tuple[tuple[int, ...], float]] = {
        "positions": ((model.particle_count, 3), FARTHEST),
        "velocities": ((model.particle_count, 3), FASTEST),
        "grip_positions": ((model.grip_count, 3), FARTHEST),
        "poses": ((len(model.moving_colliders), 7), FARTHEST),
        "memory": ((model.memory_count,), LARGEST),
        "parameters": ((len(parameters.nominal),), np.inf),
    }
    check_names(saved, {*shapes, "held"})
    chosen = check_rows(rows, model.num_envs)
    taken = {}
    for name, (shape, largest) in shapes.items():
        values = take_rows(name, reals(name, saved[name]), chosen, shape)
        taken[name] = finite(name, values, (model.num_envs, *shape), model.dtype, largest)
    parameters.check(taken["parameters"])
    lengths = np.linalg.norm(taken["poses"][..., 3:].astype(np.float64), axis=-1)
    if (np.abs(lengths - 1.0) > 1e-3).any():
        raise ValueError("poses must have quaternions (x, y, z, w) of length one")
    held = take_rows("held", integers("held", saved["held"]), chosen, (model.grip_count,))
    taken["held"] = check_held(model, held) if model.grip_count else held
    return taken
