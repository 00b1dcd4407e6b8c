"""Overlapping regions of a body: clusters for shape matching, each a particle with those around it.

The wider the regions, the stiffer the body bends, and the faster a push travels through it.
Rivers, James 2007, FastLSM: fast lattice shape matching for robust real-time deformation, doi:10.1145/1276377.1276480.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.runtime.checks import whole


def lattice_regions(shape: Sequence[int], half_width: int = 1) -> list[np.ndarray]:
    """Return the regions of a lattice: each particle with those at most ``half_width`` steps away along every axis.

    Args:
        shape: particles along each axis; particles count fastest along the last one.
        half_width: steps, at least 1.

    Returns:
        One region per particle, (2 half_width + 1)^axes particles away from the borders, in rising order, int32.

    Raises:
        TypeError: for counts that are not whole numbers.
        ValueError: for no axis, fewer than one particle along one, or a half-width below 1.
    """
    counts = [whole("shape", count, 1) for count in shape]
    if not counts:
        raise ValueError("shape needs a number of particles for at least one axis")
    half_width = whole("half_width", half_width, 1)
    numbers = np.arange(np.prod(counts), dtype=np.int32).reshape(counts)
    places = itertools.product(*(range(count) for count in counts))
    return [numbers[tuple(slice(max(i - half_width, 0), i + half_width + 1) for i in at)].ravel() for at in places]


def graph_regions(edges: ArrayLike, particle_count: int, rings: int = 1) -> list[np.ndarray]:
    """Return the regions of a mesh: each particle with those at most ``rings`` edges away.

    Args:
        edges: pairs of particles, shape (e, 2), int, for example ``TetMesh.edges``.
        particle_count: number of particles, n.
        rings: edges, at least 1.

    Returns:
        One region per particle, in rising order, int32.

    Raises:
        TypeError: for counts that are not whole numbers.
        ValueError: for edges of a wrong shape or of particles that do not exist, a particle without an edge, or counts
            below 1.
    """
    particle_count, rings = whole("particle_count", particle_count, 1), whole("rings", rings, 1)
    pairs = np.asarray(edges)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise ValueError(f"edges must be integers of shape (e, 2), got {pairs.dtype} of shape {pairs.shape}")
    if pairs.size and (pairs.min() < 0 or pairs.max() >= particle_count):
        raise ValueError(f"edges must name particles 0 to {particle_count - 1}")
    alone = np.setdiff1d(np.arange(particle_count), pairs)
    if len(alone):
        raise ValueError(f"particle {alone[0]} has no edge: its region would be itself alone")
    beside: list[set[int]] = [{i} for i in range(particle_count)]
    for a, b in pairs.tolist():
        beside[a].add(b)
        beside[b].add(a)
    regions = beside
    for _ in range(rings - 1):
        regions = [set().union(*(beside[i] for i in region)) for region in regions]
    return [np.array(sorted(region), dtype=np.int32) for region in regions]
