"""Which members may touch, where one thread serves a group: C++ that contacts and piercings include.

Each environment of the group has a list of its own, of all pairs whose *anchors*, where they were when it was made, are
near each other: for a member and sixteen others, a bit for each that it may touch. It lasts until a member has moved by
half a *skin*, relative to the middle of what all have moved: what falls or is carried as a whole has not moved. Members
are compared sixteen at a time, when the list is made and whenever it is read. Those with neighbouring numbers lie close
together, so that most sixteens are farther apart than members reach, which their boxes tell. A list for which there is
no room is not kept: pairs are found anew whenever they are asked for.

Members of one environment are rows of sixteen numbers side by side, one line of the cache each in single precision.
Pairs are worked on sixteen at a time as well, whatever the number of lanes: their rows are transposed in registers.
"""

from pbd_gym.kernels.lanes.batches import transposing
from pbd_gym.kernels.lanes.wide import Wide

CHUNK = 16
"""Members that are compared at a time, and pairs that are worked on."""
NUMBERS = 16
"""Numbers of a member: position and inverse mass, position at the start of the substep and flatness, normal and one
that is free, and its traits."""
LISTED = 8
"""Sixteens of others that it may touch for which the list of an environment has room, for each member."""
TOUCHING = 8
"""Pairs that touch for which there is room, likewise."""

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
    constexpr int NUMBERS = {NUMBERS};
    typedef T Row __attribute__((ext_vector_type(4), aligned(sizeof(T))));
    // Environments a line of the cache farther apart than their rows are long: else all of them want the same places.
    const size_t stride = NUMBERS * count + 16;
    T* const rows = lists.rows.data + rank * lists.rows.shape[1];
"""

# Vectors of four rows each, r, r + 4, r + 8 and r + 12 in the r-th, are turned into four columns, or back.
_TRANSPOSE = transposing(
    CHUNK,
    """
    const auto transpose = [](V* q) {
        const V ab = LOWER(q[0], q[1]), ab_ = LOWER(q[2], q[3]), cd = UPPER(q[0], q[1]), cd_ = UPPER(q[2], q[3]);
        q[0] = FIRSTS(ab, ab_); q[1] = LASTS(ab, ab_); q[2] = FIRSTS(cd, cd_); q[3] = LASTS(cd, cd_);
    };
""",
)

# Four numbers of each environment into its row: sixteen lanes in registers, fewer one by one.
_PUT_SIXTEEN = (
    _TRANSPOSE
    + """
    const auto put = [&](T* to, V a, V b, V c, V d) {
        V q[4] = {a, b, c, d};
        transpose(q);
        for (int r = 0; r < 4; ++r) {
#define QUARTER(j) *(Row*)(to + stride * (4 * j + r)) = \\
        __builtin_shufflevector(q[r], q[r], 4 * j, 4 * j + 1, 4 * j + 2, 4 * j + 3);
            QUARTER(0) QUARTER(1) QUARTER(2) QUARTER(3)
#undef QUARTER
        }
    };
"""
)
_PUT = """
    const auto put = [&](T* to, V a, V b, V c, V d) {
        T q[4 * LANES];
        STORE(q, a); STORE(q + LANES, b); STORE(q + 2 * LANES, c); STORE(q + 3 * LANES, d);
        for (int n = 0; n < LANES; ++n)
            for (int r = 0; r < 4; ++r) to[n * stride + r] = q[r * LANES + n];
    };
