"""Orthotropic triangles against a library's single solves, closed forms of a pulled strip, and the stated energy."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Scene

from .helpers import NO_GRAVITY, lanes_and_dtypes, load, make_elements, solve
from .samples import TRIANGLE

STIFF = 1e15
"""Young's modulus [N/m] that makes compliance negligible: the library's solve is plain PBD."""


def in_material(inv_rest: np.ndarray) -> np.ndarray:
    """Corners in the material from the library's inverse of the edges 2-0 and 2-1, shape (m, 3, 2)."""
    edges = np.linalg.inv(inv_rest)
    return np.stack([edges[:, :, 0], edges[:, :, 1], np.zeros_like(edges[:, :, 0])], axis=1)


@lanes_and_dtypes
def test_one_solve_agrees_with_the_library(lanes: int, dtype: str) -> None:
    """Guards energy, gradient and weights.

    The library's C is the energy, ours its root, whose projection goes twice as far. Its shear modulus is twice the
    usual one. The second half of its inputs has Poisson ratios whose tensor is not symmetric, for which its gradient is
    not that of its energy; the file has the right correction (`corr_formula`). The energy sees the symmetric part
    alone, and that is a material of ours.
    """
    oracle = load("pbdlib_pbd_fem_triangle")
    warp, weft, twice_shear, ratio_to, ratio_fro = oracle["E_x_y_shear_nu_xy_yx"].T
    room = 1.0 - ratio_to * ratio_fro
    a, b, c = warp / room, 0.5 * (warp * ratio_fro + weft * ratio_to) / room, weft / room
    young = np.stack([a - b * b / c, c - b * b / a], axis=1)  # of the material with this stiffness
    size = STIFF / young[:, 0]
    scene = make_elements(
        "triangle_fem", oracle["rest"], oracle["w"], young_modulus=young * size[:, None], poisson_ratio=b / c,
        shear_modulus=0.5 * twice_shear * size, material_positions=in_material(oracle["inv_rest"]),
    )  # fmt: skip
    found = 0.5 * solve(scene, oracle["p"], np.zeros(64), lanes, dtype).corrections
    expected = oracle["corr_formula"]
    half = len(expected) // 2
    assert_allclose(oracle["corr"][:half], expected[:half], rtol=0, atol=1e-12 * np.abs(expected).max())
    limit = 1e-9 * np.abs(expected).max() if dtype == "float64" else 4.0 * oracle["meta"]["f32_max_abs_dev"]
    assert_allclose(found, np.broadcast_to(expected, found.shape), rtol=0, atol=limit)


def energy(points: np.ndarray, rest: np.ndarray, direction: np.ndarray, **parameters: Any) -> np.ndarray:
    """Energy [J] that the engine reckons with: a pinned element takes up the multiplier -C / alpha."""
    count = len(points)
    scene = make_elements("triangle_fem", rest, np.zeros((count, 3)), warp=direction, **parameters)
    alpha = scene.constraints["triangle_fem"].values["compliance"][0]
    return 0.5 * alpha * solve(scene, points, np.zeros(count), 1, "float64").multipliers[0] ** 2


@pytest.mark.parametrize("turn", [0.0, 0.4, 1.2])
def test_moduli_are_those_of_a_pulled_strip(turn: float) -> None:
    """Guards the meaning of each number, and the warp: small strains against Hooke's law of a woven sheet.

    A strip pulled along the warp by e, left free to narrow by nu e, stores E e^2 / 2 per area; likewise the weft, with
    nu E' / E; sheared by the angle g it stores G g^2 / 2. Terms of higher order in the strain are of its own size.
    """
    young, poisson, shear, small = (300.0, 80.0), 0.4, 25.0, 1e-6
    axes = np.array([[np.cos(turn), np.sin(turn), 0.0], [-np.sin(turn), np.cos(turn), 0.0]])
    rest = TRIANGLE[None]
    area = 0.45
    back = poisson * young[1] / young[0]
    for strain, expected in (
        ([[1.0, 0.0], [0.0, -poisson]], young[0]),
        ([[-back, 0.0], [0.0, 1.0]], young[1]),
        ([[0.0, 1.0], [0.0, 0.0]], shear),
    ):
        flat = rest @ axes.T  # along warp and weft
        points = rest + small * flat @ np.array(strain).T @ axes
        found = energy(
            points, rest, axes[0], young_modulus=young, poisson_ratio=poisson, shear_modulus=shear
        )  # fmt: skip
        assert_allclose(found, 0.5 * expected * small**2 * area, rtol=1e-5)


def test_default_shear_is_isotropic() -> None:
    """Guards the default shear modulus: a sheet that is alike in both directions does not care where its warp runs."""
    rng = np.random.default_rng(2)
    points = TRIANGLE[None] + rng.normal(0.0, 0.2, (1, 3, 3))
    found = [
        energy(points, TRIANGLE[None], np.array([np.cos(a), np.sin(a), 0.0]), young_modulus=50.0, poisson_ratio=0.3)
        for a in (0.0, 0.5, 2.0)
    ]
    assert_allclose(found, np.broadcast_to(found[0], (3, 1)), rtol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"young_modulus": 0.0}, "young_modulus"),
        ({"young_modulus": (1.0, 2.0, 3.0)}, "young_modulus"),
        ({"young_modulus": (1.0, 4.0), "poisson_ratio": 0.5}, "poisson_ratio is too large"),
        ({"young_modulus": 1.0, "shear_modulus": 0.0}, "shear_modulus"),
        ({"young_modulus": 1.0, "warp": (0.0, 0.0, 1.0)}, "right angle"),
        ({"young_modulus": 1.0, "warp": (np.nan, 0.0, 1.0)}, "warp"),
    ],
)
def test_bad_numbers_are_named(parameters: dict[str, Any], message: str) -> None:
    scene = Scene(gravity=NO_GRAVITY)
    particles = scene.add_particles(TRIANGLE, 1.0)
    with pytest.raises(ValueError, match=message):
        scene.add_constraints("triangle_fem", particles[None], **parameters)
