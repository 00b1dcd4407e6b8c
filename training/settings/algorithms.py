"""Settings of the algorithms; :mod:`pbd_gym.training.settings.tuned` has their numbers for each id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Algorithm = Literal["ppo", "sac", "sac-her"]
"""Algorithms of ``pbd-gym train``."""
ALGORITHMS: tuple[Algorithm, ...] = ("ppo", "sac", "sac-her")
Approach = Literal["ppo", "sac", "sac-her", "imitation"]
"""Training method of a run's agent: an algorithm, or ``pbd-gym imitate``."""
IMITATION: Literal["imitation"] = "imitation"
Library = Literal["torch", "sb3"]
"""Library of PPO and SAC: torch alone, or Stable-Baselines3, which alone has hindsight."""
IN_TORCH: tuple[Approach, ...] = ("ppo", "sac")
"""Algorithms that both libraries have."""
Activation = Literal["tanh", "relu"]
"""Activation between the layers of a network."""
RATES = (0.1, 3.0)
"""Least and largest learning rate that ``target_kl`` leads to, as multiples of the one that there would be."""
RANDOM_STEPS = 30
"""Number of random-action steps in which observations are measured before training."""


METHODS = ("ppo", "ppo-sb3", "sac", "sac-sb3", "sac-her")
"""Results of :func:`method` for the algorithms, in the order in which curves are drawn."""


def method(algorithm: Approach, library: Library) -> str:
    """Return the name of a run's method: the algorithm, with the library if it is not the usual one."""
    return f"{algorithm}-{library}" if algorithm in IN_TORCH and library == "sb3" else algorithm


def run_name(env_id: str, algorithm: Approach, library: Library, seed: int) -> str:
    """Return the name of a run's folder."""
    return f"{env_id}-{method(algorithm, library)}-{seed}"


@dataclass(frozen=True)
class Settings:
    """Settings that all algorithms have, with Stable-Baselines3's names if it has one."""

    total_timesteps: int
    """Environment steps of the whole run."""
    num_envs: int = 64
    """Environments in the batch."""
    batch_size: int = 512
    """Samples per gradient step."""
    learning_rate: float = 1e-3
    """Learning rate of Adam at the start; it falls linearly to zero."""
    gamma: float = 0.98
    """Discount per step."""
    net_arch: tuple[int, ...] = (64, 64)
    """Hidden layers of the policy and of the value networks."""
    log_std_init: float = -0.5
    """Logarithm of the initial exploration noise."""
    initial_action: tuple[float, ...] = ()
    """Mean action at the start, zeros by default. Closed hands do not immediately drop what they hold."""
    standardise: bool = False
    """Whether observations are standardised by mean and spread. Stable-Baselines3's models measure both by random
    actions before training; SAC in torch all along; for PPO in torch see ``measured``.
    """
    frame_stack: int = 1
    """Number of successive observations shown to the agent at once; a single picture shows no velocities."""
    predict_state: bool = False
    """Whether a network for pictures is also trained to predict the state; see training/agents/auxiliary_loss.py."""
    env: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the environment, such as its cameras; those of the command line override them."""
    training_env: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the training environment only, such as easier starts; evaluation uses the task as it is."""


