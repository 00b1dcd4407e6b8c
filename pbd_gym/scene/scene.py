"""Scene: what one environment holds, in NumPy, before anything goes to a device."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.tether import attachments
from pbd_gym.geometry.edges import hinges
from pbd_gym.geometry.grids import Grid, grid
from pbd_gym.geometry.paths import edge_paths, unfolded_links
from pbd_gym.geometry.tetmeshes import TetMesh
from pbd_gym.geometry.trimeshes import TriMesh, check_areas, check_indices, check_manifold, check_used, groups
from pbd_gym.materials import springs
from pbd_gym.materials.fabrics import Cord, Fabric
from pbd_gym.materials.materials import ClothMaterial, RopeMaterial, ShapeMaterial, SoftMaterial
from pbd_gym.runtime.checks import instance, number, shaped, switch
from pbd_gym.scene.rigid_scene import RigidScene
from pbd_gym.scene.tethered_body import TetheredBody

WRINKLE = 0.15
"""Share of its length by which a diagonal of cloth that wrinkles gets shorter for nothing. Without it a towel of 16 x
16 particles, folded along its bias, stands 5 cm high and creeps open. With more, cells collapse, and edges get through
triangles: 80 random actions leave 3 of 100 towels pierced with 0.15, 14 with 0.5, half of them with 1."""

GRAVITY = 9.81
"""On Earth [m/s^2]."""
MOST_WAYS = 2048
"""Vertices of a garment up to which it has tethers by default: a table of all ways along it takes 16 MiB then."""
LOADS = 100.0
"""How many times its own weight cloth may carry before its tethers do: they leave room for what it stretches by."""


@dataclass(frozen=True)
class Cloth:
    """Where a cloth sits among the particles of a scene."""

    indices: np.ndarray
    """Particle of row r and column c, shape (rows, columns), int32. Row 0 is the upper edge."""
    triangles: np.ndarray
    """Particles of each triangle, shape (t, 3), int32."""

    @property
    def corners(self) -> np.ndarray:
        """Particles at the corners, shape (4,): upper left, upper right, lower left, lower right."""
        return self.indices[[0, 0, -1, -1], [0, -1, 0, -1]]


@dataclass(frozen=True)
class SoftBody:
    """Where an elastic solid sits among the particles of a scene."""

    indices: np.ndarray
    """Its particles, shape (k,), int32."""
    tets: np.ndarray
    """Particles of each tetrahedron, shape (m, 4), int32."""
    triangles: np.ndarray
    """Particles of each triangle of its surface, counter-clockwise from outside, shape (t, 3), int32."""


@dataclass(frozen=True)
class Garment:
    """Where a cloth of any shape sits among the particles of a scene."""

    indices: np.ndarray
    """Its particles, shape (k,), int32; vertex i of the mesh is particle ``indices[i]``."""
    triangles: np.ndarray
    """Particles of each triangle, shape (t, 3), int32."""
    boundary_loops: list[np.ndarray]
    """Particles round each opening, in order, shape (b,) each, int32."""
    landmarks: Mapping[str, int]
    """Particles that have a name."""


class Scene(RigidScene):
    """What ONE environment holds: particles, constraints, colliders, pins and grips. y is up, units are SI.

    Args:
        gravity: acceleration [m/s^2], shape (3,).
        contact_radius: distance that particles keep from colliders [m].
        grip_count: how many hands (pickers) an environment has; each holds at most one particle.

    Raises:
        ValueError: if an argument has the wrong shape, is not finite, or is negative where it must not be.
    """

    def add_cloth(
        self,
        rows: int,
        columns: int,
        size: tuple[float, float] = (1.0, 1.0),
        material: ClothMaterial | Fabric | None = None,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        lines: bool = True,
        tethers: bool | None = None,
        wrinkles: bool = False,
    ) -> Cloth:
        """Add a rectangular cloth of ``rows`` x ``columns`` particles with stretch, shear and bending constraints.

        Args:
            rows: particles along the height, at least 2.
            columns: particles along the width, at least 2.
            size: width and height [m].
            material: what it is made of.
            position: where the middle of its upper edge goes [m], shape (3,).
            rotation: orthonormal matrix applied before, shape (3, 3); without it the cloth hangs down at z = 0.
            lines: whether each thread of the weave is solved as a whole (:mod:`pbd_gym.constraints.line`), and answers
                a pull as the material says; single segments do so with far shorter substeps only.
            tethers: whether nothing gets farther from what a grip holds, or from a pin, than along the cloth at rest;
                see :meth:`add_grip_tethers`. By default, where there are lines, so far and as much farther as
                :data:`LOADS` times its weight would stretch the cloth.
            wrinkles: whether the diagonals of cells get shorter by :data:`WRINKLE` before they push, as those of a
                cloth that buckles between its particles. A coarse cloth that does not hardly folds across them.

        Returns:
            Its particles and triangles.

        Raises:
            TypeError: for a material of something else, or anything but numbers where numbers are due.
            ValueError: for fewer than 2 x 2 particles, a size that is not positive, cells too long for the fabric, a
                rotation that does not keep lengths, or arrays of a wrong shape.
        """
        width, height = shaped("size", size, (2,)).tolist()
        sheet = grid(rows, columns, width, height)
        fixed = None if tethers is None else switch("tethers", tethers)
        material = _made_of(material, ClothMaterial, Fabric)
        particles = self.add_sheet(sheet, material, position, rotation, lines, bool(fixed), wrinkles)
        if fixed is None and lines:
            slack = _give(material.sheet_compliances(sheet)[0], self.mass[particles], sheet.areas)
            self.add_grip_tethers(particles, particles[sheet.edges], sheet.positions[:, :2], slack)
        return Cloth(particles.reshape(rows, columns), particles[sheet.triangles])

    def add_sheet(
        self,
        sheet: Grid,
        material: ClothMaterial | Fabric | None = None,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        lines: bool = True,
        tethers: bool = False,
        wrinkles: bool = False,
    ) -> np.ndarray:
        """Add a piece of a rectangular weave, whole or cut out: see :meth:`add_cloth`.

        Args:
            sheet: its particles, threads and cells, as :func:`pbd_gym.geometry.grids.grid` makes them. Tethers
                need a convex piece.
            material: what it is made of.
            position: where the origin of the sheet goes [m], shape (3,).
            rotation: orthonormal matrix applied before, shape (3, 3).
            lines: whether each thread is solved as a whole.
            tethers: whether nothing gets farther from what a grip holds, or from a pin, than along the sheet at rest.
            wrinkles: whether the diagonals of cells get shorter by :data:`WRINKLE` before they push.

        Returns:
            Its particles, shape (k,), int32.

        Raises:
            TypeError: for a material of something else, or anything but numbers where numbers are due.
            ValueError: for a particle without area, cells too long for the fabric, a rotation that does not keep
                lengths, or arrays of a wrong shape.
        """
        bare = np.flatnonzero(sheet.areas <= 0.0)
        if len(bare):
            raise ValueError(f"{len(bare)} particles of the sheet stand for no area; the first is number {bare[0]}")
        material = _made_of(material, ClothMaterial, Fabric)
        stretch, shear, bend = material.sheet_compliances(sheet, switch("wrinkles", wrinkles))
        particles = self._place(sheet.positions, material.density * sheet.areas, position, rotation, dimension=2)
        if not switch("lines", lines):
            self.add_distance_constraints(particles[sheet.structural], stretch, label="stretch")
        kind, numbers = ("slack_distance", {"slack": WRINKLE}) if wrinkles else ("distance", {})
        self.add_constraints(kind, particles[sheet.shear], label="shear", compliance=shear, **numbers)
        if material.bending not in ("distance", "thread_bending"):
            self._add_hinges(particles[hinges(sheet.triangles)], material)
        elif bend is not None and len(sheet.bending):
            if material.bending == "distance":
                self.add_distance_constraints(particles[sheet.bending], bend, label="bend")
            else:
                threes = particles[np.insert(sheet.bending, 1, sheet.bending_middles, axis=1)]
                self.add_constraints("thread_bending", threes, label="bend", compliance=bend)
        if lines:
            self._add_lines(particles, sheet.positions, sheet.structural, stretch)
        if switch("tethers", tethers):
            self.add_grip_tethers(particles, particles[sheet.edges], sheet.positions[:, :2])
        self.triangles = np.concatenate([self.triangles, particles[sheet.triangles]])
        return particles

    def add_garment(
        self,
        mesh: TriMesh,
        material: ClothMaterial | Fabric | None = None,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        lines: bool = True,
        tethers: bool | None = None,
    ) -> Garment:
        """Add a cloth of any shape: a distance constraint per edge, and one that bends per pair of adjacent triangles.

        Vertices at the same place are not joined: where triangles meet at different ones, there is a slit.
        :func:`pbd_gym.geometry.trimeshes.trimesh` joins them.

        Args:
            mesh: its shape at rest; see the modules trimeshes, garments and mesh_files of :mod:`pbd_gym.geometry`.
            material: what it is made of; its ``bending`` chooses the constraint kind.
            position: where the origin of the mesh goes [m], shape (3,).
            rotation: orthonormal matrix applied before, shape (3, 3).
            lines: whether paths along the edges that go nearly straight are each solved as a whole; see
                :func:`pbd_gym.geometry.paths.edge_paths` and :meth:`add_cloth`.
            tethers: whether nothing gets farther from what a grip holds, or from a pin, than along the cloth at
                rest; see :meth:`add_grip_tethers`. By default as those of :meth:`add_cloth`, unless the mesh is in
                several pieces or has more than :data:`MOST_WAYS` vertices.

        Returns:
            Its particles, triangles, openings and landmarks.

        Raises:
            TypeError: for a mesh or a material of something else.
            ValueError: for a vertex that belongs to no triangle, a triangle that names a vertex that is not there, is
                there twice, has no area or turns the other way than its neighbour, arrays of a wrong shape, and as
                :meth:`add_grip_tethers` does.
        """
        instance("mesh", mesh, TriMesh)
        check_indices(mesh.positions, mesh.triangles)
        check_used(len(mesh.positions), mesh.triangles, "triangle")
        check_manifold(mesh.triangles)
        check_areas(mesh.positions, mesh.triangles)
        material = _made_of(material, ClothMaterial, Fabric)
        fixed = tethers is not None and switch("tethers", tethers)
        body = self._tethered_mesh(mesh, self.particle_count) if fixed else []
        stretch, found = material.edge_compliances(mesh), mesh.hinges()
        particles = self._place(mesh.positions, material.density * mesh.vertex_areas(), position, rotation, dimension=2)
        if not switch("lines", lines):
            self.add_distance_constraints(particles[mesh.edges()], stretch, label="stretch")
        self._add_hinges(particles[found], material)
        if lines:
            self._add_lines(particles, mesh.positions, mesh.edges(), stretch)
        if lines and tethers is None and len(particles) <= MOST_WAYS and not mesh.components().any():
            slack = _give(stretch, self.mass[particles], mesh.areas())
            body = self._tethered_mesh(mesh, int(particles[0]), slack)
        self.tethered_bodies += body
        self.triangles = np.concatenate([self.triangles, particles[mesh.triangles]])
        loops = [particles[loop] for loop in mesh.boundary_loops()]
        landmarks = {name: int(particles[vertex]) for name, vertex in mesh.landmarks.items()}
        return Garment(particles, particles[mesh.triangles], loops, landmarks)

    def add_rope(
        self,
        points: ArrayLike,
        material: RopeMaterial | Cord | None = None,
        lines: bool = True,
        tethers: bool = False,
    ) -> np.ndarray:
        """Add a rope: a chain of particles with stretch and bending constraints.

        Args:
            points: where its particles lie now, in order, which is also its rest shape [m], shape (k, 3), k at least 2.
            material: what it is made of.
            lines: whether all segments are solved at once, so that the rope answers a pull with the force that the
                material says; see :mod:`pbd_gym.constraints.line`.
            tethers: whether nothing gets farther from what a grip holds, or from a pin, than along the rope at
                rest; see :meth:`add_grip_tethers`. A rope that is a line needs none: its length is exact, and what
                hangs on it stretches it as the material says.

        Returns:
            Its particles in order, shape (k,), int32.

        Raises:
            TypeError: for a material of something else, or points that are no numbers.
            ValueError: for fewer than two points, a segment without length, or a number that is not finite.
        """
        material = _made_of(material, RopeMaterial, Cord)
        path = shaped("points", points, (-1, 3))
        if len(path) < 2:
            raise ValueError(f"a rope needs at least 2 points, got {len(path)}")
        segments = np.linalg.norm(np.diff(path, axis=0), axis=1)
        if (segments == 0.0).any():
            raise ValueError(f"points {int(np.argmin(segments))} and {int(np.argmin(segments)) + 1} are the same")
        # Half of each segment belongs to either end: masses are added, then inverted.
        mass = 0.5 * material.linear_density * (np.append(segments, 0.0) + np.insert(segments, 0, 0.0))
        particles = self.add_particles(path, mass, dimension=1)
        links = np.stack([particles[:-1], particles[1:]], axis=1)
        stretch = material.segment_compliances(segments)
        if not switch("lines", lines):
            self.add_distance_constraints(links, stretch, label="stretch")
        bend = material.joint_compliances(segments)
        if bend is not None and len(particles) > 2:
            skips = np.stack([particles[:-2], particles[2:]], axis=1)
            self.add_distance_constraints(skips, bend, label="bend")
        if lines:
            self.add_constraints("line", [particles], label="stretch", compliance=stretch)
        if switch("tethers", tethers):
            along = np.insert(np.cumsum(segments), 0, 0.0)
            self.add_grip_tethers(particles, links, np.stack([along, np.zeros_like(along)], axis=1))
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
            mesh: its shape at rest; see :mod:`pbd_gym.geometry.tetmeshes` and :mod:`pbd_gym.geometry.mesh_files`.
            material: what it is made of.
            position: where the origin of the mesh goes [m], shape (3,).
            rotation: orthonormal matrix applied before, shape (3, 3).

        Returns:
            Its particles, tetrahedra and surface.

        Raises:
            TypeError: for a mesh or a material of something else.
            ValueError: for a flat or inverted tetrahedron, a vertex that belongs to none, or arrays of a wrong shape.
        """
        if isinstance(mesh, TriMesh):
            raise TypeError(
                "mesh must be a TetMesh, got a TriMesh, which is a surface: fill it with geometry.lattice("
                "mesh.positions, mesh.triangles, spacing)"
            )
        instance("mesh", mesh, TetMesh)
        _check_solid(mesh)
        material = _made_of(material, SoftMaterial)
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
        self._keep_solid(tets, surface)
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
                of :mod:`pbd_gym.geometry.regions` do. Without regions the body is one cluster, which deforms little.
            mass: [kg], one number or shape (k,), instead of the density; points need it.
            position: where the origin of the body goes [m], shape (3,).
            rotation: orthonormal matrix applied before, shape (3, 3).

        Returns:
            Its particles, and the tetrahedra and surface of a mesh.

        Raises:
            TypeError: for a material of something else, or anything but numbers where numbers are due.
            ValueError: for points without a mass, a mesh without one that :meth:`add_soft_body` would refuse, regions
                of vertices that do not exist or in one place, or arrays of a wrong shape.
        """
        material = _made_of(material, ShapeMaterial)
        if isinstance(body, TetMesh):
            points, tets, triangles = body.positions, body.tets, body.triangles
            dimension = 3 if mass is None else 0
            if mass is None:
                _check_solid(body)
            mass = material.density * body.vertex_volumes() if mass is None else mass
        else:
            points = shaped("body", body, (-1, 3))
            tets, triangles = np.zeros((0, 4), dtype=np.int32), np.zeros((0, 3), dtype=np.int32)
            dimension = 0
            if mass is None:
                raise ValueError("points have no volume: give their mass")
        clusters = [np.arange(len(points))] if regions is None else [np.asarray(region) for region in regions]
        for place, members in enumerate(clusters):
            if not np.issubdtype(members.dtype, np.integer) or not ((members >= 0) & (members < len(points))).all():
                raise ValueError(f"region {place} must be integers from 0 to {len(points) - 1}")
        particles = self._place(points, mass, position, rotation, dimension)
        self.add_constraints(
            "shape_matching",
            [particles[members] for members in clusters],
            compliance=material.compliance,
            damping_time=material.damping_time,
        )
        tets, surface = particles[tets], particles[triangles]
        self._keep_solid(tets, surface)
        return SoftBody(particles, tets, surface)

    def add_grip_tethers(
        self,
        particles: ArrayLike,
        edges: ArrayLike | None = None,
        pattern: ArrayLike | None = None,
        slack: float = 0.0,
    ) -> None:
        """Keep a body together round whatever holds it: grips, from the step on in which they close, and pins.

        No particle of the body gets farther from a particle of it that is held or pinned than the way along the body
        at rest, times the size of the environment, unless a collider catches it. It may come nearer. Where two hands
        are farther apart than the body between them, all tethers of that environment grow in proportion: it stretches
        evenly, to a few percent, and nothing tears. The hands then also feel what tethers carry: more than the
        material pulls with by itself.

        It costs next to nothing while nothing is held; otherwise a few operations for each particle and anchor in every
        iteration. Of more than eight pins, the eight have tethers that are farthest from one another; for pins that
        never change :meth:`add_tethers` is an alternative. The order of constraints in an iteration is: these, then
        constraints by kind, lines last, and these again where hands are too far apart by more than a percent.

        Args:
            particles: the body, shape (k,), int, one number after the other, as builders return them.
            edges: pairs of its particles along which the material reaches, shape (m, 2), int; by default those of the
                distance constraints and lines.
            pattern: places in its pattern [m], shape (k, 2), if that is flat and convex: the way between two particles
                is then a straight line in it. Otherwise ways are the shortest ones along edges, in a table of k x k
                numbers that all environments share.
            slack: how much longer than the way a tether is, as a share of it; not negative.

        Raises:
            TypeError: for anything but numbers.
            ValueError: for particles that do not exist, do not follow one another or have tethers already, edges that
                leave the body, a body in several pieces, one of more than 8,192 particles without a pattern, a pattern
                of another shape, or a slack that is negative or not finite.
        """
        number("slack", slack, 0.0)
        members = self._check_indices(np.reshape(particles, (-1, 1)), 1)[:, 0]
        count = len(members)
        if not count or (np.diff(members) != 1).any():
            raise ValueError("particles of a tethered body must be numbers that follow one another, at least one")
        first = int(members[0])
        for body in self.tethered_bodies:
            if first < body.first + body.count and body.first < first + count:
                raise ValueError(f"particles {max(first, body.first)} and on have tethers already")
        if edges is None:
            pairs, lengths = self._lengths()
            inside = ((pairs >= first) & (pairs < first + count)).all(axis=1)
            pairs, lengths = pairs[inside], lengths[inside]
        else:
            pairs = self._check_indices(edges, 2)
            if len(pairs) and (pairs.min() < first or pairs.max() >= first + count):
                raise ValueError("edges of a tethered body must join two of its own particles")
            lengths = np.linalg.norm(self.positions[pairs[:, 0]] - self.positions[pairs[:, 1]], axis=1)
        places = None if pattern is None else shaped("pattern", pattern, (count, 2))
        at_rest = self.positions[members].copy()
        self.tethered_bodies.append(TetheredBody(first, at_rest, pairs - first, lengths, places, float(slack)))

    def _tethered_mesh(self, mesh: TriMesh, first: int, slack: float = 0.0) -> list[TetheredBody]:
        """Return the body that a mesh will be, so that what is wrong with it shows before anything is added."""
        edges = mesh.edges()
        lengths = np.linalg.norm(mesh.positions[edges[:, 0]] - mesh.positions[edges[:, 1]], axis=1)
        links, across = unfolded_links(mesh.positions, mesh.hinges())
        edges, lengths = np.concatenate([edges, links]), np.concatenate([lengths, across])
        return [TetheredBody(first, mesh.positions, edges, lengths, slack=slack)]

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
                By default those of the distance constraints and lines, with their rest lengths.
            slack: how much longer than the way along the material a tether is, as a share of it; not negative.
            compliance: inverse stiffness of the tethers [m/N]; 0 is rigid.

        Returns:
            Anchor and particle of each tether, shape (k, 2), int32.

        Raises:
            ValueError: for particles that do not exist, no anchor, one that is named and that no edge leads from, no
                edges, edges that are named and that no way joins to an anchor, or a slack that is negative or not
                finite.
        """
        number("slack", slack, 0.0)
        fixed = np.flatnonzero(self.inv_mass == 0) if anchors is None else np.asarray(anchors)
        fixed = self._check_indices(np.reshape(fixed, (-1, 1)), 1)[:, 0]
        if not len(fixed):
            raise ValueError("tethers need anchors: pin particles first, or name some")
        if edges is None:
            pairs, lengths = self._lengths()
        else:
            pairs = self._check_indices(edges, 2)
            lengths = np.linalg.norm(self.positions[pairs[:, 0]] - self.positions[pairs[:, 1]], axis=1)
        if anchors is not None:
            joined = np.unique(pairs)
            apart = fixed[~np.isin(fixed, joined)]
            if len(apart):
                raise ValueError(
                    f"the cloth is cut at anchor {apart[0]}: no edge leads from it, so nothing can hang on it"
                )
        if edges is not None:
            piece = groups(self.particle_count, pairs)
            loose = pairs[~np.isin(piece[pairs[:, 0]], piece[fixed])]
            if len(loose):
                raise ValueError(f"no anchor holds the edge {tuple(loose[0].tolist())}: no way along edges leads there")
        found, ways = attachments(self.particle_count, pairs, lengths, fixed)
        if len(found):
            self.add_constraints("tether", found, compliance=compliance, rest_length=(1.0 + slack) * ways)
        return found

    def _lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs of particles that the material keeps at a length, shape (m, 2), and the lengths [m]."""
        pairs, lengths = [np.zeros((0, 2), dtype=np.int32)], [np.zeros(0)]
        if "distance" in self.constraints:
            batch = self.constraints["distance"]
            pairs, lengths = [*pairs, *batch.indices], [*lengths, *batch.values["rest_length"]]
        if "line" in self.constraints:
            batch = self.constraints["line"]
            ends = np.cumsum([len(line) for line in batch.indices]) - 1
            pairs += [np.stack([line[:-1], line[1:]], axis=1) for line in batch.indices]
            lengths.append(np.delete(np.concatenate(batch.values["rest_length"]), ends))
        found = np.concatenate(pairs)
        if not len(found):
            raise ValueError("tethers need edges: add distance constraints or lines first, or name edges")
        return found, np.concatenate(lengths)

    def _add_lines(
        self, particles: np.ndarray, positions: np.ndarray, edges: np.ndarray, compliance: np.ndarray
    ) -> None:
        """Add the edges of a body as lines: vertices of ``edges``, shape (m, 2), one compliance for each [m/N]."""
        paths = edge_paths(positions, edges)
        known = {(min(a, b), max(a, b)): value for (a, b), value in zip(edges.tolist(), compliance, strict=True)}
        pairs = [(int(min(a, b)), int(max(a, b))) for path in paths for a, b in itertools.pairwise(path)]
        values = [known[pair] for pair in pairs]
        self.add_constraints("line", [particles[path] for path in paths], label="stretch", compliance=values)

    def _add_hinges(self, found: np.ndarray, material: ClothMaterial | Fabric) -> None:
        """Add what bends between triangles: shared edge and wings, shape (h, 4)."""
        compliance = material.hinge_compliances(self.positions[found])
        if compliance is None or len(found) == 0:
            return
        if material.bending == "distance":
            self.add_distance_constraints(found[:, 2:], compliance, label="bend")
        else:
            self.add_constraints(springs.hinge_kind(material.bending), found, label="bend", compliance=compliance)


def _check_solid(mesh: TetMesh) -> None:
    """Raise a ValueError for vertices and tetrahedra from which no mass follows."""
    check_used(len(mesh.positions), mesh.tets, "tetrahedron")
    wrong = np.flatnonzero(mesh.volumes() <= 0.0)
    if len(wrong):
        raise ValueError(f"{len(wrong)} tetrahedra are flat or inverted; the first is number {wrong[0]}")


def _give(compliances: np.ndarray, mass: np.ndarray, areas: np.ndarray) -> float:
    """Return the strain of a cloth that carries :data:`LOADS` times its weight, roughly, as if it were square.

    Args:
        compliances: of its threads' segments [m/N], shape (m,).
        mass: of its particles [kg], shape (k,).
        areas: of its parts [m^2], shape (a,).
    """
    return float(LOADS * GRAVITY * mass.sum() * compliances.mean() / np.sqrt(areas.sum()))


def _made_of(material: Any, usual: type, *others: type) -> Any:
    """Return the material given, which must be of one of these types, or the usual one."""
    return usual() if material is None else instance("material", material, (usual, *others))
