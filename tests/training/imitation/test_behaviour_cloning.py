"""Behaviour cloning: a network that has seen an expert does as it does, and is evaluated and kept as any other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pbd_gym.training.agents.policies import Activation, load_policy
from pbd_gym.training.collect import CollectArgs
from pbd_gym.training.collect import main as collect
from pbd_gym.training.data.datasets import Episode
from pbd_gym.training.episodes.evaluation import Unseen, evaluate, random_policy
from pbd_gym.training.imitation.behaviour_cloning import CloneArgs, main, samples
from pbd_gym.training.learners.fitting import fit, fitted_policy, miss
from pbd_gym.training.settings.imitation import FitArgs

KWARGS = {"particles": "9", "substeps": "8", "starts": "40", "max_episode_steps": "30", "hands_at": "corners"}
SET = {**{name: int(value) for name, value in KWARGS.items() if value.isdigit()}, "hands_at": "corners"}


def test_outputs_beyond_a_limit_are_at_it() -> None:
    """Actions are clipped: an output further out than a lesson at the limit costs nothing, and is not pulled back."""
    outputs = torch.tensor([1.5, -2.0, 1.5, -0.5], requires_grad=True)
    loss = miss(outputs, torch.tensor([1.0, -1.0, 0.5, -1.0]))
    assert loss.item() == pytest.approx((1.0 + 0.25) / 4)
    loss.backward()
    assert outputs.grad is not None
    assert outputs.grad.tolist() == pytest.approx([0.0, 0.0, 0.5, 0.25])


def test_a_clone_does_as_the_expert_does(tmp_path: Path) -> None:
    """Guards the way from an expert to a file: the clone of a few demonstrations straightens ropes it has not seen."""
    demonstrations = CollectArgs(
        "PBDRopeStraighten-v0", episodes=40, num_envs=40, noise=0.3, out=tmp_path / "rope-v0", env_kwargs=KWARGS
    )
    collect(demonstrations)
    args = CloneArgs(tmp_path / "rope-v0", tmp_path / "clone.npz", epochs=30, batch_size=64, eval_episodes=8)
    policy = main(args)
    env = Unseen("PBDRopeStraighten-v0", 8, **SET)
    chance = evaluate(random_policy(env), env).normalized_performance
    assert policy.normalized_performance > 0.9
    assert 1.0 - policy.normalized_performance < 0.5 * (1.0 - chance)
    again = load_policy(tmp_path / "clone.npz")
    assert again.env_kwargs == SET
    assert evaluate(again, env).normalized_performance == policy.normalized_performance


def test_a_fit_finds_a_function() -> None:
    """Guards the network that is exported: the weights that come out are those that were fitted."""
    random = np.random.default_rng(0)
    x = random.standard_normal((2000, 3)).astype(np.float32)
    y = np.stack([np.tanh(x[:, 0]), 0.5 * x[:, 1] - 0.2], axis=1)
    network = fit(
        x,
        y,
        FitArgs(epochs=30, batch_size=100, hidden=(32,), jitter=0.0, learning_rate=1e-2),
        (np.zeros(3), np.ones(3)),
    )
    errors = np.abs(network(torch.as_tensor(x)).detach().numpy() - y)
    assert errors.mean() < 0.03


def test_what_was_meant_is_learnt_not_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = np.zeros(2)
    meant = np.array([[1.0], [2.0], [0.0]])
    plain = Episode(0, {}, np.arange(6.0).reshape(3, 2), np.full((2, 1), 9.0), empty, empty, empty, {})
    noisy = Episode(0, {}, plain.observations, plain.actions, empty, empty, empty, {"intended_action": meant})
    monkeypatch.setattr("pbd_gym.training.imitation.behaviour_cloning.read_episodes", lambda dataset: dataset)
    seen, actions = samples([plain, noisy])
    assert seen.tolist() == [[0, 1], [2, 3], [0, 1], [2, 3]]
    assert actions.tolist() == [[9], [9], [1], [2]]
    pictures = Episode(0, {}, np.zeros((3, 4, 4, 3)), plain.actions, empty, empty, empty, {})
    with pytest.raises(ValueError, match="vectors"):
        samples([pictures])


def test_nonsense_and_demonstrations_of_evaluation_states_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the score, which a clone of such demonstrations would have on states that it has seen."""
    one, empty = np.zeros((1, 1), dtype=np.float32), np.zeros(1)
    kept = Episode(0, {"split": "eval"}, np.zeros((2, 3)), one, empty, empty, empty, {})
    monkeypatch.setattr("pbd_gym.training.imitation.behaviour_cloning.read_episodes", lambda dataset: dataset)
    with pytest.raises(ValueError, match="are of split 'eval'"):
        samples([kept])
    with pytest.raises(ValueError, match="epochs must be at least 1"):
        fit(one, one, FitArgs(epochs=-1), (empty, empty))
    with pytest.raises(ValueError, match="eval_episodes must be at least 1"):
        main(CloneArgs(Path("nothing-v0"), eval_episodes=0))


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_arrays_act_as_the_network_does(activation: Activation, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    seen, meant = (random.uniform(-1.0, 1.0, (64, size)).astype(np.float32) for size in (3, 2))
    args = FitArgs(epochs=2, hidden=(16, 8), jitter=0.0, activation=activation)
    policy = fitted_policy("PBDCloth-v0", {}, seen, meant, args)
    policy.save(tmp_path / "a.npz")
    network = fit(seen, meant, args, (policy.mean, policy.spread))
    with torch.no_grad():
        expected = network(torch.as_tensor((seen - policy.mean) / policy.spread)).numpy()
    np.testing.assert_allclose(load_policy(tmp_path / "a.npz")(seen), expected, atol=1e-5)
    replace(policy, activation="swish").save(tmp_path / "b.npz")
    with pytest.raises(ValueError, match="activation must be one of"):
        load_policy(tmp_path / "b.npz")


def test_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="pbd-gym collect"):
        main(CloneArgs(tmp_path / "nothing-v0"))