@dataclass(frozen=True)
class PPOSettings(Settings):
    """Proximal policy optimisation (Schulman et al. 2017, arXiv:1707.06347)."""

    n_steps: int = 128
    """Steps per environment between updates."""
    n_epochs: int = 8
    """Passes over the samples of an update."""
    gae_lambda: float = 0.95
    """Lambda of generalised advantage estimation."""
    clip_range: float = 0.2
    """Largest change of the probability ratio."""
    ent_coef: float = 0.0
    """Weight of the entropy bonus."""
    log_std_end: float | None = None
    """Logarithm of the largest exploration noise at the end: a bound that falls linearly. Holding still at the end is
    not learned while noise shakes the hands. In torch only.
    """
    switches: tuple[int, ...] = ()
    """Components of an action that are drawn as -1 or 1, such as grips: the mean is the log-odds of 1. Noise about a
    mean would hardly ever open a hand that has learned to be closed. In torch only.
    """
    switch_hold: int = 1
    """Number of steps for which the noise of switches is kept. A hand that opens by chance for a single step grasps
    again in the next, and never learns the consequences. In torch only.
    """
    switch_limit: float | None = None
    """Log-odds of switches beyond which a penalty pulls them back. While noise still shakes held objects, opening the
    hands never pays, and hands that have become certain of that never try it again. In torch only.
    """
    images: bool = False
    """Whether to learn from the images of samples under the symmetries of the task in turn, rather than from the
    samples alone; see :mod:`pbd_gym.training.symmetry.images`. It helps with one mirror image and harms with fifteen.
    In torch only.
    """
    average: float = 0.0
    """Share of the newest weights in the moving mean that is evaluated and kept (Polyak and Juditsky 1992,
    doi:10.1137/0330046); 0 for no averaging. The moment at which hands open varies from one update to the next. In
    torch only.
    """
    measured: Literal["always", "before"] = "always"
    """Time at which mean and spread of observations are measured: with every rollout, or by random actions before
    training. A spread that grows while a pendulum whirls about resolves its upright state less and less. In torch only.
    """
    stagger: bool = False
    """Whether the first episodes end after times of their own. Those of a large batch end together otherwise, and a
    rollout that is shorter than an episode shows a part of it alone. In torch only."""
    scale_values: bool = False
    """Whether values are learned in units of the spread of returns (van Hasselt et al. 2016, arXiv:1602.07714). Their
    gradients, which are cut together with those of the policy, are then as large as these. In torch only."""
    clip_values: float | None = None
    """Largest change of a value in an update that is learned from, in units of the values; those of scaled values are
    spreads of returns. In torch only."""
    target_kl: float | None = None
    """Divergence of the new policy from that of the rollout that the learning rate is adapted to: by half as much again
    or less after every update, within :data:`RATES` times what it would be. In torch only."""
    stop_kl: float | None = None
    """Divergence at which the epochs of an update end before their number: no update goes far beyond the samples that
    it learns from. In torch only."""
    beta2: float = 0.999
    """Decay rate of Adam's mean of squared gradients per step."""


@dataclass(frozen=True)
class SACSettings(Settings):
    """Soft actor-critic (Haarnoja et al. 2018, arXiv:1812.05905), with automatic entropy tuning."""

    num_envs: int = 32
    batch_size: int = 256
    net_arch: tuple[int, ...] = (128, 128)
    buffer_size: int = 300_000
    """Capacity of the replay buffer in steps."""
    learning_starts: int = 2_000
    """Steps of random actions before the first update."""
    train_freq: int = 1
    """Steps of the batch between updates."""
    gradient_steps: int = 8
    """Gradient steps per update."""
    tau: float = 0.01
    """Weight of the new parameters in an update of the target networks."""
    ent_coef: str = "auto_0.05"
    """Weight of the entropy, tuned automatically from the value after the underscore."""
    critic_arch: tuple[int, ...] = ()
    """Hidden layers of the critics; none for those of ``net_arch``. They tell actions apart in each state, which takes
    more than choosing one. In torch only.
    """
    return_steps: int = 1
    """Steps whose rewards are added up before values are relied on; what the policy would have done meanwhile is
    neglected. In torch only.
    """
    target_entropy: float = -1.0
    """Entropy that its weight is tuned for, for each number of an action [nat]; that of uniform ones is 0.69."""
    target_entropy_end: float | None = None
    """The same at the end of a run, to which it changes linearly: hands that noise shakes do not learn to keep still.
    In torch only.
    """
    beta2: float = 0.999
    """Decay rate of Adam's mean of squared gradients per step. In torch only."""
    sampled_goals: int = 4
    """Relabelled samples for each sample of the replay buffer, in hindsight experience replay only."""
    layer_norm: bool = True
    """Whether layers of the networks are normalised; see :class:`pbd_gym.training.agents.networks.NormalisedReLU`."""
    expert_steps: int = 0
    """Number of steps of the scripted expert in each environment with which the replay buffer starts."""
