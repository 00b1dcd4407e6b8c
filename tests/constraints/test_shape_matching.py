"""Shape matching and its region-based form, against published programs and closed forms."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.geometry.regions import graph_regions, lattice_regions
from pbd_gym.geometry.tetmeshes import box
from pbd_gym.materials.materials import ShapeMaterial
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.coloring import find_conflict
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver

from .helpers import DTYPES, EPS, NO_GRAVITY, Sweeper, lanes_and_dtypes, load, rotations

CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])


def fit(x: np.ndarray, rest: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Goals of a cluster by singular values: the rigid motion of its rest shape nearest to x, shape (k, 3)."""
    share = mass[:, None] / mass.sum()
    center, middle = (share * x).sum(0), (share * rest).sum(0)
    u, _, vt = np.linalg.svd((share * (x - center)).T @ (rest - middle))
    u[:, 2] *= np.linalg.det(u @ vt)
    return center + (rest - middle) @ (u @ vt).T


def embed(points: np.ndarray) -> np.ndarray:
    """Put points of a plane into space."""
    return np.concatenate([points, np.zeros((*points.shape[:-1], 3 - points.shape[-1]))], axis=-1)


@lanes_and_dtypes
def test_one_solve(lanes: int, dtype: str) -> None:
    """Guards the fit with masses, and pins in it, against the library's single solves of clusters of eight.

    Its masses are 1 / (w + 1e-6), and a millionth of a kilogram less for pins is not what they would be called here.
    """
    oracle = load("pbdlib_pbd_shape_matching")
    weights, points = oracle["w"], oracle["p"]
    scene = Scene(gravity=NO_GRAVITY)
    pinned = (weights == 0).ravel()
    particles = scene.add_particles(
        oracle["rest"].reshape(-1, 3), np.where(pinned, 10.0, 1.0 / (weights.ravel() + 1e-6))
    )
    scene.pin(particles[pinned])
    compliance = 1.0 / oracle["stiffness"] - 1.0  # with a step of 1 s
    scene.add_constraints("shape_matching", particles.reshape(weights.shape), compliance=compliance)
    sweeper = Sweeper(scene, lanes, dtype)
    turn = rotations(lanes)
    before = np.einsum("eij,nj->eni", turn, points.reshape(-1, 3)).astype(dtype)
    shift = np.einsum("eji,enj->eni", turn, sweeper.sweep(before, 1.0, 0).astype(np.float64) - before)
    limit = 1e-9 * np.abs(oracle["corr_exact"]).max() if dtype == "float64" else 4.0 * oracle["meta"]["f32_max_abs_dev"]
    expected = np.broadcast_to(oracle["corr_exact"].reshape(-1, 3), shift.shape)
    assert_allclose(shift, expected, rtol=0, atol=limit)


def run(oracle: dict[str, Any], clusters: list[np.ndarray], lanes: int, dtype: Any, method: Any) -> np.ndarray:
    """Advance an oracle's particles in clusters; return positions at its stored steps, (frames, lanes, n, 3)."""
    weights, h, alpha = oracle["inv_mass"], float(oracle["dt"]), float(oracle["stiffness"])
    scene = Scene(gravity=embed(oracle["gravity"]))
    particles = scene.add_particles(embed(oracle["rest"]), 1.0)
    scene.pin(particles[weights == 0])
    scene.add_constraints("shape_matching", clusters, compliance=h**2 * (1.0 / alpha - 1.0))
    solver = Solver(Model(scene, num_envs=lanes, dtype=dtype, lanes=lanes), substeps=1, method=method, threads=1)
    state, control = solver.state(), solver.control()
    state.set_positions(embed(oracle["x0"]))
    state.set_velocities(embed(oracle["v0"]))
    found = [state.get_positions()]
    steps = oracle["steps"]
    for step in range(1, steps[-1] + 1):
        solver.step(state, control, h)
        if step == steps[len(found)]:
            found.append(state.get_positions())
    return np.stack(found)


