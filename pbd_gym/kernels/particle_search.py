"""The search for particles that may touch: C++ that :mod:`pbd_gym.kernels.particle_contacts` includes.

It fills ``near`` and ``lengths``, the sorted lists of candidates, from the anchors. A thread that is alone looks up
what has moved, and a pair is in the list of its first member. The threads of a block look up all of it together, and a
pair is in both lists. What touches is in the lists of either.
"""

_TOOLS = """
    // Into the sorted list of a member, unless it is there already. One that has no room for all has no list.
    const auto insert = [&](int k, int other) {
        int* const list = near + k * table.capacity;
        const int length = lengths[k];
        int at = length;
        while (at > 0 && list[at - 1] > other) --at;
        if (length < 0 || (at > 0 && list[at - 1] == other)) return;
        if (length == table.capacity) {
            lengths[k] = -1;
            return;
        }
        for (int n = length; n > at; --n) list[n] = list[n - 1];
        list[at] = other;
        lengths[k] = length + 1;
    };
    // Whether two members can collide at all: not if they are neighbours in one body.
    const int chunks = (count + 15) / 16;
    const bool scans = table.strangers.shape[0] > 0;
    const auto strangers = [&](int k, int other) {
        if (scans) return (table.strangers.data[k * chunks + other / 16] >> other % 16 & 1) != 0;
        for (int n = table.kin_start.data[k]; n < table.kin_start.data[k + 1]; ++n)
            if (table.kin.data[n] == other) return false;
        return true;
    };
    const int side = 1 << table.bits, mask = side - 1, cell_count = 1 << (3 * table.bits);
    const T inv_cell = T(1) / table.cell;
    const T limit = T(0.25) * table.skin * table.skin;
    const auto cell_at = [&](T px, T py, T pz) {
        const int cx = (int)floor(px * inv_cell), cy = (int)floor(py * inv_cell), cz = (int)floor(pz * inv_cell);
        return (((cz & mask) << table.bits | (cy & mask)) << table.bits) | (cx & mask);
    };
"""

