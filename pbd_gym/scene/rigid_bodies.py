"""Rigid bodies of a scene: the particles that represent a mesh, their masses, and joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.geometry.moments import Moments, shell_moments, solid_moments
from pbd_gym.geometry.samples import (
    LEAST_DEPTH,
    cut_triangles,
    depths,
    inner_samples,
    sample_faces,
    sharp_corners,
    surface_samples,
)
from pbd_gym.geometry.surfaces import check_nested, closed_surface
from pbd_gym.geometry.trimeshes import TriMesh

LEAST_SAMPLES = 4
"""Smallest number of samples of a body, enough not to lie in a plane."""
MOST_SAMPLES = 4096
"""Number of samples of a body above which a spacing is taken for a mistake."""
USUAL_SAMPLES = (150, 600, 2400)
"""Approximate sample counts to try for a body without a given spacing: the first that works is used."""
WIDE = 4.0
"""Longest side of a face, in spacings: each touches a collider at one point."""
LIGHT = 0.01
"""Weight of a mesh vertex, in samples, before masses are fitted."""
FLOOR = 0.05
"""Smallest mass of a particle, as a share of its mass before fitting."""
MOST_INERTIA_ERROR = 0.05
"""Error of the inertia tensor, relative to its largest eigenvalue, above which samples are too few."""


@dataclass(frozen=True, eq=False)
class RigidBody:
    """Particles and mass properties of a rigid body in a scene.

    Its particles are *samples*, balls that collide, then points inside, then the vertices of its mesh, which are drawn.
    """

    index: int
    """Index among the rigid bodies of the scene."""
    indices: np.ndarray
    """All of its particles, shape (k,), int32."""
    samples: np.ndarray
    """Colliding particles, shape (s,), int32; the first of ``indices``."""
    vertices: np.ndarray
    """Particle of each vertex of the mesh, shape (v,), int32; the last of ``indices``."""
    triangles: np.ndarray
    """Particles of each triangle of the mesh, shape (t, 3), int32."""
    sharp_edges: np.ndarray
    """Particles of the mesh's edges that are drawn sharp, shape (e, 2), int32."""
    radius: float
    """Radius of the balls [m]."""
    mass: float
    """[kg]."""
    center: np.ndarray
    """Centre of mass at the time of addition [m], shape (3,)."""
    inertia: np.ndarray
    """Inertia tensor of the mesh about it at the time of addition [kg m^2], shape (3, 3)."""
    inertia_error: float
    """Error of the particles' inertia tensor, relative to the largest eigenvalue: 0 up to rounding, unless parts are
    thin.
    """
    volumes: np.ndarray
    """Volume represented by each particle, for :meth:`Scene.add_fluid_boundary` [m^3], shape (k,)."""
    rest: np.ndarray
    """Particles relative to the centre of mass at the time of addition [m], shape (k, 3)."""
    sides: np.ndarray
    """Corners of the triangles that balls lie on, beneath its surface, relative to the centre of mass [m], shape
    (s, 3, 3).
    """
    faces: np.ndarray
    """The same cut into pieces of a few spacings, each of which touches a collider at one point, shape (t, 3, 3)."""
    corners: np.ndarray
    """Vertices that stick out of the balls beneath them, relative to the centre of mass [m], shape (c, 3)."""
    origin: np.ndarray
    """Place of the mesh's origin [m], shape (3,)."""
    shell: bool
    """Whether it is a shell with a thickness rather than a solid."""
    restitution: float = 0.0
    """Restitution of contacts with other bodies."""

    def mobility(self, points: np.ndarray) -> np.ndarray:
        """Return the effective inverse mass where it is pushed, along the axis where that is largest [1/kg].

        ``1 / M`` and the largest eigenvalue of ``-[r] I^-1 [r]`` for a point r from the centre of mass.

        Args:
            points: points relative to the centre of mass, in the axes at the time of addition [m], shape (k, 3).

        Returns:
            Shape (k,).
        """
        turns = np.cross(points[:, None], np.eye(3))  # r x e for each axis e
        spin = np.einsum("kai,ij,kbj->kab", turns, np.linalg.inv(self.inertia), turns)
        found: np.ndarray = 1.0 / self.mass + np.linalg.eigvalsh(spin)[:, -1]
        return found


@dataclass(frozen=True)
class Joint:
    """A point that a rigid body shares with another, or with space."""

    first: int
    """Index of a rigid body."""
    second: int
    """Index of another, or -1 for space."""
    point: np.ndarray
    """Place of the joint in the scene at the time of addition [m], shape (3,)."""


@dataclass(frozen=True)
class Shared:
    """A particle of another body that a rigid body shares."""

    body: int
    """Index of the rigid body."""
    particle: int
    point: np.ndarray
    """Place of the particle in the scene at the time of addition [m], shape (3,)."""


@dataclass(frozen=True)
class Sampled:
    """Sampled mesh in its own axes."""

    points: np.ndarray
    """Samples, interior points and vertices [m], shape (k, 3)."""
    sample_count: int
    sides: np.ndarray
    """Corners of the triangles on which the samples lie [m], shape (s, 3, 3)."""
    faces: np.ndarray
    """The same cut into pieces, shape (t, 3, 3)."""
    corners: np.ndarray
    """Vertices that stick out of the balls beneath them [m], shape (c, 3)."""
    radius: float
    """[m]."""
    moments: Moments
    """Moments of the mesh."""
    masses: np.ndarray
    """Masses of the points for a density of one [m^3], shape (k,)."""
    inertia_error: float


