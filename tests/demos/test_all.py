"""Every demonstration: off screen, into files, and in a window driven by posted events under SDL's dummy driver."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ["SDL_VIDEODRIVER"] = "dummy"
import pygame

from pbd_gym.cli import main
from pbd_gym.demos import DEMOS, THEMES, find
from pbd_gym.demos.window import DemoWindow
from pbd_gym.rendering import Renderer
from tests.screen import wait

SMALL: dict[str, dict[str, Any]] = {
    "cloth": {"columns": 8, "rows": 6},
    "pbd-cloth": {"columns": 8, "rows": 6},
    "mass-spring": {"columns": 8, "rows": 6, "mass": 0.5},
    "impulses": {"columns": 6, "rows": 5},
    "yardsticks": {"columns": 4, "rows": 3},
    "soft-body": {"mesh": "box"},
    "rigid": {"rings": 2, "marbles": 1, "time_step": 0.004},
    "region-shape-matching": {"columns": 6, "rows": 5},
    "fem": {"columns": 5, "rows": 4},
    "fountain": {"rate": 500.0},
    "dam-break": {"columns": 4, "rows": 6},
    "neighbours": {"count": 200},
    "rotating-bodies": {"emission": 1},
    "heat": {"columns": 32, "rows": 24},
    "sph-fluids": {"columns": 6, "rows": 5},
}
"""Options that make a demonstration quick to run."""
SHORT: dict[str, dict[str, Any]] = {"cloth": {"surface": "off"}}
"""Likewise where all options are gone through: every way to sweep is another kernel, a short one without contacts."""
NAMES = [entry.name for entry in DEMOS]


def make(name: str, **changes: Any) -> Any:
    demo_type = find(name)
    return demo_type(demo_type.options_type(**{**SMALL.get(name, {}), **changes}))


def post(kind: int, **fields: Any) -> None:
    pygame.event.post(pygame.event.Event(kind, **fields))


def press(window: DemoWindow, key: str) -> None:
    post(pygame.KEYDOWN, key=pygame.key.key_code(key))
    window.tick()


@pytest.mark.parametrize("name", NAMES)
def test_runs_alike_each_time(name: str) -> None:
    """Off screen: it moves, stays finite, draws, and does the same after a reset."""
    demo = make(name)
    first = demo.frame()
    seen = []
    for _ in range(2):
        for _ in range(5):
            demo.perform()
            demo.step()
        frame = demo.frame(demo.readout())
        assert np.isfinite(frame.positions).all()
        seen.append(frame)
        demo.reset()
    np.testing.assert_array_equal(seen[0].positions, seen[1].positions)
    start, end = (Renderer(size=(160, 160)).draw(frame) for frame in (first, seen[0]))
    assert start is not None
    assert (start != end).any()
    assert seen[0].positions.shape != first.positions.shape or (seen[0].positions != first.positions).any()


@pytest.mark.parametrize("name", NAMES)
def test_every_option_changes_in_the_window(name: str) -> None:
    """Each number goes up and down by keys, at once, and stays in its range; the run goes on."""
    window = DemoWindow(name, make(name, **SHORT.get(name, {})), (200, 200))
    window.tick()
    for about in fields(window.demo.options):
        assert window.names[window.chosen] == about.name
        before = getattr(window.demo.options, about.name)
        press(window, "right")
        wait(window)
        up = getattr(window.demo.options, about.name)
        press(window, "left")
        press(window, "left")
        wait(window)
        assert {up, getattr(window.demo.options, about.name)} != {before}
        assert np.isfinite(window.demo.frame().positions).all()
        assert f"[{about.name.replace('_', ' ')} " in window.caption()
        press(window, "down")
    assert window.chosen == 0
    post(pygame.QUIT)
    window.run()
    assert window.renderer.closed
    assert not pygame.display.get_init()


@pytest.mark.parametrize("name", NAMES)
def test_own_keys_and_the_mouse(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key of its own, the mouse all over the picture, pause, single step, picture and reset."""
    monkeypatch.chdir(tmp_path)
    window = DemoWindow(name, make(name), (200, 200))
    window.tick()
    for key in window.demo.keys:
        press(window, key)
    positions = window.positions()
    if len(positions):
        pixels, _ = window.camera.project(positions, window.size)
        pixel = tuple(int(p) for p in pixels[np.isfinite(pixels).all(axis=1)][-1])
        post(pygame.MOUSEBUTTONDOWN, button=1, pos=pixel)
        window.tick()
        held = window.grabbed
        assert held is not None
        start = window.positions()[held]
        goal = tuple(p + (9 if p < 100 else -9) for p in pixel)  # inwards: there may be walls
        post(pygame.MOUSEMOTION, pos=goal, rel=(9, 9), buttons=(1, 0, 0))
        for _ in range(10):
            window.tick()
        here, _ = window.camera.project(window.positions()[held], window.size)
        np.testing.assert_allclose(here[0], goal, atol=2.5)
        assert (window.positions()[held] != start).any()
        post(pygame.MOUSEBUTTONUP, button=1, pos=pixel)
        window.tick()
        assert window.grabbed is None
    else:
        post(pygame.MOUSEMOTION, pos=(90, 110), rel=(1, 1), buttons=(0, 0, 0))
        window.tick()
    press(window, "space")
    before = window.demo.time
    window.tick()
    assert window.demo.time == before
    press(window, "n")
    assert window.demo.time > before
    press(window, "s")
    press(window, "s")
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"{name}-0001.png", f"{name}-0002.png"]
    press(window, "r")
    assert window.demo.time == 0.0
    press(window, "q")
    assert window.renderer.closed