# One thread: only members that moved are looked up again, where anchors are relative to the centre of all members: what
# falls or is carried as a whole has not moved. Lanes are looked up one after the other, in a copy of their anchors that
# stays in the cache. Up to SCANNED members are compared with all others, sixteen at a time, which is quicker than to
# find out which are in cells near by. Of more, each lane has a grid, with a chain of members for each cell; `next` and
# `before` are -1 at its ends, and `cell_of` is -1 for what is in no chain.
_UPDATE = """
    {
        int* const cells = lists.cells.data + rank * lists.cells.shape[1];
        const int stride = cell_count + 4 * count;
        T* const spots = lists.sorted.data + rank * lists.sorted.shape[1];
        typedef T Chunk __attribute__((ext_vector_type(16), aligned(sizeof(T))));
        typedef bool Flags __attribute__((ext_vector_type(16)));
        if (lists.stale.data[group] > 0) {  // the first time
            for (int n = 0; n < LANES * stride; ++n) cells[n] = -1;
            for (int n = 0; n < 3 * LANES * count; ++n) anchors[n] = T(1e18);
            for (int n = 0; n < 48 * LANES * chunks; ++n) spots[n] = T(1e18);
            for (int k = 0; k < count; ++k) lengths[k] = 0;
            lists.stale.data[group] = 0;
        }
        T center[3 * LANES];
        for (int n = 0; n < 3 * LANES; ++n) center[n] = T(0);
        EACH_LANE {
            V sx = V(T(0)), sy = sx, sz = sx;
            for (int k = 0; k < count; ++k) {
                const T* const p = x + ROW * members[k] * LANES;
                sx += LOAD(p); sy += LOAD(p + LANES); sz += LOAD(p + 2 * LANES);
            }
            const V share = V(INV_SIZES) * (T(1) / T(count));
            STORE(center, sx * share); STORE(center + LANES, sy * share); STORE(center + 2 * LANES, sz * share);
        }
        // Into the list of the first of the two, if they are near each other.
        const auto consider = [&](int k, int other, T d2) {
            const T range = range_of(k, other) + table.skin;
            if (d2 < range * range) insert(k < other ? k : other, k < other ? other : k);
        };
        const auto scan = [&](int k, int lane_, T px, T py, T pz) {
            T* const xs = spots + 48 * chunks * lane_;
            T* const ys = xs + 16 * chunks;
            T* const zs = ys + 16 * chunks;
            xs[k] = px; ys[k] = py; zs[k] = pz;
            const unsigned short* const allowed = table.strangers.data + k * chunks;
            for (int c = 0; c < chunks; ++c) {
                const Chunk dx = *(const Chunk*)(xs + 16 * c) - px;
                const Chunk dy = *(const Chunk*)(ys + 16 * c) - py;
                const Chunk dz = *(const Chunk*)(zs + 16 * c) - pz;
                const Chunk d2 = dx * dx + dy * dy + dz * dz;
                const auto inside = __builtin_convertvector(d2 < Chunk(table.cell * table.cell), Flags);
                unsigned hits = __builtin_bit_cast(unsigned short, inside) & allowed[c];
                for (; hits; hits &= hits - 1) {
                    const int at = __builtin_ctz(hits);
                    consider(k, 16 * c + at, d2[at]);
                }
            }
        };
        const auto look_up = [&](int k, int lane_, T px, T py, T pz) {
            T* const own = spots + 48 * chunks * lane_;
            own[3 * k] = px; own[3 * k + 1] = py; own[3 * k + 2] = pz;
            int* const head = cells + lane_ * stride;
            int* const next = head + cell_count;
            int* const before = next + count;
            int* const cell_of = before + count;
            const int cell = cell_at(px, py, pz);
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
                    const T* const q = own + 3 * other;
                    const T dx = px - q[0], dy = py - q[1], dz = pz - q[2], d2 = dx * dx + dy * dy + dz * dz;
                    if (d2 < table.cell * table.cell && other != k && strangers(k, other)) consider(k, other, d2);
                }
            }
        };
        int moved[LANES];
        for (int n = 0; n < LANES; ++n) moved[n] = 0;
        for (int k = 0; k < count; ++k) {
            const int i = members[k];
            T distance[LANES];
            bool any = false;
            EACH_LANE {
                const V shrink = V(INV_SIZES);
                const T* const p = x + ROW * i * LANES;
                const T* const q = anchors + 3 * k * LANES;
                const V dx = shrink * LOAD(p) - LOAD(center) - LOAD(q);
                const V dy = shrink * LOAD(p + LANES) - LOAD(center + LANES) - LOAD(q + LANES);
                const V dz = shrink * LOAD(p + 2 * LANES) - LOAD(center + 2 * LANES) - LOAD(q + 2 * LANES);
                const V d2 = dx * dx + dy * dy + dz * dz;
                any = any || !ALL(d2 <= V(limit));  // a NaN has moved
                STORE(distance, d2);
            }
            if (any)
                for (int n = 0; n < LANES; ++n)
                    if (!(distance[n] <= limit)) cells[n * stride + cell_count + 3 * count + moved[n]++] = k;
        }
        for (int lane_ = 0; lane_ < LANES; ++lane_)
            for (int m = 0; m < moved[lane_]; ++m) {
                const int k = cells[lane_ * stride + cell_count + 3 * count + m];
                const T* const p = x + ROW * LANES * members[k] + lane_;
                T spot[3];
                for (int a = 0; a < 3; ++a) {
                    spot[a] = INV_SIZE * p[a * LANES] - center[a * LANES + lane_];
                    anchors[(3 * k + a) * LANES + lane_] = spot[a];
                }
                if (scans) scan(k, lane_, spot[0], spot[1], spot[2]);
                else look_up(k, lane_, spot[0], spot[1], spot[2]);
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
                const V dx = shrink * LOAD(x + (ROW * i) * LANES) - LOAD(anchors + (3 * k) * LANES);
                const V dy = shrink * LOAD(x + (ROW * i + 1) * LANES) - LOAD(anchors + (3 * k + 1) * LANES);
                const V dz = shrink * LOAD(x + (ROW * i + 2) * LANES) - LOAD(anchors + (3 * k + 2) * LANES);
                const V d2 = dx * dx + dy * dy + dz * dz;
                const V most = LOAD(worst);
                STORE(worst, d2 <= most ? most : d2);  // a NaN stays
            }
        }
        if (thread == 0) lists.stale.data[group] = 0;
        PBD_SYNC();
        for (int n = 0; n < LANES; ++n)
            if (!(worst[n] <= limit)) lists.stale.data[group] = 1;
        PBD_SYNC();
    }
"""

