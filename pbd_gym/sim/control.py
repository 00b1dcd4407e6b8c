"""Control: external influences on a batch during a step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from pbd_gym.kernels.data.step import control_type
from pbd_gym.runtime.checks import FARTHEST, LARGEST, broadcast, finite, reals
from pbd_gym.sim.model import Model
from pbd_gym.sim.upload.arrays import by_scalar, pad_rows, scatter
from pbd_gym.sim.upload.bodies import make_air


class Control:
    """External influences on a batch during a step: motion of grips and colliders, emitters, and forces.

    Nothing moves and no forces act until they are set.

    Args:
        model: model that it belongs to.
    """

    def __init__(self, model: Model) -> None:
        slots = model.group_count * model.lanes
        self.model = model
        self.motion = wp.zeros((slots, model.grip_count, 3), dtype=model.scalar, device=model.device)
        """Displacement of each grip, with its particle, over the step [m], shape (slots, grips, 3)."""

        self.collider_motion = wp.zeros(
            (slots, len(model.moving_colliders), 6), dtype=model.scalar, device=model.device
        )
        """Displacement [m] and rotation vector [rad] of each moving collider over the step, in world axes, shape
        (slots, moving, 6).
        """

        self.force_limits = wp.full((slots,), math.inf, dtype=model.scalar, device=model.device)
        """Largest force of each grip of an environment [N], shape (slots,)."""
        self.has_force_limit = False
        """Whether grips must be checked after a step."""

        emitters = 0 if model.scene.fluid is None else len(model.scene.fluid.emitters)
        self.emission = wp.full((slots, emitters), 1.0, dtype=model.scalar, device=model.device)
        """Factor of the speed of each emitter of fluid, shape (slots, emitters)."""

        self._allocate_forces(0)
        self.has_forces = False
        """Whether a step must add forces."""
        self.air: Any = None
        """Wind and its scratch memory, see :func:`pbd_gym.kernels.data.air.air_type`; None until there is wind."""
        self.wind_scalar: Any = None
        """Velocity [m/s] and density of the air [kg/m^3], shape (groups, 4, lanes)."""
        self.has_wind = False
        """Whether a step must add the drag of the air."""

    def data(self) -> Any:
        """Return the arrays as the step kernel's struct."""
        data = control_type(self.model.vec)()
        data.motion, data.collider_motion, data.forces = self.motion, self.collider_motion, self.forces
        data.emission = self.emission
        if self.has_wind:
            data.air = self.air
        return data

    def move(self, motion: ArrayLike) -> None:
        """Set the displacement of every grip [m], broadcast to (num_envs, grips, 3).

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a wrong shape, or a number that is not finite or beyond 1e6 m.
        """
        shape = (self.model.num_envs, self.model.grip_count, 3)
        given = finite("motion", motion, shape, self.model.dtype, FARTHEST)
        padded = np.zeros(self.motion.shape, dtype=self.model.dtype)
        padded[: self.model.num_envs] = given
        self.motion.assign(padded)

    def set_force_limit(self, force_limit: ArrayLike) -> None:
        """Limit the strength of the hands, at every step until it is set again; by default nothing is too heavy.

        A grip opens at the end of a control step in which its load pulled harder than that, by the mean over the step
        that :meth:`State.get_grip_forces` returns; :meth:`State.get_slipped` says which ones opened. Until then it
        holds fast, so short control steps follow peaks more closely. The released particle keeps its velocity, and the
        hand may grasp it again. Steps need ``Solver(grip_forces=True)``.

        Args:
            force_limit: largest force of each grip [N], above 0, infinity for none, broadcast to (num_envs,).

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a wrong shape, or a number that is not above 0 or is NaN. The limits are then unchanged.
        """
        model = self.model
        with np.errstate(over="ignore"):  # a limit beyond float32 is none
            given = broadcast("force_limit", reals("force_limit", force_limit), (model.num_envs,)).astype(model.dtype)
        if not (given > 0.0).all():
            raise ValueError(f"force_limit must be above 0, infinity for none, got {given[~(given > 0.0)][0]}")
        limited = bool(np.isfinite(given).any())
        self.force_limits.assign(pad_rows(given, len(self.force_limits)))
        self.has_force_limit = limited

    def set_emission(self, factors: ArrayLike) -> None:
        """Open and close the emitters of the fluid, in the order in which they were added.

        This holds for every step until it is set again.

        Args:
            factors: factors of their speeds, 0 for closed, broadcast to (num_envs, emitters).

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a wrong shape, or a number that is negative, not finite or beyond 1e6.
        """
        count = self.model.num_envs
        given = finite("factors", factors, (count, self.emission.shape[1]), self.model.dtype, LARGEST)
        if (given < 0.0).any():
            raise ValueError(f"factors of emission must not be negative, got {given.min()}")
        self.emission.assign(pad_rows(given, len(self.emission)))

    def move_collider(self, collider: int, displacement: ArrayLike = 0.0, rotation: ArrayLike = 0.0) -> None:
        """Set the motion of a moving collider in a step: at constant speed, and about its origin.

        This holds for every step until it is set again.

        Args:
            collider: number that :meth:`Scene.add_collider` returned. displacement: displacement of its origin [m],
            broadcast to (num_envs, 3). rotation: axis times angle [rad], in world axes, broadcast to (num_envs, 3).

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a collider that does not move, a wrong shape, or a number that is not finite or beyond 1e6.
        """
        slot, shape = self.model.pose_index(collider), (self.model.num_envs, 3)
        given = [
            finite(name, value, shape, self.model.dtype, FARTHEST)
            for name, value in (("displacement", displacement), ("rotation", rotation))
        ]
        motion = self.collider_motion.numpy()
        motion[: self.model.num_envs, slot] = np.concatenate(given, axis=1)
        self.collider_motion.assign(motion)

    def set_forces(self, forces: ArrayLike) -> None:
        """Apply forces to particles, at every step until they are set again or cleared.

        In each substep a free particle gains ``h f / m`` in velocity; held and pinned particles do not feel them,
        except that :meth:`State.get_grip_forces` counts them like weight. The first call allocates memory and compiles
        a kernel that adds them; until then, and after :meth:`clear_forces`, they cost nothing.

        Args:
            forces: [N], broadcast to (num_envs, n, 3), up to 1e6 along each axis; or a Warp array.

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a wrong shape, or a number that is not finite or too large. The forces are then unchanged.
        """
        model = self.model
        given = forces.numpy() if isinstance(forces, wp.array) else forces
        rows = finite("forces", given, (model.num_envs, model.particle_count, 3), model.dtype, LARGEST)
        self.make_forces()
        scatter(model, self.forces_scalar, rows)

    def make_forces(self) -> None:
        """Apply forces to particles from ``forces_scalar``, into which kernels may write: 0 at first."""
        if self.forces.shape[1] != self.model.particle_count:
            self._allocate_forces(self.model.particle_count)
        self.has_forces = True

    def _allocate_forces(self, particles: int) -> None:
        model = self.model
        self.forces = wp.zeros((model.group_count, particles, 3), dtype=model.vec, device=model.device)
        """Forces on particles [N], shape (groups, n, 3), one vector of lanes per coordinate; None until there are
        forces.
        """
        self.forces_scalar = by_scalar(self.model, self.forces)
        """The same memory, shape (groups, n, 3, lanes)."""

    def clear_forces(self) -> None:
        """Remove the forces on particles; a step is then as fast as before there were any."""
        self.has_forces = False

    def set_wind(self, velocity: ArrayLike, density: ArrayLike = 1.2) -> None:
        """Let air flow past the triangles of :meth:`Scene.add_air_drag`, until the wind is set again or cleared.

        Air at rest, of velocity 0, brakes them. Drag is computed in every substep, see
        :mod:`pbd_gym.kernels.motion.air_drag`, and :meth:`State.get_grip_forces` includes the force that reaches hands
        through the cloth. The first call allocates memory and compiles a kernel.

        Args:
            velocity: velocity of the air [m/s], broadcast to (num_envs, 3), up to 1e6 along each axis.
            density: density of the air [kg/m^3], broadcast to (num_envs,), from 0 to 1e6; 1.2 at room conditions.

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a wrong shape, a number that is not finite or out of its range, or a scene without such
                triangles. The wind is then unchanged.
        """
        model = self.model
        speeds = finite("velocity", velocity, (model.num_envs, 3), model.dtype, LARGEST)
        densities = finite("density", density, (model.num_envs,), model.dtype, LARGEST)
        if (densities < 0.0).any():
            raise ValueError(f"density must not be negative, got {densities.min()}")
        self.make_wind()
        rows = np.concatenate([speeds, densities[:, None]], axis=1)
        scatter(model, self.wind_scalar, rows)

    def make_wind(self) -> None:
        """Add air as given by ``wind_scalar``, into which kernels may write: of density 0 at first.

        Raises:
            ValueError: for a scene without triangles that feel it.
        """
        if len(self.model.dragged.triangles) == 0:
            raise ValueError("nothing feels the wind: the scene needs add_air_drag")
        if self.air is None:
            self.air = make_air(self.model)
            self.wind_scalar = by_scalar(self.model, self.air.wind)
        self.has_wind = True

    def clear_wind(self) -> None:
        """Remove the air; a step is then as fast as before there was any."""
        self.has_wind = False
