"""Arrays of a state: the data that a step changes, and its scratch memory."""

from __future__ import annotations

import copy
import operator
from typing import Any, NamedTuple

import numpy as np
import warp as wp

from pbd_gym.kernels.colliders.poses import FRAMES
from pbd_gym.kernels.colliders.supports import WIDTH
from pbd_gym.kernels.data.step import state_type
from pbd_gym.kernels.data.tethers import LOOSE, PIN_ANCHORS
from pbd_gym.scene.tethered_body import spread_out
from pbd_gym.sim.memory import count_memory
from pbd_gym.sim.model import Model
from pbd_gym.sim.parameters import Parameters
from pbd_gym.sim.upload.arrays import by_scalar, pad_rows
from pbd_gym.sim.upload.bodies import rigid_scratch
from pbd_gym.sim.upload.contacts import contact_lists
from pbd_gym.sim.upload.fluid import fluid_scratch


class Room(NamedTuple):
    """Optional data that a solver needs memory for, beyond those of every state."""

    keep_lambda: bool = False
    """Stored multipliers, which more than one iteration needs."""
    gathers: bool = False
    """Corrections of Jacobi iterations."""
    extrapolates: bool = False
    """The last two iterations, which Chebyshev acceleration needs."""
    packs: bool = False
    """Positions in rows with their weights."""
    forces: bool = False
    """Sums of the forces at grips."""
    touches: bool = False
    """Sums of the contact forces on particles."""
    wrenches: bool = False
    """Forces and torques on colliders."""
    sleeps: bool = False
    """Positions and memory of environments before a step."""
    passages: bool = False
    """Positions of particles before a step."""

    def joined(self, other: Room) -> Room:
        """Return the union of both requirements."""
        return Room(*map(operator.or_, self, other))


