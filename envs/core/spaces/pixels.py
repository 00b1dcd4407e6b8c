"""Picture observations: the cameras' views, drawn for the batch by :mod:`pbd_gym.rendering.batched`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, no_type_check

import numpy as np
import warp as wp
from gymnasium import spaces

from pbd_gym.envs.core.data.validation import make_config
from pbd_gym.rendering.batched.tables import CAMERA, PALETTE, aim, palette_row
from pbd_gym.rendering.camera import Camera
from pbd_gym.runtime.checks import FARTHEST, image_size, number, switch
from pbd_gym.sim.state import State

wp.set_module_options({"enable_backward": False})

_IMAGES = {"rgbd": ("rgb", "depth")}
VECTORS, COLOR_COUNT = wp.constant(CAMERA), wp.constant(len(PALETTE))
FIXED_COLORS = wp.constant(list(PALETTE).index("picker_open"))
"""First of the fixed colours: those of hands and goals, which carry meaning."""


@dataclass(frozen=True)
class Pixels:
    """Settings of pictures. The numbers from ``turn`` on are drawn uniformly for every episode.

    Raises:
        ValueError: for a picture without pixels, or a number that is negative or not finite.
        TypeError: for invalid cameras, or anything but numbers where numbers are expected.
    """

    size: int | tuple[int, int] = 64
    """Width and height [pixels], or one number for both."""
    cameras: Sequence[Camera | Mapping[str, Any]] = ()
    """One or several cameras, each a :class:`pbd_gym.rendering.Camera` or its arguments; by default one that shows the
    task.
    """
    far: float = 20.0
    """Largest depth [m], that of the sky."""
    turn: float = 0.0
    """Largest change of the yaw and of the pitch of a camera [rad]."""
    shift: float = 0.0
    """Largest change of its target along each axis, as a share of its distance."""
    zoom: float = 0.0
    """Largest change of its distance, as a share of it."""
    shadows: bool = False
    """Darken the ground softly below objects, which shows their height."""
    color: float = 0.0
    """Largest change of red, green and blue of each object and of the backdrop, as a share of full brightness."""
    hints: bool = False
    """Whether a goal turns green when it is reached, as for people; otherwise the agent must find that out."""
    goal_picture: bool = False
    """Whether an observation is a dict that also contains each picture of the goal shape, by the same cameras and drawn
    once per episode: ``"goal_rgb"`` beside ``"rgb"``, and so on. These have no marks and no hands. The goal must be a
    shape of all particles, as in :data:`pbd_gym.envs.core.spaces.goal_pictures.WITH_GOAL_PICTURES`.
    """

    def __post_init__(self) -> None:
        size = image_size(self.size)
        for name in ("far", "turn", "shift", "zoom", "color"):
            number(name, getattr(self, name), 0.0, FARTHEST, positive=name == "far")
        switch("shadows", self.shadows)
        switch("hints", self.hints)
        switch("goal_picture", self.goal_picture)
        if self.zoom >= 1.0:
            raise ValueError(f"zoom must be below 1, got {self.zoom}")
        cameras = []
        if isinstance(self.cameras, str) or not isinstance(self.cameras, Sequence):
            raise TypeError(f"cameras must be a sequence of cameras, got {self.cameras!r}")
        for camera in self.cameras:
            if not isinstance(camera, Camera | Mapping):
                raise TypeError(f"a camera is a pbd_gym.rendering.Camera or a dict of its arguments, got {camera!r}")
            cameras.append(camera if isinstance(camera, Camera) else make_config(Camera, dict(camera)))
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "cameras", tuple(cameras))

    @property
    def resolution(self) -> tuple[int, int]:
        """Width and height [pixels]."""
        return image_size(self.size)

    @property
    def varied(self) -> bool:
        """Whether environments differ in their cameras or colours."""
        return max(self.turn, self.shift, self.zoom, self.color) > 0.0


@wp.kernel
@no_type_check
def look(
    # In:
    seed: wp.array1d[wp.int32],
    episode: wp.array1d[wp.int32],
    base: wp.array2d[float],
    colors: wp.array1d[wp.vec3],
    turn: float,
    shift: float,
    zoom: float,
    color: float,
    # Out:
    cameras: wp.array2d[wp.vec3],
    palette: wp.array2d[wp.vec3],
):
    """Aim the cameras of each environment and mix its colours, as sampled for its episode.

    The numbers depend on seed and episode alone, so nothing must be stored: a restored state looks as before.
    """
    env = wp.tid()
    # A separate stream, with every number sampled whether it is used or not: none depends on what else is varied.
    random = wp.rand_init(~seed[env], ~episode[env])
    for k in range(COLOR_COUNT):
        change = wp.vec3(wp.randf(random, -1.0, 1.0), wp.randf(random, -1.0, 1.0), wp.randf(random, -1.0, 1.0))
        mixed = colors[k]
        if k < FIXED_COLORS:
            mixed += 255.0 * color * change
        for axis in range(3):
            mixed[axis] = wp.clamp(mixed[axis], 0.0, 255.0)
        palette[env, k] = mixed
    views = base.shape[0]
    for view in range(views):
        yaw = base[view, 4] + turn * wp.randf(random, -1.0, 1.0)
        pitch = base[view, 5] + turn * wp.randf(random, -1.0, 1.0)
        move = wp.vec3(wp.randf(random, -1.0, 1.0), wp.randf(random, -1.0, 1.0), wp.randf(random, -1.0, 1.0))
        target = wp.vec3(base[view, 0], base[view, 1], base[view, 2]) + shift * base[view, 3] * move
        distance = base[view, 3] * (1.0 + zoom * wp.randf(random, -1.0, 1.0))
        aim(cameras, env * views + view, target, distance, yaw, pitch)


class PixelObservations:
    """Pictures as the observations of a batch; see also :class:`pbd_gym.envs.core.spaces.observations.Observations`.

    Args:
        mode: ``"rgb"``: shape (height, width, 3), uint8. ``"depth"``: distance along the direction of view [m], shape
            (height, width, 1), float32, without the marks of goals. ``"rgbd"``: a dict of both. ``"segmentation"``:
            the object at each pixel, shape (height, width, 1), uint8; see ``labels``. Several cameras follow one
            another in the channels. pixels: settings of pictures. axes: number of the goals' coordinates.
            goal_particles: particles with a goal, shape (k,). goal_pictures: pictures of the goals, a
            :class:`pbd_gym.envs.core.spaces.goal_pictures.GoalPictures`; none by default.
    """

    size = 0
    """Size of the part made of particle states: none."""
    goal_size = 0

    def __init__(
        self, mode: str, pixels: Pixels, axes: int, goal_particles: np.ndarray, goal_pictures: Any = None
    ) -> None:
        self.mode = mode
        self.pixels = pixels
        self.axes = axes
        self.goal_particles = goal_particles
        self.goal_pictures = goal_pictures
        self._images = _IMAGES.get(mode, (mode,))
        goals = () if goal_pictures is None else tuple(f"goal_{name}" for name in self._images)
        self.names = (*self._images, *goals)
        """Names of the arrays of an observation."""
        width, height = pixels.resolution
        views = max(len(pixels.cameras), 1)
        boxes: dict[str, spaces.Space[Any]] = {
            "rgb": spaces.Box(0, 255, (height, width, 3 * views), np.uint8),
            "depth": spaces.Box(0.0, pixels.far, (height, width, views), np.float32),
            "segmentation": spaces.Box(0, 255, (height, width, views), np.uint8),
        }
        parts = {name: boxes[name.removeprefix("goal_")] for name in self.names}
        self.space: spaces.Space[Any] = spaces.Dict(parts) if len(parts) > 1 else boxes[mode]
        self.rasterizer: Any = None
        """Rasteriser, once :meth:`prepare` has run."""
        self._look: Any = None
        self._state: Any = None

    def prepare(
        self, buffers: Any, state: State, view_box: tuple[np.ndarray, np.ndarray], goal_radius: float, **options: Any
    ) -> PixelObservations:
        """Make the rasteriser, and the buffers of its pictures.

        Args:
            buffers: buffers of the batch. state: state to draw. view_box: two corners of the box that the usual camera
            shows [m]. goal_radius: distance within which a goal counts as reached [m].
            **options: options of :class:`pbd_gym.rendering.batched.Rasterizer`.

        Returns:
            An object whose :meth:`launch` fills the buffers.
        """
        from pbd_gym.rendering.batched import Rasterizer

        pixels, model = self.pixels, state.model
        cameras: Any = pixels.cameras or [Camera.overview(*view_box, pixels.resolution)]
        self.rasterizer = Rasterizer(
            model, cameras, pixels.resolution, self._images, goals=buffers["goals"],
            goal_particles=self.goal_particles, goal_radius=goal_radius, far=pixels.far, own_views=pixels.varied,
            shadows=pixels.shadows, **options,
        )  # fmt: skip
        for name in self._images:
            buffers.share(name, self.rasterizer.image(name))
        self._state = state
        colors = np.array(list(PALETTE.values()), dtype=np.float32)
        if not pixels.hints:
            colors[palette_row("goal_reached")] = colors[palette_row("goal")]
        self.rasterizer.paint(colors)
        if pixels.varied:
            base = np.array([[*c.target, c.distance, c.yaw, c.pitch] for c in cameras], dtype=np.float32)
            self._look = wp.launch(
                look,
                dim=model.num_envs,
                device=model.device,
                record_cmd=True,
                inputs=[
                    buffers["seed"], buffers["episode"], wp.array(base, dtype=float, ndim=2, device=model.device),
                    wp.array(colors, dtype=wp.vec3, device=model.device), pixels.turn, pixels.shift, pixels.zoom,
                    pixels.color, self.rasterizer.cameras, self.rasterizer.palette,
                ],
            )  # fmt: skip
        if self.goal_pictures is not None:
            self.goal_pictures.prepare(self.rasterizer)
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """Meaning of the numbers in a segmentation: each is an index into this tuple."""
        labels: tuple[str, ...] = self.rasterizer.labels
        return labels

    def launch(self) -> None:
        """Draw the pictures."""
        if self._look is not None:
            self._look.launch()
        self.rasterizer.draw(self._state)
        if self.goal_pictures is not None:
            self.goal_pictures.launch()
