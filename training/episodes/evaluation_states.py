"""Evaluation states of the benchmark: the splits of an id, the environments of each, and digests of both."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.registry import find
from pbd_gym.training.episodes.rollouts import batch_type, may_count_piercings, own_starts, unseen_arguments
from pbd_gym.training.settings.arguments import BENCHMARK_SEED
from pbd_gym.training.settings.shifts import SHIFTS

STATES = 100
"""Number of evaluation states of a split."""
SEED = BENCHMARK_SEED
"""Seed of the first episode, and of the bank with the evaluation states of tasks with start states. Both are reserved
for this: agents are trained and chosen on others.
"""
PROTOCOL = 2
"""Version of the protocol. It is raised when results become incomparable and no number of a task tells: when success
asks for something else, or when the physics has changed.
"""
TEST, HELD_OUT, SHIFT = "test", "held_out", "shift"
SPLITS = {
    TEST: "what the id is, in states that no training has seen",
    HELD_OUT: "goals of kinds that no training has seen",
    SHIFT: "materials and sizes that no training has seen",
}
"""Splits, and what they test."""
GOALS_OF = 5
"""A bank with held-out goals has them in a fifth of its states, so it is so much larger."""


def splits_of(env_id: str) -> tuple[str, ...]:
    """Return the splits of an id."""
    held_out = getattr(batch_type(env_id).config_type, "held_out_goals", False)
    return (TEST, *(HELD_OUT,) * bool(held_out), *(SHIFT,) * (find(env_id).id in SHIFTS))


def check_split(env_id: str, split: str) -> None:
    """Refuse a split that an id lacks.

    Raises:
        ValueError: for one; the message names those that it has.
    """
    if split not in splits_of(env_id):
        raise ValueError(f"{env_id} has no split {split!r}: it has {', '.join(splits_of(env_id))}")


def check_unseen(name: str, env_id: str, split: str, env_kwargs: Mapping[str, Any]) -> None:
    """Refuse an agent that was trained on what a split holds out.

    Args:
        name: what the message calls it.
        env_id: environment.
        split: one of :data:`SPLITS`.
        env_kwargs: arguments of the environment that it was trained in.

    Raises:
        ValueError: for one; the message says what it saw.
    """
    seen = env_kwargs.get("split", "train")
    if env_kwargs.get("starts_seed") == SEED:
        raise ValueError(f"{name} was trained on the benchmark's own states: its starts_seed is {SEED}")
    if seen != "train" and HELD_OUT in splits_of(env_id):
        raise ValueError(f"{name} was trained on the goals that {env_id} holds out: its split is {seen!r}")
    for variant in variants_of(env_id, split):
        for argument, value in variant.items():
            if argument in env_kwargs and np.array_equal(env_kwargs[argument], value):
                raise ValueError(f"{name} was trained on what split {split!r} holds out: its {argument} is {value}")


def variants_of(env_id: str, split: str) -> Sequence[Mapping[str, Any]]:
    """Return the environment arguments of a split: each has as many of the states."""
    return SHIFTS[find(env_id).id] if split == SHIFT else ({},)


def make_evaluation_env(env_id: str, split: str = TEST, variant: int = 0, **seen: Any) -> TaskVectorEnv:
    """Return the environments of the protocol, one per evaluation state. They count piercings.

    Args:
        env_id: environment.
        split: one of :func:`splits_of`.
        variant: number of the split's arguments, of :func:`variants_of`.
        **seen: arguments that determine observations alone.
    """
    variants = variants_of(env_id, split)
    arguments = _arguments(env_id, split, variants[variant])
    env: Any = gym.make_vec(env_id, STATES // len(variants), **arguments, **seen)
    return env


def _arguments(env_id: str, split: str, variant: Mapping[str, Any]) -> dict[str, Any]:
    """Return the environment arguments of a variant: a bank of its own seed shares no state with any other."""
    arguments = own_starts(env_id, STATES, SEED) or unseen_arguments(env_id, STATES, {})
    if HELD_OUT in splits_of(env_id):
        arguments |= {"starts": GOALS_OF * STATES, "split": "eval" if split == HELD_OUT else "train"}
    return {**arguments, **variant, **({"piercings": True} if may_count_piercings(env_id) else {})}


def digest_of_states(env: TaskVectorEnv) -> str:
    """Return a digest of the episodes that a reset has begun: their start states, and the numbers of the task.

    It is the SHA-256 of :func:`digest_of_task` and of all positions and goals [m] as little-endian float32.
    """
    digest = hashlib.sha256(digest_of_task(env).encode())
    for array in (env.state.get_positions(), env.buffers.peek("goals")):
        digest.update(np.ascontiguousarray(array, dtype="<f4").tobytes())
    return named(digest)


def digest_of_task(env: TaskVectorEnv) -> str:
    """Return the SHA-256 of the id, the configuration, the action mode, the time limit and the seed as JSON, and of
    the version of the protocol.
    """
    env_id = find(env.spec.id).id if env.spec else type(env).__name__
    return _digest_of(env_id, env.config, env.action_mode, env.max_episode_steps)


def current_digest(env_id: str, split: str = TEST) -> str:
    """Return what :func:`digest_of_task` says of the id as it is now, without making an environment.

    For several variants it is a digest of theirs.
    """
    entry, batch = find(env_id), batch_type(env_id)
    names = {field.name for field in dataclasses.fields(batch.config_type)}
    found = []
    for variant in variants_of(env_id, split):
        given = {**dict(entry.kwargs), **_arguments(env_id, split, variant)}
        config = batch.config_type(**{name: value for name, value in given.items() if name in names})
        mode = given.get("action_mode") or batch.action_modes[0]
        found.append(_digest_of(entry.id, config, mode, entry.max_episode_steps or None))
    return joined(found)


def joined(digests: Sequence[str]) -> str:
    """Return one digest for several: itself if there is one, otherwise that of all in their order."""
    return digests[0] if len(digests) == 1 else named(hashlib.sha256("".join(digests).encode()))


def _digest_of(env_id: str, config: Any, action_mode: str, steps: int | None) -> str:
    about = {
        "protocol": PROTOCOL, "id": env_id, "config": dataclasses.asdict(config), "action_mode": action_mode,
        "max_episode_steps": steps, "seed": SEED,
    }  # fmt: skip
    return named(hashlib.sha256(json.dumps(about, sort_keys=True, default=repr).encode()))


def named(digest: Any) -> str:
    """Return a digest as results have it."""
    return f"sha256:{digest.hexdigest()}"
