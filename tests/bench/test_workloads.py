"""The named workloads are what they are said to be, and what is measured is shown."""

from __future__ import annotations

import csv
import io
import itertools
import json
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import warp as wp
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.bench.engine import Engine, sizes
from pbd_gym.bench.episodes import alone, run, uniform
from pbd_gym.bench.rows import Options, Row, table, to_csv, to_json
from pbd_gym.bench.run import WORKLOADS, main
from pbd_gym.bench.scenes import folded, hanging_block, hanging_cloth, hanging_rope, strain, towel
from pbd_gym.bench.timing import compare
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.scene.scene import Scene


def counts(scene: Scene) -> dict[str, int]:
    return {name: len(np.concatenate(batch.indices)) for name, batch in scene.constraints.items()}


def test_the_scenes_have_the_sizes_they_are_named_after() -> None:
    """Guards comparisons over time: a benchmark that changes its scene measures nothing."""
    assert counts(hanging_cloth()) == {"distance": 3906}
    assert counts(hanging_block()) == {"tet_neo_hookean_shape": 750, "tet_neo_hookean_volume": 750}
    assert hanging_rope().particle_count == 40
    assert towel().particle_count == 1024
    assert all((scene.inv_mass == 0).any() for scene in (hanging_cloth(), hanging_block(), hanging_rope()))


def test_the_towel_starts_folded_and_stays_so() -> None:
    """Guards W4: two layers at their contact distance, hardly stretched, that come to rest on one another."""
    scene = towel()
    x = folded(scene)
    assert strain(scene, x) < 0.01
    assert x[:, 1].min() > 0.0
    # The far edge lies over the near one, a layer higher.
    near, far = x.reshape(32, 32, 3)[-1], x.reshape(32, 32, 3)[0]
    lower, upper = (near, far) if near[0, 1] < far[0, 1] else (far, near)
    assert_allclose(upper[:, [0, 2]], lower[:, [0, 2]], atol=1e-9)
    assert (upper[:, 1] - lower[:, 1] >= 2.0 * scene.particle_contacts[0].radius).all()
    engine = Engine(scene, 16, start=x)
    engine.run(1.0)
    assert np.abs(engine.state.get_velocities()[0]).mean() < 0.02
    assert engine.state.get_contact_overflow().max() == 0
    assert engine.state.contacts.counts.numpy().min() > 100  # members with others that they may touch
    assert engine.strain() < 0.02


def test_strain_is_the_mean_change_of_length() -> None:
    for scene in (hanging_rope(), hanging_block()):
        assert strain(scene, scene.positions) < 1e-12
        assert strain(scene, 1.1 * scene.positions) == pytest.approx(0.1)


def test_sizes_follow_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PBD_GYM_THREADS", "2")
    cpu, cuda = [(64, 1), (64, 2), (64, 4), (1, 1)], [1024, 16384]
    assert sizes(Options(), cpu, cuda) == [(64, 1), (64, 2), (1, 1)]
    assert sizes(Options(threads=3), cpu, cuda) == [(64, 3), (1, 3)]
    assert sizes(Options(num_envs=7), cpu, cuda) == [(7, 1), (7, 2)]
    assert sizes(Options(device="cuda:0", threads=3), cpu, cuda) == [(1024, 1), (16384, 1)]
    assert sizes(Options(device="cuda:0", num_envs=7), cpu, cuda) == [(7, 1)]


def test_calls_take_turns() -> None:
    """Guards ratios: a slow call is slower by its factor, in both clocks, whatever else the machine does."""
    made: list[str] = []

    def spin(name: str, count: int) -> None:
        made.append(name)
        np.linspace(0.0, 1.0, count).sum()

    short, long = compare([lambda: spin("a", 200_000), lambda: spin("b", 2_000_000)], 3, 0.02)
    assert long.cpu > 3 * short.cpu
    order = "".join(made)[4:].replace("aa", "a").replace("bb", "b")
    assert order.count("ab") >= 3


