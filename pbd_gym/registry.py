"""The table of environment ids. Entry points are strings, so that nothing heavy is imported before an id is made."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

import gymnasium as gym


@dataclass(frozen=True)
class Entry:
    """One id."""

    id: str
    single: str
    """Where the function that makes one environment is."""
    vector: str
    """Where the batched class is."""
    max_episode_steps: int
    summary: str
    """What the agent has to do, in one line."""


ENTRIES = (
    Entry(
        "PBDCloth-v0",
        "pbd_gym.envs.cloth:ClothEnv",
        "pbd_gym.envs.cloth:ClothVectorEnv",
        100,
        "carry and turn a hanging cloth until its free corners rest at two goals",
    ),
    Entry(
        "PBDRope-v0",
        "pbd_gym.envs.rope:RopeEnv",
        "pbd_gym.envs.rope:RopeVectorEnv",
        100,
        "drag the ends of a crooked rope until it lies straight along a line",
    ),
    Entry(
        "PBDSoftBody-v0",
        "pbd_gym.envs.soft:SoftEnv",
        "pbd_gym.envs.soft:SoftVectorEnv",
        100,
        "carry and turn a soft ball until its free points rest at their goals",
    ),
    Entry(
        "PBDPendulum-v0",
        "pbd_gym.envs.pendulum:PendulumEnv",
        "pbd_gym.envs.pendulum:PendulumVectorEnv",
        300,
        "swing up a double pendulum by its pivot, and hold it there",
    ),
    Entry(
        "PBDClothFlatten-v0",
        "pbd_gym.envs.cloth_flatten:ClothFlattenEnv",
        "pbd_gym.envs.cloth_flatten:ClothFlattenVectorEnv",
        100,
        "spread out a crumpled towel",
    ),
    Entry(
        "PBDRopeStraighten-v0",
        "pbd_gym.envs.rope_straighten:RopeStraightenEnv",
        "pbd_gym.envs.rope_straighten:RopeStraightenVectorEnv",
        75,
        "pull a tangled rope straight",
    ),
    Entry(
        "PBDRopeShape-v0",
        "pbd_gym.envs.rope_shape:RopeShapeEnv",
        "pbd_gym.envs.rope_shape:RopeShapeVectorEnv",
        100,
        "lay a rope into the shape of a letter",
    ),
)


def register_all() -> None:
    """Register every id with Gymnasium. May be called again."""
    for entry in ENTRIES:
        if entry.id not in gym.registry:
            gym.register(
                id=entry.id,
                entry_point=entry.single,
                vector_entry_point=entry.vector,
                max_episode_steps=entry.max_episode_steps,
            )


def find(env_id: str) -> Entry:
    """Return the entry of an id.

    Raises:
        ValueError: if there is none; the message names the closest.
    """
    for entry in ENTRIES:
        if entry.id == env_id:
            return entry
    names = [entry.id for entry in ENTRIES]
    close = difflib.get_close_matches(env_id, names, 1, cutoff=0.3)
    raise ValueError(f"no environment {env_id!r}; did you mean {(close or names)[0]!r}?")
