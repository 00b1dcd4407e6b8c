"""What a GPU would replay: the same numbers as a plain loop, from launches that are written down once."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from numpy.testing import assert_array_equal
from torch import Tensor

from pbd_gym.runtime.recording import Recording
from pbd_gym.training.learners.torch_batches import make
from pbd_gym.training.learners.torch_ppo import Trainer
from pbd_gym.training.learners.torch_sac import SoftTrainer
from pbd_gym.training.settings.algorithms import PPOSettings, SACSettings
from tests.training.learners.tape import Taped

SOFT = SACSettings(
    400, num_envs=4, batch_size=16, buffer_size=100, learning_starts=80, gradient_steps=2, train_freq=2, net_arch=(16,),
    standardise=True, return_steps=3,
)  # fmt: skip
CPU = torch.device("cpu")
SMALL: dict[str, Any] = {"particles": 9, "starts": 8, "settle_time": 0.1, "max_episode_steps": 7, "threads": 1}
SETTINGS = PPOSettings(
    800, num_envs=4, n_steps=20, batch_size=20, n_epochs=2, standardise=True, scale_values=True, stagger=True,
    target_kl=0.01, clip_values=0.2, average=0.1, log_std_end=-2.0, net_arch=(16,),
)  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@torch.no_grad()
def plain_loop(trainer: Trainer, env: Any, random: torch.Generator) -> dict[str, Tensor]:
    """Step a batch as Gymnasium has it, one tensor after the other."""
    agent, settings = trainer.agent, trainer.settings
    observation, lists = trainer.observation.clone(), {name: [] for name in ("seen", "acted", "paid", "ended")}  # type: ignore[var-annotated]
    for noise in torch.randn(settings.n_steps, env.num_envs, len(agent.log_std), generator=random):
        mean = agent.means(agent.standardised(observation))
        action = mean + noise * agent.log_std.exp()
        after, reward, terminated, truncated, info = env.step(action.clamp(-1.0, 1.0))
        late = truncated & ~terminated
        if late.any():
            reward = reward + settings.gamma * late * agent.values(agent.standardised(info["final_obs"]))
        for name, value in zip(lists, (observation, action, reward, (terminated | truncated).float()), strict=True):
            lists[name].append(value)
        observation = after
    return {name: torch.stack(values) for name, values in lists.items()}


@pytest.mark.parametrize("waits", [True, False])
def test_a_rollout_is_that_of_a_plain_loop(waits: bool) -> None:
    """Guards every number over the ends of episodes, which are at other times in each environment; twice in a row."""
    trainer, other = (Trainer(make("PBDRope-v0", 4, CPU, **SMALL), SETTINGS, 3, CPU) for _ in range(2))
    if not waits:
        trainer.env.unwrapped.outputs.go_on()
    for _ in range(2):
        expected = plain_loop(other, other.env, other.noise)
        rollout, _ = trainer.collect()
        found = {
            "seen": rollout.observations, "acted": rollout.actions, "paid": rollout.rewards, "ended": rollout.ends,
        }  # fmt: skip
        for name, value in expected.items():
            assert torch.equal(found[name], value), name
        assert 0 < expected["ended"].sum() < expected["ended"].numel()
        assert len(set(expected["ended"].argmax(dim=0).tolist())) > 1  # staggered
        other.observation.copy_(trainer.observation)
        assert torch.equal(rollout.values, trainer.agent.values(trainer.agent.standardised(rollout.observations)))


def test_replays_train_as_calls_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards what a graph is made of: nothing that Python changes from one rollout or gradient step to the next."""

    def trained(waits: bool) -> Trainer:
        trainer = Trainer(make("PBDRope-v0", 4, CPU, **SMALL), SETTINGS, 3, CPU)
        trainer.adam.param_groups[0]["lr"] = torch.tensor(1e-3)  # as on a GPU
        if not waits:
            trainer.env.unwrapped.outputs.go_on()
        assert len(list(trainer.learn())) == 10
        return trainer

    expected = trained(True)
    taped = Taped(monkeypatch)
    found = trained(False)
    assert taped.replays == (10 - 3) + (10 * 2 * 4 - 3)  # of rollouts, and of gradient steps
    for name, value in expected.agent.state_dict().items():
        assert torch.equal(found.agent.state_dict()[name], value), name
    for name, value in expected.env.unwrapped.get_state().items():
        assert_array_equal(found.env.unwrapped.get_state()[name], value, name)


def soft(device: torch.device) -> SoftTrainer:
    return SoftTrainer(make("PBDRope-v0", 4, device, **SMALL), SOFT, 3, device)


def check_soft(found: SoftTrainer, expected: SoftTrainer, **tolerances: float) -> None:
    """Compare weights and the replay buffer, which is full."""
    for name, value in expected.agent.state_dict().items():
        torch.testing.assert_close(found.agent.state_dict()[name], value, msg=name, **tolerances)
    torch.testing.assert_close(found.replay.table, expected.replay.table, **tolerances)
    assert found.replay.place == expected.replay.place


def test_replays_of_soft_actor_critic_train_as_calls_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the same of steps with a replay buffer, which goes round, and of the updates between them."""
    trainers = []
    for waits in (True, False):
        trainer = soft(CPU)
        trainer.adam.param_groups[0]["lr"] = torch.tensor(1e-3)
        if not waits:
            trainer.env.unwrapped.outputs.go_on()
            taped = Taped(monkeypatch)
        assert len(list(trainer.learn())) == 2
        trainers.append(trainer)
    assert taped.replays == 2 * (50 - 10 - 3)  # of steps, and of gradient steps; ten more were random
    check_soft(*trainers, atol=0.0, rtol=0.0)


@pytest.mark.gpu
def test_graphs_of_soft_actor_critic_train_as_calls_do(monkeypatch: pytest.MonkeyPatch) -> None:
    device = torch.device("cuda:0")
    found = soft(device)
    assert len(list(found.learn())) == 2
    assert found._collect._graph is not None and found._learn._graph is not None  # type: ignore[attr-defined]
    monkeypatch.setattr(Recording, "__call__", lambda recording: recording.function())
    expected = soft(device)
    assert len(list(expected.learn())) == 2
    check_soft(found, expected, atol=2e-3, rtol=2e-2)


@pytest.mark.gpu
def test_graphs_train_as_calls_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the same of a real GPU, which may choose other kernels while it records."""
    device = torch.device("cuda:0")

    def trained() -> Trainer:
        trainer = Trainer(make("PBDRope-v0", 4, device, **SMALL), SETTINGS, 3, device)
        assert len(list(trainer.learn())) == 10
        return trainer

    found = trained()
    assert found._collector._run._graph is not None  # type: ignore[attr-defined]
    monkeypatch.setattr(Recording, "__call__", lambda recording: recording.function())
    for name, value in trained().agent.state_dict().items():
        torch.testing.assert_close(found.agent.state_dict()[name], value, atol=2e-3, rtol=2e-2, msg=name)
