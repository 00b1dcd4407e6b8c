"""Tasks, and the world in which a batch of environments plays one.

A :class:`Task` is plain NumPy, made from its configuration: a scene, hands, start states, goals, a score and an expert,
each a separate object. None of them knows an environment. A :class:`World` has what was built from a task for a batch:
model, state, solver and buffers. Parts receive it when their launches are prepared, and experts when they act.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from pbd_gym.envs.core.data.buffers import Buffers, Launches
from pbd_gym.envs.core.data.hands import Actions, Hands
from pbd_gym.envs.core.data.identity import same
from pbd_gym.envs.core.data.modes import PICKER_MODES, ActionMode, Modes
from pbd_gym.envs.core.data.randomization import Randomization
from pbd_gym.envs.core.data.symmetries import Symmetry
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.control import Control
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State

Point = tuple[float, float, float]
"""Coordinates x, y and z [m]; y is up."""
Corners = tuple[np.ndarray, np.ndarray]
"""Lower and upper corner of a box [m], shape (3,) each."""
_Self = TypeVar("_Self")
_Made = TypeVar("_Made")


@dataclass(frozen=True)
class Completion:
    """Conditions for success besides being at the goal; none by default.

    A task that puts something somewhere is done when it stays there by itself: a towel that is held in its place is not
    folded, and one that swings past its place does not lie there. A task about holding requires less.
    """

    let_go: bool = False
    """Whether nothing may be held, neither by the agent nor by a person's hand."""
    rest_speed: float = 0.0
    """Speed below which objects count as at rest [m/s]: the mean over all particles of their displacement since one
    control step earlier, divided by the time between. Fluid particles parked in the depot do not count. 0 if objects
    may move.
    """
    rest_time: float = 0.0
    """Uninterrupted duration of such slow motion [s], in whole control steps and at least one."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """Entries of ``info`` for the separate conditions; success requires all of them. None for the goal alone."""
        found = ("released",) * self.let_go + ("at_rest",) * (self.rest_speed > 0.0)
        return ("at_goal", *found) if found else ()

    def rest_steps(self, ctrl_dt: float) -> int:
        """Return the number of control steps of a given length [s] for which objects must be at rest.

        0 if not required.
        """
        return max(math.ceil(self.rest_time / ctrl_dt - 1e-6), 1) if self.rest_speed > 0.0 else 0


def put_down(config: Any, action_mode: ActionMode) -> Completion:
    """Return the conditions for objects that are put somewhere: hands that can release have, and everything is at rest.

    In modes other than :data:`PICKER_MODES` the agent has nothing to release, so success does not wait for that.

    Args:
        config: numbers of a task, with ``rest_speed`` and ``rest_time``.
        action_mode: action mode of the agent.
    """
    return Completion(action_mode in PICKER_MODES, config.rest_speed, config.rest_time)


@dataclass(frozen=True)
class Condition:
    """A condition for success that a task states itself, such as that nothing has been spilled."""

    name: str
    """Entry of ``info``, which says whether it is met."""
    prepare: Callable[[World, Any], Any]
    """Function of a world and a device array, shape (num_envs,), int32, that returns the launch that writes 1 where it
    is met and 0 elsewhere; see :func:`pbd_gym.envs.core.data.buffers.prepare`.
    """
    required: bool = True
    """Whether success requires it; otherwise ``info`` alone reports it."""


class Part:
    """A part of a task with its own buffers, or with launches at the beginning of an episode."""

    def add_buffers(self, buffers: Buffers) -> None:
        """Add the part's buffers for each environment; :meth:`TaskVectorEnv.get_state` then saves them as well."""

    def begin(self, world: World, chosen: Any) -> Sequence[Any]:
        """Return launches for the environments that begin an episode.

        Args:
            world: the environments.
            chosen: device array, shape (num_envs,), int32; not zero where an episode begins.
        """
        return ()


