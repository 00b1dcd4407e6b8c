"""Agents as plain arrays: those that come with the package are as good as they say, and need no learning library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from stable_baselines3 import PPO

from pbd_gym.cli import main
from pbd_gym.envs.tools.sb3 import make_sb3_vec_env
from pbd_gym.training import enjoy as enjoying
from pbd_gym.training import export as exporting
from pbd_gym.training.agents.policies import SHIPPED, MLPPolicy, find_policy, load_policy, shipped_ids
from pbd_gym.training.agents.sb3_models import Standardised
from pbd_gym.training.episodes.rollouts import make_unseen, reset_to_variations, rollout
from pbd_gym.training.export import ExportArgs, of_ppo
from tests.envs.helpers import SMALL, UNTRAINED, poison
from tests.training.outdated import OUTDATED

HEAPS = ("PBDClothFlattenPickPlace-v0", "PBDClothUnfold-v0")
"""Whose start states take most of a minute to make; ``pbd-gym benchmark`` says how good their agents are."""


def test_agents_come_with_the_package() -> None:
    """Guards the size of the package, too, and that all of them fit the spaces that their ids have now."""
    assert len(shipped_ids()) >= 4
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()) < 14_000_000
    assert OUTDATED.keys() <= set(shipped_ids())
    for env_id in shipped_ids():
        policy = find_policy(env_id)
        assert policy.env_id == env_id and policy.env_kwargs.keys() <= {"obs_mode"}


@pytest.mark.parametrize("env_id", [env_id for env_id in shipped_ids()[::3] if env_id not in (*HEAPS, *OUTDATED)])
def test_an_agent_is_as_good_as_it_says(env_id: str) -> None:
    """Guards weights, observations and the task: twelve unseen episodes come near what a hundred have shown.

    A towel that is torn about has -2.5: the mean of a dozen would say little, so it is the median and the successes.
    Where there is a bank of start states each has another one: drawn at random, one that fails counted twice.
    """
    policy = find_policy(env_id)
    assert policy.normalized_performance > 0.8
    env = make_unseen(env_id, 12, **policy.env_kwargs)
    options = {"variation": np.arange(12)} if hasattr(env.config, "starts_seed") else None
    outcome = rollout(policy, env, env.reset(seed=2_000_000, options=options)[0])
    assert np.median(outcome.normalized_performance) > policy.normalized_performance - 0.06
    rate = (100.0 * policy.success_rate + 2.0) / 104.0  # not quite 0 or 1: Agresti and Coull 1998
    assert outcome.is_success.mean() > rate - 3.0 * np.sqrt(rate * (1.0 - rate) / 12.0)


def small_ppo(standardise: bool) -> Any:
    env = make_sb3_vec_env("PBDCloth-v0", 2, 0, **SMALL)
    keywords = {"features_extractor_class": Standardised} if standardise else {}
    model = PPO("MlpPolicy", env, policy_kwargs={"net_arch": [16, 8], **keywords}, seed=0, device="cpu")
    with torch.no_grad():
        model.policy.action_net.weight *= 100.0  # so that some actions are clipped
        if standardise:
            model.policy.pi_features_extractor.mean[:] = torch.linspace(-1.0, 1.0, 30)
            model.policy.pi_features_extractor.spread[:] = torch.linspace(0.05, 2.0, 30)
    return model


@pytest.mark.parametrize("standardise", [False, True])
def test_an_export_acts_as_the_checkpoint_does(standardise: bool, tmp_path: Path) -> None:
    model = small_ppo(standardise)
    policy = of_ppo(model.policy, "PBDCloth-v0", {"rows": 4})
    policy.save(tmp_path / "deep" / "a.npz")
    again = load_policy(tmp_path / "deep" / "a.npz")
    observations = np.random.default_rng(0).uniform(-3, 3, (50, 30)).astype(np.float32)
    expected = model.predict(observations, deterministic=True)[0]
    assert (np.abs(expected) == 1.0).any() and (np.abs(expected) < 1.0).any()
    assert_allclose(again(observations), expected, atol=2e-5)
    assert_allclose(again(observations[3]), expected[3], atol=2e-5)
    assert again.env_kwargs == {"rows": 4} and again(observations).dtype == np.float32


def test_an_export_replaces_a_bundled_agent_only_if_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the package: without a name for the file, a newcomer's agent became the one that comes with it."""
    monkeypatch.setattr(exporting, "SHIPPED", tmp_path / "bundled")
    monkeypatch.setattr(exporting, "scored", lambda policy, episodes: policy)
    zeros = np.zeros((6, 30), dtype=np.float32)
    MLPPolicy("PBDCloth-v0", {}, (zeros,), (zeros[:, 0],), zeros[0], zeros[0] + 1.0).save(tmp_path / "model.npz")
    assert exporting.main(ExportArgs(tmp_path / "model.npz")) == tmp_path / "PBDCloth-v0.npz"
    assert not (tmp_path / "bundled").exists()
    bundled = exporting.main(ExportArgs(tmp_path / "model.npz", bundle=True))
    assert bundled == tmp_path / "bundled" / "PBDCloth-v0.npz" and bundled.is_file()
    with pytest.raises(ValueError, match="name different files"):
        exporting.main(ExportArgs(tmp_path / "model.npz", out=tmp_path / "a.npz", bundle=True))
    with pytest.raises(ValueError, match="episodes must be at least 1"):
        exporting.main(ExportArgs(tmp_path / "model.npz", episodes=0))