def type_in(window: DemoWindow, text: str) -> None:
    """Press return, type, and press return."""
    press(window, "return")
    for letter in text:
        post(pygame.KEYDOWN, key=pygame.K_a, unicode=letter)
    window.tick()
    press(window, "return")


def test_values_are_typed_in_the_window() -> None:
    """A function, a number; letters are no commands meanwhile, escape leaves it, and what is wrong is told."""
    window = DemoWindow("sph-approximation", make("sph-approximation"), (200, 200))
    window.tick()
    window.chosen = window.names.index("function")
    type_in(window, "x*sin(y)")
    assert window.demo.options.function == "x*sin(y)"
    press(window, "right")
    assert window.demo.options.function != "x*sin(y)"
    type_in(window, "import os")
    assert "not an expression" in window.message
    window.chosen = window.names.index("support")
    type_in(window, "0.25")
    assert window.demo.options.support == 0.25
    type_in(window, "7")
    assert "support must be in" in window.message
    press(window, "return")
    press(window, "q")
    assert "support: " in window.caption()
    press(window, "escape")
    assert window.typed is None and window.demo.options.support == 0.25
    press(window, "q")
    assert window.renderer.closed


def test_a_picture_that_cannot_be_saved_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("read-only folder")

    monkeypatch.setattr("pbd_gym.rendering.pictures.images.save_png", refuse)
    window = DemoWindow("double-pendulum", make("double-pendulum"), (100, 100))
    window.tick()
    press(window, "s")
    assert "read-only folder" in window.message
    window.renderer.close()


@pytest.mark.parametrize("limit", ["low", "high"])
@pytest.mark.parametrize("name", NAMES)
def test_any_number_in_range_is_stood(name: str, limit: str) -> None:
    """Every number at one end of its range: it may explode, and says so; it draws, goes on and starts again."""
    demo_type = find(name)
    ends = {f.name: f.metadata[limit] for f in fields(demo_type.options_type) if not f.metadata["choices"]}
    small = {key: 6 for key in ("columns", "rows", "iterations")} | {"count": 50, "rate": 200.0}
    ends |= {key: value for key, value in small.items() if key in ends}
    demo = demo_type(demo_type.options_type(**ends))
    with np.errstate(all="ignore"):
        for _ in range(3):
            demo.step()
            for _, deed in demo.keys.values():
                deed()
        assert Renderer(size=(96, 96)).draw(demo.frame(demo.readout())) is not None
        demo.change(demo_type.options_type(**{key: value for key, value in small.items() if key in ends}))
        demo.step()
        demo.reset()
        demo.step()
    assert np.isfinite(demo.frame().positions).all()


