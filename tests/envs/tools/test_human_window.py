"""render_mode="human": a program steps, and a person holds it up, drags and turns. The episode knows nothing of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.envs.tools.window import Watcher
from tests.envs.helpers import ID, SMALL, SMALL_OF, make_vec
from tests.screen import click, drag, pixel_of, post, press, pygame, screen, slide


@pytest.fixture
def env() -> Iterator[Any]:
    found = gym.make(ID, render_mode="human", **SMALL)
    found.unwrapped.batch.metadata["render_fps"] = 0  # type: ignore[attr-defined]
    yield found
    found.close()


def watcher(env: Any) -> Watcher:
    found: Watcher = env.unwrapped.batch.pictures._renderers["watcher"]
    return found


def step(env: Any, count: int = 1) -> None:
    for _ in range(count):
        env.step(np.zeros(env.action_space.shape, np.float32))


def positions(env: Any) -> np.ndarray:
    found: np.ndarray = env.unwrapped.batch.state.get_positions()[0]
    return found


def test_a_window_changes_no_bit(env: Any) -> None:
    plain = gym.make(ID, **SMALL)
    rng = np.random.default_rng(0)
    for _ in range(2):
        assert_array_equal(env.reset(seed=3)[0], plain.reset(seed=3)[0])
        for _ in range(4):
            action = rng.uniform(-1, 1, plain.action_space.shape).astype(np.float32)
            one, two = env.step(action), plain.step(action)
            assert_array_equal(one[0], two[0])
            assert one[1:4] == two[1:4]
    saved = plain.unwrapped.get_state()
    env.unwrapped.set_state(saved)
    again = env.unwrapped.get_state()
    assert saved.keys() == again.keys()
    for name, value in saved.items():
        assert_array_equal(again[name], value, err_msg=name)


def test_a_person_drags_what_no_hand_holds(env: Any) -> None:
    env.reset(seed=0)
    step(env, 2)
    view, start = watcher(env), positions(env)
    x, y = pixel_of(view, 14)
    post(pygame.MOUSEBUTTONDOWN, button=1, pos=(x, y))
    step(env)
    for k in range(8):
        post(pygame.MOUSEMOTION, pos=(x + 4 * k, y - 6 * k), rel=(4, -6), buttons=(1, 0, 0))
        step(env)
    assert view.grabbed == 14
    assert positions(env)[14, 1] > start[14, 1] + 0.05
    env.reset(seed=0)
    assert view.grabbed is None
    assert_array_equal(positions(env), gym_start())
    step(env, 2)
    assert_array_equal(positions(env), start)


def gym_start() -> np.ndarray:
    plain = gym.make(ID, **SMALL)
    plain.reset(seed=0)
    return positions(plain)


def test_pause_holds_the_program_up(env: Any) -> None:
    """While it waits the view turns; a single step lets it go on for one step."""
    env.reset(seed=0)
    view = watcher(env)
    looks = 0
    look = view.look

    def counted() -> None:
        nonlocal looks
        looks += 1
        if looks == 5:
            post(pygame.KEYDOWN, key=pygame.K_n)
        look()

    view.paused = True
    view.look = counted  # type: ignore[method-assign]
    step(env)
    assert looks == 5  # drawn and waited, until the picture with which the key came
    view.paused = False
    step(env)
    assert looks == 6


def test_pins_and_sliders(env: Any) -> None:
    env.reset(seed=0)
    step(env)
    view = watcher(env)
    view.recorder.fps = 30
    press(view, "p")
    view.tick()
    assert screen().shape[1] == 512 + 260
    slide(view, "gravity [m/s²]", 1.0)
    assert env.unwrapped.batch.state.get_parameters()["gravity"][0, 1] == pytest.approx(10.0, abs=0.5)
    click(view, pixel_of(view, 14), 3)
    fixed, free = positions(env)[[14, 9]]
    step(env, 5)
    assert_array_equal(positions(env)[14], fixed)
    assert positions(env)[9, 1] > free[1]
    env.reset(seed=1)
    assert not env.unwrapped.batch.state.get_pinned()[0, 14]


def test_closing_the_window_lets_the_program_go_on(env: Any) -> None:
    env.reset(seed=0)
    view = watcher(env)
    view.paused = True
    drag(view, pixel_of(view, 14), (200, 200), drop=False)
    post(pygame.QUIT)
    before = gym.make(ID, **SMALL)
    before.reset(seed=0)
    step(env, 3)
    assert view.renderer.closed
    assert view.grabbed is None
    assert not pygame.display.get_init()
    step(env, 3)
    assert np.isfinite(positions(env)).all()


def test_without_a_display_there_is_one_message_and_the_environment_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Guards Gymnasium's checker on a server: it draws in every mode."""
    env: Any = gym.make(ID, render_mode="human", **SMALL)

    def refuse(*_: object) -> None:
        raise pygame.error("No available video device")

    monkeypatch.setattr(pygame.display, "set_mode", refuse)
    env.reset(seed=0)
    assert_array_equal(positions(env), gym_start())
    env.step(env.action_space.sample())
    assert env.render() is None
    (message,) = caplog.messages
    assert "no window can be opened" in message and "rgb_array" in message
    env.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is always a display")
def test_no_display_at_all_is_no_window_that_nobody_sees() -> None:
    """SDL itself would draw into one; here in a process without any display."""
    code = f"import gymnasium, pbd_gym; gymnasium.make({ID!r}, render_mode='human', **{SMALL!r}).reset(seed=0)"
    names = ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0
    assert "no window can be opened (there is no display)" in done.stderr


def test_a_picture_without_pixels_is_refused() -> None:
    for bad in (0, (512, 0), (-1, 5)):
        with pytest.raises(ValueError, match="side of a picture must be"):
            gym.make(ID, render_mode="human", render_options={"size": bad}, **SMALL)


def test_a_batch_of_one_has_the_same_window() -> None:
    env = make_vec(1, render_mode="human")
    env.metadata["render_fps"] = 0
    env.reset(seed=0)
    assert env.render() is None
    assert isinstance(env.pictures._renderers["watcher"], Watcher)
    env.close()
    assert not pygame.display.get_init()


def test_time_is_that_of_all_steps_of_an_action() -> None:
    env: Any = gym.make("PBDRope-v0", render_mode="human", action_mode="pick_place", **SMALL_OF["PBDRope-v0"])
    batch = env.unwrapped.batch
    batch.metadata["render_fps"] = 0
    env.reset(seed=0)
    step(env, 2)
    assert batch.actions.repeat > 1
    assert watcher(env).caption().startswith(f"{2 * batch.action_time:.2f} s ")
    env.close()
