"""Shape matching and its region-based form, against published programs and closed forms."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.kernels.wide import LANE_COUNTS
from pbd_gym.model import Model
from pbd_gym.scene import Scene
from pbd_gym.solver import Solver

from .helpers import DTYPES, EPS, NO_GRAVITY, Sweeper, load, rotations

CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])


def fit(x: np.ndarray, rest: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Goals of a cluster by singular values: the rigid motion of its rest shape nearest to x, shape (k, 3)."""
    share = mass[:, None] / mass.sum()
    center, middle = (share * x).sum(0), (share * rest).sum(0)
    u, _, vt = np.linalg.svd((share * (x - center)).T @ (rest - middle))
    u[:, 2] *= np.linalg.det(u @ vt)
    return center + (rest - middle) @ (u @ vt).T


def embed(points: np.ndarray) -> np.ndarray:
    """Put points of a plane into space."""
    return np.concatenate([points, np.zeros((*points.shape[:-1], 3 - points.shape[-1]))], axis=-1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lanes", LANE_COUNTS)
def test_one_solve(lanes: int, dtype: str) -> None:
    """Guards the fit with masses, and pins in it, against the library's single solves of clusters of eight.

    Its masses are 1 / (w + 1e-6), and a millionth of a kilogram less for pins is not what they would be called here.
    """
    oracle = load("pbdlib_pbd_shape_matching")
    weights, points = oracle["w"], oracle["p"]
    scene = Scene(gravity=NO_GRAVITY)
    pinned = (weights == 0).ravel()
    particles = scene.add_particles(
        oracle["rest"].reshape(-1, 3), np.where(pinned, 10.0, 1.0 / (weights.ravel() + 1e-6))
    )
    scene.pin(particles[pinned])
    compliance = 1.0 / oracle["stiffness"] - 1.0  # with a step of 1 s
    scene.add_constraints("shape_matching", particles.reshape(weights.shape), compliance=compliance)
    sweeper = Sweeper(scene, lanes, dtype)
    turn = rotations(lanes)
    before = np.einsum("eij,nj->eni", turn, points.reshape(-1, 3)).astype(dtype)
    shift = np.einsum("eji,enj->eni", turn, sweeper.sweep(before, 1.0, 0).astype(np.float64) - before)
    limit = 1e-9 * np.abs(oracle["corr_exact"]).max() if dtype == "float64" else 4.0 * oracle["meta"]["f32_max_abs_dev"]
    expected = np.broadcast_to(oracle["corr_exact"].reshape(-1, 3), shift.shape)
    assert_allclose(shift, expected, rtol=0, atol=limit)


def run(oracle: dict[str, Any], clusters: list[np.ndarray], lanes: int, dtype: Any, method: Any) -> np.ndarray:
    """Advance an oracle's particles in clusters; return positions at its stored steps, (frames, lanes, n, 3)."""
    weights, h, alpha = oracle["inv_mass"], float(oracle["dt"]), float(oracle["stiffness"])
    scene = Scene(gravity=embed(oracle["gravity"]))
    particles = scene.add_particles(embed(oracle["rest"]), 1.0)
    scene.pin(particles[weights == 0])
    scene.add_constraints("shape_matching", clusters, compliance=h**2 * (1.0 / alpha - 1.0))
    solver = Solver(Model(scene, num_envs=lanes, dtype=dtype, lanes=lanes), substeps=1, method=method, threads=1)
    state, control = solver.state(), solver.control()
    state.set_positions(embed(oracle["x0"]))
    state.set_velocities(embed(oracle["v0"]))
    found = [state.get_positions()]
    steps = oracle["steps"]
    for step in range(1, steps[-1] + 1):
        solver.step(state, control, h)
        if step == steps[len(found)]:
            found.append(state.get_positions())
    return np.stack(found)


def neighbourhoods(columns: int, rows: int) -> list[np.ndarray]:
    """Each particle of a grid with those beside it, as the tutorial's regions of half-width 1."""
    grid = np.arange(columns * rows).reshape(rows, columns)
    return [grid[max(r - 1, 0) : r + 2, max(c - 1, 0) : c + 2].ravel() for r in range(rows) for c in range(columns)]


def check_run(oracle: dict[str, Any], found: np.ndarray, dtype: str) -> None:
    """1e-8 in double precision; in single what rounding of positions makes of velocities.

    The float32 rerun of the files adds to velocities and never takes them from positions, and so drifts far less than
    any engine that does: four times its deviation is no measure of this one. Two roundings of eps / sqrt(12) of each
    position per step are kicks eps size / (sqrt(6) h) to its velocity, which after n steps have moved it by a random
    eps size n^1.5 / sqrt(18): four standard deviations are allowed, and at least 2e-6 of the size.
    """
    expected = np.broadcast_to(embed(oracle["pos"])[:, None], found.shape)
    size = max(1.0, float(np.abs(oracle["pos"]).max()))
    limit = np.maximum(2e-6 * size, 4.0 / 18**0.5 * EPS[dtype] * size * oracle["steps"] ** 1.5)
    if dtype == "float64":
        limit[:] = 1e-8
    error = np.abs(found - expected).max(axis=(1, 2, 3))
    assert (error <= limit).all(), (error / limit).max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lanes", LANE_COUNTS)
def test_shape_matching_trajectory(lanes: int, dtype: str) -> None:
    """Guards the blend ``x += alpha (g - x)`` against the tutorial's soft square over 400 steps."""
    oracle = load("sm_2x2")
    check_run(oracle, run(oracle, [np.arange(4)], lanes, dtype, "gauss-seidel"), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lanes", LANE_COUNTS)
def test_region_based_trajectory(lanes: int, dtype: str) -> None:
    """Guards shared masses, the mean of goals and pins against the tutorial's sheet of 60 regions over 300 steps."""
    oracle = load("rsm_10x6_f2_hw1")
    check_run(oracle, run(oracle, neighbourhoods(10, 6), lanes, dtype, "jacobi"), dtype)
