"""Volume constraints of tetrahedra, against published programs and what must hold for any simulator."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.constraints import tet_volume
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver

from .helpers import DTYPES, EPS, NO_GRAVITY, lanes_and_dtypes, load, make_elements, run_pypbd, run_tets, solve

UNIT = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
"""A tetrahedron of 1/6 m^3."""


def volumes(points: np.ndarray) -> np.ndarray:
    sides = points[..., 1:, :] - points[..., :1, :]
    return np.linalg.det(sides) / 6.0


def tolerance(oracle: dict[str, Any], reference: np.ndarray, dtype: str) -> float:
    """1e-9 of the largest number, or four times what the file's own program loses in single precision."""
    if dtype == "float64":
        return 1e-9 * float(np.abs(reference).max())
    # The library's PBD correction is six times too short, and so is its rounding.
    short = 1.0 if "lam_in" in oracle else 6.0
    return 4.0 * short * oracle["meta"]["f32_max_abs_dev"]


@lanes_and_dtypes
@pytest.mark.parametrize("name", ["pbdlib_pbd_volume", "pbdlib_xpbd_volume"])
def test_one_solve(name: str, lanes: int, dtype: str) -> None:
    """Guards C, the gradients, the weights, compliance and the multiplier that a later iteration goes on from."""
    oracle = load(name)
    count = len(oracle["p"])
    factor = np.ones(count)
    compliance, before, after = np.zeros(count), np.zeros(count), None
    if "lam_in" in oracle:
        k = oracle["stiffness"]
        compliance = np.where(k > 0, 1.0 / np.where(k > 0, k, 1.0), 0.0) / oracle["dt"] ** 2
        before, after = oracle["lam_in"], oracle["lam_exact"]
    else:
        factor = oracle["stiffness"]  # plain PBD: a fraction of the full correction
    scene = make_elements(
        "tet_volume", oracle["p"], oracle["w"], compliance=compliance, rest_volume=oracle["rest_volume"]
    )
    found = solve(scene, oracle["p"], before, lanes, dtype)
    limit = tolerance(oracle, oracle["corr_exact"], dtype)
    expected = np.broadcast_to(oracle["corr_exact"], found.corrections.shape)
    assert_allclose(found.corrections * factor[:, None, None], expected, rtol=0, atol=limit)
    if after is not None:
        relative = 1e-9 if dtype == "float64" else 1e-5
        assert_allclose(
            found.multipliers, np.broadcast_to(after, found.multipliers.shape),
            rtol=0, atol=relative * np.abs(after).max(),
        )  # fmt: skip


TETS = [
    "tet_single_tet__massfix",
    "tet_cube3__massfix",
    "tet_cube3_perturbed__massfix",
    "tet_cube3_stiff__massfix",
    "tet_cube3_col__massfix",
    # A mesh that must not be shipped: run where the folder of oracles is, skipped elsewhere.
    "tet_bunny__massfix",
    "tet_bunny_repo__massfix",
]


def frames_within(deviation: np.ndarray, limit: float) -> int:
    """Frames before the deviation first exceeds the limit."""
    good = np.maximum.accumulate(deviation) <= limit
    return len(good) if good.all() else int(np.argmin(good))


@pytest.mark.parametrize("name", TETS)
@pytest.mark.parametrize("lanes", [1, 4])
def test_run_of_a_soft_body(name: str, lanes: int) -> None:
    """Guards edges and volumes together over a whole run, impacts and impulses included, to 1e-8.

    Rounding grows alike in both precisions while it is small: the frames that count are those where ten times the
    file's own float32 deviation, scaled to double precision, leaves that much.
    """
    oracle = load(name)
    limit = 1e-8
    frames = frames_within(oracle["f32_pos_max_dev"] * 2.0**-29 * 10.0, limit)
    assert frames > 30
    found = run_tets(oracle, lanes, "float64", frames)
    assert_allclose(found, np.broadcast_to(oracle["pos"][:frames, None], found.shape), rtol=0, atol=limit)


