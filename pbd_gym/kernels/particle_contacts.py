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

import warp as wp

from pbd_gym.kernels.lanes import with_lanes
from pbd_gym.kernels.parameters import FRICTION, INV_SIZE, SIZE
from pbd_gym.kernels.sweep import body_type
from pbd_gym.kernels.wide import Wide

NEAR = 1.5
"""Particles of one body that are closer than this many contact distances at rest do not collide: their constraints hold
them apart."""

RELAXATION = 1.7
"""Over-relaxation of particles with several contacts. Averaging is safe up to 2, and slow at 1: what falls into a heap
then comes closer than it should before it is stopped."""


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
        """candidates of each member in ascending order, shape (groups, k, capacity)"""
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
        and the one before in its cell, and its cell: shape (groups, lanes (cells + 3 k)). On CUDA scratch: start of
        each cell, then cell and rank of each member."""
        sorted: wp.array2d[scalar]
        """scratch: positions cell by cell [m], shape (groups, 3 k)"""
        stale: wp.array1d[wp.int32]
        """whether lists have to be made anew, shape (groups,)"""
        dropped: wp.array1d[wp.int32]
        """candidates of the last search for which there was no room, shape (groups,)"""
        overflow: wp.array1d[wp.int32]
        """most candidates dropped in one search of this control step, shape (slots,)"""

    return ParticleContactMemory


# Threads of a block share the work on CUDA; on a CPU there is one, and nothing is atomic.
_TOOLS = """
#if defined(__CUDA_ARCH__)
#define BARRIER __syncthreads();
#define ADD(where, what) atomicAdd(&(where), what)
#else
#define BARRIER
#define ADD(where, what) ((where) += (what), (where) - (what))
#endif
"""

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
#undef BARRIER
#undef ADD
#undef SIZES
#undef INV_SIZES
#undef INV_SIZE
#undef ROUGHNESS
"""

_INSERT = """
    // Into the sorted list of a member, unless it is there already.
    const auto insert = [&](int k, int other) {
        int* const list = near + k * table.capacity;
        int length = lengths[k], place = length;
        while (place > 0 && list[place - 1] > other) --place;
        if (place > 0 && list[place - 1] == other) return;
        if (length == table.capacity) {
            ADD(memory.dropped.data[group], 1);
            if (place == length) return;
            --length;
        }
        for (int n = length; n > place; --n) list[n] = list[n - 1];
        list[place] = other;
        lengths[k] = length + 1;
    };
    // Whether two members can collide at all: not if they are neighbours in one body.
    const auto strangers = [&](int k, int other) {
        if (table.body.data[k] != table.body.data[other]) return true;
        const T* const rest = table.rest.data;
        const T rx = rest[3 * k] - rest[3 * other], ry = rest[3 * k + 1] - rest[3 * other + 1];
        const T rz = rest[3 * k + 2] - rest[3 * other + 2];
        const T near_by = T(NEAR) * (table.radius.data[k] + table.radius.data[other]);
        return rx * rx + ry * ry + rz * rz >= near_by * near_by;
    };
    const int side = 1 << table.bits, mask = side - 1, cell_count = 1 << (3 * table.bits);
    const T inv_cell = T(1) / table.cell;
    const T limit = T(0.25) * table.skin * table.skin;
    const auto cell_at = [&](T px, T py, T pz) {
        const int cx = (int)floor(px * inv_cell), cy = (int)floor(py * inv_cell), cz = (int)floor(pz * inv_cell);
        return (((cz & mask) << table.bits | (cy & mask)) << table.bits) | (cx & mask);
    };
"""

