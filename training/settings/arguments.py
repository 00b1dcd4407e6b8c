"""Common parts of commands: environment arguments as words, and the seeds of evaluation."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

UNSEEN_SEED = 1_000_000
"""Seed of the first evaluation episode, and of the bank with their start states; training uses small ones."""
BENCHMARK_SEED = 9_000_000
"""Seed of the first episode of the benchmark, and of the bank with its start states."""
KEPT = 1_000
"""Number of seeds from each of the two on that no training and no demonstration may use."""
OWN = ("num_envs", "autoreset_mode", "output", "split")
"""Environment arguments that the commands for training, planning and collecting choose themselves."""


def episode_arguments(words: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of an environment for whole episodes, from the result of :func:`parsed`.

    Raises:
        ValueError: for one of :data:`OWN`; for no time limit, since episodes would not end; or for start states
        reserved for evaluation. A split, above all, would put training and its evaluation on the same start states.
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
    """Return whether any of ``count`` seeds from ``first`` on are among the :data:`KEPT` ones from ``kept`` on."""
    return first < kept + KEPT and kept < first + count


def check_seeds(first: int, count: int) -> None:
    """Refuse seeds that would show an agent the episodes reserved for its evaluation.

    Args:
        first: seed of the first episode.
        count: number of consecutive seeds.

    Raises:
        ValueError: if one of them is reserved.
    """
    for kept in (UNSEEN_SEED, BENCHMARK_SEED):
        if overlap(first, count, kept):
            raise ValueError(
                f"episodes with seeds from {kept:,} to {kept + KEPT - 1:,} are kept for evaluation, and these have "
                f"{first:,} to {first + count - 1:,}: choose another --seed"
            )


def parsed(words: Mapping[str, str]) -> dict[str, Any]:
    """Convert arguments to numbers, tuples and dicts where they are written as such, and leave other words."""
    return {name: _value(text) for name, text in words.items()}


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
