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


def check_numbers(config: Any, positive: Sequence[str], signed: Sequence[str] = ()) -> None:
    """Check every number of a task configuration: all are finite, and none is negative.

    Args:
        config: dataclass of numbers and tuples of numbers.
        positive: fields that must not be zero either.
        signed: fields that may be negative.

    Raises:
        ValueError: for the first one out of range.
    """
    for field in dataclasses.fields(config):
        value = np.asarray(getattr(config, field.name), dtype=np.float64)
        if not np.isfinite(value).all():
            raise ValueError(f"{field.name} must be finite, got {getattr(config, field.name)}")
        if field.name not in signed and (value < 0.0).any():
            raise ValueError(f"{field.name} must not be negative, got {getattr(config, field.name)}")
        if field.name in positive and (value == 0.0).any():
            raise ValueError(f"{field.name} must be above zero, got {getattr(config, field.name)}")


def check_actions(actions: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return actions as a float32 array of ``shape``.

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
    if given.dtype != np.float32:  # a large float64 would become infinite before the kernel clips it
        given = np.clip(given, -1.0, 1.0).astype(np.float32)
    return given


def check_options(options: dict[str, Any] | None, num_envs: int) -> np.ndarray:
    """Return which environments a reset is for, bool, shape (num_envs,). The caller's dict is left as it is.

    Raises:
        ValueError: for an unknown option, or a mask of a wrong shape or dtype, or one that chooses nothing.
    """
    unknown = set(options or {}) - {"reset_mask", "parameters"}
    if unknown:
        raise ValueError(f"unknown reset options {sorted(unknown)}; there are 'reset_mask' and 'parameters'")
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
    # Small seeds are taken as they are; larger ones are hashed into 32 bits.
    small = [s if s < 2**32 else int(np.random.SeedSequence(s).generate_state(1)[0]) for s in seeds]
    return np.array(small, dtype=np.uint32).view(np.int32)
