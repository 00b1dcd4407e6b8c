"""What a state can tell of the last step: multipliers, forces at grips, contacts beyond the room for them."""

from __future__ import annotations

import warnings

import numpy as np

from pbd_gym.sim.layout import to_rows
from pbd_gym.sim.state_arrays import StateArrays


class StepReports(StateArrays):
    """Arrays of a state, and what the last step has left in them for whoever asks."""

    def get_lambda(self) -> np.ndarray:
        """Return the multipliers of the last substep in the order constraints were added, shape (num_envs, m).

        Raises:
            RuntimeError: if they are not stored, because the solver does one iteration only.
        """
        if not self.has_multipliers:
            raise RuntimeError("multipliers are stored by a solver with iterations > 1 only")
        lanes = to_rows(self.lam.numpy(), self.model.num_envs)
        found = np.empty((self.model.num_envs, self.model.constraint_count), dtype=lanes.dtype)
        first = 0
        for permutation in self.model.multiplier_order.values():
            found[:, first + permutation] = lanes[:, first : first + len(permutation)]
            first += len(permutation)
        return found

    def get_grip_forces(self) -> np.ndarray:
        """Return the force with which what is held pulled at each grip, averaged over the last step.

        It is the sum of what constraints and tethers would have moved the held particle by, and its own weight: hands
        that hold a towel still feel all of its weight together. What contacts would do to the held particle, and what
        it takes to bring that one particle up to speed, are left out.

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

        It counts contacts with colliders and between particles and surfaces. Bounces, the walls of fluids, and
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
        """Return how many edges of surfaces go through a triangle of one at the end of the last step.

        Only surfaces that collide are looked at, see :meth:`Scene.add_surface_contacts`; without any it is 0. Through
        what is close along the surface, and from one panel through the other, an edge counts if both of its ends are
        out by more than a thickness: creases cut a little into what constraints hold apart.

        Returns:
            Shape (num_envs,), int32.

        Raises:
            RuntimeError: if they were not counted; a solver with ``piercings=False`` does not.
        """
        if not self.has_piercings:
            raise RuntimeError("piercings are not counted by a solver with piercings=False")
        return self.contacts.piercings.numpy()[: self.model.num_envs].copy()
