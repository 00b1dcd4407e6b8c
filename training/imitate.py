"""Imitate the expert of a task: a clone of demonstrations, which PPO then refines.

pbd-gym imitate PBDClothFold-v0

Demonstrations are disturbed, so that they show how to recover from errors (DART: Laskey et al. 2017,
doi:10.48550/arXiv.1703.09327), or corrected along the clone's own paths (DAgger: Ross et al. 2011,
doi:10.48550/arXiv.1011.0686). Agents see ``obs_mode="memory"``, since scripts depend on what they have begun. Then
:mod:`pbd_gym.training.imitation.refinement` follows.
"""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.parts.corrections import Corrections
from pbd_gym.envs.core.parts.experts import Script, expert_of, held_particles
from pbd_gym.registry import find
from pbd_gym.runtime.checks import number, whole
from pbd_gym.training.agents.pointing import pointing_of
from pbd_gym.training.agents.policies import MLPPolicy, load_policy
from pbd_gym.training.episodes.evaluation import Summary, Unseen, evaluate, random_policy, table
from pbd_gym.training.imitation.refinement import check_refinable, refine, training_world
from pbd_gym.training.learners.fitting import fitted_policy
from pbd_gym.training.reports.curves import Point, write_csv
from pbd_gym.training.runs.run_files import write_run
from pbd_gym.training.settings.algorithms import IMITATION
from pbd_gym.training.settings.arguments import check_seeds, episode_arguments
from pbd_gym.training.settings.imitation import ImitateArgs
from pbd_gym.training.symmetry.canonical import canonical_images
from pbd_gym.training.symmetry.images import Images

NOISY = 0.8
"""Share of an episode during which there may be noise."""
STILL = 1e-3
"""Largest action of a hand that counts as still."""
EPISODES = 100_000
"""Offset between the episode seeds of successive run seeds."""


def _idle(env: TaskVectorEnv, actions: np.ndarray) -> np.ndarray:
    """Return where empty hands in picker mode stay open and still, bool, shape (num_envs,)."""
    if env.action_mode != "picker":
        return np.zeros(env.num_envs, dtype=bool)
    hands = actions.reshape(env.num_envs, -1, 4)
    stay = (np.abs(hands[..., :3]) < STILL).all(axis=2) & (hands[..., 3] < 0.0) & (held_particles(env.world) < 0)
    return np.asarray(stay.all(axis=1))


