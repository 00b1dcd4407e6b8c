"""Interquartile means and bootstrap intervals, as recommended by Agarwal et al. for few training seeds.

R. Agarwal, M. Schwarzer, P. S. Castro, A. Courville, M. G. Bellemare: Deep Reinforcement Learning at the Edge of the
Statistical Precipice, NeurIPS 2021, doi:10.48550/arXiv.2108.13264. Their library is rliable; these are its formulas
(``aggregate_iqm``, and ``StratifiedBootstrap`` with percentiles) in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

REPEATS = 10_000
"""Number of bootstrap samples of an interval."""
CHUNK = 1_000
"""Number of bootstrap samples at a time."""
COVERAGE = 0.95
"""Share of the samples within the interval."""


_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
"""Two-sided 95 % points of Student's t distribution for 1, 2, ... degrees of freedom."""


def interquartile_mean(scores: np.ndarray) -> np.ndarray:
    """Return the mean of the scores without the lowest and the highest quarter, their sizes rounded down.

    Args:
        scores: shape (..., n).

    Returns:
        Shape (...).
    """
    count = scores.shape[-1]
    cut = count // 4
    kept: np.ndarray = np.sort(scores, axis=-1)[..., cut : count - cut]
    return np.asarray(kept.mean(axis=-1))


def mean(scores: np.ndarray) -> np.ndarray:
    """Return the mean over the last axis."""
    return np.asarray(scores.mean(axis=-1))


def bootstrap_interval(
    strata: Sequence[np.ndarray],
    statistic: Callable[[np.ndarray], np.ndarray] = interquartile_mean,
    repeats: int = REPEATS,
) -> tuple[float, float]:
    """Return the 95 % interval of a statistic by the percentiles of a stratified bootstrap.

    Each stratum, such as the runs of one id, is resampled with replacement; the statistic is computed over all strata
    together. The same scores give the same interval. A run with several scores is drawn as a whole, since its episodes
    say nothing of another run.

    Args:
        strata: scores, shape (runs,) or (runs, episodes) each.
        statistic: from scores of shape (samples, n) to shape (samples,).
        repeats: number of samples.
    """
    generator = np.random.default_rng(0)
    chosen = [generator.integers(len(runs), size=(repeats, len(runs))) for runs in strata]
    found = []
    for first in range(0, repeats, CHUNK):  # which bounds the memory
        part = slice(first, first + CHUNK)
        rows = [runs[rows[part]].reshape(len(rows[part]), -1) for runs, rows in zip(strata, chosen, strict=True)]
        found.append(statistic(np.concatenate(rows, axis=1)))
    outside = 50.0 * (1.0 - COVERAGE)
    low, high = np.percentile(np.concatenate(found), [outside, 100.0 - outside])
    return float(low), float(high)


def t_interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean over the first axis and half the width of its 95 % interval by Student's t; 0 for one row."""
    count = len(values)
    if count == 1:
        return values[0], np.zeros_like(values[0])
    t = _T[min(count - 1, len(_T)) - 1]
    return values.mean(axis=0), t * values.std(axis=0, ddof=1) / np.sqrt(count)
