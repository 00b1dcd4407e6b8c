"""Numbers that users of PPO read during training, under Stable-Baselines3's names."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pbd_gym.training.learners.torch_rollouts import Rollout

RECENT = 100
"""Episodes over which returns and lengths are averaged, as in Stable-Baselines3."""
SAMPLES = 2048
"""Most samples of a rollout that are looked at: enough for two digits, and no time beside an update."""


class EpisodeMeans:
    """Mean return and length of the latest episodes of a batch.

    Args:
        num_envs: environments in the batch.
        fresh: whether all of them are at the start of an episode; otherwise the episodes under way are left out.
    """

    def __init__(self, num_envs: int, fresh: bool) -> None:
        self._sums = np.zeros((2, num_envs)) if fresh else np.full((2, num_envs), np.nan)
        self._latest: deque[np.ndarray] = deque(maxlen=RECENT)

    def add(self, rewards: Tensor, ends: Tensor) -> None:
        """Follow the batch through a rollout, the next one each time.

        Args:
            rewards: of its steps, shape (steps, num_envs).
            ends: above zero where an episode ended, shape (steps, num_envs).
        """
        for reward, ended in zip(rewards.numpy(force=True), ends.numpy(force=True) > 0.0, strict=True):
            self._sums += np.stack([reward, np.ones_like(reward)])
            self._latest.extend(each for each in self._sums[:, ended].T if np.isfinite(each).all())
            self._sums[:, ended] = 0.0

    def numbers(self) -> dict[str, float]:
        """Return the means; nothing before an episode has ended."""
        if not self._latest:
            return {}
        gained, length = np.mean(self._latest, axis=0)
        return {"rollout/ep_rew_mean": float(gained), "rollout/ep_len_mean": float(length)}


@torch.no_grad()
def diagnostics(trainer: Any, rollout: Rollout) -> dict[str, float]:
    """Return what an update has done, measured on samples of its rollout after it.

    ``approx_kl`` is the estimator (r - 1) - log r of Schulman 2020, http://joschu.net/blog/kl-approx.html, for the
    ratio r of probabilities after and before the update; ``explained_variance`` is that of returns by the values before
    it. Stable-Baselines3 means losses over the update while it goes on, so that its numbers are those of other samples.

    Args:
        trainer: after the update.
        rollout: that it has learned from.
    """
    agent, settings = trainer.agent, trainer.settings
    gain = rollout.advantages(settings.gamma, settings.gae_lambda).flatten()
    values = rollout.values.flatten()
    goal = gain + values
    spread = goal.var()
    rows = slice(None, None, max(len(gain) // SAMPLES, 1))
    features = agent.standardised(rollout.observations.flatten(0, 1)[rows])
    means = agent.means(features)
    difference = agent.log_prob(rollout.actions.flatten(0, 1)[rows], means) - rollout.log_probs.flatten()[rows]
    ratio = difference.exp()
    scaled = ((gain - gain.mean()) / (gain.std() + 1e-8))[rows]
    cut = ratio.clamp(1.0 - settings.clip_range, 1.0 + settings.clip_range)
    # What agent.entropy leaves out of each number that is normally distributed.
    constant = float((~agent.switches).sum()) * 0.5 * math.log(2.0 * math.pi * math.e)
    found = {
        "policy_gradient_loss": -torch.min(ratio * scaled, cut * scaled).mean(),
        "value_loss": (agent.values(features) - goal[rows]).square().mean(),
        "approx_kl": (ratio - 1.0 - difference).mean(),
        "clip_fraction": ((ratio - 1.0).abs() > settings.clip_range).float().mean(),
        "entropy_loss": -agent.entropy(means).mean() - constant,
        "explained_variance": 1.0 - (goal - values).var() / spread if spread > 0.0 else torch.zeros(()),
        "std": agent.log_std.exp().mean(),
        "learning_rate": torch.tensor(trainer.adam.param_groups[0]["lr"]),
    }
    return {f"train/{name}": float(value) for name, value in found.items()}
