"""The arguments of commands: nothing here imports torch, Stable-Baselines3 or Warp, so that ``--help`` is fast."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from pbd_gym.envs.core.data.presets import with_defaults
from pbd_gym.training.settings import large_batches, tuned
from pbd_gym.training.settings.algorithms import (
    IN_TORCH,
    Algorithm,
    Approach,
    Library,
    PPOSettings,
    SACSettings,
    Settings,
    run_name,
)
from pbd_gym.training.settings.arguments import UNSEEN_SEED, episode_arguments


def option(name: str) -> str:
    """Return a field's name on the command line."""
    return f"--{name.replace('_', '-')}"


@dataclass
class TrainArgs:
    """Train an agent. Defaults by id and algorithm are in pbd_gym/training/settings/tuned.py."""

    env_id: Annotated[str, tyro.conf.Positional] = "PBDCloth-v0"
    """environment to train on"""
    algorithm: Algorithm = "ppo"
    """ppo, sac, or sac-her: soft actor-critic with hindsight experience replay, which sets obs_mode to goal"""
    library: Library | None = None
    """training library: torch alone, for PPO and SAC on vectors and their default, or sb3: Stable-Baselines3, the
    default for everything else
    """
    out: Path | None = None
    """folder of the run; runs/ID-ALGORITHM-SEED by default, with -sb3 after an algorithm that torch has too"""
    seed: int = 0
    """seed of the network, the noise and the environments"""
    total_timesteps: int | None = None
    """environment steps of the whole run"""
    num_envs: int | None = None
    """environments in the batch; a thousand on a GPU by default. Other settings of learners in torch follow from it"""
    n_steps: int | None = None
    """steps per environment between updates of PPO"""
    n_epochs: int | None = None
    """passes over the samples of such an update"""
    batch_size: int | None = None
    """samples per gradient step"""
    learning_rate: float | None = None
    """learning rate of Adam at the start"""
    gamma: float | None = None
    """discount per step"""
    gae_lambda: float | None = None
    """decay of generalised advantage estimation of PPO"""
    clip_range: float | None = None
    """largest change of the probability ratio of PPO"""
    gradient_steps: int | None = None
    """gradient steps of SAC between steps of the batch"""
    buffer_size: int | None = None
    """capacity of SAC's replay buffer in steps"""
    log_std_init: float | None = None
    """logarithm of the exploration noise at the start"""
    frame_stack: int | None = None
    """number of successive observations shown to the agent at once"""
    target_success: float | None = None
    """success rate at which training ends, at the first evaluation that reaches it; other evaluations tend to find
    slightly less
    """
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
    """continue the interrupted run in the folder"""
    torch_threads: int = 1
    """threads of the learner, besides those of the physics"""
    device: str = "cpu"
    """device of the physics and of the learner in torch: cpu or cuda:0; with torchrun cuda means one GPU per process"""
    env_kwargs: dict[str, str] = field(default_factory=dict)
    """arguments of the environment, for example --env-kwargs action_mode picker max_episode_steps 60"""
    wrapper: str | None = None
    """wrapper of the environments that are trained in, such as a reward of your own: module:Name of a
    gymnasium.vector.VectorWrapper or a gymnasium.Wrapper"""
    wandb: bool = False
    """send what TensorBoard shows to Weights & Biases too, where that is installed"""
    config: Path | None = None
    """file of these arguments by name, JSON or TOML, such as the config.json that a run leaves; those of the command
    line win over it"""

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        library = self.library or "torch"
        return self.out or Path("runs") / run_name(self.env_id, self.algorithm, library, self.seed)

    def settings(self) -> Settings:
        """Return the tuned numbers of the id, overridden by those of the command line.

        Those of learners in torch are for the number of environments: :mod:`pbd_gym.training.settings.large_batches`.

        Raises:
            ValueError: for a number that belongs to another algorithm.
        """
        from pbd_gym.envs.core.data.modes import PIXEL_MODES  # imports Warp

        found = tuned.TABLE[self.algorithm].get(self.env_id, tuned.FALLBACK[self.algorithm])
        seen = self.env_kwargs.get("obs_mode")
        if seen in PIXEL_MODES and self.algorithm == "ppo":
            shown = tuned.PIXELS.get(self.env_id, tuned.PIXELS_FALLBACK)
            found = dataclasses.replace(shown, training_env=found.training_env, initial_action=found.initial_action)
        if self.wrapper is not None and isinstance(found, PPOSettings):
            found = dataclasses.replace(found, images=False)  # nobody knows whether another reward has the symmetries
        every = {f.name for kind in (PPOSettings, SACSettings) for f in dataclasses.fields(kind)}
        given = {name: value for name in every if (value := getattr(self, name, None)) is not None}
        others = sorted(given.keys() - {f.name for f in dataclasses.fields(found)})
        if others:
            raise ValueError(f"{option(others[0])} is of another algorithm than {self.algorithm}")
        if self.algorithm in IN_TORCH and self.library != "sb3" and seen not in (*PIXEL_MODES, "goal"):
            on_gpu = self.env_kwargs.get("device", self.device).startswith("cuda")
            number = self.num_envs or (large_batches.ON_GPU if on_gpu else found.num_envs)
            if isinstance(found, PPOSettings):
                found = large_batches.for_batch(self.env_id, found, number)
            elif isinstance(found, SACSettings):
                found = large_batches.soft_for_batch(found, number)
        return dataclasses.replace(found, **given)

    def everything(self) -> tuple[Settings, dict[str, Any], dict[str, Any]]:
        """Return the settings, the arguments of the environment, and those of the training environment.

        Raises:
            ValueError: as :meth:`settings` and :meth:`arguments`.
        """
        settings = self.settings()
        env_kwargs = {**settings.env, **self.arguments()}
        return settings, env_kwargs, with_defaults({"split": "train", **settings.training_env}, env_kwargs)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the environment, numbers as numbers.

        Raises:
            ValueError: for hindsight experience replay with another obs_mode than goal, and as
                :func:`pbd_gym.training.settings.arguments.episode_arguments`.
        """
        given = episode_arguments(self.env_kwargs)
        if self.algorithm == "sac-her":
            if given.setdefault("obs_mode", "goal") != "goal":
                raise ValueError(f"sac-her needs obs_mode goal, got {given['obs_mode']!r}")
        return given


@dataclass
class SweepArgs:
    """Train ids, algorithms and seeds side by side."""

    env_ids: Annotated[tuple[str, ...], tyro.conf.Positional]
    """environments"""
    algorithms: tuple[Approach, ...] = ("ppo",)
    """algorithms of pbd-gym train, and imitation: pbd-gym imitate"""
    libraries: tuple[Library, ...] = ("torch",)
    """libraries for PPO and SAC: torch, sb3 or both"""
    seeds: tuple[int, ...] = (0, 1, 2)
    """seeds, one run each"""
    cores: int = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    """cores in use: runs at a time times cores per run"""
    cores_per_run: int = 1
    """threads of the physics in each run"""
    out: Path = Path("runs/sweep")
    """folder of the runs, results.csv and the curves"""
    export: Path | None = None
    """further folder for results.csv, curves as PNG and each run's curve as CSV; rows of other runs stay"""
    report_only: bool = False
    """train nothing and report the finished runs, for example while another process is still training"""
    ray: str | None = None
    """address of a Ray cluster that does the work: auto, local, or HOST:PORT; the folder is on a disk that all share"""
    train: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """further arguments of pbd-gym train, for example --train=--total-timesteps --train=100000"""
    imitate: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """further arguments of pbd-gym imitate, for example --imitate=--demonstrations --imitate=200"""


