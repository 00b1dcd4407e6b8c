"""Which members may touch, where one thread serves a group: C++ that contacts and piercings include.

Each environment of the group has a list of its own: all pairs whose *anchors*, where they were when it was made, are
near each other. It lasts until a member has moved by half a *skin*, relative to the middle of what all have moved: what
falls or is carried as a whole has not moved. Members are compared sixteen at a time. Those with neighbouring numbers
lie close together, so that most sixteens are farther apart than members reach, which their boxes tell. A list that has
no room for all pairs is not kept: they are found anew whenever they are asked for.

Members of one environment are rows of numbers side by side. Pairs are worked on sixteen at a time as well, whatever the
number of lanes: their rows are read four numbers at a time, and transposed in registers.
"""

CHUNK = 16
"""Members that are compared at a time, and pairs that are worked on."""
COLUMNS = 8
"""Numbers of a member beside its position and its inverse mass: position at the start of the substep, flatness, normal,
and one that is free."""
LISTED_PAIRS = 16
"""Pairs that may touch for which the list of an environment has room, for each member."""
TOUCHING_PAIRS = 8
"""Pairs that do touch for which there is room, likewise."""

KIN = """
    // Whether two members can collide at all: not if they are neighbours in one body.
    const int chunks = (count + 15) / 16;
    const bool has_masks = table.strangers.shape[0] > 0;
    const auto strangers = [&](int k, int other) {
        if (has_masks) return (table.strangers.data[k * chunks + other / 16] >> other % 16 & 1) != 0;
        for (int n = table.kin_start.data[k]; n < table.kin_start.data[k + 1]; ++n)
            if (table.kin.data[n] == other) return false;
        return true;
    };
    // Anchors of members that may touch are no farther apart, squared.
    // A little more than the widest range, for the sake of rounding.
    const T widest = T(1.0005) * (table.cell - table.skin);
    const auto limit_of = [&](int k, int other, T skin) {
        const T range = wp::min(table.halo.data[k] + table.halo.data[other], widest) + skin;
        return range * range;
    };
"""

LONE_NAMES = f"""
    constexpr int COLUMNS = {COLUMNS};
    // Environments a line of the cache farther apart than their rows are long: else all of them want the same places.
    const size_t stride = (4 + COLUMNS) * count + 16;
    T* const rows = lists.rows.data + rank * lists.rows.shape[1];
"""

# On lanes: rows of each member in each environment, and the environments whose lists are worn out.
ROWS = """
    for (int k = 0; k < count; ++k) {
        const int i = members[k];
        const auto spread = [&](const T* from, T* to) {
            for (int n = 0; n < LANES; ++n) to[n * stride] = from[n];
        };
        T* const now = rows + 4 * k;
        T* const other = rows + 4 * count + COLUMNS * k;
        for (int a = 0; a < 3; ++a) {
            spread(x + (ROW * i + a) * LANES, now + a);
            spread(previous + (ROW * i + a) * LANES, other + a);
        }
        spread(w + i * LANES, now + 3);
#if SURFACES
        spread(patches + (4 * k + 3) * LANES, other + 3);
        for (int a = 0; a < 3; ++a) spread(patches + (4 * k + a) * LANES, other + 4 + a);
#endif
    }
    T worn[LANES];
    EACH_LANE {
        const V shrink = INV_SIZES * V(T(1));
        V lx = V(T(1e30)), ly = lx, lz = lx, hx = -lx, hy = hx, hz = hx;
        const auto moved = [&](int k, V& dx, V& dy, V& dz) {
            const T* const p = x + ROW * members[k] * LANES;
            const T* const q = anchors + 3 * k * LANES;
            dx = shrink * LOAD(p) - LOAD(q);
            dy = shrink * LOAD(p + LANES) - LOAD(q + LANES);
            dz = shrink * LOAD(p + 2 * LANES) - LOAD(q + 2 * LANES);
        };
        for (int k = 0; k < count; ++k) {
            V dx, dy, dz;
            moved(k, dx, dy, dz);
            lx = dx < lx ? dx : lx; ly = dy < ly ? dy : ly; lz = dz < lz ? dz : lz;
            hx = dx > hx ? dx : hx; hy = dy > hy ? dy : hy; hz = dz > hz ? dz : hz;
        }
        const V mx = T(0.5) * (lx + hx), my = T(0.5) * (ly + hy), mz = T(0.5) * (lz + hz);
        const V limit = V(T(0.25) * table.skin * table.skin);
        V flag = V(T(0));
        for (int k = 0; k < count; ++k) {
            V dx, dy, dz;
            moved(k, dx, dy, dz);
            dx -= mx; dy -= my; dz -= mz;
            flag = dx * dx + dy * dy + dz * dz <= limit ? flag : V(T(1));  // a NaN has moved
        }
        STORE(worn, flag);
    }
"""

