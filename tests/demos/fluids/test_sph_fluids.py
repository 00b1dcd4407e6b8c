"""The four fluids side by side: the trajectory of the original, the hand, changes while it runs, explosions."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from pbd_gym.demos.fluids.sph_fluids import FluidOptions, FluidsDemo
from tests.demos.sph.oracles import FOLDER, load

SMALL = {"columns": 5, "rows": 4}


def test_frames_are_those_of_the_original() -> None:
    demo = FluidsDemo(FluidOptions(method="PBF", columns=10, rows=20, quirks="original"))
    for _ in range(5):
        demo.step()
    frames = load(FOLDER / "pbf_10x20.npz").arrays
    assert_allclose(demo.positions()[:, :2], frames["pos"][frames["steps"].tolist().index(50)], rtol=0, atol=1e-9)


def test_hand_leads_its_particle_and_no_other_fluid() -> None:
    demo, other = FluidsDemo(FluidOptions(**SMALL)), FluidsDemo(FluidOptions(**SMALL))
    held = 27  # of the second fluid
    demo.hold(held)
    start = demo.positions()[held]
    for _ in range(5):
        demo.move(np.array([0.01, 0.02, 0.0]))
        demo.step()
        other.step()
    assert_allclose(demo.positions()[held], start + np.array([0.05, 0.1, 0.0]), atol=1e-12)
    assert_allclose(demo.fluids["PBF"].velocities[held - 20], np.array([0.01, 0.02]) * demo.fps)
    assert_allclose(demo.fluids["DFSPH"].positions, other.fluids["DFSPH"].positions)


def test_goes_on_with_other_numbers() -> None:
    demo = FluidsDemo(FluidOptions(**SMALL))
    for _ in range(8):
        demo.step()
    before = demo.positions()
    demo.try_change("viscosity", 0.2)
    assert_allclose(demo.positions(), before)
    assert (demo.fluids["IISPH"].pressure > 0.0).any()
    demo.try_change("method", "DFSPH")
    assert demo.time == 0.0
    assert list(demo.fluids) == ["DFSPH"]


def test_explosion_is_told_and_leaves_the_others() -> None:
    demo = FluidsDemo(FluidOptions(stiffness=1e7, time_step=0.02, **SMALL))
    for _ in range(60):
        demo.step()
    assert demo.failed == {"WCSPH"}
    assert "exploded: WCSPH" in demo.readout()
    assert np.isfinite(demo.fluids["PBF"].positions).all()
    demo.try_change("stiffness", 1e4)
    assert not demo.failed
