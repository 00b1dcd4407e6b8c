"""PPO in torch alone: rollouts are tensors on the device that runs the physics, and never leave it.

``pbd-gym train`` learns by it. The algorithm is that of Schulman et al. 2017, arXiv:1707.06347, with advantages after
Schulman et al. 2015, arXiv:1506.02438; an episode that runs out of time goes on in the values.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from pbd_gym.runtime.recording import Recording
from pbd_gym.training.learners.diagnostics import diagnostics
from pbd_gym.training.learners.ranks import Ranks
from pbd_gym.training.learners.torch_agent import Agent
from pbd_gym.training.learners.torch_batches import physics, set_physics, stagger
from pbd_gym.training.learners.torch_optimizer import make_adam, moments, set_rate, weights
from pbd_gym.training.learners.torch_rollouts import Collector, Rollout
from pbd_gym.training.settings.algorithms import RANDOM_STEPS, RATES, PPOSettings
from pbd_gym.training.symmetry.images import Images

MAX_GRADIENT = 0.5
"""Norm to which gradients are clipped."""
SURENESS = 0.1
"""Weight of the penalty for overconfident switches: of the square of their log-odds beyond the limit."""


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


class Descent:
    """Gradient steps on samples that stay in the same place: a GPU replays all but the choice of the samples.

    Args:
        trainer: whose agent learns.
        parts: observations, actions and the like of all samples, shape (samples, ...) each.
        size: samples per gradient step.
    """

    def __init__(self, trainer: Trainer, parts: list[Tensor], size: int) -> None:
        self.trainer = trainer
        self._parts = [torch.empty_like(part) for part in parts]
        self._rows = torch.empty(size, dtype=torch.int64, device=trainer.device)
        # Processes that learn together exchange their gradients in between.
        alone = trainer.ranks.count == 1
        self._run = Recording(self._step, trainer.device) if alone else self._step

    def hold(self, parts: list[Tensor]) -> None:
        """Take the samples that the next steps are about."""
        for own, part in zip(self._parts, parts, strict=True):
            own.copy_(part)

    def step(self, rows: Tensor) -> None:
        """Take a gradient step on some samples, shape (size,), int64."""
        self._rows.copy_(rows)
        self._run()

    def _step(self) -> None:
        trainer = self.trainer
        loss = trainer.loss(*(part.index_select(0, self._rows) for part in self._parts))
        trainer.adam.zero_grad()
        loss.backward()
        trainer.ranks.average_gradients(trainer.parameters)
        nn.utils.clip_grad_norm_(trainer.parameters, MAX_GRADIENT, foreach=True)
        trainer.adam.step()


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
        self.adam = make_adam(self.parameters, settings.learning_rate, settings.beta2, device)
        self.factor = 1.0
        """Factor on the learning rate, which ``settings.target_kl`` changes."""
        self.noise = torch.Generator(device).manual_seed(seed * self.ranks.count + self.ranks.rank)
        first = (seed * self.ranks.count + self.ranks.rank) * env.num_envs
        if settings.standardise and settings.measured == "before":
            self.agent.watch(self.seen_at_random(first), self.ranks)
        observation, _ = env.reset(seed=first)
        if settings.stagger:
            stagger(env, first)
        self.mean_agent = copy.deepcopy(self.agent) if settings.average > 0.0 else self.agent
        """Agent to evaluate and keep: with ``settings.average`` it has a moving mean of the weights."""
        self.steps = 0
        """Environment steps so far, of all processes."""
        self.rollout: Rollout | None = None
        """Rollout of the last update."""
        self.images = Images(env, device) if settings.images else None
        self.penalties: list[Penalty] = []
        """Further terms of the loss."""
        if settings.switch_limit is not None:
            self.penalties.append(sureness(self.agent.switches, settings.switch_limit))
        self._collector = Collector(
            env, self.agent, observation, settings.n_steps, settings.switch_hold, settings.gamma
        )
        self.divergence = torch.zeros((), device=device)
        """Divergence of the policy from that of the rollout, summed over the gradient steps of an epoch."""
        self._measures = settings.target_kl is not None or settings.stop_kl is not None
        self._descent: Descent | None = None
        """Gradient steps, made when the first rollout tells how large its samples are."""

    @property
    def observation(self) -> Tensor:
        """Observation after the last step, shape (num_envs, observations): a view."""
        return self._collector.observation

    def learn(self) -> Iterator[float]:
        """Train for ``settings.total_timesteps``; yields the mean reward of every rollout."""
        settings = self.settings
        while self.steps < settings.total_timesteps:
            left = 1.0 - self.steps / settings.total_timesteps
            set_rate(self.adam, left * settings.learning_rate * self.factor)
            if settings.log_std_end is not None:
                with torch.no_grad():
                    most = left * settings.log_std_init + (1.0 - left) * settings.log_std_end
                    self.agent.log_std.clamp_(max=most)
            rollout, reward = self.collect()
            self.update(rollout)
            self.rollout = rollout
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

    def collect(self) -> tuple[Rollout, float]:
        """Step the batch; only the mean reward is read back, at the end. A rollout holds until the next one."""
        rollout, reward = self._collector(self.noise)
        return rollout, float(self.ranks.mean(reward))

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
        returns = gain + rollout.values
        if settings.scale_values:
            self.agent.rate(returns, self.ranks)
        clipped = () if settings.clip_values is None else (rollout.values,)
        goals = [part.flatten() for part in (gain, returns, *clipped)]
        count = gain.numel()
        size = min(settings.batch_size, count)
        held = None
        for samples in self.epochs(rollout):
            parts = [*samples, *goals]
            if self._descent is None:
                self._descent = Descent(self, parts, size)
            if samples is not held:  # without images they are the same in every epoch
                self._descent.hold(parts)
                held = samples
            order = torch.randperm(count, generator=self.noise, device=self.device)
            self.divergence.zero_()
            for rows in order[: count // size * size].split(size):
                self._descent.step(rows)
            if settings.stop_kl is not None and self._divergence(count // size) > settings.stop_kl:
                break
        if settings.target_kl is not None:
            self._adapt(self._divergence(count // size), settings.target_kl)
        if settings.standardise and settings.measured == "always":
            # After the update: the probabilities of the rollout were those of the old spread.
            self.agent.watch(rollout.observations, self.ranks)
        if settings.average > 0.0:
            means, values = self.mean_agent.state_dict(), self.agent.state_dict()
            with torch.no_grad():
                for name, mean in means.items():
                    mean.copy_(mean.lerp(values[name], settings.average) if mean.is_floating_point() else values[name])

    @property
    def fresh(self) -> bool:
        """Whether every environment is at the start of an episode."""
        return self.steps == 0 and not self.settings.stagger

    def outcome(self) -> tuple[Tensor, Tensor]:
        """Return rewards of the last rollout, and 1 where episodes ended in it, shape (steps, num_envs) each."""
        assert self.rollout is not None
        return self.rollout.paid, self.rollout.ends

    def numbers(self) -> dict[str, float]:
        """Return what the last update has done, under Stable-Baselines3's names."""
        assert self.rollout is not None
        return diagnostics(self, self.rollout)

    def _divergence(self, steps: int) -> float:
        """Return the mean divergence over the gradient steps of an epoch, the same in every process."""
        return float(self.ranks.mean(self.divergence.clone())) / steps

    def _adapt(self, divergence: float, target: float) -> None:
        """Change the learning rate if an update went half or twice as far as it should (Schulman et al. 2017)."""
        change = 1.0 / 1.5 if divergence > 2.0 * target else 1.5 if divergence < 0.5 * target else 1.0
        self.factor = min(max(self.factor * change, RATES[0]), RATES[1])

    def loss(
        self, features: Tensor, actions: Tensor, old: Tensor, gain: Tensor, goal: Tensor, former: Tensor | None = None
    ) -> Tensor:
        """Return the loss of some samples.

        Args:
            features: standardised observations, shape (batch, observations).
            actions: what was done, shape (batch, actions).
            old: logarithms of its probability densities then, shape (batch,).
            gain: advantages, shape (batch,).
            goal: what values should be, shape (batch,).
            former: values then, shape (batch,), if ``settings.clip_values`` limits their change.
        """
        agent, settings = self.agent, self.settings
        means = agent.means(features)
        difference = agent.log_prob(actions, means) - old
        ratio = difference.exp()
        if self._measures:
            with torch.no_grad():  # the estimate that is never negative: Schulman 2020, "Approximating KL divergence"
                self.divergence += (ratio - 1.0 - difference).mean()
        # A single sample has no spread.
        scaled = (gain - gain.mean()) / (gain.std() + 1e-8) if len(gain) > 1 else gain
        cut = ratio.clamp(1.0 - settings.clip_range, 1.0 + settings.clip_range)
        loss = -torch.min(ratio * scaled, cut * scaled).mean()
        loss = loss + 0.5 * agent.value_error(features, goal, former, settings.clip_values or math.inf)
        if settings.ent_coef:
            loss = loss - settings.ent_coef * agent.entropy(means).mean()
        for penalty in self.penalties:
            loss = loss + penalty(features, means)
        return loss

    def state(self) -> dict[str, Any]:
        """Return everything the rest of the run depends on, as tensors and numbers, so that it continues to the same
        bits.
        """
        return {
            "steps": self.steps,
            "factor": self.factor,
            "observation": self.observation.clone(),
            "noise": self.noise.get_state(),
            "agent": weights(self.agent),
            "mean_agent": weights(self.mean_agent),
            "adam": moments(self.adam),
            "physics": physics(self.env),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of :meth:`state` in a trainer with the same settings."""
        self.agent.load_state_dict(state["agent"])
        self.mean_agent.load_state_dict(state["mean_agent"])
        self.adam.load_state_dict(state["adam"])
        self.noise.set_state(state["noise"].cpu())
        set_physics(self.env, state["physics"])
        self.observation.copy_(state["observation"])
        self.steps, self.factor = int(state["steps"]), float(state.get("factor", 1.0))
