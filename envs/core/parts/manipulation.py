"""Weighted measures: the score of tasks in which hands or paddles change the shape of cloth, rope or soft bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.buffers import Buffers, Launches, device_indices, prepare
from pbd_gym.envs.core.data.modes import Modes
from pbd_gym.envs.core.data.solving import SolverConfig
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts import measures
from pbd_gym.envs.core.parts.goals import goal_points
from pbd_gym.envs.core.task import Completion, Condition, Score, World, put_down


@dataclass(frozen=True)
class ManipulationConfig(SolverConfig):
    """Numbers of tasks that are scored by :class:`WeightedMeasures` and start from a bank of states."""

    held_out_goals: ClassVar[bool] = False
    """Whether evaluation states have goals that none of the others has."""
    damping: float = 1.0
    """Rate at which particles lose velocity to the air [1/s]."""
    friction: float = 0.75
    """Coulomb coefficient of the ground and of particles on one another."""
    ctrl_dt: float = 0.08
    """Time between actions [s]."""
    substeps: int | None = 32
    """Simulation steps per action; None for the number that the bodies need
    (:func:`pbd_gym.sim.substeps.needed_substeps`).
    """
    max_step: float = 0.08
    """Largest move of a hand along an axis per action [m]."""
    starts: int = 64
    """Number of start states: four fifths for training, the rest for evaluation; a single one serves both."""
    starts_seed: int = 0
    """Seed from which these states are sampled."""
    success_at: float = 0.9
    """Normalised performance that counts as being at the goal. Success requires more; see :class:`Completion`."""
    in_place: float = 0.9
    """Share of the particles with goals that must lie within their radius for success; 0 for none. Their mean distance
    forgives a few that are far off.
    """
    rest_speed: float = 0.01
    """Mean speed of the particles below which they count as at rest [m/s]. Objects at rest in these tasks, including
    towels that hang and creep, move by less than 0.003 m/s.
    """
    rest_time: float = 0.2
    """Duration of such slow motion required for success [s]; longer than a swinging object takes to turn around."""
    effort_weight: float = 0.0
    """Reward lost for an action of mean square one."""
    best: float | None = field(default=None, metadata={"signed": True})
    """Performance that counts as 1 when normalised; by default the best possible."""

    def __post_init__(self) -> None:
        check_numbers(self, positive=("ctrl_dt", "max_step", "substeps", "starts", "success_at", "rest_speed"))


@dataclass(frozen=True)
class Measure:
    """A measure of the object's shape or place, with its weight in the performance."""

    name: str
    """Name of the reward term."""
    weight: float
    """Gain of performance per unit."""
    prepare: Callable[[World, Any], Any]
    """Function of a world and a device array, shape (num_envs,), that returns the launch that fills it; see
    :func:`prepare`.
    """
    shaping: bool = False
    """Whether it only helps learning: it is part of the dense reward, but not of the performance."""


def goal_distance() -> Measure:
    """Return the measure ``distance``: minus the mean distance of the goal particles from their goals [m]."""
    return Measure("distance", -1.0, _mean_distance)


def _mean_distance(world: World, out: Any) -> Any:
    parameters = world.buffers["parameters"]
    if world.modes.only_goals:  # as it is, since rewards follow from goals alone, which do not tell the size
        parameters = wp.ones((world.num_envs, 1), dtype=float, device=world.model.device)
    return prepare(
        world, measures.mean_distance_to_goals, device_indices(world, world.goal_particles), world.buffers["goals"],
        parameters, world.model.lanes, world.state.positions_scalar, out,
    )  # fmt: skip


class WeightedMeasures(Score):
    """Weighted measures of the object: their sum is the performance, and the dense reward.

    Each measure is a reward term, and ``effort`` is the last term. Normalised performance is 0 at the start and 1 at
    ``best``; ``config.success_at`` of it counts as being at the goal. With ``obs_mode="goal"`` the only measure is the
    mean distance of the goal particles from their goals, so that rewards follow from the goals alone; success still
    requires the rest of ``completion``.

    Args:
        config: the task's numbers.
        modes: modes of actions, observations and rewards.
        measures: terms of the performance.
        goal_tolerance: mean distance at which goals count as reached [m].
        best: performance that counts as 1 when normalised, unless ``config.best`` is given.
        zero: performance that counts as 0 when normalised; by default that of the first state.
        completion: conditions for success besides being at the goal; by default that hands have released, if they can,
            and that everything is at rest (``config.rest_speed`` and ``rest_time``).
        conditions: the task's own conditions for success, whatever the observations.
    """

    def __init__(
        self,
        config: ManipulationConfig,
        modes: Modes,
        measures: Sequence[Measure],
        goal_tolerance: float = 0.05,
        best: float = 0.0,
        zero: float | None = None,
        completion: Completion | None = None,
        conditions: Sequence[Condition] = (),
    ) -> None:
        self.only_goals = modes.only_goals
        self.measures = [goal_distance()] if self.only_goals else list(measures)
        self.term_names = (*(measure.name for measure in self.measures), "effort")
        self.goal_radius = goal_tolerance
        given = config.best
        self.best_performance = 0.0 if self.only_goals else best if given is None else given
        self.success_at = 0.0 if self.only_goals else config.success_at
        self.zero = None if self.only_goals else zero
        self.conditions = tuple(conditions)
        self.completion = put_down(config, modes.action_mode) if completion is None else completion

    def add_buffers(self, buffers: Buffers) -> None:
        buffers.add("measures", (len(self.measures),))

    def rate(self, world: World) -> Launches:
        """Return the launches that rate every environment."""
        b, device = world.buffers, world.model.device
        launches = Launches(measure.prepare(world, b["measures"][:, k]) for k, measure in enumerate(self.measures))
        weights = wp.array([measure.weight for measure in self.measures], dtype=float, device=device)
        counts = wp.array([float(not measure.shaping) for measure in self.measures], dtype=float, device=device)
        effort_weight = 0.0 if self.only_goals else world.config.effort_weight
        launches.append(
            prepare(
                world, measures.weigh, b["measures"], weights, counts, b["actions"], effort_weight,
                b["terms"], b["performance"],
            )
        )  # fmt: skip
        if self.only_goals:
            sparse, radius = int(world.modes.reward_mode == "sparse"), self.goal_radius
            launches.append(
                prepare(world, measures.reach_goals, b["measures"], sparse, radius, b["terms"], b["at_goal"])
            )
        return launches

    def begin(self, world: World, chosen: Any) -> Sequence[Any]:
        """Return the launches that rate the first state of an episode."""
        fixed, zero = int(self.zero is not None), self.zero or 0.0
        compare = prepare(world, measures.rate_start, chosen, fixed, zero, measures.first_rating(world))
        return [*self.rate(world), compare]

    def goal_reward(self, world: World, achieved: np.ndarray, desired: np.ndarray) -> np.ndarray:
        """Return the reward of ``obs_mode="goal"``, shape (rows,), float32; see :meth:`Score.goal_reward`."""
        points = goal_points(world, achieved, desired)
        reward = np.zeros(len(achieved), dtype=np.float32)
        sparse, out = int(world.modes.reward_mode == "sparse"), wp.array(reward, device="cpu", copy=False)
        wp.launch(measures.rate_goals, len(achieved), [*points, sparse, self.goal_radius, out], device="cpu")
        return reward
