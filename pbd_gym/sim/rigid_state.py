"""Poses and velocities of rigid bodies, which their particles have between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.colliders.solid import matrix_of
from pbd_gym.runtime.checks import FARTHEST, FASTEST, finite, whole
from pbd_gym.scene.rigid_bodies import RigidBody
from pbd_gym.sim.particle_state import ParticleState
from pbd_gym.sim.state_checks import check_orientation


class RigidState(ParticleState):
    """Particles, and the rigid bodies that some of them are."""

    def get_rigid_poses(self) -> np.ndarray:
        """Return the poses of the rigid bodies, in the order in which they were added.

        Returns:
            Where the origin of the mesh is [m], and the orientation (x, y, z, w), which is the turn from how the body
            was added, shape (num_envs, bodies, 7). NaN where particles are not finite: the environment has diverged.
        """
        positions = self.get_positions().astype(np.float64)
        found = np.zeros((self.model.num_envs, len(self.model.rigid_bodies), 7))
        for body in self.model.rigid_bodies:
            center, turn = self._fitted(body, positions)
            found[:, body.index, :3] = center + self._sizes() * (turn @ (body.origin - body.center))
            found[:, body.index, 3:] = quaternions(turn)
        return found.astype(self.model.dtype)

    def get_rigid_velocities(self) -> np.ndarray:
        """Return the velocity of each rigid body's centre of mass [m/s], and its angular velocity [rad/s].

        Returns:
            Both, in the axes of the world, shape (num_envs, bodies, 6). NaN as for :meth:`get_rigid_poses`.
        """
        positions, velocities = (get().astype(np.float64) for get in (self.get_positions, self.get_velocities))
        found = np.zeros((self.model.num_envs, len(self.model.rigid_bodies), 6))
        for body in self.model.rigid_bodies:
            share = self.model.mass[body.indices] / self.model.mass[body.indices].sum()
            r, v = positions[:, body.indices], velocities[:, body.indices]
            lost = ~(np.isfinite(r) & np.isfinite(v)).all(axis=(1, 2))
            r[lost], v[lost] = body.rest, 0.0
            r = r - (share @ r)[:, None]
            second = np.einsum("k,eki,ekj->eij", share, r, r)
            inertia = np.trace(second, axis1=1, axis2=2)[:, None, None] * np.eye(3) - second
            spin = np.einsum("k,ekx->ex", share, np.cross(r, v))
            found[:, body.index] = np.concatenate(
                [share @ v, np.linalg.solve(inertia, spin[..., None])[..., 0]], axis=1
            )
            found[lost, body.index] = np.nan
        return found.astype(self.model.dtype)

    def set_rigid_pose(
        self, body: RigidBody | int, origin: ArrayLike | None = None, orientation: ArrayLike | None = None
    ) -> None:
        """Put a rigid body somewhere at once, with the velocities that it has.

        Args:
            body: what :meth:`Scene.add_rigid_body` returned, or its number.
            origin: where the origin of its mesh goes [m], broadcast to (num_envs, 3); where it is by default.
            orientation: unit quaternion (x, y, z, w) that turns it from how it was added, broadcast to (num_envs, 4);
                as it is by default. Scaled to length one.

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a body that does not exist, a wrong shape, a number that is not finite, an origin beyond
                1e6 m, or a quaternion of zero. The state is then as it was.
        """
        known, count = self._body(body), self.model.num_envs
        pose = self.get_rigid_poses()[:, known.index].astype(np.float64)
        if origin is not None:
            pose[:, :3] = finite("origin", origin, (count, 3), largest=FARTHEST)
        if orientation is not None:
            pose[:, 3:] = check_orientation(orientation, count)
        velocity = self.get_rigid_velocities()[:, known.index].astype(np.float64)
        velocity[~np.isfinite(velocity).all(axis=1)] = 0.0  # that of a body which has diverged, and is put back
        turn = np.stack([matrix_of(row) for row in pose[:, 3:]])
        center = pose[:, :3] + self._sizes() * (turn @ (known.center - known.origin))
        positions = self.get_positions()
        positions[:, known.indices] = center[:, None] + self._sizes()[..., None] * (known.rest @ turn.swapaxes(1, 2))
        self.set_positions(positions)
        self.set_rigid_velocity(known, velocity[:, :3], velocity[:, 3:])

    def set_rigid_velocity(
        self, body: RigidBody | int, linear: ArrayLike | None = None, angular: ArrayLike | None = None
    ) -> None:
        """Set the velocities of a rigid body.

        Args:
            body: what :meth:`Scene.add_rigid_body` returned, or its number.
            linear: of its centre of mass [m/s], broadcast to (num_envs, 3); what it is by default.
            angular: in the axes of the world [rad/s], broadcast to (num_envs, 3); what it is by default.

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a body that does not exist, a wrong shape, or a number that is not finite or beyond 1e6.
        """
        known, count = self._body(body), self.model.num_envs
        velocity = self.get_rigid_velocities()[:, known.index].astype(np.float64)
        if linear is not None:
            velocity[:, :3] = finite("linear", linear, (count, 3), largest=FASTEST)
        if angular is not None:
            velocity[:, 3:] = finite("angular", angular, (count, 3), largest=FASTEST)
        positions, velocities = self.get_positions().astype(np.float64), self.get_velocities()
        r = positions[:, known.indices] - self._fitted(known, positions)[0][:, None]
        velocities[:, known.indices] = velocity[:, None, :3] + np.cross(velocity[:, None, 3:], r)
        self.set_velocities(velocities)

    def _body(self, body: RigidBody | int) -> RigidBody:
        bodies = self.model.rigid_bodies
        index = body.index if isinstance(body, RigidBody) else whole("body", body, 0)
        if index >= len(bodies) or (isinstance(body, RigidBody) and bodies[index] is not body):
            raise ValueError(f"there is no such rigid body: the scene has {len(bodies)}")
        return bodies[index]

    def _sizes(self) -> np.ndarray:
        """Return the sizes of the environments, shape (num_envs, 1)."""
        sizes: np.ndarray = self.parameters.get()["size"][:, None].astype(np.float64)
        return sizes

    def _fitted(self, body: RigidBody, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return centre and rotation of the rigid motion that fits particles best, shape (e, 3) and (e, 3, 3).

        Both are NaN where particles are not finite.
        """
        share = self.model.mass[body.indices] / self.model.mass[body.indices].sum()
        x = positions[:, body.indices]
        lost = ~np.isfinite(x).all(axis=(1, 2))
        x[lost] = body.rest  # one that LAPACK does not bear would take the others with it
        center = share @ x
        u, _, v = np.linalg.svd(np.einsum("k,eki,kj->eij", share, x - center[:, None], body.rest))
        proper = np.ones((len(x), 3))
        proper[:, 2] = np.linalg.det(u @ v)
        turn = (u * proper[:, None]) @ v
        center[lost], turn[lost] = np.nan, np.nan
        return center, turn


def quaternions(turns: np.ndarray) -> np.ndarray:
    """Return unit quaternions (x, y, z, w), w not negative, of rotations, shape (e, 4) of (e, 3, 3); NaN of NaN.

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
