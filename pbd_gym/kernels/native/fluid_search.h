// Neighbour search of a fluid: once per substep, particles are sorted by cell, and each gets a list of its neighbours.
//
// The grid is periodic with as many cells along each axis as the support radius needs. Particles that share a cell
// through wrap-around are far apart, and the distance test rejects them (Teschner et al. 2003, with a modulus in place
// of a hash). Particles of a cell are ordered by index, so lists do not depend on the threads that made them.
#pragma once
#include "fluid_group.h"

namespace pbd {

// One of the two runs of particles, fluid or boundary.
template <class T>
struct FluidRun {
    bool is_fluid;
    int total;         // particles
    int row;           // first row
    const int* which;  // particles of the scene
    int* cell;         // cell of each of `which`, or -1
    int* start;        // first row of each cell
    int* sorted;       // index in `which`, by row
    T* spot;           // positions by axis [m]
};

// The grid of a group and its two runs.
template <class Group>
struct FluidGrid {
    using T = typename Group::T;
    Group& fluid;
    const int bits = fluid.table.bits, mask = (1 << bits) - 1, cells = 1 << (3 * bits);
    const int spot_count = fluid.scratch.spots.shape[2];  // stride between axes
    const T inv_support = fluid.inv_support;

    PBD_INLINE FluidRun<T> run(bool is_fluid) const {
        const int members = fluid.members, samples = fluid.samples;
        T* const spots = fluid.scratch.spots.data + fluid.rank * 3 * spot_count;
        int* const numbers = fluid.scratch.cells.data + fluid.rank * fluid.scratch.cells.shape[1];
        return {is_fluid,
                is_fluid ? members : samples,
                is_fluid ? 0 : fluid.second,
                is_fluid ? fluid.table.members.data : fluid.table.boundary.data,
                numbers + (is_fluid ? 0 : members),
                numbers + members + samples + (is_fluid ? 0 : cells + 1),
                fluid.order + (is_fluid ? 0 : members),
                spots + (is_fluid ? 0 : members + 2 * Group::Chunk::CHUNK)};
    }

    // Cell index of a coordinate [m] along its axis.
    PBD_INLINE int along(T p) const {
        PBD_CONTRACT_ON
        return (int)wp::floor(p * inv_support) & mask;
    }

    PBD_INLINE int cell_at(int cx, int cy, int cz) const { return ((cz << bits | cy) << bits) | cx; }

