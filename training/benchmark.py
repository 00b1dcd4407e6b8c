"""Protocol of the benchmark: one episode from each of 100 evaluation states, which no argument changes.

pbd-gym benchmark PBDClothFold-v0 --policy expert --out result.json

docs/benchmark.md says what to run and what to print.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import warp as wp

import pbd_gym
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.tools.recording import Actor
from pbd_gym.registry import ENTRIES, find
from pbd_gym.runtime.checks import whole
from pbd_gym.runtime.messages import Progress
from pbd_gym.training.agents.policies import SHIPPED, find_pixel_policy, pixel_ids, shipped_ids
from pbd_gym.training.episodes.blind import BlindActor
from pbd_gym.training.episodes.evaluation_states import (
    SEED,
    TEST,
    check_split,
    check_unseen,
    current_digest,
    digest_of_states,
    joined,
    make_evaluation_env,
    named,
    splits_of,
    variants_of,
)
from pbd_gym.training.episodes.rollouts import reset_to_variations
from pbd_gym.training.reports.benchmark_results import FORMAT, read_results, write_results
from pbd_gym.training.reports.intervals import bootstrap_interval, interquartile_mean, mean
from pbd_gym.training.runs.named_policies import OWN, find_actor, training_of
from pbd_gym.training.runs.run_files import NAME, costs_of, origin

SCRIPTS = ("expert", "random", "blind", "plan")
"""Policies without a file."""
SEEDLESS = {
    "expert": "an expert has no seed: it does the same each time",
    "blind": "the seed of --policy blind is frozen",
}
"""Scripts that take no seed, and why."""
SEEN = ("obs_mode", "pixels")
"""Environment arguments that an agent brings: they determine only its observations."""
NAMES = re.compile(r"[^|\s]([^|\n\r]*[^|\s])?")
"""Pattern of policy names that a Markdown table can hold."""
DIGITS = 6
"""Number of decimals in a result."""


@dataclass(frozen=True)
class Agent:
    """Agent to be evaluated."""

    env_id: str
    policy: str
    """Name shared by the results of several seeds."""
    seed: int
    actor: Actor
    file: str | None = None
    """Digest of its file, or of a blind policy's actions."""
    env_kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Arguments of the environment in which it was trained."""
    training: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Cost of its training, as far as it is known: ``demonstrations``, ``steps`` and ``processor_seconds``."""


@dataclass(frozen=True)
class Episodes:
    """Results from each evaluation state, shape (100,) each."""

    success: np.ndarray
    """Success at the last step, bool."""
    final: np.ndarray
    """Normalised performance at the last step."""
    best: np.ndarray
    """Highest normalised performance of any step."""
    steps: np.ndarray
    """Length of the episode, int."""


def find_agent(
    policy: str,
    env_id: str | None = None,
    name: str | None = None,
    seed: int | None = None,
    trust: bool = False,
    split: str = TEST,
) -> Agent:
    """Return the agent that the command line calls by a name.

    Args:
        policy: ``"expert"``, ``"random"``, ``"plan"``, ``"blind"`` for the best open-loop program of a search on
            training starts, ``"trained"`` for the bundled agent, ``"pixels"`` for the one that sees pictures, a file:
            model.zip of a training run, NAME.npz of a policy; or ``"module:function"`` of your own, from a batch of
            observations to actions.
        env_id: environment; None for that of the file.
        name: what the result calls it, one line without ``|``; by default the policy, the algorithm of a training run
            or the name of a file.
        seed: seed of a random policy or a planner, or the seed to report for an agent that does not record it; by
            default that of the training run, or 0.
        trust: see :func:`pbd_gym.training.runs.checkpoint.load`.
        split: what it is to be evaluated on; see :data:`pbd_gym.training.episodes.evaluation_states.SPLITS`.

    Raises:
        FileNotFoundError, ValueError: as :func:`pbd_gym.training.runs.named_policies.find_actor`; for a name that a
        table cannot hold, a seed that does not belong to the agent, a split that the id lacks, and an agent that was
            trained on these very states or on what the split holds out.
    """
    if env_id is not None:
        check_split(env_id, split)
    if name is not None and not NAMES.fullmatch(name):
        raise ValueError(f"--name is what tables call the policy, in one line without |, got {name!r}")
    if seed is not None and policy in SEEDLESS:
        raise ValueError(SEEDLESS[policy])
    seed = None if seed is None else whole("seed", seed, 0)
    actor, trained_on, env_kwargs = find_actor(policy, env_id, seed or 0, trust)
    env_id = trained_on
    check_split(env_id, split)
    check_unseen(policy, env_id, split, env_kwargs)
    if policy in SCRIPTS or OWN.fullmatch(policy):
        program = f"sha256:{actor.digest}" if isinstance(actor, BlindActor) else None
        return Agent(find(env_id).id, name or policy, seed or 0, actor, program, env_kwargs, training_of(actor))
    if policy == "pixels":
        path = find_pixel_policy(env_id)
    else:
        path = SHIPPED / f"{env_id}.npz" if policy == "trained" else Path(policy)
    bundled = policy in ("trained", "pixels")
    label, trained_seed, costs = (policy if bundled else path.stem), 0, {}
    if not bundled and (path.suffix == ".zip" or _of_a_run(path)):
        label, trained_seed = origin(path)
        costs = costs_of(path)
        if seed not in (None, trained_seed):  # one agent under several seeds would count as several
            raise ValueError(f"{policy} was trained with seed {trained_seed}, not {seed}")
    digest = named(hashlib.sha256(path.read_bytes()))
    return Agent(env_id, name or label, trained_seed if seed is None else seed, actor, digest, env_kwargs, costs)


