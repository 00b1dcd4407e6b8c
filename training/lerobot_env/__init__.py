"""The ids of this package as a benchmark of LeRobot: importing it registers the environment type ``pbd_gym``.

lerobot-eval --env.discover_packages_path=pbd_gym.training.lerobot_env --env.type=pbd_gym --env.task=PBDClothFold-v0 \
    --policy.path=outputs/train/my_policy/checkpoints/last/pretrained_model

It needs LeRobot itself (``pip install lerobot``), in an environment of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.envs.configs import EnvConfig

from pbd_gym.training.lerobot_env.env import GYM_ID, LeRobotEnv, make_env, make_one

__all__ = ["GYM_ID", "LeRobotEnv", "PBDGymConfig", "make_env", "make_one"]


@EnvConfig.register_subclass("pbd_gym")
@dataclass
class PBDGymConfig(EnvConfig):
    """Settings of ``--env.type=pbd_gym``. Shapes of features and the frame rate are those of the task."""

    task: str | None = "PBDClothFold-v0"
    """An id, also as ``"MODULE:ID"``."""
    pixels: dict[str, Any] | None = None
    """Settings of the pictures, such as ``{"size": 96}``; None for states alone."""
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments of the environment."""
    render_mode: str = "rgb_array"
    """Mode of the films."""

    def __post_init__(self) -> None:
        env = make_one(**self.gym_kwargs)
        spaces: Any = env.observation_space
        self.fps = max(round(1.0 / env.unwrapped.batch.action_time), 1)  # type: ignore[attr-defined]
        self.features = {
            "action": PolicyFeature(FeatureType.ACTION, env.action_space.shape or ()),
            "agent_pos": PolicyFeature(FeatureType.STATE, spaces["agent_pos"].shape),
        }
        self.features_map = {"action": "action", "agent_pos": "observation.state"}
        for name, space in spaces.get("pixels", {}).items():
            self.features[f"pixels/{name}"] = PolicyFeature(FeatureType.VISUAL, space.shape)
            self.features_map[f"pixels/{name}"] = f"observation.images.{name}"
        env.close()

    @property
    def package_name(self) -> str:
        """Package that registers the id."""
        return __name__

    @property
    def gym_id(self) -> str:
        """Id of :func:`make_one`."""
        return GYM_ID

    @property
    def gym_kwargs(self) -> dict[str, Any]:
        """Arguments of :func:`make_one`."""
        return {
            "task": self.task,
            "pixels": self.pixels,
            "env_kwargs": self.env_kwargs,
            "render_mode": self.render_mode,
        }


if GYM_ID not in gym.registry:
    gym.register(GYM_ID, "pbd_gym.training.lerobot_env.env:make_one", order_enforce=False, disable_env_checker=True)
