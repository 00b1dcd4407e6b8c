"""Contacts on one thread: C++ that :mod:`pbd_gym.kernels.particle_contacts` includes.

Pairs that are near enough are collected until there are sixteen, and looked at; those that touch are kept. When the
contacts of all members of the environment are counted, these are parted, in the same order.
"""

IN_PAIRS = """
    T* const valence = boxes + 6 * chunks;
    T* const moves = valence + count;
#if SURFACES
    T* const shifts = moves + 3 * count;
#endif
#if RIGID
    T* const eases = moves + 3 * count * (1 + SURFACES);
    for (int k = 0; k < count; ++k) eases[k] = T(1);
#endif
    int* const firsts = lists.touching.data + rank * 2 * lists.touching.shape[2];
    int* const seconds = firsts + lists.touching.shape[2];
    const int touching_room = lists.touching.shape[2];
    for (lane_ = 0; lane_ < LANES; ++lane_) {
        const T* const now = rows + stride * lane_;
        const T* const more = now + 4 * count;
        for (int k = 0; k < count; ++k) valence[k] = T(0);
        if (worn[lane_] > T(0) || lists.counts.data[rank * LANES + lane_] < 0) make_list();
        const auto fill = [&](Member& m, const int* at) {
            columns(now, 4, at, m.x, m.y, m.z, m.w);
#if RIGID
            for (int s = 0; s < 16; ++s) m.ease[s] = m.w[s] * eases[at[s]];
#endif
            columns(more, COLUMNS, at, m.px, m.py, m.pz, m.flat);
#if SURFACES
            V free;
            columns(more + 4, COLUMNS, at, m.nx, m.ny, m.nz, free);
#endif
            columns(table.traits.data, 4, at, m.radius, m.extent, m.friction, m.role);
        };
        int one[16], two[16], found = 0, touched = 0;
        bool parting = false;
        const auto examine = [&](const int* from, const int* other, int number) {
            Member a, b;
            fill(a, from);
            fill(b, other);
            const Touch t = touch(a, b);
            unsigned hits = bits(t.inside > V(T(0))) & ((1u << number) - 1);
            if (!parting) {
                for (; hits; hits &= hits - 1) {
                    const int s = __builtin_ctz(hits), k = from[s], l = other[s];
                    valence[k] += T(1);
                    valence[l] += T(1);
                    if (touched < touching_room) { firsts[touched] = k; seconds[touched] = l; }
                    ++touched;
                }
                return;
            }
            V mine, its, mx, my, mz, late;
            for (int s = 0; s < 16; ++s) {
                mine[s] = valence[from[s]];
                its[s] = valence[other[s]];
            }
            part(a, b, t, mine, its, mx, my, mz, late);
            const V ax = a.w * mx, ay = a.w * my, az = a.w * mz, bx = -b.w * mx, by = -b.w * my, bz = -b.w * mz;
#if SURFACES
            const V al = a.w * late, bl = -b.w * late;
#endif
            for (; hits; hits &= hits - 1) {
                const int s = __builtin_ctz(hits);
                T* const p = moves + 3 * from[s];
                T* const q = moves + 3 * other[s];
                p[0] += ax[s]; p[1] += ay[s]; p[2] += az[s];
                q[0] += bx[s]; q[1] += by[s]; q[2] += bz[s];
#if SURFACES
                T* const f = shifts + 3 * from[s];
                T* const g = shifts + 3 * other[s];
                f[0] += al[s] * t.nx[s]; f[1] += al[s] * t.ny[s]; f[2] += al[s] * t.nz[s];
                g[0] += bl[s] * t.nx[s]; g[1] += bl[s] * t.ny[s]; g[2] += bl[s] * t.nz[s];
#endif
            }
        };
        const auto padded = [&](int* from, int* other, int number) {
            for (int s = number; s < 16; ++s) { from[s] = from[0]; other[s] = other[0]; }
        };
        const T limit = widest * widest * SIZE * SIZE;
        const auto sift = [&](const int* first, const int* second, int number) {
            V ax, ay, az, aw, bx, by, bz, bw;
            columns(now, 4, first, ax, ay, az, aw);
            columns(now, 4, second, bx, by, bz, bw);
            const V dx = ax - bx, dy = ay - by, dz = az - bz;
            unsigned close = bits(dx * dx + dy * dy + dz * dz < V(limit)) & ((1u << number) - 1);
            for (; close; close &= close - 1) {
                const int s = __builtin_ctz(close);
                one[found] = first[s];
                two[found] = second[s];
                if (++found == 16) { examine(one, two, 16); found = 0; }
            }
        };
        const auto examine_all = [&]() {
            each_sixteen(T(0), sift);
            if (found) { padded(one, two, found); examine(one, two, found); found = 0; }
        };
        examine_all();
        parting = true;
        if (touched == 0) continue;
#if RIGID
        // Each contact has its part of the whole body.
        T* const crowds = moves;
        for (int b = 0; b < table.crowd_count; ++b) crowds[b] = T(0);
        for (int k = 0; k < count; ++k)
            if (table.owner.data[k] >= 0) crowds[table.owner.data[k]] += valence[k];
        for (int k = 0; k < count; ++k) {
            const int b = table.owner.data[k];
            eases[k] = b < 0 ? T(1) : table.leverage.data[k] * wp::max(crowds[b] * T(1.0 / RELAXATION), T(1));
        }
#endif
        for (int n = 0; n < 3 * count * (1 + SURFACES); ++n) moves[n] = T(0);  // and shifts
        if (touched > touching_room) examine_all();
        else
            for (int begin = 0; begin < touched; begin += 16) {
                const int number = wp::min(16, touched - begin);
                for (int s = 0; s < number; ++s) { one[s] = firsts[begin + s]; two[s] = seconds[begin + s]; }
                padded(one, two, number);
                examine(one, two, number);
            }
        T most = T(0);
        for (int k = 0; k < count; ++k) {
            if (valence[k] == T(0)) continue;
            for (int a = 0; a < 3; ++a) x[(ROW * members[k] + a) * LANES + lane_] = now[4 * k + a] + moves[3 * k + a];
#if SURFACES
            for (int a = 0; a < 3; ++a) previous[(ROW * members[k] + a) * LANES + lane_] += shifts[3 * k + a];
#endif
            most = wp::max(most, valence[k]);
        }
        int& overflow = lists.overflow.data[group * LANES + lane_];
        overflow = wp::max(overflow, (int)most - table.capacity);
    }
"""
"""Statements that part all members that touch, environment after environment."""
