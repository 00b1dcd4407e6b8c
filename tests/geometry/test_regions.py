"""Regions of lattices and meshes against plain definitions."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.geometry.regions import graph_regions, lattice_regions
from pbd_gym.geometry.tetmeshes import ball


@pytest.mark.parametrize("shape", [(7,), (4, 6), (3, 1, 5)])
@pytest.mark.parametrize("half_width", [1, 2])
def test_lattice(shape: tuple[int, ...], half_width: int) -> None:
    """Guards borders and the order of axes: a region is what lies within the half-width along every axis."""
    places = np.argwhere(np.ones(shape))
    near = np.abs(places[:, None] - places[None]).max(axis=2) <= half_width
    regions = lattice_regions(shape, half_width)
    assert len(regions) == len(places)
    for row, region in zip(near, regions, strict=True):
        assert_array_equal(region, np.flatnonzero(row))


@pytest.mark.parametrize("rings", [1, 2, 3])
def test_graph(rings: int) -> None:
    """Guards distances along edges: powers of the adjacency matrix say who can be reached."""
    mesh = ball(1.0, 3)
    count = len(mesh.positions)
    beside = np.eye(count, dtype=int)
    beside[mesh.edges[:, 0], mesh.edges[:, 1]] = beside[mesh.edges[:, 1], mesh.edges[:, 0]] = 1
    reach = np.linalg.matrix_power(beside, rings) > 0
    for row, region in zip(reach, graph_regions(mesh.edges, count, rings), strict=True):
        assert_array_equal(region, np.flatnonzero(row))


def test_bad_arguments_are_named() -> None:
    """Guards checks of counts and edges."""
    with pytest.raises(ValueError, match="half_width"):
        lattice_regions((3, 3), 0)
    with pytest.raises(ValueError, match="shape"):
        lattice_regions((3, 0))
    with pytest.raises(ValueError, match="axis"):
        lattice_regions(())
    with pytest.raises(ValueError, match="rings"):
        graph_regions([[0, 1]], 2, 0)
    with pytest.raises(ValueError, match="particles 0 to 1"):
        graph_regions([[0, 2]], 2)
    with pytest.raises(ValueError, match="shape"):
        graph_regions([[0, 1, 2]], 3)
    with pytest.raises(ValueError, match="particle 2"):
        graph_regions([[0, 1]], 3)
