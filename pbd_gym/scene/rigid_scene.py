"""Rigid bodies of a scene, and their joints."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.geometry.sharp_edges import sharp_edges
from pbd_gym.geometry.tetmeshes import TetMesh
from pbd_gym.geometry.trimeshes import TriMesh, check_used
from pbd_gym.runtime.checks import FARTHEST, LARGEST, instance, number, shaped, switch, whole
from pbd_gym.scene.fluid_scene import FluidScene
from pbd_gym.scene.rigid_bodies import Joint, RigidBody, Shared, sampled, usual_spacing

WIDEST = 2.5
"""Spacing, in radii, up to which balls of the same radius do not get in between those of a body: on a square lattice
two diagonal balls leave a gap of 1.5 radii.
"""


class RigidScene(FluidScene):
    """A scene that supports rigid bodies; see :class:`pbd_gym.scene.scene.Scene`."""

    def add_rigid_body(
        self,
        mesh: TriMesh | TetMesh,
        density: float,
        spacing: float | None = None,
        radius: float | None = None,
        thickness: float | None = None,
        friction: float = 0.5,
        contacts: bool = True,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        restitution: float = 0.0,
    ) -> RigidBody:
        """Add a rigid body.

        Balls beneath its surface, which touch it from within, represent it in contacts, and pushes on them move it; see
        :mod:`pbd_gym.kernels.rigid.phases`. Their masses, with those of points inside, give it the mass, centre of mass
        and inertia tensor of the mesh. Its vertices are particles too, to be drawn and gripped.

        Args:
            mesh: shape of the body; closed, unless there is a thickness.
            density: [kg/m^3], above 0.
            spacing: distance of neighbouring balls, about [m]; by default twice the radius if that is given, otherwise
                one that makes about 150 balls, or more where parts are thin. For colliders flat faces are flat whatever
                the spacing. For other particles they are bumpy: a ball of the same size sinks in between by 0.59 radii
                where the spacing is two radii, and by 0.13 where it is one. With two radii, balls of less than 0.41
                radii fall through: take a smaller spacing for thin ropes and for soft bodies of small balls.
            radius: radius of the balls, and so of its edges between corners [m]; half the spacing by default, and
                always half the thickness of a shell. Corners are sharp for colliders.
            thickness: thickness of a shell whose mid-surface is the mesh [m], such as the walls of a cup; None for a
                solid.
            friction: Coulomb coefficient in contacts with particles; a pair uses the mean of its two.
            contacts: whether it collides with particles of other bodies that do, see :meth:`add_particle_contacts`.
            position: place of the mesh's origin [m], shape (3,).
            rotation: orthonormal matrix applied first, shape (3, 3).
            restitution: share of the speed with which it rebounds from other bodies, 0 to 1; a pair uses the mean of
                its two. Surfaces do not rebound, and colliders use their own restitution.

        Returns:
            Its particles, mass, centre of mass and inertia tensor.

        Raises:
            TypeError: for another type of mesh, or anything but numbers where numbers are expected.
            ValueError: for a number that is not above 0, a restitution that is not from 0 to 1, a vertex that belongs
                to no triangle, an open mesh without a thickness, a mesh thinner than the balls, contacts with a spacing
                of more than 2.5 radii, fewer than 4 samples or more than 4,096, samples that cannot have its moments,
                or a matrix that is not a rotation.
        """
        if isinstance(mesh, TetMesh):
            used, flat = np.unique(mesh.triangles, return_inverse=True)
            mesh = TriMesh(mesh.positions[used], flat.reshape(-1, 3).astype(np.int32))
        instance("mesh", mesh, TriMesh)
        check_used(len(mesh.positions), mesh.triangles, "triangle")
        number("density", density, most=1e9, positive=True)
        number("friction", friction, 0.0, LARGEST)
        number("restitution", restitution, 0.0, 1.0)
        switch("contacts", contacts)
        if thickness is not None:
            number("thickness", thickness, most=FARTHEST, positive=True)
            if radius is not None:
                raise ValueError(f"the radius of a shell is half its thickness: leave it out, got {radius}")
            radius = 0.5 * thickness
        if radius is not None:
            number("radius", radius, most=FARTHEST, positive=True)
        if spacing is None:
            spacing = usual_spacing(mesh) if radius is None else 2.0 * radius
        number("spacing", spacing, most=FARTHEST, positive=True)
        radius = 0.5 * spacing if radius is None else radius
        if contacts and spacing > WIDEST * radius:
            raise ValueError(
                f"a spacing of {spacing:g} m is more than {WIDEST:g} radii of {radius:g} m: others would get in "
                "between. Take a smaller one, or contacts=False for a body that meets colliders only"
            )
        shape = sampled(mesh, float(spacing), float(radius), thickness)
        moments = shape.moments
        indices = self._place(shape.points, density * shape.masses, position, rotation, dimension=3)
        turn = np.eye(3) if rotation is None else np.asarray(rotation, dtype=np.float64)
        origin = shaped("position", position, (3,))
        center = turn @ moments.center + origin
        samples, vertices = indices[: shape.sample_count], indices[-len(mesh.positions) :]
        body = RigidBody(
            index=len(self.rigid_bodies),
            indices=indices,
            samples=samples,
            vertices=vertices,
            triangles=vertices[mesh.triangles],
            sharp_edges=vertices[sharp_edges(mesh.positions, mesh.triangles)],
            radius=shape.radius,
            mass=density * moments.volume,
            center=center,
            inertia=density * turn @ moments.inertia @ turn.T,
            inertia_error=shape.inertia_error,
            volumes=shape.masses,
            rest=self.positions[indices] - center,
            sides=shape.sides @ turn.T + origin - center,
            faces=shape.faces @ turn.T + origin - center,
            corners=shape.corners @ turn.T + origin - center,
            origin=origin,
            shell=thickness is not None,
            restitution=float(restitution),
        )
        self.rigid_bodies.append(body)
        self.triangles = np.concatenate([self.triangles, body.triangles])
        if contacts:
            self.add_particle_contacts(samples, shape.radius, friction, restitution)
        return body

    def add_joint(
        self,
        first: RigidBody,
        second: RigidBody | int | None,
        point: ArrayLike,
        axis: ArrayLike | None = None,
        collide: bool = False,
    ) -> None:
        """Join a rigid body to another, to a particle, or to a place, by a ball joint or a hinge.

        A particle becomes part of the body, with the body's effective mass at that point: a rope, which has a heavy
        end, can be solved as a whole (``lines=True``), and then carries it without stretching.

        Args:
            first: a rigid body of this scene.
            second: another, the number of a particle (the end of a rope, the corner of a cloth), or None for a place in
                space.
            point: the joint in the current configuration [m], shape (3,); a particle need not be there, and is put
                there by the first step.
            axis: direction about which they may turn, shape (3,), of any length but zero; any axis if None.
            collide: whether balls of the two collide.

        Raises:
            TypeError: for other types of bodies, or anything but numbers.
            ValueError: for a body of another scene or joined to itself, a particle that does not exist or belongs to a
                body, an axis of zero, or a hinge to a particle.
        """
        self._check_own("first", first)
        place = shaped("point", point, (3,))
        switch("collide", collide)
        points = [place]
        if axis is not None:
            ahead = shaped("axis", axis, (3,))
            if not ahead.any():
                raise ValueError("the axis of a hinge must not be zero")
            lever = 0.5 * float(np.linalg.norm(first.rest, axis=1).max()) * ahead / np.linalg.norm(ahead)
            points = [place - lever, place + lever]
        if isinstance(second, RigidBody):
            self._check_own("second", second)
            if second is first:
                raise ValueError("a joint needs two bodies: a body cannot be joined to itself")
            self.joints += [Joint(first.index, second.index, point) for point in points]
        elif second is None:
            self.joints += [Joint(first.index, -1, point) for point in points]
        else:
            particle = whole("second", second, 0, self.particle_count - 1)
            taken = [one.particle for one in self.shared]
            if particle in taken or any(particle in body.indices for body in self.rigid_bodies):
                raise ValueError(f"particle {particle} belongs to a rigid body: name the body")
            if axis is not None:
                raise ValueError("a particle has no orientation: it can have a ball joint, not a hinge")
            self.shared.append(Shared(first.index, particle, place))
            self._share_out(first)
        if second is not None and not collide:
            theirs = second.samples if isinstance(second, RigidBody) else np.array([second], dtype=np.int32)
            self.apart.append((first.samples, theirs))

    def _share_out(self, body: RigidBody) -> None:
        """Give the particles that a body shares its effective mass there, divided among several."""
        ones = [one for one in self.shared if one.body == body.index]
        for one in ones:
            i, weight = one.particle, len(ones) * float(body.mobility(one.point[None] - body.center)[0])
            self.mass[i], self.dimensions[i] = 1.0 / weight, 3
            if self.inv_mass[i] > 0.0:
                self.inv_mass[i] = weight

    def _check_own(self, name: str, body: RigidBody) -> None:
        instance(name, body, RigidBody)
        if body.index >= len(self.rigid_bodies) or self.rigid_bodies[body.index] is not body:
            raise ValueError(f"{name} must be a rigid body of this scene")

    def _place(
        self, points: np.ndarray, mass: ArrayLike, position: ArrayLike, rotation: ArrayLike | None, dimension: int
    ) -> np.ndarray:
        """Add the particles of a body, rotated and translated."""
        turn = np.eye(3) if rotation is None else shaped("rotation", rotation, (3, 3))
        # Masses and stiffnesses are those of the shape as it is given: it must keep its lengths. A mirror does so too.
        if np.abs(turn @ turn.T - np.eye(3)).max() > 1e-5:
            raise ValueError(f"rotation must keep lengths (an orthonormal matrix), got {turn.tolist()}")
        return self.add_particles(points @ turn.T + shaped("position", position, (3,)), mass, dimension=dimension)
