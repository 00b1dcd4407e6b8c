"""Contacts between particles: cloth on itself, rope on itself, body against body. Particles are spheres.

Candidates come from a grid of *anchors*, places within half a *skin* of their particles, one grid for each environment.
Lists are shared by the environments of a group: each particle has one sorted list of all whose anchors are near its own
in some lane. An anchor stays until its particle has moved by half a skin, so that what touches is always on the list:
results depend neither on when the last search was nor on the other lanes. Anchors are in the sizes of the scene: an
environment of another size is brought down or up to them.

Each particle then gathers its own corrections, from positions that nobody changes meanwhile: no atomics, and no
dependence on the order of threads.
"""

import functools
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.kernels.lanes import with_lanes
from pbd_gym.kernels.parameter_columns import FRICTION, INV_SIZE, SIZE
from pbd_gym.kernels.particle_search import SEARCH_CODE
from pbd_gym.kernels.sweep import body_type
from pbd_gym.kernels.wide import Wide

NEAR = 1.5
"""Particles of one body that are closer than this many contact distances at rest do not collide: their constraints hold
them apart."""

SCANNED = 1024
"""Members up to which a CPU compares all with all, when some have moved."""

RELAXATION = 1.7
"""Over-relaxation of particles with several contacts. Averaging is safe up to 2, and slow at 1: what falls into a heap
then comes closer than it should before it is stopped."""


