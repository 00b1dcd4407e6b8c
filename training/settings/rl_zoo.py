"""Hyperparameters of RL Baselines3 Zoo: the tuned numbers, as far as Stable-Baselines3 knows them.

python -m pbd_gym.training.settings.rl_zoo ppo > docs/rl_zoo3/ppo.yml
python -m pbd_gym.training.settings.rl_zoo sac > docs/rl_zoo3/sac.yml

Its documentation says how such files are used: https://rl-baselines3-zoo.readthedocs.io. They cannot say how actions
begin (``initial_action``), nor have they what only PPO in torch can do, such as switches.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Any

from pbd_gym.training.settings.algorithms import Algorithm, PPOSettings, SACSettings, Settings
from pbd_gym.training.settings.tuned import TABLE

PPO = ("n_steps", "n_epochs", "gae_lambda", "clip_range", "ent_coef")
"""Numbers of PPO that both libraries call the same."""
SAC = ("buffer_size", "learning_starts", "train_freq", "gradient_steps", "tau", "ent_coef")
"""Numbers of SAC that both libraries call the same."""
KINDS: Mapping[str, Algorithm] = {"ppo": "ppo", "sac": "sac"}
"""Algorithms that there are files of."""


def entry(settings: Settings) -> dict[str, Any]:
    """Return the hyperparameters of an id, by their names in the Zoo.

    Args:
        settings: tuned numbers of PPO or SAC.

    Raises:
        TypeError: for settings of anything else.
    """
    if not isinstance(settings, PPOSettings | SACSettings):
        raise TypeError(f"settings must be those of PPO or SAC, got {type(settings).__name__}")
    found: dict[str, Any] = {
        "n_envs": settings.num_envs,
        "n_timesteps": settings.total_timesteps,
        "policy": "MlpPolicy",
        "learning_rate": f"lin_{settings.learning_rate}",
        "batch_size": settings.batch_size,
        "gamma": settings.gamma,
    }
    networks: dict[str, Any] = {"net_arch": list(settings.net_arch)}
    if isinstance(settings, PPOSettings):
        found |= {name: getattr(settings, name) for name in PPO}
        networks["log_std_init"] = settings.log_std_init
        networks["optimizer_kwargs"] = {"eps": 1e-5, "betas": [0.9, settings.beta2]}
    else:
        found |= {name: getattr(settings, name) for name in SAC}
    found["policy_kwargs"] = networks
    if settings.standardise:
        found["normalize"] = {"norm_obs": True, "norm_reward": False}
    kwargs = {**settings.env, **settings.training_env}
    if kwargs:
        found["env_kwargs"] = kwargs
    return found


def text(algorithm: Algorithm) -> str:
    """Return the file for an algorithm, in YAML."""
    lines = [f"# Written by python -m pbd_gym.training.settings.rl_zoo {algorithm}"]
    for env_id, settings in sorted(TABLE[algorithm].items()):
        lines += ["", f"{env_id}:", *(f"  {name}: {_flow(value)}" for name, value in entry(settings).items())]
    return "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    """Return a value in the flow style of YAML, which is JSON but for powers of ten: without a point they are words."""
    return re.sub(r"(?<![\w.])(\d+)e", r"\1.0e", json.dumps(value))


def main() -> None:
    """Print the file for an algorithm."""
    if len(sys.argv) != 2 or sys.argv[1] not in KINDS:
        raise SystemExit(f"usage: python -m pbd_gym.training.settings.rl_zoo {{{','.join(KINDS)}}}")
    print(text(KINDS[sys.argv[1]]), end="")


if __name__ == "__main__":
    main()
