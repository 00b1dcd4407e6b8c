"""Imitates the expert of a task: a clone of demonstrations, which PPO then refines.

python -m pbd_gym.training.imitation PBDClothFold-v0

Demonstrations are disturbed, so that they show how to go on from errors (DART: Laskey et al. 2017,
doi:10.48550/arXiv.1703.09327), or corrected where the clone itself goes (DAgger: Ross et al. 2011,
doi:10.48550/arXiv.1011.0686). Agents see ``obs_mode="memory"``, since scripts act on what they have begun. Then comes
:mod:`pbd_gym.training.refinement`.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import torch
import tyro

from pbd_gym.envs.core.batch import TaskVectorEnv
from pbd_gym.envs.core.corrections import Corrections
from pbd_gym.envs.core.experts import Script, expert_of, held_particles
from pbd_gym.envs.core.observations import ObsMode
from pbd_gym.registry import find
from pbd_gym.runtime.checks import number, whole
from pbd_gym.training.agents.pointing import pointing_of
from pbd_gym.training.agents.policies import MLPPolicy, load_policy
from pbd_gym.training.learners.fitting import FitArgs, fitted_policy
from pbd_gym.training.refinement import RefinementArgs, check_refinable, refine, training_world, written
from pbd_gym.training.settings.arguments import check_seeds, episode_arguments
from pbd_gym.training.symmetry.canonical import canonical_images
from pbd_gym.training.symmetry.images import Images

NOISY = 0.8
"""Share of an episode in which there may be noise."""
STILL = 1e-3
"""Largest action of a hand that stays where it is."""


@dataclass(kw_only=True)
class Args(FitArgs):
    """Imitate the expert of a task."""

    env_id: Annotated[str, tyro.conf.Positional]
    """environment"""
    out: Path | None = None
    """file to write, runs/imitated/ID.npz by default"""
    start: Path | None = None
    """file NAME.npz of a clone of the same shape that goes on: it acts in the demonstrations, as in corrections; give
    another --seed than it has had"""
    demonstrations: int = 1000
    """episodes of the expert; those without noise and without success are left out"""
    noise: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2)
    """standard deviations of the noise on its actions, in turn; each goes on to a moment within the first four fifths
    of the episode, so that the expert is seen to finish, too, unless it is steady"""
    steady: bool = False
    """let the noise go on to the end"""
    release: int = 0
    """actions at the end of an episode in which pickers let go whatever the expert does, and stay where they are: a
    clone that is a little beside the place where its expert lets go would wait there for ever"""
    corrections: int = 0
    """rounds of episodes in which the clone acts and learns what the expert would have done; for experts that go by
    what they see, not for those with a plan"""
    corrected: float = 0.2
    """episodes of such a round, as a share of the demonstrations"""
    handed: float = 0.5
    """share of them in which the expert takes over at a moment"""
    idle: float = 1.0
    """share of the steps to learn from in which empty hands of pickers stay where they are: where the expert is done
    early, there are so many of them that what it does before counts for little; but all in which pickers let go"""
    canonical: bool = False
    """act in canonical images (:mod:`pbd_gym.training.symmetry.canonical`), for tasks with symmetries and goals"""
    near: bool = False
    """see how far hands are from keypoints and goals, cut off at 3 cm, for tasks with goals; those who act in canonical
    images do"""
    point: bool = False
    """choose what each hand goes to, or where it takes what it holds, instead of how it moves
    (:mod:`pbd_gym.training.agents.pointing`)"""
    full_speed: bool = False
    """hands that point go as fast as they can, where the expert is never slow for a reason"""
    abreast: int = 100
    """episodes that run side by side"""
    obs_mode: ObsMode = "memory"
    """what the agent sees"""
    epochs: int = 20
    """passes over the data"""
    last_epochs: int = 0
    """passes over them after the last round of corrections; 0 for no more than before"""
    batch_size: int = 256
    """steps per gradient"""
    env_kwargs: dict[str, str] = field(default_factory=dict)
    """arguments of the environment, for example --env-kwargs rows 8 columns 8"""
    refinement: RefinementArgs = field(default_factory=RefinementArgs)
    """what follows"""


def _idle(env: TaskVectorEnv, actions: np.ndarray) -> np.ndarray:
    """Return where empty hands of pickers stay open and where they are, bool, shape (num_envs,)."""
    if env.action_mode != "picker":
        return np.zeros(env.num_envs, dtype=bool)
    hands = actions.reshape(env.num_envs, -1, 4)
    stay = (np.abs(hands[..., :3]) < STILL).all(axis=2) & (hands[..., 3] < 0.0) & (held_particles(env) < 0)
    return np.asarray(stay.all(axis=1))


def demonstrate(
    env: TaskVectorEnv, first_seed: int, noise: np.ndarray, args: Args, learner: MLPPolicy | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Run one episode of the expert in each environment.

    Args:
        env: the batch, with autoreset in the next step, and a time limit.
        first_seed: environment ``i`` gets ``first_seed + i``.
        noise: standard deviation of the noise on the actions of each environment, shape (num_envs,).
        args: how long it goes on, when the expert takes over from a learner, and when pickers let go.
        learner: who acts instead of the noise.

    Returns:
        Observations, shape (steps, size); the actions that the expert meant, shape (steps, actions); and which
        episodes ended in success, shape (num_envs,). Without noise, those that did not are left out, unless a learner
        acted.
    """
    random, expert = np.random.default_rng(first_seed), expert_of(env)
    if isinstance(expert, Script) and env.action_mode == "picker":
        expert = Corrections(expert)
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


