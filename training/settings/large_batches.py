"""Settings for large batches: what numbers tuned for some tens of environments become with many times as many.

With a thousand environments a rollout of the usual length would have so many samples that a run were over after a
dozen updates. Rollouts become shorter than episodes instead, and other things follow from that;
docs/lab/large_batches.md has what each is worth. Soft actor-critic takes as many gradient steps as ever, on larger
batches of samples.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pbd_gym.training.settings.algorithms import PPOSettings, SACSettings

TIMES_AS_MANY = 4
"""Environments from which a batch is large, as a multiple of what an id is tuned for."""
ON_GPU = 1024
"""Environments that learners in torch take on a GPU unless told otherwise."""
SIZES = (1024, 4096)
"""Size classes: a batch belongs to the largest that is not above it, or to the first."""

_SHORTEST = 16
"""Steps that no rollout has fewer than."""
_MINIBATCHES = 32
"""Gradient steps for each pass over a rollout."""
_LENGTH = {1024: 1.0, 4096: 0.5}
"""Factor on the steps of a rollout by size class: the larger the batch, the fewer updates there are otherwise."""
_MORE = {1024: 1.6, 4096: 4.0}
"""Environment steps of a run by size class, as a multiple of what the id is tuned for."""
_ROLLOUTS = 24
"""Rollouts that no run has fewer than: ids that are tuned to few steps would be over after a handful of updates."""


@dataclasses.dataclass(frozen=True)
class _Large:
    """Numbers found for an id; the defaults are for ids that have not been tried."""

    n_steps: int = 32
    """Steps of a rollout with 1,024 environments; up to 4,095 it has as many samples. Half as many make twice as many
    updates, and leave more to the values."""
    longer: float = 1.0
    """Factor on the environment steps of a run."""
    learning_rate: float = 2e-3
    """Least learning rate."""
    log_std_end: float = -2.5
    """Bound of the noise at the end, unless the tuned numbers have one."""


_LARGE: Mapping[str, _Large] = {
    "PBDCloth-v0": _Large(),
    "PBDRope-v0": _Large(n_steps=16, longer=2.2, learning_rate=3e-3, log_std_end=-2.3),
    "PBDSoftBody-v0": _Large(n_steps=16, learning_rate=3e-3, log_std_end=-2.0),
}


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
    size, large = size_class(num_envs), _LARGE.get(env_id, _Large())
    n_steps = max(min(int(_LENGTH[size] * large.n_steps) * size // num_envs, tuned.n_steps), _SHORTEST)
    steps = max(int(_MORE[size] * large.longer * tuned.total_timesteps), _ROLLOUTS * n_steps * num_envs)
    return dataclasses.replace(
        tuned,
        num_envs=num_envs,
        n_steps=n_steps,
        batch_size=max(n_steps * num_envs // _MINIBATCHES, 1),
        n_epochs=8,
        total_timesteps=steps,
        measured="before",
        learning_rate=max(tuned.learning_rate, large.learning_rate),
        beta2=0.99,
        log_std_end=large.log_std_end if tuned.log_std_end is None else tuned.log_std_end,
        stagger=True,
        scale_values=True,
    )


def soft_for_batch(tuned: SACSettings, num_envs: int) -> SACSettings:
    """Return settings of soft actor-critic for a batch of another size: the tuned ones, if it is not large.

    A large one takes as many steps, and gradient steps between them, each on as many more samples: a GPU does either in
    about the same time. Memory and random steps grow likewise.

    Args:
        tuned: numbers for ``tuned.num_envs`` environments.
        num_envs: how many there are to be.
    """
    if num_envs < TIMES_AS_MANY * tuned.num_envs:
        return dataclasses.replace(tuned, num_envs=num_envs)
    more = num_envs / tuned.num_envs
    names = ("total_timesteps", "batch_size", "buffer_size", "learning_starts")
    changed: dict[str, Any] = {name: int(more * getattr(tuned, name)) for name in names}
    return dataclasses.replace(tuned, num_envs=num_envs, **changed)
