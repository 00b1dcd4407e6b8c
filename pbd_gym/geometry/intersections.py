"""Whether a surface goes through itself, in NumPy."""

from __future__ import annotations

import numpy as np


def crossings(positions: np.ndarray, triangles: np.ndarray, segments: np.ndarray) -> int:
    """Count how often a segment pierces a triangle that it has no corner in common with.

    Args:
        positions: [m], shape (n, 3).
        triangles: shape (t, 3), int.
        segments: shape (m, 2), int.
    """
    ends, faces = positions[segments].astype(np.float64), positions[triangles].astype(np.float64)
    # Only those are looked at whose spheres meet.
    (m, r), (c, s) = ((p.mean(axis=1), np.linalg.norm(p - p.mean(axis=1, keepdims=True), axis=2).max(axis=1))
                      for p in (ends, faces))  # fmt: skip
    squares = (m * m).sum(axis=1)[:, None] + (c * c).sum(axis=1) - 2.0 * m @ c.T
    i, j = np.nonzero(squares < (r[:, None] + s) ** 2)
    apart = ~(segments[i][:, :, None] == triangles[j][:, None, :]).any(axis=(1, 2))
    (start, end), face = ends[i[apart]].swapaxes(0, 1), faces[j[apart]]
    normal = np.cross(face[:, 1] - face[:, 0], face[:, 2] - face[:, 0])
    before, after = (((p - face[:, 0]) * normal).sum(axis=1) for p in (start, end))
    hit = before * after < 0.0
    share = before[hit] / (before[hit] - after[hit])
    point, face, normal = start[hit] + share[:, None] * (end - start)[hit], face[hit], normal[hit]
    inside = np.ones(len(point), dtype=bool)
    for k in range(3):
        side = np.cross(face[:, (k + 1) % 3] - face[:, k], point - face[:, k])
        inside &= (side * normal).sum(axis=1) >= 0.0
    return int(inside.sum())
