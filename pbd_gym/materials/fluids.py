"""Fluid materials and the smoothing kernel, which weights a particle's neighbours and the walls beside it.

The kernel is Wendland's C2 function, ``W(q) ~ (1 - q)^4 (1 + 4 q)`` for a distance of q support radii. Its gradient is
largest at a quarter of them and needs no division, and particles do not pair up under it: Dehnen, Aly 2012,
doi:10.1111/j.1365-2966.2012.21439.x.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.materials.materials import check_positive
from pbd_gym.runtime.checks import number, whole

MOST_ITERATIONS = 1000
SUPPORT = 2.0
"""Support radius in spacings: about 26 neighbours in space, and particles on either side of a wall one particle thick
do not feel each other.
"""
SETTLED = {2: 1.0, 3: 1.017}
"""Sum over the neighbours of a particle in a settled fluid, as a share of that in a square or cubic lattice; by
dimension, measured in deep tanks.
"""
_REACH = 3  # range of a lattice sum in spacings: more than the support radius


@dataclass(frozen=True)
class FluidMaterial:
    """A liquid for position-based fluids: Macklin, Mueller 2013, doi:10.1145/2461912.2461984. Defaults to water.

    Raises:
        TypeError: for anything but numbers.
        ValueError: if a number is out of its range.
    """

    density: float = 1000.0
    """Mass per volume at rest [kg/m^3]; in a plane, mass per area for a depth of one metre."""
    viscosity: float = 1e-3
    """Dynamic viscosity [Pa s]: water 1e-3, oil 0.1, honey 10. It acts between particles, and at walls. A substep h can
    smooth velocities only so far: with a spacing s, about ``density s^2 / h`` is the largest viscosity. That is 80 Pa s
    for 1000 kg/m^3, 20 mm and 5 ms, and a quarter of it at half the spacing.
    """
    xsph: float = 0.02
    """Additional share of the velocity differences between neighbours that every substep removes, 0 to 1: it keeps
    particles from jittering. Schechter, Bridson 2012, doi:10.1145/2185520.2185557.
    """
    surface_tension: float = 0.0
    """Strength of attraction between neighbours [N/m]; about the surface tension, 0.072 for water, if particles are as
    small as drops. In a plane a line pulls this much per metre of depth. Cohesion of Akinci et al. 2013,
    doi:10.1145/2508363.2508395.
    """
    vorticity: float = 0.0
    """Strength with which eddies are sustained [m/s]: vorticity confinement, eq. 16 of Macklin and Mueller."""
    wall_friction: float = 0.0
    """Share of the colliders' friction coefficients that holds particles at walls, not negative. A liquid has none, and
    levels itself; viscosity acts at walls all the same. With 1 particles lie on walls like dry grains.
    """
    clamp: float = 0.0
    """Smallest value of the density constraint ``density / rest density - 1``, not above 0. At 0 particles push each
    other apart and never pull. Below 0 a free surface contracts, and soon boils.
    """
    regularization: float = 0.2
    """Softness of a density constraint, as a share of its squared gradient at rest; not negative. Larger values are
    calmer and more compressible.
    """
    iterations: int = 4
    """Sweeps over the density constraints in every iteration of the solver."""

    def __post_init__(self) -> None:
        check_positive(self, ["density"])
        for name in ("viscosity", "surface_tension", "vorticity", "wall_friction", "regularization"):
            number(f"FluidMaterial.{name}", getattr(self, name), 0.0)
        number("FluidMaterial.xsph", self.xsph, 0.0, 1.0)
        number("FluidMaterial.clamp", self.clamp, -1.0, 0.0)
        whole("FluidMaterial.iterations", self.iterations, 1, MOST_ITERATIONS)


def bell(q: ArrayLike) -> np.ndarray:
    """Return the kernel without its factor, 1 at q = 0."""
    e = np.maximum(1.0 - np.asarray(q, dtype=np.float64), 0.0)
    return e**4 * (5.0 - 4.0 * e)


@dataclass(frozen=True)
class Smoothing:
    """The kernel for particles of one spacing.

    Densities are shares of the rest density: each neighbour of the fluid adds ``amplitude * bell(q)``.
    """

    dimension: int
    """2 for a fluid in a plane, 3 for one in space."""
    spacing: float
    """Distance between particles at rest: each has the volume spacing^dimension [m]."""

    @property
    def support(self) -> float:
        """Radius beyond which particles have no effect [m]."""
        return SUPPORT * self.spacing

    @property
    def amplitude(self) -> float:
        """Contribution of a coincident neighbour, or of the particle itself, to the density."""
        return 1.0 / (SETTLED[self.dimension] * float(bell(self._lattice()).sum()))

    @property
    def slope(self) -> float:
        """Factor of the gradient: ``-slope (1 - q)^3 (x_i - x_j)`` [1/m^2]."""
        return 20.0 * self.amplitude / self.support**2

    @property
    def rest_gradient(self) -> float:
        """Sum of the squares of a density's gradients by all neighbours in a lattice [1/m^2]."""
        q = self._lattice()
        return float((self.slope**2 * (np.maximum(1.0 - q, 0.0) ** 3 * q * self.support) ** 2).sum())

    @property
    def spread(self) -> float:
        """Second moment of the kernel along an axis [m^2].

        Averaging velocities with the kernel once per unit of time amounts to a kinematic viscosity of half of it.
        """
        return _second_moment(self.dimension) * self.support**2

    def wall_terms(self) -> np.ndarray:
        """Return the share of the kernel beyond a wall at a distance of q support radii, as coefficients.

        It is ``e^5 (c0 + c1 e + c2 e^2 + c3 e^3 + c4 e^4)`` with ``e = 1 - q``, shape (5,). Inside the wall it is one
        minus the value at the same distance outside. In space it is exact; in a plane it is a fit, with an error below
        1e-4.
        """
        return _wall_terms(self.dimension).copy()

    def wall_moments(self) -> np.ndarray:
        """Return second moments of the matter beyond a wall at a distance of q support radii, as coefficients.

        They are ``sum (1 - r)^3 d_n^2`` and ``sum (1 - r)^3 d_t^2`` over particles as dense as at rest, for distances d
        along the normal and along the wall, and r their length, all in support radii. With ``e = 1 - q`` each is
        ``e^4 (c0 + c1 e + c2 e^2 + c3 e^3 + c4 e^4)``, shape (2, 5): exact in space, a fit in a plane.
        """
        return _wall_moments(self.dimension).copy()

    def wall_share(self, distance: ArrayLike) -> np.ndarray:
        """Return the share of the kernel that lies beyond a wall at some distance [m], negative within it."""
        q = np.asarray(distance, dtype=np.float64) / self.support
        e = np.maximum(1.0 - np.abs(q), 0.0)
        share = e**5 * np.polynomial.polynomial.polyval(e, self.wall_terms())
        return np.where(q < 0.0, 1.0 - share, share)

    def _lattice(self) -> np.ndarray:
        """Return the distances of lattice points, in support radii."""
        steps = np.arange(-_REACH, _REACH + 1) / SUPPORT
        places = np.stack(np.meshgrid(*[steps] * self.dimension), axis=-1).reshape(-1, self.dimension)
        return np.linalg.norm(places, axis=1)


