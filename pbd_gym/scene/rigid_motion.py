"""Rigid motions of groups of particles: poses and velocities of rigid bodies, and back, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pbd_gym.colliders.solid import matrix_of
from pbd_gym.scene.rigid_bodies import RigidBody

SCATTERED = 1e-3
"""Distance of a particle from its place in a rigid body that is more than rounding, in radii of the body's balls."""
ULPS = 4.0
"""The same in units of the last place of float32."""
LEAST = 3
"""Number of particles that have a rotation, at least."""


def gathered(
    bodies: Sequence[RigidBody], mass: np.ndarray, positions: np.ndarray, sizes: np.ndarray, fixed: np.ndarray
) -> np.ndarray:
    """Return positions in which scattered bodies are rigid again, where their free particles fit best.

    A step begins with such a fit. Without it contacts would take the way of particles back into their body for speed.

    Args:
        bodies, mass, positions, sizes: as for :func:`poses`.
        fixed: which particles are pinned or held, and stay where they are, bool, shape (num_envs, n).

    Returns:
        Shape (num_envs, n, 3): ``positions`` itself if no body is scattered.
    """
    found = positions
    for body in bodies:
        free = ~fixed[:, body.indices]
        center, turn = fit(body, mass, positions, free, sizes)
        wanted = center[:, None] + sizes[..., None] * (body.rest @ turn.swapaxes(1, 2))
        away = np.linalg.norm(np.where(free[..., None], wanted - positions[:, body.indices], 0.0), axis=2).max(axis=1)
        # Far from the origin float32 rounds by more.
        rounding = ULPS * np.spacing(np.abs(positions[:, body.indices]).max(axis=(1, 2)).astype(np.float32))
        apart = away > np.maximum(SCATTERED * body.radius * sizes[:, 0], rounding)
        if apart.any():
            found = found.copy() if found is positions else found
            moves = free & apart[:, None]
            envs, own = np.nonzero(moves)
            found[envs, body.indices[own]] = wanted[moves]
    return found


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


def fit(
    body: RigidBody,
    mass: np.ndarray,
    positions: np.ndarray,
    chosen: np.ndarray | None = None,
    sizes: np.ndarray | float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return centre of mass and rotation of the rigid motion that best fits particles, shape (e, 3) and (e, 3, 3).

    Both are NaN where particles are not finite, or are too few to tell.

    Args:
        body: body of a scene.
        mass: masses of all particles [kg], shape (n,).
        positions: positions of all particles [m], shape (e, n, 3), float64.
        chosen: particles of the body that count, bool, shape (e, k); by default all.
        sizes: sizes of the environments, shape (e, 1), which matter where not all count.
    """
    weight = np.tile(mass[body.indices], (len(positions), 1))
    if chosen is not None:
        weight *= chosen
    total = weight.sum(axis=1)
    x = positions[:, body.indices]
    lost = ~np.isfinite(x).all(axis=(1, 2)) | ((weight > 0.0).sum(axis=1) < LEAST)
    x[lost] = body.rest  # one that LAPACK rejects would take the others with it
    share = weight / np.where(lost, 1.0, total)[:, None]
    center, middle = np.einsum("ek,eki->ei", share, x), share @ body.rest
    around = body.rest - middle[:, None]
    u, _, v = np.linalg.svd(np.einsum("ek,eki,ekj->eij", share, x - center[:, None], around))
    proper = np.ones((len(x), 3))
    proper[:, 2] = np.linalg.det(u @ v)
    turn = (u * proper[:, None]) @ v
    center -= sizes * np.einsum("eij,ej->ei", turn, middle)
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
