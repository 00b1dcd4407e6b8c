"""Stable-Baselines3 models built from their settings, for all algorithms."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO, SAC, HerReplayBuffer
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecEnv

from pbd_gym.envs.core.parts.experts import expert_of
from pbd_gym.training.agents.networks import NormalisedReLU, SmallCNN, shows_pictures, stacked
from pbd_gym.training.settings.algorithms import RANDOM_STEPS, Algorithm, PPOSettings, SACSettings, Settings

CLASSES: dict[Algorithm, type[BaseAlgorithm]] = {"ppo": PPO, "sac": SAC, "sac-her": SAC}
"""Stable-Baselines3 class of each algorithm."""
LEAST_SPREAD = 0.01
"""Standard deviation below which an observation counts as constant [m or m/s]."""


def policy_of(space: spaces.Space[Any]) -> str:
    """Return the name of the policy class that suits an observation space."""
    if isinstance(space, spaces.Dict):
        return "MultiInputPolicy"
    return "CnnPolicy" if is_image_space(space) else "MlpPolicy"


def flat(space: spaces.Space[Any], observation: Any) -> Any:
    """Return observations as rows of numbers, the parts of a dict concatenated, shape (batch, size)."""
    if not isinstance(space, spaces.Dict):
        return observation.reshape(len(observation), -1)
    parts = [observation[name].reshape(len(observation[name]), -1) for name in space.spaces]
    return torch.cat(parts, dim=1) if isinstance(parts[0], torch.Tensor) else np.concatenate(parts, axis=1)


class Standardised(BaseFeaturesExtractor):
    """Features that are observations minus their mean, divided by their spread. Both are saved with the policy.

    Args:
        space: space of vectors, or a dict of them.
    """

    mean: torch.Tensor
    spread: torch.Tensor

    def __init__(self, space: spaces.Space[Any]) -> None:
        size = int(sum(np.prod(part.shape or ()) for part in getattr(space, "spaces", {"": space}).values()))
        super().__init__(space, size)
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("spread", torch.ones(size))

    def measure(self, rows: torch.Tensor) -> None:
        """Set mean and spread to those of the given observations, shape (num, size)."""
        self.mean[:] = rows.mean(dim=0)
        self.spread[:] = rows.std(dim=0).clamp(min=LEAST_SPREAD)

    def forward(self, observation: Any) -> torch.Tensor:
        """Return features, shape (batch, size), float32."""
        found: torch.Tensor = (flat(self._observation_space, observation) - self.mean) / self.spread
        return found.clamp(-10.0, 10.0)


def standardise(model: BaseAlgorithm, settings: Settings, steps: int = RANDOM_STEPS) -> None:
    """Measure mean and spread of the observations over some steps of random actions, for the policy to use.

    The actions are uniform about ``settings.initial_action``. Networks that do not standardise are left alone.
    """
    parts = [part for part in model.policy.modules() if isinstance(part, Standardised | SmallCNN)]
    env = model.get_env()
    if not parts or env is None:
        return
    generator = np.random.default_rng(0)
    seen: list[Any] = [env.reset()]
    for _ in range(steps):
        actions = generator.uniform(-1.0, 1.0, (env.num_envs, *env.action_space.shape))  # type: ignore[misc]
        actions = np.clip(actions + initial_action(env, settings), -1.0, 1.0)
        seen.append(env.step(actions.astype(np.float32))[0])
    pictures = shows_pictures(env.observation_space)
    rows = torch.cat(
        [stacked(each) if pictures else torch.as_tensor(flat(env.observation_space, each)) for each in seen]
    )
    for part in parts:
        part.measure(rows)


def initial_action(env: VecEnv, settings: Settings) -> np.ndarray:
    """Return the mean action at the start of training, shape (size,), from -1 to 1.

    It is clipped, although log-odds of switches may be larger: random noise would never bring a mean of 3 below 0.

    Raises:
        ValueError: if the settings have an action of a wrong length.
    """
    assert isinstance(env.action_space, spaces.Box)
    size = env.action_space.shape[0]
    found = np.array(settings.initial_action or np.zeros(size), dtype=np.float32)
    if found.shape != (size,):
        raise ValueError(f"initial_action must have {size} numbers, got {len(found)}")
    return np.clip(found, -1.0, 1.0)


def network_keywords(
    algorithm: Algorithm, space: spaces.Space[Any], settings: Settings, state_size: int = 0
) -> tuple[str, dict[str, Any]]:
    """Return the name of the policy class that suits a space, and the keywords for its networks.

    Args:
        algorithm: training algorithm.
        space: observation space.
        settings: numbers of the algorithm.
        state_size: outputs of a network for pictures that is trained to predict the state, 0 for none.
    """
    policy = policy_of(space)
    # Fused, a step of Adam is one call rather than a dozen per layer: learning takes a seventh less time.
    adam: dict[str, Any] = {"fused": True}
    if isinstance(settings, PPOSettings):
        adam |= {"eps": 1e-5, "betas": (0.9, settings.beta2)}
    keywords: dict[str, Any] = {"net_arch": list(settings.net_arch), "optimizer_kwargs": adam}
    if shows_pictures(space):
        keywords |= {"features_extractor_class": SmallCNN, "normalize_images": False}  # it does so itself, faster
        if state_size:
            keywords["features_extractor_kwargs"] = {"features_dim": state_size, "detached": True}
    elif settings.standardise:
        keywords["features_extractor_class"] = Standardised
    if algorithm == "ppo":
        keywords["log_std_init"] = settings.log_std_init
    elif isinstance(settings, SACSettings) and settings.layer_norm:
        keywords["activation_fn"] = NormalisedReLU
    return policy, keywords


def make_model(
    algorithm: Algorithm, env: VecEnv, settings: Settings, seed: int, log: Path | None, state_size: int = 0
) -> BaseAlgorithm:
    """Return a model with these settings, whose policy starts about ``settings.initial_action``.

    Args:
        algorithm: training algorithm; ``"sac-her"`` needs an environment with ``obs_mode="goal"``.
        env: training environment.
        settings: numbers of the algorithm.
        seed: seed of the network and the noise.
        log: folder for TensorBoard, or None.
        state_size: outputs of a network for pictures that is trained to predict the state, 0 for none.

    Raises:
        ValueError: for hindsight experience replay without goals, or settings of another algorithm.
    """
    goals = isinstance(env.observation_space, spaces.Dict) and "desired_goal" in env.observation_space.spaces
    if algorithm == "sac-her" and not goals:
        raise ValueError("sac-her needs an environment with obs_mode='goal'")
    policy, keywords = network_keywords(algorithm, env.observation_space, settings, state_size)
    common: dict[str, Any] = {
        "learning_rate": lambda remaining: remaining * settings.learning_rate,
        "batch_size": settings.batch_size,
        "gamma": settings.gamma,
        "policy_kwargs": keywords,
        "tensorboard_log": str(log) if log else None,
        "seed": seed,
        "device": "cpu",
    }
    start = torch.as_tensor(initial_action(env, settings))
    model: Any
    names: tuple[str, ...]
    if algorithm == "ppo" and isinstance(settings, PPOSettings):
        names = ("n_steps", "n_epochs", "gae_lambda", "clip_range", "ent_coef")
        model = PPO(policy, env, **common, **{name: getattr(settings, name) for name in names})
        with torch.no_grad():
            model.policy.action_net.bias += start
    elif algorithm != "ppo" and isinstance(settings, SACSettings):
        names = ("buffer_size", "learning_starts", "train_freq", "gradient_steps", "tau", "ent_coef")
        common |= {name: getattr(settings, name) for name in names}
        common["target_entropy"] = settings.target_entropy * len(start)
        if algorithm == "sac-her":
            longest = env.get_attr("max_episode_steps")[0] or 0
            common |= {
                # Goals are taken from the outcome of an episode, so one must have finished.
                "learning_starts": max(settings.learning_starts, env.num_envs * (longest + 1)),
                "replay_buffer_class": HerReplayBuffer,
                "replay_buffer_kwargs": {"n_sampled_goal": settings.sampled_goals},
            }
        model = SAC(policy, env, **common)
        with torch.no_grad():  # the actor squashes its mean, and its noise depends on the observation
            model.actor.mu.weight *= 0.01  # as for PPO: layers that are normalised would drown the bias
            model.actor.mu.bias += torch.atanh(start.clamp(-0.99, 0.99))
            model.actor.log_std.bias += settings.log_std_init
    else:
        raise ValueError(f"{type(settings).__name__} are not settings of {algorithm!r}")
    return model


def show_expert(model: Any, env: Any, steps: int) -> None:
    """Fill the replay buffer with some steps of the scripted expert.

    Args:
        model: learner with a replay buffer.
        env: a :class:`pbd_gym.envs.tools.sb3.TaskVecEnv` of a task with an expert.
        steps: steps of each environment.
    """
    observation, expert = env.reset(), expert_of(env.batch)
    for _ in range(steps):
        actions = expert()
        after, rewards, dones, infos = env.step(actions)
        ends = copy.deepcopy(after)  # with the last observations of episodes instead of those after the reset
        for number in np.flatnonzero(dones):
            ended = infos[number]["terminal_observation"]
            for part, row in zip(_parts(ends), _parts(ended), strict=True):
                part[number] = row
        model.replay_buffer.add(observation, ends, actions, rewards, dones, infos)
        observation = after
    if isinstance(model.replay_buffer, HerReplayBuffer):
        # Another episode follows, and goals must not be taken from it.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.replay_buffer.truncate_last_trajectory()


def _parts(observation: Any) -> list[np.ndarray]:
    """Return the arrays of an observation that may be a dict of them."""
    return list(observation.values()) if isinstance(observation, dict) else [observation]
