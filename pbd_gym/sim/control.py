"""Control: what acts on a batch from outside during a step."""

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
    """What acts on a batch from outside during a step: how grips and colliders move, emitters, and forces.

    Nothing moves and no forces act until they are set.

    Args:
        model: the constants it belongs to.
    """

    def __init__(self, model: Model) -> None:
        slots = model.group_count * model.lanes
        self.model = model
        self.motion = wp.zeros((slots, model.grip_count, 3), dtype=model.scalar, device=model.device)
        """Displacement of each grip, and of what it holds, over the step [m], shape (slots, grips, 3)."""

        self.collider_motion = wp.zeros(
            (slots, len(model.moving_colliders), 6), dtype=model.scalar, device=model.device
        )
        """Displacement [m] and rotation vector [rad] of each collider that moves over the step, in the axes of the
        world, shape (slots, moving, 6)."""

        self.force_limits = wp.full((slots,), math.inf, dtype=model.scalar, device=model.device)
        """Largest force of each grip of an environment [N], shape (slots,)."""
        self.has_force_limit = False
        """Whether grips have to be looked at after a step."""

        emitters = 0 if model.scene.fluid is None else len(model.scene.fluid.emitters)
        self.emission = wp.full((slots, emitters), 1.0, dtype=model.scalar, device=model.device)
        """Factor of the speed of each emitter of fluid, shape (slots, emitters)."""

        self._allocate_forces(0)
        self.has_forces = False
        """Whether a step has to add forces."""
        self.air: Any = None
        """Wind and its scratch memory, see :func:`pbd_gym.kernels.data.air.air_type`; None until there is wind."""
        self.wind_scalar: Any = None
        """Its velocity [m/s] and density [kg/m^3], shape (groups, 4, lanes)."""
        self.has_wind = False
        """Whether a step has to add the drag of the air."""

    def data(self) -> Any:
        """Return the arrays as what the step kernel takes."""
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
        """Let hands be only so strong, at every step until it is set again; by default nothing is too heavy.

        A grip opens at the end of a control step in which what it holds pulled harder, by the mean of the step that
        :meth:`State.get_grip_forces` returns; :meth:`State.get_slipped` says which did. Until then it holds fast, so
        short control steps follow peaks more closely. What is let go keeps its velocity, and the hand may take hold of
        it again. Steps need ``Solver(grip_forces=True)``.

        Args:
            force_limit: of each grip [N], above 0, infinity for none, broadcast to (num_envs,).

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a wrong shape, or a number that is not above 0 or is NaN. Limits are then as they were.
        """
        model = self.model
        with np.errstate(over="ignore"):  # what is beyond float32 is no limit
            given = broadcast("force_limit", reals("force_limit", force_limit), (model.num_envs,)).astype(model.dtype)
        if not (given > 0.0).all():
            raise ValueError(f"force_limit must be above 0, infinity for none, got {given[~(given > 0.0)][0]}")
        limited = bool(np.isfinite(given).any())
        self.force_limits.assign(pad_rows(given, len(self.force_limits)))
        self.has_force_limit = limited

    def set_emission(self, factors: ArrayLike) -> None:
        """Open and close the emitters of the fluid, in the order in which they were added.

        It holds for every step until it is set again.

        Args:
            factors: of their speeds, 0 for closed, broadcast to (num_envs, emitters).

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
        """Set how far a collider that moves goes in a step: at constant speed, and round its origin.

        It holds for every step until it is set again.

        Args:
            collider: what :meth:`Scene.add_collider` returned.
            displacement: of its origin [m], broadcast to (num_envs, 3).
            rotation: axis times angle [rad], in the axes of the world, broadcast to (num_envs, 3).

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
        """Let forces act on particles, at every step until they are set again or cleared.

        In each substep a free particle gains ``h f / m`` in velocity; what is held or pinned does not feel them, except
        that :meth:`State.get_grip_forces` counts them as it does weight. The first ones take memory and the compilation
        of a kernel that adds them; until then, and after :meth:`clear_forces`, they cost nothing.

        Args:
            forces: [N], broadcast to (num_envs, n, 3), up to 1e6 along each axis; a Warp array will do, too.

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a wrong shape, or a number that is not finite or too large. Forces are then as they were.
        """
        model = self.model
        given = forces.numpy() if isinstance(forces, wp.array) else forces
        rows = finite("forces", given, (model.num_envs, model.particle_count, 3), model.dtype, LARGEST)
        self.make_forces()
        scatter(model, self.forces_scalar, rows)

    def make_forces(self) -> None:
        """Let forces act on particles, those in ``forces_scalar``, into which kernels may write: 0 at first."""
        if self.forces.shape[1] != self.model.particle_count:
            self._allocate_forces(self.model.particle_count)
        self.has_forces = True

    def _allocate_forces(self, particles: int) -> None:
        model = self.model
        self.forces = wp.zeros((model.group_count, particles, 3), dtype=model.vec, device=model.device)
        """On particles [N], shape (groups, n, 3), one vector of lanes per coordinate; none until there are forces."""
        self.forces_scalar = by_scalar(self.model, self.forces)
        """The same memory, shape (groups, n, 3, lanes)."""

    def clear_forces(self) -> None:
        """Let no forces act on particles; a step is as fast as before there were any."""
        self.has_forces = False

    def set_wind(self, velocity: ArrayLike, density: ArrayLike = 1.2) -> None:
        """Let air flow past the triangles of :meth:`Scene.add_air_drag`, until it is set again or cleared.

        Air at rest, of velocity 0, brakes them. Drag is worked out in every substep, see
        :mod:`pbd_gym.kernels.motion.air_drag`, and :meth:`State.get_grip_forces` feels what reaches hands through the
        cloth. The first wind takes memory and the compilation of a kernel.

        Args:
            velocity: of the air [m/s], broadcast to (num_envs, 3), up to 1e6 along each axis.
            density: of the air [kg/m^3], broadcast to (num_envs,), from 0 to 1e6; 1.2 is that of a room.

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a wrong shape, a number that is not finite or out of its range, or a scene without such
                triangles. The wind is then as it was.
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
        """Let there be air, as ``wind_scalar`` says, into which kernels may write: of density 0 at first.

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
        """Let there be no air; a step is as fast as before there was any."""
        self.has_wind = False
