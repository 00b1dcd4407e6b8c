"""Elastic tetrahedra against a published library, closed forms, and derivatives of the energies they state."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.constraints import Kind, kinds, register
from pbd_gym.constraints.tet_fem import COLLAPSED, prepare, rising
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from tests.sim.oracles import analytic

from .helpers import DATA, DTYPES, EPS, NO_GRAVITY, Sweeper, lanes_and_dtypes, load, make_elements, solve

NEO_HOOKEAN = ("tet_neo_hookean_shape", "tet_neo_hookean_volume")
MATERIALS = {"stvk": ("tet_stvk",), "corotated": ("tet_corotated",), "neo_hookean": NEO_HOOKEAN}
KINDS = ("tet_stvk", "tet_corotated", *NEO_HOOKEAN)
CORNER = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


def lame(young: Any, poisson: Any) -> tuple[Any, Any]:
    """Lame constants mu and lambda [Pa]."""
    return young / (2 * (1 + poisson)), young * poisson / ((1 + poisson) * (1 - 2 * poisson))


def density(kind: str, f: np.ndarray, mu: float, bulk: float) -> float:
    """Energy density [Pa] as the literature states it, up to a constant; singular values stand for the rotation."""
    volume = np.linalg.det(f)
    if kind == "tet_stvk":
        green = 0.5 * (f.T @ f - np.eye(3))
        return mu * (green**2).sum() + 0.5 * bulk * np.trace(green) ** 2
    if kind == "tet_corotated":
        stretches = np.linalg.svd(f)[1]
        stretches[2] *= np.sign(volume)
        return mu * ((stretches - 1) ** 2).sum() + 0.5 * bulk * (stretches.sum() - 3) ** 2
    if kind == "tet_neo_hookean_volume":
        return 0.5 * bulk * (volume - 1) ** 2
    return 0.5 * mu * ((f**2).sum() + volume**2 - 4 * volume)


def probe(
    kind: str, deformations: np.ndarray, young: float, poisson: float, dtype: str = "float64"
) -> tuple[np.ndarray, np.ndarray]:
    """Measure the energy density and the stress P of the engine [Pa], for deformation gradients of shape (m, 3, 3).

    A pinned element takes up its multiplier alone, -C / alpha, which gives C. A free one moves by w s p b_k with
    s = lambda / C: the rest is known, which gives p.
    """
    rng = np.random.default_rng(3)
    rest = CORNER + rng.uniform(-0.2, 0.2, (len(deformations), 4, 3))
    points = np.einsum("nij,nkj->nki", deformations, rest)
    edges = (rest[:, 1:] - rest[:, :1]).transpose(0, 2, 1)
    alpha = 6.0 / (young * np.linalg.det(edges))  # h = 1 s
    zero = np.zeros(len(rest))
    material = {"young_modulus": young, "poisson_ratio": poisson}
    value = -alpha * solve(make_elements(kind, rest, np.zeros((len(rest), 4)), **material), points, zero, 1,
                           dtype).multipliers[0]  # fmt: skip
    weight = 1.0 / young
    free = solve(make_elements(kind, rest, np.full((len(rest), 4), weight), **material), points, zero, 1, dtype)
    s = free.multipliers[0] / value
    columns = (free.corrections[0, :, 1:] / (weight * s[:, None, None])).transpose(0, 2, 1)
    return young * value**2 / 2, young * columns @ edges.transpose(0, 2, 1)


def standing(rest: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return where elements, shape (m, 4, 3), have so much of their volume that nothing helps them up, shape (m,)."""
    before, after = (np.linalg.det(x[:, 1:] - x[:, :1]) for x in (rest, points))
    return np.asarray(after > 1.001 * COLLAPSED * before)


