"""Lines: the exact solution of a chain's linear system, and what it is for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Model, Scene, Solver
from pbd_gym.geometry.grids import grid
from pbd_gym.geometry.trimeshes import trimesh
from pbd_gym.kernels.native import constant

from .helpers import EPS, NO_GRAVITY, lanes_and_dtypes

LEAST_COMPLIANCE = constant("LEAST_COMPLIANCE")
ROUND_COMPLIANCE = constant("ROUND_COMPLIANCE")
SLACK = constant("SLACK")
TAUT = constant("TAUT")
ROUNDS = int(constant("LINE_ROUNDS"))

H = 0.05
"""Step [s]."""
COUNT = 12
"""Particles of the line."""


def crooked_line(pinned: tuple[int, ...] = (), **parameters: Any) -> Scene:
    """Return a scene with one line of particles of different masses, far from its rest lengths."""
    rng = np.random.default_rng(3)
    scene = Scene(gravity=NO_GRAVITY, grip_count=1)
    steps = 0.1 * rng.normal(size=(COUNT, 3)) + [0.1, 0.0, 0.0]
    line = scene.add_particles(np.cumsum(steps, axis=0), rng.uniform(0.1, 1.0, COUNT))
    scene.pin(np.array(pinned, dtype=int))
    scene.add_constraints("line", [line], **parameters)
    return scene


def gradients_at(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradients of the lengths of all segments, shape (segments, particles, 3), and the lengths."""
    sides = np.diff(x, axis=0)
    lengths = np.linalg.norm(sides, axis=1)
    gradients = np.zeros((COUNT - 1, COUNT, 3))
    for segment, n in enumerate(sides / lengths[:, None]):
        gradients[segment, segment], gradients[segment, segment + 1] = -n, n
    return gradients, lengths


