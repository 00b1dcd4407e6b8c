"""Soft actor-critic in torch alone: its sums beside plain ones, its replay buffer, that it learns and goes on."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch import Tensor

from pbd_gym.training.agents.policies import load_policy
from pbd_gym.training.learners import torch_sac
from pbd_gym.training.learners.torch_batches import make
from pbd_gym.training.learners.torch_replay import Replay, Steps
from pbd_gym.training.learners.torch_sac import SoftTrainer
from pbd_gym.training.learners.torch_sac_agent import SoftAgent, temperature
from pbd_gym.training.settings.algorithms import SACSettings
from tests.training.learners.points import Points, check_it_learns

CPU = torch.device("cpu")
SMALL: dict[str, Any] = {"particles": 9, "starts": 8, "settle_time": 0.1, "max_episode_steps": 7, "threads": 1}
SETTINGS = SACSettings(
    600, num_envs=4, batch_size=16, buffer_size=160, learning_starts=40, gradient_steps=2, net_arch=(16,),
    standardise=True, return_steps=3,
)  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def numbered(first: int, num_envs: int) -> Steps:
    """Return steps whose rewards are consecutive numbers, and whose other parts are multiples of these."""
    reward = torch.arange(first, first + num_envs, dtype=torch.float32)
    rows, zeros = reward[:, None], torch.zeros(num_envs)
    return Steps(10.0 * rows.expand(-1, 3), 20.0 * rows.expand(-1, 2), 30.0 * rows.expand(-1, 3), reward, zeros,
                 zeros + 1.0, 40.0 * reward, zeros + 2.0)  # fmt: skip


def test_the_oldest_steps_make_room() -> None:
    """Guards what is drawn after the table has been filled twice over, and that spare rows never are."""
    replay = Replay(2, 3, 2, capacity=4, spare=3, ahead=1, device=CPU)
    for k in range(15):
        replay.add(numbered(2 * k, 2))
    found = replay.drawn(torch.arange(8))
    assert found.reward.tolist() == [28, 29, 26, 27, 24, 25, 22, 23]
    assert torch.equal(found.observation, 10.0 * found.reward[:, None].expand(-1, 3))
    assert torch.equal(found.action, 20.0 * found.reward[:, None].expand(-1, 2))
    assert torch.equal(found.following, 30.0 * found.reward[:, None].expand(-1, 3))
    assert (found.discount == 0).all() and (found.ended == 1).all() and (found.weight == 2).all()
    assert torch.equal(found.paid, 40.0 * found.reward)
    assert replay.latest(2).reward.tolist() == [[26, 27], [28, 29]]


def test_rewards_are_added_up_until_an_episode_ends() -> None:
    """Guards sums of several steps, beside a plain loop: with ends of both kinds and a cut, in a table gone round."""
    random, ahead, length, gamma = np.random.default_rng(0), 3, 20, 0.9
    reward, terminated, truncated = (random.normal(size=(length, 4)).astype(np.float32) for _ in range(3))
    ends = np.maximum(terminated > 1.0, truncated > 1.0)
    replay = Replay(4, 1, 1, capacity=8, spare=2, ahead=ahead, device=CPU)
    for t in range(length):
        here = torch.full((4, 1), float(t))
        discount = torch.as_tensor(gamma * (terminated[t] <= 1.0), dtype=torch.float32)
        paid, over = torch.as_tensor(reward[t]), torch.as_tensor(ends[t]).float()
        replay.add(Steps(here, here, here + 0.5, paid.clone(), discount, over, paid, torch.ones(4)))
        if t == 14:
            replay.cut()
            ends[t] = True
    found = replay.drawn(torch.arange(6 * 4))
    for k in range(6 * 4):
        t, env = length - ahead - k // 4, k % 4
        assert found.observation[k] == t
        total, weight, last = 0.0, 1.0, t
        for last in range(t, t + ahead):
            total += weight * reward[last, env]
            weight *= gamma * (terminated[last, env] <= 1.0)
            if ends[last, env]:
                break
        assert float(found.reward[k]) == pytest.approx(total, abs=1e-5)
        assert float(found.discount[k]) == pytest.approx(weight, abs=1e-6)
        assert float(found.following[k]) == last + 0.5
        assert found.paid[k] == reward[t, env]
    assert len(set(found.following.flatten().tolist())) > 5 and (found.discount == 0).any()


def test_densities_are_those_of_the_tangent_of_a_normal_number() -> None:
    agent = SoftAgent(3, 2, SACSettings(1, net_arch=(8,), log_std_init=-0.3, initial_action=(0.5, -3.0)))
    features, noise = torch.randn(50, 3), torch.randn(50, 2)
    mean, log_std = agent.actor(features).detach().chunk(2, dim=-1)
    normal = torch.distributions.Normal(mean, log_std.exp())
    expected = torch.distributions.TransformedDistribution(normal, torch.distributions.TanhTransform())
    action, log_prob = agent.sample(features, noise)
    assert_allclose(action.detach(), (mean + noise * log_std.exp()).tanh())
    inside = action.detach().clamp(-0.999, 0.999)  # where the inverse of the tangent is exact enough
    near = (inside == action).all(dim=1)
    assert near.sum() > 20
    assert_allclose(log_prob.detach()[near], expected.log_prob(inside).sum(dim=1)[near], atol=1e-3)
    assert_allclose(agent.act(torch.zeros(3)).detach(), [0.5, -0.99], atol=1e-6)


def values(agent: SoftAgent, critics: Any, k: int, inputs: np.ndarray) -> np.ndarray:
    """Return what one critic makes of states and actions, in NumPy."""
    x, layers = inputs, list(zip(critics.weights, critics.biases, strict=True))
    for number, (weight, bias) in enumerate(layers):
        x = x @ weight[k].detach().numpy().astype(float) + bias[k].detach().numpy()
        if number < len(layers) - 1:
            x = np.maximum((x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5), 0.0)
    return x[:, 0]


def sampled(agent: SoftAgent, features: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return actions and the logarithms of their densities, in NumPy."""
    first, last = (agent.actor[k] for k in (0, 2))
    hidden = np.tanh(features @ first.weight.detach().numpy().T.astype(float) + first.bias.detach().numpy())  # type: ignore[union-attr,operator]
    found = hidden @ last.weight.detach().numpy().T.astype(float) + last.bias.detach().numpy()  # type: ignore[union-attr,operator]
    mean, spread = found[:, :2], np.exp(found[:, 2:])
    action = np.tanh(mean + noise * spread)
    density = np.exp(-0.5 * noise**2) / np.sqrt(2.0 * np.pi) / spread / (1.0 - action**2)
    return action, np.log(density).sum(axis=1)