def _of_a_run(path: Path) -> bool:
    """Return whether a NAME.npz is the model or a checkpoint of a training run.

    Other policies have names of their own.
    """
    folder = path.parent.parent if path.parent.name == "checkpoints" else path.parent
    return path.name.startswith("model") and (folder / NAME).is_file()


def run_episodes(agent: Agent, split: str = TEST) -> tuple[Episodes, str]:
    """Run one episode from each evaluation state of a split of an id.

    Performance and success are those of the id, whatever the agent observes: with ``obs_mode="goal"`` they would
    differ, so such an agent acts in a second batch, which does the same to the bit.

    Returns:
        The episodes, and the digest of the states.

    Raises:
        ValueError: for an agent whose action mode differs from the id's, or that does not fit its spaces; for a task
        without an expert, if the expert is requested.
    """
    parts = [_run_variant(agent, split, number) for number in range(len(variants_of(agent.env_id, split)))]
    found = [episodes for episodes, _ in parts]
    names = [field.name for field in dataclasses.fields(Episodes)]
    whole_split = {name: np.concatenate([getattr(episodes, name) for episodes in found]) for name in names}
    return Episodes(**whole_split), joined([digest for _, digest in parts])


def _run_variant(agent: Agent, split: str, variant: int) -> tuple[Episodes, str]:
    """Run the episodes of one variant of a split; see :func:`run_episodes`."""
    seen = {name: value for name, value in agent.env_kwargs.items() if name in SEEN}
    goals = seen.get("obs_mode") == "goal"
    env = make_evaluation_env(agent.env_id, split=split, variant=variant, **({} if goals else seen))
    acted = make_evaluation_env(agent.env_id, split=split, variant=variant, **seen) if goals else env
    try:
        mode = agent.env_kwargs.get("action_mode", env.action_mode)
        if mode != env.action_mode:
            raise ValueError(f"an agent of {agent.env_id} acts by {env.action_mode!r}, this one by {mode!r}")
        observation = reset_to_variations(env, SEED)
        digest = digest_of_states(env)
        if acted is not env:
            observation = reset_to_variations(acted, SEED)
        return _play(agent, env, acted, observation), digest
    finally:
        env.close()
        acted.close()


def _play(agent: Agent, env: TaskVectorEnv, acted: TaskVectorEnv, observation: Any) -> Episodes:
    """Run the episodes that have begun to their ends; the agent observes ``acted``, which mirrors ``env``."""
    count = env.num_envs
    over, success = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    progress = Progress(f"{agent.env_id}, steps", env.max_episode_steps or 0)
    final, best, steps = np.zeros(count), np.full(count, -np.inf), np.zeros(count, dtype=int)
    while not over.all():
        begins = not steps.any()
        try:
            actions = agent.actor(acted, observation, begins)
            shown, _, terminated, truncated, info = env.step(actions)
        except (ValueError, TypeError) as error:
            if not begins or agent.file is None:
                raise
            given = f", trained with {agent.env_kwargs}," if agent.env_kwargs else ""
            raise ValueError(f"{agent.policy}{given} does not fit {agent.env_id}: {error}") from error
        observation = shown if acted is env else acted.step(actions)[0]
        now = np.asarray(info["normalized_performance"], dtype=float)
        final = np.where(over, final, now)
        best = np.where(over, best, np.maximum(best, now))
        success = np.where(over, success, info["is_success"])
        steps += ~over
        over |= terminated | truncated
        progress.step()
    return Episodes(success, final, best, steps)


