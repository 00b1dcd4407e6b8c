"""Action mode ``pick_then_place``: one action takes hold at one place, carries to another, and lets go."""

from __future__ import annotations

import math
from typing import no_type_check

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.randomization import SIZE, scaled

wp.set_module_options({"enable_backward": False})

NUMBERS = 6
"""Numbers of an action: where to pick (x, y, z) and where to place, as shares of the box."""
LIFT = 0.06
"""Height above the ground at which a picker carries, and lets go [m]."""
SETTLING = 7
"""Control steps that what was let go has to come to rest."""


@wp.kernel
@no_type_check
def stage(
    # In:
    actions: wp.array2d[float],
    at_place: int,
    carried: int,
    closed: float,
    height: float,
    lower: wp.vec3,
    upper: wp.vec3,
    parameters: wp.array2d[float],
    anchor: wp.vec3,
    # Out:
    commands: wp.array2d[float],
):
    """Write what mode ``pick_place`` would be told in one stage of an action: a place in the box, and the grip.

    While something is carried, y is the height at which that is done.
    """
    env = wp.tid()
    first = 3 * at_place
    size = parameters[env, SIZE]
    low = scaled(lower, anchor, size)
    high = scaled(upper, anchor, size)
    commands[env, 0] = actions[env, first]
    commands[env, 1] = actions[env, 1]
    commands[env, 2] = actions[env, first + 2]
    if carried != 0:
        commands[env, 1] = wp.clamp(2.0 * (height - low[1]) / (high[1] - low[1]) - 1.0, -1.0, 1.0)
    commands[env, 3] = closed


def stages(lower: np.ndarray, upper: np.ndarray, max_step: float) -> list[tuple[int, tuple[int, int, float]]]:
    """Return the stages of an action: control steps, and whether at the place, whether carrying, and the grip.

    Args:
        lower: corner of the box of the hands, the largest that an episode can have [m].
        upper: opposite corner [m].
        max_step: largest move along an axis per control step [m].
    """
    across = float(max(upper[0] - lower[0], upper[2] - lower[2]))
    return [
        (1, (0, 0, -1.0)),  # over to where it picks, open, at once: it is no obstacle
        (math.ceil(LIFT / max_step - 1e-6) + 1, (0, 1, 1.0)),
        (math.ceil(across / max_step - 1e-6) + 1, (1, 1, 1.0)),
        (SETTLING, (1, 1, -1.0)),
    ]
