"""The algorithms of Stable-Baselines3 on these environments: made from settings, trained a little, saved and loaded."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from pbd_gym.cli import main
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.tools.sb3 import make_sb3_vec_env
from pbd_gym.training.agents.sb3_models import CLASSES, Standardised, make_model, show_expert, standardise
from pbd_gym.training.runs import checkpoint
from pbd_gym.training.runs.run_files import Network, network_to_json, write_run
from pbd_gym.training.settings import tuned
from pbd_gym.training.settings.algorithms import ALGORITHMS, Algorithm, PPOSettings, SACSettings

PPO = PPOSettings(64, num_envs=4, n_steps=16, batch_size=32)
SAC = SACSettings(64, num_envs=4, batch_size=32, learning_starts=40, gradient_steps=2, buffer_size=1000)
TINY: dict[str, Any] = {"PBDRope-v0": {}, "PBDSoftPush-v0": {"starts": 5, "substeps": 16, "max_episode_steps": 8}}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_trains_and_is_loaded(algorithm: Algorithm, tmp_path: Path) -> None:
    """One entry for all: the same arguments, and a checkpoint that acts as the model did that it was saved from."""
    arguments = ["--total-timesteps", "256", "--num-envs", "4", "--eval-episodes", "2", "--evaluations", "1",
                 "--batch-size", "32", "--no-gif", "--no-progress", "--library", "sb3",
                 "--out", str(tmp_path)]  # fmt: skip
    kwargs = ["--env-kwargs", "max_episode_steps", "8"]
    assert main(["train", "PBDRope-v0", "--algorithm", algorithm, *arguments, *kwargs]) == 0
    run = json.loads((tmp_path / "run.json").read_text())
    assert (run["algorithm"], run["settings"]["batch_size"]) == (algorithm, 32)
    assert run["cpu_seconds"] > 0.0
    agent = checkpoint.load(tmp_path / "model.zip")
    assert agent.env_id == "PBDRope-v0"
    assert agent.env_kwargs.get("obs_mode") == ("goal" if algorithm == "sac-her" else None)
    env = make_sb3_vec_env(agent.env_id, 2, 0, **agent.env_kwargs)
    observation = env.reset()
    model = CLASSES[algorithm].load(tmp_path / "model.zip", env=env, device="cpu")
    np.testing.assert_array_equal(agent(observation), model.predict(observation, deterministic=True)[0])
    assert agent.observation_space == env.observation_space
    assert main(["evaluate", str(tmp_path / "model.zip"), "--episodes", "2"]) == 0


def test_hindsight_needs_goals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["train", "PBDRope-v0", "--algorithm", "sac-her", "--out", str(tmp_path)]
    assert main([*arguments, "--env-kwargs", "obs_mode", "keypoints"]) == 1
    assert "needs obs_mode goal" in capsys.readouterr().err
    with pytest.raises(ValueError, match="obs_mode='goal'"):
        make_model("sac-her", make_sb3_vec_env("PBDRope-v0", 2), SAC, 0, None)


def test_hindsight_waits_for_the_end_of_an_episode() -> None:
    """Guards the default of 2,000 steps: 32 environments have not finished one of 100 steps by then."""
    env = make_sb3_vec_env("PBDRope-v0", 4, 0, obs_mode="goal", max_episode_steps=12)
    model = make_model("sac-her", env, dataclasses.replace(SAC, learning_starts=8), 0, None)
    model.learn(80)
    assert model.num_timesteps >= 80


def test_settings_of_another_algorithm_are_refused() -> None:
    with pytest.raises(ValueError, match="not settings of 'sac'"):
        make_model("sac", make_sb3_vec_env("PBDRope-v0", 2), PPO, 0, None)


@pytest.mark.parametrize("algorithm", ["ppo", "sac"])
def test_policies_start_about_the_initial_action(algorithm: Algorithm) -> None:
    env = make_sb3_vec_env("PBDRope-v0", 4, 0)
    start = (0.5, 0.0, 0.0, -0.5, 0.0, 0.0)
    settings = dataclasses.replace(PPO if algorithm == "ppo" else SAC, initial_action=start)
    observation = env.reset()
    means = [
        make_model(algorithm, env, dataclasses.replace(settings, initial_action=given), 0, None).predict(
            observation, deterministic=True
        )[0]
        for given in ((), start, (3.0, *start[1:]))
    ]
    assert np.abs(means[0]).max() < 0.2
    np.testing.assert_allclose(means[1] - means[0], np.broadcast_to(start, means[0].shape), atol=0.1)
    np.testing.assert_allclose(means[2][:, 0], means[0][:, 0] + 1.0, atol=0.1)  # log-odds of a switch
    with pytest.raises(ValueError, match="6 numbers, got 2"):
        make_model(algorithm, env, dataclasses.replace(settings, initial_action=(1.0, 1.0)), 0, None)


@pytest.mark.parametrize("obs_mode", ["keypoints", "goal"])
def test_observations_are_standardised_and_the_numbers_saved(obs_mode: str, tmp_path: Path) -> None:
    env = make_sb3_vec_env("PBDRope-v0", 8, 0, obs_mode=obs_mode)
    settings = dataclasses.replace(SAC, standardise=True)
    algorithm: Algorithm = "sac-her" if obs_mode == "goal" else "sac"
    model = make_model(algorithm, env, settings, 0, None)
    standardise(model, settings)
    seen = env.reset()
    tensors = model.policy.obs_to_tensor(seen)[0]
    parts = [part for part in model.policy.modules() if isinstance(part, Standardised)]
    assert len(parts) >= 2  # the actor's, and that of the critic and its target
    features = parts[0](tensors)
    assert features.abs().mean() < 5.0
    spread = np.concatenate([part.reshape(8, -1) for part in (seen.values() if isinstance(seen, dict) else [seen])], 1)
    assert features.std(dim=0).mean() > 2.0 * spread.std(axis=0).mean()  # metres are small numbers
    checkpoint.save(model, tmp_path / "model.zip")
    run = {"env_id": "PBDRope-v0", "env_kwargs": {"obs_mode": obs_mode}, "algorithm": algorithm,
           "settings": dataclasses.asdict(settings),
           "network": network_to_json(Network(env.observation_space, env.action_space))}  # fmt: skip
    write_run(tmp_path, run)
    again = checkpoint.load(tmp_path / "model.zip")
    for name, value in model.policy.state_dict().items():
        assert torch.equal(value, again.policy.state_dict()[name]), name


def test_the_expert_fills_the_replay_buffer() -> None:
    """Guards the last observation of an episode: what follows the reset is no successor of it."""
    env = make_sb3_vec_env("PBDSoftPush-v0", 4, 0, **TINY["PBDSoftPush-v0"])
    model: Any = make_model("sac", env, SAC, 0, None)
    show_expert(model, env, 12)
    buffer = model.replay_buffer
    assert buffer.pos == 12
    assert buffer.dones[7].all()
    now, after = buffer.observations[:12], buffer.next_observations[:12]
    jumps = np.abs(after - now)[:, :, :15].max(axis=2)  # positions [m]
    assert jumps[7].max() < 0.1
    np.testing.assert_array_equal(after[:7], now[1:8])
    assert not np.array_equal(after[7], now[8])


def test_what_the_expert_broke_off_is_an_episode() -> None:
    """Guards hindsight: goals for what the expert has begun were taken from the first episode of the agent."""
    env = make_sb3_vec_env("PBDSoftPush-v0", 4, 0, obs_mode="goal", **TINY["PBDSoftPush-v0"])
    model: Any = make_model("sac-her", env, SAC, 0, None)
    show_expert(model, env, 11)
    buffer = model.replay_buffer
    assert (buffer.ep_length[8:11] == 3).all()
    assert buffer.timeouts[10].all()
    model.learn(4 * 8)
    assert (buffer.ep_start[11:19] == 11).all()
    assert (buffer.ep_length[11:19] == 8).all()


@pytest.mark.parametrize("library", ["torch", "sb3"])
def test_runs_differ_in_their_environments(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the seeds: a model gives its own to its environments, and run 1 had those of run 0, one place on."""
    begun = []
    reset = TaskVectorEnv.reset

    def watched(self: TaskVectorEnv, *, seed: Any = None, options: Any = None) -> Any:
        begun.append((self.split, seed))
        return reset(self, seed=seed, options=options)

    monkeypatch.setattr(TaskVectorEnv, "reset", watched)
    arguments = ["--total-timesteps", "64", "--num-envs", "4", "--eval-episodes", "1", "--evaluations", "1",
                 "--batch-size", "32", "--no-gif", "--no-progress", "--out", str(tmp_path), "--seed", "3",
                 "--library", library]  # fmt: skip
    kwargs = ["--env-kwargs", "max_episode_steps", "4", "starts", "5", "particles", "9"]
    assert main(["train", "PBDRope-v0", *arguments, *kwargs]) == 0
    assert (12 if library == "torch" else [12, 13, 14, 15]) in [seeds for split, seeds in begun if split == "train"]
    assert all(seeds not in (3, [3, 4, 5, 6]) for _, seeds in begun)


