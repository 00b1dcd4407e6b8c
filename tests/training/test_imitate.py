"""Imitation: from an expert to a clone with a memory, to what PPO makes of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
import warp as wp

from pbd_gym.envs.cloth.manipulation import TRAINING
from pbd_gym.training import imitate
from pbd_gym.training.agents.policies import load_policy
from pbd_gym.training.imitate import clone, demonstrate, main
from pbd_gym.training.imitation import refinement
from pbd_gym.training.imitation.refinement import Graded, refine, stay_near, training_world
from pbd_gym.training.learners.torch_agent import Agent
from pbd_gym.training.runs.run_files import origin
from pbd_gym.training.settings.algorithms import PPOSettings
from pbd_gym.training.settings.imitation import ImitateArgs, RefinementArgs, read
from pbd_gym.training.settings.options import SweepArgs
from pbd_gym.training.settings.tuned import IMITATED
from pbd_gym.training.sweep import Run, check_settings
from tests.envs.helpers import SMALL_OF

ROPE = {"particles": "9", "substeps": "8", "starts": "60"}
BRIEF = RefinementArgs(steps=3200, num_envs=16, rounds=2, watched=1, eval_episodes=32, enough=2.0)
BRIEF_ENOUGH = dataclasses.replace(BRIEF, enough=0.0)


def test_from_an_expert_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the whole way: what is written sees as it was taught, and is no worse than the clone it began as."""
    args = ImitateArgs(
        env_id="PBDRopeStraighten-v0", out=tmp_path / "rope", demonstrations=60, abreast=60, epochs=30,
        batch_size=64, noise=(0.0, 0.05), env_kwargs=ROPE, eval_episodes=32, refinement=BRIEF,
    )  # fmt: skip
    cloned = clone(args)
    results = main(args)
    again = load_policy(tmp_path / "rope" / "model.npz")
    assert again.env_kwargs == {"obs_mode": "memory", **{name: int(value) for name, value in ROPE.items()}}
    assert again.normalized_performance == results["trained"].normalized_performance > 0.7
    first = refine(cloned, BRIEF_ENOUGH)  # as it was, evaluated
    np.testing.assert_array_equal(first.weights[0], cloned.weights[0])
    assert results["trained"].success_rate >= first.success_rate
    _in_a_sweep(tmp_path, args)
    still = dataclasses.replace(args, start=args.folder / "model.npz", learning_rate=0.0, epochs=1, seed=3)
    np.testing.assert_array_equal(clone(still).weights[1], again.weights[1])  # a clone that goes on begins as it was
    monkeypatch.setattr(imitate, "demonstrate", lambda *given: pytest.fail("an episode was run"))
    others: list[tuple[dict[str, Any], str]] = [
        ({"hidden": (8,)}, "hidden"), ({"activation": "relu"}, "activation"), ({"near": True}, "canonical or near"),
    ]  # fmt: skip
    for other, name in others:
        with pytest.raises(ValueError, match=f"has {name} "):
            clone(dataclasses.replace(still, refinement=RefinementArgs(steps=0), **other))


@pytest.mark.gpu
def test_from_an_expert_to_a_file_on_a_gpu(tmp_path: Path) -> None:
    """Guards that physics, network and refinement are all where they are asked to be, and what is written is not."""
    if not wp.is_cuda_available():
        pytest.skip("there is no CUDA device")
    args = ImitateArgs(
        env_id="PBDRopeStraighten-v0", out=tmp_path, device="cuda:0", demonstrations=60, abreast=60, epochs=30,
        batch_size=64, env_kwargs=ROPE, eval_episodes=32, refinement=dataclasses.replace(BRIEF, images=True),
    )  # fmt: skip
    assert main(args)["trained"].normalized_performance > 0.8
    assert "device" not in load_policy(tmp_path / "model.npz").env_kwargs


def _in_a_sweep(folder: Path, args: ImitateArgs) -> None:
    """Check that a sweep and the benchmark know a finished run, and that it is not taken for one of other numbers."""
    run = Run("PBDRopeStraighten-v0", "imitation", args.seed)
    (folder / "rope").rename(folder / run.name)
    args.out = folder / run.name
    assert origin(args.folder / "model.npz") == ("imitation", 0)
    row = run.row(folder)
    assert row is not None and row["success_rate"] == load_policy(args.folder / "model.npz").success_rate
    assert row["steps"] == 60 * 75 + BRIEF.steps
    told = ["--demonstrations=60", "--abreast=60", "--epochs=30", "--batch-size=64", "--noise", "0.0", "0.05",
            "--eval-episodes=32", "--env-kwargs", *(word for pair in ROPE.items() for word in pair)]  # fmt: skip
    told += [f"--refinement.{name.replace('_', '-')}={getattr(BRIEF, name)}" for name in
             ("steps", "num_envs", "rounds", "watched", "eval_episodes", "enough")]  # fmt: skip
    asked = SweepArgs(("PBDRopeStraighten-v0",), ("imitation",), seeds=(0,), out=folder, imitate=tuple(told))
    check_settings(run, asked)
    with pytest.raises(ValueError, match=r"with different settings \(hidden\)"):
        check_settings(run, dataclasses.replace(asked, imitate=(*told, "--hidden", "8")))


