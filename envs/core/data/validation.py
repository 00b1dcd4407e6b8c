"""Checks of user input. Each raises one error that names the fault, before anything has changed."""

from __future__ import annotations

import dataclasses
import difflib
import sys
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.presets import Derived
from pbd_gym.runtime.checks import instance, integers, number, switch, whole

Split = Literal["train", "eval", "all"]
SPLITS: tuple[Split, ...] = ("train", "eval", "all")
SEEDS = 2**128
"""Largest seed: the size of NumPy's seeds."""
_OPTIONS = ("reset_mask", "split", "variation", "parameters")


def make_config(config_type: Any, overrides: dict[str, Any]) -> Any:
    """Build a task configuration with some fields changed.

    Args:
        config_type: dataclass of the task's numbers.
        overrides: values by field; :class:`Derived` ones follow from the configuration of the others.

    Raises:
        TypeError: for a field that does not exist; the message names the closest one.
    """
    names = [field.name for field in dataclasses.fields(config_type)]
    for name in overrides:
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; {config_type.__name__} has {', '.join(names)}"
            # Python's own words first: TorchRL looks for them to find out what an environment takes.
            raise TypeError(f"{config_type.__name__}.__init__() got an unexpected keyword argument {name!r}{hint}")
    derived = {name: value for name, value in overrides.items() if isinstance(value, Derived)}
    given = {name: value for name, value in overrides.items() if name not in derived}
    check_types(config_type, given)
    config = config_type(**given)
    return dataclasses.replace(config, **{name: value.of(config) for name, value in derived.items()})


def make_options(name: str, kind: Any, given: Any) -> Any:
    """Return options given as an object of their dataclass, as a mapping of its fields, or not at all.

    Raises:
        TypeError: for anything else, an unknown field, or a value of a wrong type.
        ValueError: for a value out of its range.
    """
    if isinstance(given, kind):
        return given
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"{name} must be a {kind.__name__} or a dict of its fields, got {given!r}")
    return make_config(kind, dict(given or {}))


def check_types(config_type: Any, values: Mapping[str, Any]) -> None:
    """Check values of fields of a dataclass by their annotations: numbers, switches, strings, and tuples of numbers.

    Raises:
        TypeError: for a value of a wrong type, such as a number in a string.
        ValueError: for a number that is not finite or does not fit into 32 bits, or a tuple of a wrong length.
    """
    try:
        hints = get_type_hints(config_type)
    except (NameError, TypeError):  # of a class in a function, or names that only type checkers see
        return
    for name, value in values.items():
        _check_type(name, value, hints.get(name, Any))


def _check_type(name: str, value: Any, hint: Any) -> None:
    if hint is int:
        whole(name, value, -(2**31))
    elif hint is float:
        number(name, value)
    elif hint is bool:
        switch(name, value)
    elif hint is str:
        instance(name, value, str)
    elif get_origin(hint) is tuple:
        parts = get_args(hint)
        if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
            raise TypeError(f"{name} must be several numbers, got {value!r}")
        if parts[-1] is Ellipsis:
            parts = (parts[0],) * len(value)
        if len(value) != len(parts):
            raise ValueError(f"{name} must be {len(parts)} numbers, got {value!r}")
        for entry, part in zip(value, parts, strict=True):
            _check_type(name, entry, part)
    elif get_origin(hint) in (Union, UnionType):
        wanted = [part for part in get_args(hint) if part is not NoneType]
        if len(wanted) == 1 and value is not None:
            _check_type(name, value, wanted[0])


def check_numbers(config: Any, positive: Sequence[str], signed: Sequence[str] = ()) -> None:
    """Check every number of a task configuration: all are finite, and none is negative. Words and None are accepted.

    Args:
        config: dataclass of numbers and tuples of numbers.
        positive: fields that must not be zero either.
        signed: fields that may be negative, besides those with ``metadata={"signed": True}``.

    Raises:
        TypeError: for the first value that is not a number.
        ValueError: for the first one out of range.
    """
    check_types(type(config), {field.name: getattr(config, field.name) for field in dataclasses.fields(config)})
    for field in dataclasses.fields(config):
        if isinstance(getattr(config, field.name), str | None):
            continue
        value = np.asarray(getattr(config, field.name), dtype=np.float64)
        if not np.isfinite(value).all():
            raise ValueError(f"{field.name} must be finite, got {getattr(config, field.name)}")
        if field.name not in signed and not field.metadata.get("signed") and (value < 0.0).any():
            raise ValueError(f"{field.name} must not be negative, got {getattr(config, field.name)}")
        if field.name in positive and (value == 0.0).any():
            raise ValueError(f"{field.name} must be above zero, got {getattr(config, field.name)}")


