"""Elastic solids as a whole: mass, rest, fall and bounce, squeeze, recovery."""

from __future__ import annotations

import numpy as np
import pytest

from pbd_gym import Model, Plane, Scene, SoftMaterial, Solver
from pbd_gym.geometry.tetmeshes import TetMesh, box


def volume(positions: np.ndarray, tets: np.ndarray) -> float:
    a, b, c, d = (positions[tets[:, k]] for k in range(4))
    return float(np.einsum("ij,ij->i", b - a, np.cross(c - a, d - a)).sum() / 6)


def test_mass_is_density_times_volume() -> None:
    """Guards lumping: masses are added and then inverted; adding inverse masses makes a body far too light."""
    scene = Scene()
    mesh = box((2, 3, 2), (0.2, 0.3, 0.1))
    scene.add_soft_body(mesh, SoftMaterial(density=500.0))
    np.testing.assert_allclose((1.0 / scene.inv_mass).sum(), 500.0 * 0.2 * 0.3 * 0.1, rtol=1e-12)


def drop(mesh: TetMesh, material: SoftMaterial, steps: int) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Drop a body from half a metre; return its first and last positions and the height of its middle over time."""
    scene = Scene(contact_radius=0.002)
    scene.add_collider(Plane(friction=0.6))
    body = scene.add_soft_body(mesh, material, position=(0, 0.5, 0))
    solver = Solver(Model(scene, num_envs=2), substeps=20, damping=0.2)
    state, control = solver.state(), solver.control()
    start, heights = state.get_positions()[0], []
    for _ in range(steps):
        solver.step(state, control, 1 / 60)
        heights.append(float(state.get_positions()[0, :, 1].mean()))
    assert not state.diverged.numpy()[:2].any()
    assert len(body.triangles) == len(scene.triangles)
    return start, state.get_positions()[0], heights


def test_dropped_body_bounces_and_comes_to_rest_in_shape() -> None:
    """Guards the whole: it falls, bounces, settles on the floor, keeps its volume, and is not turned inside out."""
    mesh = box((3, 3, 3), (0.2, 0.2, 0.2))
    start, end, heights = drop(mesh, SoftMaterial(1000.0, 2e4, 0.45), 400)
    lowest = int(np.argmin(heights[:60]))
    assert max(heights[lowest:]) > heights[lowest] + 0.02  # it bounces
    assert np.ptp(heights[-30:]) < 2e-3  # and comes to rest
    assert end[:, 1].min() > 0.002 - 1e-4  # on the floor, not in it
    np.testing.assert_allclose(volume(end, mesh.tets), volume(start, mesh.tets), rtol=0.05)


@pytest.mark.parametrize("squash", [0.0, -0.5])
def test_flattened_and_inverted_bodies_recover(squash: float) -> None:
    """Guards recovery: a body pressed flat, or turned inside out along y, finds back to its volume."""
    scene = Scene(gravity=(0, 0, 0))
    mesh = box((2, 2, 2), (0.2, 0.2, 0.2))
    scene.add_soft_body(mesh, SoftMaterial(1000.0, 1e5, 0.4))
    solver = Solver(Model(scene, dtype="float64"), substeps=20, damping=5.0)
    state, control = solver.state(), solver.control()
    wrong = state.get_positions()
    wrong[..., 1] = wrong[..., 1] * squash + 1e-4 * np.random.default_rng(0).normal(size=wrong.shape[:2])
    state.set_positions(wrong)
    for _ in range(300):
        solver.step(state, control, 1 / 60)
    np.testing.assert_allclose(volume(state.get_positions()[0], mesh.tets), 0.2**3, rtol=0.02)


@pytest.mark.parametrize("numbers", [{"density": 0.0}, {"young_modulus": -1.0}, {"poisson_ratio": 0.5}])
def test_bad_materials(numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(numbers))):
        SoftMaterial(**numbers)
