"""The shape that docs/custom_colliders.md explains, in a module outside of the package."""

from __future__ import annotations

import ast
import importlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Scene, colliders
from pbd_gym.export import Trajectory
from tests.colliders.helpers import RADIUS, advance
from tests.docs.pages import ROOT

ENDS: dict[str, Any] = {"start": (0.1, 0.2, 0.3), "end": (0.3, 0.5, 0.2), "start_radius": 0.2, "end_radius": 0.08}


@pytest.fixture(scope="module")
def round_cone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("third_party")
    shutil.copy(ROOT / "docs" / "examples" / "own" / "round_cone.py", folder)
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("round_cone")
    finally:
        sys.path.remove(str(folder))


def points(count: int, seed: int = 0) -> np.ndarray:
    """Points all about the cone [m], shape (count, 3)."""
    return np.array([0.2, 0.35, 0.25]) + np.random.default_rng(seed).uniform(-0.45, 0.45, (count, 3))


def test_it_imports_public_names_only(round_cone: ModuleType) -> None:
    tree = ast.parse(Path(str(round_cone.__file__)).read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name for name in modules if str(name).startswith("pbd_gym")} == {"pbd_gym"}


def test_distance_is_that_of_the_nearest_of_many_balls(round_cone: ModuleType) -> None:
    cone, x = round_cone.RoundCone(**ENDS), points(300)
    t = np.linspace(0.0, 1.0, 4001)[:, None]
    centers = (1.0 - t) * ENDS["start"] + t * ENDS["end"]
    radii = (1.0 - t[:, 0]) * ENDS["start_radius"] + t[:, 0] * ENDS["end_radius"]
    expected = (np.linalg.norm(x[:, None] - centers, axis=2) - radii).min(axis=1)
    distance, normal = cone.signed_distance(x)
    assert_allclose(distance, expected, atol=1e-6)
    assert_allclose(cone.signed_distance(x - distance[:, None] * normal)[0], 0.0, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_contacts_push_to_the_contact_radius(round_cone: ModuleType, dtype: str) -> None:
    """Guards the kernel against the NumPy of the same page."""
    cone = round_cone.RoundCone(**ENDS, friction=0.0)
    x = points(400, 1).astype(dtype).astype(np.float64)
    x = x[cone.signed_distance(x)[0] > -0.02]
    scene = Scene(gravity=(0, 0, 0), contact_radius=RADIUS)
    scene.add_particles(x, 1.0)
    scene.add_collider(cone)
    distance, normal = cone.signed_distance(x)
    assert 5 < (distance < RADIUS).sum() < 200
    after, _ = advance(scene, 0.01, 1, dtype)
    pushed = x + np.maximum(RADIUS - distance, 0.0)[:, None] * normal
    assert_allclose(after, pushed, atol=1e-12 + 64 * float(np.finfo(dtype).eps))


def test_it_is_drawn_and_exported(round_cone: ModuleType) -> None:
    """Guards the mesh: closed, outward, on the surface, where a pose puts it."""
    cone = round_cone.RoundCone(**ENDS)
    vertices, triangles = cone.mesh()
    assert_allclose(cone.signed_distance(vertices)[0], 0.0, atol=1e-12)
    corners = vertices[triangles]
    outward = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    wide = np.linalg.norm(outward, axis=1) > 1e-9  # those at the poles have no area
    assert (np.einsum("ij,ij->i", outward, cone.signed_distance(corners.mean(axis=1))[1])[wide] > 0).all()
    turn = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    moved = cone.moved((1.0, 2.0, 3.0), turn)
    middle = vertices.mean(axis=0) - cone.origin
    assert_allclose(moved.mesh()[0].mean(axis=0), turn @ middle + (1.0, 2.0, 3.0), atol=1e-9)
    scene = Scene()
    scene.add_particles([(0.0, 2.0, 0.0)], 1.0)
    scene.add_collider(cone)
    trajectory = Trajectory(scene, 30.0)
    trajectory.add(scene.positions)
    assert_allclose(trajectory.parts()[-1].points[0], vertices)


def test_registering(round_cone: ModuleType) -> None:
    colliders.register("round_cone")
    assert colliders.shapes()[-1] is round_cone and colliders.shapes().count(round_cone) == 1
    with pytest.raises(ValueError, match="no module 'gone' is imported"):
        colliders.register("gone")
    with pytest.raises(ValueError, match="lacks SWEPT, row, make_distance, a subclass of Solid"):
        colliders.register("json")

    class Unknown(colliders.Solid):
        pass

    with pytest.raises(TypeError, match="not a collider of a shape that is known"):
        Scene().add_collider(Unknown())
