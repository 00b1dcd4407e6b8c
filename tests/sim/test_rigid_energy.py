"""Contacts between particles and rigid bodies give nobody energy, whatever else is in the scene."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from pbd_gym import Model, Plane, RopeMaterial, Scene, Solver, geometry

WIDE = np.linspace((-0.3, 0.06, 0.0), (0.3, 0.06, 0.0), 31)
NARROW = np.linspace((-0.04, 0.06, 0.0), (0.04, 0.06, 0.0), 5)


def energies(kind: str, surface: bool, substeps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the kinetic energy [J] and the momentum [kg m/s] after each step of a box that hits something at 1 m/s.

    Args:
        kind: what it hits.
        surface: whether there is a cloth with contacts of surfaces too, 5 m away.
        substeps: of a step of 1/60 s.
    """
    scene = Scene(gravity=(0.0, 0.0, 0.0), contact_radius=0.005)
    if kind == "rope":
        scene.add_particle_contacts(scene.add_rope(WIDE, RopeMaterial(0.5, 1e-6, 0.02), lines=False), 0.008, 0.3)
    elif kind == "beads":
        scene.add_particle_contacts(scene.add_particles(NARROW, mass=0.01), 0.008, 0.3)
    else:
        block = scene.add_soft_body(geometry.box((2, 2, 2), (0.1, 0.1, 0.1)), position=(0.0, 0.12, 0.0))
        scene.add_particle_contacts(block.indices, 0.02, 0.3)
    if surface:
        scene.add_surface_contacts(
            scene.add_cloth(4, 4, (0.1, 0.1), position=(5.0, 0.0, 0.0), lines=False).triangles, 0.01
        )
    box = scene.add_rigid_body(geometry.box((1, 1, 1), (0.1, 0.06, 0.1)), 700.0, 0.02)
    solver = Solver(Model(scene, dtype="float64"), substeps=substeps)
    state, control = solver.state(), solver.control()
    state.set_rigid_velocity(box, linear=(0.0, 1.0, 0.0))
    mass, speed = 1.0 / np.asarray(scene.inv_mass), [state.get_velocities()[0]]
    for _ in range(30):
        solver.step(state, control, ctrl_dt=1 / 60)
        speed.append(state.get_velocities()[0])
    squares = (np.array(speed) ** 2).sum(axis=2)
    return 0.5 * squares @ mass, np.einsum("tka,k->ta", speed, mass)


@pytest.mark.parametrize("substeps", [24, 96, 384])
@pytest.mark.parametrize("kind", ["beads", "rope", "soft"])
def test_a_surface_elsewhere_gives_no_energy(kind: str, substeps: int) -> None:
    """Guards the second pass of contacts: taken at the displacement of its balls, a box gained 9 to 5,000 times its
    energy.

    What it hits is pushed to where it would be without the surface, up to what a second pass stops better.
    """
    found, momentum = energies(kind, True, substeps)
    assert found.max() <= found[0] * (1.0 + 1e-9)
    assert_allclose(momentum, momentum[:1].repeat(len(momentum), axis=0), rtol=0, atol=1e-9)
    plain = energies(kind, False, substeps)[0]
    assert_allclose(found[-1], plain[-1], rtol=0.1)


def test_impacts_off_the_centre_gain_no_energy() -> None:
    """Guards Newton's law with friction, which alone gains 8 % where a tilted box slides over the ground; and boxes."""
    for friction, tilt in ((0.5, 0.3), (0.0, 0.0)):
        scene = Scene(gravity=(0.0, 0.0, 0.0), contact_radius=0.0)
        scene.add_collider(Plane(friction=friction, restitution=1.0))
        turn = Rotation.from_euler("z", tilt).as_matrix()
        cube = geometry.box((2, 2, 2), (0.1, 0.1, 0.1))
        flies = scene.add_rigid_body(
            cube, 200.0, 0.0125, friction=friction, restitution=1.0, position=(0.0, 0.24 - 0.165 * (tilt > 0), 0.0),
            rotation=turn,
        )  # fmt: skip
        if not tilt:  # onto half of another
            scene.add_rigid_body(cube, 200.0, 0.0125, restitution=1.0, position=(0.04, 0.12, 0.0))
        solver = Solver(Model(scene, device="cpu", dtype="float64"), substeps=5, quiet=True)
        state, control = solver.state(), solver.control()
        velocities = state.get_velocities()
        velocities[0, flies.indices] = (1.0 if tilt else 0.0, -1.0, 0.0)
        state.set_velocities(velocities)
        before = scene.mass @ (velocities[0] ** 2).sum(axis=1)
        for _ in range(12):
            solver.step(state, control, 0.005)
        after = scene.mass @ (state.get_velocities()[0] ** 2).sum(axis=1)
        assert 0.7 * before < after < 1.01 * before
