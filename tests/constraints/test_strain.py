"""Strain-based triangles and tetrahedra against a library's single solves."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Scene

from .helpers import DTYPES, EPS, NO_GRAVITY, lanes_and_dtypes, load, make_elements, solve
from .samples import TET, TRIANGLE

COMPONENTS = {"triangle": ("warp", "shear", "weft"), "tet": ("x", "xy", "y", "xz", "yz", "z")}
"""In the order in which the library solves them, one after the other."""


@lanes_and_dtypes
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("element", COMPONENTS)
def test_components_in_turn_agree_with_the_library(element: str, normalized: bool, lanes: int, dtype: str) -> None:
    """Guards C, gradients and weights of each component; each is solved where the one before has left the particles.

    The library's stiffness is the fraction of a correction that is applied.
    """
    oracle = load(f"pbdlib_pbd_strain_{element}_norm{int(normalized)}")
    if element == "triangle":
        warp, weft, shear = oracle["stiffness_xx_yy_xy"].T
        stiffness = [warp, shear, weft]
        extra: dict[str, Any] = {"material_positions": oracle["rest"][:, :, :2]}
    else:
        x, y, z, xy, xz, yz = oracle["stretch_shear"].T
        stiffness, extra = [x, xy, y, xz, yz, z], {}
    points = oracle["p"].copy()
    zero = np.zeros(len(points))
    for component, fraction in zip(COMPONENTS[element], stiffness, strict=True):
        scene = make_elements(
            f"strain_{element}", oracle["rest"], oracle["w"], component=component, normalized=normalized, **extra
        )
        found = solve(scene, points, zero, lanes, dtype).corrections
        assert_allclose(found, np.broadcast_to(found[:1], found.shape), rtol=0, atol=1e-9 if dtype == "float64" else 1)
        points += fraction[:, None, None] * found[-1]
    limit = 1e-9 * np.abs(oracle["corr"]).max()
    if dtype == "float32":  # and each solve rounds the positions, of which the library only does the last
        limit = 4.0 * oracle["meta"]["f32_max_abs_dev"] + len(stiffness) * EPS[dtype] * np.abs(points).max()
    assert_allclose(points - oracle["p"], oracle["corr"], rtol=0, atol=limit)


@pytest.mark.parametrize("element", COMPONENTS)
def test_compliance_is_that_of_the_energy(element: str) -> None:
    """Guards units: a pinned element takes up the multiplier -C / alpha, with C the engineering strain of a stretch.

    Shear is measured by the cosine of the angle, so a stretch is none.
    """
    rest = np.stack([TRIANGLE if element == "triangle" else TET] * 2)
    stretched = rest * [1.25, 1.0, 1.0]
    sheared = rest + 0.2 * rest[..., 1:2] * [1.0, 0.0, 0.0]
    angle = 0.2 / np.sqrt(1.04)
    first, shear, second = COMPONENTS[element][:3]
    for component, points, value in (
        (first, stretched, 0.25), (second, stretched, 0.0), (shear, stretched, 0.0),
        (shear, sheared, angle), (first, sheared, 0.0), (second, sheared, np.sqrt(1.04) - 1),
    ):  # fmt: skip
        scene = make_elements(f"strain_{element}", rest, np.zeros(rest.shape[:2]), component=component, compliance=0.5)
        found = solve(scene, points, np.zeros(2), 1, "float64")
        assert_allclose(found.multipliers[0], -2.0 * value, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("kind", "shape", "parameters", "message"),
    [
        ("strain_triangle", TRIANGLE, {"component": "bias"}, "component must be one of warp, shear, weft, got 'bias'"),
        ("strain_triangle", TRIANGLE, {"component": "warp", "compliance": -1.0}, "compliance"),
        ("strain_triangle", TRIANGLE * [1, 0, 0], {"component": "warp"}, "triangle 0 has no area"),
        ("strain_triangle", TRIANGLE, {"component": "warp", "warp": (0.0, 0.0, 1.0)}, "right angle to triangle 0"),
        ("strain_triangle", TRIANGLE, {"component": "warp", "material_positions": np.ones((1, 3, 2))}, "no area"),
        ("strain_tet", TET * [1, 1, 0], {"component": "x"}, "positive rest volume"),
    ],
)
def test_bad_numbers_are_named(kind: str, shape: np.ndarray, parameters: dict[str, Any], message: str) -> None:
    scene = Scene(gravity=NO_GRAVITY)
    particles = scene.add_particles(shape, 1.0)
    with pytest.raises(ValueError, match=message):
        scene.add_constraints(kind, particles[None], **parameters)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("element", COMPONENTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_collapsed_element_moves_no_further_than_its_size(element: str, normalized: bool, dtype: str) -> None:
    """Guards steps whose gradient vanishes while C does not: directions that are nearly parallel, or of no length.

    Without the guard the particles of an element flattened to a part in 1e6 to 1e12 moved by up to 1e10 m.
    """
    shape = TRIANGLE if element == "triangle" else TET
    flat = [*np.logspace(-1, -12, 12), 0.0]
    rng = np.random.default_rng(3)
    points = np.concatenate([
        # onto a line, askew, so that images of all directions are parallel; and all of it to a point
        [shape @ np.outer([1.0, 0.7, 0.4], [1.0, 0.3, -0.2]) + part * rng.normal(size=shape.shape) for part in flat],
        [part * shape for part in flat],
    ])  # fmt: skip
    rest = np.broadcast_to(shape, points.shape)
    for component in COMPONENTS[element]:
        scene = make_elements(
            f"strain_{element}", rest, np.ones(rest.shape[:2]), component=component, normalized=normalized
        )
        found = solve(scene, points, np.zeros(len(points)), 1, dtype).corrections
        assert np.isfinite(found).all()
        assert np.abs(found).max() < 30.0
