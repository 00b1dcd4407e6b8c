"""Model: the constants of a batch on its device, created once from a scene."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import warp as wp

from pbd_gym.colliders import shapes
from pbd_gym.constraints import kinds
from pbd_gym.constraints.kind import Kind
from pbd_gym.kernels.data.fluid import COLUMNS
from pbd_gym.kernels.data.parameters import COMPLIANCE
from pbd_gym.kernels.data.step import model_data
from pbd_gym.kernels.data.tethers import PIN_ANCHORS, fill_tethers
from pbd_gym.kernels.lanes.wide import LANE_COUNTS
from pbd_gym.runtime.checks import instance, whole
from pbd_gym.runtime.devices import choose_block_dim, find_device, fitting_block_dim
from pbd_gym.scene.base import BaseScene
from pbd_gym.scene.overlaps import warn_of_overlaps
from pbd_gym.scene.rigid_motion import gathered
from pbd_gym.scene.scene import Scene
from pbd_gym.scene.tethered_body import spread_out
from pbd_gym.sim.coloring import batches, cluster_values, dependency_levels, greedy_colors, in_solve_order, kept_weights
from pbd_gym.sim.upload.arrays import fill
from pbd_gym.sim.upload.bodies import Dragged, fill_rigid, left_out, tetrahedra
from pbd_gym.sim.upload.colliders import arrange, fill_colliders, longest_segment
from pbd_gym.sim.upload.contacts import fill_contacts, may_lean, pierced_edges
from pbd_gym.sim.upload.fluid import fill_fluid, fluid_options
from pbd_gym.sim.upload.ropes import going_round

Order = Literal["colored", "given"]

# Time of one group relative to sixteen lanes, measured with `pbd-gym bench lanes` on a core with AVX-512 (float32).
_LANE_COST = {1: 0.33, 4: 0.71, 8: 0.68, 16: 1.0}
# Lines of about as many segments share a kernel.
_ROOM = 32


def choose_lanes(num_envs: int, threads: int = 1, in_blocks: bool = False) -> int:
    """Return the lane count that advances ``num_envs`` environments fastest.

    Sixteen lanes cost three times as much as one, so only small batches use fewer. The threads of a block already fill
    the vector units of a GPU, where one environment per block is the normal case.
    """
    if in_blocks:
        return 1

    def cost(lanes: int) -> tuple[float, int]:
        groups = math.ceil(num_envs / lanes)
        return math.ceil(groups / threads) * _LANE_COST[lanes], lanes

    return min(LANE_COUNTS, key=cost)


class Model:
    """Constant device arrays of ``num_envs`` copies of a scene.

    Args:
        scene: scene of one environment.
        num_envs: number of environments that advance together, at least 1.
        device: Warp device, for example ``"cpu"`` or ``"cuda:0"``.
        dtype: ``"float32"``, or ``"float64"`` to compare with a reference.
        order: ``"colored"`` sorts constraints into greedy colours; ``"given"`` sweeps them as they were added.
        lanes: environments per group, one of 1, 4, 8, 16; chosen from ``num_envs`` by default. With fluid it is 1: the
            neighbours of a particle share the vector units.
        threads: CPU threads that :func:`choose_lanes` assumes.
        block_dim: threads that serve a group on a CPU, 1 to 1024. Above 1 the CPU executes the GPU's code, slowly, to
            the same bits; see docs/gpu.md. By default the value of ``PBD_GYM_CPU_BLOCKS``, or one thread.

    Warns of a body that starts deep inside a collider: see :mod:`pbd_gym.scene.overlaps`.

    Raises:
        TypeError: if ``scene`` is not a scene, or a count is not a whole number.
        ValueError: for an empty scene, a count below 1, an unknown order, dtype, lane count or ``block_dim``, or for
            more lanes than one with fluid.
    """

    def __init__(
        self,
        scene: Scene,
        num_envs: int = 1,
        device: str = "cpu",
        dtype: Literal["float32", "float64"] = "float32",
        order: Order = "colored",
        lanes: int | None = None,
        threads: int = 1,
        block_dim: int | None = None,
    ) -> None:
        _check(scene, order, dtype, lanes)
        warn_of_overlaps(scene, stacklevel=2)
        self.scene = scene
        self.num_envs = whole("num_envs", num_envs, 1)
        self.order = order
        self.device = find_device(device)
        self._choose_layout(dtype, lanes, whole("threads", threads, 1), block_dim)
        self._upload_particles()
        self._upload_colliders()
        self._make_tables()
        self._upload_constraints()
        self._upload_bodies()
        self._upload_fluid()
        self._upload_contacts()
        self._fit_blocks()

    @property
    def has_rigid(self) -> bool:
        """Whether there are rigid bodies."""
        return len(self.rigid_bodies) > 0

    def pose_index(self, collider: int) -> int:
        """Return a collider's index among the poses.

        Args:
            collider: number that :meth:`Scene.add_collider` returned.

        Raises:
            TypeError: for anything but a whole number.
            ValueError: for a collider that does not move.
        """
        if whole("collider", collider, 0) not in self.moving_colliders:
            raise ValueError(f"collider {collider} does not move: add it with moving=True")
        return self.moving_colliders.index(collider)

    def _choose_layout(self, dtype: str, lanes: int | None, threads: int, block_dim: int | None) -> None:
        """Choose how environments share registers and threads, and the types that follow."""
        self.thread_count = choose_block_dim(self.device, block_dim)
        """Threads that serve a group."""
        self.in_blocks = bool(self.device.is_cuda) or self.thread_count > 1
        """Whether a block of threads serves a group, as on a GPU."""
        alone = self.in_blocks or self.scene.fluid is not None
        self.lanes = choose_lanes(self.num_envs, threads, alone) if lanes is None else lanes
        self.group_count = -(-self.num_envs // self.lanes)
        self.dtype = np.dtype(dtype)
        self.scalar: Any = wp.float32 if dtype == "float32" else wp.float64
        self.vec: Any = wp.types.vector(length=self.lanes, dtype=self.scalar)

    def _upload_particles(self) -> None:
        scene = self.scene
        self.particle_count = scene.particle_count
        self.grip_count = scene.grip_count
        with wp.ScopedDevice(self.device):
            self.gravity = wp.array(scene.gravity, dtype=self.scalar)
            self.inv_mass = wp.array(scene.inv_mass, dtype=self.scalar)
            """[1/kg], shape (n,); inverse mass of a particle when it is released."""
            self.dimensions = wp.array(scene.dimensions, dtype=wp.int32)
            """Power of an environment's size with which a particle's mass grows, shape (n,), int32."""
        # Copies: later changes of the scene do not affect this model.
        self.mass = scene.mass.copy()
        """[kg], shape (n,), float64; includes pinned particles."""
        pinned = scene.inv_mass[None] == 0.0
        self.start_positions = gathered(scene.rigid_bodies, scene.mass, scene.positions[None], np.ones((1, 1)), pinned)[
            0
        ].copy()
        self.start_velocities = scene.velocities.copy()

    def _upload_colliders(self) -> None:
        scene = self.scene
        self.moving_colliders = tuple(scene.moving_colliders)
        """Colliders with a pose, as indices of ``scene.colliders``."""
        self.collider_count = len(scene.colliders)
        """Number of colliders when the model was made; later ones are not included."""
        parts = arrange(scene.colliders, self.moving_colliders, shapes())
        self.collider_order = [i for found in parts.values() for i in found]
        """Scene number of each collider in the kernel's table."""
        self.parts = tuple(parts)
        """Colliders by shape and by whether they move; the kernel is compiled for these alone."""
        self.constraints = going_round(scene, any(part.shape.SWEPT for part in self.parts))
        """Constraints by kind, as kernels solve them: see :mod:`pbd_gym.sim.upload.ropes`."""
        lines = [self.constraints[name] for name, kind in kinds().items() if kind.chain and name in self.constraints]
        self.bouncing = any(collider.restitution > 0 for collider in scene.colliders)
        self.colliders = fill_colliders(
            self.dtype.type,
            scene.colliders,
            self.moving_colliders,
            parts,
            scene.contact_radius,
            max((body.radius for body in scene.rigid_bodies), default=0.0),
            left_out(scene),
            longest_segment(lines),
            self.device,
        )
        origins = [scene.colliders[i].origin for i in self.moving_colliders]
        self.start_poses = np.array([[*origin, 0, 0, 0, 1] for origin in origins]).reshape(-1, 7)
        """Origin [m] and orientation (x, y, z, w) of moving colliders, shape (moving, 7), float64."""

    def _make_tables(self) -> None:
        """Create the struct that passes the scene to kernels, with a table for each component present."""
        scene = self.scene
        self.kinds = tuple(kind for name, kind in kinds().items() if name in self.constraints)
        """Constraint kinds that the scene uses; the kernel is compiled for these alone."""
        self.labels = tuple(scene.labels)
        """Names of the groups of constraints with separately adjustable stiffness."""
        self.tethered_bodies = tuple(scene.tethered_bodies)
        """Bodies with tethers to held and pinned particles."""
        self.anchor_room = 4 * math.ceil((scene.grip_count + PIN_ANCHORS) / 4) if self.tethered_bodies else 0
        """Capacity of the kernels for tethers' grips and pins; in fours, so that one hand and two share a kernel."""
        self.rigid_bodies = tuple(scene.rigid_bodies)
        """Bodies that never change their shape."""
        tets, volumes = tetrahedra(scene, self.kinds)
        self.has_solids = len(tets) > 0
        """Whether there are tetrahedra."""
        tables = scene.has_particle_contacts, self.anchor_room > 0, scene.fluid is not None, self.has_rigid
        self.data = model_data(self.scalar, self.kinds, *tables)()
        self.data.gravity = self.gravity
        fill(self.data.solids, self.device, tets=tets, six_volumes=6.0 * volumes)

    def _upload_constraints(self) -> None:
        self.damped: tuple[str, ...] = ()
        """Names of the kinds with a damped constraint."""
        self.constraint_order: dict[str, np.ndarray] = {}
        """Index at addition of each constraint in solve order, for each kind."""
        self.multiplier_order: dict[str, np.ndarray] = {}
        """Index at addition of each multiplier in solve order, for each kind: a line has one per segment."""
        self.longest_line = _ROOM
        """Capacity of the kernels for the segments of a line."""
        self.bounds: dict[str, np.ndarray] = {}
        """First constraint of each colour, and the end, for each kind."""
        self.constraint_count = 0
        self.color_count = 0
        """Number of colours over all kinds, one after the other."""
        chains = [line for kind in self.kinds if kind.chain for line in self.constraints[kind.name].indices]
        self.has_leans = may_lean(self.scene, [line for line in chains if len(line) > 2])
        """Whether there are lines, and balls that they may pull against each other."""
        self.has_supports = len(chains) > 0 and any(part.shape.SWEPT for part in self.parts)
        """Whether there are lines, and colliders that they may lie over."""
        self.lean_count = (3 * self.particle_count + len(chains)) * self.has_leans
        self.lean_count += sum(len(line) - 1 for line in chains) * self.has_supports
        """Count of numbers that record the direction in which contacts push particles, how much lines yield to them,
        and how much too long or short segments may be that go round colliders.
        """
        self.memory_count = self.lean_count
        """Count of numbers kept from substep to substep: the leans, one per constraint with memory, one per nozzle
        place, and one per colliding particle.
        """
        used = [np.ravel(part) for kind in self.kinds for part in self.constraints[kind.name].indices]
        valence = np.bincount(np.concatenate(used), minlength=self.particle_count) if used else np.zeros(0, dtype=int)
        for kind in self.kinds:
            self._upload_kind(kind, valence)

    def _upload_bodies(self) -> None:
        """Upload the data of whole bodies: air drag, tethers, and rigid bodies."""
        scene = self.scene
        self.dragged = Dragged.of(scene)
        """Triangles that feel the air."""
        self.scene_pins = len(spread_out(self.tethered_bodies, scene.inv_mass == 0.0, PIN_ANCHORS))
        """Pins of the scene that have tethers."""
        if self.tethered_bodies:
            bodies = list(self.tethered_bodies)
            fill_tethers(self.data.tethers, bodies, self.particle_count, self.dtype.type, self.device)
        if self.has_rigid:
            fill_rigid(self.data.rigid, scene, self.device)

    def _upload_fluid(self) -> None:
        fluid = self.scene.fluid
        self.fluid_options = None if fluid is None else fluid_options(fluid, self.in_blocks)
        """Options of the fluid, if there is one."""
        self.fluid_columns = 0 if fluid is None else COLUMNS
        """Parameters of environments for the fluid."""
        if fluid is not None:
            column = int(COMPLIANCE) + len(self.labels)
            fill_fluid(self.data.fluid, self.scene, self.colliders, self.device, column, self.memory_count)
            self.memory_count += self.data.fluid.sites.shape[0]

    def _upload_contacts(self) -> None:
        scene = self.scene
        self.contact_count = 0
        """Particles that collide with others."""
        self.first_contact_memory = self.memory_count
        """Place of the first of their numbers among those that are remembered."""
        self.has_surfaces = any(len(group.triangles) > 0 for group in scene.particle_contacts)
        self.is_bouncy = any(group.restitution > 0.0 for group in scene.particle_contacts)
        """Whether some of these are discs of a surface."""
        self.surface_edge_count = sum(map(len, pierced_edges(scene)))
        """Number of edges checked for piercing surfaces: their own, and those of ropes and bodies."""
        if scene.has_particle_contacts:
            table = self.data.particle_contacts
            self.contact_count = fill_contacts(table, scene, self.device, self.in_blocks, self.memory_count)
            self.memory_count += self.contact_count
        self.can_sleep = self.has_surfaces and not self.has_rigid and scene.fluid is None
        """Whether environments at rest can sleep: those of cloth that collides."""
        self.rest_memory = self.memory_count
        """Place of the time at rest among what is remembered; the piercings that were counted then follow it."""
        self.memory_count += 2 * self.has_surfaces

    def _fit_blocks(self) -> None:
        """Limit a GPU block's threads to the amount of work."""
        if self.device.is_cuda:
            wet = 0 if self.scene.fluid is None else self.particle_count
            colors = self.constraint_count / max(self.color_count, 1)
            self.thread_count = fitting_block_dim(max(colors, self.contact_count / 2, wet))

    def _upload_kind(self, kind: Kind, valence: np.ndarray) -> None:
        """Upload the constraints of one kind, given the number of constraints at each particle, shape (n,)."""
        batch = self.constraints[kind.name]
        rows = batch.indices if kind.width is None else np.concatenate(batch.indices)
        values = {name: np.concatenate(parts) for name, parts in batch.values.items()}
        # Jacobi: with this share of its correction for each constraint, no sum of corrections overshoots (mass
        # splitting: each particle lends an equal part of its mass to each of its constraints). A pinned particle has
        # infinite mass: an anchor of many tethers slows none of them down.
        if isinstance(rows, np.ndarray):
            values["share"] = 1.0 / np.where(self.scene.inv_mass > 0, valence, 1)[rows].max(axis=1, initial=1)
        else:
            values |= cluster_values(rows, self.scene.mass, valence)
            members = np.bincount(np.concatenate([*rows, []]).astype(int), minlength=self.particle_count)
            if kind.chain:
                least = [1.0 / members[row].max(initial=1) for row in rows]
                values["part"] = np.repeat(least, [len(row) for row in rows])
        values["label"] = np.concatenate(batch.labels)
        values["kept"] = kept_weights(rows, self.scene.inv_mass)
        if (values["damping_time"] > 0).any():
            self.damped += (kind.name,)
        if self.order == "colored":
            labels = greedy_colors(rows, self.particle_count)
        elif self.in_blocks:
            labels = dependency_levels(rows, self.particle_count)
        else:
            labels = np.zeros(len(rows), dtype=np.int32)  # one thread, one batch: swept as it stands
        permutation, bounds = batches(labels)
        if isinstance(rows, np.ndarray):
            indices, values = rows[permutation], {name: value[permutation] for name, value in values.items()}
        else:
            indices, values = in_solve_order(rows, values, permutation, {*kind.member_fields, "mass", "part"})
        firsts = {"first": self.constraint_count, "first_memory": self.memory_count, "first_color": self.color_count}
        fill(getattr(self.data, kind.name), self.device, indices=indices, bounds=bounds, **firsts, **values)
        self.color_count += len(bounds) - 1
        self.constraint_order[kind.name] = permutation
        self.bounds[kind.name] = bounds
        segments = np.array([len(row) - 1 for row in rows]) if kind.chain else np.ones(len(rows), dtype=int)
        first = np.cumsum(segments) - segments
        self.multiplier_order[kind.name] = np.concatenate(
            [np.zeros(0, dtype=int), *(np.arange(first[c], first[c] + segments[c]) for c in permutation)]
        )
        if kind.chain:
            self.longest_line = _ROOM * -(-int(segments.max(initial=1)) // _ROOM)
        self.constraint_count += len(self.multiplier_order[kind.name])
        self.memory_count += len(rows) * kind.remembers


def _check(scene: Scene, order: Any, dtype: Any, lanes: Any) -> None:
    """Raise the errors of :class:`Model` for arguments that need no device."""
    if instance("scene", scene, BaseScene).particle_count == 0:
        raise ValueError("the scene has no particles")
    if lanes is not None and whole("lanes", lanes, 0) not in LANE_COUNTS:
        raise ValueError(f"lanes must be one of {LANE_COUNTS}, got {lanes}")
    if scene.fluid is not None and lanes not in (None, 1):
        raise ValueError(f"a scene with fluid has lanes=1, got {lanes}")
    if order not in ("colored", "given"):
        raise ValueError(f"order must be 'colored' or 'given', got {order!r}")
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype must be 'float32' or 'float64', got {dtype!r}")
