"""Leaderboard: a page of tables from result files of ``pbd-gym benchmark``.

pbd-gym leaderboard runs/*/result.json --out leaderboard.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym.registry import find
from pbd_gym.runtime.files import write_text
from pbd_gym.training.episodes.evaluation_states import SPLITS, TEST, check_split, current_digest
from pbd_gym.training.reports.benchmark_results import read_results
from pbd_gym.training.reports.intervals import bootstrap_interval, interquartile_mean, mean

SEEDS = 5
"""Number of training seeds from which on a row is marked."""
SAMPLES = 2_000
"""Number of bootstrap samples of an interval on the page."""
MARK = " ✓"
ORACLES = ("expert", "plan")
"""Policies that read the simulation."""
FLOOR = ("blind", "random")
"""Policies that read nothing: what they reach, a task gives away. Each id has a row of each."""
SELECTED = ("trained", "pixels")
"""Bundled agents: one for each id, selected among several."""
UNKNOWN = "-"
COLUMNS = ("success", "normalised performance, IQM", "mean", "best", "seeds")
COSTS = ("sees", "demonstrations", "steps", "processor time")
HEAD = ("id", "policy", *COLUMNS, *COSTS)
ALL_HEAD = ("policy", "measured", "success, mean over all ids", "normalised performance, IQM", "fewest seeds", *COSTS)
ABOUT = f"""# Leaderboard

Made by `pbd-gym leaderboard` out of results of `pbd-gym benchmark`; docs/benchmark.md says how agents are
evaluated. Success comes first: the share of 100 episodes whose last step is a success, a mean over training seeds.
Normalised performance is 0 as at the start of an episode and 1 if perfect: its mean at the last step, the mean of the
highest of each episode, and the interquartile mean (IQM). IQM means one thing throughout: the mean of the middle half
of all episodes of all seeds together, over several ids of all of theirs (Agarwal et al. 2021, arXiv:2108.13264). In
brackets are 95 % intervals of a stratified bootstrap that draws whole seeds; rows of one seed have none.
{MARK.strip()} marks rows of at least {SEEDS} seeds; fewer say little about an algorithm.

