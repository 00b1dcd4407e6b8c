"""What the cloth tasks of the suite share: a square towel on the ground, two pickers, and how to crumple it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.colliders import Plane
from pbd_gym.envs.core.actions import Hands
from pbd_gym.envs.core.experts import Waypoint
from pbd_gym.envs.core.manipulation import ManipulationConfig, ManipulationVectorEnv
from pbd_gym.envs.core.start_bank import Handler
from pbd_gym.envs.core.validation import check_numbers
from pbd_gym.materials.materials import ClothMaterial
from pbd_gym.scene.bodies import Cloth
from pbd_gym.scene.scene import Scene

LYING = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""Turns a hanging cloth so that it lies: its rows go along +z, its columns along +x."""


def fitted(shape: np.ndarray, x: np.ndarray, carried: np.ndarray | None = None) -> np.ndarray:
    """Return a shape moved and turned about the vertical to where it lies nearest to another.

    Args:
        shape: points of the shape [m], shape (..., 3).
        x: where each of them should be, likewise.
        carried: points that are moved and turned with them and returned in their place, shape (..., 3).
    """
    middles = [array.reshape(-1, 3).mean(axis=0) for array in (shape, x)]
    p, q = shape - middles[0], x - middles[1]
    # The angle that maximises the sum of the inner products, in complex numbers z + ix.
    c, s = (p[..., [0, 2]] * q[..., [0, 2]]).sum(), (p[..., 2] * q[..., 0] - p[..., 0] * q[..., 2]).sum()
    c, s = np.array([c, s]) / max(float(np.hypot(c, s)), 1e-12)
    moved = (p if carried is None else carried - middles[0]) @ np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])
    middles[1][1] = middles[0][1]
    return moved + middles[1]


@dataclass(frozen=True)
class ClothTaskConfig(ManipulationConfig):
    """Numbers of the cloth tasks; each can be given to ``gym.make``."""

    rows: int = 16
    """Particles along z of the flat cloth. SoftGym has 60 to 120."""
    columns: int = 16
    """Particles along x."""
    side: float = 0.4
    """Length of each side [m]."""
    density: float = 0.5
    """Mass per area [kg/m^2]."""
    stretch_compliance: float = 1e-5
    """Of constraints along the threads [m/N]."""
    shear_compliance: float = 1e-3
    """Of diagonal constraints [m/N]."""
    bend_compliance: float = 1.0
    """Of constraints that skip a particle [m/N]."""
    reach: float = 0.06
    """Distance from which a picker grasps [m]."""

    def __post_init__(self) -> None:
        check_numbers(
            self, positive=("side", "density", "ctrl_dt", "max_step", "reach", "substeps", "starts", "success_at")
        )
        if min(self.rows, self.columns) < 4:
            raise ValueError(f"rows and columns must be at least 4, got {self.rows} and {self.columns}")

    @property
    def spacing(self) -> float:
        """Distance of neighbouring particles [m]."""
        return self.side / (max(self.rows, self.columns) - 1)

    @property
    def radius(self) -> float:
        """Of the particles, half the thickness of the cloth [m]."""
        return 0.45 * self.spacing


