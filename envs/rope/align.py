"""PBDRope-v0: drag the ends of a crooked rope until it lies straight along a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.colliders import Plane
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import device_points, filled
from pbd_gym.envs.core.data.hands import Hands
from pbd_gym.envs.core.data.modes import Modes
from pbd_gym.envs.core.data.randomization import SIZE, random_stream, scaled
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.measures import FirstRating, begin_rating, middle_of, write_goal
from pbd_gym.envs.core.parts.reaching import ReachingConfig, ReachingScore, SampledGoals
from pbd_gym.envs.core.parts.starts import SettledStarts
from pbd_gym.envs.core.task import Task, World, put_down
from pbd_gym.materials.materials import RopeMaterial
from pbd_gym.scene.scene import Scene

wp.set_module_options({"enable_backward": False})

RADIUS = 0.01
"""Half the thickness of the rope [m]."""


@dataclass(frozen=True)
class RopeConfig(ReachingConfig):
    """Numbers of PBDRope-v0; each can be passed to ``gym.make``."""

    particles: int = 33
    """Number of particles along the rope."""
    rope_length: float = 1.0
    """[m]"""
    density: float = 0.04
    """Mass per length [kg/m]."""
    stretch_compliance: float = 1e-6
    """Compliance of the segments [m/N]."""
    bend_compliance: float = 0.1
    """Compliance of constraints that skip a particle [m/N]."""
    self_collision: bool = True
    """Whether the rope collides with itself."""
    starts: int = 128
    """Number of crooked start shapes: four fifths for training, the rest for evaluation; a single one serves both."""
    starts_seed: int = 0
    """Seed from which these shapes are sampled."""
    crookedness: float = 1.3
    """Largest angle between the rope and the line through its shape [rad]."""
    goal_radius: float = 0.05
    """Distance within which a point is at its goal, as a share of the length."""
    settle_time: float = 1.0
    """Time for the shapes to come to rest before the first episode [s]."""
    goal_shift: float = 0.3
    """Largest shift of the line from the middle of the rope, along x and z [m]."""
    goal_turn: float = 0.8
    """Largest angle between the line and the direction of the rope [rad]."""
    rest_speed: float = 0.01
    """Mean speed of the particles below which they count as at rest [m/s]."""
    rest_time: float = 0.2
    """Duration of such slow motion required for success [s]."""

    def __post_init__(self) -> None:
        check_numbers(
            self,
            positive=(
                "rope_length", "density", "ctrl_dt", "max_step", "goal_radius", "goal_steps", "starts", "rest_speed",
            ),
            signed=("goal_turn", "goal_shift"),
        )  # fmt: skip
        if self.particles < 5:
            raise ValueError(f"particles must be at least 5, got {self.particles}")

    @property
    def length(self) -> float:
        return self.rope_length


@wp.struct
class Line:
    """Parameters for sampling lines."""

    offsets: wp.array1d[float]
    """Offsets of the goals along the line, from its middle, in lengths of the rope."""
    length: float
    """Length of the rope [m]."""
    shift: float
    """Largest shift along x and z [m]."""
    turn: float
    """Largest angle [rad]."""


@wp.kernel
@no_type_check
def sample_line(
    # In:
    chosen: wp.array1d[wp.int32],
    seed: wp.array1d[wp.int32],
    episode: wp.array1d[wp.int32],
    start: wp.array1d[wp.int32],
    parameters: wp.array2d[float],
    anchor: wp.vec3,
    shapes: wp.array2d[wp.vec3],
    line: Line,
    # Out:
    goals: wp.array3d[float],
    rating: FirstRating,
):
    """Sample goals on a straight line near the rope, rotated from the direction of the rope."""
    env = wp.tid()
    if chosen[env] == 0:
        return
    random = random_stream(seed[env], episode[env])
    count = shapes.shape[1]
    row = start[env]
    center = middle_of(shapes, row)
    across = shapes[row, count - 1] - shapes[row, 0]
    angle = wp.atan2(across[2], across[0]) + line.turn * wp.randf(random, -1.0, 1.0)
    x = center[0] + line.shift * wp.randf(random, -1.0, 1.0)
    z = center[2] + line.shift * wp.randf(random, -1.0, 1.0)
    total = float(0.0)
    for k in range(count):
        along = line.offsets[k] * line.length
        goal = wp.vec3(x + along * wp.cos(angle), center[1], z + along * wp.sin(angle))
        write_goal(goals, env, k, scaled(goal, anchor, parameters[env, SIZE]))
        total += parameters[env, SIZE] * wp.length(goal - shapes[row, k])
    now = -total / float(count)
    begin_rating(env, now, now, rating)


class LineGoals(SampledGoals):
    """Goals on a straight line near the rope, rotated from its direction."""

    kernel = sample_line

    def inputs(self, world: World) -> list[Any]:
        """Return the kernel's inputs."""
        b, config = world.buffers, world.config
        line = filled(
            Line,
            offsets=wp.array(
                world.goal_particles / (config.particles - 1) - 0.5, dtype=float, device=world.model.device
            ),
            length=config.length,
            shift=config.goal_shift,
            turn=config.goal_turn,
        )
        shapes = device_points(world, world.start_positions[:, world.goal_particles])
        return [b["seed"], b["episode"], b["start"], b["parameters"], world.anchor, shapes, line]


