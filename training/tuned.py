"""Tuned numbers, one entry per id. Every figure in the README comes from these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class PPOSettings:
    """What PPO is run with; the names are Stable-Baselines3's."""

    total_timesteps: int
    """Environment steps of the whole run."""
    num_envs: int = 64
    """Environments in the batch."""
    n_steps: int = 128
    """Steps per environment between updates."""
    batch_size: int = 512
    """Samples per gradient step."""
    n_epochs: int = 8
    """Passes over the samples of an update."""
    learning_rate: float = 1e-3
    """Of Adam at the start; it falls linearly to zero."""
    gamma: float = 0.98
    """Discount per step."""
    gae_lambda: float = 0.95
    """Of generalised advantage estimation."""
    clip_range: float = 0.2
    """Largest change of the probability ratio."""
    ent_coef: float = 0.0
    """Weight of the entropy bonus."""
    net_arch: tuple[int, ...] = (64, 64)
    """Hidden layers of the policy and of the value network."""
    log_std_init: float = -0.5
    """Logarithm of the exploration noise at the start."""
    frame_stack: int = 1
    """Observations in a row that the agent sees at once; a single picture shows no velocities."""
    training_env: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the environment to train on, such as easier starts; what is evaluated is the task as it is."""


PPO: dict[str, PPOSettings] = {
    "PBDCloth-v0": PPOSettings(total_timesteps=1_600_000),
    "PBDRope-v0": PPOSettings(total_timesteps=800_000),
    "PBDSoftBody-v0": PPOSettings(total_timesteps=800_000),
    "PBDSoftPush-v0": PPOSettings(total_timesteps=600_000, training_env={"reward_mode": "normalized"}),
    # Teaches to hold the pendulum up. From hanging starts PPO has not solved the task yet; planning does.
    "PBDPendulum-v0": PPOSettings(
        total_timesteps=3_000_000,
        num_envs=256,
        n_steps=64,
        batch_size=2048,
        n_epochs=6,
        gamma=0.99,
        log_std_init=-1.0,
        training_env={"upright_starts": 1.0, "start_angle": 0.05, "max_episode_steps": 60},
    ),
}
"""Settings by id."""

PIXELS = PPOSettings(
    total_timesteps=1_000_000, n_steps=64, batch_size=256, n_epochs=4, learning_rate=3e-4, frame_stack=3
)
"""For observations made of pictures, whatever the id. Not tuned yet: usual numbers for a convolutional network."""

FALLBACK = PPOSettings(total_timesteps=2_000_000)
"""For an id without an entry of its own."""
