"""Fluids of a scene, and the bodies they wet."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.geometry.neighbours import NeighbourGrid
from pbd_gym.materials.fluids import FluidMaterial
from pbd_gym.runtime.checks import FARTHEST, finite, instance, number, shaped, whole
from pbd_gym.scene.base import BaseScene
from pbd_gym.scene.fluids import (
    CLOSEST,
    LEAST_DENSITY,
    LEAST_SOLID_DENSITY,
    SOFT_FELT,
    Emitter,
    Fluid,
    boundary_volumes,
    check_memory,
    check_nozzle,
    check_room,
    clear_of,
    disc,
    lattice,
    most_samples,
)

WIDEST_GAP = 1.2
"""Largest distance of the particles of a solid that keeps fluid out of it, in spacings of the fluid."""


class FluidScene(BaseScene):
    """A scene that supports fluid; see :class:`pbd_gym.scene.scene.Scene`."""

    def add_fluid(
        self,
        positions: ArrayLike,
        material: FluidMaterial | None = None,
        spacing: float = 0.02,
        velocities: ArrayLike = 0.0,
        dimension: int = 3,
    ) -> np.ndarray:
        """Add particles of a fluid.

        All the fluid of a scene is one: the same material, spacing and dimension in every call. Fluid keeps half a
        spacing from colliders, whatever the scene's ``contact_radius``. It does not collide with particles of other
        bodies unless they are passed to :meth:`add_fluid_boundary`. A model of a scene with fluid has ``lanes=1``.

        Particles interact within two spacings, whatever the spacing. None gets through an opening between colliders of
        less than 0.8 spacings, and few through one of less than two: a container with a smaller hole is tight, without
        a warning.

        Args:
            positions: positions of the particles [m], shape (k, 3).
            material: material of the fluid; water by default.
            spacing: distance between particles at rest [m].
            velocities: [m/s], broadcast to (k, 3).
            dimension: 3, or 2 for a fluid in a plane of constant z.

        Returns:
            Its particles, shape (k,), int32.

        Raises:
            TypeError: for another type of material, or anything but numbers.
            ValueError: for no particles, particles nearer to another than half a spacing, nearer to a nozzle than a
                spacing or with their centre in a collider, a spacing that is not above 0, a different material, spacing
                or dimension than before, or in a plane differing z or a velocity along z.
        """
        fluid = self._fluid(material, spacing, dimension)
        places = shaped("positions", positions, (-1, 3))
        if not len(places):
            raise ValueError("a fluid needs at least one particle")
        before = fluid.there(self.positions)
        if dimension == 2:
            self._check_plane(fluid, places, finite("velocities", velocities, (len(places), 3)))
        stuck = int((~clear_of(places, self.colliders, 0.0)).sum())
        if stuck:
            raise ValueError(f"{stuck} of {len(places)} particles of the fluid have their centre in a collider")
        check_room(fluid, places, before)
        for emitter in fluid.emitters:
            check_nozzle(fluid, emitter.sites, places)
        particles = self.add_particles(places, fluid.particle_mass, velocities, dimension)
        self.fluid = replace(fluid, indices=np.concatenate([fluid.indices, particles]))
        return particles

    def add_fluid_block(
        self,
        lower: ArrayLike,
        upper: ArrayLike,
        material: FluidMaterial | None = None,
        spacing: float = 0.02,
        count: int | None = None,
        velocities: ArrayLike = 0.0,
        dimension: int = 3,
    ) -> np.ndarray:
        """Fill a box, except where colliders are, with fluid: see :meth:`add_fluid`.

        Particles form a cubic lattice, the lowest layer first. A box as wide as the inside of a glass fills the glass.

        Args:
            lower, upper: corners of the box [m], shape (3,).
            material, spacing, dimension: as for :meth:`add_fluid`.
            count: number of particles, from below; by default as many as fit.
            velocities: [m/s], one number or shape (3,).

        Returns:
            Its particles, shape (k,), int32.

        Raises:
            TypeError: as :meth:`add_fluid`.
            MemoryError: if the box would hold more particles than there is memory for.
            ValueError: as :meth:`add_fluid`, for swapped corners, or if the particles do not fit.
        """
        number("spacing", spacing, most=FARTHEST, positive=True)
        whole("dimension", dimension, 2, 3)
        low, high = shaped("lower", lower, (3,)), shaped("upper", upper, (3,))
        if (high[:dimension] <= low[:dimension]).any():
            raise ValueError(f"the lower corner of a fluid block must be below its upper one, got {low} and {high}")
        places = lattice(low, high, float(spacing), dimension)
        places = places[clear_of(places, self.colliders, 0.5 * spacing)]
        wanted = len(places) if count is None else whole("count", count, 1)
        if wanted > len(places) or not wanted:
            raise ValueError(
                f"a box of {(high - low).tolist()} m has room for {len(places)} particles with a spacing of "
                f"{spacing:g} m, not for {max(wanted, 1)}"
            )
        speeds = finite("velocities", velocities, (3,))
        return self.add_fluid(places[:wanted], material, spacing, np.tile(speeds, (wanted, 1)), dimension)

    def add_fluid_emitter(
        self,
        center: ArrayLike,
        direction: ArrayLike,
        speed: float,
        radius: float,
        count: int,
        material: FluidMaterial | None = None,
        spacing: float = 0.02,
        dimension: int | None = None,
    ) -> np.ndarray:
        """Add a nozzle from which fluid comes out, and particles parked for it.

        A particle leaves each place of the nozzle a spacing behind the one before it, several per substep if necessary,
        until none is left; it pauses while other particles or a collider are in the way.
        :meth:`pbd_gym.sim.control.Control.set_emission` opens and closes it; it is open at first. Inactive particles,
        including those that went down a drain, are parked in one place behind the first nozzle (``scene.fluid.depot``),
        available to any nozzle; to keep one parked, leave it in exactly that place.

        Args:
            center: centre of the nozzle [m], shape (3,).
            direction: direction of the jet, shape (3,); of any length but zero.
            speed: speed of the jet [m/s], above 0.
            radius: radius of the nozzle [m]; in a plane it is a line of twice that length.
            count: number of parked particles, at least 1.
            material, spacing: as for :meth:`add_fluid`.
            dimension: 3 or 2; by default that of existing fluid, or 3.

        Returns:
            Parked particles, shape (k,), int32.

        Raises:
            TypeError: as :meth:`add_fluid`.
            MemoryError: for more particles, or a wider nozzle, than there is memory for.
            ValueError: for a direction of zero, a number that is not above 0, a nozzle in a collider, in fluid or in
                another nozzle, a different material, spacing or dimension than before, or in a plane a different z or a
                direction along z.
        """
        if dimension is None:
            dimension = 3 if self.fluid is None else self.fluid.dimension
        fluid = self._fluid(material, spacing, dimension)
        middle, ahead = shaped("center", center, (3,)), shaped("direction", direction, (3,))
        number("speed", speed, most=FARTHEST, positive=True)
        number("radius", radius, most=FARTHEST, positive=True)
        whole("count", count, 1)
        if not ahead.any():
            raise ValueError("the direction of an emitter must not be zero")
        ahead /= np.linalg.norm(ahead)
        if fluid.dimension == 2:
            self._check_plane(fluid, middle[None], ahead[None])
        check_memory("the nozzle", count, spacing)
        emitter = Emitter(disc(middle, ahead, radius, spacing, fluid.dimension), ahead, float(speed))
        self._check_nozzle(fluid, emitter)
        depot = middle - spacing * ahead if fluid.depot is None else fluid.depot
        particles = self.add_particles(np.tile(depot, (count, 1)), fluid.particle_mass, dimension=fluid.dimension)
        self.fluid = replace(
            fluid,
            indices=np.concatenate([fluid.indices, particles]),
            emitters=(*fluid.emitters, emitter),
            depot=depot,
        )
        return particles

    def add_fluid_drain(self, lower: ArrayLike, upper: ArrayLike) -> None:
        """Add a drain: fluid particles in a box disappear, and are parked for an emitter. Add the fluid first.

        Args:
            lower, upper: corners of the box [m], shape (3,).

        Raises:
            TypeError: for anything but numbers.
            ValueError: for swapped corners, or a scene without fluid.
        """
        fluid = self._flowing()
        box = np.stack([shaped("lower", lower, (3,)), shaped("upper", upper, (3,))])
        if (box[1] <= box[0]).any():
            raise ValueError(f"the lower corner of a drain must be below its upper one, got {box[0]} and {box[1]}")
        depot = box.mean(axis=0) if fluid.depot is None else fluid.depot
        self.fluid = replace(fluid, drains=(*fluid.drains, box), depot=depot)

    def add_fluid_boundary(self, indices: ArrayLike, volumes: ArrayLike | None = None) -> None:
        """Couple the fluid with particles of other bodies: cloth, ropes, solids.

        The particles count as samples of an obstacle to the fluid (Akinci et al. 2012,
        doi:10.1145/2185520.2185558), and are pushed in return, as if their density were at least half of the fluid's:
        fine cloth would not hold water otherwise. Such bodies receive a smaller push than they exert. Fluid flows
        through gaps: samples of a closed surface should be no farther apart than a spacing, and much closer ones slow
        the simulation down: each fluid particle lists all samples within two spacings. Cloth with ``lines=True``, and a
        rigid cup, hold falling fluid in steps of 2.5 ms; in steps of 5 ms some gets through. Other cloth stretches
        under it, and needs steps of 1.25 ms. Fluid that starts inside a body stays there. Add the fluid first.

        Args:
            indices: the particles, shape (k,), int, none of the fluid and none passed before.
            volumes: volume of each [m^3], one number or shape (k,). They decide how deep a body floats, whose density
                then counts from a tenth of the fluid's. By default they are those of solids where the particles belong
                to one, times :data:`SOFT_FELT` if it is soft; others share the volume around them, which is right for
                sheets and ropes. The particles of a rigid shell have at least the volume that they share, so that it
                holds water.

        Warns of a solid whose particles are so far apart that fluid gets into it.

        Raises:
            TypeError: for anything but numbers.
            ValueError: for particles that do not exist, are fluid or passed twice, a scene without fluid, or volumes
                that are not above 0.
        """
        fluid = self._flowing()
        found = self._check_indices(np.reshape(indices, (-1, 1)), 1)[:, 0]
        known = np.concatenate([fluid.indices, fluid.boundary, found])
        if len(np.unique(known)) != len(known):
            raise ValueError("a particle of the fluid, or one passed before, cannot be a boundary of it")
        if volumes is None:
            own = self._solid_volumes(found)
            solid = own > 0.0
            self._warn_of_gaps(fluid, found[solid])
            shares = own / fluid.spacing**fluid.dimension
            shares[~solid] = boundary_volumes(fluid, self.positions[found[~solid]])
            least = np.where(solid, LEAST_SOLID_DENSITY, LEAST_DENSITY)
            layers = 1 if solid.all() else 2  # sheets and ropes fold
        else:
            given = finite("volumes", volumes, (len(found),))
            if (given <= 0.0).any():
                raise ValueError("volumes must be above zero")
            least, layers = np.full(len(found), LEAST_SOLID_DENSITY), 1
            shares = given / fluid.spacing**fluid.dimension
            # A wall is thinner than the regions it separates: its samples also represent the space behind it.
            walls = np.isin(found, [i for body in self.rigid_bodies if body.shell for i in body.indices])
            shares[walls] = np.maximum(shares[walls], boundary_volumes(fluid, self.positions[found[walls]]))
        self.fluid = replace(
            fluid,
            boundary=np.concatenate([fluid.boundary, found]),
            volumes=np.concatenate([fluid.volumes, shares]),
            lightest=np.concatenate([fluid.lightest, 1.0 / (least * shares)]),
            most_samples=max(fluid.most_samples, layers * most_samples(fluid, self.positions[found], shares)),
        )

    def _solid_volumes(self, particles: np.ndarray) -> np.ndarray:
        """Return the volume [m^3] that a fluid feels of particles of solids in space, 0 for others, shape (k,)."""
        found = np.zeros(self.particle_count)
        np.add.at(found, self.tets, 0.25 * SOFT_FELT * self.tet_volumes[:, None])
        for body in self.rigid_bodies:
            found[body.indices] = 0.0 if body.shell else body.volumes
        return found[particles] if self._flowing().dimension == 3 else np.zeros(len(particles))

    def _warn_of_gaps(self, fluid: Fluid, solid: np.ndarray) -> None:
        """Warn of particles of solids that are too far from one another to keep fluid out."""
        if len(solid) < 2:
            return
        near = NeighbourGrid(self.positions[solid], WIDEST_GAP * fluid.spacing).pairs()
        alone = len(solid) - len(np.unique(near))
        if alone > 0.5 * len(solid):
            warnings.warn(
                f"{alone} of {len(solid)} particles of solids have no other within {WIDEST_GAP:g} spacings of the "
                "fluid, which gets in between: the solids float too deep, or sink. Particles "
                f"{fluid.spacing:g} m apart would do",
                stacklevel=3,
            )

    def set_fluid_capacity(self, capacity: int, boundary: int | None = None) -> None:
        """Set the capacity for the neighbours of a fluid particle.

        Neighbours that do not fit are counted in :meth:`pbd_gym.sim.state.State.get_fluid_overflow`.

        Args:
            capacity: capacity for fluid neighbours, a multiple of 8; 64 by default.
            boundary: capacity for particles of :meth:`add_fluid_boundary`, a multiple of 8; by default as many as
                possible where bodies are as dense as initially, and at least ``capacity``.

        Raises:
            TypeError: if they are not whole numbers.
            ValueError: for a scene without fluid, or a number below 8 or not a multiple of 8.
        """
        fluid = self._flowing()
        for name, room in (("capacity", capacity), ("boundary", capacity if boundary is None else boundary)):
            if whole(name, room, 8) % 8:
                raise ValueError(f"{name} must be a multiple of 8, got {room}")
        self.fluid = replace(fluid, capacity=capacity, boundary_capacity=boundary)

    def _check_plane(self, fluid: Fluid, places: np.ndarray, velocities: np.ndarray) -> None:
        """Check that places [m] and velocities [m/s], shape (k, 3) each, are in the fluid's plane."""
        sites = [emitter.sites for emitter in fluid.emitters]
        heights = np.concatenate([fluid.there(self.positions), places, *sites])[:, 2]
        if np.ptp(heights) > 0.0:
            raise ValueError(
                f"all of a fluid in a plane must have the same z, got {heights.min():g} to {heights.max():g} m"
            )
        if velocities[:, 2].any():
            raise ValueError("nothing of a fluid in a plane may move along z")

    def _check_nozzle(self, fluid: Fluid, emitter: Emitter) -> None:
        """Check that particles have room where they come out."""
        sites = emitter.sites
        stuck = int((~clear_of(sites, self.colliders, 0.0)).sum())
        if stuck:
            raise ValueError(f"{stuck} of {len(sites)} places of the nozzle are in a collider")
        check_nozzle(fluid, sites, fluid.there(self.positions))
        for index, other in enumerate(fluid.emitters):
            gaps = np.linalg.norm(sites[:, None] - other.sites, axis=2)
            if gaps.min() < CLOSEST * fluid.spacing:
                raise ValueError(
                    f"the nozzle overlaps number {index}: places of theirs are {gaps.min():.3g} m apart, less than "
                    f"half a spacing of {fluid.spacing:g} m"
                )

    def _flowing(self) -> Fluid:
        """Return the existing fluid."""
        if self.fluid is None:
            raise ValueError("there is no fluid yet: add it first")
        return self.fluid

    def _fluid(self, material: FluidMaterial | None, spacing: float, dimension: int) -> Fluid:
        """Return the fluid for new particles: that of the scene, or a new one."""
        material = FluidMaterial() if material is None else instance("material", material, FluidMaterial)
        number("spacing", spacing, most=FARTHEST, positive=True)
        whole("dimension", dimension, 2, 3)
        fluid = Fluid(material, float(spacing), dimension) if self.fluid is None else self.fluid
        for name, value in (("material", material), ("spacing", float(spacing)), ("dimension", dimension)):
            if getattr(fluid, name) != value:
                raise ValueError(f"all fluid of a scene has the same {name}: it is {getattr(fluid, name)}, got {value}")
        return fluid
