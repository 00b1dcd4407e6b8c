"""Sides of triangles, against a dense solve, and what a garment's panels make of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.geometry.garments import tshirt
from pbd_gym.geometry.patches import panels
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver

CORNERS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.2], [0.3, 0.9, -0.1]])


def test_what_has_gone_through_comes_back() -> None:
    """Guards side, distance and size: what is behind or too near ends at its distance, what is farther is left alone.

    Of a pinned triangle the particle alone moves: one projection is the step along the normal of a dense solve.
    """
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    normal = np.cross(CORNERS[1] - CORNERS[0], CORNERS[2] - CORNERS[0])
    normal /= np.linalg.norm(normal)
    feet = np.array([[0.4, 0.3, 0.3], [-1.0, 3.0, -1.0]]) @ CORNERS  # in the triangle, and far beside it
    heights = np.array([-0.2, 0.05, 0.3])
    start = (feet[:, None] + heights[:, None] * normal).reshape(-1, 3)
    triangle = scene.add_particles(CORNERS, 1.0)
    scene.pin(triangle)
    loose = scene.add_particles(start, 1.0)
    scene.add_constraints("triangle_side", np.column_stack([loose, np.tile(triangle, (len(loose), 1))]), distance=0.1)
    solver = Solver(Model(scene, 2, dtype="float64"), substeps=1)
    state = solver.state()
    state.set_parameters(size=[1.0, 2.0])
    positions = np.stack([scene.positions, 2.0 * scene.positions])
    state.set_positions(positions)
    solver.step(state, solver.control(), 0.01)
    moved = (state.get_positions() - positions)[:, loose]
    wanted = (np.maximum(0.1 - heights, 0.0)[None, :, None] * normal).repeat(2, axis=0).reshape(-1, 3)
    assert_allclose(moved, [wanted, 2.0 * wanted], atol=1e-12)


def test_panels_of_a_shirt() -> None:
    """Guards which vertices get sides: all but those on seams, each above the triangle behind it; none of a sheet."""
    mesh = tshirt(0.5, 0.7, 0.06, gap=0.003)
    found = panels(mesh.positions, mesh.triangles, np.full(len(mesh.positions), 0.15))
    seam = np.isclose(mesh.positions[:, 2], 0.0)
    assert set(found.sides[:, 0]) == set(np.flatnonzero(~seam))
    assert_allclose(found.gaps[(~seam[found.sides]).all(axis=1)], 0.003)
    corners = mesh.positions[found.sides]
    volumes = np.linalg.det(corners[:, 1:] - corners[:, :1])
    assert (np.abs(volumes) > 0.0).all()
    assert (mesh.positions[found.pairs[:, 0], 2] * mesh.positions[found.pairs[:, 1], 2] < 0.0).all()
    front = mesh.triangles[(mesh.positions[mesh.triangles, 2] > -1e-9).all(axis=1)]
    assert len(panels(mesh.positions, front, np.full(len(mesh.positions), 0.15)).sides) == 0


def test_panels_are_checked() -> None:
    """Guards a gap that is too narrow, and that nothing is added then."""
    scene = Scene()
    shirt = scene.add_garment(tshirt(0.5, 0.7, 0.06, gap=0.003), lines=False)
    with pytest.raises(ValueError, match="more than the rest shape allows"):
        scene.add_surface_contacts(shirt.triangles, 0.004, panels=True)
    assert "triangle_side" not in scene.constraints and not scene.particle_contacts
    line = scene.add_particles([[0.1 * k, 0.0, 0.0] for k in range(4)], 1.0)
    with pytest.raises(ValueError, match="no area"):
        scene.add_constraints("triangle_side", [line])
