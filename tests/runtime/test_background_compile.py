"""A slider that takes another kernel does not freeze the window: the old simulation goes on until that is compiled."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warp as wp
from numpy.testing import assert_array_equal

from pbd_gym.demos import find
from pbd_gym.demos.window import DemoWindow
from pbd_gym.runtime import compilation
from pbd_gym.runtime.compilation import compiling
from tests.screen import click, drag, handle, pixel_of, press, pygame, wait


class Gate:
    """Stands before the compiler: nothing is compiled until it opens."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.asked = 0

    def load(self, *args: Any) -> None:
        self.asked += 1
        assert self.open.wait(60.0)
        LOAD(*args)


LOAD = compilation.load


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """A gate, and no kernel that is known to be loaded."""
    found = Gate()
    monkeypatch.setattr("pbd_gym.runtime.compilation.load", found.load)
    fresh = compilation.Ahead()
    for module in ("pbd_gym.runtime.compilation", "pbd_gym.sim.solver"):
        monkeypatch.setattr(f"{module}.AHEAD", fresh)
    yield found
    found.open.set()


@pytest.fixture
def viewer() -> Iterator[DemoWindow]:
    kind = find("soft-body")
    found = DemoWindow("soft-body", kind(kind.options_type(mesh="box")), (640, 900))  # type: ignore[call-arg]
    found.renderer.fps = 0
    found.tick()
    found.tick()
    yield found
    found.close()


def move(viewer: DemoWindow, name: str, place: float) -> None:
    """Drag a slider, without waiting for what it does."""
    assert viewer._panel is not None
    (dial,) = (dial for dial in viewer._panel.dials if dial.name == name)
    drag(viewer, handle(viewer, name, dial.fraction()), handle(viewer, name, place), ticks=3)


@pytest.mark.parametrize(("name", "place"), [("iterations", 0.3), ("friction factor", 0.75)])
def test_the_window_goes_on_and_then_takes_the_value(gate: Gate, viewer: DemoWindow, name: str, place: float) -> None:
    """An option of the demonstration, which takes another solver, and a factor, which takes another kernel of it."""
    demo: Any = viewer.demo
    (dial,) = (dial for dial in demo.dials() if dial.name == name)
    before = dial.read()
    move(viewer, name, place)
    assert viewer.waiting
    now, yaw = demo.time, viewer.camera.yaw
    for _ in range(5):
        viewer.tick()
    assert "compiling ..." in viewer.text()
    assert demo.time == pytest.approx(now + 5 * demo.live.ctrl_dt)
    assert dial.read() == before
    drag(viewer, (60, 500), (90, 500))  # in the air: turns the view
    assert viewer.camera.yaw != yaw
    click(viewer, pixel_of(viewer, 30), 3)
    assert gate.asked == 1
    press(viewer, "space")
    saved, now, pins = demo.state.save(), demo.time, demo.live.pinned().tolist()
    assert len(pins) == 1
    gate.open.set()
    wait(viewer)
    assert "compiling" not in viewer.text()
    (dial,) = (dial for dial in demo.dials() if dial.name == name)
    assert dial.fraction() == pytest.approx(place, abs=0.03)
    after = demo.state.save()
    for field in ("positions", "velocities"):
        assert_array_equal(after[field], saved[field], err_msg=field)
    assert demo.live.pinned().tolist() == pins
    assert demo.time == now
    press(viewer, "n")
    viewer.tick()
    assert demo.time > now
    assert np.isfinite(viewer.positions()).all()


def test_the_last_value_counts_and_the_old_one_takes_it_back(gate: Gate, viewer: DemoWindow) -> None:
    demo: Any = viewer.demo
    for place in (0.2, 0.5, 0.3):
        move(viewer, "iterations", place)
    assert list(viewer.waiting) == ["iterations"]
    viewer.chosen = viewer.names.index("iterations")
    wanted = viewer.waiting["iterations"]
    press(viewer, "right")  # goes on from where the slider stands
    assert viewer.waiting == {"iterations": wanted + 1}
    move(viewer, "friction factor", 0.5)
    assert set(viewer.waiting) == {"iterations", "friction factor"}
    assert viewer._panel is not None
    click(viewer, viewer._panel.button.center)
    assert not viewer.waiting
    assert demo.options == demo.options_type(mesh="box")
    move(viewer, "iterations", 0.3)
    gate.open.set()
    wait(viewer)
    assert demo.options == replace(demo.options_type(mesh="box"), iterations=wanted)


def test_a_compiler_that_fails_is_not_hidden(viewer: DemoWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("no such instruction")

    monkeypatch.setattr("pbd_gym.runtime.compilation.load", fail)
    fresh = compilation.Ahead()
    monkeypatch.setattr("pbd_gym.sim.solver.AHEAD", fresh)
    with pytest.raises(RuntimeError, match="no such instruction"):
        move(viewer, "iterations", 0.3)
        wait(viewer)


def test_closing_the_window_meanwhile(gate: Gate, viewer: DemoWindow) -> None:
    move(viewer, "iterations", 0.3)
    assert viewer.waiting
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    viewer.run()
    assert viewer.renderer.closed


def test_one_thread_compiles_at_a_time() -> None:
    """Guards against two that build kernels from the same functions."""
    events, inside = [], threading.Event()

    def other() -> None:
        with compiling(), compiling():  # one within the other
            events.append("other")

    with compiling():
        thread = threading.Thread(target=lambda: (inside.set(), other()))
        thread.start()
        assert inside.wait(60.0)
        thread.join(0.05)
        assert thread.is_alive()
        events.append("first")
    thread.join(60.0)
    assert events == ["first", "other"]


def test_steps_taken_while_a_kernel_is_compiled_are_the_same_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Really compiles, into an empty cache, while the simulation runs on."""
    demo: Any = find("double-pendulum")()
    demo.step()
    start = demo.state.save()
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    solver = demo.solver
    # Everything at once, which no other test makes a kernel of this scene for.
    odd = replace(solver.options, chebyshev=True, keep_lambda=True, damped=("distance",), symmetric=True, varied=True)
    kernel = solver._kernel(odd)
    known, steps = compilation.Ahead(), 0
    while not known.ready(kernel, solver.model.device.alias, solver.model.thread_count):
        demo.step()
        steps += 1
        time.sleep(0.01)
    assert steps > 10
    assert list(tmp_path.rglob("*.o"))  # it was not there before
    seen = demo.state.save()
    demo.state.load(start)
    for _ in range(steps):
        demo.step()
    for field in ("positions", "velocities"):
        assert_array_equal(demo.state.save()[field], seen[field])


def test_compilation_is_announced_while_it_happens_and_only_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Guards what a slow machine was told: that kernels were compiled, when they came from the cache."""
    monkeypatch.setattr(compilation, "DELAY", 0.02)
    monkeypatch.setattr(compilation, "POLL", 0.01)
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    for folder, told in (("wp_other_p1_t2", False), (f"wp_own_p{os.getpid()}_t7", True)):
        (tmp_path / folder).mkdir()
        with compiling():
            time.sleep(0.3)
        assert ("compiling kernels" in capsys.readouterr().err) is told
