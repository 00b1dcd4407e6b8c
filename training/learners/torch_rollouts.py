"""Rollouts of PPO in torch: some steps of a batch, in tensors that stay where they are and are written over each time.

Policy, physics, the ends of episodes and storage are one recording, which a GPU replays without Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.runtime.recording import Recording
from pbd_gym.training.learners.torch_agent import Agent
from pbd_gym.training.learners.torch_batches import advance


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
    paid: Tensor
    """Rewards alone, as the environment gave them."""

    def advantages(self, gamma: float, lam: float) -> Tensor:
        """Return generalised advantage estimates, shape (steps, num_envs)."""
        goes_on = 1.0 - self.ends
        following = torch.cat([self.values[1:], self.last_value[None]])
        found = self.rewards + gamma * goes_on * following - self.values
        weight = gamma * lam * goes_on
        for t in reversed(range(len(found) - 1)):
            found[t] += weight[t] * found[t + 1]
        return found


class Collector:
    """Steps a batch with an agent. What it returns holds until it is called again.

    Args:
        env: the batch; its ``step`` takes and gives tensors of the device. A :class:`TaskVectorEnv` is recorded.
        agent: what acts.
        observation: of the first step, shape (num_envs, observations).
        steps: of a rollout.
        hold: steps for which the noise of switches stays as it is.
        gamma: discount per step.
    """

    def __init__(self, env: Any, agent: Agent, observation: Tensor, steps: int, hold: int, gamma: float) -> None:
        self.env, self.agent, self.gamma, self.length = env, agent, gamma, steps
        device, size = observation.device, (steps, env.num_envs)
        self._drawn = torch.empty(*size, len(agent.log_std), device=device)
        every = torch.arange(steps, device=device)
        self._held = every - every % hold if hold > 1 else None
        self._noise = torch.empty_like(self._drawn) if hold > 1 else self._drawn
        self._means, self._actions = torch.empty_like(self._drawn), torch.empty_like(self._drawn)
        self._seen = torch.empty(steps + 1, *observation.shape, device=device)
        self._seen[-1] = observation
        self._rewards, self._ends, self._late = (torch.zeros(size, device=device) for _ in range(3))
        self._log_probs, self._values = torch.empty(size, device=device), torch.empty(steps + 1, size[1], device=device)
        own = isinstance(env, TaskVectorEnv)  # others may look at what a step gives
        self._run = Recording(self._steps, device) if own else self._steps

    @property
    def observation(self) -> Tensor:
        """Observation after the last step, shape (num_envs, observations): a view."""
        return self._seen[-1]

    @torch.no_grad()
    def __call__(self, random: torch.Generator) -> tuple[Rollout, Tensor]:
        """Step the batch; returns the rollout, and the mean reward of its steps as a tensor of one number.

        Args:
            random: what noise is drawn from.
        """
        self._drawn.normal_(generator=random)
        self._run()
        rewards = self._rewards + self.gamma * self._late
        values, paid = self._values, self._rewards
        found = Rollout(
            self._seen[:-1], self._actions, self._log_probs, rewards, self._ends, values[:-1], values[-1], paid
        )
        return found, paid.mean()

    def _steps(self) -> None:
        agent, seen, means, actions = self.agent, self._seen, self._means, self._actions
        if self._held is not None:
            torch.where(agent.switches, self._drawn[self._held], self._drawn, out=self._noise)
        seen[0] = seen[-1]
        self._late.zero_()
        for t in range(self.length):
            means[t] = agent.means(agent.standardised(seen[t]))
            actions[t] = agent.draw(means[t], self._noise[t])
            self._step(t, actions[t].clamp(-1.0, 1.0))
        self._values.copy_(agent.values(agent.standardised(seen)))
        self._log_probs.copy_(agent.log_prob(actions, means))

    def _step(self, t: int, action: Tensor) -> None:
        """Take one step of the batch, and write down what came of it."""
        agent = self.agent
        next_observation, reward, terminated, truncated, last = advance(self.env, action)
        self._seen[t + 1], self._rewards[t] = next_observation, reward
        self._ends[t] = terminated | truncated
        if last is not None:  # always on CUDA, where the host does not wait for the masks
            ran_out = truncated & ~terminated
            self._late[t] = torch.where(ran_out, agent.values(agent.standardised(last)), 0.0)