@dataclass
class TuneArgs:
    """Search for settings of PPO in torch by Optuna. The first trial has the tuned numbers of the id."""

    env_id: Annotated[str, tyro.conf.Positional]
    """environment to train on"""
    trials: int = 20
    """trainings; those of an earlier search in the same folder count too"""
    total_timesteps: int | None = None
    """environment steps of a training"""
    num_envs: int | None = None
    """environments in the batch"""
    seeds: tuple[int, ...] = (0,)
    """seeds that each trial trains with; its score is their mean"""
    evaluations: int = 4
    """evaluations during a training, after each of which a trial that is worse than most ends"""
    eval_episodes: int = 50
    """unseen episodes per evaluation"""
    search_seed: int = 0
    """seed of the search"""
    out: Path | None = None
    """folder of the search, runs/ID-tune by default; the same again goes on"""
    device: str = "cpu"
    """device of the physics and of the learner: cpu or cuda:0"""
    ray: str | None = None
    """address of a Ray cluster that does the work: auto, local, or HOST:PORT; the folder is on a disk that all share"""
    cores: int = 1
    """cores of a training where Ray does the work"""
    env_kwargs: dict[str, str] = field(default_factory=dict)
    """arguments of the environment, for example --env-kwargs action_mode picker"""


@dataclass
class EvaluateArgs:
    """Evaluate a checkpoint on unseen seeds, beside a random policy."""

    checkpoint: Annotated[Path, tyro.conf.Positional]
    """model.npz of a training run, or model.zip with its run.json beside or above it"""
    episodes: int = 100
    """Episodes, run side by side."""
    first_seed: int = UNSEEN_SEED
    """Seed of the first episode."""
    gif: Path | None = None
    """Write a film of some episodes here."""
    trust: bool = False
    """Also read files that can run code: files not from this version of pbd-gym train."""


