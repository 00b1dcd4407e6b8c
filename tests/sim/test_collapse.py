"""Solids that were pressed flat, to a line or a point, mirrored or shuffled: they come back, or are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.geometry.tetmeshes import box
from pbd_gym.materials.materials import SoftMaterial
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver

YOUNG, POISSON = 1e5, 0.3
CUBE = box((3, 3, 3), (0.1, 0.1, 0.1))
RNG = np.random.default_rng(0)
REST = CUBE.positions
STARTS = {
    "as it was": REST,
    "flat": REST * [1.0, 0.0, 1.0],
    "flat, aslant": REST - np.outer(REST @ [0.6, 0.64, 0.48], [0.6, 0.64, 0.48]),
    "a line": REST * [1.0, 0.0, 0.0],
    "a point": REST * 0.0,
    "a grain": REST * 1e-3,
    "two fifths of its size": REST * 0.4,
    "mirrored": REST * [-1.0, 1.0, 1.0],
    "half of it mirrored": np.where(REST[:, :1] > 0.01, REST * [-1.0, 1.0, 1.0], REST),
    "shuffled": RNG.uniform(-0.05, 0.05, REST.shape),
    "one corner through the other side": np.where(np.arange(len(REST))[:, None] == 0, -2.0 * REST, REST),
}


def volumes(x: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """Return the signed volumes of tetrahedra [m^3], shape (m,)."""
    sides = x[tets[:, 1:]] - x[tets[:, :1]]
    return np.asarray(np.linalg.det(sides) / 6.0)


def inverted(x: np.ndarray) -> np.ndarray:
    """Count the tetrahedra of the cube that are inverted or flat, for positions of shape (num_envs, n, 3)."""
    whole = volumes(REST, CUBE.tets)
    return np.array([(volumes(each.astype(np.float64), CUBE.tets) <= 0.01 * whole).sum() for each in x])


def cube(kinds: tuple[str, ...]) -> Scene:
    """Make a cube of finite elements."""
    scene = Scene(gravity=(0.0, 0.0, 0.0), contact_radius=0.0)
    scene.add_particles(REST, 1000.0 * CUBE.vertex_volumes())
    for kind in kinds:
        scene.add_constraints(kind, CUBE.tets, young_modulus=YOUNG, poisson_ratio=POISSON)
    return scene


@pytest.mark.parametrize(
    ("kinds", "options"),
    [
        (("tet_neo_hookean_shape", "tet_neo_hookean_volume"), {}),
        (("tet_stvk",), {"lanes": 1}),
    ],
)
def test_finite_elements_come_back_from_anywhere(kinds: tuple[str, ...], options: dict[str, Any]) -> None:
    """Guards the way out of a collapse, without a throw, and the count of what is inverted until then.

    What returns cannot be faster than the energy it has at the start makes it. Corotated, a cube that is inside out has
    the most of all: ``4 mu`` of its volume where one axis is mirrored, and ``2 lambda``.
    """
    model = Model(cube(kinds), num_envs=len(STARTS), **options)
    solver = Solver(model, substeps=30, damping=1.0, quiet=True)
    state, control = solver.state(), solver.control()
    state.set_positions(np.stack(list(STARTS.values())))
    assert_array_equal(state.get_inverted(), 0)  # nothing has been looked at
    mass, whole = 1.0 / model.scene.inv_mass, volumes(REST, CUBE.tets).sum()
    most = (4.0 * YOUNG / (2.0 * (1.0 + POISSON)) + 2.0 * YOUNG * POISSON / (1.3 * 0.4)) * whole
    for step in range(120):
        solver.step(state, control, 1 / 60)
        energy = 0.5 * np.einsum("n,enk->e", mass, state.get_velocities().astype(np.float64) ** 2)
        assert (energy <= most).all()
        if step < 3:
            assert_array_equal(state.get_inverted(), inverted(state.get_positions()))
    assert_array_equal(state.get_inverted(), 0)
    for name, x in zip(STARTS, state.get_positions(), strict=True):
        found = volumes(x.astype(np.float64), CUBE.tets)
        assert found.sum() == pytest.approx(whole, rel=0.01), name
        assert (found > 0.9 * volumes(REST, CUBE.tets)).all(), name
    assert not state.diverged.numpy().any()


def test_what_cannot_come_back_is_counted() -> None:
    """Guards the count where it stays, in each size: springs alone have no side, and none out of their plane."""
    scene = Scene(gravity=(0.0, 0.0, 0.0), contact_radius=0.0)
    springs = scene.add_soft_body(CUBE, SoftMaterial(1000.0, YOUNG, 0.25, model="edges_and_volumes"))
    count = len(springs.tets)
    assert_array_equal(scene.tets, springs.tets)
    solver = Solver(Model(scene, num_envs=2), substeps=20, damping=1.0, quiet=True)
    state, control = solver.state(), solver.control()
    state.set_parameters(size=[1.0, 0.5])
    state.set_positions(np.stack([REST * [-1.0, 1.0, 1.0], 0.5 * REST]))
    solver.step(state, control, 1 / 60)
    assert_array_equal(state.get_inverted(), [count, 0])
    state.set_positions(np.stack([REST * [1.0, 0.0, 1.0], 0.5 * REST]))
    solver.step(state, control, 1 / 60)
    assert state.get_inverted()[0] > 0 and state.get_inverted()[1] == 0
    state.reset()
    assert_array_equal(state.get_inverted(), 0)
