"""Action modes: how a vector in [-1, 1] moves, grasps and lets go of particles.

Modes differ in their kernel; what they all produce is which particle each grip holds, and how far each grip moves
during the control step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args, no_type_check

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.randomization import SIZE, scaled
from pbd_gym.envs.core.spaces import transfers
from pbd_gym.envs.core.spaces.paddles import Paddle, prepare_moves
from pbd_gym.kernels.grips.holding import set_held
from pbd_gym.sim.control import Control
from pbd_gym.sim.state import State

wp.set_module_options({"enable_backward": False})

ActionMode = Literal["drag", "picker", "pin", "pick_place", "pick_then_place", "paddle", "cup"]
ACTION_MODES: tuple[ActionMode, ...] = get_args(ActionMode)
PICKER_MODES: tuple[ActionMode, ...] = ("picker", "pick_place")
"""Those in which the agent closes and opens hands; a hand that closes grasps any particle in reach."""
_GRASPING = (*PICKER_MODES, "pick_then_place")
"""Those in which hands close on what is in reach, whoever closes them."""


class Mover(Protocol):
    """What moves solids as a whole in action mode ``"cup"``."""

    @property
    def size(self) -> int:
        """Numbers of an action."""

    def prepare(self, actions: Any, state: State, control: Control) -> Any:
        """Return the launch that turns actions, shape (num_envs, size), into ``control.collider_motion``."""


@dataclass(frozen=True)
class Hands:
    """What the agent's hands can do in a task."""

    particles: tuple[int, ...]
    """Particle that each hand holds, or is at, at the start of an episode."""
    corners: tuple[int, ...]
    """Particles that ``pin`` mode can fix and free."""
    reach: float
    """Largest distance between a picker and a particle it grasps [m]."""
    max_step: float
    """Largest move of a hand along one axis per control step [m]."""
    lower: tuple[float, float, float]
    """Corner of the box the hands stay in [m]."""
    upper: tuple[float, float, float]
    """Opposite corner of that box [m]."""
    max_stretch: float = 1.05
    """Two hands stay closer than this times the rest distance of what they hold, so that cloth is not torn apart."""
    axes: int = 3
    """Axes that hands move along and observations show: 2 in a task that stays in the plane z = 0."""
    holding: bool = True
    """Whether hands that can let go hold their particles at the start of an episode."""
    max_change: float = 0.0
    """Where it is above zero, a displacement of a hand that holds something is an acceleration: it says by how much the
    move of this control step differs from that of the last one, at most by this along an axis [m]."""
    paddles: tuple[Paddle, ...] = ()
    """What ``paddle`` mode moves."""
    max_turn: float = 0.0
    """Largest turn of a paddle about the vertical per control step [rad]; 0 for paddles that do not turn."""
    widest_turn: float = 0.5 * math.pi
    """Largest angle of a paddle, either way [rad]."""
    mover: Mover | None = None
    """What moves in ``cup`` mode."""
    floor: float | None = None
    """Height below which hands do not lead what they hold [m]; by default the bottom of the box."""
    places: Callable[[np.ndarray], np.ndarray] | None = None
    """From start positions [m], shape (starts, n, 3), to where pickers start, shape (starts, hands, 3); by default they
    are at their particles, as the hands of other action modes always are."""


@wp.func
@no_type_check
def particle(positions: wp.array4d[float], group: int, i: int, lane: int):
    """Position of a particle [m]."""
    return wp.vec3(positions[group, i, 0, lane], positions[group, i, 1, lane], positions[group, i, 2, lane])


@wp.func
@no_type_check
def limit_stretch(a: wp.vec3, b: wp.vec3, limit: float):
    """Return two points pulled together until they are at most ``limit`` apart."""
    gap = b - a
    distance = wp.length(gap)
    if distance > limit:
        shift = gap * (0.5 * (distance - limit) / distance)
        a += shift
        b -= shift
    return a, b


