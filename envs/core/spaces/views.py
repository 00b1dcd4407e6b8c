"""Which observations a batch has: particles, positions alone, numbers of the task, or pictures."""

from __future__ import annotations

from pbd_gym.envs.core.data.hands import slots_of
from pbd_gym.envs.core.data.modes import PIXEL_MODES, ObsMode
from pbd_gym.envs.core.spaces.goal_pictures import GoalPictures
from pbd_gym.envs.core.spaces.observations import (
    FeatureObservations,
    MemoryObservations,
    Observations,
    ReducedObservations,
)
from pbd_gym.envs.core.spaces.pixels import PixelObservations, Pixels
from pbd_gym.envs.core.task import World

View = Observations | ReducedObservations | FeatureObservations | MemoryObservations | PixelObservations
"""What agents see."""


def make_observations(world: World, pixels: Pixels, name: str) -> View:
    """Return the observations of a batch, by its mode.

    Args:
        world: the environments.
        pixels: how pictures are taken.
        name: what messages call the environments.

    Raises:
        ValueError: for pictures of goals that have no shape.
    """
    task, acts, obs_mode = world.task, world.actions, world.modes.obs_mode
    axes, shown_grips, count = task.hands.axes, 0 if acts.mode == "drag" else acts.grip_count, task.scene.particle_count
    if obs_mode in PIXEL_MODES:
        goal_pictures = GoalPictures(world, name) if pixels.goal_picture else None
        return PixelObservations(obs_mode, pixels, axes, task.goal_particles, goal_pictures)
    if obs_mode == "reduced":
        assert task.reduced is not None  # of a task that has this mode
        return ReducedObservations(task.reduced, len(task.goal_particles), shown_grips)
    mode: ObsMode = "keypoints" if obs_mode == "memory" else obs_mode
    shown: Observations | FeatureObservations
    if task.features is not None:
        shown = FeatureObservations(mode, task.features, count)
    else:
        shown = Observations(
            mode, task.keypoints, task.goal_particles, count, shown_grips, axes,
            slots_of(acts.paddles, world.model), acts.turns,
        )  # fmt: skip
    return MemoryObservations(shown, acts.grip_count) if obs_mode == "memory" else shown