def check_run(oracle: dict[str, Any], found: np.ndarray, dtype: str) -> None:
    """1e-8 in double precision; in single what rounding of positions makes of velocities.

    The float32 rerun of the files adds to velocities and never takes them from positions, and so drifts far less than
    any engine that does: four times its deviation is no measure of this one. Two roundings of eps / sqrt(12) of each
    position per step are kicks eps size / (sqrt(6) h) to its velocity, which after n steps have moved it by a random
    eps size n^1.5 / sqrt(18): four standard deviations are allowed, and at least 2e-6 of the size.
    """
    expected = np.broadcast_to(embed(oracle["pos"])[:, None], found.shape)
    size = max(1.0, float(np.abs(oracle["pos"]).max()))
    limit = np.maximum(2e-6 * size, 4.0 / 18**0.5 * EPS[dtype] * size * oracle["steps"] ** 1.5)
    if dtype == "float64":
        limit[:] = 1e-8
    error = np.abs(found - expected).max(axis=(1, 2, 3))
    assert (error <= limit).all(), (error / limit).max()


@lanes_and_dtypes
def test_shape_matching_trajectory(lanes: int, dtype: str) -> None:
    """Guards the blend ``x += alpha (g - x)`` against the tutorial's soft square over 400 steps."""
    oracle = load("sm_2x2")
    check_run(oracle, run(oracle, [np.arange(4)], lanes, dtype, "gauss-seidel"), dtype)


@lanes_and_dtypes
def test_region_based_trajectory(lanes: int, dtype: str) -> None:
    """Guards shared masses, the mean of goals and pins against the tutorial's sheet of 60 regions over 300 steps."""
    oracle = load("rsm_10x6_f2_hw1")
    check_run(oracle, run(oracle, lattice_regions((6, 10)), lanes, dtype, "jacobi"), dtype)


@pytest.mark.parametrize("method", ["jacobi", "gauss-seidel"])
def test_lanes_give_regions_the_same_bits(method: Any) -> None:
    """Guards the promise that neither batch nor lane matters where clusters overlap and particles are pinned."""
    oracle = load("rsm_10x6_f2_hw1")
    first = run(oracle, lattice_regions((6, 10)), 1, "float32", method)
    other = run(oracle, lattice_regions((6, 10)), 16, "float32", method)
    assert_array_equal(other, np.broadcast_to(first, other.shape))


def step(scene: Scene, x: np.ndarray, v: np.ndarray | float, h: float, **options: Any) -> np.ndarray:
    """Return positions after one step in double precision, shape (n, 3)."""
    solver = Solver(Model(scene, dtype="float64"), substeps=1, **options)
    state = solver.state()
    state.set_positions(x)
    state.set_velocities(v)
    solver.step(state, solver.control(), h)
    return state.get_positions()[0]


def test_step_is_implicit_euler() -> None:
    """Guards the claim that clusters of any size take the exact step: ``m (x - x*) + h^2 m (x - g) / compliance = 0``.

    The goals are those of the solution, found by singular values.
    """
    rng = np.random.default_rng(0)
    scene, h, clusters = Scene(gravity=NO_GRAVITY), 0.05, []
    for size in rng.integers(2, 20, 40):
        particles = scene.add_particles(rng.normal(size=(size, 3)), 10.0 ** rng.uniform(-1, 1, size))
        clusters.append(rng.permutation(particles))
    compliance = 10.0 ** rng.uniform(-4, -2, len(clusters))
    scene.add_constraints("shape_matching", clusters, compliance=compliance)
    assert_array_equal(np.diff(Model(scene).data.shape_matching.offsets.numpy()), [len(c) for c in clusters])
    v = rng.normal(0.0, 2.0, scene.positions.shape)
    x = step(scene, scene.positions, v, h)
    for members, soft in zip(clusters, compliance, strict=True):
        goals = fit(x[members], scene.positions[members], scene.mass[members])
        moved = x[members] - (scene.positions + h * v)[members]
        assert_allclose(moved, h**2 / soft * (goals - x[members]), rtol=0, atol=1e-12)
        assert np.abs(moved).max() > 1e-3


