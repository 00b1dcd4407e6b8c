"""PBDClothFlatten-v0: spread out a crumpled towel."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from pbd_gym.envs import measures
from pbd_gym.envs.actions import Hands
from pbd_gym.envs.cloth_tasks import ClothTaskConfig, ClothTaskVectorEnv
from pbd_gym.envs.manipulation import Measure
from pbd_gym.envs.single import single_env
from pbd_gym.scene import Scene

GRID = 64
"""Cells along each side of the square that covered area is counted in."""
DISC = 0.75
"""Radius of the disc that a particle covers, in distances between particles: a flat towel then has no gaps."""


class ClothFlattenVectorEnv(ClothTaskVectorEnv):
    """Spread out a towel that lies crumpled on the ground."""

    config_type = ClothTaskConfig
    obs_modes = ("keypoints", "particles")

    def build(self, config: ClothTaskConfig) -> tuple[Scene, Hands, np.ndarray, np.ndarray]:
        scene = self.make_scene()
        corners = self.cloth.corners
        none = np.zeros(0, dtype=np.int32)
        return scene, self.hands((int(corners[0]), int(corners[1]))), self.keypoints(), none

    @property
    def flat_area(self) -> float:
        """Area that the flat towel covers, with its rim [m^2]."""
        side, r = self.config.side, DISC * self.config.spacing
        return side * side + 4.0 * side * r + np.pi * r * r

    @property
    def best_performance(self) -> float:  # type: ignore[override]
        return self.flat_area

    def measures(self) -> list[Measure]:
        config, cell = self.config, 1.6 * self.config.side / GRID
        words = wp.zeros((self.num_envs, GRID * GRID // 32), dtype=wp.int32, device=self.model.device)

        def area(out: Any) -> Any:
            return self.launch(
                measures.covered_area, self.indices(self.cloth.indices), DISC * config.spacing, cell, GRID,
                *self.where, words, out,
            )  # fmt: skip

        return [Measure("coverage", 1.0, area)]

    def draw_starts(self, rng: np.random.Generator) -> np.ndarray:
        return self.crumpled(rng, self.config.starts)


ClothFlattenEnv = single_env(ClothFlattenVectorEnv)
