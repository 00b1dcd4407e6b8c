"""Common parts of the suite's soft-body tasks: a body on the ground for paddles to touch, and its start states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.colliders import Plane
from pbd_gym.envs.core.data.hands import Hands
from pbd_gym.envs.core.data.start_bank import Handler, cached
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.manipulation import ManipulationConfig
from pbd_gym.envs.core.task import Corners, World, worked_out_once
from pbd_gym.geometry.tetmeshes import TetMesh
from pbd_gym.materials.materials import SoftMaterial
from pbd_gym.scene.scene import Scene


@dataclass(frozen=True)
class SoftTaskConfig(ManipulationConfig):
    """Numbers of the soft-body tasks; each can be passed to ``gym.make``."""

    density: float = 300.0
    """Mass per volume [kg/m^3]; that of a sponge."""
    young_modulus: float = 3e4
    """Stiffness [Pa]."""
    poisson_ratio: float = 0.4
    """Poisson's ratio of the body."""
    damping_time: float = 0.0
    """Time constant of the damping of the body [s]."""
    contact_radius: float = 0.005
    """Distance that its particles keep from the ground and from paddles [m]."""
    paddle_friction: float = 1.0
    """Coulomb coefficient of the paddles."""
    max_step: float = 0.02
    """Largest move of a paddle along an axis per action [m]."""
    spread: float = 0.03
    """Largest distance of the body from the middle at the start, along x and z [m]."""
    yaw: float = np.pi
    """Largest rotation of the body about the vertical at the start, in either direction [rad]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("density", "young_modulus", "contact_radius"))


class Body:
    """A soft body on the ground at the origin of the scene.

    Args:
        config: the task's numbers.
        mesh: rest shape of the body, centred on the origin.
        material: material of the body; by default an elastic one with the numbers of ``config``.
    """

    def __init__(self, config: SoftTaskConfig, mesh: TetMesh, material: SoftMaterial | None = None) -> None:
        self.config, self.mesh = config, mesh
        self.scene = Scene(contact_radius=config.contact_radius)
        self.scene.add_collider(Plane(friction=config.friction))
        height = config.contact_radius - mesh.positions[:, 1].min()
        material = material or SoftMaterial(
            config.density, config.young_modulus, config.poisson_ratio, damping_time=config.damping_time
        )
        self.body = self.scene.add_soft_body(mesh, material, position=(0.0, height, 0.0))
        self.indices = self.body.indices
        """Particles of the body, in the order of the points of the mesh, shape (n,), int."""

    @property
    def middle(self) -> np.ndarray:
        """Particle nearest to the centre of the body, shape (1,), int32."""
        return self.indices[[np.argmin(np.linalg.norm(self.mesh.positions, axis=1))]]

    def variations(self) -> np.random.Generator:
        """Return the random stream for the goals of the start states; the same one every time."""
        return np.random.default_rng([self.config.starts_seed, 1])

    @worked_out_once
    def settled(self, world: World) -> tuple[np.ndarray, np.ndarray]:
        """Return the body at rest under its weight [m], shape (n, 3), and its permanent strains, shape (1, k)."""
        config, count = self.config, 3 * self.scene.particle_count
        what = (type(world.task), "settled", config)

        def settle() -> np.ndarray:
            handler = self.handler(world, self.scene.positions[None], damping=10.0)
            handler.rest(25)
            return np.append(handler.positions(), handler.state.get_memory())

        found = cached(what, world.model.device, settle, (count + world.model.memory_count,))
        return found[:count].reshape(-1, 3).astype(np.float64), found[None, count:]

    def strains(self, world: World) -> np.ndarray:
        """Return the permanent strains of the body at rest, shape (1, k)."""
        return self.settled(world)[1]

    def handler(self, world: World, positions: np.ndarray, damping: float) -> Handler:
        """Return copies of the body, paddles included, for a script to handle."""
        config, device = self.config, str(world.model.device.alias)
        compensate = config.compensate
        return Handler(
            self.scene, positions, world.solver.substeps, config.ctrl_dt, damping, device, compensate=compensate
        )

    def sample_starts(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return the body at rest under its weight, shifted and rotated about the vertical [m], (starts, n, 3)."""
        config, count = self.config, self.config.starts
        shape, _ = self.settled(world)
        angle = rng.uniform(-config.yaw, config.yaw, count)
        shift = rng.uniform(-config.spread, config.spread, (count, 2))
        cos, sin, zero, one = np.cos(angle), np.sin(angle), np.zeros(count), np.ones(count)
        turns = np.stack([cos, zero, sin, zero, one, zero, -sin, zero, cos], axis=1).reshape(count, 3, 3)
        moved = np.einsum("sij,nj->sni", turns, shape)
        moved[..., [0, 2]] += shift[:, None]
        return moved


def hands_box(hands: Hands, share: float = 0.65) -> Corners:
    """Return the region that pictures show: ``share`` of the width of the hands' box, and nine tenths of its height."""
    shares = np.array([share, 0.9, share])
    return np.array(hands.lower) * shares, np.array(hands.upper) * shares
