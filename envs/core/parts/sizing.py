"""Environments of other sizes, seen from Python: what experts need to know where the size is randomised."""

from __future__ import annotations

import numpy as np

from pbd_gym.envs.core.data.randomization import SIZE
from pbd_gym.envs.core.task import Batch


def sizes(batch: Batch) -> np.ndarray:
    """Return the size of each environment, shape (num_envs, 1)."""
    return batch.buffers.peek("parameters")[:, [int(SIZE)]].astype(np.float64)


def grown(batch: Batch, points: np.ndarray, env: int) -> np.ndarray:
    """Return points of the scene as they are in an environment of another size [m], shape (..., 3)."""
    anchor = np.array(batch.anchor)
    return anchor + float(batch.buffers.peek("parameters")[env, int(SIZE)]) * (points - anchor)
