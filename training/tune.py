"""Search for settings of PPO in torch by Optuna: trials are trainings, and those that fall behind end early.

pbd-gym tune PBDCloth-v0 --trials 40 --total-timesteps 200000
pbd-gym train PBDCloth-v0 --config runs/PBDCloth-v0-tune/best.json

Settings are drawn by the tree-structured Parzen estimator (Bergstra et al. 2011, Algorithms for hyper-parameter
optimization) and trials are ended by the median rule (Golovin et al. 2017, doi:10.1145/3097983.3098043).
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from pbd_gym.registry import find
from pbd_gym.runtime.checks import whole
from pbd_gym.runtime.extras import load_optional
from pbd_gym.runtime.files import write_text
from pbd_gym.training.episodes.evaluation import Unseen
from pbd_gym.training.learners.ranks import Ranks
from pbd_gym.training.learners.torch_learner import TorchLearner, suits
from pbd_gym.training.runs.interruption import ended_like_control_c
from pbd_gym.training.runs.monitor import Monitor
from pbd_gym.training.runs.run_lock import alone_in
from pbd_gym.training.settings.algorithms import PPOSettings
from pbd_gym.training.settings.arguments import check_seeds
from pbd_gym.training.settings.options import TrainArgs, TuneArgs, option

CHOICES: dict[str, tuple[int, ...]] = {
    "n_steps": (16, 32, 64, 128, 256), "n_epochs": (4, 6, 8, 10, 15), "batch_size": (128, 256, 512, 1024, 2048),
}  # fmt: skip
"""Settings that are one of several numbers."""
RANGES: dict[str, tuple[float, float, bool]] = {
    "learning_rate": (1e-4, 1e-2, True), "gamma": (0.9, 0.999, False), "gae_lambda": (0.8, 1.0, False),
    "clip_range": (0.1, 0.4, False), "log_std_init": (-2.0, 0.5, False),
}  # fmt: skip
"""Ends of the others, and whether they are drawn by their logarithm."""


class _Watched(Monitor):
    """Tells a trial of each evaluation, and ends a training that falls behind."""

    trial: Any = None
    pruned: type[Exception] = Exception

    def _save(self) -> None:
        """Keep no checkpoints: what a search leaves are settings."""

    def _evaluate(self, seconds: float) -> None:
        super()._evaluate(seconds)
        if self.trial is not None and self.learner.steps:
            self.trial.report(self.points[-1].normalized_performance, self.learner.steps)
            if self.trial.should_prune():
                raise self.pruned


def suggested(trial: Any, base: PPOSettings) -> PPOSettings:
    """Return settings that a trial is to have; batches are no larger than rollouts."""
    found: dict[str, Any] = {name: trial.suggest_categorical(name, _with(name, base)) for name in CHOICES}
    for name, (low, high, log) in RANGES.items():
        now = getattr(base, name)
        found[name] = trial.suggest_float(name, min(low, now), max(high, now), log=log)
    found["batch_size"] = min(found["batch_size"], found["n_steps"] * base.num_envs)
    return dataclasses.replace(base, **found)


def _with(name: str, base: PPOSettings) -> list[int]:
    """Return the choices of a setting, with what it is now."""
    return sorted({*CHOICES[name], getattr(base, name)})


def main(args: TuneArgs) -> dict[str, Any]:
    """Search, and write ``study.db`` and ``best.json``, which ``pbd-gym train --config`` takes.

    Returns:
        The settings of the best trial that are not the id's own.

    Raises:
        ValueError: for an unknown id, no trials or seeds, or a task that PPO in torch does not learn.
        ImportError: without Optuna.
    """
    load_optional("optuna", "for pbd-gym tune", "tune")
    for name in ("trials", "evaluations", "eval_episodes"):
        whole(option(name), getattr(args, name), 1)
    if not args.seeds:
        raise ValueError("a search needs seeds: --seeds names none")
    args.env_id = find(args.env_id).id
    base, env_kwargs, _ = _base(args)
    for seed in args.seeds:
        check_seeds(seed * base.num_envs, base.num_envs)
    out = args.out or Path("runs") / f"{args.env_id}-tune"
    torch.set_num_threads(1)
    unseen = Unseen(args.env_id, args.eval_episodes, **{"device": args.device, **env_kwargs})
    if not suits(base, unseen.observation_space) or not isinstance(base, PPOSettings):
        raise ValueError("settings of PPO on vectors are searched for: give no obs_mode of pictures or goals")
    with ended_like_control_c(), alone_in(out):
        study = _study(args, out)
        if not study.trials:
            study.enqueue_trial({name: getattr(base, name) for name in (*CHOICES, *RANGES)})

        def told(study: Any, trial: Any) -> None:
            best = study.best_value if any(t.state.name == "COMPLETE" for t in study.trials) else float("nan")
            score = f"{trial.value:.3f}" if trial.state.name == "COMPLETE" else "ended early"
            print(f"trial {trial.number + 1}: {score}   best {best:.3f}", flush=True)

        done = sum(trial.state.is_finished() for trial in study.trials)
        todo = max(args.trials - done, 0)
        if args.ray is None:
            study.optimize(lambda trial: _scored(args, trial, unseen), n_trials=todo, callbacks=[told])
        elif todo:
            _search_on_cluster(args.ray, args, out, todo, lambda number: told(study, study.trials[number]))
        unseen.close()
    found = suggested(study.best_trial, base)
    names = (*CHOICES, *RANGES, "total_timesteps", "num_envs")
    best = {name: getattr(found, name) for name in names}
    config = {"env_id": args.env_id, **best, **({"env_kwargs": args.env_kwargs} if args.env_kwargs else {})}
    write_text(out / "best.json", json.dumps(config, indent=2) + "\n")
    print(f"\nbest of {len(study.trials)} trials: {study.best_value:.3f} normalized performance\n{out / 'best.json'}")
    return {name: value for name, value in best.items() if value != getattr(base, name)}


def _study(args: TuneArgs, out: Path) -> Any:
    """Return the search in a folder: a database for one process, a journal for machines that write side by side."""
    optuna = load_optional("optuna", "for pbd-gym tune", "tune")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage: Any = f"sqlite:///{(out / 'study.db').resolve()}"
    if args.ray is not None:
        journal = optuna.storages.journal
        storage = optuna.storages.JournalStorage(journal.JournalFileBackend(str((out / "study.journal").resolve())))
    # Where trials run side by side, those that are not over count as bad ones, so that they are not tried twice.
    sampler = optuna.samplers.TPESampler(
        seed=None if args.ray else args.search_seed, constant_liar=args.ray is not None
    )
    return optuna.create_study(
        direction="maximize", study_name=args.env_id, load_if_exists=True, storage=storage, sampler=sampler,
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5),
    )  # fmt: skip


def _base(args: TuneArgs) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return the settings that are searched around, the arguments of the environment and of the training one."""
    return TrainArgs(
        env_id=args.env_id, total_timesteps=args.total_timesteps, num_envs=args.num_envs, env_kwargs=args.env_kwargs
    ).everything()