class Score(Part):
    """Score of an environment: reward terms, performance and success.

    A score fills the buffers ``terms`` (num_envs, terms), ``performance`` (num_envs,) and, where :attr:`success_at` is
    0, ``at_goal``. Its :meth:`begin` runs last of all parts, and sets ``start_performance``.
    """

    term_names: tuple[str, ...]
    """Names of the reward terms; their sum is the dense reward."""
    goal_radius: float
    """Distance within which a particle counts as at its goal [m]."""
    best_performance: float = 0.0
    """Performance that counts as 1 when normalised."""
    success_at: float = 0.0
    """Normalised performance that counts as being at the goal; 0 if the score decides that itself."""
    completion: Completion = Completion()
    """Further conditions for success: let go, at rest."""
    conditions: Sequence[Condition] = ()
    """Further conditions for success, of the task itself."""

    @property
    def condition_names(self) -> tuple[str, ...]:
        """Entries of ``info`` for the separate conditions; none for the goal alone."""
        own = tuple(condition.name for condition in self.conditions)
        return (*(self.completion.conditions or ("at_goal",) * bool(own)), *own)

    def rate(self, world: World) -> Launches:
        """Return the launches that rate every environment."""
        raise NotImplementedError

    def goal_reward(self, world: World, achieved: np.ndarray, desired: np.ndarray) -> np.ndarray:
        """Return the reward of ``obs_mode="goal"`` for rows of goals, identical to the bit to the reward of steps.

        Args:
            world: the environments.
            achieved: positions of the goal particles [m], shape (rows, axes * goal particles).
            desired: their goals [m], shape (rows, axes * goal particles).

        Returns:
            Shape (rows,), float32.
        """
        raise NotImplementedError


class Starts(Protocol):
    """Start states of episodes."""

    def positions(self, world: World, held: np.ndarray) -> np.ndarray:
        """Return the positions of the particles [m], shape (starts, n, 3), float32.

        Args:
            world: the environments, which do not have their start states yet.
            held: particle in each grip at the start, -1 for none, shape (grips,), int32.
        """

    def strains(self, world: World) -> np.ndarray:
        """Return the permanent strains of clay, shape (1 or starts, k); k is 0 for other materials."""


@dataclass(frozen=True)
class Reduced:
    """Content of ``obs_mode="reduced"``: positions alone, as in SoftGym's ``key_point`` observations."""

    particles: np.ndarray
    """Particles, shape (k,), int."""
    goals: bool = False
    """Whether the places of all goals follow."""


@dataclass(frozen=True)
class Features:
    """Numbers that describe the state of a task."""

    count: int
    """Count of the numbers."""
    prepare: Callable[[World, Any, int], Any]
    """Function of the world, the array of observations, shape (num_envs, size), and the column of the first number that
    returns the launch that writes them; see :func:`pbd_gym.envs.core.data.buffers.prepare`.
    """


Expert = Callable[["World"], np.ndarray]
"""Function of a world that returns actions for every environment, shape (num_envs, size), float32; called once before
every step.
"""


