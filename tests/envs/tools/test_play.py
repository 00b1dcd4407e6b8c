"""The window of `pbd-gym play`, driven by posted events under SDL's dummy driver."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.cli import main
from pbd_gym.envs.tools.demonstrations import load, replay, same
from pbd_gym.envs.tools.play import Player
from pbd_gym.runtime.extras import DisplayError, install_hint
from tests.envs.helpers import SMALL, TOWEL
from tests.screen import assert_looks_like, click, drag, pixel_of, post, press, pygame, screen


@pytest.fixture
def player() -> Iterator[Player]:
    found = Player("PBDCloth-v0", size=(400, 400))
    found.tick()
    yield found
    found.close()


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


def hands_at(player: Player, hand: int) -> tuple[int, int]:
    return pixel_of(player, player.batch.model.particle_count + hand)


@pytest.fixture
def folding() -> Iterator[Player]:
    found = Player("PBDClothFold-v0", size=(400, 400), policy="expert", **TOWEL)
    found.renderer.fps = 0
    for _ in range(3):
        found.tick()
    yield found
    found.close()


def test_a_person_takes_over_and_gives_back(folding: Player) -> None:
    """Whoever takes a hand acts, until a key; the expert then goes on with what it had planned."""
    player, tape = folding, folding.demo_recorder.demonstrations.episodes[0]
    assert not any(step.by_person for step in tape.steps)
    x, y = hands_at(player, 0)
    post(pygame.MOUSEBUTTONDOWN, button=1, pos=(x, y))
    player.tick()
    assert (player.hand, player.manual) == (0, True)
    for k in range(12):
        post(pygame.MOUSEMOTION, pos=(x - 2 * k, y - 5 * k), rel=(-2, -5), buttons=(1, 0, 0))
        player.tick()
    np.testing.assert_allclose(hands_at(player, 0), (x - 22, y - 55), atol=3)
    post(pygame.MOUSEBUTTONUP, button=1, pos=(x - 22, y - 55))
    player.tick()
    assert player.hand is None
    there = player.interactive.hand_positions
    player.tick()
    np.testing.assert_allclose(player.interactive.hand_positions, there, atol=1e-5)  # nobody moves them
    count = len(tape.steps)
    assert all(step.by_person for step in tape.steps[4:])
    press(player, "a")
    for _ in range(3):
        player.tick()
    assert not any(step.by_person for step in tape.steps[count + 1 :])
    assert np.abs(player.interactive.hand_positions - there).max() > 0.01
    for step in tape.steps:
        assert step.particle == -1  # an agent can do all of it


def test_a_right_click_closes_a_hand(folding: Player) -> None:
    player = folding
    press(player, "space")
    click(player, hands_at(player, 1), 3)
    assert player.manual
    first = player.interactive.commands[1]
    assert player.message == ("the hand closes" if first > 0 else "the hand opens")
    press(player, "n")
    assert player.demo_recorder.demonstrations.episodes[0].steps[-1].action[7] == first
    click(player, hands_at(player, 1), 3)
    assert player.interactive.commands[1] == -first


@pytest.mark.parametrize(("env_id", "closed"), [("PBDClothFold-v0", False), ("PBDClothDrop-v0", True)])
def test_hands_of_the_first_episode_are_as_it_begins(env_id: str, closed: bool) -> None:
    """Guards what nobody has led yet: a towel that hangs from the hands stays there, and a click closes or opens."""
    player = Player(env_id, size=(400, 400), **TOWEL)
    player.renderer.fps = 0
    player.tick()
    assert [held >= 0 for held in player.interactive.agent_holds()] == [closed, closed]
    press(player, "space")
    click(player, hands_at(player, 1), 3)
    assert player.message == ("the hand opens" if closed else "the hand closes")
    assert player.interactive.commands.tolist() == ([1.0, -1.0] if closed else [-1.0, 1.0])
    player.close()


def test_a_person_disturbs_the_agent_without_stopping_it(folding: Player) -> None:
    player = folding
    drag(player, pixel_of(player, 12), (200, 120), drop=False)
    assert (player.grabbed, player.manual) == (12, False)
    assert player.demo_recorder.demonstrations.episodes[0].steps[-1].particle == 12
    assert "the agent acts" in player.caption()


def test_corners_are_pinned_by_actions_where_these_pin() -> None:
    """The upper two are pinned as it begins, and hold the cloth; each right click changes one."""
    player = Player("PBDCloth-v0", size=(400, 400), action_mode="pin", **SMALL)
    player.renderer.fps = 0
    player.tick()
    corners = player.batch.actions.particles
    assert player.interactive.agent_holds() == [*corners[:2], -1, -1]
    click(player, pixel_of(player, corners[0]), 1)
    assert player.grabbed is None and player.interactive.particle == -1
    for corner, held in ((0, [-1, 1, -1, -1]), (3, [-1, 1, -1, 3]), (3, [-1, 1, -1, -1]), (0, [0, 1, -1, -1])):
        click(player, pixel_of(player, corners[corner]), 3)
        player.tick()
        assert player.interactive.agent_holds() == [corners[k] if k >= 0 else -1 for k in held]
    player.close()


def test_an_episode_ends_with_a_mark_and_another_begins(folding: Player) -> None:
    """When it has been successful for half a second, or when the agent's time is up; a person has no limit."""
    player, step = folding, folding.demo_recorder.step
    success = [False]

    def judged(*arguments: Any, **named: Any) -> dict[str, Any]:
        return step(*arguments, **named) | {"is_success": success[0]}

    player.demo_recorder.step = judged  # type: ignore[method-assign]
    plain = screen()
    for seed, succeeds, manual in ((0, True, False), (1, False, False), (2, True, True), (3, False, True)):
        assert player.seed == seed
        player.manual, success[0] = manual, succeeds
        player._limit = player.steps + 30
        steps = player.steps
        while player.words.verdict is None and player.steps < steps + 40:
            player.tick()
        if manual and not succeeds:
            assert player.words.verdict is None
            break
        assert player.words.verdict == (("success", True) if succeeds else ("time is up", False))
        if succeeds:
            assert 0.5 <= (player.steps - steps) * player.batch.action_time < 0.7
        for count in range(100):
            before = player.positions()
            player.tick()
            if player.words.verdict is None:
                break
            assert_array_equal(player.positions(), before)
            if not succeeds and count == 1:
                brown = np.abs(screen().astype(int) - (120, 76, 60)).max(axis=2) < 50
                assert brown.mean() > (np.abs(plain.astype(int) - (120, 76, 60)).max(axis=2) < 50).mean() + 0.01
        assert (player.seed, player.steps) == (seed + 1, 0)