def box(cells: tuple[int, int, int], size: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and tetrahedra, six in each cell, of a box."""
    counts = [c + 1 for c in cells]
    nodes = np.stack(np.meshgrid(*(np.linspace(0, s, c) for s, c in zip(size, counts, strict=True)), indexing="ij"), -1)
    number = np.arange(np.prod(counts)).reshape(counts)
    tets = []
    for cell in itertools.product(*(range(c) for c in cells)):
        for axes in itertools.permutations(range(3)):
            path = [np.array(cell)]
            for axis in axes:
                path.append(path[-1] + np.eye(3, dtype=int)[axis])
            tet = [number[tuple(p)] for p in path]
            even = np.linalg.det(np.eye(3)[list(axes)]) > 0
            tets.append(tet if even else [tet[0], tet[2], tet[1], tet[3]])
    return nodes.reshape(-1, 3), np.array(tets)


def body(
    kinds: tuple[str, ...], nodes: np.ndarray, tets: np.ndarray, young: float, poisson: float = 0.3, **options: Any
) -> Scene:
    """Build a scene of one body of 1,000 kg/m^3."""
    scene = Scene(**options)
    corners = nodes[tets]
    volumes = np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6
    scene.add_particles(nodes, np.bincount(tets.ravel(), np.repeat(250.0 * volumes, 4), len(nodes)))
    for kind in kinds:
        scene.add_constraints(kind, tets, young_modulus=young, poisson_ratio=poisson)
    return scene


@lanes_and_dtypes
def test_one_solve_agrees_with_the_library(lanes: int, dtype: str) -> None:
    """Guards StVK: energy, gradient, weights, compliance, multiplier.

    The library's C is sqrt(V) of ours, hence its multiplier 1 / sqrt(V); it adds to the multiplier what it should not
    (`lam_exact` has the right sum). A step of h = 1 s stands for that of the file in units where E has dt^2 in it.
    """
    oracle = load("pbdlib_xpbd_fem_tet")
    young, poisson, dt = oracle["E_nu_dt"].T
    scene = make_elements("tet_stvk", oracle["rest"], oracle["w"], young_modulus=young * dt**2, poisson_ratio=poisson)
    root = np.sqrt(oracle["rest_volume"])
    found = solve(scene, oracle["p"], oracle["lam_in"] * root, lanes, dtype)
    wanted = np.broadcast_to(oracle["corr_exact"], found.corrections.shape)
    assert_allclose(oracle["corr"], oracle["corr_exact"], atol=1e-12)
    assert np.abs(wanted).max() > 0.1
    upright = standing(oracle["rest"], oracle["p"])
    assert upright.sum() > 10
    limit = 1e-9 if dtype == "float64" else 4 * oracle["meta"]["f32_max_abs_dev"]
    assert_allclose(found.corrections[:, upright], wanted[:, upright], rtol=0, atol=limit)
    scale = max(1.0, np.abs(oracle["lam_exact"]).max())
    assert_allclose(found.multipliers / root, np.broadcast_to(oracle["lam_exact"], (lanes, len(root))), rtol=0,
                    atol=limit * scale)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_rigid_solve_agrees_with_the_library(dtype: str) -> None:
    """Guards StVK without compliance: the library projects the energy U, the engine its root.

    A root has twice the step to zero, ``C / grad C = 2 U / grad U``. A Young's modulus of 1e30 Pa leaves no compliance.
    """
    oracle = load("pbdlib_pbd_fem_tet")
    scene = make_elements(
        "tet_stvk", oracle["rest"], oracle["w"], young_modulus=1e30, poisson_ratio=oracle["E_nu"][:, 1]
    )
    found = solve(scene, oracle["p"], np.zeros(len(oracle["p"])), 4, dtype).corrections
    wanted = np.broadcast_to(oracle["corr"], found.shape)
    scale = np.abs(wanted).max()
    assert scale > 0.1
    limit = 1e-9 * scale if dtype == "float64" else 4 * oracle["meta"]["f32_max_abs_dev"]
    upright = standing(oracle["rest"], oracle["p"])
    assert upright.sum() > 10
    assert_allclose(found[:, upright] / 2.0, wanted[:, upright], rtol=0, atol=limit)


def reference_run(oracle: dict[str, Any], steps: int, threshold: float) -> np.ndarray:
    """Run the beam of the file in NumPy, colour by colour; positions after each step [m], shape (steps + 1, n, 3).

    Args:
        oracle: the file.
        steps: of `dt`.
        threshold: elements with ``sum w |grad U|^2 + alpha C^2`` below it are skipped; the library has 1e-6.
    """
    corners, parameters, w = oracle["c_bodies"], oracle["c_params"], oracle["inv_mass"]
    inverse = parameters[:, 3:12].reshape(-1, 3, 3)
    x, v, h = oracle["x0"].copy(), oracle["v0"].copy(), float(oracle["dt"] / oracle["substeps"])
    young, poisson = parameters[0, 1:3]
    mu, bulk = lame(1.0, poisson)
    alpha = 1 / (young * h * h)
    found = [x.copy()]
    for _ in range(steps):
        for _ in range(int(oracle["substeps"])):
            v[w > 0] += h * oracle["gravity"]
            before, x = x, x + h * v
            for start, end in itertools.pairwise(oracle["color_ptr"]):
                at, b, volume = corners[start:end], inverse[start:end], parameters[start:end, 0]
                edges = (x[at[:, :3]] - x[at[:, 3:]]).transpose(0, 2, 1)
                f = edges @ b
                green = 0.5 * (f.transpose(0, 2, 1) @ f - np.eye(3))
                trace = np.trace(green, axis1=1, axis2=2)
                square = 2 * volume * (mu * (green**2).sum((1, 2)) + 0.5 * bulk * trace**2)
                stress = f @ (2 * mu * green + bulk * trace[:, None, None] * np.eye(3))
                three = (volume[:, None, None] * stress @ b.transpose(0, 2, 1)).transpose(0, 2, 1)
                gradient = np.concatenate([three, -three.sum(1, keepdims=True)], axis=1)
                total = (w[at] * (gradient**2).sum(2)).sum(1) + alpha * square
                s = np.where(total > threshold, -square / np.maximum(total, 1e-300), 0.0)
                x[at] += s[:, None, None] * w[at][:, :, None] * gradient
            v = (x - before) / h
        found.append(x.copy())
    return np.array(found)


def test_a_beam_agrees_with_the_library() -> None:
    """Guards whole runs with StVK: 65 steps of ten substeps.

    The library skips almost-rest elements and there is no run of it without that. A NumPy program with the threshold
    follows the file to rounding (it stays so for all 300 steps; float32 is 2e-4 off, so rounding of 1e-16 is not
    amplified to 1e-8), and the engine follows the same program without.
    """
    oracle = load("pypbd_beam_fem_sub10")
    frames = oracle["steps"] <= 65
    steps = oracle["steps"][frames]
    assert oracle["f32_pos_max_dev"][frames].max() * 2.0**-29 * 10 < 1e-8
    with_threshold = reference_run(oracle, steps[-1], 1e-6)
    assert_allclose(with_threshold[steps], oracle["pos"][frames], rtol=0, atol=1e-10)
    wanted = reference_run(oracle, steps[-1], 0.0)
    assert np.abs(wanted - with_threshold).max() > 1e-5

    weights = oracle["inv_mass"]
    scene = Scene(gravity=oracle["gravity"])
    scene.add_particles(oracle["rest"], 1.0 / np.where(weights > 0, weights, 1.0))
    scene.pin(np.flatnonzero(weights == 0))
    scene.add_constraints("tet_stvk", oracle["c_bodies"], young_modulus=1e5, poisson_ratio=0.3)
    solver = Solver(Model(scene, num_envs=4, dtype="float64", order="given", lanes=4), substeps=10, compensate=False)
    state, control = solver.state(), solver.control()
    assert_array_equal(oracle["x0"], oracle["rest"])
    for step in range(1, steps[-1] + 1):
        solver.step(state, control, float(oracle["dt"]))
        assert_allclose(state.get_positions()[3], wanted[step], rtol=0, atol=1e-10)


def test_stvk_patch() -> None:
    """Guards the StVK energy and stress against the closed form for four deformations."""
    patch = analytic()["A9_patch"]
    rows = patch["rows"]
    energies, stresses = probe("tet_stvk", np.array([row["F"] for row in rows]), patch["E"], patch["nu"])
    assert_allclose(energies, [row["stvk_density"] for row in rows], rtol=1e-12)
    assert_allclose(stresses, [row["P"] for row in rows], rtol=0, atol=1e-11 * patch["E"])


@pytest.mark.parametrize(
    ("kind", "poisson"),
    # The hydrostatic part has no energy without a Poisson ratio.
    [case for case in itertools.product(KINDS, (0.0, 0.3, 0.49)) if case != (NEO_HOOKEAN[1], 0.0)],
)
def test_energy_and_its_derivative(kind: str, poisson: float) -> None:
    """Guards each kind: its energy is the stated one and its gradient that of the energy, also where inverted.

    Those that are helped up keep to it as far as they are not, at more than a fifth of their volume.
    """
    rng = np.random.default_rng(4)
    deformations = np.eye(3) + 0.5 * rng.normal(size=(80, 3, 3))
    deformations[20:40, :, 0] *= -1
    if kinds()[kind].rescue is not None:
        deformations = deformations[np.linalg.det(deformations) > 1.001 * COLLAPSED]
        assert len(deformations) > 30 and np.linalg.det(deformations).min() < 0.3
    else:
        assert (np.linalg.det(deformations) < 0).sum() > 10
    young = 2.0e4
    mu, bulk = lame(young, poisson)
    energies, stresses = probe(kind, deformations, young, poisson)
    for f, energy, stress in zip(deformations, energies, stresses, strict=True):
        assert_allclose(energy, density(kind, f, mu, bulk), rtol=1e-10)
        steps = 1e-5 * np.eye(9).reshape(3, 3, 3, 3)
        numeric = [[(density(kind, f + e, mu, bulk) - density(kind, f - e, mu, bulk)) / 2e-5 for e in r] for r in steps]
        assert_allclose(stress, numeric, rtol=0, atol=1e-7 * max(young, np.abs(stress).max()))


def test_what_helps_up_has_the_stated_energy() -> None:
    """Guards the way out of a collapse: energy and stress, none above a fifth of the volume, the most in a point."""

    def helping(f: np.ndarray, mu: float) -> float:
        depth = min(max(1.0 - np.linalg.det(f) / COLLAPSED, 0.0), 1.0)
        return 0.25 * depth * density("tet_corotated", f, mu, 0.0)

    kind = Kind("tet_rising_alone", 4, prepare, kinds()["tet_stvk"].fields, rising, compliance_power=-3)
    register(kind)
    rng = np.random.default_rng(14)
    deformations = np.eye(3) + 0.5 * rng.normal(size=(40, 3, 3))
    deformations[20:, :, 0] *= -1
    volumes = np.linalg.det(deformations)
    between = (volumes > 0.0) & (volumes < COLLAPSED)
    assert between.any() and (volumes < 0.0).any()
    mu = lame(2.0e4, 0.3)[0]
    energies, stresses = probe(kind.name, deformations[volumes < COLLAPSED], 2.0e4, 0.3)
    for f, energy, stress in zip(deformations[volumes < COLLAPSED], energies, stresses, strict=True):
        assert_allclose(energy, helping(f, mu), rtol=1e-10)
        steps = 1e-6 * np.eye(9).reshape(3, 3, 3, 3)
        numeric = [[(helping(f + e, mu) - helping(f - e, mu)) / 2e-6 for e in r] for r in steps]
        assert_allclose(stress, numeric, rtol=0, atol=1e-6 * max(2.0e4, np.abs(stress).max()))
    assert_allclose(probe(kind.name, 1e-6 * np.eye(3)[None], 2.0e4, 0.3)[0], 0.75 * mu, rtol=1e-5)


def test_neo_hookean_parts_make_up_the_stable_neo_hookean_energy() -> None:
    """Guards the split: the sum is that of Macklin and Mueller, with k = lambda + mu, but for a constant."""
    deformations = np.eye(3) + 0.7 * np.random.default_rng(5).normal(size=(20, 3, 3))
    mu, bulk = lame(3.0, 0.4)
    total = sum(probe(kind, deformations, 3.0, 0.4)[0] for kind in NEO_HOOKEAN)
    k = bulk + mu
    volume = np.linalg.det(deformations)
    stated = 0.5 * mu * ((deformations**2).sum((1, 2)) - 3) + 0.5 * k * (volume - 1 - mu / k) ** 2
    assert_allclose(total, stated - 0.5 * mu**2 / k, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("material", MATERIALS)
def test_small_strains_are_linear_elasticity(material: str) -> None:
    """Guards what Young's modulus and Poisson ratio mean: the same for every material, to the order of the strain."""
    strain = 1e-4
    noise = np.random.default_rng(6).normal(size=(20, 3, 3))
    mu, bulk = lame(1e5, 0.3)
    small = 0.5 * strain * (noise + noise.transpose(0, 2, 1))
    linear = mu * (small**2).sum((1, 2)) + 0.5 * bulk * np.trace(small, axis1=1, axis2=2) ** 2
    energies = sum(probe(kind, np.eye(3) + small, 1e5, 0.3)[0] for kind in MATERIALS[material])
    assert_allclose(energies, linear, rtol=30 * strain)


@pytest.mark.parametrize("kind", KINDS)
def test_strain_near_rest_keeps_single_precision(kind: str) -> None:
    """Guards against cancellation: C is a strain, and 32-bit rounding of F may cost no more than a few 1e-7 of it."""
    noise = np.random.default_rng(7).normal(size=(40, 3, 3))
    deformations = np.eye(3) + 1e-3 * noise
    exact, _ = probe(kind, deformations, 1.0, 0.3)
    found, _ = probe(kind, deformations, 1.0, 0.3, "float32")
    assert_allclose(np.sqrt(2 * found), np.sqrt(2 * exact), rtol=0, atol=16 * EPS["float32"])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_solve_conserves_momentum(kind: str, dtype: str) -> None:
    """Guards the weights: sum m dx = 0 and sum m x cross dx = 0."""
    rng = np.random.default_rng(8)
    rest = CORNER + rng.uniform(-0.2, 0.2, (32, 4, 3))
    points = rest + rng.normal(size=rest.shape)
    lost = ~standing(rest, points)  # what is helped up is solved twice, the second time from where the first led
    points[lost] = (rest + 0.1 * rng.normal(size=rest.shape))[lost]
    w = rng.uniform(0.1, 10.0, (32, 4))
    found = solve(
        make_elements(kind, rest, w, young_modulus=10.0, poisson_ratio=0.3), points, np.zeros(32), 1, dtype
    ).corrections[0]
    shift = found / w[:, :, None]
    assert np.abs(shift).max() > 0.1
    size = 64 * EPS[dtype] * max(1.0, np.abs(shift).max())
    assert_allclose(shift.sum(1), 0.0, atol=size)
    assert_allclose(np.cross(points, shift).sum(1), 0.0, atol=8 * size)


@pytest.mark.parametrize("kind", KINDS)
def test_pinned_degenerate_and_rest_elements_stay_finite(kind: str) -> None:
    """Guards zero denominators: pinned, all particles in one place, on a line, in a plane, exactly at rest."""
    shapes = np.stack([CORNER * 0, CORNER * [1, 0, 0], CORNER * [1, 1, 0], CORNER, CORNER * [-1, 1, 1]])
    rest = np.broadcast_to(CORNER, shapes.shape)
    for dtype, weight in itertools.product(DTYPES, (0.0, 1.0)):
        scene = make_elements(kind, rest, np.full((5, 4), weight), young_modulus=1e5, poisson_ratio=0.3)
        found = solve(scene, shapes, np.zeros(5), 1, dtype)
        assert np.isfinite(found.corrections).all()
        assert np.isfinite(found.multipliers).all()
        assert_array_equal(found.corrections[0, 3], 0.0)
        if weight == 0.0:
            assert_array_equal(found.corrections, 0.0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("material", MATERIALS)
def test_rest_is_at_rest(material: str, dtype: str) -> None:
    """Guards the rest shape: a body that nothing pulls stays where it is, turned or not, to rounding.

    Each substep rounds positions to eps, and with stiff elements what it rounds is not a force: 200 substeps may take
    it no further than that many roundings.
    """
    nodes, tets = box((3, 1, 1), (0.6, 0.2, 0.2))
    turn = np.linalg.qr(np.random.default_rng(9).normal(size=(3, 3)))[0]
    turn[:, 0] *= np.linalg.det(turn)
    solver = Solver(
        Model(body(MATERIALS[material], nodes, tets, 1e6, gravity=NO_GRAVITY), dtype=dtype),
        substeps=10,
    )
    state, control = solver.state(), solver.control()
    for start in (nodes, nodes @ turn.T):
        state.set_positions(start)
        state.set_velocities(0.0)
        for _ in range(20):
            solver.step(state, control, 0.01)
        assert np.abs(state.get_positions()[0] - start).max() < 200 * EPS[dtype]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("start", ["inverted", "flat", "mirrored"])
def test_inverted_and_flat_elements_recover(material: str, start: str, dtype: str) -> None:
    """Guards robustness: the right volume comes back, and the energy with it."""
    shapes = {
        "inverted": np.where(np.arange(4)[:, None] == 3, [0.3, 0.3, -0.5], CORNER),
        "flat": CORNER * [1.0, 1.0, 0.0],
        "mirrored": CORNER * [-1.0, 1.0, 1.0],
    }
    scene = Scene(gravity=NO_GRAVITY)
    scene.add_particles(CORNER, 1.0)
    for kind in MATERIALS[material]:
        scene.add_constraints(kind, [[0, 1, 2, 3]], young_modulus=1e4, poisson_ratio=0.3)
    solver = Solver(Model(scene, dtype=dtype), substeps=10, damping=5.0)
    state, control = solver.state(), solver.control()
    state.set_positions(shapes[start])
    for _ in range(200):
        solver.step(state, control, 0.02)
    edges = np.diff(state.get_positions()[0].astype(float), axis=0)
    assert_allclose(np.linalg.det(edges), 1.0, rtol=1e-3)
    assert_allclose(np.linalg.norm(edges, axis=1), np.linalg.norm(np.diff(CORNER, axis=0), axis=1), rtol=1e-3)


def total_energy(scene: Scene, kinds: tuple[str, ...], tets: np.ndarray, x: np.ndarray, v: np.ndarray) -> float:
    """Kinetic and elastic energy [J] of a body with E = 1e5 Pa, nu = 0.3."""
    corners, rest = x[tets], scene.positions[tets]
    inverse = np.linalg.inv((rest[:, 1:] - rest[:, :1]).transpose(0, 2, 1))
    volumes = 1 / (6 * np.linalg.det(inverse))
    f = (corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1) @ inverse
    mu, bulk = lame(1e5, 0.3)
    elastic = sum(volume * density(kind, g, mu, bulk) for kind in kinds for g, volume in zip(f, volumes, strict=True))
    return float(elastic + 0.5 * ((v**2).sum(1) / scene.inv_mass).sum())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("material", MATERIALS)
def test_a_squeezed_beam_does_not_gain_energy(material: str, dtype: str) -> None:
    """Guards stability: 1,000 steps after a beam was squeezed to 60 % of its length and let go."""
    nodes, tets = box((4, 1, 1), (0.4, 0.1, 0.1))
    kinds = MATERIALS[material]
    scene = body(kinds, nodes, tets, 1e5, gravity=NO_GRAVITY)
    solver = Solver(Model(scene, dtype=dtype), substeps=5)
    state, control = solver.state(), solver.control()
    state.set_positions(nodes * [0.6, 1.1, 1.1])
    energies = [total_energy(scene, kinds, tets, state.get_positions()[0], np.zeros((1, 3)))]
    for step in range(1000):
        solver.step(state, control, 0.005)
        if step % 20 == 19:
            x, v = state.get_positions()[0], state.get_velocities()[0]
            assert np.isfinite(x).all()
            energies.append(total_energy(scene, kinds, tets, x, v))
    assert max(energies) <= energies[0] * 1.0001
    assert energies[-1] < 0.9 * energies[0]


@pytest.mark.parametrize(("h", "duration"), [(1e-4, 0.5), (1e-5, 0.2)])
@pytest.mark.parametrize("number", [0, 1])
def test_stvk_cantilever_stays_in_equilibrium(number: int, h: float, duration: float) -> None:
    """Guards statics: a beam put in the static solution of its mesh (by Newton's method) stays there.

    One sweep a substep drifts a little, like h^2, and an independent XPBD program has drifted as far.
    """
    meta, arrays = analytic()[f"A8_stvk_cantilever_{number}"], load_arrays()
    rest, static = arrays[f"stvk{number}_rest"], arrays[f"stvk{number}_static"]
    scene = Scene()
    scene.add_particles(rest, arrays[f"stvk{number}_mass"])
    scene.pin(np.flatnonzero(rest[:, 0] < 1e-9))
    scene.add_constraints("tet_stvk", arrays[f"stvk{number}_tets"], young_modulus=meta["E"], poisson_ratio=meta["nu"])
    solver = Solver(Model(scene, dtype="float64", order="given"), substeps=100, compensate=False)
    state, control = solver.state(), solver.control()
    state.set_positions(static)
    for _ in range(round(duration / h / 100)):
        solver.step(state, control, 100 * h)
    drift = np.abs(state.get_positions()[0] - static).max()
    wanted = meta["drift_of_xpbd_started_at_equilibrium"][f"h={h},iters=1,skip_threshold=1e-20,t={duration}"]
    assert np.abs(static - rest).max() > 1000 * wanted
    assert_allclose(drift, wanted, rtol=1e-4)


def load_arrays() -> dict[str, np.ndarray]:
    """Arrays of the closed forms."""
    with np.load(DATA / "analytic_arrays.npz") as file:
        return {key: file[key] for key in file.files}


@pytest.mark.parametrize("kind", KINDS)
def test_multiplier_limits_the_correction(kind: str) -> None:
    """Guards compliance over iterations: sweeps of one element converge to C + alpha lambda = 0, and then stop."""
    rest = CORNER[None]
    scene = make_elements(kind, rest, np.ones((1, 4)), young_modulus=2.0, poisson_ratio=0.3)
    sweeper = Sweeper(scene, 1, "float64")
    x = (CORNER @ (np.eye(3) + 0.2 * np.random.default_rng(10).normal(size=(3, 3))).T)[None]
    fresh = sweeper.sweep(x, 1.0, 0)
    sweeper.set_lambda(np.array([7.0]))  # of the substep before: the first sweep must not take it up
    assert_array_equal(sweeper.sweep(x, 1.0, 0), fresh)
    for iteration in range(60):
        before, x = x, sweeper.sweep(x, 1.0, iteration)
    assert np.abs(x - before).max() < 1e-9
    mu, bulk = lame(2.0, 0.3)
    value = np.sqrt(2 * density(kind, (x[0, 1:] - x[0, :1]).T, mu, bulk) / 2.0)
    assert value > 0.01
    assert_allclose(abs(sweeper.state.get_lambda()[0, 0]) * 6.0 / 2.0, value, rtol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"young_modulus": 0.0, "poisson_ratio": 0.3}, "young_modulus must be above zero"),
        ({"young_modulus": np.nan, "poisson_ratio": 0.3}, "young_modulus must be finite"),
        ({"young_modulus": 1.0, "poisson_ratio": 0.5}, "poisson_ratio must be above -1 and below 0.5"),
        ({"young_modulus": 1.0, "poisson_ratio": -1.0}, "poisson_ratio must "),
        ({"young_modulus": [1.0, 2.0, 3.0], "poisson_ratio": 0.3}, "young_modulus must broadcast"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_bad_numbers_are_refused(kind: str, parameters: dict[str, Any], message: str) -> None:
    """Guards the material's checks."""
    scene = Scene()
    scene.add_particles(CORNER, 1.0)
    with pytest.raises(ValueError, match=message):
        scene.add_constraints(kind, [[0, 1, 2, 3]], **parameters)
    assert not scene.constraints


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("last", [[0.3, 0.3, -0.5], [0.3, 0.3, 0.0]])
def test_rest_shapes_without_volume_are_refused(kind: str, last: list[float]) -> None:
    """Guards the rest shape: the error names the tetrahedron."""
    scene = Scene()
    scene.add_particles([*CORNER, last], 1.0)
    with pytest.raises(
        ValueError, match=r"tetrahedron 1 \(particles \[0, 1, 2, 4\]\) must have a positive rest volume"
    ):
        scene.add_constraints(kind, [[0, 1, 2, 3], [0, 1, 2, 4]], young_modulus=1.0, poisson_ratio=0.3)


def test_negative_poisson_ratio() -> None:
    """Guards what differs: neo-Hookean refuses it, the others take it."""
    scene = Scene()
    scene.add_particles(CORNER, 1.0)
    for kind in NEO_HOOKEAN:
        with pytest.raises(ValueError, match="must not be negative"):
            scene.add_constraints(kind, [[0, 1, 2, 3]], young_modulus=1.0, poisson_ratio=-0.1)
    deformation = (np.eye(3) + 0.3 * np.random.default_rng(11).normal(size=(3, 3)))[None]
    for kind in ("tet_stvk", "tet_corotated"):
        energy, _ = probe(kind, deformation, 1.0, -0.5)
        assert_allclose(energy, density(kind, deformation[0], *lame(1.0, -0.5)), rtol=1e-10)
