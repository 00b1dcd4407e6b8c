"""Leaderboard: a page of tables from result files of ``pbd-gym benchmark``.

pbd-gym leaderboard runs/*/result.json --out leaderboard.md
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym.registry import find
from pbd_gym.runtime.files import write_text
from pbd_gym.training.reports.benchmark_results import read_results
from pbd_gym.training.reports.intervals import bootstrap_interval, interquartile_mean, mean

SEEDS = 5
"""Number of training seeds from which on a row is marked."""
MARK = " ✓"
HEAD = ("id", "policy", "success", "normalised performance, IQM", "mean", "best", "seeds")
ALL_HEAD = ("policy", "ids", "success", "normalised performance, IQM", "fewest seeds")
ABOUT = f"""# Leaderboard

Made by `pbd-gym leaderboard` out of results of `pbd-gym benchmark`; [benchmark.md](benchmark.md) says how agents are
evaluated. Success comes first: the share of 100 episodes whose last step is a success, a mean over training seeds.
Normalised performance is 0 as at the start of an episode and 1 if perfect: its interquartile mean (IQM) over seeds and
its mean at the last step, and the mean of the highest of each episode. In brackets are 95 % intervals of a stratified
bootstrap over seeds. {MARK.strip()} marks rows of at least {SEEDS} seeds; fewer say little about an algorithm.
"""

Result = dict[str, Any]
Groups = dict[str, dict[str, list[Result]]]
"""Results by id and policy, each group in the order of seeds."""


def grouped(results: Sequence[Result]) -> Groups:
    """Return results by id and policy.

    Raises:
        ValueError: if there are none, for an unknown id or a duplicate result, if one agent counts as several seeds, or
        if two results of an id have different evaluation states.
    """
    if not results:
        raise ValueError("there are no results to make a page of")
    found: Groups = {}
    for result in sorted(results, key=lambda result: (result["id"], result["policy"], result["seed"])):
        rows = found.setdefault(result["id"], {}).setdefault(result["policy"], [])
        if rows and rows[-1]["seed"] == result["seed"]:
            name = f"{result['id']}, {result['policy']}, seed {result['seed']}"
            raise ValueError(f"there are two results of {name}: name policies with --name, seeds with --seed")
        rows.append(result)
    for env_id, policies in found.items():
        find(env_id)
        for policy, rows in policies.items():
            _check_agents(f"{env_id}, {policy}", rows)
        digests = {result["states"]: result["policy"] for rows in policies.values() for result in rows}
        if len(digests) > 1:
            first, second, *_ = digests.values()
            raise ValueError(
                f"results of {env_id} have different evaluation states ({first} and {second}): run pbd-gym benchmark "
                "again with one version"
            )
    return found


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


def _interval(strata: list[np.ndarray], statistic: Any, form: str) -> str:
    """Return an interval in brackets; empty if no stratum has two seeds, since one says nothing of the spread."""
    if max(len(runs) for runs in strata) < 2:
        return ""
    low, high = bootstrap_interval(strata, statistic)
    return f" [{low:{form}}, {high:{form}}]"


def row_cells(env_id: str, policy: str, rows: Sequence[Result]) -> tuple[str, ...]:
    """Return the cells of a row: an id and a policy."""
    success, final = scores(rows, "success_rate"), scores(rows, "normalized_performance")
    return (
        f"`{env_id}`",
        policy,
        f"{success.mean():.0%}{_interval([success], mean, '.0%')}",
        f"{float(interquartile_mean(final)):.3f}{_interval([final], interquartile_mean, '.3f')}",
        f"{final.mean():.3f}",
        f"{scores(rows, 'best_normalized_performance').mean():.3f}",
        f"{len(rows)}{MARK if len(rows) >= SEEDS else ''}",
    )


def overall_cells(policy: str, strata: Sequence[Sequence[Result]]) -> tuple[str, ...]:
    """Return the cells of a policy over several ids, each of them a stratum.

    Ids count equally: each contributes its first seeds, as many as the id with the fewest has.
    """
    fewest = min(len(rows) for rows in strata)
    names = ("success_rate", "normalized_performance")
    success, final = ([scores(rows[:fewest], name) for rows in strata] for name in names)
    return (
        policy,
        str(len(strata)),
        f"{np.concatenate(success).mean():.0%}{_interval(success, mean, '.0%')}",
        f"{float(interquartile_mean(np.concatenate(final))):.3f}{_interval(final, interquartile_mean, '.3f')}",
        f"{fewest}{MARK if fewest >= SEEDS else ''}",
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def page(results: Sequence[Result]) -> str:
    """Return the page in Markdown: policies over all of their ids, then each id, the best policy first."""
    groups = grouped(results)
    policies: dict[str, list[list[Result]]] = {}
    lines = []
    for env_id, found in groups.items():
        for policy, rows in found.items():
            policies.setdefault(policy, []).append(rows)
        best_first = sorted(found, key=lambda policy: (-scores(found[policy], "success_rate").mean(), policy))
        lines += [row_cells(env_id, policy, found[policy]) for policy in best_first]
    overall = [overall_cells(policy, strata) for policy, strata in sorted(policies.items()) if len(strata) > 1]
    parts = [ABOUT]
    if overall:
        parts.append(f"## Over several ids\n\n{table(ALL_HEAD, overall)}\n")
    versions = sorted({result["versions"]["pbd_gym"] for result in results})
    parts.append(f"## Each id\n\n{table(HEAD, lines)}\n\nMeasured with pbd-gym {', '.join(versions)}.\n")
    return "\n".join(parts)


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
