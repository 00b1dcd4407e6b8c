"""Interquartile means and bootstrap intervals, as Agarwal et al. recommend them for few training seeds.

R. Agarwal, M. Schwarzer, P. S. Castro, A. Courville, M. G. Bellemare: Deep Reinforcement Learning at the Edge of the
Statistical Precipice, NeurIPS 2021, doi:10.48550/arXiv.2108.13264. Their library is rliable; these are its formulas
(``aggregate_iqm``, and ``StratifiedBootstrap`` with percentiles) in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

REPEATS = 10_000
"""Samples that an interval is estimated from."""
COVERAGE = 0.95
"""Share of them that lie within it."""


def interquartile_mean(scores: np.ndarray) -> np.ndarray:
    """Return the mean of the scores without the lowest quarter and the highest, rounded down in number.

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
    strata: Sequence[np.ndarray], statistic: Callable[[np.ndarray], np.ndarray] = interquartile_mean
) -> tuple[float, float]:
    """Return the 95 % interval of a statistic by the percentiles of a stratified bootstrap.

    Each stratum, such as the runs of one id, is sampled anew from itself, with replacement; the statistic is taken over
    all strata together. The same scores give the same interval.

    Args:
        strata: scores, shape (runs,) each.
        statistic: from scores of shape (repeats, n) to shape (repeats,).
    """
    generator = np.random.default_rng(0)
    drawn = np.concatenate([runs[generator.integers(len(runs), size=(REPEATS, len(runs)))] for runs in strata], axis=1)
    outside = 50.0 * (1.0 - COVERAGE)
    low, high = np.percentile(statistic(drawn), [outside, 100.0 - outside])
    return float(low), float(high)