def test_numbers_of_an_id_are_there_before_the_command_line() -> None:
    """Guards every recipe, and that words win over it: also over what the refinement has."""
    for env_id, numbers in IMITATED.items():
        found = dataclasses.asdict(read([env_id], "pbd-gym imitate"))
        refinement = numbers.get("refinement", {})
        assert {name: found[name] for name in numbers if name != "refinement"} == {
            name: value for name, value in numbers.items() if name != "refinement"
        }
        assert {name: found["refinement"][name] for name in refinement} == refinement
    changed = read(["PBDClothFold-v0", "--no-steady", "--refinement.steps", "0"], "pbd-gym imitate")
    assert (changed.steady, changed.release, changed.refinement.steps) == (False, 10, 0)
    assert read(["PBDRope-v0"], "pbd-gym imitate") == ImitateArgs(env_id="PBDRope-v0")


def test_an_agent_goes_on_where_the_policy_stands() -> None:
    """Guards both ways between arrays and networks: the actions stay the same, also of constant observations."""
    settings = PPOSettings(total_timesteps=1, net_arch=(8, 6), standardise=False)
    torch.manual_seed(0)
    teacher = Agent(5, 2, settings)
    teacher.mean += torch.arange(5.0)
    teacher.spread.copy_(torch.tensor([1.0, 2.0, 0.5, 1e-3, 1.0]))  # less than agents divide by that find it themselves
    teacher.limit.fill_(0.5)
    policy = teacher.to_policy("PBDRope-v0", {})
    student = Agent(5, 2, settings)
    student.take(policy)
    seen = torch.arange(5.0) + 0.01 * torch.randn(20, 5)
    meant = teacher.act(seen).detach().numpy()
    np.testing.assert_allclose(policy(seen.numpy()), meant, atol=1e-5)
    np.testing.assert_allclose(student.act(seen).detach().numpy(), meant, atol=1e-5)


def test_an_anchor_holds_to_what_was_done_before() -> None:
    """Guards the unit: one standard deviation off in every action costs the anchor's weight, also once it has moved."""
    agent = Agent(5, 2, PPOSettings(total_timesteps=1, net_arch=(8,), standardise=False))
    seen = torch.randn(20, 5)
    meant = agent.means(seen).detach()
    penalty = stay_near(agent, RefinementArgs(anchor=0.3, log_std=-2.0))
    with torch.no_grad():
        agent.policy[-1].bias += 1.0
    assert penalty(seen, meant) == 0.0
    np.testing.assert_allclose(penalty(seen, meant + np.exp(-2.0)).item(), 0.3, rtol=1e-5)


def test_the_reward_is_success_at_the_end() -> None:
    """Guards whose success it is: that of the episode that is over, not of the one that took its place."""
    over = torch.tensor([True, True, False])
    parts = {"at_goal": torch.tensor([0, 0, 1]), "at_rest": torch.tensor([1, 1, 0])}
    info = {
        "is_success": torch.tensor([0, 1, 1]), "normalized_performance": torch.tensor([0.0, 0.0, 0.5]), **parts,
        "final_info": {
            "is_success": torch.tensor([1, 0, 0]), "normalized_performance": torch.tensor([0.9, -3.0, 0.0]),
            "at_goal": torch.tensor([1, 0, 0]), "at_rest": torch.tensor([1, 1, 0]),
        },
    }  # fmt: skip
    completion = SimpleNamespace(conditions=("at_goal", "at_rest"))
    env = SimpleNamespace(
        task=SimpleNamespace(score=SimpleNamespace(completion=completion)),
        step=lambda actions: (None, torch.ones(3), torch.zeros(3, dtype=torch.bool), over, info),
    )
    reward = Graded(env, 0.1).step(torch.zeros(3, 1))[1]
    np.testing.assert_allclose(reward.numpy(), [0.1 * (0.9 + 1.0) + 1.9, -1.1, 0.1 * (0.5 + 0.5)], rtol=1e-6)


def test_an_expert_that_never_succeeds_is_no_teacher() -> None:
    hopeless = {**ROPE, "max_episode_steps": "1", "success_at": "2.0"}
    args = ImitateArgs(env_id="PBDRopeStraighten-v0", demonstrations=2, abreast=2, noise=(0.0,), env_kwargs=hopeless)
    with pytest.raises(ValueError, match="did not succeed once"):
        clone(args)


def test_a_learner_acts_until_the_expert_takes_over() -> None:
    """Guards corrections: what the learner saw is learned from, to the end or up to a moment, as it was asked for."""
    env: Any = gym.make_vec("PBDRopeStraighten-v0", 24, obs_mode="memory", particles=9, substeps=8, starts=60)

    def idle(observation: np.ndarray) -> np.ndarray:
        return np.zeros((len(observation), 8), dtype=np.float32)

    successes = {}
    for handed in (0.0, 1.0):
        args = ImitateArgs(env_id="PBDRopeStraighten-v0", handed=handed)
        seen, meant, successes[handed] = demonstrate(env, 7, np.zeros(24), args, idle)  # type: ignore[arg-type]
        assert len(seen) == len(meant) == 24 * env.max_episode_steps  # failures too
        assert np.abs(meant).max() == 1.0  # what the expert would have done, who is not idle
    assert successes[1.0].mean() - successes[0.0].mean() > 0.25  # some straighten out by themselves
    env.close()


