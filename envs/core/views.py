"""Which observations a batch has: particles, positions alone, numbers of the task, or pictures."""

from __future__ import annotations

from pbd_gym.envs.core.features import FeatureObservations
from pbd_gym.envs.core.observations import Observations, ReducedObservations
from pbd_gym.envs.core.paddles import slots_of
from pbd_gym.envs.core.pixels import PIXEL_MODES, PixelObservations, Pixels
from pbd_gym.envs.core.task import Batch, Task, View


def make_observations(batch: Batch, task: Task, pixels: Pixels) -> View:
    """Return the observations of a batch, by its mode."""
    actions = batch.actions
    axes, shown_grips = task.hands.axes, 0 if batch.action_mode == "drag" else actions.grip_count
    if batch.obs_mode in PIXEL_MODES:
        return PixelObservations(batch.obs_mode, pixels, axes, task.goal_particles)
    if batch.obs_mode == "reduced":
        assert task.reduced is not None  # of a task that has this mode
        return ReducedObservations(task.reduced, len(task.goal_particles), shown_grips)
    if task.features is not None:
        return FeatureObservations(batch.obs_mode, task.features, batch.scene.particle_count)
    return Observations(
        batch.obs_mode, task.keypoints, task.goal_particles, batch.scene.particle_count, shown_grips, axes,
        slots_of(actions.paddles, batch.model), actions.turns,
    )  # fmt: skip
