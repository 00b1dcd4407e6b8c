"""Result files of ``pbd-gym benchmark``: written reproducibly to the byte, and checked when read."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym.runtime.files import read_text, write_text
from pbd_gym.training.reports import json_schema
from pbd_gym.training.reports.intervals import interquartile_mean

KIND = "a result of pbd-gym benchmark"
SCHEMA = Path(__file__).with_name("benchmark_result.json")
"""The JSON schema of a result."""
FORMAT = "pbd-gym benchmark 2"
"""Version of the format, ``schema`` in a result."""
TOLERANCE = 2e-6
"""Largest difference of a result's number from that of its episodes: both are rounded to six decimals."""


@functools.cache
def schema() -> dict[str, Any]:
    """Return the JSON schema of a result."""
    found: dict[str, Any] = json.loads(read_text(SCHEMA, "a JSON schema"))
    return found


def check_result(result: Any) -> None:
    """Check a result against the schema, and the published numbers against its episodes.

    Raises:
        ValueError: for the first mismatch.
    """
    made = result.get("schema") if isinstance(result, dict) else None
    if isinstance(made, str) and made != FORMAT and made.startswith(FORMAT.rsplit(" ", 1)[0]):
        raise ValueError(f"it is of the format {made!r}, and this version has {FORMAT!r}: run pbd-gym benchmark again")
    json_schema.check(result, schema())
    episodes = result["episodes"]
    final = np.array(episodes["final"])
    expected = {
        "success_rate": np.mean(episodes["success"]),
        "normalized_performance": final.mean(),
        "normalized_performance_iqm": interquartile_mean(final),
        "best_normalized_performance": np.mean(episodes["best"]),
    }
    for name, value in expected.items():
        if abs(result[name] - value) > TOLERANCE:
            raise ValueError(f"{name!r} is {result[name]}, and its episodes say {value:.6f}")


def write_results(path: Path, results: Sequence[dict[str, Any]]) -> None:
    """Write a result, or several as a list, one member per line. Nothing in it changes from run to run."""
    texts = []
    for result in results:
        check_result(result)
        members = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in result.items())
        texts.append(f"{{\n{members}\n}}")
    write_text(path, (texts[0] if len(texts) == 1 else "[\n" + ",\n".join(texts) + "\n]") + "\n")


def read_results(path: Path) -> list[dict[str, Any]]:
    """Return the results in a file that :func:`write_results` wrote.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it holds anything else, or no result.
    """
    text = read_text(path, KIND)
    try:
        found = json.loads(text)
        found = found if isinstance(found, list) else [found]
        if not found:
            raise ValueError("it holds none")
        for result in found:
            check_result(result)
    except (json.JSONDecodeError, RecursionError, ValueError) as error:
        raise ValueError(f"{path} is not {KIND}: {error}") from error
    return found
