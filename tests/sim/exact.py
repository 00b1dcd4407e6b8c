"""The exact motion of particles and springs, by an integrator of high order: what every time step approximates."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from pbd_gym.scene.scene import Scene
from tests.sim.newton import terms_of


def exact_motion(
    scene: Scene, x: np.ndarray, v: np.ndarray, seconds: float, tolerance: float = 1e-9
) -> tuple[np.ndarray, np.ndarray]:
    """Solve ``M a = M g - dU/dx`` by the method of Dormand and Prince of order 8.

    Args:
        scene: masses, pins, gravity and constraints, all compliant.
        x: positions now [m], shape (n, 3).
        v: velocities now [m/s], shape (n, 3).
        seconds: how long.
        tolerance: of each step of the integrator, absolute and relative.

    Returns:
        Positions and velocities at the end, shape (n, 3).
    """
    terms, free = terms_of(scene), (scene.inv_mass > 0)[:, None]

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        now, speed = y.reshape(2, *x.shape)
        force = np.zeros(x.shape)
        for term in terms:
            np.add.at(force, term.indices, -term.gradient(now))
        return np.concatenate([speed.ravel(), (free * scene.gravity + scene.inv_mass[:, None] * force).ravel()])

    start = np.concatenate([x.ravel(), v.ravel()])
    end = solve_ivp(rate, (0.0, seconds), start, "DOP853", rtol=tolerance, atol=tolerance)
    if not end.success:
        raise RuntimeError(end.message)
    positions, velocities = end.y[:, -1].reshape(2, *x.shape)
    return positions, velocities
