"""Train an agent, evaluate it on unseen episodes, and write a learning curve, checkpoints and a GIF.

pbd-gym train PBDCloth-v0 --out runs/cloth
pbd-gym train PBDSoftPush-v0 --algorithm sac
pbd-gym train PBDRope-v0 --algorithm sac-her
pbd-gym train PBDCloth-v0 --out runs/pixels --env-kwargs obs_mode rgb

Ctrl-C keeps the model; the same command with --resume goes on.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.vec_env import VecEnv

from pbd_gym.envs.core.pixels import PIXEL_MODES
from pbd_gym.envs.tools.sb3 import make_sb3_vec_env
from pbd_gym.registry import find
from pbd_gym.training import checkpoint, interruption, tuned
from pbd_gym.training.arguments import parsed
from pbd_gym.training.auxiliary_loss import StatePrediction
from pbd_gym.training.curves import Point, plot, write_csv
from pbd_gym.training.evaluate import Summary, evaluate, random_policy, stacked, table, unseen_env
from pbd_gym.training.learners import make_model, show_expert, standardise
from pbd_gym.training.run_files import Network, network_to_json, write_run


@dataclass
class TrainArgs:
    """Train an agent. Defaults by id and algorithm are in pbd_gym/training/tuned.py."""

    env_id: Annotated[str, tyro.conf.Positional] = "PBDCloth-v0"
    """environment to train on"""
    algorithm: tuned.Algorithm = "ppo"
    """ppo, sac, or sac-her: soft actor-critic with hindsight experience replay, which sets obs_mode to goal"""
    out: Path | None = None
    """folder of the run; runs/ID-ALGORITHM-SEED by default"""
    seed: int = 0
    """seed of the network, the noise and the environments"""
    total_timesteps: int | None = None
    """environment steps of the whole run"""
    num_envs: int | None = None
    """environments in the batch"""
    batch_size: int | None = None
    """samples per gradient step"""
    learning_rate: float | None = None
    """of Adam at the start"""
    gamma: float | None = None
    """discount per step"""
    log_std_init: float | None = None
    """logarithm of the exploration noise at the start"""
    frame_stack: int | None = None
    """observations in a row that the agent is shown at once"""
    predict_state: bool | None = None
    """train the network for pictures to predict the state, rather than by PPO"""
    evaluations: int = 20
    """evaluations during training"""
    eval_episodes: int = 100
    """unseen episodes per evaluation"""
    checkpoints: int = 4
    """checkpoints during training"""
    progress: bool = True
    """show a progress bar"""
    gif: bool = True
    """write a GIF of the trained agent"""
    resume: bool = False
    """go on with the run in the folder, which was interrupted"""
    torch_threads: int = 1
    """threads of the learner, besides those of the physics"""
    env_kwargs: dict[str, str] = field(default_factory=dict)
    """arguments of the environment, for example --env-kwargs action_mode picker max_episode_steps 60"""

    def settings(self) -> tuned.Settings:
        """Return the tuned numbers of the id, overridden by those of the command line."""
        found = tuned.TABLE[self.algorithm].get(self.env_id, tuned.FALLBACK[self.algorithm])
        if self.env_kwargs.get("obs_mode") in PIXEL_MODES and self.algorithm == "ppo":
            pixels = tuned.PIXELS.get(self.env_id, tuned.PIXELS_FALLBACK)
            found = dataclasses.replace(pixels, training_env=found.training_env, initial_action=found.initial_action)
        given = {f.name: getattr(self, f.name, None) for f in dataclasses.fields(found)}
        return dataclasses.replace(found, **{k: v for k, v in given.items() if v is not None})

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the environment, numbers as numbers.

        Raises:
            ValueError: for hindsight experience replay with another obs_mode than goal.
        """
        given = parsed(self.env_kwargs)
        if self.algorithm == "sac-her":
            if given.setdefault("obs_mode", "goal") != "goal":
                raise ValueError(f"sac-her needs obs_mode goal, got {given['obs_mode']!r}")
        return given


class Checkpoints(BaseCallback):
    """Saves the model at regular intervals.

    Args:
        folder: where ``model_STEPS_steps.zip`` go.
        every: steps of the batch between them.
    """

    def __init__(self, folder: Path, every: int) -> None:
        super().__init__()
        self.folder = folder
        self.every = every

    def _on_step(self) -> bool:
        if self.n_calls % self.every == 0:
            checkpoint.save(self.model, self.folder / f"model_{self.num_timesteps}_steps.zip")
        return True


