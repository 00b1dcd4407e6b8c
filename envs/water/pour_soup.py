"""PBDPourSoup-v0: pour a soup and the two pieces of tofu in it from one bowl into another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import Launches, prepare
from pbd_gym.envs.core.data.modes import PIXEL_MODES, ActionMode, Modes, ObsMode
from pbd_gym.envs.core.data.presets import PRESETS
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.task import Features, World
from pbd_gym.envs.water.contents import FIRST, POURED, SECOND, Contents, CupScore, observe_column
from pbd_gym.envs.water.two_cups import PouringConfig, TwoCups
from pbd_gym.geometry.tetmeshes import box
from pbd_gym.materials.materials import ShapeMaterial


@dataclass(frozen=True)
class PourSoupConfig(PouringConfig):
    """Numbers of PBDPourSoup-v0; each can be passed to ``gym.make``."""

    spacing: float = 0.0105
    """Distance between particles at rest [m]: 300 of them are DaXBench's cube of 70 mm."""
    fill: float = 0.5
    """Depth of the largest amount of soup, as a share of the height of the bowl."""
    taller: tuple[float, float] = (0.02, 0.07)
    """Smallest and largest excess of the other bowl's height over the depth of the largest amount of soup in it [m], in
    addition to a quarter of that depth.
    """
    viscosity: float = 0.02
    """Dynamic viscosity [Pa s]; that of a thin soup."""
    tofu_side: float = 0.03
    """Length of the sides of a piece of tofu [m]."""
    tofu_density: float = 500.0
    """Mass per volume of tofu [kg/m^3]: half of that of the soup, as in DaXBench."""
    tofu_compliance: float = 1e-6
    """Inverse stiffness of tofu per mass [s^2]: it oscillates at 160 Hz."""
    iterations: int = 2
    """Number of sweeps over all constraints in each substep: soup and tofu alternate, so that neither crushes the
    other.
    """
    sweeps: int = 2
    """Number of sweeps over the densities of the soup in every iteration of the solver."""
    tofu_weight: float = 0.5
    """Weight of the tofu in the performance; the soup has the rest."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("tofu_side", "tofu_density"))
        if self.tofu_weight > 1.0:
            raise ValueError(f"tofu_weight must be a share of the performance, got {self.tofu_weight:g}")

    @property
    def tofu_particles(self) -> int:
        """Particles along each side of a piece of tofu, no farther apart than those of the soup."""
        return max(int(np.ceil(self.tofu_side / self.spacing - 1e-6)), 2)


class PourSoup(TwoCups):
    """A bowl of soup with two pieces of tofu, and another, into which all of it must be poured.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.

    Raises:
        ValueError: if the bowl is too narrow for the tofu.
    """

    config: PourSoupConfig

    def __init__(self, config: PourSoupConfig, modes: Modes) -> None:
        super().__init__(config, modes)
        self.tofu = self.add_tofu()
        """Particles of the tofu, shape (k,), int32."""
        tofu, weight = Contents(self.cup, self.target, self.tofu, "tofu"), config.tofu_weight
        measures = [self.contents.share("soup", 1.0 - weight, POURED), tofu.share("tofu", weight, POURED)]
        self.score = CupScore(config, modes, [self.contents, tofu], measures, best=1.0, dry=False)
        self.features = Features(15, self.observe)

    def add_tofu(self) -> np.ndarray:
        """Add two cubes of tofu above the soup, into which they fall, and return their particles, shape (k,), int32.

        Raises:
            ValueError: if the bowl is too narrow for both.
        """
        config, scene, count = self.config, self.scene, self.config.tofu_particles
        apart, width = 1.4 * config.tofu_side, self.cup.width
        if apart + config.tofu_side > width:
            raise ValueError(
                f"two pieces of tofu with sides of {config.tofu_side:g} m take {apart + config.tofu_side:.3g} m beside "
                f"each other, and the bowl for {config.particles} particles of soup is {width:.3g} m wide"
            )
        # Particles are balls of their spacing: the outer ones are half of it below the surface.
        inner = config.tofu_side * (1.0 - 1.0 / count)
        mesh = box((count - 1,) * 3, (inner,) * 3)
        volume = (config.tofu_side / count) ** 3
        material = ShapeMaterial(compliance=config.tofu_compliance, damping_time=0.01)
        height = config.wall + config.depth(width) + 0.5 * config.tofu_side + 0.01
        found = []
        for x in (-0.5 * apart, 0.5 * apart):
            mass = config.tofu_density * volume
            cube = scene.add_shape_matching(mesh, material, mass=mass, position=(x, height, 0.0)).indices
            scene.add_particle_contacts(cube, 0.5 * config.tofu_side / count)
            scene.add_fluid_boundary(cube, volumes=volume)
            found.append(cube)
        scene.beads = np.append(scene.beads, np.concatenate(found))
        return np.concatenate(found)

    def observe(self, world: World, observation: Any, first: int) -> Any:
        """Return the launches that write the numbers of two bowls, and the shares of tofu in both."""
        shares = [
            prepare(world, observe_column, world.buffers["tofu"], int(column), first + 13 + k, observation)
            for k, column in enumerate((FIRST, SECOND))
        ]
        return Launches([super().observe(world, observation, first), *shares])


class PourSoupVectorEnv(TaskVectorEnv):
    """Pour a soup and the two pieces of tofu in it from one bowl into another.

    ## Description

    Two cubes of tofu float in a bowl of soup; an empty bowl, whose height differs in every episode, stands beside it.
    The soup is a position-based fluid, and each cube a cluster of shape matching, a little soft; both push each other.
    They are solved in 16 substeps of 5 ms per action.

    This is DaXBench's `pour_soup`: as much soup (a cube of 70 mm), tofu of the same size and half as dense as the soup,
    and the same time limit. There, the bowls are hollow spheres, and the soup is material points on a grid; here, bowls
    are boxes. There, an action has six numbers of which one does nothing, and turns the bowl by 2 mrad at most; here it
    has the three of `PBDPourWater-v0`, which suffice to pour. There, particles are compared with those of a stored
    shape one by one, so that mixed soup counts as spilled; here, the contents of the other bowl count.

    ## Action Space

    `Box(-1, 1, (3,), float32)` with `action_mode="cup"`, as in `PBDPourWater-v0`.

    ## Observation Space

    `Box(-100, 100, (15,), float32)` with `obs_mode="keypoints"`: the 13 numbers of `PBDPourWater-v0`, and the shares of
    the tofu that are in the bowl, and in the other.

    `obs_mode="particles"` has positions [m] and velocities [m/s] of all particles before these, soup first. Particles
    that an episode does not use are at (0, -50, -50).

    ## Rewards

    The sum of named terms, reported in `info["reward_terms/NAME"]`:

    - `soup`: 0.5 * share of the soup that is in the other bowl, and not in the bowl that is above it
    - `tofu`: 0.5 * share of the tofu that is (`tofu_weight`)
    - `effort`: -0.0 * mean square of the action (`effort_weight`)

    `performance` is the sum of the first two, and `normalized_performance` is 0 at the start and 1 when all is poured.
    `is_success`: `normalized_performance` is at least 0.9 now (`at_goal`), which requires both pieces and four fifths
    of the soup, and everything at rest (`at_rest`: particles have moved by no more than `rest_speed`, 0.03 m/s, on
    average for `rest_time`, 0.2 s). `unspilled` says whether at most 3 % of either is outside the bowls; success does
    not require it. `reward_mode="delta"`, `"normalized"` and `"sparse"` as in :class:`pbd_gym.envs.TaskVectorEnv`.

    ## Starting State

    One of 64 states: 70 to 100 % of 300 particles of soup and both pieces of tofu at rest in the bowl at x = 0; the
    other bowl 0.05 m to 0.09 m beside it, and 0.02 to 0.07 m taller than necessary.

    ## Episode End

    Truncated after 120 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.TaskVectorEnv`; every field of :class:`PourSoupConfig`. `randomize`
    takes everything but `size`: bowls do not grow. `preset="daxbench"` has 100 start states, all with the largest
    amount of soup.

    ## Vectorized environment

    ```python
    gym.make_vec("PBDPourSoup-v0", num_envs=256)
    ```

    ## Version History

    - v0: first version
    """

    config_type = PourSoupConfig
    config: PourSoupConfig
    task_type = PourSoup
    action_modes: ClassVar[tuple[ActionMode, ...]] = ("cup",)
    obs_modes: ClassVar[tuple[ObsMode, ...]] = ("keypoints", "particles", "memory", *PIXEL_MODES)
    grows = False
    presets = PRESETS["PourSoup"]


class PourSoupEnv(TaskEnv):
    vector_type = PourSoupVectorEnv
