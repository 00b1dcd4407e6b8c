"""Surfaces of revolution: cups, bowls, lids, cylinders, all of them triangle meshes in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.geometry.trimeshes import TriMesh, trimesh
from pbd_gym.runtime.checks import shaped, whole


def revolution(profile: ArrayLike, segments: int = 24) -> TriMesh:
    """Turn a profile round the y axis.

    Seen with the axis on the left, a profile that runs counter-clockwise has its outside on the right: from the bottom
    to the top of a cylinder, or round a cup from the middle of its foot over its outside and its rim to the inside of
    its bottom. It is closed where it starts and ends on the axis, or where its last point is its first.

    Args:
        profile: distance from the axis and height of each point [m], shape (k, 2), k at least 2.
        segments: of each circle, at least 3.

    Raises:
        TypeError: for anything but numbers.
        ValueError: for fewer than two points, a negative distance, only points on the axis, too few segments, or a
            profile that touches itself.
    """
    points = shaped("profile", profile, (-1, 2))
    segments = whole("segments", segments, 3)
    if len(points) < 2 or (points[:, 0] < 0.0).any() or not points[:, 0].any():
        raise ValueError(f"a profile needs at least 2 points, none left of the axis and not all on it, got {points}")
    angles = 2.0 * np.pi * np.arange(segments) / segments
    around = np.stack([np.cos(angles), np.zeros(segments), -np.sin(angles)], axis=1)
    vertices = points[:, None, :1] * around + points[:, None, 1:] * np.array([0.0, 1.0, 0.0])
    a = (np.arange(len(points) - 1)[:, None] * segments + np.arange(segments)).ravel()
    b = (np.arange(len(points) - 1)[:, None] * segments + np.roll(np.arange(segments), -1)).ravel()
    c, d = a + segments, b + segments
    faces = np.concatenate([np.stack([a, b, d], axis=1), np.stack([a, d, c], axis=1)])
    flat = vertices.reshape(-1, 3)
    corners = flat[faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return trimesh(flat, faces[area > 1e-12 * np.ptp(points, axis=0).max() ** 2])
