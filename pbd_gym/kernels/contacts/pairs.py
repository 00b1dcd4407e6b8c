"""Contacts on one thread: C++ that :mod:`pbd_gym.kernels.contacts.particles` includes.

Pairs that are near enough are collected until there are sixteen, and looked at; those that touch are kept. When the
contacts of all members of the environment are counted, these are parted, in the same order, as often as is asked for.
"""

IN_PAIRS = """
    T* const valence = boxes + 6 * boxed;
    T* const moves = valence + count;
#if PASSES > 1
    T* const moved = moves + 4 * count;  // where members are after the first pass
#else
    T* const moved = moves;
#endif
#if RIGID
    T* const crowd_of = moved + 4 * count;
    for (int k = 0; k < count; ++k) crowd_of[k] = T(1);
#endif
    int* const firsts = lists.touching.data + rank * 2 * lists.touching.shape[2];
    int* const seconds = firsts + lists.touching.shape[2];
    const int touching_room = lists.touching.shape[2];
    for (lane_ = 0; lane_ < LANES; ++lane_) {
        const T* const now = rows + stride * lane_;
        for (int k = 0; k < count; ++k) valence[k] = T(0);
        const bool anew = worn[lane_] > T(0) || *length_of() < 0;
        if (anew || *length_of() > 0) place();
        if (anew) make_list();
        const int length = *length_of();
        const auto fill = [&](Member& m, const int* at) {
            V all[NUMBERS];
            numbers(now, at, all);
            m.x = all[0]; m.y = all[1]; m.z = all[2]; m.w = all[3];
            m.px = all[4]; m.py = all[5]; m.pz = all[6]; m.flat = all[7];
            m.nx = all[8]; m.ny = all[9]; m.nz = all[10];
            m.radius = all[12]; m.extent = all[13]; m.friction = all[14]; m.role = all[15];
#if RIGID
            for (int s = 0; s < 16; ++s) {
                m.leverage[s] = table.leverage.data[at[s]];
                m.crowd[s] = crowd_of[at[s]];
            }
#endif
        };
        constexpr int SIFTED = 64;
        int one[16 * SIFTED + 32], two[16 * SIFTED + 32], found = 0, touched = 0;
        int pass = 0;  // counts contacts; those that follow part them
        // Which of sixteen pairs touch, a bit for each.
        const auto touching = [&](const int* from, const int* other) {
            Member a, b;
            fill(a, from);
            fill(b, other);
            return bits(touch(a, b).inside > V(T(0)));
        };
        // Count the contacts of those that touch, and keep as many as there is room for.
        const auto keep = [&](const int* from, const int* other, unsigned hits) {
            for (; hits; hits &= hits - 1) {
                const int s = __builtin_ctz(hits), k = from[s], l = other[s];
                valence[k] += T(1);
                valence[l] += T(1);
                if (touched < touching_room) { firsts[touched] = k; seconds[touched] = l; }
                ++touched;
            }
        };
        const auto separate = [&](const int* from, const int* other, int number) {
            Member a, b;
            fill(a, from);
            fill(b, other);
            Touch t;
            unsigned hits = (1u << number) - 1;
            // Pairs that have been kept are known to have touched at first.
            if (pass < 2 || touched > touching_room) {
                t = touch(a, b);
                hits &= bits(t.inside > V(T(0)));
            }
            V gained = V(T(0));
            if (pass > 1) {
                const V ax = a.x, ay = a.y, az = a.z, bx = b.x, by = b.y, bz = b.z;
                columns(moved, 4, from, a.x, a.y, a.z, a.w);
                columns(moved, 4, other, b.x, b.y, b.z, b.w);
                t = touch(a, b);
                const V gx = (a.x - ax) - (b.x - bx), gy = (a.y - ay) - (b.y - by), gz = (a.z - az) - (b.z - bz);
                gained = gx * t.nx + gy * t.ny + gz * t.nz;
            }
            V mine, its, mx, my, mz;
            for (int s = 0; s < 16; ++s) {
                mine[s] = valence[from[s]];
                its[s] = valence[other[s]];
            }
            part(a, b, t, mine, its, gained, mx, my, mz);
            // Rows of numbers that belong to one pair. What moves a member is summed in the order of pairs.
            const auto in_rows = [&](V* q, V qx, V qy, V qz) {
                q[0] = qx; q[1] = qy; q[2] = qz; q[3] = V(T(0));
                transpose(q);
            };
            const auto row = [](const V* q, int s) { return ((const Row*)(q + s % 4))[s / 4]; };
            V p[4], q[4];
            in_rows(p, a.w * mx, a.w * my, a.w * mz);
            in_rows(q, -b.w * mx, -b.w * my, -b.w * mz);
            for (; hits; hits &= hits - 1) {
                const int s = __builtin_ctz(hits);
                *(Row*)(moves + 4 * from[s]) += row(p, s);
                *(Row*)(moves + 4 * other[s]) += row(q, s);
            }
        };
        const auto padded = [&](int* from, int* other, int number) {
            for (int s = number; s < 16; ++s) { from[s] = from[0]; other[s] = other[0]; }
        };
        // Sixteens of others are sifted first, and then those with a hit are unfolded. Which of them have one, and how
        // many, nobody could predict: so there is no branch on that, unless more than four are hit.
        const auto unfold = [&](int k, int d, unsigned hits) {
            const int number = __builtin_popcount(hits);
            for (int s = 0; s < 4; ++s, hits &= hits - 1) {
                one[found + s] = k;
                two[found + s] = 16 * d + __builtin_ctz(hits | 0x10000u);
            }
            for (int s = 4; s < number; ++s, hits &= hits - 1) {
                one[found + s] = k;
                two[found + s] = 16 * d + __builtin_ctz(hits);
            }
            found += number;
        };
        const auto examine_found = [&](bool all) {
            const int whole = found / 16, rest = found % 16, begin = 16 * whole;
            const bool more = all && rest > 0;
            if (more) padded(one + begin, two + begin, rest);
            if (pass > 0) {
                for (int at = 0; at < begin; at += 16) separate(one + at, two + at, 16);
                if (more) separate(one + begin, two + begin, rest);
            } else {
                // First all that touch, and then the branches on it: until such a branch is known to be taken or not,
                // work on the next sixteen may be in vain.
                unsigned hits[SIFTED + 2];
                for (int n = 0; n < whole + more; ++n) hits[n] = touching(one + 16 * n, two + 16 * n);
                if (more) hits[whole] &= (1u << rest) - 1;
                for (int n = 0; n < whole + more; ++n) keep(one + 16 * n, two + 16 * n, hits[n]);
            }
            found = all ? 0 : rest;
            for (int s = 0; s < found; ++s) { one[s] = one[begin + s]; two[s] = two[begin + s]; }
        };
        const auto examine_all = [&]() {
            const int* const list = list_of();
            for (int begin = 0; begin < length; begin += SIFTED) {
                int kept[2 * SIFTED], number = 0;
                for (int n = begin; n < wp::min(length, begin + SIFTED); ++n) {
                    const int k = list[2 * n], others = list[2 * n + 1], d = (unsigned)others >> 16;
                    const unsigned hits = closer(k, d, widest) & others;
                    kept[2 * number] = k;
                    kept[2 * number + 1] = (unsigned)d << 16 | hits;
                    number += hits != 0;
                }
                for (int n = 0; n < number; ++n) {
                    const unsigned others = kept[2 * n + 1];
                    unfold(kept[2 * n], others >> 16, others & 0xFFFFu);
                }
                examine_found(false);
            }
            if (length < 0)
                scan(T(0), [&](int k, int d, unsigned hits) {
                    unfold(k, d, hits);
                    examine_found(false);
                });
            examine_found(true);
        };
        examine_all();
        if (touched == 0) continue;
#if RIGID
        // Each contact has its part of the whole body.
        T* const crowds = moves;
        for (int b = 0; b < table.crowd_count; ++b) crowds[b] = T(0);
        for (int k = 0; k < count; ++k)
            if (table.owner.data[k] >= 0) crowds[table.owner.data[k]] += valence[k];
        for (int k = 0; k < count; ++k)
            crowd_of[k] = table.owner.data[k] < 0 ? T(1) : crowds[table.owner.data[k]];
#endif
        for (pass = 1; pass <= PASSES; ++pass) {
            if (pass > 1)
                for (int k = 0; k < count; ++k)
                    *(Row*)(moved + 4 * k) = *(const Row*)(now + NUMBERS * k) + *(const Row*)(moves + 4 * k);
#if RIGID && PASSES > 1
            // Members of rigid bodies go with these, and keep what displaces them.
            if (pass > 1)
                for (int b = 0; b < table.crowd_count; ++b)
                    carry(b, [&](int k, int a) { return moves[4 * k + a]; });
            for (int k = 0; k < count; ++k) {
                const bool rigid_member = table.owner.data[k] >= 0;
                if (pass > 1 && rigid_member) {
                    const T* const at = now + NUMBERS * k;
                    carried(k, at[0], at[1], at[2], moved + 4 * k);
                    for (int a = 0; a < 3; ++a) moved[4 * k + a] = at[a] + (at[3] > T(0) ? moved[4 * k + a] : T(0));
                }
                if (pass == 1 || !rigid_member)
                    for (int a = 0; a < 4; ++a) moves[4 * k + a] = T(0);
            }
#else
            for (int n = 0; n < 4 * count; ++n) moves[n] = T(0);
#endif
            if (touched > touching_room) examine_all();
            else
                for (int begin = 0; begin < touched; begin += 16) {
                    const int number = wp::min(16, touched - begin);
                    for (int s = 0; s < number; ++s) { one[s] = firsts[begin + s]; two[s] = seconds[begin + s]; }
                    padded(one, two, number);
                    separate(one, two, number);
                }
        }
        T most = T(0);
        for (int k = 0; k < count; ++k) {
            if (valence[k] == T(0)) continue;
            const bool twice = PASSES > 1 && !(RIGID && table.owner.data[k] >= 0);
            const T* const place = twice ? moved + 4 * k : now + NUMBERS * k;
            for (int a = 0; a < 3; ++a)
                x[(ROW * members[k] + a) * LANES + lane_] = place[a] + moves[4 * k + a];
            most = wp::max(most, valence[k]);
        }
        int& overflow = lists.overflow.data[group * LANES + lane_];
        overflow = wp::max(overflow, (int)most - table.capacity);
    }
"""
"""Statements that part all members that touch, environment after environment."""
