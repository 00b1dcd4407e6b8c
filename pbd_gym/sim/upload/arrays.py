"""Conversion of arrays for a device and back: rows of environments, groups of lanes, and the structs of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp


def to_rows(grouped: np.ndarray, num_envs: int) -> np.ndarray:
    """Return a copy of an array (groups, ..., lanes) with one row per environment, shape (num_envs, ...)."""
    by_env = np.moveaxis(grouped, -1, 1).reshape(-1, *grouped.shape[1:-1])
    return np.array(by_env[:num_envs], order="C")  # a copy also where the layout is the same already


def row_of(array: Any, num_envs: int, lanes: int, env: int) -> np.ndarray:
    """Return a copy of the row of one environment in a Warp array (groups, ..., lanes), shape (...).

    From a GPU only its group is fetched: a script that plans for one environment after another would wait long for
    copies of all of them.

    Raises:
        IndexError: for an environment that does not exist.
    """
    group, lane = divmod(range(num_envs)[env], lanes)
    fetched = array.numpy()[group] if array.device.is_cpu else array[group].numpy()
    return np.array(fetched[..., lane], order="C")


def to_lanes(rows: np.ndarray, groups: int, lanes: int) -> np.ndarray:
    """Return rows of environments (num_envs, ...) as an array of shape (groups, ..., lanes).

    Lanes without an environment repeat the last one, so that they compute with valid numbers.
    """
    padded = pad_rows(rows, groups * lanes).reshape(groups, lanes, *rows.shape[1:])
    return np.ascontiguousarray(np.moveaxis(padded, 1, -1))


def pad_rows(rows: np.ndarray, count: int) -> np.ndarray:
    """Return rows with the last one repeated until there are ``count``, shape (count, ...)."""
    return np.concatenate([rows, np.repeat(rows[-1:], count - len(rows), axis=0)])


def by_scalar(model: Any, array: Any) -> Any:
    """Return a Warp array of lane vectors as one of numbers in the same memory, with the lanes along the last axis."""
    return wp.array(ptr=array.ptr, shape=(*array.shape, model.lanes), dtype=model.scalar, device=model.device)


def scatter(model: Any, target: Any, rows: np.ndarray) -> None:
    """Write rows of environments (num_envs, ...) into a Warp array (groups, ..., lanes)."""
    target.assign(to_lanes(rows, model.group_count, model.lanes))


def fill(table: Any, device: Any, **values: Any) -> None:
    """Set fields of a Warp struct, converting arrays to their declared types.

    Args:
        table: instance of a struct.
        device: device of the arrays. **values: numbers, structs, and anything that NumPy can convert to an array.
    """
    for name, value in values.items():
        declared = table._cls.vars[name].type
        if wp.types.is_array(declared):
            value = wp.array(np.asarray(value), dtype=declared.dtype, ndim=declared.ndim, device=device)
        setattr(table, name, value)
