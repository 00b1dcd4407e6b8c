"""PBDClothHang-v0: hang a towel over a rod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.colliders import Capsule
from pbd_gym.envs.cloth.moves import hanging_height
from pbd_gym.envs.cloth.towel import ClothTaskConfig, Towel, TowelTask
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import prepare
from pbd_gym.envs.core.data.modes import PICKER_MODES, Modes
from pbd_gym.envs.core.data.randomization import SIZE, scaled
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.experts import Script, Waypoint, grown
from pbd_gym.envs.core.parts.goals import GoalShape
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import Part, World
from pbd_gym.scene.scene import Scene

wp.set_module_options({"enable_backward": False})


@wp.kernel
@no_type_check
def move_rod(
    # In:
    chosen: wp.array1d[wp.int32],
    parameters: wp.array2d[float],
    origin: wp.vec3,
    anchor: wp.vec3,
    slot: int,
    # Out:
    poses: wp.array3d[float],
):
    """Move the rod to its place in environments of other sizes; its thickness stays."""
    env = wp.tid()
    if chosen[env] != 0:
        moved = scaled(origin, anchor, parameters[env, SIZE])
        for axis in range(3):
            poses[env, slot, axis] = moved[axis]


@dataclass(frozen=True)
class ClothHangConfig(ClothTaskConfig):
    """Numbers of PBDClothHang-v0; each can be passed to ``gym.make``."""

    rod_radius: float = 0.02
    """[m]"""
    rod_height: float = 0.0
    """Height of its axis above the ground [m]. With 0 it is three quarters of the length of the towel along z."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("rod_radius",))
        if self.rod_height == 0.0:
            object.__setattr__(self, "rod_height", 0.75 * self.size[1])
        if self.rod_height < 0.5 * self.size[1] + 2.0 * self.rod_radius:
            raise ValueError(f"rod_height must leave room for half of the towel to hang, got {self.rod_height}")

    @property
    def apart(self) -> float:
        """Distance from the axis of the rod to the middle of the flat towel [m], such that a rotated one does not lie
        under the rod.
        """
        width, depth = self.size
        return 0.7 * depth + 0.3 * max(width - depth, 0.0)


class Rod(Part):
    """A rod beside the towel, along x, which moves with the size of an environment.

    Args:
        scene: scene of the towel, which the rod is added to.
        config: the task's numbers.
        moving: whether sizes differ.
        length: half its length [m]; by default eight tenths of the towel's width.
    """

    def __init__(self, scene: Scene, config: ClothHangConfig, moving: bool, length: float = 0.0) -> None:
        # As far off the middle as the towel is, so that both lie in the box of the hands.
        length, z = length or 0.8 * config.size[0], 0.5 * config.apart
        ends = ((-length, config.rod_height, z), (length, config.rod_height, z))
        rod = Capsule(start=ends[0], end=ends[1], radius=config.rod_radius, friction=config.friction)
        self.collider, self.moving = scene.add_collider(rod, moving=moving), moving

    def begin(self, world: World, chosen: Any) -> Sequence[Any]:
        """Return the launch that moves the rod, if sizes differ."""
        if not self.moving:
            return ()
        origin, slot = world.scene.colliders[self.collider].origin, world.model.pose_index(self.collider)
        anchor, sizes = wp.vec3(*world.anchor), world.buffers["parameters"]
        return [prepare(world, move_rod, chosen, sizes, wp.vec3(*origin), anchor, slot, world.state.poses)]


class ClothHang(TowelTask):
    """A flat towel beside a rod, over which it must be hung.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: ClothHangConfig, modes: Modes) -> None:
        self.config = config
        towel, side = Towel(config), config.longest
        goal = GoalShape(towel.indices.ravel(), self.hung)
        super().__init__(
            towel,
            goal,
            hands=towel.hands(2, 3, height=1.6),
            starts=StartBank(self.sample_starts),
            parts=[goal, Rod(towel.scene, config, "size" in modes.ranges)],
            score=WeightedMeasures(
                config, modes, [Measure("distance", -1.0, goal.mean_distance)], conditions=goal.conditions(config)
            ),
            expert=Script(self.plan),
            view_box=(np.array([-0.8, 0.0, -0.9]) * side, np.array([0.8, 1.2, 0.6]) * side),
        )

    def sample_starts(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return flat towels beside the rod, slightly rotated and shifted [m], shape (starts, n, 3)."""
        config = self.config
        shift = np.zeros((config.starts, 1, 3))
        shift[..., [0, 2]] = np.array(config.size) * rng.uniform(-0.1, 0.1, (config.starts, 1, 2))
        shift[..., 2] -= 0.5 * config.apart
        return self.towel.turned(rng, 0.3) + shift

    def hung(self, world: World) -> np.ndarray:
        """Return the towel in an arc over the rod, its last row on the far side [m], shape (1, n, 3)."""
        return over_rod(self.config, self.scene.positions)[None]

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Return the hands' path: they carry the last row up, over the rod, and down on the other side."""
        if world.buffers.peek("elapsed")[env] == 0:
            up = hanging_height(grown(world, self.towel.flat, env))
            yield from carry_over(self.towel.shape(world, env), self.goals(world, env), up, self.towel.slack)


