"""Slow motion: the pictures between two steps show what lies between them, and the simulation is the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.demos import find
from pbd_gym.demos.window import DemoWindow
from pbd_gym.rendering import Frame, Picker
from pbd_gym.rendering.colors import Coloring
from pbd_gym.rendering.pictures.frame import between
from pbd_gym.rendering.window.viewer import Viewer
from tests.envs.helpers import ID, SMALL
from tests.screen import press


def watched(viewer: Viewer) -> list[np.ndarray]:
    """Return a list that grows by the positions of each picture that is drawn."""
    seen: list[np.ndarray] = []
    draw = viewer.renderer.draw

    def drawn(frame: Frame, *rest: Any) -> Any:
        seen.append(frame.positions.copy())
        return draw(frame, *rest)

    viewer.renderer.draw = drawn  # type: ignore[method-assign]
    return seen


@pytest.fixture
def viewer() -> Iterator[DemoWindow]:
    kind = find("cloth")
    found = DemoWindow("cloth", kind(kind.options_type(columns=8, rows=6)), (200, 200))  # type: ignore[call-arg]
    found.renderer.fps = 0
    found.tick()
    found.tick()  # the panel comes with the second picture
    yield found
    found.close()


def states_of(count: int) -> list[np.ndarray]:
    """Return what the demonstration goes through by itself."""
    kind = find("cloth")
    demo = kind(kind.options_type(columns=8, rows=6))  # type: ignore[call-arg]
    found = [demo.positions()]
    for _ in range(count):
        demo.step()
        found.append(demo.positions())
    return found


def test_pictures_lie_on_the_way_between_steps(viewer: DemoWindow) -> None:
    press(viewer, "space", ",", ",", "r")
    assert viewer.slow == 4
    seen = watched(viewer)
    press(viewer, "space")
    while viewer.demo.time < 5.5 * 0.04:
        viewer.tick()
    states = states_of(6)
    first = max(n for n, drawn in enumerate(seen) if (drawn == states[0]).all())
    for n, drawn in enumerate(seen[first:]):
        step, part = divmod(n, 4)
        assert_allclose(drawn, states[step] + part / 4 * (states[step + 1] - states[step]), atol=1e-12)
        if part == 0:
            assert_array_equal(drawn, states[step])
    assert len(seen) - first >= 4 * 5


def test_pause_keeps_the_picture_and_a_single_step_ends_it(viewer: DemoWindow) -> None:
    press(viewer, ",", ",")
    while viewer.demo.time < 0.1:
        viewer.tick()
    viewer.tick()
    seen = watched(viewer)
    press(viewer, "space")
    for _ in range(3):
        viewer.tick()
    assert_array_equal(seen[-1], seen[-3])
    assert (seen[-1] != viewer.positions()).any()  # it stands within a step
    press(viewer, "n")
    viewer.tick()
    assert_array_equal(seen[-1], viewer.positions())
    press(viewer, "r")
    viewer.tick()
    assert_array_equal(seen[-1], viewer.positions())  # nothing flies back to the start
    press(viewer, ".", ".", "space")
    for _ in range(3):
        viewer.tick()
        before = viewer.positions()
    viewer.tick()
    assert_array_equal(seen[-1], before)  # at full speed each picture is that of a state


def test_a_program_is_watched_in_slow_motion() -> None:
    env: Any = gym.make(ID, render_mode="human", **SMALL)
    plain: Any = gym.make(ID, **SMALL)
    env.unwrapped.batch.metadata["render_fps"] = 0
    env.reset(seed=0)
    plain.reset(seed=0)
    view = env.unwrapped.batch.pictures._renderers["watcher"]
    view.slow = 4
    action = np.full(env.action_space.shape, 0.7, np.float32)
    seen, states = watched(view), []
    for _ in range(4):
        assert_array_equal(env.step(action)[0], plain.step(action)[0])
        states.append(env.unwrapped.batch.state.get_positions()[0].astype(float))
    # A step shows the way to its own end, the last picture being that.
    for n in (1, 2, 3):
        way = seen[len(seen) - 4 * (4 - n) :][:4]
        for part, drawn in enumerate(way, 1):
            assert_allclose(drawn, states[n - 1] + part / 4 * (states[n] - states[n - 1]), atol=1e-12)
    env.reset(seed=1)
    assert_array_equal(seen[-1], env.unwrapped.batch.state.get_positions()[0])
    env.close()


def test_between_moves_what_moved_and_nothing_else() -> None:
    cube = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    faces = np.array(
        [0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1, 2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7]
    )
    faces = np.append(faces, [1, 7, 3]).reshape(-1, 3)
    start = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [np.nan, 0.0, 0.0], [0.0, 1.0, 0.0]])
    end = np.array([[0.2, 0.0, 0.0], [9.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.4]])

    def frame(positions: np.ndarray, by: float, **fields: Any) -> Frame:
        return Frame(
            positions, solids=[(cube + by, faces)], spheres=[((by, 0, 0), 0.1)], pickers=[Picker((0, by, 0))],
            coloring=Coloring("x", positions[:, 2], 0.0, 1.0), **fields,
        )  # fmt: skip

    middle = between(frame(start, 0.0), frame(end, 0.4, caption="now"), 0.25)
    assert_allclose(middle.positions, [[0.05, 0, 0], [9, 0, 0], [0, 0, 0], [0, 1, 0.1]])
    assert_allclose(middle.solids[0][0], cube + 0.1)
    assert_allclose(middle.spheres[0][0], [0.1, 0, 0])
    assert_allclose(middle.pickers[0].position, [0, 0.1, 0])
    assert middle.coloring is not None
    assert_allclose(middle.coloring.values, [0, 0, 0, 0.1])
    assert middle.caption == "now"
    far = between(frame(start, 0.0), frame(end, 0.6), 0.25)
    assert_allclose(far.solids[0][0], cube + 0.6)  # all of it or nothing
    fewer = between(frame(start[:2], 0.0), frame(end, 0.4), 0.25)
    assert_array_equal(fewer.positions, end)
    assert_array_equal(between(frame(start, 0.0), frame(end, 0.4), 1.0).positions, end)
