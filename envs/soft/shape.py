"""PBDSoftShape-v0: squeeze a bar of clay to a goal shape with two plates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.colliders import Box
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.hands import Hands, Paddle
from pbd_gym.envs.core.data.modes import Modes
from pbd_gym.envs.core.data.start_bank import cached
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.conditions import in_place
from pbd_gym.envs.core.parts.experts import paddle_actions, paddle_poses, sizes
from pbd_gym.envs.core.parts.goals import StartGoals
from pbd_gym.envs.core.parts.manipulation import WeightedMeasures, goal_distance
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import Task, World, worked_out_once
from pbd_gym.envs.soft.body import Body, SoftTaskConfig, hands_box
from pbd_gym.geometry.tetmeshes import box
from pbd_gym.materials.materials import Plasticity, SoftMaterial

PLATE = (0.01, 0.04, 0.02)
"""Half the thickness, height and width of a plate [m]."""
STEPS = 60
"""Number of control steps in which a goal shape is made."""


@dataclass(frozen=True)
class SoftShapeConfig(SoftTaskConfig):
    """Numbers of PBDSoftShape-v0; each can be passed to ``gym.make``."""

    bar: tuple[float, float, float] = (0.08, 0.06, 0.12)
    """Width, height and length of the bar [m]."""
    cells: tuple[int, int, int] = (4, 3, 6)
    """Number of cells along x, y and z."""
    density: float = 1500.0
    """Mass per volume [kg/m^3]."""
    young_modulus: float = 1e5
    """Stiffness [Pa]."""
    yield_strain: float = 0.02
    """Strain below which an edge springs back."""
    creep_rate: float = 50.0
    """Rate at which strain beyond that becomes permanent [1/s]."""
    paddle_friction: float = 0.5
    """Coulomb coefficient of the plates."""
    spread: float = 0.01
    """Largest distance of the bar from the middle at the start, along x and z [m]."""
    yaw: float = 0.2
    """Largest rotation of the bar about the vertical at the start, in either direction [rad]."""
    width: tuple[float, float] = (0.4, 0.75)
    """Smallest and largest share of its width to which the bar is pinched in a goal shape."""
    success_at: float = 0.75
    """Normalised performance that counts as being at the goal."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("bar", "cells", "creep_rate", "width"))
        if self.width[0] > self.width[1] or self.width[1] > 1.0:
            raise ValueError(f"width must be the smallest and the largest, up to 1, got {self.width}")


