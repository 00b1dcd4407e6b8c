"""Train ids, algorithms and seeds side by side, and draw learning curves over the seeds.

pbd-gym sweep PBDRope-v0 PBDCloth-v0 --algorithms ppo sac --seeds 0 1 2 --cores 2
pbd-gym sweep PBDClothFold-v0 --algorithms ppo imitation
pbd-gym sweep PBDRope-v0 --export docs/results

Every run is ``pbd-gym train`` or ``pbd-gym imitate`` in its own process and folder. Finished runs are not repeated and
interrupted ones are continued, those of imitation from the start, so that an interrupted sweep continues where it
stopped; a run whose files are broken is reported and repeated. Another sweep may fill the same folder, as long as both
do not work on the same run. ``results.csv`` has a row for each finished run. A finished run with different settings is
refused. Curves are the mean over seeds with the 95 % confidence interval of Student's t distribution, which needs at
least three seeds to be meaningful.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from pbd_gym.registry import find, imported
from pbd_gym.runtime.files import read_json, write_bytes
from pbd_gym.training.reports.curves import plot_seeds, read_csv
from pbd_gym.training.reports.result_tables import read_rows, write_rows
from pbd_gym.training.runs.interruption import interrupted, read_as_written
from pbd_gym.training.runs.run_files import KIND, NAME
from pbd_gym.training.settings import config_files, imitation
from pbd_gym.training.settings.algorithms import IMITATION, IN_TORCH, METHODS, Approach, Library, method, run_name
from pbd_gym.training.settings.options import SweepArgs, TrainArgs, option

COLUMNS = (
    "env_id", "algorithm", "seed", "steps", "training_seconds", "cpu_seconds", "normalized_performance", "success_rate",
    "mean_return", "random_performance", "random_success", "random_return",
)  # fmt: skip
"""Columns of ``results.csv``."""
PATIENCE = 60.0
"""Time that runs have to save their state after Control-C [s]."""


@dataclass(frozen=True)
class Run:
    """One training run."""

    env_id: str
    algorithm: Approach
    seed: int
    library: Library = "torch"

    @property
    def method(self) -> str:
        """Name of the algorithm in tables and curves."""
        return method(self.algorithm, self.library)

    @property
    def name(self) -> str:
        """Name of the run's folder."""
        return run_name(self.env_id, self.algorithm, self.library, self.seed)

    def row(self, out: Path) -> dict[str, Any] | None:
        """Return the results of the run, or None if it is not finished.

        Raises:
            ValueError: if one of its files is broken; the message names it.
        """
        file = out / self.name / "run.json"
        try:
            about, curve = read_json(file, KIND), self.curve(out)
        except FileNotFoundError:
            return None
        if "results" not in about:
            return None
        try:
            trained, random = about["results"]["trained"], about["results"]["random"]
            found = {
                "steps": int(curve["steps"][-1]),
                "training_seconds": round(about["training_seconds"], 1),
                "cpu_seconds": round(about["cpu_seconds"], 1),
                "normalized_performance": float(trained["normalized_performance"]),
                "success_rate": float(trained["success_rate"]),
                "mean_return": float(trained["mean_return"]),
                "random_performance": float(random["normalized_performance"]),
                "random_success": float(random["success_rate"]),
                "random_return": float(random["mean_return"]),
            }
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{file} is not {KIND}: its results are broken ({error!r})") from error
        return {"env_id": self.env_id, "algorithm": self.method, "seed": self.seed, **found}

    def finished(self, out: Path) -> dict[str, Any] | None:
        """Return the results of the run, or None if it is unfinished or broken; the latter is printed."""
        try:
            return self.row(out)
        except ValueError as error:
            print(f"{self.name} does not count as finished: {error}", flush=True)
            return None

    def curve(self, out: Path) -> dict[str, np.ndarray]:
        """Return the columns of its learning curve.

        Raises:
            FileNotFoundError: if it has none yet.
            ValueError: if the file is broken.
        """
        return read_csv(out / self.name / "curve.csv")


