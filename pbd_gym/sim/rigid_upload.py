"""Rigid bodies: from the scene to the table that kernels read, and the scratch memory of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from pbd_gym.kernels.rigid.data import COLUMNS, NUMBERS, scratch_type
from pbd_gym.scene.base import BaseScene

HEAVY = 1e3
"""What a particle that is held or pinned counts as, in masses of its body: the body turns about it."""


def fill_rigid(table: Any, scene: BaseScene, scalar: Any, device: Any) -> None:
    """Fill the table of rigid bodies.

    Args:
        table: see :func:`pbd_gym.kernels.rigid.data.table_type`.
        scene: what one environment holds, with rigid bodies.
        scalar: ``wp.float32`` or ``wp.float64``.
        device: where it goes.
    """
    bodies, joints = scene.rigid_bodies, scene.joints
    integers = {
        "offsets": np.cumsum([0, *(len(body.indices) for body in bodies)]),
        "colliding": [len(body.samples) for body in bodies],
        "members": np.concatenate([body.indices for body in bodies]),
        "joints": [number for joint in joints for number in (joint.first, joint.second, joint.particle)],
    }
    points = [np.zeros(0)]
    for joint in joints:
        other = bodies[joint.second].center if joint.second >= 0 else 0.0
        points += [joint.point - bodies[joint.first].center, joint.point - other]
    numbers = {
        "rest": np.concatenate([body.rest.ravel() for body in bodies]),
        "mass": np.concatenate([scene.mass[body.indices] for body in bodies]),
        "radius": [body.radius for body in bodies],
        "reach": [np.linalg.norm(body.rest, axis=1).max() + body.radius for body in bodies],
        "heavy": [HEAVY * body.mass for body in bodies],
        "points": np.concatenate(points),
    }
    for name, values in integers.items():
        setattr(table, name, wp.array(np.asarray(values), dtype=wp.int32, device=device))
    for name, values in numbers.items():
        setattr(table, name, wp.array(np.asarray(values), dtype=scalar, device=device))


def rigid_scratch(model: Any) -> Any:
    """Make the memory that rigid bodies work on; without any next to none."""
    scratch = scratch_type(model.vec)()
    bodies, groups = model.rigid_bodies, model.group_count
    if bodies:
        count = sum(len(body.indices) for body in bodies)
        scratch.bodies = wp.zeros((groups, len(bodies), COLUMNS), dtype=model.vec)
        scratch.contacts = wp.zeros((groups, count, NUMBERS), dtype=model.vec)
        scratch.touching = wp.zeros((groups, count), dtype=wp.int32)
    return scratch