def test_a_gradient_step_beside_plain_sums() -> None:
    """Guards goals, all three losses, which of them moves what, the targets' share of the way, Adam's first step."""
    settings = SACSettings(
        1, net_arch=(8,), gamma=0.9, ent_coef="auto_0.3", target_entropy=-0.5, tau=0.25, learning_rate=1e-2,
        batch_size=6, gradient_steps=1, num_envs=32,
    )  # fmt: skip
    trainer = SoftTrainer(Points(), settings, 0, CPU)
    agent, random = trainer.agent, np.random.default_rng(0)
    with torch.no_grad():
        agent.mean += 0.1
        agent.spread *= 2.0
        for each in agent.targets.parameters():
            each += 0.1
    drawn = {name: random.normal(size=(6, 2)) for name in ("observation", "action", "following")}
    drawn["action"] = np.tanh(drawn["action"])
    others = {"reward": random.normal(size=6), "discount": np.array([0.9, 0, 0.9, 0.7, 0, 0.9]), "ended": np.ones(6),
              "paid": np.zeros(6), "weight": np.array([1, 1, 0, 1, 1, 1.0])}  # fmt: skip
    steps = Steps(**{name: torch.as_tensor(value, dtype=torch.float32) for name, value in (drawn | others).items()})
    noise = random.normal(size=(2, 6, 2))
    seen, following = ((drawn[name] - 0.1) / 2.0 for name in ("observation", "following"))
    action, log_prob = sampled(agent, following, noise[1])
    least = np.minimum(*(values(agent, agent.targets, k, np.hstack([following, action])) for k in range(2)))
    goals = others["reward"] + others["discount"] * (least - 0.3 * log_prob)
    tensors = torch.as_tensor(noise, dtype=torch.float32)
    assert_allclose(trainer.goals(steps, tensors[1]), goals, rtol=1e-4)
    rated = [values(agent, agent.critics, k, np.hstack([seen, drawn["action"]])) for k in range(2)]
    critics = sum(0.5 * np.mean(others["weight"] * (each - goals) ** 2) for each in rated)
    action, log_prob = sampled(agent, seen, noise[0])
    least = np.minimum(*(values(agent, agent.critics, k, np.hstack([seen, action])) for k in range(2)))
    policy = np.mean(0.3 * log_prob - least)
    balance = np.log(0.3) * -np.mean(log_prob - 0.5 * 2)
    assert float(trainer.loss(steps, tensors).detach()) == pytest.approx(critics + policy + balance, rel=1e-4)
    assert_allclose(trainer.sums, [critics, policy, balance, 0.3, -log_prob.mean()], rtol=1e-4)

    silent = dataclasses.replace(steps, weight=torch.zeros(6))  # without errors of values
    trainer.loss(silent, tensors).backward()
    assert all((each.grad == 0).all() for each in agent.critics.parameters())
    assert all((each.grad != 0).any() for each in agent.actor.parameters())
    assert agent.log_temperature.grad is not None
    assert float(agent.log_temperature.grad) == pytest.approx(-np.mean(log_prob - 0.5 * 2), rel=1e-4)

    trainer.adam.zero_grad()
    trainer.loss(steps, tensors).backward()
    gradients = [each.grad.clone() for each in trainer.parameters if each.grad is not None]
    before = [each.detach().clone() for each in trainer.parameters]
    targets = [each.clone() for each in agent.targets.parameters()]
    trainer.replay.drawn = lambda rows: steps  # type: ignore[method-assign]
    trainer._update_noise.copy_(tensors[None])
    trainer._descend()
    for old, gradient, new in zip(before, gradients, trainer.parameters, strict=True):
        torch.testing.assert_close(new.detach(), old - 1e-2 * gradient / (gradient.abs() + 1e-5), atol=1e-6, rtol=1e-4)
    for old, now, found in zip(targets, agent.critics.parameters(), agent.targets.parameters(), strict=True):
        torch.testing.assert_close(found, 0.75 * old + 0.25 * now.detach())


