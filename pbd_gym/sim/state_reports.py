"""Reports of the last step: forces, overflows, and passages through surfaces."""

from __future__ import annotations

import warnings

import numpy as np

from pbd_gym.sim.state_arrays import StateArrays
from pbd_gym.sim.upload.arrays import to_rows


class StateReports(StateArrays):
    """Arrays of a state, and a step's reports beside positions and velocities."""

    def get_asleep(self) -> np.ndarray:
        """Return which environments slept in the last step (``Solver(sleep=True)``), bool, shape (num_envs,)."""
        found: np.ndarray = self.contacts.asleep.numpy()[: self.model.num_envs, 0] != 0
        return found

    def get_inverted(self) -> np.ndarray:
        """Return how many tetrahedra are inverted or flat at the end of the last step.

        A flat tetrahedron has at most a hundredth of its rest volume. All tetrahedra of soft bodies and of constraints
        count, each once. Finite elements recover by themselves where nothing holds them, see
        :func:`pbd_gym.constraints.tet_fem.rising`; elements held flat between two plates are counted as long as they
        are.

        Returns:
            Shape (num_envs,), int32.
        """
        return self.inverted.numpy()[: self.model.num_envs].copy()

    def get_slipped(self) -> np.ndarray:
        """Return which grips opened by themselves at the end of the last step, see :meth:`Control.set_force_limit`.

        Returns:
            Shape (num_envs, grips), bool.
        """
        found: np.ndarray = self.slipped.numpy()[: self.model.num_envs] != 0
        return found & self.has_force_limit

    def get_grip_forces(self) -> np.ndarray:
        """Return the force with which the held body pulled at each grip, averaged over the last step.

        It is the sum of the constraint and tether forces on the held particle, and its own weight: hands that hold a
        towel still together feel all of its weight. For a rigid body it is the force missing between the pushes on the
        body and the momentum it gains; several hands on one body share it with the smallest forces possible. Contact
        forces on the held particle, and the force that accelerates that particle itself, are not included.

        Returns:
            Force [N], shape (num_envs, grips, 3); 0 where nothing is held.

        Raises:
            RuntimeError: if they were not summed, which needs a solver with ``grip_forces=True``.
        """
        if not self.has_grip_forces:
            raise RuntimeError("forces at grips are summed by a solver with grip_forces=True only")
        return self.grip_forces.numpy()[: self.model.num_envs].copy()

    def get_contact_forces(self) -> np.ndarray:
        """Return the force with which contacts pushed each particle, friction included, averaged over the last step.

        It counts contacts with colliders and between particles and surfaces. Contacts of rigid bodies push their balls:
        the sum over ``RigidBody.indices`` is the force on a body. Bounces of particles, the walls of fluids, and pinned
        or held particles, which contacts do not move, are not included.

        Returns:
            Force [N], shape (num_envs, n, 3).

        Raises:
            RuntimeError: if they were not summed, which needs a solver with ``contact_forces=True``.
        """
        if not self.contact_scale:
            raise RuntimeError("forces of contacts are summed by a solver with contact_forces=True only")
        pushes, inverse = (to_rows(a.numpy(), self.model.num_envs) for a in (self.pushes, self.free_inv_mass))
        mass = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0.0)
        found: np.ndarray = pushes * (self.contact_scale * mass[..., None])
        return found.astype(self.model.dtype)

    def get_wrenches(self) -> np.ndarray:
        """Return the force and torque with which each collider was pushed, averaged over the last step.

        All contacts count, except the viscosity of fluids at walls. Pinned and held particles push nothing.

        Returns:
            Force [N] and torque [N m] in world axes, the torque about the origin of the collider, for moving ones at
            the end of the step. Shape (num_envs, colliders, 6), in the order of ``Scene.colliders``.

        Raises:
            RuntimeError: if they were not summed, which needs a solver with ``wrenches=True``.
        """
        if not self.wrench_scale:
            raise RuntimeError("wrenches are summed by a solver with wrenches=True only")
        model, sums = self.model, to_rows(self.wrench_sums.numpy(), self.model.num_envs)
        found = np.zeros(sums.shape)
        found[:, model.collider_order] = self.wrench_scale * sums.astype(np.float64)
        places = np.tile([each.origin for each in model.scene.colliders[: model.collider_count]], (len(found), 1, 1))
        places[:, list(model.moving_colliders)] = self.poses.numpy()[: model.num_envs, :, :3]
        found[..., 3:] -= np.cross(places, found[..., :3])
        return found.astype(model.dtype)

    def get_contact_overflow(self) -> np.ndarray:
        """Return how many contacts more than ``Scene.contact_capacity`` the most crowded particle had in the last step.

        No contact is lost: a crowded particle is compared with all others, which takes longer. If that happens often,
        raise ``Scene.contact_capacity``.

        Returns:
            0 where no particle was crowded, shape (num_envs,), int32.
        """
        return self.contacts.overflow.numpy()[: self.model.num_envs].copy()

    def get_fluid_overflow(self) -> np.ndarray:
        """Return how many neighbours of fluid particles, and walls near them, did not fit in the last step.

        Neighbours beyond the capacity are ignored; :meth:`Scene.set_fluid_capacity` raises it. A particle can be near
        eight walls. Without fluid the result is 0. On a CPU, the first step that ignores something warns.

        Returns:
            Sums over particles and substeps, shape (num_envs, 2), int32.
        """
        if self.model.fluid_options is None:
            return np.zeros((self.model.num_envs, 2), dtype=np.int32)
        return self.fluid.overflow.numpy()[: self.model.num_envs].copy()

    def warn_of_fluid_overflow(self) -> None:
        """Warn once if neighbours or walls overflowed in the last step; not on a GPU, which reading would delay."""
        if self.told_of_overflow or self.model.fluid_options is None or self.model.device.is_cuda:
            return
        neighbours, walls = self.get_fluid_overflow().sum(axis=0)
        if neighbours or walls:
            self.told_of_overflow = True
            warnings.warn(
                f"there was no room for {neighbours:,} neighbours of fluid particles and {walls:,} walls near them, "
                "which they do not feel: see State.get_fluid_overflow and Scene.set_fluid_capacity",
                RuntimeWarning,
                stacklevel=3,
            )

    def get_fluid_density(self) -> np.ndarray:
        """Return the densities that the last sweep of the last step found, in rest densities, shape (num_envs, k).

        They refer to positions before that sweep's moves, in the order of the scene's fluid particles; there are none
        without fluid.
        """
        if self.model.fluid_options is None:
            return np.zeros((self.model.num_envs, 0), dtype=self.model.dtype)
        return self.fluid.density.numpy()[: self.model.num_envs].copy()

    def get_piercings(self) -> np.ndarray:
        """Return how many edges go through a triangle of a surface at the end of the last step.

        Edges are those of surfaces, and lines between neighbours in ropes, soft and rigid bodies that collide. Only
        colliding surfaces are checked, see :meth:`Scene.add_surface_contacts`; without any the result is 0. Edges that
        have passed completely through a surface by then do not count: see :meth:`get_passages`. For nearby parts of the
        same surface, and from one panel through the other, an edge counts if both of its ends are out by more than a
        thickness.

        Returns:
            Shape (num_envs,), int32.

        Raises:
            RuntimeError: if they were not counted, as with a solver with ``piercings=False``.
        """
        if not self.has_piercings:
            raise RuntimeError("piercings are not counted by a solver with piercings=False")
        return self.contacts.piercings.numpy()[: self.model.num_envs].copy()

    def get_passages(self) -> np.ndarray:
        """Return the number of passages through surfaces and ropes within the last step, at any speed: sum over steps.

        A colliding particle counts if its path from the beginning to the end of the step leads through a triangle of
        another body's surface, which moves meanwhile; a pair of rope segments, also of one rope, counts if they went
        through each other. Going back through in a later step counts again.

        Returns:
            Shape (num_envs,), int32.

        Raises:
            RuntimeError: if they were not counted, which needs a solver with ``passages=True``.
        """
        if not self.has_passages:
            raise RuntimeError("passages are counted by a solver with passages=True only")
        return self.passed.numpy()[: self.model.num_envs].copy()
