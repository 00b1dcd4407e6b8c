"""Scene: the contents of one environment, in NumPy, before anything goes to a device."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.tether import attachments
from pbd_gym.geometry.edges import hinges
from pbd_gym.geometry.embedding import embed, skin_masses
from pbd_gym.geometry.grids import Grid, grid
from pbd_gym.geometry.paths import edge_paths, unfolded_links
from pbd_gym.geometry.tetmeshes import TetMesh
from pbd_gym.geometry.trimeshes import TriMesh, check_areas, check_indices, check_manifold, check_used, groups
from pbd_gym.materials import springs
from pbd_gym.materials.fabrics import Cord, Fabric
from pbd_gym.materials.materials import ClothMaterial, RopeMaterial, ShapeMaterial, SoftMaterial
from pbd_gym.runtime.checks import instance, number, shaped, switch
from pbd_gym.scene.bodies import Cloth, Garment, SoftBody
from pbd_gym.scene.rigid_scene import RigidScene
from pbd_gym.scene.tethered_body import TetheredBody
from pbd_gym.scene.units import GRAVITY

WRINKLE = 0.15
"""Share of its length by which a diagonal of wrinkling cloth shortens without resistance. Without it a towel of 16 x 16
particles, folded along its bias, stands 5 cm high and creeps open. With more, cells collapse, and edges get through
triangles: 80 random actions leave 3 of 100 towels pierced with 0.15, 14 with 0.5, half of them with 1.
"""

MOST_WAYS = 2048
"""Largest number of garment vertices with tethers by default: the table of all paths along it then takes 16 MiB."""
LOADS = 100.0
"""Multiple of its own weight that cloth may carry before its tethers do: they leave room for that stretch."""


class Scene(RigidScene):
    """Contents of ONE environment: particles, constraints, colliders, pins and grips. y is up, units are SI.

    Args:
        gravity: acceleration [m/s^2], shape (3,).
        contact_radius: distance that particles keep from colliders [m].
        grip_count: number of hands (grips) of an environment; each holds at most one particle.
        meters_per_unit: length of the scene's unit [m], such as 0.001 where all numbers are in millimetres, so that
            gravity is 9810. By default the unit in which gravity is that of the Earth (metres, centimetres,
            millimetres, inches or feet), otherwise metres. Kilograms and seconds stay, so a force of 1 N is then 1000,
            and materials have to be given in these units. Speeds and lengths of the engine's own, such as the speed at
            which overlaps leave, follow: a scene moves the same in any unit.

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
            material: material of the cloth.
            position: place of the middle of its upper edge [m], shape (3,).
            rotation: orthonormal matrix applied first, shape (3, 3); without it the cloth hangs down at z = 0.
            lines: whether each thread of the weave is solved as a whole (:mod:`pbd_gym.constraints.line`), and resists
                a pull as the material says; single segments do so only with far shorter substeps.
            tethers: whether particles are kept no farther from a held or pinned one than along the cloth at rest; see
                :meth:`add_grip_tethers`. By default on if there are lines, slack for :data:`LOADS` times its weight.
            wrinkles: whether the diagonals of cells shorten by :data:`WRINKLE` before they push, like those of a cloth
                that buckles between its particles. Otherwise a coarse cloth hardly folds across them.

        Returns:
            Its particles and triangles.

        Raises:
            TypeError: for another type of material, or anything but numbers where numbers are expected.
            ValueError: for fewer than 2 x 2 particles, a size that is not positive, cells too long for the fabric, a
                rotation that does not keep lengths, or arrays of a wrong shape.
        """
        width, height = shaped("size", size, (2,)).tolist()
        sheet = grid(rows, columns, width, height)
        fixed = None if tethers is None else switch("tethers", tethers)
        material = _made_of(material, ClothMaterial, Fabric)
        particles = self.add_sheet(sheet, material, position, rotation, lines, bool(fixed), wrinkles)
        if fixed is None and lines:
            slack = _give(material.sheet_compliances(sheet)[0], self.mass[particles], sheet.areas, self.meter)
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
            sheet: particles, threads and cells, as made by :func:`pbd_gym.geometry.grids.grid`. Tethers need a convex
                piece.
            material: material of the cloth.
            position: place of the sheet's origin [m], shape (3,).
            rotation: orthonormal matrix applied first, shape (3, 3).
            lines: whether each thread is solved as a whole.
            tethers: as in :meth:`add_cloth`.
            wrinkles: as there.

        Returns:
            Its particles, shape (k,), int32.

        Raises:
            TypeError: for another type of material, or anything but numbers where numbers are expected.
            ValueError: for a particle without area, cells too long for the fabric, a rotation that does not keep
                lengths, or arrays of a wrong shape.
        """
        bare = np.flatnonzero(sheet.areas <= 0.0)
        if len(bare):
            raise ValueError(f"{len(bare)} particles of the sheet represent no area; the first is number {bare[0]}")
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
        """Add a cloth of any shape.

        A distance constraint per edge, and a bending constraint per pair of adjacent triangles.

        Coincident vertices are not joined, so triangles that do not share theirs are separated by a slit.
        :func:`pbd_gym.geometry.trimeshes.trimesh` joins them.

        Args:
            mesh: rest shape; see the modules trimeshes, garments and mesh_files of :mod:`pbd_gym.geometry`.
            material: material of the cloth; its ``bending`` chooses the constraint kind.
            position: place of the mesh's origin [m], shape (3,).
            rotation: orthonormal matrix applied first, shape (3, 3).
            lines: as in :meth:`add_cloth`, of nearly straight paths (:func:`pbd_gym.geometry.paths.edge_paths`).
            tethers: as in :meth:`add_cloth`, by default off if the mesh is in several pieces or has more than
                :data:`MOST_WAYS` vertices.

        Returns:
            Its particles, triangles, openings and landmarks.

        Raises:
            TypeError: for another type of mesh or material.
            ValueError: for a vertex that belongs to no triangle, a triangle that names an unknown vertex, is
            duplicated, has no area or has the opposite orientation to its neighbour, arrays of a wrong shape, and as
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
            slack = _give(stretch, self.mass[particles], mesh.areas(), self.meter)
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
            points: positions of its particles, also its rest shape [m], shape (k, 3), k at least 2.
            material: material of the rope.
            lines: whether all segments are solved at once (:mod:`pbd_gym.constraints.line`), so that the rope resists a
                pull as the material says.
            tethers: whether particles are kept as in :meth:`add_cloth`. A rope that is a line needs none: its length is
                exact, and a load stretches it as the material says.

        Returns:
            Its particles in order, shape (k,), int32.

        Raises:
            TypeError: for another type of material, or points that are not numbers.
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
        skin: TriMesh | None = None,
    ) -> SoftBody:
        """Add an elastic solid, made of the constraints that ``material.model`` names.

        Args:
            mesh: rest shape; see :mod:`pbd_gym.geometry.tetmeshes` and :mod:`pbd_gym.geometry.mesh_files`.
            material: material of the solid.
            position: place of the mesh's origin [m], shape (3,).
            rotation: orthonormal matrix applied first, shape (3, 3).
            skin: finer surface in the place of the mesh's own, in pictures, files and contacts alike. Its vertices are
                particles that tetrahedra carry (:mod:`pbd_gym.constraints.embedded_point`), and get part of the mass
                of these. Coarse particles outside it would touch first: :func:`pbd_gym.geometry.cage` has none.

        Returns:
            Its particles, tetrahedra and surface.

        Raises:
            TypeError: for another type of mesh, material or skin.
            ValueError: for a flat or inverted tetrahedron, a vertex that belongs to no tetrahedron, or arrays of a
            wrong shape.
        """
        if isinstance(mesh, TriMesh):
            raise TypeError(
                "mesh must be a TetMesh, got a TriMesh, which is a surface: fill it with geometry.lattice("
                "mesh.positions, mesh.triangles, spacing)"
            )
        instance("mesh", mesh, TetMesh)
        _check_solid(mesh)
        material = _made_of(material, SoftMaterial)
        volumes, mass = mesh.volumes(), material.density * mesh.vertex_volumes()
        if skin is not None:
            cells, weights = embed(instance("skin", skin, TriMesh).positions, mesh)
            mass, light = skin_masses(mass, mesh.tets[cells], weights, skin.vertex_areas())
        particles = self._place(mesh.positions, mass, position, rotation, dimension=3)
        tets, surface = particles[mesh.tets], particles[mesh.triangles]
        damped: Any = {"label": "elastic", "damping_time": material.damping_time}
        if material.model == "neo_hookean":
            for kind in ("tet_neo_hookean_shape", "tet_neo_hookean_volume"):
                self.add_constraints(
                    kind,
                    tets,
                    **damped,
                    young_modulus=material.young_modulus,
                    poisson_ratio=material.poisson_ratio,
                )
        else:
            sides = mesh.positions[mesh.edges]
            lengths = np.linalg.norm(sides[:, 1] - sides[:, 0], axis=1)
            spring, volume = material.edge_and_volume_compliances(lengths, mesh.edge_volumes(), volumes)
            if material.plasticity is None:
                self.add_constraints("distance", particles[mesh.edges], compliance=spring, **damped)
            else:
                self.add_constraints(
                    "plastic_distance",
                    particles[mesh.edges],
                    **damped,
                    compliance=spring,
                    **asdict(material.plasticity),
                )
            if np.isfinite(volume).all():
                self.add_constraints("tet_volume", tets, compliance=volume, **damped)
        if skin is None:
            self._keep_solid(tets, surface)
            return SoftBody(particles, tets, surface)
        carried = self._place(skin.positions, light, position, rotation, dimension=3)
        rows = np.concatenate([carried[:, None], tets[cells]], axis=1)
        self.add_constraints("embedded_point", rows, label="skin", weights=weights)
        self._keep_solid(tets, carried[skin.triangles])
        self.cages.append(particles)
        return SoftBody(particles, tets, carried[skin.triangles], carried)

    def add_shape_matching(
        self,
        body: TetMesh | ArrayLike,
        material: ShapeMaterial | None = None,
        regions: Sequence[ArrayLike] | None = None,
        mass: ArrayLike | None = None,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
    ) -> SoftBody:
        """Add a body that keeps its shape by shape matching: a solid, a sheet or loose points.

        Args:
            body: rest shape: a mesh, or points [m], shape (k, 3).
            material: material of the body.
            regions: clusters that keep their shape, each a sequence of vertices of the body; they may overlap, like
                those of :mod:`pbd_gym.geometry.regions`. Without regions the body is one cluster, which deforms little.
            mass: [kg], one number or shape (k,), instead of the density; required for points.
            position: place of the body's origin [m], shape (3,).
            rotation: orthonormal matrix applied first, shape (3, 3).

        Returns:
            Its particles, and the tetrahedra and surface of a mesh.

        Raises:
            TypeError: for another type of material, or anything but numbers where numbers are expected.
            ValueError: for points without a mass, a mesh without one that :meth:`add_soft_body` would refuse, regions
            of unknown or coincident vertices, or arrays of a wrong shape.
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
        """Tether a body to whatever holds it: grips, from the step in which they close, and pins.

        No particle of the body gets farther from a held or pinned one than the path along the body at rest, times the
        size of the environment, unless a collider catches it. It may come nearer. Where two hands are farther apart
        than the body between them, all tethers of that environment grow in proportion: it stretches evenly, to a few
        percent, and nothing tears. The hands then also feel the load of the tethers, which exceeds the pull of the
        material alone.

        It costs next to nothing while nothing is held; otherwise a few operations for each particle and anchor in every
        iteration. Of more than eight pins, the eight farthest from each other have tethers; for pins that
        never change :meth:`add_tethers` is an alternative. The order of constraints in an iteration is: tethers, then
        constraints by kind, lines last, and tethers again where hands are too far apart by more than a percent.

        Args:
            particles: consecutive particles of the body, shape (k,), int, as returned by the add methods.
            edges: pairs of its particles along which the material extends, shape (m, 2), int; by default those of the
                distance constraints and lines.
            pattern: positions in its pattern [m], shape (k, 2), if that is flat and convex: paths between particles are
                then straight lines in it. Otherwise they are shortest paths along edges, in a table of k x k numbers
                that all environments share.
            slack: extra length of a tether, as a share of the path; not negative.

        Raises:
            TypeError: for anything but numbers.
            ValueError: for particles that do not exist, are not consecutive or already have tethers, edges that leave
            the body, a body in several pieces, one of more than 8,192 particles without a pattern, a pattern of a wrong
            shape, or a slack that is negative or not finite.
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
        """Return the tethered body of a mesh, so that errors show before anything is added."""
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
        """Keep particles as near to their anchors as the material allows, however few iterations there are.

        Each particle gets a tether to the nearest anchor of each group of neighbouring anchors that it hangs on; see
        :mod:`pbd_gym.constraints.tether`. Add and pin the bodies first.

        Args:
            anchors: fixed particles, shape (a,), int; by default all pinned ones.
            edges: pairs of particles along which the material extends, shape (m, 2), int, with their current lengths.
                By default those of the distance constraints and lines, with their rest lengths.
            slack: extra length of a tether, as a share of the path along the material; not negative.
            compliance: inverse stiffness of the tethers [m/N]; 0 is rigid.

        Returns:
            Anchor and particle of each tether, shape (k, 2), int32.

        Raises:
            ValueError: for particles that do not exist, no anchor, a given anchor without an edge, no edges, given
            edges that are not connected to an anchor, or a slack that is negative or not finite.
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
                raise ValueError(
                    f"no anchor holds the edge {tuple(loose[0].tolist())}: no path along edges leads there"
                )
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
        """Add bending constraints between triangles: shared edge and wings, shape (h, 4)."""
        compliance = material.hinge_compliances(self.positions[found])
        if compliance is None or len(found) == 0:
            return
        if material.bending == "distance":
            self.add_distance_constraints(found[:, 2:], compliance, label="bend")
        else:
            self.add_constraints(springs.hinge_kind(material.bending), found, label="bend", compliance=compliance)


def _check_solid(mesh: TetMesh) -> None:
    """Raise a ValueError for vertices and tetrahedra that give no mass."""
    check_used(len(mesh.positions), mesh.tets, "tetrahedron")
    wrong = np.flatnonzero(mesh.volumes() <= 0.0)
    if len(wrong):
        raise ValueError(f"{len(wrong)} tetrahedra are flat or inverted; the first is number {wrong[0]}")


def _give(compliances: np.ndarray, mass: np.ndarray, areas: np.ndarray, meter: float) -> float:
    """Return the approximate strain of a cloth that carries :data:`LOADS` times its weight, treated as square.

    Args:
        compliances: compliances of its threads' segments [m/N], shape (m,).
        mass: masses of its particles [kg], shape (k,).
        areas: areas of its parts [m^2], shape (a,).
        meter: length of a metre in the unit of the scene.
    """
    return float(LOADS * GRAVITY * meter * mass.sum() * compliances.mean() / np.sqrt(areas.sum()))


def _made_of(material: Any, usual: type, *others: type) -> Any:
    """Return the given material, which must be of one of these types, or the default one."""
    return usual() if material is None else instance("material", material, (usual, *others))