@pytest.mark.parametrize("name", TETS)
def test_run_of_a_soft_body_in_single_precision(name: str) -> None:
    """Guards single precision: four times the deviation of the program's own float32 rerun, before its floor."""
    oracle = load(name)
    frames = frames_within(oracle["f32_pos_max_dev"], 1e-2)
    frames = min(frames, int(np.argmax(oracle["pos"][:, :, 1].min(1) < 0.1)) or frames)
    assert frames > 10
    found = run_tets(oracle, 16, "float32", frames)
    scale = max(1.0, np.abs(oracle["x0"]).max())
    allowed = np.maximum(2e-6 * scale, 4.0 * np.maximum.accumulate(oracle["f32_pos_max_dev"]))[:frames]
    excess = np.abs(found - oracle["pos"][:frames, None]).max((1, 2, 3)) / allowed
    assert excess.max() <= 1.0


def volume_parameters(bodies: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    return bodies, {"rest_volume": rows[:, 0], "compliance": 1.0 / rows[:, 1]}


@pytest.mark.parametrize("dtype", DTYPES)
def test_run_of_a_beam_with_multipliers(dtype: str) -> None:
    """Guards multipliers over five iterations of distance and volume constraints."""
    oracle = load("pypbd_beam_distvol")
    deviation = np.maximum.accumulate(oracle["f32_pos_fixed_max_dev"])
    found = run_pypbd(oracle, "tet_volume", volume_parameters, 4, dtype)
    limit = np.full(len(found), 1e-8) if dtype == "float64" else np.maximum(2e-6, 4.0 * deviation)
    error = np.abs(found - oracle["pos_fixed"][:, None]).max((1, 2, 3))
    assert (error / limit).max() <= 1.0
    # The published run, with its inconsistent gradient, is another one: the comparison can fail.
    assert (np.abs(found - oracle["pos"][:, None]).max((1, 2, 3)) / limit).max() > 3.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_momentum(dtype: str) -> None:
    """Guards the weights: sum m dx = 0 and sum m x cross dx = 0."""
    rng = np.random.default_rng(1)
    points, mass = rng.normal(size=(50, 4, 3)), rng.uniform(0.1, 10.0, (50, 4))
    scene = make_elements(
        "tet_volume", points, 1.0 / mass, rest_volume=rng.uniform(0.1, 1.0, 50), compliance=rng.uniform(0.0, 1e-2, 50)
    )
    found = solve(scene, points, np.zeros(50), 4, dtype)
    impulse = mass[..., None] * found.corrections
    size = (mass[..., None] * np.maximum(np.abs(points), np.abs(found.corrections))).max((1, 2))[:, None]
    assert np.abs(impulse).max() > 0.1
    assert (np.abs(impulse.sum(2)) <= 20 * EPS[dtype] * size).all()
    assert (np.abs(np.cross(points, impulse).sum(2)) <= 100 * EPS[dtype] * size).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_rest_shape_stays(dtype: str) -> None:
    """Guards the rest volume: what is at rest is moved by rounding at most."""
    rng = np.random.default_rng(2)
    points = UNIT + rng.normal(scale=0.1, size=(20, 4, 3))
    scene = make_elements("tet_volume", points, np.ones((20, 4)))
    found = solve(scene, points, np.zeros(20), 4, dtype)
    assert np.abs(found.corrections).max() <= 10 * EPS[dtype]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("height", [-1.0, -0.3, 0.0, 0.05])
def test_an_inverted_or_flat_tetrahedron_recovers(height: float, dtype: str) -> None:
    """Guards the sign of the volume: whatever it was pressed to, a few projections turn it right again."""
    points = UNIT.copy()
    points[3, 2] = height
    scene = make_elements("tet_volume", UNIT[None], np.ones((1, 4)))
    for _ in range(20):
        points = points + solve(scene, points[None], np.zeros(1), 1, dtype).corrections[0, 0]
    assert_allclose(volumes(points), 1.0 / 6.0, rtol=100 * EPS[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1e-4, 1.0, 1e3])
@pytest.mark.parametrize("iterations", [1, 3])
def test_fixed_and_degenerate_tetrahedra_do_not_move(iterations: int, size: float, dtype: str) -> None:
    """Guards the floor of the denominator: no NaN where all four are pinned, nor where all four coincide."""
    pinned = np.stack([UNIT * size, UNIT[[0, 2, 1, 3]] * size])
    point = np.full((1, 4, 3), 0.5 * size)
    weights = np.array([[0.0] * 4] * 2 + [[1.0] * 4])
    scene = make_elements("tet_volume", np.concatenate([pinned, point]), weights, rest_volume=0.3 * size**3)
    solver = Solver(Model(scene, num_envs=4, dtype=dtype), substeps=3, iterations=iterations)
    state = solver.state()
    before = state.get_positions()
    solver.step(state, solver.control(), 0.01)
    np.testing.assert_array_equal(state.get_positions(), before)


@pytest.mark.parametrize("iterations", [1, 2, 10])
def test_stiffness_does_not_depend_on_iterations(iterations: int) -> None:
    """Guards compliance: a weight on a fixed base sinks by the closed form, however often the solver sweeps.

    With the base of area A fixed, the force of the constraint on the apex is -C/compliance A/3: at rest
    C = -3 m g compliance / A, and the apex is 3 C / A lower.
    """
    mass, compliance, area = 2.0, 1e-4, 0.5
    # The base is in the plane y = 0, the apex above it.
    points = UNIT[:, [1, 2, 0]]
    scene = make_elements("tet_volume", points[None], np.array([[0.0, 0.0, 0.0, 1.0 / mass]]), compliance=compliance)
    apex = 3
    scene.gravity = np.array([0.0, -9.81, 0.0])
    solver = Solver(Model(scene, dtype="float64"), substeps=1, iterations=iterations, damping=20.0)
    state = solver.state()
    for _ in range(500):
        solver.step(state, solver.control(), 0.01)
    sunk = 9.0 * mass * 9.81 * compliance / area**2
    assert sunk > 0.05
    expected = points[apex] - [0.0, sunk, 0.0]
    assert_allclose(state.get_positions()[0, apex], expected, rtol=0, atol=1e-9)


def test_multipliers_accumulate() -> None:
    """Guards C + alpha lambda = 0 after enough iterations, which a multiplier lost between them would break."""
    scene = make_elements("tet_volume", UNIT[None], np.full((1, 4), 0.5), compliance=1e-3)
    h = 0.05
    results = []
    for iterations in (50, 100):
        solver = Solver(Model(scene, dtype="float64"), substeps=1, iterations=iterations)
        state = solver.state()
        state.set_positions(1.3 * UNIT[None])
        solver.step(state, solver.control(), h)
        error = volumes(state.get_positions()[0]) - 1.0 / 6.0
        assert abs(error) > 1e-2
        assert_allclose(error + 1e-3 / h**2 * state.get_lambda()[0, 0], 0.0, atol=1e-12)
        results.append(state.get_positions())
    assert_allclose(results[0], results[1], rtol=0, atol=1e-12)


def test_bad_tetrahedra_are_named() -> None:
    """Guards the check of the rest state: one message that says which."""
    scene = Scene(gravity=NO_GRAVITY)
    scene.add_particles(np.concatenate([UNIT, [[0.5, 0.5, 0.0]]]), 1.0)
    with pytest.raises(ValueError, match=r"1 of 2 .* number 1, particles \[0, 2, 1, 3\]"):
        scene.add_constraints("tet_volume", [[0, 1, 2, 3], [0, 2, 1, 3]])
    with pytest.raises(ValueError, match=r"flat .* number 0, particles \[0, 1, 2, 4\]"):
        scene.add_constraints("tet_volume", [[0, 1, 2, 4]])
    with pytest.raises(ValueError, match="flat or inverted"):
        scene.add_constraints("tet_volume", [[0, 1, 2, 3]], rest_volume=-1.0)
    with pytest.raises(ValueError, match="compliance must not be negative"):
        scene.add_constraints("tet_volume", [[0, 1, 2, 3]], compliance=-1.0)
    with pytest.raises(ValueError, match="compliance must be finite"):
        scene.add_constraints("tet_volume", [[0, 1, 2, 3]], compliance=np.nan)
    assert "tet_volume" not in scene.constraints


def test_rest_volume_is_that_of_the_particles_now() -> None:
    """Guards the default and the unit."""
    values = tet_volume.prepare(2.0 * UNIT, np.array([[0, 1, 2, 3]]), compliance=1e-6)
    assert_allclose(values["rest_volume"], [8.0 / 6.0])
    assert_allclose(values["compliance"], [1e-6])