@pytest.mark.parametrize("what", ["algorithm", "activation", "pictures"])
def test_what_cannot_be_exported_is_refused(what: str) -> None:
    model = small_ppo(False)
    if what == "activation":
        model.policy.mlp_extractor.policy_net[1] = torch.nn.ReLU()
    if what == "pictures":
        model.policy.pi_features_extractor = torch.nn.Flatten()
    with pytest.raises(ValueError, match="only"):
        of_ppo(object() if what == "algorithm" else model.policy, "PBDCloth-v0", {})


def always(action: float, **about: Any) -> MLPPolicy:
    zeros = np.zeros((6, 30), dtype=np.float32)
    mean, spread = np.zeros(30, dtype=np.float32), np.ones(30, dtype=np.float32)
    return MLPPolicy("PBDCloth-v0", {**SMALL, **about}, (zeros,), (zeros[:, 0] + action,), mean, spread)


def test_enjoy_needs_no_learning_library(tmp_path: Path) -> None:
    """Guards imports: a GIF is made where neither torch nor Stable-Baselines3 nor tyro can be had."""
    always(0.4, max_episode_steps=4).save(tmp_path / "always.npz")
    code = (
        "import sys\n"
        "for name in ('torch', 'stable_baselines3', 'tyro', 'minari', 'matplotlib'): sys.modules[name] = None\n"
        "from pbd_gym.cli import main\n"
        f"sys.exit(main(['enjoy', {str(tmp_path / 'always.npz')!r}, '--gif', {str(tmp_path / 'a.gif')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "over 4 episodes" in done.stdout
    with Image.open(tmp_path / "a.gif") as gif:
        assert gif.n_frames == 2 and gif.width > 4 * 280


def test_enjoy_opens_a_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called: list[Any] = []
    monkeypatch.setattr(enjoying, "play", lambda *args, **kwargs: called.append((args, kwargs)))
    assert main(["enjoy", "PBDRope-v0", "--seed", "5"]) == 0
    always(0.4, max_episode_steps=3).save(tmp_path / "always.npz")
    assert main(["enjoy", str(tmp_path / "always.npz")]) == 0
    (args, kwargs), (_, others) = called
    assert {*others} == {*SMALL, "policy", "split"}  # the window goes on until it is closed
    assert args == ("PBDRope-v0", 5)
    assert kwargs["policy"](np.zeros(45, dtype=np.float32)).shape == (6,)
    assert "0.9" in capsys.readouterr().out


def test_enjoy_headless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    always(0.4, max_episode_steps=3).save(tmp_path / "always.npz")
    assert main(["enjoy", str(tmp_path / "always.npz"), "--headless", "--episodes", "2"]) == 0
    assert "over 2 episodes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([UNTRAINED], "PBDCloth-v0"), (["missing.npz"], "missing.npz"),
        (["PBDRope-v0", "--gif", "none.mp4"], "none.mp4"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["enjoy", *words]) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("pbd-gym enjoy: ") and error in message


def test_another_file_is_no_policy(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    (tmp_path / "half.npz").write_bytes((tmp_path / "other.npz").read_bytes()[:100])  # a copy that was cut off
    (tmp_path / "empty.npz").touch()
    (tmp_path / "folder.npz").mkdir()
    np.save(tmp_path / "array", np.zeros(3))
    (tmp_path / "array.npy").rename(tmp_path / "array.npz")
    for name in ("other.npz", "half.npz", "empty.npz", "folder.npz", "array.npz"):
        with pytest.raises(ValueError, match=f"{tmp_path / name} is not a policy"):
            find_policy(str(tmp_path / name))


@pytest.mark.parametrize(
    "arrays",
    [
        {"mean": None}, {"weight0": None}, {"bias0": None}, {"bias0": np.zeros(5)}, {"weight0": np.zeros((6, 29))},
        {"mean": np.full(30, np.nan)}, {"spread": np.zeros(30)}, {"extra": np.zeros(3)}, {"about": np.array("{")},
        {"about": np.array("[]")}, {"about": np.array("{}")}, {"about": np.array('{"env_id": "PBDCloth-v0"}')},
        {"about": np.array('{"env_id": "PBDCloth-v0", "env_kwargs": {"device": "cuda:0"}}')},
        {"about": np.array('{"env_id": "PBDCloth-v0", "env_kwargs": {}, "limit": 1, "normalized_performance": 1, '
                           '"success_rate": 1, "colour": 1}')},
        {"about": np.array('{"env_id": "PBDCloth-v0", "env_kwargs": {}, "limit": "x", "normalized_performance": 1, '
                           '"success_rate": 1}')},
    ],
)  # fmt: skip
def test_a_policy_that_contradicts_itself_is_refused(arrays: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    always(0.4).save(path)
    with np.load(path) as file:
        found = {**file, **arrays}
    np.savez(path, **{name: array for name, array in found.items() if array is not None})
    with pytest.raises(ValueError, match=f"{path} is not a policy: "):
        load_policy(path)


def test_an_episode_counts_until_its_end() -> None:
    """Guards outcomes: what happens after an episode has ended early, in the next one, is not in its result."""
    env = make_unseen("PBDCloth-v0", 2, **SMALL, max_episode_steps=6)
    asked = 0
    seen = []

    def act(observation: np.ndarray) -> np.ndarray:
        nonlocal asked
        asked += 1
        if asked == 3:
            poison(env, 1)
        seen.append(env.buffers.read("normalized_performance"))
        return np.random.default_rng(asked).uniform(-1, 1, (2, 6))

    outcome = rollout(act, env, env.reset(seed=0)[0])
    assert asked == 6
    assert outcome.normalized_performance[1] == seen[3][1]
    assert outcome.normalized_performance[1] != env.buffers.read("normalized_performance")[1]
    assert not outcome.is_success.any() and "0% success over 2 episodes" in str(outcome)


def test_every_start_state_for_evaluation_is_met() -> None:
    env = make_unseen("PBDRope-v0", 5, particles=9, starts=3, settle_time=0.2)
    reset_to_variations(env)
    assert_array_equal(env.buffers.read("start"), [0, 1, 2, 0, 1])
