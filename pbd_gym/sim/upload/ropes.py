"""Ropes without lines beside colliders: each of their segments becomes a line of its own.

A chord from one face of a box to the next pulls the particle at the edge straight into its face, where friction holds
it against any pull. Lines are measured along the surfaces they are wrapped round, with belt friction
(``native/wraps.h``), and that works for one segment as well: sweeps pass tension from one to the next, as between
springs.
"""

from __future__ import annotations

import numpy as np

from pbd_gym.scene.base import BaseScene, ConstraintBatch


def going_round(scene: BaseScene, has_bends: bool) -> dict[str, ConstraintBatch]:
    """Return the constraints of a scene by kind, as kernels solve them.

    Args:
        scene: scene of one environment.
        has_bends: whether there are colliders that ropes can go round.

    Returns:
        Those of the scene, but for the distances along its ropes: they are lines of one segment where ``has_bends``,
        after all other lines.
    """
    batch = scene.constraints.get("distance")
    if batch is None or not has_bends or not len(scene.lines):
        return scene.constraints
    pairs = np.concatenate(batch.indices)
    values = {name: np.concatenate(parts) for name, parts in batch.values.items()}
    labels, along = np.concatenate(batch.labels), np.isin(_keys(pairs), _keys(scene.lines))
    if not along.any():
        return scene.constraints
    found = {kind: one for kind, one in scene.constraints.items() if kind != "distance"}
    if not along.all():
        rest = {name: value[~along] for name, value in values.items()}
        found["distance"] = ConstraintBatch()
        found["distance"].add([pairs[~along]], labels[~along], **rest)
    lines, longer = ConstraintBatch(), scene.constraints.get("line", ConstraintBatch())
    lines.indices, lines.labels = list(longer.indices), list(longer.labels)
    lines.values = {name: list(parts) for name, parts in longer.values.items()}
    ends = np.zeros(int(along.sum()))
    lines.add(
        list(pairs[along]),
        labels[along],
        compliance=values["compliance"][along],
        damping_time=values["damping_time"][along],
        rest_length=np.stack([values["rest_length"][along], ends], axis=1).ravel(),
        relative_compliance=np.stack([ends + 1.0, ends], axis=1).ravel(),
    )
    found["line"] = lines
    return found


def _keys(pairs: np.ndarray) -> np.ndarray:
    """Return a number for each pair of particles, in any order, shape (m,), int64."""
    low, high = np.sort(pairs.astype(np.int64), axis=1).T
    return (low << 32) + high