# One thread: only members that moved are looked up again. Each lane has a grid of the anchors, with a chain of members
# for each cell; `next` and `before` are -1 at its ends, and `cell_of` is -1 for what is in no chain.
_UPDATE = """
    {
        int* const cells = memory.cells.data + group * memory.cells.shape[1];
        const int stride = cell_count + 3 * count;
        if (memory.dropped.data[group] > 0 || memory.stale.data[group] > 0) {
            // The first time, and after an overflow: everything anew, so that what was lost may find room.
            for (int n = 0; n < LANES * stride; ++n) cells[n] = -1;
            for (int n = 0; n < 3 * LANES * count; ++n) anchors[n] = T(1e18);
            for (int k = 0; k < count; ++k) lengths[k] = 0;
            memory.dropped.data[group] = 0;
            memory.stale.data[group] = 0;
        }
        const auto renew = [&](int k, int lane_) {
            int* const head = cells + lane_ * stride;
            int* const next = head + cell_count;
            int* const before = next + count;
            int* const cell_of = before + count;
            T* const anchor = anchors + 3 * LANES * k + lane_;
            const T* const p = x + 3 * LANES * members[k] + lane_;
            for (int a = 0; a < 3; ++a) anchor[a * LANES] = INV_SIZE * p[a * LANES];
            const int cell = cell_at(anchor[0], anchor[LANES], anchor[2 * LANES]);
            if (cell != cell_of[k]) {
                if (cell_of[k] >= 0) {
                    if (before[k] >= 0) next[before[k]] = next[k];
                    else head[cell_of[k]] = next[k];
                    if (next[k] >= 0) before[next[k]] = before[k];
                }
                cell_of[k] = cell;
                before[k] = -1;
                next[k] = head[cell];
                if (next[k] >= 0) before[next[k]] = k;
                head[cell] = k;
            }
            const int cx = cell & mask, cy = (cell >> table.bits) & mask, cz = cell >> (2 * table.bits);
            for (int part = 0; part < 27; ++part) {
                const int nx = (cx + part % 3 - 1) & mask, ny = (cy + part / 3 % 3 - 1) & mask;
                const int nz = (cz + part / 9 - 1) & mask;
                for (int other = head[(nz << table.bits | ny) << table.bits | nx]; other >= 0; other = next[other]) {
                    const T* const q = anchors + 3 * LANES * other + lane_;
                    const T dx = anchor[0] - q[0], dy = anchor[LANES] - q[LANES];
                    const T dz = anchor[2 * LANES] - q[2 * LANES];
                    const T range = table.radius.data[k] + table.radius.data[other] + table.skin;
                    if (!(dx * dx + dy * dy + dz * dz < range * range) || other == k || !strangers(k, other)) continue;
                    insert(k, other);
                    insert(other, k);
                }
            }
        };
        for (int k = 0; k < count; ++k) {
            const int i = members[k];
            T distance[LANES];
            bool any = false;
            EACH_LANE {
                const V shrink = V(INV_SIZES);
                const V dx = shrink * LOAD(x + (3 * i) * LANES) - LOAD(anchors + (3 * k) * LANES);
                const V dy = shrink * LOAD(x + (3 * i + 1) * LANES) - LOAD(anchors + (3 * k + 1) * LANES);
                const V dz = shrink * LOAD(x + (3 * i + 2) * LANES) - LOAD(anchors + (3 * k + 2) * LANES);
                const V d2 = dx * dx + dy * dy + dz * dz;
                any = any || !ALL(d2 <= V(limit));  // a NaN has moved
                STORE(distance, d2);
            }
            if (any)
                for (int n = 0; n < LANES; ++n)
                    if (!(distance[n] <= limit)) renew(k, n);
        }
    }
"""

# A block of threads: where something has moved, all members are looked up again, cell by cell.
_STALE = """
    {
        T worst[LANES];
        for (int n = 0; n < LANES; ++n) worst[n] = T(0);
        for (int k = thread; k < count; k += thread_count) {
            const int i = members[k];
            EACH_LANE {
                const V shrink = V(INV_SIZES);
                const V dx = shrink * LOAD(x + (3 * i) * LANES) - LOAD(anchors + (3 * k) * LANES);
                const V dy = shrink * LOAD(x + (3 * i + 1) * LANES) - LOAD(anchors + (3 * k + 1) * LANES);
                const V dz = shrink * LOAD(x + (3 * i + 2) * LANES) - LOAD(anchors + (3 * k + 2) * LANES);
                const V d2 = dx * dx + dy * dy + dz * dz;
                const V most = LOAD(worst);
                STORE(worst, d2 <= most ? most : d2);  // a NaN stays
            }
        }
        if (thread == 0) memory.stale.data[group] = 0;
        BARRIER
        for (int n = 0; n < LANES; ++n)
            if (!(worst[n] <= limit)) memory.stale.data[group] = 1;
        BARRIER
    }
"""

