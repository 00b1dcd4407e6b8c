"""What a task is composed of: a scene, hands, start states, goals, a score and an expert, each an object of its own.

:meth:`pbd_gym.envs.TaskVectorEnv.build` returns a :class:`Task`. Its parts are made for one batch of environments,
which they see through the :class:`Batch` protocol, so that no part has to know the environment class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from gymnasium.envs.registration import EnvSpec

from pbd_gym.envs.core.data.buffers import Buffers
from pbd_gym.envs.core.data.launches import Launches
from pbd_gym.envs.core.data.modes import RewardMode
from pbd_gym.envs.core.data.randomization import Randomization, Range
from pbd_gym.envs.core.data.symmetries import Symmetry
from pbd_gym.envs.core.episode.disturbance import Disturbance
from pbd_gym.envs.core.episode.rest import Completion
from pbd_gym.envs.core.spaces.actions import ActionMode, Actions, Hands
from pbd_gym.envs.core.spaces.features import FeatureObservations, Features
from pbd_gym.envs.core.spaces.memory import MemoryObservations
from pbd_gym.envs.core.spaces.observations import Observations, ObsMode, Reduced, ReducedObservations
from pbd_gym.envs.core.spaces.pixels import PixelObservations
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.control import Control
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State

View = Observations | ReducedObservations | FeatureObservations | MemoryObservations | PixelObservations
"""What agents see."""
Point = tuple[float, float, float]
"""x, y and z [m]; y is up."""


class Batch(Protocol):
    """What parts of a task may read of the environments they belong to.

    While :meth:`pbd_gym.envs.TaskVectorEnv.build` runs there are only the arguments (``num_envs``, ``config``, modes
    and ``ranges``). The other attributes exist when a part's methods are called.
    """

    num_envs: int
    max_episode_steps: int | None
    config: Any
    obs_mode: ObsMode
    action_mode: ActionMode
    reward_mode: RewardMode
    render_mode: str | None
    ranges: dict[str, Range]
    task: Task
    scene: Scene
    model: Model
    solver: Solver
    state: State
    control: Control
    buffers: Buffers
    actions: Actions
    observations: View
    randomization: Randomization
    disturbance: Disturbance
    goal_particles: np.ndarray
    start_positions: np.ndarray
    hand_grip: int | None
    pictures: Any
    metadata: dict[str, Any]
    spec: EnvSpec | None

    @property
    def anchor(self) -> Point:
        """The point that stays where it is when the task grows or shrinks [m]."""

    @property
    def largest_size(self) -> float:
        """Largest factor of the size that an episode can have."""

    @property
    def goal_radius(self) -> float:
        """Distance within which a particle counts as at its goal [m]."""

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Two corners of the box that pictures show [m], shape (3,) each."""

    @property
    def action_time(self) -> float:
        """Time that an action takes [s]."""


class Part:
    """A part of a task that has buffers of its own, or something to do when an episode begins.

    Args:
        batch: the environments it belongs to.
    """

    def __init__(self, batch: Batch) -> None:
        self.batch = batch

    def add_buffers(self, buffers: Buffers) -> None:
        """Add what is kept for each environment; :meth:`TaskVectorEnv.get_state` then saves it as well."""

    def begin(self, chosen: Any) -> Sequence[Any]:
        """Return launches for the environments that begin an episode.

        Args:
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

    def rate(self) -> Launches:
        """Return the launches that rate every environment."""
        raise NotImplementedError

    def goal_reward(self, achieved: np.ndarray, desired: np.ndarray) -> np.ndarray:
        """Return the reward of ``obs_mode="goal"`` for rows of goals, to the bit what steps pay.

        Args:
            achieved: positions of the goal particles [m], shape (rows, axes * goal particles).
            desired: their goals [m], likewise.

        Returns:
            Shape (rows,), float32.
        """
        raise NotImplementedError


class Starts(Protocol):
    """The states that episodes start from."""

    def positions(self, held: np.ndarray) -> np.ndarray:
        """Return where the particles are [m], shape (starts, n, 3), float32.

        Args:
            held: particle in each grip at the start, -1 for none, shape (grips,), int32.
        """

    def strains(self) -> np.ndarray:
        """Return the permanent strains of clay, shape (1 or starts, k); k is 0 for everything else."""


Expert = Callable[[], np.ndarray]
"""What to do now: actions for every environment, shape (num_envs, size), float32. Asked once before every step."""
ViewBox = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""From start positions [m], shape (starts, n, 3), to two corners of what pictures show [m], shape (3,) each."""


@dataclass
class Task:
    """The parts of a task."""

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
    start_poses: Callable[[], np.ndarray] | None = None
    """Returns the poses of the colliders that move for each start state, shape (1 or starts, moving, 7), as
    :meth:`pbd_gym.sim.state.State.get_poses`; by default they are where they were added."""
    expert: Expert | None = None
    """A script that solves the task, if there is one."""
    ground: int | None = None
    """Number of the collider that is the ground, if nothing lies on it at the start; ``randomize`` can then move it."""
    anchor: Point | None = None
    """The point that stays where it is when the task grows or shrinks [m]; by default the origin on the ground."""
    goal_shapes: Callable[[], np.ndarray] | None = None
    """Returns how all particles are to lie for each start state [m], shape (1 or starts, n, 3), if the goal is such a
    shape: ``pixels={"goal_picture": True}`` shows it. It is called when the start states are there."""
    symmetries: Sequence[Symmetry] = ()
    """Ways to see it as another one that is as likely; agents can learn from images as well."""
    view_box: ViewBox | None = None
    """What pictures show, if not a box around the start states."""
