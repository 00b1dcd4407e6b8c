"""Settings of PPO for large batches: what numbers tuned for some tens of environments become with many times as many.

With a thousand environments a rollout of the usual length would have so many samples that a run were over after a
dozen updates. Rollouts become shorter than episodes instead, and other things follow from that;
docs/lab/large_batches.md has what each is worth.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pbd_gym.training.settings.algorithms import PPOSettings

TIMES_AS_MANY = 4
"""Environments from which a batch is large, as a multiple of what an id is tuned for."""
ON_GPU = 1024
"""Environments that PPO takes on a GPU unless told otherwise."""
SIZES = (1024, 4096)
"""Size classes: a batch belongs to the largest that is not above it, or to the first."""

_STEPS = 32
"""Steps of a rollout with as many environments as the size class says; it has as many samples with others."""
_SHORTEST = 16
"""Steps that no rollout has fewer than."""
_MINIBATCHES = 32
"""Gradient steps for each pass over a rollout."""
_MORE = {1024: 1.6, 4096: 4.0}
"""Environment steps of a run by size class, as a multiple of what the id is tuned for."""

_BRIEF: Mapping[str, int] = {"PBDRope-v0": 16, "PBDSoftBody-v0": 16}
"""What is in place of :data:`_STEPS` for some ids: they gain more by twice as many updates than by longer rollouts."""
_LONGER: Mapping[str, float] = {"PBDRope-v0": 2.2}
"""How many times as many environment steps some ids need as others."""
_OWN: Mapping[str, Mapping[str, Any]] = {
    "PBDRope-v0": {"learning_rate": 3e-3, "log_std_end": -2.3},
    "PBDSoftBody-v0": {"learning_rate": 3e-3, "log_std_end": -2.0},
}
"""What else is otherwise for an id."""


def size_class(num_envs: int) -> int:
    """Return the size class of a batch."""
    return max((size for size in SIZES if size <= num_envs), default=SIZES[0])


def for_batch(env_id: str, tuned: PPOSettings, num_envs: int) -> PPOSettings:
    """Return settings for a batch of another size: the tuned ones, if it is not large.

    Args:
        env_id: environment.
        tuned: numbers for ``tuned.num_envs`` environments.
        num_envs: how many there are to be.
    """
    if num_envs < TIMES_AS_MANY * tuned.num_envs:
        return dataclasses.replace(tuned, num_envs=num_envs)
    size = size_class(num_envs)
    # The first of these are as long as tuned ones: no size of a batch asks for more than that.
    n_steps = max(min(_BRIEF.get(env_id, _STEPS) * size // num_envs, tuned.n_steps), _SHORTEST)
    general = dataclasses.replace(
        tuned,
        num_envs=num_envs,
        n_steps=n_steps,
        batch_size=max(n_steps * num_envs // _MINIBATCHES, 1),
        n_epochs=8,
        total_timesteps=int(_MORE[size] * _LONGER.get(env_id, 1.0) * tuned.total_timesteps),
        measured="before",
        learning_rate=max(tuned.learning_rate, 2e-3),
        beta2=0.99,
        log_std_end=-2.5 if tuned.log_std_end is None else tuned.log_std_end,
        stagger=True,
        scale_values=True,
    )
    return dataclasses.replace(general, **_OWN.get(env_id, {}))