class ClothTaskVectorEnv(ManipulationVectorEnv):
    """Batch of a task with a square towel and two pickers."""

    config: ClothTaskConfig
    cloth: Cloth

    def make_scene(self) -> Scene:
        """Return a scene with the towel flat on the ground about the origin; ``self.cloth`` says where it is."""
        config = self.config
        scene = Scene(contact_radius=config.radius)
        scene.add_collider(Plane(friction=config.friction))
        self.cloth = scene.add_cloth(
            config.rows,
            config.columns,
            (config.side, config.side),
            ClothMaterial(config.density, config.stretch_compliance, config.shear_compliance, config.bend_compliance),
            position=(0.0, config.radius, -0.5 * config.side),
            rotation=LYING,
        )
        scene.add_particle_contacts(self.cloth.indices.ravel(), config.radius, config.friction)
        return scene

    def hands(
        self, particles: tuple[int, int], holding: bool = False, lowest: float = 0.0, height: float = 1.25
    ) -> Hands:
        """Return two pickers that start at two particles, in a box around the towel.

        Args:
            particles: where they are, and what they hold.
            holding: whether they hold it.
            lowest: height of the bottom of the box, if that is above the ground [m].
            height: of its top, in sides of the towel.
        """
        config = self.config
        extent = 1.5 * config.side
        return Hands(
            particles=particles,
            corners=tuple(int(c) for c in self.cloth.corners),
            reach=config.reach,
            max_step=config.max_step,
            lower=(-extent, max(config.radius, lowest), -extent),
            upper=(extent, height * config.side, extent),
            holding=holding,
        )

    def settled(self, handler: Handler) -> np.ndarray:
        """Return the positions [m], shape (copies, n, 3), once all is at rest in time steps of the task.

        XPBD with one iteration is the softer the longer its steps are. What has come to rest in those of
        :meth:`handler` would jump when an episode begins.
        """
        handler.step_time = self.config.ctrl_dt
        handler.rest(25)
        return handler.positions()

    def keypoints(self) -> np.ndarray:
        """Return the observed particles: corners, middles of the sides, and the centre, shape (9,)."""
        rows, columns = (np.linspace(0, n - 1, 3).round().astype(int) for n in self.cloth.indices.shape)
        return self.cloth.indices[np.ix_(rows, columns)].ravel()

    def shape(self, env: int) -> np.ndarray:
        """Return where the particles of an environment are [m], shape (rows, columns, 3)."""
        return self.state.get_positions()[env][self.cloth.indices]

    @property
    def flat(self) -> np.ndarray:
        """Where the particles of the flat towel are [m], shape (rows, columns, 3)."""
        return self.scene.positions[self.cloth.indices]

    def handler(self, positions: np.ndarray) -> Handler:
        """Return copies of the towel to be handled by a script, with the grips of the task.

        Their time steps are half as long as those of the task: fewer towels are caught in themselves.
        """
        config = self.config
        return Handler(self.scene, positions, config.substeps, 0.5 * config.ctrl_dt, 1.0, str(self.model.device.alias))

    def covered(self, x: np.ndarray, places: ArrayLike, size: float = 1.0) -> np.ndarray:
        """Return how many particles of other layers of a towel lie above some, shape (k,).

        Args:
            x: where its particles are, shape (rows, columns, 3) [m].
            places: rows and columns of those that are asked for, shape (k, 2), int.
            size: of the environment.
        """
        chosen = np.asarray(places) % x.shape[:2]
        offset = x - x[tuple(chosen.T)][:, None, None]
        other = np.abs(np.indices(x.shape[:2]) - chosen[..., None, None]).max(axis=1) > 2
        spacing = self.config.spacing * size
        near = np.hypot(offset[..., 0], offset[..., 2]) < 1.5 * spacing
        return np.asarray((near & other & (offset[..., 1] > 0.45 * spacing)).sum(axis=(1, 2)))

    def time_left(self, env: int) -> int:
        """Return how many actions an environment has left."""
        return (self.max_episode_steps or 10**9) - int(self.buffers.peek("elapsed")[env])

    def height(self, flat: np.ndarray) -> np.ndarray:
        """Return the way up from the last row of a towel that hangs to its first, shape (3,) [m]."""
        return np.array([0.0, float(np.linalg.norm(flat[0, [0, -1]] - flat[-1, [0, -1]], axis=1).mean()), 0.0])

    def laid(self, goals: np.ndarray, pull: float = 0.05, release: bool = True) -> Iterator[Waypoint]:
        """Return the way of two hands that lay down a hanging towel, last row first.

        Args:
            goals: where its particles are to lie, shape (rows, columns, 3) [m].
            pull: how far they go on along the ground, in lengths of the towel, to tighten what has buckled.
            release: whether they let go in the end, and wait for it to sink.
        """
        both, near, far = (True, True), goals[0, [0, -1]], goals[-1, [0, -1]]
        way, up = near - far, self.height(goals)
        for share in np.linspace(0.0, 1.0, 5):
            yield Waypoint(far + share * way + (1.0 - share) * up, both, 0.6)
        yield Waypoint(near + pull * way, both, 0.4)
        if release:
            yield Waypoint(near + pull * way, (False, False), wait=3)

    def tightened(self, x: np.ndarray, goals: np.ndarray) -> Iterator[Waypoint]:
        """Return the way of two hands that pull that edge of a towel outwards which lies farthest from its goals.

        Args:
            x: where its particles are, shape (rows, columns, 3) [m].
            goals: where they are to lie, likewise.
        """
        worst = max(range(4), key=lambda k: float(np.abs(np.rot90(goals - x, k)[0]).sum()))
        corners, x, goals = (np.rot90(array, worst)[0, [0, -1]] for array in (goals - goals.mean((0, 1)), x, goals))
        yield Waypoint(x, (False, False))
        yield Waypoint(goals + 0.05 * corners, (True, True), 0.3)
        yield Waypoint(goals + 0.05 * corners, (False, False), wait=3)

    def folded_over(
        self,
        points: np.ndarray,
        places: np.ndarray,
        held: bool = False,
        hands: tuple[bool, bool] = (True, True),
        short: float = 0.05,
    ) -> Iterator[Waypoint]:
        """Return the way of hands that take hold of points and carry them over in a flat arc, to lie on other places.

        Args:
            points: where they are to be grasped, shape (2, 3) [m].
            places: where they are to be laid, likewise.
            held: whether the hands hold them already.
            hands: which of them are used.
            short: share of the way that is left in the end, so that the rest of the cloth is left in peace.
        """
        middle, arm = 0.5 * (points + places), 0.5 * (points - places)
        # Lower than a half circle, for the same reason.
        height = 0.5 * np.linalg.norm(arm, axis=1, keepdims=True) * [0.0, 1.0, 0.0]
        up = np.array([0.0, 2.0 * self.config.radius, 0.0])
        if not held:
            yield Waypoint(points, (False, False))
        for angle in np.linspace(0.0, np.pi, 9)[1:]:
            c = np.cos(angle)
            last = middle + (c if c > 0.0 else (1.0 - 2.0 * short) * c) * arm + np.sin(angle) * height + up
            yield Waypoint(last, hands, 0.7)
        yield Waypoint(last, (False, False), wait=3)

    def hanging(self, rng: np.random.Generator) -> np.ndarray:
        """Return towels that hang at rest from their first row, near the middle [m], shape (starts, n, 3)."""
        config = self.config
        flat = self.scene.positions
        start = np.repeat(flat[None], config.starts, axis=0)
        start[..., 1] = 0.5 * config.side - flat[:, 2] + config.side * rng.uniform(0.25, 0.5, config.starts)[:, None]
        start[..., 2] = config.side * rng.uniform(-0.25, 0.25, config.starts)[:, None]
        handler = self.handler(start)
        handler.grasp(np.repeat(self.cloth.corners[None, :2], config.starts, axis=0))
        handler.rest(75)
        return self.settled(handler)

    def turned(self, rng: np.random.Generator, largest: float = 0.25 * np.pi) -> np.ndarray:
        """Return flat towels turned about the vertical by up to an angle [rad], shape (starts, n, 3) [m]."""
        angle = rng.uniform(-largest, largest, self.config.starts)[:, None]
        flat = self.scene.positions
        c, s = np.cos(angle), np.sin(angle)
        x, z = c * flat[:, 0] + s * flat[:, 2], c * flat[:, 2] - s * flat[:, 0]
        return np.stack([x, np.broadcast_to(flat[:, 1], x.shape), z], axis=-1)

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        # Towels that lie are lifted by up to half a side; those that hang at the start need more room.
        side = self.config.side
        height = max(0.45 * side, float(self.start_positions[..., 1].max()) + 0.05 * side)
        return np.array([-0.62 * side, 0.0, -0.62 * side]), np.array([0.62 * side, height, 0.62 * side])

    def centred(self, positions: np.ndarray) -> np.ndarray:
        """Return the same shapes with their middle above the origin [m], shape (count, n, 3)."""
        moved = positions.copy()
        moved[..., [0, 2]] -= moved[..., [0, 2]].mean(axis=1, keepdims=True)
        return moved
