"""The window on the neighbour search."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

from pbd_gym.demos.geometry.neighbours import CANDIDATES, CHOSEN, NEIGHBOURS, OTHERS, NeighbourOptions, NeighboursDemo


def test_colours_are_those_of_brute_force() -> None:
    demo = NeighboursDemo(NeighbourOptions(count=400, radius=0.4))
    for _ in range(5):
        demo.step()
        distance = np.linalg.norm(demo.points - demo.points[demo.chosen], axis=1)
        colors = demo.frame().colors
        near = np.flatnonzero(distance <= 0.4)
        assert_array_equal(colors[demo.chosen], CHOSEN)
        assert_array_equal(np.flatnonzero((colors == NEIGHBOURS).all(axis=1)), near[near != demo.chosen])
        looked = np.flatnonzero((colors == CANDIDATES).all(axis=1))
        assert len(looked) > 0
        assert ((colors == OTHERS).all(axis=1) | (distance < 0.4 * 2 * np.sqrt(3))).all()


def test_mouse_chooses_what_is_under_it() -> None:
    demo = NeighboursDemo()
    eye = np.array([0.3, 0.2, 6.0])
    for wanted in (3, 77, 401):
        way = demo.points[wanted] - eye
        demo.point(eye, way / np.linalg.norm(way))
        assert demo.chosen == wanted


def test_walls_turn_particles_back_at_their_speed() -> None:
    demo = NeighboursDemo(NeighbourOptions(speed=3.0, count=200))
    for _ in range(50):
        demo.step()
        assert (np.abs(demo.points) <= 1.0).all()
        np.testing.assert_allclose(np.linalg.norm(demo.velocity, axis=1), 3.0)