`blind` is the best open-loop program of a search, and `random` acts uniformly: an agent that is no better has perceived
nothing. `expert` and `plan` read the simulation. Steps are environment steps of training, demonstrations included;
processor time is that of all cores together; {UNKNOWN} is what a file does not say.
"""

Result = dict[str, Any]
Groups = dict[str, dict[str, list[Result]]]
"""Results by id and policy, each group in the order of seeds."""


def grouped(results: Sequence[Result]) -> Groups:
    """Return results of one split by id and policy.

    Raises:
        ValueError: if there are none, for an unknown id, a split that an id lacks, a duplicate result, or one of an
        older protocol, if one agent counts as several seeds, or if two results of an id have different evaluation
        states.
    """
    if not results:
        raise ValueError("there are no results to make a page of")
    found: Groups = {}
    for result in sorted(results, key=lambda result: (result["id"], result["policy"], result["seed"])):
        check_current(result)
        rows = found.setdefault(result["id"], {}).setdefault(result["policy"], [])
        if rows and rows[-1]["seed"] == result["seed"]:
            raise ValueError(f"there are two results of {_name(result)}: name policies with --name, seeds with --seed")
        rows.append(result)
    for env_id, policies in found.items():
        for policy, rows in policies.items():
            _check_agents(f"{env_id}, {policy}", rows)
        digests = {result["states"]: result for rows in policies.values() for result in rows}
        if len(digests) > 1:
            (one, other, *_) = (f"{row['policy']}, pbd-gym {row['versions']['pbd_gym']}" for row in digests.values())
            raise ValueError(
                f"results of {env_id} have different evaluation states ({one} and {other}): run pbd-gym benchmark "
                "again with one version"
            )
    return found


def check_current(result: Result) -> None:
    """Refuse a result that says nothing about an id as it is now.

    Raises:
        ValueError: for an unknown id, a split that it lacks, or numbers or a success that have changed since.
    """
    find(result["id"])
    check_split(result["id"], result["split"])
    if result["protocol"] != current_digest(result["id"], result["split"]):
        raise ValueError(
            f"{_name(result)} is out of date: {result['id']} has other numbers or asks for something else than with "
            f"pbd-gym {result['versions']['pbd_gym']}; run pbd-gym benchmark again"
        )


def _name(result: Result) -> str:
    return f"{result['id']}, {result['policy']}, seed {result['seed']}"


def _check_agents(name: str, rows: Sequence[Result]) -> None:
    """Refuse an agent that counts as several seeds, which would narrow the interval.

    Raises:
        ValueError: for such an agent; the message names the duplicates.
    """
    seeds: dict[tuple[str, Any], int] = {}
    for row in rows:
        for what, same in (("file is", row["agent"]["file"]), ("episodes are", _told_apart(row))):
            if same is None:
                continue
            before = seeds.setdefault((what, same), row["seed"])
            if before != row["seed"]:
                raise ValueError(f"seeds {before} and {row['seed']} of {name} are one agent: its {what} the same")


def _told_apart(row: Result) -> tuple[float, ...] | None:
    """Return the identity of an agent whose file may have been rewritten: how its episodes ended.

    It is None if most of them ended alike, as for any agent that spills nothing or never moves.
    """
    final = tuple(row["episodes"]["final"])
    return final if len(set(final)) > len(final) // 2 else None


def scores(rows: Sequence[Result], name: str) -> np.ndarray:
    """Return one number per result, shape (seeds,)."""
    return np.array([row[name] for row in rows], dtype=float)


def finals(rows: Sequence[Result]) -> np.ndarray:
    """Return the normalised performance of each episode at its last step, shape (seeds, episodes)."""
    return np.array([row["episodes"]["final"] for row in rows], dtype=float)


def _interval(strata: Sequence[np.ndarray], statistic: Callable[[np.ndarray], np.ndarray], form: str) -> str:
    """Return an interval in brackets; empty if no stratum has two seeds, since one says nothing of the spread."""
    if max(len(runs) for runs in strata) < 2:
        return ""
    low, high = bootstrap_interval(strata, statistic, SAMPLES)
    return f" [{low:{form}}, {high:{form}}]"


def cost_cells(rows: Iterable[Result]) -> tuple[str, ...]:
    """Return what agents see, and what it took to train one: means over results that say so."""
    rows = list(rows)
    agents = [row["agent"] for row in rows]
    policies = {row["policy"] for row in rows}
    if policies <= {*ORACLES, *FLOOR}:
        sees = "the simulation" if policies <= set(ORACLES) else "nothing"
        return (sees, *[UNKNOWN] * 3)
    modes = sorted({str(agent["trained_with"].get("obs_mode", "keypoints")) for agent in agents})

    def average(name: str) -> float | None:
        known = [agent[name] for agent in agents if name in agent]
        return float(np.mean(known)) if len(known) == len(agents) else None

    shown, steps, seconds = (average(name) for name in ("demonstrations", "steps", "processor_seconds"))
    return (
        ", ".join(modes),
        UNKNOWN if shown is None else f"{shown:,.0f}",
        UNKNOWN if steps is None else f"{steps:,.0f}",
        UNKNOWN if seconds is None else f"{seconds / 60.0:,.0f} min" if seconds >= 90.0 else f"{seconds:.0f} s",
    )


def row_cells(env_id: str, policy: str, rows: Sequence[Result]) -> tuple[str, ...]:
    """Return the cells of a row: an id and a policy; a floor that was not measured says so."""
    if not rows:
        return (f"`{env_id}`", policy, "not measured", *[UNKNOWN] * (len(HEAD) - 3))
    success, final = scores(rows, "success_rate"), finals(rows)
    return (
        f"`{env_id}`",
        policy,
        f"{success.mean():.0%}{_interval([success], mean, '.0%')}",
        f"{float(interquartile_mean(final.ravel())):.3f}{_interval([final], interquartile_mean, '.3f')}",
        f"{final.mean():.3f}",
        f"{scores(rows, 'best_normalized_performance').mean():.3f}",
        f"{len(rows)}{MARK if len(rows) >= SEEDS else ''}",
        *cost_cells(rows),
    )


def overall_cells(policy: str, groups: Groups) -> tuple[str, ...]:
    """Return the cells of a policy over all ids of the page.

    Ids count equally: each contributes its first seeds, as many as the id with the fewest has. One in which the policy
    was not measured counts with a success and a performance of 0, so that no row gains by what it leaves out.
    """
    measured = [policies[policy] for policies in groups.values() if policy in policies]
    fewest = min(len(rows) for rows in measured)
    missing = len(groups) - len(measured)
    episodes = len(measured[0][0]["episodes"]["final"])
    success = [scores(rows[:fewest], "success_rate") for rows in measured] + [np.zeros(fewest)] * missing
    final = [finals(rows[:fewest]) for rows in measured] + [np.zeros((fewest, episodes))] * missing
    pooled = np.concatenate([part.ravel() for part in final])
    return (
        policy,
        f"{len(measured)} of {len(groups)} ids",
        f"{np.concatenate(success).mean():.0%}{_interval(success, mean, '.0%')}",
        f"{float(interquartile_mean(pooled)):.3f}{_interval(final, interquartile_mean, '.3f')}",
        f"{fewest}{MARK if fewest >= SEEDS else ''}",
        *cost_cells(row for rows in measured for row in rows),
    )


def rank(groups: Groups, policy: str) -> tuple[int, float, str]:
    """Return the order of a policy over all ids: PPO first, then other agents by success, oracles, and the floor."""
    success = sum(scores(found[policy], "success_rate").mean() for found in groups.values() if policy in found)
    place = 0 if policy == "ppo" else 3 if policy in FLOOR else 2 if policy in ORACLES else 1
    return place, -success, policy


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def id_rows(groups: Groups, chosen: Callable[[str], bool]) -> list[tuple[str, ...]]:
    """Return the rows of each id for some policies, the best first; the floor of the id comes last in any case."""
    lines = []
    for env_id, found in groups.items():
        policies = [policy for policy in found if chosen(policy) and policy not in FLOOR]
        best_first = sorted(policies, key=lambda name: (-scores(found[name], "success_rate").mean(), name))
        if policies or not chosen(SELECTED[0]):
            lines += [row_cells(env_id, policy, found.get(policy, [])) for policy in (*best_first, *FLOOR)]
    return lines


def page(results: Sequence[Result]) -> str:
    """Return the page in Markdown: all ids together, each id, the selected agents, and the other splits.

    Raises:
        ValueError: as :func:`grouped`.
    """
    main_results = [result for result in results if result["split"] == TEST]
    parts = [ABOUT]
    if main_results or not results:
        parts += _main_tables(grouped(main_results))
    for split, about in SPLITS.items():
        others = [result for result in results if result["split"] == split]
        if split != TEST and others:
            lines = id_rows(grouped(others), lambda policy: True)
            parts.append(f"## Split `{split}`: {about}\n\n{table(HEAD, lines)}\n")
    versions = ", ".join(sorted({result["versions"]["pbd_gym"] for result in results}))
    return "\n".join([*parts, f"Measured with pbd-gym {versions}.\n"])


def _main_tables(groups: Groups) -> list[str]:
    """Return the sections of the split that everybody measures."""
    policies = sorted({policy for found in groups.values() for policy in found}, key=lambda name: rank(groups, name))
    parts = []
    overall = [overall_cells(policy, groups) for policy in policies if policy not in SELECTED]
    if overall and len(groups) > 1:
        about = "An id that a policy was not measured in counts as 0."
        parts.append(f"## All ids\n\n{about}\n\n{table(ALL_HEAD, overall)}\n")
    parts.append(f"## Each id\n\n{table(HEAD, id_rows(groups, lambda name: name not in SELECTED))}\n")
    bundled = id_rows(groups, lambda name: name in SELECTED)
    if bundled:
        about = "One agent for each id, selected among several runs: what can be had, not what an algorithm reaches."
        parts.append(f"## Selected agents\n\n{about}\n\n{table(HEAD, bundled)}\n")
    return parts


def main(files: Sequence[Path], out: Path | None = None) -> str:
    """Read result files, and write or print the page. Returns it.

    Raises:
        FileNotFoundError, ValueError: as :func:`pbd_gym.training.reports.benchmark_results.read_results`.
        ValueError: as :func:`grouped`.
    """
    text = page([result for file in files for result in read_results(file)])
    if out is None:
        print(text)
    else:
        write_text(out, text)
        print(out)
    return text
