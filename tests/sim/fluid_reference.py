"""A substep of a fluid in plain NumPy: all pairs, no cells, no lists."""

from __future__ import annotations

import numpy as np

from pbd_gym.colliders import Plane
from pbd_gym.scene.scene import Scene


def bell(q: np.ndarray) -> np.ndarray:
    return np.where(q < 1.0, (1.0 - q) ** 4 * (1.0 + 4.0 * q), 0.0)


def behind(distance: np.ndarray, support: float) -> np.ndarray:
    """Share of the kernel behind a plane, shell by shell: the cap of each sphere that the plane cuts off."""
    r, weights = np.polynomial.legendre.leggauss(60)
    share = np.zeros_like(distance)
    for k, d in enumerate(np.abs(distance) / support):
        if d < 1.0:
            radii = d + 0.5 * (r + 1.0) * (1.0 - d)
            shells = 2.0 * np.pi * radii * (radii - d) * bell(radii) * 21.0 / (2.0 * np.pi)
            share[k] = 0.5 * (1.0 - d) * (weights * shells).sum()
    return np.where(distance < 0.0, 1.0 - share, share)


def substep(scene: Scene, x: np.ndarray, v: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Advance a fluid among planes without friction by one substep; no particle is near more than one."""
    fluid = scene.fluid
    assert fluid is not None
    material, support = fluid.material, fluid.smoothing.support
    amplitude, rest = fluid.smoothing.amplitude, fluid.smoothing.rest_gradient
    planes = [(np.array(c.normal), c.offset) for c in scene.colliders if isinstance(c, Plane)]
    old = x
    p = x + h * (v + h * scene.gravity)
    listed = np.linalg.norm(p[:, None] - p, axis=2) < support
    np.fill_diagonal(listed, False)
    dv = 1e-6 * support
    for _ in range(material.iterations):
        d = p[:, None] - p
        q = np.linalg.norm(d, axis=2) / support
        slope = np.where(listed & (q < 1.0), -20.0 * amplitude / support**2 * np.maximum(1.0 - q, 0.0) ** 3, 0.0)
        pairs = slope[..., None] * d
        density = amplitude * (1.0 + np.where(listed, bell(q), 0.0).sum(axis=1))
        wall = np.zeros_like(p)
        for normal, offset in planes:
            gap = p @ normal - offset
            density += behind(gap, support)
            wall += ((behind(gap + dv, support) - behind(gap - dv, support)) / (2.0 * dv))[:, None] * normal
        constraint = np.maximum(density - 1.0, material.clamp)
        own = pairs.sum(axis=1) + wall
        below = (pairs**2).sum(axis=(1, 2)) + (own**2).sum(axis=1) + material.regularization * rest
        lam = -constraint / below
        p = p + ((lam[:, None] + lam)[..., None] * pairs).sum(axis=1) + lam[:, None] * wall
        for normal, offset in planes:
            p = p + np.maximum(0.5 * fluid.spacing - (p @ normal - offset), 0.0)[:, None] * normal
    speed = (p - old) / h
    q = np.linalg.norm(p[:, None] - p, axis=2) / support
    weights = amplitude * np.where(listed, bell(q), 0.0)
    share = material.xsph + 2.0 * material.viscosity / material.density / fluid.smoothing.spread * h
    change = weights @ speed - weights.sum(axis=1)[:, None] * speed
    for normal, offset in planes:
        change -= behind(np.maximum(p @ normal - offset, 0.0), support)[:, None] * speed
    return p, speed + share * change
