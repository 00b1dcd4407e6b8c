"""Which observations a batch has: particles, positions alone, numbers of the task, or pictures."""

from __future__ import annotations

from pbd_gym.envs.core.spaces.features import FeatureObservations
from pbd_gym.envs.core.spaces.goal_pictures import GoalPictures
from pbd_gym.envs.core.spaces.memory import MemoryObservations
from pbd_gym.envs.core.spaces.observations import Observations, ObsMode, ReducedObservations
from pbd_gym.envs.core.spaces.paddles import slots_of
from pbd_gym.envs.core.spaces.pixels import PIXEL_MODES, PixelObservations, Pixels
from pbd_gym.envs.core.task import Batch, Task, View


def make_observations(batch: Batch, task: Task, pixels: Pixels) -> View:
    """Return the observations of a batch, by its mode.

    Raises:
        ValueError: for pictures of goals that have no shape.
    """
    actions = batch.actions
    axes, shown_grips = task.hands.axes, 0 if batch.action_mode == "drag" else actions.grip_count
    if batch.obs_mode in PIXEL_MODES:
        goal_pictures = GoalPictures(batch, task) if pixels.goal_picture else None
        return PixelObservations(batch.obs_mode, pixels, axes, task.goal_particles, goal_pictures)
    if batch.obs_mode == "reduced":
        assert task.reduced is not None  # of a task that has this mode
        return ReducedObservations(task.reduced, len(task.goal_particles), shown_grips)
    remembers = batch.obs_mode == "memory"
    mode: ObsMode = "keypoints" if remembers else batch.obs_mode
    shown: Observations | FeatureObservations
    if task.features is not None:
        shown = FeatureObservations(mode, task.features, batch.scene.particle_count)
    else:
        shown = Observations(
            mode, task.keypoints, task.goal_particles, batch.scene.particle_count, shown_grips, axes,
            slots_of(actions.paddles, batch.model), actions.turns,
        )  # fmt: skip
    return MemoryObservations(shown, actions.grip_count) if remembers else shown