@dataclass
class PlanArgs:
    """Plan by the cross-entropy method. Defaults by id are in pbd_gym/training/settings/tuned.py."""

    env_id: Annotated[str, tyro.conf.Positional] = "PBDCloth-v0"
    """environment to plan in"""
    episodes: int = 5
    """episodes, planned side by side"""
    first_seed: int = UNSEEN_SEED
    """seed of the first episode"""
    seed: int = 0
    """seed of the planner"""
    candidates: int | None = None
    """sequences of actions tried at once in each episode"""
    iterations: int | None = None
    """rounds of sampling for each plan"""
    elites: int | None = None
    """best candidates that the distribution is refitted to"""
    horizon: int | None = None
    """steps that a plan looks ahead"""
    knot_every: int | None = None
    """steps between the knots of the piecewise linear actions"""
    replan_every: int | None = None
    """steps of a plan that are executed before planning again"""
    threads: int | None = None
    """threads of the planning batch"""
    gif: Path | None = None
    """write a film of up to four episodes here"""
    csv: Path | None = None
    """write the result into this table, replacing the row of the same id"""
    env_kwargs: dict[str, str] = field(default_factory=dict)
    """arguments of the environment, for example --env-kwargs rows 8 columns 8"""


@dataclass
class CollectArgs:
    """Collect demonstrations as a dataset for Minari or for LeRobot."""

    env_id: Annotated[str, tyro.conf.Positional]
    """environment to act in"""
    policy: str | None = None
    """expert (scripted), trained (the agent that comes with the package), plan (planner), a checkpoint of pbd-gym train
    (its model.zip) or a NAME.npz; by default the expert, or if the task has none the trained agent"""
    episodes: int = 100
    """episodes to write"""
    num_envs: int = 50
    """episodes that run side by side"""
    seed: int = 0
    """seed of the first episode; the others have consecutive ones"""
    split: Literal["train", "eval", "all"] = "train"
    """start states to draw from"""
    noise: float = 0.0
    """standard deviation of noise on the actions; the actions without it are kept in infos as intended_action"""
    only_success: bool = False
    """skip episodes that did not end in success; further seeds take their place"""
    format: Literal["minari", "lerobot"] = "minari"
    """format of the dataset: Farama's Minari, or version 3.0 of Hugging Face's LeRobot"""
    pixels: dict[str, str] = field(default_factory=dict)
    """also store pictures with these settings, for example --pixels size 96 shadows True"""
    out: Path | None = None
    """folder of the dataset; by default runs/datasets/ID-POLICY-v0 (Minari requires a version at the end) or
    runs/lerobot/ID-POLICY
    """
    ray: str | None = None
    """address of a Ray cluster that does the work: auto, local, or HOST:PORT; the folder is on a disk that all share"""
    env_kwargs: dict[str, str] = field(default_factory=dict)
    """arguments of the environment, for example --env-kwargs rows 8 columns 8"""
    trust: bool = False
    """also read checkpoints that can run code: files not from this version of pbd-gym train"""
