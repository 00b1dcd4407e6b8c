"""The four fluids: trajectories of the originals with their quirks, and closed forms without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.demos.fluids.fluid import block_in_box
from tests.demos.sph.oracles import EVERY, FOLDER, FOUND, METHODS, load

MORE = [path for path in sorted(EVERY.glob("*.npz")) if path.name.startswith(tuple(METHODS))] if EVERY.exists() else []
GRAVITY = 9.81


@pytest.mark.parametrize(
    "path", [FOLDER / f"{method}_10x20.npz" for method in METHODS] + MORE, ids=lambda path: path.parent.name + path.stem
)
def test_one_step_from_every_stored_frame(path: Path) -> None:
    """To rounding, and with as many iterations: nothing here can hide behind chaos."""
    oracle = load(path)
    if oracle.meta["kind"] != "fluid":
        pytest.skip("not a trajectory")
    arrays = oracle.arrays
    for before, after in arrays["pairs"]:
        fluid, step = oracle.fluid(before), int(arrays["steps"][after])
        oracle.drag(fluid, step)
        fluid.step(float(arrays["dt"]))
        for name, attribute in FOUND.items():
            if name in arrays:
                assert_allclose(getattr(fluid, attribute), arrays[name][after], rtol=1e-9, atol=1e-9, err_msg=name)
        assert fluid.iterations == oracle.iterations(step, len(fluid.iterations))


@pytest.mark.parametrize("method", METHODS)
def test_whole_run(method: str) -> None:
    """To 1e-9 m for as long as the order of sums does not matter more than that, and every iteration count."""
    oracle = load(FOLDER / f"{method}_10x20.npz")
    fluid, arrays = oracle.fluid(), oracle.arrays
    assert_allclose(fluid.boundary_mass, arrays["psi"], rtol=1e-12)
    frames = dict(zip(arrays["steps"].tolist(), arrays["pos"], strict=True))
    for step in range(1, max(frames) + 1):
        fluid.step(float(arrays["dt"]))
        assert fluid.iterations == oracle.iterations(step, len(fluid.iterations))
        if step in frames:
            assert_allclose(fluid.positions, frames[step], rtol=0, atol=1e-9)


def test_block_is_that_of_the_originals() -> None:
    oracle = load(FOLDER / "wcsph_10x20.npz")
    fluid, box = block_in_box(10, 20)
    assert_allclose(fluid, oracle.arrays["pos"][0], atol=1e-12)
    assert_allclose(box, oracle.arrays["boundary"], atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_free_fall_and_momentum(method: str) -> None:
    """Guards gravity that came a step late in the original PBF, and viscosity that lost momentum in all of them."""
    rng, dt = np.random.default_rng(0), 0.002
    start = block_in_box(6, 6)[0] + rng.uniform(-0.01, 0.01, (36, 2))
    fluid: Any = METHODS[method](start)
    fluid.velocities = rng.normal(0.0, 0.3, start.shape)
    momentum = fluid.velocities.mean(axis=0)
    for _ in range(50):
        fluid.step(dt)
    assert_allclose(fluid.velocities.mean(axis=0), momentum - [0.0, 50 * dt * GRAVITY], atol=1e-11)
    fallen = 50 * dt * momentum - [0.0, dt**2 * GRAVITY * 50 * 51 / 2]
    assert_allclose(fluid.positions.mean(axis=0), start.mean(axis=0) + fallen, atol=1e-11)


@pytest.mark.parametrize("method", METHODS)
def test_water_at_rest(method: str) -> None:
    """The level that its volume gives, and hydrostatic pressure in every row but the uppermost.

    Particles keep 0.03 m from a wall, to a tenth of a spacing. Where the surface of a row of particles lies is known to
    a spacing d, so that pressures are known to rho g d. Without mirrored pressures the lowest row is three times that
    off: it has 1.5 to 1.9 times what it should.
    """
    _, box = block_in_box(7, 6)
    i, j = np.divmod(np.arange(6 * 18), 18)
    start = np.stack([box[:, 0].mean() + (j - 8.5) * 0.05, (i + 1.1) * 0.05], axis=1)
    fluid: Any = METHODS[method](start, box, viscosity=0.1)
    pressure, height = np.zeros(len(start)), np.zeros(len(start))
    for step in range(500):
        fluid.step(0.002)
        if step >= 300:
            factor = 2.0 if method in ("iisph", "dfsph") else 1.0  # they keep half of it for the next step
            pressure += factor * fluid.pressure / 200
            height += fluid.positions[:, 1] / 200
    level = 2.0 * height.mean() - 0.03
    assert_allclose(level, 0.03 + start.size / 2 * 0.05**2 / (np.ptp(box[:, 0]) - 0.06), atol=0.005)
    for row in np.array_split(np.argsort(height), 6)[:-1]:
        depth = level - height[row].mean()
        assert_allclose(pressure[row].mean(), 1000.0 * GRAVITY * depth, atol=1000.0 * GRAVITY * 0.05)


@pytest.mark.parametrize(
    "change", [{"spacing": 0.0}, {"viscosity": 2.0}, {"rest_density": -1.0}, {"positions": [[0.0]]}]
)
def test_bad_numbers_are_refused(change: dict[str, Any]) -> None:
    for kind in METHODS.values():
        with pytest.raises(ValueError, match="must be"):
            kind(**{"positions": [[0.0, 0.0]]} | change)
