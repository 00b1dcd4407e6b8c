"""PBDRopeTie-v0: tie an overhand knot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import Launches, prepare
from pbd_gym.envs.core.data.modes import PICKER_MODES, PIXEL_MODES, Modes
from pbd_gym.envs.core.data.symmetries import MIRROR_X, QUARTER
from pbd_gym.envs.core.parts.experts import Script, Waypoint
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import Reduced, Task, World
from pbd_gym.envs.rope.body import Rope
from pbd_gym.envs.rope.knots import KnotWatch, rate_knot, v2
from pbd_gym.envs.rope.strands import Strands
from pbd_gym.envs.rope.tying import tie
from pbd_gym.envs.rope.untie import RopeKnotConfig

OVERHAND = 1
"""Value of v2 that counts as tied."""
BENDS = 0.4
"""Largest amplitude of the two waves in the direction of a rope at the start [rad]."""


class RopeTie(Task):
    """A rope in which an overhand knot must be tied.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: RopeKnotConfig, modes: Modes) -> None:
        self.config = config
        self.rope = rope = Rope(config)
        self.watch = watch = KnotWatch(config.particles)
        conditions = [watch.is_knot("knotted", OVERHAND), watch.unpassed()]
        super().__init__(
            scene=rope.scene,
            hands=rope.hands(),
            keypoints=rope.keypoints(),
            goal_particles=np.zeros(0, dtype=np.int32),
            starts=StartBank(self.bent),
            parts=[watch],
            score=WeightedMeasures(
                config, modes, [Measure("knot", 1.0, self.progress)], best=1.0, zero=0.0, conditions=conditions
            ),
            reduced=Reduced(rope.keypoints()),
            expert=Script(self.plan),
            symmetries=rope.anyhow(MIRROR_X, QUARTER),
            view_box=rope.view_box,
            counts_passages=True,
        )

    def bent(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return ropes in gentle bends and any direction, centred [m], shape (starts, n, 3)."""
        config, shares = self.config, np.linspace(0.0, 1.0, self.config.particles - 1)
        waves = rng.uniform(-BENDS, BENDS, (config.starts, 2, 1)) * np.stack(
            [np.sin(np.pi * shares), np.cos(2.0 * np.pi * shares)]
        )
        angle = rng.uniform(0.0, 2.0 * np.pi, (config.starts, 1)) + waves.sum(axis=1)
        shapes = np.full((config.starts, config.particles, 3), config.radius)
        shapes[:, 0, [0, 2]] = 0.0
        shapes[:, 1:, 0] = np.cumsum(config.spacing * np.cos(angle), axis=1)
        shapes[:, 1:, 2] = np.cumsum(config.spacing * np.sin(angle), axis=1)
        shapes[..., [0, 2]] -= shapes[..., [0, 2]].mean(axis=1, keepdims=True)
        return shapes

    def progress(self, world: World, out: Any) -> Any:
        """Return the launches for 1 where the rope is knotted, and else a third for each of the first two crossings."""
        return Launches([self.watch.look(world), prepare(world, rate_knot, world.buffers["knot"], OVERHAND, out)])

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Yield the next waypoints of the expert, and none once the rope is knotted and nothing is held."""
        s = Strands.of(world, env, self.config.rope_length)
        if v2(s.crossings) != (1, 1):
            yield from tie(s)


class RopeTieVectorEnv(TaskVectorEnv):
    """Tie an overhand knot.

    ## Description

    A rope of one metre lies on the ground in gentle bends. Two hands, which can grasp any of its particles, must tie an
    overhand knot: lay a loop, and bring an end through it, over one strand and under the next. The rope is that of
    `PBDRopeUntie-v0`.

    ## Action Space

    `Box(-1, 1, (8,), float32)`: two hands, as in :class:`pbd_gym.envs.RopeStraightenVectorEnv`, whose
    `action_mode="pick_place"` is also available.

    ## Observation Space

    As in :class:`pbd_gym.envs.RopeStraightenVectorEnv`: `Box(-100, 100, (68,), float32)` with `obs_mode="keypoints"`,
    ten particles in order along the rope; `obs_mode="particles"` has all particles in place of the ten.

    ## Rewards

    `knot`: 1 for an overhand knot of either hand, else a third for each of the first two crossings of the rope with
    itself, seen from above. `info["performance"]` and `info["normalized_performance"]` are the same number. Success
    asks for the knot (`knotted`: the invariant v2 of the rope is 1 whether its ends go up or down, so both must have
    come out of the knot; Polyak and Viro 1994, doi:10.1155/S1073792894000486) in a rope that no hand holds
    (`released`), that is at rest (`at_rest`) and that has not gone through itself in any action of the episode
    (`unpassed`).

    ## Starting State

    One of 64 ropes (`starts`) in gentle bends and any direction. The pickers are side by side at one side of their box,
    away from the rope, and open (`hands_at`).

    ## Episode End

    Truncated after 120 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.TaskVectorEnv`; every field of :class:`pbd_gym.envs.RopeKnotConfig`.

    ## Vectorized environment

    ```python
    gym.make_vec("PBDRopeTie-v0", num_envs=256)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = RopeKnotConfig
    config: RopeKnotConfig
    task_type = RopeTie
    action_modes = PICKER_MODES
    obs_modes = ("keypoints", "particles", "memory", "reduced", *PIXEL_MODES)


class RopeTieEnv(TaskEnv):
    vector_type = RopeTieVectorEnv