@wp.kernel
@no_type_check
def move_grips(
    # In:
    actions: wp.array2d[float],
    stride: int,
    absolute: int,
    axes: int,
    max_step: float,
    max_change: float,
    ctrl_dt: float,
    lower: wp.vec3,
    upper: wp.vec3,
    floor: float,
    parameters: wp.array2d[float],
    anchor: wp.vec3,
    max_stretch: float,
    rest: wp.array1d[wp.vec3],
    held: wp.array2d[wp.int32],
    grip_position: wp.array3d[float],
    lanes: int,
    positions: wp.array4d[float],
    velocities: wp.array4d[float],
    hand_count: int,
    # Out:
    motion: wp.array3d[float],
):
    """Turn the first numbers of each hand, one per axis, into its displacement.

    They are a displacement or, where ``absolute`` is not zero, a place in the box, from -1 at its lower to 1 at its
    upper side, which is approached in a straight line. The displacement is cut to the box, whose walls stop a hand at
    once, to the stretch limit, and so that what is held does not go below the box either.
    """
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    size = parameters[env, SIZE]
    low = scaled(lower, anchor, size)
    high = scaled(upper, anchor, size)
    lowest = scaled(wp.vec3(0.0, floor, 0.0), anchor, size)
    for slot in range(hand_count):
        farthest = float(0.0)  # of the axes of an absolute place
        if absolute != 0:
            for axis3 in range(axes):
                a = wp.clamp(actions[env, slot * stride + axis3], -1.0, 1.0)
                target = low[axis3] + 0.5 * (a + 1.0) * (high[axis3] - low[axis3])
                farthest = wp.max(farthest, wp.abs(target - grip_position[env, slot, axis3]))
        for axis in range(3):
            start = grip_position[env, slot, axis]
            command = float(0.0)
            if axis < axes:
                command = wp.clamp(actions[env, slot * stride + axis], -1.0, 1.0)
            step = max_step * command
            if absolute != 0:
                away = low[axis] + 0.5 * (command + 1.0) * (high[axis] - low[axis]) - start
                step = away * wp.min(1.0, max_step / wp.max(farthest, 1.0e-9))
                if axis >= axes:
                    step = 0.0
            i_held = held[env, slot]
            if i_held >= 0 and max_change > 0.0 and absolute == 0:
                before = velocities[group, i_held, axis, lane] * ctrl_dt
                step = wp.clamp(before + max_change * command, -max_step, max_step)
            move = wp.clamp(start + step, low[axis], high[axis]) - start
            if i_held >= 0 and axis == 1:
                # What was grasped below the hand is not pressed into the ground.
                move = wp.max(move, wp.min(lowest[axis] - positions[group, i_held, axis, lane], 0.0))
            motion[env, slot, axis] = move
    for first in range(hand_count):
        for second in range(first + 1, hand_count):
            i = held[env, first]
            j = held[env, second]
            if i >= 0 and j >= 0:
                # What counts is what is held: a picker may have grasped it from some distance.
                p = particle(positions, group, i, lane)
                q = particle(positions, group, j, lane)
                p_move = wp.vec3(motion[env, first, 0], motion[env, first, 1], motion[env, first, 2])
                q_move = wp.vec3(motion[env, second, 0], motion[env, second, 1], motion[env, second, 2])
                limit = max_stretch * size * wp.length(rest[i] - rest[j])
                # What is farther apart already need not come closer, but rounding must not let it creep outwards.
                if wp.length(p - q) > 1.001 * limit:
                    limit = wp.length(p - q)
                p_end, q_end = limit_stretch(p + p_move, q + q_move, limit)
                for axis2 in range(3):
                    motion[env, first, axis2] = p_end[axis2] - p[axis2]
                    motion[env, second, axis2] = q_end[axis2] - q[axis2]


