"""RopeRing-v0: bring the two ends of a tangled rope together."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.envs import (
    PICKER_MODES,
    PIXEL_MODES,
    Measure,
    Modes,
    Rope,
    RopeTaskConfig,
    Script,
    StartBank,
    Task,
    TaskEnv,
    TaskVectorEnv,
    Waypoint,
    WeightedMeasures,
    World,
    prepare,
    register,
)


@dataclass(frozen=True)
class RopeRingConfig(RopeTaskConfig):
    """Numbers of the task; each can be given to ``gym.make``."""

    rope_length: float = 0.4
    """[m]"""


@wp.kernel
def end_distance(
    last: int, sizes: wp.array2d[float], lanes: int, positions: wp.array4d[float], distance: wp.array1d[float]
):
    """Distance between the ends of the rope [m], in the sizes of the scene."""
    env = wp.tid()
    group, lane = env // lanes, env % lanes
    total = float(0.0)
    for axis in range(3):
        gap = positions[group, last, axis, lane] - positions[group, 0, axis, lane]
        total += gap * gap
    distance[env] = wp.sqrt(total) / sizes[env, 0]


class RopeRing(Task):
    """A tangled rope, whose two ends are to be brought together."""

    def __init__(self, config: RopeRingConfig, modes: Modes) -> None:
        self.config = config
        rope = Rope(config)
        measures = [Measure("ends", weight=-1.0, prepare=self.ends)]
        super().__init__(
            scene=rope.scene,
            hands=rope.hands(),
            keypoints=rope.keypoints(),
            goal_particles=np.zeros(0, dtype=np.int32),
            starts=StartBank(rope.tangled),
            score=WeightedMeasures(config, modes, measures, zero=-config.rope_length),
            expert=Script(self.plan),
            view_box=rope.view_box,
        )

    def ends(self, world: World, distance: Any) -> Any:
        """Return the launch that measures the distance of the ends."""
        last, sizes = self.config.particles - 1, world.buffers["parameters"]
        return prepare(world, end_distance, last, sizes, world.model.lanes, world.state.positions_scalar, distance)

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Return where the expert's hands go: to the ends, up, and together."""
        ends = world.state.get_positions()[env, [0, -1]].astype(np.float64)
        middle = ends.mean(axis=0)
        if np.linalg.norm(ends[1] - ends[0]) > 0.03:  # else they stay open: success asks them to let go
            yield Waypoint(ends, closed=(False, False))
            yield Waypoint(ends + np.array([0.0, 0.02, 0.0]), closed=(True, True))
            yield Waypoint(np.stack([middle, middle]), closed=(True, True), speed=0.5)


class RopeRingVectorEnv(TaskVectorEnv):
    """Bring the two ends of a tangled rope together. The reward is minus their distance [m]."""

    config_type = RopeRingConfig
    config: RopeRingConfig
    task_type = RopeRing
    action_modes = PICKER_MODES
    obs_modes = ("keypoints", "particles", "memory", *PIXEL_MODES)  # without goals there is no "goal"


class RopeRingEnv(TaskEnv):
    vector_type = RopeRingVectorEnv


register("RopeRing-v0", "rope_ring:RopeRingEnv", "rope_ring:RopeRingVectorEnv", max_episode_steps=40)
