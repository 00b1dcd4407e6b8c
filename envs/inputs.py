"""Checks of what a user hands in. Each raises one error that names what is wrong, before anything has changed."""

from __future__ import annotations

import dataclasses
import difflib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np


def make_config(config_type: Any, overrides: dict[str, Any]) -> Any:
    """Build a task configuration with some fields changed.

    Raises:
        TypeError: for a field that does not exist; the message names the closest one.
    """
    names = [field.name for field in dataclasses.fields(config_type)]
    for name in overrides:
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; {config_type.__name__} has {', '.join(names)}"
            raise TypeError(f"unknown option {name!r}{hint}")
    return config_type(**overrides)


def check_actions(actions: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return actions as an array of ``shape``.

    Raises:
        TypeError: for a dtype that is not floating.
        ValueError: for a wrong shape, or a number that is not finite.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(actions, torch.Tensor):
        actions = actions.detach().cpu().numpy()
    given = np.asarray(actions)
    if not np.issubdtype(given.dtype, np.floating):
        raise TypeError(f"actions must be floating numbers, got {given.dtype}")
    if given.shape != shape:
        raise ValueError(f"actions must have shape {shape}, got {given.shape}")
    if not np.isfinite(given).all():
        row = int(np.argwhere(~np.isfinite(given))[0][0])
        raise ValueError(f"actions must be finite; row {row} is {given[row]}")
    return given


def check_options(options: dict[str, Any] | None, num_envs: int) -> np.ndarray:
    """Return which environments a reset is for, bool, shape (num_envs,). The caller's dict is left as it is.

    Raises:
        ValueError: for an unknown option, or a mask of a wrong shape or dtype, or one that chooses nothing.
    """
    unknown = set(options or {}) - {"reset_mask"}
    if unknown:
        raise ValueError(f"unknown reset options {sorted(unknown)}; there is 'reset_mask'")
    mask = (options or {}).get("reset_mask")
    if mask is None:
        return np.ones(num_envs, dtype=bool)
    if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (num_envs,):
        raise ValueError(f"reset_mask must be a bool array of shape ({num_envs},), got {mask!r}")
    if not mask.any():
        raise ValueError("reset_mask chooses no environment")
    return mask.copy()


def split_seed(seed: int | Sequence[int | None] | None, num_envs: int) -> np.ndarray | None:
    """Return a 32-bit seed per environment, int32, shape (num_envs,), or None.

    Raises:
        ValueError: for a negative seed, or a list of a wrong length or with a None in it.
    """
    if seed is None:
        return None
    if isinstance(seed, int | np.integer):
        seeds = [int(seed) + i for i in range(num_envs)]
    else:
        if len(seed) != num_envs or any(s is None for s in seed):
            raise ValueError(f"a list of seeds must name {num_envs} integers, got {seed}")
        seeds = [int(s) for s in seed if s is not None]
    if min(seeds) < 0:
        raise ValueError(f"seeds must not be negative, got {min(seeds)}")
    # Fold what is above 32 bits into them, so that large seeds count as well.
    folded = [(s ^ (s >> 32) ^ (s >> 64)) & 0xFFFFFFFF for s in seeds]
    return np.array(folded, dtype=np.uint32).view(np.int32)
