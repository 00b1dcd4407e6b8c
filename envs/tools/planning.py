"""Planning by the cross-entropy method in copies of the simulation: an oracle, since it knows the state."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pbd_gym.runtime.checks import whole

if TYPE_CHECKING:  # settings of the planner are read by the command line, which does not wait for Warp
    from pbd_gym.envs.core.base.vector_env import TaskVectorEnv


@dataclass(frozen=True)
class CEMSettings:
    """Numbers of the planner; steps are those of the environment.

    Raises:
        ValueError: for a number out of range.
    """

    candidates: int = 128
    """Sequences of actions that are simulated at once for each environment."""
    iterations: int = 3
    """Rounds of sampling and refitting for each plan."""
    elites: int = 16
    """Best candidates that the distribution is refitted to."""
    horizon: int = 20
    """Steps that a plan looks ahead."""
    knot_every: int = 4
    """Steps between knots of the piecewise linear actions in the search; 1 leaves every action free."""
    replan_every: int = 4
    """Steps of a plan that are executed before planning again."""
    start_spread: float = 0.6
    """Initial standard deviation of each number of an action."""
    least_spread: float = 0.05
    """Smallest standard deviation."""
    inertia: float = 0.1
    """Share of the old mean and spread in the new ones."""
    final_weight: float = 1.0
    """Weight of the reward at the end of the horizon, relative to the mean reward along the way."""

    def __post_init__(self) -> None:
        for name in ("candidates", "iterations", "elites", "horizon", "knot_every", "replan_every"):
            # One candidate beside the one that is kept, or there is nothing to refit to.
            whole(name, getattr(self, name), 2 if name == "candidates" else 1)
        if self.elites > self.candidates:
            raise ValueError(f"elites must be at most candidates, got {self.elites} of {self.candidates}")
        if not 0.0 <= self.inertia < 1.0:
            raise ValueError(f"inertia must be in [0, 1), got {self.inertia}")
        for name in ("start_spread", "least_spread", "final_weight"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise ValueError(f"{name} must be finite and not negative, got {getattr(self, name)}")


def twin(env: TaskVectorEnv, num_envs: int, **changes: Any) -> TaskVectorEnv:
    """Return a batch of another size that accepts the snapshots of ``env``, without a time limit.

    Args:
        env: batch to imitate. num_envs: environments of the new one.
        **changes: arguments that differ; those of the modes of action and observation may not.
    """
    config = {field.name: getattr(env.config, field.name) for field in dataclasses.fields(env.config)}
    made = {
        "device": env.model.device.alias, "obs_mode": env.obs_mode, "action_mode": env.action_mode, "split": env.split,
        "reward_mode": env.reward_mode, "randomize": env.ranges, "hand": env.world.hand_grip is not None,
    }  # fmt: skip
    if hasattr(env.observations, "pixels"):
        made["pixels"] = env.pixels
    return type(env)(num_envs, None, **{**made, **config, **changes})


class CEMPlanner:
    """Acts in every environment of a batch by model-predictive control with the cross-entropy method.

    The present of each environment is copied into ``candidates`` lanes of a second batch, in which sequences of
    actions are tried. They are drawn from a normal distribution over the knots of piecewise linear actions, which is
    refitted to the best of them a few times. The best sequence found is begun; after ``replan_every`` steps planning is
    repeated, starting from its remainder. As the model is the environment itself, the simulated future happens, to the
    bit, so a plan that is kept among the candidates cannot get worse.

    The objective is the mean reward until the horizon or the end of the episode, plus ``final_weight`` times the
    last one. The reward is the dense one, whatever mode the batch has, since sparse ones do not rank candidates.

    Same seed, same plan: environment ``i`` draws from a stream made of ``seed``, its number and that of its episode.

    Args:
        env: batch to act in, which is only read. Planning in the modes that show pictures draws them as well.
        settings: numbers of the method.
        seed: seed of the candidates.
        threads: CPU threads of the planning batch.

    References:
        R. Rubinstein, The Cross-Entropy Method for Combinatorial and Continuous Optimization, Methodology and Computing
        in Applied Probability 1 (1999), doi:10.1023/A:1010091220143. P.-T. de Boer et al., A Tutorial on the
        Cross-Entropy Method, Annals of Operations Research 134 (2005), doi:10.1007/s10479-005-5724-z. For control in a
        receding horizon: K. Chua et al., Deep Reinforcement Learning in a Handful of Trials using Probabilistic
        Dynamics Models (PETS), 2018, doi:10.48550/arXiv.1805.12114; to keep what was best: C. Pinneri et al.,
        Sample-efficient Cross-Entropy Method for Real-time Planning, 2020, doi:10.48550/arXiv.2008.06389.
    """

    def __init__(
        self, env: TaskVectorEnv, settings: CEMSettings | None = None, seed: int = 0, threads: int | None = None
    ) -> None:
        self.env = env
        self.settings = chosen = settings or CEMSettings()
        self.seed = seed
        self.branches = twin(env, env.num_envs * chosen.candidates, reward_mode="dense", threads=threads)
        """Batch in which candidates are tried; those of environment ``i`` begin at ``i * candidates``."""
        steps = np.arange(chosen.horizon) / chosen.knot_every
        self._knots = int(np.ceil(steps[-1])) + 1
        left = np.minimum(steps.astype(int), max(self._knots - 2, 0))
        weights = np.zeros((chosen.horizon, self._knots))
        weights[np.arange(chosen.horizon), left] = 1.0 - (steps - left)
        if self._knots > 1:
            weights[np.arange(chosen.horizon), left + 1] += steps - left
        self._weights = weights
        """Weight of each knot at each step of a plan, shape (horizon, knots)."""
        size = env.actions.size
        self._mean = np.zeros((env.num_envs, self._knots, size))
        self._plan = np.zeros((env.num_envs, chosen.horizon, size), dtype=np.float32)
        self._done = np.full(env.num_envs, chosen.replan_every)  # steps of each plan that have been done
        self._random = [np.random.default_rng([seed, i]) for i in range(env.num_envs)]
        self.predicted = np.zeros(env.num_envs)
        """Score of each plan when it was made."""

    def actions(self) -> np.ndarray:
        """Return the next action of every environment, shape (num_envs, size), float32. Call it before every step."""
        peek = self.env.buffers.peek
        for i in np.flatnonzero(peek("elapsed") == 0):
            self._random[i] = np.random.default_rng([self.seed, int(i), int(peek("episode")[i])])
            self._mean[i], self._plan[i], self._done[i] = 0.0, 0.0, self.settings.replan_every
        if (self._done >= min(self.settings.replan_every, self.settings.horizon)).any():
            self._make_plans()
        action = self._plan[np.arange(self.env.num_envs), self._done]
        self._done += 1
        return action

    def close(self) -> None:
        """Close the planning batch."""
        self.branches.close()

    def _make_plans(self) -> None:
        """Plan from the current state of every environment, starting from the rest of the last plans."""
        s, count = self.settings, self.env.num_envs
        present = self.env.get_state()
        limit = self.env.max_episode_steps
        left = np.full(count, s.horizon)
        if limit is not None:
            left = np.clip(limit - self.env.buffers.peek("elapsed"), 1, s.horizon)
        mean, kept = self._shifted()
        spread = np.full_like(mean, s.start_spread)
        best = np.full(count, -np.inf)
        everyone = np.arange(count)
        for _ in range(s.iterations):
            noise = np.stack([r.standard_normal((s.candidates, *mean.shape[1:])) for r in self._random])
            knots = np.clip(mean[:, None] + spread[:, None] * noise, -1.0, 1.0)
            knots[:, 0] = np.clip(mean, -1.0, 1.0)
            paths = np.einsum("hk,ncka->ncha", self._weights, knots).astype(np.float32)
            paths[:, -1] = kept  # the best there has been
            scores = self._try(paths, present, left)
            order = np.argsort(-scores, axis=1, kind="stable")
            first = order[:, 0]
            better = scores[everyone, first] > best
            best = np.where(better, scores[everyone, first], best)
            kept = np.where(better[:, None, None], paths[everyone, first], kept)
            # What was kept is no row of knots, so the distribution is fitted to those that are.
            elites = np.stack([knots[i, row[row != s.candidates - 1][: s.elites]] for i, row in enumerate(order)])
            mean = s.inertia * mean + (1.0 - s.inertia) * elites.mean(axis=1)
            spread = np.maximum(s.inertia * spread + (1.0 - s.inertia) * elites.std(axis=1), s.least_spread)
        self._mean, self._plan, self.predicted = mean, kept, best
        self._done[:] = 0

    def _shifted(self) -> tuple[np.ndarray, np.ndarray]:
        """Return means and plans without the steps already executed, padded with zeros at the end."""
        mean, plan = np.zeros_like(self._mean), np.zeros_like(self._plan)
        at = np.arange(self._knots) * self.settings.knot_every
        for i, done in enumerate(self._done):
            path = np.concatenate([self._weights @ self._mean[i], np.zeros((len(at) + done + 1, mean.shape[2]))])
            mean[i] = path[np.minimum(at + done, len(path) - 1)]
            plan[i, : max(self.settings.horizon - done, 0)] = self._plan[i, done:]
        return mean, plan

    def _try(self, paths: np.ndarray, present: dict[str, np.ndarray], left: np.ndarray) -> np.ndarray:
        """Return the score of candidates.

        Args:
            paths: actions, shape (num_envs, candidates, horizon, size), float32.
            present: snapshot of the environments.
            left: steps that count, shape (num_envs,).

        Returns:
            Shape (num_envs, candidates); minus infinity for those that diverge.
        """
        count, candidates, _, size = paths.shape
        branches = self.branches
        branches.set_state(present, np.repeat(np.arange(count), candidates))
        rewards = np.zeros((int(left.max()), count, candidates))
        broken = np.zeros((count, candidates), dtype=bool)
        for step in range(len(rewards)):
            branches.advance(paths[:, :, step].reshape(-1, size))
            counts = step < left[:, None]
            broken |= (branches.buffers.peek("diverged").reshape(count, candidates) != 0) & counts
            rewards[step] = np.where(counts, branches.buffers.peek("reward").reshape(count, candidates), 0.0)
        mean = rewards.sum(axis=0) / left[:, None]
        last = rewards[left - 1, np.arange(count)]
        return np.where(broken, -np.inf, mean + self.settings.final_weight * last)
