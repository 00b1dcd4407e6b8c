"""State: everything that a step changes, for a whole batch; users see arrays with one row per environment."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from pbd_gym.kernels.data.parameters import DENSITY, SIZE, update_inv_mass
from pbd_gym.kernels.data.particle_contacts import UNKNOWN
from pbd_gym.kernels.grips import holding
from pbd_gym.runtime.checks import FARTHEST, FASTEST, LARGEST, as_array, broadcast, finite, whole
from pbd_gym.runtime.compilation import first_launch
from pbd_gym.scene import rigid_motion
from pbd_gym.scene.rigid_bodies import RigidBody
from pbd_gym.sim.model import Model
from pbd_gym.sim.parameters import Stiffness
from pbd_gym.sim.state_arrays import Room
from pbd_gym.sim.state_checks import check_held, check_orientation, check_saved
from pbd_gym.sim.state_reports import StateReports
from pbd_gym.sim.upload.arrays import pad_rows, row_of, scatter, to_rows


class State(StateReports):
    """Everything that a step changes, for all environments of a model. Arrays are updated in place.

    Lane ``l`` of group ``g`` is environment ``g * lanes + l``; the last group may have idle lanes.

    Args:
        model: model that it belongs to.
        room: optional data to allocate; multipliers by default.
    """

    def __init__(self, model: Model, room: Room | None = None) -> None:
        super().__init__(model, room or Room(keep_lambda=True))
        self.reset()

    def reset(self) -> None:
        """Reset every environment to the scene: nothing held, particles where they were added, default parameters."""
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
        for numbers in (self.memory, self.diverged, self.inverted):
            numbers.zero_()
        self._note_places(np.ones(model.num_envs, dtype=bool))

    def get_positions(self, env: int | None = None) -> np.ndarray:
        """Return a copy of the positions [m], shape (num_envs, n, 3), or of those of one environment, shape (n, 3).

        Raises:
            IndexError: for an environment that does not exist.
        """
        if env is not None:
            return row_of(self.positions_scalar, self.model.num_envs, self.model.lanes, env)
        return to_rows(self.positions_scalar.numpy(), self.model.num_envs)

    def get_velocities(self) -> np.ndarray:
        """Return a copy of the velocities [m/s], shape (num_envs, n, 3)."""
        return to_rows(self.velocities_scalar.numpy(), self.model.num_envs)

    def set_positions(self, values: ArrayLike) -> None:
        """Set positions [m], broadcast to (num_envs, n, 3), up to 1e6 m from the origin along each axis.

        Colliding particles that then overlap separate at 1.5 mm/s, without gaining speed. Rigid bodies stay rigid: each
        moves to where its particles fit best, those apart that are held or pinned.

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a wrong shape, or a number that is not finite or too large.
        """
        given = self._checked("positions", values, FARTHEST)
        if self.model.rigid_bodies:
            given = self._gathered(given)
        if self.model.contact_count:
            self._note_places((given != self.get_positions()).any(axis=(1, 2)))
        scatter(self.model, self.positions_scalar, given)

    def _gathered(self, positions: np.ndarray) -> np.ndarray:
        """Return positions in which rigid bodies are rigid, shape (num_envs, n, 3)."""
        fixed, held = self.get_pinned(), self.held.numpy()[: self.model.num_envs]
        envs, slots = np.nonzero(held >= 0)
        fixed[envs, held[envs, slots]] = True
        model, exact = self.model, positions.astype(np.float64)
        found = rigid_motion.gathered(model.rigid_bodies, model.mass, exact, self._sizes(), fixed)
        return positions if found is exact else found.astype(model.dtype)

    def _note_places(self, placed: np.ndarray) -> None:
        """Let the next step measure overlaps in the environments whose particles have been placed."""
        first, count = self.model.first_contact_memory, self.model.contact_count
        if count and placed.any():
            memory = to_rows(self.memory_scalar.numpy(), self.model.num_envs)
            memory[placed, first : first + count] = UNKNOWN
            scatter(self.model, self.memory_scalar, memory)

    def _wake(self, stirred: np.ndarray) -> None:
        """Wake environments changed in a way that positions and velocities do not show, shape (num_envs,), bool."""
        if self.model.can_sleep and stirred.any():
            memory = to_rows(self.memory_scalar.numpy(), self.model.num_envs)
            memory[stirred, self.model.rest_memory] = 0.0
            scatter(self.model, self.memory_scalar, memory)

    def set_velocities(self, values: ArrayLike) -> None:
        """Set velocities [m/s], broadcast to (num_envs, n, 3), up to 1e6 m/s along each axis.

        Pinned particles stay at rest, unless a grip holds them.

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a wrong shape, or a number that is not finite or too large.
        """
        given = self._checked("velocities", values, FASTEST)
        resting = self.get_pinned()
        if resting.any():  # with a velocity a particle of infinite mass would travel forever
            held = self.held.numpy()[: self.model.num_envs]
            envs, slots = np.nonzero(held >= 0)
            resting[envs, held[envs, slots]] = False
            given = np.where(resting[..., None], 0, given).astype(self.model.dtype)
        scatter(self.model, self.velocities_scalar, given)

    def get_pinned(self) -> np.ndarray:
        """Return which particles are fixed in space, bool, shape (num_envs, n); particles held by a grip are not."""
        if self._pinned is None:
            return np.tile(self.model.inv_mass.numpy() == 0.0, (self.model.num_envs, 1))
        return self._pinned.copy()

    def _checked(self, name: str, values: ArrayLike, largest: float) -> np.ndarray:
        """Return checked values for all particles, shape (num_envs, n, 3)."""
        model = self.model
        return finite(name, values, (model.num_envs, model.particle_count, 3), model.dtype, largest)

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
        """Set parameters per environment: each number is a factor of the scene's or the solver's value, except gravity.

        Omitted parameters stay unchanged. Kernels for differing environments are compiled with the next step, and are
        slightly slower. Numbers hold until they are set again, or until :meth:`reset`.

        Args:
            gravity: acceleration [m/s^2], broadcast to (num_envs, 3), up to 1e6 along each axis.
            size: factor of every rest length, broadcast to (num_envs,), from 0.001. Masses grow with the size, its
                square or its cube, for ropes, sheets and solids (at equal density), compliances of tetrahedra as the
                elastic modulus requires; the compliance of other constraints is independent and stays. Radii with which
                particles collide with each other grow too. Positions, the distance that particles keep from colliders,
                and the colliders stay unchanged.
            density: factor of every mass, broadcast to (num_envs,), from 1e-6. Clusters of shape matching are not
                affected: their stiffness is per mass.
            stiffness: divisor of compliances, broadcast to (num_envs,), from 1e-6; or a mapping from labels of
                constraints (``model.labels``) to such numbers. Rigid constraints (compliance 0) stay rigid.
            friction: factor of every Coulomb coefficient, broadcast to (num_envs,), not negative.
            damping: factor of the solver's rate ``damping``, broadcast to (num_envs,), not negative.
            viscosity: factor of the fluid's dynamic viscosity, broadcast to (num_envs,), not negative.
            fluid_density: factor of the fluid's density relative to that of everything else, broadcast to (num_envs,),
                from 1e-6.

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a number out of its range or not finite, a wrong shape, an unknown label, or a parameter of
            fluid without fluid. The state is then unchanged.
        """
        factors = {
            "size": size, "density": density, "friction": friction, "damping": damping, "viscosity": viscosity,
            "fluid_density": fluid_density,
        }  # fmt: skip
        rows = self.parameters.changed(gravity, stiffness, factors)
        self._wake((rows != self.parameters.read()).any(axis=1))
        self.parameters.write(rows)
        self._weigh()

    def set_pinned(self, pinned: ArrayLike | None) -> None:
        """Fix particles in space, at rest, or release them, whatever the scene says, until :meth:`reset`.

        This is not included in :meth:`save`, and :meth:`load` leaves it unchanged.

        Args:
            pinned: whether each particle is fixed, bool, broadcast to (num_envs, n); None for the scene's pins.

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
        self._wake(changed.any(axis=1))

    def get_parameters(self) -> dict[str, Any]:
        """Return the parameters set by :meth:`set_parameters`.

        Returns:
            Arrays by name, shape (num_envs,), except ``gravity`` [m/s^2], (num_envs, 3), and ``stiffness``, a dict of
            them by label.
        """
        return self.parameters.get()

    def _weigh(self) -> None:
        """Update masses from the parameters."""
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
        """Overwrite the masses of particles that are fixed or free contrary to the scene."""
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
        """Return a copy of the poses of moving colliders, in the order in which they were added.

        Returns:
            Origin [m] and orientation (x, y, z, w), shape (num_envs, moving, 7). The orientation is the rotation from
            how the collider was declared.
        """
        return self.poses.numpy()[: self.model.num_envs].copy()

    def set_pose(self, collider: int, origin: ArrayLike | None = None, orientation: ArrayLike | None = None) -> None:
        """Teleport a moving collider; particles do not feel that motion.

        Overlapping particles are pushed out without gaining speed: in a scene of particles alone within the first
        substep of the next step, elsewhere by 1.5 mm per second, so that nothing is strained on the way.
        :meth:`pbd_gym.sim.control.Control.move_collider` instead pushes along whatever is in the way.

        Args:
            collider: number that :meth:`Scene.add_collider` returned.
            origin: new place of its origin [m], broadcast to (num_envs, 3); by default unchanged.
            orientation: quaternion (x, y, z, w) that rotates it from how it was declared, broadcast to (num_envs, 4);
                by default unchanged. Scaled to length one.

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a collider that does not move, a wrong shape, a number that is not finite, an origin beyond
                1e6 m, or a quaternion of zero. The state is then unchanged.
        """
        slot = self.model.pose_index(collider)
        poses = self.get_poses()
        count = self.model.num_envs
        if origin is not None:
            poses[:, slot, :3] = finite("origin", origin, (count, 3), largest=FARTHEST)
        if orientation is not None:
            poses[:, slot, 3:] = check_orientation(orientation, count)
        self._wake((poses != self.get_poses()).any(axis=(1, 2)))
        self._set_poses(poses)

    def _set_poses(self, poses: np.ndarray) -> None:
        # Idle slots repeat the last environment: a quaternion of zero would not be a rotation.
        self.poses.assign(pad_rows(poses, len(self.poses)).astype(self.model.dtype))

    def get_rigid_poses(self) -> np.ndarray:
        """Return the poses of the rigid bodies, in the order in which they were added.

        Returns:
            Place of the mesh's origin [m], and the orientation (x, y, z, w), which is the rotation from how the body
            was added, shape (num_envs, bodies, 7). NaN where particles are not finite: the environment has diverged.
        """
        bodies, positions = self.model.rigid_bodies, self.get_positions().astype(np.float64)
        return rigid_motion.poses(bodies, self.model.mass, positions, self._sizes()).astype(self.model.dtype)

    def get_rigid_velocities(self) -> np.ndarray:
        """Return the velocity of each rigid body's centre of mass [m/s], and its angular velocity [rad/s].

        Returns:
            Both, in world axes, shape (num_envs, bodies, 6). NaN as for :meth:`get_rigid_poses`.
        """
        positions, velocities = (get().astype(np.float64) for get in (self.get_positions, self.get_velocities))
        found = rigid_motion.velocities(self.model.rigid_bodies, self.model.mass, positions, velocities)
        return found.astype(self.model.dtype)

    def set_rigid_pose(
        self, body: RigidBody | int, origin: ArrayLike | None = None, orientation: ArrayLike | None = None
    ) -> None:
        """Teleport a rigid body, keeping its velocities.

        Args:
            body: body that :meth:`Scene.add_rigid_body` returned, or its index.
            origin: new place of its mesh's origin [m], broadcast to (num_envs, 3); by default unchanged.
            orientation: quaternion (x, y, z, w) that rotates it from how it was added, broadcast to (num_envs, 4); by
                default unchanged. Scaled to length one.

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a body that does not exist, a wrong shape, a number that is not finite, an origin beyond
                1e6 m, or a quaternion of zero. The state is then unchanged.
        """
        known, count = self._body(body), self.model.num_envs
        pose = self.get_rigid_poses()[:, known.index].astype(np.float64)
        if origin is not None:
            pose[:, :3] = finite("origin", origin, (count, 3), largest=FARTHEST)
        if orientation is not None:
            pose[:, 3:] = check_orientation(orientation, count)
        velocity = self.get_rigid_velocities()[:, known.index].astype(np.float64)
        velocity[~np.isfinite(velocity).all(axis=1)] = 0.0  # of a body that has diverged, and is reset
        positions = self.get_positions()
        positions[:, known.indices] = rigid_motion.placed(known, pose, self._sizes())
        self.set_positions(positions)
        self.set_rigid_velocity(known, velocity[:, :3], velocity[:, 3:])

    def set_rigid_velocity(
        self, body: RigidBody | int, linear: ArrayLike | None = None, angular: ArrayLike | None = None
    ) -> None:
        """Set the velocities of a rigid body.

        Args:
            body: body that :meth:`Scene.add_rigid_body` returned, or its index.
            linear: velocity of its centre of mass [m/s], broadcast to (num_envs, 3); by default unchanged.
            angular: angular velocity in world axes [rad/s], broadcast to (num_envs, 3); by default unchanged.

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
        center, _ = rigid_motion.fit(known, self.model.mass, positions)
        r = positions[:, known.indices] - center[:, None]
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

    def get_memory(self) -> np.ndarray:
        """Return the memory of constraints, such as permanent strains, then of nozzles and contacts, shape (num_envs,
        k).

        The kinds come in the order of :func:`pbd_gym.constraints.kinds`, and the constraints of each in the order they
        were added. Each place of a nozzle (``Emitter.sites``) remembers how far the previous particle must still move
        until the next one leaves [m]. Where ropes with lines collide, three numbers per particle record the direction
        in which its contacts push, and one per line how much it yields to them. If there are lines and colliders other
        than planes, one number per segment records how much too long or short it may be after it suddenly began or
        ended to go round one of them. Each colliding particle remembers the room that it still leaves to what it
        overlapped where it was put [m], -1 before the next step has measured it. Where cloth collides, the last two are
        the time for which the environment has been at rest [s], and the edges that then went through surfaces.
        """
        return np.ascontiguousarray(to_rows(self.memory_scalar.numpy(), self.model.num_envs)[:, self._memory_slots()])

    def set_memory(self, values: ArrayLike) -> None:
        """Set the memory that :meth:`get_memory` returns, broadcast to (num_envs, k).

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a wrong shape, or a number that is not finite or too large.
        """
        model = self.model
        rows = self.arrange_memory(finite("memory", values, (model.num_envs, model.memory_count), model.dtype, LARGEST))
        scatter(model, self.memory_scalar, rows)

    def arrange_memory(self, rows: np.ndarray) -> np.ndarray:
        """Reorder rows of :meth:`get_memory`, shape (r, k), to the order of ``memory``, shape (r, max(k, 1)).

        Raises:
            ValueError: for a wrong shape.
        """
        if rows.ndim != 2 or rows.shape[1] != self.model.memory_count:
            raise ValueError(f"memory must have shape (rows, {self.model.memory_count}), got {rows.shape}")
        arranged = np.zeros((len(rows), self.memory.shape[1]), dtype=self.model.dtype)
        arranged[:, self._memory_slots()] = rows
        return arranged

    def _memory_slots(self) -> np.ndarray:
        """Return the memory slots of constraints in the order of their addition, shape (k,)."""
        leans = self.model.lean_count
        slots, first = np.roll(np.arange(self.model.memory_count), -leans), 0
        for kind in self.model.kinds:
            if kind.remembers:
                order = self.model.constraint_order[kind.name]
                slots[first + order] = leans + first + np.arange(len(order))
                first += len(order)
        return slots

    def hold(self, held: ArrayLike) -> None:
        """Make each grip hold a particle: the previous one is released, and keeps its velocity.

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
        """Restore a state from :meth:`save`, bit for bit.

        Args:
            saved: arrays from :meth:`save`, possibly of another batch with the same scene.
            rows: row of ``saved`` for each environment, shape (num_envs,), int; its own by default.

        Raises:
            TypeError: for anything but a mapping, or arrays of anything but numbers.
            ValueError: for an array that is missing, unknown, of a wrong shape or dtype, or with a number that is not
                finite or out of its range. The message names the array, and the state is unchanged.
        """
        model = self.model
        taken = check_saved(model, self.parameters, saved, rows)
        self.parameters.write(taken["parameters"])
        self._weigh()
        if model.grip_count:  # before the velocities, since releasing a pinned particle stops it
            self._hold(taken["held"])
            grips = self.grip_positions.numpy()
            grips[: model.num_envs] = taken["grip_positions"]
            self.grip_positions.assign(grips)
        self.set_positions(taken["positions"])
        self.previous.assign(self.positions)  # where those that sleep are
        self.set_velocities(taken["velocities"])
        self._set_poses(taken["poses"])
        self.set_memory(taken["memory"])

    def get_lambda(self) -> np.ndarray:
        """Return the multipliers of the last substep in the order constraints were added, shape (num_envs, m).

        They are 0 in environments that slept.

        Raises:
            RuntimeError: if they are not stored, because the solver does only one iteration.
        """
        if not self.has_multipliers:
            raise RuntimeError("multipliers are stored by a solver with iterations > 1 only")
        lanes = to_rows(self.lam.numpy(), self.model.num_envs)
        found = np.empty((self.model.num_envs, self.model.constraint_count), dtype=lanes.dtype)
        first = 0
        for permutation in self.model.multiplier_order.values():
            found[:, first + permutation] = lanes[:, first : first + len(permutation)]
            first += len(permutation)
        if self.model.can_sleep:
            found[self.get_asleep()] = 0.0  # otherwise they would depend on who shares the lanes
        return found
