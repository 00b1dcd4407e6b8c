"""Libraries of others at first touch, as docs/other_libraries.md has them. Those that are not installed are left out;
the job ``clients`` of .github/workflows/tests.yml installs them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from tests.envs.helpers import ID, SMALL

# What they warn of is their own affair.
pytestmark = pytest.mark.filterwarnings("ignore")


def imported(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def test_torchrl() -> None:
    """One environment by its id, and a batch without autoreset, whose tensors stay where they are."""
    envs = imported("torchrl.envs")
    single = envs.GymEnv(f"pbd_gym:{ID}", **SMALL)
    envs.check_env_specs(single)
    batch = gym.make_vec(ID, 4, max_episode_steps=5, autoreset_mode="Disabled", output="torch", **SMALL)
    wrapped = envs.GymWrapper(batch)
    envs.check_env_specs(wrapped)
    rollout = wrapped.rollout(12, break_when_any_done=False)
    assert rollout.shape == (4, 12) and rollout["next", "reward"].dtype == wrapped.reward_spec.dtype
    assert rollout["next", "truncated"].sum() == 8


def test_rsl_rl() -> None:
    """Its PPO trains on a batch, from episodes of random lengths at first, and reads pictures channels first."""
    runners = imported("rsl_rl.runners")
    from pbd_gym.envs import RslRlVecEnv

    batch: Any = gym.make_vec(ID, 8, max_episode_steps=6, autoreset_mode="SameStep", output="torch", **SMALL)
    env = RslRlVecEnv(batch, seed=0)
    model = {"class_name": "MLPModel", "hidden_dims": [16], "activation": "elu", "obs_normalization": True}
    noise = {"distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 0.5}}
    ppo = {"class_name": "PPO", "num_learning_epochs": 2, "num_mini_batches": 2, "learning_rate": 1e-3}
    config = {
        "num_steps_per_env": 8, "save_interval": 100, "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "algorithm": ppo, "actor": {**model, **noise}, "critic": model,
    }  # fmt: skip
    runner = runners.OnPolicyRunner(env, config, log_dir=None, device="cpu")
    before = runner.alg.get_policy().state_dict()["mlp.0.weight"].clone()
    runner.learn(2, init_at_random_ep_len=True)
    assert not before.equal(runner.alg.get_policy().state_dict()["mlp.0.weight"])
    assert len(env.episode_length_buf.unique()) > 1 and (env.episode_length_buf < 6).all()
    seen = {"obs_mode": "rgb", "pixels": {"size": 16}, "max_episode_steps": 6, **SMALL}
    pictures = RslRlVecEnv(gym.make_vec(ID, 2, autoreset_mode="SameStep", output="torch", **seen)).get_observations()
    assert pictures["policy"].shape == (2, 3, 16, 16) and 0.1 < pictures["policy"].max() <= 1.0
    with pytest.raises(ValueError, match="without a limit"):
        RslRlVecEnv(gym.make_vec(ID, 1, max_episode_steps=-1, autoreset_mode="SameStep", output="torch", **SMALL))


def test_rl_games(tmp_path: Path) -> None:
    """Its PPO trains on a batch that a configuration names, and keeps what it learned."""
    runner = imported("rl_games.torch_runner").Runner()
    from pbd_gym.envs import register_rl_games

    register_rl_games()
    network = {
        "name": "actor_critic", "separate": False, "mlp": {
            "units": [16], "activation": "elu", "initializer": {"name": "default"}, "regularizer": {"name": "None"},
        }, "space": {"continuous": {
            "mu_activation": "None", "sigma_activation": "None", "mu_init": {"name": "default"},
            "sigma_init": {"name": "const_initializer", "val": 0}, "fixed_sigma": True,
        }},
    }  # fmt: skip
    config = {
        "name": "run", "env_name": "pbd_gym", "env_config": {"id": ID, "seed": 0, "max_episode_steps": 6, **SMALL},
        "num_actors": 8, "horizon_length": 8, "minibatch_size": 32, "mini_epochs": 2, "max_epochs": 2, "ppo": True,
        "reward_shaper": {"scale_value": 1.0}, "normalize_advantage": True, "gamma": 0.99, "tau": 0.95, "e_clip": 0.2,
        "learning_rate": 1e-3, "lr_schedule": "None", "critic_coef": 1.0, "entropy_coef": 0.0, "clip_value": True,
        "normalize_input": True, "normalize_value": True, "value_bootstrap": True, "grad_norm": 1.0,
        "truncate_grads": True, "save_best_after": 100, "bounds_loss_coef": 1e-4, "device": "cpu",
        "device_name": "cpu", "multi_gpu": False, "torch_compile": False, "save_frequency": 1,
        "train_dir": str(tmp_path),
    }  # fmt: skip
    algorithm, model = {"name": "a2c_continuous"}, {"name": "continuous_a2c_logstd"}
    runner.load({"params": {"seed": 0, "algo": algorithm, "model": model, "network": network, "config": config}})
    runner.run({"train": True})
    assert len(list(tmp_path.rglob("*.pth"))) >= 2


def test_skrl() -> None:
    wrap_env = imported("skrl.envs.wrappers.torch").wrap_env
    env = wrap_env(gym.make_vec(ID, 3, **SMALL))  # recognised by itself
    states, _ = env.reset()
    states, rewards, *_ = env.step(imported("torch").zeros(3, 6))
    assert env.num_envs == 3 and states.shape == (3, 30) and rewards.shape == (3, 1)


def test_tianshou() -> None:
    env = imported("tianshou.env").DummyVectorEnv([lambda: gym.make(ID, **SMALL) for _ in range(2)])
    observations, _ = env.reset()
    assert env.step(np.zeros((2, 6), dtype=np.float32))[0].shape == observations.shape == (2, 30)


def test_sbx() -> None:
    from pbd_gym.envs import make_sb3_vec_env

    model = imported("sbx").PPO("MlpPolicy", make_sb3_vec_env(ID, 4, **SMALL), n_steps=4, batch_size=8)
    model.learn(16)
    assert model.num_timesteps == 16


def test_rl_zoo3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its trainer reads the tuned numbers of docs/rl_zoo3, here with fewer steps."""
    import sys

    train = imported("rl_zoo3.train").train
    settings = Path(__file__).parents[3] / "docs" / "rl_zoo3" / "ppo.yml"
    words = ["--algo", "ppo", "--env", ID, "--gym-packages", "pbd_gym", "--conf-file", str(settings), "-n", "16"]
    words += ["--eval-freq", "-1", "-f", str(tmp_path), "--env-kwargs", "rows:4", "columns:4", "settle_time:0.5"]
    monkeypatch.setattr(sys, "argv", ["train", *words, "-params", "n_envs:1", "n_steps:8", "batch_size:8"])
    train()
    (saved,) = tmp_path.rglob("config.yml")
    assert "lin_0.003" in saved.read_text() and list(tmp_path.rglob(f"{ID}.zip"))