def test_letting_go_is_shown_though_idle_hands_are_not() -> None:
    """Guards the end of an episode: an agent that is never shown open hands at its goal takes hold again and again."""
    env: Any = gym.make_vec("PBDRopeStraighten-v0", 24, obs_mode="memory", particles=9, substeps=8, starts=60)
    shown = {}
    for release in (0, 6):
        args = ImitateArgs(env_id="PBDRopeStraighten-v0", idle=0.0, release=release)
        _, meant, success = demonstrate(env, 3, np.full(24, 0.02), args)
        hands = meant.reshape(-1, 2, 4)
        shown[release] = int(
            ((np.abs(hands[..., :3]) < 1e-3).all(axis=(1, 2)) & (hands[..., 3] < 0.0).all(axis=1)).sum()
        )
        assert success.mean() > 0.7
    assert shown[6] >= 6 * 24 > 2 * shown[0]  # hands that hold something and are to open are never left out
    env.close()


def test_rounds_of_corrections_are_as_many_and_as_long_as_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards seeds, each of which is shown once, and the last fit, which may be longer than the ones before."""
    seeds, epochs, steps = [], [], []

    def shown(env: Any, seed: int, *given: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        seeds.append(seed)
        return np.zeros((1, 3)), np.zeros((1, 8)), np.ones(4, dtype=bool)

    def fitted(env_id: str, kwargs: Any, observations: np.ndarray, actions: np.ndarray, args: Any, *given: Any) -> str:
        epochs.append(args.epochs)
        steps.append(len(observations))
        return "a policy"

    monkeypatch.setattr(imitate, "demonstrate", shown)
    monkeypatch.setattr(imitate, "fitted_policy", fitted)
    clone(
        ImitateArgs(
            env_id="PBDRopeStraighten-v0", env_kwargs=ROPE, demonstrations=16, abreast=4, seed=5,
            corrections=2, corrected=0.5, epochs=3, last_epochs=9,
        )
    )  # fmt: skip
    assert seeds == [500_000 + 4 * k for k in range(8)] and steps == [4, 6, 8] and epochs == [3, 3, 9]


def test_a_task_without_symmetries_is_refused_before_it_is_demonstrated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imitate, "demonstrate", lambda *given: pytest.fail("an episode was run"))
    small = {name: str(value) for name, value in SMALL_OF["PBDSoftPush-v0"].items()}
    mirrored = RefinementArgs(images=True)
    with pytest.raises(ValueError, match="symmetries"):
        clone(ImitateArgs(env_id="PBDSoftPush-v0", env_kwargs=small, refinement=mirrored))
    with pytest.raises(ValueError, match="symmetries"):
        clone(ImitateArgs(env_id="PBDSoftPush-v0", env_kwargs=small, canonical=True))
    towel = {"resolution": "7", "starts": "5"}
    with pytest.raises(ValueError, match="learns from no other images"):
        clone(
            ImitateArgs(
                env_id="PBDClothUnfold-v0", env_kwargs=towel, canonical=True, refinement=RefinementArgs(images=True)
            )
        )


def test_goals_that_are_held_out_are_not_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards what PBDManipulation-v0 is for: agents neither learn such goals nor are chosen by them."""
    world = training_world("PBDManipulation-v0", 85, {"resolution": 8})
    env: Any = gym.make_vec("PBDManipulation-v0", 68, **world)
    env.reset(seed=0, options={"variation": np.arange(68)})
    assert {env.task.goal_kind(env.world, row) for row in range(68)} == set(TRAINING)
    env.close()
    chosen = {}

    def scored(policy: Any, episodes: int, **kwargs: Any) -> Any:
        chosen.update(kwargs)
        return SimpleNamespace(success_rate=1.0)

    monkeypatch.setattr(refinement, "scored", scored)
    refine(SimpleNamespace(env_id="PBDManipulation-v0", env_kwargs={}), BRIEF_ENOUGH)  # type: ignore[arg-type]
    assert chosen["split"] == "train"


def test_episodes_kept_for_evaluation_are_not_demonstrated() -> None:
    with pytest.raises(ValueError, match="split"):
        clone(ImitateArgs(env_id="PBDRopeStraighten-v0", env_kwargs={"split": "eval"}))
    with pytest.raises(ValueError, match="seed"):
        clone(ImitateArgs(env_id="PBDRopeStraighten-v0", seed=10, env_kwargs=ROPE))
    with pytest.raises(ValueError, match="seed"):
        refine(SimpleNamespace(), RefinementArgs(seed=1_000_000 // 64))  # type: ignore[arg-type]