@wp.kernel
@no_type_check
def grasp(
    # In:
    actions: wp.array2d[float],
    stride: int,
    reach: float,
    hand_count: int,
    free_inv_mass: wp.array3d[float],
    lanes: int,
    positions: wp.array4d[float],
    # State:
    grip_position: wp.array3d[float],
    held: wp.array2d[wp.int32],
    inv_mass: wp.array3d[float],
    velocities: wp.array4d[float],
):
    """Release, then grasp: a closing hand takes the nearest free particle within reach of where it is now."""
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    for slot in range(hand_count):
        if actions[env, slot * stride + stride - 1] <= 0.0:
            set_held(env, slot, -1, free_inv_mass, lanes, held, inv_mass, velocities)
    for slot2 in range(hand_count):
        if actions[env, slot2 * stride + stride - 1] > 0.0 and held[env, slot2] < 0:
            nearest = int(-1)
            best = reach * reach
            for i in range(positions.shape[1]):
                dx = positions[group, i, 0, lane] - grip_position[env, slot2, 0]
                dy = positions[group, i, 1, lane] - grip_position[env, slot2, 1]
                dz = positions[group, i, 2, lane] - grip_position[env, slot2, 2]
                d2 = dx * dx + dy * dy + dz * dz
                if d2 <= best and inv_mass[group, i, lane] > 0.0:
                    best = d2
                    nearest = i
            set_held(env, slot2, nearest, free_inv_mass, lanes, held, inv_mass, velocities)


@wp.kernel
@no_type_check
def pin(
    # In:
    actions: wp.array2d[float],
    particles: wp.array1d[wp.int32],
    free_inv_mass: wp.array3d[float],
    lanes: int,
    positions: wp.array4d[float],
    # State:
    grip_position: wp.array3d[float],
    held: wp.array2d[wp.int32],
    inv_mass: wp.array3d[float],
    velocities: wp.array4d[float],
    motion: wp.array3d[float],
):
    """Fix particle ``slot`` in space while its action is above zero, and free it otherwise."""
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    for slot in range(particles.shape[0]):
        i = particles[slot]
        if actions[env, slot] <= 0.0:
            set_held(env, slot, -1, free_inv_mass, lanes, held, inv_mass, velocities)
        elif held[env, slot] < 0 and inv_mass[group, i, lane] > 0.0:
            set_held(env, slot, i, free_inv_mass, lanes, held, inv_mass, velocities)
        for axis in range(3):
            motion[env, slot, axis] = 0.0
            grip_position[env, slot, axis] = positions[group, i, axis, lane]