def test_d3rlpy(tmp_path: Path) -> None:
    """A dataset of pbd-gym collect, by way of its arrays."""
    d3rlpy = imported("d3rlpy")
    from pbd_gym.training.data.demonstrations import record

    env: Any = gym.make_vec(ID, 3, max_episode_steps=4, **SMALL)
    episodes = list(record(lambda observation: np.zeros((3, 6)), env, 0, {}))
    dataset = d3rlpy.dataset.MDPDataset(
        observations=np.concatenate([e.observations[:-1] for e in episodes]),
        actions=np.concatenate([e.actions for e in episodes]),
        rewards=np.concatenate([e.rewards for e in episodes]),
        terminals=np.concatenate([e.terminations for e in episodes]),
        timeouts=np.concatenate([e.truncations for e in episodes]),
    )
    assert len(dataset.episodes) == 3


@pytest.mark.parametrize("mode", ["NextStep", "Disabled"])
def test_jax(mode: str) -> None:
    jnp = imported("jax.numpy")
    imported("array_api_compat")
    from gymnasium.wrappers.array_conversion import ArrayConversion
    from gymnasium.wrappers.vector.array_conversion import ArrayConversion as VectorArrayConversion

    env = ArrayConversion(gym.make(ID, **SMALL), env_xp=np, target_xp=jnp)
    env.reset(seed=0)
    assert isinstance(env.step(jnp.zeros(6))[0], jnp.ndarray)
    batch = gym.make_vec(ID, 3, autoreset_mode=mode, randomize={"size": (0.9, 1.1)}, **SMALL)
    wrapped = VectorArrayConversion(batch, env_xp=np, target_xp=jnp)
    wrapped.reset(seed=0)
    observation, reward, *_, info = wrapped.step(jnp.zeros((3, 6)))
    assert all(
        isinstance(x, jnp.ndarray) for x in (observation, reward, info["reward_terms/near"], info["parameters/size"])
    )
