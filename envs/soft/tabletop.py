"""What the soft-body tasks of the suite share: a body on the ground, paddles that touch it, starts from a bank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pbd_gym.colliders import Plane
from pbd_gym.envs.core.actions import ActionMode
from pbd_gym.envs.core.manipulation import ManipulationConfig, ManipulationVectorEnv, Measure
from pbd_gym.envs.core.start_bank import Handler, cached
from pbd_gym.envs.core.validation import check_numbers
from pbd_gym.geometry.tetmeshes import TetMesh
from pbd_gym.materials.materials import SoftMaterial
from pbd_gym.scene.bodies import SoftBody
from pbd_gym.scene.scene import Scene


@dataclass(frozen=True)
class SoftTaskConfig(ManipulationConfig):
    """Numbers of the soft-body tasks; each can be given to ``gym.make``."""

    density: float = 300.0
    """Mass per volume [kg/m^3]; that of a sponge."""
    young_modulus: float = 3e4
    """Stiffness [Pa]."""
    poisson_ratio: float = 0.4
    """How much the body widens when squeezed."""
    contact_radius: float = 0.005
    """Distance that its particles keep from the ground and from paddles [m]."""
    paddle_friction: float = 1.0
    """Coulomb coefficient of the paddles."""
    max_step: float = 0.02
    """Largest move of a paddle along an axis per action [m]."""
    spread: float = 0.03
    """Largest distance of the body from the middle at the start, along x and z [m]."""
    yaw: float = np.pi
    """Largest turn of the body about the vertical at the start, either way [rad]."""

    def __post_init__(self) -> None:
        above_zero = ("density", "young_modulus", "contact_radius", "ctrl_dt", "max_step", "substeps", "starts")
        check_numbers(self, positive=(*above_zero, "success_at"))


class SoftTaskVectorEnv(ManipulationVectorEnv):
    """Batch of a task with a soft body that paddles touch. A task says what body it is and how its goals are drawn."""

    view_share: ClassVar[float] = 0.65
    """Of the hands' box, how much pictures show."""
    config: SoftTaskConfig
    action_modes: ClassVar[tuple[ActionMode, ...]] = ("paddle",)
    body: SoftBody
    best_performance = 0.0

    # --- task ---------------------------------------------------------------------------------------------------------

    def mesh(self) -> TetMesh:
        """*Task*: return the shape of the body at rest, centred on the origin."""
        raise NotImplementedError

    def material(self) -> SoftMaterial:
        """*Task*, may be left as it is: return what the body is made of."""
        config = self.config
        return SoftMaterial(config.density, config.young_modulus, config.poisson_ratio)

    # --- shared -------------------------------------------------------------------------------------------------------

    def make_scene(self) -> Scene:
        """Return a scene with the body on the ground at the origin; ``self.body`` says where it is."""
        config, mesh = self.config, self.mesh()
        scene = Scene(contact_radius=config.contact_radius)
        scene.add_collider(Plane(friction=config.friction))
        height = config.contact_radius - mesh.positions[:, 1].min()
        self.body = scene.add_soft_body(mesh, self.material(), position=(0.0, height, 0.0))
        return scene

    @property
    def middle(self) -> np.ndarray:
        """The particle nearest to the centre of the body, shape (1,), int32."""
        points = self.mesh().positions
        return self.body.indices[[np.argmin(np.linalg.norm(points, axis=1))]]

    def measures(self) -> list[Measure]:
        return [Measure("distance", -1.0, self.record_goal_distance)]

    def variations(self) -> np.random.Generator:
        """Return the stream that what differs from start to start is drawn from; the same one every time."""
        return np.random.default_rng([self.config.starts_seed, 1])

    def settled(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the body at rest under its weight [m], shape (n, 3), and its permanent strains, shape (1, k)."""
        if self._settled is None:
            config = self.config
            what = (type(self), "settled", config)
            count = 3 * self.scene.particle_count

            def settle() -> np.ndarray:
                handler = self.handler(self.scene.positions[None], damping=10.0)
                handler.rest(25)
                return np.append(handler.positions(), handler.state.get_memory())

            found = cached(what, self.model.device, settle, (count + self.model.memory_count,))
            self._settled = found[:count].reshape(-1, 3).astype(np.float64), found[None, count:]
        return self._settled

    _settled: tuple[np.ndarray, np.ndarray] | None = None

    def handler(self, positions: np.ndarray, damping: float) -> Handler:
        """Return copies of the body, paddles included, to be handled by a script."""
        config = self.config
        return Handler(self.scene, positions, config.substeps, config.ctrl_dt, damping, str(self.model.device.alias))

    def start_memory(self) -> np.ndarray:
        return self.settled()[1]

    def draw_starts(self, rng: np.random.Generator) -> np.ndarray:
        """Return the body at rest under its weight, moved and turned about the vertical [m], shape (starts, n, 3)."""
        config, count = self.config, self.config.starts
        shape, _ = self.settled()
        angle = rng.uniform(-config.yaw, config.yaw, count)
        shift = rng.uniform(-config.spread, config.spread, (count, 2))
        cos, sin, zero, one = np.cos(angle), np.sin(angle), np.zeros(count), np.ones(count)
        turns = np.stack([cos, zero, sin, zero, one, zero, -sin, zero, cos], axis=1).reshape(count, 3, 3)
        placed = np.einsum("sij,nj->sni", turns, shape)
        placed[..., [0, 2]] += shift[:, None]
        return placed

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        hands = self.actions.hands
        share = np.array([self.view_share, 0.9, self.view_share])
        return np.array(hands.lower) * share, np.array(hands.upper) * share
