"""Orders in which Gauss-Seidel visits constraints: greedy colours, and levels that keep a given order.

A *schedule* is a permutation of the constraints plus the ends of its batches. Constraints of one batch share no
particle, so they may be projected at once and in any order without changing a bit of the result. Clusters, which have
any number of particles, are sorted into that order together with their members' data.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

import numpy as np

Rows = np.ndarray | Sequence[np.ndarray]


def greedy_colors(indices: Rows, particle_count: int) -> np.ndarray:
    """Give each constraint the smallest colour that none of its particles has yet, in the given order.

    Args:
        indices: particles of each constraint, shape (m, k), or m arrays of any lengths, int.
        particle_count: number of particles.

    Returns:
        Colour of each constraint, shape (m,), int32.
    """
    used = np.zeros(particle_count, dtype=object)  # one Python integer a particle: a bit for every colour taken
    colors = np.empty(len(indices), dtype=np.int32)
    for constraint, particles in enumerate(indices):
        taken = 0
        for particle in particles:
            taken |= used[particle]
        color = (~taken & (taken + 1)).bit_length() - 1  # lowest bit that is free
        colors[constraint] = color
        for particle in particles:
            used[particle] |= 1 << color
    return colors


def dependency_levels(indices: Rows, particle_count: int) -> np.ndarray:
    """Give each constraint the length of the longest chain of earlier constraints that it must wait for.

    Sweeping level by level gives the same bits as sweeping in the given order, but a level can run in parallel.

    Args:
        indices: particles of each constraint, shape (m, k), or m arrays of any lengths, int.
        particle_count: number of particles.

    Returns:
        Level of each constraint, shape (m,), int32.
    """
    ready = np.zeros(particle_count, dtype=np.int32)
    levels = np.empty(len(indices), dtype=np.int32)
    for constraint, particles in enumerate(indices):
        level = ready[particles].max()
        levels[constraint] = level
        ready[particles] = level + 1
    return levels


def batches(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort constraints by label, keeping their order inside a label.

    Args:
        labels: colour or level of each constraint, shape (m,), int, from 0 without gaps.

    Returns:
        The permutation, shape (m,), and the batch bounds, shape (labels + 1,), int32: batch ``c`` is
        ``permutation[bounds[c]:bounds[c + 1]]``.
    """
    permutation = np.argsort(labels, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(labels))]).astype(np.int32)
    return permutation, bounds


def find_conflict(indices: Rows, bounds: np.ndarray) -> int | None:
    """Return the first batch in which a particle appears twice, or None if the schedule can safely run in parallel."""
    for batch, (start, end) in enumerate(itertools.pairwise(bounds)):
        particles = np.concatenate(indices[start:end])
        if len(np.unique(particles)) != len(particles):
            return batch
    return None


def cluster_values(rows: Sequence[np.ndarray], mass: np.ndarray, valence: np.ndarray) -> dict[str, np.ndarray]:
    """Return the mass data of clusters, before they are sorted into solve order.

    Args:
        rows: particles of each cluster, m arrays.
        mass: masses of all particles [kg], shape (n,).
        valence: number of constraints at each particle, shape (n,).

    Returns:
        ``part``, the share of its mass that a particle lends a cluster, and ``mass``, that mass [kg], for one cluster
        after the other; ``share``, the share of its correction that a Jacobi iteration may apply if there are other
        constraints, shape (m,).
    """
    members = np.concatenate([np.zeros(0, dtype=np.int32), *rows])
    clusters = np.bincount(members, minlength=len(mass))
    part = 1.0 / clusters[members]
    share = np.array([(clusters[row] / valence[row]).min() for row in rows])
    return {"part": part, "mass": mass[members] * part, "share": share}


def kept_weights(rows: Rows, inv_mass: np.ndarray) -> np.ndarray:
    """Return the share of its weight ``sum w |grad C|^2`` that counts beside a constraint's compliance.

    The rest is added to the compliance by a single sweep: half of the weight of particles that the constraint shares
    with others of its kind; see :mod:`pbd_gym.sim.substeps`. A spring alone between two masses keeps everything.

    Args:
        rows: particles of each constraint, shape (m, k), or m arrays of any lengths. Those of more than two particles
            keep everything; those of two are lines of one segment.
        inv_mass: inverse masses of all particles [1/kg], shape (n,).

    Returns:
        Shape (m,), from 1/2 to 1.
    """
    if not isinstance(rows, np.ndarray):
        kept, pairs = np.ones(len(rows)), [k for k, row in enumerate(rows) if len(row) == 2]
        if pairs:
            kept[pairs] = kept_weights(np.stack([rows[k] for k in pairs]), inv_mass)
        return kept
    light = inv_mass[rows]
    shared = np.bincount(rows.ravel(), minlength=len(inv_mass))[rows] > 1
    total = light.sum(axis=1)
    return 1.0 - 0.5 * np.where(shared, light, 0.0).sum(axis=1) / np.where(total > 0.0, total, 1.0)


def in_solve_order(
    rows: Sequence[np.ndarray], values: dict[str, np.ndarray], permutation: np.ndarray, per_member: Collection[str]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Permute clusters of varying size together with their numbers.

    Args:
        rows: particles of each cluster, m arrays.
        values: numbers by name, shape (m, ...), or those in ``per_member`` for one cluster after the other.
        permutation: solve order, shape (m,).
        per_member: names.

    Returns:
        Particles of one cluster after the other, and the numbers together with ``offsets``, the first entry of each and
        the end, shape (m + 1,).
    """
    sizes = np.array([len(row) for row in rows], dtype=int)
    starts = np.cumsum(sizes) - sizes
    members = np.concatenate(
        [np.zeros(0, dtype=int), *(np.arange(starts[c], starts[c] + sizes[c]) for c in permutation)]
    )
    ordered = {name: value[members if name in per_member else permutation] for name, value in values.items()}
    ordered["offsets"] = np.concatenate([[0], np.cumsum(sizes[permutation])]).astype(np.int32)
    return np.concatenate([np.zeros(0, dtype=np.int32), *rows])[members], ordered
