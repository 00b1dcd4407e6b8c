"""Constraints that act on one side only: contacts push and never pull, tethers pull and never push."""

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.runtime.checks import finite

LIMIT = """
    const N side = NUMBER(side);
    const V undone = -old / FLOOR(scale, 1e-30);
    s = side * (old + s * scale) > T(0) ? undone : s;
    const V none = V(T(0)), held = side * old < T(0) ? s : none;
    s = side * value < T(0) ? held : s;
"""
"""C++ statements after a step: where the new multiplier would have the sign of ``side``, it becomes zero instead.

Where the constraint is slack and no earlier iteration has used it, nothing happens at all: damping alone is no reason.

The multiplier is that of all iterations of a substep, so a later iteration can take back what an earlier one did too
much (projected Gauss-Seidel: Erleben 2013, Numerical methods for linear complementarity problems in physics-based
animation, SIGGRAPH course notes). ``side`` is 1 for ``C <= 0``, -1 for ``C >= 0``, and 0 for a constraint that acts on
both sides.
"""


def sides(unilateral: ArrayLike, side: float, count: int) -> np.ndarray:
    """Return what :data:`LIMIT` reads, shape (count,).

    Args:
        unilateral: whether a constraint acts on one side only, one value or shape (count,).
        side: 1 or -1, which side that leaves free.
        count: of constraints.

    Raises:
        ValueError: for a wrong shape.
    """
    return side * (finite("unilateral", np.asarray(unilateral, dtype=np.float64), (count,)) != 0.0)
