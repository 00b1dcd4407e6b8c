"""A cloth on the ground: its place, copies for scripts to handle, and its start states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pbd_gym.envs.core.data.start_bank import Handler
from pbd_gym.envs.core.task import World
from pbd_gym.scene.scene import Cloth, Garment, Scene


class ClothBody:
    """A cloth that lies flat on the ground in the scene.

    Args:
        config: the task's numbers.
        scene: scene of the cloth.
        indices: its particles, in the shape in which :meth:`shape` gives their positions.
        radius: radius of the particles, half the thickness of the cloth [m].
    """

    def __init__(self, config: Any, scene: Scene, indices: np.ndarray, radius: float) -> None:
        self.config, self.scene, self.indices, self.radius = config, scene, indices, radius

    @property
    def flat(self) -> np.ndarray:
        """Particle positions of the flat cloth [m], shape ``(*indices, 3)``."""
        return self.scene.positions[self.indices]

    def shape(self, world: World, env: int) -> np.ndarray:
        """Return the particle positions of an environment [m], shape ``(*indices, 3)``."""
        return world.state.get_positions(env)[self.indices]

    def handler(self, world: World, positions: np.ndarray) -> Handler:
        """Return copies of the cloth for a script to handle, with the grips of the task.

        Their time steps are half as long as the task's, so that fewer cloths get caught in themselves.
        """
        config, device, substeps = self.config, str(world.model.device.alias), world.solver.substeps
        return Handler(self.scene, positions, substeps, 0.5 * config.ctrl_dt, 1.0, device, config.starts)

    def settled(self, handler: Handler) -> np.ndarray:
        """Return the positions [m], shape (copies, n, 3), after coming to rest in the task's time steps.

        XPBD with one iteration is softer with longer steps. A cloth at rest in the steps of :meth:`handler` would jump
        when an episode begins.
        """
        handler.step_time = self.config.ctrl_dt
        handler.rest(25)
        return handler.positions()

    def calmest(
        self, handler: Handler, count: int, unfit: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> np.ndarray:
        """Return the copies with the least motion [m], shape (count, n, 3), since some of a thin cloth keep trembling.

        Args:
            handler: handler of the copies, in any state.
            count: number of copies to take.
            unfit: function of positions [m], shape (copies, n, 3), that marks copies to take last, bool, shape
                (copies,).
        """
        before = self.settled(handler)
        handler.rest(8)
        x = handler.positions()
        moved = np.linalg.norm(x - before, axis=2).max(axis=1)
        if unfit is not None:
            moved[unfit(x)] = np.inf
        return x[np.sort(np.argsort(moved, kind="stable")[:count])]

    def turned(self, rng: np.random.Generator, largest: float = 0.25 * np.pi, shift: float = 0.0) -> np.ndarray:
        """Return flat cloths rotated about the vertical and shifted along x and z [m], shape (starts, n, 3).

        Args:
            rng: random numbers.
            largest: largest angle in either direction [rad].
            shift: standard deviation along each axis [m].
        """
        found = about_vertical(self.scene.positions, rng.uniform(-largest, largest, self.config.starts))
        if shift > 0.0:
            found[..., [0, 2]] += shift * rng.standard_normal((len(found), 1, 2))
        return found


def about_vertical(points: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Return points rotated about the vertical through the origin [m], shape (k, n, 3).

    Args:
        points: [m], shape (n, 3), or (k, n, 3) with other points for each angle.
        angles: [rad], shape (k,).
    """
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    x, z = c * points[..., 0] + s * points[..., 2], c * points[..., 2] - s * points[..., 0]
    return np.stack([x, np.broadcast_to(points[..., 1], x.shape), z], axis=-1)


def add_contacts(scene: Scene, cloth: Cloth | Garment, config: Any, panels: bool = False) -> None:
    """Make a cloth collide with itself: as a surface if the task gives a thickness, otherwise as balls.

    Args:
        scene: scene of the cloth.
        cloth: its particles and triangles.
        config: the task's numbers: ``thickness``, ``radius`` and ``friction``.
        panels: whether it has two panels back to back.

    Raises:
        ValueError: for a thickness that is more than the width of the cloth or its gaps allow.
    """
    if config.thickness > 0.0:
        scene.add_surface_contacts(cloth.triangles, config.thickness, config.friction, panels)
    else:
        scene.add_particle_contacts(cloth.indices.ravel(), config.radius, config.friction)


def fitted(shape: np.ndarray, x: np.ndarray, carried: np.ndarray | None = None) -> np.ndarray:
    """Return a shape moved and rotated about the vertical to where it fits another best.

    Args:
        shape: points of the shape [m], shape (..., 3).
        x: target of each of them, shape (..., 3).
        carried: points that are moved and rotated with them and returned instead, shape (..., 3).
    """
    middles = [array.reshape(-1, 3).mean(axis=0) for array in (shape, x)]
    p, q = shape - middles[0], x - middles[1]
    # The angle that maximises the sum of the inner products, in complex numbers z + ix.
    c, s = (p[..., [0, 2]] * q[..., [0, 2]]).sum(), (p[..., 2] * q[..., 0] - p[..., 0] * q[..., 2]).sum()
    c, s = np.array([c, s]) / max(float(np.hypot(c, s)), 1e-12)
    moved = (p if carried is None else carried - middles[0]) @ np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])
    middles[1][1] = middles[0][1]
    return moved + middles[1]
