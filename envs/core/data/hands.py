"""Hands and paddles of agents, and the meaning of actions for them, as plain data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pbd_gym.envs.core.data.modes import ACTION_MODES, GRASPING_MODES, ActionMode
from pbd_gym.sim.control import Control
from pbd_gym.sim.model import Model
from pbd_gym.sim.state import State

TRANSFER_NUMBERS = 6
"""Numbers of an action of mode ``"pick_then_place"``: where to pick (x, y, z) and where to place, as shares of the box.
"""
LIFT = 0.06
"""Height above the ground at which a hand carries and releases [m]."""
SETTLING = 7
"""Control steps that released objects have to come to rest."""


@dataclass(frozen=True)
class Paddle:
    """A solid that the agent moves, and its limits. It starts each episode where its collider was declared."""

    collider: int
    """Number of its collider in the scene, which must have been added with ``moving=True``."""
    lower: tuple[float, float, float]
    """Corner of the box that its origin stays in [m]."""
    upper: tuple[float, float, float]
    """Opposite corner of that box [m]."""


class Mover(Protocol):
    """Motion of solids as a whole in action mode ``"cup"``."""

    @property
    def size(self) -> int:
        """Number of values of an action."""

    def prepare(self, actions: Any, state: State, control: Control) -> Any:
        """Return the launch that turns actions, shape (num_envs, size), into ``control.collider_motion``."""


@dataclass(frozen=True)
class Hands:
    """Capabilities of the agent's hands in a task."""

    particles: tuple[int, ...]
    """Particle that each hand holds, or starts at, at the beginning of an episode."""
    corners: tuple[int, ...]
    """Particles that ``pin`` mode can fix and free."""
    reach: float
    """Largest distance between a hand and a particle it grasps [m]."""
    max_step: float
    """Largest move of a hand along one axis per control step [m]."""
    lower: tuple[float, float, float]
    """Corner of the box that the hands stay in [m]."""
    upper: tuple[float, float, float]
    """Opposite corner of that box [m]."""
    max_stretch: float = 1.05
    """Largest ratio of two hands' distance to the rest distance of their particles, so that cloth is not torn apart."""
    axes: int = 3
    """Axes that hands move along and observations show: 2 in a task that stays in the plane z = 0."""
    holding: bool = True
    """Whether hands that can release hold their particles at the start of an episode."""
    max_change: float = 0.0
    """Largest change of a hand's displacement per control step along an axis [m]. If it is above zero, an action of a
    hand that holds something is an acceleration: it gives the difference of this control step's move from the last
    one's.
    """
    paddles: tuple[Paddle, ...] = ()
    """Paddles moved in ``paddle`` mode."""
    max_turn: float = 0.0
    """Largest turn of a paddle about the vertical per control step [rad]; 0 for paddles that do not turn."""
    widest_turn: float = 0.5 * math.pi
    """Largest angle of a paddle, in either direction [rad]."""
    mover: Mover | None = None
    """Solids moved in ``cup`` mode."""
    floor: float | None = None
    """Height below which hands do not lead their particles [m]; by default the bottom of the box."""
    places: Callable[[np.ndarray], np.ndarray] | None = None
    """Function of start positions [m], shape (starts, n, 3), that returns the hands' start places, shape (starts,
    hands, 3); by default they are at their particles, as hands always are in other action modes.
    """


