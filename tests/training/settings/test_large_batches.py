"""Settings that follow from the size of a batch."""

from __future__ import annotations

import dataclasses

import pytest

from pbd_gym.training.settings import large_batches, tuned
from pbd_gym.training.settings.algorithms import PPOSettings, SACSettings
from pbd_gym.training.settings.options import TrainArgs


def asked(**words: object) -> PPOSettings:
    found = TrainArgs(**words).settings()  # type: ignore[arg-type]
    assert isinstance(found, PPOSettings)
    return found


@pytest.mark.parametrize("env_id", sorted(tuned.TABLE["ppo"]))
def test_every_id_has_settings_for_every_size(env_id: str) -> None:
    """Guards the tuned numbers where they were tuned, and elsewhere runs of enough updates and gradient steps."""
    base = tuned.TABLE["ppo"][env_id]
    assert asked(env_id=env_id) == base
    for num_envs in (256, 1024, 1500, 4096, 8192):
        found = asked(env_id=env_id, num_envs=num_envs)
        assert found.num_envs == num_envs
        samples = found.n_steps * num_envs
        if num_envs >= 4 * base.num_envs:  # type: ignore[attr-defined]
            assert found.stagger and found.scale_values
            assert found.n_steps <= base.n_steps  # type: ignore[attr-defined]
            assert 16 <= samples // found.batch_size <= 40
            assert found.total_timesteps >= 24 * samples
        assert found.total_timesteps >= base.total_timesteps
        assert found.gamma == base.gamma and found.training_env == base.training_env


@pytest.mark.parametrize("env_id", ["PBDCloth-v0", "PBDRope-v0", "PBDSoftBody-v0"])
def test_a_thousand_environments_take_at_most_four_times_the_steps(env_id: str) -> None:
    found = asked(env_id=env_id, num_envs=1024)
    assert found.total_timesteps <= 4 * tuned.TABLE["ppo"][env_id].total_timesteps
    assert found.total_timesteps >= 20 * found.n_steps * found.num_envs


def test_a_batch_four_times_as_large_has_shorter_rollouts() -> None:
    """Guards PBDCloth-v0 with 4,096 environments, which came to 53 % with 32 steps and to 97 % with 16."""
    assert [asked(num_envs=count).n_steps for count in (1024, 4096, 8192)] == [32, 16, 16]


def test_soft_actor_critic_learns_from_more_samples() -> None:
    """Guards its steps of the batch and gradient steps, of which there are as many, and that the memory grows too."""
    base = TrainArgs(algorithm="sac").settings()
    few, many = (TrainArgs(algorithm="sac", num_envs=count).settings() for count in (65, 4 * base.num_envs))
    assert isinstance(base, SACSettings) and isinstance(many, SACSettings)
    assert few == dataclasses.replace(base, num_envs=65)
    for name in ("num_envs", "total_timesteps", "batch_size", "buffer_size", "learning_starts"):
        assert getattr(many, name) == 4 * getattr(base, name), name
    assert many.gradient_steps == base.gradient_steps and many.learning_rate == base.learning_rate
    assert TrainArgs(algorithm="sac", device="cuda:0").settings().num_envs == large_batches.ON_GPU


def test_a_gpu_has_a_thousand() -> None:
    assert asked(device="cuda:0") == asked(num_envs=large_batches.ON_GPU)
    assert asked(device="cuda:0", num_envs=64) == asked()
    assert asked(env_kwargs={"device": "cuda:0"}) == asked(device="cuda:0")


def test_the_command_line_has_the_last_word() -> None:
    found = asked(num_envs=1024, n_steps=50, batch_size=6400, learning_rate=1e-3, total_timesteps=7)
    assert (found.n_steps, found.batch_size, found.learning_rate, found.total_timesteps) == (50, 6400, 1e-3, 7)
    assert found.scale_values


def test_what_stable_baselines_trains_stays_as_it_is() -> None:
    """Guards numbers that it does not know what to do with: scaled values, staggered episodes."""
    plain = tuned.TABLE["ppo"]["PBDCloth-v0"]
    for words in ({"library": "sb3"}, {"env_kwargs": {"obs_mode": "goal"}}):
        found = asked(num_envs=1024, **words)
        assert (found.n_steps, found.scale_values, found.num_envs) == (plain.n_steps, False, 1024)  # type: ignore[attr-defined]
