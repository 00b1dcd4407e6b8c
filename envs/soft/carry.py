"""PBDSoftBody-v0: carry and turn a soft ball, held at two points, until its free points rest at their goals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.colliders import Plane
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.hands import Hands
from pbd_gym.envs.core.data.modes import Modes
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.reaching import CarriedGoals, ReachingConfig, ReachingScore
from pbd_gym.envs.core.parts.starts import SettledStarts
from pbd_gym.envs.core.task import Task
from pbd_gym.geometry.tetmeshes import ball
from pbd_gym.materials.materials import SoftMaterial
from pbd_gym.scene.scene import Scene


@dataclass(frozen=True)
class SoftConfig(ReachingConfig):
    """Numbers of PBDSoftBody-v0; each can be passed to ``gym.make``."""

    radius: float = 0.12
    """Radius of the ball [m]."""
    resolution: int = 3
    """Resolution of the mesh; see :func:`pbd_gym.geometry.tetmeshes.ball`."""
    density: float = 80.0
    """Mass per volume [kg/m^3]; that of a foam."""
    young_modulus: float = 1e5
    """Stiffness [Pa]."""
    poisson_ratio: float = 0.4
    """Poisson's ratio of the ball."""
    damping: float = 0.5
    """Rate at which particles lose velocity to the air [1/s]."""
    settle_time: float = 2.0
    """Time for the ball to come to rest before the first episode [s]."""
    goal_radius: float = 0.15
    """Distance within which a point is at its goal, as a share of the diameter."""
    goal_shift: tuple[float, float, float] = (0.3, 0.25, 0.3)
    """Largest shift of the goals from the points at the start, along x, y and z [m]; y goes only up."""
    goal_turn: float = 0.8
    """Largest rotation of the goals about the vertical [rad]."""

    def __post_init__(self) -> None:
        check_numbers(
            self,
            positive=("radius", "density", "young_modulus", "ctrl_dt", "max_step", "goal_radius", "goal_steps"),
            signed=("goal_turn", "goal_shift", "poisson_ratio"),
        )

    @property
    def length(self) -> float:
        return 2.0 * self.radius


class SoftCarry(Task):
    """A soft ball that is held at two points; others must come to rest at their goals.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: SoftConfig, modes: Modes) -> None:
        scene = Scene(contact_radius=0.003)
        scene.add_collider(Plane(friction=config.friction))
        body = scene.add_soft_body(
            ball(config.radius, config.resolution),
            SoftMaterial(config.density, config.young_modulus, config.poisson_ratio),
            position=(0.0, config.radius + scene.contact_radius, 0.0),
        )
        at_rest = scene.positions[body.indices]
        # Held above the middle, so that it hangs from the hands and cannot roll over between them.
        towards = np.array([[-1, 1, 0], [1, 1, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]])
        points = body.indices[np.argmax(at_rest @ towards.T, axis=0)]
        held = (int(points[0]), int(points[1]))
        extent = 1.0
        hands = Hands(
            particles=held,
            corners=held,
            reach=config.reach,
            max_step=config.max_step,
            lower=(-extent, 0.5 * config.radius, -extent),
            upper=(extent, extent, extent),
        )
        super().__init__(
            scene=scene,
            hands=hands,
            keypoints=points,
            goal_particles=points[2:],
            starts=SettledStarts(),
            parts=[CarriedGoals(config.goal_shift, config.goal_turn, only_up=True)],
            score=ReachingScore(config),
            view_box=(np.array([-0.4, 0.0, -0.3]), np.array([0.4, 0.55, 0.3])),
        )


class SoftVectorEnv(TaskVectorEnv):
    """Carry and turn a soft ball, held at two points, until its free points rest at their goals.

    ## Description

    A ball of soft foam lies on the ground, and the agent holds it at its upper left and right. Four other points (top,
    bottom, front and back) have goals: where they would be if the ball were lifted, carried and rotated about the
    vertical. The ball sags, wobbles and bounces, so it must be led there and brought to rest. It is a mesh of
    tetrahedra of stable neo-Hookean material, solved by XPBD in 20 substeps of 1/600 s per action; when released
    (`action_mode="picker"`), it falls and bounces on the ground.

    ## Action Space

    `Box(-1, 1, (6,), float32)` with `action_mode="drag"`: the hands hold the ball throughout.

    | Num | Action                                    | Min | Max | Unit per 1 |
    |-----|-------------------------------------------|-----|-----|------------|
    | 0-2 | displacement of the left hand, x, y, z    | -1  | 1   | 0.025 m    |
    | 3-5 | displacement of the right hand, x, y, z   | -1  | 1   | 0.025 m    |

    `action_mode="picker"` has four numbers per hand, `(x, y, z, grip)`: the hand closes on the nearest free particle
    within 0.08 m while `grip` is above 0, and opens otherwise. `action_mode="pin"` has one number per held point that
    fixes it in space while it is above 0 and frees it otherwise. `action_mode="pick_place"` has the four numbers of
    `picker`, but `(x, y, z)` is a position in the box that hands stay in, from -1 at its lower to 1 at its upper side,
    and an action lasts 81 control steps.

    ## Observation Space

    `Box(-100, 100, (48,), float32)` with `obs_mode="keypoints"`; points in the order held left, held right, bottom,
    top, back, front.

    | Num   | Observation                                     | Min  | Max | Unit |
    |-------|-------------------------------------------------|------|-----|------|
    | 0-17  | positions of the six points                     | -100 | 100 | m    |
    | 18-35 | velocities of the six points                    | -100 | 100 | m/s  |
    | 36-47 | offsets from the last four to their goals       | -100 | 100 | m    |

    `obs_mode="particles"` has all particles in place of the points. `obs_mode="goal"` is a dict of `observation` (36
    numbers), `achieved_goal` and `desired_goal` (12 numbers each) for hindsight experience replay. Except with `drag`,
    the positions of all grips follow at the end, and then whether each of them holds (0 or 1).

    ## Rewards

    The sum of `distance`, `near`, `rest` and `effort`, as in :class:`pbd_gym.envs.ClothVectorEnv`, over the four
    points; distances are compared with the diameter of the ball, and `r` = 0.036 m. The goals are in the air, where the
    ball must be held, so success does not require releasing it.

    ## Starting State

    The ball is at rest on the ground. The goals are the positions of the four points, lifted by up to 0.25 m, shifted
    by up to 0.3 m along x and z, and turned by up to 0.8 rad, all uniform.

    ## Episode End

    Truncated after 100 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.TaskVectorEnv`; every field of :class:`SoftConfig`.

    ## Vectorized environment

    ```python
    gym.make_vec("PBDSoftBody-v0", num_envs=256)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = SoftConfig
    config: SoftConfig
    task_type = SoftCarry


class SoftEnv(TaskEnv):
    vector_type = SoftVectorEnv