_SEARCH = """
    if (memory.stale.data[group]) {
        int* const start = memory.cells.data + group * memory.cells.shape[1];
        int* const cell_of = start + cell_count + 1;
        int* const order = cell_of + count;
        T* const sorted = memory.sorted.data + group * 3 * count;
        const int share = (cell_count + thread_count) / thread_count;
        for (int k = thread; k < count; k += thread_count) {
            lengths[k] = 0;
            for (int lane_ = 0; lane_ < LANES; ++lane_)
                for (int a = 0; a < 3; ++a)
                    anchors[(3 * k + a) * LANES + lane_] = INV_SIZE * x[(3 * members[k] + a) * LANES + lane_];
        }
        if (thread == 0) memory.dropped.data[group] = 0;
        for (int lane_ = 0; lane_ < LANES; ++lane_) {
            // Members sorted by cell: count, add up, and put each where its cell ends so far.
            for (int c = thread; c <= cell_count; c += thread_count) start[c] = 0;
            BARRIER
            for (int k = thread; k < count; k += thread_count) {
                const T* const p = anchors + 3 * LANES * k + lane_;
                cell_of[k] = cell_at(p[0], p[LANES], p[2 * LANES]);
                ADD(start[cell_of[k]], 1);
            }
            BARRIER
            // Sums of each thread's share of the cells, then of the shares before it. order is free for them as yet.
            int sum = 0;
            for (int c = thread * share; c < min(thread * share + share, cell_count); ++c) sum += start[c];
            __shared__ int sums[1024];
            sums[thread] = sum;
            __syncthreads();
            int total = 0;
            for (int n = 0; n < thread; ++n) total += sums[n];
            for (int c = thread * share; c < min(thread * share + share, cell_count); ++c) {
                total += start[c];
                start[c] = total;
            }
            if (thread == 0) start[cell_count] = count;
            __syncthreads();
            for (int k = thread; k < count; k += thread_count) {
                const int at = ADD(start[cell_of[k]], -1) - 1;
                order[at] = k;
                for (int a = 0; a < 3; ++a) sorted[3 * at + a] = anchors[(3 * k + a) * LANES + lane_];
            }
            BARRIER
            for (int k = thread; k < count; k += thread_count) {
                const T* const p = anchors + 3 * LANES * k + lane_;
                const T px = p[0], py = p[LANES], pz = p[2 * LANES];
                const T reach = table.radius.data[k] + table.skin;
                const int cell = cell_of[k];
                const int cx = cell & mask, cy = (cell >> table.bits) & mask, cz = cell >> (2 * table.bits);
                for (int row = 0; row < 9; ++row) {
                    const int y = (cy + row % 3 - 1) & mask, z = (cz + row / 3 - 1) & mask;
                    const int line = (z << table.bits | y) << table.bits;
                    // The three cells of a row lie side by side, unless the grid starts over between them.
                    const bool whole = cx > 0 && cx < mask;
                    for (int part = 0; part < (whole ? 1 : 3); ++part) {
                        const int first = line + (whole ? cx - 1 : (cx + part - 1) & mask);
                        const int end = start[first + (whole ? 3 : 1)];
                        for (int at = start[first]; at < end; ++at) {
                            const T* const q = sorted + 3 * at;
                            const T dx = px - q[0], dy = py - q[1], dz = pz - q[2];
                            const T d2 = dx * dx + dy * dy + dz * dz;
                            if (!(d2 < table.cell * table.cell)) continue;
                            const int other = order[at];
                            const T range = reach + table.radius.data[other];
                            if (!(d2 < range * range) || other == k) continue;
                            if (strangers(k, other)) insert(k, other);
                        }
                    }
                }
            }
            BARRIER
        }
    }
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
        const int i = members[k];
        int* const list = near + k * table.capacity;
        int* const found = touching + k * table.capacity;
        int length = 0, kept = 0;
        T contacts[LANES];
        for (int n = 0; n < LANES; ++n) contacts[n] = T(0);
        for (int n = 0; n < lengths[k]; ++n) {
            const int other = list[n], j = members[other];
            const T reach = table.radius.data[k] + table.radius.data[other];
            const T far = reach + T(2) * table.skin;
            bool any = false, close = false;
            EACH_LANE {
                const V dx = LOAD(x + (3 * i) * LANES) - LOAD(x + (3 * j) * LANES);
                const V dy = LOAD(x + (3 * i + 1) * LANES) - LOAD(x + (3 * j + 1) * LANES);
                const V dz = LOAD(x + (3 * i + 2) * LANES) - LOAD(x + (3 * j + 2) * LANES);
                const V d2 = (dx * dx + dy * dy + dz * dz) * INV_SIZES * INV_SIZES;
                const auto inside = d2 < V(reach * reach);
                any = any || ANY(inside);
                close = close || ANY(d2 < V(far * far));
                STORE(contacts, LOAD(contacts) + (inside ? V(T(1)) : V(T(0))));
            }
            if (any) found[length++] = other;
            // Anchors are within half a skin of their members: beyond this distance the pair is no candidate.
            if (close) list[kept++] = other;
        }
        lengths[k] = kept;
        touching_lengths[k] = length;
        EACH_LANE { STORE(valence + LANES * k, LOAD(contacts)); }
    }
    BARRIER
"""

