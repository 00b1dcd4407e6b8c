"""Goal pictures: the goal of each episode, seen by the cameras of its observations."""

from __future__ import annotations

from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.buffers import prepare
from pbd_gym.envs.core.parts.goals import copy_points
from pbd_gym.envs.core.task import World

wp.set_module_options({"enable_backward": False})

WITH_GOAL_PICTURES = (
    "PBDClothClutter-v0",
    "PBDClothDrop-v0",
    "PBDClothFold-v0",
    "PBDClothFoldCrumpled-v0",
    "PBDClothFoldCrumpledPicture-v0",
    "PBDClothFoldDiagonal-v0",
    "PBDClothFoldDrop-v0",
    "PBDClothFoldPickPlace-v0",
    "PBDClothFoldTwice-v0",
    "PBDClothFoldTwiceCrumpled-v0",
    "PBDClothHang-v0",
    "PBDClothHangThree-v0",
    "PBDClothUnfold-v0",
    "PBDManipulation-v0",
    "PBDRopePush-v0",
    "PBDRopeShape-v0",
    "PBDSoftShape-v0",
    "PBDTShirtFold-v0",
)
"""Ids of the tasks whose goal is a shape of all particles. Others have goals for some particles, or none."""


@wp.kernel
@no_type_check
def find_new(
    # In:
    seed: wp.array1d[wp.int32],
    episode: wp.array1d[wp.int32],
    start: wp.array1d[wp.int32],
    parameters: wp.array2d[float],
    # State:
    drawn_episodes: wp.array2d[wp.int32],
    drawn_parameters: wp.array2d[float],
    # Out:
    is_new: wp.array1d[wp.int32],
):
    """Mark the environments whose goal picture belongs to another episode.

    Any cause (a reset, an end, a restored or copied state) shows in these numbers, and goal, size, camera and colours
    follow from them.
    """
    env = wp.tid()
    changed = int(0)
    now = wp.vec3i(seed[env], episode[env], start[env])
    for number in range(3):
        if now[number] != drawn_episodes[env, number]:
            drawn_episodes[env, number] = now[number]
            changed = 1
    for k in range(parameters.shape[1]):
        if parameters[env, k] != drawn_parameters[env, k]:
            drawn_parameters[env, k] = parameters[env, k]
            changed = 1
    is_new[env] = changed


class GoalPictures:
    """Second pictures in the observations of a batch, redrawn only in environments that begin an episode.

    Args:
        world: the environments; the goal of their task is a shape.
        name: name, in the message, of a task whose goal is not a shape.

    Raises:
        ValueError: if the task has no such goal.
    """

    def __init__(self, world: World, name: str) -> None:
        if world.task.goal_shapes is None:
            raise ValueError(
                "goal_picture=True needs a task whose goal is a shape of all particles (Task.goal_shapes), which "
                f"{name} is not; these are: {', '.join(WITH_GOAL_PICTURES)}"
            )
        self.world, self._shapes = world, world.task.goal_shapes
        self.rasterizer: Any = None
        """Rasteriser of these pictures, once :meth:`prepare` has run."""

    def prepare(self, rasterizer: Any) -> None:
        """Prepare the launches, and add the pictures to the buffers: ``goal_`` and the name of the image.

        Args:
            rasterizer: rasteriser of the current state, a :class:`pbd_gym.rendering.batched.Rasterizer`.

        Raises:
            ValueError: if the shapes do not cover all particles, for each start state or for all.
        """
        world, b, model = self.world, self.world.buffers, self.world.model
        shapes = np.asarray(self._shapes(world), dtype=np.float32)
        starts, count = len(world.start_positions), model.particle_count
        if shapes.shape not in ((1, count, 3), (starts, count, 3)):
            raise ValueError(f"goal_shapes must return shape (1 or {starts}, {count}, 3), got {shapes.shape}")
        with wp.ScopedDevice(model.device):
            self.new = wp.zeros(world.num_envs, dtype=wp.int32)
            """Mask of pictures that have just been drawn, not zero, shape (num_envs,), int32."""
            self.points = wp.zeros((world.num_envs, count, 3), dtype=float)
            """Particle positions in the pictures [m], shape (num_envs, n, 3), float32."""
            # No episode has the number -1, so that every picture is drawn the first time.
            drawn = wp.full((world.num_envs, 3), -1, dtype=wp.int32), wp.zeros_like(b["parameters"])
        self._find_new = prepare(
            world, find_new, b["seed"], b["episode"], b["start"], b["parameters"], *drawn, self.new
        )
        self._place = copy_points(world, self.new, shapes, self.points)
        self._seen = self.new.numpy() if model.device.is_cpu else None
        tools = [paddle.collider for paddle in world.actions.paddles]
        self.rasterizer = rasterizer.of_points(self.points, self.new, tools)
        for name in rasterizer.images:
            b.share(f"goal_{name}", self.rasterizer.image(name))

    def launch(self) -> None:
        """Draw the goals of new episodes, after the current state has been drawn."""
        self._find_new.launch()
        # The CPU checks whether it is needed; on CUDA checking would cost more than launching.
        if self._seen is None or self._seen.any():
            self._place.launch()
            self.rasterizer.draw(self.world.state)
