"""What commands have in common: arguments of environments as words, and the seeds of evaluation."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

UNSEEN_SEED = 1_000_000
"""Seed of the first evaluation episode, and of the bank that has their start states; training uses small ones."""
BENCHMARK_SEED = 9_000_000
"""Seed of the first episode of the benchmark, and of the bank that has its start states."""
KEPT = 1_000
"""Seeds from each of the two on that no training and no demonstration may begin with."""
OWN = ("num_envs", "autoreset_mode", "output", "split")
"""Arguments of the environment that commands which train, plan and collect choose themselves."""


def episode_arguments(words: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of an environment in which whole episodes are run, as :func:`parsed` has them.

    Raises:
        ValueError: for one of :data:`OWN`, for no time limit: episodes would not end, or for start states that are kept
            for evaluation. A split, above all, would put training and its evaluation on the same start states.
    """
    for name in OWN:
        if name in words:
            raise ValueError(f"--env-kwargs cannot have {name}, which the command chooses itself")
    found = parsed(words)
    if found.get("max_episode_steps", 1) in (None, -1):
        raise ValueError("max_episode_steps must be at least 1 here: without it no episode would end")
    for kept, where in ((UNSEEN_SEED, "evaluation"), (BENCHMARK_SEED, "pbd-gym benchmark")):
        if found.get("starts_seed") == kept:
            raise ValueError(f"starts_seed {kept} has the start states of {where}: choose another")
    return found


def overlap(first: int, count: int, kept: int) -> bool:
    """Say whether some of ``count`` seeds from ``first`` on are among the :data:`KEPT` ones from ``kept`` on."""
    return first < kept + KEPT and kept < first + count


def check_seeds(first: int, count: int) -> None:
    """Refuse seeds with which an agent would be shown episodes that are kept to evaluate it.

    Args:
        first: seed of the first episode.
        count: how many follow one another.

    Raises:
        ValueError: if one of them is kept.
    """
    for kept in (UNSEEN_SEED, BENCHMARK_SEED):
        if overlap(first, count, kept):
            raise ValueError(
                f"episodes with seeds from {kept:,} to {kept + KEPT - 1:,} are kept for evaluation, and these have "
                f"{first:,} to {first + count - 1:,}: choose another --seed"
            )


def named(words: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of an environment that a command line has as names and values in turn.

    Raises:
        ValueError: for a name without a value.
    """
    names, values = words[::2], words[1::2]
    if len(names) != len(values):
        raise ValueError("--env-kwargs takes names and values in turn")
    return parsed(dict(zip(names, values, strict=True)))


def parsed(words: Mapping[str, str]) -> dict[str, Any]:
    """Return arguments as the numbers, tuples and dicts that they are written as, and as words where they are none."""
    return {name: _value(text) for name, text in words.items()}


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
