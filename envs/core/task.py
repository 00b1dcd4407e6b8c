"""What a task fills in: its scene, its goals and scores, the states it starts from, and what pictures of it show."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from pbd_gym.envs.core import randomization
from pbd_gym.envs.core.actions import ActionMode, Hands
from pbd_gym.envs.core.observations import OBS_MODES, ObsMode
from pbd_gym.envs.core.pixels import PIXEL_MODES
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver


class Task:
    """The parts that differ from task to task; :class:`pbd_gym.envs.core.batch.TaskVectorEnv` does the rest.

    A task has to give what raises ``NotImplementedError`` here, ``config_type`` and ``term_names``; all else may be
    left as it is. What families of tasks add to this for their own tasks to fill in is marked *Task* there.
    """

    config: Any
    scene: Scene
    model: Model
    start_positions: np.ndarray
    _ranges: dict[str, randomization.Range]

    config_type: ClassVar[type]
    """Dataclass with its numbers; the core reads ``ctrl_dt``, ``substeps``, ``damping``, ``settle_time``."""
    term_names: ClassVar[tuple[str, ...]]
    """Names of the reward terms."""
    ground_collider: ClassVar[int | None] = None
    """Which of its scene's colliders is the ground, if nothing lies on it at the start."""
    action_modes: ClassVar[tuple[ActionMode, ...]] = ("drag", "picker", "pin", "pick_place")
    """Action modes that make sense, the default first."""
    obs_modes: ClassVar[tuple[ObsMode, ...]] = (*OBS_MODES, *PIXEL_MODES)
    """Observation modes that make sense; without goals there is no ``"goal"``."""
    best_performance: float = 0.0
    """The performance that counts as 1 when normalised."""
    success_at: float = 0.0
    """Normalised performance that counts as success; 0 where the task's score says what success is."""

    def build(self, config: Any) -> tuple[Scene, Hands, np.ndarray, np.ndarray]:
        """Return the scene, what hands can do, the observed keypoints, and the particles that have a goal."""
        raise NotImplementedError

    def record_begin(self, chosen: Any) -> Any:
        """Return the launch that draws goals for the chosen environments and rates their first state.

        Args:
            chosen: device array, shape (num_envs,), int32; not zero where an episode begins.
        """
        raise NotImplementedError

    def record_score(self) -> Any:
        """Return the launch that rates every environment: ``terms``, ``performance`` and ``is_success``."""
        raise NotImplementedError

    def start_shapes(self) -> np.ndarray:
        """Return what is let come to rest to start from [m], shape (starts, n, 3)."""
        return self.scene.positions[None]

    def start_memory(self) -> np.ndarray:
        """Return the permanent strains that episodes start with.

        Returns:
            As :meth:`pbd_gym.sim.state.State.get_memory` has them, one row for all start states or one each, shape
            (1 or starts, k).
        """
        return np.zeros((1, self.model.memory_count))

    @property
    def anchor(self) -> tuple[float, float, float]:
        """The point that stays where it is when the task grows or shrinks [m].

        It is the place on the ground: what stands or lies there goes on doing so.
        """
        return (0.0, self.scene.contact_radius, 0.0)

    @property
    def largest_size(self) -> float:
        """Largest factor of the size that an episode can have."""
        return max(1.0, randomization.declared_size(self._ranges))

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Two corners of the box that pictures show [m], shape (3,) each."""
        lower, upper = self.start_positions.min(axis=(0, 1)), self.start_positions.max(axis=(0, 1))
        margin = 0.3 * (upper - lower).max()
        return lower - margin, upper + margin

    @property
    def goal_radius(self) -> float:
        """Distance within which a particle counts as at its goal [m]."""
        raise NotImplementedError

    def goal_reward(self, achieved: np.ndarray, desired: np.ndarray) -> np.ndarray:
        """Return the reward of ``obs_mode="goal"``, shape (rows,), float32, as the kernel computes it."""
        raise NotImplementedError

    def compute_reward(self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: Any = None) -> np.ndarray:
        """Return the reward of ``obs_mode="goal"`` for goals other than the episode's, for hindsight experience replay.

        Args:
            achieved_goal: as in observations, shape (..., goal size).
            desired_goal: likewise.
            info: not used; Gymnasium's convention for goals has it.

        Returns:
            Shape (...), float32: bit for bit what steps pay.
        """
        achieved, desired = np.asarray(achieved_goal), np.asarray(desired_goal)
        rows = (-1, achieved.shape[-1])
        return self.goal_reward(achieved.reshape(rows), desired.reshape(rows)).reshape(achieved.shape[:-1])

    def make_starts(self, held: np.ndarray) -> np.ndarray:
        """Return what episodes start from, each shape after it has come to rest in hands.

        Args:
            held: particle in each grip, -1 for none, shape (grips,), int32.

        Returns:
            [m], shape (starts, n, 3), float32.
        """
        config = self.config
        shapes = self.start_shapes()
        model = Model(self.scene, len(shapes), device=self.model.device.alias, lanes=self.model.lanes)
        solver = Solver(model, config.substeps, damping=4.0, threads=1)
        state, control = solver.state(), solver.control()
        state.set_positions(shapes)
        if held.size:
            state.hold(held)
        for _ in range(round(config.settle_time / config.ctrl_dt)):
            solver.step(state, control, config.ctrl_dt)
        return state.get_positions()
