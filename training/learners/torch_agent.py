"""Networks that PPO in torch trains, a policy and a value function, and how actions are drawn."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from pbd_gym.training.agents.perceptrons import arrays_of, linear_layers, orthogonal_network, set_layers
from pbd_gym.training.agents.policies import MLPPolicy
from pbd_gym.training.learners.ranks import Ranks
from pbd_gym.training.learners.torch_statistics import LEAST_SPREAD, Standardising
from pbd_gym.training.settings.algorithms import PPOSettings

RECENT = 0.05
"""Least share of a rollout in the mean and spread of returns, which grow while an agent learns."""


class Agent(Standardising):
    """Policy and value function, both perceptrons over standardised observations.

    Actions are Gaussian, but for ``settings.switches``, which are -1 or 1: the mean of such a one is the log-odds of 1.

    Args:
        observations: numbers in an observation.
        actions: numbers in an action.
        settings: sizes of the layers, and the distribution of actions at the start.

    Raises:
        ValueError: if the settings have an initial action of another length, or a switch outside it.
    """

    switches: Tensor
    return_mean: Tensor
    return_square: Tensor
    return_spread: Tensor
    rated: Tensor

    def __init__(self, observations: int, actions: int, settings: PPOSettings) -> None:
        super().__init__(observations)
        self.policy = orthogonal_network(observations, settings.net_arch, actions, 0.01)
        self.value = orthogonal_network(observations, settings.net_arch, 1, 1.0)
        self.log_std = nn.Parameter(torch.full((actions,), settings.log_std_init))
        if settings.initial_action:
            if len(settings.initial_action) != actions:
                raise ValueError(f"initial_action must have {actions} numbers, got {len(settings.initial_action)}")
            with torch.no_grad():
                self.policy[-1].bias += torch.tensor(settings.initial_action)  # type: ignore[operator]
        if not all(0 <= number < actions for number in settings.switches):
            raise ValueError(f"switches must be from 0 to {actions - 1}, got {settings.switches}")
        self.register_buffer("switches", torch.zeros(actions, dtype=torch.bool))
        self.switches[list(settings.switches)] = True
        self.scales_values = settings.scale_values
        """Whether values are in units of the spread of returns."""
        if settings.scale_values:
            for name, start in (("return_mean", 0.0), ("return_square", 1.0), ("return_spread", 1.0), ("rated", 0.0)):
                self.register_buffer(name, torch.tensor(start))

    def means(self, features: Tensor) -> Tensor:
        """Return the mean actions for standardised observations, shape (..., actions)."""
        found: Tensor = self.policy(features)
        return found

    def values(self, features: Tensor) -> Tensor:
        """Return the value estimates for standardised observations, shape (...)."""
        found: Tensor = self.value(features).squeeze(-1)
        return found * self.return_spread + self.return_mean if self.scales_values else found

    def value_error(
        self, features: Tensor, goal: Tensor, former: Tensor | None = None, most: float = math.inf
    ) -> Tensor:
        """Return the mean square error of values, in units of the spread of returns if values are scaled.

        Args:
            features: standardised observations, shape (batch, observations).
            goal: what values should be, shape (batch,).
            former: values before the update, shape (batch,), if their change is limited.
            most: change beyond which a value gains nothing, in the units of the error.
        """
        found, goal = self.value(features).squeeze(-1), self._scaled(goal)
        if former is None:
            return nn.functional.mse_loss(found, goal)
        start = self._scaled(former)
        near = start + (found - start).clamp(-most, most)
        return torch.max((found - goal).square(), (near - goal).square()).mean()

    def _scaled(self, returns: Tensor) -> Tensor:
        return (returns - self.return_mean) / self.return_spread if self.scales_values else returns

    @torch.no_grad()
    def rate(self, returns: Tensor, ranks: Ranks) -> None:
        """Update mean and spread of returns with those of a rollout, which counts for a twentieth in the long run."""
        self.rated += 1.0
        share = (1.0 / self.rated).clamp(min=RECENT)
        self.return_mean.lerp_(ranks.mean(returns.mean()), share)
        self.return_square.lerp_(ranks.mean(returns.square().mean()), share)
        variance = self.return_square - self.return_mean.square()
        self.return_spread.copy_(variance.clamp(min=LEAST_SPREAD**2).sqrt())

    def act(self, observation: Tensor) -> Tensor:
        """Return the actions without noise for observations, shape (..., actions)."""
        return self.means(self.standardised(observation)).clamp(-1.0, 1.0)

    def draw(self, means: Tensor, noise: Tensor) -> Tensor:
        """Return random actions, shape (..., actions).

        Args:
            means: of the actions, shape (..., actions).
            noise: normally distributed numbers, shape (..., actions).
        """
        # A normal number is above this one with the probability that the mean is the log-odds of.
        on = noise > torch.special.ndtri(torch.sigmoid(-means))
        return torch.where(self.switches, 2.0 * on - 1.0, means + noise * self.log_std.exp())

    def log_prob(self, actions: Tensor, means: Tensor) -> Tensor:
        """Return logarithms of probabilities and of probability densities, up to a constant, shape (...).

        Args:
            actions: what was drawn, shape (..., actions).
            means: where it was drawn from, shape (..., actions).
        """
        noise = (actions - means) * (-self.log_std).exp()
        density = -0.5 * noise.square() - self.log_std
        return torch.where(self.switches, nn.functional.logsigmoid(actions * means), density).sum(dim=-1)

    def entropy(self, means: Tensor) -> Tensor:
        """Return the entropy of actions with these means, up to a constant, shape (...)."""
        undecided = nn.functional.softplus(means) - means * torch.sigmoid(means)
        return torch.where(self.switches, undecided, self.log_std).sum(dim=-1)

    def to_policy(self, env_id: str, env_kwargs: dict[str, Any]) -> MLPPolicy:
        """Return the policy without noise as plain arrays."""
        weights, biases = arrays_of(linear_layers(self.policy))
        mean, spread = (values.cpu().numpy().copy() for values in (self.mean, self.spread))
        return MLPPolicy(env_id, env_kwargs, weights, biases, mean, spread, float(self.limit))

    @torch.no_grad()
    def take(self, policy: MLPPolicy) -> None:
        """Take over the weights of a policy, and what it standardises observations by; values stay as they are."""
        set_layers(linear_layers(self.policy), policy)
        self.mean.copy_(torch.as_tensor(policy.mean))
        self.spread.copy_(torch.as_tensor(policy.spread))
        self.limit.fill_(policy.limit)
