"""Ropes: their masses, their constraints, and the shape they hang in."""

from __future__ import annotations

import numpy as np
import pytest

from pbd_gym import Model, RopeMaterial, Scene, Solver


def test_mass_is_density_times_length() -> None:
    """Guards lumping: a particle gets half of each segment beside it, on uneven segments too."""
    points = np.array([[0, 0, 0], [0.1, 0, 0], [0.4, 0, 0], [0.4, 0.2, 0]])
    scene = Scene()
    rope = scene.add_rope(points, RopeMaterial(density=0.5), lines=False)
    np.testing.assert_allclose(1.0 / scene.inv_mass[rope], 0.25 * np.array([0.1, 0.4, 0.5, 0.2]))


def test_constraints_are_those_of_the_material() -> None:
    scene = Scene()
    scene.add_rope(np.linspace([0, 0, 0], [1, 0, 0], 5), RopeMaterial(0.1, 1e-5, 1e-3), lines=False)
    batch = scene.constraints["distance"]
    assert [len(part) for part in batch.indices] == [4, 3]
    np.testing.assert_allclose(np.concatenate(batch.values["compliance"]), [1e-5] * 4 + [1e-3] * 3)
    np.testing.assert_allclose(np.concatenate(batch.values["rest_length"]), [0.25] * 4 + [0.5] * 3)
    np.testing.assert_array_equal(scene.lines, [[0, 1], [1, 2], [2, 3], [3, 4]])


def test_hanging_rope_is_a_catenary() -> None:
    """Guards the whole: a limp rope between two pins settles on y = a cosh(x / a) + b of the same length and span.

    The tolerance is the sag that a chain of 40 straight links loses against the curve, about (span / 40)^2 / (8 a), and
    the static bias of converged XPBD, which is of order h^2 (tests/data/README.md, A5): together below a millimetre.
    """
    length, span, count = 1.0, 0.6, 41
    scene = Scene()
    rope = scene.add_rope(np.linspace([0, 0, 0], [length, 0, 0], count), RopeMaterial(0.1, 0.0, None), lines=False)
    scene.positions[rope, 0] *= span / length  # squeezed together: the rest lengths are those of before
    scene.positions[rope, 1] = -1e-3 * np.sin(np.linspace(0, np.pi, count))
    scene.pin(rope[[0, -1]])
    solver = Solver(Model(scene, dtype="float64"), substeps=40, iterations=10, damping=4.0)
    state, control = solver.state(), solver.control()
    for _ in range(150):
        solver.step(state, control, 1 / 30)
    found = state.get_positions()[0]

    a = _catenary_parameter(length, span)
    middle = span / 2
    curve = a * np.cosh((found[:, 0] - middle) / a) - a * np.cosh(middle / a)
    np.testing.assert_allclose(found[:, 1], curve, atol=1e-3)
    assert found[:, 1].min() < -0.3  # it does hang


def static_stretch(iterations: int, substeps: int) -> np.ndarray:
    """Stretch of each segment of a rope that hangs straight at rest, over weight below times compliance."""
    scene = Scene()
    rope = scene.add_rope(np.linspace([0, 0, 0], [0, -1, 0], 11), RopeMaterial(0.5, 1e-3, None), lines=False)
    mass = 1.0 / scene.inv_mass
    scene.pin(rope[:1])
    solver = Solver(
        Model(scene, dtype="float64"), substeps=substeps, iterations=iterations, damping=20.0, compensate=False
    )
    state, control = solver.state(), solver.control()
    for _ in range(300):
        solver.step(state, control, 0.01)
    weight_below = 9.81 * np.cumsum(mass[:0:-1])[::-1]
    return (-np.diff(state.get_positions()[0, :, 1]) - 0.1) / (1e-3 * weight_below)


def test_static_stretch_does_not_depend_on_iterations() -> None:
    """Guards compliance and multipliers over a body: 1, 5 and 20 sweeps give the weight below times the compliance.

    Five sweeps solve a substep of this rope. One leaves it unsolved by a h^2 (4 % at 1 ms), which two runs at h and h/2
    take out: nothing is left but what still swings, ``exp(-20 * 3 / 2)`` = 1e-13, and rounding of velocities,
    eps / h of 1 m/s, of which the damping keeps 1/20 s in a stretch of 0.5 mm and more: 1e-8.
    """
    for iterations in (5, 20):
        np.testing.assert_allclose(static_stretch(iterations, 20), 1.0, rtol=1e-8)
    coarse, fine = static_stretch(1, 10), static_stretch(1, 20)
    assert np.abs(coarse - 1.0).max() > 0.03
    np.testing.assert_allclose((4.0 * fine - coarse) / 3.0, 1.0, rtol=1e-8)


def _catenary_parameter(length: float, span: float) -> float:
    """Solve length = 2 a sinh(span / 2a) by bisection."""
    low, high = 0.01, 10.0
    for _ in range(100):
        a = 0.5 * (low + high)
        low, high = (a, high) if 2 * a * np.sinh(span / (2 * a)) > length else (low, a)
    return a


@pytest.mark.parametrize("points", [[[0, 0, 0]], [[0, 0, 0], [0, 0, 0]], [[0, 0], [1, 0]], [[0, 0, 0], [np.nan, 0, 0]]])
def test_bad_ropes_leave_the_scene_alone(points: list[list[float]]) -> None:
    scene = Scene()
    with pytest.raises(ValueError, match="points"):
        scene.add_rope(points, lines=False)
    assert scene.particle_count == 0


@pytest.mark.parametrize("numbers", [{"density": 0.0}, {"stretch_compliance": -1.0}, {"bend_compliance": np.inf}])
def test_bad_materials(numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=rf"RopeMaterial\.{next(iter(numbers))}"):
        RopeMaterial(**numbers)