def is_tensor(value: Any) -> bool:
    """Return whether a value is a torch tensor; torch is not imported for it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def on_host(value: Any) -> Any:
    """Return a torch tensor as a NumPy array, bfloat16 as float32, since NumPy lacks it; other values unchanged."""
    if not is_tensor(value):
        return value
    value = value.detach()
    return (value.float() if value.is_floating_point() and value.itemsize == 2 else value).cpu().numpy()


def check_actions(actions: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return actions as a float32 array of ``shape``.

    Raises:
        TypeError: for an array of a dtype that is not floating; whole numbers in lists are accepted.
        ValueError: for a wrong shape, or a number that is not finite.
    """
    given = np.asarray(on_host(actions))
    if isinstance(actions, list | tuple) and np.issubdtype(given.dtype, np.integer):  # [0, 1] are numbers as they come
        given = given.astype(np.float64)
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
    """Copy actions to a device array without waiting for the device; those not on it yet go through the host.

    Raises:
        TypeError: for a dtype that is not floating.
        ValueError: for a wrong shape, or (for actions on the host) a number that is not finite.
    """
    if not is_tensor(actions) or str(actions.device) != str(target.device.alias):
        target.assign(check_actions(actions, target.shape))
        return
    if not actions.is_floating_point():
        raise TypeError(f"actions must be floating numbers, got {actions.dtype}")
    if tuple(actions.shape) != target.shape:
        raise ValueError(f"actions must have shape {target.shape}, got {tuple(actions.shape)}")
    source: Any = wp.from_torch(actions.detach().float().contiguous())
    wp.copy(target, source)


def check_options(options: dict[str, Any] | None, num_envs: int, device: str | None = None) -> Any:
    """Return the mask of environments to reset, bool, shape (num_envs,). The caller's dict is not changed.

    A mask that is a tensor on ``device`` stays a tensor there, and may choose nothing, since checking would wait for
    the device.

    Args:
        options: options of the reset. num_envs: number of environments. device: device on which masks may be tensors,
        such as ``"cuda:0"``; None if not supported.

    Raises:
        TypeError: for options that are not a mapping.
        ValueError: for an unknown option, or a mask of a wrong shape or dtype, or one that chooses nothing.
    """
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(f"options must be a dict, got {options!r}")
    unknown = set(options or {}) - set(_OPTIONS)
    if unknown:
        raise ValueError(f"unknown reset options {sorted(unknown)}; there are {', '.join(_OPTIONS)}")
    mask = (options or {}).get("reset_mask")
    if mask is None:
        return np.ones(num_envs, dtype=bool)
    if is_tensor(mask) and str(mask.dtype) == "torch.bool" and str(mask.device) == device:
        if tuple(mask.shape) == (num_envs,):
            return mask.detach().clone()
    else:
        mask = on_host(mask)
    if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (num_envs,):
        raise ValueError(f"reset_mask must be a bool array of shape ({num_envs},), got {mask!r}")
    if not mask.any():
        raise ValueError("reset_mask chooses no environment")
    return mask.copy()


def split_range(split: Split, count: int) -> tuple[int, int]:
    """Return the first of ``count`` start states that belongs to a split, and the size of the split.

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
    """Return the first start state and the number of states from which a reset draws, for each environment.

    Args:
        options: options of the reset. split: default split. count: number of start states.
        num_envs: environments.

    Raises:
        ValueError: for an unknown split, or a variation that is not a whole number of the split.
    """
    first, size = split_range((options or {}).get("split", split), count)
    variation = (options or {}).get("variation")
    if variation is None:
        return first, size
    chosen = integers("variation", variation)
    if chosen.shape not in ((), (num_envs,)):
        raise ValueError(f"variation must be an int or ints of shape ({num_envs},), got {variation!r}")
    if chosen.min() < 0 or chosen.max() >= size:
        raise ValueError(f"variation must be from 0 to {size - 1}, got {variation!r}")
    return first + chosen, 1


def split_seed(seed: Any, num_envs: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return a 32-bit seed per environment, int32, shape (num_envs,), and a mask of those that have one, bool; or None.

    Args:
        seed: one number, to which each environment adds its index; or a number or None per environment, in a sequence,
        an
            array or a tensor; or None.
        num_envs: environments.

    Raises:
        TypeError: for a seed that is not a whole number.
        ValueError: for a negative seed, one beyond 128 bits, or a list of a wrong length.
    """
    if is_tensor(seed):
        seed = on_host(seed)
        seed = seed[()] if seed.ndim == 0 else seed
    if seed is None:
        return None
    if isinstance(seed, str) or not isinstance(seed, Sequence | np.ndarray):
        seeds = [whole("seed", seed, -SEEDS, SEEDS) + i for i in range(num_envs)]
        given = np.ones(num_envs, dtype=bool)
    else:
        if len(seed) != num_envs:
            raise ValueError(f"a list of seeds must have {num_envs} entries, got {seed}")
        seeds = [0 if s is None else whole("each seed", s, -SEEDS, SEEDS) for s in seed]
        given = np.array([s is not None for s in seed])
    if min(seeds) < 0:
        raise ValueError(f"seeds must not be negative, got {min(seeds)}")
    # Small seeds are taken as they are; larger ones are hashed into 32 bits.
    small = [s if s < 2**32 else int(np.random.SeedSequence(s).generate_state(1)[0]) for s in seeds]
    return np.array(small, dtype=np.uint32).view(np.int32), given