    // Visit the rows in the 27 cells around a place, in contiguous ranges: three cells along x are adjacent unless the
    // grid wraps around.
    template <class Visit>
    PBD_INLINE void each_run(const T* p, const int* start, Visit visit) const {
        const int cx = along(p[0]), cy = along(p[1]), cz = along(p[2]);
        const bool whole = cx > 0 && cx < mask;
        for (int line = 0; line < 9; ++line) {
            const int y = (cy + line % 3 - 1) & mask, z = (cz + line / 3 - 1) & mask;
            for (int part = 0; part < (whole ? 1 : 3); ++part) {
                const int first = cell_at(whole ? cx - 1 : (cx + part - 1) & mask, y, z);
                const int end = start[first + (whole ? 3 : 1)];
                if (start[first] < end) visit(start[first], end);
            }
        }
    }
};

// Count the particles of each cell, and compute the running sum: `start` then holds the end of each cell.
template <class Group>
PBD_INLINE void count_by_cell(const FluidGrid<Group>& grid, const FluidRun<typename Group::T>& run) {
    PBD_CONTRACT_ON
    using T = typename Group::T;
    const auto& fluid = grid.fluid;
    const int thread = fluid.thread, thread_count = fluid.thread_count, cells = grid.cells;
    const int* const inside = fluid.scratch.inside.data + fluid.rank * fluid.members;
    const T inv_size = fluid.inv_size;
    int* const cell = run.cell;
    int* const start = run.start;
    PBD_SHARED int sums[1024];
    for (int c = thread; c <= cells; c += thread_count) start[c] = 0;
    sync();
    for (int k = thread; k < run.total; k += thread_count) {
        const T* const p = fluid.x + Group::STRIDE * run.which[k];
        const bool there = !run.is_fluid || inside[k] > 0;
        cell[k] =
            there ? grid.cell_at(grid.along(p[0] * inv_size), grid.along(p[1] * inv_size), grid.along(p[2] * inv_size))
                  : -1;
        if (there) atomic_add(start[cell[k]], 1);
    }
    sync();
    // Each thread sums its share of the cells, then adds the shares before it.
    const int share = (cells + thread_count) / thread_count;
    const int from = thread * share, to = wp::min(from + share, cells);
    int sum = 0;
    for (int c = from; c < to; ++c) sum += start[c];
    sums[thread] = sum;
    sync();
    int so_far = 0;
    for (int n = 0; n < thread; ++n) so_far += sums[n];
    for (int c = from; c < to; ++c) {
        so_far += start[c];
        start[c] = so_far;
    }
    if (from < cells && to == cells) start[cells] = so_far;
    sync();
}

// Group particles by cell, ordered by index; `start` then holds the start of each cell.
template <class Group>
PBD_INLINE void place_by_cell(const FluidGrid<Group>& grid, const FluidRun<typename Group::T>& run) {
    const int* const cell = run.cell;
    int* const start = run.start;
    int* const sorted = run.sorted;
#if PBD_BLOCK
    const int thread = grid.fluid.thread, thread_count = grid.fluid.thread_count;
    for (int k = thread; k < run.total; k += thread_count)
        if (cell[k] >= 0) sorted[atomic_add(start[cell[k]], -1) - 1] = k;
    sync();
    for (int c = thread; c < grid.cells; c += thread_count)
        for (int a = start[c] + 1; a < start[c + 1]; ++a) {
            const int moved = sorted[a];
            int at = a;
            for (; at > start[c] && sorted[at - 1] > moved; --at) sorted[at] = sorted[at - 1];
            sorted[at] = moved;
        }
    sync();
#else
    for (int k = run.total - 1; k >= 0; --k)
        if (cell[k] >= 0) sorted[--start[cell[k]]] = k;
#endif
}

// Sort a run by cell, and fill its rows.
template <class Group>
inline CUDA_CALLABLE void sort_fluid(const FluidGrid<Group>& grid, bool is_fluid) {
    PBD_CONTRACT_ON
    using T = typename Group::T;
    const auto& fluid = grid.fluid;
    const FluidRun<T> run = grid.run(is_fluid);
    T* const sets = fluid.sets;
    T* const mobility = fluid.mobility;
    const int members = fluid.members, row = run.row;
    count_by_cell(grid, run);
    place_by_cell(grid, run);
    const int found = run.start[grid.cells];
    for (int at = fluid.thread; at < found; at += fluid.thread_count) {
        const int k = run.sorted[at];
        const T weight = ((const T*)fluid.body.inv_mass.data)[run.which[k]];
        for (int a = 0; a < 3; ++a) {
            const T value = fluid.x[Group::STRIDE * run.which[k] + a] * fluid.inv_size;
            sets[4 * (row + at) + a] = value;
            run.spot[a * grid.spot_count + at] = value;
        }
        sets[4 * (row + at) + 3] = is_fluid ? T(0) : fluid.table.volumes.data[k];
        if (is_fluid) {
            mobility[at] = T(weight > T(0));
        } else {
            const T lightness = weight * fluid.mass, most = fluid.table.lightest.data[k];
            mobility[members + at] = fluid.table.yielding.data[k] * (lightness < most ? lightness : most);
        }
    }
    if (fluid.thread == 0) {
        for (int set = 0; set < 3; ++set)
            for (int a = 0; a < 4; ++a)
                sets[4 * (set * fluid.row_count + row + run.total) + a] = a < 3 && set < 2 ? T(1e18) : T(0);
        if (is_fluid)
            fluid.scratch.active.data[fluid.group] = found;
        else
            mobility[members + fluid.samples] = T(0);
    }
}

// Neighbour lists to be filled: for `count` rows from `first` on, the rows of fluid or boundary near each.
struct FluidLists {
    int first, count;
    bool of_fluid;
    int* lists;  // `room` entries for each row
    int room;
    int* found;  // lengths
    bool self;   // whether rows are searched among themselves
};

#if PBD_BLOCK

// Fill lists; each thread handles one row at a time.
template <class Group>
inline CUDA_CALLABLE void find_neighbours(const FluidGrid<Group>& grid, const FluidLists& wanted) {
    PBD_CONTRACT_ON
    using T = typename Group::T;
    constexpr int CHUNK = Group::Chunk::CHUNK;
    const auto& fluid = grid.fluid;
    const FluidRun<T> run = grid.run(wanted.of_fluid);
    const int spot_count = grid.spot_count, target = run.row, nowhere = run.row + run.total, room = wanted.room;
    const bool self = wanted.self;
    const T support2 = fluid.support * fluid.support;
    const T* const xs = run.spot;
    int* const extra = fluid.scratch.overflow.data + fluid.rank * 2;
    for (int i = fluid.thread; i < wanted.count; i += fluid.thread_count) {
        const T* const p = fluid.sets + 4 * (wanted.first + i);
        int* const list = wanted.lists + (size_t)i * room;
        int length = 0, left = 0;
        grid.each_run(p, run.start, [&](int from, int to) {
            PBD_CONTRACT_ON
            for (int at = from; at < to; ++at) {
                const T dx = p[0] - xs[at], dy = p[1] - xs[spot_count + at], dz = p[2] - xs[2 * spot_count + at];
                const T d2 = dx * dx + dy * dy + dz * dz;
                if (!(d2 < support2) || (self && at == i)) continue;
                if (length < room)
                    list[length++] = target + at;
                else
                    ++left;
            }
        });
        while (length % CHUNK) list[length++] = nowhere;
        wanted.found[i] = length;
        if (left) atomic_add(extra[0], left);
    }
}

#else

// Contents of the cells around a cell, gathered once for all rows of that cell.
template <class Group>
struct FluidNeighbourhood {
    using T = typename Group::T;
    using F = typename Group::Chunk::F;
    using Ints = typename Register<int, Group::Chunk::CHUNK>::type;
    static constexpr int CHUNK = Group::Chunk::CHUNK, ROOM = 1024;
    T cx[ROOM + CHUNK], cy[ROOM + CHUNK], cz[ROOM + CHUNK];
    int rows[ROOM + CHUNK];

