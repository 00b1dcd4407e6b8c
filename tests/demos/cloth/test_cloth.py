"""The hanging sheets against the tutorial that they show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.demos.cloth.cloth import ClothDemo, ClothOptions, PBDClothDemo, PBDClothOptions
from pbd_gym.demos.cloth.sheet import sheet
from tests.sim.oracles import load

PLAIN: dict[str, Any] = {"wind": 0.0, "surface": "off", "stiffness": 1000.0}
"""No air and no ground."""
XPBD = {"columns": 10, "rows": 8, "mass": 0.5, "time_step": 0.01, "iterations": 5, **PLAIN}
PBD = {"columns": 10, "rows": 8, "mass": 0.5, "time_step": 0.01, "iterations": 5}


@pytest.mark.parametrize(
    ("name", "demo_type", "options"),
    [
        ("xpbd_f1_10x8__fixed", ClothDemo, ClothOptions(**XPBD, fixed=1)),
        ("xpbd_f4_10x8__fixed", ClothDemo, ClothOptions(**XPBD, fixed=4)),
        ("xpbd_default_headgui__fixed", ClothDemo, ClothOptions(mass=0.5, time_step=0.005, iterations=2, **PLAIN)),
        ("pbd_f1_10x8__fixed", PBDClothDemo, PBDClothOptions(**PBD, fixed=1)),
        ("pbd_default_headgui__fixed", PBDClothDemo, PBDClothOptions(mass=0.5, time_step=0.005, iterations=2)),
    ],
)
def test_is_the_cloth_of_the_tutorial(name: str, demo_type: Any, options: Any) -> None:
    """Guards the sheet (particles, edges in solve order, corners that are fixed) and what the options mean."""
    oracle = load(name)
    demo = demo_type(options)
    assert_array_equal(demo.sheet.edges, oracle["edges"])
    assert_array_equal(demo.scene.inv_mass, oracle["inv_mass"])
    assert demo.substeps * demo.time_step == pytest.approx(1 / demo.fps)
    compared = 0
    tolerance = oracle.float32_tolerance()
    for k, step in enumerate(oracle["steps"][: oracle.float32_frames()]):
        while round(demo.time / demo.time_step) + demo.substeps <= step:
            demo.step()
        if round(demo.time / demo.time_step) == step:
            assert np.abs(demo.positions() - oracle["pos"][k]).max() <= tolerance[k]
            compared += step > 0
    assert compared >= 5


def test_stretch_does_not_depend_on_iterations_but_on_stiffness() -> None:
    """What the demonstration teaches is true of it: XPBD converges to one stretch, PBD to none."""

    def rest(demo_type: Any, options: Any) -> float:
        demo = demo_type(options)
        for _ in range(150):
            demo.step()
        return float(np.max(demo.stretch()))

    size = {"columns": 6, "rows": 5, "fixed": 4}
    slack = {**size, **PLAIN, "mass": 0.05, "time_step": 0.005}
    few, many = (rest(ClothDemo, ClothOptions(**slack, iterations=n)) for n in (20, 60))
    assert_allclose(few, many, rtol=1e-3)
    assert rest(ClothDemo, ClothOptions(**slack | {"stiffness": 2000.0}, iterations=20)) < 0.8 * few
    few, many = (rest(PBDClothDemo, PBDClothOptions(**size, iterations=n)) for n in (1, 60))
    assert abs(many) < 0.2 * abs(few)


def test_sheet_hangs_from_the_corners_that_were_asked_for() -> None:
    assert_array_equal(sheet(ClothOptions(columns=4, rows=3, fixed=1)).fixed, [0])
    assert_array_equal(sheet(ClothOptions(columns=4, rows=3, fixed=2)).fixed, [0, 3])
    assert_array_equal(sheet(ClothOptions(columns=4, rows=3, fixed=4)).fixed, [0, 3, 8, 11])


def test_hangs_in_the_wind_and_lies_down_on_the_ground() -> None:
    """Guards that the film shows cloth: it hardly stretches, gusts move it, and it comes to rest without piercings."""
    demo = ClothDemo(ClothOptions(columns=20, rows=15))
    ground, out = 1.2 * demo.sheet.positions[:, 1].min(), 0.0
    for _ in range(250):
        demo.perform()
        demo.step()
        assert demo.positions()[:, 1].min() > ground - 0.02
        if demo.time < 4.0:
            assert demo.stretch().max() < 0.1
            out = max(out, demo.positions()[0, 2], demo.positions()[:, 2].mean())
    assert out > 0.3
    assert demo.positions()[:, 1].max() < ground + 1.5
    assert np.linalg.norm(demo.velocities(), axis=1).mean() < 0.2
    assert demo.state.get_piercings()[0] == 0
