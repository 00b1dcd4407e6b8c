"""Scene: what one environment holds, in NumPy, before anything goes to a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.bodies import Cloth, Garment, SoftBody
from pbd_gym.checks import finite, whole
from pbd_gym.colliders import Collider
from pbd_gym.constraints import KINDS
from pbd_gym.constraints.dihedral import hinges
from pbd_gym.constraints.tether import attachments
from pbd_gym.fabrics import Cord, Fabric
from pbd_gym.materials import ClothMaterial, RopeMaterial, ShapeMaterial, SoftMaterial
from pbd_gym.meshes import grid
from pbd_gym.tetmeshes import TetMesh
from pbd_gym.trimeshes import TriMesh


@dataclass(frozen=True)
class ParticleContacts:
    """Particles of one body that collide as spheres."""

    indices: np.ndarray
    """Shape (k,), int32."""
    radius: float
    """[m]"""
    friction: float
    """Coulomb coefficient."""


@dataclass
class ConstraintBatch:
    """Constraints of one kind as they were added: the order that ``order="given"`` keeps."""

    indices: list[np.ndarray] = field(default_factory=list)
    """Particles: arrays of shape (m, k), or one of shape (k,) for each cluster."""
    values: dict[str, list[np.ndarray]] = field(default_factory=dict)
    labels: list[np.ndarray] = field(default_factory=list)

    def add(self, indices: Sequence[np.ndarray], label: np.ndarray, **values: np.ndarray) -> None:
        self.indices.extend(indices)
        self.labels.append(label)
        for name, value in values.items():
            self.values.setdefault(name, []).append(value)


class Scene:
    """What ONE environment holds: particles, constraints, colliders, pins and grips. y is up, units are SI.

    Args:
        gravity: acceleration [m/s^2], shape (3,).
        contact_radius: distance that particles keep from colliders [m].
        grip_count: how many hands (pickers) an environment has; each holds at most one particle.

    Raises:
        ValueError: if an argument has the wrong shape, is not finite, or is negative where it must not be.
    """

    def __init__(
        self, gravity: ArrayLike = (0.0, -9.81, 0.0), contact_radius: float = 0.005, grip_count: int = 0
    ) -> None:
        self.gravity = _array("gravity", gravity, (3,))
        if not (np.isfinite(contact_radius) and contact_radius >= 0):
            raise ValueError(f"contact_radius must be finite and not negative, got {contact_radius}")
        self.contact_radius = float(contact_radius)
        self.grip_count = whole("grip_count", grip_count, 0)
        self.positions = np.zeros((0, 3))
        """[m], shape (n, 3), float64."""
        self.velocities = np.zeros((0, 3))
        """[m/s], shape (n, 3), float64."""
        self.inv_mass = np.zeros(0)
        """[1/kg], shape (n,), float64; 0 is pinned."""
        self.dimensions = np.zeros(0, dtype=np.int32)
        """Of the body that a particle belongs to, shape (n,), int32: its mass grows with that power of the size."""
        self.mass = np.zeros(0)
        """[kg], shape (n,), float64; also of what is pinned."""
        self.triangles = np.zeros((0, 3), dtype=np.int32)
        """Surface to draw, shape (t, 3)."""
        self.lines = np.zeros((0, 2), dtype=np.int32)
        """Segments to draw, shape (l, 2)."""
        self.beads = np.zeros(0, dtype=np.int32)
        """Particles to draw as balls of the contact radius, shape (b,)."""
        self.colliders: list[Collider] = []
        self.moving_colliders: list[int] = []
        """Indices of the colliders that have a pose."""
        self.constraints: dict[str, ConstraintBatch] = {}
        self.labels: list[str] = []
        """Names of the groups of constraints whose stiffness can differ by itself."""
        self.particle_contacts: list[ParticleContacts] = []
        self.contact_capacity = 96
        """How many candidates for a contact a particle can have, in all environments that share a group of lanes."""

    @property
    def particle_count(self) -> int:
        """Number of particles, n."""
        return len(self.positions)

    def add_particles(
        self, positions: ArrayLike, mass: ArrayLike, velocities: ArrayLike = 0.0, dimension: int = 0
    ) -> np.ndarray:
        """Add loose particles.

        Args:
            positions: [m], shape (k, 3).
            mass: [kg], one number or shape (k,); all above 0 (fix a particle with :meth:`pin`).
            velocities: [m/s], one number or shape (k, 3).
            dimension: of the body they belong to, 1 for a rope, 2 for a sheet, 3 for a solid: where an environment has
                another ``size``, masses grow with that power of it. 0 keeps the masses given.

        Returns:
            Their indices, shape (k,), int32.

        Raises:
            ValueError: for a wrong shape, a number that is not finite, a mass of zero or less, or a dimension that is
                not 0 to 3.
        """
        positions = _array("positions", positions, (-1, 3))
        count = len(positions)
        mass = finite("mass", np.asarray(mass, dtype=np.float64), (count,))
        velocities = finite("velocities", np.asarray(velocities, dtype=np.float64), (count, 3))
        if (mass <= 0).any():
            raise ValueError("every mass must be above zero; use Scene.pin to fix a particle")
        if whole("dimension", dimension, 0) > 3:
            raise ValueError(f"dimension must be 0 to 3, got {dimension}")
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
        """Add constraints of any kind; their rest state is that of the particles as they are now.

        Args:
            kind: name of one of :data:`pbd_gym.constraints.KINDS`.
            indices: particles of each constraint, shape (m, k), int; for clusters also m arrays of any lengths.
            damping_time: time constant of the damping in proportion to the stiffness (Rayleigh), [s], one number or
                shape (m,); a motion that would oscillate with angular frequency w has the damping ratio w tau / 2.
            label: name under which the stiffness can differ per environment; that of the kind by default. See
                :meth:`pbd_gym.state.State.set_parameters`.
            **parameters: what ``prepare`` of that kind takes.

        Raises:
            ValueError: for an unknown kind, particles that do not exist, the same particle twice in a constraint, or
                parameters that are out of range.
            TypeError: for clusters that are no sequence.
        """
        kinds = {known.name: known for known in KINDS}
        if kind not in kinds:
            raise ValueError(f"kind must be one of {', '.join(kinds)}, got {kind!r}")
        chosen = kinds[kind]
        found: np.ndarray | list[np.ndarray]
        if chosen.width is None:
            found = self._check_clusters(indices)
        else:
            found = self._check_indices(indices, chosen.width)
            ordered = np.sort(found, axis=1)
            if (ordered[:, 1:] == ordered[:, :-1]).any():
                raise ValueError(f"a {kind} constraint needs {chosen.width} different particles")
        values = chosen.prepare(self.positions, found, **parameters)
        values["damping_time"] = finite("damping_time", np.asarray(damping_time, dtype=np.float64), (len(found),))
        if (values["damping_time"] < 0).any():
            raise ValueError("damping_time must not be negative")
        label = label or kind
        if label not in self.labels:
            self.labels.append(label)
        labels = np.full(len(found), self.labels.index(label), dtype=np.int32)
        self.constraints.setdefault(kind, ConstraintBatch()).add(
            found if isinstance(found, list) else [found], labels, **values
        )

    def add_cloth(
        self,
        rows: int,
        columns: int,
        size: tuple[float, float] = (1.0, 1.0),
        material: ClothMaterial | Fabric | None = None,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
    ) -> Cloth:
        """Add a rectangular cloth of ``rows`` x ``columns`` particles with stretch, shear and bending constraints.

        Args:
            rows: particles along the height, at least 2.
            columns: particles along the width, at least 2.
            size: width and height [m].
            material: what it is made of.
            position: where the middle of its upper edge goes [m], shape (3,).
            rotation: matrix applied before, shape (3, 3); without it the cloth hangs down in the plane z = 0.

        Returns:
            Its particles and triangles.

        Raises:
            ValueError: for fewer than 2 x 2 particles, a size that is not positive, cells too long for the fabric, or
                arrays of a wrong shape.
        """
        material = material or ClothMaterial()
        sheet = grid(rows, columns, *size)
        stretch, shear, bend = material.sheet_compliances(sheet)
        particles = self._place(sheet.positions, material.density * sheet.areas, position, rotation, dimension=2)
        self.add_distance_constraints(particles[sheet.structural], stretch, label="stretch")
        self.add_distance_constraints(particles[sheet.shear], shear, label="shear")
        if material.bending != "distance":
            self._add_hinges(particles[hinges(sheet.triangles)], material)
        elif bend is not None and len(sheet.bending):
            self.add_distance_constraints(particles[sheet.bending], bend, label="bend")
        self.triangles = np.concatenate([self.triangles, particles[sheet.triangles]])
        return Cloth(particles.reshape(rows, columns), particles[sheet.triangles])

    def add_garment(
        self,
        mesh: TriMesh,
        material: ClothMaterial | Fabric | None = None,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
    ) -> Garment:
        """Add a cloth of any shape: a distance constraint per edge, and one that bends per pair of adjacent triangles.

        Args:
            mesh: its shape at rest; see :mod:`pbd_gym.trimeshes`, :mod:`pbd_gym.garments` and :mod:`pbd_gym.meshfiles`.
            material: what it is made of; its ``bending`` chooses the constraint kind.
            position: where the origin of the mesh goes [m], shape (3,).
            rotation: matrix applied before, shape (3, 3).

        Returns:
            Its particles, triangles, openings and landmarks.

        Raises:
            ValueError: for arrays of a wrong shape.
        """
        material = material or ClothMaterial()
        stretch, found = material.edge_compliances(mesh), mesh.hinges()
        particles = self._place(mesh.positions, material.density * mesh.vertex_areas(), position, rotation, dimension=2)
        self.add_distance_constraints(particles[mesh.edges()], stretch, label="stretch")
        self._add_hinges(particles[found], material)
        self.triangles = np.concatenate([self.triangles, particles[mesh.triangles]])
        loops = [particles[loop] for loop in mesh.boundary_loops()]
        landmarks = {name: int(particles[vertex]) for name, vertex in mesh.landmarks.items()}
        return Garment(particles, particles[mesh.triangles], loops, landmarks)

    def add_rope(self, points: ArrayLike, material: RopeMaterial | Cord | None = None) -> np.ndarray:
        """Add a rope: a chain of particles with stretch and bending constraints.

        Args:
            points: where its particles lie now, in order, which is also its rest shape [m], shape (k, 3), k at least 2.
            material: what it is made of.

        Returns:
            Its particles in order, shape (k,), int32.

        Raises:
            ValueError: for fewer than two points, a segment without length, or a number that is not finite.
        """
        material = material or RopeMaterial()
        path = _array("points", points, (-1, 3))
        if len(path) < 2:
            raise ValueError(f"a rope needs at least 2 points, got {len(path)}")
        segments = np.linalg.norm(np.diff(path, axis=0), axis=1)
        if (segments == 0.0).any():
            raise ValueError(f"points {int(np.argmin(segments))} and {int(np.argmin(segments)) + 1} are the same")
        # Half of each segment belongs to either end: masses are added, then inverted.
        mass = 0.5 * material.linear_density * (np.append(segments, 0.0) + np.insert(segments, 0, 0.0))
        particles = self.add_particles(path, mass, dimension=1)
        links = np.stack([particles[:-1], particles[1:]], axis=1)
        self.add_distance_constraints(links, material.segment_compliances(segments), label="stretch")
        bend = material.joint_compliances(segments)
        if bend is not None and len(particles) > 2:
            skips = np.stack([particles[:-2], particles[2:]], axis=1)
            self.add_distance_constraints(skips, bend, label="bend")
        self.lines = np.concatenate([self.lines, links])
        return particles

    def add_soft_body(
        self,
        mesh: TetMesh,
        material: SoftMaterial | None = None,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
    ) -> SoftBody:
        """Add an elastic solid, made of the constraints that ``material.model`` names.

        Args:
            mesh: its shape at rest; see :mod:`pbd_gym.tetmeshes` and :mod:`pbd_gym.meshfiles`.
            material: what it is made of.
            position: where the origin of the mesh goes [m], shape (3,).
            rotation: matrix applied before, shape (3, 3).

        Returns:
            Its particles, tetrahedra and surface.

        Raises:
            ValueError: for a flat or inverted tetrahedron, or arrays of a wrong shape.
        """
        material = material or SoftMaterial()
        volumes = mesh.volumes()
        particles = self._place(
            mesh.positions, material.density * mesh.vertex_volumes(), position, rotation, dimension=3
        )
        tets, surface = particles[mesh.tets], particles[mesh.triangles]
        if material.model == "neo_hookean":
            for kind in ("tet_neo_hookean_shape", "tet_neo_hookean_volume"):
                self.add_constraints(
                    kind,
                    tets,
                    label="elastic",
                    young_modulus=material.young_modulus,
                    poisson_ratio=material.poisson_ratio,
                )
        else:
            sides = mesh.positions[mesh.edges]
            lengths = np.linalg.norm(sides[:, 1] - sides[:, 0], axis=1)
            spring, volume = material.edge_and_volume_compliances(lengths, mesh.edge_volumes(), volumes)
            if material.plasticity is None:
                self.add_distance_constraints(particles[mesh.edges], spring, label="elastic")
            else:
                self.add_constraints(
                    "plastic_distance",
                    particles[mesh.edges],
                    label="elastic",
                    compliance=spring,
                    **asdict(material.plasticity),
                )
            if np.isfinite(volume).all():
                self.add_constraints("tet_volume", tets, label="elastic", compliance=volume)
        self.triangles = np.concatenate([self.triangles, surface])
        return SoftBody(particles, tets, surface)

    def add_shape_matching(
        self,
        body: TetMesh | ArrayLike,
        material: ShapeMaterial | None = None,
        regions: Sequence[ArrayLike] | None = None,
        mass: ArrayLike | None = None,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
    ) -> SoftBody:
        """Add a body that keeps its shape by shape matching, whether it is a solid, a sheet or loose points.

        Args:
            body: its shape at rest: a mesh, or points [m], shape (k, 3).
            material: what it is made of.
            regions: clusters that keep their shape, each a sequence of vertices of the body; they may overlap, as those
                of :mod:`pbd_gym.regions` do. Without regions the whole body is one cluster, which deforms little.
            mass: [kg], one number or shape (k,), instead of the density; points need it.
            position: where the origin of the body goes [m], shape (3,).
            rotation: matrix applied before, shape (3, 3).

        Returns:
            Its particles, and the tetrahedra and surface of a mesh.

        Raises:
            ValueError: for points without a mass, regions of vertices that do not exist or in one place, or arrays of a
                wrong shape.
        """
        material = material or ShapeMaterial()
        if isinstance(body, TetMesh):
            points, tets, triangles = body.positions, body.tets, body.triangles
            dimension = 3 if mass is None else 0
            mass = material.density * body.vertex_volumes() if mass is None else mass
        else:
            points = _array("body", body, (-1, 3))
            tets, triangles = np.zeros((0, 4), dtype=np.int32), np.zeros((0, 3), dtype=np.int32)
            dimension = 0
            if mass is None:
                raise ValueError("points have no volume: give their mass")
        clusters = [np.arange(len(points))] if regions is None else [np.asarray(region) for region in regions]
        for number, members in enumerate(clusters):
            if not np.issubdtype(members.dtype, np.integer) or not ((members >= 0) & (members < len(points))).all():
                raise ValueError(f"region {number} must be integers from 0 to {len(points) - 1}")
        particles = self._place(points, mass, position, rotation, dimension)
        self.add_constraints(
            "shape_matching",
            [particles[members] for members in clusters],
            compliance=material.compliance,
            damping_time=material.damping_time,
        )
        surface = particles[triangles]
        self.triangles = np.concatenate([self.triangles, surface])
        return SoftBody(particles, particles[tets], surface)

    def _place(
        self, points: np.ndarray, mass: ArrayLike, position: ArrayLike, rotation: ArrayLike | None, dimension: int
    ) -> np.ndarray:
        """Add the particles of a body, turned and moved."""
        turn = np.eye(3) if rotation is None else _array("rotation", rotation, (3, 3))
        return self.add_particles(points @ turn.T + _array("position", position, (3,)), mass, dimension=dimension)

    def _add_hinges(self, found: np.ndarray, material: ClothMaterial | Fabric) -> None:
        """Add what bends between triangles: shared edge and wings, shape (h, 4)."""
        compliance = material.hinge_compliances(self.positions[found])
        if compliance is None or len(found) == 0:
            return
        if material.bending == "distance":
            self.add_distance_constraints(found[:, 2:], compliance, label="bend")
        else:
            self.add_constraints(material.bending, found, label="bend", compliance=compliance)

    def add_tethers(
        self,
        anchors: ArrayLike | None = None,
        edges: ArrayLike | None = None,
        slack: float = 0.0,
        compliance: ArrayLike = 0.0,
    ) -> np.ndarray:
        """Keep particles as near to where they hang as the material allows, however few iterations there are.

        Each particle gets a tether to the nearest anchor of each group of neighbouring anchors that it hangs on; see
        :mod:`pbd_gym.constraints.tether`. Add what is to be tethered first, and pin it.

        Args:
            anchors: particles that are fixed, shape (a,), int; by default all that are pinned.
            edges: pairs of particles along which the material reaches, shape (m, 2), int; their length is that now.
                By default those of the distance constraints, with the rest lengths of these.
            slack: how much longer than the way along the material a tether is, as a share of it; not negative.
            compliance: inverse stiffness of the tethers [m/N]; 0 is rigid.

        Returns:
            Anchor and particle of each tether, shape (k, 2), int32.

        Raises:
            ValueError: for particles that do not exist, no anchor, no edges, or a slack that is negative or not finite.
        """
        if not (np.isfinite(slack) and slack >= 0):
            raise ValueError(f"slack must be finite and not negative, got {slack}")
        fixed = np.flatnonzero(self.inv_mass == 0) if anchors is None else np.asarray(anchors)
        fixed = self._check_indices(np.reshape(fixed, (-1, 1)), 1)[:, 0]
        if not len(fixed):
            raise ValueError("tethers need anchors: pin particles first, or name some")
        if edges is None:
            batch = self.constraints.get("distance")
            if batch is None:
                raise ValueError("tethers need edges: add distance constraints first, or name edges")
            pairs, lengths = np.concatenate(batch.indices), np.concatenate(batch.values["rest_length"])
        else:
            pairs = self._check_indices(edges, 2)
            lengths = np.linalg.norm(self.positions[pairs[:, 0]] - self.positions[pairs[:, 1]], axis=1)
        found, ways = attachments(self.particle_count, pairs, lengths, fixed)
        if len(found):
            self.add_constraints("tether", found, compliance=compliance, rest_length=(1.0 + slack) * ways)
        return found

    def add_collider(self, collider: Collider, moving: bool = False) -> int:
        """Add a solid obstacle.

        Args:
            collider: its shape, and where it is.
            moving: whether it has a pose in each environment, which :meth:`State.set_pose` sets and
                :meth:`Control.move_collider` moves. Particles do not push it.

        Returns:
            Its number, to name it by.

        Raises:
            TypeError: if it is not one of the shapes in :mod:`pbd_gym.colliders`.
            ValueError: for a mesh whose grid reaches less far than the contact radius.
        """
        if not isinstance(collider, Collider):
            raise TypeError(f"not a collider: {collider!r}")
        if collider.reach < self.contact_radius:
            raise ValueError(
                f"the grid of the mesh reaches {collider.reach:.3g} m beyond it, less than the contact radius of "
                f"{self.contact_radius} m: give it a larger margin"
            )
        number = len(self.colliders)
        self.colliders.append(collider)
        if moving:
            self.moving_colliders.append(number)
        return number

    @property
    def has_particle_contacts(self) -> bool:
        """Whether particles collide with one another."""
        return bool(self.particle_contacts)

    def add_particle_contacts(self, indices: ArrayLike, radius: float, friction: float = 0.0) -> None:
        """Let particles of one body collide with one another and with those of other calls, as spheres.

        Particles of this body that are closer than three radii at rest, as they are now, do not collide: constraints
        hold them apart. To keep a cloth from passing through itself, the radius should be 0.4 to 0.5 of the distance of
        its particles.

        Args:
            indices: the particles, shape (k,), int, none of them named before.
            radius: [m], above 0.
            friction: Coulomb coefficient; that of a pair is the mean of its two.

        Raises:
            ValueError: for particles that do not exist or are named twice, a radius that is not above zero, or a
                coefficient that is negative or not finite.
        """
        found = self._check_indices(np.reshape(indices, (-1, 1)), 1)[:, 0]
        if not (np.isfinite(radius) and radius > 0):
            raise ValueError(f"radius must be finite and above zero, got {radius}")
        if not (np.isfinite(friction) and friction >= 0):
            raise ValueError(f"friction must be finite and not negative, got {friction}")
        known = np.concatenate([found, *(group.indices for group in self.particle_contacts)])
        if len(np.unique(known)) != len(known):
            raise ValueError("a particle can be named for particle contacts once only")
        self.particle_contacts.append(ParticleContacts(found, float(radius), float(friction)))

    def pin(self, indices: ArrayLike) -> None:
        """Fix particles in space for good, at rest.

        Raises:
            ValueError: for particles that do not exist.
        """
        found = self._check_indices(np.reshape(indices, (-1, 1)), 1)[:, 0]
        self.inv_mass[found] = 0.0
        self.velocities[found] = 0.0

    def _check_clusters(self, clusters: Any) -> list[np.ndarray]:
        if not isinstance(clusters, Sequence | np.ndarray):
            raise TypeError(f"clusters must be a sequence of index arrays, got {clusters!r}")
        found = [self._check_indices(np.reshape(members, (-1, 1)), 1)[:, 0] for members in clusters]
        for number, members in enumerate(found):
            if len(members) < 2 or len(np.unique(members)) < len(members):
                raise ValueError(f"a cluster needs at least 2 particles, all different: number {number} does not")
        return found

    def _check_indices(self, indices: ArrayLike, width: int) -> np.ndarray:
        found = np.asarray(indices)
        if found.ndim != 2 or found.shape[1] != width or not np.issubdtype(found.dtype, np.integer):
            raise ValueError(
                f"indices must be integers of shape (m, {width}), got {found.dtype} of shape {found.shape}"
            )
        if found.size and (found.min() < 0 or found.max() >= self.particle_count):
            raise ValueError(f"indices must name particles 0 to {self.particle_count - 1}")
        return found.astype(np.int32)


def _array(name: str, value: ArrayLike, shape: Sequence[int]) -> np.ndarray:
    """Return ``value`` as float64 of the given shape (-1 is any length), or raise a ValueError that names it."""
    array = np.array(value, dtype=np.float64)
    if array.ndim != len(shape) or any(want not in (-1, got) for want, got in zip(shape, array.shape, strict=True)):
        raise ValueError(f"{name} must have shape {tuple(shape)}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite")
    return array
