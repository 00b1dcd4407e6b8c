"""Agents of a few numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pbd_gym.training.agents.policies import MLPPolicy
from tests.envs.helpers import SMALL_OF

ROPE = {**SMALL_OF["PBDRope-v0"], "max_episode_steps": 3}
"""Of episodes of three steps."""


def save_still(path: Path, env_id: str = "PBDRope-v0") -> Path:
    """Write an agent that leaves a rope alone, and return its file."""
    size = np.zeros(45, dtype=np.float32)
    MLPPolicy(env_id, ROPE, (np.zeros((6, 45), dtype=np.float32),), (size[:6],), size, size + 1.0).save(path)
    return path