def words_of(run: Run, args: SweepArgs) -> list[str]:
    """Return the ``pbd-gym`` command of the run, and those of its arguments that define the training."""
    seed = ["--seed", str(run.seed)]
    if run.algorithm == IMITATION:
        return ["imitate", run.env_id, *seed, *args.imitate]
    library = ["--library", run.library] if run.algorithm in IN_TORCH else []
    return ["train", run.env_id, "--algorithm", run.algorithm, *library, *seed, *args.train]


def asked_of(run: Run, args: SweepArgs) -> dict[str, Any]:
    """Return the settings requested of a run, as its ``run.json`` would have them.

    Raises:
        ValueError: for arguments that the algorithm does not have.
    """
    command, *words = words_of(run, args)
    if run.algorithm == IMITATION:
        asked: dict[str, Any] = imitation.read(words, f"pbd-gym {command}").settings()
    else:
        given = config_files.read(TrainArgs, words, f"pbd-gym {command}")
        settings, env_kwargs, _ = given.everything()
        asked = {**dataclasses.asdict(settings), "env_kwargs": env_kwargs, "eval_episodes": given.eval_episodes}
    return read_as_written(asked)


def check_settings(run: Run, args: SweepArgs) -> None:
    """Refuse a finished run with different settings, since it would appear in the table as a run of these.

    Raises:
        ValueError: for such a run; the message names the differences.
    """
    file = args.out / run.name / NAME
    about, wanted = read_json(file, KIND), asked_of(run, args)
    before = dict(about.get("settings", {}))
    if run.algorithm != IMITATION:
        before["eval_episodes"] = about["results"]["trained"].get("episodes")
        before |= {name: about[name] for name in ("env_kwargs",) if name in about}
    # Settings that only another version has mean nothing.
    changed = [name for name in wanted if name in before and before[name] != wanted[name]]
    if changed:
        raise ValueError(
            f"{file.parent} is a finished run with different settings ({', '.join(changed)}): give the same "
            f"--{words_of(run, args)[0]}, take another --out, or remove the folder for it to be trained again"
        )


