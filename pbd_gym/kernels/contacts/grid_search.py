"""Which members may touch, where a block of threads serves a group: C++ that contacts include.

Candidates come from a grid of *anchors*, points within half a *skin* of their members, one grid for each environment:
that of Teschner et al. 2003 with a modulus in place of a hash, as cells that fall on each other are far apart, and a
distance tells. Lists are shared by the environments of a group: each member has one of all whose anchors are near its
own in some lane, in any order. Those of neighbouring members lie side by side, as neighbouring threads read them
together. Where something has moved by half a skin, all members are looked up again: moved against what some of them
have moved by on average, so that what falls or is carried as a whole has not.
"""

_TOOLS = """
    int* const near = lists.near.data + rank * count * table.capacity;
    int* const touching = lists.touching.data + rank * count * table.capacity;
    int* const lengths = lists.counts.data + rank * 2 * count;
    int* const touching_lengths = lengths + count;
    // Where the n-th of a member is in such a list.
    const auto entry = [&](int k, int n) { return n * count + k; };
    const int side = 1 << table.bits, mask = side - 1, cell_count = 1 << (3 * table.bits);
    const T inv_cell = T(1) / table.cell;
    const T limit = T(0.25) * table.skin * table.skin;
    const auto cell_at = [&](T px, T py, T pz) {
        const int cx = (int)floor(px * inv_cell), cy = (int)floor(py * inv_cell), cz = (int)floor(pz * inv_cell);
        return (((cz & mask) << table.bits | (cy & mask)) << table.bits) | (cx & mask);
    };
"""

_STALE = """
    {
        T worst[LANES], gone[3 * LANES];
        const int step = (count + SAMPLES - 1) / SAMPLES;
        EACH_LANE {
            const V shrink = V(INV_SIZES);
            V number = V(T(0)), mean[3] = {number, number, number};
            for (int k = 0; k < count; k += step) {
                for (int a = 0; a < 3; ++a)
                    mean[a] += shrink * LOAD(x + (ROW * members[k] + a) * LANES) - LOAD(anchors + (3 * k + a) * LANES);
                number += T(1);
            }
            for (int a = 0; a < 3; ++a) { STORE(gone + a * LANES, mean[a] / number); }
            STORE(worst, V(T(0)));
        }
        for (int k = thread; k < count; k += thread_count) {
            const int i = members[k];
            EACH_LANE {
                const V shrink = V(INV_SIZES);
                V d2 = V(T(0));
                for (int a = 0; a < 3; ++a) {
                    const V d = shrink * LOAD(x + (ROW * i + a) * LANES) - LOAD(anchors + (3 * k + a) * LANES)
                        - LOAD(gone + a * LANES);
                    d2 += d * d;
                }
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
        struct alignas(4 * sizeof(T)) Spot { T x, y, z, member; };  // read as one
        Spot* const sorted = (Spot*)(lists.spots.data + rank * 4 * count);
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
            // Sums of each thread's share of the cells, then of the shares before it.
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
                const T* const p = anchors + 3 * LANES * k + lane_;
                sorted[PBD_ATOMIC_ADD(start[cell_of[k]], -1) - 1] = {p[0], p[LANES], p[2 * LANES], T(k)};
            }
            PBD_SYNC();
            for (int k = thread; k < count; k += thread_count) {
                const T* const p = anchors + 3 * LANES * k + lane_;
                const T px = p[0], py = p[LANES], pz = p[2 * LANES];
                const int cell = cell_of[k];
                const int cx = cell & mask, cy = (cell >> table.bits) & mask, cz = cell >> (2 * table.bits);
                // What another lane has found is there already. One that has no room for all has no list.
                int length = lengths[k];
                const int earlier = length;
                const auto add = [&](int other) {
                    for (int n = 0; n < earlier; ++n)
                        if (near[entry(k, n)] == other) return;
                    if (length < table.capacity) near[entry(k, length)] = other;
                    ++length;
                };
                for (int row = 0; row < 9 && earlier >= 0; ++row) {
                    const int y = (cy + row % 3 - 1) & mask, z = (cz + row / 3 - 1) & mask;
                    const int line = (z << table.bits | y) << table.bits;
                    // The three cells of a row lie side by side, unless the grid starts over between them.
                    const bool whole = cx > 0 && cx < mask;
                    for (int part = 0; part < (whole ? 1 : 3); ++part) {
                        const int first = line + (whole ? cx - 1 : (cx + part - 1) & mask);
                        const int end = start[first + (whole ? 3 : 1)];
                        for (int at = start[first]; at < end; ++at) {
                            const Spot q = sorted[at];
                            const T dx = px - q.x, dy = py - q.y, dz = pz - q.z;
                            const T d2 = dx * dx + dy * dy + dz * dz;
                            if (!(d2 < table.cell * table.cell)) continue;
                            const int other = (int)q.member;
                            if (other == k || !(table.alike || d2 < limit_of(k, other, table.skin))) continue;
                            if (strangers(k, other)) add(other);
                        }
                    }
                }
                lengths[k] = length <= table.capacity ? length : -1;
            }
            PBD_SYNC();
        }
    }
"""

SAMPLES = 8
"""Members whose motion is taken for that of all."""

SEARCH = _TOOLS + _STALE.replace("SAMPLES", str(SAMPLES)) + _SEARCH
"""Statements that leave in ``near`` and ``lengths`` all that may touch."""
