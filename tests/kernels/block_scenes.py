"""Scenes that leave nothing out of what a block of threads does in a control step, and what comes of them."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from pbd_gym import Model, Scene, Solver
from pbd_gym.colliders import Box, Capsule, Cylinder, MeshCollider, Plane, Sphere
from pbd_gym.geometry import tetmeshes
from pbd_gym.geometry.grids import LYING
from pbd_gym.materials.fluids import FluidMaterial
from pbd_gym.materials.materials import ClothMaterial
from pbd_gym.sim.upload.contacts import spatial_order
from tests.constraints.samples import COUNT, SAMPLES
from tests.kernels.instrumented import Instrumented, instrumented

NUM_ENVS = 3
SPACING = 0.3


def rigid_blocks(scene: Scene, place: np.ndarray, particle: int) -> None:
    """Add two rigid blocks that are joined to each other and to a particle, with a loose one on a string each.

    A third one lies on them, in both a little.

    Args:
        scene: to which they are added.
        place: of the first [m], shape (3,).
        particle: that they are joined to.
    """
    mesh, step = tetmeshes.box((1, 1, 1), (0.2, 0.1, 0.1)), np.array((0.22, 0.0, 0.0))
    bodies = [scene.add_rigid_body(mesh, 300.0, 0.06, 0.03, position=place + k * step) for k in range(2)]
    scene.add_joint(bodies[0], bodies[1], place + 0.5 * step)
    scene.add_joint(bodies[1], particle, place + 1.5 * step)
    scene.add_rigid_body(mesh, 500.0, 0.06, 0.03, position=place + 0.5 * step + (0.0, 0.09, 0.02))
    loose = scene.add_particles(place + np.outer((0.0, 1.0), step) + (0.0, 0.2, 0.0), 0.1)
    scene.add_distance_constraints(np.stack([loose, [body.samples[0] for body in bodies]], axis=1), 1e-4)


def tangle(
    names: tuple[str, ...], alone: bool = False, restitution: float = 0.0, tethers: bool = False, rigid: bool = False
) -> Scene:
    """Return a block in which elements of several kinds hang together, between the ground and a ball that moves.

    Elements share particles, within a kind and between kinds, so that each colour has to wait for the one before it.
    Some particles touch no others, so that a particle and its contacts are served by different threads.

    Args:
        names: of the kinds.
        alone: leave out colliders, and contacts between particles.
        restitution: of colliders and balls.
        tethers: to what is held.
        rigid: add rigid blocks.
    """
    rng = np.random.default_rng(3)
    mesh = tetmeshes.box((3, 3, 3), (3 * SPACING,) * 3)
    scene = Scene(contact_radius=0.02, grip_count=2)
    count = len(mesh.positions)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))  # no triangle is at a right angle to the axis of its weave
    masses = 10.0 ** rng.uniform(-1.0, 0.0, count)
    particles = scene.add_particles(mesh.positions @ turn.T + (0.0, 0.5, 0.0), masses)
    pools = {2: mesh.edges, 3: mesh.triangles, 4: mesh.tets}
    for name in names:
        sample = SAMPLES[name]
        width = len(sample.shape)
        pool = pools[width] if width in pools else np.array([rng.permutation(count)[:width] for _ in range(COUNT)])
        elements = particles[pool[rng.permutation(len(pool))[:COUNT]]]
        parameters = dict(sample.parameters)
        if name == "embedded_point":  # four particles that were drawn may lie in a plane
            parameters["weights"] = rng.dirichlet(np.ones(4), COUNT)
        scene.add_constraints(name, elements, damping_time=0.02, **parameters)
    scene.add_distance_constraints(particles[mesh.edges], 1e-4)
    scene.add_air_drag(particles[mesh.triangles])
    if tethers:
        scene.add_grip_tethers(particles, particles[mesh.edges])
    if not alone:
        scene.add_particle_contacts(particles[3:], 0.11, 0.4, restitution)
        if rigid:
            rigid_blocks(scene, np.array((0.2, 0.3, 0.2)), int(particles[0]))
        scene.add_collider(Plane(friction=0.5, restitution=restitution))
        scene.add_collider(Sphere((0.75, 0.5, 0.0), 0.3, friction=0.3, restitution=restitution), moving=True)
    return scene


def meeting() -> Scene:
    """Return a light block in a heavy one that lies in the ground, in the wind.

    They part, which presses the heavy one into the ground. The wind reads where it is after the ground has pushed back.
    Beside them a towel lies on a slab that the ground keeps, and finds it where it is expected to be kept.
    """
    scene = Scene()
    scene.add_collider(Plane(friction=0.5))
    mesh = tetmeshes.box((1, 1, 1), (0.2, 0.1, 0.1))
    height = -float(mesh.positions[:, 1].min())
    for density, place in ((300.0, (0.0, height - 0.02, 0.0)), (50.0, (0.02, height + 0.06, 0.01))):
        scene.add_air_drag(scene.add_rigid_body(mesh, density, 0.06, 0.03, position=place).triangles)
    scene.add_rigid_body(mesh, 300.0, 0.06, 0.03, position=(1.0, height, 0.0))
    towel = scene.add_cloth(
        4, 3, (0.15, 0.08), position=(0.93, 2.0 * height + 0.019, -0.04), rotation=LYING, lines=False
    )
    scene.add_surface_contacts(towel.triangles, 0.02)
    return scene


def every_shape() -> Scene:
    """Return loose particles that fly about among colliders of every shape, one of each at rest and one that moves."""
    rng = np.random.default_rng(5)
    scene = Scene(contact_radius=0.02, grip_count=2)
    solid = tetmeshes.box((2, 2, 2), (0.5, 0.5, 0.5))
    for z, moving in ((0.0, False), (1.0, True)):
        surface = {"friction": 0.4, "restitution": 0.5}
        scene.add_collider(Plane(**surface), moving=moving)
        scene.add_collider(Sphere((0.0, 0.3, z), 0.25, **surface), moving=moving)
        scene.add_collider(Box((0.7, 0.3, z), (0.2, 0.25, 0.2), **surface), moving=moving)
        scene.add_collider(Capsule((1.3, 0.1, z), (1.5, 0.5, z), 0.2, **surface), moving=moving)
        scene.add_collider(Cylinder((2.0, 0.1, z), (2.2, 0.5, z), 0.2, **surface), moving=moving)
        mesh = MeshCollider(solid.positions, solid.triangles, np.array([2.8, 0.3, z]), cell=0.1, **surface)
        scene.add_collider(mesh, moving=moving)
    scene.add_particles(rng.uniform((-0.3, 0.0, -0.3), (3.1, 0.8, 1.3), (150, 3)), 0.1)
    return scene


def surfaces() -> Scene:
    """Return sheets that lie on one another or go through each other, and balls and rigid blocks among them."""
    scene = Scene(contact_radius=0.02, grip_count=2)
    # These touch no others, so that a particle and its contacts are served by different threads.
    scene.add_particles([[0.5, 0.1 * k, 0.5] for k in range(3)], 0.02)
    for k, turn in enumerate((np.eye(3), np.eye(3), np.eye(3)[[1, 2, 0]])):
        cloth = scene.add_cloth(
            5, 6, (1.0, 0.8), position=(0.05 * k, 0.05 + 0.06 * k, -0.4), rotation=turn @ LYING, lines=False
        )
        scene.add_surface_contacts(cloth.triangles, 0.04, 0.4)
        if k != 1:
            scene.pin(cloth.indices.ravel())  # what goes through each other stays there
    rng = np.random.default_rng(6)
    loose = scene.add_particles(rng.uniform((-0.4, 0.0, -0.4), (0.4, 0.4, 0.4), (12, 3)), 0.02)
    scene.add_particle_contacts(loose, 0.05, 0.2)
    rigid_blocks(scene, np.array((0.1, 0.3, 0.1)), int(loose[0]))
    # All that the first of 32 threads looks after stays where it is, and says nothing of the others.
    members = np.concatenate([group.indices for group in scene.particle_contacts])
    scene.pin(members[spatial_order(scene.positions[members])][::32])
    scene.add_collider(Plane(friction=0.5))
    return scene


def crumpled() -> Scene:
    """Return crumpled sheets that touch the floor, fine ones: what their creases keep depends on their speed."""
    scene = Scene(gravity=(0.0, 0.0, 0.0), contact_radius=0.02)
    # These touch no others, so that a particle and its contacts are served by different threads.
    scene.add_particles([[0.5, 0.1 + 0.1 * k, 0.5] for k in range(3)], 0.02)
    rng = np.random.default_rng(8)
    for k in range(2):
        cloth = scene.add_cloth(
            7, 7, (0.15, 0.15), ClothMaterial(0.2, 1e4, 1e4, None), (0.0, 0.03 * k, 0.0), LYING, lines=False
        )
        scene.add_surface_contacts(cloth.triangles, 0.01)
        places = cloth.indices.ravel()
        scene.positions[places] *= (0.62, 1.0, 0.62)
        scene.positions[places] += rng.uniform((-0.005, 0.019, -0.005), (0.005, 0.03, 0.005), (len(places), 3))
        scene.velocities[places] = rng.uniform(-0.07, 0.07, (len(places), 3))
    scene.add_collider(Plane(friction=0.5))
    return scene


def pushed() -> Scene:
    """Return two balls at rest, one of which will be thrown at the other within a substep, and a sheet far away.

    The sheet comes first in space, so that the first thread sees nothing move.
    """
    scene = Scene(contact_radius=0.02)
    # These touch no others, so that a particle and its contacts are served by different threads.
    scene.add_particles([[0.5, 0.1 * k, 0.5] for k in range(3)], 0.02)
    cloth = scene.add_cloth(5, 6, (0.3, 0.24), position=(-1.0, 0.0, 0.0), lines=False)
    scene.add_surface_contacts(cloth.triangles, 0.004)
    loose = scene.add_particles([[0.0, 0.0, 0.0], [0.0, 0.0, 0.096]], 0.1)
    scene.add_particle_contacts(loose, 0.02)
    scene.add_collider(Sphere((0.0, 0.0, -0.18), 0.03), moving=True)
    return scene


def fluid(restitution: float = 0.0) -> Scene:
    """Return honey that a box stirs, over a floor, with a sheet and a block in it.

    Args:
        restitution: of the colliders.
    """
    material = FluidMaterial(viscosity=200.0, surface_tension=1.0, vorticity=0.5, iterations=3)
    scene = Scene(contact_radius=0.02, grip_count=2)
    scene.add_fluid_block((-0.3, 0.0, -0.2), (0.3, 0.5, 0.2), material, 0.1)
    scene.add_fluid_emitter((0.0, 0.9, 0.0), (0.2, -1.0, 0.0), 3.0, 0.1, 20, material, 0.1)
    # What comes out of this one would be beyond the box in the same substep.
    scene.add_fluid_emitter((0.8, 0.2, 0.0), (-1.0, 0.0, 0.0), 45.0, 0.1, 20, material, 0.1)
    scene.add_fluid_emitter(scene.fluid.depot, (0.0, 1.0, 0.0), 1.0, 0.1, 20, material, 0.1)
    scene.add_fluid_drain((-0.3, 0.0, -0.2), (-0.15, 0.2, 0.0))
    cloth = scene.add_cloth(5, 5, (0.4, 0.4), position=(0.0, 0.6, -0.2), rotation=LYING, lines=False)
    mesh = tetmeshes.box((2, 2, 2), (0.2, 0.2, 0.2))
    block = scene.add_soft_body(mesh, position=(0.25, 0.15, 0.2))
    scene.add_fluid_boundary(cloth.indices.ravel())
    scene.add_fluid_boundary(block.indices, mesh.vertex_volumes())
    scene.add_collider(Plane(friction=0.5, restitution=restitution))
    scene.add_collider(Box((0.4, 0.2, 0.0), (0.1, 0.2, 0.3), friction=0.3, restitution=restitution), moving=True)
    return scene


class Run:
    """A batch of a scene, to be run from the same start again and again.

    Args:
        scene: one of the above.
        block_dim: threads that serve a group.
        lanes: environments of a group.
        dtype: as for a model.
        calm: whether all is at rest at first but colliders, which go along z.
        forces: whether they act on particles.
        wind: whether it blows.
        **options: of the solver.
    """

    def __init__(
        self,
        scene: Scene,
        block_dim: int,
        lanes: int = 1,
        dtype: Any = "float32",
        calm: bool = False,
        forces: bool = False,
        wind: bool = False,
        **options: Any,
    ) -> None:
        self.model = Model(scene, NUM_ENVS, lanes=lanes, dtype=dtype, block_dim=block_dim)
        self.solver = Solver(self.model, threads=2, **({"substeps": 3} | options))
        self.state, self.control = self.solver.state(), self.solver.control()
        self.calm = calm
        if forces:
            count = self.model.particle_count
            self.control.set_forces(np.random.default_rng(2).uniform(-1.0, 1.0, (NUM_ENVS, count, 3)))
        if wind:
            self.control.set_wind([[6.0, 0.0, -2.0], [0.0, 9.0, 0.0], [0.0, 0.0, 0.0]], [1.2, 2.0, 1000.0])
        self.result()

    def _stir(self) -> None:
        """Throw particles about, hold some, and move hands and colliders."""
        rng = np.random.default_rng(4)
        state, count = self.state, self.model.particle_count
        shift = rng.uniform(-0.12, 0.12, (NUM_ENVS, count, 3))
        if self.model.scene.fluid is not None:  # what waits stays where it is
            shift[:, (self.model.scene.positions == self.model.scene.fluid.depot).all(axis=1)] = 0.0
        state.set_positions(self.model.scene.positions + shift)
        state.set_velocities(rng.uniform(-2.0, 2.0, (NUM_ENVS, count, 3)))
        state.hold([[5, -1], [60, 7], [-1, 40]])
        self.control.move(rng.uniform(-0.1, 0.1, (NUM_ENVS, 2, 3)))
        for collider in self.model.moving_colliders:
            motion = rng.uniform(-0.1, 0.1, (2, NUM_ENVS, 3))
            self.control.move_collider(collider, motion[0], 10.0 * motion[1])

    def result(self) -> bytes:
        """Return all that a state has after two steps, from a start that is always the same."""
        state = self.state
        state.reset()
        state.set_parameters(size=[1.0, 0.9, 1.1], friction=[1.0, 0.5, 2.0], gravity=[0.0, -9.81, 0.0])
        if self.calm:
            for collider in self.model.moving_colliders:
                self.control.move_collider(collider, [0.0, 0.0, 0.3])
        else:
            self._stir()
        self.solver.step(state, self.control, 1 / 30)
        if self.model.tethered_bodies:
            state.hold([[5, 8], [7, -1], [-1, 40]])  # what tethers have been measured for is held no more
        self.solver.step(state, self.control, 1 / 30)
        parts = [state.get_positions(), state.get_velocities(), state.get_poses(), state.get_memory()]
        parts += [state.get_lambda()] if self.solver.iterations > 1 else []
        parts += [state.get_piercings()] if self.model.has_surfaces else []
        parts += [state.get_fluid_density(), state.get_fluid_overflow()] if self.model.scene.fluid else []
        parts += [state.get_grip_forces()] if self.solver.options.grip_forces else []
        parts += [state.get_contact_forces()] if self.solver.options.contact_forces else []
        assert all(np.isfinite(part).all() for part in parts)
        return b"".join(part.tobytes() for part in parts)


class Case(NamedTuple):
    """What is run in blocks, and in which way."""

    scene: Scene
    options: dict[str, Any]
    """Of :class:`Run`."""


CASES = {
    # Every constraint kind; contacts; forwards and backwards sweeps, with Chebyshev's extrapolation.
    "every kind": Case(
        tangle(tuple(SAMPLES)),
        {"iterations": 3, "method": "symmetric", "chebyshev": 0.6, "damping": 0.5},
    ),
    # Nothing that happens to wait at the same places.
    "alone": Case(tangle(("distance", "dihedral"), alone=True), {"iterations": 3, "chebyshev": 0.6, "wind": True}),
    "tethers": Case(tangle(("distance", "line"), alone=True, tethers=True), {"grip_forces": True, "forces": True}),
    "jacobi": Case(
        tangle(("distance", "tet_volume", "shape_matching"), restitution=0.8, rigid=True),
        {
            "lanes": 4,
            "dtype": "float64",
            "iterations": 2,
            "method": "jacobi",
            "relaxation": 1.2,
            "grip_forces": True,
            "forces": True,
            "wind": True,
        },
    ),
    "surfaces": Case(surfaces(), {}),
    "pushed": Case(pushed(), {"calm": True}),
    # They stay slow; active pairs are renewed within a step.
    "crumpled": Case(crumpled(), {"calm": True, "damping": 100.0, "substeps": 10}),
    "fluid": Case(fluid(0.5), {"iterations": 2}),
    "meeting": Case(meeting(), {"calm": True, "wind": True, "contact_forces": True}),
    "every shape": Case(every_shape(), {}),
}


@functools.cache
def one_thread(name: str) -> bytes:
    """Return what a case comes to where one thread serves a group, on vectors."""
    case = CASES[name]
    return Run(case.scene, 1, **(case.options | {"lanes": 1 if case.scene.fluid else 4})).result()


@functools.cache
def thirty_two(name: str) -> tuple[Run, Instrumented]:
    """Return a case for blocks of 32 threads, in which barriers can be left out."""
    case = CASES[name]
    with instrumented() as kept:
        run = Run(case.scene, 32, **case.options)
    return run, kept
