"""What the last step has found: forces, what there was no room for, and what has gone through surfaces."""

from __future__ import annotations

import warnings

import numpy as np

from pbd_gym.sim.state_arrays import StateArrays
from pbd_gym.sim.upload.arrays import to_rows


class StateReports(StateArrays):
    """Arrays of a state, and what a step reports of it beside where things are."""

    def get_inverted(self) -> np.ndarray:
        """Return how many tetrahedra are inverted or flat at the end of the last step.

        Flat is what has at most a hundredth of its volume at rest. All tetrahedra of soft bodies and of constraints
        count, each once. Finite elements come back by themselves where nothing holds them, see
        :func:`pbd_gym.constraints.tet_fem.rising`; what is held flat between two plates is counted as long as it is.

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
        """Return the force with which what is held pulled at each grip, averaged over the last step.

        It is the sum of what constraints and tethers would have moved the held particle by, and its own weight: hands
        that hold a towel still feel all of its weight together. Of a rigid body it is what the rest of it lacks of the
        momentum that all that pushes it gives it; several hands on one share that as the least forces do. What
        contacts would do to the held particle, and what it takes to bring that one particle up to speed, are left out.

        Returns:
            Force [N], shape (num_envs, grips, 3); 0 where nothing is held.

        Raises:
            RuntimeError: if they were not summed; a solver with ``grip_forces=True`` does so.
        """
        if not self.has_grip_forces:
            raise RuntimeError("forces at grips are summed by a solver with grip_forces=True only")
        return self.grip_forces.numpy()[: self.model.num_envs].copy()

    def get_contact_forces(self) -> np.ndarray:
        """Return the force with which contacts pushed each particle, friction included, averaged over the last step.

        It counts contacts with colliders and between particles and surfaces. Those of rigid bodies push their balls:
        sums over ``RigidBody.indices`` are what a body is pushed with. Bounces of particles, the walls of fluids, and
        particles that are pinned or held, which contacts do not move, are left out.

        Returns:
            Force [N], shape (num_envs, n, 3).

        Raises:
            RuntimeError: if they were not summed; a solver with ``contact_forces=True`` does so.
        """
        if not self.contact_scale:
            raise RuntimeError("forces of contacts are summed by a solver with contact_forces=True only")
        pushes, inverse = (to_rows(a.numpy(), self.model.num_envs) for a in (self.pushes, self.free_inv_mass))
        mass = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0.0)
        found: np.ndarray = pushes * (self.contact_scale * mass[..., None])
        return found.astype(self.model.dtype)

    def get_wrenches(self) -> np.ndarray:
        """Return the force and torque with which each collider was pushed, averaged over the last step.

        All that touches it counts, but for the viscosity of fluids at walls. Pinned and held particles push nothing.

        Returns:
            Force [N] and torque [N m] in the axes of the world, the torque about the origin of the collider, of those
            that move at the end of the step. Shape (num_envs, colliders, 6), in the order of ``Scene.colliders``.

        Raises:
            RuntimeError: if they were not summed; a solver with ``wrenches=True`` does so.
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

        No contact is lost: a crowded particle is compared with all others, which takes longer. Where that happens
        often, raise ``Scene.contact_capacity``.

        Returns:
            0 where no particle was crowded, shape (num_envs,), int32.
        """
        return self.contacts.overflow.numpy()[: self.model.num_envs].copy()

    def get_fluid_overflow(self) -> np.ndarray:
        """Return how much there was no room for in the last step: neighbours of fluid particles, and walls near them.

        Neighbours beyond the room for them are not felt; :meth:`Scene.set_fluid_capacity` makes more. A particle can be
        near eight walls. Without fluid it is 0. On a CPU, the first step that leaves something out warns.

        Returns:
            Sums over particles and substeps, shape (num_envs, 2), int32.
        """
        if self.model.fluid_options is None:
            return np.zeros((self.model.num_envs, 2), dtype=np.int32)
        return self.fluid.overflow.numpy()[: self.model.num_envs].copy()

    def warn_of_fluid_overflow(self) -> None:
        """Warn once if the last step had no room for something; not on a GPU, which a look would hold up."""
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

        They are before that sweep's moves, in the order of the scene's fluid particles; there are none without fluid.
        """
        if self.model.fluid_options is None:
            return np.zeros((self.model.num_envs, 0), dtype=self.model.dtype)
        return self.fluid.density.numpy()[: self.model.num_envs].copy()

    def get_piercings(self) -> np.ndarray:
        """Return how many edges go through a triangle of a surface at the end of the last step.

        Edges are those of surfaces, and lines between neighbours in ropes, soft and rigid bodies that collide. Only
        surfaces that collide are looked at, see :meth:`Scene.add_surface_contacts`; without any it is 0. What has gone
        through and away from a surface by then does not count: see :meth:`get_passages`. Through what is close along
        the surface, and from one panel through the other, an edge counts if both of its ends are out by more than a
        thickness.

        Returns:
            Shape (num_envs,), int32.

        Raises:
            RuntimeError: if they were not counted; a solver with ``piercings=False`` does not.
        """
        if not self.has_piercings:
            raise RuntimeError("piercings are not counted by a solver with piercings=False")
        return self.contacts.piercings.numpy()[: self.model.num_envs].copy()

    def get_passages(self) -> np.ndarray:
        """Return how much went through surfaces and ropes within the last step, whatever its speed: sum over steps.

        Particles that collide count where their way from the beginning to the end of the step leads through a triangle
        of another body's surface, which moves meanwhile; and pairs of segments of ropes, also of one rope, where they
        went through each other. What goes back through in a later step counts again.

        Returns:
            Shape (num_envs,), int32.

        Raises:
            RuntimeError: if they were not counted; a solver with ``passages=True`` does so.
        """
        if not self.has_passages:
            raise RuntimeError("passages are counted by a solver with passages=True only")
        return self.passed.numpy()[: self.model.num_envs].copy()
