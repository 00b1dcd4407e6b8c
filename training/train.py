"""Train an agent, evaluate it on unseen episodes, and write a learning curve, checkpoints and a GIF.

pbd-gym train PBDCloth-v0 --out runs/cloth
pbd-gym train PBDCloth-v0 --library sb3
pbd-gym train PBDSoftPush-v0 --algorithm sac
pbd-gym train PBDRope-v0 --algorithm sac-her
pbd-gym train PBDCloth-v0 --out runs/pixels --env-kwargs obs_mode rgb
torchrun --nproc_per_node=2 -m pbd_gym train PBDRope-v0

PPO and SAC on vectors are in torch alone (torch_ppo.py and torch_sac.py in pbd_gym/training/learners); everything else
uses Stable-Baselines3.
Control-C or SIGTERM saves the agent; the same command with --resume continues.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from gymnasium import spaces

from pbd_gym.registry import find
from pbd_gym.runtime.checks import whole
from pbd_gym.runtime.extras import load_optional
from pbd_gym.training.episodes.evaluation import Summary, Unseen, evaluate, random_policy, table
from pbd_gym.training.learners.ranks import Ranks, joined
from pbd_gym.training.learners.torch_learner import TorchLearner, suits
from pbd_gym.training.reports.curves import plot
from pbd_gym.training.runs import interruption
from pbd_gym.training.runs.monitor import Learner, Monitor
from pbd_gym.training.runs.run_files import write_run
from pbd_gym.training.runs.run_lock import alone_in
from pbd_gym.training.settings import config_files
from pbd_gym.training.settings.algorithms import IN_TORCH
from pbd_gym.training.settings.arguments import check_seeds
from pbd_gym.training.settings.options import TrainArgs, option


def main(args: TrainArgs) -> dict[str, Summary]:
    """Train, evaluate, and write the agent, ``run.json``, ``curve.csv``, ``curve.png`` and ``agent.gif``.

    The agent is ``model.npz``, or ``model.zip`` of Stable-Baselines3.

    Returns:
        The final evaluation of the trained and of a random policy; nothing in helper processes.
    """
    torch.set_num_threads(whole(option("torch_threads"), args.torch_threads, 1))
    find(args.env_id)  # before there is a folder for it
    device_name = args.env_kwargs.get("device", args.device)
    with interruption.ended_like_control_c(), joined(device_name) as (ranks, device):
        _check(args, ranks)
        if ranks.rank == 0:
            with alone_in(args.folder), sent_to_wandb(args):
                return _train(args, ranks, device)
        settings, env_kwargs, training_kwargs = args.everything()
        learner = TorchLearner(
            args.env_id, settings, args.seed, device, ranks, None, env_kwargs, training_kwargs, args.wrapper
        )
        learner.learn(None, progress=False)
        learner.close()
        return {}


def _check(args: TrainArgs, ranks: Ranks) -> None:
    """Refuse errors that would be noticed only after hours of training, or never.

    Raises:
        ValueError: for an invalid share, a count of zero, numbers or a library of another algorithm, environment
        arguments that are not the user's to choose, a seed whose episodes are reserved for evaluation, or a folder with
        an interrupted run without --resume.
    """
    steps = None if args.resume else interruption.interrupted(args.folder)
    if steps is not None:
        raise ValueError(
            f"the run in {args.folder} was interrupted after {steps:,} steps: continue with --resume, take "
            "another --out, or remove the folder"
        )
    if args.library == "torch" and args.algorithm not in IN_TORCH:
        raise ValueError(f"--library torch is for PPO and SAC: {args.algorithm} is Stable-Baselines3's, --library sb3")
    settings = args.everything()[0]
    counts = ("total_timesteps", "num_envs", "n_steps", "n_epochs", "batch_size", "frame_stack", "gradient_steps")
    for name in (*counts, "buffer_size"):
        whole(option(name), getattr(settings, name, 1), 1)
    whole(option("eval_episodes"), args.eval_episodes, 1)
    for name, share in (("gamma", settings.gamma), ("target_success", args.target_success)):
        if share is not None and not 0.0 <= share <= 1.0:
            raise ValueError(f"{option(name)} must be from 0 to 1, got {share}")
    abreast = settings.num_envs * ranks.count
    check_seeds(args.seed * abreast, abreast)


def _learner(args: TrainArgs, space: spaces.Space[Any], ranks: Ranks, device: torch.device, log: Path) -> Learner:
    """Return what trains.

    Args:
        args: arguments of the command.
        space: observation space.
        ranks: processes that train together.
        device: device of the learner in torch.
        log: folder for TensorBoard.

    Raises:
        ValueError: for several processes or a GPU, if Stable-Baselines3 trains.
        ImportError: without Stable-Baselines3, where that is to train.
    """
    settings, env_kwargs, training_kwargs = args.everything()
    if args.library != "sb3" and suits(settings, space):
        return TorchLearner(
            args.env_id, settings, args.seed, device, ranks, log, env_kwargs, training_kwargs, args.wrapper
        )
    if ranks.count > 1 or device.type != "cpu":
        raise ValueError("several processes and other devices than cpu need --library torch, and PPO or SAC on vectors")
    if args.library != "sb3" and args.algorithm in IN_TORCH:
        print("Stable-Baselines3 trains this: torch alone takes vectors, one observation at a time", flush=True)
    load_optional("stable_baselines3", "to train this", "train", "stable-baselines3")
    from pbd_gym.training.learners.sb3_learner import SB3Learner

    return SB3Learner(args.env_id, args.algorithm, settings, args.seed, log, training_kwargs, args.wrapper)


@contextmanager
def sent_to_wandb(args: TrainArgs) -> Iterator[None]:
    """Send to Weights & Biases what TensorBoard is given meanwhile, if that is asked for.

    Raises:
        ImportError: without wandb.
    """
    if not args.wandb:
        yield
        return
    wandb = load_optional("wandb", "for --wandb", None)
    settings, env_kwargs, _ = args.everything()
    told = {**dataclasses.asdict(settings), "env_id": args.env_id, "seed": args.seed, "env_kwargs": env_kwargs}
    name = args.folder.name
    with wandb.init(project="pbd_gym", name=name, dir=str(args.folder), config=told, sync_tensorboard=True):
        yield


def _train(args: TrainArgs, ranks: Ranks, device: torch.device) -> dict[str, Summary]:
    """Implementation of :func:`main` in the process that evaluates and writes."""
    settings, env_kwargs, _ = args.everything()
    out = args.folder
    out.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    world = {"device": str(device), **env_kwargs}
    unseen = Unseen(args.env_id, args.eval_episodes, settings.frame_stack, **world)
    learner = _learner(args, unseen.observation_space, ranks, device, out / "tensorboard")
    baseline = evaluate(random_policy(unseen), unseen, name="random")
    total = settings.total_timesteps
    monitor = Monitor(
        learner, unseen, out / "checkpoints", total // max(args.evaluations, 1), total // max(args.checkpoints, 1),
        args.target_success,
    )  # fmt: skip
    run: dict[str, Any] = {
        "env_id": args.env_id,
        "algorithm": args.algorithm,
        "library": "torch" if isinstance(learner, TorchLearner) else "sb3",
        "processes": ranks.count,
        "env_kwargs": env_kwargs,
        **({"wrapper": args.wrapper} if args.wrapper else {}),
        "seed": args.seed,
        "settings": dataclasses.asdict(settings),
        **({"network": learner.network} if learner.network else {}),
    }
    if args.resume:
        if ranks.count > 1:
            raise ValueError("a run of several processes cannot be resumed: only the agent is saved")
        monitor.points = interruption.take_up(out, learner, run)
    else:
        write_run(out, run)
        config_files.write(out / config_files.NAME, args)
    try:
        monitor.start()
        learner.learn(monitor, args.progress and sys.stderr.isatty())  # files have no bars
        monitor.finish()
    except KeyboardInterrupt:
        if monitor.points:
            interruption.keep(out, learner, monitor.points, run)
            goes_on = "; --resume goes on" if ranks.count == 1 else ""
            print(f"\n{out / learner.model} has {learner.steps:,} steps{goes_on}", flush=True)
        raise
    rows = {"trained": monitor.summary(), "random": baseline}
    interruption.finish(out, learner, monitor)
    last = monitor.points[-1]
    title = f"{args.env_id}, {args.eval_episodes} unseen episodes"
    plot(out / "curve.png", monitor.points, title, args.algorithm.upper(), baseline.success_rate)
    if monitor.kept is not None:  # results are those of the agent that is kept; the curve shows the rest
        run["kept_steps"] = monitor.kept.steps
    run["results"] = {name: dataclasses.asdict(row) for name, row in rows.items()}
    run["training_seconds"], run["wall_seconds"] = last.seconds, time.perf_counter() - started
    run["cpu_seconds"] = time.process_time()  # of the whole process, all threads: the relevant time on a busy machine
    write_run(out, run)
    print(f"\n{last.steps:,} steps in {last.seconds:.0f} s of training\n\n{table(rows)}\n\n{out / 'curve.png'}")
    if args.gif:
        from pbd_gym.training.episodes.record import record_gif

        frames = settings.frame_stack
        print(record_gif(learner.policy(), args.env_id, out / "agent.gif", frame_stack=frames, **env_kwargs))
    print(out / learner.model)
    learner.close()
    unseen.close()
    return rows


if __name__ == "__main__":
    main(config_files.read(TrainArgs, sys.argv[1:], "train"))
