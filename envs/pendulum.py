"""PBDPendulum-v0: swing up a double pendulum by its pivot, and hold it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.colliders import Plane
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import device_indices, filled
from pbd_gym.envs.core.data.hands import Hands
from pbd_gym.envs.core.data.modes import PICKER_MODES, Modes
from pbd_gym.envs.core.data.randomization import SIZE, random_stream
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.measures import FirstRating, begin_rating, write_goal
from pbd_gym.envs.core.parts.reaching import ReachingConfig, ReachingScore, SampledGoals
from pbd_gym.envs.core.parts.starts import SettledStarts
from pbd_gym.envs.core.task import Task, World
from pbd_gym.scene.scene import Scene

wp.set_module_options({"enable_backward": False})

RADIUS = 0.08
"""Radius of the bobs [m]."""


@dataclass(frozen=True)
class PendulumConfig(ReachingConfig):
    """Numbers of PBDPendulum-v0; each can be passed to ``gym.make``."""

    lengths: tuple[float, float] = (1.0, 1.0)
    """Lengths of the upper and of the lower link [m]."""
    masses: tuple[float, float] = (0.5, 0.5)
    """Masses of the bobs at their ends [kg]."""
    damping: float = 0.0
    """Rate at which the bobs lose velocity to the air [1/s]."""
    substeps: int = 100
    """Simulation steps per action; single precision works best near 1/3000 s."""
    settle_time: float = 0.0
    """Time to come to rest [s]: none, since links start at random angles."""
    start_angle: float = 0.2
    """Largest angle between a link and the vertical at the start [rad]; pi starts anywhere."""
    upright_starts: float = 0.0
    """Share of episodes that start upright, within the same angle, as training for an agent."""
    max_step: float = 0.1
    """Largest move of the pivot along an axis per action [m]."""
    max_acceleration: float = 30.0
    """Largest acceleration of the pivot along an axis [m/s^2]."""
    workspace: tuple[float, float] = (2.0, 0.5)
    """Half the width and half the height of the box that the pivot stays in [m]."""
    goal_shift: float = 0.4
    """Largest shift of the goals along x from the middle of the box [m]."""
    goal_steps: int = 30
    """Number of steps in a row for which both bobs must be at their goals."""

    def __post_init__(self) -> None:
        check_numbers(
            self,
            positive=(
                "lengths", "masses", "ctrl_dt", "max_step", "max_acceleration", "workspace", "goal_radius",
                "goal_steps",
            ),
        )  # fmt: skip
        for name in ("lengths", "masses", "workspace"):
            if np.shape(getattr(self, name)) != (2,):
                raise ValueError(f"{name} must be two numbers, got {getattr(self, name)}")
        if self.upright_starts > 1.0:
            raise ValueError(f"upright_starts must be a share, 1 at most, got {self.upright_starts}")
        if self.goal_shift > self.workspace[0]:
            raise ValueError(f"goal_shift must not be above workspace[0], {self.workspace[0]}, got {self.goal_shift}")

    @property
    def length(self) -> float:
        return float(sum(self.lengths))


@wp.struct
class Links:
    """Parameters for sampling the angles of links and the place of the goals; see :class:`PendulumConfig`."""

    lengths: wp.array1d[float]
    start_angle: float
    upright_starts: float
    goal_shift: float


@wp.kernel
@no_type_check
def sample_pendulum(
    # In:
    chosen: wp.array1d[wp.int32],
    seed: wp.array1d[wp.int32],
    episode: wp.array1d[wp.int32],
    parameters: wp.array2d[float],
    bobs: wp.array1d[wp.int32],
    links: Links,
    lanes: int,
    # Out:
    positions: wp.array4d[float],
    goals: wp.array3d[float],
    rating: FirstRating,
):
    """Sample the angles of the links, and goals vertically above a point near the middle of the box."""
    env = wp.tid()
    if chosen[env] == 0:
        return
    group = env // lanes
    lane = env % lanes
    random = random_stream(seed[env], episode[env])
    size = parameters[env, SIZE]
    goal = wp.vec3(size * links.goal_shift * wp.randf(random, -1.0, 1.0), 0.0, 0.0)
    side = wp.where(wp.randf(random) < links.upright_starts, 1.0, -1.0)
    bob = wp.vec3()
    total = float(0.0)
    count = bobs.shape[0]
    for k in range(count):
        angle = links.start_angle * wp.randf(random, -1.0, 1.0)
        bob += size * links.lengths[k] * wp.vec3(wp.sin(angle), side * wp.cos(angle), 0.0)
        goal += wp.vec3(0.0, size * links.lengths[k], 0.0)
        for axis in range(3):
            positions[group, bobs[k], axis, lane] = bob[axis]
        write_goal(goals, env, k, goal)
        total += wp.length(goal - bob)
    now = -total / float(count)
    begin_rating(env, now, now, rating)


class SampledPendulum(SampledGoals):
    """Links at random angles, and goals vertically above a point near the middle of the box."""

    kernel = sample_pendulum

    def inputs(self, world: World) -> list[Any]:
        """Return the kernel's inputs, and the positions that it writes."""
        b, config = world.buffers, world.config
        links = filled(
            Links,
            lengths=wp.array(config.lengths, dtype=float, device=world.model.device),
            start_angle=config.start_angle,
            upright_starts=config.upright_starts,
            goal_shift=config.goal_shift,
        )
        return [
            b["seed"], b["episode"], b["parameters"], device_indices(world, world.goal_particles), links,
            world.model.lanes, world.state.positions_scalar,
        ]  # fmt: skip


