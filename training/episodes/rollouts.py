"""Return observations concatenated along the last axis, as Stable-Baselines3 stacks them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.presets import preset_values
from pbd_gym.envs.core.data.validation import split_range
from pbd_gym.registry import find
from pbd_gym.runtime.messages import Progress
from pbd_gym.training.settings.arguments import UNSEEN_SEED

Policy = Callable[[Any], np.ndarray]
"""Maps a batch of observations to a batch of actions."""

KEPT_OF = 5
"""Interval of start states in a bank that are reserved for evaluation, if it has no seed or goals are held out."""

LEAST = 16
"""Smallest number of start states to draw from, however few episodes there are."""

SHOWN = 4
"""Largest number of episodes in a film."""


@dataclass(frozen=True)
class Outcome:
    """Results of episodes at their last steps."""

    normalized_performance: np.ndarray
    """Performance at the last step, from 0 (as at the start) to 1 (perfect); shape (num_envs,), float64."""
    is_success: np.ndarray
    """Success at the last step, bool, shape (num_envs,)."""

    def __str__(self) -> str:
        found = self.normalized_performance
        return (
            f"{found.mean():.3f} +- {found.std():.3f} normalized performance, {self.is_success.mean():.0%} success "
            f"over {len(found)} episodes"
        )


def own_starts(env_id: str, count: int, seed: int) -> dict[str, Any]:
    """Return arguments for start states that no bank of another seed has; nothing if they have no seed.

    Args:
        env_id: environment.
        count: how many there are to be.
        seed: which they are sampled from.
    """
    return {"split": "all", "starts": count, "starts_seed": seed} if "starts_seed" in _fields(env_id) else {}


def may_count_piercings(env_id: str) -> bool:
    """Return whether an environment can count edges pulled through cloth."""
    return "piercings" in _fields(env_id)


def _fields(env_id: str) -> Any:
    """Return the fields of an environment's configuration by name; none if that is not a dataclass."""
    return getattr(batch_type(env_id).config_type, "__dataclass_fields__", {})


def unseen_arguments(env_id: str, episodes: int, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return environment arguments with a start state for each episode, none of which training has seen.

    There are at least :data:`LEAST` states, unless ``kwargs`` says how many.

    Args:
        env_id: environment.
        episodes: how many there are.
        kwargs: what else it is made with; a seed of start states does not count.
    """
    batch, own = batch_type(env_id), own_starts(env_id, max(episodes, LEAST), UNSEEN_SEED)
    if own and not getattr(batch.config_type, "held_out_goals", False):
        return {**own, **kwargs, "starts_seed": UNSEEN_SEED}
    usual: int | None = getattr(batch.config_type, "starts", None)  # a field's default
    usual = preset_values(batch.presets, kwargs.get("preset"), None).get("starts", usual)
    # Banks of one seed may begin with the same states, so a smaller bank could keep states that training uses.
    bank = {} if usual is None else {"starts": max(KEPT_OF * episodes, usual)}
    return {"split": "eval", **bank, **kwargs}


def batch_type(env_id: str) -> Any:
    """Return the class of the batches of an id."""
    return load_env_creator(find(env_id).vector)


def make_unseen(env_id: str, episodes: int, film: Path | None = None, **kwargs: Any) -> TaskVectorEnv:
    """Return a batch whose episodes start from states that training has not seen. With ``film`` it renders pictures.

    Raises:
        ValueError: as :func:`check_film`.
    """
    check_film(film)
    shown: dict[str, Any] = {"render_mode": "rgb_array", "render_options": {"size": 280}} if film else {}
    env: Any = gym.make_vec(env_id, episodes, **unseen_arguments(env_id, episodes, {**shown, **kwargs}))
    return env


def check_film(path: Path | None) -> None:
    """Refuse a film name that does not end in .gif, since the file would be a GIF anyway.

    Raises:
        ValueError: for one.
    """
    if path is not None and path.suffix.lower() != ".gif":
        raise ValueError(f"--gif names a .gif file, got {path.name!r}; pbd-gym record writes an .mp4")


def each_start(env: TaskVectorEnv, seed: int | None = None) -> dict[str, Any]:
    """Return reset options that begin an episode from each start state of the batch's split before repeating any.

    Args:
        env: the batch.
        seed: of the order; None for that of the bank.
    """
    count = split_range(env.split, len(env.start_positions))[1]
    order = np.arange(count) if seed is None else np.random.default_rng(seed).permutation(count)
    return {"variation": np.resize(order, env.num_envs)}


def reset_to_variations(env: TaskVectorEnv, first_seed: int = UNSEEN_SEED) -> Any:
    """Begin an episode from each start state of the batch's split in turn, and return the observations."""
    return env.reset(seed=first_seed, options=each_start(env))[0]


def rollout(policy: Policy, env: TaskVectorEnv, observation: Any, film: Path | None = None) -> Outcome:
    """Run the episodes of a batch to their ends, after a reset.

    Args:
        policy: maps observations to actions.
        env: the batch, with a time limit and autoreset in the next step.
        observation: of its reset.
        film: GIF to write, of the first episodes.
    """
    over = np.zeros(env.num_envs, dtype=bool)
    performance, success = np.zeros(env.num_envs), np.zeros(env.num_envs, dtype=bool)
    frames = []
    progress = Progress(f"{env.num_envs} episodes, steps", env.max_episode_steps or 0)
    while not over.all():
        if film:
            from pbd_gym.rendering import tile

            frames.append(tile(env.render()[:SHOWN], columns=min(env.num_envs, SHOWN)))
        observation, _, terminated, truncated, info = env.step(policy(observation))
        performance = np.where(over, performance, info["normalized_performance"])
        success = np.where(over, success, info["is_success"])
        over |= terminated | truncated
        progress.step()
    if film:
        from pbd_gym.rendering import save_gif

        film.parent.mkdir(parents=True, exist_ok=True)
        save_gif(film, frames[::2], fps=0.5 / env.action_time)
    return Outcome(performance, success)
