"""The rasteriser: pictures of all environments of a batch in one launch, on a CPU or a GPU."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.rendering.batched import tables
from pbd_gym.rendering.batched.backdrops import draw_backdrop, key_size
from pbd_gym.rendering.batched.pixels import Images, make_draw
from pbd_gym.rendering.batched.tables import Geometry, camera_row
from pbd_gym.rendering.camera import Camera
from pbd_gym.runtime.checks import whole
from pbd_gym.runtime.compilation import compiling, with_blocks
from pbd_gym.runtime.devices import free_memory
from pbd_gym.runtime.threads import default_threads, run_together
from pbd_gym.sim.model import Model
from pbd_gym.sim.state import State

IMAGES = ("rgb", "depth", "segmentation")
"""Types of images."""
_CUDA_THREADS = 128
"""Threads of a block."""
_TILE = (8, 4)


class Rasterizer:
    """Draws the cameras' views of every environment of a batch.

    Pictures agree with those of :class:`pbd_gym.rendering.Renderer`, without its outlines and smoothing of edges.
    They do not depend on the number of environments, nor on an environment's index. Pixel (0, 0) is at the upper
    left; the cameras of an environment follow one another in the channels.

    Args:
        model: model of the states to draw; float32.
        cameras: one or several.
        size: width and height [pixels].
        images: which of :data:`IMAGES` to draw.
        goals: places of the goals [m], a device array of shape (num_envs, k, 3), float32.
        goal_particles: particles that have a goal, shape (k,), int; none by default.
        goal_radius: distance within which a goal counts as reached [m].
        far: largest depth [m], that of the sky; three times the largest distance of a camera by default.
        own_views: give every environment its own cameras and colours, which may then differ.
        hand: grip that is drawn only while it holds something.
        shadows: darken the ground softly below objects, in colour pictures.
        threads: CPU threads; :func:`pbd_gym.runtime.threads.default_threads` by default.

    Raises:
        ValueError: for a picture without pixels, no camera, no or unknown images, a depth that is not positive, a model
            in double precision, or more objects than a segmentation can number.
        MemoryError: if the pictures would not fit into the free memory.
    """

    def __init__(
        self,
        model: Model,
        cameras: Sequence[Camera],
        size: tuple[int, int] = (64, 64),
        images: Sequence[str] = ("rgb",),
        *,
        goals: Any = None,
        goal_particles: np.ndarray | None = None,
        goal_radius: float = 0.05,
        far: float | None = None,
        own_views: bool = False,
        hand: int | None = None,
        shadows: bool = False,
        threads: int | None = None,
    ) -> None:
        if len(size) != 2 or any(int(n) != n or n < 1 for n in size):
            raise ValueError(f"a picture needs a whole, positive width and height, got {size}")
        if not cameras:
            raise ValueError("a rasteriser needs at least one camera")
        if not images or not set(images) <= set(IMAGES):
            raise ValueError(f"images must be some of {IMAGES}, got {tuple(images)}")
        if model.scalar is not wp.float32:
            raise ValueError("pictures are drawn of float32 models only")
        far = 3.0 * max(camera.distance for camera in cameras) if far is None else far
        if not (np.isfinite(far) and far > 0.0):
            raise ValueError(f"far must be positive and finite, got {far}")
        self.model = model
        self.size = (int(size[0]), int(size[1]))
        self.images = tuple(image for image in IMAGES if image in images)
        self.far = float(np.float32(far))
        self.views = len(cameras)
        self.threads = default_threads() if threads is None else whole("threads", threads, 1)
        with_goals = np.zeros(0, dtype=np.int32) if goal_particles is None else np.asarray(goal_particles)
        goal_shape = (model.num_envs, len(with_goals), 3)
        if len(with_goals) and (goals is None or goals.shape != goal_shape):
            raise ValueError(f"goals must have shape {goal_shape}, got {None if goals is None else goals.shape}")
        line_radius = max(0.25 * model.scene.contact_radius, 0.012)
        self._line_radius = line_radius
        self.geometry = Geometry(model.scene, with_goals, goal_radius, line_radius, hand)
        self.labels = self.geometry.labels
        """Meaning of each number in a segmentation: its index in this tuple."""
        self.shadows = shadows and "rgb" in self.images
        self._own_views = own_views
        self._own_backdrops = own_views or self.geometry.planes_move
        self._goals = wp.zeros(goal_shape, dtype=wp.float32, device=model.device) if goals is None else goals
        self._points: Any = None
        self._chosen = wp.zeros(0, dtype=wp.int32, device=model.device)
        self._allocate()
        row = np.array([camera_row(camera, self.size) for camera in cameras], dtype=np.float32)
        self.cameras.assign(np.tile(row, (self.cameras.shape[0] // self.views, 1, 1)))
        self.paint(np.array(list(tables.PALETTE.values()), dtype=np.float32))
        self._launches: tuple[list[Any], list[Any]] = ([], [])
        self._launched_for: Any = None

    def paint(self, colors: np.ndarray) -> None:
        """Set the colours of all pictures.

        Args:
            colors: red, green and blue from 0 to 255, in the order of
                :data:`pbd_gym.rendering.batched.tables.PALETTE`, shape (k, 3), float32.
        """
        self.palette.assign(np.broadcast_to(colors, (self.palette.shape[0], *colors.shape)))

    def of_points(self, points: Any, chosen: Any, hidden: Sequence[int] = ()) -> Rasterizer:
        """Return a rasteriser of particles at points of their own, with the same cameras, for goal shapes.

        Its pictures have no marks and no pickers; colliders are where the state has them. It shares cameras, colours,
        backdrops and drawing memory, so the two must draw one after the other.

        Args:
            points: places of the particles [m], a device array of shape (num_envs, n, 3), float32.
            chosen: environments to draw, a device array of shape (num_envs,), int32; the pictures of those that are 0
                stay unchanged.
            hidden: numbers of colliders that are not drawn, none of them a plane.

        Raises:
            ValueError: if an array has another shape.
            MemoryError: if the pictures would not fit into the free memory.
        """
        model = self.model
        shape = (model.num_envs, model.particle_count, 3)
        if points.shape != shape or chosen.shape != shape[:1]:
            got = f"{points.shape} and {chosen.shape}"
            raise ValueError(f"points and chosen must have shapes {shape} and {shape[:1]}, got {got}")
        other = copy.copy(self)
        other.geometry = Geometry(
            model.scene, np.zeros(0, dtype=np.int32), self.geometry.goal_radius, self._line_radius, grips=False,
            hidden=hidden,
        )  # fmt: skip
        other._points, other._chosen, other._launched_for = points, chosen, None
        self._check_memory(0)
        with wp.ScopedDevice(model.device):
            other._shapes = other.geometry.upload(model.device)
            other.canvas = self._make_canvas()
        return other

    def _check_memory(self, scratch: int) -> None:
        """Raise MemoryError if pictures do not fit beside this much drawing memory [bytes]."""
        (width, height), pictures, device = self.size, self.model.num_envs * self.views, self.model.device
        channels = sum({"rgb": 3, "depth": 4, "segmentation": 1}[image] for image in self.images)
        needed = pictures * width * height * channels + scratch
        free = free_memory(device)
        if free is not None and needed > free:
            raise MemoryError(
                f"{pictures} pictures of {width} x {height} need {needed / 2**30:.1f} GiB but {free / 2**30:.1f} GiB "
                f"are free on {device}"
            )

    def _make_canvas(self) -> Any:
        """Return the pictures, with empty arrays for types that are not requested."""
        width, height = self.size

        def made(name: str, channels: int, dtype: Any) -> Any:
            shape = (self.model.num_envs, height, width, channels) if name in self.images else (1, 1, 1, 1)
            return wp.zeros(shape, dtype=dtype)

        return _filled(
            tables.Canvas,
            rgb=made("rgb", 3 * self.views, wp.uint8),
            depth=made("depth", self.views, wp.float32),
            segmentation=made("segmentation", self.views, wp.uint8),
        )

    def _allocate(self) -> None:
        model, geometry, (width, height) = self.model, self.geometry, self.size
        envs, views = model.num_envs, self.views
        pictures = envs * views
        backdrops = pictures if self._own_backdrops else views
        vertices, triangles, rounds = geometry.vertex_count, geometry.triangle_count, geometry.round_count
        scratch = pictures * (width * height * 4 + 28 * vertices + 52 * triangles + 20 * rounds)
        scratch += backdrops * width * height * 8 + pictures * width * height * 8 * self.shadows
        self._check_memory(scratch)
        with wp.ScopedDevice(model.device):
            self._shapes = geometry.upload(model.device)
            self.cameras = wp.zeros((pictures if self._own_views else views, tables.CAMERA), dtype=wp.vec3)
            """Rows of :func:`pbd_gym.rendering.batched.tables.camera_row`, shape (views or num_envs * views, 7)."""
            self.palette = wp.zeros((envs if self._own_views else 1, len(tables.PALETTE)), dtype=wp.vec3)
            """Colours in the order of :data:`pbd_gym.rendering.batched.tables.PALETTE`, shape (1 or num_envs, k)."""
            self.canvas = self._make_canvas()
            self._scratch = _filled(
                tables.Scratch,
                points=wp.zeros((pictures, vertices), dtype=wp.vec3),
                vertex_light=wp.zeros((pictures, vertices), dtype=wp.vec4),
                edges=wp.zeros((pictures, triangles, 3), dtype=wp.vec3),
                boxes=wp.zeros((pictures, triangles + rounds), dtype=wp.vec4i),
                radii=wp.zeros((pictures, rounds), dtype=wp.float32),
                nearness=wp.zeros((pictures, height, width), dtype=wp.float32),
                cover=wp.zeros((pictures, height, width) if self.shadows else (1, 1, 1), dtype=wp.float32),
                blurred=wp.zeros((pictures, height, width) if self.shadows else (1, 1, 1), dtype=wp.float32),
                dark_box=wp.zeros((pictures, 4), dtype=wp.int32),
            )
            self._backdrop = _filled(
                tables.Backdrop,
                # No number equals NaN, so that every backdrop is drawn the first time.
                drawn_for=wp.full((backdrops, key_size(geometry.plane_count)), np.nan, dtype=wp.float32),
                color=wp.zeros((backdrops, height, width, 3), dtype=wp.uint8),
                nearness=wp.zeros((backdrops, height, width), dtype=wp.float32),
                label=wp.zeros((backdrops, height, width), dtype=wp.uint8),
            )

    def image(self, name: str) -> Any:
        """Return the device array of one type of picture, which every :meth:`draw` overwrites.

        Returns:
            ``"rgb"``: shape (num_envs, height, width, 3 cameras), uint8. ``"depth"``: depth along the direction of view
            [m], shape (num_envs, height, width, cameras), float32; without goal marks. ``"segmentation"``: index in
            ``labels``, shape (num_envs, height, width, cameras), uint8.

        Raises:
            ValueError: for a type that is not drawn.
        """
        if name not in self.images:
            raise ValueError(f"{name!r} is not drawn; there are {self.images}")
        return getattr(self.canvas, name)

    def draw(self, state: State) -> None:
        """Draw every environment in its current state.

        Raises:
            ValueError: if the state belongs to another model.
        """
        if self._launched_for is not state:
            if state.model is not self.model:
                raise ValueError("the state must be of the rasteriser's own model")
            with compiling(), with_blocks(self.model.thread_count):
                self._launches = self._prepare(state)
            self._launched_for = state
        for launches in self._launches:
            run_together([launch.launch for launch in launches])

    def _prepare(self, state: State) -> tuple[list[Any], list[Any]]:
        model, (width, height) = self.model, self.size
        block = _CUDA_THREADS if model.device.is_cuda else model.thread_count
        tile = tile_size(model.in_blocks, self.size)
        rgb, depth, segmentation = (image in self.images for image in IMAGES)
        kernel = make_draw(Images(rgb, depth, segmentation, self.shadows, rgb and self.geometry.has_glass))

        def shares(count: int) -> list[tuple[int, int]]:
            edges = np.linspace(0, count, 1 + (1 if model.in_blocks else min(self.threads, count))).astype(int)
            return [(int(a), int(b - a)) for a, b in itertools.pairwise(edges)]

        def launch(kernel: Any, count: int, *inputs: Any) -> Any:
            return wp.launch(
                kernel, dim=(count, block), block_dim=block, inputs=list(inputs), device=model.device, record_cmd=True
            )

        positions, lanes = state.positions_scalar, model.lanes
        if self._points is not None:
            positions, lanes = self._points.reshape((*self._points.shape, 1)), 1
        seen = _filled(
            tables.Seen, cameras=self.cameras, palette=self.palette, lanes=lanes, positions=positions,
            poses=state.poses, held=state.held, grips=state.grip_positions, goals=self._goals, chosen=self._chosen,
        )  # fmt: skip
        layout = _filled(
            tables.Layout, views=self.views, width=width, height=height, tile_w=tile[0], tile_h=tile[1],
            threads=block, far=self.far,
        )  # fmt: skip
        backdrops = [
            launch(draw_backdrop, count, self._shapes, seen, layout, first, self._backdrop)
            for first, count in shares(self._backdrop.nearness.shape[0])
        ]
        pictures = [
            launch(kernel, count, self._shapes, seen, self._backdrop, layout, first, self._scratch, self.canvas)
            for first, count in shares(model.num_envs * self.views)
        ]
        return backdrops, pictures


def _filled(struct: Any, **values: Any) -> Any:
    """Return a struct with these values."""
    made = struct()
    for name, value in values.items():
        setattr(made, name, value)
    return made


def tile_size(in_blocks: bool, size: tuple[int, int]) -> tuple[int, int]:
    """Return the columns and rows of a thread's tile.

    The whole picture, or a small part of it in a block of threads.
    """
    return _TILE if in_blocks else size
