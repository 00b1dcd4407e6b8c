"""Table of environment ids. Entry points are strings, so that nothing heavy is imported before an id is made."""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator


@dataclass(frozen=True)
class Entry:
    """Entry of one id."""

    id: str
    single: str
    """Location of the single environment's class."""
    vector: str
    """Location of the batched class."""
    max_episode_steps: int
    summary: str
    """Task of the agent, in one line."""
    kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments of the class that this id changes."""


def _ids(
    name: str, module: str, steps: int, summary: str, classes: str = "", pick_place: bool = False, **kwargs: Any
) -> tuple[Entry, ...]:
    """Return the ids of a task.

    Args:
        name: stem of its id.
        module: module of its file, below ``pbd_gym.envs``.
        steps: steps after which an episode is truncated.
        summary: see :class:`Entry`.
        classes: prefix of its class names, if not ``name``.
        pick_place: whether there is a second id, in which hands pick and place.
        **kwargs: arguments of the class that the id changes.
    """
    place = f"pbd_gym.envs.{module}:{classes or name}"
    plain = Entry(f"PBD{name}-v0", f"{place}Env", f"{place}VectorEnv", steps, summary, kwargs)
    if not pick_place:
        return (plain,)
    return plain, replace(
        plain,
        id=f"PBD{name}PickPlace-v0",
        max_episode_steps=20,
        summary=f"{summary}, by picking and placing",
        kwargs={**kwargs, "action_mode": "pick_place"},
    )


ENTRIES = (
    *_ids("Cloth", "cloth.carry", 100, "carry and turn a hanging cloth until its free corners rest at two goals"),
    *_ids("Rope", "rope.align", 100, "drag the ends of a crooked rope until it lies straight along a line"),
    *_ids(
        "SoftBody", "soft.carry", 100, "carry and turn a soft ball until its free points rest at their goals", "Soft"
    ),
    *_ids("Pendulum", "pendulum", 300, "swing up a double pendulum by its pivot, and hold it there"),
    *_ids("ClothFlatten", "cloth.flatten", 100, "spread out a crumpled towel"),
    *_ids(
        "ClothFlattenPickPlace",
        "cloth.flatten",
        20,
        "spread out a crumpled towel, by picking and placing",
        action_mode="pick_place",
    ),
    *_ids("ClothFold", "cloth.folding.fold", 100, "fold a towel in half", pick_place=True),
    *_ids("ClothDrop", "cloth.drop", 30, "lay a hanging towel flat on its place"),
    *_ids("ClothFoldDiagonal", "cloth.folding.fold_diagonal", 100, "fold a towel along its diagonal"),
    *_ids("ClothFoldDrop", "cloth.folding.fold_drop", 100, "fold a hanging towel onto its place"),
    *_ids("ClothFoldCrumpled", "cloth.folding.fold_crumpled", 120, "fold a crumpled towel on its place"),
    *_ids(
        "ClothFoldCrumpledPicture",
        "cloth.folding.fold_crumpled_picture",
        120,
        "fold a crumpled towel, seen by one camera",
    ),
    *_ids("ClothFoldTwice", "cloth.folding.fold_twice", 120, "fold a towel in half, and in half again"),
    *_ids(
        "ClothFoldTwiceCrumpled",
        "cloth.folding.fold_twice",
        240,
        "spread a crumpled towel, and fold it in half twice",
        "ClothFoldTwice",
        crumpled=True,
    ),
    *_ids("ClothUnfold", "cloth.unfold", 100, "unfold a towel that has been folded up to three times"),
    *_ids("ClothHang", "cloth.hang", 100, "hang a towel over a rod"),
    *_ids("ClothHangThree", "cloth.hang_three", 160, "hang three towels over a rod, one beside the other"),
    *_ids("ClothClutter", "cloth.clutter", 100, "carry a towel over others, which must stay, and lay it on its place"),
    *_ids("Manipulation", "cloth.manipulation", 100, "bring a towel into the shape that the goal shows, one of many"),
    *_ids("TShirtFold", "cloth.tshirt_fold", 100, "fold a T-shirt"),
    *_ids("RopeStraighten", "rope.straighten", 75, "pull a tangled rope straight"),
    *_ids("RopeShape", "rope.shape", 100, "lay a rope into the shape of a letter"),
    *_ids("RopeTie", "rope.tie", 120, "tie an overhand knot"),
    *_ids("RopeUntie", "rope.untie", 150, "untie an overhand knot, and pull the rope straight"),
    *_ids("SoftLift", "soft.lift", 60, "lift a soft ball between two plates to a height, and hold it"),
    *_ids("SoftPush", "soft.push", 60, "push a soft block over the ground to a goal with a plate"),
    *_ids("RopePush", "rope.push", 90, "push a rope over the ground to a goal with a plate"),
    *_ids("RopeWhip", "rope.whip", 70, "swing a rope by one end so that the other hits a goal"),
    *_ids("SoftShape", "soft.shape", 60, "squeeze a bar of clay to a goal shape with two plates"),
    *_ids("PassWater", "water.pass_water", 75, "carry a cup of water along the ground without spilling"),
    *_ids("PourWater", "water.pour_water", 100, "pour water from one cup into another"),
    *_ids(
        "PourWaterAmount", "water.pour_water_amount", 100, "pour a given share of the water from one cup into another"
    ),
    *_ids(
        "PourLine",
        "water.pour_line",
        100,
        "pour water into another sort of cup up to a line, seen in a picture",
        pixels={"size": 128, "cameras": [{"target": [0.14, 0.17, 0.0], "distance": 1.15, "yaw": 0.0, "pitch": 0.12}]},
    ),
    *_ids("PourSoup", "water.pour_soup", 120, "pour soup with two pieces of tofu from one bowl into another"),
)


_OTHERS: dict[str, Entry] = {}
"""Ids of other packages."""
imported: list[str] = []
"""Modules imported for their ids."""


def register(
    id: str,
    entry_point: str,
    vector_entry_point: str,
    max_episode_steps: int,
    summary: str = "",
    kwargs: Mapping[str, Any] | None = None,
) -> None:
    """Register a task of another package, with Gymnasium and with this package's own tools.

    Classes are given as strings, so that registering imports nothing heavy. The same task may be registered again.

    Args:
        id: new id, such as ``"MyTowel-v0"``.
        entry_point: single environment as ``"module:Class"``; a :class:`pbd_gym.envs.TaskEnv`.
        vector_entry_point: batched environment likewise; a :class:`pbd_gym.envs.TaskVectorEnv`.
        max_episode_steps: steps after which an episode is truncated.
        summary: task of the agent, in one line.
        kwargs: arguments of the classes that this id changes, plain data.

    Raises:
        ValueError: if another task has that id, or a class is not given as ``"module:Class"``.
    """
    for name in (entry_point, vector_entry_point):
        if not isinstance(name, str) or not re.fullmatch(r"[\w.]+:\w+", name):
            raise ValueError(f"an entry point is a string 'module:Class', got {name!r}")
    entry = Entry(id, entry_point, vector_entry_point, max_episode_steps, summary, dict(kwargs or {}))
    if id in gym.registry and _OTHERS.get(id) != entry:
        raise ValueError(f"there is an environment {id!r} already")
    _OTHERS[id] = entry
    _register(entry)


def register_all() -> None:
    """Register every id of this package with Gymnasium. May be called again."""
    for entry in ENTRIES:
        _register(entry)


def _register(entry: Entry) -> None:
    if entry.id not in gym.registry:
        gym.register(
            id=entry.id,
            entry_point=entry.single,
            vector_entry_point=entry.vector,
            max_episode_steps=entry.max_episode_steps,
            kwargs={**entry.kwargs, "registered": entry.id},
        )


def entries() -> tuple[Entry, ...]:
    """Return the entries of this package, and those registered by other packages."""
    return (*ENTRIES, *_OTHERS.values())


def find(env_id: str) -> Entry:
    """Return the entry of an id, of this package or of another one.

    Args:
        env_id: ``"ID"``, or ``"MODULE:ID"`` as for :func:`gymnasium.make`, which imports the module first. Besides
            the ids of :func:`register`, those that were registered with Gymnasium and have a ``vector_entry_point``
            are known.

    Raises:
        ValueError: for an unknown id or module; the message suggests the closest id.
    """
    module, _, name = env_id.rpartition(":")
    if module:
        import_ids(module)
    known = {entry.id: entry for entry in entries()}
    if name in known:
        return known[name]
    spec = gym.registry.get(name)
    if spec is not None and isinstance(spec.entry_point, str) and isinstance(spec.vector_entry_point, str):
        if not hasattr(load_env_creator(spec.vector_entry_point), "task_type"):
            raise ValueError(f"{name} is an environment of another kind: pbd-gym list names those that this is for")
        return Entry(name, spec.entry_point, spec.vector_entry_point, spec.max_episode_steps or 0, "", spec.kwargs)
    if spec is not None:
        raise ValueError(f"{name} is an environment of another kind: pbd-gym list names those that this is for")
    close = difflib.get_close_matches(name, known, 1, cutoff=0.3)
    raise ValueError(f"no environment {name!r}; did you mean {(close or list(known))[0]!r}?")


def set_by(registered: str | None) -> dict[str, Any]:
    """Return the arguments that an id sets, by name, for a batch that is given None in their place.

    Args:
        registered: the id; None for a batch that is made of its class.
    """
    if registered is None:
        return {}
    entry = find(registered)
    return {"max_episode_steps": entry.max_episode_steps or None, **entry.kwargs}


def import_ids(module: str) -> None:
    """Import a module that registers ids.

    Raises:
        ValueError: for an unknown module.
    """
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.split(".")[0]):
            raise  # the module exists, and misses another
        raise ValueError(f"there is no module {module!r} to import") from None
    if module not in imported and module != __package__:
        imported.append(module)