def test_nothing_that_was_done_is_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Guards what an earlier session has saved from one that cannot open a window."""

    def tick(player: Player) -> None:
        raise DisplayError("no window can be opened")

    monkeypatch.setattr(Player, "tick", tick)
    path = tmp_path / "a.npz"
    path.write_bytes(b"earlier")
    assert main(["play", "PBDCloth-v0", "--save", str(path)]) == 1
    assert path.read_bytes() == b"earlier"
    assert "is not written" in capsys.readouterr().out


def test_what_is_done_is_saved_and_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the command: an agent, a person's hand, a pin, a slider, another episode, and the same bits again."""
    done = []

    def tick(player: Player) -> None:
        usual(player)
        done.append(player.steps)
        if len(done) == 4:
            post(pygame.MOUSEBUTTONDOWN, button=1, pos=pixel_of(player, 9))
        elif 4 < len(done) < 10:
            post(pygame.MOUSEMOTION, pos=(200 + 4 * len(done), 200), rel=(4, 0), buttons=(1, 0, 0))
        elif len(done) == 10:
            post(pygame.MOUSEBUTTONUP, button=1, pos=(200, 200))
            player.dials()[0].turn(5.0)
            player.pin(9)
        elif len(done) == 14:
            post(pygame.KEYDOWN, key=pygame.K_r)
        elif len(done) == 18:
            post(pygame.QUIT)

    usual = Player.tick
    monkeypatch.setattr(Player, "tick", tick)
    path = tmp_path / "a.npz"
    assert main(["play", "PBDCloth-v0", "--policy", "random", "--seed", "7", "--save", str(path)]) == 0
    saved = load(path)
    assert [episode.seed for episode in saved.episodes] == [7, 8]
    assert [len(turns) for turns in (episode.turns for episode in saved.episodes)] == [2, 0]
    assert {step.particle for step in saved.episodes[0].steps} == {-1, 9}
    assert all(same(a, b) for a, b in zip(saved.episodes, replay(saved).episodes, strict=True))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["PBDCloth-v0", "--policy", "expert"], "PBDCloth-v0 has no scripted expert"),
        (["PBDCloth-v0", "--policy", "no.zip"], "there is no file no.zip"),
        (["PBDCloth-v0", "--save", f"{__file__}/a.npz"], "test_play.py"),
        (["PBDCloth-v0", "--action-mode", "paddle"], "action_mode must be one of"),
        (["PBDClot-v0"], "did you mean 'PBDCloth-v0'"),
    ],
)
def test_bad_arguments_are_one_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", *arguments]) == 1
    *hints, error = capsys.readouterr().err.splitlines()
    assert words in error
    assert all("compiling" in hint for hint in hints)  # on a busy machine


def test_no_pygame_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    assert main(["play", "PBDCloth-v0"]) == 1
    error = capsys.readouterr().err
    *before, last = error.splitlines()
    assert install_hint("render") in last
    assert all("compiling kernels" in line for line in before)


def test_looks_as_it_did() -> None:
    """An expert at work, with the sliders."""
    view = {"camera": {"target": (0.0, 0.05, 0.0), "distance": 1.9, "pitch": 0.6}}
    player = Player("PBDClothFold-v0", seed=1, size=(440, 440), policy="expert", render_options=view, **TOWEL)
    player.renderer.fps = 0
    for _ in range(14):
        player.tick()
    press(player, "space")
    player.pace.clear()
    player.tick()
    assert_looks_like("fold")
    player.close()
