"""The window of `pbd-gym play`, driven by posted events under SDL's dummy driver."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

os.environ["SDL_VIDEODRIVER"] = "dummy"
import pygame

from pbd_gym.envs.play import Player


@pytest.fixture
def player() -> Iterator[Player]:
    found = Player("PBDCloth-v0", size=(400, 400))
    found.tick()
    yield found
    found.renderer.close()
    found.env.close()


def post(kind: int, **fields: Any) -> None:
    pygame.event.post(pygame.event.Event(kind, **fields))


def pixel_of(player: Player, particle: int) -> tuple[int, int]:
    pixels, _ = player.camera.project(player.batch.state.get_positions()[0], player.size)
    return int(round(pixels[particle, 0])), int(round(pixels[particle, 1]))


def test_mouse_drags_a_particle_and_lets_go(player: Player) -> None:
    particle = 15 * 16 + 8  # middle of the lower edge
    start = player.batch.state.get_positions()[0, particle]
    x, y = pixel_of(player, particle)
    post(pygame.MOUSEBUTTONDOWN, button=1, pos=(x, y))
    player.tick()
    assert player.grabbed == particle
    for k in range(20):
        post(pygame.MOUSEMOTION, pos=(x + 3 * k, y - 3 * k), rel=(3, -3), buttons=(1, 0, 0))
        player.tick()
    moved = player.batch.state.get_positions()[0, particle]
    assert moved[1] - start[1] > 0.05
    # Where the mouse is, there the particle is, to the rounding of the mouse to pixels.
    np.testing.assert_allclose(pixel_of(player, particle), (x + 57, y - 57), atol=2)
    post(pygame.MOUSEBUTTONUP, button=1, pos=(x, y))
    player.tick()
    assert player.grabbed is None
    for _ in range(10):
        player.tick()
    assert player.batch.state.get_positions()[0, particle, 1] < moved[1] - 0.05  # it falls


def test_nothing_is_grabbed_in_the_air(player: Player) -> None:
    post(pygame.MOUSEBUTTONDOWN, button=1, pos=(2, 2))
    player.tick()
    assert player.grabbed is None


def test_pause_and_single_step(player: Player) -> None:
    post(pygame.KEYDOWN, key=pygame.K_SPACE)
    player.tick()
    steps = player.steps
    player.tick()
    assert player.steps == steps
    post(pygame.KEYDOWN, key=pygame.K_n)
    player.tick()
    player.tick()
    assert player.steps == steps + 1


def test_random_agent_moves_the_hands_and_reset_brings_them_back(player: Player) -> None:
    start = player.batch.state.get_positions()
    post(pygame.KEYDOWN, key=pygame.K_a)
    for _ in range(10):
        player.tick()
    assert np.abs(player.batch.state.get_positions() - start)[0, 0].max() > 0.01
    post(pygame.KEYDOWN, key=pygame.K_r)
    post(pygame.KEYDOWN, key=pygame.K_SPACE)
    player.tick()
    np.testing.assert_array_equal(player.batch.state.get_positions()[0], player.batch.start_positions[0])


def test_orbit_and_zoom_change_the_view_only(player: Player) -> None:
    yaw, distance = player.camera.yaw, player.camera.distance
    post(pygame.MOUSEMOTION, pos=(50, 50), rel=(30, 10), buttons=(0, 0, 1))
    post(pygame.MOUSEWHEEL, x=0, y=2)
    player.tick()
    assert player.camera.yaw != yaw
    assert player.camera.distance < distance


def test_closing_the_window_ends_the_run(player: Player) -> None:
    post(pygame.QUIT)
    player.run()
    assert player.renderer.closed
