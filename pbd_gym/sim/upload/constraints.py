"""The way of constraints to the device, the same for every kind."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np


def cluster_values(rows: Sequence[np.ndarray], mass: np.ndarray, valence: np.ndarray) -> dict[str, np.ndarray]:
    """Return what every kind of clusters is told about masses, before they are brought into solve order.

    Args:
        rows: particles of each cluster, m arrays.
        mass: of all particles [kg], shape (n,).
        valence: how many constraints pull at each particle, shape (n,).

    Returns:
        ``part``: of its mass that a particle lends a cluster, and ``mass``, that mass [kg], for one cluster after the
        other; ``share``: of its correction that a Jacobi iteration may take where there are other constraints,
        shape (m,).
    """
    members = np.concatenate([np.zeros(0, dtype=np.int32), *rows])
    clusters = np.bincount(members, minlength=len(mass))
    part = 1.0 / clusters[members]
    share = np.array([(clusters[row] / valence[row]).min() for row in rows])
    return {"part": part, "mass": mass[members] * part, "share": share}


def in_solve_order(
    rows: Sequence[np.ndarray], values: dict[str, np.ndarray], permutation: np.ndarray, per_member: Collection[str]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Permute clusters of varying size with their numbers.

    Args:
        rows: particles of each cluster, m arrays.
        values: numbers by name, shape (m, ...), or those in ``per_member`` for one cluster after the other.
        permutation: solve order, shape (m,).
        per_member: names.

    Returns:
        Particles of one cluster after the other, and the numbers together with ``offsets``, where each of them begins,
        and the end, shape (m + 1,).
    """
    sizes = np.array([len(row) for row in rows], dtype=int)
    starts = np.cumsum(sizes) - sizes
    members = np.concatenate(
        [np.zeros(0, dtype=int), *(np.arange(starts[c], starts[c] + sizes[c]) for c in permutation)]
    )
    ordered = {name: value[members if name in per_member else permutation] for name, value in values.items()}
    ordered["offsets"] = np.concatenate([[0], np.cumsum(sizes[permutation])]).astype(np.int32)
    return np.concatenate([np.zeros(0, dtype=np.int32), *rows])[members], ordered
