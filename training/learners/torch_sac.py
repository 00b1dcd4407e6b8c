"""Soft actor-critic in torch alone: the replay buffer is on the device that runs the physics, and never leaves it.

``pbd-gym train --algorithm sac`` learns by it. The algorithm is that of Haarnoja et al. 2018, arXiv:1812.05905, with
batches of environments, and large ones of samples, as in Seo et al. 2025, arXiv:2505.22642. An episode that runs out of
time goes on in the values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from gymnasium.vector import AutoresetMode
from torch import Tensor

from pbd_gym.envs.core.parts.experts import expert_of
from pbd_gym.runtime.recording import Recording
from pbd_gym.training.learners.ranks import Ranks
from pbd_gym.training.learners.torch_batches import advance, physics, set_physics
from pbd_gym.training.learners.torch_optimizer import make_adam, moments, set_rate, weights
from pbd_gym.training.learners.torch_replay import Replay, Steps
from pbd_gym.training.learners.torch_sac_agent import SoftAgent
from pbd_gym.training.settings.algorithms import SACSettings

STRETCH = 64
"""Steps of the batch between two visits of a monitor, about."""
LOSSES = ("critic_loss", "actor_loss", "ent_coef_loss", "ent_coef", "entropy")
"""Numbers that are summed over gradient steps, by Stable-Baselines3's names if it has one."""