    // Write those of eight numbers whose bit is set, contiguously.
    PBD_INLINE static void pack(int* to, Ints numbers, unsigned hits) {
#if defined(__AVX2__) && defined(__BMI2__)
        typedef unsigned char Bytes __attribute__((ext_vector_type(CHUNK)));
        typedef int Native __attribute__((vector_size(32)));
        const unsigned long long wide = __builtin_ia32_pdep_di(hits, 0x0101010101010101ull) * 0xFF;
        const Bytes which = __builtin_bit_cast(Bytes, __builtin_ia32_pext_di(0x0706050403020100ull, wide));
        const Native at = __builtin_bit_cast(Native, __builtin_convertvector(which, Ints));
        const Native packed = __builtin_ia32_permvarsi256(__builtin_bit_cast(Native, numbers), at);
        __builtin_memcpy(to, &packed, sizeof packed);
#else
        for (int n = 0; hits; hits &= hits - 1) to[n++] = numbers[__builtin_ctz(hits)];
#endif
    }

    // Gather `taken` rows of a run, starting at `from`.
    PBD_INLINE void add(const FluidRun<T>& run, int spot_count, int gathered, int from, int taken) {
        const T* const xs = run.spot;
        for (int n = 0; n < taken; n += CHUNK) {
            *(F*)(cx + gathered + n) = *(const F*)(xs + from + n);
            *(F*)(cy + gathered + n) = *(const F*)(xs + spot_count + from + n);
            *(F*)(cz + gathered + n) = *(const F*)(xs + 2 * spot_count + from + n);
            *(Ints*)(rows + gathered + n) = Ints(run.row + from + n) + Ints{0, 1, 2, 3, 4, 5, 6, 7};
        }
    }

