"""Blind policies: the best of many open-loop programs, which read no observation.

What such a program reaches, a task gives away: nothing had to be perceived. The search is a part of the benchmark's
protocol, so its budget and seed are constants: the same id has the same program everywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.modes import PICKER_MODES
from pbd_gym.registry import find
from pbd_gym.runtime.messages import Progress
from pbd_gym.training.settings.tuned import TUNED

SEED = 0
"""Seed of the programs, and of the first training episode that they are tried on."""
EPISODES = 200
"""Episodes of a round of the search, side by side."""
ROUNDS = (1, 5, 40)
"""Training episodes of each program in a round: 200 programs are tried once, the better ones of them again."""
PHASES = 4
"""Largest number of phases of a program."""
PERIODS = (2.0, 20.0)
"""Shortest and longest period of a swing [actions]."""
WORST = -1.0
"""Normalised performance below which an episode does not count worse: one that ruins everything says no more."""
SPREAD = 0.15
"""Standard deviation of the changes by which a varied program differs."""
COARSE = ("rows", "columns", "substeps")
"""Arguments of the id's training environment that the search takes over: programs are tried on coarse towels."""


@dataclass(frozen=True)
class Program:
    """Actions that depend on the time alone: phases of constant actions, and a swing on top of them."""

    ends: np.ndarray
    """Ends of the phases as shares of the episode, ascending up to 1, shape (phases,)."""
    moves: np.ndarray
    """Action of each phase, shape (phases, size)."""
    swing: np.ndarray
    """Amplitude of a sine, shape (size,)."""
    period: float
    """Period of the sine [actions]."""

    def actions(self, steps: int) -> np.ndarray:
        """Return the actions of an episode, shape (steps, size), float32."""
        time = np.arange(steps)
        phase = np.searchsorted(self.ends[:-1], (time + 0.5) / steps)
        wave = np.sin(2.0 * np.pi * time / self.period)[:, None] * self.swing
        return np.clip(self.moves[phase] + wave, -1.0, 1.0).astype(np.float32)

    def varied(self, rng: np.random.Generator) -> Program:
        """Return a program like this one, with other numbers."""
        ends = np.sort(np.clip(self.ends[:-1] + SPREAD * rng.standard_normal(len(self.ends) - 1), 0.0, 1.0))
        moves = np.clip(self.moves + SPREAD * rng.standard_normal(self.moves.shape), -1.0, 1.0)
        return Program(np.append(ends, 1.0), moves, self.swing, self.period)


def drawn(rng: np.random.Generator, size: int, grips: Sequence[int] = ()) -> Program:
    """Return a random program.

    Args:
        rng: random numbers.
        size: size of an action.
        grips: numbers of an action that close hands; most programs open all of them in the last phase, since a
            closed hand puts nothing down.
    """
    phases = int(rng.integers(1, PHASES, endpoint=True))
    moves = rng.uniform(-1.0, 1.0, (phases, size))
    extreme, still = rng.random((2, phases, 1)) < 0.3
    moves = np.where(extreme, np.sign(moves), moves)
    moves[:, np.setdiff1d(np.arange(size), grips)] *= ~still
    if rng.random() < 0.75:
        moves[-1, list(grips)] = -1.0
    swing = rng.uniform(-1.0, 1.0, size) * (rng.random() < 0.25)
    swing[list(grips)] = 0.0
    return Program(np.append(np.sort(rng.random(phases - 1)), 1.0), moves, swing, float(rng.uniform(*PERIODS)))


def rate(env: TaskVectorEnv, programs: Sequence[Program], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Run programs from training starts, each in equally many environments of a batch.

    Args:
        env: the batch, with a time limit and autoreset in the next step.
        programs: the programs; their number divides that of the environments.
        seed: seed of the first episode.

    Returns:
        The success rate and the mean normalised performance of each at the last step, shape (programs,) each.
    """
    steps = env.max_episode_steps or 0
    each = env.num_envs // len(programs)
    actions = np.repeat(np.stack([program.actions(steps) for program in programs]), each, axis=0)
    env.reset(seed=seed)
    over, success, final = np.zeros(env.num_envs, bool), np.zeros(env.num_envs, bool), np.zeros(env.num_envs)
    progress = Progress(f"{len(programs)} blind programs, steps", steps)
    for step in range(steps):
        _, _, terminated, truncated, info = env.step(actions[:, step])
        final = np.where(over, final, info["normalized_performance"])
        success = np.where(over, success, info["is_success"])
        over |= terminated | truncated
        progress.step()
    rows = (len(programs), each)
    return success.reshape(rows).mean(axis=1), np.maximum(final, WORST).reshape(rows).mean(axis=1)


def search(env_id: str) -> np.ndarray:
    """Return the actions of the best open-loop program of an id, shape (steps, size), float32.

    200 random programs run from one training start each. The best tenth and a variation of each run from five others,
    the best five of these from forty. Success comes first, normalised performance second.

    Args:
        env_id: environment.

    Raises:
        ValueError: for an unknown id.
    """
    env: Any = gym.make_vec(find(env_id).id, EPISODES, **coarse_arguments(env_id)).unwrapped
    try:
        return best_program(env).actions(env.max_episode_steps)
    finally:
        env.close()


def coarse_arguments(env_id: str) -> dict[str, Any]:
    """Return the environment arguments of the search: the coarse towel that agents of the id are trained on, if any."""
    tuned = TUNED.get(find(env_id).id)
    trained = dict(tuned.ppo.training_env) if tuned and tuned.ppo else {}
    return {name: trained[name] for name in COARSE if name in trained}


def best_program(env: TaskVectorEnv) -> Program:
    """Return the best program in a batch of training episodes; see :func:`search`."""
    rng, size = np.random.default_rng(SEED), env.actions.size
    grips = range(3, size, 4) if env.action_mode in PICKER_MODES else ()
    programs = [drawn(rng, size, grips) for _ in range(env.num_envs // ROUNDS[0])]
    for number, each in enumerate(ROUNDS):
        kept = programs[: env.num_envs // each]
        if number == 1:
            kept = [one for found in programs[: len(kept) // 2] for one in (found, found.varied(rng))]
        success, final = rate(env, kept, SEED + number * env.num_envs)
        programs = [kept[index] for index in np.lexsort((-final, -success))]
    return programs[0]


class BlindActor:
    """Acts by the best open-loop program of an id, the same in every environment.

    Args:
        actions: result of :func:`search`, shape (steps, size).
    """

    def __init__(self, actions: np.ndarray) -> None:
        self._actions, self._step = actions, 0

    @property
    def digest(self) -> str:
        """SHA-256 of the actions as little-endian float32, hexadecimal."""
        return hashlib.sha256(self._actions.astype("<f4").tobytes()).hexdigest()

    def __call__(self, env: Any, observation: Any, begins: bool) -> np.ndarray:
        """Return actions, shape (num_envs, size), float32; the last one if an episode goes on."""
        self._step = 0 if begins else self._step + 1
        return np.repeat(self._actions[[min(self._step, len(self._actions) - 1)]], env.num_envs, axis=0)
