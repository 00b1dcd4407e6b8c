"""What acts in films: planners, and policies that were trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym.envs.tools.recording import Actor
from pbd_gym.training.record import Stacked


def find_actor(name: str, env_id: str | None, seed: int = 0) -> tuple[Actor, str, dict[str, Any]]:
    """Return what acts, the id of its environment, and the arguments that this needs.

    Args:
        name: ``"plan"``, ``"trained"`` for the policy that the package has for the id, or a file: model.zip of a
            training run, NAME.npz of a policy.
        env_id: environment; None for that of the file.
        seed: of the planner.

    Raises:
        FileNotFoundError: if there is no such file, or no run.json beside or above a model.zip.
        ValueError: without an id, or if the package has no policy for it.
    """
    if name in ("plan", "trained") and env_id is None:
        raise ValueError(f"--policy {name} needs an id")
    if name == "plan":
        return PlanningActor(seed), str(env_id), {}
    if name == "trained" or name.endswith(".npz"):
        from pbd_gym.training.policies import find_policy

        policy = find_policy(str(env_id) if name == "trained" else name)
        return Stacked(policy, 1), policy.env_id, dict(policy.env_kwargs)
    from pbd_gym.training.evaluate import load

    model, trained_id, kwargs, frames = load(Path(name))
    return Stacked(lambda o: model.predict(o, deterministic=True)[0], frames), trained_id, kwargs


class PlanningActor:
    """Acts by the cross-entropy method, with the settings of the id.

    Args:
        seed: of the planner.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self._planner: Any = None

    def __call__(self, env: Any, observation: Any, begins: bool) -> np.ndarray:
        """Return actions, shape (num_envs, size)."""
        if begins or self._planner is None:
            from pbd_gym.envs.tools.planning import CEMPlanner
            from pbd_gym.training.plan import PlanArgs

            self._planner = CEMPlanner(env, PlanArgs(env.spec.id).settings(), self.seed)
        actions: np.ndarray = self._planner.actions()
        return actions
