"""State: everything that a step changes, for a whole batch; users see arrays with one row per environment."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from pbd_gym.kernels.data.parameters import DENSITY, SIZE, update_inv_mass
from pbd_gym.kernels.grips import holding
from pbd_gym.runtime.checks import FARTHEST, LARGEST, as_array, broadcast, finite
from pbd_gym.runtime.compile_messages import first_launch
from pbd_gym.sim.layout import pad_rows, to_lanes, to_rows
from pbd_gym.sim.model import Model
from pbd_gym.sim.parameters import Stiffness
from pbd_gym.sim.rigid_state import RigidState
from pbd_gym.sim.state_checks import check_held, check_orientation, check_saved


class State(RigidState):
    """Everything that a step changes, for all environments of a model. Arrays are updated in place.

    Lane ``l`` of group ``g`` is environment ``g * lanes + l``; the last group may have idle lanes.

    Args:
        model: the constants it belongs to.
        keep_lambda: whether multipliers are stored, which more than one iteration needs.
        gathers: whether there is memory for the corrections of Jacobi iterations.
        extrapolates: whether there is memory for the two last iterations, which Chebyshev acceleration needs.
        packs: whether there is memory for positions in rows with their weights.
        forces: whether there is memory for sums of what pulls at grips.
        touches: whether there is memory for sums of what contacts push particles by.
    """

    def __init__(self, model: Model, *memory: bool, **options: bool) -> None:
        super().__init__(model, *memory, **options)
        self.reset()

    def reset(self) -> None:
        """Put every environment back to the scene: nothing held, particles where they were added, nothing varied."""
        model = self.model
        self._pinned = None
        self.tether_pins(self.get_pinned())
        self.parameters.reset()
        self.held.fill_(-1)
        self.grip_positions.zero_()
        for target, values in (
            (self.positions_scalar, model.start_positions),
            (self.velocities_scalar, model.start_velocities),
            (self.inv_mass_scalar, model.inv_mass.numpy()),
            (self.free_inv_mass_scalar, model.inv_mass.numpy()),
        ):
            shape = (model.group_count, *values.shape, model.lanes)
            target.assign(np.broadcast_to(values[None, ..., None], shape).astype(model.dtype))
        self.poses.assign(np.broadcast_to(model.start_poses, self.poses.shape).astype(model.dtype))
        self.previous.assign(self.positions)
        self.memory.zero_()
        self.diverged.zero_()

    def set_parameters(
        self,
        *,
        gravity: ArrayLike | None = None,
        size: ArrayLike | None = None,
        density: ArrayLike | None = None,
        stiffness: Stiffness | None = None,
        friction: ArrayLike | None = None,
        damping: ArrayLike | None = None,
        viscosity: ArrayLike | None = None,
        fluid_density: ArrayLike | None = None,
    ) -> None:
        """Let environments differ: each number is a factor of what the scene and the solver say, but for gravity.

        What is left out stays as it is. Kernels for environments that differ are compiled with the next step, and are
        a little slower. Numbers hold until they are set again, or until :meth:`reset`.

        Args:
            gravity: acceleration [m/s^2], broadcast to (num_envs, 3), up to 1e6 along each axis.
            size: of every rest length, broadcast to (num_envs,), from 0.001. Masses grow with the size, its square or
                its cube, for ropes, sheets and solids (at equal density), compliances of tetrahedra as the elastic
                modulus demands; the compliance of other constraints is a number by itself and stays. Radii with which
                particles collide with each other grow too. Positions are left where they are, and the distance that
                particles keep from colliders, and these, as they are.
            density: of every mass, broadcast to (num_envs,), from 1e-6. Clusters of shape matching do not feel it:
                their stiffness is per mass.
            stiffness: divides compliances, broadcast to (num_envs,), from 1e-6; or a mapping from labels of
                constraints (``model.labels``) to such numbers. Rigid constraints (compliance 0) stay rigid.
            friction: of every Coulomb coefficient, broadcast to (num_envs,), not negative.
            damping: of the rate ``damping`` of the solver, broadcast to (num_envs,), not negative.
            viscosity: of the fluid's dynamic one, broadcast to (num_envs,), not negative.
            fluid_density: of the fluid's density against that of everything else, broadcast to (num_envs,), from 1e-6.

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a number out of its range or not finite, a wrong shape, a label that is not there, or a
                parameter of fluid without any. The state is then as it was.
        """
        factors = {
            "size": size, "density": density, "friction": friction, "damping": damping, "viscosity": viscosity,
            "fluid_density": fluid_density,
        }  # fmt: skip
        self.parameters.write(self.parameters.changed(gravity, stiffness, factors))
        self._weigh()

    def set_pinned(self, pinned: ArrayLike | None) -> None:
        """Fix particles in space, at rest, or set them free, whatever the scene says, until :meth:`reset`.

        It is no part of what :meth:`save` returns, and :meth:`load` leaves it as it is.

        Args:
            pinned: whether each particle is fixed, bool, broadcast to (num_envs, n); None for what the scene says.

        Raises:
            ValueError: for a wrong shape.
            TypeError: if they are not bool.
        """
        shape = (self.model.num_envs, self.model.particle_count)
        given = None
        if pinned is not None:
            given = as_array("pinned", pinned)
            if given.dtype != np.bool_:
                raise TypeError(f"pinned must be bool, got {given.dtype}")
            given = broadcast("pinned", given, shape).copy()
        before = self.get_pinned()
        self._pinned = given
        self.tether_pins(self.get_pinned())
        changed = before != self.get_pinned()
        velocities = self.get_velocities()
        velocities[changed] = 0.0
        self.set_velocities(velocities)
        self._weigh()

    def get_parameters(self) -> dict[str, Any]:
        """Return what :meth:`set_parameters` has set.

        Returns:
            Arrays by name, shape (num_envs,), but for ``gravity`` [m/s^2], (num_envs, 3), and ``stiffness``, a dict of
            them by label.
        """
        return self.parameters.get()

    def _weigh(self) -> None:
        """Let masses follow from the parameters."""
        model, slots = self.model, self.model.group_count * self.model.lanes
        every = wp.full(slots, 1, dtype=wp.int32, device=model.device)
        with first_launch(update_inv_mass, model.device):
            wp.launch(
                update_inv_mass,
                dim=(slots, model.particle_count),
                inputs=[
                    every, model.inv_mass, model.dimensions, self.parameters.rows_scalar, model.lanes, self.held,
                    self.free_inv_mass_scalar, self.inv_mass_scalar,
                ],
                device=model.device,
            )  # fmt: skip
        if self._pinned is not None:
            self._weigh_pinned(self._pinned)

    def _weigh_pinned(self, pinned: np.ndarray) -> None:
        """Overwrite the masses of the particles that are fixed, or free, other than the scene says."""
        model, rows = self.model, self.parameters.read()
        size, density = rows[:, int(SIZE), None], rows[:, int(DENSITY), None]
        free = 1.0 / (model.mass * density * size ** model.dimensions.numpy())
        envs, particles = np.nonzero(pinned != (model.inv_mass.numpy() == 0.0))
        groups, lanes = np.divmod(envs, model.lanes)
        values = np.where(pinned, 0.0, free)[envs, particles]
        is_held = (self.held.numpy()[envs] == particles[:, None]).any(axis=1)
        for target, new in (
            (self.free_inv_mass_scalar, values),
            (self.inv_mass_scalar, np.where(is_held, 0.0, values)),
        ):
            array = target.numpy()
            array[groups, particles, lanes] = new
            target.assign(array)

    def get_poses(self) -> np.ndarray:
        """Return a copy of the poses of the colliders that move, in the order in which they were added.

        Returns:
            Origin [m] and orientation (x, y, z, w), shape (num_envs, moving, 7). The orientation is the turn from how
            the collider was declared.
        """
        return self.poses.numpy()[: self.model.num_envs].copy()

    def set_pose(self, collider: int, origin: ArrayLike | None = None, orientation: ArrayLike | None = None) -> None:
        """Put a collider that moves somewhere at once; particles do not feel that motion.

        What it then overlaps is pushed out within the first substep of the next step, and keeps the speed of that: the
        depth of the overlap over the length of the substep. A lone particle 10 mm deep leaves with 10 m/s at substeps
        of 1 ms, and one 50 mm deep with 50 m/s; cloth holds its particles back to less than half of that.
        :meth:`pbd_gym.sim.control.Control.move_collider` takes what is in the way along instead.

        Args:
            collider: what :meth:`Scene.add_collider` returned.
            origin: where its origin goes [m], broadcast to (num_envs, 3); where it is by default.
            orientation: unit quaternion (x, y, z, w) that turns it from how it was declared, broadcast to
                (num_envs, 4); as it is by default. Scaled to length one.

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a collider that does not move, a wrong shape, a number that is not finite, an origin beyond
                1e6 m, or a quaternion of zero. The state is then as it was.
        """
        slot = self.model.pose_index(collider)
        poses = self.get_poses()
        count = self.model.num_envs
        if origin is not None:
            poses[:, slot, :3] = finite("origin", origin, (count, 3), largest=FARTHEST)
        if orientation is not None:
            poses[:, slot, 3:] = check_orientation(orientation, count)
        self._set_poses(poses)

    def _set_poses(self, poses: np.ndarray) -> None:
        # Idle slots repeat the last environment: a quaternion of zero would not be a rotation.
        self.poses.assign(pad_rows(poses, len(self.poses)).astype(self.model.dtype))

    def get_memory(self) -> np.ndarray:
        """Return what constraints remember, such as permanent strains, and then nozzles, shape (num_envs, k).

        The kinds come in the order of :func:`pbd_gym.constraints.kinds`, and the constraints of each in the order they
        were added. Each place of a nozzle (``Emitter.sites``) remembers how far the particle before still has to go
        until the next one leaves [m].
        """
        return np.ascontiguousarray(to_rows(self.memory_scalar.numpy(), self.model.num_envs)[:, self._memory_slots()])

    def set_memory(self, values: ArrayLike) -> None:
        """Set what :meth:`get_memory` returns, broadcast to (num_envs, k).

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a wrong shape, or a number that is not finite or too large.
        """
        model = self.model
        rows = self.arrange_memory(finite("memory", values, (model.num_envs, model.memory_count), model.dtype, LARGEST))
        self.memory_scalar.assign(to_lanes(rows, model.group_count, model.lanes))

    def arrange_memory(self, rows: np.ndarray) -> np.ndarray:
        """Return rows of what :meth:`get_memory` gives, shape (r, k), in the order of ``memory``, shape (r, max(k, 1)).

        Raises:
            ValueError: for a wrong shape.
        """
        if rows.ndim != 2 or rows.shape[1] != self.model.memory_count:
            raise ValueError(f"memory must have shape (rows, {self.model.memory_count}), got {rows.shape}")
        arranged = np.zeros((len(rows), self.memory.shape[1]), dtype=self.model.dtype)
        arranged[:, self._memory_slots()] = rows
        return arranged

    def _memory_slots(self) -> np.ndarray:
        """Return where what is remembered is, for constraints in the order they were added, shape (k,)."""
        slots = np.arange(self.model.memory_count)
        first = 0
        for kind in self.model.kinds:
            if kind.remembers:
                order = self.model.constraint_order[kind.name]
                slots[first + order] = first + np.arange(len(order))
                first += len(order)
        return slots

    def hold(self, held: ArrayLike) -> None:
        """Let each grip hold a particle: what it held before is released, and keeps its velocity.

        Args:
            held: particle per environment and grip, -1 for none, shape (num_envs, grips), int.

        Raises:
            ValueError: for a wrong shape, a particle that does not exist, or one in two grips at once.
        """
        self._hold(check_held(self.model, held))

    def _hold(self, wanted: np.ndarray) -> None:
        model = self.model
        target = wp.array(wanted.astype(np.int32), device=model.device)
        with first_launch(holding.hold, model.device):
            wp.launch(
                holding.hold,
                dim=model.num_envs,
                inputs=[
                    target, self.free_inv_mass_scalar, model.lanes,
                    self.held, self.inv_mass_scalar, self.velocities_scalar,
                ],
                device=model.device,
            )  # fmt: skip

    def save(self) -> dict[str, np.ndarray]:
        """Return everything a step depends on, one row per environment, as plain arrays (``np.savez`` keeps them)."""
        held = self.held.numpy()[: self.model.num_envs].copy()
        return {
            "positions": self.get_positions(),
            "velocities": self.get_velocities(),
            "held": held,
            "parameters": self.parameters.read(),
            "grip_positions": self.grip_positions.numpy()[: self.model.num_envs].copy(),
            "poses": self.get_poses(),
            "memory": self.get_memory(),
        }

    def load(self, saved: dict[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        """Return to what :meth:`save` gave, bit for bit.

        Args:
            saved: arrays of :meth:`save`, possibly of another batch with the same scene.
            rows: for each environment the row of ``saved`` it takes, shape (num_envs,), int; its own by default.

        Raises:
            TypeError: for a mapping that is none, or arrays of anything but numbers.
            ValueError: for an array that is missing, unknown, of a wrong shape or dtype, or with a number that is not
                finite or out of its range. The message names the array, and the state is as it was.
        """
        model = self.model
        taken = check_saved(model, self.parameters, saved, rows)
        self.parameters.write(taken["parameters"])
        self._weigh()
        if model.grip_count:  # before the velocities: letting go of a pinned particle stops it
            self._hold(taken["held"])
            grips = self.grip_positions.numpy()
            grips[: model.num_envs] = taken["grip_positions"]
            self.grip_positions.assign(grips)
        self.set_positions(taken["positions"])
        self.set_velocities(taken["velocities"])
        self._set_poses(taken["poses"])
        self.set_memory(taken["memory"])