def crooked_shapes(config: RopeConfig) -> np.ndarray:
    """Return crooked shapes on the ground [m], shape (starts, n, 3).

    The angle of the rope is a sum of two waves along it.
    """
    generator = np.random.default_rng(config.starts_seed)
    middles = (np.arange(config.particles - 1) + 0.5) / (config.particles - 1)
    shapes = np.zeros((config.starts, config.particles, 3))
    for shape in shapes:
        waves = np.zeros_like(middles)
        for k in (1.5, 3.0):
            waves += generator.uniform(-1, 1) * np.sin(np.pi * k * middles + generator.uniform(0, 2 * np.pi))
        # Less than a right angle from the line, so that a rope never lies across itself.
        angle = config.crookedness * waves / max(float(np.abs(waves).max()), 1e-9)
        heading = generator.uniform(0, 2 * np.pi)
        steps = np.stack([np.cos(angle + heading), np.zeros_like(angle), np.sin(angle + heading)], axis=1)
        shape[1:] = np.cumsum(steps * config.length / (config.particles - 1), axis=0)
        shape -= shape.mean(axis=0)
        shape[:, 1] = RADIUS
    return shapes


class RopeAlign(Task):
    """A crooked rope, which must lie straight along a line.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: RopeConfig, modes: Modes) -> None:
        scene = Scene(contact_radius=RADIUS)
        scene.add_collider(Plane(friction=config.friction))
        points = np.zeros((config.particles, 3))
        points[:, 0] = np.linspace(-0.5, 0.5, config.particles) * config.length
        points[:, 1] = RADIUS
        rope = scene.add_rope(
            points, RopeMaterial(config.density, config.stretch_compliance, config.bend_compliance), lines=False
        )
        if config.self_collision:
            scene.add_particle_contacts(rope, RADIUS, config.friction)
        ends = (int(rope[0]), int(rope[-1]))
        extent = 1.5 * config.length
        hands = Hands(
            particles=ends,
            corners=ends,
            reach=config.reach,
            max_step=config.max_step,
            lower=(-extent, RADIUS, -extent),
            upper=(extent, 0.5 * config.length, extent),
        )
        keypoints = rope[np.linspace(0, config.particles - 1, 5).round().astype(int)]
        length = config.length
        super().__init__(
            scene=scene,
            hands=hands,
            keypoints=keypoints,
            goal_particles=keypoints,
            starts=SettledStarts(crooked_shapes(config)),
            parts=[LineGoals()],
            score=ReachingScore(config, put_down(config, modes.action_mode)),
            view_box=(np.array([-0.65, 0.0, -0.65]) * length, np.array([0.65, 0.1, 0.65]) * length),
        )


class RopeVectorEnv(TaskVectorEnv):
    """Drag the ends of a crooked rope until it lies straight along a line.

    ## Description

    A rope of one metre lies crooked on the ground, and the agent holds its ends. A line is sampled at reset, near the
    rope and at an angle to it. Five points of the rope (its ends, quarters and middle) must come to their goals on the
    line and stay there: the ends can be led, the rest must be pulled straight against the friction of the ground. The
    rope is a chain of particles with stretch and bending constraints, solved by XPBD in 20 substeps of 1/600 s per
    action.

    ## Action Space

    `Box(-1, 1, (6,), float32)` with `action_mode="drag"`: the hands hold the ends throughout.

    | Num | Action                                    | Min | Max | Unit per 1 |
    |-----|-------------------------------------------|-----|-----|------------|
    | 0-2 | displacement of the first hand, x, y, z   | -1  | 1   | 0.025 m    |
    | 3-5 | displacement of the second hand, x, y, z  | -1  | 1   | 0.025 m    |

    `action_mode="picker"` has four numbers per hand, `(x, y, z, grip)`: the hand closes on the nearest free particle
    within 0.08 m while `grip` is above 0, and opens otherwise. `action_mode="pin"` has one number per end that fixes it
    in space while it is above 0 and frees it otherwise. `action_mode="pick_place"` has the four numbers of `picker`,
    but `(x, y, z)` is a position in the box that hands stay in, from -1 at its lower to 1 at its upper side, and an
    action lasts 121 control steps.

    ## Observation Space

    `Box(-100, 100, (45,), float32)` with `obs_mode="keypoints"`; points in order along the rope.

    | Num   | Observation                                | Min  | Max | Unit |
    |-------|--------------------------------------------|------|-----|------|
    | 0-14  | positions of the five points               | -100 | 100 | m    |
    | 15-29 | velocities of the five points              | -100 | 100 | m/s  |
    | 30-44 | offsets from the points to their goals     | -100 | 100 | m    |

    `obs_mode="particles"` has all particles in place of the points. `obs_mode="goal"` is a dict of `observation` (30
    numbers), `achieved_goal` and `desired_goal` (15 numbers each) for hindsight experience replay. Except with `drag`,
    the positions of all grips follow at the end, and then whether each of them holds (0 or 1).

    ## Rewards

    The sum of `distance`, `near`, `rest` and `effort`, as in :class:`pbd_gym.envs.ClothVectorEnv`, over the five
    points; distances are compared with the length of the rope, and `r` = 0.05 m. Success requires the five points
    within `r` for ten steps (`info["at_goal"]`), a rope at rest (`at_rest`: its particles have moved by no more than
    `rest_speed`, 0.01 m/s, on average for `rest_time`, 0.2 s) and, with `picker` and `pick_place`, hands that have
    released (`released`).

    ## Starting State

    One of 128 crooked shapes at rest on the ground. The line passes within 0.3 m of the middle of the rope along x and
    z, turned by up to 0.8 rad, all uniform.

    ## Episode End

    Truncated after 100 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.TaskVectorEnv`; every field of :class:`RopeConfig`.

    ## Vectorized environment

    ```python
    gym.make_vec("PBDRope-v0", num_envs=256)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = RopeConfig
    config: RopeConfig
    task_type = RopeAlign


class RopeEnv(TaskEnv):
    vector_type = RopeVectorEnv
