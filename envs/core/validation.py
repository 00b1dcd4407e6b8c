"""Checks of what a user hands in. Each raises one error that names what is wrong, before anything has changed."""

from __future__ import annotations

import dataclasses
import difflib
import sys
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import warp as wp

Split = Literal["train", "eval", "all"]
SPLITS: tuple[Split, ...] = ("train", "eval", "all")
_OPTIONS = ("reset_mask", "split", "variation", "parameters")


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


def write_actions(target: Any, actions: Any) -> None:
    """Copy actions to a device array without waiting for the device; what is not there yet goes through the host.

    Raises:
        TypeError: for a dtype that is not floating.
        ValueError: for a wrong shape, or (of actions on the host) a number that is not finite.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(actions, torch.Tensor) or str(actions.device) != str(target.device.alias):
        target.assign(check_actions(actions, target.shape))
        return
    if not actions.is_floating_point():
        raise TypeError(f"actions must be floating numbers, got {actions.dtype}")
    if tuple(actions.shape) != target.shape:
        raise ValueError(f"actions must have shape {target.shape}, got {tuple(actions.shape)}")
    source: Any = wp.from_torch(actions.detach().float().contiguous())
    wp.copy(target, source)


def check_options(options: dict[str, Any] | None, num_envs: int) -> np.ndarray:
    """Return which environments a reset is for, bool, shape (num_envs,). The caller's dict is left as it is.

    Raises:
        ValueError: for an unknown option, or a mask of a wrong shape or dtype, or one that chooses nothing.
    """
    unknown = set(options or {}) - set(_OPTIONS)
    if unknown:
        raise ValueError(f"unknown reset options {sorted(unknown)}; there are {', '.join(_OPTIONS)}")
    mask = (options or {}).get("reset_mask")
    if mask is None:
        return np.ones(num_envs, dtype=bool)
    if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (num_envs,):
        raise ValueError(f"reset_mask must be a bool array of shape ({num_envs},), got {mask!r}")
    if not mask.any():
        raise ValueError("reset_mask chooses no environment")
    return mask.copy()


def split_range(split: Split, count: int) -> tuple[int, int]:
    """Return the first of ``count`` start states that belongs to a split, and how many do.

    The first four fifths are for training and the rest for evaluation, as in SoftGym; a single one serves both.

    Raises:
        ValueError: for an unknown split.
    """
    if split not in SPLITS:
        raise ValueError(f"split must be one of {SPLITS}, got {split!r}")
    border = max((4 * count) // 5, 1) if count > 1 else 0
    return {"all": (0, count), "train": (0, border or count), "eval": (border, count - border)}[split]


def check_starts(
    options: dict[str, Any] | None, split: Split, count: int, num_envs: int
) -> tuple[np.ndarray | int, np.ndarray | int]:
    """Return the first start state and the number of them that a reset draws from, for each environment.

    Args:
        options: of the reset.
        split: what is drawn from without an option.
        count: start states there are.
        num_envs: environments.

    Raises:
        ValueError: for an unknown split, or a variation that is not a whole number of the split.
    """
    first, size = split_range((options or {}).get("split", split), count)
    variation = (options or {}).get("variation")
    if variation is None:
        return first, size
    chosen = np.asarray(variation)
    if not np.issubdtype(chosen.dtype, np.integer) or chosen.shape not in ((), (num_envs,)):
        raise ValueError(f"variation must be an int or ints of shape ({num_envs},), got {variation!r}")
    if chosen.min() < 0 or chosen.max() >= size:
        raise ValueError(f"variation must be from 0 to {size - 1}, got {variation!r}")
    return first + chosen, 1


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