class StateArrays:
    """Device arrays of everything that a step changes, for all environments of a model.

    Lane ``l`` of group ``g`` is environment ``g * lanes + l``; the last group may have idle lanes.

    Args:
        model: the constants it belongs to.
        room: optional data to allocate.
    """

    def __init__(self, model: Model, room: Room) -> None:
        self.model = model
        self._room = room
        self.has_multipliers = room.keep_lambda
        """Whether the solver of the last step stored multipliers."""
        self.has_grip_forces = False
        """Whether the solver of the last step summed forces at grips."""
        self.has_piercings = True
        """Whether it counted edges that go through surfaces, if there are any; before the first step there are none."""
        self.has_force_limit = False
        """Whether it opened grips that were too weak."""
        self.has_passages = False
        """Whether it counted passages through surfaces and ropes within the step."""
        self.contact_scale = 0.0
        """Factor that turns the sums over the last step into force per mass, 1 / (substeps h^2) [1/s^2]; 0 without
        sums.
        """
        self.wrench_scale = 0.0
        """Factor that turns the wrench sums over the last step into forces, 1 / (substeps h^2) [1/s^2]; 0 without sums.
        """
        groups, particles, grips = model.group_count, model.particle_count, model.grip_count
        slots = groups * model.lanes
        self._check_memory(room)
        with wp.ScopedDevice(model.device):
            shape = (groups, particles, 3)
            self.positions = wp.empty(shape, dtype=model.vec)
            """[m], shape (groups, n, 3), one vector of lanes per coordinate."""
            self.previous = wp.empty(shape, dtype=model.vec)
            """Positions at the start of the last substep [m], shape (groups, n, 3)."""
            self.velocities = wp.empty(shape, dtype=model.vec)
            """[m/s], shape (groups, n, 3)."""
            self.inv_mass = wp.empty((groups, particles), dtype=model.vec)
            """[1/kg], shape (groups, n); 0 for held or pinned particles."""
            self.free_inv_mass = wp.empty((groups, particles), dtype=model.vec)
            """The same, but 0 for pinned particles only: the value that a released particle returns to."""
            self._make_multipliers()
            self.memory = wp.zeros((groups, max(model.memory_count, 1)), dtype=model.vec)
            """Memory of constraints from substep to substep, such as permanent strains, in solve order."""
            self._make_scratch()
            self.grip_forces = wp.zeros((slots, grips, 3), dtype=model.scalar)
            """Forces of held bodies on grips in the last step [N], shape (slots, grips, 3)."""
            self._make_anchors(np.full((slots, model.scene_pins), -1, dtype=np.int32))
            self.contacts = contact_lists(model)
            """Lists of particles that touch or soon may; results do not depend on them."""
            self.fluid = fluid_scratch(model)
            """Scratch data of fluids; results do not depend on it."""
            self.told_of_overflow = False
            """Whether :meth:`warn_of_fluid_overflow` has warned."""
            self.rigid = rigid_scratch(model)
            """Scratch data of rigid bodies; results do not depend on it."""
            self.held = wp.full((slots, grips), -1, dtype=wp.int32)
            """Particle in each grip, -1 for none, shape (slots, grips), int32."""
            self.slipped = wp.zeros((slots, grips), dtype=wp.int32)
            """Grips that opened at the end of the last step with a limit, 0 or 1, shape (slots, grips), int32."""
            self.passed = wp.zeros(slots, dtype=wp.int32)
            """Number of passages through surfaces and ropes in the last step, shape (slots,), int32."""
            self.grip_positions = wp.zeros((slots, grips, 3), dtype=model.scalar)
            """[m], shape (slots, grips, 3)."""
            self.grip_targets = wp.zeros((slots, grips, 3), dtype=model.scalar)
            """Scratch: target positions of held particles at the end of the step [m]."""
            moving = len(model.moving_colliders)
            self.poses = wp.zeros((slots, moving, 7), dtype=model.scalar)
            """Origin [m] and orientation (x, y, z, w) of moving colliders, shape (slots, moving, 7)."""
            self.frames = wp.zeros((groups, moving, FRAMES), dtype=model.vec)
            """Scratch: frames of moving colliders in a substep, see :mod:`pbd_gym.kernels.colliders.poses`."""
            self.diverged = wp.zeros(slots, dtype=wp.int32)
            """1 where the last step produced a NaN, or something ran away or left the scene, shape (slots,), int32."""
            self.inverted = wp.zeros(slots, dtype=wp.int32)
            """Tetrahedra that the last step left inverted or flat, shape (slots,), int32."""
        self.positions_scalar = by_scalar(model, self.positions)
        """The same memory as ``positions``, shape (groups, n, 3, lanes)."""
        self.velocities_scalar = by_scalar(model, self.velocities)
        self.inv_mass_scalar = by_scalar(model, self.inv_mass)
        self.memory_scalar = by_scalar(model, self.memory)
        self.free_inv_mass_scalar = by_scalar(model, self.free_inv_mass)
        self.parameters = Parameters(model)
        """Parameters that differ between environments."""
        self._pinned: np.ndarray | None = None
        self.frames_scalar = by_scalar(model, self.frames)

    def data(self) -> Any:
        """Return the arrays as the step kernel's struct."""
        type_ = state_type(self.model.vec)
        data = type_()
        for name in type_.vars:
            setattr(data, name, self.parameters.rows if name == "parameters" else getattr(self, name))
        return data

    def make_room(self, room: Room) -> None:
        """Allocate memory that a solver needs and the state lacks: it would write past the end of existing arrays.

        This happens when the ``iterations`` of a solver are raised from one, and when another solver continues with a
        state. Existing data stays.

        Raises:
            MemoryError: if it would not fit.
        """
        before, wanted = self._room, self._room.joined(room)
        if wanted == before:
            return
        self._check_memory(wanted)
        self._room = wanted
        with wp.ScopedDevice(self.model.device):
            self._make_scratch()
            if wanted.keep_lambda != before.keep_lambda:
                self._make_multipliers()

    def twin(self, model: Model) -> StateArrays:
        """Return arrays of the same shapes for another model of the same scene, in that model's precision."""
        arrays = StateArrays(model, self._room)
        arrays._make_anchors(self.pins.numpy())
        return arrays

    def _check_memory(self, room: Room) -> None:
        """Raise a MemoryError with the whole report if the batch does not fit, before an allocation fails half-way."""
        model = self.model
        if model.group_count == 1:
            return
        small = copy.copy(model)  # the same constants, in the same memory
        small.num_envs, small.group_count = model.lanes, 1
        needed = count_memory(small, model.num_envs, type(self)(small, room))
        if needed.free is not None and needed.total - sum(needed.shared.values()) > needed.free:
            raise MemoryError(
                f"this batch needs {needed.total / 2**30:.1f} GiB but {needed.free / 2**30:.1f} GiB are free on "
                f"{needed.device}: {needed.fits:,} environments would fit\n{needed}"
            )

    def _make_multipliers(self) -> None:
        self.lam = wp.zeros((self.model.group_count, self._multiplier_count), dtype=self.model.vec)
        """Multipliers of the last substep, in solve order, shape (groups, m) or (groups, 1)."""

    def _make_scratch(self) -> None:
        """Allocate scratch arrays, which hold nothing of interest between steps."""
        model, vec = self.model, self.model.vec
        groups, particles = model.group_count, model.particle_count
        shape, least = (groups, particles, 3), (groups, 1, 1)
        self.delta = wp.zeros(shape if self._room.gathers or model.contact_count else least, dtype=vec)
        """Scratch: corrections gathered by a Jacobi iteration [m]; zero between steps."""
        self.recent, self.older = (wp.empty(shape if self._room.extrapolates else least, dtype=vec) for _ in "ab")
        """Scratch: positions of the last two iterations [m]."""
        self.packed = wp.empty((groups, 2, particles, 4) if self._room.packs else (groups, 1, 1, 1), dtype=vec)
        """Scratch: positions and those before a substep [m], with a weight after each; for one lane on a CPU."""
        kept = (groups, self._multiplier_count if self._room.extrapolates else 1)
        self.lam_recent, self.lam_older = (wp.empty(kept, dtype=vec) for _ in "ab")
        """Scratch: multipliers of the last two iterations."""
        summed = particles if self._room.forces else 0
        self.pull = wp.zeros((groups, summed, 3), dtype=vec)
        """Scratch: corrections per inverse mass that would have moved held particles [kg m]."""
        grips = model.grip_count if model.tethered_bodies and summed else 0
        self.tether_pull = wp.zeros((groups, grips, summed, 3), dtype=vec)
        """Scratch: corrections per inverse mass made by tethers to grips [kg m]."""
        touched = (groups, particles if self._room.touches else 0, 3)
        self.pushes, self.untouched = (wp.zeros(touched, dtype=vec) for _ in "ab")
        """Scratch: displacements of particles by contacts, and their positions before [m]."""
        colliders, bodies = (model.collider_count if self._room.wrenches else 0), len(model.rigid_bodies)
        self.wrenches = wp.zeros((groups, particles + bodies, colliders, 6), dtype=vec)
        """Scratch: pushes of particles and bodies on colliders, see :mod:`pbd_gym.kernels.colliders.wrenches`."""
        self.wrench_sums = wp.zeros((groups, colliders, 6), dtype=vec)
        """Sums of these [kg m and kg m^2], in the order of the kernel's colliders, shape (groups, colliders, 6)."""
        noted = particles if self._room.passages else 0
        self.started = wp.zeros((groups, noted, 3, model.lanes), dtype=model.scalar)
        """Scratch: positions of particles before a step [m]."""
        self.traction = wp.zeros((groups, particles if model.has_surfaces else 0), dtype=vec)
        """Scratch: friction of colliders not used so far [m]."""
        self.slept = wp.zeros((groups, particles if self._room.sleeps else 0, 3), dtype=vec)
        """Scratch: positions of particles before a step, for environments that sleep [m]."""
        remembered = self.memory.shape[1] if self._room.sleeps and model.lanes > 1 else 0
        self.slept_memory = wp.zeros((groups, remembered), dtype=vec)
        """Scratch: memory of environments before a step."""
        self.support = wp.zeros((groups, particles if model.has_supports else 0, WIDTH), dtype=vec)
        """Scratch: support of a particle, and how far lines have pressed it on that [m]."""
        self.supported = wp.zeros((groups, 1), dtype=wp.int32)
        """Scratch: whether a particle of a group has had one in a step."""

        noted = model.has_leans or (self._room.wrenches and model.has_surfaces)
        self.come = wp.zeros((groups, particles if noted else 0, 3), dtype=vec)
        """Scratch: displacement of particles in a substep when contacts began [m]."""

    def tether_pins(self, pinned: np.ndarray) -> None:
        """Choose the pins with tethers, and allocate memory for them.

        Args:
            pinned: whether each particle is pinned, shape (num_envs, n), bool.
        """
        bodies = self.model.tethered_bodies
        if bodies:
            rows, which = np.unique(pinned, axis=0, return_inverse=True)
            found = [spread_out(bodies, row, PIN_ANCHORS) for row in rows]
            pins = np.full((len(rows), max(map(len, found))), -1, dtype=np.int32)
            for row, chosen in zip(pins, found, strict=True):
                row[: len(chosen)] = chosen
            padded = pad_rows(pins[which.reshape(-1)], len(self.pins))
            if padded.shape == self.pins.shape:
                self.pins.assign(padded)
            else:
                self._make_anchors(padded)

    def _make_anchors(self, pins: np.ndarray) -> None:
        """Allocate memory for tethers to grips and pins, shape (slots, p), int32, which are still to be measured."""
        model = self.model
        slots = len(pins)
        anchors = model.grip_count + pins.shape[1] if model.tethered_bodies else 0
        with wp.ScopedDevice(model.device):
            self.pins = wp.array(pins, dtype=wp.int32)
            """Pinned particles with tethers, -1 for none, shape (slots, pins), int32."""
            self.tethered = wp.full((slots, anchors), -1, dtype=wp.int32)
            """Scratch: held and pinned particles of the last step, to which tether lengths refer."""
            self.tether_bounds = wp.zeros((model.group_count, anchors, 2), dtype=wp.int32)
            """Scratch: particles that may have a tether to an anchor."""
            shape = (model.group_count, anchors, model.particle_count)
            self.tether_lengths = wp.full(shape, model.vec(LOOSE), dtype=model.vec)
            """Scratch: lengths of tethers in the size of the scene [m]."""
        self.tether_lengths_scalar = by_scalar(model, self.tether_lengths)

    @property
    def _multiplier_count(self) -> int:
        return max(self.model.constraint_count, 1) if self._room.keep_lambda else 1