@pytest.mark.parametrize("name", NAMES)
def test_help_says_what_it_teaches(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["demo", name, "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    for about in fields(find(name).options_type):
        assert f"--{about.name.replace('_', '-')}" in text
        limits = about.metadata
        if np.isfinite(limits["low"] + limits["high"]) and not limits["choices"]:
            assert f"({limits['low']:g} to {limits['high']:g}, default {about.default})" in " ".join(text.split())
    assert "--out" in text
    assert len((find(name).__doc__ or "").split()) > 40


def test_picture_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One tile each, at most four in a row."""
    few = tuple(entry for entry in DEMOS if entry.name in ("double-pendulum", "integrators", "fem"))
    monkeypatch.setattr("pbd_gym.demos.run.DEMOS", few)
    assert main(["demo", "all", "--out", str(tmp_path / "all.png")]) == 0
    assert pygame.image.load(tmp_path / "all.png").get_size() == (3 * 482 - 2, 480)
    assert main(["demo", "all", "--theme", "soft", "--out", str(tmp_path / "few.png")]) == 0
    assert pygame.image.load(tmp_path / "few.png").get_size() == (480, 480)
    assert main(["demo", "all", "--out", str(tmp_path / "all.gif")]) == 1
    assert ".png" in capsys.readouterr().err


def test_only_the_file_is_announced(tmp_path: Path) -> None:
    """Guards standard output: kernels that were first needed in the middle of a film made Warp report their module."""
    names, out = ["cloth", "materials", "mass-spring"], str(tmp_path / "a.png")
    done = _run(
        "from pbd_gym.cli import main\n"
        f"for name in {names}: main(['demo', name, '--out', {out!r}, '--seconds', '1.2', '--size', '32'])"
    )
    assert done.stdout.splitlines() == [f"wrote {out}"] * len(names), done.stderr


def test_list_and_options_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  ")] == NAMES
    assert [line.split(":")[0] for line in lines if not line.startswith("  ")] == list(THEMES)
    options = ["--columns", "6", "--rows", "5", "--stiffness", "50", "--seconds", "0.3", "--size", "96"]
    for file in ("a.gif", "new/folder/a.png"):
        assert main(["demo", "cloth", *options, "--out", str(tmp_path / file)]) == 0
    image = pytest.importorskip("PIL.Image")
    with image.open(tmp_path / "a.gif") as gif:
        assert (gif.n_frames, gif.size) == (9, (96, 96))
    with image.open(tmp_path / "new/folder/a.png") as png:
        assert png.size == (96, 96)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["clot"], "did you mean 'cloth'"),
        (["cloth", "--mass", "-1"], "mass must be in"),
        (["cloth", "--mass", "nan"], "mass must be in"),
        (["cloth", "--out", "a.mp4"], ".gif or a .png"),
        (["cloth", "--out", "/proc/a.gif"], "/proc/a.gif cannot be written"),
        (["all", "--out", "/proc/a.png"], "/proc/a.png cannot be written"),
        (["cloth", "--out", "a.gif", "--seconds", "0"], "--seconds must be"),
        (["cloth", "--out", "a.gif", "--size", "1"], "--size must be"),
        (["cloth", "--out", "a.gif", "--size", "0"], "--size must be"),
    ],
)
def test_bad_arguments_are_one_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", *arguments]) == 1
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def _run(code: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY")}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("", "no display"),
        ("import sys; sys.modules['pygame'] = None", "pip install"),
        ("import os; os.environ['SDL_VIDEODRIVER'] = 'x11'", "--out"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is always a display")
def test_says_what_is_missing(before: str, words: str) -> None:
    """Without pygame, or without a display, one line says what to do."""
    done = _run(f"{before}\nfrom pbd_gym.cli import main; raise SystemExit(main(['demo', 'cloth', '--columns', '4']))")
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr
