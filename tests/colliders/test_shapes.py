"""Boxes, capsules and cylinders: the shape itself, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial import cKDTree

from pbd_gym.colliders.box import Box
from pbd_gym.colliders.capsule import Capsule
from pbd_gym.colliders.cylinder import Cylinder
from tests.colliders.helpers import NAMES, posed, rotation, surface


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NAMES)
def test_signed_distance_against_points_all_over_the_surface(name: str, seed: int) -> None:
    """Guards size, pose and sign: the nearest of many surface points is as far as the distance says, and no nearer.

    The nearest sample is off by half the diagonal of the mesh of samples at most.
    """
    rng = np.random.default_rng(seed)
    turn, middle, sizes = rotation(rng), rng.normal(size=3), rng.uniform(0.1, 0.6, 3)
    shape, n = posed(name, turn, middle, sizes), 160
    tree = cKDTree(surface(name, turn, middle, sizes, n))
    points = middle + rng.uniform(-1.2, 1.2, (400, 3)) * (sizes.max() + 0.2)
    distance, normal = shape.signed_distance(points)
    found, _ = tree.query(points)
    gap = sizes.max() * np.pi / n
    assert 8 < (distance < 0).sum() < 392
    assert (found > np.abs(distance) - 1e-12).all()
    assert (found < np.abs(distance) + gap).all()
    # The foot of the normal is on the surface, which a wrong direction or sign would miss.
    foot, _ = tree.query(points - distance[:, None] * normal)
    assert foot.max() < gap
    local = np.abs((points - middle) @ turn)
    if name == "box":
        inside = (local < sizes).all(axis=1)
    else:
        reach = np.hypot(local[:, 0], local[:, 2])
        beyond = np.maximum(local[:, 1] - sizes[1], 0)
        inside = (np.hypot(reach, beyond) < sizes[0]) & ((beyond == 0) | (name == "capsule"))
    assert_array_equal(distance < 0, inside)


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(NAMES), seed=st.integers(0, 2**32 - 1))
def test_signed_distance_has_slope_one(name: str, seed: int) -> None:
    """Guards continuity across faces, edges and caps: no two points differ by more than their distance.

    Outside, going out along the normal adds just what one goes; inside, coming out along it does.
    """
    rng = np.random.default_rng(seed)
    shape = posed(name, rotation(rng), rng.normal(size=3), rng.uniform(0.05, 1.0, 3))
    middle = np.array(shape.center) if name == "box" else np.add(shape.start, shape.end) / 2
    points = middle + rng.normal(size=(60, 3))
    near = points + 1e-3 * rng.normal(size=points.shape)
    (distance, normal), (other, _) = shape.signed_distance(points), shape.signed_distance(near)
    assert_allclose(np.linalg.norm(normal, axis=1), 1.0, rtol=1e-12)
    assert (np.abs(distance - other) <= np.linalg.norm(points - near, axis=1) + 1e-12).all()
    for step in (0.3, 2.0):
        out = points + (np.maximum(-distance, 0.0) + step)[:, None] * normal
        assert_allclose(shape.signed_distance(out)[0], np.maximum(distance, 0.0) + step, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_mesh_is_the_surface(name: str) -> None:
    """Guards what is drawn: closed, convex, facing out, with corners on the surface and about the right volume."""
    rng = np.random.default_rng(5)
    turn, middle, sizes = rotation(rng), rng.normal(size=3), np.array([0.3, 0.5, 0.2])
    shape = posed(name, turn, middle, sizes)
    vertices, triangles = shape.mesh()
    assert_allclose(shape.signed_distance(vertices)[0], 0.0, atol=1e-12)
    edges = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2)
    assert len(np.unique(edges, axis=0)) == len(edges)
    assert {tuple(e) for e in edges} == {tuple(e) for e in edges[:, ::-1]}
    a, b, c = vertices[triangles].swapaxes(0, 1)
    normals = np.cross(b - a, c - a)
    assert ((normals * vertices[:, None]).sum(2) <= (normals * a).sum(1) + 1e-12).all()
    radius, half = sizes[:2]
    exact = {
        "box": 8 * sizes.prod(),
        "cylinder": 2 * np.pi * radius**2 * half,
        "capsule": 2 * np.pi * radius**2 * half + 4 / 3 * np.pi * radius**3,
    }[name]
    volume = (normals * (a - middle)).sum() / 6
    assert_allclose(volume, exact, rtol=1e-12 if name == "box" else 0.015)
    assert volume < exact * (1 + 1e-12)


NOT_A_ROTATION = ((1.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 1.0))
MIRROR = ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0))


@pytest.mark.parametrize("kind", [Capsule, Cylinder])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((0, 0, 0), (0, 0, 0), 1.0), "two ends that differ"),
        (((1e3, 0, 0), (1e3, 0, 1e-6), 1.0), "two ends that differ"),
        (((0, 0), (0, 1, 0), 1.0), "(start|end) of a"),
        (((0, 0, 0), (0, np.inf, 0), 1.0), "(start|end) of a"),
        (((0, 0, 0), (0, 1, 0), np.nan), "radius"),
        (((0, 0, 0), (0, 1, 0), 0.0), "radius"),
        (((0, 0, 0), (0, 1, 0), -1.0), "radius"),
    ],
)
def test_bad_segments_are_refused(kind: Any, arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((0, 0, 0), (1, 0, 1)), "positive half extents"),
        (((0, 0, 0), (1, -1, 1)), "positive half extents"),
        (((0, 0), (1, 1, 1)), "center"),
        (((0, 0, 0), (1, 1)), "half extents"),
        (((0, 0, np.nan), (1, 1, 1)), "finite"),
        (((0, 0, 0), (1, 1, np.inf)), "finite"),
        (((0, 0, 0), (1, 1, 1), NOT_A_ROTATION), "orthonormal"),
        (((0, 0, 0), (1, 1, 1), MIRROR), "right-handed"),
        (((0, 0, 0), (1, 1, 1), (0, 0, 0, 1)), "rotation matrix"),
    ],
)
def test_bad_boxes_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Box(*arguments)


def test_arrays_become_tuples_that_can_be_hashed() -> None:
    """Guards the fields: a caller's array, changed afterwards, must not change the shape."""
    center, turn = np.zeros(3), np.eye(3, dtype=np.float32)
    shape = Box(center, np.ones(3), turn)  # type: ignore[arg-type]
    center[0] = turn[0, 0] = 9.0
    assert shape == Box((0, 0, 0), (1, 1, 1)) and len({shape, Box((0, 0, 0), (1, 1, 1))}) == 1
    start = np.zeros(3)
    bar = Capsule(start, [0, 1, 0], 0.1)  # type: ignore[arg-type]
    start[0] = 9.0
    assert hash(bar) == hash(Capsule((0, 0, 0), (0, 1, 0), 0.1))


def test_a_rotation_in_single_precision_is_made_exact() -> None:
    """Guards distances to the last bits for matrices that come from elsewhere."""
    turn = rotation(np.random.default_rng(0)).astype(np.float32)
    shape = Box((0, 0, 0), (1, 1, 1), turn)  # type: ignore[arg-type]
    found = np.array(shape.rotation)
    assert np.abs(turn.astype(float) @ turn.T.astype(float) - np.eye(3)).max() > 1e-9
    assert_allclose(found @ found.T, np.eye(3), atol=1e-15)
    assert_allclose(found, turn, atol=1e-6)
