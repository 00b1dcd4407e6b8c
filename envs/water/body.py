"""Common parts of the water tasks: their numbers, the scene with its water, and the start states."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.colliders import Box, Plane
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.manipulation import ManipulationConfig
from pbd_gym.envs.core.parts.starts import SettledStarts, StartBank
from pbd_gym.envs.core.task import World
from pbd_gym.envs.water.cup import Cup, add_cup
from pbd_gym.materials.fluids import FluidMaterial
from pbd_gym.scene.scene import Scene

SKIRT = 0.1
"""Depth to which the walls of cups that never leave the ground reach into it [m]."""
DARK = 0.95
"""Opacity of bars that mark places: darker than opaque objects."""
DEPOT = (0.0, -50.0, -50.0)
"""Place of the particles that an episode does not use [m]; exact in single precision."""


@dataclass(frozen=True)
class WaterTaskConfig(ManipulationConfig):
    """Numbers of the water tasks; each can be passed to ``gym.make``."""

    particles: int = 300
    """Largest number of water particles; the cups grow with it."""
    amount: tuple[float, float] = (0.7, 1.0)
    """Smallest and largest share of them in an episode."""
    spacing: float = 0.01815
    """Distance between particles at rest [m]."""
    viscosity: float = 1e-3
    """Dynamic viscosity [Pa s]; that of water."""
    sweeps: int = 4
    """Number of sweeps over the densities of the water in every iteration of the solver."""
    wall: float = 0.02
    """Thickness of the walls of cups [m], at least a spacing."""
    cup_friction: float = 0.0
    """Coulomb coefficient of cups."""
    damping: float = 0.0
    """Rate at which particles lose velocity to the air [1/s]."""
    substeps: int | None = 16
    """Simulation steps per action."""
    most_spilled: float = 0.03
    """Largest share of the water outside the cups at which success is possible."""
    settle_time: float = 0.8
    """Time in which the water comes to rest in the cup before an episode starts [s]."""
    rest_speed: float = 0.03
    """Mean speed of the particles below which they count as at rest [m/s]. Water ripples for long; it is slower than
    this once it no longer sloshes.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("particles", "amount", "spacing", "sweeps", "wall"))
        if not self.amount[0] <= self.amount[1] <= 1.0:
            raise ValueError(f"amount must be the smallest and the largest share, up to 1, got {self.amount}")
        if self.wall < self.spacing:
            raise ValueError(
                f"the walls of cups must be at least a spacing of {self.spacing:g} m thick, got {self.wall:g} m"
            )

    @property
    def breadth(self) -> int:
        """Particles along each side of SoftGym's block of the same amount of water."""
        return max(round((self.particles / 3.5) ** (1.0 / 3.0)), 1)

    def depth(self, width: float) -> float:
        """Return the depth of all the water in a cup of a given width [m]."""
        return self.particles * self.spacing**3 / width**2


class Water:
    """A scene with ground and a cup of water at the origin.

    Args:
        config: the task's numbers.
        width: inner width of the cup [m].
        height: height of its rim above its floor [m].
        standing: whether the cup never leaves the ground.
    """

    def __init__(self, config: WaterTaskConfig, width: float, height: float, standing: bool = False) -> None:
        self.config = config
        self.scene = Scene(contact_radius=0.5 * config.spacing)
        self.scene.add_collider(Plane(friction=config.friction))
        self.cup = self.add_cup(width, height, 0.0, standing)
        """Cup that the agent moves."""

    def add_cup(self, width: float, height: float, x: float, standing: bool) -> Cup:
        """Add a cup that stands on the ground and, if it never leaves that, continues below."""
        config = self.config
        return add_cup(self.scene, width, height, config.wall, x, config.cup_friction, SKIRT if standing else 0.0)

    def add_mark(self, middle: ArrayLike, sizes: ArrayLike) -> int:
        """Add a bar of dark glass that marks a place in pictures, and return its number.

        Args:
            middle: its middle [m], shape (3,).
            sizes: lengths along x, y and z [m], shape (3,).
        """
        half = 0.5 * np.asarray(sizes, dtype=np.float64)
        return self.scene.add_collider(Box(tuple(np.asarray(middle)), tuple(half), opacity=DARK), moving=True)

    def fill(self) -> np.ndarray:
        """Fill the cup, and return the particles of the water, shape (particles,), int32."""
        config, half = self.config, 0.5 * self.cup.width
        layers = math.ceil(config.particles / math.floor(2.0 * half / config.spacing) ** 2)
        top = config.wall + (layers + 0.5) * config.spacing
        # What is spilled stays where it falls, and does not run away over the endless ground.
        material = FluidMaterial(viscosity=config.viscosity, iterations=config.sweeps, wall_friction=1.0)
        members = self.scene.add_fluid_block(
            (-half, config.wall, -half), (half, top, half), material, config.spacing, count=config.particles
        )
        reach = np.full(3, 0.25)
        self.scene.add_fluid_drain(DEPOT - reach, DEPOT + reach)
        return members

    def variations(self, stream: int) -> np.random.Generator:
        """Return the random stream for a quantity of the start states; the same one every time."""
        return np.random.default_rng([self.config.starts_seed, stream])

    def amounts(self) -> np.ndarray:
        """Return the number of particles in each start state, shape (starts,), int."""
        shares = self.variations(1).uniform(*self.config.amount, self.config.starts)
        return np.maximum(np.round(shares * self.config.particles), 1).astype(int)

    def starts(self) -> StartBank:
        """Return the bank of start states: the water of each, at rest in the cup."""
        return StartBank(self.settled)

    def settled(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return the water at rest [m], shape (starts, n, 3)."""
        shapes = np.tile(self.scene.positions, (self.config.starts, 1, 1))
        fluid = self.scene.fluid
        assert fluid is not None
        for shape, count in zip(shapes, self.amounts(), strict=True):
            shape[fluid.indices[count:]] = DEPOT
        return SettledStarts(shapes).positions(world, np.zeros(0, dtype=np.int32))

    def start_poses(self, world: World, *cups: tuple[Cup, np.ndarray, np.ndarray]) -> np.ndarray:
        """Return the poses of all colliders for each start state, shape (starts, moving, 7).

        Args:
            world: the environments.
            *cups: each with the x of its middle [m] and the depth to which its walls are sunk [m], shape (starts,)
            each. Other colliders keep their original places.
        """
        poses = np.repeat(world.model.start_poses[None], self.config.starts, axis=0)
        for cup, x, sunk in cups:
            slots = [world.model.pose_index(number) for number in cup.colliders]
            height = np.full_like(x, 0.5 * cup.wall)
            poses[:, slots] = cup.poses(np.stack([x, height], axis=1), sunk)
        return poses