# On vectors of sixteen: `each_sixteen` visits the pairs of environment `lane_` that may touch. Pairs of the same two
# sixteens come together; each member meets its others in the order of their numbers.
PAIRS = """
    typedef T Row __attribute__((ext_vector_type(4), aligned(sizeof(T))));
    typedef bool Flags __attribute__((ext_vector_type(16)));
    const auto bits = [](auto condition) {
        return (unsigned)__builtin_bit_cast(unsigned short, __builtin_convertvector(condition, Flags));
    };
    // Four numbers in each of sixteen rows, as a vector for each column.
    const auto columns = [](const T* from, int stride, const int* at, V& a, V& b, V& c, V& d) {
        V q[4];
        for (int r = 0; r < 4; ++r) {
            const Row r0 = *(const Row*)(from + stride * at[r]), r1 = *(const Row*)(from + stride * at[4 + r]);
            const Row r2 = *(const Row*)(from + stride * at[8 + r]), r3 = *(const Row*)(from + stride * at[12 + r]);
            const auto low = __builtin_shufflevector(r0, r1, 0, 1, 2, 3, 4, 5, 6, 7);
            const auto high = __builtin_shufflevector(r2, r3, 0, 1, 2, 3, 4, 5, 6, 7);
            q[r] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        }
#define EVEN(u, v) __builtin_shufflevector(u, v, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define ODD(u, v) __builtin_shufflevector(u, v, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define FIRSTS(u, v) __builtin_shufflevector(u, v, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define LASTS(u, v) __builtin_shufflevector(u, v, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
        const V ab = EVEN(q[0], q[1]), ab_ = EVEN(q[2], q[3]), cd = ODD(q[0], q[1]), cd_ = ODD(q[2], q[3]);
        a = FIRSTS(ab, ab_); b = LASTS(ab, ab_); c = FIRSTS(cd, cd_); d = LASTS(cd, cd_);
#undef EVEN
#undef ODD
#undef FIRSTS
#undef LASTS
    };
    T* const xs = lists.spots.data + rank * lists.spots.shape[1];
    T* const ys = xs + 16 * chunks;
    T* const zs = ys + 16 * chunks;
    T* const boxes = zs + 16 * chunks;
    const int room = lists.near.shape[2] / 2;
    int lane_ = 0;
    // Visit the pairs whose members are no farther apart than they reach, and a skin.
    const auto scan = [&](T skin, auto&& visit) {
        const T* const now = rows + stride * lane_;
        for (int k = 0; k < 16 * chunks; ++k) {
            const T* const p = now + 4 * wp::min(k, count - 1);  // the last sixteen are filled up with the last one
            xs[k] = INV_SIZE * p[0];
            ys[k] = INV_SIZE * p[1];
            zs[k] = INV_SIZE * p[2];
        }
        for (int c = 0; c < chunks; ++c)
            for (int a = 0; a < 3; ++a) {
                const V p = LOAD(xs + 16 * (a * chunks + c));
                boxes[6 * c + a] = __builtin_reduce_min(p);
                boxes[6 * c + 3 + a] = __builtin_reduce_max(p);
            }
        const unsigned rest = 0xFFFFu >> (16 * chunks - count);
        const auto real = [&](int c) { return c == chunks - 1 ? rest : 0xFFFFu; };
        const T reach = widest + skin;
        const unsigned short* const allowed = table.strangers.data;
        for (int c = 0; c < chunks; ++c) {
            const T* const box = boxes + 6 * c;
            const V mx = LOAD(xs + 16 * c), my = LOAD(ys + 16 * c), mz = LOAD(zs + 16 * c);
            for (int d = c; d < chunks; ++d) {
                const T* const its = boxes + 6 * d;
                bool apart = false;
                for (int a = 0; a < 3; ++a)
                    apart = apart | (its[a] > box[3 + a] + reach) | (box[a] > its[3 + a] + reach);
                if (apart) continue;
                // Those of these sixteen that are near the box of the others, and which of the others each may touch:
                // without a branch, which nobody could predict.
                const V lx = V(its[0]) - mx, ly = V(its[1]) - my, lz = V(its[2]) - mz;
                const V hx = mx - V(its[3]), hy = my - V(its[4]), hz = mz - V(its[5]);
                const V ex = FLOOR(lx > hx ? lx : hx, 0), ey = FLOOR(ly > hy ? ly : hy, 0);
                const V ez = FLOOR(lz > hz ? lz : hz, 0);
                unsigned flags = bits(ex * ex + ey * ey + ez * ez < V(reach * reach)) & real(c);
                const V ox = LOAD(xs + 16 * d), oy = LOAD(ys + 16 * d), oz = LOAD(zs + 16 * d);
                int near[16], number = 0;
                unsigned others[16];
                for (; flags; flags &= flags - 1) {
                    const int s = __builtin_ctz(flags), k = 16 * c + s;
                    const V dx = ox - V(xs[k]), dy = oy - V(ys[k]), dz = oz - V(zs[k]);
                    unsigned hits = bits(dx * dx + dy * dy + dz * dz < V(reach * reach));
                    hits &= has_masks ? allowed[k * chunks + d] : real(d);
                    hits &= d == c ? 0xFFFEu << s : 0xFFFFu;
                    near[number] = k;
                    others[number] = hits;
                    number += hits != 0;
                }
                for (int n = 0; n < number; ++n)
                    for (unsigned hits = others[n]; hits; hits &= hits - 1) {
                        const int k = near[n], other = 16 * d + __builtin_ctz(hits);
                        if (!has_masks && !strangers(k, other)) continue;
                        if (!table.alike) {
                            const T ex = xs[k] - xs[other], ey = ys[k] - ys[other], ez = zs[k] - zs[other];
                            if (!(ex * ex + ey * ey + ez * ez < limit_of(k, other, skin))) continue;
                        }
                        visit(k, other);
                    }
            }
        }
    };
    // Visit the pairs that may touch, up to sixteen at a time: first members, second members, and how many. All sixteen
    // can be read. A skin is for pairs that are found anew.
    const auto each_sixteen = [&](T skin, auto&& visit) {
        const int length = lists.counts.data[rank * LANES + lane_];
        const int* const firsts = lists.near.data + (rank * LANES + lane_) * 2 * room;
        const int* const seconds = firsts + room;
        for (int n = 0; n < length; n += 16) visit(firsts + n, seconds + n, wp::min(16, length - n));
        if (length >= 0) return;
        int first[16], second[16], number = 0;
        scan(skin, [&](int k, int other) {
            first[number] = k;
            second[number] = other;
            if (++number < 16) return;
            visit(first, second, 16);
            number = 0;
        });
        for (int s = number; s < 16; ++s) first[s] = second[s] = 0;
        if (number > 0) visit(first, second, number);
    };
"""

# For environment `lane_`: a list of the pairs that may touch until it is worn out.
LIST = """
    const auto make_list = [&]() {
        int* const firsts = lists.near.data + (rank * LANES + lane_) * 2 * room;
        int* const seconds = firsts + room;
        int length = 0;
        scan(table.skin, [&](int k, int other) {
            const int at = wp::min(length, room - 1);
            firsts[at] = k;
            seconds[at] = other;
            ++length;
        });
        lists.counts.data[rank * LANES + lane_] = length <= room ? length : -1;
        for (int k = 0; k < count; ++k) {
            anchors[3 * k * LANES + lane_] = xs[k];
            anchors[(3 * k + 1) * LANES + lane_] = ys[k];
            anchors[(3 * k + 2) * LANES + lane_] = zs[k];
        }
    };
"""