@pytest.mark.parametrize("algorithm", ["sac", "sac-her"])
def test_what_goes_on_learns_once_its_replay_buffer_has_filled(
    algorithm: Algorithm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards --resume of SAC: hindsight had no episode to sample, SAC began with a buffer of a single step."""
    settings = dataclasses.replace(SAC, total_timesteps=160, gradient_steps=1)
    monkeypatch.setitem(tuned.TABLE[algorithm], "PBDRope-v0", settings)
    arguments = ["train", "PBDRope-v0", "--algorithm", algorithm, "--library", "sb3", "--eval-episodes", "1",
                 "--evaluations", "1", "--no-gif", "--no-progress", "--out", str(tmp_path), "--env-kwargs",
                 "max_episode_steps", "4",
                 "starts", "5", "particles", "9"]  # fmt: skip
    learned, begun = [], []
    learn, reset = CLASSES[algorithm].train, TaskVectorEnv.reset  # type: ignore[attr-defined]

    def watched(self: Any, *given: Any, **named: Any) -> None:
        learned.append((self.num_timesteps, self.replay_buffer.pos * 4))
        learn(self, *given, **named)
        if len(learned) == 10:
            raise KeyboardInterrupt

    def watched_reset(self: TaskVectorEnv, *, seed: Any = None, options: Any = None) -> Any:
        begun.extend(seed if self.split == "train" and seed else [])
        return reset(self, seed=seed, options=options)

    monkeypatch.setattr(CLASSES[algorithm], "train", watched)
    monkeypatch.setattr(TaskVectorEnv, "reset", watched_reset)
    assert main(arguments) == 130
    assert (learned[0], learned[-1]) == ((44, 44), (80, 80))
    begun.clear()
    sampled: list[int] = []
    monkeypatch.setattr(spaces.Box, "sample", lambda self: sampled.append(1))
    assert main([*arguments, "--resume"]) == 0
    assert learned[10] == (124, 44) and learned[-1] == (160, 80)
    assert not sampled  # the policy acts meanwhile
    assert begun == [2**32 + 80 + env for env in range(4)]  # not the episodes that the run had begun with
