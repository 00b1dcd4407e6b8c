"""PBDSoftLift-v0: lift a soft ball to a height between two plates, and hold it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.colliders import Box
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import device_indices, prepare
from pbd_gym.envs.core.data.hands import Hands, Paddle, slots_of
from pbd_gym.envs.core.data.modes import Modes
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.conditions import in_place
from pbd_gym.envs.core.parts.experts import goals_and_points, paddle_actions, paddle_poses, sizes
from pbd_gym.envs.core.parts.goals import StartGoals
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures, goal_distance
from pbd_gym.envs.core.parts.measures import mean_distance_to_paddles
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import Completion, Task, World
from pbd_gym.envs.soft.body import Body, SoftTaskConfig, hands_box
from pbd_gym.geometry.tetmeshes import ball
from pbd_gym.scene.scene import Scene

PLATE = (0.01, 0.04, 0.04)
"""Half the thickness, height and width of a plate [m]."""
GAP = 0.06
"""Gap between a plate and the ball in the middle, at the start [m]."""


@dataclass(frozen=True)
class SoftLiftConfig(SoftTaskConfig):
    """Numbers of PBDSoftLift-v0; each can be passed to ``gym.make``."""

    young_modulus: float = 1.6e4
    """Stiffness [Pa]."""
    compensate: bool = True
    """Whether the softening of the ball by a substep is compensated: so it is as stiff at any number of them."""
    radius: float = 0.06
    """Radius of the ball [m]."""
    resolution: int = 2
    """Resolution of the mesh; see :func:`pbd_gym.geometry.tetmeshes.ball`."""
    lift: tuple[float, float] = (0.1, 0.25)
    """Smallest and largest height to which the ball must be lifted [m]."""
    near_weight: float = 0.5
    """Reward lost per metre between the plates and the middle of the ball; not part of the performance."""
    reach: float = 0.03
    """Distance from which a hand grasps [m]."""
    rest_speed: float = 0.02
    """Mean speed of the particles below which they count as at rest [m/s]; a ball held by two hands turns slowly."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("radius", "resolution", "lift", "reach"))
        if self.lift[0] > self.lift[1]:
            raise ValueError(f"lift must be the smallest and the largest, got {self.lift}")


class SoftLift(Task):
    """A soft ball, which two plates or hands must lift to a height and hold there.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: SoftLiftConfig, modes: Modes) -> None:
        self.config = config
        self.ball = body = Body(config, ball(config.radius, config.resolution))
        points = body.mesh.positions
        ends = [int(body.indices[pick(points[:, axis])]) for axis in range(3) for pick in (np.argmin, np.argmax)]
        measures, plates = [goal_distance()], modes.action_mode == "paddle"
        if plates:
            measures.append(Measure("near", -config.near_weight, self.plate_distance, shaping=True))
        hands = Hands(
            particles=(ends[0], ends[1]),
            corners=(),
            reach=config.reach,
            max_step=config.max_step,
            lower=(-self.extent, config.contact_radius, -self.extent),
            upper=(self.extent, self.ceiling, self.extent),
            holding=False,
            paddles=self.add_plates(body.scene) if plates else (),
        )
        held_up = Completion(rest_speed=config.rest_speed, rest_time=config.rest_time)
        super().__init__(
            scene=body.scene,
            hands=hands,
            keypoints=np.concatenate([body.middle, ends]),
            goal_particles=body.middle,
            starts=StartBank(body.sample_starts, body.strains),
            parts=[StartGoals(self.goal_sets)],
            score=WeightedMeasures(
                config,
                modes,
                measures,
                goal_tolerance=0.02,
                completion=held_up,
                conditions=in_place(config.in_place),
            ),
            expert=self.squeeze_and_lift,
            view_box=hands_box(hands),
        )

    @property
    def extent(self) -> float:
        """Largest distance of plates and hands from the middle along x and z [m]."""
        return self.config.radius + 2.0 * GAP + PLATE[0]

    @property
    def ceiling(self) -> float:
        """Largest height of plates and hands [m]."""
        return 2.0 * self.config.radius + self.config.lift[1]

    def add_plates(self, scene: Scene) -> tuple[Paddle, ...]:
        """Add two plates that stand on either side of the ball, and return them."""
        config, paddles = self.config, []
        away, height = config.radius + GAP + PLATE[0], max(config.radius, PLATE[1]) + config.contact_radius
        inner = PLATE[0] + 0.3 * config.radius  # the object between the plates keeps some room
        for side in (-1.0, 1.0):
            number = scene.add_collider(Box((side * away, height, 0.0), PLATE, friction=config.paddle_friction), True)
            reach = sorted((side * inner, side * self.extent))
            low = (reach[0], PLATE[1] + config.contact_radius, -self.extent)
            paddles.append(Paddle(number, low, (reach[1], self.ceiling, self.extent)))
        return tuple(paddles)

    def plate_distance(self, world: World, out: Any) -> Any:
        """Return the launch for the mean distance of the plates from the middle of the ball [m]."""
        slots = device_indices(world, slots_of(world.actions.paddles, world.model))
        return prepare(
            world, mean_distance_to_paddles, int(self.ball.middle[0]), slots, world.state.poses,
            world.buffers["parameters"], world.model.lanes, world.state.positions_scalar, out,
        )  # fmt: skip

    def goal_sets(self, world: World) -> np.ndarray:
        """Return the goal of each start state, above the middle of the ball [m], shape (starts, 1, 3)."""
        heights = self.ball.variations().uniform(*self.config.lift, len(world.start_positions))
        goals: np.ndarray = world.start_positions[:, self.goal_particles].astype(np.float64)
        goals[:, 0, 1] += heights
        return goals

    def squeeze_and_lift(self, world: World) -> np.ndarray:
        """Return the expert's actions: close the plates around the ball, then carry it to its goal."""
        goals, points = goals_and_points(world)
        middle, wanted = points[:, 0], goals[:, 0] - points[:, 0]
        if world.actions.mode == "picker":
            reach = np.clip(wanted / self.config.max_step, -1.0, 1.0)
            hand = np.concatenate([reach, np.ones((world.num_envs, 1))], axis=1)
            return np.concatenate([hand, hand], axis=1).astype(np.float32)
        positions, _ = paddle_poses(world)
        sides = np.array([-1.0, 1.0])
        grip = (PLATE[0] + 0.65 * self.config.radius) * sizes(world)
        targets = np.repeat(middle[:, None], 2, axis=1)
        targets[..., 0] += sides * grip
        moves = targets - positions
        # Lift once both plates have closed; the squeezed ball yields slightly, so the rest is measured at the ball.
        closed = (np.abs(moves[..., [0, 2]]) < 0.25 * self.config.radius).all(axis=(1, 2))
        moves[..., 1] = np.where(closed[:, None], wanted[:, None, 1], moves[..., 1])
        moves[closed, :, 0] += wanted[closed, None, 0]
        moves[closed, :, 2] = wanted[closed, None, 2]
        return paddle_actions(world, moves)


