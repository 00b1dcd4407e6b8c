"""Neighbours in a fluid: once a substep, particles are sorted by cells, and each gets a list of those near it.

The grid has as many cells along each axis as the support radius wants, and repeats: cells that fall on each other are
far apart, and a distance tells (Teschner et al. 2003, with a modulus in place of a hash). Particles of a cell are in
the order of their numbers, whoever sorted them, and so are lists.
"""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.data.fluid import scratch_type
from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.fluid.chunks import with_chunks
from pbd_gym.kernels.lanes.wide import Wide

_TOOLS = """
    const int mask = (1 << table.bits) - 1, cells = 1 << (3 * table.bits);
    const int spot_count = fluid.spots.shape[2];
    T* const spots = fluid.spots.data + rank * 3 * spot_count;
    int* const numbers = fluid.cells.data + rank * fluid.cells.shape[1];
    const int* const inside = fluid.inside.data + rank * members;
    int* const extra = fluid.overflow.data + rank * 2;
    const T support2 = support * support;
    PBD_SHARED int sums[1024];
    const auto along = [&](T p) { return (int)floor(p * inv_support) & mask; };
    const auto cell_at = [&](int cx, int cy, int cz) { return ((cz << table.bits | cy) << table.bits) | cx; };
    // Runs of rows in the 27 cells around a place: three cells of a line lie side by side, unless the grid starts over.
    const auto each_run = [&](const T* p, const int* start, auto visit) {
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
    };
"""

_SORT = """
    // Rows of the fluid, or of the boundary.
    const auto sort = [&](bool is_fluid) {
        const int total = is_fluid ? members : samples, row = is_fluid ? 0 : second;
        const int* const which = is_fluid ? table.members.data : table.boundary.data;
        int* const cell = numbers + (is_fluid ? 0 : members);
        int* const start = numbers + members + samples + (is_fluid ? 0 : cells + 1);
        int* const sorted = order + (is_fluid ? 0 : members);
        T* const spot = spots + (is_fluid ? 0 : members + 2 * CHUNK);
        for (int c = thread; c <= cells; c += thread_count) start[c] = 0;
        PBD_SYNC();
        for (int k = thread; k < total; k += thread_count) {
            const T* const p = x + ROW * which[k];
            const bool there = !is_fluid || inside[k] > 0;
            cell[k] = there ? cell_at(along(p[0] * inv_size), along(p[1] * inv_size), along(p[2] * inv_size)) : -1;
            if (there) PBD_ATOMIC_ADD(start[cell[k]], 1);
        }
        PBD_SYNC();
        // Sums of each thread's share of the cells, then of the shares before it.
        const int share = (cells + thread_count) / thread_count;
        const int from = thread * share, to = wp::min(from + share, cells);
        int sum = 0;
        for (int c = from; c < to; ++c) sum += start[c];
        sums[thread] = sum;
        PBD_SYNC();
        int so_far = 0;
        for (int n = 0; n < thread; ++n) so_far += sums[n];
        for (int c = from; c < to; ++c) {
            so_far += start[c];
            start[c] = so_far;
        }
        if (from < cells && to == cells) start[cells] = so_far;
        PBD_SYNC();
#if PBD_BLOCK
        for (int k = thread; k < total; k += thread_count)
            if (cell[k] >= 0) sorted[PBD_ATOMIC_ADD(start[cell[k]], -1) - 1] = k;
        PBD_SYNC();
        for (int c = thread; c < cells; c += thread_count)
            for (int a = start[c] + 1; a < start[c + 1]; ++a) {
                const int moved = sorted[a];
                int at = a;
                for (; at > start[c] && sorted[at - 1] > moved; --at) sorted[at] = sorted[at - 1];
                sorted[at] = moved;
            }
        PBD_SYNC();
#else
        for (int k = total - 1; k >= 0; --k)
            if (cell[k] >= 0) sorted[--start[cell[k]]] = k;
#endif
        const int found = start[cells];
        for (int at = thread; at < found; at += thread_count) {
            const int k = sorted[at];
            const T weight = ((const T*)body.inv_mass.data)[which[k]];
            for (int a = 0; a < 3; ++a) {
                const T value = x[ROW * which[k] + a] * inv_size;
                sets[4 * (row + at) + a] = value;
                spot[a * spot_count + at] = value;
            }
            sets[4 * (row + at) + 3] = is_fluid ? T(0) : table.volumes.data[k];
            if (is_fluid) {
                mobility[at] = T(weight > T(0));
            } else {
                const T lightness = weight * mass, most = table.lightest.data[k];
                mobility[members + at] = lightness < most ? lightness : most;
            }
        }
        if (thread == 0) {
            for (int set = 0; set < 3; ++set)
                for (int a = 0; a < 4; ++a)
                    sets[4 * (set * row_count + row + total) + a] = a < 3 && set < 2 ? T(1e18) : T(0);
            if (is_fluid) fluid.active.data[group] = found;
            else mobility[members + samples] = T(0);
        }
    };
"""

