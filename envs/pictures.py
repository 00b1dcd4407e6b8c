"""Pictures of a batch: hands what an environment shows to the renderer, which is imported only when it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pbd_gym.colliders import Plane, Sphere

if TYPE_CHECKING:
    from pbd_gym.envs.core import TaskVectorEnv

MAX_TILES = 16
"""Environments that a window shows side by side."""


class Pictures:
    """Draws environments of a batch.

    Args:
        batch: the environments.
        size: width and height of a picture [pixels].
    """

    def __init__(self, batch: TaskVectorEnv, size: tuple[int, int] = (512, 512)) -> None:
        self.batch = batch
        self.size = size
        self._renderer: Any = None

    def frame(self, env: int) -> Any:
        """Return what environment ``env`` shows now, a :class:`pbd_gym.render.Frame`."""
        from pbd_gym.render import Frame, Goal, Picker

        batch, scene = self.batch, self.batch.scene
        group, lane = divmod(env, batch.model.lanes)
        positions = batch.state.positions_scalar.numpy()[group, :, :, lane]
        goals = batch.buffers.peek("goals")[env]
        corners = positions[batch.goal_particles]
        radius = batch.goal_radius
        held = batch.state.held.numpy()[env]
        grips = batch.state.grip_positions.numpy()[env]
        return Frame(
            positions=positions.astype(np.float64),
            triangles=scene.triangles,
            lines=scene.lines,
            planes=[(c.normal, c.offset) for c in scene.colliders if isinstance(c, Plane)],
            spheres=[(c.center, c.radius) for c in scene.colliders if isinstance(c, Sphere)],
            pickers=[Picker(p, 0.02, bool(h >= 0)) for p, h in zip(grips, held, strict=True)],
            goals=[
                Goal(g, radius, bool(np.linalg.norm(c - g) < radius)) for g, c in zip(goals, corners, strict=True)
            ],
            pinned=np.flatnonzero(scene.inv_mass == 0.0),
        )  # fmt: skip

    def render(self) -> tuple[np.ndarray, ...] | None:
        """Draw according to the batch's render mode; see :meth:`TaskVectorEnv.render`.

        Raises:
            RuntimeError: without a render mode.
            ImportError: without pygame.
        """
        from pbd_gym.render import Renderer

        mode = self.batch.render_mode
        if mode is None:
            raise RuntimeError("make the environment with render_mode='rgb_array' or 'human' to draw it")
        count = self.batch.num_envs
        if self._renderer is None:
            title = self.batch.spec.id if self.batch.spec else type(self.batch).__name__
            self._renderer = Renderer(
                "rgb_array" if count > 1 else mode, self.size, title, self.batch.metadata["render_fps"]
            )
        if mode == "human" and count > 1:
            raise NotImplementedError
        pictures = tuple(self._renderer.draw(self.frame(env)) for env in range(count))
        return None if mode == "human" else pictures

    def close(self) -> None:
        """Close the window, if there is one. May be called again."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
