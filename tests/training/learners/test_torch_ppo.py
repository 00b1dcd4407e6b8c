"""PPO in torch alone: its sums, that it learns, and that processes which learn together stay together."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from pbd_gym.training.agents.perceptrons import Tanh
from pbd_gym.training.learners import ranks
from pbd_gym.training.learners.ranks import Ranks
from pbd_gym.training.learners.torch_agent import Agent
from pbd_gym.training.learners.torch_batches import make
from pbd_gym.training.learners.torch_ppo import SURENESS, Trainer
from pbd_gym.training.learners.torch_rollouts import Rollout
from pbd_gym.training.settings.algorithms import RANDOM_STEPS, PPOSettings
from pbd_gym.training.settings.tuned import TABLE
from tests.training.learners.points import Points, check_it_learns, evaluate

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def test_it_learns() -> None:
    settings = PPOSettings(12_800, num_envs=32, n_steps=20, batch_size=128, learning_rate=3e-3, gamma=0.9)
    trainer = Trainer(Points(), settings, 0, CPU)
    check_it_learns(trainer)
    assert trainer.steps >= settings.total_timesteps


def test_it_learns_on_an_environment_of_ours() -> None:
    """Guards the tensors that come from the physics: few steps, but the reward of a rope that is to be laid rises."""
    settings = dataclasses.replace(
        TABLE["ppo"]["PBDRope-v0"], total_timesteps=32_000, num_envs=32, n_steps=100, batch_size=200
    )
    env = make("PBDRope-v0", settings.num_envs, CPU)
    trainer = Trainer(env, settings, 0, CPU)
    unseen = make("PBDRope-v0", 16, CPU, split="eval")
    before = evaluate(trainer.agent, unseen, 5)
    for _ in trainer.learn():
        pass
    after = evaluate(trainer.agent, unseen, 5)
    assert after["normalized_performance"] > before["normalized_performance"] + 0.1


def test_advantages_are_sums_of_errors() -> None:
    """Beside the definition: A_t = sum over k of (gamma lam)^k delta_(t+k), cut off where episodes end."""
    random, gamma, lam, steps = torch.Generator().manual_seed(0), 0.9, 0.8, 7
    rewards, values = (torch.rand(steps, 3, generator=random, dtype=torch.float64) for _ in range(2))
    ends = (torch.rand(steps, 3, generator=random) < 0.3).double()
    last = torch.rand(3, generator=random, dtype=torch.float64)
    empty = torch.zeros(steps, 3, 0)
    found = Rollout(empty, empty, empty, rewards, ends, values, last, rewards).advantages(gamma, lam)
    following = torch.cat([values[1:], last[None]])
    errors = rewards + gamma * (1.0 - ends) * following - values
    for env in range(3):
        for t in range(steps):
            total, weight = 0.0, 1.0
            for k in range(t, steps):
                total += weight * float(errors[k, env])
                weight *= gamma * lam * (1.0 - float(ends[k, env]))
            assert float(found[t, env]) == pytest.approx(total, abs=1e-12)


def test_running_out_of_time_is_no_end_of_the_values() -> None:
    """The last reward of an episode that is truncated has the value of where it stopped in it."""
    settings = PPOSettings(10, n_steps=10, gamma=0.5)
    trainer = Trainer(Points(), settings, 0, CPU)
    torch.nn.init.constant_(trainer.agent.value[-1].bias, 100.0)
    rollout, plain = trainer.collect()
    assert (rollout.ends[:9] == 0).all() and (rollout.ends[9] == 1).all()
    assert (rollout.rewards[:9] < 0).all()
    assert (rollout.rewards[9] > 40).all()
    assert plain < 0


def test_mean_and_spread_are_those_of_all_rollouts() -> None:
    agent = Agent(3, 2, PPOSettings(1))
    rows = 2.0 + 3.0 * torch.randn(4, 50, 8, 3, generator=torch.Generator().manual_seed(0))
    for part in rows:
        agent.watch(part, Ranks())
    torch.testing.assert_close(agent.mean, rows.mean(dim=(0, 1, 2)))
    features = agent.standardised(rows)
    torch.testing.assert_close(features.std(dim=(0, 1, 2)), torch.ones(3), atol=0.01, rtol=0.0)


@pytest.mark.parametrize("scale", [0.1, 3.0, 100.0])
def test_the_fast_tangent_is_the_tangent(scale: float) -> None:
    """Beside torch's, with its gradient."""
    x = (scale * torch.randn(1000, generator=torch.Generator().manual_seed(0))).requires_grad_()
    y = x.detach().clone().requires_grad_()
    found, expected = Tanh()(x), y.tanh()
    torch.testing.assert_close(found, expected, atol=3e-7, rtol=0.0)
    weights = torch.arange(1000.0)
    (found * weights).sum().backward()
    (expected * weights).sum().backward()
    torch.testing.assert_close(x.grad, y.grad, atol=1e-3, rtol=1e-5)