@pytest.mark.parametrize(
    ("copies", "method", "iterations", "damping_time"),
    [
        (1, "gauss-seidel", 1, 0.0),
        (1, "gauss-seidel", 1, 0.02),
        (1, "gauss-seidel", 10, 0.0),
        (3, "jacobi", 1, 0.0),
        (3, "jacobi", 10, 0.0),
        (3, "gauss-seidel", 100, 0.0),
        (3, "symmetric", 100, 0.0),
    ],
)
def test_breathing_frequency(copies: int, method: Any, iterations: int, damping_time: float) -> None:
    """Guards compliance: a swelling body swings as implicit Euler's oscillator of 5 Hz does, step by step.

    Neither its mass, nor how many clusters it is made of, nor the iterations, nor the method matters. With damping:
    ``(1 + h^2 k) d' = d + h v``, and ``(1 + h^2 k + h k tau) v' = v - h k d``.
    """
    h, k = 0.01, (2 * np.pi * 5) ** 2
    scene = Scene(gravity=NO_GRAVITY)
    particles = scene.add_particles(CUBE - 0.5, 3.0)
    scene.add_constraints("shape_matching", [particles] * copies, compliance=1.0 / k, damping_time=damping_time)
    solver = Solver(Model(scene, dtype="float64"), substeps=1, iterations=iterations, method=method)
    state = solver.state()
    state.set_positions(1.2 * scene.positions)
    swelling, speed = 0.2, 0.0
    for _ in range(100):
        solver.step(state, solver.control(), h)
        new_speed = (speed - h * k * swelling) / (1 + h**2 * k + h * k * damping_time)
        swelling, speed = (swelling + h * speed) / (1 + h**2 * k), new_speed
        assert_allclose(state.get_positions()[0], (1 + swelling) * scene.positions, rtol=0, atol=1e-10)


@pytest.mark.parametrize("squash", [[1, 1, 0], [1, 0, 0], [1, 1, -1], [0, 0, 0]])
@pytest.mark.parametrize("clusters", ["one", "regions"])
def test_flat_and_inverted_bodies_recover(squash: list[float], clusters: str) -> None:
    """Guards the rotation: bodies pressed flat, to a line, to a point, or turned inside out recover."""
    lattice = np.array([[x, y, z] for x in range(4) for y in range(3) for z in range(3)], dtype=float)
    scene = Scene(gravity=NO_GRAVITY)
    regions = lattice_regions((4, 3, 3)) if clusters == "regions" else None
    scene.add_shape_matching(lattice, ShapeMaterial(compliance=1e-4), regions, mass=1.0)
    solver = Solver(Model(scene, dtype="float64"), substeps=10, damping=2.0)
    state = solver.state()
    noise = np.random.default_rng(0).normal(0.0, 1e-3, lattice.shape)
    state.set_positions(lattice * squash + noise)
    for _ in range(300):
        solver.step(state, solver.control(), 1 / 60)
    x = state.get_positions()[0]
    apart = [np.linalg.norm(p[:, None] - p[None], axis=2) for p in (x, lattice)]
    assert_allclose(apart[0], apart[1], rtol=0, atol=1e-3)
    assert np.linalg.det(x[[1, 3, 9]] - x[0]) < 0  # z, y, x: not its mirror image


def test_spinning_body_slows_down_as_it_must() -> None:
    """Guards angular momentum: after a turn by phi in one step a rigid body turns by ``atan(sin phi / (2 - cos phi))``.

    The prediction goes straight on, to ``(2 - e^(-i phi)) x``, and the best rotation is its angle: for small angles
    that loses phi^3. It is the only loss.
    """
    scene, h, phi = Scene(gravity=NO_GRAVITY), 1e-3, 0.02
    points = np.concatenate([CUBE - 0.5, [[1.0, 0.3, 0.2], [1.0, 0.3, -0.2]]])  # the axis z is a principal one
    mass = np.array([1, 1, 2, 2, 3, 3, 5, 5, 4, 4.0])
    points -= mass @ points / mass.sum()
    scene.add_shape_matching(points, mass=mass)
    solver = Solver(Model(scene, dtype="float64"), substeps=1)
    state = solver.state()

    def turned(angle: float) -> np.ndarray:
        c, s = np.cos(angle), np.sin(angle)
        return points @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])

    state.set_velocities((points - turned(-phi)) / h)
    angle = 0.0
    for _ in range(1000):
        solver.step(state, solver.control(), h)
        phi = np.arctan(np.sin(phi) / (2 - np.cos(phi)))
        angle += phi
    assert_allclose(state.get_positions()[0], turned(angle), rtol=0, atol=1e-9)
    assert angle > 2 * np.pi


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ratio", [3, 10, 30])
def test_rods_are_fitted_exactly(ratio: int, dtype: Any) -> None:
    """Guards the rotation about the axis of a rod, to which the fit is less and less sensitive the thinner it is.

    Rounding of the moments turns it by about eps times the square of the ratio; corners move by that times thickness.
    """
    rod = (CUBE - 0.5) * [1.0, 1.0 / ratio, 1.0 / ratio]
    rng = np.random.default_rng(ratio)
    for turn in rotations(8)[1:]:
        scene = Scene(gravity=NO_GRAVITY)
        scene.add_shape_matching(rod, mass=1.0)
        solver = Solver(Model(scene, dtype=dtype), substeps=1)
        state = solver.state()
        x = (rod @ turn.T + rng.normal(0.0, 0.1 / ratio, rod.shape)).astype(dtype).astype(float)
        state.set_positions(x)
        state.set_velocities(0.0)
        solver.step(state, solver.control(), 1.0)
        wanted = fit(x, scene.positions, scene.mass)
        assert_allclose(state.get_positions()[0], wanted, rtol=0, atol=20 * ratio * EPS[dtype])