def demonstrate(
    env: TaskVectorEnv, first_seed: int, noise: np.ndarray, args: ImitateArgs, learner: MLPPolicy | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Run one episode of the expert in each environment.

    Args:
        env: the batch, with autoreset in the next step, and a time limit.
        first_seed: environment ``i`` gets ``first_seed + i``.
        noise: standard deviation of the noise on the actions of each environment, shape (num_envs,).
        args: duration of the episodes, when the expert takes over from a learner, and when hands release.
        learner: policy that acts instead of the noise.

    Returns:
        Observations, shape (steps, size); the actions that the expert intended, shape (steps, actions); and which
        episodes ended in success, shape (num_envs,). Without noise, the others are dropped, unless a learner acted.
    """
    random, expert = np.random.default_rng(first_seed), expert_of(env)
    if isinstance(env.task.expert, Script) and env.action_mode == "picker":
        expert = Corrections(env.task.expert, env.world)
    observation = env.reset(seed=first_seed)[0]
    limit = env.max_episode_steps or 0
    alone = args.handed == 0.0 if learner else args.steady
    longest = 1.0 / args.handed if learner and not alone else NOISY
    until = np.where(alone, limit, limit * random.uniform(0.0, longest, env.num_envs))
    over, success = np.zeros(env.num_envs, dtype=bool), np.zeros(env.num_envs, dtype=bool)
    seen, meant, goes_on, idle = [], [], [], []
    while not over.all():
        best = np.clip(expert(), -1.0, 1.0)
        lets_go = len(meant) >= limit - args.release and env.action_mode == "picker"
        if lets_go:
            best[:] = np.tile((0.0, 0.0, 0.0, -1.0), env.actions.grip_count)
        seen.append(observation)
        meant.append(best)
        goes_on.append(~over)
        if args.idle < 1.0:
            idle.append(_idle(env, best) & (not lets_go))
        other = learner(observation) if learner else best + noise[:, None] * random.standard_normal(best.shape)
        action = np.where((len(meant) <= until)[:, None], np.clip(other, -1.0, 1.0), best)
        observation, _, terminated, truncated, info = env.step(action.astype(np.float32))
        success = np.where(over, success, info["is_success"])
        over |= terminated | truncated
    kept = np.array(goes_on) & (success | (noise > 0.0) | (learner is not None))
    if args.idle < 1.0:
        kept &= ~np.array(idle) | (random.random(kept.shape) < args.idle)
    return np.array(seen)[kept], np.array(meant)[kept].astype(np.float32), success


def _check(args: ImitateArgs) -> None:
    """Check what can be checked without an environment, which may take a minute to make.

    Raises:
        ValueError: for a number out of range, or arguments that contradict each other.
    """
    whole("last_epochs", args.last_epochs, 0)
    number("corrected", args.corrected, 0.0, 1e3, positive=True), number("handed", args.handed, 0.0, 1.0)
    if args.refinement.steps:
        check_refinable(args.point, args.activation)
    if args.full_speed and not args.point:
        raise ValueError("full_speed is for agents that point")
    if (args.canonical or args.near) and args.refinement.images:
        raise ValueError("an agent that sees the nearness of hands learns from no other images")
    if args.point and args.refinement.images:
        raise ValueError("an agent that points learns from no images: they would be images of moves, not of choices")


def _rounds(args: ImitateArgs) -> tuple[int, int]:
    """Return the number of batches of demonstration episodes, and the number in a round of corrections."""
    rounds = -(-args.demonstrations // args.abreast)
    return rounds, math.ceil(args.corrected * rounds)


def episodes(args: ImitateArgs) -> int:
    """Return the number of episodes to learn from, including those of corrections."""
    rounds, corrected = _rounds(args)
    return args.abreast * (rounds + args.corrections * corrected)


def _start(args: ImitateArgs, env_id: str) -> MLPPolicy | None:
    """Return the clone to continue from, None for a new one.

    Raises:
        ValueError: for a clone whose shape differs from the arguments.
    """
    if args.start is None:
        return None
    policy = load_policy(args.start)
    ways = (policy.pointing is not None, policy.canonical is not None)
    hidden = tuple(len(bias) for bias in policy.biases[:-1])
    has = (policy.env_id, *ways, hidden, policy.activation)
    asked = (env_id, args.point, args.canonical or args.near, args.hidden, args.activation)
    for name, one, other in zip(("id", "point", "canonical or near", "hidden", "activation"), has, asked, strict=True):
        if one != other:
            raise ValueError(f"a clone continues unchanged: {args.start} has {name} {one}, and you ask for {other}")
    return policy


def clone(args: ImitateArgs) -> MLPPolicy:
    """Return a clone of the expert.

    Raises:
        ValueError: for a task without an expert, or one that does not succeed, for environment arguments that are
        chosen here, or that contradict each other, for a seed whose episodes are reserved for evaluation, and as
        :func:`pbd_gym.training.symmetry.canonical.canonical_images` and
            :class:`pbd_gym.training.symmetry.images.Images`.
    """
    _check(args)
    began, env_id = time.perf_counter(), find(args.env_id).id
    kwargs = ({} if args.obs_mode == "keypoints" else {"obs_mode": args.obs_mode}) | episode_arguments(args.env_kwargs)
    policy = _start(args, env_id)
    rounds, rounds_corrected = _rounds(args)
    first = args.seed * EPISODES
    check_seeds(first, episodes(args))
    world = {"device": args.device, **training_world(env_id, args.refinement.starts, kwargs)}
    env: Any = gym.make_vec(args.env_id, args.abreast, **world)
    noise = np.resize(args.noise, env.num_envs)
    # Before the demonstrations: tasks without symmetries are refused here.
    canonical = canonical_images(env, args.canonical) if args.canonical or args.near else None
    images = Images(env, torch.device(args.device)) if args.refinement.images else None
    pointing = pointing_of(env, args.full_speed) if args.point else None
    lessons: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for turn in range(1 + args.corrections):
        seeds = first + env.num_envs * (len(lessons) + np.arange(rounds if turn == 0 else rounds_corrected))
        found = [demonstrate(env, int(seed), noise, args, policy) for seed in seeds]
        lessons += found
        won = np.mean([success for *_, success in found], axis=0)
        if policy is None:
            rates = [f"{won[noise == size].mean():.0%} with noise {size:g}" for size in dict.fromkeys(noise.tolist())]
            print(f"{env_id}: the expert succeeds in {', '.join(rates)}", flush=True)
        else:
            print(f"{env_id}: where the clone begins, {won.mean():.0%}", flush=True)
        observations, actions = (np.concatenate([lesson[k] for lesson in lessons]) for k in range(2))
        if not len(observations):
            raise ValueError(f"the expert of {env_id} did not succeed once")
        last = turn == args.corrections
        how = replace(args, epochs=args.last_epochs or args.epochs) if last else args
        policy = fitted_policy(env_id, kwargs, observations, actions, how, policy, images, canonical, pointing)
        print(f"{len(observations):,} steps learnt, {time.perf_counter() - began:.0f} s", flush=True)
    env.close()
    assert policy is not None
    return policy


def main(args: ImitateArgs) -> dict[str, Summary]:
    """Clone, refine, evaluate, and write the agent ``model.npz``, ``run.json`` and ``curve.csv``, which has one point.

    Its steps are those of all demonstrations and of a full refinement, which may have stopped earlier.

    Returns:
        The final evaluation of the agent and of a random policy.

    Raises:
        ValueError: as :func:`clone` and :func:`pbd_gym.training.imitation.refinement.refine`.
    """
    torch.set_num_threads(1)
    began = time.perf_counter()
    refinement = replace(args.refinement, seed=args.refinement.seed or args.seed)
    policy = refine(clone(args), refinement, args.device)
    seconds = time.perf_counter() - began
    unseen = Unseen(policy.env_id, args.eval_episodes, **{"device": args.device, **policy.env_kwargs})
    rows = {"trained": evaluate(policy, unseen), "random": evaluate(random_policy(unseen), unseen, name="random")}
    unseen.close()
    found, limit = rows["trained"], unseen.batch.max_episode_steps or 0
    success, performance = found.success_rate, found.normalized_performance
    policy = replace(policy, success_rate=success, normalized_performance=performance)
    policy.save(args.folder / "model.npz")
    point = Point(episodes(args) * limit + refinement.steps, seconds, success, performance, found.mean_return)
    write_csv(args.folder / "curve.csv", [point])
    write_run(
        args.folder,
        {
            "env_id": policy.env_id, "algorithm": IMITATION, "env_kwargs": policy.env_kwargs, "seed": args.seed,
            "settings": args.settings(), "results": {name: dataclasses.asdict(row) for name, row in rows.items()},
            "training_seconds": seconds, "cpu_seconds": time.process_time(),
        },
    )  # fmt: skip
    print(f"\n{seconds:.0f} s\n\n{table(rows)}\n\n{args.folder / 'model.npz'}")
    return rows
