"""Dihedral and isometric bending, against published programs, finite differences, and what must always hold."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.constraints.dihedral import angles
from pbd_gym.constraints.isometric_bending import bending_coefficients
from pbd_gym.geometry.edges import hinges
from pbd_gym.geometry.grids import grid
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver

from .helpers import DTYPES, EPS, NO_GRAVITY, lanes_and_dtypes, load, make_elements, run_pypbd, solve

KINDS = ("dihedral", "isometric_bending")

OURS = [2, 3, 0, 1]
"""The library numbers the wings 0 and 1, the shared edge 2 and 3; here the edge comes first."""

FLAT = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.4, 0.8, 0.0], [0.5, -0.7, 0.0]])
"""A flat hinge; seen from +z, its first triangle turns counter-clockwise."""


def folded(angle: float) -> np.ndarray:
    """``FLAT`` with its second wing turned about the edge, downwards for a positive angle."""
    points = FLAT.copy()
    points[3, 1:] = -0.7 * np.cos(angle), -0.7 * np.sin(angle)
    return points


def energy(points: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Bending energy of unit stiffness."""
    return 0.5 * (np.einsum("...k,...ki->...i", coefficients, points) ** 2).sum(-1)


def check(found: np.ndarray, expected: np.ndarray, dtype: str, deviation: float) -> None:
    """Compare to 1e-9 of the largest number, or to four times a published deviation of single precision."""
    limit = 1e-9 * float(np.abs(expected).max()) if dtype == "float64" else 4.0 * deviation
    assert_allclose(found, np.broadcast_to(expected, found.shape), rtol=0, atol=limit)


@lanes_and_dtypes
def test_one_solve_of_a_dihedral(lanes: int, dtype: str) -> None:
    """Guards the angle, its gradients and the weights.

    The library's angle has no sign; ours is given the sign of the hinge, and then agrees. Where both ends of the edge
    are fixed the library does nothing, which is no consequence of the equations: left out.
    """
    oracle = load("pbdlib_pbd_dihedral")
    done = oracle["ok"] == 1
    assert (oracle["w"][~done][:, :2] == 0).all() or (oracle["w"][~done][:, 2:] == 0).all()
    assert done.sum() > 55
    points, weights = oracle["p"][done][:, OURS], oracle["w"][done][:, OURS]
    sign = np.sign(angles(points))
    assert (sign > 0).any() and (sign < 0).any()
    scene = make_elements("dihedral", points, weights, rest_angle=sign * oracle["rest_angle"][done])
    found = solve(scene, points, np.zeros(len(points)), lanes, dtype)
    check(
        found.corrections * oracle["stiffness"][done, None, None], oracle["corr"][done][:, OURS],
        dtype, oracle["meta"]["f32_max_abs_dev"],
    )  # fmt: skip


def reference(
    constraint: Callable[[np.ndarray], np.ndarray], points: np.ndarray, weights: np.ndarray, alpha: Any, lam: Any
) -> tuple[np.ndarray, np.ndarray]:
    """One XPBD step with gradients by central differences of fourth order."""
    gradient = np.zeros_like(points)
    for k in range(4):
        for axis in range(3):
            for step, factor in ((1, 8.0), (-1, -8.0), (2, -1.0), (-2, 1.0)):
                moved = points.copy()
                moved[:, k, axis] += step * 1e-3
                gradient[:, k, axis] += factor * constraint(moved) / (12.0 * 1e-3)
    delta = -(constraint(points) + alpha * lam) / ((weights[..., None] * gradient**2).sum((1, 2)) + alpha)
    return weights[..., None] * gradient * delta[:, None, None], lam + delta


