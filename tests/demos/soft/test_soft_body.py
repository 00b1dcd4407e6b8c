"""The soft body: it lands, keeps its volume, and is kicked where it says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.demos.soft.soft_body import SoftBodyDemo, SoftBodyOptions


@pytest.mark.parametrize("shape", ["ball", "box", "torus"])
def test_lands_on_the_floor_and_keeps_its_volume(shape: str) -> None:
    demo = SoftBodyDemo(SoftBodyOptions(shape=shape))
    assert demo.positions()[:, 1].min() == pytest.approx(0.4)
    for _ in range(60):
        demo.step()
        assert demo.positions()[:, 1].min() > -1e-4
        assert abs(demo.volume_ratio() - 1.0) < 0.1
    assert demo.positions()[:, 1].min() < 0.02


def test_mass_is_density_times_volume() -> None:
    demo = SoftBodyDemo(SoftBodyOptions(shape="ball", density=500.0))
    assert_allclose((1.0 / demo.scene.inv_mass).sum(), 500.0 * demo.mesh.volume())


def test_kicks_go_up_and_to_the_origin() -> None:
    """`k` adds upward velocity only, `l` towards the origin; far from the foot nothing moves."""
    demo = SoftBodyDemo(SoftBodyOptions(gravity=0.0))
    demo.kick_up()
    velocities = demo.velocities()
    speed = np.linalg.norm(velocities, axis=1)
    kicked = int(np.argmax(speed))
    assert_allclose(velocities[kicked], [0.0, 15.0, 0.0], atol=1e-5)
    assert speed[np.linalg.norm(demo.positions() - demo.positions()[kicked], axis=1) > 0.4].max() < 1e-3
    demo.reset()
    demo.pull_to_origin()
    velocities = demo.velocities()
    kicked = int(np.argmax(np.linalg.norm(velocities, axis=1)))
    where = demo.positions()[kicked]
    assert_allclose(velocities[kicked], -15.0 * where / np.linalg.norm(where), atol=1e-4)


def test_a_held_particle_is_not_kicked() -> None:
    demo = SoftBodyDemo()
    demo.hold(3)
    for _ in range(30):
        demo.kick_up()
    assert_allclose(demo.velocities()[3], 0.0)