class SoftShape(Task):
    """A bar of clay, and for each start state a shape into which two plates must squeeze it.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: SoftShapeConfig, modes: Modes) -> None:
        self.config = config
        plasticity = Plasticity(config.yield_strain, config.creep_rate)
        elasticity = config.density, config.young_modulus, config.poisson_ratio
        clay = SoftMaterial(*elasticity, "edges_and_volumes", plasticity)
        self.bar = body = Body(config, box(config.cells, config.bar), clay)
        half = 0.5 * np.array(config.bar[:2])
        edges = body.indices[np.isclose(np.abs(body.mesh.positions[:, :2]), half).all(axis=1)]
        inner = 0.5 * config.width[0] * config.bar[0] + config.contact_radius + PLATE[0]
        reach, ground, paddles = self.reach, self.standing, []
        for side in (-1.0, 1.0):
            plate = Box((side * reach, ground, 0.0), PLATE, friction=config.paddle_friction)
            low, high = sorted((side * reach, side * (inner - config.spread)))
            number = body.scene.add_collider(plate, True)
            paddles.append(Paddle(number, (low, ground, -reach), (high, ground + 0.1, reach)))
        hands = Hands(
            particles=(),
            corners=(),
            reach=0.0,
            max_step=config.max_step,
            lower=(-reach, ground, -reach),
            upper=(reach, ground + 0.1, reach),
            paddles=tuple(paddles),
        )
        super().__init__(
            scene=body.scene,
            hands=hands,
            keypoints=edges,
            goal_particles=edges,
            starts=StartBank(body.sample_starts, body.strains),
            parts=[StartGoals(self.goals)],
            score=WeightedMeasures(
                config, modes, [goal_distance()], goal_tolerance=0.0025, conditions=in_place(config.in_place)
            ),
            expert=self.follow_recipe,
            goal_shapes=self.shapes,
            view_box=hands_box(hands, 0.9),
        )

    @property
    def reach(self) -> float:
        """Distance of the plates from the middle at the start, which is their limit along x and z [m]."""
        return float(np.linalg.norm(self.config.bar[::2])) * 0.5 + self.config.spread + 0.03 + PLATE[0]

    @property
    def standing(self) -> float:
        """Height of the plates when they stand on the ground [m]."""
        return PLATE[1] + self.config.contact_radius

    @worked_out_once
    def recipe(self, world: World) -> np.ndarray:
        """Return the path of the plates that makes the goal shape of each start [m], shape (starts, STEPS + 1, 2, 3).

        They pinch the bar twice, once in each half of its length, to a width each, and withdraw.
        """
        config, stream, count = self.config, self.bar.variations(), len(world.start_positions)
        middle = world.start_positions[:, self.bar.indices].mean(axis=1).astype(np.float64)
        length = config.bar[2]
        sides, open_ = np.array([-1.0, 1.0]), self.reach
        order = stream.choice([-1.0, 1.0], count)
        # The deeper pinch comes first: if the goal did not show the order, the beginning would be ambiguous.
        widths = np.sort(stream.uniform(*config.width, (2, count)), axis=0) * config.bar[0]
        start = np.zeros((count, 2, 3))
        start[..., 0], start[..., 1] = sides * open_, self.standing
        way, now = [start], start
        for half, width in zip((order, -order), widths, strict=True):
            along = middle[:, 2] + half * stream.uniform(0.15, 0.4, count) * length
            apart = now.copy()
            apart[..., 2] = along[:, None]
            closed = apart.copy()
            closed[..., 0] = middle[:, :1] + sides * (0.5 * width + config.contact_radius + PLATE[0])[:, None]
            for target, speed, rest in ((apart, 1.0, 0), (closed, 0.5, 2), (apart, 1.0, 1)):
                steps = int(np.ceil(np.abs(target - now).max() / (speed * config.max_step) - 1e-6))
                way += [now + (target - now) * share for share in np.linspace(0.0, 1.0, steps + 1)[1:]]
                way += [target] * rest
                now = target
        if len(way) > STEPS + 1:
            raise ValueError(f"a goal shape takes {len(way) - 1} steps but there are {STEPS}: raise max_step")
        way += [now] * (STEPS + 1 - len(way))
        return np.stack(way, axis=1)

    @worked_out_once
    def shapes(self, world: World) -> np.ndarray:
        """Return the targets of all particles for each start state [m], shape (starts, n, 3).

        They are computed once, and cached on disk.
        """
        what = (type(self), "goals", self.config)
        shape = (self.config.starts, self.scene.particle_count, 3)
        return cached(what, world.model.device, lambda: self._squeeze(world).astype(np.float32), shape)

    def _squeeze(self, world: World) -> np.ndarray:
        """Return the particles after the plates have followed the path [m], shape (starts, n, 3)."""
        handler = self.bar.handler(world, world.start_positions, self.config.damping)
        handler.state.set_memory(self.bar.strains(world))
        way = self.recipe(world)
        for step in range(STEPS):
            for k, paddle in enumerate(self.hands.paddles):
                handler.control.move_collider(paddle.collider, way[:, step + 1, k] - way[:, step, k])
            handler.rest(1)
        return handler.positions()

    def goals(self, world: World) -> np.ndarray:
        """Return the goals of the goal particles for each start state [m], shape (starts, k, 3)."""
        return self.shapes(world)[:, self.goal_particles]

    def follow_recipe(self, world: World) -> np.ndarray:
        """Return the expert's actions: those that made the goal shape."""
        steps = np.minimum(world.buffers.peek("elapsed") + 1, STEPS)
        wanted = self.recipe(world)[world.buffers.peek("start"), steps]
        anchor = np.array(world.anchor)
        return paddle_actions(world, anchor + sizes(world)[:, None] * (wanted - anchor) - paddle_poses(world)[0])


