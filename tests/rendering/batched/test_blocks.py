"""Pictures that blocks of threads draw, as on a GPU, are those of one thread, and need each of their barriers."""

from __future__ import annotations

import os
from unittest import mock

import numpy as np
import pytest
import warp as wp

from pbd_gym import Model
from pbd_gym.rendering.batched import Rasterizer
from pbd_gym.rendering.batched.rasterizer import IMAGES
from tests.kernels.instrumented import ORDERS, instrumented
from tests.rendering.batched.helpers import busy_scene, random_cameras, random_state

pytestmark = pytest.mark.skipif(not hasattr(wp.config, "enable_cpu_blocks"), reason="Warp before 1.19")
SIZE = (40, 30)


class Pictures:
    """All images of two environments from two cameras each, with shadows."""

    def __init__(self, block_dim: int) -> None:
        model = Model(busy_scene(), 2, block_dim=block_dim, lanes=1)
        cameras = random_cameras(np.random.default_rng(8), 2)
        self.states = [random_state(model, seed) for seed in (6, 7)]
        self.rasterizer = Rasterizer(model, cameras, SIZE, IMAGES, shadows=True, threads=1)
        self.draw()

    def draw(self) -> bytes:
        """Draw two states in which everything is elsewhere, the second one under another sky, and return both."""
        found = b""
        colors = self.rasterizer.palette.numpy().copy()
        for number, state in enumerate(self.states):
            self.rasterizer.palette.assign(colors + np.float32(7.0 * number))
            with mock.patch.object(wp.config, "optimization_level", 0):
                self.rasterizer.draw(state)
            found += b"".join(self.rasterizer.image(name).numpy().tobytes() for name in IMAGES)
        self.rasterizer.palette.assign(colors)
        return found


def test_blocks_draw_what_one_thread_draws() -> None:
    """Guards the rasteriser of a GPU, whose threads own tiles; and its barriers, each of which is left out once."""
    one = Pictures(1).draw()
    assert len(set(one)) > 50
    assert Pictures(128).draw() == one
    with instrumented() as kept:
        pictures = Pictures(32)
    for order in ORDERS:
        with kept.run(order):
            assert pictures.draw() == one
    if hasattr(os, "fork"):
        # The headers of the kernels are there too, but nothing of them that waits is drawn.
        unnoticed = {place: same for place, same in kept.unnoticed(pictures.draw).items() if ".h:" not in place}
        assert len(unnoticed) >= 5
        assert [place for place, same in unnoticed.items() if same] == []


def test_blocks_leave_out_what_is_not_chosen() -> None:
    """Guards barriers of a block that has nothing to draw, beside one that has."""
    found = []
    for block_dim in (1, 32):
        pictures = Pictures(block_dim)
        points = wp.array(pictures.states[0].get_positions(), dtype=float)
        still = pictures.rasterizer.of_points(points, wp.array([0, 1], dtype=wp.int32))
        with mock.patch.object(wp.config, "optimization_level", 0):
            still.draw(pictures.states[1])
        found.append([still.image(name).numpy().copy() for name in IMAGES])
    for one, many in zip(*found, strict=True):
        assert one[1].any() and not one[0].any()
        np.testing.assert_array_equal(one, many)
