"""Long-range attachments: no particle gets farther from the anchors of its cloth or rope than the material allows."""

import heapq
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints import distance
from pbd_gym.constraints.kind import Kind, sides


def geodesics(
    particle_count: int, edges: np.ndarray, lengths: np.ndarray, sources: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each particle the shortest way along edges to the nearest source (Dijkstra 1959).

    Args:
        particle_count: number of particles, n.
        edges: pairs of particles, shape (m, 2), int.
        lengths: of the edges [m], shape (m,), not negative.
        sources: particles to start from.

    Returns:
        Lengths [m], shape (n,), infinite where no path exists; and the source, shape (n,), -1 there.
    """
    neighbours: list[list[tuple[int, float]]] = [[] for _ in range(particle_count)]
    for (a, b), length in zip(edges.tolist(), lengths.tolist(), strict=True):
        neighbours[a].append((b, length))
        neighbours[b].append((a, length))
    found, nearest = np.full(particle_count, np.inf), np.full(particle_count, -1, dtype=np.int32)
    queue = [(0.0, int(source), int(source)) for source in sources]
    heapq.heapify(queue)
    while queue:
        way, particle, source = heapq.heappop(queue)
        if nearest[particle] >= 0:
            continue
        found[particle], nearest[particle] = way, source
        for other, length in neighbours[particle]:
            if nearest[other] < 0:
                heapq.heappush(queue, (way + length, other, source))
    return found, nearest


def attachments(
    particle_count: int, edges: np.ndarray, lengths: np.ndarray, anchors: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Return the tethers of a mesh: from every particle to the nearest anchor of each group of anchors it can reach.

    Anchors joined by edges are one group, such as the rim of a curtain; a towel that hangs by its corners has a group
    at each of them.

    Args:
        particle_count: number of particles, n.
        edges: pairs of particles, shape (m, 2), int.
        lengths: of the edges [m], shape (m,), not negative.
        anchors: particles that are fixed, shape (a,), int.

    Returns:
        Pairs of an anchor and a particle, shape (k, 2), int32, and the lengths of their tethers [m], shape (k,).
    """
    fixed = np.zeros(particle_count, dtype=bool)
    fixed[np.asarray(anchors, dtype=np.int64)] = True
    inside = fixed[edges].all(axis=1)
    pairs, ways = [np.zeros((0, 2), dtype=np.int32)], [np.zeros(0)]
    left = fixed.copy()
    while left.any():
        first = int(np.argmax(left))
        group = np.flatnonzero(np.isfinite(geodesics(particle_count, edges[inside], lengths[inside], [first])[0]))
        left[group] = False
        way, anchor = geodesics(particle_count, edges, lengths, group.tolist())
        reached = np.flatnonzero(np.isfinite(way) & ~fixed).astype(np.int32)
        pairs.append(np.stack([anchor[reached], reached], axis=1))
        ways.append(way[reached])
    return np.concatenate(pairs), np.concatenate(ways)


def prepare(
    positions: np.ndarray, indices: np.ndarray, compliance: ArrayLike = 0.0, rest_length: ArrayLike | None = None
) -> dict[str, np.ndarray]:
    """Check and complete parameters as :func:`pbd_gym.constraints.distance.prepare` does.

    ``rest_length`` is the tether's length.
    """
    return distance.prepare(positions, indices, compliance, rest_length) | {"side": sides(True, 1.0, len(indices))}


KIND: Kind = replace(distance.KIND, name="tether", prepare=prepare, one_sided=True)
"""``C(x) = |x_1 - x_0| - l <= 0`` [m]: particles nearer than l are left alone.

With x_0 fixed and l the path length to it along the rest shape, it holds a load for which sweeps of stretch constraints
would need many iterations, since a sweep carries a pull only so far. Energy ``C^2 / (2 compliance)`` where C is
positive, compliance in m/N. Kim, Chentanez, Mueller 2012, Long range attachments, doi:10.2312/SCA/SCA12/305-310;
multiplier of Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.
"""
