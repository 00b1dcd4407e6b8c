"""PPO in torch alone: rollouts are tensors on the device that runs the physics, and never leave it.

``pbd-gym train`` learns by it. The algorithm is that of Schulman et al. 2017, arXiv:1707.06347, with advantages after
Schulman et al. 2015, arXiv:1506.02438; an episode that runs out of time goes on in the values.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import torch
from torch import Tensor, nn

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.training.agents.perceptrons import arrays_of, linear_layers, orthogonal_network
from pbd_gym.training.agents.policies import MLPPolicy
from pbd_gym.training.learners.ranks import Ranks
from pbd_gym.training.settings.algorithms import RANDOM_STEPS, PPOSettings
from pbd_gym.training.symmetry.images import Images

MAX_GRADIENT = 0.5
"""Norm to which gradients are clipped."""
SURENESS = 0.1
"""Weight of the penalty for overconfident switches: of the square of their log-odds beyond the limit."""
LEAST_SPREAD = 0.01
"""Standard deviation below which an observation counts as constant [m or m/s]."""


Penalty = Callable[[Tensor, Tensor], Tensor]
"""Penalty as a function of standardised observations, and of the mean actions for them."""


def sureness(switches: Tensor, limit: float) -> Penalty:
    """Return a penalty for log-odds of switches beyond a limit.

    Args:
        switches: which numbers of an action are switches, shape (actions,), bool.
        limit: of the absolute log-odds.
    """

    def penalty(features: Tensor, means: Tensor) -> Tensor:
        beyond = nn.functional.relu(means.abs() - limit)
        return SURENESS * torch.where(switches, beyond, 0.0).square().sum(dim=-1).mean()

    return penalty


class Agent(nn.Module):
    """Policy and value function, both perceptrons over standardised observations.

    Actions are Gaussian, but for ``settings.switches``, which are -1 or 1: the mean of such a one is the log-odds of 1.

    Args:
        observations: numbers in an observation.
        actions: numbers in an action.
        settings: sizes of the layers, and the distribution of actions at the start.

    Raises:
        ValueError: if the settings have an initial action of another length, or a switch that is no number of it.
    """

    switches: Tensor
    mean: Tensor
    square: Tensor
    spread: Tensor
    limit: Tensor
    seen: Tensor

    def __init__(self, observations: int, actions: int, settings: PPOSettings) -> None:
        super().__init__()
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
        self.register_buffer("mean", torch.zeros(observations))
        self.register_buffer("square", torch.ones(observations))
        self.register_buffer("spread", torch.ones(observations))
        self.register_buffer("limit", torch.tensor(10.0))
        self.register_buffer("seen", torch.zeros(()))

    def standardised(self, observation: Tensor) -> Tensor:
        """Return observations minus their mean, over their spread, shape (..., observations)."""
        return ((observation - self.mean) / self.spread).clamp(-self.limit, self.limit)

    def means(self, features: Tensor) -> Tensor:
        """Return the mean actions for standardised observations, shape (..., actions)."""
        found: Tensor = self.policy(features)
        return found

    def values(self, features: Tensor) -> Tensor:
        """Return the value estimates for standardised observations, shape (...)."""
        found: Tensor = self.value(features).squeeze(-1)
        return found

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

    @torch.no_grad()
    def watch(self, observations: Tensor, ranks: Ranks) -> None:
        """Update mean and spread with a rollout, weighted like each one before it."""
        rows = observations.reshape(-1, observations.shape[-1])
        self.seen += 1.0
        self.mean += (ranks.mean(rows.mean(dim=0)) - self.mean) / self.seen
        self.square += (ranks.mean((rows**2).mean(dim=0)) - self.square) / self.seen
        self.spread.copy_((self.square - self.mean**2).clamp(min=LEAST_SPREAD**2).sqrt())

    def to_policy(self, env_id: str, env_kwargs: dict[str, Any]) -> MLPPolicy:
        """Return the policy without noise as plain arrays."""
        weights, biases = arrays_of(linear_layers(self.policy))
        mean, spread = (values.cpu().numpy().copy() for values in (self.mean, self.spread))
        return MLPPolicy(env_id, env_kwargs, weights, biases, mean, spread, float(self.limit))


@dataclass
class Rollout:
    """Some steps of a batch; every tensor has shape (steps, num_envs, ...), float32."""

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    rewards: Tensor
    """Rewards, plus the value of the last observation where an episode ran out of time."""
    ends: Tensor
    """1 where an episode ended in this step, 0 elsewhere."""
    values: Tensor
    last_value: Tensor
    """Value after the last step, shape (num_envs,)."""

    def advantages(self, gamma: float, lam: float) -> Tensor:
        """Return generalised advantage estimates, shape (steps, num_envs)."""
        goes_on = 1.0 - self.ends
        following = torch.cat([self.values[1:], self.last_value[None]])
        found = self.rewards + gamma * goes_on * following - self.values
        weight = gamma * lam * goes_on
        for t in reversed(range(len(found) - 1)):
            found[t] += weight[t] * found[t + 1]
        return found


class Trainer:
    """PPO on a batched environment with tensors for observations, and autoreset in the same step.

    Args:
        env: the batch; its ``step`` takes and gives tensors of ``device``.
        settings: numbers of PPO.
        seed: of the networks, the noise and the environments.
        device: where everything is.
        ranks: the processes that train together.
    """

    def __init__(
        self, env: Any, settings: PPOSettings, seed: int, device: torch.device, ranks: Ranks | None = None
    ) -> None:
        self.env, self.settings, self.device, self.ranks = env, settings, device, ranks or Ranks()
        torch.manual_seed(seed)  # the same first weights in every process
        sizes = (env.single_observation_space.shape[0], env.single_action_space.shape[0])
        self.agent = Agent(*sizes, settings).to(device)
        self.parameters = list(self.agent.parameters())
        # Fused, a step of Adam is one call rather than a dozen for each layer.
        betas = (0.9, settings.beta2)
        self.adam = torch.optim.Adam(self.parameters, settings.learning_rate, betas, eps=1e-5, fused=True)
        self.noise = torch.Generator(device).manual_seed(seed * self.ranks.count + self.ranks.rank)
        first = (seed * self.ranks.count + self.ranks.rank) * env.num_envs
        if settings.standardise and settings.measured == "before":
            self.agent.watch(self.seen_at_random(first), self.ranks)
        self.observation, _ = env.reset(seed=first)
        self.mean_agent = copy.deepcopy(self.agent) if settings.average > 0.0 else self.agent
        """Agent to evaluate and keep: with ``settings.average`` it has a moving mean of the weights."""
        self.steps = 0
        """Environment steps so far, of all processes."""
        self.images = Images(env, device) if settings.images else None
        self.penalties: list[Penalty] = []
        """Further terms of the loss."""
        if settings.switch_limit is not None:
            self.penalties.append(sureness(self.agent.switches, settings.switch_limit))

    def learn(self) -> Iterator[float]:
        """Train for ``settings.total_timesteps``; yields the mean reward of every rollout."""
        settings = self.settings
        while self.steps < settings.total_timesteps:
            left = 1.0 - self.steps / settings.total_timesteps
            for group in self.adam.param_groups:
                group["lr"] = left * settings.learning_rate
            if settings.log_std_end is not None:
                with torch.no_grad():
                    most = left * settings.log_std_init + (1.0 - left) * settings.log_std_end
                    self.agent.log_std.clamp_(max=most)
            rollout, reward = self.collect()
            self.update(rollout)
            self.steps += rollout.values.numel() * self.ranks.count
            yield reward

    def seen_at_random(self, seed: int) -> Tensor:
        """Return observations under random actions about the initial one, shape (steps + 1, num_envs, observations)."""
        size = self.agent.log_std.numel()
        start = torch.tensor(self.settings.initial_action or (0.0,) * size, device=self.device).clamp(-1.0, 1.0)
        seen = [self.env.reset(seed=seed)[0].clone()]
        for _ in range(RANDOM_STEPS):
            noise = torch.rand(self.env.num_envs, size, generator=self.noise, device=self.device)
            seen.append(self.env.step((start + 2.0 * noise - 1.0).clamp(-1.0, 1.0))[0].clone())
        return torch.stack(seen)

    @torch.no_grad()
    def collect(self) -> tuple[Rollout, float]:
        """Step the batch; only the mean reward is read back, at the end."""
        agent, gamma, length = self.agent, self.settings.gamma, self.settings.n_steps
        size = (length, self.env.num_envs)
        noise = torch.randn(*size, len(agent.log_std), generator=self.noise, device=self.device)
        steps, hold = torch.arange(length, device=self.device), self.settings.switch_hold
        noise = torch.where(agent.switches, noise[steps - steps % hold], noise)
        means, actions = torch.empty_like(noise), torch.empty_like(noise)
        seen = torch.empty(length + 1, *self.observation.shape, device=self.device)
        rewards, ends = torch.empty(size, device=self.device), torch.empty(size, device=self.device)
        late = torch.zeros(size, device=self.device)
        seen[0] = self.observation
        for t in range(length):
            means[t] = agent.means(agent.standardised(seen[t]))
            actions[t] = agent.draw(means[t], noise[t])
            seen[t + 1], rewards[t], terminated, truncated, info = self.env.step(actions[t].clamp(-1.0, 1.0))
            ends[t] = terminated | truncated
            if "final_obs" in info:  # always on CUDA, where the host does not wait for the masks
                ran_out = truncated & ~terminated
                late[t] = torch.where(ran_out, agent.values(agent.standardised(info["final_obs"])), 0.0)
        self.observation = seen[-1].clone()
        values = agent.values(agent.standardised(seen))
        mean_reward = float(self.ranks.mean(rewards.mean()))
        log_probs = agent.log_prob(actions, means)
        rollout = Rollout(seen[:-1], actions, log_probs, rewards + gamma * late, ends, values[:-1], values[-1])
        return rollout, mean_reward

    @torch.no_grad()
    def epochs(self, rollout: Rollout) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Return the samples of each epoch: standardised observations, actions, and their former log-probabilities."""
        observations, actions = rollout.observations.flatten(0, 1), rollout.actions.flatten(0, 1)
        found = [(self.agent.standardised(observations), actions, rollout.log_probs.flatten())]
        if self.images is None:
            return found * self.settings.n_epochs
        for _ in range(1, self.settings.n_epochs):
            seen, done = self.images(observations, actions, self.noise)
            # A symmetric agent does the image of an action as often as the action. Of one that is not yet symmetric,
            # samples whose images it would hardly do count for less.
            found.append((self.agent.standardised(seen), done, found[0][2]))
        return found

    def update(self, rollout: Rollout) -> None:
        """Run the epochs of gradient steps on a rollout, the same number in every process."""
        settings = self.settings
        gain = rollout.advantages(settings.gamma, settings.gae_lambda)
        goals = [part.flatten() for part in (gain, gain + rollout.values)]
        count = gain.numel()
        batch = min(settings.batch_size, count)
        for samples in self.epochs(rollout):
            parts = [*samples, *goals]
            order = torch.randperm(count, generator=self.noise, device=self.device)
            for rows in order[: count // batch * batch].split(batch):
                loss = self.loss(*(part.index_select(0, rows) for part in parts))
                self.adam.zero_grad()
                loss.backward()
                self.ranks.average_gradients(self.parameters)
                nn.utils.clip_grad_norm_(self.parameters, MAX_GRADIENT, foreach=True)
                self.adam.step()
        if settings.standardise and settings.measured == "always":
            # After the update: the probabilities of the rollout were those of the old spread.
            self.agent.watch(rollout.observations, self.ranks)
        if settings.average > 0.0:
            means, values = self.mean_agent.state_dict(), self.agent.state_dict()
            with torch.no_grad():
                for name, mean in means.items():
                    mean.copy_(mean.lerp(values[name], settings.average) if mean.is_floating_point() else values[name])

    def loss(self, features: Tensor, actions: Tensor, old: Tensor, gain: Tensor, goal: Tensor) -> Tensor:
        """Return the loss of some samples.

        Args:
            features: standardised observations, shape (batch, observations).
            actions: what was done, shape (batch, actions).
            old: logarithms of its probability densities then, shape (batch,).
            gain: advantages, shape (batch,).
            goal: what values should be, shape (batch,).
        """
        agent, settings = self.agent, self.settings
        means = agent.means(features)
        ratio = (agent.log_prob(actions, means) - old).exp()
        # A single sample has no spread.
        scaled = (gain - gain.mean()) / (gain.std() + 1e-8) if len(gain) > 1 else gain
        cut = ratio.clamp(1.0 - settings.clip_range, 1.0 + settings.clip_range)
        loss = -torch.min(ratio * scaled, cut * scaled).mean()
        loss = loss + 0.5 * nn.functional.mse_loss(agent.values(features), goal)
        if settings.ent_coef:
            loss = loss - settings.ent_coef * agent.entropy(means).mean()
        for penalty in self.penalties:
            loss = loss + penalty(features, means)
        return loss

    def state(self) -> dict[str, Any]:
        """Return everything the rest of the run depends on, as tensors and numbers, so that it continues to the same
        bits.
        """
        physics = {name: torch.as_tensor(value) for name, value in self.env.unwrapped.get_state().items()}
        own = {"steps": self.steps, "observation": self.observation.clone(), "noise": self.noise.get_state()}
        agent, mean = (
            {name: value.clone() for name, value in each.state_dict().items()} for each in (self.agent, self.mean_agent)
        )
        adam = self.adam.state_dict()
        moments = {k: {name: value.clone() for name, value in each.items()} for k, each in adam["state"].items()}
        return {**own, "agent": agent, "mean_agent": mean, "adam": {**adam, "state": moments}, "physics": physics}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of :meth:`state` in a trainer with the same settings."""
        self.agent.load_state_dict(state["agent"])
        self.mean_agent.load_state_dict(state["mean_agent"])
        self.adam.load_state_dict(state["adam"])
        self.noise.set_state(state["noise"].cpu())
        self.env.unwrapped.set_state({name: value.numpy() for name, value in state["physics"].items()})
        self.observation, self.steps = state["observation"].to(self.device), int(state["steps"])


def make(env_id: str, num_envs: int, device: torch.device, **kwargs: Any) -> Any:
    """Make a batch whose observations are tensors on the device."""
    return gym.make_vec(env_id, num_envs, output="torch", device=str(device), autoreset_mode="SameStep", **kwargs)
