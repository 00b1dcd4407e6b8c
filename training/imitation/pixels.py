"""Teach an agent that sees pictures what one that sees the state knows.

python -m pbd_gym.training.imitation.pixels PBDClothDrop-v0
pbd-gym benchmark PBDClothDrop-v0 --policy runs/pixels/PBDClothDrop-v0/model.zip

The student acts, the teacher supplies its own actions (DAgger: Ross et al. 2011, doi:10.48550/arXiv.1011.0686), and the
student's network also predicts the state behind the pictures. The result is a run like those of ``pbd-gym train``.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import torch
import tyro
from stable_baselines3.common.base_class import BaseAlgorithm
from torch import Tensor, nn

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.spaces.pixels import Pixels
from pbd_gym.envs.tools.sb3 import make_sb3_vec_env, stacked
from pbd_gym.registry import find
from pbd_gym.runtime.checks import whole
from pbd_gym.training.agents.policies import MLPPolicy, find_policy
from pbd_gym.training.agents.sb3_models import make_model
from pbd_gym.training.episodes.cameras import Cameras
from pbd_gym.training.episodes.evaluation import Summary, Unseen, evaluate
from pbd_gym.training.imitation.refinement import training_world
from pbd_gym.training.runs import checkpoint, run_files
from pbd_gym.training.settings import tuned
from pbd_gym.training.settings.algorithms import PPOSettings
from pbd_gym.training.settings.arguments import check_seeds

MEASURED = 1000
"""Number of pictures from which the mean picture and its spread are computed."""


@dataclass(kw_only=True)
class Args:
    """Teach an agent that sees pictures what another one knows."""

    env_id: Annotated[str, tyro.conf.Positional]
    """environment"""
    teacher: str | None = None
    """policy file NAME.npz, or the id of a bundled one: by default that of the environment"""
    out: Path | None = None
    """folder to write, runs/pixels/ID by default"""
    rounds: int = 6
    """rounds in which each environment plays an episode, and the student learns from all so far"""
    abreast: int = 100
    """environments side by side"""
    noise: tuple[float, ...] = (0.0, 0.1, 0.3)
    """standard deviations of the noise on the teacher's actions in the first round, used in turn"""
    epochs: int = 4
    """passes over all episodes after each round; three times as many after the last"""
    batch_size: int = 128
    """moments per gradient"""
    learning_rate: float = 1e-3
    """learning rate of Adam at the beginning of each round; it falls to zero along a half cosine"""
    state_weight: float = 0.3
    """weight of the error of the (standardised) state relative to that of the actions"""
    shift: int = 0
    """largest random shift of pictures in pixels (DrQ: Kostrikov et al. 2020, doi:10.48550/arXiv.2004.13649); useless
    if exact places matter and the camera is fixed
    """
    starts: int = 500
    """start states in the bank, four fifths of which are trained on, if the task has one"""
    seed: int = 0
    """seed of the network and the episodes"""
    eval_episodes: int = 100
    """unseen episodes on which the student is evaluated"""


@dataclass(frozen=True)
class Lesson:
    """Episodes of a batch, step by step."""

    pictures: np.ndarray
    """Camera pictures, shape (steps, num_envs, channels, height, width), uint8."""
    states: Tensor
    """Teacher's observations, standardised, shape (steps, num_envs, numbers), float32."""
    actions: Tensor
    """Teacher's actions, shape (steps, num_envs, numbers), float32."""

    def stacks(self, steps: np.ndarray, envs: np.ndarray, frames: int) -> np.ndarray:
        """Return some moments with their predecessors, shape (moments, frames * channels, height, width), uint8.

        Frames before an episode are black, as in Stable-Baselines3.
        """
        parts = []
        for age in reversed(range(frames)):
            part = self.pictures[np.maximum(steps - age, 0), envs]
            part[steps < age] = 0
            parts.append(part)
        return np.concatenate(parts, axis=1)