def random_hinges(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Hinges folded between -2.5 and 2.5 rad, and inverse masses of which some are 0."""
    rng = np.random.default_rng(3)
    points = np.stack([folded(angle) for angle in np.linspace(-2.5, 2.5, count)])
    weights = rng.uniform(0.2, 5.0, (count, 4)) * (rng.uniform(size=(count, 4)) > 0.15)
    return points + rng.normal(scale=0.05, size=points.shape), weights


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_one_solve_against_finite_differences(kind: str, lanes: int) -> None:
    """Guards signs, folds past the flat state, compliance and multipliers, where no published solve reaches."""
    rng = np.random.default_rng(4)
    count = 40
    points, weights = random_hinges(count)
    alpha, lam = rng.uniform(0.0, 2.0, count), rng.normal(scale=0.3, size=count)
    parameters: dict[str, Any] = {"compliance": alpha}
    if kind == "dihedral":
        rest = rng.uniform(-0.5, 0.5, count)
        parameters["rest_angle"] = rest
        scene = make_elements(kind, points, weights, **parameters)
        expected = reference(lambda p: angles(p) - rest, points, weights, alpha, lam)
    else:
        scene = make_elements(kind, np.stack([FLAT] * count), weights, **parameters)
        coefficients = bending_coefficients(FLAT[None])
        expected = reference(lambda p: energy(p, coefficients), points, weights, alpha, lam)
    found = solve(scene, points, lam, lanes, "float64")
    assert np.abs(expected[0]).max() > 0.1
    # Fourth-order differences of a step of 1e-3 leave 1e-9.
    assert_allclose(found.corrections, np.broadcast_to(expected[0], found.corrections.shape), rtol=0, atol=1e-8)
    assert_allclose(found.multipliers, np.broadcast_to(expected[1], found.multipliers.shape), rtol=0, atol=1e-8)


@lanes_and_dtypes
@pytest.mark.parametrize("name", ["pbdlib_pbd_isometric_bending", "pbdlib_xpbd_isometric_bending"])
def test_one_solve_of_isometric_bending(name: str, lanes: int, dtype: str) -> None:
    """Guards the energy, its gradient and multipliers.

    The library's form is minus half of the published one, so its C is ours times -1/2: compliance times 4 and
    multipliers times -1/2 make both the same.
    """
    oracle = load(name)
    count = len(oracle["p"])
    factor = np.ones(count)
    compliance, before = np.zeros(count), np.zeros(count)
    if "lam_in" in oracle:
        k = oracle["stiffness"]
        compliance = np.where(k > 0, 4.0 / np.where(k > 0, k, 1.0), 0.0) / oracle["dt"] ** 2
        before = -0.5 * oracle["lam_in"]
    else:
        factor = oracle["stiffness"]  # plain PBD: a fraction of the full correction
    scene = make_elements("isometric_bending", oracle["rest"][:, OURS], oracle["w"][:, OURS], compliance=compliance)
    found = solve(scene, oracle["p"][:, OURS], before, lanes, dtype)
    deviation = oracle["meta"]["f32_max_abs_dev"]
    check(found.corrections * factor[:, None, None], oracle["corr"][:, OURS], dtype, deviation)
    if "lam_in" in oracle:
        check(found.multipliers, -0.5 * oracle["lam_out"], dtype, 1e-5 * np.abs(oracle["lam_out"]).max())


def test_quadratic_form() -> None:
    """Guards the coefficients: -2 times the library's Q, four numbers that add up to zero, no energy when flat."""
    for name in ("pbdlib_pbd_isometric_bending", "pbdlib_xpbd_isometric_bending"):
        oracle = load(name)
        k = bending_coefficients(oracle["rest"][:, OURS])
        # The library orders Q like this project orders particles.
        q = -2.0 * oracle["Q"]
        assert_allclose(np.einsum("ni,nj->nij", k, k), q, rtol=0, atol=1e-10 * np.abs(q).max())
        assert_allclose(k.sum(1), 0.0, atol=1e-12 * np.abs(k).max())
    flat = bending_coefficients(FLAT[None])
    assert_allclose(flat @ FLAT, 0.0, atol=1e-14)


def bending_parameters(bodies: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    return bodies[:, OURS], {"compliance": 4.0 / rows[:, 0]}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("name", ["pypbd_cloth_8x6", "pypbd_cloth_8x6_it5"])
def test_run_of_a_cloth(name: str, lanes: int, dtype: str) -> None:
    """Guards distance and isometric bending together: five substeps of one iteration, one substep of five.

    In double precision to 1e-8 where ten times the file's own float32 deviation, scaled, leaves that much (all of it);
    in single precision to four times that deviation.
    """
    oracle = load(name)
    deviation = np.maximum.accumulate(oracle["f32_pos_max_dev"])
    assert (deviation * 2.0**-29 * 10.0 < 1e-8).all()
    assert oracle["pos"][..., 1].min() < -0.2
    found = run_pypbd(oracle, "isometric_bending", bending_parameters, lanes, dtype)
    limit = np.full(len(found), 1e-8) if dtype == "float64" else np.maximum(2e-6, 4.0 * deviation)
    error = np.abs(found - oracle["pos"][:, None]).max((1, 2, 3))
    assert (error / limit).max() <= 1.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_momentum(kind: str, dtype: str) -> None:
    """Guards the weights: sum m dx = 0 and sum m x cross dx = 0."""
    points, weights = random_hinges(40)
    mass = 1.0 / np.where(weights > 0, weights, 1.0)
    rest = np.stack([FLAT] * 40)
    scene = make_elements(kind, rest, 1.0 / mass, compliance=np.linspace(0.0, 1.0, 40))
    found = solve(scene, points, np.zeros(40), 4, dtype)
    impulse = mass[..., None] * found.corrections
    size = (mass[..., None] * np.maximum(np.abs(points), np.abs(found.corrections))).max((1, 2))[:, None]
    assert np.abs(impulse).max() > 0.05
    # Gradients of a sharp fold are sums of longer terms: a few tens of roundings.
    assert (np.abs(impulse.sum(2)) <= 20 * EPS[dtype] * size).all()
    assert (np.abs(np.cross(points, impulse).sum(2)) <= 100 * EPS[dtype] * size).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("angle", [0.0, 0.3, -1.2, 2.9])
def test_a_rest_shape_stays(angle: float, dtype: str) -> None:
    """Guards the rest angle, flat and folded either way: what is at rest is moved by rounding at most."""
    points = folded(angle)[None]
    scene = make_elements("dihedral", points, np.ones((1, 4)))
    values = scene.constraints["dihedral"].values
    assert_allclose(np.arctan2(*values["rest"][0][0, ::-1]), angle, atol=1e-12)
    found = solve(scene, points, np.zeros(1), 4, dtype)
    assert np.abs(found.corrections).max() <= 20 * EPS[dtype]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_flat_hinge_stays(dtype: str) -> None:
    """Guards the quotient 0 / 0 of a flat hinge, whose energy and gradient vanish together."""
    scene = make_elements("isometric_bending", FLAT[None], np.ones((1, 4)))
    found = solve(scene, FLAT[None], np.zeros(1), 4, dtype)
    assert np.abs(found.corrections).max() <= 20 * EPS[dtype]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("start", [-2.6, -0.5, 0.2, 1.5])
def test_a_hinge_returns_to_its_rest_angle(start: float, dtype: str) -> None:
    """Guards the sign: with edge and one wing fixed, the other comes to the rest angle from either side of flat."""
    scene = make_elements("dihedral", folded(-0.7)[None], np.array([[0.0, 0.0, 0.0, 1.0]]))
    points = folded(start)
    for _ in range(60):
        points = points + solve(scene, points[None], np.zeros(1), 1, dtype).corrections[0, 0]
    assert_allclose(angles(points), -0.7, atol=20 * EPS[dtype])


def test_the_shorter_way_round() -> None:
    """Guards the difference of two angles: from 2.9 rad to a rest of -2.9 rad it is 0.48 rad, through a full fold."""
    scene = make_elements("dihedral", folded(-2.9)[None], np.array([[0.0, 0.0, 0.0, 1.0]]))
    points = folded(2.9)
    first = solve(scene, points[None], np.zeros(1), 1, "float64").multipliers[0, 0]
    # C = -delta_lambda w |g|^2, with |g| one over the height of the wing.
    assert_allclose(-first / 0.7**2, 2 * 2.9 - 2 * np.pi, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_multipliers_accumulate(kind: str) -> None:
    """Guards C + alpha lambda = 0 after enough iterations, whatever their number: stiffness is not theirs."""
    h, compliance = 0.05, 2e-3
    points = folded(1.0)[None]
    scene = make_elements(kind, FLAT[None], np.full((1, 4), 0.5), compliance=compliance)
    coefficients = bending_coefficients(FLAT[None])
    results = []
    for iterations in (100, 200):
        solver = Solver(Model(scene, dtype="float64"), substeps=1, iterations=iterations)
        state = solver.state()
        state.set_positions(points)
        solver.step(state, solver.control(), h)
        now = state.get_positions()
        error = angles(now) if kind == "dihedral" else energy(now, coefficients)
        assert abs(error[0]) > 1e-2
        assert_allclose(error[0] + compliance / h**2 * state.get_lambda()[0, 0], 0.0, atol=1e-12)
        results.append(now)
    assert_allclose(results[0], results[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("iterations", [1, 4])
def test_a_torsion_spring_swings_with_its_period(iterations: int) -> None:
    """Guards compliance in rad^2/J: a wing on a fixed hinge swings with the period 2 pi sqrt(m r^2 compliance).

    Half a degree of swing, 2000 steps a period: the scheme is of first order and its frequency right to (omega h)^2.
    """
    mass, compliance, arm = 0.3, 0.05, 0.7
    period = 2 * np.pi * np.sqrt(mass * arm**2 * compliance)
    points = folded(0.0)
    scene = make_elements("dihedral", points[None], np.array([[0.0, 0.0, 0.0, 1.0 / mass]]), compliance=compliance)
    solver = Solver(Model(scene, dtype="float64"), substeps=20, iterations=iterations)
    state, control, frame = solver.state(), solver.control(), period / 100
    state.set_positions(folded(0.01)[None])
    found = []
    for _ in range(100):
        solver.step(state, control, frame)
        found.append(float(angles(state.get_positions()[0])))
    swing = np.array(found)
    crossings = np.flatnonzero(np.diff(np.sign(swing)))
    assert len(crossings) == 2
    between = swing[crossings] / (swing[crossings] - swing[crossings + 1])
    assert_allclose((crossings + 1 + between) * frame, [period / 4, 3 * period / 4], rtol=0.005)


@pytest.mark.parametrize(("iterations", "dtype"), [(1, "float64"), (3, "float32")])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e2])
@pytest.mark.parametrize("kind", KINDS)
def test_fixed_and_degenerate_hinges_do_not_move(kind: str, iterations: int, size: float, dtype: str) -> None:
    """Guards the floors of the denominators: no NaN where all four are pinned, coincide, or lie on a line.

    One of the pinned hinges is a thousand times its rest size, where a floor too low would overflow.
    """
    line = np.outer([0.0, 1.0, 0.3, 0.7], [1.0, 0.0, 0.0])
    start = np.stack([folded(1.0), 1e3 * folded(0.5), np.full((4, 3), 0.5), line]) * size
    weights = np.array([[0.0] * 4, [0.0] * 4, [1.0] * 4, [1.0] * 4])
    parameters = {"rest_angle": 0.4} if kind == "dihedral" else {}
    scene = make_elements(kind, np.stack([FLAT * size] * 4), weights, **parameters)
    solver = Solver(Model(scene, num_envs=4, dtype=dtype), substeps=3, iterations=iterations)
    state = solver.state()
    state.set_positions(np.broadcast_to(start.reshape(-1, 3), (4, 16, 3)))
    before = state.get_positions()
    solver.step(state, solver.control(), 0.01)
    after = state.get_positions()
    assert np.isfinite(after).all()
    # On a line there is a direction left: along it, for the energy only.
    assert_array_equal(after[:, :12], before[:, :12])
    if kind == "dihedral":
        assert_array_equal(after[:, 12:], before[:, 12:])
    assert_array_equal(after[..., 1:][:, 12:], before[..., 1:][:, 12:])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_nearly_degenerate_triangle_stays_finite(dtype: str) -> None:
    """Guards the floor of the areas: a wing that comes ever closer to the edge moves ever less."""
    heights = 10.0 ** -np.arange(1, 31)
    points = np.stack([folded(1.0)] * len(heights))
    points[:, 3, 1:] *= heights[:, None] / 0.7
    scene = make_elements("dihedral", points, np.ones(points.shape[:2]), rest_angle=0.0)
    found = solve(scene, points, np.zeros(len(heights)), 1, dtype)
    assert np.isfinite(found.corrections).all()
    assert np.abs(found.corrections[0]).max() > 1e-2
    assert (np.abs(found.corrections[0]).max((1, 2)) <= 4.0 * heights + 10 * EPS[dtype]).all()


def test_hinges_of_a_grid() -> None:
    """Guards the topology: every inner edge once, with its wings, turned like the first triangle."""
    sheet = grid(4, 5, 1.0, 1.0)
    found = hinges(sheet.triangles)
    corners = {tuple(sorted(triangle)) for triangle in sheet.triangles.tolist()}
    assert found.dtype == np.int32
    # 20 particles, 24 triangles: 43 edges of which 14 are on the border.
    assert found.shape == (29, 4)
    assert len({tuple(sorted(hinge[:2])) for hinge in found.tolist()}) == 29
    for a, b, c, d in found.tolist():
        assert tuple(sorted((a, b, c))) in corners
        assert tuple(sorted((a, b, d))) in corners
    turns = np.cross(
        sheet.positions[found[:, 1]] - sheet.positions[found[:, 0]],
        sheet.positions[found[:, 2]] - sheet.positions[found[:, 0]],
    )
    assert (turns[:, 2] > 0).all()
    assert_allclose(angles(sheet.positions[found]), 0.0, atol=1e-14)


def test_angles_of_a_closed_surface() -> None:
    """Guards the sign: a tetrahedron whose normals point outward has six convex edges of pi - acos(1/3)."""
    points = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
    triangles = np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    normals = np.cross(
        points[triangles[:, 1]] - points[triangles[:, 0]], points[triangles[:, 2]] - points[triangles[:, 0]]
    )
    assert (np.einsum("ni,ni->n", normals, points[triangles].mean(1)) > 0).all()
    found = hinges(triangles)
    assert_allclose(angles(points[found]), np.full(6, np.pi - np.arccos(1 / 3)), rtol=1e-14)


@pytest.mark.parametrize(
    ("triangles", "message"),
    [
        ([[0, 1, 2], [1, 0, 3], [0, 1, 4]], "particles 0 and 1 belongs to more than two"),
        ([[0, 1, 2], [3, 3, 4]], "triangle 1 has the same particle twice"),
        ([[0, 1, 2], [2, 1, 0]], "particles 0, 1 and 2 make more than one triangle: 0 and 1"),
        ([[0, 1, 2], [1, 0, 3], [2, 1, 4], [1, 2, 0]], "particles 0, 1 and 2 make more than one triangle: 0 and 3"),
        ([[0, 1, 2, 3]], r"shape \(t, 3\)"),
        ([[0.0, 1.0, 2.0]], "must be integers"),
    ],
)
def test_meshes_without_hinges_are_refused(triangles: list[Any], message: str) -> None:
    """Guards the errors of `hinges`."""
    with pytest.raises(ValueError, match=message):
        hinges(np.array(triangles))


def test_a_lone_triangle_has_no_hinge() -> None:
    """Guards the empty results."""
    assert hinges(np.array([[0, 1, 2]])).shape == (0, 4)
    assert hinges(np.zeros((0, 3), dtype=np.int32)).shape == (0, 4)


def test_bad_parameters_are_named() -> None:
    """Guards the checks of both kinds."""
    scene = Scene(gravity=NO_GRAVITY)
    scene.add_particles(np.concatenate([FLAT, [[0.5, 0.0, 0.0]]]), 1.0)
    with pytest.raises(ValueError, match="rest_angle must be from -pi to pi"):
        scene.add_constraints("dihedral", [[0, 1, 2, 3]], rest_angle=4.0)
    for kind in KINDS:
        with pytest.raises(ValueError, match="compliance must not be negative"):
            scene.add_constraints(kind, [[0, 1, 2, 3]], compliance=-1.0)
        with pytest.raises(ValueError, match="compliance must be finite"):
            scene.add_constraints(kind, [[0, 1, 2, 3]], compliance=np.inf)
    with pytest.raises(ValueError, match="constraint 1 has a triangle without area"):
        scene.add_constraints("isometric_bending", [[0, 1, 2, 3], [0, 1, 2, 4]])
    assert not scene.constraints
