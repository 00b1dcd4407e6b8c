"""Every kind's traced gradient against complex steps of its own formula, in double precision.

A complex step of 1e-30 gives a derivative to rounding, without the cancellation of differences. It also follows what
the trace holds constant (closest points, rotations), so it checks that the change of these really drops out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.constraints import kinds
from pbd_gym.formulas import Vec3, evaluate
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.solve.projection import Inputs
from tests.constraints.samples import SAMPLES, every_sample

STEP = 1e-30
SIZE = 1.3
"""Of the environment; not 1, so that a forgotten factor shows."""
FORMULAS = [name for name, kind in kinds().items() if kind.formula]


def symbols(name: str, positions: np.ndarray, values: dict[str, np.ndarray]) -> dict[str, Any]:
    """Values of the symbols of a trace: positions of shape (m, k, 3), fields of shape (m, ...)."""
    found: dict[str, Any] = {"size": SIZE, "inv_size": 1 / SIZE, "inv_h": 20.0, "(iteration == 0)": True}
    found["it.memory()"] = 0.0
    for k in range(positions.shape[1]):
        for i, axis in enumerate("xyz"):
            found[f"{axis}{k}"] = positions[:, k, i]
            found[f"it.before({k}, {i})"] = np.real(positions[:, k, i])
    for field, shape in kinds()[name].fields.items():
        rows = values[field].reshape(len(positions), -1)
        if shape:
            found |= {f"it.entry(table.{field}, {k})": rows[:, k] for k in range(rows.shape[1])}
        else:
            found[f"it.number(table.{field})"] = rows[:, 0]
    return found


@pytest.mark.parametrize("name", FORMULAS)
def test_traced_gradient_is_that_of_the_formula(name: str) -> None:
    """Guards each formula with its scale, its hand-written gradients, and what it says drops out."""
    kind = kinds()[name]
    assert kind.width is not None
    inputs = Inputs(SweepOptions(varied=True, keep_lambda=True))
    residual = inputs.residual(kind.formula, kind.width, kind.fields)
    points = inputs.positions(kind.width)
    scaled = [coordinate for vector in residual.gradients(points) for coordinate in vector]
    scale = residual.value.same(residual.scale)
    scene, members = every_sample(np.random.default_rng(20))
    values = {field: np.concatenate(parts) for field, parts in scene.constraints[name].values.items()}
    rng = np.random.default_rng(21)
    positions = SIZE * scene.positions[members[name]]
    positions = positions + rng.uniform(-0.25, 0.25, positions.shape)
    found = np.stack(np.broadcast_arrays(*evaluate(scaled, symbols(name, positions, values))), axis=-1)
    (length,) = evaluate([scale], symbols(name, positions, values))
    wanted = np.empty_like(found)
    for k in range(kind.width):
        for axis in range(3):
            moved = positions.astype(complex)
            moved[:, k, axis] += 1j * STEP
            (value,) = evaluate([residual.value], symbols(name, moved, values))
            wanted[:, 3 * k + axis] = length * value.imag / STEP
    assert np.median(np.abs(wanted).max(1)) > 1e-3
    assert_allclose(found, wanted, rtol=0, atol=1e-11 * max(1.0, np.abs(wanted).max()))


def test_every_formula_is_tested() -> None:
    """Guards the list: only clusters have no formula."""
    assert set(SAMPLES) - set(FORMULAS) == {"shape_matching", "line"}  # solved as a whole, each in a test of its own


def test_functions_of_vectors() -> None:
    """Guards cross and dot against NumPy."""
    inputs = Inputs(SweepOptions())
    a, b = inputs.positions(2)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(5, 2, 3))
    from pbd_gym.formulas import cross, dot

    values = {f"{axis}{k}": points[:, k, i] for k in range(2) for i, axis in enumerate("xyz")}
    product = np.stack(evaluate(list(cross(a, b)), values), axis=1)
    assert_allclose(product, np.cross(points[:, 0], points[:, 1]), atol=1e-15)
    assert_allclose(evaluate([dot(a, b)], values)[0], (points[:, 0] * points[:, 1]).sum(1), atol=1e-15)
    assert isinstance(a, Vec3)
