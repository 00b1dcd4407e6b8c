"""Gymnasium environments: the batched core, its single-environment view, action and observation modes, and tasks."""

from typing import TYPE_CHECKING

from pbd_gym.runtime.lazy import lazy_names

if TYPE_CHECKING:
    from pbd_gym.envs.core.randomization import LogUniform as LogUniform
    from pbd_gym.envs.core.randomization import Uniform as Uniform
    from pbd_gym.envs.tools import demonstrations as demonstrations
    from pbd_gym.envs.tools.planning import CEMPlanner as CEMPlanner
    from pbd_gym.envs.tools.planning import CEMSettings as CEMSettings
    from pbd_gym.envs.tools.sb3 import make_sb3_vec_env as make_sb3_vec_env

_HOMES = {
    "CEMPlanner": "pbd_gym.envs.tools.planning",
    "CEMSettings": "pbd_gym.envs.tools.planning",
    "LogUniform": "pbd_gym.envs.core.randomization",
    "Uniform": "pbd_gym.envs.core.randomization",
    "demonstrations": "pbd_gym.envs.tools.demonstrations",
    "make_sb3_vec_env": "pbd_gym.envs.tools.sb3",
}

__all__ = [*_HOMES]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
