"""Fluid of a scene: its particles, and those of the bodies it wets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pbd_gym.colliders import Solid
from pbd_gym.geometry.neighbours import NeighbourGrid
from pbd_gym.materials.fluids import SUPPORT, FluidMaterial, Smoothing, bell
from pbd_gym.runtime.devices import free_host_memory

SOFT_FELT = 0.89
"""Share of their volume that a fluid feels of soft solids, whose particles lie in the surface: with all of it cubes
float too high by 0.08 of their height, and 1.05 of the fluid's density swims; with 0.82 of it 0.95 sinks.
"""
LEAST_DENSITY, LEAST_SOLID_DENSITY = 0.5, 0.1
"""Smallest density of wet bodies, and of wet solids with given volumes, as shares of the fluid's density, so that they
carry water. Fine cloth is so light that it would be pushed aside, and no sweep of its constraints would bring back the
fluid that flows on.
"""
CLOSEST = 0.5
"""Distance, in spacings, below which particles are too crowded."""
CROWDED = 1.25
"""Largest factor by which more samples than counted may be near a particle: they are counted on a lattice, at rest."""
PARTICLE_BYTES = 1000
"""Smallest memory that a fluid particle takes in an environment: its state, and lists of its neighbours [bytes]."""


@dataclass(frozen=True)
class Emitter:
    """A nozzle: particles leave it side by side, each a spacing behind the one before it."""

    sites: np.ndarray
    """Places where particles leave it [m], shape (m, 3)."""
    direction: np.ndarray
    """Direction of the jet, of length one, shape (3,)."""
    speed: float
    """Speed of the jet [m/s]."""


@dataclass(frozen=True)
class Fluid:
    """All the fluid of a scene: one material, particles of one size."""

    material: FluidMaterial
    spacing: float
    """Distance between particles at rest; a particle's radius is half of it [m]."""
    dimension: int
    """2 for a fluid in the plane z = constant, 3 for one in space."""
    indices: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    """Particles of the fluid, shape (k,), int32."""
    boundary: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    """Particles of other bodies that it cannot flow through, shape (b,), int32."""
    volumes: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Volume of each boundary particle, in volumes of a fluid particle, shape (b,), float64."""
    lightest: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Largest effective inverse mass of each boundary particle, in those of a fluid particle, shape (b,), float64."""
    emitters: tuple[Emitter, ...] = ()
    """Nozzles of the fluid."""
    drains: tuple[np.ndarray, ...] = ()
    """Boxes in which fluid disappears: lower and upper corner [m], shape (2, 3)."""
    depot: np.ndarray | None = None
    """Place where inactive fluid particles are parked [m], shape (3,): particles exactly there do not exist."""
    capacity: int = 64
    """Capacity for the neighbours of a particle; about 26 are usual."""
    boundary_capacity: int | None = None
    """Capacity for the boundary samples near a particle; the possible maximum if None."""
    most_samples: int = 0
    """Approximate largest number of boundary samples near a particle."""

    @property
    def smoothing(self) -> Smoothing:
        """Smoothing kernel."""
        return Smoothing(self.dimension, self.spacing)

    def there(self, positions: np.ndarray) -> np.ndarray:
        """Return the positions of its active particles [m], shape (k, 3).

        Args:
            positions: positions of all particles of the scene [m], shape (n, 3).
        """
        found: np.ndarray = positions[self.indices]
        return found if self.depot is None else found[(found != self.depot).any(axis=1)]

    @property
    def wet_capacity(self) -> int:
        """Capacity for the boundary samples near a particle, a multiple of 8."""
        if self.boundary_capacity is not None:
            return self.boundary_capacity
        return max(self.capacity, -(-min(self.most_samples, len(self.boundary)) // 8) * 8)

    @property
    def particle_mass(self) -> float:
        """[kg]"""
        return self.material.density * self.spacing**self.dimension


def lattice(lower: np.ndarray, upper: np.ndarray, spacing: float, dimension: int) -> np.ndarray:
    """Return the points of a cubic lattice in the middle of a box, half a spacing off its sides, layer by layer.

    Args:
        lower, upper: corners [m], shape (3,); in a plane the z of both is that of the plane.
        spacing: [m].
        dimension: 2 or 3.

    Returns:
        Positions [m], shape (k, 3), the lowest layer first.

    Raises:
        MemoryError: if they do not fit into memory.
    """
    sides = np.floor((upper - lower) / spacing + 1e-6)
    if dimension == 2:
        sides[2] = 1
    check_memory("the box", float(np.maximum(sides, 0.0).prod()), spacing)
    counts = sides.astype(int)
    middle = 0.5 * (lower + upper)
    x, y, z = (middle[a] + spacing * (np.arange(counts[a]) - 0.5 * (counts[a] - 1)) for a in range(3))
    return np.stack(np.meshgrid(y, z, x, indexing="ij"), axis=-1).reshape(-1, 3)[:, [2, 0, 1]]


def check_memory(what: str, count: float, spacing: float) -> None:
    """Check that particles fit into memory before they are created: NumPy may be killed instead of failing.

    Args:
        what: container of the particles, for the message.
        count: number of particles.
        spacing: [m].

    Raises:
        MemoryError: if one environment of them would not fit.
    """
    needed, free = count * PARTICLE_BYTES, free_host_memory()
    if free is not None and needed > free:
        raise MemoryError(
            f"{what} would hold {count:,.0f} particles with a spacing of {spacing:g} m: they need about "
            f"{needed / 2**30:,.0f} GiB, and {free / 2**30:.1f} GiB are free"
        )


def disc(center: np.ndarray, direction: np.ndarray, radius: float, spacing: float, dimension: int) -> np.ndarray:
    """Return the points of a square lattice on a disc, or of a line across it, the middle one first [m], shape (m, 3).

    Args:
        center: centre of the disc [m], shape (3,).
        direction: normal of length one, shape (3,).
        radius, spacing: [m].
        dimension: 3 for a disc, 2 for the line in the plane of constant z.

    Raises:
        MemoryError: if they do not fit into memory.
    """
    check_memory("the nozzle", np.pi * (radius / spacing) ** 2, spacing)
    side = np.eye(3)[2 if dimension == 2 else np.argmin(np.abs(direction))]
    first = np.cross(direction, side)
    first /= np.linalg.norm(first)
    count = int(radius / spacing)
    steps = spacing * np.arange(-count, count + 1)
    if dimension == 2:
        return center + steps[np.argsort(np.abs(steps), kind="stable"), None] * first
    u, v = (axis.ravel() for axis in np.meshgrid(steps, steps))
    order = np.argsort(np.hypot(u, v), kind="stable")
    order = order[np.hypot(u, v)[order] <= radius]
    return center + u[order, None] * first + v[order, None] * np.cross(direction, first)


def clear_of(positions: np.ndarray, colliders: Sequence[Solid], radius: float) -> np.ndarray:
    """Return which places are at least a radius [m] off all colliders, to a thousandth of it, shape (k,), bool."""
    clear = np.ones(len(positions), dtype=bool)
    for collider in colliders:
        clear &= collider.signed_distance(positions)[0] > 0.999 * radius
    return clear


def check_clear(fluid: Fluid, positions: np.ndarray, collider: Solid) -> None:
    """Check that a new collider overlaps neither fluid nor a nozzle.

    Args:
        fluid: fluid of the scene.
        positions: positions of all particles of the scene [m], shape (n, 3).
        collider: the new one.

    Raises:
        ValueError: if the centre of a particle, or a place of a nozzle, is in it.
    """
    sites = np.concatenate([np.zeros((0, 3)), *(emitter.sites for emitter in fluid.emitters)])
    for what, places in (("particles of the fluid", fluid.there(positions)), ("places of nozzles", sites)):
        stuck = int((~clear_of(places, [collider], 0.0)).sum())
        if stuck:
            raise ValueError(f"{stuck} of {len(places)} {what} would be in the collider: add the collider first")


def check_nozzle(fluid: Fluid, sites: np.ndarray, positions: np.ndarray) -> None:
    """Check that fluid and the places of a nozzle are at least a spacing apart, so that particles can come out.

    Args:
        fluid: fluid of the scene.
        sites: places of the nozzle [m], shape (m, 3).
        positions: positions of the fluid's particles [m], shape (k, 3).

    Raises:
        ValueError: if they are nearer to each other.
    """
    every, least = np.concatenate([sites, positions]), 0.999 * fluid.spacing
    pairs = NeighbourGrid(every, least).pairs()
    pairs = pairs[(pairs[:, 0] < len(sites)) & (pairs[:, 1] >= len(sites))]
    if len(pairs):
        gaps = np.linalg.norm(every[pairs[:, 0]] - every[pairs[:, 1]], axis=1)
        raise ValueError(
            f"{len(np.unique(pairs[:, 0]))} of {len(sites)} places of a nozzle are in the fluid: the nearest particle "
            f"is {gaps.min():.3g} m away, less than a spacing of {fluid.spacing:g} m"
        )


def check_room(fluid: Fluid, positions: np.ndarray, before: np.ndarray) -> None:
    """Check that there is room for particles.

    Args:
        fluid: fluid of the particles.
        positions: new positions [m], shape (k, 3).
        before: existing positions [m], shape (m, 3).

    Raises:
        ValueError: if two are nearer to each other than half a spacing.
    """
    least = CLOSEST * fluid.spacing
    every = np.concatenate([before, positions])
    pairs = NeighbourGrid(every, least).pairs()
    pairs = pairs[pairs[:, 1] >= len(before)]
    gaps = np.linalg.norm(every[pairs[:, 0]] - every[pairs[:, 1]], axis=1)
    tight = pairs[gaps < least]
    if len(tight):
        old = int((tight[:, 0] < len(before)).sum())
        raise ValueError(
            f"too much fluid in one place: {len(np.unique(tight))} particles are nearer to another than half a spacing "
            f"of {fluid.spacing:g} m, the nearest two {gaps.min():.3g} m apart"
            + (f"; {old} of these pairs are with fluid added before" if old else "")
        )


def boundary_volumes(fluid: Fluid, positions: np.ndarray) -> np.ndarray:
    """Return the volumes of boundary samples, in volumes of a fluid particle, shape (b,).

    Samples that lie close share the volume: Akinci et al. 2012, doi:10.1145/2185520.2185558, eq. 4. A closed layer of
    samples a spacing apart also represents the space behind it.

    Args:
        fluid: fluid whose kernel is used.
        positions: rest positions of the samples [m], shape (b, 3).
    """
    smoothing = fluid.smoothing
    sums = np.ones(len(positions))
    if len(positions):
        pairs = NeighbourGrid(positions, smoothing.support).pairs()
        gaps = np.linalg.norm(positions[pairs[:, 0]] - positions[pairs[:, 1]], axis=1)
        weights = bell(gaps / smoothing.support)
        for side in (0, 1):
            sums += np.bincount(pairs[:, side], weights, len(positions))
    return 1.0 / (smoothing.amplitude * sums)


def most_samples(fluid: Fluid, positions: np.ndarray, volumes: np.ndarray) -> int:
    """Return the approximate largest number of a body's samples near a fluid particle.

    They are counted around the places of a lattice. If the fullest place has volume left, more bodies like this one may
    fill it, since bodies do not overlap.

    Args:
        fluid: fluid of the particle.
        positions: rest positions of the samples [m], shape (b, 3).
        volumes: volume of each, in volumes of a fluid particle, shape (b,).
    """
    if not len(positions):
        return 0
    # Samples by cells of half a spacing. Places that are 2^20 spacings apart share a number: too many at worst.
    cells, which = np.unique(np.floor(positions / (0.5 * fluid.spacing)).astype(np.int64), axis=0, return_inverse=True)
    seen, numbers = [], []
    for step in np.ndindex(6, 6, 6):
        places = cells // 2 + np.array(step) - 2
        near = np.flatnonzero(((2 * places - cells) ** 2).sum(axis=1) <= (2.0 * SUPPORT) ** 2)
        seen.append(near)
        numbers.append((places[near] & (2**20 - 1)) @ np.array([1, 2**20, 2**40]))
    _, at = np.unique(np.concatenate(numbers), return_inverse=True)
    counts, room = (
        np.bincount(at.ravel(), np.bincount(which.ravel(), weights)[np.concatenate(seen)])
        for weights in (None, volumes)
    )
    most = int(counts.argmax())
    ball = {2: np.pi, 3: 4.0 / 3.0 * np.pi}[fluid.dimension] * SUPPORT**fluid.dimension
    return int(np.ceil(CROWDED * counts[most] * max(1.0, ball / room[most])))