class Actions:
    """One action mode of one batch.

    Args:
        mode: ``"drag"`` (a displacement per axis and hand, what is held stays held), ``"picker"`` (one number more:
            above zero it closes the hand, else it opens), ``"pin"`` (one per corner: above zero fixes it), or
            ``"pick_place"`` (numbers of a picker, but the first are a place in the box that the hand goes to, and takes
            as many control steps for as it may need: SoftGym's pick-and-place), ``"pick_then_place"`` (two places
            in the box: the first hand picks at one, carries to the other and lets go, as in DaXBench), ``"paddle"``
            (a displacement along x, y and z per paddle, and a turn about the vertical where paddles turn), or ``"cup"``
            (the numbers of ``hands.mover``).
        hands: what the hands can do.
        largest_size: of an environment; the box of the hands grows with it, but their steps do not.

    Raises:
        ValueError: for an unknown mode.
    """

    def __init__(self, mode: ActionMode, hands: Hands, largest_size: float = 1.0) -> None:
        if mode not in ACTION_MODES:
            raise ValueError(f"action_mode must be one of {ACTION_MODES}, got {mode!r}")
        self.mode = mode
        self.hands = hands
        self.paddles = hands.paddles if mode == "paddle" else ()
        """Solids that are moved."""
        others = {"pin": hands.corners, "paddle": (), "cup": (), "pick_then_place": hands.particles[:1]}
        self.particles = others.get(mode, hands.particles)
        """Particle that belongs to each grip."""
        self.grip_count = len(self.particles)
        strides = {"drag": hands.axes, "pin": 1, "paddle": 3 + int(self.turns), "pick_then_place": transfers.NUMBERS}
        self.stride = strides.get(mode, hands.axes + 1)
        """Numbers per grip or paddle."""
        lower, upper = largest_size * np.array(hands.lower), largest_size * np.array(hands.upper)
        self.repeat = math.ceil(float((upper - lower).max()) / hands.max_step) + 1 if mode == "pick_place" else 1
        """Control steps per action."""
        self._stages: list[tuple[int, tuple[int, int, float]]] = []
        if mode == "pick_then_place":
            self._stages = transfers.stages(lower, upper, hands.max_step)
            self.repeat = sum(steps for steps, _ in self._stages)
        self.mover = hands.mover if mode == "cup" else None
        """What is moved as a whole."""
        self.size = self.stride * (self.grip_count + len(self.paddles)) if self.mover is None else self.mover.size
        self._launches: list[list[Any]] = []
        """For each control step of an action; those of the last one stand for all that follow."""

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
        """Return where the hands start [m], shape (starts, grip_count, 3).

        Args:
            positions: start positions [m], shape (starts, n, 3).
        """
        if self.mode in _GRASPING and self.hands.places is not None:
            return self.hands.places(positions)[:, : self.grip_count]
        return np.asarray(positions[:, list(self.particles)])

    def prepare(
        self,
        actions: Any,
        state: State,
        control: Control,
        rest: np.ndarray,
        ctrl_dt: float,
        parameters: Any,
        anchor: tuple[float, float, float],
    ) -> None:
        """Prepare the launches for these arrays.

        Args:
            actions: device array, shape (num_envs, size), float32.
            state: state to act on.
            control: where the displacements go.
            rest: rest positions [m], shape (n, 3).
            ctrl_dt: time between actions [s].
            parameters: device array, shape (num_envs, names), float32; the box and rest distances grow with the size.
            anchor: the point that stays where it is when they do [m].
        """
        model, hands = state.model, self.hands

        def launch(kernel: Any, *inputs: Any) -> Any:
            return wp.launch(kernel, dim=model.num_envs, inputs=list(inputs), device=model.device, record_cmd=True)

        if self.mover is not None:
            self._launches.append([self.mover.prepare(actions, state, control)])
            return
        if self.paddles:
            limits = (self.stride, hands.max_step, hands.max_turn, hands.widest_turn)
            self._launches.append([prepare_moves(self.paddles, actions, limits, state, control, parameters, anchor)])
            return
        grips = (state.grip_positions, state.held, state.inv_mass_scalar, state.velocities_scalar)
        where = (state.free_inv_mass_scalar, model.lanes, state.positions_scalar)
        if self.mode == "pin":
            particles = wp.array(self.particles, dtype=wp.int32, device=model.device)
            self._launches.append([launch(pin, actions, particles, *where, *grips, control.motion)])
            return
        rest_array = wp.array(rest, dtype=wp.vec3, device=model.device)
        floor = hands.lower[1] if hands.floor is None else hands.floor
        box = wp.vec3(*hands.lower), wp.vec3(*hands.upper)

        def step(numbers: Any, stride: int, absolute: bool, max_step: float) -> list[Any]:
            """Return the launches of a control step: grasp or let go, then move."""
            take = [launch(grasp, numbers, stride, hands.reach, self.grip_count, *where, *grips)]
            move = launch(
                move_grips, numbers, stride, int(absolute), hands.axes, max_step, hands.max_change, ctrl_dt,
                *box, floor, parameters, anchor, hands.max_stretch, rest_array,
                state.held, state.grip_positions, model.lanes, state.positions_scalar, state.velocities_scalar,
                self.grip_count, control.motion,
            )  # fmt: skip
            return [*take, move] if self.mode in _GRASPING else [move]

        if not self._stages:
            self._launches.append(step(actions, self.stride, self.mode == "pick_place", hands.max_step))
        for count, numbers in self._stages:
            commands = wp.zeros((model.num_envs, 4), dtype=float, device=model.device)
            height = floor + transfers.LIFT
            staged = launch(transfers.stage, actions, *numbers, height, *box, parameters, anchor, commands)
            fast = 1.0e6 if not self._launches else hands.max_step  # the first is at once
            launches = [staged, *step(commands, 4, True, fast)]
            self._launches.extend([launches] * count)

    def launch(self, step: int = 0) -> None:
        """Apply the current actions in a control step of theirs."""
        for command in self._launches[min(step, len(self._launches) - 1)]:
            command.launch()
