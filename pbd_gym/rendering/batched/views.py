"""Cameras as rows of numbers, worked out on the host or, where they differ by chance, in kernels."""

from __future__ import annotations

from typing import no_type_check

import numpy as np
import warp as wp

from pbd_gym.rendering.backdrop import cell_size
from pbd_gym.rendering.batched.tables import EYE, FORWARD, LENS, LIGHT, RIGHT, TARGET, UP
from pbd_gym.rendering.camera import PITCH_LIMIT, Camera

LIMIT = wp.constant(PITCH_LIMIT)


def camera_row(camera: Camera, size: tuple[int, int]) -> np.ndarray:
    """Return a camera as the kernels read it, see :data:`pbd_gym.rendering.batched.tables.CAMERA`; shape (7, 3)."""
    axes = camera.axes()
    lens = [camera.focal(size), camera.distance, cell_size(camera.distance)]
    return np.array([camera.eye(), *axes, axes @ camera.light(), camera.target, lens])


@wp.func
@no_type_check
def aim(cameras: wp.array2d[wp.vec3], row: int, target: wp.vec3, distance: float, yaw: float, pitch: float):
    """Write the row of a camera that circles a target, like :class:`pbd_gym.rendering.Camera`; its lens is kept."""
    tilt = wp.clamp(pitch, -LIMIT, LIMIT)
    sy = wp.sin(yaw)
    cy = wp.cos(yaw)
    sp = wp.sin(tilt)
    cp = wp.cos(tilt)
    right = wp.vec3(cy, 0.0, -sy)
    up = wp.vec3(-sy * sp, cp, -cy * sp)
    forward = wp.vec3(-sy * cp, -sp, -cy * cp)
    light = wp.normalize(-0.62 * right + wp.vec3(0.5 * sy, 0.72, 0.5 * cy))
    cameras[row, EYE] = target - distance * forward
    cameras[row, RIGHT] = right
    cameras[row, UP] = up
    cameras[row, FORWARD] = forward
    cameras[row, LIGHT] = wp.vec3(wp.dot(right, light), wp.dot(up, light), wp.dot(forward, light))
    cameras[row, TARGET] = target
    lens = cameras[row, LENS]
    cameras[row, LENS] = wp.vec3(lens[0], distance, lens[2])
