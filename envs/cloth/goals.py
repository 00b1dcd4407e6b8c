"""Cloth tasks that end in a known shape: where each particle of the towel is to lie, for each start state."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from pbd_gym.envs.cloth.towels import ClothTaskVectorEnv
from pbd_gym.envs.core import measures
from pbd_gym.envs.core.episode_launches import Launches
from pbd_gym.envs.core.observations import OBS_MODES
from pbd_gym.envs.core.pixels import PIXEL_MODES


class ClothGoalVectorEnv(ClothTaskVectorEnv):
    """Batch of a task in which particles have places; nine points of the towel are the goals that are observed.

    A task fills in :meth:`goal_shapes`, says in ``build`` which particles are ``placed``, and weighs
    :meth:`record_placement` in its measures.
    """

    obs_modes = (*OBS_MODES, *PIXEL_MODES)
    placed: np.ndarray
    """*Task*: particles whose distance from their places counts, shape (k,)."""

    def goal_shapes(self) -> np.ndarray:
        """*Task*: return what the towel is to become from each start state [m], shape (1 or starts, n, 3)."""
        raise NotImplementedError

    def record_placement(self, out: Any) -> Any:
        """Return the launch for the mean distance of the placed particles from their places [m]."""
        return self.launch(
            measures.mean_distance_to_goals, self.indices(self.placed), self.buffers["places"], *self.where, out
        )

    def goal_shape(self, env: int) -> np.ndarray:
        """Return what the towel of an environment is to become [m], shape (rows, columns, 3)."""
        start = int(self.buffers.peek("start")[env])
        return self.grown(self.shapes[start % len(self.shapes)], env)[self.cloth.indices]

    def goal_sets(self) -> np.ndarray:
        return self.shapes[:, self.goal_particles]

    def _make_buffers(self) -> Any:
        buffers = super()._make_buffers()
        buffers.add("places", (len(self.placed), 3))
        return buffers

    def record_begin(self, chosen: Any) -> Any:
        self.shapes = np.asarray(self.goal_shapes(), dtype=np.float32)
        device, b = self.model.device, self.buffers
        sets = wp.array(self.shapes[:, self.placed], dtype=wp.vec3, ndim=2, device=device)
        dim = (self.num_envs, len(self.placed))
        inputs = [chosen, b["start"], sets, b["parameters"], wp.vec3(*self.anchor), b["places"]]
        draw = wp.launch(measures.draw_goal_set, dim, inputs, device=device, record_cmd=True)
        return Launches([draw, super().record_begin(chosen)])