def test_body_hangs_from_what_is_held() -> None:
    """Guards pins: a rigid body of 125 particles follows the one that is held by a grip, and does not sag from it."""
    lattice = 0.1 * np.array([[x, y, z] for x in range(5) for y in range(5) for z in range(5)])
    scene = Scene(grip_count=1)
    body = scene.add_shape_matching(lattice, mass=0.01)
    solver = Solver(Model(scene, dtype="float64"), substeps=10)
    state, control = solver.state(), solver.control()
    state.hold([[body.indices[0]]])
    control.move([[[0.01, 0.02, 0.0]]])
    for _ in range(60):
        solver.step(state, control, 1 / 60)
        x = state.get_positions()[0]
        assert_allclose(np.linalg.norm(x - x[0], axis=1), np.linalg.norm(lattice, axis=1), rtol=0, atol=1e-3)
    assert_allclose(x[0], [0.6, 1.2, 0.0], rtol=0, atol=1e-12)


def test_colours_of_regions_share_no_particle() -> None:
    """Guards the schedule that CUDA runs in parallel: clusters as they lie on the device, cut by its colours."""
    scene = Scene()
    lattice = np.array([[x, y, 0.0] for x in range(7) for y in range(9)])
    regions = lattice_regions((7, 9))
    scene.add_shape_matching(lattice, regions=[*regions, np.arange(20)], mass=1.0)
    table = Model(scene).data.shape_matching
    rows = np.split(table.indices.numpy(), table.offsets.numpy()[1:-1])
    assert sorted(map(tuple, rows)) == sorted(map(tuple, [*regions, np.arange(20)]))
    assert find_conflict(rows, table.bounds.numpy()) is None
    assert find_conflict(rows, np.array([0, len(rows)])) == 0
    # Each particle lends all of its mass.
    lent = np.bincount(table.indices.numpy(), table.mass.numpy())
    assert_allclose(lent, 1.0, rtol=1e-6)


