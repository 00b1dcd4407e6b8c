"""Tasks in which pickers change the shape of cloth, rope or soft bodies: what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import warp as wp

from pbd_gym.envs.core import measures
from pbd_gym.envs.core.actions import ActionMode
from pbd_gym.envs.core.batch import TaskVectorEnv
from pbd_gym.envs.core.episode_launches import Launches
from pbd_gym.envs.core.experts import Script, Waypoint
from pbd_gym.envs.core.paddles import slots_of
from pbd_gym.envs.core.randomization import SIZE
from pbd_gym.envs.core.start_bank import cached


@dataclass(frozen=True)
class ManipulationConfig:
    """Numbers that all of these tasks have."""

    damping: float = 1.0
    """Rate at which particles lose velocity to the air [1/s]."""
    friction: float = 0.75
    """Coulomb coefficient of the ground and of particles on one another."""
    ctrl_dt: float = 0.08
    """Time between actions [s]."""
    substeps: int = 32
    """Simulation steps per action."""
    max_step: float = 0.08
    """Largest move of a picker along an axis per action [m]."""
    starts: int = 64
    """States that episodes start from: four fifths for training, the rest for evaluation."""
    starts_seed: int = 0
    """What these states are drawn from."""
    success_at: float = 0.9
    """Normalised performance that counts as success."""
    effort_weight: float = 0.0
    """Reward lost for an action of mean square one."""


@dataclass(frozen=True)
class Measure:
    """A number that says how the object lies, and what it counts in the performance."""

    name: str
    """Of the reward term."""
    weight: float
    """What the performance gains per unit."""
    record: Callable[[Any], Any]
    """From a device array, shape (num_envs,), to the launch that fills it."""
    shaping: bool = False
    """Whether it helps to learn only: it is part of the dense reward, but not of the performance."""


class ManipulationVectorEnv(TaskVectorEnv):
    """Batch of a task whose performance is a weighted sum of measures of the shape.

    A task fills in ``build`` (core), :meth:`measures`, :meth:`draw_starts`, :meth:`goal_sets` where it has goals, and
    :meth:`plan`. ``performance`` is ``offset`` plus the weighted measures, each of which is a reward term, so that
    the dense reward is the performance; ``effort`` is the last term.
    """

    config: ManipulationConfig
    action_modes: ClassVar[tuple[ActionMode, ...]] = ("picker", "pick_place")
    offset: float = 0.0
    """*Task*: constant part of the performance."""
    start_value: float | None = None
    """*Task*: performance that counts as 0 when normalised; that of the first state where it is None."""
    goal_tolerance: float = 0.05
    """*Task*: mean distance at which goals count as reached [m]."""
    _script: Script | None = None

    # --- task ---------------------------------------------------------------------------------------------------------

    def measures(self) -> Sequence[Measure]:
        """*Task*: return what the performance is made of."""
        raise NotImplementedError

    def draw_starts(self, rng: np.random.Generator) -> np.ndarray:
        """*Task*: return the states that episodes start from, at rest [m], shape (starts, n, 3)."""
        raise NotImplementedError

    def goal_sets(self) -> np.ndarray:
        """*Task*, where goal particles have goals: return them for each start state [m], shape (1 or starts, k, 3)."""
        return np.zeros((1, len(self.goal_particles), 3))

    def plan(self, env: int) -> Iterable[Waypoint]:
        """*Task*: return where a scripted expert would lead the hands of an environment from now on.

        It is asked again when they have got there; no waypoints leave the hands open and where they are.
        """
        raise NotImplementedError

    # --- expert -------------------------------------------------------------------------------------------------------

    def expert(self) -> np.ndarray:
        """Return what a scripted expert would do now, shape (num_envs, size), float32.

        It plans for each episode from the state, at its start and when a plan is done: ask before every step.
        """
        if self._script is None:
            self._script = Script(self, self.plan)
        return self._script.actions()

    def grown(self, points: np.ndarray, env: int) -> np.ndarray:
        """Return points of the scene where they are in an environment of another size [m], shape (..., 3)."""
        anchor = np.array(self.anchor)
        return anchor + float(self.buffers.peek("parameters")[env, int(SIZE)]) * (points - anchor)

    # --- what experts look at -----------------------------------------------------------------------------------------

    @property
    def sizes(self) -> np.ndarray:
        """Size of each environment, shape (num_envs, 1)."""
        return self.buffers.peek("parameters")[:, [int(SIZE)]].astype(np.float64)

    def paddle_places(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where paddles are [m], shape (num_envs, paddles, 3), and their angles [rad], (num_envs, paddles)."""
        poses = self.state.get_poses()[:, slots_of(self.actions.paddles, self.model)].astype(np.float64)
        return poses[..., :3], 2.0 * np.arctan2(poses[..., 4], poses[..., 6])

    def goals_and_points(self) -> tuple[np.ndarray, np.ndarray]:
        """Return goals and where the goal particles are [m], shape (num_envs, k, 3) each."""
        points = self.state.get_positions()[:, self.goal_particles].astype(np.float64)
        return self.buffers.peek("goals").astype(np.float64), points

    def paddle_actions(self, moves: np.ndarray, turns: np.ndarray | None = None) -> np.ndarray:
        """Return the actions for moves of paddles.

        Args:
            moves: what is to be gone [m], shape (num_envs, paddles, 3); as much of it as one action can is done.
            turns: what is to be turned [rad], shape (num_envs, paddles), for paddles that turn.

        Returns:
            Shape (num_envs, size), float32.
        """
        parts = [moves / self.config.max_step]
        if turns is not None:
            parts.append(turns[..., None] / self.actions.hands.max_turn)
        actions: Any = np.clip(np.concatenate(parts, axis=2), -1.0, 1.0)
        return actions.reshape(self.num_envs, -1).astype(np.float32)

    # --- core ---------------------------------------------------------------------------------------------------------

    @property
    def goal_radius(self) -> float:
        return self.goal_tolerance

    def make_starts(self, held: np.ndarray) -> np.ndarray:
        what = (type(self), self.config, self.action_mode if held.size and (held >= 0).any() else None)
        rng = np.random.default_rng(self.config.starts_seed)
        shape = (self.config.starts, self.scene.particle_count, 3)
        return cached(what, self.model.device, lambda: np.asarray(self.draw_starts(rng), dtype=np.float32), shape)

    def _make_buffers(self) -> Any:
        self.success_at = 0.0 if self.obs_mode == "goal" else self.config.success_at
        self.used_measures = list(self.measures())
        if self.obs_mode == "goal":
            self.used_measures = [Measure("distance", -1.0, self.record_goal_distance)]
        # An instance's terms, since goal mode has one measure only.
        self.term_names = (*(m.name for m in self.used_measures), "effort")  # type: ignore[misc]
        buffers = super()._make_buffers()
        buffers.add("measures", (len(self.used_measures),))
        return buffers

    def launch(self, kernel: Any, *inputs: Any) -> Any:
        """Record a launch of a kernel over the environments."""
        return wp.launch(kernel, dim=self.num_envs, inputs=list(inputs), device=self.model.device, record_cmd=True)

    def indices(self, particles: Any) -> Any:
        """Return particles as a device array, shape (k,), int32."""
        return wp.array(np.asarray(particles, dtype=np.int32).ravel(), device=self.model.device)

    def record_goal_distance(self, out: Any) -> Any:
        """Return the launch for the mean distance of the goal particles to their goals [m]."""
        parameters, *where = self.where
        if self.obs_mode == "goal":  # as it is, since :meth:`goal_reward` sees goals and is told no size
            parameters = wp.ones((self.num_envs, 1), dtype=float, device=self.model.device)
        return self.launch(
            measures.mean_distance_to_goals, self.indices(self.goal_particles), self.buffers["goals"],
            parameters, *where, out,
        )  # fmt: skip

    @property
    def where(self) -> tuple[Any, ...]:
        """What every measure reads: sizes, the lane count and positions."""
        return self.buffers["parameters"], self.model.lanes, self.state.positions_scalar

    def record_score(self) -> Any:
        b, config, launches = self.buffers, self.config, Launches()
        for k, measure in enumerate(self.used_measures):
            launches.append(measure.record(b["measures"][:, k]))
        weights = wp.array([m.weight for m in self.used_measures], dtype=float, device=self.model.device)
        counts = wp.array([float(not m.shaping) for m in self.used_measures], dtype=float, device=self.model.device)
        goal = self.obs_mode == "goal"
        launches.append(
            self.launch(
                measures.weigh, b["measures"], weights, counts, 0.0 if goal else self.offset, b["actions"],
                0.0 if goal else config.effort_weight, b["terms"], b["performance"],
            )
        )  # fmt: skip
        if goal:
            sparse = int(self.reward_mode == "sparse")
            launches.append(
                self.launch(measures.reach_goals, b["measures"], sparse, self.goal_radius, b["terms"], b["is_success"])
            )
        return launches

    def record_begin(self, chosen: Any) -> Any:
        b, launches = self.buffers, Launches()
        if len(self.goal_particles):
            sets = wp.array(self.goal_sets(), dtype=wp.vec3, ndim=2, device=self.model.device)
            dim = (self.num_envs, len(self.goal_particles))
            inputs = [chosen, b["start"], sets, b["parameters"], wp.vec3(*self.anchor), b["goals"]]
            device = self.model.device
            launches.append(wp.launch(measures.draw_goal_set, dim, inputs, device=device, record_cmd=True))
        launches.append(self.record_score())
        fixed = self.start_value is not None and self.obs_mode != "goal"
        launches.append(
            self.launch(
                measures.rate_start, chosen, int(fixed), self.start_value if fixed else 0.0, b["performance"],
                b["start_performance"], b["normalized_performance"], b["is_success"],
            )
        )  # fmt: skip
        return launches

    def goal_reward(self, achieved: np.ndarray, desired: np.ndarray) -> np.ndarray:
        """Return the reward of ``obs_mode="goal"`` for rows of goals: minus their mean distance [m], or 0 and -1.

        Args:
            achieved: positions of the goal particles [m], shape (rows, 3 * goal particles).
            desired: their goals [m], likewise.

        Returns:
            Shape (rows,), float32.
        """
        shape = (len(achieved), len(self.goal_particles), 3)
        points = [np.ascontiguousarray(np.reshape(p, shape), dtype=np.float32) for p in (achieved, desired)]
        reward = np.zeros(len(achieved), dtype=np.float32)
        wp.launch(
            measures.rate_goals,
            dim=len(achieved),
            inputs=[
                *(wp.array(p, device="cpu", copy=False) for p in points), int(self.reward_mode == "sparse"),
                self.goal_radius, wp.array(reward, device="cpu", copy=False),
            ],
            device="cpu",
        )  # fmt: skip
        return reward
