"""Fluids: their constants, and the lists and rows that a substep works on."""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.data.colliders import table_type as colliders_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.parameters import DENSITY, INV_SIZE, SIZE
from pbd_gym.kernels.native import scalar_name

CHUNK = 8
"""Neighbours that one thread processes at once. Sums are accumulated in that order everywhere."""
PLANES = 8
"""Largest number of walls near a particle."""
PLANE = 14
"""Length of such a wall's row: outward normal (3), its offset [m], displacement of the surface over the substep (3)
[m], kinetic and static Coulomb coefficients, displacement by the wall so far [m], current decrease of density per step
away from it [1/m], 1 unused.
"""
VISCOSITY = 0
"""First column that fluids add to :mod:`pbd_gym.kernels.data.parameters`: factor of the viscosity."""
FLUID_DENSITY = 1
"""Factor of the density of the fluid alone."""
COLUMNS = 2
"""Number of these columns."""


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct of a fluid's constants; lengths are in the size of the scene."""
    colliders_: Any = colliders_type(scalar)

    @wp.struct
    class FluidTable:
        members: wp.array[wp.int32]
        """particles of the fluid, shape (n,)"""
        boundary: wp.array[wp.int32]
        """particles of other bodies, shape (b,)"""
        volumes: wp.array[scalar]
        """volume of each boundary particle, in volumes of a fluid particle, shape (b,)"""
        lightest: wp.array[scalar]
        """largest effective inverse mass of each boundary particle, in those of a fluid particle, shape (b,)"""
        yielding: wp.array[scalar]
        """share of its inverse mass with which each boundary particle moves in sweeps: 1, or that of the rigid body
        there, shape (b,)
        """
        solid: wp.array[wp.int32]
        """number of the wet solid of which each boundary particle is a part, or -1, shape (b,)"""
        solids: wp.int32
        """number of wet solids"""
        bulk: wp.array[scalar]
        """volume of each wet solid, in volumes of a fluid particle, shape (solids,)"""
        open: wp.array[scalar]
        """sum of kernels of still fluid around each particle of a solid, times its volume, shape (b,)"""
        colliders: colliders_
        """all colliders, with the radius of a fluid particle as contact radius"""
        wall_terms: wp.array[scalar]
        """see :meth:`pbd_gym.materials.fluids.Smoothing.wall_terms`, shape (5,)"""
        wall_moments: wp.array[scalar]
        """see :meth:`pbd_gym.materials.fluids.Smoothing.wall_moments`, shape (10,)"""
        depot: wp.array[scalar]
        """place where inactive particles are parked [m], shape (3,), or empty"""
        sites: wp.array2d[scalar]
        """nozzle places [m], their directions, and their speeds [m/s], shape (m, 7)"""
        nozzles: wp.array[wp.int32]
        """emitter of each place, shape (m,)"""
        remembered: wp.int32
        """offset of the nozzles' memory in a body's memory: distance of each place until its next particle leaves [m],
        not above 0 when one is due
        """
        drains: wp.array2d[scalar]
        """lower and upper corners of drains [m], shape (d, 6)"""
        radius: scalar
        """radius of a particle [m]"""
        support: scalar
        """radius of the kernel [m]"""
        amplitude: scalar
        """see :class:`pbd_gym.materials.fluids.Smoothing`"""
        slope: scalar
        """[1/m^2]"""
        softness: scalar
        """added to the squared gradient of a density [1/m^2]"""
        clamp: scalar
        """least value of a density constraint"""
        farthest: scalar
        """largest displacement of a particle by density in a substep, along each axis [m]"""
        reach: scalar
        """distance within which walls are considered [m]"""
        xsph: scalar
        """share of velocity differences that a substep smooths out"""
        thinning: scalar
        """rate at which viscosity smooths velocity differences [1/s]"""
        cohesion: scalar
        """largest acceleration with which two neighbours attract each other [m/s^2]"""
        vorticity: scalar
        """strength of vorticity confinement [m/s]"""
        column: wp.int32
        """column of the first fluid parameter"""
        mass: scalar
        """mass of a particle [kg]"""
        dimension: wp.int32
        """2 or 3"""
        sweeps: wp.int32
        """sweeps over the density constraints in an iteration"""
        capacity: wp.int32
        """longest list of neighbours in the fluid, a multiple of :data:`CHUNK`"""
        wet_capacity: wp.int32
        """longest list of the boundary near a particle of the fluid, a multiple of :data:`CHUNK`"""
        bits: wp.int32
        """number of bits per axis: the grid has 2^bits cells along each axis, and repeats"""

    return FluidTable


