"""``call``, ``get_attr`` and ``set_attr`` of batches, as Gymnasium's SyncVectorEnv and AsyncVectorEnv have them.

A batch is one object, whose environments share their attributes: it answers for each of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_SINGLE = {"action_space": "single_action_space", "observation_space": "single_observation_space"}
"""What one environment calls an attribute, and what the batch does."""


def call(batch: Any, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """Call a method once, or read an attribute, and return the answer once per environment.

    ``"render"`` gives each environment its own picture.

    Raises:
        AttributeError: if there is no such attribute.
    """
    found = getattr(batch, _SINGLE.get(name, name))
    answer = found(*args, **kwargs) if callable(found) else found
    return answer if name == "render" and answer is not None else (answer,) * batch.num_envs


def get_attr(batch: Any, name: str) -> tuple[Any, ...]:
    """Return an attribute once per environment; what is callable is called.

    Raises:
        AttributeError: if there is no such attribute.
    """
    return call(batch, name)


def set_attr(batch: Any, name: str, values: Any) -> None:
    """Set an attribute of the whole batch. What was prepared when the batch was made does not follow it.

    Args:
        name: of the attribute.
        values: one value, or a list or tuple with the same one for each environment.

    Raises:
        ValueError: for a list of a wrong length, or of values that differ.
    """
    if isinstance(values, list | tuple):
        if len(values) != batch.num_envs:
            raise ValueError(f"values must be {batch.num_envs}, one for each environment, got {len(values)}")
        if not all(np.array_equal(value, values[0]) for value in values):
            raise ValueError(f"environments of a batch share {name}: give it one value, got {values!r}")
        values = values[0]
    setattr(batch, _SINGLE.get(name, name), values)