def test_running_out_of_time_is_no_end_of_the_values() -> None:
    """Guards the last observations of episodes in both ways of resetting, and that a reset is no step to learn from."""
    settings = dataclasses.replace(SETTINGS, learning_starts=2_000, buffer_size=1_000, train_freq=2, return_steps=1)
    trainers = {}
    for mode in ("SameStep", "NextStep"):
        env = gym.make_vec("PBDRope-v0", 4, output="torch", autoreset_mode=mode, **SMALL)
        trainers[mode] = SoftTrainer(env, settings, 0, CPU)
        next(trainers[mode].learn())
        env.close()
    same, later = (trainer.replay.latest(64) for trainer in trainers.values())
    assert torch.equal(same.following[:7], later.following[:7])  # both have done the same until then
    assert (same.ended == (torch.arange(64) % 7 == 6)[:, None]).all()
    assert (later.ended == (torch.arange(64) % 8 == 6)[:, None]).all()
    for found, resets in ((same, 6), (later, 7)):
        assert (found.discount == np.float32(settings.gamma)).all()
        begins = torch.arange(1, 64) % (resets + 1) == 0
        assert torch.equal(found.following[:-1][~begins], found.observation[1:][~begins])
        assert (found.following[:-1][begins] != found.observation[1:][begins]).any(dim=-1).all() or resets == 7
    assert (same.weight == 1).all()
    assert (later.weight == (torch.arange(64) % 8 != 7)[:, None]).all()
    # Goals of steps that ended have a value of what would have followed, unless they were terminated.
    trainer = trainers["SameStep"]
    rows = Steps(*(getattr(same, each.name)[same.ended > 0] for each in dataclasses.fields(Steps)))
    with torch.no_grad():
        trainer.agent.targets.biases[-1] += 100.0
    noise = torch.zeros(len(rows.reward), trainer.agent.actions)
    assert (trainer.goals(rows, noise) > 50.0).all()
    rows.discount = torch.zeros_like(rows.reward)
    assert torch.equal(trainer.goals(rows, noise), rows.reward)