def _radial(dimension: int, power: int) -> float:
    """Integrate ``bell(q) q^power`` over q, times the surface of the unit sphere of the dimension."""
    q, weights = np.polynomial.legendre.leggauss(16)  # exact: the integrand is a polynomial
    q, weights = 0.5 * (q + 1.0), 0.5 * weights
    return {2: 2.0, 3: 4.0}[dimension] * np.pi * float((weights * bell(q) * q**power).sum())


@functools.cache
def _second_moment(dimension: int) -> float:
    return _radial(dimension, dimension + 1) / _radial(dimension, dimension - 1) / dimension


@functools.cache
def _wall_terms(dimension: int) -> np.ndarray:
    if dimension == 3:
        return np.array([0.0, 3.5, -4.5, 1.5, 0.0])
    # Chords of discs: the part of the plane beyond a line, ring by ring.
    depth = np.linspace(0.0, 1.0, 201)[1:]
    r, weights = np.polynomial.legendre.leggauss(400)
    wall = 1.0 - depth[:, None]
    radius = wall + 0.5 * (r + 1.0) * depth[:, None]
    arc = 2.0 * radius * np.arccos(np.minimum(wall / radius, 1.0))
    share = (0.5 * depth[:, None] * weights * arc * bell(radius)).sum(axis=1) / _radial(2, 1)
    basis = depth[:, None] ** np.arange(5, 10)
    # At the wall it is one half to the last digit: the first term makes up for the others.
    rest = basis[:, 1:] - basis[:, :1]
    found = np.linalg.lstsq(rest, share - 0.5 * basis[:, 0], rcond=None)[0]
    return np.array([0.5 - found.sum(), *found])


@functools.cache
def _wall_moments(dimension: int) -> np.ndarray:
    depth = np.linspace(0.0, 1.0, 201)[1:, None]
    x, weights = np.polynomial.legendre.leggauss(400)
    wall = 1.0 - depth
    radius = wall + 0.5 * (x + 1.0) * depth
    cosine = wall / radius  # share of the cap of a sphere, or of the arc of a circle, that the wall cuts off
    if dimension == 3:
        shell = np.pi * radius**4
        parts = [2.0 / 3.0 * (1.0 - cosine**3), 2.0 / 3.0 - cosine + cosine**3 / 3.0]
    else:
        shell, angle = radius**3, np.arccos(np.minimum(cosine, 1.0))
        parts = [angle + np.sin(angle) * cosine, angle - np.sin(angle) * cosine]
    scale = SUPPORT**dimension * 0.5 * depth * weights * shell * (1.0 - radius) ** 3
    basis = depth ** np.arange(4, 9)
    return np.stack([np.linalg.lstsq(basis, (scale * part).sum(axis=1), rcond=None)[0] for part in parts])