class Actions:
    """An action mode.

    The meaning of an action's numbers. :class:`pbd_gym.envs.core.spaces.actions.Moves` prepares their effect.

    Args:
        mode: ``"drag"`` (a displacement per axis and hand; held particles stay held), ``"picker"`` (one more number:
        above zero it closes the hand, otherwise it opens), ``"pin"`` (one per corner: above zero fixes it), or
            ``"pick_place"`` (the numbers of ``"picker"``, but the first ones are a place in the box to which the hand
            goes, in as many control steps as necessary: SoftGym's pick-and-place), ``"pick_then_place"`` (two places in
            the box: the first hand picks at one, carries to the other and releases, as in DaXBench), ``"paddle"`` (a
            displacement along x, y and z per paddle, and a rotation about the vertical if paddles turn), or ``"cup"``
            (the numbers of ``hands.mover``).
        hands: what the hands can do.
        largest_size: largest size of an environment; the box of the hands grows with it, but their steps do not.

    Raises:
        ValueError: for an unknown mode.
    """

    def __init__(self, mode: ActionMode, hands: Hands, largest_size: float = 1.0) -> None:
        if mode not in ACTION_MODES:
            raise ValueError(f"action_mode must be one of {ACTION_MODES}, got {mode!r}")
        self.mode = mode
        self.hands = hands
        self.paddles = hands.paddles if mode == "paddle" else ()
        """Moving solids."""
        others = {"pin": hands.corners, "paddle": (), "cup": (), "pick_then_place": hands.particles[:1]}
        self.particles = others.get(mode, hands.particles)
        """Particle that belongs to each grip."""
        self.grip_count = len(self.particles)
        strides = {"drag": hands.axes, "pin": 1, "paddle": 3 + int(self.turns), "pick_then_place": TRANSFER_NUMBERS}
        self.stride = strides.get(mode, hands.axes + 1)
        """Numbers per grip or paddle."""
        lower, upper = largest_size * np.array(hands.lower), largest_size * np.array(hands.upper)
        self.repeat = math.ceil(float((upper - lower).max()) / hands.max_step) + 1 if mode == "pick_place" else 1
        """Control steps per action."""
        self.stages: list[tuple[int, tuple[int, int, float]]] = []
        """Stages of a transfer; see :func:`transfer_stages`."""
        if mode == "pick_then_place":
            self.stages = transfer_stages(lower, upper, hands.max_step)
            self.repeat = sum(steps for steps, _ in self.stages)
        self.mover = hands.mover if mode == "cup" else None
        """Solids that are moved as a whole."""
        self.size = self.stride * (self.grip_count + len(self.paddles)) if self.mover is None else self.mover.size

    @property
    def turns(self) -> bool:
        """Whether paddles turn."""
        return bool(self.paddles) and self.hands.max_turn > 0.0

    @property
    def initially_held(self) -> np.ndarray:
        """Particle in each grip at the start of an episode, -1 for none, shape (grip_count,), int32."""
        holds = self.hands.holding or self.mode == "drag"
        held = [p if holds and p in self.hands.particles else -1 for p in self.particles]
        return np.array(held, dtype=np.int32)

    def start_places(self, positions: np.ndarray) -> np.ndarray:
        """Return the start places of the hands [m], shape (starts, grip_count, 3).

        Args:
            positions: start positions [m], shape (starts, n, 3).
        """
        if self.mode in GRASPING_MODES and self.hands.places is not None:
            return self.hands.places(positions)[:, : self.grip_count]
        return np.asarray(positions[:, list(self.particles)])


def slots_of(paddles: tuple[Paddle, ...], model: Model) -> np.ndarray:
    """Return the index of each paddle among the poses, shape (paddles,), int32."""
    return np.array([model.pose_index(paddle.collider) for paddle in paddles], dtype=np.int32)


def transfer_stages(lower: np.ndarray, upper: np.ndarray, max_step: float) -> list[tuple[int, tuple[int, int, float]]]:
    """Return the stages of an action: control steps, whether at the target, whether carrying, and the grip.

    Args:
        lower: corner of the hands' box at its largest [m].
        upper: opposite corner [m].
        max_step: largest move along an axis per control step [m].
    """
    across = float(max(upper[0] - lower[0], upper[2] - lower[2]))
    return [
        (1, (0, 0, -1.0)),  # over to where it picks, open, at once: it is no obstacle
        (math.ceil(LIFT / max_step - 1e-6) + 1, (0, 1, 1.0)),
        (math.ceil(across / max_step - 1e-6) + 1, (1, 1, 1.0)),
        (SETTLING, (1, 1, -1.0)),
    ]
