"""The three materials: one for small strains, three for large ones."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from pbd_gym.demos.soft.materials import SIZE, MaterialsDemo, MaterialsOptions


def rest(**options: float) -> np.ndarray:
    """Sag of the tips once the beams have come to rest."""
    demo = MaterialsDemo(MaterialsOptions(damping=8.0, **options))
    for _ in range(40):
        demo.step()
    before = demo.sag()
    demo.step()
    assert_allclose(demo.sag(), before, atol=1e-3 * SIZE[1])
    return before


def test_beams_sag_alike_under_a_small_load_and_apart_under_a_large_one() -> None:
    small = rest(gravity=-0.3, young_modulus=5e5, poisson_ratio=0.3)
    assert (small < -0.005).all()
    assert np.ptp(small) < 0.02 * np.abs(small).mean()
    large = rest(gravity=-40.0, young_modulus=5e5, poisson_ratio=0.3)
    assert np.ptp(large) > 0.02 * np.abs(large).mean()


def test_sag_is_in_proportion_to_a_small_load() -> None:
    one, two = rest(gravity=-0.2), rest(gravity=-0.4)
    assert_allclose(two, 2.0 * one, rtol=0.03)


def test_all_materials_recover_from_being_crushed() -> None:
    demo = MaterialsDemo(MaterialsOptions(damping=8.0, gravity=0.0))
    start = demo.positions()
    demo.crush()
    assert np.ptp(demo.positions()[demo.scene.inv_mass > 0, 1]) == 0.0
    for _ in range(75):
        demo.step()
    third = len(start) // 3
    assert np.abs(demo.positions() - start)[2 * third :].max() < 0.02 * SIZE[0]
    assert not demo.inverted().any()
    assert "StVK 0, corotated 0" in demo.readout()
