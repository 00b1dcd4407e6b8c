"""Rigid boxes: the pages' trajectories with their quirks, closed forms without."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.demos.motion.rigid_boxes import Box, BoxOptions, Floor, RigidBoxesDemo
from tests.demos.data import load

FLOORS = {
    "rigid_default_seed1": (Floor(), 0.005),
    "rigid_classdt_nopenalty": (Floor(penalty=False), 0.02),
    "rigid_elastic_frictionless": (Floor(penalty=False, friction=0.0, restitution=1.0), 0.002),
    "rigid_penalty_only_k1000": (Floor(impulses=False, stiffness=1000.0, friction=0.3), 0.005),
}
GRAVITY = -9.81


def landing(speed: float, original: bool = False) -> Box:
    """Return a box that lies flat, a hair inside the floor, and goes down."""
    box = Box(np.array([0.0, 0.5 - 1e-9]), 0.0, original=original)
    box.velocity = np.array([0.0, -speed])
    return box


@pytest.mark.parametrize("name", FLOORS)
def test_trajectories_of_the_original(name: str) -> None:
    """To 1e-9 over the first 500 steps: seven bounces or more."""
    (floor, dt), frames = FLOORS[name], load(name)
    boxes = [Box(row[:2], row[4], original=True) for row in frames["state"][0]]
    stored = dict(zip(frames["steps"].tolist(), frames["state"], strict=True))
    for step in range(1, 501):
        for box in boxes:
            box.step(dt, GRAVITY, floor)
        if step in stored:
            found = [[*box.position, *box.velocity, box.angle, box.spin] for box in boxes]
            assert_allclose(found, stored[step], rtol=0, atol=1e-9)


def test_flat_box_bounces_flat_unless_vertices_are_solved_one_by_one() -> None:
    floor = Floor(penalty=False, friction=0.0)
    box = landing(2.0)
    box.step(1e-12, GRAVITY, floor)
    assert_allclose([box.velocity[1], box.spin], [1.0, 0.0], atol=1e-9)
    box = landing(2.0, original=True)
    box.step(1e-12, GRAVITY, floor)
    assert_allclose([box.velocity[1], box.spin], [0.309689, 1.307958], atol=1e-6)


def test_single_corner_leaves_at_its_restitution_and_friction_is_bounded() -> None:
    for friction in (0.0, 0.1, 10.0):
        box = Box(np.array([0.0, 1.0]), 0.6)
        arm = box.arms()[np.argmin(box.arms()[:, 1])]
        box.position[1] = -arm[1] - 1e-9
        box.velocity, momentum = np.array([0.7, -3.0]), np.array([0.7, -3.0])
        before = box._speed(arm)
        box.step(1e-12, GRAVITY, Floor(penalty=False, friction=friction))
        after, change = box._speed(arm), box.velocity - momentum
        assert_allclose(after[1], -0.5 * before[1], atol=1e-6)
        assert abs(change[0]) <= friction * change[1] + 1e-9
        if friction == 10.0:
            assert_allclose(after[0], 0.0, atol=1e-6)  # it sticks, and does not slip backwards


@pytest.mark.parametrize("penalty", [False, True])
def test_comes_to_rest_without_sinking_and_without_gaining_energy(penalty: bool) -> None:
    """The original's boxes sink to -1 m where only impulses hold them."""
    box, floor = Box(np.array([0.0, 2.0]), 0.4), Floor(penalty=penalty, stiffness=2000.0, friction=0.2)
    start = box.energy(GRAVITY)
    for _ in range(1200):
        box.step(0.005, GRAVITY, floor)
        # Symplectic Euler is ahead by half a step: g^2 dt t / 2 in a free fall of half a second.
        assert box.energy(GRAVITY) < start + 0.5 * GRAVITY**2 * 0.005 * 0.6
    assert_allclose(box.position[1] + box.arms()[:, 1].min(), 0.0, atol=5e-3)
    assert_allclose(np.sin(2.0 * box.angle), 0.0, atol=0.01)
    assert np.linalg.norm(box.velocity) < 0.1


def test_demonstration_leads_the_box_in_the_hand() -> None:
    demo = RigidBoxesDemo(BoxOptions(seed=3))
    demo.hold(2)
    start = demo.handles[2].copy()
    for _ in range(4):
        demo.move(np.array([0.2, 0.1, 0.0]))
        demo.step()
    assert_allclose(demo.boxes[2].position, start + np.array([0.8, 0.4]))
    assert_allclose(demo.boxes[2].velocity, np.array([0.2, 0.1]) * demo.fps)
    assert demo.boxes[1].position[1] < 5.0


def test_bad_floors_are_refused() -> None:
    with pytest.raises(ValueError, match="a floor needs"):
        Floor(restitution=1.5)