@functools.cache
def scratch_type(scalar: Any) -> Any:
    """Warp struct of a substep's scratch data, and of reports. Rows are four numbers.

    Particles are in the order of their cells, in two runs: the fluid, then the boundary. After each run follows a row
    far away from everything, to which unused list entries point.
    """

    @wp.struct
    class FluidScratch:
        rows: wp.array3d[scalar]
        """three sets of rows: position [m] and multiplier (volume, in the boundary), or velocity [m/s]; shape (groups,
        3, 4 (n + b + 2))"""
        spots: wp.array3d[scalar]
        """positions by axis [m], for the search, shape (groups, 3, n + b + 4 chunks)"""
        order: wp.array2d[wp.int32]
        """index in ``members``, then in ``boundary``, of each row, shape (groups, n + b)"""
        cells: wp.array2d[wp.int32]
        """cell of each index, then the start of each cell, for the fluid and then for the boundary, shape (groups,
        n + b + 2 (cells + 1))"""
        near: wp.array2d[wp.int32]
        """rows near each row: fluid near fluid, fluid near the boundary, boundary near fluid; shape (groups, (n + b)
        capacity + n wet_capacity), or (groups, n capacity) without boundary"""
        lengths: wp.array2d[wp.int32]
        """lengths of the lists, then walls of each particle, shape (groups, 3 n + b)"""
        slopes: wp.array2d[scalar]
        """(1 - q)^3 of each pair of fluid near fluid, shape (groups, n capacity)"""
        stress: wp.array2d[scalar]
        """matrices that turn the stress of each particle into a pressure, where other bodies are wet: rows of
        diagonals, and rows of off-diagonals, both with a zero row at the end; shape (groups, 8 (n + 1))
        """
        lift: wp.array2d[scalar]
        """numbers of the boundary, 8 each, and of wet solids, 6 each; shape (groups, 8 b + 6 solids), or (groups, 0)
        without solids
        """
        planes: wp.array2d[scalar]
        """walls near each row, shape (groups, n PLANES PLANE)"""
        mobility: wp.array2d[scalar]
        """mobility by row: 1 for a free fluid particle and 0 for a held one; for the boundary its inverse mass in those
        of a fluid particle; shape (groups, n + b + 1)
        """
        active: wp.array1d[wp.int32]
        """number of active fluid particles, shape (groups,)"""
        inside: wp.array2d[wp.int32]
        """0 for an inactive particle, 1 for an active one, 2 and more for one that has just left the nozzle of that
        number less 2, shape (groups, n)
        """
        leaving: wp.array2d[wp.int32]
        """number of particles leaving each place of a nozzle, shape (groups, m)"""
        overflow: wp.array2d[wp.int32]
        """neighbours and walls that did not fit in this control step, shape (groups, 2)"""
        density: wp.array2d[scalar]
        """density of each particle in the last sweep, in rest densities, shape (groups, n)"""

    return FluidScratch


def native_options(scalar: Any, options: SweepOptions) -> str:
    """Return the C++ name of ``pbd::FluidOptions``, which passes these constants to the headers.

    Args:
        scalar: ``wp.float32`` or ``wp.float64``.
        options: options that the kernel is compiled for.
    """
    columns = (int(options.varied), *map(int, (SIZE, INV_SIZE, DENSITY)), VISCOSITY, FLUID_DENSITY)
    stride = 4 if options.packed else 3
    parameters = f"pbd::FluidParameters<{', '.join(map(str, columns))}>"
    chosen = f"{stride}, {CHUNK}, {PLANES}, {PLANE}, {parameters}, {int(options.wrenches)}"
    return f"pbd::FluidOptions<{scalar_name(scalar)}, {chosen}>"
