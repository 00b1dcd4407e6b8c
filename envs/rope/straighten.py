"""PBDRopeStraighten-v0: pull a tangled rope straight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import prepare
from pbd_gym.envs.core.data.modes import PICKER_MODES, PIXEL_MODES, Modes
from pbd_gym.envs.core.data.presets import PRESETS
from pbd_gym.envs.core.data.symmetries import MIRROR_X, QUARTER
from pbd_gym.envs.core.parts.experts import box_of, grip_positions, held_particles, picker_actions, sizes
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import Condition, Part, Reduced, Task, World
from pbd_gym.envs.rope.body import Rope, RopeTaskConfig
from pbd_gym.envs.rope.measures import length_error, straight

NEAR = 0.4
"""Distance from an end at which the expert closes a hand, as a share of its reach."""
BESIDE = 0.05
"""Distance from the end at which it holds an end well enough, as a share of the rope."""
LIFT, RIM = 0.17, 0.02
"""Height at which it drags an end, as a share of that of the box, and distance from the rim when there [m]."""
TAUT = 0.005
"""Share by which a rope is longer than at rest when hands pull at it in vain."""


class RopeStraighten(Task):
    """A tangled rope, which must be pulled straight.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: RopeTaskConfig, modes: Modes) -> None:
        self.config = config
        self.rope = rope = Rope(config)
        error = Measure("error", -1.0, self.length_error)
        super().__init__(
            scene=rope.scene,
            hands=rope.hands(),
            keypoints=rope.keypoints(),
            goal_particles=np.zeros(0, dtype=np.int32),
            starts=self.bank(),
            parts=self.watches(),
            score=WeightedMeasures(config, modes, [error], zero=-config.rope_length, conditions=self.conditions()),
            reduced=Reduced(rope.keypoints()),
            expert=self.act,
            symmetries=rope.anyhow(MIRROR_X, QUARTER),
            view_box=rope.view_box,
        )

    def bank(self) -> StartBank:
        """Return the start states."""
        return StartBank(self.rope.tangled)

    def watches(self) -> Sequence[Part]:
        """Return further parts of the task."""
        return ()

    def conditions(self) -> list[Condition]:
        """Return the task's own conditions for success."""
        return [Condition("straight", self.is_straight)]

    def act(self, world: World) -> np.ndarray:
        """Return the expert's actions, shape (num_envs, size), float32."""
        return self.drag_and_pull(world)

    def length_error(self, world: World, out: Any) -> Any:
        """Return the launch for the difference between the distance of the ends and the length of the rope [m]."""
        config, parameters = self.config, world.buffers["parameters"]
        return prepare(
            world, length_error, 0, config.particles - 1, config.rope_length, parameters, world.model.lanes,
            world.state.positions_scalar, out,
        )  # fmt: skip

    def is_straight(self, world: World, met: Any) -> Any:
        """Return the launch that checks that no particle is far from the chord between the ends."""
        b, lanes = world.buffers, world.model.lanes
        return prepare(
            world, straight, self.config.particles, self.config.off_chord, b["parameters"], lanes,
            world.state.positions_scalar, met,
        )  # fmt: skip

    def drag_and_pull(self, world: World) -> np.ndarray:
        """Return the expert's actions, which follow from what is seen now: drag loops out, then pull the ends apart.

        A loop that is pulled taut tightens, and springs back when it is let go; dragged over the ground by one end it
        opens. So one hand takes the end of a rope that is nearer to a crossing, and drags it towards the rim of the
        box; then the other one takes the other end. Hands that pull at a tightened loop let go, and begin again.
        """
        config, x, hands = self.config, world.state.get_positions(), grip_positions(world).astype(np.float64)
        held, ends, size = held_particles(world), np.array([0, config.particles - 1]), sizes(world)
        holds = (held >= 0) & (np.abs(held - ends) <= BESIDE * ends[1])
        low, high = (np.stack(corners) for corners in zip(*(box_of(world, env) for env in range(len(x))), strict=True))
        low, high = low[:, None], high[:, None]
        points = np.take_along_axis(x, np.where(holds, held, ends)[..., None], axis=1)
        none, one, both = ((holds.sum(axis=1) == count)[:, None] for count in range(3))
        looped, first = crossed(x)
        at_rim = near_rim(points, low, high)[np.arange(len(x)), first]
        first = np.where(at_rim, 1 - first, first)  # what is there cannot be dragged away
        # What lies out of reach is brought back first.
        lost = (np.linalg.norm(points - np.clip(points, low, high), axis=2) > 0.5 * config.reach).any(axis=1)
        rim = np.where(lost[:, None, None], 0.5 * (low + high), self.rim(x, points, hands, low, high))
        out = near_rim(hands, low, high) & ~lost[:, None]
        drags = holds & one & ~out & (looped | lost)[:, None]
        goes = ~holds & np.where(none, ~looped[:, None] | (np.arange(2) == first[:, None]), ~drags.any(axis=1)[:, None])
        within = np.clip(points, low, high)
        there = np.linalg.norm(hands - within, axis=2) < NEAR * config.reach
        closed = holds | (goes & (held < 0) & there)
        apart, still = self.apart(world, points, held, hands)
        targets = np.where(goes[..., None], within, hands)
        targets = np.where(drags[..., None], rim, targets)
        targets = np.where(both[..., None], apart, targets)
        straight = (world.buffers.peek("at_goal") > 0) & (off_chord(x) <= config.off_chord * size[:, 0])
        tight = looped & (stretch(x, config.rope_length * size) > TAUT)
        let_go = np.where((held >= 0).any(axis=1), both[:, 0] & (still | tight), straight)
        targets = np.where(let_go[:, None, None], hands, targets)
        wrong = (held >= 0) & ~holds
        return picker_actions(world, targets, closed & ~wrong & ~let_go[:, None])

    def rim(
        self, x: np.ndarray, points: np.ndarray, hands: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> np.ndarray:
        """Return where on the rim of its box a hand drags its point, away from the rope [m], shape (num_envs, 2, 3).

        Args:
            x: particles [m], shape (num_envs, n, 3).
            points: points that the hands hold [m], shape (num_envs, 2, 3).
            hands: places of the hands [m], shape (num_envs, 2, 3).
            low: lower corner of the box [m], shape (num_envs, 1, 3).
            high: upper corner [m], likewise.
        """
        away = (points - x.mean(axis=1, keepdims=True)) * [1.0, 0.0, 1.0]
        away /= np.maximum(np.linalg.norm(away, axis=2, keepdims=True), 1e-6)
        room = np.where(away > 0.0, high - hands, low - hands) / np.where(np.abs(away) > 1e-3, away, 1.0)
        room[np.abs(away) <= 1e-3] = np.inf
        found = hands + away * np.maximum(room.min(axis=2), 0.0)[..., None]
        found[..., 1] = low[..., 1] + LIFT * (high - low)[..., 1]
        return np.asarray(found)

    def apart(
        self, world: World, points: np.ndarray, held: np.ndarray, hands: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return where hands pull held points apart in their current direction [m], and whether that is done.

        Returns:
            Shape (num_envs, 2, 3); bool, shape (num_envs,).
        """
        config = self.config
        between = config.spacing * np.abs(held[:, 1:] - held[:, :1]) * sizes(world)
        across = (points[:, 1] - points[:, 0]) * [1.0, 0.0, 1.0]
        across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-6)
        distance = np.linalg.norm(points[:, 1] - points[:, 0], axis=1)
        half = 0.5 * between * across
        middle = np.array([0.0, config.radius, 0.0])
        # The place of a hand that puts its point there.
        apart = np.stack([middle - half, middle + half], axis=1) + hands - points
        still = (world.buffers.peek("at_rest") > 0) & (np.abs(distance - between[:, 0]) < 0.005 * between[:, 0])
        return apart, still


def near_rim(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return whether points are at the rim of a box or beyond, seen from above, bool, shape (k, m).

    Args:
        points: [m], shape (k, m, 3).
        low: lower corner of the box [m], shape (k, 1, 3).
        high: upper corner [m], likewise.
    """
    return np.asarray((np.minimum(points - low, high - points)[..., [0, 2]] < RIM).any(axis=2))


def crossed(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each rope lies across itself, seen from above, and the end with the shorter way to a crossing.

    Args:
        x: particles [m], shape (k, n, 3).

    Returns:
        Bool, shape (k,), and 0 or 1, shape (k,).
    """
    begins, ways = x[:, :-1, [0, 2]], np.diff(x[..., [0, 2]], axis=1)
    first, second = np.triu_indices(ways.shape[1], 2)
    one, other, between = ways[:, first], ways[:, second], begins[:, second] - begins[:, first]
    area = _cross(one, other)
    parallel = np.abs(area) < 1e-12
    shares = np.stack([_cross(between, other), _cross(between, one)]) / np.where(parallel, 1.0, area)
    meet = ((shares >= 0.0) & (shares <= 1.0)).all(axis=0) & ~parallel
    last = ways.shape[1] - 1
    ahead, behind = np.where(meet, first, last).min(axis=1), last - np.where(meet, second, 0).max(axis=1)
    return meet.any(axis=1), (ahead >= behind).astype(int)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the cross products of vectors in a plane, without their last axis."""
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


def off_chord(x: np.ndarray) -> np.ndarray:
    """Return the largest distance of a particle of each rope from the line between its ends [m], shape (k,).

    Args:
        x: particles [m], shape (k, n, 3).
    """
    chord, away = x[:, -1:] - x[:, :1], x - x[:, :1]
    chord = chord / np.maximum(np.linalg.norm(chord, axis=2, keepdims=True), 1e-9)
    off = away - (away * chord).sum(axis=2, keepdims=True) * chord
    return np.asarray(np.linalg.norm(off, axis=2).max(axis=1))


def stretch(x: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return the share by which ropes are longer than they are at rest, shape (k,).

    Args:
        x: particles [m], shape (k, n, 3).
        length: length at rest [m], shape (k, 1).
    """
    return np.asarray(np.linalg.norm(np.diff(x, axis=1), axis=2).sum(axis=1) / length[:, 0] - 1.0)


class RopeStraightenVectorEnv(TaskVectorEnv):
    """Pull a tangled rope straight.

    ## Description

    SoftGym's RopeFlatten (Lin et al., "SoftGym: Benchmarking Deep Reinforcement Learning for Deformable Object
    Manipulation", 2020). A rope of half a metre lies crooked on the ground, often across itself. Two hands, which can
    grasp any of its particles, must pull its ends as far apart as it is long. The rope is a chain of 41 particles with
    stretch and bending constraints that collides with itself, solved by XPBD in 48 substeps of 1/600 s per action.

    ## Action Space

    `Box(-1, 1, (8,), float32)` with `action_mode="picker"`, four numbers per hand. A hand opens unless `grip` is above
    0; if it is, an empty hand closes on the nearest free particle within 0.05 m. Then it moves.

    | Num | Action                                   | Min | Max | Unit per 1 |
    |-----|------------------------------------------|-----|-----|------------|
    | 0-2 | displacement of the first hand, x, y, z  | -1  | 1   | 0.08 m     |
    | 3   | grip of the first hand, closed above 0   | -1  | 1   |            |
    | 4-6 | displacement of the second hand, x, y, z | -1  | 1   | 0.08 m     |
    | 7   | grip of the second hand, closed above 0  | -1  | 1   |            |

    With `action_mode="pick_place"` the first three numbers of each hand are a place in the box in which the hands stay
    (0.7 rope lengths to each side of the origin, up to 0.6 high), and an action is ten control steps, as many as the
    longest way may need. Two hands do not tear the rope: they stay closer than 1.05 times the rope between them.

    ## Observation Space

    `Box(-100, 100, (68,), float32)` with `obs_mode="keypoints"`: ten particles in order along the rope, both ends
    among them. SoftGym's 36 numbers are 0-29 and the positions of the hands.

    | Num   | Observation                                       | Min  | Max | Unit |
    |-------|---------------------------------------------------|------|-----|------|
    | 0-29  | positions of the ten particles                    | -100 | 100 | m    |
    | 30-59 | velocities of the ten particles                   | -100 | 100 | m/s  |
    | 60-65 | positions of the two pickers                      | -100 | 100 | m    |
    | 66-67 | whether each picker holds a particle, 0 or 1      | 0    | 1   |      |

    `obs_mode="particles"` has all particles in place of the ten.

    ## Rewards

    `error`: minus the difference between the distance of the ends and the length L of the rope [m]; `effort` is 0
    unless `effort_weight` is given. `info["performance"]` is the error term p, and `normalized_performance` is (p + L)
    / L as in SoftGym: 1 for a straight rope and 0 for ends that meet, whatever the start. Success is 0.9 of it
    (`info["at_goal"]`), with no particle farther than 2 cm from the line of the ends (`straight`), of a rope that no
    hand holds (`released`) and that is at rest (`at_rest`: its particles have moved by no more than `rest_speed`, 0.01
    m/s, on average for `rest_time`, 0.2 s). Other reward modes: see :class:`pbd_gym.envs.TaskVectorEnv`.

    ## Starting State

    One of 64 ropes (`starts`) at rest after four random pick-and-places, centred. The pickers are side by side at
    one side of their box, away from the rope, and open (`hands_at`).

    ## Episode End

    Truncated after 75 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.TaskVectorEnv`; every field of
    :class:`pbd_gym.envs.RopeTaskConfig`.

    ## Vectorized environment

    ```python
    gym.make_vec("PBDRopeStraighten-v0", num_envs=256)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = RopeTaskConfig
    config: RopeTaskConfig
    task_type = RopeStraighten
    action_modes = PICKER_MODES
    obs_modes = ("keypoints", "particles", "memory", "reduced", *PIXEL_MODES)
    presets = PRESETS["RopeStraighten"]


class RopeStraightenEnv(TaskEnv):
    vector_type = RopeStraightenVectorEnv