def test_probabilities_are_those_of_a_normal_distribution() -> None:
    agent = Agent(3, 2, PPOSettings(1, log_std_init=-0.7))
    noise = torch.randn(50, 2)
    density = torch.distributions.Normal(torch.zeros(2), agent.log_std.exp())
    expected = density.log_prob(noise * agent.log_std.exp()).sum(dim=-1)
    means = torch.randn(50, 2)
    found = agent.log_prob(agent.draw(means, noise), means)
    torch.testing.assert_close(found - found[0], expected - expected[0])


def test_switches_are_drawn_with_the_probabilities_of_their_log_odds() -> None:
    """Guards what is drawn, its probability, and that the others stay as they are."""
    agent = Agent(3, 2, PPOSettings(1, switches=(1,), initial_action=(0.0, 2.0)))
    torch.manual_seed(0)
    means = agent.means(torch.zeros(100_000, 3)).detach()
    torch.testing.assert_close(means[0], torch.tensor([0.0, 2.0]), atol=0.0, rtol=0.0)
    noise = torch.randn(100_000, 2)
    actions = agent.draw(means, noise)
    assert (actions[:, 1].abs() == 1.0).all()
    on = torch.sigmoid(torch.tensor(2.0))
    torch.testing.assert_close((actions[:, 1] > 0.0).float().mean(), on, atol=0.004, rtol=0.0)
    torch.testing.assert_close(actions[:, 0], means[:, 0] + noise[:, 0] * agent.log_std[0].exp())
    found = agent.log_prob(actions, means) + 0.5 * noise[:, 0].square() + agent.log_std[0]
    torch.testing.assert_close(found, torch.where(actions[:, 1] > 0.0, on, 1.0 - on).log(), atol=1e-5, rtol=1e-5)
    assert agent.act(torch.zeros(3))[1] == 1.0
    entropy = agent.log_std[0] + torch.distributions.Bernoulli(logits=means[:, 1]).entropy()
    torch.testing.assert_close(agent.entropy(means), entropy)
    with pytest.raises(ValueError, match="switches"):
        Agent(3, 2, PPOSettings(1, switches=(2,)))


def test_switches_are_held_for_some_steps() -> None:
    """Guards that what is drawn stays while the mean does, and that other noise is drawn anew."""
    settings = PPOSettings(1, num_envs=32, n_steps=20, switches=(1,), switch_hold=5, log_std_init=0.0)
    actions = Trainer(Points(), settings, 0, CPU).collect()[0].actions
    parts = actions.unflatten(0, (4, 5))
    assert ((parts[..., 1] == parts[:, :1, :, 1]).float().mean() > 0.99).all()  # the mean hardly moves at first
    assert 0.3 < float((parts[1:, 0, :, 1] == parts[:-1, 0, :, 1]).float().mean()) < 0.7
    assert float((parts[:, 1:, :, 0] - parts[:, :-1, :, 0]).abs().mean()) > 0.5


