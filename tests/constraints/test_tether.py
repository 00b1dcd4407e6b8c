"""Long-range attachments: geodesics, the pull on one side, and a long rope with a single iteration."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Model, RopeMaterial, Scene, Solver
from pbd_gym.constraints.tether import attachments, geodesics
from pbd_gym.geometry.grids import grid

from .helpers import NO_GRAVITY


def test_geodesics_follow_the_edges() -> None:
    """Guards the shortest way: round a corner, the nearer of two sources, and none where no edge leads."""
    edges = np.array([[0, 1], [1, 2], [2, 3], [0, 3], [4, 5]])
    lengths = np.array([1.0, 1.0, 1.0, 2.5, 1.0])
    way, source = geodesics(6, edges, lengths, [0])
    assert_allclose(way, [0.0, 1.0, 2.0, 2.5, np.inf, np.inf])
    assert_array_equal(source, [0, 0, 0, 0, -1, -1])
    way, source = geodesics(6, edges, lengths, [0, 2])
    assert_allclose(way, [0.0, 1.0, 0.0, 1.0, np.inf, np.inf])
    assert_array_equal(source[[0, 2, 3]], [0, 2, 2])


def test_each_group_of_anchors_has_its_tethers() -> None:
    """Guards groups: a rim is one group, each particle held by the nearest of it; two corners are two."""
    sheet = grid(4, 5, 4.0, 3.0)
    edges = np.concatenate([sheet.structural, sheet.shear])
    lengths = np.linalg.norm(sheet.positions[edges[:, 0]] - sheet.positions[edges[:, 1]], axis=1)
    pairs, ways = attachments(20, edges, lengths, np.arange(5))
    assert_array_equal(pairs, [[column, 5 * row + column] for row in (1, 2, 3) for column in range(5)])
    assert_allclose(ways, np.repeat([1.0, 2.0, 3.0], 5))
    pairs, ways = attachments(20, edges, lengths, [0, 4])
    assert_array_equal(np.bincount(pairs[:, 0], minlength=5), [18, 0, 0, 0, 18])
    straight = np.linalg.norm(sheet.positions[pairs[:, 0]] - sheet.positions[pairs[:, 1]], axis=1)
    assert (ways >= straight - 1e-12).all()
    assert (ways <= 1.09 * straight).all()  # along sides and diagonals: at worst 1 / cos(pi / 8)


@pytest.mark.parametrize("iterations", [1, 4])
def test_a_tether_pulls_and_never_pushes(iterations: int) -> None:
    """Guards the side: a particle beyond its tether is put at its end, one within is left alone."""
    scene = Scene(gravity=NO_GRAVITY)
    scene.add_particles([[0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [0.0, 0.4, 0.0]], 1.0)
    scene.pin([0])
    scene.add_constraints("tether", [[0, 1], [0, 2]], rest_length=1.0)
    solver = Solver(Model(scene, dtype="float64"), substeps=1, iterations=iterations)
    state = solver.state()
    solver.step(state, solver.control(), 0.01)
    assert_allclose(state.get_positions()[0], [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.4, 0.0]], atol=1e-14)


def stretch_of_rope(tethered: bool, method: Any = "gauss-seidel") -> float:
    """Return by how much a rope of 200 heavy particles is too long after hanging for a second, one iteration a step."""
    scene = Scene()
    rope = scene.add_rope(np.linspace([0.0, 2.0, 0.0], [0.0, 0.0, 0.0], 200), RopeMaterial(2.0, 0.0, None), lines=False)
    scene.pin(rope[:1])
    if tethered:
        scene.add_tethers()
    solver = Solver(Model(scene), substeps=1, method=method)
    state, control = solver.state(), solver.control()
    for _ in range(60):
        solver.step(state, control, 1 / 60)
    x = state.get_positions()[0]
    return float(np.linalg.norm(x[-1] - x[0])) / 2.0 - 1.0


def test_a_long_rope_holds_with_one_iteration() -> None:
    """Guards the purpose: with tethers within 1 %, without them at twice its length, one iteration of a 1/60 s step."""
    assert stretch_of_rope(tethered=False) > 1.0
    assert stretch_of_rope(tethered=True) < 0.01


def test_an_anchor_of_many_tethers_slows_none_of_them_down() -> None:
    """Guards Jacobi, which splits masses: a pinned particle has enough of it for 199 tethers."""
    assert stretch_of_rope(tethered=True, method="jacobi") < 0.05


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"slack": -0.1}, "slack"),
        ({"slack": np.nan}, "slack"),
        ({"anchors": [9]}, "particles 0 to 4"),
        ({"anchors": [0, 2], "edges": [[0, 1], [3, 4]]}, "cut at anchor 2"),
        ({"anchors": [0], "edges": [[0, 1], [1, 2], [3, 4]]}, r"no anchor holds the edge \(3, 4\)"),
        ({"anchors": np.zeros(0, dtype=int)}, "anchors"),
        ({"compliance": -1.0}, "compliance"),
    ],
)
def test_bad_arguments_are_named(call: dict[str, Any], message: str) -> None:
    scene = Scene()
    rope = scene.add_rope(np.linspace([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], 5), lines=False)
    scene.pin(rope[:1])
    with pytest.raises(ValueError, match=message):
        scene.add_tethers(**call)


def test_tethers_need_something_to_hang() -> None:
    scene = Scene()
    scene.add_particles([[0.0, 0.0, 0.0]], 1.0)
    with pytest.raises(ValueError, match="pin particles"):
        scene.add_tethers()
    scene.pin([0])
    with pytest.raises(ValueError, match="edges"):
        scene.add_tethers()
