"""Demonstrations: what is done is done again to the same bits, also with a person's hand, pins and dials in it."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.cli import main
from pbd_gym.envs.tools import demonstration_file
from pbd_gym.envs.tools.demonstrations import PIN, DemonstrationRecorder, Demonstrations, load, replay, same
from pbd_gym.registry import ENTRIES
from pbd_gym.training.agents.policies import MLPPolicy
from tests.envs.helpers import SMALL, SMALL_OF, TOWEL


def record(env_id: str = "PBDCloth-v0", **kwargs: Any) -> Demonstrations:
    """Two episodes: the second one with everything a person can do."""
    recorder = DemonstrationRecorder(env_id, **(kwargs or SMALL))
    rng = np.random.default_rng(0)

    def act() -> np.ndarray:
        found: np.ndarray = rng.uniform(-1, 1, recorder.env.action_space.shape).astype(np.float32)
        return found

    recorder.reset(5)
    for _ in range(4):
        recorder.step(act())
    recorder.reset(6)
    count, held = recorder.interactive.batch.model.particle_count, recorder.interactive.agent_holds()
    free = [p for p in range(count) if p not in held]
    recorder.step(act())
    recorder.turn("mass factor", 2.5)
    recorder.turn("substeps", 7)
    recorder.turn(PIN, free[2])
    for k in range(5):
        recorder.step(act(), free[-1] if k < 3 else -1, np.array([0.01, 0.02, -0.01]), by_person=k > 1)
    recorder.turn("iterations", 2)
    recorder.turn("time step [ms]", 20.0)
    recorder.turn(PIN, free[2])
    recorder.step(act())
    recorder.env.close()
    return recorder.demonstrations


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
    recorder = DemonstrationRecorder("PBDCloth-v0", **SMALL)
    recorder.reset(1)
    assert recorder.demonstrations.save(tmp_path / "empty.npz") == 0
    assert load(tmp_path / "empty.npz").episodes == []
    assert main(["replay", str(tmp_path / "empty.npz")]) == 0
    recorder.reset(2)
    recorder.step(recorder.interactive.action())
    assert recorder.demonstrations.save(tmp_path / "one") == 1
    assert [episode.seed for episode in load(tmp_path / "one").episodes] == [2]
    recorder.env.close()


def test_what_is_turned_between_episodes_stays_turned(tmp_path: Path) -> None:
    """Guards what no step of its own episode shows: turned after the last step, and in an episode without any."""
    recorder = DemonstrationRecorder("PBDCloth-v0", **SMALL, randomize={"density": (0.5, 2.0)})
    recorder.reset(0)
    recorder.turn("gravity [m/s²]", 4.0)
    recorder.turn("mass factor", 9.0)  # drawn anew for the next episode
    recorder.turn(PIN, 9)
    for seed in (1, 2, 3):
        recorder.reset(seed)
        if seed != 2:
            for _ in range(3):
                recorder.step(recorder.interactive.action())
        recorder.turn("substeps", 3 + seed)
        recorder.turn("gravity [m/s²]", -5.0 * seed)
    recorder.env.close()
    assert recorder.demonstrations.save(tmp_path / "a.npz") == 2
    saved = load(tmp_path / "a.npz")
    assert [[step for step, _, _ in episode.turns] for episode in saved.episodes] == [[-1, -1, 3, 3], [-1, -1, 3, 3]]
    again = replay(saved)
    for first, kept, second in zip(recorder.demonstrations.episodes[1::2], saved.episodes, again.episodes, strict=True):
        assert same(first, kept)
        assert same(kept, second)
        assert kept.turns == second.turns


def changed(path: Path, **arrays: Any) -> Path:
    """Write a demonstration again with other arrays, None for none."""
    with np.load(path) as file:
        found = {**file, **arrays}
    np.savez(path, **{name: array for name, array in found.items() if array is not None})
    return path


EVIL = "import pathlib\npathlib.Path({path!r}).touch()\n"


@pytest.mark.parametrize("command", [["replay"], ["enjoy"], ["record", "--out", "x.gif", "--policy"]])
def test_no_file_names_a_module_to_import(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Guards against ``module:ID``, for which Gymnasium imports the module, in all that reads files without pickle."""
    (tmp_path / "evil_module.py").write_text(EVIL.format(path=str(tmp_path / "ran")))
    monkeypatch.syspath_prepend(tmp_path)
    if command == ["replay"]:
        record().save(tmp_path / "a.npz")
        changed(tmp_path / "a.npz", env_id=np.array("evil_module:PBDCloth-v0"))
    else:
        zeros = np.zeros((6, 30), dtype=np.float32)
        MLPPolicy("evil_module:PBDCloth-v0", {}, (zeros,), (zeros[:, 0],), zeros[0], zeros[0] + 1).save(
            tmp_path / "a.npz"
        )
    assert main([*command, str(tmp_path / "a.npz")]) == 1
    assert not (tmp_path / "ran").exists()
    assert f"{tmp_path / 'a.npz'} is not a" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"env_id": np.array("CartPole-v1")}, "no environment of pbd_gym's kind"),
        ({"env_id": np.array("PBDClth-v0")}, "did you mean 'PBDCloth-v0'"),
        ({"env_kwargs": np.array('{"render_mode": "human"}')}, "no argument 'render_mode'"),
        ({"env_kwargs": np.array('{"device": "cuda:0"}')}, "no argument 'device'"),
        ({"env_kwargs": np.array('{"colour": 1}')}, "no argument 'colour'"),
        ({"env_kwargs": np.array("[]")}, "arguments by name"),
        ({"env_kwargs": np.array("{")}, "is not a demonstration"),
        ({"actions": None}, "actions is missing"),
        ({"actions": np.zeros((11, 6))[:5]}, "actions has"),
        ({"actions": np.full((11, 6), np.nan)}, "actions must be finite"),
        ({"actions": np.zeros(11)}, "rows of numbers"),
        ({"seeds": np.array([1.5, 2.0])}, "seeds must be whole numbers"),
        ({"seeds": np.array([-1, 2])}, "seeds must not be negative"),
        ({"lengths": np.array([4, 8])}, "actions has"),
        ({"lengths": np.array([0, 11])}, "needs a step"),
        ({"lengths": np.array([2**62, 2**62])}, "actions has"),
        ({"observations": np.zeros((5, 30))}, "observations must have 13 rows"),
        ({"observations": None}, "observations must be one array"),
        ({"hand_pull": np.full((11, 3), np.inf)}, "hand_pull must be finite"),
        ({"turn_episodes": np.zeros(6, np.int64) + 9}, "does not exist"),
        ({"turn_steps": np.zeros(6, np.int64) + 99}, "does not exist"),
        ({"turn_values": np.full(6, np.nan)}, "turn_values must be finite"),
    ],
)
def test_files_that_contradict_themselves_are_refused(arrays: Any, message: str, tmp_path: Path) -> None:
    record().save(tmp_path / "a.npz")
    path = changed(tmp_path / "a.npz", **arrays)
    with pytest.raises(ValueError, match=message) as error:
        load(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"actions": np.zeros((11, 3), np.float32)}, "actions must have shape"),
        ({"hand_particle": np.full(11, 10**6)}, "held must be"),
        ({"turn_values": np.full(6, 10.0**6), "turn_names": np.full(6, PIN)}, "there is no particle 1000000"),
        ({"turn_names": np.full(6, "colour")}, "no dial 'colour'"),
        ({"env_kwargs": np.array('{"rows": -3}')}, "rows"),
        ({"env_kwargs": np.array('{"rows": "many"}')}, ""),
    ],
)
def test_what_the_environment_refuses_names_the_file(arrays: Any, message: str, tmp_path: Path) -> None:
    """Guards indices that would reach beyond arrays, and one kind of error for all."""
    record().save(tmp_path / "a.npz")
    path = changed(tmp_path / "a.npz", **arrays)
    with pytest.raises(ValueError, match=f"{path} cannot be replayed: .*{message}"):
        replay(load(path))


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = record()
    first.save(tmp_path / "a.npz")
    before = (tmp_path / "a.npz").read_bytes()

    def full(file: Any, **arrays: Any) -> None:
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(demonstration_file.np, "savez_compressed", full)
    with pytest.raises(OSError, match="No space left"):
        first.save(tmp_path / "a.npz")
    assert (tmp_path / "a.npz").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("content", [b"", b"words", b"PK\3\4 half a file", None])
