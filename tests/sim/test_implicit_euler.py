"""Newton's method that users can run: against another that shares no code with it, and against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import RopeMaterial, Scene
from pbd_gym.sim.implicit_euler import ImplicitEuler
from tests.sim.newton import ImplicitEuler as Independent
from tests.sim.test_newton import BODIES


@pytest.mark.parametrize("body", BODIES)
def test_it_finds_the_minimum_that_another_finds(body: str) -> None:
    """Guards energies, derivatives, pins and assembly: a sheet, a rope and a beam that swing for ten steps."""
    scene, h = BODIES[body](), 5e-3
    step, x, v = ImplicitEuler(scene), scene.positions, scene.velocities
    for _ in range(10):
        step.advance(h)
        before, x = x, Independent(scene, x, v, h).solve()[0]
        v = (x - before) / h
    assert np.abs(x - scene.positions).max() > 0.01
    assert_allclose(step.positions, x, rtol=0, atol=1e-12)


def test_hands_take_along_what_they_hold_and_let_go_of_it() -> None:
    scene = Scene()
    ends = scene.add_rope(np.linspace([0.0, 0.0, 0.0], [0.0, -0.4, 0.0], 5), RopeMaterial(0.1, 1e-4, None), lines=True)
    step = ImplicitEuler(scene, damping=2.0)
    step.hold(ends[:1])
    for _ in range(20):
        step.advance(0.01, (0.005, 0.0, 0.0))
    assert_allclose(step.positions[0], [0.1, 0.0, 0.0], atol=1e-12)
    step.settle()
    # Each segment carries what hangs below it: 0.01 kg a particle, half as much at the end.
    loads = 9.81 * 0.01 * (np.arange(4)[::-1] + 0.5)
    assert_allclose(-np.diff(step.positions[:, 1]), 0.1 + 1e-4 * loads, rtol=0, atol=1e-9)
    assert_allclose(step.positions[:, 0], 0.1, atol=1e-6)
    step.hold([])
    step.advance(0.01)
    assert_allclose(scene.mass @ step.velocities[:, 1], -9.81 * 0.01 * scene.mass.sum(), rtol=1e-6)


def test_a_thread_sags_as_a_beam() -> None:
    """w L^4 / (8 D) of a cantilever, small deflections, clamped half a segment behind the second particle."""
    count, spacing, rigidity = 33, 0.01, 1e-6
    scene = Scene(gravity=(0.0, -1e-4, 0.0))
    path = np.linspace([0.0, 0.0, 0.0], [(count - 1) * spacing, 0.0, 0.0], count)
    thread = scene.add_particles(path, 0.01 * spacing)
    threes = np.stack([thread[:-2], thread[1:-1], thread[2:]], axis=1)
    scene.add_constraints("thread_bending", threes, compliance=spacing / rigidity)
    scene.add_constraints("line", [thread], compliance=1e-3)
    scene.pin(thread[:2])
    step = ImplicitEuler(scene, tolerance=1e-7)
    step.settle(1.0)
    length = (count - 1.5) * spacing
    wanted = 0.01 * 1e-4 * length**4 / (8.0 * rigidity)
    assert 1e-4 < wanted < 0.1 * length
    assert_allclose(-step.positions[-1, 1], wanted, rtol=0.05)


def test_what_it_cannot_solve() -> None:
    rigid, cluster = Scene(), Scene()
    for scene in (rigid, cluster):
        scene.add_particles([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], 1.0)
    rigid.add_distance_constraints([[0, 1]])
    cluster.add_constraints("shape_matching", [[0, 1]])
    with pytest.raises(ValueError, match="distance are rigid"):
        ImplicitEuler(rigid)
    with pytest.raises(ValueError, match="shape_matching have no energy"):
        ImplicitEuler(cluster)
    empty = ImplicitEuler(Scene())
    with pytest.raises(ValueError, match="h must"):
        empty.advance(0.0)
    with pytest.raises(ValueError, match="particles must be"):
        empty.hold([3])
