"""Barycentric coordinates, deformation gradients and signed distances: the pages' tables, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.demos.geometry.barycentric import BarycentricDemo, barycentric
from pbd_gym.demos.geometry.sdf import FieldDemo, FieldOptions, box_distance, disc_distance, normals
from pbd_gym.demos.soft.deformation import REST, DeformationDemo, DeformationOptions
from pbd_gym.demos.soft.fem import cauchy_strain, green_strain
from tests.demos.data import load


def test_barycentric_coordinates() -> None:
    """Those of the page; they add up to 1, and give the point back."""
    tables = load("tables_math")
    for row, wanted in zip(tables["barycentric_in"], tables["barycentric_out"], strict=True):
        corners, point = row[:6].reshape(3, 2), row[6:].reshape(1, 2)
        (found,) = barycentric(corners, point)
        assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
        if not np.allclose(wanted, 1 / 3):
            assert_allclose([found.sum(), *(found @ corners)], [1.0, *point[0]], rtol=1e-9, atol=1e-9)
    demo = BarycentricDemo()
    demo.handles[3] = demo.handles[:3].T @ [0.2, 0.9, -0.1]
    assert_allclose(demo.coordinates, [0.2, 0.9, -0.1])
    assert "outside" in demo.readout()


@pytest.mark.parametrize("rotation", [0.0, 30.0, -120.0])
def test_strains_of_rotations_and_stretches(rotation: float) -> None:
    """Green's does not see a rotation; Cauchy's sees cos - 1."""
    demo = DeformationDemo(DeformationOptions(rotation=rotation, translation_x=2.0))
    assert_allclose(green_strain(demo.gradient[None])[0], 0.0, atol=1e-14)
    assert_allclose(cauchy_strain(demo.gradient[None])[0], (np.cos(np.radians(rotation)) - 1.0) * np.eye(2), atol=1e-14)
    demo = DeformationDemo(DeformationOptions(rotation=rotation, scale_x=1.5, scale_y=0.5, shear=0.3))
    assert_allclose(demo.gradient, demo.options.matrix(), atol=1e-14)
    stretch = np.diag([1.5, 0.5]) @ [[1.0, 0.3], [0.0, 1.0]]
    assert_allclose(green_strain(demo.gradient[None])[0], 0.5 * (stretch.T @ stretch - np.eye(2)), atol=1e-14)
    demo.handles = REST + np.array([[0.0, 0.0], [0.6, 0.0], [0.3, 0.0]])  # its base longer by a tenth
    assert_allclose(demo.gradient, [[1.1, 0.0], [0.0, 1.0]], atol=1e-14)


def test_signed_distances_of_the_pages() -> None:
    """Distance, normal and closest point of random points and solids; the normals are difference quotients."""
    tables = load("jsfun_sdf_strain_stress")
    for k, point in enumerate(tables["pts"]):
        box, disc = tables["box"][k], tables["sphere"][k]
        for distance, wanted in (
            (lambda x, b=box: box_distance(x, b[:2], b[2:4], b[4]), tables["box_out"][k]),
            (lambda x, d=disc: disc_distance(x, d[:2], d[2]), tables["sphere_out"][k]),
        ):
            found, normal = distance(point[None])[0], normals(distance, point[None])[0]
            assert_allclose([found, *normal, *(point - found * normal)], wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape", ["sphere", "box"])
def test_closest_points_are_on_the_surface(shape: str) -> None:
    demo = FieldDemo(FieldOptions(shape=shape))
    for point in np.random.default_rng(0).uniform(-1.5, 1.5, (30, 2)):
        demo.handles[1] = point
        distance, normal, closest = demo.query()
        assert_allclose(np.linalg.norm(normal), 1.0)
        if distance > 0.0:  # inside a rounded box the formula is a bound where the nearest part is a rounded corner
            assert_allclose(demo.distance(closest[None]), 0.0, atol=1e-8)
