"""PBDTShirtFold-v0: fold a T-shirt: both sleeves in, then the hem up to the collar."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pbd_gym.colliders import Plane
from pbd_gym.envs.cloth.body import ClothBody, add_contacts, fitted
from pbd_gym.envs.cloth.moves import fold_over
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.hands import Hands
from pbd_gym.envs.core.data.modes import PICKER_MODES, Modes
from pbd_gym.envs.core.data.presets import PRESETS
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.experts import Script, Waypoint, farthest
from pbd_gym.envs.core.parts.goals import GoalShape
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures
from pbd_gym.envs.core.parts.pickers import PickerConfig, two_pickers
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import Task, World
from pbd_gym.geometry.garments import tshirt
from pbd_gym.geometry.grids import LYING
from pbd_gym.materials.fabrics import Fabric
from pbd_gym.materials.materials import ClothMaterial
from pbd_gym.scene.scene import Scene

FOLDS = (("sleeve_low_right", "sleeve_top_right"), ("sleeve_low_left", "sleeve_top_left"), ("hem_left", "hem_right"))
"""Points that are carried over in each fold."""


@dataclass(frozen=True)
class TShirtFoldConfig(PickerConfig):
    """Numbers of PBDTShirtFold-v0; each can be passed to ``gym.make``."""

    width: float = 0.5
    """Width across the chest [m]."""
    length: float = 0.7
    """Length from the neck to the hem [m]."""
    spacing: float = 0.025
    """Approximate distance between neighbouring particles [m]. Folds of a coarser shirt tremble."""
    density: float = 0.0
    """Mass per area of each of the two panels [kg/m^2]. With 0 it is that of the fabric, or 0.3 for balls."""
    stretch_compliance: float = 1e-5
    """Compliance of the edges [m/N], if ``thickness`` is 0."""
    bend_compliance: float = 300.0
    """Compliance of pairs of adjacent triangles [m/N], if ``thickness`` is 0."""
    thickness: float = 0.0015
    """Distance between two panels [m]. The shirt is the fabric ``tshirt`` of :mod:`pbd_gym.materials.presets`, surfaces
    of this thickness that stretch no more than jersey. With 0 its particles are balls 0.7 of their distance wide, on
    springs of the compliances above: faster, and far thicker than a shirt.
    """
    piercings: bool = True
    """Whether edges pulled through cloth are counted, for ``info["piercings"]`` and ``info["unpierced"]``.
    It takes a twentieth of the time for a crumpled towel, a sixth for one of 16 x 16 particles.
    """
    reach: float = 0.05
    """Distance from which a hand grasps [m]."""
    success_at: float = 0.7
    """Normalised performance that counts as being at the goal."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("width", "length", "spacing"))
        if self.density == 0.0:  # so that equal shirts have equal configurations
            object.__setattr__(self, "density", self.fabric.density if self.thickness > 0.0 else 0.3)

    @property
    def fabric(self) -> Fabric:
        """Fabric of the shirt, if it has a thickness."""
        return Fabric.preset("tshirt", **({"density": self.density} if self.density > 0.0 else {}))

    @property
    def radius(self) -> float:
        """Radius of the particles, half the thickness of a panel [m]."""
        return 0.5 * self.thickness or 0.35 * self.spacing

    @property
    def gap(self) -> float:
        """Gap between front and back at rest [m]."""
        return 3.1 * self.radius