@pytest.mark.parametrize(("odds", "expected"), [(8.0, SURENESS * 16.0), (-7.0, SURENESS * 9.0), (3.0, 0.0)])
def test_switches_that_are_too_sure_are_pulled_back(odds: float, expected: float) -> None:
    """Guards the penalty, which leaves alone what is within the limit, and what is no switch."""
    settings = PPOSettings(1, n_steps=10, switches=(1,), switch_limit=4.0, initial_action=(9.0, odds))
    trainer = Trainer(Points(), settings, 0, CPU)
    torch.nn.init.zeros_(trainer.agent.policy[-1].weight)
    rollout, _ = trainer.collect()
    gain = rollout.advantages(0.98, 0.95)
    rows = (rollout.observations, rollout.actions, rollout.log_probs, gain, rollout.values + gain)
    flat = [row.flatten(0, 1) for row in rows]
    limited = trainer.loss(*flat).detach()
    trainer.penalties.clear()
    assert float(limited - trainer.loss(*flat).detach()) == pytest.approx(expected, abs=1e-5)


def test_what_is_kept_has_the_mean_of_the_weights() -> None:
    """Guards that it follows every update, and that it starts where the agent does."""
    settings = PPOSettings(1_920, num_envs=32, n_steps=20, n_epochs=1, standardise=True, average=0.25)
    trainer = Trainer(Points(), settings, 0, CPU)
    expected = {name: value.clone() for name, value in trainer.agent.state_dict().items()}
    for _ in trainer.learn():
        for name, value in trainer.agent.state_dict().items():
            expected[name] = expected[name] + 0.25 * (value - expected[name]) if value.is_floating_point() else value
    assert not torch.equal(trainer.mean_agent.policy[0].weight, trainer.agent.policy[0].weight)
    found = trainer.mean_agent.state_dict()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, atol=1e-6, rtol=1e-5)
    plain = Trainer(Points(), dataclasses.replace(settings, average=0.0), 0, CPU)
    assert plain.mean_agent is plain.agent


def test_observations_are_measured_before_training() -> None:
    """Guards what is measured, that no update changes it, and that training begins with its first episodes."""
    seen: list[Tensor] = []

    class Watched(Points):
        def step(self, action: Tensor) -> Any:
            result = super().step(action)
            seen.append(result[0].clone())
            return result

    settings = PPOSettings(
        1_280, n_steps=20, n_epochs=1, standardise=True, measured="before", initial_action=(0.5, -3.0), average=0.5
    )
    trainer = Trainer(Watched(), settings, 0, CPU)
    first = Points().reset(seed=0)[0]
    rows = torch.cat([first, *seen])
    actions = (seen[1] - seen[0]) / 0.3
    assert (actions[:, 0] > -0.51).all() and actions[:, 0].max() > 0.9  # about 0.5, and about -1 at most
    assert (actions[:, 1] < 0.01).all() and actions[:, 1].min() > -1.01
    assert len(seen) == RANDOM_STEPS
    assert torch.equal(trainer.observation, first)
    for _ in trainer.learn():
        for agent in (trainer.agent, trainer.mean_agent):
            torch.testing.assert_close(agent.mean, rows.mean(dim=0))
            torch.testing.assert_close(agent.spread, rows.std(dim=0, correction=0))
    assert trainer.steps == 1_280


def test_noise_falls_to_its_bound() -> None:
    """Guards the bound at every update, and that there is none by default."""
    settings = PPOSettings(3200, num_envs=32, n_steps=20, n_epochs=1, log_std_init=-1.0, log_std_end=-3.0)
    trainer, bounds = Trainer(Points(), settings, 0, CPU), []
    for _ in trainer.learn():
        assert (trainer.agent.log_std <= -1.0 - 0.4 * len(bounds) + 0.05).all()  # an update moves it after the bound
        bounds.append(float(trainer.agent.log_std.detach().max()))
    assert len(bounds) == 5 and bounds[-1] > -3.0
    free = Trainer(Points(), dataclasses.replace(settings, log_std_end=None), 0, CPU)
    for _ in free.learn():
        pass
    assert free.agent.log_std.min() > -1.3