class LearningCurve(BaseCallback):
    """Evaluates on unseen seeds at regular intervals. Its clock runs during training only.

    Args:
        env: batch to evaluate on.
        every: environment steps between evaluations.
    """

    def __init__(self, env: VecEnv, every: int) -> None:
        super().__init__()
        self.env = env
        self.every = every
        self.points: list[Point] = []
        self._next = 0
        self._start = 0.0
        self._pause = 0.0

    def evaluate(self) -> Point:
        """Evaluate now, and add a point to the curve."""
        before = time.perf_counter()
        seconds = before - self._start - self._pause
        found = evaluate(lambda o: self.model.predict(o, deterministic=True)[0], self.env)
        point = Point(self.num_timesteps, seconds, found.success_rate, found.normalized_performance, found.mean_return)
        self.points.append(point)
        print(
            f"{point.steps:>10,} steps {seconds:5.0f} s   {point.success_rate:4.0%} success on unseen seeds, "
            f"normalized performance {point.normalized_performance:.3f}",
            flush=True,
        )
        for name in ("success_rate", "normalized_performance", "mean_return"):
            self.logger.record(f"unseen/{name}", getattr(point, name))
        self._pause += time.perf_counter() - before
        return point

    def _on_training_start(self) -> None:
        self._start = time.perf_counter() - (self.points[-1].seconds if self.points else 0.0)

    def _on_rollout_start(self) -> None:
        if self.num_timesteps >= self._next:
            self._next = self.num_timesteps + self.every
            self.evaluate()

    def _on_training_end(self) -> None:
        self.evaluate()

    def _on_step(self) -> bool:
        return True


def main(args: TrainArgs) -> dict[str, Summary]:
    """Train, evaluate, and write ``model.zip``, ``run.json``, ``curve.csv``, ``curve.png`` and ``agent.gif``.

    Returns:
        The final evaluation of the trained and of a random policy.
    """
    torch.set_num_threads(args.torch_threads)
    find(args.env_id)  # before there is a folder for it
    settings = args.settings()
    out = args.out or Path("runs") / f"{args.env_id}-{args.algorithm}-{args.seed}"
    out.mkdir(parents=True, exist_ok=True)
    env_kwargs = {**settings.env, **args.arguments()}
    started = time.perf_counter()
    print(f"compiling kernels of {args.env_id} (a few seconds the first time on a machine) ...", flush=True)
    seed = args.seed * settings.num_envs
    training_kwargs = {"split": "train", **settings.training_env, **env_kwargs}
    env = stacked(make_sb3_vec_env(args.env_id, settings.num_envs, seed, **training_kwargs), settings.frame_stack)
    unseen = unseen_env(args.env_id, args.eval_episodes, settings.frame_stack, **env_kwargs)
    baseline = evaluate(random_policy(unseen), unseen)

    predictors = []
    if settings.predict_state:
        predictors = [StatePrediction(args.env_id, settings.num_envs, seed, **training_kwargs)]
    state_size = predictors[0].state_size if predictors else 0
    model = make_model(args.algorithm, env, settings, args.seed, out / "tensorboard", state_size)
    env.seed(seed)  # the model has set its own, with which runs would differ by a shift of their environments only
    standardise(model, settings)
    if isinstance(settings, tuned.SACSettings) and settings.expert_steps:
        show_expert(model, env, settings.expert_steps)
    curve = LearningCurve(unseen, max(settings.total_timesteps // max(args.evaluations, 1), 1))
    save_every = max(settings.total_timesteps // max(args.checkpoints, 1) // settings.num_envs, 1)
    checkpoints = Checkpoints(out / "checkpoints", save_every)
    run: dict[str, Any] = {
        "env_id": args.env_id,
        "algorithm": args.algorithm,
        "env_kwargs": env_kwargs,
        "seed": args.seed,
        "settings": dataclasses.asdict(settings),
        "network": network_to_json(Network(env.observation_space, env.action_space, state_size)),
    }
    if args.resume:
        if predictors:
            raise ValueError("a run that predicts the state cannot be gone on with: the predictor is not kept")
        curve.points = interruption.take_up(out, model, run)
    else:
        write_run(out, run)
    try:
        model.learn(
            settings.total_timesteps - model.num_timesteps, CallbackList([*predictors, curve, checkpoints]),
            progress_bar=args.progress, reset_num_timesteps=not args.resume,
        )  # fmt: skip
    except KeyboardInterrupt:
        if curve.points:
            interruption.keep(out, model, curve.points, run)
            print(f"\n{out / interruption.MODEL} has {model.num_timesteps:,} steps; --resume goes on", flush=True)
        raise
    checkpoint.save(model, out / interruption.MODEL)

    last = curve.points[-1]
    rows = {
        "trained": Summary(args.eval_episodes, last.success_rate, last.mean_return, last.normalized_performance),
        "random": baseline,
    }
    write_csv(out / interruption.CURVE, curve.points)
    title = f"{args.env_id}, {args.eval_episodes} unseen episodes"
    plot(out / "curve.png", curve.points, title, args.algorithm.upper(), baseline.success_rate)
    run["results"] = {name: dataclasses.asdict(row) for name, row in rows.items()}
    run["training_seconds"], run["wall_seconds"] = last.seconds, time.perf_counter() - started
    run["cpu_seconds"] = time.process_time()  # of the whole process, all threads: what counts on a busy machine
    write_run(out, run)
    print(f"\n{last.steps:,} steps in {last.seconds:.0f} s of training\n\n{table(rows)}\n\n{out / 'curve.png'}")
    if args.gif:
        from pbd_gym.training.record import record_gif

        path = record_gif(
            lambda o: model.predict(o, deterministic=True)[0],
            args.env_id,
            out / "agent.gif",
            frame_stack=settings.frame_stack,
            **env_kwargs,
        )
        print(path)
    env.close()
    unseen.close()
    return rows


if __name__ == "__main__":
    main(tyro.cli(TrainArgs))