def benchmark(agent: Agent, split: str = TEST) -> dict[str, Any]:
    """Evaluate an agent by the protocol on a split.

    Returns:
        Plain data as described by ``training/reports/benchmark_result.json``.

    Raises:
        ValueError: as :func:`run_episodes`.
    """
    found, digest = run_episodes(agent, split)
    final, best, success = np.round(found.final, DIGITS), np.round(found.best, DIGITS), found.success.astype(float)
    return {
        "schema": FORMAT,
        "id": agent.env_id,
        "policy": agent.policy,
        "seed": agent.seed,
        "split": split,
        "states": digest,
        "protocol": current_digest(agent.env_id, split),
        "success_rate": _rounded(success.mean()),
        "success_interval": [_rounded(end) for end in bootstrap_interval([success], mean)],
        "normalized_performance": _rounded(final.mean()),
        "normalized_performance_iqm": _rounded(interquartile_mean(final)),
        "normalized_performance_interval": [_rounded(end) for end in bootstrap_interval([final])],
        "best_normalized_performance": _rounded(best.mean()),
        "episodes": {
            "success": found.success.tolist(),
            "final": final.tolist(),
            "best": best.tolist(),
            "steps": found.steps.tolist(),
        },
        "agent": {"file": agent.file, "trained_with": agent.env_kwargs, **agent.training},
        "versions": versions(),
    }  # fmt: skip


def _rounded(value: Any) -> float:
    return round(float(value), DIGITS)


def line(result: dict[str, Any]) -> str:
    """Return the line to print for a result."""
    (low, high), (worst, top) = result["success_interval"], result["normalized_performance_interval"]
    return (
        f"{result['id']:28} {result['policy']:10} success {result['success_rate']:4.0%} [{low:.0%}, {high:.0%}]   "
        f"normalized performance {result['normalized_performance']:6.3f}, "
        f"IQM {result['normalized_performance_iqm']:6.3f} [{worst:.3f}, {top:.3f}]"
    )


class Request(NamedTuple):
    """Arguments of :func:`find_agent` but the id, which all ids share."""

    policy: str
    name: str | None
    seed: int | None
    trust: bool
    split: str

    def agent(self, env_id: str | None) -> Agent:
        """Return the agent of an id.

        Raises:
            FileNotFoundError, ValueError: as :func:`find_agent`.
        """
        return find_agent(self.policy, env_id, self.name, self.seed, self.trust, self.split)


def scored(request: Request, env_id: str | None) -> dict[str, Any] | ValueError:
    """Return the result of a policy on an id, or why it cannot act there."""
    try:
        return benchmark(request.agent(env_id), request.split)
    except ValueError as error:
        return error


def _scored_on_cluster(
    address: str, chosen: list[str | None], request: Request, out: Path | None
) -> Iterator[tuple[str | None, dict[str, Any] | ValueError]]:
    """Yield the results of ids as they are found on a Ray cluster, after those that are in a file already."""
    from pbd_gym.training.runs.ray_jobs import cluster

    known = _known(out, chosen, request)
    yield from known.items()
    waiting = [env_id for env_id in chosen if env_id not in known]
    if not waiting:
        return
    if Path(request.policy).is_file():
        request = request._replace(policy=str(Path(request.policy).resolve()))
    ids = [env_id for env_id in waiting if env_id is not None]
    with cluster(address, out.parent if out else Path.cwd(), ids) as machines:
        for number, result in machines.run(scored, [(request, env_id) for env_id in waiting]):
            yield waiting[number], result