_GATHER = """
    for (int k = thread; k < count; k += thread_count) {
        if (touching_lengths[k] == 0) continue;
        const int i = members[k];
        const int* const found = touching + k * table.capacity;
        T move[3 * LANES];
        for (int n = 0; n < 3 * LANES; ++n) move[n] = T(0);
        for (int n = 0; n < touching_lengths[k]; ++n) {
            const int other = found[n], j = members[other];
            const T reach = table.radius.data[k] + table.radius.data[other];
            const T mu = T(0.5) * (table.friction.data[k] + table.friction.data[other]);
            const T slowest = table.separation_speed / inv_h;
            EACH_LANE {
                const V xi = LOAD(x + (3 * i) * LANES), xj = LOAD(x + (3 * j) * LANES);
                const V yi = LOAD(x + (3 * i + 1) * LANES), yj = LOAD(x + (3 * j + 1) * LANES);
                const V zi = LOAD(x + (3 * i + 2) * LANES), zj = LOAD(x + (3 * j + 2) * LANES);
                const V wi = LOAD(w + i * LANES), wj = LOAD(w + j * LANES);
                const V dx = xi - xj, dy = yi - yj, dz = zi - zj;
                const V length = SQRT(dx * dx + dy * dy + dz * dz);
                const V none = V(T(0));
                const V unit = T(1) / FLOOR(length, 1e-12);
                // Particles in the very same place part along y, the one with the higher number upwards.
                const V nx = dx * unit, nz = dz * unit;
                const V ny = length > T(1e-12) ? dy * unit : V(T(k > other ? 1 : -1));
                // What the pair has moved against each other in this substep.
                const V ux = dx - LOAD(previous + (3 * i) * LANES) + LOAD(previous + (3 * j) * LANES);
                const V uy = dy - LOAD(previous + (3 * i + 1) * LANES) + LOAD(previous + (3 * j + 1) * LANES);
                const V uz = dz - LOAD(previous + (3 * i + 2) * LANES) + LOAD(previous + (3 * j + 2) * LANES);
                const V along = ux * nx + uy * ny + uz * nz;
                const V overlap = reach * SIZES - length;
                const V soft = FLOOR(-along, 0) + slowest;
                V depth = overlap < soft ? overlap : soft;
                depth = overlap > T(0) ? depth : none;
                // The particle's part of the pair's correction; each lends an equal part of itself to its contacts.
                const V mine = LOAD(valence + LANES * k), its = LOAD(valence + LANES * other);
                const V most = mine > its ? mine : its;
                const V shared = FLOOR(most / T(RELAXATION), 1) * (wi + wj);
                const V part = shared > T(0) ? wi / FLOOR(shared, 1e-30) : none;
                const V tx = ux - along * nx, ty = uy - along * ny, tz = uz - along * nz;
                const V slip = SQRT(tx * tx + ty * ty + tz * tz);
                const V grip = mu * ROUGHNESS * depth;
                const V held = grip / FLOOR((slip > grip ? slip : grip), 1e-30);
                STORE(move, LOAD(move) + part * (depth * nx - held * tx));
                STORE(move + LANES, LOAD(move + LANES) + part * (depth * ny - held * ty));
                STORE(move + 2 * LANES, LOAD(move + 2 * LANES) + part * (depth * nz - held * tz));
            }
        }
        EACH_LANE {
            for (int a = 0; a < 3; ++a) STORE(delta + (3 * i + a) * LANES, LOAD(move + a * LANES));
        }
    }
    BARRIER
    for (int k = thread; k < count; k += thread_count) {
        if (touching_lengths[k] == 0) continue;
        const int i = members[k];
        EACH_LANE {
            for (int a = 0; a < 3; ++a) {
                STORE(x + (3 * i + a) * LANES, LOAD(x + (3 * i + a) * LANES) + LOAD(delta + (3 * i + a) * LANES));
                STORE(delta + (3 * i + a) * LANES, V(T(0)));
            }
        }
    }
    BARRIER
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
    int* const near = memory.near.data + group * count * table.capacity;
    int* const touching = memory.touching.data + group * count * table.capacity;
    int* const lengths = memory.counts.data + group * 2 * count;
    int* const touching_lengths = lengths + count;
    T* const valence = (T*)memory.valence.data + group * count * LANES;
    T* const anchors = (T*)memory.anchors.data + group * 3 * count * LANES;
"""


@functools.cache
def make_particle_contacts(wide: Wide, data: Any, varied: bool) -> Any:
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
    """
    sizes = _VARIED.format(int(SIZE), int(INV_SIZE), int(FRICTION)) if varied else _ALIKE
    scalar, body_, memory_ = wide.scalar, body_type(wide.vec), memory_type(wide.vec)
    search = f"#if defined(__CUDA_ARCH__)\n{_STALE}{_SEARCH}#else\n{_UPDATE}#endif\n"
    text = _TOOLS + sizes + "{" + _NAMES + _INSERT + search + _REPORT + _COUNT + _GATHER + "}\n" + _CLEAR

    @wp.func_native(with_lanes(wide, text.replace("NEAR", str(NEAR)).replace("RELAXATION", str(RELAXATION))))
    def part_particles(
        model: data, body: body_, memory: memory_, inv_h: scalar, group: int, thread: int, thread_count: int
    ): ...

    return part_particles