def run_all(runs: list[Run], args: SweepArgs) -> list[Run]:
    """Train the unfinished runs, several at a time. Returns those that failed; their logs say why.

    Raises:
        ValueError: as :func:`check_settings` and for arguments that an algorithm does not have, before anything is
            trained; and if another sweep has meanwhile finished a run with different settings.
        KeyboardInterrupt: after the runs have saved their state.
    """
    waiting = [run for run in runs if run.finished(args.out) is None]
    for run in runs:
        if run in waiting:
            asked_of(run, args)
        else:
            check_settings(run, args)
    if args.ray is not None:
        print(f"{len(runs) - len(waiting)} of {len(runs)} runs are finished", flush=True)
        return _run_on_cluster(args.ray, waiting, args)
    at_once = max(args.cores // args.cores_per_run, 1)
    print(f"{len(runs) - len(waiting)} of {len(runs)} runs are finished; {at_once} at a time", flush=True)
    going: dict[Run, subprocess.Popen[bytes]] = {}
    failed = []
    try:
        while waiting or going:
            while waiting and len(going) < at_once:
                run = waiting.pop(0)
                if run.finished(args.out):  # by another sweep into this folder, which may have finished it by now
                    check_settings(run, args)
                    print(f"{run.name}: finished meanwhile", flush=True)
                    continue
                going[run] = begin(run, args)
                print(f"{run.name}: started; {args.out / run.name / 'log.txt'} tells how far it has come", flush=True)
            for run, process in list(going.items()):
                if process.poll() is not None:
                    del going[run]
                    row = run.finished(args.out) if process.returncode == 0 else None
                    if row is None:
                        failed.append(run)
                    _tell(run, row, args)
            time.sleep(0.2)
    except KeyboardInterrupt:  # which a terminal sends to them as well
        _let_save(going.values())
        raise
    finally:
        for process in going.values():
            process.terminate()
    return failed


def begin(run: Run, args: SweepArgs) -> subprocess.Popen[bytes]:
    """Start a run in a process of its own, or continue it, and return the process. It writes to a log in its folder."""
    folder = args.out / run.name
    folder.mkdir(parents=True, exist_ok=True)
    words = [*words_of(run, args), "--out", str(folder)]
    if run.algorithm != IMITATION:
        words += ["--no-progress", "--no-gif", *["--resume"] * (interrupted(folder) is not None)]
    command = [sys.executable, "-m", "pbd_gym", *imports(), *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PBD_GYM_THREADS": str(args.cores_per_run)}
    with (folder / "log.txt").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)


def _tell(run: Run, row: dict[str, Any] | None, args: SweepArgs) -> None:
    """Print how a run has ended."""
    done = f"normalized performance {row['normalized_performance']:.3f}" if row else "failed"
    print(f"{run.name}: {done}; {args.out / run.name / 'log.txt'}", flush=True)


def _run_on_cluster(address: str, waiting: list[Run], args: SweepArgs) -> list[Run]:
    """Train runs on the machines of a Ray cluster. Returns those that failed."""
    from pbd_gym.training.runs.ray_jobs import cluster

    failed: list[Run] = []
    if not waiting:
        return failed
    there = dataclasses.replace(args, out=args.out.resolve())
    ids = list(dict.fromkeys(run.env_id for run in waiting))
    with cluster(address, args.out, ids, args.cores_per_run) as machines:
        for number, status in machines.run(wait_for, [(run, there) for run in waiting]):
            run = waiting[number]
            row = run.finished(args.out) if status == 0 else None
            failed += [] if row else [run]
            _tell(run, row, args)
    return failed


def wait_for(run: Run, args: SweepArgs) -> int:
    """Do a run to its end, and return the status of its process. If this is interrupted, the run saves its state."""
    process = begin(run, args)
    try:
        return process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            _let_save([process])


def _let_save(processes: Iterable[subprocess.Popen[bytes]]) -> None:
    """Wait until interrupted runs have saved their state, :data:`PATIENCE` at most."""
    print("waiting for the runs to save their state ...", flush=True)
    end = time.monotonic() + PATIENCE
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(end - time.monotonic(), 0.0))


