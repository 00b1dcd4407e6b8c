"""The place in which particles of a fluid wait that are not there: they do not count."""

from __future__ import annotations

import math
from typing import Any, no_type_check

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
@no_type_check
def is_there(depot: wp.vec3, x: float, y: float, z: float) -> bool:
    """Return whether a particle at x, y, z [m] is anywhere but in the depot."""
    return x != depot[0] or y != depot[1] or z != depot[2]


def depot_of(batch: Any) -> wp.vec3:
    """Return the depot of a batch [m]; where there is none, a place that is not a number: nothing is in it."""
    fluid = batch.scene.fluid
    return wp.vec3(math.nan) if fluid is None or fluid.depot is None else wp.vec3(*fluid.depot.tolist())
