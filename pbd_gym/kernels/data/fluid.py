"""Fluids: their constants, and the lists and rows that a substep works on."""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.data.colliders import table_type as colliders_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.parameters import DENSITY, INV_SIZE, SIZE
from pbd_gym.kernels.native import scalar_name

CHUNK = 8
"""Neighbours that one thread works on at once. Sums are added up in that order everywhere."""
PLANES = 8
"""Walls that a particle can be near."""
PLANE = 14
"""Numbers of such a wall: outward normal (3), its offset [m], displacement of the surface over the substep (3) [m],
Coulomb coefficient, static one, how far the wall has pushed [m], how much a step away from it lowers the density now
[1/m], 1 unused."""
VISCOSITY = 0
"""First of the columns that fluids add to :mod:`pbd_gym.kernels.data.parameters`: factor of the viscosity."""
FLUID_DENSITY = 1
"""Factor of the density of the fluid alone."""
COLUMNS = 2
"""How many there are."""


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct of what is constant: lengths are in the size of the scene."""
    colliders_: Any = colliders_type(scalar)

    @wp.struct
    class FluidTable:
        members: wp.array[wp.int32]
        """particles of the fluid, shape (n,)"""
        boundary: wp.array[wp.int32]
        """particles of other bodies, shape (b,)"""
        volumes: wp.array[scalar]
        """room that each of these takes, in volumes of a fluid particle, shape (b,)"""
        lightest: wp.array[scalar]
        """largest inverse mass that each of these counts with, in those of a fluid particle, shape (b,)"""
        yielding: wp.array[scalar]
        """part of its inverse mass with which each moves in sweeps: 1, or what a rigid body has there, shape (b,)"""
        colliders: colliders_
        """all colliders, with the radius of a fluid particle for their contact radius"""
        wall_terms: wp.array[scalar]
        """see :meth:`pbd_gym.materials.fluids.Smoothing.wall_terms`, shape (5,)"""
        wall_moments: wp.array[scalar]
        """see :meth:`pbd_gym.materials.fluids.Smoothing.wall_moments`, shape (10,)"""
        depot: wp.array[scalar]
        """where particles wait that are not there [m], shape (3,), or empty"""
        sites: wp.array2d[scalar]
        """places where particles come out [m], the direction in which they do, and their speed [m/s], shape (m, 7)"""
        nozzles: wp.array[wp.int32]
        """emitter of each place, shape (m,)"""
        remembered: wp.int32
        """where the memory of a body has what nozzles remember: how far each place has to go until the next particle
        leaves [m], not above 0 where one is due"""
        drains: wp.array2d[scalar]
        """lower and upper corners of drains [m], shape (d, 6)"""
        radius: scalar
        """of a particle [m]"""
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
        """how far density may move a particle in a substep, along each axis [m]"""
        reach: scalar
        """distance within which walls are looked at [m]"""
        xsph: scalar
        """share of differences of velocity that a substep evens out"""
        thinning: scalar
        """rate at which viscosity evens them out [1/s]"""
        cohesion: scalar
        """acceleration that two neighbours pull each other with where they pull hardest [m/s^2]"""
        vorticity: scalar
        """strength of vorticity confinement [m/s]"""
        column: wp.int32
        """of the first parameter of fluids"""
        mass: scalar
        """of a particle [kg]"""
        dimension: wp.int32
        """2 or 3"""
        sweeps: wp.int32
        """sweeps over the density constraints in an iteration"""
        capacity: wp.int32
        """longest list of neighbours in the fluid, a multiple of :data:`CHUNK`"""
        wet_capacity: wp.int32
        """longest list of the boundary near a particle of the fluid, a multiple of :data:`CHUNK`"""
        bits: wp.int32
        """the grid has 2^bits cells along each axis, and repeats"""

    return FluidTable


@functools.cache
def scratch_type(scalar: Any) -> Any:
    """Warp struct of what lasts no longer than a substep, and of reports. Rows are four numbers.

    Particles are in the order of their cells, in two runs: the fluid, then the boundary. Behind each run is a row far
    away from everything, at which unused places of a list point.
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
        """where other bodies are wet, matrices that make the stress of each particle a pressure: rows of diagonals, and
        rows of what is beside them, both with one of zeros at the end; shape (groups, 8 (n + 1))"""
        planes: wp.array2d[scalar]
        """walls near each row, shape (groups, n PLANES PLANE)"""
        mobility: wp.array2d[scalar]
        """by row: 1 for a fluid particle that is free and 0 for one that is held; for the boundary its inverse mass in
        those of a fluid particle; shape (groups, n + b + 1)"""
        active: wp.array1d[wp.int32]
        """particles of the fluid that are there, shape (groups,)"""
        inside: wp.array2d[wp.int32]
        """0 for a particle that is not there, 1 for one that is, 2 and more for one that has just left that nozzle less
        2, shape (groups, n)"""
        leaving: wp.array2d[wp.int32]
        """how many particles come out of each place of a nozzle, shape (groups, m)"""
        overflow: wp.array2d[wp.int32]
        """neighbours and walls beyond the room for them in this control step, shape (groups, 2)"""
        density: wp.array2d[scalar]
        """density of each particle in the last sweep, in rest densities, shape (groups, n)"""

    return FluidScratch


def native_options(scalar: Any, options: SweepOptions) -> str:
    """Return the C++ name of ``pbd::FluidOptions``, which brings these constants to the headers.

    Args:
        scalar: ``wp.float32`` or ``wp.float64``.
        options: what the kernel is compiled for.
    """
    columns = (int(options.varied), *map(int, (SIZE, INV_SIZE, DENSITY)), VISCOSITY, FLUID_DENSITY)
    stride = 4 if options.packed else 3
    parameters = f"pbd::FluidParameters<{', '.join(map(str, columns))}>"
    chosen = f"{stride}, {CHUNK}, {PLANES}, {PLANE}, {parameters}, {int(options.wrenches)}"
    return f"pbd::FluidOptions<{scalar_name(scalar)}, {chosen}>"
