"""Base of scenes: particles, constraints, colliders, and contacts between particles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.colliders import Solid, shapes
from pbd_gym.constraints import kinds
from pbd_gym.geometry.paths import check_surface_lines
from pbd_gym.runtime.checks import (
    FARTHEST,
    FASTEST,
    LARGEST,
    finite,
    instance,
    integers,
    not_negative,
    number,
    shaped,
    switch,
    whole,
)
from pbd_gym.scene import units
from pbd_gym.scene.contacts import ParticleContacts, balls, surface
from pbd_gym.scene.fluids import Fluid, check_clear
from pbd_gym.scene.rigid_bodies import Joint, RigidBody, Shared
from pbd_gym.scene.tethered_body import TetheredBody

LEAST_MASS = 1e-30
"""Smallest mass of a particle [kg]: float32 can hold its inverse, even at the smallest density factor."""


@dataclass
class ConstraintBatch:
    """Constraints of one kind in the order of their addition, which ``order="given"`` keeps."""

    indices: list[np.ndarray] = field(default_factory=list)
    """Particles: arrays of shape (m, k), or one of shape (k,) for each cluster."""
    values: dict[str, list[np.ndarray]] = field(default_factory=dict)
    labels: list[np.ndarray] = field(default_factory=list)

    def add(self, indices: Sequence[np.ndarray], label: np.ndarray, **values: np.ndarray) -> None:
        self.indices.extend(indices)
        self.labels.append(label)
        for name, value in values.items():
            self.values.setdefault(name, []).append(value)


class BaseScene:
    """Contents of ONE environment, before there are bodies; its arguments are those of the whole scene."""

    def __init__(
        self,
        gravity: ArrayLike = (0.0, -9.81, 0.0),
        contact_radius: float = 0.005,
        grip_count: int = 0,
        meters_per_unit: float | None = None,
    ) -> None:
        self.gravity = shaped("gravity", gravity, (3,), LARGEST)
        self.meter = 1.0 / units.meters_per_unit(meters_per_unit, self.gravity)
        """Length of a metre in the unit of the scene."""
        self.contact_radius = number("contact_radius", contact_radius, 0.0, FARTHEST)
        self.grip_count = whole("grip_count", grip_count, 0)
        self.positions = np.zeros((0, 3))
        """[m], shape (n, 3), float64."""
        self.velocities = np.zeros((0, 3))
        """[m/s], shape (n, 3), float64."""
        self.inv_mass = np.zeros(0)
        """[1/kg], shape (n,), float64; 0 is pinned."""
        self.dimensions = np.zeros(0, dtype=np.int32)
        """Dimension of each particle's body, shape (n,), int32: its mass grows with that power of the size."""
        self.mass = np.zeros(0)
        """[kg], shape (n,), float64; includes pinned particles."""
        self.triangles = np.zeros((0, 3), dtype=np.int32)
        """Surface triangles to draw, shape (t, 3)."""
        self.tets = np.zeros((0, 4), dtype=np.int32)
        """Tetrahedra of solids, shape (m, 4), without those that constraints add."""
        self.tet_volumes = np.zeros(0)
        """Rest volumes of the tetrahedra [m^3], shape (m,), float64."""
        self.lines = np.zeros((0, 2), dtype=np.int32)
        """Segments to draw, shape (l, 2)."""
        self.beads = np.zeros(0, dtype=np.int32)
        """Particles to draw as balls of the contact radius, shape (b,)."""
        self.colliders: list[Solid] = []
        self.moving_colliders: list[int] = []
        """Indices of the colliders that have a pose."""
        self.constraints: dict[str, ConstraintBatch] = {}
        self.labels: list[str] = []
        """Names of the groups of constraints with separately adjustable stiffness."""
        self.particle_contacts: list[ParticleContacts] = []
        self.tethered_bodies: list[TetheredBody] = []
        """Bodies with tethers to held and pinned particles."""
        self.dragged_triangles = np.zeros((0, 3), dtype=np.int32)
        """Triangles with air drag, shape (d, 3)."""
        self.drag_coefficients = np.zeros((0, 2))
        """Drag coefficients of the triangles along the normal and tangentially, shape (d, 2)."""
        self.rigid_bodies: list[RigidBody] = []
        """Bodies that never change their shape."""
        self.joints: list[Joint] = []
        """Points that rigid bodies share with each other or with space."""
        self.shared: list[Shared] = []
        """Particles that rigid bodies share with other bodies."""
        self.apart: list[tuple[np.ndarray, np.ndarray]] = []
        """Pairs of sets of particles that do not collide with each other, shape (k,) and (l,), int32."""
        self.cages: list[np.ndarray] = []
        """Particles of solids that carry a finer surface, shape (k,) each, int32."""
        self.fluid: Fluid | None = None
        """Fluid of the scene."""
        self.contact_capacity = 96
        """Capacity for the contact candidates of a particle, over all environments of a group of lanes. A particle with
        more is compared with all others: slower, with the same result.
        """

    @property
    def particle_count(self) -> int:
        """Number of particles, n."""
        return len(self.positions)

    @property
    def sharp_edges(self) -> np.ndarray:
        """Particles of the edges of ``triangles`` that are drawn sharp, those of rigid bodies, shape (e, 2), int32."""
        return np.concatenate([np.zeros((0, 2), dtype=np.int32), *(body.sharp_edges for body in self.rigid_bodies)])

    @property
    def hidden(self) -> np.ndarray:
        """Particles that are not drawn because they are inside rigid bodies or skins, shape (k,), int32."""
        inside = [body.indices[: -len(body.vertices)] for body in self.rigid_bodies]
        return np.concatenate([np.zeros(0, dtype=np.int32), *inside, *self.cages])

    def add_particles(
        self, positions: ArrayLike, mass: ArrayLike, velocities: ArrayLike = 0.0, dimension: int = 0
    ) -> np.ndarray:
        """Add loose particles.

        Args:
            positions: [m], shape (k, 3).
            mass: [kg], one number or shape (k,); all above 0 (fix a particle with :meth:`pin`).
            velocities: [m/s], one number or shape (k, 3).
            dimension: dimension of their body, 1 for a rope, 2 for a sheet, 3 for a solid: masses grow with that power
            of an environment's ``size``. 0 keeps the masses given.

        Returns:
            Their indices, shape (k,), int32.

        Raises:
            TypeError: for anything but numbers.
            ValueError: for a wrong shape, a number that is not finite or too large (1e6 m, 1e6 m/s), a mass below
                1e-30 kg, or a dimension that is not 0 to 3.
        """
        positions = shaped("positions", positions, (-1, 3))
        count = len(positions)
        whole("the number of particles", self.particle_count + count, 0)
        mass = finite("mass", mass, (count,))
        velocities = finite("velocities", velocities, (count, 3), largest=FASTEST)
        if (mass < LEAST_MASS).any():
            raise ValueError(
                f"every mass must be above zero, at least {LEAST_MASS:g} kg; use Scene.pin to fix a particle"
            )
        whole("dimension", dimension, 0, 3)
        first = self.particle_count
        self.positions = np.concatenate([self.positions, positions])
        self.velocities = np.concatenate([self.velocities, velocities])
        self.inv_mass = np.concatenate([self.inv_mass, 1.0 / mass])
        self.mass = np.concatenate([self.mass, mass])
        self.dimensions = np.append(self.dimensions, np.full(count, dimension, dtype=np.int32))
        return np.arange(first, first + count, dtype=np.int32)

    def add_distance_constraints(
        self,
        indices: ArrayLike,
        compliance: ArrayLike = 0.0,
        rest_length: ArrayLike | None = None,
        label: str | None = None,
    ) -> None:
        """Add constraints that keep pairs of particles at a distance.

        Args:
            indices: particles of each pair, shape (m, 2), int.
            compliance: inverse stiffness [m/N], one number or shape (m,); 0 is rigid (plain PBD).
            rest_length: [m], one number or shape (m,); by default the distance the particles have now.
            label: as in :meth:`add_constraints`.

        Raises:
            ValueError: for particles that do not exist, a pair of a particle with itself, a wrong shape, or a number
                that is negative or not finite.
        """
        self.add_constraints("distance", indices, label=label, compliance=compliance, rest_length=rest_length)

    def add_constraints(
        self, kind: str, indices: Any, damping_time: ArrayLike = 0.0, label: str | None = None, **parameters: Any
    ) -> None:
        """Add constraints of any kind; their rest state is the current state of the particles.

        Args:
            kind: name of one of :func:`pbd_gym.constraints.kinds`.
            indices: particles of each constraint, shape (m, k), int; for clusters also m arrays of any lengths.
            damping_time: time constant of the damping in proportion to the stiffness (Rayleigh), [s], one number or
                shape (m,); a motion that would oscillate with angular frequency w has the damping ratio w tau / 2.
            label: name under which the stiffness can differ per environment; that of the kind by default. See
                :meth:`pbd_gym.sim.state.State.set_parameters`.
            **parameters: parameters of that kind's ``prepare``.

        Raises:
            ValueError: for an unknown kind, particles that do not exist, the same particle twice in a constraint,
                parameters that are out of range, or a line that runs through a hole of a surface.
            TypeError: for clusters that are not a sequence, a label that is not a string, or parameters that are not
            numbers.
        """
        known = kinds()
        if kind not in known:
            raise ValueError(f"kind must be one of {', '.join(known)}, got {kind!r}")
        chosen = known[kind]
        if label is not None:
            instance("label", label, str)
        found: np.ndarray | list[np.ndarray]
        if chosen.width is None:
            found = self._check_clusters(kind, indices)
            if chosen.chain:
                check_surface_lines(found, self.positions, self.triangles)
        else:
            found = self._check_indices(indices, chosen.width)
            ordered = np.sort(found, axis=1)
            if (ordered[:, 1:] == ordered[:, :-1]).any():
                raise ValueError(f"a {kind} constraint needs {chosen.width} different particles")
        values = chosen.numbers(self.positions, found, **parameters)
        values["damping_time"] = not_negative("damping_time", damping_time, (len(found),))
        label = label or kind
        if label not in self.labels:
            self.labels.append(label)
        labels = np.full(len(found), self.labels.index(label), dtype=np.int32)
        self.constraints.setdefault(kind, ConstraintBatch()).add(
            found if isinstance(found, list) else [found], labels, **values
        )

    def _keep_solid(self, tets: np.ndarray, surface: np.ndarray) -> None:
        """Record the tetrahedra of a solid, to detect inversion, and its surface, to draw it."""
        sides = self.positions[tets[:, 1:]] - self.positions[tets[:, :1]]
        self.tets = np.concatenate([self.tets, tets])
        self.tet_volumes = np.append(self.tet_volumes, np.linalg.det(sides) / 6.0)
        self.triangles = np.concatenate([self.triangles, surface])

    def add_collider(self, collider: Solid, moving: bool = False) -> int:
        """Add a solid obstacle.

        Args:
            collider: shape and place of the obstacle.
            moving: whether it has a pose in each environment, which :meth:`State.set_pose` sets and
                :meth:`Control.move_collider` moves. Particles do not push it.

        Returns:
            Number that identifies it.

        Raises:
            TypeError: if its shape is neither in :mod:`pbd_gym.colliders` nor registered there, or ``moving`` is not
                a bool.
            ValueError: for a mesh whose grid does not reach as far as the contact radius, or a collider that overlaps
            fluid or a nozzle.
        """
        if not isinstance(collider, Solid) or type(collider).__module__ not in [shape.__name__ for shape in shapes()]:
            raise TypeError(f"not a collider of a shape that is known: {collider!r}")
        switch("moving", moving)
        if collider.reach < self.contact_radius:
            raise ValueError(
                f"the grid of the mesh reaches {collider.reach:.3g} m beyond it, less than the contact radius of "
                f"{self.contact_radius} m: give it a larger margin"
            )
        if self.fluid is not None:
            check_clear(self.fluid, self.positions, collider)
        number = len(self.colliders)
        self.colliders.append(collider)
        if moving:
            self.moving_colliders.append(number)
        return number

    @property
    def has_particle_contacts(self) -> bool:
        """Whether particles collide with each other."""
        return bool(self.particle_contacts)

    def add_particle_contacts(
        self, indices: ArrayLike, radius: float, friction: float = 0.0, restitution: float = 0.0
    ) -> None:
        """Make particles of one body collide with each other and with those of other calls, as spheres.

        Particles of this body that are now closer than three radii do not collide: constraints keep them apart. To keep
        a cloth or a rope from passing through itself, the radius should be 0.4 to 0.5 of the particle distance.

        Args:
            indices: the particles, shape (k,), int, none of them passed before.
            radius: [m], above 0.
            friction: Coulomb coefficient; a pair uses the mean of its two.
            restitution: share of the speed with which they rebound from each other, 0 to 1; a pair uses the mean of its
                two. Surfaces do not rebound, and colliders use their own restitution.

        Raises:
            ValueError: for particles that do not exist or are named twice, a radius that is not above zero, a
                coefficient that is negative or not finite, or a restitution that is not from 0 to 1.
        """
        found = self._check_indices(np.reshape(indices, (-1, 1)), 1)[:, 0]
        number("radius", radius, most=FARTHEST, positive=True)
        number("friction", friction, 0.0, LARGEST)
        number("restitution", restitution, 0.0, 1.0)
        self._check_new_members(found)
        self.particle_contacts.append(balls(self.positions, found, radius, friction, restitution))

    def add_surface_contacts(
        self, triangles: ArrayLike, thickness: float, friction: float = 0.0, panels: bool = False
    ) -> None:
        """Make a surface collide with itself and with the bodies of other calls, as a sheet of some thickness.

        Its layers lie a thickness apart where they are smooth, whatever the particle distance; where they are creased
        they keep about the particle distance. See ``kernels/native/contact_geometry.h``. Particles that are now close
        along the surface do not collide: constraints keep them apart. Edges that have nevertheless been pulled through
        the surface are counted in :meth:`State.get_piercings`.

        Args:
            triangles: particles of its triangles, shape (t, 3), int, none of them passed before.
            thickness: [m], above 0, at most a quarter of the width of each connected piece.
            friction: Coulomb coefficient; a pair uses the mean of its two.
            panels: whether panels that now lie back to back, such as the front and the back of a shirt, are kept a
                thickness apart by constraints of the kind :mod:`pbd_gym.constraints.triangle_side`, one for each
                particle. As patches both would act as balls in a crease, wider than the gap between them, and spread
                the shirt.

        Raises:
            ValueError: for particles that do not exist or were passed before, a thickness that is not above zero, more
            than a quarter of the width of a connected piece or more than the current gap between two layers, or a
            coefficient that is negative or not finite.
        """
        found = self._check_indices(triangles, 3)
        number("thickness", thickness, most=FARTHEST, positive=True)
        number("friction", friction, 0.0, LARGEST)
        self._check_new_members(np.unique(found))
        group = surface(self.positions, found, thickness, friction, switch("panels", panels))
        self.particle_contacts.append(group)
        if len(group.sides):
            self.add_constraints("triangle_side", group.sides, distance=thickness)

    def add_air_drag(self, triangles: ArrayLike, normal: float = 1.2, tangential: float = 0.02) -> None:
        """Make triangles feel the air, once :meth:`pbd_gym.Control.set_wind` sets its motion.

        The formula is in :mod:`pbd_gym.kernels.motion.air_drag`. By default the coefficients are those of a square
        plate across the flow (Hoerner 1965, Fluid-Dynamic Drag, chapter 3), and of skin friction on both sides of it.

        Args:
            triangles: their particles, such as ``Cloth.triangles``, shape (t, 3), int.
            normal: coefficient of the flow along the normal, from 0.
            tangential: coefficient of the tangential flow, from 0.

        Raises:
            ValueError: for particles that do not exist, or a coefficient that is negative, not finite or above 1e6.
            TypeError: for a coefficient that is not a number.
        """
        found = self._check_indices(triangles, 3)
        number("normal", normal, 0.0, LARGEST)
        number("tangential", tangential, 0.0, LARGEST)
        self.dragged_triangles = np.concatenate([self.dragged_triangles, found])
        self.drag_coefficients = np.concatenate(
            [self.drag_coefficients, np.tile((normal, tangential), (len(found), 1))]
        )

    def _check_new_members(self, found: np.ndarray) -> None:
        known = np.concatenate([found, *(group.indices for group in self.particle_contacts)])
        if len(np.unique(known)) != len(known):
            raise ValueError("a particle can be passed to particle contacts only once")

    def pin(self, indices: ArrayLike) -> None:
        """Fix particles in space permanently, at rest.

        Raises:
            ValueError: for particles that do not exist.
        """
        found = self._check_indices(np.reshape(indices, (-1, 1)), 1)[:, 0]
        self.inv_mass[found] = 0.0
        self.velocities[found] = 0.0

    def _check_clusters(self, kind: str, clusters: Any) -> list[np.ndarray]:
        if not isinstance(clusters, Sequence | np.ndarray):
            raise TypeError(f"clusters must be a sequence of index arrays, got {clusters!r}")
        found = [self._check_indices(np.reshape(members, (-1, 1)), 1)[:, 0] for members in clusters]
        for place, members in enumerate(found):
            if len(members) < 2 or len(np.unique(members)) < len(members):
                raise ValueError(
                    f"a {kind} constraint needs at least 2 particles, all different: number {place} does not"
                )
        return found

    def _check_indices(self, indices: ArrayLike, width: int) -> np.ndarray:
        found = np.asarray(integers("indices", indices))
        if found.ndim != 2 or found.shape[1] != width or not np.issubdtype(found.dtype, np.integer):
            raise ValueError(
                f"indices must be integers of shape (m, {width}), got {found.dtype} of shape {found.shape}"
            )
        if found.size and (found.min() < 0 or found.max() >= self.particle_count):
            raise ValueError(f"indices must name particles 0 to {self.particle_count - 1}")
        return found.astype(np.int32)
