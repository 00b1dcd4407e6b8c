"""Units of length: how long a metre is in the numbers of a scene."""

from __future__ import annotations

import numpy as np

from pbd_gym.runtime.checks import LARGEST, number

GRAVITY = 9.81
"""Gravity of the Earth [m/s^2]."""
INCH = 0.0254
"""Length of an inch [m]."""
USUAL = (0.001, 0.01, INCH, 12.0 * INCH)
"""Units other than metres in which scenes are drawn: millimetres, centimetres, inches and feet [m]."""
CLOSE = 0.005
"""Relative error to which a gravity must be that of the Earth: people write 9.8, or 386 and 32.2."""


def meters_per_unit(given: float | None, gravity: np.ndarray) -> float:
    """Return the length of a scene's unit [m]: the given one, or else that in which its gravity is the Earth's.

    Args:
        given: what the user says [m], or None.
        gravity: acceleration in the scene's unit, shape (3,). If it is that of the Earth in none of the usual units,
            lengths are metres.

    Raises:
        TypeError, ValueError: for what is not a number above 0.
    """
    if given is not None:
        return number("meters_per_unit", given, most=LARGEST, positive=True)
    strength = float(np.linalg.norm(gravity))
    for unit in USUAL:
        if abs(strength * unit - GRAVITY) <= CLOSE * GRAVITY:
            return unit
    return 1.0
