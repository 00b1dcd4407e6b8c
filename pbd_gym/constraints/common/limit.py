"""Constraints that act on one side only: contacts push and never pull, tethers pull and never push."""

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.runtime.checks import finite


def sides(unilateral: ArrayLike, side: float, count: int) -> np.ndarray:
    """Return the field ``side`` of a one-sided kind, shape (count,).

    Args:
        unilateral: whether a constraint acts on one side only, one value or shape (count,).
        side: 1 for ``C <= 0``, -1 for ``C >= 0``.
        count: of constraints.

    Raises:
        TypeError: for anything but truth values and numbers.
        ValueError: for a wrong shape.
    """
    given = np.asarray(unilateral)
    return side * (finite("unilateral", given.astype(np.float64) if given.dtype == bool else given, (count,)) != 0.0)
