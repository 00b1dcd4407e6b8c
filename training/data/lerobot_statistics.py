"""Statistics of datasets in LeRobot's format, with which its policies normalise observations and actions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Statistics = dict[str, np.ndarray]
"""``min``, ``max``, ``mean``, ``std`` and quantiles such as ``q01``, each of the shape of one frame, or (3, 1, 1) for
pictures, whose colours count from 0 to 1; and ``count``, the number of frames, shape (1,)."""

QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}


def statistics(values: np.ndarray) -> Statistics:
    """Return the statistics of one column of an episode of T steps.

    Args:
        values: numbers or flags, shape (T, size), or pictures, shape (T, height, width, 3), uint8.
    """
    pictures = values.ndim == 4
    rows: np.ndarray = values.reshape(-1, values.shape[-1]).astype(np.float32 if pictures else np.float64)
    found = {
        "min": rows.min(axis=0),
        "max": rows.max(axis=0),
        "mean": rows.mean(axis=0, dtype=np.float64),
        "std": rows.std(axis=0, dtype=np.float64),
        **{name: np.quantile(rows, share, axis=0) for name, share in QUANTILES.items()},
    }
    if pictures:
        found = {name: (value / 255.0).reshape(3, 1, 1) for name, value in found.items()}
    return {**found, "count": np.array([len(values)])}


def pooled(parts: Sequence[Statistics]) -> Statistics:
    """Return the pooled statistics of episodes.

    Quantiles are the means of those of the episodes, weighted by their lengths, as LeRobot pools them too: exact ones
    would need all values at once.
    """
    counts = np.array([part["count"][0] for part in parts])

    def mean(values: Sequence[np.ndarray]) -> np.ndarray:
        return np.average(values, axis=0, weights=counts)

    center = mean([part["mean"] for part in parts])
    return {
        "min": np.min([part["min"] for part in parts], axis=0),
        "max": np.max([part["max"] for part in parts], axis=0),
        "mean": center,
        "std": np.sqrt(mean([part["std"] ** 2 + (part["mean"] - center) ** 2 for part in parts])),
        **{name: mean([part[name] for part in parts]) for name in QUANTILES},
        "count": np.array([counts.sum()]),
    }