"""


def put_code(wide: Wide) -> str:
    """Return the statements that define ``put``, on lanes."""
    return _PUT_SIXTEEN if wide.lanes == CHUNK else _PUT


# On lanes: rows of each member in each environment, and the environments whose lists are worn out.
ROWS = """
    EACH_LANE for (int k = 0; k < count; ++k) {
        T* const to = rows + NUMBERS * k;
        const T* const now = x + ROW * members[k] * LANES;
        const T* const before = previous + ROW * members[k] * LANES;
        const V mass = LOAD(w + members[k] * LANES);
#if SURFACES
        const T* const patch = patches + 4 * k * LANES;
        const V weight = WEIGHT_OF(mass, LOAD((const T*)body.traction.data + members[k] * LANES));
        const V flat = LOAD(patch + 3 * LANES);
        put(to + 8, LOAD(patch), LOAD(patch + LANES), LOAD(patch + 2 * LANES), V(T(0)));
#else
        const V weight = mass, flat = V(T(0));
#endif
        put(to, LOAD(now), LOAD(now + LANES), LOAD(now + 2 * LANES), weight);
        put(to + 4, LOAD(before), LOAD(before + LANES), LOAD(before + 2 * LANES), flat);
        const Row traits = *(const Row*)(table.traits.data + 4 * k);
        for (int n = 0; n < LANES; ++n) *(Row*)(to + n * stride + 12) = traits;
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

# On vectors of sixteen: `each_row` visits the members of environment `lane_`, each with sixteen others and a bit for
# each of these that it may touch. Those of the same two sixteens come together; each meets others in order of numbers.
PAIRS = (
    _TRANSPOSE
    + """
    typedef bool Flags __attribute__((ext_vector_type(16)));
    const auto bits = [](auto condition) {
        return (unsigned)__builtin_bit_cast(unsigned short, __builtin_convertvector(condition, Flags));
    };
    // Four numbers in each of sixteen rows, as a vector for each column.
    const auto columns = [&](const T* from, int stride, const int* at, V& a, V& b, V& c, V& d) {
        V q[4];
        for (int r = 0; r < 4; ++r) {
            const Row r0 = *(const Row*)(from + stride * at[r]), r1 = *(const Row*)(from + stride * at[4 + r]);
            const Row r2 = *(const Row*)(from + stride * at[8 + r]), r3 = *(const Row*)(from + stride * at[12 + r]);
            const auto low = __builtin_shufflevector(r0, r1, 0, 1, 2, 3, 4, 5, 6, 7);
            const auto high = __builtin_shufflevector(r2, r3, 0, 1, 2, 3, 4, 5, 6, 7);
            q[r] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        }
        transpose(q);
        a = q[0]; b = q[1]; c = q[2]; d = q[3];
    };
    // All numbers of sixteen rows, a vector for each of them.
    const auto numbers = [&](const T* from, const int* at, V* out) {
        for (int g = 0; g < 4; ++g) {  // four rows: fours of them stand in their quarters
            V q[4];
            for (int r = 0; r < 4; ++r) q[r] = LOAD(from + NUMBERS * at[4 * g + r]);
            transpose(q);
            for (int r = 0; r < 4; ++r) out[4 * g + r] = q[r];
        }
#define LOWER(u, v) __builtin_shufflevector(u, v, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23)
#define UPPER(u, v) __builtin_shufflevector(u, v, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31)
#define FIRSTS(u, v) __builtin_shufflevector(u, v, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)
#define LASTS(u, v) __builtin_shufflevector(u, v, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31)
        for (int r = 0; r < 4; ++r) {
            const V ab = LOWER(out[r], out[4 + r]), cd = LOWER(out[8 + r], out[12 + r]);
            const V ab_ = UPPER(out[r], out[4 + r]), cd_ = UPPER(out[8 + r], out[12 + r]);
            out[r] = FIRSTS(ab, cd); out[4 + r] = LASTS(ab, cd);
            out[8 + r] = FIRSTS(ab_, cd_); out[12 + r] = LASTS(ab_, cd_);
        }
#undef LOWER
#undef UPPER
#undef FIRSTS
#undef LASTS
    };
    const int boxed = 16 * ((chunks + 15) / 16);
    T* const xs = lists.spots.data + rank * lists.spots.shape[1];
    T* const boxes = xs + 48 * chunks;
    const T* const ys = xs + 16 * chunks;
    const T* const zs = ys + 16 * chunks;
    const int room = lists.near.shape[2] / 2;
    int lane_ = 0;
    const auto list_of = [&]() { return lists.near.data + (rank * LANES + lane_) * 2 * room; };
    const auto length_of = [&]() { return lists.counts.data + rank * LANES + lane_; };
    // Where the members are, in the sizes of the scene. The last sixteen are filled up with the last one.
    const auto place = [&]() {
        for (int k = 0; k < 16 * chunks; k += 16) {
            int at[16];
            for (int s = 0; s < 16; ++s) at[s] = wp::min(k + s, count - 1);
            V px, py, pz, rest;
            columns(rows + stride * lane_, NUMBERS, at, px, py, pz, rest);
            STORE(xs + k, px * INV_SIZE);
            STORE(xs + 16 * chunks + k, py * INV_SIZE);
            STORE(xs + 32 * chunks + k, pz * INV_SIZE);
        }
    };
    const unsigned rest = 0xFFFFu >> (16 * chunks - count);
    const auto real = [&](int c) { return c == chunks - 1 ? rest : 0xFFFFu; };
    // Which of the sixteen `d` are no farther from a member than that, a bit for each.
    const auto closer = [&](int k, int d, T reach) {
        const V dx = LOAD(xs + 16 * d) - V(xs[k]), dy = LOAD(ys + 16 * d) - V(ys[k]), dz = LOAD(zs + 16 * d) - V(zs[k]);
        return bits(dx * dx + dy * dy + dz * dz < V(reach * reach));
    };
    // What is left of these bits where members reach differently far, or where no table says which can collide.
    const auto chosen = [&](int k, int d, unsigned hits, T skin) {
        unsigned left = 0;
        for (; hits; hits &= hits - 1) {
            const int s = __builtin_ctz(hits), other = 16 * d + s;
            const T ex = xs[k] - xs[other], ey = ys[k] - ys[other], ez = zs[k] - zs[other];
            const bool in_reach = ex * ex + ey * ey + ez * ez < limit_of(k, other, skin);
            left |= (in_reach && (has_masks || strangers(k, other)) ? 1u : 0u) << s;
        }
        return left;
    };
    // Which of sixteen boxes, from that one on, are no farther from box `c`, and do not come before it.
    const auto beside = [&](int c, int first, T reach) {
        unsigned apart = 0;
        for (int a = 0; a < 3; ++a) {
            const T* const low = boxes + a * boxed;
            const T* const high = low + 3 * boxed;
            apart |= bits((LOAD(low + first) > V(high[c] + reach)) | (V(low[c]) > LOAD(high + first) + reach));
        }
        const unsigned later = first < c ? 0xFFFFu << (c - first) : 0xFFFFu;
        return ~apart & later & 0xFFFFu >> wp::max(0, first + 16 - chunks);
    };
    // Visit the pairs whose members are no farther apart than they reach, and a skin.
    const auto scan = [&](T skin, auto&& visit) {
        for (int c = 0; c < chunks; ++c)
            for (int a = 0; a < 3; ++a) {
                const V p = LOAD(xs + 16 * (a * chunks + c));
                boxes[a * boxed + c] = __builtin_reduce_min(p);
                boxes[(3 + a) * boxed + c] = __builtin_reduce_max(p);
            }
        const T reach = widest + skin;
        const unsigned short* const allowed = table.strangers.data;
        for (int c = 0; c < chunks; ++c) {
            const V mx = LOAD(xs + 16 * c), my = LOAD(ys + 16 * c), mz = LOAD(zs + 16 * c);
            for (int first = c / 16 * 16; first < chunks; first += 16) {
                for (unsigned left = beside(c, first, reach); left; left &= left - 1) {
                    const int d = first + __builtin_ctz(left);
                    const T* const its = boxes + d;
                    // Those of these sixteen that are near the box of the others, and which of them each may touch.
                    const V lx = V(its[0]) - mx, ly = V(its[boxed]) - my, lz = V(its[2 * boxed]) - mz;
                    const V hx = mx - V(its[3 * boxed]), hy = my - V(its[4 * boxed]), hz = mz - V(its[5 * boxed]);
                    const V ex = FLOOR(lx > hx ? lx : hx, 0), ey = FLOOR(ly > hy ? ly : hy, 0);
                    const V ez = FLOOR(lz > hz ? lz : hz, 0);
                    unsigned flags = bits(ex * ex + ey * ey + ez * ez < V(reach * reach)) & real(c);
                    for (; flags; flags &= flags - 1) {
                        const int s = __builtin_ctz(flags), k = 16 * c + s;
                        unsigned hits = closer(k, d, reach);
                        hits &= has_masks ? allowed[k * chunks + d] : real(d);
                        hits &= d == c ? 0xFFFEu << s : 0xFFFFu;
                        if (!has_masks || !table.alike) hits = chosen(k, d, hits, skin);
                        visit(k, d, hits);
                    }
                }
            }
        }
    };
    // Visit what is listed, or would be if there were room.
    const auto each_row = [&](auto&& visit) {
        const int length = *length_of();
        const int* const list = list_of();
        for (int n = 0; n < length; ++n) visit(list[2 * n], (unsigned)list[2 * n + 1] >> 16, list[2 * n + 1] & 0xFFFF);
        if (length >= 0) return;
        place();
        scan(table.skin, visit);
    };
"""
)

# For environment `lane_`: a list of the pairs that may touch until it is worn out.
LIST = """
    const auto make_list = [&]() {
        int* const list = list_of();
        int length = 0;
        scan(table.skin, [&](int k, int d, unsigned hits) {
            int* const to = list + 2 * wp::min(length, room - 1);
            to[0] = k;
            to[1] = (unsigned)d << 16 | hits;
            length += hits != 0;
        });
        *length_of() = length < room ? length : -1;
        for (int k = 0; k < count; ++k) {
            anchors[3 * k * LANES + lane_] = xs[k];
            anchors[(3 * k + 1) * LANES + lane_] = ys[k];
            anchors[(3 * k + 2) * LANES + lane_] = zs[k];
        }
    };
"""
