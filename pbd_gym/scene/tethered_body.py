"""Tethered bodies, and the path lengths along them at rest."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from pbd_gym.geometry.paths import all_ways
from pbd_gym.geometry.trimeshes import groups

MOST_PARTICLES = 8192
"""Largest number of particles of a body with a table of paths: 256 MiB in float32."""


@dataclass(frozen=True)
class TetheredBody:
    """Particles of one body, and the path lengths between them at rest.

    Raises:
        ValueError: for a body in several pieces, or one too large for a table of paths.
    """

    first: int
    """First particle; the others follow."""
    positions: np.ndarray
    """Rest positions [m], shape (k, 3)."""
    edges: np.ndarray
    """Pairs of particles, counted from the first, along which the material extends, shape (m, 2), int."""
    lengths: np.ndarray
    """Lengths of the edges [m], shape (m,)."""
    pattern: np.ndarray | None = None
    """Positions in a flat, convex pattern [m], shape (k, 2), in which paths are straight. None for any other shape."""
    slack: float = 0.0
    """Extra length of a tether, as a share of the path."""

    def __post_init__(self) -> None:
        pieces = len(np.unique(groups(self.count, self.edges)))
        if pieces > 1:
            raise ValueError(
                f"the cloth is cut: it falls into {pieces} pieces that no edge joins, and no tether reaches from one "
                f"to another; add them as separate bodies"
            )
        if self.pattern is None and self.count > MOST_PARTICLES:
            raise ValueError(
                f"tethers along a body of {self.count:,} particles would need a table of {_mebibytes(self.count)}, and "
                f"the most there is room for is {_mebibytes(MOST_PARTICLES)} ({MOST_PARTICLES:,} particles)"
            )

    @property
    def count(self) -> int:
        """Number of particles, k."""
        return len(self.positions)

    @functools.cached_property
    def places(self) -> np.ndarray:
        """Pattern scaled to the lengths of tethers [m], shape (k, 2); zeros if there is none."""
        return np.zeros((self.count, 2)) if self.pattern is None else (1.0 + self.slack) * self.pattern

    @functools.cached_property
    def ways(self) -> np.ndarray | None:
        """Lengths of tethers between all particles [m], shape (k, k), float32; None with a pattern."""
        if self.pattern is not None:
            return None
        found = (1.0 + self.slack) * all_ways(self.positions, self.edges, self.lengths)
        # Rounded up: a tether is never shorter than the path.
        return np.nextafter(found.astype(np.float32), np.float32(np.inf))

    def lengths_from(self, particle: int) -> np.ndarray:
        """Return the lengths of tethers from one particle, counted from the first, shape (k,) [m]."""
        if self.ways is None:
            return np.linalg.norm(self.places - self.places[particle], axis=1)
        return self.ways[particle]


def _mebibytes(count: int) -> str:
    return f"{4 * count * count / 2**20:,.0f} MiB"


def spread_out(bodies: tuple[TetheredBody, ...], pinned: np.ndarray, most: int) -> np.ndarray:
    """Choose pins for tethers: all of them, or those farthest from each other.

    Args:
        bodies: tethered bodies. pinned: whether each particle of an environment is pinned, shape (n,), bool. most:
        largest number of pins.

    Returns:
        Particles, shape (p,), int32, p at most ``most``.
    """
    members = [body.first + np.flatnonzero(pinned[body.first : body.first + body.count]) for body in bodies]
    found = np.concatenate([np.zeros(0, dtype=np.int64), *members])
    if len(found) <= most:
        return found.astype(np.int32)
    far = np.full(len(pinned), np.inf)
    chosen: list[int] = []
    while len(chosen) < most:
        farthest = int(found[np.argmax(far[found])])
        chosen.append(farthest)
        for body in bodies:
            inside = slice(body.first, body.first + body.count)
            if body.first <= farthest < body.first + body.count:
                far[inside] = np.minimum(far[inside], body.lengths_from(farthest - body.first))
    return np.array(sorted(chosen), dtype=np.int32)
