"""Common parts of the suite's rope tasks: a rope, copies for scripts to handle, and tangling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.colliders import Plane
from pbd_gym.envs.core.data.hands import Hands
from pbd_gym.envs.core.data.start_bank import Handler
from pbd_gym.envs.core.data.symmetries import Symmetry, generated
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.pickers import PickerConfig, two_pickers
from pbd_gym.envs.core.task import World
from pbd_gym.materials.materials import RopeMaterial
from pbd_gym.scene.scene import Scene

KEYPOINTS = 10
"""Observed particles, as in SoftGym."""
LIFTS = 4
"""Number of random pick-and-places that tangle a rope, as in SoftGym."""


@dataclass(frozen=True)
class RopeTaskConfig(PickerConfig):
    """Numbers of the rope tasks; each can be passed to ``gym.make``. Sizes are SoftGym's."""

    particles: int = 41
    """Number of particles along the rope."""
    rope_length: float = 0.5
    """[m]"""
    substeps: int | None = 48
    """Simulation steps per action; None for the number that the rope needs."""
    density: float = 0.1
    """Mass per length [kg/m]."""
    stretch_compliance: float = 1e-6
    """Compliance of the segments [m/N]."""
    bend_compliance: float = 0.02
    """Compliance of constraints that skip a particle [m/N]."""
    friction: float = 1.0
    """Coulomb coefficient of the ground."""
    self_friction: float = 0.3
    """Coulomb coefficient of the rope on itself."""
    reach: float = 0.05
    """Distance from which a hand grasps [m]."""
    hands_at: str = "home"
    """Start of the hands, as in :class:`PickerConfig`; what they grasp has to be found."""
    off_chord: float = 0.02
    """Largest distance of a particle from the line of both ends at which a rope counts as straight [m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("rope_length", "density"))
        if self.particles < 5:
            raise ValueError(f"particles must be at least 5, got {self.particles}")

    @property
    def spacing(self) -> float:
        """Distance between neighbouring particles [m]."""
        return self.rope_length / (self.particles - 1)

    @property
    def radius(self) -> float:
        """Half the thickness of the rope [m]."""
        return 0.35 * self.spacing


class Rope:
    """A rope in the scene of a task.

    Args:
        config: the task's numbers.
        points: the rope in the scene [m], shape (n, 3); by default straight on the ground, along x.
    """

    def __init__(self, config: RopeTaskConfig, points: np.ndarray | None = None) -> None:
        self.config = config
        if points is None:
            points = np.zeros((config.particles, 3))
            points[:, 0] = np.linspace(-0.5, 0.5, config.particles) * config.rope_length
            points[:, 1] = config.radius
        self.scene = Scene(contact_radius=config.radius)
        self.scene.add_collider(Plane(friction=config.friction))
        material = RopeMaterial(config.density, config.stretch_compliance, config.bend_compliance)
        rope = self.scene.add_rope(points, material)
        self.scene.add_particle_contacts(rope, config.radius, config.self_friction)

    def hands(self) -> Hands:
        """Return two open hands at the ends, in a box around the rope."""
        config, ends = self.config, (0, self.config.particles - 1)
        extent = 0.7 * config.rope_length
        box = (-extent, config.radius, -extent), (extent, 0.6 * config.rope_length, extent)
        return two_pickers(config, ends, ends, box, config.radius)

    def anyhow(self, *turns: np.ndarray, hands: tuple[int, ...] = (0, 1)) -> tuple[Symmetry, ...]:
        """Return the symmetries of a rope in an arbitrary place: rotated, mirrored, counted from the other end or not.

        Args:
            *turns: images of the directions, shape (3, 3), int.
            hands: hands at its ends, which swap when it is counted from the other end.
        """
        everything = np.arange(self.config.particles)
        other_end = Symmetry(np.eye(3, dtype=int), everything[::-1].copy(), hands[::-1])
        return generated([*(Symmetry(axes, everything, hands) for axes in turns), other_end])

    def keypoints(self) -> np.ndarray:
        """Return the observed particles, spread evenly over the rope with both ends, shape (<= 10,)."""
        return np.unique(np.linspace(0, self.config.particles - 1, KEYPOINTS).round().astype(np.int32))

    def view_box(self, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return two corners of the region that pictures show [m], shape (3,) each; see :attr:`Task.view_box`."""
        half = 0.5 * self.config.rope_length
        return np.array([-half, 0.0, -half]), np.array([half, 0.2 * half, half])

    def handler(self, world: World, copies: int, damping: float = 1.0) -> Handler:
        """Return copies of the rope for a script to handle, with the grips of the task."""
        config, start = self.config, np.repeat(self.scene.positions[None], copies, axis=0)
        device, substeps = str(world.model.device.alias), world.solver.substeps
        return Handler(self.scene, start, substeps, config.ctrl_dt, damping, device, config.starts)

    def tangled(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return ropes after random pick-and-places, with their middle above the origin [m], shape (starts, n, 3).

        They are made as in SoftGym: a random particle is lifted, carried off and dropped, four times.
        """
        config, count = self.config, self.config.starts
        handler = self.handler(world, count)
        for _ in range(LIFTS):
            held = np.full((count, self.scene.grip_count), -1)
            held[:, 0] = rng.integers(config.particles, size=count)
            handler.grasp(held)
            lift = np.zeros((count, self.scene.grip_count, 3))
            lift[:, 0, 1] = config.rope_length * rng.uniform(0.1, 0.3, count)
            carry, angle = np.zeros_like(lift), rng.uniform(0.0, 2.0 * np.pi, count)
            carry[:, 0] = np.stack([np.cos(angle), np.zeros(count), np.sin(angle)], axis=1)
            carry *= config.rope_length * rng.uniform(0.3, 0.8, count)[:, None, None]
            handler.move(lift, 4)
            handler.move(carry, 8)
            handler.move(-0.8 * lift, 4)
            handler.grasp(np.full_like(held, -1))
            handler.rest(8)
        handler.rest(8)
        shapes = handler.positions()
        shapes[..., [0, 2]] -= shapes[..., [0, 2]].mean(axis=1, keepdims=True)
        return shapes
