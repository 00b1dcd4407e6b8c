"""How busy a GPU's warps are with the contacts of a crumpled towel, counted on a CPU.

A warp walks on as long as any of its 32 threads does. With a list for each member it goes through the longest list of
its members, and both members of a pair come to it; with a list of pairs it takes 32 of them at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from unittest import mock

import gymnasium as gym
import numpy as np

from pbd_gym.bench.rows import Options, Row
from pbd_gym.kernels.native import constant
from pbd_gym.runtime.devices import VARIABLE

ID = "PBDClothFlatten-v0"
THREADS = 256
"""Threads of a block."""
STEPS = 12
"""Random actions."""
SEED = 0
RANKS = int(constant("RANKS"))


def rows(options: Options) -> Iterator[Row]:
    """Count rounds of warps in the last substep of each of some random actions, and yield their means."""
    _make().close()  # start states are made here: blocks on a CPU take minutes for them
    with mock.patch.dict(os.environ, {VARIABLE: str(THREADS)}):
        counts = np.mean([_rounds(*pairs) for pairs in _episode()], axis=0)
    for what, count in zip(("active pairs", "pairs that touch"), counts.T, strict=True):
        for way, value in zip(("lists of members", "a list of pairs"), count, strict=True):
            yield Row("warps", f"{what}, {way}", float(value), "rounds of a warp", num_envs=1)


def _make() -> Any:
    return gym.make_vec(ID, num_envs=1, vectorization_mode="vector_entry_point")


def _episode() -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
    """Yield active pairs, shape (p, 2), whether they touch, shape (p,), and the number of members."""
    env = _make()
    try:
        env.reset(seed=SEED)
        env.action_space.seed(SEED)
        for _ in range(STEPS):
            env.step(env.action_space.sample())
            lists = env.state.data().contacts
            first, second, touches, _ = lists.pairs.numpy()[0, :, : lists.pair_counts.numpy()[0]]
            yield np.column_stack([first, second // RANKS]), touches > 0, env.model.contact_count
    finally:
        env.close()


def _rounds(pairs: np.ndarray, touch: np.ndarray, count: int) -> np.ndarray:
    """Return rounds by lists of members and by pairs (rows), of active pairs and of those that touch, (2, 2)."""
    return np.array([(_longest(some, count), -(-len(some) // 32)) for some in (pairs, pairs[touch])]).T


def _longest(pairs: np.ndarray, count: int) -> int:
    """Return the sum over warps, of 32 members each, of their longest lists."""
    lengths = np.bincount(pairs.ravel(), minlength=32 * -(-count // 32))
    return int(lengths.reshape(-1, 32).max(axis=1).sum())