class SoftTrainer:
    """Soft actor-critic on a batched environment with tensors for observations.

    Args:
        env: the batch; its ``step`` takes and gives tensors of ``device``. It resets itself, in the same step or in the
            next one, which its metadata say.
        settings: numbers of the algorithm.
        seed: of the networks, the noise and the environments.
        device: where everything is.
        ranks: the processes that train together.

    Raises:
        ValueError: as :class:`SoftAgent`, for an expert that the task does not have, and for a batch that does not
            reset itself.
    """

    def __init__(
        self, env: Any, settings: SACSettings, seed: int, device: torch.device, ranks: Ranks | None = None
    ) -> None:
        self.env, self.settings, self.device, self.ranks = env, settings, device, ranks or Ranks()
        mode = AutoresetMode(getattr(env, "metadata", {}).get("autoreset_mode", AutoresetMode.SAME_STEP))
        if mode is AutoresetMode.DISABLED:
            raise ValueError("soft actor-critic needs a batch that resets itself")
        self._next_step = mode is AutoresetMode.NEXT_STEP
        torch.manual_seed(seed)  # the same first weights in every process
        sizes = (env.single_observation_space.shape[0], env.single_action_space.shape[0])
        self.agent = SoftAgent(*sizes, settings).to(device)
        self.parameters = [each for each in self.agent.parameters() if each.requires_grad]
        self.adam = make_adam(self.parameters, settings.learning_rate, settings.beta2, device)
        number = seed * self.ranks.count + self.ranks.rank
        self.noise = torch.Generator(device).manual_seed(number)
        self.steps = 0
        """Environment steps so far, of all processes."""
        every, num_envs = settings.train_freq, env.num_envs
        self._turns = max(STRETCH // every, 1)
        share = self.ranks.count * num_envs
        most = min(settings.buffer_size, settings.total_timesteps) // share + settings.expert_steps
        self.replay = Replay(num_envs, *sizes, most, self._turns * every, settings.return_steps, device)
        self._written = 0
        self._rows = torch.empty(settings.gradient_steps, settings.batch_size, dtype=torch.int64, device=device)
        self._update_noise = torch.empty(settings.gradient_steps, 2, settings.batch_size, sizes[1], device=device)
        self._step_noise = torch.empty(every, num_envs, sizes[1], device=device)
        self._began = torch.zeros(num_envs, device=device)
        """1 where the coming step begins an episode, of batches that reset themselves in the next step."""
        self.target_entropy = torch.tensor(settings.target_entropy * sizes[1], device=device)
        """Entropy of a whole action that the temperature aims at."""
        self.sums = torch.zeros(len(LOSSES), device=device)
        """Sums of :data:`LOSSES` over the gradient steps of a stretch."""
        self._updates, self._taken = 0, 0
        self._collect = Recording(self._act, device)
        # Processes that learn together exchange their gradients in between.
        self._learn = Recording(self._descend, device) if self.ranks.count == 1 else self._descend
        first = number * num_envs
        self.observation = env.reset(seed=first)[0].clone()
        """Observation after the last step, shape (num_envs, observations)."""
        if settings.expert_steps:
            expert = expert_of(env.unwrapped)
            for _ in range(settings.expert_steps):
                self._take(torch.as_tensor(expert(), device=device))
            self._written += settings.expert_steps
            self.replay.cut()
            self.observation.copy_(env.reset(seed=first)[0])
            self._began.zero_()

    @property
    def mean_agent(self) -> SoftAgent:
        """Agent to evaluate and keep."""
        return self.agent

    def learn(self) -> Iterator[float]:
        """Train for ``settings.total_timesteps``; yields the mean reward of every stretch."""
        settings, total = self.settings, self.settings.total_timesteps
        while self.steps < total:
            left = 1.0 - self.steps / total
            set_rate(self.adam, left * settings.learning_rate)
            if settings.target_entropy_end is not None:
                aim = left * settings.target_entropy + (1.0 - left) * settings.target_entropy_end
                self.target_entropy.fill_(aim * self.agent.actions)
            self.sums.zero_()
            self._updates = turns = 0
            while turns < self._turns and self.steps < total:
                turns += 1
                if self.steps >= settings.learning_starts:
                    self.collect()
                    self.update()
                    continue
                self._try()
                if self.steps >= settings.learning_starts:  # observations are known before the first update
                    self._watch(min(self._written, len(self.replay.table)))
            self._taken = turns * settings.train_freq
            if self._updates:
                self._watch(self._taken)
            yield float(self.ranks.mean(self.outcome()[0].mean()))

    @property
    def fresh(self) -> bool:
        """Whether every environment is at the start of an episode."""
        return self.steps == 0

    def outcome(self) -> tuple[Tensor, Tensor]:
        """Return rewards of the last stretch, and 1 where episodes ended in it, shape (steps, num_envs) each."""
        latest = self.replay.latest(self._taken)
        return latest.paid, latest.ended

    def numbers(self) -> dict[str, float]:
        """Return what the gradient steps of the last stretch have done, under Stable-Baselines3's names."""
        if not self._updates:
            return {}
        means = (self.sums / self._updates).tolist()
        found = {**dict(zip(LOSSES, means, strict=True)), "learning_rate": float(self.adam.param_groups[0]["lr"])}
        return {f"train/{name}": value for name, value in found.items()}

    def collect(self) -> None:
        """Take the steps of a turn, with noise that is drawn beforehand."""
        self._step_noise.normal_(generator=self.noise)
        self._collect()
        self._count()

    def update(self) -> None:
        """Take the gradient steps of a turn, on samples that are drawn beforehand."""
        filled = min(self._written, self.replay.capacity) + 1 - self.replay.ahead  # those that all rewards are known of
        self._rows.random_(0, max(filled, 1) * self.env.num_envs, generator=self.noise)
        self._update_noise.normal_(generator=self.noise)
        self._learn()
        self._updates += len(self._rows)

    def loss(self, steps: Steps, noise: Tensor) -> Tensor:
        """Return the sum of the losses of critics, policy and temperature, none of which changes what another is about.

        Args:
            steps: samples, shape (batch, ...).
            noise: normally distributed numbers for the actions of the policy now and next, shape (2, batch, actions).
        """
        agent = self.agent
        features = agent.standardised(steps.observation)
        weight = agent.log_temperature.detach().exp()
        values = agent.critics(features, steps.action)
        critics = 0.5 * (steps.weight * (values - self.goals(steps, noise[1])).square()).mean(dim=1).sum()
        action, log_prob = agent.sample(features, noise[0])
        policy = (weight * log_prob - agent.critics(features, action, frozen=True).amin(dim=0)).mean()
        entropy = -log_prob.detach().mean()
        balance = agent.log_temperature * (entropy - self.target_entropy)
        found = (critics, policy, balance, weight, entropy)
        self.sums += torch.stack([each.detach() for each in found])
        return critics + policy + balance if agent.learns_temperature else critics + policy

    @torch.no_grad()
    def goals(self, steps: Steps, noise: Tensor) -> Tensor:
        """Return what the values of steps should be, shape (batch,): only a terminated episode has nothing to follow.

        Args:
            steps: samples, shape (batch, ...).
            noise: normally distributed numbers for the next actions, shape (batch, actions).
        """
        agent = self.agent
        features = agent.standardised(steps.following)
        action, log_prob = agent.sample(features, noise)
        values = agent.targets(features, action).amin(dim=0) - agent.log_temperature.exp() * log_prob
        return steps.reward + steps.discount * values

    def state(self) -> dict[str, Any]:
        """Return everything the rest of the run depends on, as tensors and numbers, so that it continues to the same
        bits.

        The replay buffer itself is in it, not a copy: what another stretch writes to it counts only afterwards, but
        for rewards of the latest steps.
        """
        return {
            "steps": self.steps,
            "written": self._written,
            "place": self.replay.place.clone(),
            "began": self._began.clone(),
            "observation": self.observation.clone(),
            "noise": self.noise.get_state(),
            "agent": weights(self.agent),
            "adam": moments(self.adam),
            "physics": physics(self.env),
            "replay": self.replay.table,
            "tail": self.replay.tail(self.replay.ahead),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of :meth:`state` in a trainer with the same settings."""
        if state["replay"] is not self.replay.table:
            self.replay.table.copy_(state["replay"])
        self.replay.place.copy_(state["place"])
        self.replay.set_tail(state["tail"].to(self.device))
        self.agent.load_state_dict(state["agent"])
        self.adam.load_state_dict(state["adam"])
        self.noise.set_state(state["noise"].cpu())
        set_physics(self.env, state["physics"])
        self.observation.copy_(state["observation"])
        self._began.copy_(state["began"])
        self.steps, self._written = int(state["steps"]), int(state["written"])

    def _descend(self) -> None:
        """Take gradient steps; a recording on a GPU."""
        for rows, noise in zip(self._rows, self._update_noise, strict=True):
            loss = self.loss(self.replay.drawn(rows), noise)
            self.adam.zero_grad()
            loss.backward()
            self.ranks.average_gradients(self.parameters)
            self.adam.step()
            self.agent.follow(self.settings.tau)

    @torch.no_grad()
    def _act(self) -> None:
        """Take steps of the batch with the policy; a recording on a GPU."""
        for noise in self._step_noise:
            self._take(self.agent.sample(self.agent.standardised(self.observation), noise)[0])

    def _try(self) -> None:
        """Take steps of the batch with random actions about the initial one."""
        size = self.agent.actions
        start = torch.tensor(self.settings.initial_action or (0.0,) * size, device=self.device).clamp(-1.0, 1.0)
        for _ in range(self.settings.train_freq):
            drawn = torch.rand(self.env.num_envs, size, generator=self.noise, device=self.device)
            self._take((start + 2.0 * drawn - 1.0).clamp(-1.0, 1.0))
        self._count()

    def _take(self, action: Tensor) -> None:
        """Take one step of the batch, and write down what came of it."""
        after, reward, terminated, truncated, last = advance(self.env, action)
        ended = terminated | truncated
        following = after if last is None else torch.where(ended[:, None], last, after)
        over, discount = ended.float(), self.settings.gamma * (1.0 - terminated.float())
        weight = 1.0 - self._began
        self.replay.add(Steps(self.observation, action, following, reward, discount, over, reward, weight))
        if self._next_step:
            self._began.copy_(over)
        self.observation.copy_(after)

    def _count(self) -> None:
        self.steps += self.settings.train_freq * self.env.num_envs * self.ranks.count
        self._written += self.settings.train_freq

    def _watch(self, count: int) -> None:
        if self.settings.standardise:
            self.agent.watch(self.replay.latest(count).observation, self.ranks)
