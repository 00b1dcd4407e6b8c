"""Plane finite elements against the tutorial, energies, and each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.colliders import Box, Sphere
from pbd_gym.demos.soft import fem
from pbd_gym.demos.soft.fem import FEMDemo, FEMOptions, mesh
from tests.demos.data import load

FILES = {"StVK": "fem_StVK", "corotated": "fem_Corot", "neo-Hookean": "fem_Neohookean"}


@pytest.mark.parametrize("scene", ["10x6_f2", "6x4_nodamp_dt2e-4"])
@pytest.mark.parametrize("material", FILES)
def test_reproduces_the_tutorial(material: str, scene: str) -> None:
    """Nothing but rounding may differ. Its areas and masses are twice what they are, which moves nothing."""
    oracle = load(f"{FILES[material]}_{scene}")
    body = fem.TriangleBody(
        oracle["x0"], oracle["tris"], np.flatnonzero(oracle["inv_mass"] == 0), fem.MATERIALS[material],
        float(oracle["youngsModulus"]), float(oracle["poissonRatio"]), 500.0, oracle["gravity"],
        float(oracle["damping"]),
    )  # fmt: skip
    assert_allclose(2.0 * body.mass, oracle["mass"])
    assert_allclose(2.0 * body.area, oracle["tri_area"])
    done = 0
    for k, step in enumerate(oracle["steps"][:24]):
        while done < step:
            body.step(float(oracle["dt"]))
            done += 1
        assert_allclose(body.positions, oracle["pos"][k], rtol=0, atol=1e-11)
        assert_allclose(body.velocities, oracle["vel"][k], rtol=0, atol=1e-9)


def test_demonstration_is_the_tutorials_sheet() -> None:
    """Guards the mesh and the options: after one frame all three sheets are where the tutorial's are."""
    demo = FEMDemo(FEMOptions(young_modulus=5e5))
    oracle = load("fem_StVK_10x6_f2")
    place, corners = mesh(10, 6)
    assert_allclose(place, oracle["x0"], atol=1e-12)
    assert {tuple(sorted(t)) for t in corners} == {tuple(sorted(t)) for t in oracle["tris"]}
    for _ in range(5):
        demo.step()
    stored = int(np.flatnonzero(oracle["steps"] >= 200)[0])
    assert demo.substeps * 5 == 200
    for body, name in zip(demo.bodies, FILES, strict=True):
        reference = load(f"{FILES[name]}_10x6_f2")
        for _ in range(int(reference["steps"][stored]) - 200):
            body.step(0.001)
        assert_allclose(body.positions, reference["pos"][stored], rtol=0, atol=1e-11)


def test_strains_stresses_and_rotations_of_the_tutorial() -> None:
    """Random deformations. Those inside out are left out where its polar decomposition gives a mirror image."""
    oracle = load("jsfun_sdf_strain_stress")
    rest = np.linalg.inv(fem._edges(oracle["tri_rest"]))
    gradient = fem.gradients(oracle["tri"], rest)
    assert_allclose(gradient, oracle["F_tri"], atol=1e-12)
    assert_allclose(fem.green_strain(gradient), oracle["E_green"], atol=1e-12)
    assert_allclose(fem.cauchy_strain(gradient), oracle["E_cauchy"], atol=1e-12)
    gradient = oracle["F"]
    mu, lam = fem.lame(*oracle["E_nu"].T)
    sound = np.linalg.det(gradient) > fem.THIN
    assert sound.sum() > 80
    scale = np.abs(oracle["P_StVK"]).max()
    assert_allclose(fem.stvk(gradient, mu, lam), oracle["P_StVK"], atol=1e-14 * scale)
    for name, stress in (("Corot", fem.corotated), ("Neohookean", fem.neo_hookean)):
        assert_allclose(stress(gradient, mu, lam)[sound], oracle[f"P_{name}"][sound], atol=1e-14 * scale)
    assert_allclose(fem.rotations(gradient)[sound], oracle["R_Corot"][sound], atol=1e-12)
    assert_allclose(np.linalg.det(fem.rotations(gradient)), 1.0)


