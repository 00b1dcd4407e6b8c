"""Which towels may be rectangles, and that tethers keep the length of those that hands hold."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from pbd_gym.registry import ENTRIES

SMALL: dict[str, Any] = {"resolution": 7, "substeps": 4, "starts": 2}
SQUARE = ("PBDClothFoldDiagonal-v0", "PBDManipulation-v0")
"""Ids that refuse rectangles, as docs/arguments.md says."""


@pytest.mark.parametrize("env_id", [entry.id for entry in ENTRIES if entry.id.startswith("PBDCloth")] + [SQUARE[1]])
def test_only_folds_along_a_diagonal_need_squares(env_id: str) -> None:
    if env_id == "PBDCloth-v0":  # whose size is its side
        return
    if env_id in SQUARE:
        with pytest.raises(ValueError, match="folded along a diagonal is square"):
            gym.make_vec(env_id, 1, size=(0.6, 0.4), **SMALL)
    else:
        assert gym.make_vec(env_id, 1, size=(0.6, 0.4), **SMALL).unwrapped.config.columns == 7


def test_soft_threads_stretch_no_towel_that_hands_hold() -> None:
    """Guards what docs/randomization.md says of ``stretch_stiffness``: tethers hold the towel."""
    env: Any = gym.make_vec("PBDClothDrop-v0", 2, resolution=12, starts=2, randomize={"stretch_stiffness": (1e-5, 1.0)})
    env.reset(seed=0, options={"parameters": {"stretch_stiffness": np.array([1.0, 1e-5])}})
    up = np.zeros((2, 8), dtype=np.float32)
    up[:, [3, 7]] = 1.0  # the hands stay closed
    for _ in range(10):
        env.step(up)
    assert (env.state.held.numpy()[:2] >= 0).all()
    x = env.state.get_positions()[:, env.task.towel.indices]
    length = np.linalg.norm(x[:, 0] - x[:, -1], axis=2) / env.config.size[1]
    assert (length < 1.0 + 1e-3).all()
