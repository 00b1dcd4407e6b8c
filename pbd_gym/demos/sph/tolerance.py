"""When an iterative solve stops."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerance:
    """A solve ends when the mean error is small enough, or after a number of iterations.

    Raises:
        ValueError: for a number out of its range.
    """

    error: float = 0.1
    """Mean compression that is left [% of the rest density]; with 0 the number of iterations is fixed."""
    iterations: int = 100
    """Largest number of iterations."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.error < math.inf or self.iterations < 1:
            raise ValueError(f"a tolerance needs error >= 0 and iterations >= 1, got {self}")

    def density(self, rest_density: float) -> float:
        """Return the error that is left, in the unit of ``rest_density``."""
        return self.error / 100.0 * rest_density