def write_results(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write one row per run, replacing older rows of the same runs; those of other runs stay.

    Raises:
        ValueError: if the file is a different table.
    """
    kept: dict[tuple[str, str, str], dict[str, Any]]
    kept = {(row["env_id"], row["algorithm"], row["seed"]): dict(row) for row in read_rows(path, COLUMNS)}
    for row in rows:
        kept[row["env_id"], row["algorithm"], str(row["seed"])] = row
    write_rows(path, COLUMNS, [kept[key] for key in sorted(kept)])


def imports() -> list[str]:
    """Return the arguments of ``pbd-gym`` that make this process's ids known to another process."""
    return [word for module in imported for word in ("--import", module)]


def summary(rows: list[dict[str, Any]]) -> str:
    """Format runs as a Markdown table, one row per id and algorithm: mean and standard deviation over seeds."""
    lines = [
        "| id | algorithm | seeds | steps | training | success | normalised performance | random |",
        "|" + "---|" * 8,
    ]
    for (env_id, algorithm), group in itertools.groupby(rows, lambda row: (row["env_id"], row["algorithm"])):
        runs = list(group)
        scores = np.array([row["normalized_performance"] for row in runs])
        success = np.mean([row["success_rate"] for row in runs])
        seconds = np.mean([row["training_seconds"] for row in runs])
        spread = f" ± {scores.std(ddof=1):.3f}" if len(runs) > 1 else ""
        lines.append(
            f"| `{env_id}` | {algorithm} | {len(runs)} | {runs[0]['steps']:,} | {seconds:.0f} s | {success:.0%} "
            f"| {scores.mean():.3f}{spread} | {runs[0]['random_performance']:.3f} |"
        )
    return "\n".join(lines)


def curves_in(folder: Path, env_id: str) -> dict[str, list[dict[str, np.ndarray]]]:
    """Return the learning curves of an id in a folder, of this sweep and of others, by algorithm.

    They are separate files, as written by :func:`export`, and those of finished runs in their own folders.

    Raises:
        ValueError: if a file is not a curve; the message names it.
    """
    found: dict[tuple[int, str, int], dict[str, np.ndarray]] = {}
    name = re.compile(rf"{re.escape(env_id)}-({'|'.join(METHODS)})-(\d+)")
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        match = name.fullmatch(path.stem if path.suffix == ".csv" else path.name)
        if match is None:
            continue
        how, seed = match[1], int(match[2])
        if path.is_file() and path.suffix == ".csv":
            found[METHODS.index(how), how, seed] = read_csv(path)
        elif path.is_dir():
            with contextlib.suppress(ValueError):  # a run that is broken does not count as finished
                if Run(env_id, how, seed).row(folder) is not None:  # type: ignore[arg-type]
                    found[METHODS.index(how), how, seed] = read_csv(path / "curve.csv")
    curves: dict[str, list[dict[str, np.ndarray]]] = {}
    for (_, how, _), curve in sorted(found.items()):
        curves.setdefault(how, []).append(curve)
    return curves


def report(rows: list[dict[str, Any]], folder: Path) -> None:
    """Write the results of finished runs to a folder: ``results.csv``, and a PNG for each id.

    The pictures show every curve in the folder, including those of other sweeps.

    Args:
        rows: results of the runs.
        folder: target folder.
    """
    write_results(folder / "results.csv", rows)
    for env_id in dict.fromkeys(row["env_id"] for row in rows):
        random = next(row["random_performance"] for row in rows if row["env_id"] == env_id)
        curves = curves_in(folder, env_id)
        if curves:
            plot_seeds(folder / f"{env_id}.png", env_id, curves, random)


def export(rows: list[dict[str, Any]], out: Path, folder: Path) -> None:
    """Copy the learning curves of finished runs to a folder, and write their results there.

    An imitation has no curve.

    Args:
        rows: results of the runs.
        out: folder of the runs.
        folder: target folder.
    """
    for row in rows:
        name = Run(row["env_id"], row["algorithm"], row["seed"]).name
        if row["algorithm"] != IMITATION:
            write_bytes(folder / f"{name}.csv", (out / name / "curve.csv").read_bytes())
    report(rows, folder)


def main(args: SweepArgs) -> list[dict[str, Any]]:
    """Train, write ``results.csv`` and the curves, and print a table. Returns the rows of finished runs.

    Raises:
        ValueError: for an unknown id, no ids, algorithms, libraries or seeds, numbers that are not above zero, a
        results.csv that is a different table, a file in place of a curve that is not one, or as :func:`run_all`.
        SystemExit: if a run failed, after all others.
    """
    for env_id in args.env_ids:
        find(env_id)
    if not args.env_ids or min(args.cores, args.cores_per_run) < 1:
        raise ValueError("a sweep needs ids, and cores and cores_per_run above zero")
    for name in ("algorithms", "libraries", "seeds"):
        if not getattr(args, name):
            raise ValueError(f"a sweep needs {name}: {option(name)} names none")
    for folder in (args.out, args.export):  # report a table to which rows cannot be added before hours of training
        if folder is not None:
            read_rows(folder / "results.csv", COLUMNS)
            for env_id in args.env_ids:  # and likewise a curve that cannot be drawn
                curves_in(folder, env_id)
    product = itertools.product(args.env_ids, args.algorithms, args.libraries, args.seeds)
    # The others have one library.
    named = [Run(env, how, seed, library if how in IN_TORCH else "torch") for env, how, library, seed in product]
    runs = list(dict.fromkeys(named))
    failed = [] if args.report_only else run_all(runs, args)
    rows = [row for run in runs if (row := run.finished(args.out)) is not None]
    report(rows, args.out)
    if args.export is not None:
        export(rows, args.out, args.export)
    print(f"\n{summary(rows)}")
    if failed:
        raise SystemExit(f"{len(failed)} runs failed: {', '.join(run.name for run in failed)}")
    return rows


if __name__ == "__main__":
    main(tyro.cli(SweepArgs))
