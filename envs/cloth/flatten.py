"""PBDClothFlatten-v0: spread out a crumpled towel."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.envs.cloth.body import fitted
from pbd_gym.envs.cloth.heaps import Pulling, Spreading, hands_stay_low, nearby
from pbd_gym.envs.cloth.moves import tighten
from pbd_gym.envs.cloth.towel import ClothTaskConfig, HomeTowelConfig, Towel
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import device_indices, prepare
from pbd_gym.envs.core.data.modes import PICKER_MODES, PIXEL_MODES, Modes
from pbd_gym.envs.core.data.presets import PRESETS
from pbd_gym.envs.core.parts.conditions import unpierced
from pbd_gym.envs.core.parts.experts import Script, Waypoint, actions_left, grown
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures
from pbd_gym.envs.core.parts.measures import covered_area
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import Task, World, worked_out_once

GRID = 64
"""Number of cells along each side of the square in which covered area is counted; a multiple of 32."""
DISC = 0.75
"""Radius of the disc that a particle covers, in distances between particles: a flat towel then has no gaps."""


class CoveredArea:
    """The area that a towel covers, seen from above [m^2].

    Args:
        towel: the towel.
    """

    def __init__(self, towel: Towel) -> None:
        self.towel = towel

    @property
    def flat(self) -> float:
        """Area that the flat towel covers, with its rim [m^2]."""
        (width, depth), r = self.towel.config.size, DISC * self.towel.config.spacing
        return float(width * depth + 2.0 * (width + depth) * r + np.pi * r * r)

    @worked_out_once
    def words(self, world: World) -> Any:
        """Return an array for the bits of each environment's cells."""
        return wp.zeros((world.num_envs, GRID * GRID // 32), dtype=wp.uint32, device=world.model.device)

    def prepare(self, world: World, out: Any) -> Any:
        """Return the launch that measures the area."""
        config = self.towel.config
        # Wherever the middle of its particles is, all or at least most of a towel is in the grid.
        particles, cell = device_indices(world, self.towel.indices), 1.13 * math.hypot(*config.size) / GRID
        return prepare(
            world, covered_area, particles, DISC * config.spacing, cell, GRID, world.buffers["parameters"],
            world.model.lanes, world.state.positions_scalar, self.words(world), out,
        )  # fmt: skip


def anywhere(flat: np.ndarray, hands: np.ndarray) -> np.ndarray:
    """Return a place to lay a towel at which its first row need not turn on the way; see :data:`LayingSpot`."""
    along = (hands[1] - hands[0]) * [1.0, 0.0, 1.0]
    along /= max(float(np.linalg.norm(along)), 1e-9)
    across = np.array([-along[2], 0.0, along[0]])
    # The last row goes to the side where they are already.
    if across @ (hands.mean(axis=0) - flat.mean(axis=(0, 1))) < 0.0:
        across = -across
    rows, columns = flat.shape[:2]
    width, depth = (float(np.linalg.norm(end - flat[0, 0])) for end in (flat[0, -1], flat[-1, 0]))
    u, v = width * np.linspace(-0.5, 0.5, columns), depth * np.linspace(-0.5, 0.5, rows)
    goals: np.ndarray = flat.mean(axis=(0, 1)) + u[None, :, None] * along + v[:, None, None] * across
    return goals


class ClothFlatten(Task):
    """A towel in a heap, to be spread out.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: ClothTaskConfig, modes: Modes) -> None:
        self.towel = towel = Towel(config)
        self.area = area = CoveredArea(towel)
        self.spreading = Spreading(towel, anywhere, pull=0.25)
        self.pulling = Pulling(towel, nearby)
        super().__init__(
            scene=towel.scene,
            hands=towel.hands(),
            keypoints=towel.keypoints(),
            goal_particles=np.zeros(0, dtype=np.int32),
            starts=StartBank(towel.crumpled),
            score=WeightedMeasures(
                config, modes, [Measure("coverage", 1.0, area.prepare)], best=area.flat, conditions=unpierced(config)
            ),
            reduced=towel.reduced(),
            expert=Script(self.plan),
            symmetries=towel.anyhow(),
            view_box=towel.view_box,
        )

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Return the hands' path: they spread the towel, and tighten it at the end."""
        if world.buffers.peek("normalized_performance")[env] > 0.97:
            return
        towel = self.towel
        if hands_stay_low(world, towel):
            yield from self.pulling.plan(world, env)
            return
        x, flat = towel.shape(world, env), grown(world, towel.flat, env)
        # Either side may be up, and any edge may come first.
        ways = [turned for k in range(4) for turned in (np.rot90(x, k), np.rot90(x, k)[:, ::-1])]
        same = [turned for turned in ways if turned.shape == x.shape]
        fits = [fitted(flat, turned) for turned in same]
        distances = [float(np.linalg.norm(turned - fit, axis=2).mean()) for turned, fit in zip(same, fits, strict=True)]
        nearest = int(np.argmin(distances))
        near = distances[nearest] < 0.15 * towel.config.mean_side and towel.corners_held(world, env) == [None, None]
        begins = world.buffers.peek("elapsed")[env] == 0
        places = world.actions.mode == "pick_place"
        late = actions_left(world, env) < (12 if places else 40)
        covered = world.buffers.peek("performance")[env] / self.area.flat
        if near and (begins or late or covered > 0.9):
            pull = 0.08 if places else 0.05
            yield from tighten(world, towel, env, same[nearest], fits[nearest], pull)
        else:
            yield from self.spreading.plan(world, env)


class ClothFlattenVectorEnv(TaskVectorEnv):
    """Spread out a towel that lies crumpled on the ground.

    ## Description

    SoftGym's ClothFlatten (Lin et al. 2020, arXiv:2011.07215). A towel lies in a heap, and two hands must spread it
    until it covers as much ground as possible. The towel is a grid of particles with stretch, shear and bending
    constraints, solved by XPBD in as many substeps for each action of 0.08 s as its resolution needs: 32 for 32 x 32.
    It rubs against the ground and against itself.

    ## Action Space

    `Box(-1, 1, (8,), float32)` with `action_mode="picker"`: for each of the two hands

    | Num | Action                                                         | Min | Max | Unit per 1 |
    |-----|----------------------------------------------------------------|-----|-----|------------|
    | 0-2 | displacement of the hand, x, y, z                              | -1  | 1   | 0.08 m     |
    | 3   | above 0 it holds, or grasps the nearest free particle in reach | -1  | 1   | -          |

    A hand that closes grasps before it moves, within 0.06 m; one that opens releases first. It cannot leave a box
    around the towel, and is no obstacle to it. With `action_mode="pick_place"` (the default of
    `PBDClothFlattenPickPlace-v0`) the first three numbers are a place in that box, from -1 at its lower to 1 at its
    upper side, where the hand goes in a straight line during the action, which is 17 control steps of 0.08 s.

    ## Observation Space

    `Box(-100, 100, (62,), float32)` with `obs_mode="keypoints"`: nine points of the towel, three by three (its corners,
    the middles of its sides, its centre), and the hands.

    | Num   | Observation                          | Min  | Max | Unit |
    |-------|--------------------------------------|------|-----|------|
    | 0-26  | positions of the points              | -100 | 100 | m    |
    | 27-53 | velocities of the points             | -100 | 100 | m/s  |
    | 54-59 | positions of the hands               | -100 | 100 | m    |
    | 60-61 | whether they hold a particle, 0 or 1 | 0    | 1   | -    |

    `obs_mode="particles"` has all particles in place of the points.

    ## Rewards

    - `coverage`: the area that the towel covers, seen from above [m^2]
    - `effort`: minus `effort_weight` times the mean square of the action; 0 by default

    Each particle covers a disc; the area of all discs is counted in cells of 1 cm. SoftGym's cells stretch with the
    bounding box of the towel, so their size depends on how it lies; this is not copied. `reward_mode` may also be
    `"sparse"` (0 while it is a success, -1 otherwise), `"delta"` (the gain of performance in this step) or
    `"normalized"`.

    `info` has `performance` (the covered area A), `normalized_performance` = (A - A0) / (A_flat - A0) with A0 at the
    start, and `is_success`: done. That is `at_goal` (a normalized performance of at least 0.9), `released` (no hand
    holds anything) and `at_rest` (the particles have moved by no more than `rest_speed`, 0.01 m/s, on average for
    `rest_time`, 0.2 s) and `unpierced` (no edge goes through cloth), each of which `info` has as well.

    ## Starting State

    One of 64 heaps: a towel lifted at a random particle by 1 to 1.6 sides, dropped, left to settle, and centred. The
    hands start side by side at one side of their box, away from it, and open (`hands_at`); in
    `PBDClothFlattenPickPlace-v0` at two corners of the towel.

    ## Episode End

    Truncated after 100 steps (20 in `PBDClothFlattenPickPlace-v0`). Terminated only if the simulation diverges;
    `info["diverged"]` then says so.

    ## Arguments

    Modes, devices and splits of :class:`pbd_gym.envs.TaskVectorEnv`, and every field of
    :class:`pbd_gym.envs.HomeTowelConfig`. SoftGym's numbers:

    ```python
    gym.make("PBDClothFlatten-v0", preset="softgym")
    ```

    ## Version History

    * v0: initial version
    """

    config_type = HomeTowelConfig
    config: HomeTowelConfig
    task_type = ClothFlatten
    action_modes = PICKER_MODES
    presets = PRESETS["ClothFlatten"]
    obs_modes = ("keypoints", "particles", "memory", "reduced", *PIXEL_MODES)


class ClothFlattenEnv(TaskEnv):
    vector_type = ClothFlattenVectorEnv


class ClothFlattenPickPlaceVectorEnv(TaskVectorEnv):
    __doc__ = ClothFlattenVectorEnv.__doc__
    config_type = ClothTaskConfig
    task_type, action_modes, obs_modes = ClothFlatten, PICKER_MODES, ClothFlattenVectorEnv.obs_modes
    presets = PRESETS["ClothFlatten"]


class ClothFlattenPickPlaceEnv(TaskEnv):
    vector_type = ClothFlattenPickPlaceVectorEnv