class Shirt(ClothBody):
    """A T-shirt of two panels, flat on the ground about the origin.

    Args:
        config: the task's numbers.
    """

    def __init__(self, config: TShirtFoldConfig) -> None:
        scene = Scene(contact_radius=config.radius)
        scene.add_collider(Plane(friction=config.friction))
        thin = config.thickness > 0.0
        springs = ClothMaterial(config.density, config.stretch_compliance, bend_compliance=config.bend_compliance)
        garment = scene.add_garment(
            tshirt(config.width, config.length, config.spacing, config.gap),
            config.fabric if thin else springs,
            position=(0.0, config.radius + 0.5 * config.gap, -0.5 * config.length),
            rotation=LYING,
            lines=thin,
            tethers=thin,
        )
        add_contacts(scene, garment, config, panels=True)
        self.landmarks = garment.landmarks
        """Particle at each named point."""
        super().__init__(config, scene, garment.indices, config.radius)

    def hands(self) -> Hands:
        """Return two open hands at the corners of the right sleeve, in a box around the shirt."""
        config, extent = self.config, 1.2 * self.config.length
        first = tuple(self.landmarks[name] for name in FOLDS[0])
        box = (-extent, config.radius, -extent), (extent, config.length, extent)
        return two_pickers(config, first, first, box, config.radius)

    def layered(self, x: np.ndarray, moved: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return a shape of which a part is turned over onto the rest, raised to the height of the layers below it.

        Args:
            x: positions of the particles, shape (n, 3) [m].
            moved: positions seen from above when turned over, shape (n, 3) [m].
            chosen: mask of those turned over, bool, shape (n,).
        """
        config, result = self.config, x.copy()
        apart = np.linalg.norm(moved[chosen][:, None, [0, 2]] - x[None, ~chosen][..., [0, 2]], axis=2)
        below = np.where(apart < config.spacing, x[None, ~chosen, 1], -config.radius)
        top = x[chosen, 1].max()
        result[chosen] = moved[chosen]
        result[chosen, 1] = below.max(axis=1) + 2.0 * config.radius + (top - x[chosen, 1])
        return result


class TShirtFold(Task):
    """A flat T-shirt, which must be folded in three folds.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: TShirtFoldConfig, modes: Modes) -> None:
        self.config = config
        self.shirt = shirt = Shirt(config)
        self.goal = goal = GoalShape(shirt.indices, self.folded)
        points, length = np.array(list(shirt.landmarks.values())), config.length
        super().__init__(
            scene=shirt.scene,
            hands=shirt.hands(),
            keypoints=points,
            goal_particles=points,
            starts=StartBank(self.sample_starts),
            parts=[goal],
            score=WeightedMeasures(
                config,
                modes,
                [Measure("distance", -1.0, goal.mean_distance)],
                conditions=goal.conditions(config, required=False),
            ),
            expert=Script(self.plan, self.transfer),
            goal_shapes=goal.shapes,
            view_box=(np.array([-0.5, 0.0, -0.42]) * length, np.array([0.5, 0.1, 0.4]) * length),
        )

    def sample_starts(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return flat shirts at rest, slightly rotated [m], shape (starts, n, 3)."""
        return self.shirt.settled(self.shirt.handler(world, self.shirt.turned(rng)))

    def folded(self, world: World) -> np.ndarray:
        """Return the folded shirt for each start state [m], shape (starts, n, 3)."""
        flat = self.scene.positions
        half, middle = 0.5 * self.config.width, flat.copy()
        middle[:, 0] = np.sign(flat[:, 0]) * (2.0 * half - np.abs(flat[:, 0]))
        x = self.shirt.layered(flat, middle, np.abs(flat[:, 0]) > half + 1e-6)
        folded = x * [1.0, 1.0, -1.0]  # the fold is half way down
        x = self.shirt.layered(x, folded, x[:, 2] > 0.0)
        # As far turned and shifted as the shirt is at the start.
        return np.stack([fitted(flat, start, x) for start in world.start_positions])

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Return the hands' path: one fold after the other, each with a second chance."""
        x, goals = self.shirt.shape(world, env), self.goal.of(world, env)[self.shirt.indices]
        for number, names in enumerate(FOLDS):
            pair = [self.shirt.landmarks[name] for name in names]
            away = np.linalg.norm((x - goals)[pair], axis=1)
            if away.max() > 0.35 * self.config.width and world.buffers.peek("elapsed")[env] < 30 * (number + 1):
                yield from fold_over(x[pair], goals[pair], self.shirt.radius, short=0.0, wait=1)
                return

    def transfer(self, world: World, env: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the point of the next fold to carry and its target: the point farthest from its goal."""
        x, goals = self.shirt.shape(world, env), self.goal.of(world, env)[self.shirt.indices]
        for names in FOLDS:
            pair = [self.shirt.landmarks[name] for name in names]
            found = farthest(x[pair], goals[pair], 0.35 * self.config.width)
            if found is not None:
                return found
        return None


class TShirtFoldVectorEnv(TaskVectorEnv):
    """Fold a T-shirt: both sleeves in, then the hem up to the collar.

    ## Description

    After DaXBench's fold_tshirt (Chen et al. 2023, arXiv:2210.13066), with hands. A T-shirt, sewn from a front and a
    back, lies flat. Its sleeves must be folded in along the sides of the body, and then its lower half over the upper
    one, so that the hem lies on the collar. It is a mesh of about 1,400 particles: a thin jersey whose edges are solved
    along paths, as lines, with a bending constraint for each pair of adjacent triangles, by XPBD. It rubs against the
    ground and against itself, front and back included. DaXBench compares shapes by the distance of nearest neighbours;
    here each particle has its own target, raised by the layers below it.

    ## Action Space

    `Box(-1, 1, (8,), float32)`: two hands, as in :class:`pbd_gym.envs.ClothFlattenVectorEnv`, which grasp from up to
    0.05 m away; one unit of displacement is 0.08 m.

    ## Observation Space

    `Box(-100, 100, (116,), float32)` with `obs_mode="keypoints"`: twelve points of the shirt, in the order of the
    landmarks of :func:`pbd_gym.geometry.garments.tshirt`.

    | Num     | Observation                            | Min  | Max | Unit |
    |---------|----------------------------------------|------|-----|------|
    | 0-35    | positions of the points                | -100 | 100 | m    |
    | 36-71   | velocities of the points               | -100 | 100 | m/s  |
    | 72-107  | offsets from the points to their goals | -100 | 100 | m    |
    | 108-113 | positions of the hands                 | -100 | 100 | m    |
    | 114-115 | whether they hold a particle, 0 or 1   | 0    | 1   | -    |

    `obs_mode="particles"` has all particles in place of the points. `obs_mode="goal"` is a dict of `observation` (80
    numbers, without the offsets), `achieved_goal` and `desired_goal` (36 numbers each) for hindsight experience replay;
    its reward is minus the mean distance of the points to their goals, or 0 below 0.05 m and -1 above if sparse.

    ## Rewards

    - `distance`: minus the mean distance of the particles from their targets [m]
    - `effort`: minus `effort_weight` times the mean square of the action; 0 by default

    Reward modes and `info` are those of :class:`pbd_gym.envs.ClothFoldVectorEnv`, with `distance` as the performance p
    and p1 = 0; success is a normalized performance of at least 0.7 (`at_goal`) of a shirt that has been released and is
    at rest, with nine tenths of its particles within 0.05 m of their targets (`in_place`). `unpierced` says whether no
    edge goes through cloth; success does not require it.

    ## Starting State

    One of 64 flat shirts, rotated about the vertical by up to 45 degrees. The hands are open, at the corners of the
    right sleeve.

    ## Episode End

    Truncated after 100 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes, devices and splits of :class:`pbd_gym.envs.TaskVectorEnv`, and every field of
    :class:`pbd_gym.envs.TShirtFoldConfig`. DaXBench's numbers:

    ```python
    gym.make("PBDTShirtFold-v0", preset="daxbench")
    ```

    ## Version History

    * v0: initial version
    """

    config_type = TShirtFoldConfig
    config: TShirtFoldConfig
    task_type = TShirtFold
    action_modes = (*PICKER_MODES, "pick_then_place")
    presets = PRESETS["TShirtFold"]


class TShirtFoldEnv(TaskEnv):
    vector_type = TShirtFoldVectorEnv