def over_rod(config: ClothHangConfig, flat: np.ndarray) -> np.ndarray:
    """Return flat towels hung over the rod in an arc, their last rows on the far side [m], shape (n, 3).

    Args:
        config: the task's numbers.
        flat: particles, those in the middle along z at z = 0 [m], shape (n, 3).
    """
    radius = config.rod_radius + config.radius
    along = flat[:, 2]  # from the rod's top on
    angle = np.clip(along / radius, -0.5 * np.pi, 0.5 * np.pi)
    down = np.maximum(np.abs(along) - 0.5 * np.pi * radius, 0.0)
    z = 0.5 * config.apart + radius * np.sin(angle)
    y = config.rod_height + radius * np.cos(angle) - down
    return np.stack([flat[:, 0], y, z], axis=1)


def carry_over(x: np.ndarray, goals: np.ndarray, up: np.ndarray, slack: float) -> Iterator[Waypoint]:
    """Return the path of two hands that hang a flat towel over a rod.

    Args:
        x: its particles, shape (rows, columns, 3) [m].
        goals: targets of these, shape (rows, columns, 3) [m].
        up: the vector up from its last row to its first when it hangs, shape (3,) [m].
        slack: see :attr:`pbd_gym.envs.cloth.towel.Towel.slack`.
    """
    both = (True, True)
    last, middle = goals[-1, [0, -1]], goals[len(goals) // 2, [0, -1]]
    on = (last - middle) * [0.0, 0.0, 1.0]
    yield Waypoint(x[-1, [0, -1]], (False, False))
    yield Waypoint(x[-1, [0, -1]] + 0.5 * up, both, 0.5)
    # Up on this side, and in an arc down on the other, so that the hanging half stays taut.
    yield Waypoint(middle * [1.0, 0.0, 1.0] + 1.45 * up - on, both, 0.6, wait=2)
    far = float(np.linalg.norm(up)) * on / np.linalg.norm(on, axis=1, keepdims=True)
    reach = 0.5 + 0.8 * slack
    for angle in np.linspace(0.15, 0.9, 6) * np.pi:
        yield Waypoint(middle + reach * (np.cos(angle) * up + np.sin(angle) * far), both, 0.6)
    yield Waypoint(last + 0.5 * on, both, 0.4, wait=3)
    yield Waypoint(last, (False, False), wait=3)


class ClothHangVectorEnv(TaskVectorEnv):
    """Hang a towel over a rod.

    ## Description

    A towel lies flat beside a rod, and must be hung over it, one half on each side. The rod is a fixed capsule. The
    towel rubs against it, and stays in place when it is released.

    ## Action Space

    `Box(-1, 1, (8,), float32)`: two hands, as in :class:`pbd_gym.envs.ClothFlattenVectorEnv`; one unit of
    displacement is 0.08 m.

    ## Observation Space

    `Box(-100, 100, (89,), float32)` with `obs_mode="keypoints"`, as in :class:`pbd_gym.envs.ClothFoldVectorEnv`, whose
    modes `"particles"` and `"goal"` are also available.

    ## Rewards

    - `distance`: minus the mean distance of the particles from their targets [m]
    - `effort`: minus `effort_weight` times the mean square of the action; 0 by default

    Reward modes and `info` are those of :class:`pbd_gym.envs.ClothFoldVectorEnv`, with `distance` as the performance p
    and p1 = 0; success is a normalized performance of at least 0.9 (`at_goal`) of a towel that has been released and is
    at rest, with nine tenths of its particles within 0.05 m of their targets (`in_place`), and no edge of which goes
    through it (`unpierced`).

    ## Starting State

    One of 64 towels that lie flat on one side of the rod, rotated about the vertical by up to 0.3 rad and shifted by up
    to 0.04 m. The hands are open, at two corners.

    ## Episode End

    Truncated after 100 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes, devices and splits of :class:`pbd_gym.envs.TaskVectorEnv`, and every field of
    :class:`pbd_gym.envs.ClothHangConfig`. A finer towel:

    ```python
    gym.make("PBDClothHang-v0", resolution=64)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = ClothHangConfig
    config: ClothHangConfig
    task_type = ClothHang
    action_modes = PICKER_MODES


class ClothHangEnv(TaskEnv):
    vector_type = ClothHangVectorEnv