def test_signed_distances_of_the_tutorial() -> None:
    """Its plane boxes and circles, as solids with a long third side. Its normals are difference quotients."""
    oracle = load("jsfun_sdf_strain_stress")
    points = np.pad(oracle["pts"], ((0, 0), (0, 1)))
    for point, box, out in zip(points, oracle["box"], oracle["box_out"], strict=True):
        x, y, width, height, rim = box
        solid = Box((x, y, 0.0), (0.5 * width, 0.5 * height, 1e3))
        distance, normal = solid.signed_distance(point[None])
        assert_allclose(distance - rim, out[0], atol=1e-9)
        corner_or_edge = abs(abs(normal[0]).max() - 1.0) > 1e-9 or distance[0] > 0
        if corner_or_edge and np.linalg.norm(out[1:3]) > 0.5:
            assert_allclose(normal[0, :2], out[1:3], atol=1e-5)
    for point, circle, out in zip(points, oracle["sphere"], oracle["sphere_out"], strict=True):
        distance, normal = Sphere((circle[0], circle[1], 0.0), circle[2]).signed_distance(point[None])
        assert_allclose(distance, out[0], atol=1e-12)
        assert_allclose(normal[0, :2], out[1:3], atol=1e-9)


def energies() -> dict[str, Callable[[np.ndarray, float, float], float]]:
    def stvk(f: np.ndarray, mu: float, lam: float) -> float:
        strain = 0.5 * (f.T @ f - np.eye(2))
        return mu * (strain**2).sum() + 0.5 * lam * np.trace(strain) ** 2

    def corotated(f: np.ndarray, mu: float, lam: float) -> float:
        stretches = np.linalg.svd(f, compute_uv=False) - 1.0
        return mu * (stretches**2).sum() + 0.5 * lam * stretches.sum() ** 2

    def neo_hookean(f: np.ndarray, mu: float, lam: float) -> float:
        log = np.log(np.linalg.det(f))
        return 0.5 * mu * ((f**2).sum() - 2.0) - mu * log + 0.5 * lam * log**2

    return {"StVK": stvk, "corotated": corotated, "neo-Hookean": neo_hookean}


@pytest.mark.parametrize("material", FILES)
def test_stress_is_the_slope_of_the_energy(material: str) -> None:
    rng = np.random.default_rng(0)
    energy, stress = energies()[material], fem.MATERIALS[material]
    for _ in range(20):
        f = np.eye(2) + 0.25 * rng.normal(size=(2, 2))
        slope = np.zeros((2, 2))
        for i in range(2):
            for j in range(2):
                h = np.zeros((2, 2))
                h[i, j] = 1e-6
                slope[i, j] = (energy(f + h, 3.0, 2.0) - energy(f - h, 3.0, 2.0)) / 2e-6
        assert_allclose(stress(f[None], np.array([3.0]), np.array([2.0]))[0], slope, atol=1e-7)


def test_materials_differ_where_the_text_says() -> None:
    """Crushed: St. Venant-Kirchhoff stays folded, the others come back."""
    demo = FEMDemo(FEMOptions(gravity=0.0, damping=0.01))
    demo.crush()
    for _ in range(75):
        demo.step()
    folded, *sound = (np.linalg.det(fem.gradients(b.positions[b.triangles], b.rest_inverse)) for b in demo.bodies)
    assert folded.min() < 0.5
    for areas, body in zip(sound, demo.bodies[1:], strict=True):
        assert_allclose(areas, 1.0, atol=0.02)
        assert_allclose(body.positions[:, 1].min(), -1.0, atol=0.02)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"positions": [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]}, "no area"), ({"young_modulus": 0.0}, "out of range"),
     ({"poisson_ratio": 0.5}, "out of range"), ({"positions": [[0.0, np.nan]] * 3}, "finite")],
)  # fmt: skip
def test_bad_input_is_named(change: dict[str, object], words: str) -> None:
    good = {
        "positions": [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
        "triangles": [[0, 1, 2]],
        "fixed": [0],
        "stress": fem.stvk,
    }
    fem.TriangleBody(**good)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=words):
        fem.TriangleBody(**good | change)  # type: ignore[arg-type]


def test_von_mises_stress_of_a_stretch() -> None:
    """Pulled by 1 % along x in plane strain: s11 = e (lambda + 2 mu), s22 = e lambda, however it is turned."""
    x, triangles = mesh(3, 3)
    body = fem.TriangleBody(x, triangles, [], fem.corotated, 1e5, 0.3)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    body.positions = x * [1.001, 1.0] @ turn.T
    mu, lam = fem.lame(1e5, 0.3)
    first, second = 0.001 * (lam + 2.0 * mu), 0.001 * lam
    assert_allclose(body.von_mises(), np.sqrt(first**2 - first * second + second**2), rtol=5e-3)