BAD: dict[str, tuple[Any, str]] = {
    "one particle": (lambda s: s.add_constraints("shape_matching", [[0]]), "at least 2"),
    "a particle twice": (lambda s: s.add_constraints("shape_matching", [[0, 1], [0, 2, 0]]), "number 1"),
    "no such particle": (lambda s: s.add_constraints("shape_matching", [[0, 99]]), "particles 0 to"),
    "all in one place": (lambda s: s.add_shape_matching(np.zeros((4, 3)), mass=1.0), "one place"),
    "negative compliance": (lambda s: s.add_constraints("shape_matching", [[0, 1]], compliance=-1.0), "compliance"),
    "points without mass": (lambda s: s.add_shape_matching(CUBE), "mass"),
    "points in a plane": (lambda s: s.add_shape_matching(CUBE[:, :2], mass=1.0), "body"),
    "region outside": (lambda s: s.add_shape_matching(CUBE, regions=[[0, 8]], mass=1.0), "region 0"),
    "region of floats": (lambda s: s.add_shape_matching(CUBE, regions=[[0.0, 1.0]], mass=1.0), "region 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_clusters_are_named(case: str) -> None:
    """Guards checks of what a scene is given."""
    scene = Scene()
    scene.add_particles(CUBE, 1.0)
    call, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        call(scene)
    with pytest.raises(TypeError, match="sequence of index arrays"):
        scene.add_constraints("shape_matching", 5)
    assert not scene.constraints


@pytest.mark.parametrize(
    ("alpha", "h", "message"),
    [(0.0, 0.1, "alpha"), (1.5, 0.1, "alpha"), (0.5, 0.0, "time_step"), (np.nan, 0.1, "alpha")],
)
def test_bad_alpha(alpha: float, h: float, message: str) -> None:
    """Guards the classical stiffness, which is a share."""
    with pytest.raises(ValueError, match=message):
        ShapeMaterial.from_alpha(alpha, h)


def test_alpha_is_the_share_of_one_step() -> None:
    """Guards the translation of the classical stiffness into compliance."""
    scene = Scene(gravity=NO_GRAVITY)
    scene.add_shape_matching(CUBE, ShapeMaterial.from_alpha(0.3, 0.02), mass=2.0)
    x = CUBE + np.random.default_rng(0).normal(0.0, 0.1, CUBE.shape)
    assert_allclose(step(scene, x, 0.0, 0.02) - x, 0.3 * (fit(x, CUBE, scene.mass) - x), rtol=0, atol=1e-12)


def test_mesh_body() -> None:
    """Guards the builder: mass from density, surface to draw, and a mesh that falls without changing its shape."""
    scene = Scene()
    mesh = box((3, 2, 2), (0.3, 0.2, 0.2))
    regions = graph_regions(mesh.edges, len(mesh.positions))
    body = scene.add_shape_matching(mesh, ShapeMaterial(500.0), regions, position=(0.0, 1.0, 0.0))
    assert_allclose(scene.mass.sum(), 500.0 * 0.3 * 0.2 * 0.2)
    assert_array_equal(scene.triangles, body.triangles)
    fallen = step(scene, scene.positions, 0.0, 0.01)
    assert_allclose(fallen, scene.positions + 1e-4 * scene.gravity, rtol=0, atol=1e-14)


@pytest.mark.parametrize("method", ["jacobi", "gauss-seidel"])
def test_overlapping_regions_conserve_momentum(method: Any) -> None:
    """Guards the parts of mass that particles lend to regions of different sizes, beside springs and with damping.

    All corrections of a Jacobi iteration start from the same positions, so that they change no angular momentum either.
    """
    rng = np.random.default_rng(0)
    lattice = np.array([[x, y, z] for x in range(5) for y in range(3) for z in range(2)], dtype=float)
    scene = Scene(gravity=NO_GRAVITY)
    material = ShapeMaterial(compliance=1e-3, damping_time=0.01)
    mass = 10.0 ** rng.uniform(-1, 1, len(lattice))
    body = scene.add_shape_matching(lattice, material, lattice_regions((5, 3, 2)), mass)
    scene.add_distance_constraints(body.indices[:-1, None] + [0, 1], 1e-4)
    x = lattice + rng.normal(0.0, 0.2, lattice.shape)
    shift = mass[:, None] * (step(scene, x, 0.0, 0.05, method=method) - x)
    assert np.abs(shift).max() > 0.05
    assert_allclose(shift.sum(0), 0.0, atol=1000 * EPS["float64"])
    if method == "jacobi":
        assert_allclose(np.cross(x, shift).sum(0), 0.0, atol=5000 * EPS["float64"])


def test_clusters_that_coincide_are_one() -> None:
    """Guards the length of a Gauss-Seidel step: a rigid cluster shared with two others is solved at once."""
    scene = Scene(gravity=NO_GRAVITY)
    particles = scene.add_particles(CUBE, 2.0)
    scene.add_constraints("shape_matching", [particles] * 3)
    x = CUBE + np.random.default_rng(1).normal(0.0, 0.2, CUBE.shape)
    assert_allclose(step(scene, x, 0.0, 0.01), fit(x, CUBE, scene.mass), rtol=0, atol=1e-13)