def _known(
    out: Path | None, chosen: list[str | None], request: Request, blind: bool = False
) -> dict[str | None, dict[str, Any] | ValueError]:
    """Return the results in a file that are those of these agents, by id, found with these versions.

    Those of code of one's own are found again, since it leaves no digest.

    Args:
        out: the file, if any.
        chosen: ids.
        request: the policy.
        blind: whether to believe those of a blind policy, which only its search tells; its seed and budget are frozen.
    """
    if out is None or not out.is_file() or OWN.fullmatch(request.policy) or (request.policy == "blind" and not blind):
        return {}
    found: dict[str | None, dict[str, Any] | ValueError] = {}
    before = {
        (one["id"], one["policy"], one["seed"]): one for one in read_results(out) if one["split"] == request.split
    }
    for env_id in chosen:
        if request.policy == "blind":
            what, file = (env_id or "", request.name or "blind", 0), None
        else:
            try:
                agent = request.agent(env_id)
            except ValueError:
                continue
            what, file = (agent.env_id, agent.policy, agent.seed), agent.file
        one = before.get(what)
        if one is None or (one["versions"], one["protocol"]) != (versions(), current_digest(what[0], request.split)):
            continue
        if request.policy == "blind" or one["agent"]["file"] == file:
            found[env_id] = one
    return found


def _merged(results: list[dict[str, Any]], before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return results, and those of a file that they do not replace, in the order of the registry."""
    names = ("id", "split", "policy", "seed")
    every = {tuple(one[name] for name in names): one for one in (*before, *results)}
    place = {entry.id: number for number, entry in enumerate(ENTRIES)}
    return [every[key] for key in sorted(every, key=lambda key: (place.get(key[0], len(place)), *key))]


def versions() -> dict[str, str]:
    """Return the versions on which results depend."""
    return {
        "pbd_gym": pbd_gym.__version__, "warp": wp.config.version, "numpy": np.__version__,
        "gymnasium": gym.__version__,
    }  # fmt: skip


def main(
    ids: list[str],
    policy: str = "expert",
    name: str | None = None,
    seed: int | None = None,
    out: Path | None = None,
    trust: bool = False,
    split: str = TEST,
    ray: str | None = None,
    resume: bool = False,
) -> list[dict[str, Any]]:
    """Evaluate a policy on ids, print a line for each, and write the results.

    Args:
        ids: environments; by default that of the policy's file, those with a bundled agent, or all.
        policy: see :func:`find_agent`.
        name: see :func:`find_agent`.
        seed: see :func:`find_agent`.
        out: JSON file; several results become a list.
        trust: see :func:`find_agent`.
        split: see :func:`find_agent`; without ids, those that lack it are left out.
        ray: address of a Ray cluster, an id on each core; results in ``out`` that this version of the package has
            found for the same agent are not found again.
        resume: keep what is in ``out``: results of the same agents by this version of the package are not found again,
            and those of other ids and policies stay.

    Raises:
        FileNotFoundError, ValueError: as :func:`find_agent` and :func:`run_episodes`. If no ids are given, those in
        which the policy cannot act are skipped and named.
    """
    chosen: list[str | None] = list(dict.fromkeys(find(env_id).id for env_id in ids))
    if not ids and OWN.fullmatch(policy):
        raise ValueError(f"--policy {policy} needs ids: pbd-gym benchmark ID --policy {policy}")
    if not ids:
        every = [entry.id for entry in ENTRIES]
        able = {"trained": shipped_ids(), "pixels": pixel_ids()} | {script: every for script in SCRIPTS}
        chosen = [env_id for env_id in able.get(policy, [None]) if env_id is None or split in splits_of(env_id)]
    results: list[dict[str, Any]] = []
    every_result: Iterable[tuple[str | None, dict[str, Any] | ValueError]]
    request = Request(policy, name, seed, trust, split)
    before = read_results(out) if resume and out is not None and out.is_file() else []
    known = _known(out, chosen, request, blind=True) if resume else {}
    if ray is None:
        every_result = ((env_id, known.get(env_id) or scored(request, env_id)) for env_id in chosen)
    else:
        every_result = _scored_on_cluster(ray, chosen, request, out)
    for env_id, result in every_result:
        if isinstance(result, ValueError):
            if ids or policy not in SCRIPTS:
                raise result
            print(f"{env_id:28} left out: {result}", flush=True)
            continue
        results.append(result)
        print(line(results[-1]), flush=True)
        if out is not None:  # immediately, so that nothing is lost if a later id fails
            write_results(out, _merged(results, before) if resume else results)
    if out is not None:
        print(out)
    return results