@dataclass(eq=False, repr=False)
class Task:
    """The parts of a task.

    A custom task is a subclass, built from its numbers and a user's choices: ``Towel(config, modes)``. Equal arguments
    make equal tasks, and no device is touched.
    """

    scene: Scene
    """Scene of one environment."""
    hands: Hands
    """Capabilities of the agent."""
    keypoints: np.ndarray
    """Particles shown by ``obs_mode="keypoints"`` and ``"goal"``, shape (k,), int."""
    goal_particles: np.ndarray
    """Particles that have a goal, shape (k,), int; empty in a task without goals."""
    starts: Starts
    """Start states of episodes."""
    score: Score
    """Reward, performance and success."""
    parts: Sequence[Part] = ()
    """Other parts, in the order in which they begin an episode: the sampler of goals first."""
    reduced: Reduced | None = None
    """Content of ``obs_mode="reduced"``, in tasks that have it."""
    features: Features | None = None
    """Numbers that ``obs_mode="keypoints"`` shows in place of particles, and ``"particles"`` after them."""
    start_poses: Callable[[World], np.ndarray] | None = None
    """Function that returns the poses of moving colliders for each start state, shape (1 or starts, moving, 7), as
    :meth:`pbd_gym.sim.state.State.get_poses`; by default their original poses.
    """
    expert: Expert | None = None
    """A script that solves the task, if there is one."""
    ground: int | None = None
    """Number of the ground's collider, if nothing lies on it at the start; ``randomize`` can then move it."""
    anchor: Point | None = None
    """Fixed point when the task grows or shrinks [m]; by default the origin on the ground."""
    goal_shapes: Callable[[World], np.ndarray] | None = None
    """Function that returns the goal shape of all particles for each start state [m], shape (1 or starts, n, 3), if the
    goal is such a shape: ``pixels={"goal_picture": True}`` shows it.
    """
    symmetries: Sequence[Symmetry] = ()
    """Transformations to equally likely situations; agents can learn from these images as well."""
    counts_passages: bool = False
    """Whether the task needs buffer ``passages``: how often ropes and cloth went through each other in an action."""
    view_box: Corners | Callable[[np.ndarray], Corners] | None = None
    """Region that pictures show: a box, or a function of the start positions [m], shape (starts, n, 3), that returns
    one. By default a box around these.
    """

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and same(vars(self), vars(other))

    def __repr__(self) -> str:
        scene, terms = self.scene, ", ".join(self.score.term_names)
        return (
            f"<{type(self).__name__}: {scene.particle_count} particles, {len(scene.colliders)} colliders, "
            f"{len(self.hands.particles)} hands, {len(self.keypoints)} keypoints, {len(self.goal_particles)} goals, "
            f"{type(self.starts).__name__}, {type(self.score).__name__} of {terms}>"
        )


@dataclass(eq=False, repr=False)
class World:
    """A batch of environments as its task sees it: the simulation, and the data kept for each environment."""

    task: Task
    """Task of the environments."""
    config: Any
    """Numbers of the task."""
    modes: Modes
    """Modes of actions, observations and rewards."""
    num_envs: int
    """Environments in the batch."""
    max_episode_steps: int | None
    """Steps after which an episode is truncated; None for no limit."""
    actions: Actions
    """Meaning of the numbers of an action."""
    hand_grip: int | None
    """Grip for a person's use, if requested."""
    model: Model
    solver: Solver
    state: State
    control: Control
    randomization: Randomization
    """Parameters that differ between environments."""
    buffers: Buffers
    """Data of each environment besides its physics."""
    start_positions: np.ndarray = field(init=False)
    """Start configurations of episodes [m], shape (starts, n, 3), float32; available once they have been sampled."""
    plans: list[Any] = field(init=False)
    """Remaining plan of a scripted expert in each environment."""
    kept: dict[Any, Any] = field(default_factory=dict)
    """Results of methods that are :func:`worked_out_once`."""

    def __post_init__(self) -> None:
        self.plans = [[] for _ in range(self.num_envs)]

    @property
    def scene(self) -> Scene:
        """Scene of one environment."""
        return self.task.scene

    @property
    def goal_particles(self) -> np.ndarray:
        """Particles that have a goal, shape (k,), int."""
        return self.task.goal_particles

    @property
    def anchor(self) -> Point:
        """Fixed point when the task grows or shrinks [m]; by default it is on the ground."""
        return self.task.anchor or (0.0, self.scene.contact_radius, 0.0)

    @property
    def view_box(self) -> Corners:
        """Two corners of the box that pictures show [m], shape (3,) each."""
        given = self.task.view_box
        if given is not None:
            return given(self.start_positions) if callable(given) else given
        lower, upper = self.start_positions.min(axis=(0, 1)), self.start_positions.max(axis=(0, 1))
        margin = 0.3 * (upper - lower).max()
        return lower - margin, upper + margin


def worked_out_once(method: Callable[[_Self, World], _Made]) -> Callable[[_Self, World], _Made]:
    """Decorator that makes a part's method of a world compute its result only once for each world."""

    @functools.wraps(method)
    def found(part: _Self, world: World) -> _Made:
        key = id(part), method.__qualname__
        if key not in world.kept:
            world.kept[key] = part, method(part, world)  # the part as well, so that nothing else gets its id
        made: _Made = world.kept[key][1]
        return made

    return found
