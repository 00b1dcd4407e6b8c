"""Networks that soft actor-critic in torch trains: a policy and its noise, critics and their targets, a temperature."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pbd_gym.training.agents.perceptrons import arrays_of, linear_layers, orthogonal_network
from pbd_gym.training.agents.policies import MLPPolicy
from pbd_gym.training.learners.torch_critics import Critics
from pbd_gym.training.learners.torch_statistics import Standardising
from pbd_gym.training.settings.algorithms import SACSettings

LOG_STD = (-5.0, 1.0)
"""Bounds of the logarithm of the noise."""
MOST = 0.99
"""Largest mean action at the start: the tangent that bounds actions reaches 1 nowhere."""


def temperature(ent_coef: str) -> tuple[float, bool]:
    """Return the weight of the entropy at the start, and whether it is learned.

    Args:
        ent_coef: ``"auto"``, ``"auto_0.1"`` with the weight at the start, or a number.

    Raises:
        ValueError: for anything else, or a weight that is not above zero.
    """
    learned = ent_coef.startswith("auto")
    try:
        found = 1.0 if ent_coef == "auto" else float(ent_coef.removeprefix("auto_"))
    except ValueError:
        found = math.nan
    if not 0.0 < found < math.inf:
        raise ValueError(f"ent_coef must be auto, auto_ with a number above zero, or such a number, got {ent_coef!r}")
    return found, learned


class SoftAgent(Standardising):
    """Policy and critics, perceptrons over standardised observations.

    An action is the hyperbolic tangent of a normally distributed number, whose mean and spread depend on the
    observation.

    Args:
        observations: numbers in an observation.
        actions: numbers in an action.
        settings: sizes of the layers, and the distribution of actions at the start.

    Raises:
        ValueError: if the settings have an initial action of another length, and as :func:`temperature`.
    """

    def __init__(self, observations: int, actions: int, settings: SACSettings) -> None:
        super().__init__(observations)
        self.actions = actions
        self.actor = orthogonal_network(observations, settings.net_arch, 2 * actions, 0.01)
        start = torch.tensor(settings.initial_action or (0.0,) * actions)
        if len(start) != actions:
            raise ValueError(f"initial_action must have {actions} numbers, got {len(start)}")
        with torch.no_grad():
            bias: Any = self.actor[-1].bias
            bias[:actions] += torch.atanh(start.clamp(-MOST, MOST))
            bias[actions:] += settings.log_std_init
        self.critics = Critics(observations + actions, settings.critic_arch or settings.net_arch, settings.layer_norm)
        self.targets = copy.deepcopy(self.critics).requires_grad_(False)
        weight, self.learns_temperature = temperature(settings.ent_coef)
        self.log_temperature = nn.Parameter(torch.tensor(math.log(weight)), requires_grad=self.learns_temperature)

    def act(self, observation: Tensor) -> Tensor:
        """Return the actions without noise for observations, shape (..., actions)."""
        mean: Tensor = self.actor(self.standardised(observation))[..., : self.actions]
        return mean.tanh()

    def sample(self, features: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Return random actions, shape (..., actions), and the logarithms of their densities, shape (...).

        Args:
            features: standardised observations, shape (..., observations).
            noise: normally distributed numbers, shape (..., actions).
        """
        mean, log_std = self.actor(features).chunk(2, dim=-1)
        log_std = log_std.clamp(*LOG_STD)
        before = mean + noise * log_std.exp()
        normal = -0.5 * noise.square() - log_std - 0.5 * math.log(2.0 * math.pi)
        # The logarithm of the tangent's slope, 1 - tanh(x)^2, where that itself would round to zero.
        slope = 2.0 * (math.log(2.0) - before - nn.functional.softplus(-2.0 * before))
        return before.tanh(), (normal - slope).sum(dim=-1)

    @torch.no_grad()
    def follow(self, share: float) -> None:
        """Move the targets towards the critics by a share of the way."""
        torch._foreach_lerp_(list(self.targets.parameters()), list(self.critics.parameters()), share)

    def to_policy(self, env_id: str, env_kwargs: dict[str, Any]) -> MLPPolicy:
        """Return the policy without noise as plain arrays, with the identity as a last layer, after the tangent."""
        weights, biases = arrays_of(linear_layers(self.actor))
        size = self.actions
        mean, spread = (values.cpu().numpy().copy() for values in (self.mean, self.spread))
        return MLPPolicy(
            env_id, env_kwargs, (*weights[:-1], weights[-1][:size], np.eye(size, dtype=np.float32)),
            (*biases[:-1], biases[-1][:size], np.zeros(size, dtype=np.float32)), mean, spread, float(self.limit),
        )  # fmt: skip

    @torch.no_grad()
    def take(self, policy: MLPPolicy) -> None:
        """Take over the weights of a policy that :meth:`to_policy` has made; noise and critics stay as they are."""
        *hidden, last = linear_layers(self.actor)
        for layer, weight, bias in zip([*hidden, last], policy.weights[:-1], policy.biases[:-1], strict=True):
            layer.weight[: len(weight)] = torch.as_tensor(weight, device=self.mean.device)
            layer.bias[: len(bias)] = torch.as_tensor(bias, device=self.mean.device)
        self.mean.copy_(torch.as_tensor(policy.mean))
        self.spread.copy_(torch.as_tensor(policy.spread))
        self.limit.fill_(policy.limit)