class SoftShapeVectorEnv(TaskVectorEnv):
    """Squeeze a bar of clay to a goal shape with two plates.

    ## Description

    A bar of clay lies on the ground along z, between two upright plates. Clay squeezed beyond a small strain stays
    squeezed, so a pinch that goes too far cannot be undone. The goal shape was made from the same bar by two pinches
    across it, one in each half, which differ in position and width, the deeper one first. The bar is a mesh of edges
    that yield and tetrahedra that keep their volume, solved by XPBD in 32 substeps of 2.5 ms per action. It is stout,
    so its surface does not meet itself, and its particles do not collide with each other.

    DaXBench and PlasticineLab compare the shapes of such materials particle by particle and on a grid. Here each
    particle is compared with its own goal: the mean distance then falls with every step in the right direction and
    suits hindsight replay, whereas an overlap on a grid cannot tell small dents from none.

    ## Action Space

    `Box(-1, 1, (6,), float32)` with `action_mode="paddle"`. The plates face each other along x, do not turn, and stay
    on their own side, above the ground.

    | Num | Action                                    | Min | Max | Unit per 1 |
    |-----|-------------------------------------------|-----|-----|------------|
    | 0-2 | displacement of the left plate, x, y, z   | -1  | 1   | 0.02 m     |
    | 3-5 | displacement of the right plate, x, y, z  | -1  | 1   | 0.02 m     |

    ## Observation Space

    `Box(-100, 100, (258,), float32)` with `obs_mode="keypoints"`; points are the 28 particles on the four long edges of
    the bar.

    | Num     | Observation                                                 | Min  | Max | Unit |
    |---------|-------------------------------------------------------------|------|-----|------|
    | 0-83    | positions of the points                                     | -100 | 100 | m    |
    | 84-167  | velocities of the points                                    | -100 | 100 | m/s  |
    | 168-251 | offsets from the points to their goals                      | -100 | 100 | m    |
    | 252-257 | positions of the plates                                     | -100 | 100 | m    |

    `obs_mode="particles"` has all particles in place of the points; `obs_mode="goal"` is a dict without the offsets,
    and with `achieved_goal` and `desired_goal`, the points and their goals (84 numbers each).

    ## Rewards

    The sum of named terms, reported in `info["reward_terms/NAME"]`:

    - `distance`: -1.0 * mean distance of the points to their goals [m]
    - `effort`: -0.0 * mean square of the action (`effort_weight`)

    `performance` is the first of them, about -0.01 at the start; `normalized_performance` is 0 at the start, 1 at the
    goal shape, and below 0 if the bar was pushed away or squeezed flat. `is_success`: `normalized_performance` is at
    least 0.75 now (`at_goal`), nine tenths of the points within 2.5 mm (`in_place`) and the clay at rest (`at_rest`),
    as in :class:`pbd_gym.envs.SoftPushVectorEnv`. `reward_mode="delta"`, `"normalized"` and `"sparse"` as in
    :class:`pbd_gym.envs.TaskVectorEnv`; with `obs_mode="goal"` the reward is that of the goals alone, sparse by
    default: 0 while the mean distance is within 0.0025 m and -1 elsewhere.

    ## Starting State

    One of 64 states: the bar at rest under its weight, with the small permanent strains that this leaves, up to 0.01
    m from the middle along x and z and turned by up to 0.2 rad; and a goal shape. The plates stand on either side. The
    pinches of a goal shape are 0.15 to 0.4 of the length off the middle of the bar, and 0.4 to 0.75 of its width wide;
    plates made them within the limits of the task, and the expert repeats these motions.

    ## Episode End

    Truncated after 60 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.TaskVectorEnv`; every field of :class:`SoftShapeConfig`.

    ## Vectorized environment

    ```python
    gym.make_vec("PBDSoftShape-v0", num_envs=256)
    ```

    ## Version History

    - v0: first version
    """

    config_type = SoftShapeConfig
    config: SoftShapeConfig
    task_type = SoftShape
    action_modes = ("paddle",)


class SoftShapeEnv(TaskEnv):
    vector_type = SoftShapeVectorEnv
