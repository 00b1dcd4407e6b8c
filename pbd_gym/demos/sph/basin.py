"""A block of fluid in a corner of a box, as particles."""

from __future__ import annotations

import numpy as np


def block_in_box(width: int, height: int, spacing: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Return a block of fluid in the lower left corner of a box that is three times as wide and high.

    Args:
        width, height: particles along the block.
        spacing: of the particles [m].

    Returns:
        The fluid's positions, shape (width * height, 2), row by row from below, and those of the box, shape (b, 2) [m].
    """
    across, up = 3 * width, 3 * height
    left = -0.5 * across * spacing
    i, j = np.divmod(np.arange(width * height), width)
    fluid = np.stack([left + (j + 1.5) * spacing, (i + 1.5) * spacing], axis=1)
    x, y = left + spacing * np.arange(across), spacing * np.arange(1, up)
    rows = [np.stack([x, np.full_like(x, level)], axis=1) for level in (0.0, up * spacing)]
    sides = [np.stack([np.full_like(y, edge), y], axis=1) for edge in (left, left + (across - 1) * spacing)]
    walls = [np.stack(pair, axis=1).reshape(-1, 2) for pair in (rows, sides)]  # one of each in turn
    return fluid, np.concatenate(walls)
