"""Rigid motions of groups of particles: poses and velocities of rigid bodies, and back, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pbd_gym.colliders.solid import matrix_of
from pbd_gym.scene.rigid_bodies import RigidBody


def poses(bodies: Sequence[RigidBody], mass: np.ndarray, positions: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return origins [m] and orientations (x, y, z, w) of bodies, shape (num_envs, bodies, 7), float64.

    Args:
        bodies: bodies of a scene, in their order.
        mass: masses of all particles [kg], shape (n,).
        positions: positions of all particles [m], shape (num_envs, n, 3), float64.
        sizes: sizes of the environments, shape (num_envs, 1).
    """
    found = np.zeros((len(positions), len(bodies), 7))
    for body in bodies:
        center, turn = fit(body, mass, positions)
        found[:, body.index, :3] = center + sizes * (turn @ (body.origin - body.center))
        found[:, body.index, 3:] = quaternions(turn)
    return found


def velocities(bodies: Sequence[RigidBody], mass: np.ndarray, positions: np.ndarray, speeds: np.ndarray) -> np.ndarray:
    """Return velocities of centres of mass [m/s] and angular velocities [rad/s], shape (num_envs, bodies, 6), float64.

    Args:
        bodies, mass, positions: as for :func:`poses`.
        speeds: velocities of all particles [m/s], shape (num_envs, n, 3), float64.
    """
    found = np.zeros((len(positions), len(bodies), 6))
    for body in bodies:
        share = mass[body.indices] / mass[body.indices].sum()
        r, v = positions[:, body.indices], speeds[:, body.indices]
        lost = ~(np.isfinite(r) & np.isfinite(v)).all(axis=(1, 2))
        r[lost], v[lost] = body.rest, 0.0
        r = r - (share @ r)[:, None]
        second = np.einsum("k,eki,ekj->eij", share, r, r)
        inertia = np.trace(second, axis1=1, axis2=2)[:, None, None] * np.eye(3) - second
        spin = np.einsum("k,ekx->ex", share, np.cross(r, v))
        turning = np.linalg.solve(inertia, spin[..., None])[..., 0]
        found[:, body.index] = np.concatenate([share @ v, turning], axis=1)
        found[lost, body.index] = np.nan
    return found


def placed(body: RigidBody, pose: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the positions of a body's particles in poses, shape (num_envs, 7), in float64, shape (num_envs, k, 3)."""
    turn = np.stack([matrix_of(row) for row in pose[:, 3:]])
    center = pose[:, :3] + sizes * (turn @ (body.center - body.origin))
    return center[:, None] + sizes[..., None] * (body.rest @ turn.swapaxes(1, 2))


def fit(body: RigidBody, mass: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return centre and rotation of the rigid motion that best fits the particles, shape (e, 3) and (e, 3, 3).

    Both are NaN where particles are not finite.
    """
    share = mass[body.indices] / mass[body.indices].sum()
    x = positions[:, body.indices]
    lost = ~np.isfinite(x).all(axis=(1, 2))
    x[lost] = body.rest  # one that LAPACK rejects would take the others with it
    center = share @ x
    u, _, v = np.linalg.svd(np.einsum("k,eki,kj->eij", share, x - center[:, None], body.rest))
    proper = np.ones((len(x), 3))
    proper[:, 2] = np.linalg.det(u @ v)
    turn = (u * proper[:, None]) @ v
    center[lost], turn[lost] = np.nan, np.nan
    return center, turn


def quaternions(turns: np.ndarray) -> np.ndarray:
    """Return unit quaternions (x, y, z, w), w not negative, of rotations, shape (e, 4) for (e, 3, 3); NaN for NaN.

    Each is the eigenvector of the largest eigenvalue of the matrix that :mod:`pbd_gym.kernels.lanes.rotation` squares.
    """
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = turns.transpose(1, 2, 0)
    rows = [
        [xx - yy - zz, xy + yx, xz + zx, zy - yz],
        [xy + yx, yy - xx - zz, yz + zy, xz - zx],
        [xz + zx, yz + zy, zz - xx - yy, yx - xy],
        [zy - yz, xz - zx, yx - xy, xx + yy + zz],
    ]
    matrices = np.array(rows).transpose(2, 0, 1)
    known = np.isfinite(matrices).all(axis=(1, 2))
    found = np.full((len(turns), 4), np.nan)
    best = np.linalg.eigh(matrices[known])[1][..., -1]
    found[known] = best * np.where(best[:, 3:] < 0.0, -1.0, 1.0)
    return found