def _check(args: Args) -> None:
    """Check what can be told without an environment, which may take a minute to be made.

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
        raise ValueError("an agent that sees what hands are near to learns from no other images")
    if args.point and args.refinement.images:
        raise ValueError("an agent that points learns from no images: they would be images of moves, not of choices")


def _start(args: Args, env_id: str) -> MLPPolicy | None:
    """Return the clone that goes on, None for a new one.

    Raises:
        ValueError: for one of another shape than the arguments say.
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
            raise ValueError(f"a clone goes on as it is: {args.start} has {name} {one}, and you ask for {other}")
    return policy


def clone(args: Args) -> MLPPolicy:
    """Return a clone of the expert.

    Raises:
        ValueError: for a task without an expert, or one that does not succeed, for arguments of the environment that
            are chosen here, or that contradict each other, for a seed with which episodes would begin that are kept
            for evaluation, and as :func:`pbd_gym.training.symmetry.canonical.canonical_images` and
            :class:`pbd_gym.training.symmetry.images.Images`.
    """
    _check(args)
    began, env_id = time.perf_counter(), find(args.env_id).id
    kwargs = ({} if args.obs_mode == "keypoints" else {"obs_mode": args.obs_mode}) | episode_arguments(args.env_kwargs)
    policy = _start(args, env_id)
    rounds = -(-args.demonstrations // args.abreast)
    rounds_corrected = math.ceil(args.corrected * rounds)
    check_seeds(args.seed, args.abreast * (rounds + args.corrections * rounds_corrected))
    env: Any = gym.make_vec(args.env_id, args.abreast, **training_world(env_id, args.refinement.starts, kwargs))
    noise = np.resize(args.noise, env.num_envs)
    # Before the demonstrations: tasks without symmetries are refused here.
    canonical = canonical_images(env, args.canonical) if args.canonical or args.near else None
    images = Images(env, torch.device("cpu")) if args.refinement.images else None
    pointing = pointing_of(env, args.full_speed) if args.point else None
    lessons: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for turn in range(1 + args.corrections):
        seeds = args.seed + env.num_envs * (len(lessons) + np.arange(rounds if turn == 0 else rounds_corrected))
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


def main(args: Args) -> MLPPolicy:
    """Clone, refine, and write the policy for ``pbd-gym enjoy``.

    Raises:
        ValueError: as :func:`clone`.
    """
    torch.set_num_threads(1)
    return written(refine(clone(args), args.refinement), args.out, "imitated")


if __name__ == "__main__":
    main(tyro.cli(Args))
