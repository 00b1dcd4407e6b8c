"""Makes results of the benchmark anew, and the pages about them: ``python -m docs.figures.remake [STAGE ...]``.

Stages, in this order unless some are named:

* ``scripts``: experts, random actions, bundled agents, those that see pictures, on every id; about an hour of a core.
* ``blind``: the search of open-loop programs; minutes for each id.
* ``ppo``, ``imitation``: five training seeds of each id, ids that took least processor time before first; a day of a
  core, or as many ids as can begin within ``--minutes``.
* ``pages``: docs/results/leaderboard.md, and the tables of docs/results.md and docs/lab/seeds.md, from files alone.

All go on where they were interrupted. Results of agents and scripts are in docs/results/benchmark, a file for each
policy, runs in ``runs/remake``: delete that folder after a change of physics, as nothing else tells old runs from new.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from docs.figures.results import BENCHMARK, DOCS, rows_of, write_baselines
from docs.figures.results import main as put_tables
from pbd_gym.registry import ENTRIES
from pbd_gym.training.reports.benchmark_results import read_results
from pbd_gym.training.settings.algorithms import IMITATION
from pbd_gym.training.settings.tuned import IMITATED

SCRIPTS = ("expert", "random", "trained", "pixels")
STAGES = ("scripts", "blind", "ppo", IMITATION, "pages")
SEEDS = range(5)
RUNS = Path("runs/remake")
TARGET, TARGETS = 0.95, {"PBDClothFlatten-v0": 0.9, "PBDPourSoup-v0": 0.9}
"""Success at which runs of PPO end; coarse towels of the former would go on to learn what fine ones do not have."""
UNKNOWN = 1e9
"""Processor time of an id that nobody has trained on [s]: such ids come last."""


def command(*words: str) -> None:
    """Run ``pbd-gym``, and go on without its result if it fails, which it then has said itself."""
    print("pbd-gym", *words, flush=True)
    subprocess.run([sys.executable, "-m", "pbd_gym", *words], check=False)


def score(policy: str, name: str) -> None:
    """Evaluate a policy where no result of it is in its file yet."""
    command("benchmark", "--policy", policy, "--out", str(BENCHMARK / f"{name}.json"), "--resume")


def ids_of(method: str) -> list[str]:
    """Return the ids on which a method is trained, cheapest first by docs/results/results.csv."""
    known = {row["env_id"]: float(row["cpu_seconds"]) for row in rows_of("results.csv") if row["algorithm"] == method}
    every = [entry.id for entry in ENTRIES if method != IMITATION or entry.id in IMITATED]
    return sorted(every, key=lambda env_id: known.get(env_id, UNKNOWN))


def train(method: str, minutes: float, cores: int) -> None:
    """Train a method on all ids, five seeds each, and evaluate what comes of it.

    Args:
        method: ``"ppo"`` or ``"imitation"``.
        minutes: time after which no other id is begun.
        cores: runs that are under way at a time.
    """
    begin = time.monotonic()
    for env_id in ids_of(method):
        if time.monotonic() - begin >= 60.0 * minutes:
            print(f"{env_id} and what comes after it wait for the next time", flush=True)
            return
        seeds = [str(seed) for seed in SEEDS]
        words: tuple[str, ...] = ("--algorithms", method, "--seeds", *seeds, "--cores", str(cores), "--out", str(RUNS))
        if method == "ppo":
            words += ("--train=--target-success", f"--train={TARGETS.get(env_id, TARGET)}")
        command("sweep", env_id, *words, "--export", str(DOCS / "results"))
        for seed in SEEDS:
            model = RUNS / f"{env_id}-{method}-{seed}" / "model.npz"
            if model.is_file():
                score(str(model), method)


def complete(path: Path) -> bool:
    """Return whether a file has what the leaderboard shows: five seeds on each id, if they are of a training method."""
    method = path.stem
    found = Counter(result["id"] for result in read_results(path))
    return method not in ("ppo", IMITATION) or all(found[env_id] == len(SEEDS) for env_id in ids_of(method))


def write_pages() -> None:
    """Write the leaderboard, baselines.csv and the tables of pages from the files that there are.

    A training method enters the leaderboard when all ids have been trained on, since those missing count as 0.
    """
    files = [path for path in sorted(BENCHMARK.glob("*.json")) if complete(path)]
    if files:
        command("leaderboard", *map(str, files), "--out", str(DOCS / "results" / "leaderboard.md"))
    scripts = [BENCHMARK / f"{name}.json" for name in ("expert", "random")]
    if all(path.is_file() for path in scripts) and len(read_results(scripts[1])) == len(ENTRIES):
        write_baselines(scripts)
    put_tables()


def main(arguments: list[str] | None = None) -> None:
    """Run the stages named on the command line, or all."""
    parser = argparse.ArgumentParser("python -m docs.figures.remake", description="Make results and their pages anew.")
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=f"some of {', '.join(STAGES)} (default: all)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no id's training after this time")
    parser.add_argument("--cores", type=int, default=2, help="training runs at a time")
    args = parser.parse_args(arguments)
    unknown = set(args.stages) - set(STAGES)
    if unknown:
        parser.error(f"there is no stage {', '.join(sorted(unknown))}: stages are {', '.join(STAGES)}")
    for stage in [stage for stage in STAGES if stage in (args.stages or STAGES)]:
        if stage == "scripts":
            for policy in SCRIPTS:
                score(policy, policy)
        elif stage == "blind":
            score("blind", "blind")
        elif stage == "pages":
            write_pages()
        else:
            train(stage, args.minutes, args.cores)


if __name__ == "__main__":
    main()
