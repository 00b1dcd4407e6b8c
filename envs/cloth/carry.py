"""PBDCloth-v0: carry and turn a hanging cloth until its free corners rest at two goals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.colliders import Plane
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.hands import Hands
from pbd_gym.envs.core.data.modes import PICKER_MODES, Modes
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.reaching import CarriedGoals, ReachingConfig, ReachingScore
from pbd_gym.envs.core.parts.starts import SettledStarts
from pbd_gym.envs.core.task import Task
from pbd_gym.materials.materials import ClothMaterial
from pbd_gym.scene.scene import Scene


@dataclass(frozen=True)
class ClothConfig(ReachingConfig):
    """Numbers of PBDCloth-v0; each can be passed to ``gym.make``."""

    rows: int = 16
    """Particles along the height."""
    columns: int = 16
    """Particles along the width."""
    side: float = 1.0
    """Length of each side [m]."""
    density: float = 0.2
    """Mass per area [kg/m^2]."""
    stretch_compliance: float = 1e-5
    """Compliance of constraints along the threads [m/N]."""
    shear_compliance: float = 1e-3
    """Compliance of diagonal constraints [m/N]."""
    bend_compliance: float = 0.3
    """Compliance of constraints that skip a particle [m/N]."""
    self_collision: bool = False
    """Whether the cloth collides with itself; hanging from both hands it hardly ever does."""
    height: float = 1.6
    """Height of the upper edge at the start [m]."""
    goal_shift: tuple[float, float, float] = (0.4, 0.2, 0.4)
    """Largest shift of the goals from the initial corners, along x, y and z [m]."""
    goal_turn: float = 0.8
    """Largest rotation of the pair of goals about the vertical [rad]."""

    @property
    def length(self) -> float:
        return self.side

    def __post_init__(self) -> None:
        check_numbers(
            self,
            positive=("side", "density", "ctrl_dt", "max_step", "goal_radius", "height", "goal_steps"),
            signed=("goal_turn", "goal_shift"),
        )


class ClothCarry(Task):
    """A cloth that hangs from two corners; the others must come to rest at two goals.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: ClothConfig, modes: Modes) -> None:
        scene = Scene()
        scene.add_collider(Plane(friction=config.friction))
        cloth = scene.add_cloth(
            config.rows,
            config.columns,
            (config.side, config.side),
            ClothMaterial(config.density, config.stretch_compliance, config.shear_compliance, config.bend_compliance),
            position=(0.0, config.height, 0.0),
            lines=False,
        )
        if config.self_collision:
            spacing = config.side / max(config.rows - 1, config.columns - 1)
            scene.add_particle_contacts(cloth.indices.ravel(), 0.45 * spacing, config.friction)
        corners, side, extent = cloth.corners, config.side, 1.3 * config.side
        lowest = 0.02 if modes.action_mode in PICKER_MODES else config.height - 0.5 * side
        hands = Hands(
            particles=(int(corners[0]), int(corners[1])),
            corners=tuple(int(c) for c in corners),
            reach=config.reach,
            max_step=config.max_step,
            lower=(-extent, lowest, -extent),
            upper=(extent, config.height + 0.5 * side, extent),
        )
        lower = np.array([-0.75 * side, 0.1 * side, -0.4 * side])
        upper = np.array([0.75 * side, config.height, 0.4 * side])
        super().__init__(
            scene=scene,
            hands=hands,
            keypoints=corners,
            goal_particles=corners[2:],
            starts=SettledStarts(),
            parts=[CarriedGoals(config.goal_shift, config.goal_turn)],
            score=ReachingScore(config),
            ground=0,
            view_box=(lower, upper),
        )


