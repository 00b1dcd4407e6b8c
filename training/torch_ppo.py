"""PPO in torch alone: rollouts are tensors of the device that the physics runs on, and never leave it.

python -m pbd_gym.training.torch_ppo PBDRope-v0
python -m pbd_gym.training.torch_ppo PBDRope-v0 --device cuda:0 --num-envs 2048
torchrun --nproc_per_node=2 -m pbd_gym.training.torch_ppo PBDRope-v0

With ``torchrun`` every process has environments of its own, with other seeds, and the gradients are averaged (gloo on
CPUs, NCCL on GPUs, one process per GPU). The algorithm is the one of Schulman et al. 2017, arXiv:1707.06347, with
advantages after Schulman et al. 2015, arXiv:1506.02438; an episode that runs out of time goes on in the values.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import torch
import torch.distributed as dist
import tyro
from torch import Tensor, nn

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.runtime.files import replacing, write_text
from pbd_gym.training.rollouts import UNSEEN_SEED, unseen_starts
from pbd_gym.training.tuned import FALLBACK, PPO, PPOSettings

MAX_GRADIENT = 0.5
"""Norm to which gradients are cut."""
LEAST_SPREAD = 0.01
"""Standard deviation below which an observation is taken as constant [m or m/s]."""


@dataclass
class Args:
    """Train PPO on the device. Defaults by id are in pbd_gym/training/tuned.py."""

    env_id: Annotated[str, tyro.conf.Positional] = "PBDRope-v0"
    """environment to train on"""
    device: str | None = None
    """cpu or cuda:0; with torchrun cuda means one GPU per process"""
    seed: int = 0
    """of the networks, the noise and the environments"""
    total_timesteps: int | None = None
    """environment steps of all processes together"""
    num_envs: int | None = None
    """environments of each process"""
    n_steps: int | None = None
    """steps per environment between updates"""
    learning_rate: float | None = None
    """of Adam at the start; it falls linearly to zero"""
    eval_episodes: int = 100
    """unseen episodes to evaluate on at the end"""
    out: Path | None = None
    """folder for agent.pt and run.json; runs/ID-torch-SEED by default"""

    def settings(self) -> PPOSettings:
        """Return the tuned numbers of the id, overridden by those of the command line."""
        found = PPO.get(self.env_id, FALLBACK["ppo"])
        assert isinstance(found, PPOSettings)
        given = {f.name: getattr(self, f.name, None) for f in dataclasses.fields(found)}
        return dataclasses.replace(found, **{k: v for k, v in given.items() if v is not None})


@dataclass(frozen=True)
class Ranks:
    """The processes that train together; one unless torchrun started more."""

    rank: int = 0
    count: int = 1

    def mean(self, value: Tensor) -> Tensor:
        """Average a tensor over the processes, in place."""
        if self.count > 1:
            dist.all_reduce(value)
            value /= self.count
        return value

    def average_gradients(self, parameters: list[nn.Parameter]) -> None:
        """Average the gradients over the processes, in one message."""
        if self.count > 1:
            gradients = [p.grad for p in parameters if p.grad is not None]
            together = self.mean(torch.cat([g.reshape(-1) for g in gradients]))
            for gradient, part in zip(gradients, together.split([g.numel() for g in gradients]), strict=True):
                gradient.copy_(part.view_as(gradient))

    def check_equal(self, module: nn.Module) -> None:
        """Check that every process has the same weights, bit for bit.

        Raises:
            RuntimeError: if they differ from those of the first process.
        """
        if self.count == 1:
            return
        mine = torch.cat([value.reshape(-1) for value in module.state_dict().values()])
        first = mine.clone()
        dist.broadcast(first, 0)
        if not torch.equal(mine, first):
            raise RuntimeError(f"process {self.rank} has other weights than process 0")


@contextmanager
def joined(device: str | None) -> Iterator[tuple[Ranks, torch.device]]:
    """Join the processes that torchrun has started, if it has; yields them and the device of this one."""
    name = device or "cpu"
    if "WORLD_SIZE" not in os.environ:
        yield Ranks(), torch.device(name)
        return
    if name.startswith("cuda"):
        name = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(name)
    dist.init_process_group("nccl" if name.startswith("cuda") else "gloo")
    try:
        yield Ranks(dist.get_rank(), dist.get_world_size()), torch.device(name)
    finally:
        dist.destroy_process_group()


class Agent(nn.Module):
    """Gaussian policy and value function over standardised observations."""

    mean: Tensor
    square: Tensor
    spread: Tensor
    limit: Tensor
    seen: Tensor

    def __init__(self, observations: int, actions: int, settings: PPOSettings) -> None:
        super().__init__()
        self.policy = network(observations, settings.net_arch, actions, 0.01)
        self.value = network(observations, settings.net_arch, 1, 1.0)
        self.log_std = nn.Parameter(torch.full((actions,), settings.log_std_init))
        if settings.initial_action:
            with torch.no_grad():
                self.policy[-1].bias += torch.tensor(settings.initial_action)  # type: ignore[operator]
        self.register_buffer("mean", torch.zeros(observations))
        self.register_buffer("square", torch.ones(observations))
        self.register_buffer("spread", torch.ones(observations))
        self.register_buffer("limit", torch.tensor(10.0))
        self.register_buffer("seen", torch.zeros(()))

    def standardised(self, observation: Tensor) -> Tensor:
        """Return observations less their mean, over their spread."""
        return ((observation - self.mean) / self.spread).clamp(-self.limit, self.limit)

    def values(self, observation: Tensor) -> Tensor:
        """Return the value estimates, shape (...)."""
        found: Tensor = self.value(self.standardised(observation)).squeeze(-1)
        return found

    def distribution(self, observation: Tensor) -> torch.distributions.Normal:
        """Return the distribution of actions."""
        return torch.distributions.Normal(self.policy(self.standardised(observation)), self.log_std.exp())

    def act(self, observation: Tensor) -> Tensor:
        """Return the mean action, for evaluation."""
        return self.distribution(observation).mean.clamp(-1.0, 1.0)

    @torch.no_grad()
    def watch(self, observations: Tensor, ranks: Ranks) -> None:
        """Update mean and spread with a rollout, which counts as much as each one before it."""
        rows = observations.reshape(-1, observations.shape[-1])
        self.seen += 1.0
        self.mean += (ranks.mean(rows.mean(dim=0)) - self.mean) / self.seen
        self.square += (ranks.mean((rows**2).mean(dim=0)) - self.square) / self.seen
        self.spread.copy_((self.square - self.mean**2).clamp(min=LEAST_SPREAD**2).sqrt())


def network(inputs: int, hidden: tuple[int, ...], outputs: int, gain: float) -> nn.Sequential:
    """Return layers with tanh in between, orthogonal weights, and a last layer scaled by ``gain``."""
    sizes = [inputs, *hidden, outputs]
    layers: list[nn.Module] = []
    for k, (before, after) in enumerate(itertools.pairwise(sizes)):
        linear = nn.Linear(before, after)
        nn.init.orthogonal_(linear.weight, gain if k == len(hidden) else 2.0**0.5)
        nn.init.zeros_(linear.bias)
        layers += [linear, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


@dataclass
class Rollout:
    """Some steps of a batch; every tensor has shape (steps, num_envs, ...)."""

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    rewards: Tensor
    """Plus the value of the last observation where an episode ran out of time."""
    ends: Tensor
    """1 where an episode ended in this step, 0 elsewhere."""
    values: Tensor
    last_value: Tensor
    """After the last step, shape (num_envs,)."""

    def advantages(self, gamma: float, lam: float) -> Tensor:
        """Return generalised advantage estimates, shape (steps, num_envs)."""
        found, after, following = torch.zeros_like(self.values), torch.zeros_like(self.last_value), self.last_value
        for t in reversed(range(len(found))):
            goes_on = 1.0 - self.ends[t]
            error = self.rewards[t] + gamma * goes_on * following - self.values[t]
            found[t] = after = error + gamma * lam * goes_on * after
            following = self.values[t]
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
        self.adam = torch.optim.Adam(self.parameters, settings.learning_rate, eps=1e-5)
        self.noise = torch.Generator(device).manual_seed(seed * self.ranks.count + self.ranks.rank)
        first = (seed * self.ranks.count + self.ranks.rank) * env.num_envs
        self.observation, _ = env.reset(seed=first)
        self.steps = 0
        """Environment steps so far, of all processes."""
        self.penalty: Callable[[Tensor, Tensor], Tensor] | None = None
        """What else counts in the loss, of observations and of the mean actions for them; nothing by default."""

    def learn(self) -> Iterator[float]:
        """Train for ``settings.total_timesteps``; yields the mean reward of every rollout."""
        settings = self.settings
        while self.steps < settings.total_timesteps:
            left = 1.0 - self.steps / settings.total_timesteps
            for group in self.adam.param_groups:
                group["lr"] = left * settings.learning_rate
            rollout, reward = self.collect()
            self.steps += rollout.values.numel() * self.ranks.count
            self.update(rollout)
            yield reward

    @torch.no_grad()
    def collect(self) -> tuple[Rollout, float]:
        """Step the batch; only the mean reward is read back, at the end."""
        agent, gamma = self.agent, self.settings.gamma
        rows: list[tuple[Tensor, ...]] = []
        plain = torch.zeros((), device=self.device)
        for _ in range(self.settings.n_steps):
            observation = self.observation
            distribution = agent.distribution(observation)
            action = distribution.mean + distribution.stddev * torch.randn(
                distribution.mean.shape, generator=self.noise, device=self.device
            )
            self.observation, reward, terminated, truncated, info = self.env.step(action.clamp(-1.0, 1.0))
            reward = reward.float()
            plain += reward.mean()
            if "final_obs" in info:  # always on CUDA, where the host does not wait for the masks
                ran_out = truncated & ~terminated
                reward = reward + gamma * torch.where(ran_out, agent.values(info["final_obs"]), 0.0)
            log_prob = distribution.log_prob(action).sum(dim=-1)
            ends = (terminated | truncated).float()
            rows.append((observation, action, log_prob, reward, ends, agent.values(observation)))
        seen, actions, log_probs, rewards, ends, values = map(torch.stack, zip(*rows, strict=True))
        mean_reward = float(self.ranks.mean(plain) / self.settings.n_steps)
        last = agent.values(self.observation)
        return Rollout(seen, actions, log_probs, rewards, ends, values, last), mean_reward

    def update(self, rollout: Rollout) -> None:
        """Do the epochs of gradient steps on a rollout, the same number in every process."""
        settings, agent = self.settings, self.agent
        advantages = rollout.advantages(settings.gamma, settings.gae_lambda)
        observations, actions, old, gain, goal = (
            part.flatten(0, 1)
            for part in (
                rollout.observations, rollout.actions, rollout.log_probs, advantages, advantages + rollout.values,
            )
        )  # fmt: skip
        batch = min(settings.batch_size, len(gain))
        for _ in range(settings.n_epochs):
            order = torch.randperm(len(gain), generator=self.noise, device=self.device)
            for rows in order[: len(order) // batch * batch].split(batch):
                distribution = agent.distribution(observations[rows])
                ratio = (distribution.log_prob(actions[rows]).sum(dim=-1) - old[rows]).exp()
                scaled = (gain[rows] - gain[rows].mean()) / (gain[rows].std() + 1e-8)
                cut = ratio.clamp(1.0 - settings.clip_range, 1.0 + settings.clip_range)
                loss = -torch.min(ratio * scaled, cut * scaled).mean()
                loss = loss + 0.5 * (agent.values(observations[rows]) - goal[rows]).square().mean()
                loss = loss - settings.ent_coef * distribution.entropy().sum(dim=-1).mean()
                if self.penalty is not None:
                    loss = loss + self.penalty(observations[rows], distribution.mean)
                self.adam.zero_grad()
                loss.backward()
                self.ranks.average_gradients(self.parameters)
                nn.utils.clip_grad_norm_(self.parameters, MAX_GRADIENT)
                self.adam.step()
        if settings.standardise:  # after the update: the probabilities of the rollout were those of the old spread
            agent.watch(rollout.observations, self.ranks)


@torch.no_grad()
def evaluate(agent: Agent, env: Any, first_seed: int = UNSEEN_SEED) -> dict[str, float]:
    """Run one episode in every environment of a batch that resets in the same step; return means over them."""
    observation, _ = env.reset(seed=first_seed)
    ended = torch.zeros(env.num_envs, dtype=torch.bool, device=observation.device)
    total = torch.zeros(env.num_envs, device=observation.device)
    found = {name: torch.zeros_like(total) for name in ("normalized_performance", "is_success")}
    while not bool(ended.all()):
        observation, reward, terminated, truncated, info = env.step(agent.act(observation))
        over = terminated | truncated
        total += torch.where(ended, 0.0, reward.float())
        if "final_info" in info:
            for name, values in found.items():
                values += torch.where(over & ~ended, info["final_info"][name].float(), 0.0)
        ended |= over
    return {name: float(values.mean()) for name, values in {**found, "return": total}.items()}


def make(env_id: str, num_envs: int, device: torch.device, **kwargs: Any) -> Any:
    """Make a batch with tensors of the device for observations."""
    return gym.make_vec(env_id, num_envs, output="torch", device=str(device), autoreset_mode="SameStep", **kwargs)


def main(args: Args) -> dict[str, float]:
    """Train, evaluate, and write ``agent.pt`` and ``run.json``. Returns the evaluation."""
    torch.set_num_threads(1)
    settings = args.settings()
    out = args.out or Path("runs") / f"{args.env_id}-torch-{args.seed}"
    with joined(args.device) as (ranks, device):
        env = make(args.env_id, settings.num_envs, device, **{"split": "train", **settings.training_env})
        trainer = Trainer(env, settings, args.seed, device, ranks)
        start = time.perf_counter()
        for update, reward in enumerate(trainer.learn()):
            if ranks.rank == 0 and update % 10 == 0:
                seconds = time.perf_counter() - start
                print(f"{trainer.steps:>10,} steps {seconds:5.0f} s   mean reward {reward:.4f}", flush=True)
        ranks.check_equal(trainer.agent)
        seconds = time.perf_counter() - start
        unseen = make(args.env_id, args.eval_episodes, device, **unseen_starts(args.env_id, args.eval_episodes))
        results = evaluate(trainer.agent, unseen)
        if ranks.rank == 0:
            with replacing(out / "agent.pt") as file:
                torch.save(trainer.agent.state_dict(), file)
            about = {"env_id": args.env_id, "seed": args.seed, "settings": dataclasses.asdict(settings)}
            about |= {"processes": ranks.count, "training_seconds": seconds, "results": results}
            write_text(out / "run.json", json.dumps(about, indent=2))
            print(f"{trainer.steps:,} steps in {seconds:.0f} s; unseen episodes: {results}")
    return results


if __name__ == "__main__":
    main(tyro.cli(Args))
