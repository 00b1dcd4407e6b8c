"""Pictures of a batch: its frames, for a renderer that is imported when first needed."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import ArrayLike

from pbd_gym.envs.core.task import World
from pbd_gym.rendering.pictures.frame import RenderOptions
from pbd_gym.runtime.extras import DisplayError

_LOGGER = logging.getLogger(__name__)
MAX_TILES = 16
"""Environments that a window shows side by side."""


class Pictures:
    """Draws environments of a world.

    Args:
        env: the batch, as Gymnasium sees it.
        world: its environments.
        options: render options.
    """

    def __init__(self, env: VectorEnv, world: World, options: RenderOptions) -> None:
        self.env, self.world = env, world
        self.options = options
        self._renderers: dict[str, Any] = {}
        self._seen = True

    def frame(self, env: int, caption: str = "") -> Any:
        """Return environment ``env`` as a :class:`pbd_gym.rendering.Frame`."""
        from pbd_gym.rendering import Goal, Picker
        from pbd_gym.rendering.pictures.scenes import scene_coloring, scene_frame

        world, scene = self.world, self.world.scene
        group, lane = divmod(env, world.model.lanes)
        positions = world.state.positions_scalar.numpy()[group, :, :, lane]
        goals = world.buffers.peek("goals")[env]
        corners = positions[world.goal_particles]
        radius = world.task.score.goal_radius
        held = world.state.held.numpy()[env]
        grips = world.state.grip_positions.numpy()[env]
        poses = world.state.get_poses()[env]
        by = self.options.color_by
        size = float(world.state.get_parameters()["size"][env]) if by in ("stretch", "contact") else 1.0
        velocities = world.state.velocities_scalar.numpy()[group, :, :, lane] if by == "velocity" else positions
        return scene_frame(
            scene,
            positions,
            poses=poses,
            coloring=scene_coloring(by, scene, positions, velocities, poses, size),
            line_radius=max(0.25 * scene.contact_radius, 0.012),
            pickers=[
                Picker(np.array(p), 0.02, bool(h >= 0), gripper=slot != world.hand_grip)
                for slot, (p, h) in enumerate(zip(grips, held, strict=True))
                if h >= 0 or slot != world.hand_grip
            ],
            goals=[Goal(g, radius, bool(np.linalg.norm(c - g) < radius)) for g, c in zip(goals, corners, strict=True)],
            caption=caption,
        )

    def render(self) -> tuple[np.ndarray, ...] | None:
        """Draw according to the batch's render mode; see :meth:`TaskVectorEnv.render`.

        Without a display the mode ``"human"`` warns once, and shows nothing from then on.

        Raises:
            RuntimeError: without a render mode.
            ImportError: without pygame.
        """
        mode, size = self.env.render_mode, self.options.size
        assert isinstance(size, tuple)
        if mode is None:
            raise RuntimeError("make the environment with render_mode='rgb_array' or 'human' to draw it")
        if mode == "rgb_array":
            return tuple(self._draw_all(self.env.num_envs, size))
        if self._seen:
            try:
                self._show(size)
            except DisplayError as error:  # Gymnasium's checker draws in every mode, on servers too
                _LOGGER.warning("pbd_gym: %s", error)
                self._seen = False
        return None

    def _show(self, size: tuple[int, int]) -> None:
        """Show the batch in a window.

        Raises:
            DisplayError: if there is no display.
        """
        from pbd_gym.rendering import tile

        count = self.env.num_envs
        if count == 1:
            self._watch(size)
            return
        window = self._renderer("human", size)
        if not window.closed:
            window.show(tile(self._draw_all(min(count, MAX_TILES), (256, 256))))

    def close(self) -> None:
        """Close the window, if there is one. May be called again."""
        for renderer in self._renderers.values():
            renderer.close()
        self._renderers.clear()

    def _draw_all(self, count: int, size: tuple[int, int]) -> list[np.ndarray]:
        renderer, found = self._renderer("rgb_array", size), []
        for env in range(count):
            frame = self.frame(env)
            renderer.camera = self._camera(size, self.strayed(frame.positions))
            found.append(renderer.draw(frame))
        return found

    def _camera(self, size: tuple[int, int], aside: ArrayLike = 0.0) -> Any:
        """Return the given camera, or one that shows the view box, shifted sideways [m]."""
        from pbd_gym.rendering import Camera

        lower, upper = self.view_box()
        return self.options.camera or Camera.overview(lower + aside, upper + aside, size)

    def strayed(self, positions: np.ndarray) -> np.ndarray:
        """Return the sideways shift of the default camera that follows bodies out of the view box [m], shape (3,).

        If the place does not matter, agents carry a towel off before they spread it.

        Args:
            positions: positions of the particles of one environment [m], shape (n, 3).
        """
        if self.options.camera is not None or self.world.scene.fluid is not None or not np.isfinite(positions).all():
            return np.zeros(3)  # splashes and drained water are not followed
        lower, upper = self.view_box()
        beyond = np.maximum(positions.max(axis=0) - upper, 0.0) + np.minimum(positions.min(axis=0) - lower, 0.0)
        return np.asarray(beyond * [1.0, 0.0, 1.0])

    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Return two corners of a box with room for the largest size [m], shape (3,) each."""
        anchor = np.array(self.world.anchor)
        corners = np.array(self.world.view_box)
        grown = anchor + self.world.modes.largest_size * (corners - anchor)
        return np.minimum(corners[0], grown[0]), np.maximum(corners[1], grown[1])

    def _watch(self, size: tuple[int, int]) -> None:
        """Show a single environment in a window, in which a person can grab things."""
        from pbd_gym.envs.tools.window import Watcher

        if "watcher" not in self._renderers:
            self._renderers["watcher"] = Watcher(self.env, self._title, size)
        self._renderers["watcher"].show()

    @property
    def _title(self) -> str:
        return self.env.spec.id if self.env.spec else type(self.env).__name__

    def _renderer(self, mode: str, size: tuple[int, int]) -> Any:
        from pbd_gym.rendering import Renderer

        if mode not in self._renderers:
            renderer = Renderer(mode, size, self._title, self.env.metadata["render_fps"], self.options)
            renderer.camera = self._camera(size)
            self._renderers[mode] = renderer
        return self._renderers[mode]
