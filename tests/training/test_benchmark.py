"""The protocol of the benchmark: frozen states, files that are the same twice, and a page made of them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import scipy.stats
from gymnasium.envs.registration import load_env_creator
from numpy.testing import assert_array_equal

from pbd_gym.cli import main
from pbd_gym.envs.cloth.manipulation import HELD_OUT, TRAINING, goal_of
from pbd_gym.envs.core.data.validation import split_range
from pbd_gym.envs.tools.recording import RandomActor
from pbd_gym.registry import ENTRIES, find
from pbd_gym.training import benchmark
from pbd_gym.training.agents.policies import MLPPolicy
from pbd_gym.training.benchmark import Agent, find_agent, run_episodes
from pbd_gym.training.episodes import blind, evaluation_states
from pbd_gym.training.episodes.evaluation_states import (
    SEED,
    STATES,
    check_unseen,
    current_digest,
    make_evaluation_env,
    splits_of,
)
from pbd_gym.training.episodes.rollouts import make_unseen, reset_to_variations
from pbd_gym.training.leaderboard import page
from pbd_gym.training.reports import json_schema
from pbd_gym.training.reports.benchmark_results import check_result, read_results, schema, write_results
from pbd_gym.training.reports.intervals import bootstrap_interval, interquartile_mean, mean
from pbd_gym.training.settings.shifts import SHIFTS
from tests.envs.helpers import SMALL_OF, UNTRAINED

ID = "PBDRope-v0"
REGISTERED = {entry.id for entry in ENTRIES}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results") / "trained.json"
    assert main(["benchmark", ID, "--policy", "trained", "--out", str(path)]) == 0
    return path


def made_up(success_rate: float = 0.5, normalized_performance: float = 0.5, **changes: Any) -> dict[str, Any]:
    """A result of nobody, which follows the schema."""
    success = [i < round(success_rate * STATES) for i in range(STATES)]
    final, best = [normalized_performance] * STATES, [0.6] * STATES
    return {
        "schema": "pbd-gym benchmark 2", "id": ID, "policy": "ppo", "seed": 0, "split": "test",
        "states": f"sha256:{'0' * 64}",
        "protocol": current_digest(changes.get("id", ID)) if changes.get("id", ID) in REGISTERED else "",
        "success_rate": success_rate, "success_interval": [0.4, 0.6], "normalized_performance": normalized_performance,
        "normalized_performance_iqm": normalized_performance, "normalized_performance_interval": [0.5, 0.5],
        "best_normalized_performance": 0.6,
        "episodes": {"success": success, "final": final, "best": best, "steps": [75] * STATES},
        "agent": {"file": None, "trained_with": {}},
        "versions": {"pbd_gym": "0.1.0", "warp": "1", "numpy": "2", "gymnasium": "1"}, **changes,
    }  # fmt: skip


def test_the_same_agent_gives_the_same_file(trained: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    assert main(["benchmark", ID, ID, "--policy", "trained", "--out", str(again)]) == 0  # twice is once
    assert again.read_bytes() == trained.read_bytes()
    (result,) = read_results(trained)
    assert {"id", "policy", "success_rate", "normalized_performance", "states"} <= set(result)
    assert result["success_rate"] == np.mean(result["episodes"]["success"]) > 0.9
    assert result["normalized_performance"] == pytest.approx(np.mean(result["episodes"]["final"]), abs=1e-6)
    assert np.all(np.array(result["episodes"]["best"]) >= result["episodes"]["final"])
    assert set(result["episodes"]["steps"]) == {100}


@pytest.mark.parametrize("env_id", ["PBDSoftPush-v0", "PBDClothFoldPickPlace-v0"])
def test_the_last_step_counts(env_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the last action, without which a score is that of an episode one step short, and what follows it."""
    small: dict[str, Any] = {**SMALL_OF[env_id], "starts": 10, "max_episode_steps": 6}
    env: Any = gym.make_vec(env_id, 2, **small)
    reset_to_variations(env, SEED)
    performances = []
    over = np.zeros(2, dtype=bool)
    while not over.all():
        _, _, _, over, info = env.step(env.expert())
        performances.append(info["normalized_performance"])
    assert len(performances) == 6
    monkeypatch.setattr(benchmark, "make_evaluation_env", lambda name, **seen: gym.make_vec(name, 2, **small))
    found, _ = run_episodes(find_agent("expert", env_id))
    assert_array_equal(found.final, performances[-1])
    assert (found.final != performances[-2]).any()


