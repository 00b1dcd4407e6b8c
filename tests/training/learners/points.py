"""A batch that any learner should master within seconds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor


class Points:
    """A point has to be led to the origin within ten steps; the fewer it takes, the better."""

    num_envs = 32
    single_observation_space = SimpleNamespace(shape=(2,))
    single_action_space = SimpleNamespace(shape=(2,))

    def reset(self, seed: int) -> tuple[Tensor, dict[str, Any]]:
        self.random = torch.Generator().manual_seed(seed)
        self.elapsed = 0
        self.places = self._draw()
        return self.places.clone(), {}

    def _draw(self) -> Tensor:
        return 2.0 * torch.rand(self.num_envs, 2, generator=self.random) - 1.0

    def step(self, action: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, dict[str, Any]]:
        self.places += 0.3 * action
        self.elapsed += 1
        reward = -self.places.norm(dim=1)
        over = torch.full((self.num_envs,), self.elapsed == 10)
        info: dict[str, Any] = {}
        if over.all():
            results = {"normalized_performance": reward, "is_success": reward > -0.1}
            info = {"final_obs": self.places.clone(), "final_info": results}
            self.places, self.elapsed = self._draw(), 0
        return self.places.clone(), reward, torch.zeros_like(over), over, info


@torch.no_grad()
def evaluate(agent: Any, env: Any, seed: int) -> dict[str, float]:
    """Run one episode in every environment of a batch whose episodes end together."""
    observation, info = env.reset(seed=seed)[0], {}
    while "final_info" not in info:
        observation, *_, info = env.step(agent.act(observation))
    names = ("is_success", "normalized_performance")
    return {name: float(info["final_info"][name].float().mean()) for name in names}


def check_it_learns(trainer: Any) -> None:
    """Train on :class:`Points` to the end, and compare unseen episodes before and after."""
    before = evaluate(trainer.agent, Points(), 5)
    rewards = list(trainer.learn())
    after = evaluate(trainer.agent, Points(), 5)
    assert before["is_success"] < 0.1
    assert after["is_success"] > 0.9
    assert rewards[-1] > 0.5 * rewards[0]  # both below zero
