"""What every constraint kind must keep, by its name: momentum, rest, objectivity, pins, compliance, energy, bits.

A kind that is added to KINDS without a sample fails here.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Model, Scene, Solver
from pbd_gym.constraints import KINDS
from pbd_gym.kernels.wide import LANE_COUNTS

from .helpers import rotations
from .samples import COUNT, SAMPLES, deformed, hold_together, make_scene

EPS = float(np.finfo(np.float64).eps)
NAMES = [kind.name for kind in KINDS]
H = 0.05
"""Step [s]."""


def step(scene: Scene, x: np.ndarray, v: np.ndarray | float = 0.0, iterations: int = 1) -> np.ndarray:
    """Return positions after one step of ``H`` in double precision, shape (n, 3)."""
    solver = Solver(Model(scene, dtype="float64"), substeps=1, iterations=iterations)
    state = solver.state()
    state.set_positions(x)
    state.set_velocities(v)
    solver.step(state, solver.control(), H)
    return state.get_positions()[0]


def test_every_kind_has_a_sample() -> None:
    """Guards these tests themselves: a new kind is held to them once its sample stands in samples.py."""
    assert set(SAMPLES) == set(NAMES)


@pytest.mark.parametrize("kind", NAMES)
def test_projection_conserves_momentum(kind: str) -> None:
    """Guards gradients and weights: sum m dx = 0 and sum m x cross dx = 0 for each element, x before the projection.

    A correction is a sum of some ten rounded products: 100 eps of the largest term are allowed.
    """
    rng = np.random.default_rng(1)
    scene = make_scene(kind, rng)
    x = deformed(scene, rng)
    mass = 1.0 / scene.inv_mass[:, None]
    shift = (mass * (step(scene, x) - x)).reshape(COUNT, -1, 3)
    assert np.median(np.abs(shift).max((1, 2))) > 1e-3  # it does something
    points, weights = x.reshape(shift.shape), mass.reshape(COUNT, -1)
    size = (weights * np.abs(points).max(2)).max(1)[:, None]
    assert (np.abs(shift.sum(1)) < 100 * EPS * size).all()
    assert (np.abs(np.cross(points, shift).sum(1)) < 300 * EPS * size).all()


@pytest.mark.parametrize("kind", NAMES)
def test_many_iterations_conserve_linear_momentum(kind: str) -> None:
    """Guards later iterations, which go on from the multiplier: 20 of them leave sum m dx = 0."""
    rng = np.random.default_rng(2)
    scene = make_scene(kind, rng)
    x, v = deformed(scene, rng), rng.normal(size=scene.positions.shape)
    mass = 1.0 / scene.inv_mass[:, None]
    shift = (mass * (step(scene, x, v, 20) - (x + H * v))).reshape(COUNT, -1, 3)
    size = (mass * (np.abs(x) + H * np.abs(v))).reshape(shift.shape).max((1, 2))[:, None]
    assert (np.abs(shift.sum(1)) < 1000 * EPS * size).all()


@pytest.mark.parametrize("kind", NAMES)
def test_rest_shape_stays_wherever_it_is(kind: str) -> None:
    """Guards the rest state: turned and shifted it has no energy, and 200 substeps move it by rounding alone."""
    rng = np.random.default_rng(3)
    scene = make_scene(kind, rng)
    solver = Solver(Model(scene, dtype="float64"), substeps=100)
    state = solver.state()
    for turn in rotations(3):
        start = scene.positions @ turn.T + [0.3, -0.2, 0.1]
        state.set_positions(start)
        state.set_velocities(0.0)
        for _ in range(2):
            solver.step(state, solver.control(), 0.1)
        assert_allclose(state.get_positions()[0], start, rtol=0, atol=200**2 * EPS)


@pytest.mark.parametrize("kind", NAMES)
def test_correction_turns_with_the_element(kind: str) -> None:
    """Guards objectivity: an element that is turned and shifted is corrected by the turned correction."""
    rng = np.random.default_rng(4)
    scene = make_scene(kind, rng)
    x = deformed(scene, rng)
    plain = step(scene, x, iterations=3) - x
    assert np.abs(plain).max() > 1e-2
    for turn in rotations(4)[1:]:
        moved = x @ turn.T + [0.3, -0.2, 0.1]
        assert_allclose(step(scene, moved, iterations=3) - moved, plain @ turn.T, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", NAMES)
def test_pinned_particles_stay_and_others_do_not(kind: str) -> None:
    """Guards inverse mass 0: a pinned particle keeps its bits, and an element that is pinned all over is left alone."""
    rng = np.random.default_rng(5)
    scene = make_scene(kind, rng)
    width = len(scene.positions) // COUNT
    pins = np.concatenate([np.arange(0, 10 * width, width), np.arange(10 * width, 15 * width)])
    scene.pin(pins)
    x = deformed(scene, rng)
    for iterations in (1, 3):
        found = step(scene, x, iterations=iterations)
        assert np.isfinite(found).all()
        assert_array_equal(found[pins], x[pins])
        moved = np.abs(found - x).max(1).reshape(COUNT, width)
        assert (moved[:10, 1:].max(1) > 0).sum() >= 5


@pytest.mark.parametrize("kind", NAMES)
def test_collapsed_elements_stay_finite(kind: str) -> None:
    """Guards zero denominators: all particles in one place, on a line, in a plane."""
    rng = np.random.default_rng(6)
    scene = make_scene(kind, rng)
    x = deformed(scene, rng).reshape(COUNT, -1, 3)
    for i, axes in enumerate(([0, 0, 0], [1, 0, 0], [1, 1, 0])):
        x[5 * i : 5 * i + 5] *= axes
    for iterations in (1, 3):
        assert np.isfinite(step(scene, x.reshape(-1, 3), iterations=iterations)).all()


@pytest.mark.parametrize("kind", NAMES)
def test_stiffness_does_not_depend_on_iterations(kind: str) -> None:
    """Guards compliance: one element reaches ``C + alpha lambda = 0`` and stays there, short of its rest shape.

    Where multipliers were forgotten between iterations, each would go on towards the rest shape.
    """
    rng = np.random.default_rng(7)
    scene = make_scene(kind, rng)
    x = deformed(scene, rng, 0.15)
    once, many, more = (step(scene, x, iterations=n) for n in (1, 150, 300))
    assert_allclose(more, many, rtol=0, atol=1e-9)
    # What one iteration leaves to do is little beside what it does, but what a second substep does is not.
    again = step(scene, many, iterations=150)
    moved = [np.abs(b - a).reshape(COUNT, -1).max(1) for a, b in ((x, once), (once, many), (many, again))]
    assert np.median(moved[1] / moved[0]) < 0.2
    assert np.median(moved[2] / moved[0]) > 0.02


@pytest.mark.parametrize("kind", NAMES)
def test_energy_does_not_grow_in_ten_thousand_substeps(kind: str) -> None:
    """Guards stability without damping: elements leave their rest shape with some speed, and never have more than that.

    All the energy is kinetic at the start, so no later kinetic energy may be above it.
    """
    rng = np.random.default_rng(8)
    scene = make_scene(kind, rng)
    hold_together(scene, kind)
    solver = Solver(Model(scene, dtype="float64"), substeps=100)
    state, control = solver.state(), solver.control()
    v = rng.normal(0.0, 0.3, scene.positions.shape)
    width = len(v) // COUNT
    mass = (1.0 / scene.inv_mass).reshape(COUNT, width)
    # Without the motion of the whole, which no constraint may slow down, elements stay where they are.
    v = v.reshape(COUNT, width, 3)
    v -= (mass[:, :, None] * v).sum(1, keepdims=True) / mass.sum(1)[:, None, None]
    state.set_velocities(v.reshape(-1, 3))
    start = 0.5 * (mass * (v**2).sum(2)).sum(1)
    for _ in range(100):
        solver.step(state, control, 0.1)
        speed = state.get_velocities()[0].reshape(v.shape)
        assert (0.5 * (mass * (speed**2).sum(2)).sum(1) <= start * (1 + 1e-9)).all()


@pytest.mark.parametrize("kind", NAMES)
def test_lanes_give_the_same_bits(kind: str) -> None:
    """Guards the promise that neither the batch nor the lane of an environment changes a bit."""
    rng = np.random.default_rng(9)
    scene = make_scene(kind, rng)
    starts = np.stack([deformed(scene, rng, 0.2) for _ in range(16)])
    found = []
    for lanes in LANE_COUNTS:
        solver = Solver(Model(scene, num_envs=16, lanes=lanes), substeps=5, iterations=2, threads=1)
        state = solver.state()
        state.set_positions(starts)
        for _ in range(5):
            solver.step(state, solver.control(), 0.02)
        found.append(state.get_positions())
    assert np.isfinite(found[0]).all()
    assert np.abs(found[0] - starts).max() > 1e-2
    for other in found[1:]:
        assert_array_equal(other, found[0])