def test_no_argument_changes_the_states(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Guards the freeze: policy, seed and what the agent sees are others, the states and the physics are not."""
    (result,) = read_results(trained)
    random = find_agent("random", ID, seed=3)
    episodes, states = run_episodes(random)
    assert states == result["states"]
    assert not np.array_equal(episodes.final, result["episodes"]["final"])
    goals = Agent(ID, "random", 3, RandomActor(3), env_kwargs={"obs_mode": "goal", "rest_speed": 1.0, "starts": 5})
    rated, seen = run_episodes(goals)
    assert seen == states
    np.testing.assert_array_equal(rated.final, episodes.final)  # not as obs_mode="goal" would rate it
    assert run_episodes(find_agent("random", "PBDCloth-v0"))[1] != states


def test_evaluation_states_are_a_hundred_that_nobody_trains_on() -> None:
    env = make_evaluation_env(ID)
    starts = {start.tobytes() for start in env.start_positions}
    assert len(starts) == STATES == env.num_envs
    others = make_unseen(ID, STATES)  # for choosing agents
    assert len(others.start_positions) == STATES
    assert not starts & {start.tobytes() for start in others.start_positions}
    assert env.config.starts_seed == SEED != others.config.starts_seed


def test_every_bank_of_start_states_has_a_seed() -> None:
    """Guards new tasks: without one their evaluation states could be trained on."""
    from gymnasium.envs.registration import load_env_creator

    for entry in ENTRIES:
        batch: Any = load_env_creator(entry.vector)
        names = batch.config_type.__dataclass_fields__
        assert ("starts" in names) == ("starts_seed" in names), entry.id


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["PBDRop-v0"], "PBDRope-v0"),
        ([ID, "--policy", "expert"], "no scripted expert"),
        ([UNTRAINED, "--policy", "trained"], "no bundled policy"),
        (["--policy", "missing.npz"], "missing.npz"),
        (["--policy", "missing.zip"], "there is no file missing.zip"),
        ([ID, "--policy", "experts"], "--policy takes expert, random, blind, plan, trained, pixels, or a file"),
        ([ID, "--policy", "random", "--name", "a | b"], "in one line without |, got 'a | b'"),
        ([ID, "--policy", "random", "--name", ""], "in one line without |, got ''"),
        (["PBDClothFold-v0", "--policy", "expert", "--seed", "1"], "an expert has no seed"),
        (["--policy", "{leaked}"], "was trained on the benchmark's own states"),
        (["PBDCloth-v0", "--policy", "{file}"], "was trained on PBDRope-v0"),
        (["--policy", "{file}"], "acts by 'drag', this one by 'pin'"),
        (["--policy", "{wide}"], "does not fit PBDRope-v0"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[tuple[str, int, dict[str, Any]]]
    made = [
        ("file", 45, {"action_mode": "pin"}),
        ("wide", 46, {"particles": 33}),
        ("leaked", 45, {"starts_seed": SEED}),
    ]
    for name, size, kwargs in made:
        zeros = np.zeros((6, size), dtype=np.float32)
        policy = MLPPolicy(ID, kwargs, (zeros,), (zeros[:, 0],), zeros[0], zeros[0] + 1.0)
        policy.save(tmp_path / f"{name}.npz")
    files = {name: tmp_path / f"{name}.npz" for name, _, _ in made}
    out = tmp_path / "out.json"
    assert main(["benchmark", *(word.format(**files) for word in words), "--out", str(out)]) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("pbd-gym benchmark: ") and error in message
    assert not out.exists()


def test_files_that_are_no_results_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.json"
    for text, error in (("{", "Expecting"), ("[3]", "no object"), ("{}", "lacks 'schema'"), ("[]", "holds none")):
        path.write_text(text)
        assert main(["leaderboard", str(path)]) == 1
        message = capsys.readouterr().err
        assert f"{path} is not a result" in message and error in message
    for changes, error in (
        ({"success_rate": 1.5}, "'success_rate' is 1.5"),
        ({"normalized_performance": True}, "'normalized_performance' is no number"),
        ({"states": "none"}, "'states' is 'none'"),
        ({"seed": -1}, "'seed' is -1"),
        ({"time": 3.0}, "'time', which the schema does not define"),
        ({"success_interval": [0.5]}, "'success_interval' has 1 entries"),
        ({"policy": "a | b"}, "'policy' is 'a | b'"),
        ({"normalized_performance_iqm": 0.7}, "'normalized_performance_iqm' is 0.7, and its episodes say 0.5"),
        ({"best_normalized_performance": 0.7}, "its episodes say 0.6"),
        ({"episodes": {**made_up()["episodes"], "success": [True] * STATES}}, "its episodes say 1.0"),
        ({"episodes": {**made_up()["episodes"], "steps": [7.5] * STATES}}, "is no integer"),
        ({"episodes": {**made_up()["episodes"], "final": [math.inf] * STATES}}, r"\['final'\]\[0\] is inf"),
    ):
        with pytest.raises(ValueError, match=error):
            check_result(made_up(**changes))
    with pytest.raises(ValueError, match="'oneOf' cannot be checked"):
        json_schema.check(3, {"oneOf": []})


def test_the_schema_and_a_result_agree(trained: Path) -> None:
    """Guards the schema: it names each member of a result, and each is required."""
    result = json.loads(trained.read_text())
    assert list(result) == schema()["required"]
    assert set(result) == set(schema()["properties"])


def test_intervals_are_those_of_their_source() -> None:
    """The interquartile mean against SciPy's trimmed mean; the bootstrap's against what theory says of a mean."""
    random = np.random.default_rng(1)
    for count in (1, 3, 4, 5, 10, 101):
        scores = random.standard_normal((3, count))
        expected = scipy.stats.trim_mean(scores, 0.25, axis=1)
        np.testing.assert_allclose(interquartile_mean(scores), expected, atol=1e-12)
    scores = random.standard_normal(400)
    low, high = bootstrap_interval([scores], mean)
    half = 1.96 * scores.std() / 20.0
    np.testing.assert_allclose((low, high), (scores.mean() - half, scores.mean() + half), atol=0.06 * half)
    # Two tasks of equal scores each have no spread, as far apart as they are: a task is resampled by itself.
    assert bootstrap_interval([np.zeros(5), np.ones(5)], mean) == (0.5, 0.5)
    assert bootstrap_interval([scores]) == bootstrap_interval([scores])


def rows_of(text: str, start: str) -> list[list[str]]:
    """The cells of the rows of a page that begin so."""
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith(start)]


def test_the_leaderboard_puts_success_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Guards the page: rows of seeds, the mark from five on, the best policy of an id first, and its floor."""
    files = []
    for seed in range(5):
        scores = {"seed": seed, "success_rate": 0.9 + 0.02 * seed, "normalized_performance": 0.8 + 0.01 * seed**2}
        files.append(tmp_path / f"ppo-{seed}.json")
        agent = {"file": None, "trained_with": {"obs_mode": "memory"}, "steps": 1000 + seed, "processor_seconds": 120.0}
        write_results(files[-1], [made_up(**scores, agent=agent), made_up(**scores, id="PBDCloth-v0")])
    files.append(tmp_path / "random.json")
    write_results(files[-1], [made_up(policy="random", success_rate=0.0, normalized_performance=-0.2)])
    out = tmp_path / "board.md"
    assert main(["leaderboard", *map(str, files), "--out", str(out)]) == 0
    first, blind_row, random_row = rows_of(out.read_text(), f"| `{ID}`")
    assert first[1] == "ppo" and first[2].startswith("94% [9") and first[4:7] == ["0.860", "0.600", "5 ✓"]
    assert first[3].startswith("0.846 [0.8")  # the middle 250 of 500 episodes: 75 of 0.81, 100 of 0.84, 75 of 0.89
    assert first[7:] == ["memory", "-", "1,002", "2 min"]
    assert blind_row[:4] == [f"`{ID}`", "blind", "not measured", "-"]
    assert random_row == [f"`{ID}`", "random", "0%", "-0.200", "-0.200", "0.600", "1", "nothing", "-", "-", "-"]
    (overall,) = rows_of(out.read_text(), "| ppo | 2 of 2 ids")
    assert overall[2].startswith("94% [9") and overall[4] == "5 ✓"
    assert main(["leaderboard", str(files[0]), str(files[0])]) == 1
    assert "two results of" in capsys.readouterr().err
    agent = {"file": f"sha256:{'1' * 64}", "trained_with": {}}
    with pytest.raises(ValueError, match="seeds 0 and 3 of PBDRope-v0, ppo are one agent"):
        page([made_up(agent=agent), made_up(agent=agent, seed=3)])
    moved = {**made_up()["episodes"], "final": np.linspace(0.0, 1.0, STATES).tolist()}
    with pytest.raises(ValueError, match="seeds 1 and 2 of PBDRope-v0, ppo are one agent: its episodes are the same"):
        page([made_up(episodes=moved, seed=1), made_up(episodes=moved, seed=2, agent=agent)])
    with pytest.raises(ValueError, match="no environment 'PBDRop-v0'; did you mean 'PBDRope-v0'"):
        page([made_up(id="PBDRop-v0")])
    with pytest.raises(ValueError, match="different evaluation states"):
        page([made_up(), made_up(seed=1, states=f"sha256:{'1' * 64}")])


def test_results_that_say_nothing_of_an_id_as_it_is_are_refused(tmp_path: Path) -> None:
    """Guards outside results: of an older format, of other numbers, or of a split that the id lacks."""
    path = tmp_path / "old.json"
    path.write_text(json.dumps({**made_up(), "schema": "pbd-gym benchmark 1"}))
    with pytest.raises(ValueError, match="of the format 'pbd-gym benchmark 1', and this version has"):
        read_results(path)
    with pytest.raises(ValueError, match="PBDRope-v0, ppo, seed 0 is out of date: PBDRope-v0 has other numbers"):
        page([made_up(protocol=f"sha256:{'2' * 64}")])
    with pytest.raises(ValueError, match=r"PBDRope-v0 has no split 'held_out': it has test$"):
        page([made_up(split="held_out")])
    towel = "PBDClothFold-v0"
    shifted = made_up(id=towel, split="shift", protocol=current_digest(towel, "shift"))
    text = page([made_up(), shifted])
    assert f"| `{towel}` | ppo | 50% |" in text.split("## Split `shift`")[1]
    assert towel not in text.split("## Split `shift`")[0]
    with pytest.raises(ValueError, match="out of date"):
        page([{**shifted, "split": "test"}])


def test_agents_that_saw_what_is_held_out_are_refused(tmp_path: Path) -> None:
    """Guards splits: goals, materials and states that an agent was trained on test nothing, and it says so."""
    for env_id, split, kwargs, error in (
        ("PBDManipulation-v0", "test", {"split": "all"}, "goals that PBDManipulation-v0 holds out: its split is 'all'"),
        ("PBDClothFold-v0", "shift", {"fabric": "denim"}, "what split 'shift' holds out: its fabric is denim"),
        (ID, "test", {"starts_seed": SEED}, "the benchmark's own states"),
        (ID, "shift", {}, "PBDRope-v0 has no split 'shift': it has test"),
    ):
        zeros = np.zeros((8, 3), dtype=np.float32)
        path = tmp_path / "seen.npz"
        MLPPolicy(env_id, kwargs, (zeros,), (zeros[:, 0],), zeros[0], zeros[0] + 1.0).save(path)
        with pytest.raises(ValueError, match=error):
            find_agent(str(path), split=split)


def test_the_digest_of_a_task_takes_no_environment() -> None:
    """Guards what refuses old results: the same digest as of the environments that were played."""
    from pbd_gym.training.episodes.evaluation_states import digest_of_task

    assert digest_of_task(make_evaluation_env(ID)) == current_digest(ID)
    assert len({current_digest(entry.id) for entry in ENTRIES}) == len(ENTRIES)


def test_ids_count_alike_in_a_row_over_all() -> None:
    """Guards against nine seeds of an easy id, which outweighed the one of a hard id, and against leaving ids out."""
    easy = [made_up(1.0, 0.9, seed=seed) for seed in range(9)]
    hard = made_up(0.0, 0.1, id="PBDCloth-v0")
    (row,) = rows_of(page([*easy, hard]), "| ppo | 2 of 2 ids")
    assert row[2:5] == ["50%", "0.500", "1"]
    text = page([*easy, hard, made_up(1.0, 0.9, id="PBDPendulum-v0", policy="expert")])
    (row,) = rows_of(text, "| ppo | 2 of 3 ids")
    assert row[2] == "33%"  # 100, 0, and 0 for what it was not measured in
    assert text.index("| ppo |") < text.index("| expert |")


def test_selected_agents_have_a_table_of_their_own() -> None:
    text = page([made_up(policy="trained", success_rate=1.0), made_up(), made_up(policy="random", success_rate=0.0)])
    first, second = text.split("## Selected agents")
    assert "| trained |" not in first and "| ppo |" not in second
    assert [row[1] for row in rows_of(second, f"| `{ID}`")] == ["trained", "blind", "random"]


def test_ids_that_a_script_cannot_act_in_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmark, "ENTRIES", [entry for entry in ENTRIES if entry.id in (ID, "PBDPendulum-v0")])
    assert main(["benchmark"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [ID, "PBDPendulum-v0"] and all("left out" in line for line in lines)


def test_what_has_been_evaluated_is_kept_where_a_later_id_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def evaluated(agent: Agent, split: str) -> dict[str, Any]:
        if agent.env_id != ID:
            raise RuntimeError("out of memory")
        return made_up()

    monkeypatch.setattr(benchmark, "benchmark", evaluated)
    with pytest.raises(RuntimeError, match="memory"):
        benchmark.main([ID, "PBDCloth-v0"], "random", out=tmp_path / "some.json")
    assert [result["id"] for result in read_results(tmp_path / "some.json")] == [made_up()["id"]]


@pytest.mark.parametrize("policy", ["random", "blind"])
def test_a_file_is_gone_on_with_and_loses_nothing(policy: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Guards files of all ids, found one at a time: what is missing or of other numbers is found, the rest is kept."""
    found: list[str] = []

    def evaluated(agent: Agent, split: str) -> dict[str, Any]:
        found.append(agent.env_id)
        return made_up(id=agent.env_id, policy=agent.policy, versions=benchmark.versions())

    monkeypatch.setattr(benchmark, "benchmark", evaluated)
    monkeypatch.setattr("pbd_gym.training.episodes.blind.search", lambda env_id: np.zeros((9, 4), dtype=np.float32))
    out = tmp_path / "rows.json"
    write_results(out, [made_up(id="PBDRopePush-v0", policy="ppo")])

    def go_on(*ids: str) -> None:
        benchmark.main(list(ids), policy, out=out, resume=True)

    go_on("PBDSoftBody-v0", ID)
    go_on("PBDCloth-v0", ID)
    assert found == ["PBDSoftBody-v0", ID, "PBDCloth-v0"]
    kept = read_results(out)
    assert [one["id"] for one in kept] == ["PBDCloth-v0", ID, "PBDSoftBody-v0", "PBDRopePush-v0"]
    write_results(out, [{**kept[0], "protocol": kept[1]["protocol"]}, *kept[1:]])
    go_on("PBDCloth-v0", ID)
    assert found[3:] == ["PBDCloth-v0"] and len(read_results(out)) == 4


@pytest.mark.parametrize("grips", [(), (3, 7)])
def test_blind_programs_are_phases_of_time_alone(grips: tuple[int, ...]) -> None:
    """Guards programs: as many actions as steps, in range, held constant in a phase, hands open at the end or not."""
    rng = np.random.default_rng(0)
    programs = [blind.drawn(rng, 8, grips) for _ in range(200)]
    for program in (*programs, *(program.varied(rng) for program in programs)):
        actions = program.actions(30)
        assert actions.shape == (30, 8) and actions.dtype == np.float32 and np.abs(actions).max() <= 1.0
        if not program.swing.any():
            assert len(np.unique(actions, axis=0)) <= len(program.moves) <= 4
    opened = np.mean([np.all(program.actions(30)[-1, list(grips)] == -1.0) for program in programs])
    assert opened == 1.0 if not grips else 0.7 < opened < 0.95
    (program,) = (blind.Program(np.array([0.25, 1.0]), np.array([[1.0], [-0.5]]), np.zeros(1), 2.0),)
    assert_array_equal(program.actions(8)[:, 0], [1.0] * 2 + [-0.5] * 6)


def test_the_search_finds_what_a_task_gives_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the search against a world that it can check: the nearest to a hidden number is best, and found twice."""
    seeds = []

    def closeness(env: Any, programs: list[blind.Program], seed: int) -> tuple[np.ndarray, np.ndarray]:
        seeds.append((len(programs), seed))
        final = np.array([-abs(program.actions(10)[-1, 0] - 0.123) for program in programs])
        return (final > -0.005).astype(float), final

    class World:
        num_envs, action_mode = 200, "drag"

        actions = SimpleNamespace(size=1)

    monkeypatch.setattr(blind, "rate", closeness)
    found = [blind.best_program(World()).actions(10) for _ in range(2)]  # type: ignore[arg-type]
    assert_array_equal(*found)
    assert abs(found[0][-1, 0] - 0.123) < 0.02
    assert seeds[:3] == [(200, 0), (40, 200), (5, 400)]


def test_a_blind_result_is_one_program_on_the_official_states(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Guards the row: it is searched for on training starts alone, acts alike everywhere, and is the same twice."""
    monkeypatch.setattr(blind, "EPISODES", 8)
    monkeypatch.setattr(blind, "ROUNDS", (1, 4))
    rated = []
    rate = blind.rate
    monkeypatch.setattr(blind, "rate", lambda env, *rest: rated.append(env) or rate(env, *rest))
    files = [tmp_path / f"{number}.json" for number in range(2)]
    for file in files:
        assert main(["benchmark", ID, "--policy", "blind", "--out", str(file)]) == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    (result,) = read_results(files[0])
    assert (result["policy"], result["seed"]) == ("blind", 0) and result["agent"]["file"].startswith("sha256:")
    assert all(env.config.starts_seed != SEED and env.split == "train" for env in rated)
    actor = find_agent("blind", ID).actor
    env = make_evaluation_env(ID)
    reset_to_variations(env, SEED)
    first, second = actor(env, None, True), actor(env, None, False)
    assert len(np.unique(first, axis=0)) == len(np.unique(second, axis=0)) == 1
    assert_array_equal(actor(env, None, True), first)
    with pytest.raises(ValueError, match="seed of --policy blind is frozen"):
        find_agent("blind", ID, seed=1)


def test_a_shift_is_two_worlds_that_differ_from_the_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards split ``shift``: arguments that tasks take, none of them the id's own; half of the states each."""
    for env_id, variants in SHIFTS.items():
        own = load_env_creator(find(env_id).vector).config_type()
        assert len(variants) == 2 and STATES % 2 == 0 and current_digest(env_id, "shift") != current_digest(env_id)
        for name in variants[0].keys() | variants[1].keys():
            values = [variant.get(name) for variant in variants]
            assert values[0] != values[1] and getattr(own, name) not in values, (env_id, name)
    worlds = ({"friction": 0.3, "bend_compliance": 0.2}, {"friction": 0.7, "bend_compliance": 0.05})
    monkeypatch.setitem(SHIFTS, ID, worlds)  # cheap to play
    agent = find_agent("random", ID, seed=3, split="shift")
    result = benchmark.benchmark(agent, "shift")
    check_result(result)
    assert result["split"] == "shift" and result["states"] != run_episodes(agent)[1]
    assert result["protocol"] == current_digest(ID, "shift")
    first, second = (make_evaluation_env(ID, "shift", variant) for variant in range(2))
    assert (first.num_envs, first.config.friction, second.config.bend_compliance) == (50, 0.3, 0.05)
    with pytest.raises(ValueError, match=r"its bend_compliance is 0\.05"):
        check_unseen("mine", ID, "shift", {"bend_compliance": 0.05})


def test_held_out_goals_are_a_split_of_their_own() -> None:
    """Guards PBDManipulation-v0: a hundred states with goals of training, and as many with held-out ones."""
    towel: Any = load_env_creator(find("PBDManipulation-v0").vector).config_type
    banks = [evaluation_states._arguments("PBDManipulation-v0", split, {}) for split in ("test", "held_out")]
    assert [bank["split"] for bank in banks] == ["train", "eval"] and banks[0]["starts"] == banks[1]["starts"] == 500
    first, count = split_range("eval", 500)
    assert count == STATES and towel.held_out_goals
    assert {goal_of(number, 500) for number in range(STATES)} == set(TRAINING)
    assert {goal_of(number, 500) for number in range(first, first + count)} == set(HELD_OUT)
    assert splits_of("PBDManipulation-v0") == ("test", "held_out", "shift") and splits_of(ID) == ("test",)
