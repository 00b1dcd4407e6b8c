"""PBDRopeStraighten-v0: pull a tangled rope straight."""

from __future__ import annotations

from typing import Any

import numpy as np

from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import prepare
from pbd_gym.envs.core.data.modes import PICKER_MODES, PIXEL_MODES, Modes
from pbd_gym.envs.core.data.presets import PRESETS
from pbd_gym.envs.core.data.symmetries import MIRROR_X, QUARTER
from pbd_gym.envs.core.parts.experts import grip_positions, held_particles, picker_actions, sizes
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import Condition, Reduced, Task, World
from pbd_gym.envs.rope.body import Rope, RopeTaskConfig
from pbd_gym.envs.rope.measures import length_error, straight

NEAR = 0.4
"""Distance from an end at which the expert closes a hand, as a share of its reach: the next particle is farther."""


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
            expert=self.pull_apart,
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

    def pull_apart(self, world: World) -> np.ndarray:
        """Return the expert's actions: grasp both ends, pull them apart in their current direction, and release.

        A rope with a knot would snap back from its full length, so they go back until it is not stretched.
        """
        config, x, b = self.config, world.state.get_positions(), world.buffers
        ends = x[:, [0, -1]]
        held = held_particles(world)
        holding = (held == [0, config.particles - 1]).all(axis=1)
        across = (ends[:, 1] - ends[:, 0]) * [1.0, 0.0, 1.0]
        across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-6)
        full, distance = config.rope_length * sizes(world), np.linalg.norm(ends[:, 1:] - ends[:, 0:1], axis=2)
        stretch = np.linalg.norm(np.diff(x, axis=1), axis=2).sum(axis=1, keepdims=True) / full - 1.0
        eased = np.clip(distance - np.maximum(stretch - 0.01, 0.0) * full, 0.94 * full, full)
        length = np.where((distance > 0.93 * full) & (stretch > 0.005), eased, full)
        half = 0.5 * length * across
        middle = np.array([0.0, config.radius, 0.0])
        apart = np.stack([middle - half, middle + half], axis=1)
        # The place of a hand that puts its particle there.
        apart += grip_positions(world) - ends
        wrong = (held >= 0) & (held != [0, config.particles - 1])
        still = (b.peek("at_rest") > 0) & (np.abs(distance - length) < 0.005 * full)[:, 0]
        straight = np.where((held >= 0).any(axis=1), holding & still, b.peek("at_goal") > 0)
        targets = np.where(holding[:, None, None], apart, ends)
        targets = np.where(straight[:, None, None], grip_positions(world), targets)
        # On the way there from elsewhere a closed hand would grip whatever it comes across.
        there = np.linalg.norm(grip_positions(world) - ends, axis=2) < NEAR * self.config.reach
        return picker_actions(world, targets, (there | (held >= 0)) & ~wrong & ~straight[:, None])


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

    One of 64 ropes (`starts`) at rest after four random pick-and-places, centred. The pickers are at its ends, open.

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