class Classroom:
    """A teacher, its environments, and a student.

    Args:
        args: settings of the teaching.
        teacher: policy to learn from.
        settings: settings of the student's network and cameras.
    """

    def __init__(self, args: Args, teacher: MLPPolicy, settings: PPOSettings) -> None:
        self.args, self.teacher, self.frames = args, teacher, settings.frame_stack
        self.env_kwargs = {"obs_mode": "rgb", **settings.env}
        pixels = Pixels(**settings.env.get("pixels", {}))
        world = training_world(teacher.env_id, args.starts, teacher.env_kwargs)
        env: Any = gym.make_vec(teacher.env_id, args.abreast, **world)
        self.env: TaskVectorEnv = env
        self.cameras = Cameras(self.env, pixels)
        shown = stacked(make_sb3_vec_env(teacher.env_id, 2, 0, **self.env_kwargs), self.frames)
        self.network = run_files.network_to_json(run_files.Network(shown.observation_space, shown.action_space))
        self.student: BaseAlgorithm = make_model("ppo", shown, settings, args.seed, None)
        policy: Any = self.student.policy
        self.head = nn.Linear(policy.features_dim, len(teacher.mean))
        self.lessons: list[Lesson] = []

    def see(self) -> np.ndarray:
        """Return the pictures of all cameras, shape (num_envs, channels, height, width), uint8."""
        views = np.concatenate(list(self.cameras.look().values()), axis=-1)
        return np.ascontiguousarray(views.transpose(0, 3, 1, 2))

    def play(self) -> float:
        """Play an episode in every environment, without learning, and return the share of successes.

        In the first round the teacher acts, with noise. Then the student does: in half of the environments to the end,
        in the other half up to some moment.
        """
        env, args, teacher, first = self.env, self.args, self.teacher, not self.lessons
        seed = args.seed + env.num_envs * len(self.lessons)
        random = np.random.default_rng(seed)
        observation, limit = env.reset(seed=seed)[0], env.max_episode_steps or 0
        until = limit * random.uniform(0.0, 2.0, env.num_envs)
        noise = np.resize(args.noise, env.num_envs)[:, None]
        pictures, states, actions = [], [], []
        success = np.zeros(env.num_envs, dtype=bool)
        for step in range(limit):
            best = teacher(observation)
            pictures.append(self.see())
            states.append(np.clip((observation - teacher.mean) / teacher.spread, -5.0, 5.0).astype(np.float32))
            actions.append(best)
            if first:
                other = best + noise * random.standard_normal(best.shape)
            else:
                recent = [pictures[k] if k >= 0 else 0 * pictures[0] for k in range(step - self.frames + 1, step + 1)]
                other = self.student.predict(np.concatenate(recent, axis=1), deterministic=True)[0]
            action = np.where((step <= until)[:, None], np.clip(other, -1.0, 1.0), best)
            observation, _, _, _, info = env.step(action.astype(np.float32))
            success = info["is_success"].copy()
        states_, actions_ = (torch.as_tensor(np.stack(rows)) for rows in (states, actions))
        self.lessons.append(Lesson(np.stack(pictures), states_, actions_))
        if first:
            policy: Any = self.student.policy
            steps, envs = (random.integers(0, size, MEASURED) for size in (limit, env.num_envs))
            steps = np.maximum(steps, self.frames - 1)
            policy.features_extractor.measure(torch.as_tensor(self.lessons[0].stacks(steps, envs, self.frames)))
        return float(success.mean())

    def learn(self, epochs: int) -> tuple[float, float]:
        """Make some passes over all lessons; returns the mean squared errors of actions and states in the last pass."""
        policy: Any = self.student.policy
        parameters = [*policy.parameters(), *self.head.parameters()]
        limit, num_envs = self.lessons[0].pictures.shape[:2]
        count, size = len(self.lessons) * limit * num_envs, self.args.batch_size
        adam = torch.optim.Adam(parameters, self.args.learning_rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, epochs * (count // size))
        errors = np.zeros(2)
        for _ in range(epochs):
            errors[:] = 0.0
            for rows in torch.randperm(count).numpy()[: count // size * size].reshape(-1, size):
                seen, actions, states = self.moments(rows)
                features = policy.features_extractor.features(seen)
                acted = policy.action_net(policy.mlp_extractor.forward_actor(features))
                parts = nn.functional.mse_loss(acted, actions), nn.functional.mse_loss(self.head(features), states)
                adam.zero_grad()
                (parts[0] + self.args.state_weight * parts[1]).backward()
                adam.step()
                schedule.step()
                errors += [part.item() for part in parts]
        return tuple((errors / (count // size)).tolist())

    def moments(self, rows: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
        """Return pictures, the teacher's actions and its states for some moments, by index."""
        limit, num_envs = self.lessons[0].pictures.shape[:2]
        lesson, rest = np.divmod(np.sort(rows), limit * num_envs)
        step, env = np.divmod(rest, num_envs)
        found = []
        for k in np.unique(lesson):
            one, steps, envs = self.lessons[k], step[lesson == k], env[lesson == k]
            found.append(
                (
                    torch.as_tensor(one.stacks(steps, envs, self.frames)),
                    one.actions[steps, envs],
                    one.states[steps, envs],
                )
            )
        seen, actions, states = (torch.cat(parts) for parts in zip(*found, strict=True))
        return self.shifted(seen.float()), actions, states

    def shifted(self, pictures: Tensor) -> Tensor:
        """Return pictures randomly shifted by some pixels, all alike; the rim is repeated into the gap."""
        if self.args.shift == 0:
            return pictures
        most, (height, width) = self.args.shift, pictures.shape[2:]
        y, x = torch.randint(0, 2 * most + 1, (2,)).tolist()
        return nn.functional.pad(pictures, [most] * 4, mode="replicate")[:, :, y : y + height, x : x + width]

    def examine(self) -> Summary:
        """Evaluate the student on unseen episodes."""
        env = Unseen(self.teacher.env_id, self.args.eval_episodes, self.frames, **self.env_kwargs)
        found = evaluate(lambda seen: self.student.predict(seen, deterministic=True)[0], env)
        env.close()
        return found


def main(args: Args) -> Summary:
    """Teach, evaluate on unseen episodes, and write the run.

    Raises:
        ValueError: for a teacher of another environment, a count of zero, which would leave an untrained agent, or a
        seed whose episodes are reserved for evaluation.
    """
    for name in ("rounds", "abreast", "epochs", "batch_size", "starts", "eval_episodes"):
        whole(name, getattr(args, name), 1)
    whole("shift", args.shift, 0)
    check_seeds(args.seed, args.abreast * args.rounds)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    began, env_id = time.perf_counter(), find(args.env_id).id
    teacher = find_policy(args.teacher or env_id)
    if teacher.env_id != env_id:
        raise ValueError(f"the teacher knows {teacher.env_id}, not {env_id}")
    settings = dataclasses.replace(tuned.PIXELS.get(env_id, tuned.PIXELS_FALLBACK), predict_state=False)
    room = Classroom(args, teacher, settings)
    for turn in range(args.rounds):
        won = room.play()
        errors = room.learn(args.epochs * (3 if turn == args.rounds - 1 else 1))
        print(
            f"round {turn + 1}: {won:.0%} success {'of the student' if turn else 'with noise'}, errors of actions "
            f"{errors[0]:.4f} and states {errors[1]:.4f}, {time.perf_counter() - began:.0f} s",
            flush=True,
        )
    room.env.close()
    found, out = room.examine(), args.out or Path("runs/pixels") / env_id
    out.mkdir(parents=True, exist_ok=True)
    checkpoint.save_weights(room.student, out / "model.zip")
    run_files.write_run(
        out,
        {
            "env_id": env_id, "env_kwargs": room.env_kwargs, "algorithm": "ppo", "seed": args.seed,
            "settings": dataclasses.asdict(settings), "network": room.network,
            "final": dataclasses.asdict(found),
        },
    )  # fmt: skip
    print(f"{out / 'model.zip'}: {found.success_rate:.0%} success, {found.normalized_performance:.3f}")
    return found


if __name__ == "__main__":
    main(tyro.cli(Args))
