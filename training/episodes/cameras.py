"""Camera pictures of a batch whose observations are states, for datasets that hold both."""

from __future__ import annotations

import numpy as np

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.modes import PIXEL_MODES
from pbd_gym.envs.core.spaces.pixels import PixelObservations, Pixels

IMAGES = "images/"
"""Prefix of pictures' names among infos."""


def by_camera(pictures: np.ndarray) -> dict[str, np.ndarray]:
    """Return the pictures of each camera by its name: ``camera``, or ``camera_0``, ``camera_1`` and so on.

    Args:
        pictures: one camera after the other in the channels, shape (..., height, width, 3 * cameras), uint8.
    """
    count = pictures.shape[-1] // 3
    if count == 1:
        return {"camera": pictures}
    return {f"camera_{i}": view for i, view in enumerate(np.split(pictures, count, axis=-1))}


class Cameras:
    """Draws a batch as ``obs_mode="rgb"`` would show it, and leaves its own observations unchanged.

    Args:
        env: the batch.
        pixels: settings of the pictures.

    Raises:
        ValueError: if the observations of the batch are pictures already, or for pictures of goals.
    """

    def __init__(self, env: TaskVectorEnv, pixels: Pixels) -> None:
        if env.obs_mode in PIXEL_MODES:
            raise ValueError(f"pictures are added to observations of states, and obs_mode is {env.obs_mode!r}")
        if pixels.goal_picture:
            raise ValueError("pictures beside states have no goal_picture: it comes with obs_mode='rgb' and the like")
        self._buffers = env.buffers
        self._view = PixelObservations("rgb", pixels, env.task.hands.axes, env.goal_particles)
        box = env.pictures.view_box()
        self._view.prepare(env.buffers, env.state, box, env.task.score.goal_radius, hand=env.world.hand_grip)
        self.names = tuple(by_camera(self._buffers.peek("rgb")))
        """Names of the cameras."""

    def look(self) -> dict[str, np.ndarray]:
        """Return each camera's current picture by its name, shape (num_envs, height, width, 3), uint8."""
        self._view.launch()
        return by_camera(self._buffers.read("rgb"))