def _scored(args: TuneArgs, trial: Any, unseen: Unseen) -> float:
    """Train with the settings of a trial, and return the mean score over the seeds."""
    pruned = load_optional("optuna", "for pbd-gym tune", "tune").TrialPruned
    base, env_kwargs, training_kwargs = _base(args)
    settings = suggested(trial, base)
    scores = [
        _trained(args, settings, training_kwargs, env_kwargs, unseen, seed, trial if k == 0 else None, pruned)
        for k, seed in enumerate(args.seeds)
    ]
    return sum(scores) / len(scores)


def tried(args: TuneArgs, out: Path) -> int:
    """Do one trial of the search in a folder, and return its number."""
    _, env_kwargs, _ = _base(args)
    torch.set_num_threads(1)
    study, numbers = _study(args, out), list[int]()
    unseen = Unseen(args.env_id, args.eval_episodes, **{"device": args.device, **env_kwargs})
    study.optimize(
        lambda trial: _scored(args, trial, unseen),
        n_trials=1,
        callbacks=[lambda _, trial: numbers.append(trial.number)],
    )
    unseen.close()
    return numbers[0]


def _search_on_cluster(address: str, args: TuneArgs, out: Path, todo: int, told: Callable[[int], None]) -> None:
    """Do trials on the machines of a Ray cluster."""
    from pbd_gym.training.runs.ray_jobs import cluster

    with cluster(address, out, [args.env_id], args.cores, **_base(args)[1]) as machines:
        for _, number in machines.run(tried, [(args, out.resolve())] * todo):
            told(number)


def _trained(
    args: TuneArgs,
    settings: PPOSettings,
    training_kwargs: dict[str, Any],
    env_kwargs: dict[str, Any],
    unseen: Unseen,
    seed: int,
    trial: Any,
    pruned: type[Exception],
) -> float:
    """Train once, and return the normalised performance in the end."""
    device = torch.device(args.device)
    learner = TorchLearner(args.env_id, settings, seed, device, Ranks(), None, env_kwargs, training_kwargs)
    every = settings.total_timesteps // args.evaluations
    with tempfile.TemporaryDirectory() as folder:  # for the best agent, to which a run that collapses goes back
        monitor = _Watched(learner, unseen, Path(folder), every, 2 * settings.total_timesteps)
        monitor.trial, monitor.pruned = trial, pruned
        try:
            monitor.start()
            learner.learn(monitor, progress=False)
            monitor.finish()
        finally:
            learner.close()
    return monitor.summary().normalized_performance