def test_rows_are_shown_in_every_format() -> None:
    rows = [
        Row("w1", "64 environments", 54_321.0, "frames/s", 0.02, 2.12e9, 0.925, 0.03),
        Row("startup", "import", 0.09, "s"),
    ]
    shown = table(rows, {"CPU": "some CPU", "date": "2026-01-01"})
    assert "| w1 | 64 environments | 54,321 frames/s | 2% | 2.12 G | 92% | 0.03 |" in shown
    assert "| startup | import | 0.09 s |  |  |  |  |" in shown
    assert shown.endswith("CPU some CPU, date 2026-01-01")
    assert "C limit" not in table(rows[1:], {})  # columns without a number are left out
    assert json.loads(to_json(rows, {"date": "x"}))["rows"][0]["projections"] == 2.12e9
    read = list(csv.DictReader(io.StringIO(to_csv(rows))))
    assert [row["workload"] for row in read] == ["w1", "startup"]
    assert float(read[0]["limit_share"]) == 0.925


@pytest.mark.parametrize("name", ["w3", "w6", "pendulum-vec", "phases"])
def test_a_workload_measures(name: str) -> None:
    """Small ones end to end: what their rows say fits together."""
    rows = list(WORKLOADS[name](Options(repeats=1, threads=1, num_envs=16)))
    assert rows and all(row.value > 0 for row in rows)
    if name == "w3":
        assert rows[0].projections == pytest.approx(rows[0].value * (39 + 38) * 10)
        assert 0.0 < (rows[0].strain or 0.0) < 0.2
    elif name == "w6":
        assert [row.what.partition(",")[0] for row in rows] == ["1", "300 particles"]
        assert all(0.0 < (row.level or 0.0) < 0.4 and 0.0 <= (row.compression or 0.0) < 0.1 for row in rows)
    elif name == "phases":
        assert sum(row.value for row in rows[1:]) == pytest.approx(rows[0].value, rel=0.2)
    else:
        whole, bare, share, *_ = (row.value for row in rows)
        assert 0.0 < share < 100.0
        assert whole == pytest.approx(0.01 * share * bare)


def test_every_step_has_actions_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards what random actions are: one that is repeated lets hands hold on."""
    done: list[np.ndarray] = []
    step = TaskVectorEnv.step

    def noted(self: TaskVectorEnv, actions: Any) -> Any:
        done.append(np.array(actions))
        return step(self, actions)

    monkeypatch.setattr(TaskVectorEnv, "step", noted)
    list(WORKLOADS["pendulum-vec"](Options(repeats=1, threads=1, num_envs=4)))
    first = [actions for actions in done[:40] if actions.shape == done[0].shape]
    assert len(first) > 20 and all((a != b).any() for a, b in itertools.pairwise(first))


def test_whole_episodes_begin_at_a_reset_and_last_as_long_as_they_may() -> None:
    """Guards rows of whole episodes: hands of a heap that is left alone are open and stand still."""
    env: Any = gym.make_vec("PBDClothFlatten-v0", 2, resolution=8, starts=2, max_episode_steps=5).unwrapped
    seen: list[Any] = []

    def watched(batch: Any, observation: Any, begins: bool) -> np.ndarray:
        seen.append((begins, batch.state.held.numpy().copy(), batch.state.grip_positions.numpy().copy()))
        return alone(batch, observation, begins)

    assert run(env, watched) > 0.0
    assert [begins for begins, *_ in seen] == [True] + 4 * [False]
    assert all((held == -1).all() for _, held, _ in seen)
    assert_array_equal(seen[0][2], seen[-1][2])
    drawn = [uniform(0)(env, None, False) for _ in range(2)]
    assert_array_equal(*drawn)
    policy = uniform(0)
    assert (policy(env, None, True) != policy(env, None, False)).all()
    env.close()


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["w9"], Options(), "w9.*w1"),
        (["w1"], Options(repeats=0), "repeats"),
        (["w1"], Options(threads=0), "threads"),
        (["swing"], Options(), "python -m benchmarks"),
        (["w1"], Options(device="cuda:7"), "cuda:7"),
    ],
)
def test_wrong_arguments_are_named(names: list[str], options: Options, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        main(names, options)


def test_warp_says_nothing_where_numbers_go(capsys: pytest.CaptureFixture[str]) -> None:
    """Guards `--json -`: what loads a module meanwhile is not part of the output."""
    level = wp.config.log_level
    main(["w3"], Options(repeats=1, threads=1, num_envs=4), json_path="-")
    assert json.loads(capsys.readouterr().out)["rows"][0]["workload"] == "w3"
    assert wp.config.log_level == level