def dense_step(
    x: np.ndarray, weights: np.ndarray, lam: np.ndarray, numbers: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Solve XPBD's system for all segments with dense matrices; return positions and multipliers.

    A taut line is solved for in rounds, each at positions to which the forces of those before have led.
    """
    start, rest, density = x, numbers["rest_length"], np.zeros(COUNT - 1)
    alpha = numbers["compliance"] / H**2
    rounds = ROUNDS
    for k in range(ROUNDS + 1):
        gradients, lengths = gradients_at(x)
        coupled = np.einsum("iax,a,jax->ij", gradients, weights, gradients)
        least = LEAST_COMPLIANCE * (ROUND_COMPLIANCE if k > 0 else 1.0) * np.maximum(weights[:-1], weights[1:])
        matrix = coupled + np.diag(alpha + least)
        wanted = rest - lengths - alpha * lam + (alpha + least) * density * lengths
        # A row of zeros is a segment between two fixed particles: nothing moves there.
        change = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
        pulls = np.pad(np.abs(change) / lengths, 1)
        load = (weights * (pulls[1:] + pulls[:-1])).max()
        if k == 0 and load <= SLACK:
            break
        if k == 0 and load <= TAUT:
            rounds = 1
        if k == rounds:
            change = change / max(1.0, load / SLACK)
            break
        density = np.maximum(density - change / np.maximum(lengths, rest), 0.0)
        ends = np.eye(COUNT)[1:] - np.eye(COUNT)[:-1]
        pulled = weights[:, None] * (ends.T @ (density[:, None] * ends))
        x = start - np.linalg.solve(np.eye(COUNT) + pulled, pulled @ start)
    return x + weights[:, None] * np.einsum("kax,k->ax", gradients, change), lam + change - density * lengths


@lanes_and_dtypes
@pytest.mark.parametrize("pinned", [(), (5,), (0, 11), (4, 5)])
@pytest.mark.parametrize("rest", [0.12, None])
def test_two_iterations_are_those_of_a_dense_solve(
    lanes: int, dtype: str, pinned: tuple[int, ...], rest: float | None
) -> None:
    """Guards the elimination, compliance, multipliers and pins, of a taut line and one near its rest shape.

    Exact to rounding. Twelve segments of about 0.2 m: 100 eps leave room for the condition of the matrix, which is
    below 50; five solves of the taut one need more.
    """
    lengths = np.linalg.norm(np.diff(crooked_line().positions, axis=0), axis=1)
    numbers = {
        "compliance": np.random.default_rng(1).uniform(0.0, 1e-3, COUNT - 1),
        "rest_length": 0.98 * lengths if rest is None else np.full(COUNT - 1, rest),
    }
    scene = crooked_line(pinned, **numbers)
    solver = Solver(Model(scene, lanes, dtype=dtype, lanes=lanes), substeps=1, iterations=2)
    state = solver.state()
    solver.step(state, solver.control(), H)
    x, lam = scene.positions, np.zeros(COUNT - 1)
    for _ in range(2):
        x, lam = dense_step(x, scene.inv_mass, lam, numbers)
    atol = (100 if rest is None else 1000) * EPS[dtype]
    for env in range(lanes):
        assert_allclose(state.get_positions()[env], x, rtol=0, atol=atol)
        assert_allclose(state.get_lambda()[env], lam, rtol=0, atol=atol)


def test_damping_is_that_of_the_dense_system() -> None:
    """Guards the damped rows, where only the weights' part of the matrix grows."""
    numbers = {"compliance": 1e-4, "rest_length": 0.12}
    scene = crooked_line((0,), **numbers, damping_time=0.02)
    solver = Solver(Model(scene, dtype="float64"), substeps=1)
    state = solver.state()
    velocities = np.random.default_rng(2).normal(size=(COUNT, 3))
    velocities[0] = 0.0
    state.set_velocities(velocities)
    solver.step(state, solver.control(), H)
    x, _ = dense_step(scene.positions + H * velocities, scene.inv_mass, np.zeros(COUNT - 1), numbers)
    assert_allclose(state.get_positions()[0], x, rtol=0, atol=1e-14)
    gone, weights, gamma = x - scene.positions, scene.inv_mass, 0.02 / H
    gradients, _ = gradients_at(x)
    coupled = np.einsum("iax,a,jax->ij", gradients, weights, gradients)
    pliant = numbers["compliance"] / H**2 + LEAST_COMPLIANCE * np.maximum(weights[:-1], weights[1:])
    braked = np.linalg.solve(
        (1.0 + gamma) * coupled + np.diag(pliant), -gamma * np.einsum("kax,ax->k", gradients, gone)
    )
    gone = gone + weights[:, None] * np.einsum("kax,k->ax", gradients, braked)
    assert_allclose(state.get_velocities()[0], gone / H, rtol=0, atol=1e-11)


def test_size_and_stiffness_may_differ_between_environments() -> None:
    """Guards the factors of each environment: they scale rest lengths and compliances."""
    scene = crooked_line(compliance=1e-3, rest_length=0.12)
    solver = Solver(Model(scene, 4, dtype="float64", lanes=4), substeps=1)
    state = solver.state()
    state.set_parameters(size=[1.0, 1.0, 1.3, 1.0], stiffness={"line": [1.0, 2.0, 1.0, 0.5]})
    state.set_positions(scene.positions)
    solver.step(state, solver.control(), H)
    for env, (size, stiffness) in enumerate(zip((1.0, 1.0, 1.3, 1.0), (1.0, 2.0, 1.0, 0.5), strict=True)):
        numbers = {"compliance": 1e-3 / stiffness, "rest_length": 0.12 * size}
        weights = state.inv_mass_scalar.numpy()[0, :, env]
        x, _ = dense_step(scene.positions, weights, np.zeros(COUNT - 1), numbers)
        assert_allclose(state.get_positions()[env], x, rtol=0, atol=1e-14)


def test_a_grip_cuts_a_line_in_two() -> None:
    """Guards grips inside a line: what is held does not move, and its sides do not feel one another."""
    scene = crooked_line(compliance=1e-6, rest_length=0.12)
    solver = Solver(Model(scene, 2, dtype="float64"), substeps=1)
    state = solver.state()
    state.hold([[5], [-1]])
    moved = np.repeat(scene.positions[None], 2, axis=0)
    moved[:, 7:] += [0.3, 0.0, 0.0]
    state.set_positions(moved)
    solver.step(state, solver.control(), H)
    after = state.get_positions()
    assert_array_equal(after[0, 5], moved[0, 5])
    alone = crooked_line((5,), compliance=1e-6, rest_length=0.12)
    other = Solver(Model(alone, dtype="float64"), substeps=1)
    same = other.state()
    same.set_positions(moved[0])
    other.step(same, other.control(), H)
    assert_allclose(after[0], same.get_positions()[0], rtol=0, atol=1e-14)
    assert np.abs(after[1] - after[0]).max() > 1e-3


def test_a_straight_line_between_two_pins_stretches_evenly() -> None:
    """Guards the singular case: a rigid line that is too short for its pins shares the strain out, without a NaN."""
    scene = Scene(gravity=NO_GRAVITY)
    line = scene.add_particles([[0.1 * k, 0.0, 0.0] for k in range(11)], 0.01)
    scene.pin(line[[0, -1]])
    scene.add_constraints("line", [line], rest_length=0.08)
    state_of = Solver(Model(scene), substeps=20)
    state = state_of.state()
    uneven = scene.positions.copy()
    uneven[4, 0] += 0.03
    state.set_positions(uneven)
    for _ in range(20):
        state_of.step(state, state_of.control(), 1 / 30)
    assert_allclose(np.diff(state.get_positions()[0, :, 0]), 0.1, rtol=0.01)


def test_a_rope_of_200_segments_holds_its_length_in_one_iteration() -> None:
    """Guards what lines are for: with a weight a hundred times as heavy as a segment, within 0.5 %."""
    scene = Scene()
    rope = scene.add_particles([[0.0, -0.01 * k, 0.0] for k in range(201)], np.append(np.full(200, 0.001), 0.1))
    scene.pin(rope[:1])
    scene.add_constraints("line", [rope], compliance=1e-8)
    solver = Solver(Model(scene), substeps=10, damping=1.0)
    state = solver.state()
    for _ in range(60):
        solver.step(state, solver.control(), 1 / 30)
    lengths = np.linalg.norm(np.diff(state.get_positions()[0], axis=0), axis=1)
    assert abs(lengths.sum() / 2.0 - 1.0) < 0.005


def test_a_line_through_a_hole_is_refused() -> None:
    """Guards lines that are given by hand: along the cloth they may skip particles, but not where there is no cloth."""
    sheet = grid(5, 5, 0.4, 0.4)
    holed = sheet.triangles[~(sheet.triangles == 12).any(axis=1)]
    scene = Scene()
    body = scene.add_garment(trimesh(sheet.positions, holed), lines=False)
    at = {tuple(np.round(p, 6)): i for i, p in enumerate(scene.positions)}
    p = [at.get(tuple(np.round(q, 6)), -1) for q in sheet.positions]
    scene.add_constraints("line", [[p[0], p[2], p[4]], [p[0], p[6]], [p[5], p[1]]])
    with pytest.raises(ValueError, match=f"line 1 runs through a hole: .* particles {p[11]} and {p[13]}, 0.2 m"):
        scene.add_constraints("line", [[p[0], p[1]], [p[10], p[11], p[13]]])
    other = scene.add_garment(trimesh(sheet.positions, sheet.triangles), position=(0.0, 0.0, 0.1), lines=False)
    scene.add_constraints("line", [[body.indices[0], other.indices[0]]])  # two bodies that are sewn together


@pytest.mark.parametrize(
    ("line", "numbers", "message"),
    [
        ([[0]], {}, "at least 2 particles, all different: number 0"),
        ([[0, 1, 2], [0, 1, 0]], {}, "at least 2 particles, all different: number 1"),
        ([[0, 1, 2]], {"compliance": -1.0}, "compliance must not be negative"),
        ([[0, 1, 2]], {"rest_length": [0.1, 0.1, 0.1]}, "rest_length"),
        ([[0, 1, 2]], {"rest_length": np.nan}, "rest_length"),
    ],
)
def test_bad_lines_are_refused(line: Any, numbers: dict[str, Any], message: str) -> None:
    scene = Scene()
    scene.add_particles([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]], 1.0)
    with pytest.raises(ValueError, match=message):
        scene.add_constraints("line", line, **numbers)