def test_the_first_gradient_is_that_of_the_policy_gradient() -> None:
    """Guards the loss where nothing has been cut yet: the ratio is 1, its gradient that of the logarithm."""
    torch.manual_seed(0)
    trainer = Trainer(Points(), PPOSettings(1, n_steps=10, ent_coef=0.3), 0, CPU)
    rollout, _ = trainer.collect()
    agent, gain = trainer.agent, rollout.advantages(0.98, 0.95)
    parts = (agent.standardised(rollout.observations), rollout.actions, rollout.log_probs, gain, rollout.values + gain)
    trainer.loss(*(part.flatten(0, 1) for part in parts)).backward()
    found = [p.grad.clone() for p in trainer.parameters if p.grad is not None]
    agent.zero_grad()
    density = torch.distributions.Normal(agent.policy(rollout.observations), agent.log_std.exp())
    scaled = (gain - gain.mean()) / gain.std()
    loss = -(density.log_prob(rollout.actions).sum(dim=-1) * scaled).mean()
    loss = loss + 0.5 * (agent.value(rollout.observations)[..., 0] - (rollout.values + gain)).square().mean()
    (loss - 0.3 * density.entropy().sum(dim=-1).mean()).backward()
    assert len(found) == 13
    for mine, parameter in zip(found, trainer.parameters, strict=True):
        torch.testing.assert_close(mine, parameter.grad, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("further", "error"), [(5.0, 5.8**2), (-5.0, 5.0**2)])
def test_values_gain_nothing_beyond_their_limit(further: float, error: float) -> None:
    """Guards ``clip_values``: a value that has risen by 1 is not pulled further up, but back if that was too far."""
    agent = Trainer(Points(), PPOSettings(1, n_steps=2, clip_values=0.2), 0, CPU).agent
    features = torch.zeros(3, 2)
    now = agent.values(features).detach()
    found = agent.value_error(features, now + further, now - 1.0, 0.2)
    found.backward()
    assert float(found.detach()) == pytest.approx(error, rel=1e-5)
    assert (agent.value[-1].bias.grad == 0.0).all() == (further > 0.0)


def test_a_single_sample_is_learned_from() -> None:
    """Guards --batch-size 1: the spread of one advantage is NaN, and so were all weights."""
    trainer = Trainer(Points(), PPOSettings(1, n_steps=2, n_epochs=1, batch_size=1), 0, CPU)
    rollout, _ = trainer.collect()
    trainer.update(rollout)
    assert all(parameter.isfinite().all() for parameter in trainer.parameters)


def test_a_trainer_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    """Guards the state: it takes up weights, moments, noise and episodes, also in another process."""
    settings = PPOSettings(192, num_envs=4, n_steps=16, batch_size=32, n_epochs=2, standardise=True, average=0.2)
    small = {"particles": 9, "starts": 8, "settle_time": 0.1, "max_episode_steps": 10}
    first, second = (Trainer(make("PBDRope-v0", 4, CPU, **small), settings, seed, CPU) for seed in (0, 1))
    rewards = first.learn()
    next(rewards)
    torch.save(first.state(), tmp_path / "state.pt")
    rest = list(rewards)
    assert len(rest) == 2
    second.restore(torch.load(tmp_path / "state.pt", weights_only=True))
    assert list(second.learn()) == rest
    assert second.steps == first.steps == 192
    for mine, other in ((first.agent, second.agent), (first.mean_agent, second.mean_agent)):
        for name, value in mine.state_dict().items():
            assert torch.equal(value, other.state_dict()[name]), name


def test_two_processes_agree_bit_for_bit(tmp_path: Path) -> None:
    """Guards the averaging: the episodes are others, yet the weights that come of them are the same."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "-m"]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, "tests.training.learners.two_ranks", str(tmp_path)],
        cwd=Path(__file__).parents[3], env=env, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-8000:]
    one, two = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2))
    assert one["updates"] == two["updates"] == 4  # 512 steps of 2 x 4 environments, 16 steps an update
    assert one["moved"] > 1e-3
    assert one["soft steps"] == 512 and one["soft updates"] == 1
    assert not torch.equal(one["first"], two["first"])
    for kind in ("agent", "soft"):
        for name, value in one[kind].items():
            assert torch.equal(value, two[kind][name]), name


def test_weights_that_differ_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks.dist, "broadcast", lambda values, source: values.add_(1.0))
    with pytest.raises(RuntimeError, match="process 1 has different weights"):
        Ranks(1, 2).check_equal(torch.nn.Linear(2, 2))