def usual_spacing(mesh: TriMesh) -> float:
    """Return a sample spacing for a solid [m]: the widest of a few candidates whose balls fit into the mesh."""
    area = float(mesh.areas().sum())
    spacings = [float(np.sqrt(area / count)) for count in USUAL_SAMPLES]
    for spacing in spacings[:-1]:
        try:
            sampled(mesh, spacing, 0.5 * spacing, None)
        except ValueError:  # the last one re-raises it, if it is no better
            continue
        return spacing
    return spacings[-1]


def sampled(mesh: TriMesh, spacing: float, radius: float, thickness: float | None) -> Sampled:
    """Represent a mesh by points with masses.

    Args:
        mesh: closed mesh, unless it is a shell.
        spacing: distance of neighbouring samples [m].
        radius: radius of the balls [m].
        thickness: thickness of a shell around the mesh [m]; None for a solid.

    Raises:
        ValueError: for an open mesh that is not a shell, parts that are too thin, or samples that are too few or too
        many.
    """
    area = float(mesh.areas().sum())
    expected = area / (spacing * spacing)
    if expected > MOST_SAMPLES:
        raise ValueError(
            f"a spacing of {spacing:g} m gives about {expected:.0f} samples on {area:.3g} m^2, more than "
            f"{MOST_SAMPLES}: take a larger one"
        )
    if thickness is None:
        try:
            check_nested(*closed_surface(mesh.positions, mesh.triangles))
        except ValueError as reason:
            raise ValueError(f"a rigid body needs a closed mesh, or a thickness as a shell: {reason}") from None
        moments = solid_moments(mesh)
        outer = surface_samples(mesh, spacing, radius)
        sunk = depths(mesh, outer)
        if sunk.min() < LEAST_DEPTH * radius:
            place = np.round(outer[int(sunk.argmin())], 4).tolist()
            raise ValueError(
                f"the mesh is too thin near {place} for balls with a radius of {radius:g} m: take a smaller radius, or "
                "a shell with a thickness"
            )
        inner = inner_samples(mesh, radius, moments.volume)
    else:
        moments = shell_moments(mesh, thickness)
        outer, inner = surface_samples(mesh, spacing, 0.0), np.zeros((0, 3))
    if len(outer) < LEAST_SAMPLES:
        raise ValueError(
            f"{len(outer)} samples with a spacing of {spacing:g} m are too few, at least {LEAST_SAMPLES} are needed: "
            "take a smaller spacing"
        )
    points = np.concatenate([outer, inner, mesh.positions])
    share = np.repeat([1.0, 1.0, LIGHT], [len(outer), len(inner), len(mesh.positions)])
    masses, error = matching_masses(points, share, moments)
    if error > MOST_INERTIA_ERROR:
        raise ValueError(
            f"{len(outer)} samples with a spacing of {spacing:g} m, of radius {radius:g} m, do not fit: the inertia "
            f"tensor is off by {100 * error:.3g} %, more than {100 * MOST_INERTIA_ERROR:g} %"
        )
    sides = sample_faces(mesh, spacing, radius if thickness is None else 0.0, outer)
    faces = cut_triangles(sides, WIDE * spacing)[0]
    corners = sharp_corners(mesh, spacing, radius) if thickness is None else np.zeros((0, 3))
    return Sampled(points, len(outer), sides, faces, corners, radius, moments, masses, error)


def matching_masses(points: np.ndarray, share: np.ndarray, moments: Moments) -> tuple[np.ndarray, float]:
    """Return masses of points that have the moments of a body, and the error of the inertia tensor.

    Of all masses with the same volume, centre and second moments, these are the ones nearest to the shares; none is
    below :data:`FLOOR` times its share. If none exist, the second moments are approximated as well as possible.

    Args:
        points: [m], shape (k, 3).
        share: relative masses of the points at first, shape (k,).
        moments: moments of the body.

    Returns:
        Masses [m^3], shape (k,), and the error over the largest eigenvalue.

    Raises:
        ValueError: for points that cannot balance about the centre of mass.
    """
    reach = max(float(np.abs(points - moments.center).max()), 1e-30)
    x = (points - moments.center) / reach
    a, b = np.triu_indices(3)
    rows = np.concatenate([np.ones((len(x), 1)), x, x[:, a] * x[:, b]], axis=1).T
    wanted = np.concatenate([[1.0, 0.0, 0.0, 0.0], moments.second[a, b] / (moments.volume * reach**2)])
    weight = np.repeat([1e3, 1.0], [4, 6])[:, None]  # mass and centre come first
    nominal = share / share.sum()
    masses, free = nominal.copy(), np.ones(len(x), dtype=bool)
    for _ in range(len(x)):
        fixed = rows[:, ~free] @ masses[~free]
        left = weight[:, 0] * (wanted - fixed - rows[:, free] @ nominal[free])
        scaled = weight * rows[:, free]
        step = scaled.T @ (np.linalg.pinv((scaled * nominal[free]) @ scaled.T, rcond=1e-13) @ left)
        masses[free] = nominal[free] * (1.0 + step)
        low = free & (masses < FLOOR * nominal)
        if not low.any():
            break
        masses[low] = FLOOR * nominal[low]
        free &= ~low
    masses *= 1.0 / masses.sum()
    off = float(np.linalg.norm(masses @ x))
    if off > 1e-6:
        raise ValueError(
            f"{len(points)} points are too few to balance: their centre of mass is {off * reach:.3g} m off"
        )
    found = np.einsum("k,ki,kj->ij", masses, points - moments.center, points - moments.center) * moments.volume
    gap = Moments(moments.volume, moments.center, found - moments.second).inertia
    error = float(np.abs(np.linalg.eigvalsh(gap)).max() / np.linalg.eigvalsh(moments.inertia).max())
    return moments.volume * masses, error