def test_other_files_are_refused(content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.npz"
    if content is None:
        np.savez(path, a=np.zeros(3))
    else:
        path.write_bytes(content)
    assert main(["replay", str(path)]) == 1
    assert f"{path} is not a demonstration" in capsys.readouterr().err
    assert main(["replay", str(tmp_path / "none.npz")]) == 1
    assert "none.npz" in capsys.readouterr().err


def test_objects_are_not_loaded(tmp_path: Path) -> None:
    """An .npz that holds pickles could run anything."""
    np.savez(tmp_path / "x.npz", format=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="is not a demonstration"):
        load(tmp_path / "x.npz")


def test_the_agents_hands_are_led_by_actions() -> None:
    """A picker goes where it is led, as far as an action reaches, and the other stays; commands close and open it."""
    recorder = DemonstrationRecorder("PBDClothFold-v0", **TOWEL)
    interactive = recorder.interactive
    recorder.reset(0)
    start = interactive.hand_positions
    way = np.array([0.01, 0.02, -0.005])
    action = interactive.action(1, way)
    assert action.dtype == np.float32
    recorder.step(action)
    np.testing.assert_allclose(interactive.hand_positions - start, [[0, 0, 0], way], atol=1e-6)
    recorder.step(interactive.action(1, 100 * way))
    assert np.abs(interactive.hand_positions - start)[1].max() <= 0.02 + interactive.batch.actions.hands.max_step + 1e-6
    with pytest.raises(ValueError, match="no dial 'colour'"):
        recorder.turn("colour", 1.0)
    recorder.env.close()


@pytest.mark.parametrize("env_id", [entry.id for entry in ENTRIES])
def test_a_hand_changes_nothing_of_a_task(env_id: str) -> None:
    """With a grip for a person in the scene the starts, the expert and the observations have the same bits."""
    recorder = DemonstrationRecorder(env_id, **SMALL_OF[env_id])
    plain = gym.make(env_id, max_episode_steps=-1, **SMALL_OF[env_id])
    rng = np.random.default_rng(0)
    assert_array_equal(recorder.reset(3), plain.reset(seed=3)[0])
    for _ in range(3):
        action = rng.uniform(-1, 1, plain.action_space.shape).astype(np.float32)
        if recorder.interactive.batch.task.expert is not None:
            action = recorder.interactive.batch.expert()[0]
            assert_array_equal(action, plain.unwrapped.batch.expert()[0])
        recorder.step(action)
        assert_array_equal(recorder.observation, plain.step(action)[0])
    recorder.env.close()
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
    recorder = DemonstrationRecorder(env_id, action_mode=mode, **kwargs)
    interactive = recorder.interactive
    recorder.reset(0)
    interactive.take_over()
    held, places = interactive.agent_holds(), interactive.hand_positions
    for _ in range(3):
        recorder.step(interactive.action())
    assert interactive.agent_holds() == held
    np.testing.assert_allclose(interactive.hand_positions, places, atol=1e-5)
    if len(places) and env_id != "PBDPendulum-v0":
        recorder.step(interactive.action(0, np.array([0.0, 0.004, 0.0])))
        assert interactive.hand_positions[0, 1] == pytest.approx(places[0, 1] + 0.004, abs=1e-5)
    recorder.env.close()