    // Compare the gathered rows with rows begin to end of the lists, and list those nearby.
    PBD_INLINE void compare(Group& fluid, const FluidLists& wanted, const FluidRun<T>& run, int gathered, int begin,
                            int end) {
        PBD_CONTRACT_ON
        typedef bool Flags __attribute__((ext_vector_type(CHUNK)));
        const T support2 = fluid.support * fluid.support;
        const int target = run.row, nowhere = run.row + run.total, room = wanted.room;
        int* const extra = fluid.scratch.overflow.data + fluid.rank * 2;
        for (int n = gathered; n < gathered + CHUNK; ++n) {
            cx[n] = cy[n] = cz[n] = T(-1e18);
            rows[n] = nowhere;
        }
        for (int k = begin; k < end; ++k) {
            const T* const q = fluid.sets + 4 * (wanted.first + k);
            int* const list = wanted.lists + (size_t)k * room;
            int length = wanted.found[k];
            for (int n = 0; n < gathered; n += CHUNK) {
                const F dx = q[0] - *(const F*)(cx + n), dy = q[1] - *(const F*)(cy + n);
                const F dz = q[2] - *(const F*)(cz + n);
                const F d2 = dx * dx + dy * dy + dz * dz;
                const Ints those = *(const Ints*)(rows + n);
                const Flags close = __builtin_convertvector(d2 < F(support2), Flags);
                const Flags others = __builtin_convertvector(those != Ints(wanted.self ? target + k : -1), Flags);
                unsigned hits = __builtin_bit_cast(unsigned char, close) & __builtin_bit_cast(unsigned char, others);
                if (length + CHUNK <= room) {
                    pack(list + length, those, hits);
                    length += __builtin_popcount(hits);
                } else {
                    for (; hits; hits &= hits - 1) {
                        if (length < room)
                            list[length++] = those[__builtin_ctz(hits)];
                        else
                            ++extra[0];
                    }
                }
            }
            wanted.found[k] = length;
        }
    }
};

// Fill lists, for all rows of a cell at once.
template <class Group>
inline void find_neighbours(const FluidGrid<Group>& grid, const FluidLists& wanted) {
    using T = typename Group::T;
    const auto& fluid = grid.fluid;
    const FluidRun<T> run = grid.run(wanted.of_fluid);
    const int count = wanted.count, nowhere = run.row + run.total;
    int* const found = wanted.found;
    FluidNeighbourhood<Group> around;
    for (int i = 0; i < count; ++i) found[i] = 0;
    for (int i = 0, next; i < count; i = next) {
        const T* const p = fluid.sets + 4 * (wanted.first + i);
        const int ax = grid.along(p[0]), ay = grid.along(p[1]), az = grid.along(p[2]);
        for (next = i + 1; next < count; ++next) {
            const T* const q = p + 4 * (next - i);
            if (grid.along(q[0]) != ax || grid.along(q[1]) != ay || grid.along(q[2]) != az) break;
        }
        int gathered = 0;
        grid.each_run(p, run.start, [&](int from, int to) {
            while (from < to) {
                const int taken = wp::min(to - from, around.ROOM - gathered);
                around.add(run, grid.spot_count, gathered, from, taken);
                gathered += taken;
                from += taken;
                if (gathered == around.ROOM) {
                    around.compare(fluid, wanted, run, gathered, i, next);
                    gathered = 0;
                }
            }
        });
        around.compare(fluid, wanted, run, gathered, i, next);
    }
    for (int i = 0; i < count; ++i)
        while (found[i] % Group::Chunk::CHUNK) wanted.lists[(size_t)i * wanted.room + found[i]++] = nowhere;
}

#endif

// Fill rows and neighbour lists from the predicted positions.
//
// has_boundary: whether other bodies touch the fluid.
template <class Options, bool has_boundary, class Model, class Body, class Scratch>
inline CUDA_CALLABLE void search_fluid(const Model& model, const Body& body, const Scratch& scratch, int group,
                                       int thread, int thread_count) {
    using Group = const FluidGroup<Options, decltype(model.fluid), Body, Scratch>;
    Group fluid{model.fluid, body, scratch, group, thread, thread_count};
    const FluidGrid<Group> grid{fluid};
    const int members = fluid.members, samples = fluid.samples, capacity = fluid.capacity;
    sort_fluid(grid, true);
    if constexpr (has_boundary) sort_fluid(grid, false);
    sync();
    const int here = fluid.active();
    find_neighbours(grid, {0, here, true, fluid.near, capacity, fluid.lengths, true});
    if constexpr (has_boundary) {
        int* const near_boundary = fluid.near + (size_t)members * capacity;
        find_neighbours(grid, {fluid.second, samples, true, near_boundary, capacity, fluid.lengths + members, false});
        find_neighbours(grid, {0, here, false, fluid.wet, fluid.wet_capacity, fluid.wet_lengths, false});
    }
    for (int i = thread; i < here; i += thread_count) fluid.wall_counts[i] = 0;
}

}  // namespace pbd
