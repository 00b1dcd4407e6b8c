"""Files of hyperparameters for RL Baselines3 Zoo; tests/envs/tools/test_clients.py trains by one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pbd_gym.training.settings import rl_zoo, tuned
from pbd_gym.training.settings.algorithms import Algorithm, PPOSettings, Settings

DOCS = Path(__file__).parents[3] / "docs" / "rl_zoo3"


@pytest.mark.parametrize("algorithm", ["ppo", "sac"])
def test_files_have_the_tuned_numbers(algorithm: Algorithm) -> None:
    written = (DOCS / f"{algorithm}.yml").read_text()
    assert written == rl_zoo.text(algorithm), f"python -m pbd_gym.training.settings.rl_zoo {algorithm} writes another"
    assert set(re.findall(r"^(\S+):$", written, re.MULTILINE)) == set(tuned.TABLE[algorithm])
    assert not re.search(r"[ \[]\d+e", written)  # what YAML reads as a word


def test_an_entry_is_what_pbd_gym_train_would_take() -> None:
    settings = PPOSettings(
        700, num_envs=8, n_steps=20, gamma=0.9, learning_rate=2e-5, beta2=0.99, standardise=True,
        training_env={"starts": 8}, net_arch=(16,),
    )  # fmt: skip
    found = rl_zoo.entry(settings)
    assert found["n_timesteps"] == 700 and found["n_envs"] == 8 and found["n_steps"] == 20 and found["gamma"] == 0.9
    assert found["learning_rate"] == "lin_2e-05" and found["env_kwargs"] == {"starts": 8}
    assert found["policy_kwargs"]["optimizer_kwargs"]["betas"] == [0.9, 0.99]
    assert found["normalize"] == {"norm_obs": True, "norm_reward": False}
    assert json.loads(rl_zoo._flow({"eps": 1e-5, "n": 3})) == {"eps": 1e-5, "n": 3}
    with pytest.raises(TypeError, match="PPO or SAC"):
        rl_zoo.entry(Settings(5))


def test_the_command_prints_a_file(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["rl_zoo", "sac"])
    rl_zoo.main()
    assert "PBDCloth-v0:" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["rl_zoo", "sac-her"])
    with pytest.raises(SystemExit, match="usage"):
        rl_zoo.main()
