"""Learning curves as CSV and PNG."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from pbd_gym.runtime.files import read_text, replacing, write_text
from pbd_gym.training.reports.intervals import t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KIND = "a learning curve"


@dataclass(frozen=True)
class Point:
    """One evaluation during training."""

    steps: int
    """Environment steps so far."""
    seconds: float
    """Training time so far, without evaluations [s]."""
    success_rate: float
    normalized_performance: float
    mean_return: float


def write_csv(path: Path, points: list[Point]) -> None:
    """Write one row per evaluation, all or nothing."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(Point.__dataclass_fields__)
    writer.writerows([[getattr(p, name) for name in Point.__dataclass_fields__] for p in points])
    write_text(path, file.getvalue())


def read_csv(path: Path) -> dict[str, np.ndarray]:
    """Return the columns of a file from :func:`write_csv`, by name.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is anything else, or has no points.
    """
    rows = list(csv.DictReader(io.StringIO(read_text(path, KIND))))
    try:
        found = {name: np.array([float(row[name]) for row in rows]) for name in Point.__dataclass_fields__}
        if not rows or not all(np.isfinite(column).all() for column in found.values()):
            raise ValueError("it has no points, or some that are not finite")
    except (KeyError, TypeError, ValueError) as error:  # a column or a number is missing
        raise ValueError(f"{path} is not {KIND}: {error}") from error
    return found


@contextmanager
def _axes(path: Path, size: tuple[float, float], dpi: int, legend: Literal["lower right", "best"]) -> Iterator[Axes]:
    """Context that draws into a PNG's axes, with a grid and a legend at the given place."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=size, dpi=dpi, layout="constrained")
    yield axes
    axes.grid(alpha=0.3)
    axes.legend(loc=legend, frameon=False, fontsize=8)
    with replacing(path) as file:
        figure.savefig(file, format="png", metadata={"Software": None})  # the same bytes with any version
    plt.close(figure)


def plot(path: Path, points: list[Point], title: str, agent: str, random_success: float) -> None:
    """Draw success over training time, with a line for a random policy."""
    seconds = [p.seconds for p in points]
    success, performance = (
        [100 * getattr(p, name) for p in points] for name in ("success_rate", "normalized_performance")
    )
    with _axes(path, (6.4, 3.2), 120, "lower right") as axes:
        axes.plot(seconds, success, color="#2a6fbb", marker=".", label=f"{agent}, success")
        axes.plot(seconds, performance, color="#2a6fbb", alpha=0.4, label=f"{agent}, normalized performance")
        axes.axhline(100 * random_success, color="#888888", linestyle="--", label="random policy, success")
        axes.set(xlabel="training time [s]", ylabel="unseen episodes [%]", title=title, ylim=(-3, 103))
        axes.secondary_xaxis("top", functions=_scales(points)).set_xlabel("environment steps [million]", fontsize=8)


def plot_seeds(
    path: Path, env_id: str, curves: dict[str, list[dict[str, np.ndarray]]], random_performance: float
) -> None:
    """Draw success and normalised performance on unseen episodes over steps: the mean over each algorithm's seeds.

    Success has a band for its confidence interval, or a marked point with a bar if there is only one. A run that ended
    early, at its target, keeps its last values.

    Args:
        path: PNG to write.
        env_id: title.
        curves: columns of the curves of each algorithm, one entry per seed.
        random_performance: normalised performance of a random policy, drawn as a line.
    """
    lowest, random = 0.0, 100 * random_performance
    with _axes(path, (6.0, 3.4), 100, "best") as axes:
        for number, (algorithm, found) in enumerate(curves.items()):
            steps = max((curve["steps"] for curve in found), key=lambda steps: float(steps[-1]))
            success, performance = (
                np.stack([np.interp(steps, curve["steps"], 100 * curve[name]) for curve in found])
                for name in ("success_rate", "normalized_performance")
            )
            name, color = algorithm.upper(), f"C{number}"
            mean, half = t_interval(success)
            seeds = f"{len(found)} seeds, 95 % interval" if len(found) > 1 else "1 seed"
            million, one = steps / 1e6, len(steps) == 1  # a line through one point would not be seen
            dot, cross = ("o", "x") if one else (None, None)
            axes.plot(million, mean, color=color, marker=dot, label=f"{name}, success ({seeds})")
            low, high = np.clip([mean - half, mean + half], 0.0, 100.0)
            if one:
                axes.errorbar(million, mean, [mean - low, high - mean], color=color, capsize=3)
            else:
                axes.fill_between(million, low, high, color=color, alpha=0.25, linewidth=0)
            mean = performance.mean(axis=0)
            axes.plot(million, mean, color=color, linestyle=":", marker=cross, label=f"{name}, normalised performance")
            lowest = min(lowest, float(mean.min()))
        axes.axhline(random, color="#888888", linestyle="--", label=f"random policy, likewise ({random:.0f})")
        axes.set(xlabel="environment steps [million]", ylabel="unseen episodes [%]", title=env_id)
        axes.set_ylim(max(lowest, -50.0) - 5, 105)


def _scales(points: list[Point]):  # type: ignore[no-untyped-def]
    """Return conversions between training time and millions of steps at the mean rate of the run."""
    rate = max(points[-1].steps / max(points[-1].seconds, 1e-9) / 1e6, 1e-12)
    return (lambda s: s * rate, lambda m: m / rate)
