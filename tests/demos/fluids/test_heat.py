"""Heat: the pages' trajectories, decay of a Fourier mode, the limit of stability, and painting."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.demos.fluids.heat import CELL, HOT, HeatDemo, HeatOptions, Plate, heated_box
from tests.demos.data import load


@pytest.mark.parametrize(("name", "number"), [("heat_64x60", 0.1), ("heat_56x40_unstable", 0.3)])
def test_trajectories_of_the_original(name: str, number: float) -> None:
    """Which clamps, so that its unstable plate does not fly away."""
    frames = load(name)
    plate = Plate(frames["T"][0])
    frame = dict(zip(frames["steps"].tolist(), frames["T"], strict=True))
    for step in range(max(frame) + 1):
        if step:
            plate.step(number)
            np.clip(plate.temperature, 0.0, HOT, out=plate.temperature)
        if step in frame:
            assert_allclose(plate.temperature, frame[step], rtol=0, atol=1e-9)
    if name == "heat_64x60":  # the other's square reaches the border
        assert_allclose(heated_box(60, 64).temperature, frames["T"][0])


@pytest.mark.parametrize("number", [0.1, 0.25, 0.26])
def test_fourier_mode_changes_by_its_factor(number: float) -> None:
    """sin(a i) sin(b j) is multiplied by 1 - D dt (4 - 2 cos a - 2 cos b), the shortest wave by -1 at the limit."""
    rows, columns = 21, 31
    for m, n in ((1, 2), (5, 3), (rows - 2, columns - 2)):
        a, b = np.pi * m / (rows - 1), np.pi * n / (columns - 1)
        mode = np.sin(a * np.arange(rows))[:, None] * np.sin(b * np.arange(columns))
        plate = Plate(mode)
        for _ in range(10):
            plate.step(number)
        factor = 1.0 - number * (4.0 - 2.0 * np.cos(a) - 2.0 * np.cos(b))
        assert_allclose(plate.temperature, factor**10 * mode, atol=1e-12)
        assert (abs(factor) > 1.0) == (number > 0.25 and m > 5)


def test_long_steps_explode_and_say_so() -> None:
    demo = HeatDemo(HeatOptions(columns=40, rows=30, diffusivity=60.0))
    for _ in range(20):
        demo.step()
    assert np.abs(demo.plate.temperature).max() > 1e3 * HOT
    assert "it explodes" in demo.readout()


def test_hand_paints_inside_the_border() -> None:
    demo = HeatDemo(HeatOptions(columns=40, rows=30, diffusivity=0.0))
    demo.hold(0)
    demo.handles[0] = [-0.2, 0.0]
    demo.move(np.array([0.1, 0.0, 0.0]))
    demo.step()
    wanted = heated_box(30, 40).temperature
    wanted[14:17, 1:12] = HOT
    assert_allclose(demo.plate.temperature, wanted)
    assert_allclose(demo.size, [40 * CELL, 30 * CELL])
