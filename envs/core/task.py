"""What a task is, and the world in which a batch of environments plays it.

A :class:`Task` is plain NumPy, made from its configuration: a scene, hands, start states, goals, a score and an expert,
each an object of its own. None of them knows an environment. A :class:`World` has what was made of a task for a batch:
model, state, solver and buffers. Parts are given it when their launches are prepared, and experts when they act.
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
"""x, y and z [m]; y is up."""
Corners = tuple[np.ndarray, np.ndarray]
"""Lower and upper corner of a box [m], shape (3,) each."""
_Self = TypeVar("_Self")
_Made = TypeVar("_Made")


@dataclass(frozen=True)
class Completion:
    """What success asks for besides being at the goal; nothing by default.

    A task that puts something somewhere is done when it stays there by itself: a towel that is held in its place is
    not folded, and one that swings past its place does not lie there. A task whose point is to hold asks for less.
    """

    let_go: bool = False
    """Whether nothing may be held, neither by the agent nor by a person's hand."""
    rest_speed: float = 0.0
    """Speed up to which things are at rest [m/s]: the mean over all particles of how far each is from where it was one
    control step earlier, divided by the time between. Particles of a fluid that wait in its depot do not count. 0 where
    things may move."""
    rest_time: float = 0.0
    """How long they have to be so slow, without interruption [s], in whole control steps and one at least."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """Entries of ``info`` that say what is missing; success is all of them together. None for the goal alone."""
        found = ("released",) * self.let_go + ("at_rest",) * (self.rest_speed > 0.0)
        return ("at_goal", *found) if found else ()

    def rest_steps(self, ctrl_dt: float) -> int:
        """Return the control steps of a length [s] that things have to be at rest for; 0 if they need not be."""
        return max(math.ceil(self.rest_time / ctrl_dt - 1e-6), 1) if self.rest_speed > 0.0 else 0


def put_down(config: Any, action_mode: ActionMode) -> Completion:
    """Return what is asked of things that are put somewhere: hands that can let go have, and all is at rest.

    In modes other than :data:`PICKER_MODES` there is nothing that success could wait for the agent to let go.

    Args:
        config: the numbers of a task, with ``rest_speed`` and ``rest_time``.
        action_mode: how the agent acts.
    """
    return Completion(action_mode in PICKER_MODES, config.rest_speed, config.rest_time)


class Part:
    """A part of a task that has buffers of its own, or something to do when an episode begins."""

    def add_buffers(self, buffers: Buffers) -> None:
        """Add what is kept for each environment; :meth:`TaskVectorEnv.get_state` then saves it as well."""

    def begin(self, world: World, chosen: Any) -> Sequence[Any]:
        """Return launches for the environments that begin an episode.

        Args:
            world: the environments.
            chosen: device array, shape (num_envs,), int32; not zero where an episode begins.
        """
        return ()


class Score(Part):
    """How well an environment does: reward terms, performance and success.

    A score fills the buffers ``terms`` (num_envs, terms), ``performance`` (num_envs,) and, where :attr:`success_at` is
    0, ``at_goal``. Its :meth:`begin` runs last of all parts, and sets ``start_performance``.
    """

    term_names: tuple[str, ...]
    """Names of the reward terms; their sum is the dense reward."""
    goal_radius: float
    """Distance within which a particle counts as at its goal [m]."""
    best_performance: float = 0.0
    """The performance that counts as 1 when normalised."""
    success_at: float = 0.0
    """Normalised performance that counts as being at the goal; 0 where the score decides that itself."""
    completion: Completion = Completion()
    """What success asks for besides that."""

    def rate(self, world: World) -> Launches:
        """Return the launches that rate every environment."""
        raise NotImplementedError

    def goal_reward(self, world: World, achieved: np.ndarray, desired: np.ndarray) -> np.ndarray:
        """Return the reward of ``obs_mode="goal"`` for rows of goals, to the bit what steps pay.

        Args:
            world: the environments.
            achieved: positions of the goal particles [m], shape (rows, axes * goal particles).
            desired: their goals [m], likewise.

        Returns:
            Shape (rows,), float32.
        """
        raise NotImplementedError


class Starts(Protocol):
    """The states that episodes start from."""

    def positions(self, world: World, held: np.ndarray) -> np.ndarray:
        """Return where the particles are [m], shape (starts, n, 3), float32.

        Args:
            world: the environments, which do not have their start states yet.
            held: particle in each grip at the start, -1 for none, shape (grips,), int32.
        """

    def strains(self, world: World) -> np.ndarray:
        """Return the permanent strains of clay, shape (1 or starts, k); k is 0 for everything else."""


@dataclass(frozen=True)
class Reduced:
    """What ``obs_mode="reduced"`` shows: positions alone, as SoftGym's ``key_point`` observations."""

    particles: np.ndarray
    """Particles, shape (k,), int."""
    goals: bool = False
    """Whether the places of all goals follow."""


