"""PBDRopeStraighten-v0: pull a tangled rope straight."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import prepare
from pbd_gym.envs.core.data.modes import PICKER_MODES, PIXEL_MODES, Modes
from pbd_gym.envs.core.data.presets import PRESETS
from pbd_gym.envs.core.data.symmetries import MIRROR_X, QUARTER
from pbd_gym.envs.core.parts.experts import Script, Waypoint, box_of, grip_positions, held_particles, sizes
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import Condition, Reduced, Task, World
from pbd_gym.envs.rope.body import Rope, RopeTaskConfig
from pbd_gym.envs.rope.measures import length_error, straight

BESIDE = 2
"""Largest number of particles from the end at which the expert holds an end well enough."""
LIFT = 0.1
"""Height at which the expert drags an end, in lengths of the rope."""
SETTLE = 2
"""Actions for which it waits until a dragged rope lies still."""
STILL = 3
"""Actions for which it waits before and after it lets go."""


class RopeStraighten(Task):
    """A tangled rope, which must be pulled straight.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: RopeTaskConfig, modes: Modes) -> None:
        self.config = config
        rope = Rope(config)
        error = Measure("error", -1.0, self.length_error)
        super().__init__(
            scene=rope.scene,
            hands=rope.hands(),
            keypoints=rope.keypoints(),
            goal_particles=np.zeros(0, dtype=np.int32),
            starts=StartBank(rope.tangled),
            score=WeightedMeasures(
                config, modes, [error], zero=-config.rope_length, conditions=[Condition("straight", self.is_straight)]
            ),
            reduced=Reduced(rope.keypoints()),
            expert=Script(self.plan),
            symmetries=rope.anyhow(MIRROR_X, QUARTER),
            view_box=rope.view_box,
        )

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

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Return the hands' path: they drag a rope that lies across itself out by one end, then pull its ends apart.

        A loop that is pulled taut tightens, and springs back when it is let go; dragged over the ground it opens.
        """
        b, x, hands = world.buffers, world.state.get_positions(env), grip_positions(world)[env]
        held, ends = held_particles(world)[env], np.array([0, self.config.particles - 1])
        holds, size = (held >= 0) & (np.abs(held - ends) <= BESIDE), float(sizes(world)[env, 0])
        if ((held >= 0) & ~holds).any():
            yield Waypoint(hands, _both(holds))
        elif holds.all():
            yield from self.pull_apart(world, env, held)
        elif not holds.any() and b.peek("at_goal")[env] and off_chord(x) <= self.config.off_chord * size:
            return
        elif not holds.any() and len(found := crossings(x)):
            # The end with the shorter way along the rope to a crossing goes through the loop.
            yield from self.drag(world, env, int(found[:, 0].min() >= ends[1] - 1 - found[:, 1].max()))
        else:
            yield Waypoint(np.where(holds[:, None], hands, x[ends]), _both(holds))
            yield Waypoint(np.where(holds[:, None], hands, x[ends]), (True, True))

    def drag(self, world: World, env: int, hand: int) -> Iterator[Waypoint]:
        """Return the path of a hand that drags its end away from the rope, to the rim of the box."""
        x, hands = world.state.get_positions(env), grip_positions(world)[env].copy()
        end, middle = x[-hand], x.mean(axis=0)
        low, high = box_of(world, env)
        away = end - middle
        way = np.where(away > 0.0, high - middle, low - middle)
        rim = middle + away * np.min((way / np.where(np.abs(away) > 1e-6, away, 1e-6))[[0, 2]])
        raised = LIFT * self.config.rope_length * float(sizes(world)[env, 0])
        closed = np.arange(2) == hand
        hands[hand] = end
        yield Waypoint(hands, (False, False))
        yield Waypoint(hands, _both(closed))
        hands = hands.copy()
        hands[hand, 1] += raised
        yield Waypoint(hands, _both(closed))
        hands = hands.copy()
        hands[hand] = rim[0], hands[hand, 1], rim[2]
        yield Waypoint(hands, _both(closed), wait=SETTLE)

    def pull_apart(self, world: World, env: int, held: np.ndarray) -> Iterator[Waypoint]:
        """Return the path of hands that pull the held particles apart in their current direction, and release them."""
        points, size = world.state.get_positions(env)[held], float(sizes(world)[env, 0])
        across = (points[1] - points[0]) * [1.0, 0.0, 1.0]
        half = 0.5 * self.config.spacing * (held[1] - held[0]) * size * across
        half /= max(float(np.linalg.norm(across)), 1e-6)
        middle = np.array([0.0, self.config.radius, 0.0]) * size
        # The place of a hand that puts its particle there.
        apart = np.stack([middle - half, middle + half]) + grip_positions(world)[env] - points
        yield Waypoint(apart, (True, True), wait=STILL)
        yield Waypoint(apart, (False, False), wait=STILL)


def _both(closed: np.ndarray) -> tuple[bool, bool]:
    """Return whether each of two hands is closed, as a waypoint has it."""
    return bool(closed[0]), bool(closed[1])


def crossings(x: np.ndarray) -> np.ndarray:
    """Return the pairs of segments of a rope that cross each other seen from above, shape (k, 2), int.

    Args:
        x: its particles [m], shape (n, 3).
    """
    begins, ways = x[:-1, [0, 2]], np.diff(x[:, [0, 2]], axis=0)
    first, second = np.triu_indices(len(ways), 2)
    one, other, between = ways[first], ways[second], begins[second] - begins[first]
    area = _cross(one, other)
    parallel = np.abs(area) < 1e-12
    shares = np.stack([_cross(between, other), _cross(between, one)]) / np.where(parallel, 1.0, area)
    meet = ((shares >= 0.0) & (shares <= 1.0)).all(axis=0) & ~parallel
    return np.stack([first[meet], second[meet]], axis=1)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the cross products of vectors in a plane, shape (k,)."""
    return np.asarray(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])


def off_chord(x: np.ndarray) -> float:
    """Return the largest distance of a particle from the line between the ends [m].

    Args:
        x: particles [m], shape (n, 3).
    """
    chord, away = x[-1] - x[0], x - x[0]
    chord = chord / max(float(np.linalg.norm(chord)), 1e-9)
    return float(np.linalg.norm(away - (away @ chord)[:, None] * chord, axis=1).max())


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
