"""Demonstrations: what is done is done again to the same bits, also with a person's hand, pins and dials in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.cli import main
from pbd_gym.envs.tools.demonstrations import PIN, Demonstrations, Taped, load, replay, same
from pbd_gym.registry import ENTRIES
from tests.envs.helpers import SMALL, SMALL_OF, TOWEL


def record(env_id: str = "PBDCloth-v0", **kwargs: Any) -> Demonstrations:
    """Two episodes: the second one with everything a person can do."""
    taped = Taped(env_id, **(kwargs or SMALL))
    rng = np.random.default_rng(0)

    def act() -> np.ndarray:
        found: np.ndarray = rng.uniform(-1, 1, taped.env.action_space.shape).astype(np.float32)
        return found

    taped.reset(5)
    for _ in range(4):
        taped.step(act())
    taped.reset(6)
    free = [p for p in range(taped.handled.batch.model.particle_count) if p not in taped.handled.agent_holds()]
    taped.step(act())
    taped.turn("mass factor", 2.5)
    taped.turn("substeps", 7)
    taped.turn(PIN, free[2])
    for k in range(5):
        taped.step(act(), free[-1] if k < 3 else -1, np.array([0.01, 0.02, -0.01]), by_person=k > 1)
    taped.turn("iterations", 2)
    taped.turn("time step [ms]", 20.0)
    taped.turn(PIN, free[2])
    taped.step(act())
    taped.env.close()
    return taped.tape


def test_the_same_bits_through_a_file(tmp_path: Path) -> None:
    first = record()
    assert first.save(tmp_path / "a.npz") == 2
    saved = load(tmp_path / "a.npz")
    assert (saved.env_id, saved.env_kwargs) == ("PBDCloth-v0", SMALL)
    again = replay(saved)
    for one, two, three in zip(first.episodes, saved.episodes, again.episodes, strict=True):
        assert len(one.observations) == len(one.steps) + 1
        assert same(one, two)
        assert same(two, three)
        for a, b in zip(one.steps, three.steps, strict=True):
            assert_array_equal(a.action, b.action)
            assert (a.by_person, a.particle, a.terminated, a.is_success) == (
                b.by_person, b.particle, b.terminated, b.is_success,
            )  # fmt: skip
        assert one.turns == three.turns
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:
        assert file["lengths"].tolist() == [4, 7]
        assert file["actions"].shape == (11, first.episodes[0].steps[0].action.size)
        assert len(file["observations"]) == 13


def test_dicts_and_pictures_are_kept(tmp_path: Path) -> None:
    for mode in ("goal", "rgbd"):
        first = record(**SMALL, obs_mode=mode)
        first.save(tmp_path / "a.npz")
        saved = load(tmp_path / "a.npz")
        assert all(same(a, b) for a, b in zip(saved.episodes, replay(saved).episodes, strict=True))


def test_what_differs_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tape = record()
    tape.save(tmp_path / "a.npz")
    assert main(["replay", str(tmp_path / "a.npz")]) == 0
    assert capsys.readouterr().out.count("same bits") == 2
    tape.episodes[0].steps[1].action = -tape.episodes[0].steps[1].action
    tape.save(tmp_path / "b.npz")
    assert main(["replay", str(tmp_path / "b.npz")]) == 1
    assert capsys.readouterr().out.count("DIFFERENT") == 1
    assert not same(tape.episodes[0], tape.episodes[1])


def test_episodes_without_a_step_are_left_out(tmp_path: Path) -> None:
    taped = Taped("PBDCloth-v0", **SMALL)
    taped.reset(1)
    assert taped.tape.save(tmp_path / "empty.npz") == 0
    assert load(tmp_path / "empty.npz").episodes == []
    assert main(["replay", str(tmp_path / "empty.npz")]) == 0
    taped.reset(2)
    taped.step(taped.handled.action())
    assert taped.tape.save(tmp_path / "one") == 1
    assert [episode.seed for episode in load(tmp_path / "one").episodes] == [2]
    taped.env.close()


def test_what_is_turned_between_episodes_stays_turned(tmp_path: Path) -> None:
    """Guards what no step of its own episode shows: turned after the last step, and in an episode without any."""
    taped = Taped("PBDCloth-v0", **SMALL, randomize={"density": (0.5, 2.0)})
    taped.reset(0)
    taped.turn("gravity [m/s²]", 4.0)
    taped.turn("mass factor", 9.0)  # drawn anew for the next episode
    taped.turn(PIN, 9)
    for seed in (1, 2, 3):
        taped.reset(seed)
        if seed != 2:
            for _ in range(3):
                taped.step(taped.handled.action())
        taped.turn("substeps", 3 + seed)
        taped.turn("gravity [m/s²]", -5.0 * seed)
    taped.env.close()
    assert taped.tape.save(tmp_path / "a.npz") == 2
    saved = load(tmp_path / "a.npz")
    assert [[step for step, _, _ in episode.turns] for episode in saved.episodes] == [[-1, -1, 3, 3], [-1, -1, 3, 3]]
    again = replay(saved)
    for first, kept, second in zip(taped.tape.episodes[1::2], saved.episodes, again.episodes, strict=True):
        assert same(first, kept)
        assert same(kept, second)
        assert kept.turns == second.turns


@pytest.mark.parametrize("content", [b"", b"words", b"PK\3\4 half a file", None])
def test_other_files_are_refused(content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.npz"
    if content is None:
        np.savez(path, a=np.zeros(3))
    else:
        path.write_bytes(content)
    assert main(["replay", str(path)]) == 1
    assert f"{path} is no demonstration" in capsys.readouterr().err
    assert main(["replay", str(tmp_path / "none.npz")]) == 1
    assert "none.npz" in capsys.readouterr().err


def test_objects_are_not_loaded(tmp_path: Path) -> None:
    """An .npz that holds pickles could run anything."""
    np.savez(tmp_path / "x.npz", format=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="is no demonstration"):
        load(tmp_path / "x.npz")


def test_the_agents_hands_are_led_by_actions() -> None:
    """A picker goes where it is led, as far as an action reaches, and the other stays; commands close and open it."""
    taped = Taped("PBDClothFold-v0", **TOWEL)
    handled = taped.handled
    taped.reset(0)
    start = handled.hand_places
    way = np.array([0.01, 0.02, -0.005])
    action = handled.action(1, way)
    assert action.dtype == np.float32
    taped.step(action)
    np.testing.assert_allclose(handled.hand_places - start, [[0, 0, 0], way], atol=1e-6)
    taped.step(handled.action(1, 100 * way))
    assert np.abs(handled.hand_places - start)[1].max() <= 0.02 + handled.batch.actions.hands.max_step + 1e-6
    with pytest.raises(ValueError, match="no dial 'colour'"):
        taped.turn("colour", 1.0)
    taped.env.close()


@pytest.mark.parametrize("env_id", [entry.id for entry in ENTRIES])
def test_a_hand_changes_nothing_of_a_task(env_id: str) -> None:
    """With a grip for a person in the scene the starts, the expert and the observations have the same bits."""
    taped = Taped(env_id, **SMALL_OF[env_id])
    plain = gym.make(env_id, max_episode_steps=-1, **SMALL_OF[env_id])
    rng = np.random.default_rng(0)
    assert_array_equal(taped.reset(3), plain.reset(seed=3)[0])
    for _ in range(3):
        action = rng.uniform(-1, 1, plain.action_space.shape).astype(np.float32)
        if hasattr(taped.handled.batch, "expert"):
            action = taped.handled.batch.expert()[0]
            assert_array_equal(action, plain.unwrapped.batch.expert()[0])
        taped.step(action)
        assert_array_equal(taped.observation, plain.step(action)[0])
    taped.env.close()
    plain.close()


@pytest.mark.parametrize(
    ("env_id", "mode", "kwargs"),
    [
        ("PBDCloth-v0", "drag", SMALL), ("PBDCloth-v0", "picker", SMALL), ("PBDCloth-v0", "pin", SMALL),
        ("PBDCloth-v0", "pick_place", SMALL), ("PBDSoftPush-v0", "paddle", SMALL_OF["PBDSoftPush-v0"]),
        ("PBDPendulum-v0", "drag", {"substeps": 10}),
    ],
)  # fmt: skip
def test_doing_nothing_holds_still(env_id: str, mode: str, kwargs: dict[str, Any]) -> None:
    """In every action mode the action that leads no hand leaves hands where they are, with what they hold."""
    taped = Taped(env_id, action_mode=mode, **kwargs)
    handled = taped.handled
    taped.reset(0)
    handled.take_over()
    held, places = handled.agent_holds(), handled.hand_places
    for _ in range(3):
        taped.step(handled.action())
    assert handled.agent_holds() == held
    np.testing.assert_allclose(handled.hand_places, places, atol=1e-5)
    if len(places) and env_id != "PBDPendulum-v0":
        taped.step(handled.action(0, np.array([0.0, 0.004, 0.0])))
        assert handled.hand_places[0, 1] == pytest.approx(places[0, 1] + 0.004, abs=1e-5)
    taped.env.close()