@dataclass(frozen=True)
class Features:
    """Numbers that say how a task stands."""

    count: int
    """How many there are."""
    prepare: Callable[[World, Any, int], Any]
    """From the world, the array of observations, shape (num_envs, size), and the column of the first of them to the
    launch that fills them in; see :func:`pbd_gym.envs.core.data.buffers.prepare`."""


Expert = Callable[["World"], np.ndarray]
"""What to do now: actions for every environment, shape (num_envs, size), float32. Asked once before every step."""


@dataclass(eq=False, repr=False)
class Task:
    """The parts of a task. A task of its own is a subclass, made from its numbers and from what a user chose:
    ``Towel(config, modes)``. Equal arguments make equal tasks, and no device is touched.
    """

    scene: Scene
    """What one environment holds."""
    hands: Hands
    """What the agent can do."""
    keypoints: np.ndarray
    """Particles that ``obs_mode="keypoints"`` and ``"goal"`` show, shape (k,), int."""
    goal_particles: np.ndarray
    """Particles that have a goal, shape (k,), int; empty in a task without goals."""
    starts: Starts
    """What episodes start from."""
    score: Score
    """Reward, performance and success."""
    parts: Sequence[Part] = ()
    """Other parts, in the order in which they begin an episode: what samples goals, first of all."""
    reduced: Reduced | None = None
    """What ``obs_mode="reduced"`` shows, in tasks that have it."""
    features: Features | None = None
    """Numbers that ``obs_mode="keypoints"`` shows in place of particles, and ``"particles"`` after them."""
    start_poses: Callable[[World], np.ndarray] | None = None
    """Returns the poses of the colliders that move for each start state, shape (1 or starts, moving, 7), as
    :meth:`pbd_gym.sim.state.State.get_poses`; by default they are where they were added."""
    expert: Expert | None = None
    """A script that solves the task, if there is one."""
    ground: int | None = None
    """Number of the collider that is the ground, if nothing lies on it at the start; ``randomize`` can then move it."""
    anchor: Point | None = None
    """The point that stays where it is when the task grows or shrinks [m]; by default the origin on the ground."""
    goal_shapes: Callable[[World], np.ndarray] | None = None
    """Returns how all particles are to lie for each start state [m], shape (1 or starts, n, 3), if the goal is such a
    shape: ``pixels={"goal_picture": True}`` shows it."""
    symmetries: Sequence[Symmetry] = ()
    """Ways to see it as another one that is as likely; agents can learn from images as well."""
    view_box: Corners | Callable[[np.ndarray], Corners] | None = None
    """What pictures show: a box, or what returns it for the start positions [m], shape (starts, n, 3). By default one
    around these."""

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
    """A batch of environments as its task sees it: what is simulated, and what is kept for each of them."""

    task: Task
    """What is played."""
    config: Any
    """The numbers of the task."""
    modes: Modes
    """How agents act, see and are paid."""
    num_envs: int
    """Environments in the batch."""
    max_episode_steps: int | None
    """Steps after which an episode is truncated; None for no limit."""
    actions: Actions
    """What the numbers of an action mean."""
    hand_grip: int | None
    """Grip that a person may use, if asked for."""
    model: Model
    solver: Solver
    state: State
    control: Control
    randomization: Randomization
    """Which parameters differ from environment to environment."""
    buffers: Buffers
    """What is kept for each environment besides its physics."""
    start_positions: np.ndarray = field(init=False)
    """Configurations that episodes start from [m], shape (starts, n, 3), float32; there once they have been sampled."""
    plans: list[Any] = field(init=False)
    """What a scripted expert has still to do in each environment."""
    kept: dict[Any, Any] = field(default_factory=dict)
    """Results of methods that are :func:`worked_out_once`."""

    def __post_init__(self) -> None:
        self.plans = [[] for _ in range(self.num_envs)]

    @property
    def scene(self) -> Scene:
        """What one environment holds."""
        return self.task.scene

    @property
    def goal_particles(self) -> np.ndarray:
        """Particles that have a goal, shape (k,), int."""
        return self.task.goal_particles

    @property
    def anchor(self) -> Point:
        """The point that stays where it is when the task grows or shrinks [m]; by default it is on the ground."""
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
    """Let a method of a part, which is given a world alone, work something out once for each world."""

    @functools.wraps(method)
    def found(part: _Self, world: World) -> _Made:
        key = id(part), method.__qualname__
        if key not in world.kept:
            world.kept[key] = part, method(part, world)  # the part as well, so that nothing else gets its id
        made: _Made = world.kept[key][1]
        return made

    return found