class Pendulum(Task):
    """Two bobs that hang from a pivot, which must come to rest above it.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: PendulumConfig, modes: Modes) -> None:
        width, height = config.workspace
        # The bobs do not reach the ground while the pivot is held.
        ground = float(-1.2 * modes.largest_size * (config.length + height))
        scene = Scene(contact_radius=RADIUS)
        scene.add_collider(Plane(offset=ground, friction=config.friction))
        hanging = np.zeros((3, 3))
        hanging[1:, 1] = -np.cumsum(config.lengths)
        # The pivot's weight matters only to an agent that releases it.
        particles = scene.add_particles(hanging, (config.masses[0], *config.masses))
        links = np.stack([particles[:-1], particles[1:]], axis=1)
        scene.add_distance_constraints(links)
        scene.lines, scene.beads = links, particles[1:]
        hands = Hands(
            particles=(int(particles[0]),),
            corners=tuple(int(p) for p in particles),
            reach=config.reach,
            max_step=config.max_step,
            lower=(-width, ground + RADIUS if modes.action_mode in PICKER_MODES else -height, 0.0),
            upper=(width, height, 0.0),
            axes=2,
            max_change=config.max_acceleration * config.ctrl_dt**2,
        )
        lower = np.array([-width - 0.4 * config.length, -config.length, 0.0])
        upper = np.array([width + 0.4 * config.length, config.length + height, 0.0])
        super().__init__(
            scene=scene,
            hands=hands,
            keypoints=particles,
            goal_particles=particles[1:],
            starts=SettledStarts(),
            parts=[SampledPendulum()],
            score=ReachingScore(config),
            ground=0,
            anchor=(0.0, 0.0, 0.0),
            view_box=(lower, upper),
        )


class PendulumVectorEnv(TaskVectorEnv):
    """Swing up a double pendulum by its pivot, and hold it there.

    ## Description

    Two links hang from a pivot, which the agent moves about in a box in the plane of the pendulum. It must swing both
    links up and hold them upright, one on top of the other, at a goal sampled at reset. No force acts at the joints:
    energy comes from the motion of the pivot alone, and an upright pendulum falls over in a fraction of a second unless
    it is balanced. The links are two bobs on rigid distance constraints, solved by XPBD in 100 substeps of 1/3000 s per
    action; a free swing from the horizontal loses about 5 % of its energy in ten seconds. Nothing ever leaves the plane
    z = 0.

    ## Action Space

    `Box(-1, 1, (2,), float32)` with `action_mode="drag"`: the agent holds the pivot throughout and accelerates it.
    Along each axis the pivot is no faster than 3 m/s; it stays within 2 m of the middle along x and 0.5 m along y, and
    is stopped immediately by the walls of that box.

    | Num | Action                                | Min | Max | Unit per 1 |
    |-----|---------------------------------------|-----|-----|------------|
    | 0-1 | acceleration of the pivot, x, y       | -1  | 1   | 30 m/s^2   |

    `action_mode="picker"` has three numbers, `(x, y, grip)`: the hand closes on the nearest free particle within 0.08 m
    while `grip` is above 0, and opens otherwise; the pendulum then falls to the ground 3 m below, and the empty hand
    moves by 0.1 m per 1. `action_mode="pin"` has one number for the pivot and one for each bob that fixes it in space
    while it is above 0 and frees it otherwise; this adds no energy, so episodes must start with some (`start_angle`).
    `action_mode="pick_place"` has the three numbers of `picker`, but with an empty hand `(x, y)` is a position in the
    box, from -1 at its lower to 1 at its upper side, and an action lasts 41 control steps. With `picker` and
    `pick_place` the box reaches down to the ground.

    ## Observation Space

    `Box(-100, 100, (16,), float32)` with `obs_mode="keypoints"`; particles in the order pivot, upper bob, lower bob.
    The origin is the middle of the box.

    | Num   | Observation                                 | Min  | Max | Unit |
    |-------|---------------------------------------------|------|-----|------|
    | 0-5   | positions of the three particles, x, y      | -100 | 100 | m    |
    | 6-11  | velocities of the three particles           | -100 | 100 | m/s  |
    | 12-15 | offsets from the two bobs to their goals    | -100 | 100 | m    |

    `obs_mode="particles"` is the same here, since there are no other particles. `obs_mode="goal"` is a dict of
    `observation` (12 numbers), `achieved_goal` and `desired_goal` (4 numbers each: the bobs, and their goals) for
    hindsight experience replay. Except with `drag`, the positions of all grips follow at the end, and then whether each
    of them holds (0 or 1).

    ## Rewards

    The sum of `distance`, `near`, `rest` and `effort`, as in :class:`pbd_gym.envs.ClothVectorEnv`, over the two bobs;
    distances are compared with the 2 m of both links, and `r` = 0.2 m. Above all, `distance` measures how far the bobs
    are below their goals. Success requires 30 steps in a row, one second; the pivot is held throughout.

    ## Starting State

    At rest, the pivot in the middle of the box, each link within 0.2 rad of hanging, and the goals 1 m and 2 m above a
    point within 0.4 m of the middle, all uniform.

    ## Episode End

    Truncated after 300 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.TaskVectorEnv`; every field of :class:`PendulumConfig`:

    ```python
    gym.make("PBDPendulum-v0", start_angle=3.14, lengths=(1.0, 0.5))
    ```

    ## Vectorized environment

    ```python
    gym.make_vec("PBDPendulum-v0", num_envs=256)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = PendulumConfig
    config: PendulumConfig
    task_type = Pendulum


class PendulumEnv(TaskEnv):
    vector_type = PendulumVectorEnv
