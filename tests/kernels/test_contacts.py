"""Contacts with planes and spheres: non-penetration, Coulomb friction, and who is pushed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.colliders import Plane, Sphere
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver

EPS = float(np.finfo(np.float64).eps)
GRAVITY = 9.81
RADIUS = 0.01
"""Contact radius of the scenes here [m]."""


def advance(scene: Scene, ctrl_dt: float, substeps: int, iterations: int = 1, dtype: str = "float64") -> np.ndarray:
    """Advance one environment by one control step; return positions and velocities, shape (2, n, 3)."""
    solver = Solver(Model(scene, dtype=dtype), substeps=substeps, iterations=iterations)  # type: ignore[arg-type]
    state = solver.state()
    solver.step(state, solver.control(), ctrl_dt)
    return np.stack([state.get_positions()[0], state.get_velocities()[0]])


@pytest.mark.parametrize("normal", [(0.0, 1.0, 0.0), (0.3, 2.0, -0.4)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_particle_comes_to_rest_on_a_plane(normal: tuple[float, float, float], dtype: str) -> None:
    """Guards the signed distance and the offset: rest is at offset + contact_radius along the normal.

    The push ends the substep, so only its own rounding is left: a few eps of the coordinates, about 1 m.
    """
    plane = Plane(normal, offset=0.4, friction=1.0)
    direction = np.array(normal) / np.linalg.norm(normal)
    scene = Scene(contact_radius=RADIUS)
    scene.add_particles([direction * 0.6, direction * 0.4], 0.1)
    scene.add_collider(plane)
    x, v = advance(scene, 2.0, 1000, dtype=dtype)
    eps = float(np.finfo(dtype).eps)
    assert_allclose(x @ direction, 0.4 + RADIUS, rtol=0, atol=4 * eps)
    assert_allclose(v @ direction, 0.0, atol=8 * eps / 0.002)


@pytest.mark.parametrize("iterations", [1, 3])
@pytest.mark.parametrize("friction", [0.0, 0.2, 0.5])
def test_sliding_acceleration(friction: float, iterations: int) -> None:
    """Guards Coulomb friction on a slope: a = g (sin - mu cos), exactly, as a substep sinks by h^2 g cos.

    Rounding adds up to n^2 eps |x| at most. More iterations find no depth left, and add no friction.
    """
    angle, substeps, h = np.radians(30.0), 500, 0.002
    normal = np.array([np.sin(angle), np.cos(angle), 0.0])
    downhill = np.array([np.cos(angle), -np.sin(angle), 0.0])
    scene = Scene(contact_radius=RADIUS)
    scene.add_particles([normal * RADIUS], 0.3)
    scene.add_collider(Plane(tuple(normal), 0.0, friction=friction))
    x, v = advance(scene, substeps * h, substeps, iterations)
    acceleration = GRAVITY * (np.sin(angle) - friction * np.cos(angle))
    travelled = acceleration * h**2 * substeps * (substeps + 1) / 2
    assert_allclose(v[0], acceleration * substeps * h * downhill, rtol=0, atol=substeps * 10 * EPS / h)
    assert_allclose(x[0], normal * RADIUS + travelled * downhill, rtol=0, atol=substeps**2 * 10 * EPS)


def test_sticks_from_the_angle_of_friction_on() -> None:
    """Guards the threshold mu = tan(theta): just above nothing moves, just below it slides."""
    angle = np.radians(30.0)
    normal = np.array([np.sin(angle), np.cos(angle), 0.0])
    moved = {}
    for factor in (0.999, 1.001):
        scene = Scene(contact_radius=RADIUS)
        scene.add_particles([normal * RADIUS], 0.3)
        scene.add_collider(Plane(tuple(normal), 0.0, friction=factor * np.tan(angle)))
        x, _ = advance(scene, 1.0, 500)
        moved[factor] = float(np.linalg.norm(x[0] - normal * RADIUS))
    # Half a second squared of 0.1 % of g sin(theta); and rounding of 500 substeps.
    assert_allclose(moved[0.999], 0.5 * 0.001 * GRAVITY * np.sin(angle), rtol=0.01)
    assert moved[1.001] < 500 * 10 * EPS


def test_sphere_pushes_out_along_the_radius() -> None:
    """Guards the normal of a sphere that is not at the origin, and that particles outside stay where they are."""
    rng = np.random.default_rng(3)
    center, radius = np.array([0.3, -0.2, 0.5]), 0.25
    directions = rng.normal(size=(40, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    distances = rng.uniform(0.01, 0.5, 40)
    scene = Scene(gravity=(0, 0, 0), contact_radius=RADIUS)
    scene.add_particles(center + distances[:, None] * directions, 1.0)
    scene.add_collider(Sphere(tuple(center), radius))
    x, _ = advance(scene, 0.01, 1)
    inside = distances < radius + RADIUS
    assert 5 < inside.sum() < 35
    # The direction is a quotient by the distance, so its rounding is eps |x| / distance.
    assert_allclose(
        x[inside], (center + (radius + RADIUS) * directions)[inside], rtol=0, atol=10 * EPS / distances.min()
    )
    assert_array_equal(x[~inside], scene.positions[~inside])


def test_centre_of_a_sphere_gives_no_nan() -> None:
    """Guards the division by the distance: a particle in the very centre has no normal and stays."""
    scene = Scene(gravity=(0, 0, 0))
    scene.add_particles([[0.1, 0.2, 0.3]], 1.0)
    scene.add_collider(Sphere((0.1, 0.2, 0.3), 0.1))
    assert_array_equal(advance(scene, 0.01, 5)[0], scene.positions)


@pytest.mark.parametrize("iterations", [1, 3])
def test_cloth_lies_on_a_sphere_without_entering_it(iterations: int) -> None:
    """Guards the order inside a substep: contacts come after constraints, in every iteration; none ends inside."""
    scene = Scene(contact_radius=RADIUS)
    scene.add_cloth(12, 12, position=(0.0, 0.25, -0.5), rotation=[[1, 0, 0], [0, 0, -1], [0, -1, 0]], lines=False)
    scene.add_collider(Sphere((0.0, 0.0, 0.0), 0.2))
    scene.add_collider(Plane(offset=-0.3))
    x, _ = advance(scene, 1.0, 500, iterations)
    distance = np.linalg.norm(x, axis=1)
    assert distance.min() > 0.2 + RADIUS - 10 * EPS
    assert x[:, 1].min() > -0.3 + RADIUS - 10 * EPS
    assert (distance < 0.2 + RADIUS + 1e-6).sum() >= 3  # it does touch


def test_held_and_pinned_particles_are_not_pushed() -> None:
    """Guards infinite mass: a hand may reach into an obstacle and takes along what it holds, to the last bit."""
    scene = Scene(contact_radius=RADIUS, grip_count=1)
    scene.add_particles([[0, -0.1, 0], [0.5, 0.1, 0], [1.0, -0.1, 0]], 1.0)
    scene.pin([0])
    scene.add_collider(Plane())
    solver = Solver(Model(scene, dtype="float64"), substeps=10)
    state, control = solver.state(), solver.control()
    state.hold([[1]])
    control.move([[0.0, -0.3, 0.0]])
    solver.step(state, control, 0.1)
    x = state.get_positions()[0]
    assert_array_equal(x[0], [0, -0.1, 0])
    assert_array_equal(x[1], np.array([0.5, 0.1, 0]) + np.array([0.0, -0.3, 0.0]))
    assert x[2, 1] >= RADIUS - 4 * EPS  # the free one is


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("held", [False, True])
def test_contact_in_one_environment_changes_no_bit_of_the_others(lanes: int, held: bool) -> None:
    """Guards lanes: the response runs for a whole group as soon as one lane touches."""
    scene = Scene(grip_count=1)
    cloth = scene.add_cloth(4, 4, position=(0.0, 2.0, 0.0), lines=False)
    scene.add_collider(Plane(friction=0.7))
    scene.add_collider(Sphere((0.0, 0.0, 0.0), 0.3, friction=0.2))
    results = []
    for touching in (False, True):
        solver = Solver(Model(scene, num_envs=6, lanes=lanes), substeps=8)
        state = solver.state()
        places = np.repeat(scene.positions[None], 6, axis=0)
        if touching:
            places[2, :, 1] -= 1.7  # the lower edge starts inside the plane and the sphere
        state.set_positions(places)
        if held:
            state.hold(np.full((6, 1), cloth.corners[0]))
        solver.step(state, solver.control(), 0.05)
        results.append(np.concatenate([state.get_positions(), state.get_velocities()], axis=1).view(np.uint32))
    others = np.arange(6) != 2
    assert (results[0][2] != results[1][2]).any()
    assert_array_equal(results[0][others], results[1][others])