_SEARCH = """
    if (lists.stale.data[group]) {
        int* const start = lists.cells.data + rank * lists.cells.shape[1];
        int* const cell_of = start + cell_count + 1;
        int* const order = cell_of + count;
        T* const sorted = lists.sorted.data + rank * 3 * count;
        const int share = (cell_count + thread_count) / thread_count;
        for (int k = thread; k < count; k += thread_count) {
            lengths[k] = 0;
            for (int lane_ = 0; lane_ < LANES; ++lane_)
                for (int a = 0; a < 3; ++a)
                    anchors[(3 * k + a) * LANES + lane_] = INV_SIZE * x[(ROW * members[k] + a) * LANES + lane_];
        }
        for (int lane_ = 0; lane_ < LANES; ++lane_) {
            // Members sorted by cell: count, add up, and put each where its cell ends so far.
            for (int c = thread; c <= cell_count; c += thread_count) start[c] = 0;
            PBD_SYNC();
            for (int k = thread; k < count; k += thread_count) {
                const T* const p = anchors + 3 * LANES * k + lane_;
                cell_of[k] = cell_at(p[0], p[LANES], p[2 * LANES]);
                PBD_ATOMIC_ADD(start[cell_of[k]], 1);
            }
            PBD_SYNC();
            // Sums of each thread's share of the cells, then of the shares before it. order is free for them as yet.
            int sum = 0;
            for (int c = thread * share; c < wp::min(thread * share + share, cell_count); ++c) sum += start[c];
            PBD_SHARED int sums[1024];
            sums[thread] = sum;
            PBD_SYNC();
            int total = 0;
            for (int n = 0; n < thread; ++n) total += sums[n];
            for (int c = thread * share; c < wp::min(thread * share + share, cell_count); ++c) {
                total += start[c];
                start[c] = total;
            }
            if (thread == 0) start[cell_count] = count;
            PBD_SYNC();
            for (int k = thread; k < count; k += thread_count) {
                const int at = PBD_ATOMIC_ADD(start[cell_of[k]], -1) - 1;
                order[at] = k;
                for (int a = 0; a < 3; ++a) sorted[3 * at + a] = anchors[(3 * k + a) * LANES + lane_];
            }
            PBD_SYNC();
            for (int k = thread; k < count; k += thread_count) {
                const T* const p = anchors + 3 * LANES * k + lane_;
                const T px = p[0], py = p[LANES], pz = p[2 * LANES];
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
                            const T range = range_of(k, other) + table.skin;
                            if (!(d2 < range * range) || other == k) continue;
                            if (strangers(k, other)) insert(k, other);
                        }
                    }
                }
            }
            PBD_SYNC();
        }
    }
"""

SEARCH_CODE = f"{_TOOLS}#if PBD_BLOCK\n{_STALE}{_SEARCH}#else\n{_UPDATE}#endif\n"
"""Statements that leave in ``near`` and ``lengths`` all that may touch."""