def test_a_terminated_episode_has_nothing_to_follow() -> None:
    """Guards the discount of a step, of batches that terminate episodes rather than truncate them."""

    class Terminated(Points):
        def step(self, action: Tensor) -> Any:
            observation, reward, terminated, truncated, info = super().step(action)
            return observation, reward, truncated, terminated, info

    settings = SACSettings(640, num_envs=32, learning_starts=640, gamma=0.5)
    trainer = SoftTrainer(Terminated(), settings, 0, CPU)
    next(trainer.learn())
    found = trainer.replay.latest(20)
    expected = torch.where(torch.arange(20) % 10 == 9, 0.0, 0.5)
    assert torch.equal(found.discount, expected[:, None].expand(-1, 32))
    assert torch.equal(found.ended, (found.discount == 0.0).float())


def test_a_batch_has_to_reset_itself() -> None:
    env = gym.make_vec("PBDRope-v0", 4, output="torch", autoreset_mode="Disabled", **SMALL)
    with pytest.raises(ValueError, match="resets itself"):
        SoftTrainer(env, SETTINGS, 0, CPU)
    env.close()


@pytest.mark.parametrize(
    ("words", "expected"), [("auto", (1.0, True)), ("auto_0.05", (0.05, True)), ("0.2", (0.2, False))]
)
def test_temperatures(words: str, expected: tuple[float, bool]) -> None:
    assert temperature(words) == expected
    agent = SoftAgent(3, 2, SACSettings(1, ent_coef=words))
    assert float(agent.log_temperature.detach().exp()) == pytest.approx(expected[0])
    assert agent.log_temperature.requires_grad == expected[1]


@pytest.mark.parametrize("words", ["automatic", "auto_x", "auto_0", "-1", "nan", "0", ""])
def test_what_is_no_temperature_is_refused(words: str) -> None:
    with pytest.raises(ValueError, match="ent_coef must be"):
        temperature(words)


def test_it_learns() -> None:
    settings = SACSettings(
        6_400, num_envs=32, batch_size=128, learning_starts=640, gradient_steps=2, net_arch=(32, 32), gamma=0.9,
        learning_rate=3e-3, tau=0.05, standardise=True,
    )  # fmt: skip
    trainer = SoftTrainer(Points(), settings, 0, CPU)
    check_it_learns(trainer)
    assert trainer.steps == 6_400
    numbers = trainer.numbers()
    assert numbers["train/ent_coef"] < 0.04 and 0.0 <= numbers["train/critic_loss"] < 0.1
    assert abs(trainer.agent.mean).max() < 0.2 and (trainer.agent.spread > 0.1).all()


def test_noise_falls_with_its_target() -> None:
    """Guards that the entropy aimed at changes over a run, and that the temperature is judged by it."""
    settings = SACSettings(
        6_400, num_envs=32, batch_size=64, learning_starts=64, net_arch=(16,), target_entropy_end=-3.0,
        gradient_steps=1,
    )  # fmt: skip
    trainer = SoftTrainer(Points(), settings, 0, CPU)
    aims = [float(trainer.target_entropy) for _ in trainer.learn()]
    assert aims == pytest.approx([-2.0, -3.28, -4.56, -5.84], abs=1e-5)
    trainer.adam.zero_grad()
    trainer.sums.zero_()
    trainer.loss(trainer.replay.drawn(torch.arange(64)), torch.zeros(2, 64, 2)).backward()
    gradient = trainer.agent.log_temperature.grad
    assert gradient is not None and float(gradient) == pytest.approx(float(trainer.sums[-1]) + 5.84, abs=1e-4)