class SoftLiftVectorEnv(TaskVectorEnv):
    """Lift a soft ball to a height between two plates, and hold it there.

    ## Description

    A ball of soft foam lies on the ground between two upright plates. Nothing sticks: the plates must squeeze the ball
    hard enough for friction to carry it, lift it to its goal vertically above its start, and hold it there. It is a
    mesh of stable neo-Hookean tetrahedra, solved by XPBD in 32 substeps of 2.5 ms per action. A ball cannot fold onto
    itself, so its particles do not collide with each other.

    ## Action Space

    `Box(-1, 1, (6,), float32)` with `action_mode="paddle"`. The plates face each other along x, do not turn, and stay
    on their own side of the middle, above the ground.

    | Num | Action                                    | Min | Max | Unit per 1 |
    |-----|-------------------------------------------|-----|-----|------------|
    | 0-2 | displacement of the left plate, x, y, z   | -1  | 1   | 0.02 m     |
    | 3-5 | displacement of the right plate, x, y, z  | -1  | 1   | 0.02 m     |

    `action_mode="picker"` has two hands in place of the plates, at the left and right of the ball, open at the start:
    `(x, y, z, grip)` each, `Box(-1, 1, (8,), float32)`. A hand grasps the nearest free particle within 0.03 m while
    `grip` is above 0, and opens otherwise.

    ## Observation Space

    `Box(-100, 100, (51,), float32)` with `obs_mode="keypoints"`; points in the order middle, left, right, bottom, top,
    back, front.

    | Num   | Observation                                                   | Min  | Max | Unit |
    |-------|---------------------------------------------------------------|------|-----|------|
    | 0-20  | positions of the seven points                                 | -100 | 100 | m    |
    | 21-41 | velocities of the seven points                                | -100 | 100 | m/s  |
    | 42-44 | offset from the middle to its goal                            | -100 | 100 | m    |
    | 45-50 | positions of the plates                                       | -100 | 100 | m    |

    `obs_mode="particles"` has all particles in place of the points; `obs_mode="goal"` is a dict without the offset, and
    with `achieved_goal` and `desired_goal`, the middle and its goal (3 numbers each). With hands, the positions of the
    hands, and whether they hold (0 or 1), replace those of the plates.

    ## Rewards

    The sum of named terms, reported in `info["reward_terms/NAME"]`:

    - `distance`: -1.0 * distance of the middle of the ball to its goal [m]
    - `near`: -0.5 * mean distance of the plates from the middle of the ball [m], with plates only
    - `effort`: -0.0 * mean square of the action (`effort_weight`)

    `near` shows the way to the ball and is not part of the performance. `performance` is `distance`, and
    `normalized_performance` is 0 at the start and 1 at the goal. `is_success`: `normalized_performance` is at least 0.9
    now (`at_goal`), the middle within 0.02 m (`in_place`) and the ball at rest (`at_rest`: its particles have moved by
    no more than `rest_speed`, 0.02 m/s, on average for `rest_time`, 0.2 s). The task is to hold it, so nothing has to
    be released. `reward_mode="delta"`, `"normalized"` and `"sparse"` as in :class:`pbd_gym.envs.TaskVectorEnv`; with
    `obs_mode="goal"` the reward is that of the goals alone, sparse by default: 0 within 0.02 m and -1 elsewhere.

    ## Starting State

    One of 64 states: the ball at rest, up to 0.03 m from the middle along x and z, rotated about the vertical by any
    angle, and a goal 0.1 m to 0.25 m higher. The plates stand on either side.

    ## Episode End

    Truncated after 60 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.TaskVectorEnv`; every field of :class:`SoftLiftConfig`.

    ## Vectorized environment

    ```python
    gym.make_vec("PBDSoftLift-v0", num_envs=256)
    ```

    ## Version History

    - v0: first version
    """

    config_type = SoftLiftConfig
    config: SoftLiftConfig
    task_type = SoftLift
    action_modes = ("paddle", "picker")


class SoftLiftEnv(TaskEnv):
    vector_type = SoftLiftVectorEnv