# One thread gathers what is in the cells around a cell once for all that is in it, and compares eight at a time.
_FIND_TOGETHER = """
    constexpr int ROOM = 1024;
    typedef int Ints __attribute__((ext_vector_type(CHUNK), aligned(sizeof(int))));
    typedef bool Flags __attribute__((ext_vector_type(CHUNK)));
    T cx[ROOM + CHUNK], cy[ROOM + CHUNK], cz[ROOM + CHUNK];
    int found_rows[ROOM + CHUNK];
    // Those of eight numbers whose bit is set, side by side.
    const auto pack = [&](int* to, Ints rows, unsigned hits) {
#if defined(__AVX2__) && defined(__BMI2__)
        typedef unsigned char Bytes __attribute__((ext_vector_type(CHUNK)));
        typedef int Native __attribute__((vector_size(32)));
        const unsigned long long wide = __builtin_ia32_pdep_di(hits, 0x0101010101010101ull) * 0xFF;
        const Bytes which = __builtin_bit_cast(Bytes, __builtin_ia32_pext_di(0x0706050403020100ull, wide));
        const Native at = __builtin_bit_cast(Native, __builtin_convertvector(which, Ints));
        const Native packed = __builtin_ia32_permvarsi256(__builtin_bit_cast(Native, rows), at);
        __builtin_memcpy(to, &packed, sizeof packed);
#else
        for (int n = 0; hits; hits &= hits - 1) to[n++] = rows[__builtin_ctz(hits)];
#endif
    };
    const auto find = [&](int first, int count, bool of_fluid, int* lists, int room, int* found, bool self) {
        const int* const start = numbers + members + samples + (of_fluid ? 0 : cells + 1);
        const T* const xs = spots + (of_fluid ? 0 : members + 2 * CHUNK);
        const int target = of_fluid ? 0 : second, nowhere = of_fluid ? members : second + samples;
        for (int i = 0; i < count; ++i) found[i] = 0;
        for (int i = 0, next; i < count; i = next) {
            const T* const p = sets + 4 * (first + i);
            const int ax = along(p[0]), ay = along(p[1]), az = along(p[2]);
            for (next = i + 1; next < count; ++next) {
                const T* const q = p + 4 * (next - i);
                if (along(q[0]) != ax || along(q[1]) != ay || along(q[2]) != az) break;
            }
            int gathered = 0;
            const auto compare = [&]() {
                for (int n = gathered; n < gathered + CHUNK; ++n) {
                    cx[n] = cy[n] = cz[n] = T(-1e18);
                    found_rows[n] = nowhere;
                }
                for (int k = i; k < next; ++k) {
                    const T* const q = sets + 4 * (first + k);
                    int* const list = lists + (size_t)k * room;
                    int length = found[k];
                    for (int n = 0; n < gathered; n += CHUNK) {
                        const F dx = q[0] - *(const F*)(cx + n), dy = q[1] - *(const F*)(cy + n);
                        const F dz = q[2] - *(const F*)(cz + n);
                        const F d2 = dx * dx + dy * dy + dz * dz;
                        const Ints rows = *(const Ints*)(found_rows + n);
                        const Flags close = __builtin_convertvector(d2 < F(support2), Flags);
                        const Flags others = __builtin_convertvector(rows != Ints(self ? target + k : -1), Flags);
                        unsigned hits = __builtin_bit_cast(unsigned char, close) &
                            __builtin_bit_cast(unsigned char, others);
                        if (length + CHUNK <= room) {
                            pack(list + length, rows, hits);
                            length += __builtin_popcount(hits);
                        } else
                            for (; hits; hits &= hits - 1) {
                                if (length < room) list[length++] = rows[__builtin_ctz(hits)];
                                else ++extra[0];
                            }
                    }
                    found[k] = length;
                }
                gathered = 0;
            };
            each_run(p, start, [&](int from, int to) {
                while (from < to) {
                    const int taken = wp::min(to - from, ROOM - gathered);
                    for (int n = 0; n < taken; n += CHUNK) {
                        *(F*)(cx + gathered + n) = *(const F*)(xs + from + n);
                        *(F*)(cy + gathered + n) = *(const F*)(xs + spot_count + from + n);
                        *(F*)(cz + gathered + n) = *(const F*)(xs + 2 * spot_count + from + n);
                        *(Ints*)(found_rows + gathered + n) = Ints(target + from + n) + Ints{0, 1, 2, 3, 4, 5, 6, 7};
                    }
                    gathered += taken;
                    from += taken;
                    if (gathered == ROOM) compare();
                }
            });
            compare();
        }
        for (int i = 0; i < count; ++i)
            while (found[i] % CHUNK) lists[(size_t)i * room + found[i]++] = nowhere;
    };
"""