def bits(trainer: SoftTrainer) -> dict[str, Tensor]:
    """Return everything that a run leaves: weights, and what the replay buffer holds."""
    filled = min(trainer._written, trainer.replay.capacity)
    rows = dataclasses.asdict(trainer.replay.latest(filled))
    return {**trainer.agent.state_dict(), **rows, "observation after": trainer.observation}


def test_a_trainer_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    """Guards the state, once the buffer is full: in a new process, and after a stretch that was broken off."""
    first, second = (SoftTrainer(make("PBDRope-v0", 4, CPU, **SMALL), SETTINGS, seed, CPU) for seed in (0, 1))
    rewards = first.learn()
    begun = next(rewards)  # 64 steps of the batch, and the buffer has 40
    state = first.state()
    torch.save(state, tmp_path / "state.pt")
    for _ in range(20):  # of the next stretch, which does not count
        first.collect()
        first.update()
    first.restore(state)
    rest = list(first.learn())
    assert len(rest) == 2 and first.steps == 600
    second.restore(torch.load(tmp_path / "state.pt", weights_only=True))
    assert list(second.learn()) == rest
    # And an uninterrupted one.
    third = SoftTrainer(make("PBDRope-v0", 4, CPU, **SMALL), SETTINGS, 0, CPU)
    assert list(third.learn()) == [begun, *rest]
    for name, value in bits(third).items():
        assert torch.equal(value, bits(second)[name]) and torch.equal(value, bits(first)[name]), name


def test_an_agent_is_written_and_taken_back(tmp_path: Path) -> None:
    """Guards the file, whose last layer is what follows the tangent: it acts as the agent does."""
    agent, other = (SoftAgent(45, 6, SACSettings(1, net_arch=(8, 8))) for _ in range(2))
    with torch.no_grad():
        agent.mean += 0.5
        agent.spread *= 3.0
        for layer in (agent.actor[0], agent.actor[-1]):
            layer.weight.mul_(100.0)  # type: ignore[operator,union-attr]
    agent.to_policy("PBDRope-v0", {}).save(tmp_path / "agent.npz")
    policy = load_policy(tmp_path / "agent.npz")
    seen = torch.randn(20, 45, generator=torch.Generator().manual_seed(0))
    found = agent.act(seen).detach()
    assert found.abs().max() > 0.9
    assert_allclose(policy(seen.numpy()), found, atol=1e-5)
    other.take(policy)
    assert_array_equal(other.act(seen).detach(), found)
    assert torch.equal(other.log_temperature, agent.log_temperature)


def test_the_buffer_begins_with_the_expert(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards ``expert_steps``: they are drawn from, and no steps of the run."""
    env: Any = Points()
    env.unwrapped = env
    monkeypatch.setattr(torch_sac, "expert_of", lambda batch: lambda: np.full((32, 2), 0.5, dtype=np.float32))
    settings = SACSettings(320, num_envs=32, learning_starts=320, expert_steps=4, return_steps=2, batch_size=8)
    trainer = SoftTrainer(env, settings, 0, CPU)
    assert trainer.steps == 0 and (trainer.replay.latest(4).action == 0.5).all()
    assert torch.equal(trainer.observation, Points().reset(0)[0])
    assert len(list(trainer.learn())) == 1
    assert trainer.steps == 320 and trainer.replay.capacity == 14
    found = trainer.replay.drawn(torch.arange(13 * 32))
    shown = (found.action == 0.5).all(dim=1)
    assert shown.sum() == 4 * 32
    assert_allclose(found.discount[shown].view(4, 32)[:, 0], [0.98, 0.98**2, 0.98**2, 0.98**2], rtol=1e-6)


def test_a_wrapped_batch_is_learned_from() -> None:
    """Guards batches that are stepped as Gymnasium has it: with the same numbers as one of ours."""
    plain = SoftTrainer(make("PBDRope-v0", 4, CPU, **SMALL), SETTINGS, 3, CPU)
    other = SoftTrainer(gym.vector.VectorWrapper(make("PBDRope-v0", 4, CPU, **SMALL)), SETTINGS, 3, CPU)
    next(plain.learn()), next(other.learn())
    for name, value in bits(plain).items():
        assert torch.equal(value, bits(other)[name]), name