def stranger_masks(rest: np.ndarray, body: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return which members can collide at all: not those that are neighbours in one body.

    Args:
        rest: rest positions [m], shape (k, 3).
        body: number of each one's body, shape (k,).
        radius: [m], shape (k,).

    Returns:
        A bit for each other member, sixteen in a number, shape (k ceil(k / 16),), uint16.
    """
    count = len(rest)
    distances = np.linalg.norm(rest[:, None] - rest[None], axis=2)
    allowed = np.zeros((count, 16 * -(-count // 16)), dtype=bool)
    allowed[:, :count] = (body[:, None] != body[None]) | (distances >= NEAR * (radius[:, None] + radius[None]))
    allowed[np.arange(count), np.arange(count)] = False
    return np.packbits(allowed, axis=1, bitorder="little").view("<u2").ravel()


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct of what is constant: one row for each colliding particle (*member*)."""

    @wp.struct
    class ParticleContactTable:
        members: wp.array[wp.int32]
        """particle, shape (k,)"""
        body: wp.array[wp.int32]
        """number of its body, shape (k,)"""
        radius: wp.array[scalar]
        """[m], shape (k,)"""
        friction: wp.array[scalar]
        """Coulomb coefficient, shape (k,)"""
        rest: wp.array[scalar]
        """rest position [m], shape (3 k,)"""
        strangers: wp.array[wp.uint16]
        """which others a member can collide with at all, sixteen in a number, shape (k ceil(k / 16),); on a CPU, for up
        to :data:`SCANNED` members"""
        capacity: wp.int32
        """longest list of one member"""
        bits: wp.int32
        """the grid has 2^bits cells along each axis, and repeats"""
        skin: scalar
        """how much farther than contact candidates may be [m]"""
        cell: scalar
        """width of a cell [m]: two radii and the skin"""
        separation_speed: scalar
        """fastest way out of an overlap that did not come from this substep [m/s]"""

    return ParticleContactTable


@functools.cache
def memory_type(vec: Any) -> Any:
    """Warp struct of what a group remembers from one substep to the next, and of scratch."""
    scalar = vec._wp_scalar_type_

    @wp.struct
    class ParticleContactMemory:
        near: wp.array3d[wp.int32]
        """sorted candidates of each member, on a CPU those with higher numbers, shape (groups, k, capacity)"""
        touching: wp.array3d[wp.int32]
        """those of them that touch in some lane, shape (groups, k, capacity)"""
        counts: wp.array3d[wp.int32]
        """lengths of both lists, shape (groups, 2, k)"""
        valence: wp.array2d[vec]
        """contacts of each member, shape (groups, k)"""
        anchors: wp.array3d[vec]
        """places that members are near, in the sizes of the scene [m], shape (groups, k, 3)"""
        cells: wp.array2d[wp.int32]
        """grids of the anchors. On a CPU, for each lane the first member of each cell, then for each member the next
        and the one before in its cell, its cell, and room for a list: shape (groups, lanes (cells + 4 k)). On CUDA
        scratch: start of each cell, then cell and rank of each member."""
        sorted: wp.array2d[scalar]
        """anchors [m], on a CPU lane by lane, shape (groups, 48 lanes ceil(k / 16)); on CUDA cell by cell, shape
        (groups, 3 k)"""
        stale: wp.array1d[wp.int32]
        """whether lists have to be made anew, shape (groups,)"""
        dropped: wp.array1d[wp.int32]
        """candidates of the last search for which there was no room, shape (groups,)"""
        overflow: wp.array1d[wp.int32]
        """most candidates dropped in one search of this control step, shape (slots,)"""

    return ParticleContactMemory


_ALIKE = """
#define SIZES T(1)
#define INV_SIZES T(1)
#define INV_SIZE T(1)
#define ROUGHNESS T(1)
"""

_VARIED = """
#define SIZES LOAD(parameters + {0} * LANES)
#define INV_SIZES LOAD(parameters + {1} * LANES)
#define INV_SIZE parameters[{1} * LANES + lane_]
#define ROUGHNESS LOAD(parameters + {2} * LANES)
"""

_CLEAR = """
#undef SIZES
#undef INV_SIZES
#undef INV_SIZE
#undef ROUGHNESS
"""

_REPORT = """
    if (thread == 0) {
        const int lost = memory.dropped.data[group];
        for (int n = 0; n < LANES; ++n) {
            int& most = memory.overflow.data[group * LANES + n];
            most = most > lost ? most : lost;
        }
    }
"""

_COUNT = """
    for (int k = thread; k < count; k += thread_count) {
        EACH_LANE { STORE(valence + LANES * k, V(T(0))); }
    }
    for (int k = thread; k < count; k += thread_count) {
        const int i = members[k];
        int* const list = near + k * table.capacity;
        int* const found = touching + k * table.capacity;
        int length = 0, kept = 0;
        for (int n = 0; n < lengths[k]; ++n) {
            const int other = list[n], j = members[other];
            const T reach = table.radius.data[k] + table.radius.data[other];
            const T far = reach + T(2) * table.skin;
            bool any = false, close = false;
            EACH_LANE {
                const V dx = LOAD(x + (ROW * i) * LANES) - LOAD(x + (ROW * j) * LANES);
                const V dy = LOAD(x + (ROW * i + 1) * LANES) - LOAD(x + (ROW * j + 1) * LANES);
                const V dz = LOAD(x + (ROW * i + 2) * LANES) - LOAD(x + (ROW * j + 2) * LANES);
                const V d2 = (dx * dx + dy * dy + dz * dz) * INV_SIZES * INV_SIZES;
                const auto inside = d2 < V(reach * reach);
                close = close || ANY(d2 < V(far * far));
                if (ANY(inside)) {
                    any = true;
                    const V one = inside ? V(T(1)) : V(T(0));
                    STORE(valence + LANES * k, LOAD(valence + LANES * k) + one);
#if !PBD_BLOCK
                    STORE(valence + LANES * other, LOAD(valence + LANES * other) + one);
#endif
                }
            }
            if (any) found[length++] = other;
            // Anchors are within half a skin of their members: beyond this distance the pair is no candidate.
            if (close) list[kept++] = other;
        }
        lengths[k] = kept;
        touching_lengths[k] = length;
    }
    PBD_SYNC();
"""

# A pair gives both of its particles the same correction, one of them with the opposite sign, to the bit. On CUDA the
# thread of a particle adds up its own corrections. On a CPU each pair is worked out once, for both: as lists are
# sorted, sums are added up in the same order.
_CORRECT = """
    const T slowest = table.separation_speed / inv_h;
    for (int k = thread; k < count; k += thread_count) {
        if (touching_lengths[k] == 0) continue;
        const int i = members[k];
        const int* const found = touching + k * table.capacity;
        for (int n = 0; n < touching_lengths[k]; ++n) {
            const int other = found[n], j = members[other];
            const T reach = table.radius.data[k] + table.radius.data[other];
            const T mu = T(0.5) * (table.friction.data[k] + table.friction.data[other]);
            EACH_LANE {
                const V xi = LOAD(x + (ROW * i) * LANES), xj = LOAD(x + (ROW * j) * LANES);
                const V yi = LOAD(x + (ROW * i + 1) * LANES), yj = LOAD(x + (ROW * j + 1) * LANES);
                const V zi = LOAD(x + (ROW * i + 2) * LANES), zj = LOAD(x + (ROW * j + 2) * LANES);
                const V wi = LOAD(w + i * LANES), wj = LOAD(w + j * LANES);
                const V dx = xi - xj, dy = yi - yj, dz = zi - zj;
                const V length = SQRT(dx * dx + dy * dy + dz * dz);
                const V none = V(T(0));
                const V unit = T(1) / FLOOR(length, 1e-12);
                // Particles in the very same place part along y, the one with the higher number upwards.
                const V nx = dx * unit, nz = dz * unit;
                const V ny = length > T(1e-12) ? dy * unit : V(T(k > other ? 1 : -1));
                // What the pair has moved against each other in this substep.
                const V ux = dx - (LOAD(previous + (ROW * i) * LANES) - LOAD(previous + (ROW * j) * LANES));
                const V uy = dy - (LOAD(previous + (ROW * i + 1) * LANES) - LOAD(previous + (ROW * j + 1) * LANES));
                const V uz = dz - (LOAD(previous + (ROW * i + 2) * LANES) - LOAD(previous + (ROW * j + 2) * LANES));
                const V along = ux * nx + uy * ny + uz * nz;
                const V overlap = reach * SIZES - length;
                const V soft = FLOOR(-along, 0) + slowest;
                V depth = overlap < soft ? overlap : soft;
                depth = overlap > T(0) ? depth : none;
                // Each lends an equal part of itself to its contacts.
                const V mine = LOAD(valence + LANES * k), its = LOAD(valence + LANES * other);
                const V most = mine > its ? mine : its;
                const V shared = FLOOR(most * T(1.0 / RELAXATION), 1) * (wi + wj);
                const V inverse = shared > T(0) ? T(1) / FLOOR(shared, 1e-30) : none;
                const V tx = ux - along * nx, ty = uy - along * ny, tz = uz - along * nz;
                const V slip = SQRT(tx * tx + ty * ty + tz * tz);
                const V grip = mu * ROUGHNESS * depth;
                const V held = grip / FLOOR((slip > grip ? slip : grip), 1e-30);
                const V mx = inverse * (depth * nx - held * tx);
                const V my = inverse * (depth * ny - held * ty);
                const V mz = inverse * (depth * nz - held * tz);
                T* const move = delta + 3 * i * LANES;
                STORE(move, LOAD(move) + wi * mx);
                STORE(move + LANES, LOAD(move + LANES) + wi * my);
                STORE(move + 2 * LANES, LOAD(move + 2 * LANES) + wi * mz);
#if !PBD_BLOCK
                T* const its_move = delta + 3 * j * LANES;
                STORE(its_move, LOAD(its_move) - wj * mx);
                STORE(its_move + LANES, LOAD(its_move + LANES) - wj * my);
                STORE(its_move + 2 * LANES, LOAD(its_move + 2 * LANES) - wj * mz);
#endif
            }
        }
    }
    PBD_SYNC();
    for (int k = thread; k < count; k += thread_count) {
        const int i = members[k];
        EACH_LANE {
            if (!ANY(LOAD(valence + LANES * k) > T(0))) continue;
            for (int a = 0; a < 3; ++a) {
                STORE(x + (ROW * i + a) * LANES, LOAD(x + (ROW * i + a) * LANES) + LOAD(delta + (3 * i + a) * LANES));
                STORE(delta + (3 * i + a) * LANES, V(T(0)));
            }
        }
    }
    PBD_SYNC();
"""

_NAMES = """
    const auto& table = model.particle_contacts;
    const int count = table.members.shape[0];
    const int* const members = table.members.data;
    T* const x = (T*)body.x.data;
    T* const delta = (T*)body.delta.data;
    const T* const previous = (const T*)body.previous.data;
    const T* const w = (const T*)body.inv_mass.data;
    const T* const parameters = (const T*)body.parameters.data;
    // Lists of all groups together may have more than 2^31 numbers: 22,000 cloths of 32 x 32 on a large GPU do.
    const size_t rank = (size_t)group, first_list = rank * count * table.capacity;
    int* const near = memory.near.data + first_list;
    int* const touching = memory.touching.data + first_list;
    int* const lengths = memory.counts.data + rank * 2 * count;
    int* const touching_lengths = lengths + count;
    T* const valence = (T*)memory.valence.data + rank * count * LANES;
    T* const anchors = (T*)memory.anchors.data + rank * 3 * count * LANES;
"""


@functools.cache
def make_particle_contacts(wide: Wide, data: Any, varied: bool, row: int) -> Any:
    """Build the function that parts overlapping particles of one group, with Coulomb friction.

    For a pair at distance d below the sum r of its radii, ``C = d - r >= 0`` is projected without compliance, each
    particle taking its share of inverse mass. A particle with m contacts takes 1/m of each correction, or its partner's
    share if that is smaller, so that the sum does not overshoot and momentum is kept (mass splitting: Tonge et al.
    2012, doi:10.1145/2185520.2185601). Slip during the substep is held back up to ``friction`` times the depth:
    Macklin et al. 2014, doi:10.1145/2601097.2601152, eq. 24. An overlap that was there before leaves with
    ``separation_speed`` at most.

    The cell grid is that of Teschner et al. 2003 with a modulus in place of a hash: cells that fall on each other are
    far apart, and a distance tells.

    Args:
        wide: lane count and precision.
        data: the struct of the whole model.
        varied: whether environments differ: radii then grow with the size, and friction has a factor.
        row: numbers of a row of positions: 3, or 4 where they are packed.
    """
    sizes = _VARIED.format(int(SIZE), int(INV_SIZE), int(FRICTION)) if varied else _ALIKE
    scalar, body_, memory_ = wide.scalar, body_type(wide.vec), memory_type(wide.vec)
    text = f"constexpr int ROW = {row};\n" + sizes
    text += "{" + _NAMES + SEARCH_CODE + _REPORT + _COUNT + _CORRECT + "}\n" + _CLEAR

    @wp.func_native(with_lanes(wide, text.replace("NEAR", str(NEAR)).replace("RELAXATION", str(RELAXATION))))
    def part_particles(
        model: data, body: body_, memory: memory_, inv_h: scalar, group: int, thread: int, thread_count: int
    ): ...

    return part_particles
