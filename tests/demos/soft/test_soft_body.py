"""The soft body: it lands, keeps its volume, and is kicked where it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh
from numpy.testing import assert_allclose

from pbd_gym.demos.soft.soft_body import SoftBodyDemo, SoftBodyOptions


@pytest.mark.parametrize("shape", ["hare", "ball", "box", "torus"])
def test_lands_on_the_floor_and_keeps_its_volume(shape: str) -> None:
    demo = SoftBodyDemo(SoftBodyOptions(mesh=shape))
    assert demo.positions()[:, 1].min() == pytest.approx(0.4)
    for _ in range(60):
        demo.step()
        assert demo.positions()[:, 1].min() > -1e-4
        assert abs(demo.volume_ratio() - 1.0) < 0.1
    assert demo.positions()[:, 1].min() < 0.02


def test_mass_is_density_times_volume() -> None:
    demo = SoftBodyDemo(SoftBodyOptions(mesh="ball", density=500.0))
    assert_allclose((1.0 / demo.scene.inv_mass).sum(), 500.0 * demo.mesh.volume())


def test_kicks_go_up_and_to_the_origin() -> None:
    """`k` adds upward velocity only, `l` towards the origin; far from the foot nothing moves."""
    demo = SoftBodyDemo(SoftBodyOptions(mesh="torus", gravity=0.0))
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


def test_a_mesh_of_ones_own(tmp_path: Path) -> None:
    """A closed surface is filled, in the middle and half a metre long whatever its unit; an open one is refused."""
    ball = trimesh.creation.icosphere(radius=30.0)
    ball.apply_translation([100.0, 0.0, 0.0])
    ball.export(tmp_path / "ball.stl")
    demo = SoftBodyDemo(SoftBodyOptions(mesh=str(tmp_path / "ball.stl"), compliance=1e-4, density=500.0))
    assert_allclose(demo.mesh.positions.mean(axis=0), 0.0, atol=0.01)
    assert demo.mesh.volume() == pytest.approx(4.0 / 3.0 * np.pi * 0.25**3, rel=0.1)
    assert_allclose((1.0 / demo.scene.inv_mass).sum(), 500.0 * demo.mesh.volume())
    ball.update_faces(np.arange(len(ball.faces)) > 0)
    ball.export(tmp_path / "open.stl")
    for name, error in (("open.stl", ValueError), ("none.obj", FileNotFoundError), ("ball.txt", ValueError)):
        with pytest.raises(error):
            SoftBodyOptions(mesh=str(tmp_path / name))


def test_compliance_is_that_of_every_edge() -> None:
    """It takes the place of Young's modulus, and volumes stay rigid."""
    demo = SoftBodyDemo(SoftBodyOptions(mesh="box", compliance=1e-4))
    edges, volumes = (demo.scene.constraints[kind].values["compliance"] for kind in ("distance", "tet_volume"))
    assert_allclose(np.concatenate(edges), 1e-4)
    assert_allclose(np.concatenate(volumes), 0.0)