class ClothVectorEnv(TaskVectorEnv):
    """Carry and turn a hanging cloth until its free corners rest at two goals.

    ## Description

    A square cloth hangs at rest from its two upper corners, which the agent holds. Two goal points are sampled at
    reset, where the two lower corners would hang after the cloth was carried by some shift and rotated about the
    vertical. The agent moves its hands; the cloth swings behind them, so its motion must be anticipated and damped. The
    cloth is a grid of particles with distance constraints along its threads (stretch), along its diagonals (shear) and
    over two cells (bending), solved by XPBD in 20 substeps of 1/600 s per action.

    ## Action Space

    `Box(-1, 1, (6,), float32)` with `action_mode="drag"`: the hands hold the upper corners throughout.

    | Num | Action                                    | Min | Max | Unit per 1 |
    |-----|-------------------------------------------|-----|-----|------------|
    | 0-2 | displacement of the left hand, x, y, z    | -1  | 1   | 0.025 m    |
    | 3-5 | displacement of the right hand, x, y, z   | -1  | 1   | 0.025 m    |

    `action_mode="picker"` has four numbers per hand, `(x, y, z, grip)`: the hand closes on the nearest free particle
    within 0.08 m while `grip` is above 0, and opens otherwise. `action_mode="pin"` has one number per corner (upper
    left, upper right, lower left, lower right) that fixes the corner in space while it is above 0 and frees it
    otherwise. Hands stay in a box above the ground, and two hands that hold the cloth do not stretch it by more than 5
    %. `action_mode="pick_place"` has the four numbers of `picker`, but `(x, y, z)` is a position in that box, from -1
    at its lower to 1 at its upper side, and an action lasts 105 control steps.

    ## Observation Space

    `Box(-100, 100, (30,), float32)` with `obs_mode="keypoints"`; corners in the order upper left, upper right, lower
    left, lower right.

    | Num   | Observation                                     | Min  | Max | Unit |
    |-------|-------------------------------------------------|------|-----|------|
    | 0-11  | positions of the four corners                   | -100 | 100 | m    |
    | 12-23 | velocities of the four corners                  | -100 | 100 | m/s  |
    | 24-29 | offsets from the lower corners to their goals   | -100 | 100 | m    |

    `obs_mode="particles"` has all particles in place of the corners (1542 numbers for 16 x 16). `obs_mode="goal"` is a
    dict of `observation` (24 numbers: without the offsets), `achieved_goal` and `desired_goal` (6 numbers each: the
    lower corners, and their goals) for hindsight experience replay. Except with `drag`, the positions of all grips
    follow at the end, and then whether each of them holds (0 or 1).

    ## Rewards

    The sum of named terms, each in `info["reward_terms/NAME"]`. In them `d` is the distance of a goal particle (here a
    lower corner) from its goal, `v` its speed, and `r` the radius of a goal, here 0.1 m. Means are over the goal
    particles.

    - `distance`: -1.0 * mean d / length, here the side of the cloth
    - `near`: +1.0 * mean of c = 1 / (1 + (d / r)^2)
    - `rest`: -0.3 * mean of c * v
    - `effort`: -0.02 * mean square of the action

    `reward_mode="sparse"` gives 0 while all of them are within `r` and -1 otherwise. It is the default of
    `obs_mode="goal"`, whose reward depends on the goals only.

    `info` has `performance` (minus the mean distance [m]), `normalized_performance` (0 at the start, 1 at the goals)
    and `is_success` (all goal particles within `r` for the last ten steps). The task is to hold the cloth there, so
    nothing has to be released.

    ## Starting State

    The cloth is at rest, its upper edge 1.6 m above the ground. The goals are the positions of the lower corners,
    shifted by up to 0.4, 0.2 and 0.4 m along x, y and z, and turned by up to 0.8 rad, all uniform.

    ## Episode End

    Truncated after 100 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.TaskVectorEnv`; every field of :class:`ClothConfig`:

    ```python
    gym.make("PBDCloth-v0", action_mode="picker", obs_mode="particles", rows=32, columns=32)
    ```

    ## Vectorized environment

    ```python
    gym.make_vec("PBDCloth-v0", num_envs=256)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = ClothConfig
    config: ClothConfig
    task_type = ClothCarry


class ClothEnv(TaskEnv):
    vector_type = ClothVectorEnv
