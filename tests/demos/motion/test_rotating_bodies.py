"""The emitter of bodies that turn: the page's trajectories, and how many there are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.demos.motion.emitters import BodyOptions, RotatingBodies, RotatingBodiesDemo
from tests.demos.data import load


def test_trajectory_of_the_original() -> None:
    tables = load("emitter_rb_short_life")
    draws = iter(tables["draws"].reshape(-1, 2, 4))
    bodies = RotatingBodies(lambda _: next(draws), lifetime=0.25, emission=2)
    pointer = tables["frame_ptr"]
    frames = {
        step: tables["state"][a:b] for step, a, b in zip(tables["frame_steps"], pointer, pointer[1:], strict=False)
    }
    for step in range(1, 101):
        bodies.emitter = tables["emitter"][step - 1]
        bodies.step(0.01)
        assert len(bodies.ages) == tables["count"][step - 1]
        if step in frames:
            found = np.column_stack([bodies.positions, bodies.velocities, bodies.ages, bodies.angles, bodies.spins])
            assert_allclose(found, frames[step], rtol=0, atol=1e-12)


@pytest.mark.parametrize("emission", [0, 3])
def test_count_settles_and_squares_are_square(emission: int) -> None:
    demo = RotatingBodiesDemo(BodyOptions(emission=emission, lifetime=0.5))
    demo.handles[0] = [2.0, 1.0]
    for _ in range(30):
        demo.step()
    assert abs(len(demo.bodies.ages) - emission * 101) <= emission
    sides = np.linalg.norm(np.diff(demo.bodies.corners(), axis=1, append=demo.bodies.corners()[:, :1]), axis=2)
    assert_allclose(sides, 0.3)
    before = demo.bodies.positions.copy()
    demo.try_change("lifetime", 1.0)
    assert_array_equal(demo.bodies.positions, before)
