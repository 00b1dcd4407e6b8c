"""Policies by their names on the command line: scripts, planners, and trained policies."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.tools.recording import Actor, RandomActor, expert
from pbd_gym.runtime.objects import find_object
from pbd_gym.training.agents.policies import find_pixel_policy, find_policy, shipped_ids
from pbd_gym.training.episodes.record import Stacked

NAMES = ("default", "expert", "random", "blind", "plan", "trained", "pixels")
"""Policies without a file of the user's."""
OWN = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
"""A policy of the user's: module, colon, name."""


def check_file(name: str, others: Sequence[str]) -> None:
    """Refuse a name that is neither a file nor looks like one: a misspelt policy name.

    Args:
        name: unknown policy name.
        others: known names, for the message.

    Raises:
        ValueError: for such a name.
    """
    if not Path(name).suffix and not Path(name).exists():
        raise ValueError(f"--policy takes {', '.join(others)}, or a file such as model.npz, got {name!r}")


def check_trained_on(name: str, trained_on: str, env_id: str | None) -> None:
    """Refuse a policy of another environment, which may have observations of the same size.

    Args:
        name: name of the policy.
        trained_on: its environment.
        env_id: environment it will act in; None for the same.

    Raises:
        ValueError: if they differ.
    """
    if env_id not in (None, trained_on):
        raise ValueError(f"{name} was trained on {trained_on}, not on {env_id}")


def find_actor(name: str, env_id: str | None, seed: int = 0, trust: bool = False) -> tuple[Actor, str, dict[str, Any]]:
    """Return a policy, the id of its environment, and that environment's arguments.

    Args:
        name: ``"expert"``, ``"random"``, ``"plan"``, ``"blind"`` for the best open-loop program
            (:func:`pbd_gym.training.episodes.blind.search`, which takes minutes), ``"trained"`` for the bundled policy
            of the id, ``"pixels"`` for the one that sees pictures, ``"default"`` for the expert or, if the task has
            none, the bundled policy, or a file: model.npz or model.zip of a training run, NAME.npz of a policy; or
            ``"module:function"``, see :func:`own_actor`.
        env_id: environment; None for that of the file.
        seed: seed of random actions and of the planner.
        trust: see :func:`pbd_gym.training.runs.checkpoint.load`.

    Raises:
        FileNotFoundError: if there is no such file, or no run.json beside or above a model.zip.
        ValueError: without an id, if there is no bundled policy for it, for an unknown name, or for a file that is
        anything else, or of another environment.
    """
    if name in NAMES and env_id is None:
        raise ValueError(f"--policy {name} needs an id")
    if OWN.fullmatch(name):
        return own_actor(name, env_id)
    if name not in NAMES:
        check_file(name, NAMES[1:])
    if name == "default":
        return default, str(env_id), {}
    if name == "expert":
        return expert, str(env_id), {}
    if name == "random":
        return RandomActor(seed), str(env_id), {}
    if name == "blind":
        from pbd_gym.training.episodes.blind import BlindActor, coarse_arguments, search

        return BlindActor(search(str(env_id))), str(env_id), coarse_arguments(str(env_id))
    if name == "plan":
        return PlanningActor(seed), str(env_id), {}
    if name == "trained" or name.endswith(".npz"):
        policy = find_policy(str(env_id) if name == "trained" else name)
        check_trained_on(name, policy.env_id, env_id)
        return Stacked(policy, 1), policy.env_id, dict(policy.env_kwargs)
    from pbd_gym.training.runs.checkpoint import load

    agent = load(find_pixel_policy(str(env_id)) if name == "pixels" else Path(name), trust)
    check_trained_on(name, agent.env_id, env_id)
    return Stacked(agent, agent.frame_stack), agent.env_id, dict(agent.env_kwargs)


def own_actor(name: str, env_id: str | None) -> tuple[Actor, str, dict[str, Any]]:
    """Return a person's own policy, the id of its environment, and that environment's arguments.

    Args:
        name: ``"module:name"`` of a function from a batch of observations to actions, or of an object with ``predict``
            as Stable-Baselines3 has it. Its attribute ``env_kwargs``, a dict, says what it sees, and ``training``
            what it took, if they are there.
        env_id: environment.

    Raises:
        ValueError: without an id, or if there is nothing of that name.
        TypeError: if it cannot act.
    """
    if env_id is None:
        raise ValueError(f"--policy {name} needs an id")
    found = find_object(name, "--policy")
    if not isinstance(found, type) and hasattr(found, "predict"):
        actor: Actor = _Predicting(found)
    elif callable(found) and not isinstance(found, type):

        def acting(env: TaskVectorEnv, observation: Any, begins: bool) -> Any:
            return found(observation)

        acting.training = getattr(found, "training", {})  # type: ignore[attr-defined]
        actor = acting
    else:
        raise TypeError(f"--policy {name} is neither a function nor an object with predict")
    return actor, env_id, dict(getattr(found, "env_kwargs", {}))


def training_of(actor: Any) -> dict[str, Any]:
    """Return what a person's own policy says it took to train: ``training``, a dict, if it has that attribute."""
    return dict(getattr(actor, "training", {}))


class _Predicting:
    """Acts by an object with ``predict``, and keeps its state.

    Args:
        policy: that object.
    """

    def __init__(self, policy: Any) -> None:
        self._policy = policy
        self._state: Any = None
        self.training = getattr(policy, "training", {})

    def __call__(self, env: Any, observation: Any, begins: bool) -> Any:
        """Return actions, shape (num_envs, size)."""
        self._state = None if begins else self._state
        start = np.full(env.num_envs, begins)
        actions, self._state = self._policy.predict(observation, self._state, start, deterministic=True)
        return actions


def default(env: TaskVectorEnv, observation: Any, begins: bool) -> Any:
    """Act as the task's expert or, if it has none, as the bundled policy.

    Raises:
        ValueError: as :func:`default_name`.
    """
    if default_name(env, "random, plan") == "expert":
        return expert(env, observation, begins)
    return _bundled(env.spec.id if env.spec else "")(observation)


def default_name(env: TaskVectorEnv, others: str) -> str:
    """Return the name of the default policy: ``"expert"`` or, if the task has none, ``"trained"``.

    Args:
        env: the batch.
        others: further policies that can act in any task, for the message.

    Raises:
        ValueError: if there is neither; the message lists the available policies.
    """
    if env.task.expert is not None:
        return "expert"
    env_id = env.spec.id if env.spec else ""
    if env_id not in shipped_ids():
        raise ValueError(
            f"{env_id} has neither an expert nor an agent that comes with the package: --policy takes {others}, or "
            "the model.npz of pbd-gym train"
        )
    return "trained"


_bundled = functools.cache(find_policy)


class PlanningActor:
    """Acts by the cross-entropy method, with the settings of the id.

    Args:
        seed: seed of the planner.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self._planner: Any = None

    def __call__(self, env: Any, observation: Any, begins: bool) -> np.ndarray:
        """Return actions, shape (num_envs, size)."""
        if begins or self._planner is None:
            from pbd_gym.envs.tools.planning import CEMPlanner
            from pbd_gym.training.settings.tuned import planning_of

            self._planner = CEMPlanner(env, planning_of(env.spec.id), self.seed)
        actions: np.ndarray = self._planner.actions()
        return actions