_FIND_EACH = """
    const auto find = [&](int first, int count, bool of_fluid, int* lists, int room, int* found, bool self) {
        const int* const start = numbers + members + samples + (of_fluid ? 0 : cells + 1);
        const T* const xs = spots + (of_fluid ? 0 : members + 2 * CHUNK);
        const int target = of_fluid ? 0 : second, nowhere = of_fluid ? members : second + samples;
        for (int i = thread; i < count; i += thread_count) {
            const T* const p = sets + 4 * (first + i);
            int* const list = lists + (size_t)i * room;
            int length = 0, left = 0;
            each_run(p, start, [&](int from, int to) {
                for (int at = from; at < to; ++at) {
                    const T dx = p[0] - xs[at], dy = p[1] - xs[spot_count + at], dz = p[2] - xs[2 * spot_count + at];
                    const T d2 = dx * dx + dy * dy + dz * dz;
                    if (!(d2 < support2) || (self && at == i)) continue;
                    if (length < room) list[length++] = target + at;
                    else ++left;
                }
            });
            while (length % CHUNK) list[length++] = nowhere;
            found[i] = length;
            if (left) PBD_ATOMIC_ADD(extra[0], left);
        }
    };
"""

_SEARCH = """
    sort(true);
#if BOUNDARY
    sort(false);
#endif
    PBD_SYNC();
    const int here = fluid.active.data[group];
    find(0, here, true, near, capacity, lengths, true);
#if BOUNDARY
    find(second, samples, true, near + (size_t)members * capacity, capacity, lengths + members, false);
    find(0, here, false, wet, wet_capacity, lengths + members + samples, false);
#endif
    for (int i = thread; i < here; i += thread_count) wall_counts[i] = 0;
"""


@functools.cache
def make_search(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build the search of one substep: it fills rows and lists from the predicted positions.

    Args:
        wide: one lane, and the precision.
        options: what the kernel is compiled for.
        data: the struct of the whole model.
    """
    body_: Any = body_type(wide.vec)
    scratch_: Any = scratch_type(wide.scalar)
    assert options.fluid is not None
    find = f"#if PBD_BLOCK\n{_FIND_EACH}#else\n{_FIND_TOGETHER}#endif\n"
    text = f"#define BOUNDARY {int(options.fluid.boundary)}\n" + _TOOLS + _SORT + find + _SEARCH + "#undef BOUNDARY\n"

    @wp.func_native(with_chunks(wide.scalar, options.varied, options.packed, text))
    def search(model: data, body: body_, fluid: scratch_, group: int, thread: int, thread_count: int) -> None: ...

    return search
