// Search for pairs of members that may touch, where one thread serves a group.
//
// Each environment of the group has its own list of all pairs that were near each other when the list was made. Anchors
// are the positions of members at that time. An entry holds a member, a group of sixteen others, and a bit for each of
// these that it may touch. The list is valid until a member has moved by half a skin relative to the middle of all
// displacements, so that falling or being carried as a whole does not count. Members are compared sixteen at a time,
// both when the list is made and when it is read. Members with neighbouring numbers lie close together, so that
// bounding boxes reject most pairs of sixteens. A list that overflows is discarded, and pairs are searched each time
// they are needed.
//
// Members of an environment are rows of sixteen numbers, one cache line each in single precision. Pairs are processed
// sixteen at a time too, whatever the number of lanes: their rows are transposed in registers.
#pragma once
#include "active_pairs.h"
#include "contact_response.h"
#include "transpose.h"

#if !PBD_BLOCK
namespace pbd {

typedef bool SixteenFlags __attribute__((ext_vector_type(16)));

// A bit for each of sixteen conditions.
template <class M> PBD_INLINE unsigned bits(M condition) {
    return (unsigned)__builtin_bit_cast(unsigned short, __builtin_convertvector(condition, SixteenFlags));
}

template <class Group> struct PairSearch : Group {
    using L = typename Group::L;
    using Options = typename Group::Options;
    using T = typename L::T;
    using V = typename L::V;                 // one number per environment
    using Pairs = Lanes<T, Options::CHUNK>;  // numbers of sixteen members or pairs of one environment
    using W = typename Pairs::V;             // a vector of these
    using Row = typename Register<T, 4>::type;
    static constexpr int LANES = Group::LANES, ROW = Group::ROW;
    // Row: position, inverse mass; previous position, flatness; normal, unused; traits.
    static constexpr int NUMBERS = Options::NUMBERS;
    using Group::anchors;
    using Group::chunks;
    using Group::count;
    using Group::environment;
    using Group::has_masks;
    using Group::lists;
    using Group::members;
    using Group::rank;
    using Group::table;
    using Group::widest;

    // Distance between environments: one cache line more than the length of their rows, so that they do not compete for
    // the same cache sets.
    const size_t stride;
    T* const rows;
    const int boxed;  // number of boxes, padded to a multiple of sixteen
    // Positions of an environment's members at the scale of the scene, and boxes around each sixteen.
    T* const xs;
    const T* const ys;
    const T* const zs;
    T* const lows;  // corners of the boxes that hold the paths of members
    T* const highs;
    T* const ways;  // predicted displacements along these paths
    T* const boxes;
    const int room;       // entries in the list of an environment
    const unsigned rest;  // bits of the members that exist in the last sixteen

    template <class Model, class Body, class Lists>
    PBD_INLINE PairSearch(const Model& model, const Body& body, const Lists& lists, int group)
        : Group(model, body, lists, group),
          stride(NUMBERS * count + 16),
          rows(lists.rows.data + rank * lists.rows.shape[1]),
          boxed(16 * ((chunks + 15) / 16)),
          xs(lists.spots.data + rank * lists.spots.shape[1]),
          ys(xs + 16 * chunks),
          zs(xs + 32 * chunks),
          lows(xs + 48 * chunks),
          highs(xs + 96 * chunks),
          ways(xs + 144 * chunks),
          boxes(xs + 192 * chunks),
          room(lists.near.shape[2] / 2),
          rest(0xFFFFu >> (16 * chunks - count)) {}

    PBD_INLINE int* list_of() const { return lists.near.data + (rank * LANES + environment) * 2 * room; }
    // Length of the list, -1 if it overflowed.
    PBD_INLINE int* length_of() const {
        return lists.counts.data + (rank * LANES + environment) * lists.counts.shape[2];
    }

    // Position of a member in the current environment, and the normal of its patch.
    PBD_INLINE wp::vec_t<3, T> at(int k) const {
        const T* const p = rows + stride * environment + NUMBERS * k;
        return {p[0], p[1], p[2]};
    }
    PBD_INLINE wp::vec_t<3, T> facing(int k) const {
        const T* const n = rows + stride * environment + NUMBERS * k + 8;
        return {n[0], n[1], n[2]};
    }

    // Write four numbers of each environment into its row: sixteen lanes in registers, fewer one by one.
    PBD_INLINE void put(T* to, V a, V b, V c, V d) const {
        if constexpr (LANES == 16) {
            transpose<L>(a, b, c, d);
            put_rows(to, a);
            put_rows(to + stride, b);
            put_rows(to + 2 * stride, c);
            put_rows(to + 3 * stride, d);
        } else {
            T q[4 * LANES];
            L::store(q, 0, a);
            L::store(q + LANES, 0, b);
            L::store(q + 2 * LANES, 0, c);
            L::store(q + 3 * LANES, 0, d);
            for (int n = 0; n < LANES; ++n)
                for (int r = 0; r < 4; ++r) to[n * stride + r] = q[r * LANES + n];
        }
    }
    PBD_INLINE void put_rows(T* to, V q) const {
        *(Row*)to = four_of<0>(q);
        *(Row*)(to + stride * 4) = four_of<4>(q);
        *(Row*)(to + stride * 8) = four_of<8>(q);
        *(Row*)(to + stride * 12) = four_of<12>(q);
    }

    // Fill the rows of all members in each environment.
    //
    // traits: whether to fill the traits too, which do not change.
    PBD_APART void fill_rows(bool traits) const {
        for (int k = 0; k < count; ++k) {
            T* const to = rows + NUMBERS * k;
            const T* const now = Group::place_of(k);
            const T* const before = Group::start_of(k);
            V weight = L::load(Group::w + members[k] * LANES, 0), flat = V(T(0));
            if constexpr (Options::SURFACES) {
                const T* const patch = Group::patches + 4 * k * LANES;
                const T* const traction = (const T*)Group::body.traction.data + members[k] * LANES;
                weight = weight_of<L>(weight, L::load(traction, 0));
                flat = L::load(patch + 3 * LANES, 0);
                put(to + 8, L::load(patch, 0), L::load(patch + LANES, 0), L::load(patch + 2 * LANES, 0), V(T(0)));
            }
            put(to, L::load(now, 0), L::load(now + LANES, 0), L::load(now + 2 * LANES, 0), weight);
            put(to + 4, L::load(before, 0), L::load(before + LANES, 0), L::load(before + 2 * LANES, 0), flat);
            if (!traits) continue;
            const Row given = *(const Row*)(table.traits.data + 4 * k);
            for (int n = 0; n < LANES; ++n) *(Row*)(to + n * stride + 12) = given;
        }
    }

    // Displacement of a member from its anchor, in all environments.
    PBD_INLINE void gone(int k, V shrink, V& dx, V& dy, V& dz) const {
        PBD_CONTRACT_ON
        const T* const p = Group::place_of(k);
        const T* const q = anchors + 3 * k * LANES;
        dx = shrink * L::load(p, 0) - L::load(q, 0);
        dy = shrink * L::load(p + LANES, 0) - L::load(q + LANES, 0);
        dz = shrink * L::load(p + 2 * LANES, 0) - L::load(q + 2 * LANES, 0);
    }

    // Find the environments whose lists are no longer valid: 1 for these, else 0.
    PBD_APART void find_worn(T* worn) const {
        PBD_CONTRACT_ON
        const V shrink = Group::inv_sizes(0);
        V lx = V(T(1e30)), ly = lx, lz = lx, hx = -lx, hy = hx, hz = hx;
        for (int k = 0; k < count; ++k) {
            V dx, dy, dz;
            gone(k, shrink, dx, dy, dz);
            lx = dx < lx ? dx : lx;
            ly = dy < ly ? dy : ly;
            lz = dz < lz ? dz : lz;
            hx = dx > hx ? dx : hx;
            hy = dy > hy ? dy : hy;
            hz = dz > hz ? dz : hz;
        }
        const V mx = T(0.5) * (lx + hx), my = T(0.5) * (ly + hy), mz = T(0.5) * (lz + hz);
        const V limit = V(T(0.25) * table.skin * table.skin);
        V flag = V(T(0));
        for (int k = 0; k < count; ++k) {
            V dx, dy, dz;
            gone(k, shrink, dx, dy, dz);
            dx -= mx;
            dy -= my;
            dz -= mz;
            flag = dx * dx + dy * dy + dz * dz <= limit ? flag : V(T(1));  // NaN counts as moved
        }
        L::store(worn, 0, flag);
    }

    // Load four numbers from each of sixteen rows, as a vector per column.
    PBD_INLINE void columns(const T* from, int stride, const int* at, W& a, W& b, W& c, W& d) const {
        a = four_rows(from, stride, at);
        b = four_rows(from, stride, at + 1);
        c = four_rows(from, stride, at + 2);
        d = four_rows(from, stride, at + 3);
        transpose<Pairs>(a, b, c, d);
    }
    // Every fourth of sixteen rows, joined.
    PBD_INLINE W four_rows(const T* from, int stride, const int* at) const {
        const Row r0 = *(const Row*)(from + stride * at[0]), r1 = *(const Row*)(from + stride * at[4]);
        const Row r2 = *(const Row*)(from + stride * at[8]), r3 = *(const Row*)(from + stride * at[12]);
        return joined(joined(r0, r1, FirstIntegers<8>{}), joined(r2, r3, FirstIntegers<8>{}), FirstIntegers<16>{});
    }

    // Load all numbers of sixteen rows, as a vector per column.
    PBD_INLINE void all_columns(const T* from, const int* at, W* out) const {
        for (int g = 0; g < 4; ++g) {  // four rows; each group of four ends up in its own quarter
            W* const q = out + 4 * g;
            for (int r = 0; r < 4; ++r) q[r] = Pairs::load(from + NUMBERS * at[4 * g + r], 0);
            transpose<Pairs>(q[0], q[1], q[2], q[3]);
        }
        for (int r = 0; r < 4; ++r) transpose<Pairs, 4>(out[r], out[4 + r], out[8 + r], out[12 + r]);
    }

    // Store the positions of an environment's members. The last sixteen are padded with the last member.
    PBD_APART void place() const {
        PBD_CONTRACT_ON
        for (int k = 0; k < 16 * chunks; k += 16) {
            int at[16];
            for (int s = 0; s < 16; ++s) at[s] = wp::min(k + s, count - 1);
            W px, py, pz, weight;
            columns(rows + stride * environment, NUMBERS, at, px, py, pz, weight);
            Pairs::store(xs + k, 0, px * Group::inv_size());
            Pairs::store(xs + 16 * chunks + k, 0, py * Group::inv_size());
            Pairs::store(xs + 32 * chunks + k, 0, pz * Group::inv_size());
        }
    }

    // The same, with boxes around the paths on which members move until active pairs are renewed, including how far
    // they may stray from them.
    //
    // drift: mean displacement of members along each axis.
    PBD_APART void place_ways(const T* drift) const {
        PBD_CONTRACT_ON
        place();
        for (int k = 0; k < 16 * chunks; k += 16) {
            int at[16];
            for (int s = 0; s < 16; ++s) at[s] = wp::min(k + s, count - 1);
            W p[4], q[4], way[3];
            const T* const first = rows + stride * environment;
            columns(first, NUMBERS, at, p[0], p[1], p[2], p[3]);
            columns(first + 4, NUMBERS, at, q[0], q[1], q[2], q[3]);
            const W goes = W(T(table.renewal - 1) * Group::inv_size());
            for (int a = 0; a < 3; ++a) way[a] = goes * (p[a] - q[a] - drift[a * LANES + environment]);
            const W astray = T(ASTRAY * BESIDE) * root(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]);
            for (int a = 0; a < 3; ++a) {
                const W from = p[a] * Group::inv_size(), to = from + way[a];
                Pairs::store(ways + 16 * chunks * a + k, 0, way[a]);
                Pairs::store(lows + 16 * chunks * a + k, 0, (from < to ? from : to) - astray);
                Pairs::store(highs + 16 * chunks * a + k, 0, (from < to ? to : from) + astray);
            }
        }
    }

    // Bits of the members that exist in the sixteen `c`.
    PBD_INLINE unsigned real(int c) const { return c == chunks - 1 ? rest : 0xFFFFu; }

    // Bits of the members of the sixteen `d` that are within `reach` of a member.
    PBD_INLINE unsigned closer(int k, int d, T reach) const {
        PBD_CONTRACT_ON
        const W dx = Pairs::load(xs + 16 * d, 0) - W(xs[k]), dy = Pairs::load(ys + 16 * d, 0) - W(ys[k]);
        const W dz = Pairs::load(zs + 16 * d, 0) - W(zs[k]);
        return bits(dx * dx + dy * dy + dz * dz < W(reach * reach));
    }

    // Gap between boxes along an axis, from their lower and upper ends.
    PBD_INLINE static W between(W low, W high, W its_low, W its_high) {
        const W above = its_low - high, below = low - its_high;
        return at_least(above > below ? above : below, 0);
    }

    // Bits of the members of the sixteen `d` that come within `reach` of a member on their paths, plus how far they may
    // stray.
    PBD_INLINE unsigned passing(int k, int d, T reach) const {
        PBD_CONTRACT_ON
        W p[3], way[3];
        for (int a = 0; a < 3; ++a) {
            const T* const from = xs + 16 * chunks * a;
            const T* const to = ways + 16 * chunks * a;
            p[a] = Pairs::load(from + 16 * d, 0) - W(from[k]);
            way[a] = Pairs::load(to + 16 * d, 0) - W(to[k]);
        }
        const W far = way[0] * way[0] + way[1] * way[1] + way[2] * way[2];
        const W back = at_least(-(p[0] * way[0] + p[1] * way[1] + p[2] * way[2]) / at_least(far, 1e-30), 0);
        const W t = back < T(1) ? back : W(T(1)), limit = reach + T(1.001 * ASTRAY * BESIDE) * root(far);
        const W x = p[0] + t * way[0], y = p[1] + t * way[1], z = p[2] + t * way[2];
        return bits(x * x + y * y + z * z < limit * limit);
    }

    // Filter bits by the range of each pair, unless all pairs have the same, and by whether the two can collide, unless
    // a table has decided that.
    PBD_INLINE unsigned chosen(int k, int d, unsigned hits, T skin, bool all) const {
        PBD_CONTRACT_ON
        unsigned left = 0;
        for (; hits; hits &= hits - 1) {
            const int s = __builtin_ctz(hits), other = 16 * d + s;
            const T ex = xs[k] - xs[other], ey = ys[k] - ys[other], ez = zs[k] - zs[other];
            const bool in_reach = all || ex * ex + ey * ey + ez * ez < Group::limit_of(k, other, skin);
            left |= (in_reach && (has_masks || Group::strangers(k, other)) ? 1u : 0u) << s;
        }
        return left;
    }

    // Bits of the sixteen boxes from `first` on that are within `reach` of box `c` and do not precede it.
    PBD_INLINE unsigned beside(int c, int first, T reach) const {
        PBD_CONTRACT_ON
        unsigned apart = 0;
        for (int a = 0; a < 3; ++a) {
            const T* const low = boxes + a * boxed;
            const T* const high = low + 3 * boxed;
            apart |= bits((Pairs::load(low + first, 0) > W(high[c] + reach)) |
                          (W(low[c]) > Pairs::load(high + first, 0) + reach));
        }
        const unsigned later = first < c ? 0xFFFFu << (c - first) : 0xFFFFu;
        return ~apart & later & 0xFFFFu >> wp::max(0, first + 16 - chunks);
    }

    // Bits of the members of the sixteen `c` that are near the box of the sixteen `d`.
    template <bool moving> PBD_INLINE unsigned near_box(int c, int d, T reach) const {
        PBD_CONTRACT_ON
        W apart[3];
        for (int a = 0; a < 3; ++a) {
            const W low = Pairs::load((moving ? lows : xs) + 16 * (chunks * a + c), 0);
            const W high = moving ? Pairs::load(highs + 16 * (chunks * a + c), 0) : low;
            apart[a] = between(low, high, W(boxes[a * boxed + d]), W(boxes[(3 + a) * boxed + d]));
        }
        return bits(apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2] < W(reach * reach)) & real(c);
    }

    // Compute the boxes of all sixteens, or of their paths.
    template <bool moving> PBD_INLINE void make_boxes() const {
        for (int c = 0; c < chunks; ++c)
            for (int a = 0; a < 3; ++a) {
                const int at = 16 * (a * chunks + c);
                boxes[a * boxed + c] = __builtin_reduce_min(Pairs::load((moving ? lows : xs) + at, 0));
                boxes[(3 + a) * boxed + c] = __builtin_reduce_max(Pairs::load((moving ? highs : xs) + at, 0));
            }
    }

    // Visit the pairs within their range plus a skin.
    //
    // visit: (member, index of a sixteen, bits of its members that the member may touch). Pairs of the same two
    //        sixteens come together; each member meets others in order of their numbers.
    // moving: visit all pairs that may come as near on their paths.
    template <bool moving = false, class Visit> PBD_INLINE void scan(T skin, Visit&& visit) const {
        PBD_CONTRACT_ON
        make_boxes<moving>();
        const T reach = widest + skin;
        const unsigned short* const allowed = table.strangers.data;
        for (int c = 0; c < chunks; ++c) {
            for (int first = c / 16 * 16; first < chunks; first += 16) {
                for (unsigned left = beside(c, first, reach); left; left &= left - 1) {
                    const int d = first + __builtin_ctz(left);
                    for (unsigned flags = near_box<moving>(c, d, reach); flags; flags &= flags - 1) {
                        const int s = __builtin_ctz(flags), k = 16 * c + s;
                        unsigned hits = moving ? passing(k, d, reach) : closer(k, d, reach);
                        hits &= has_masks ? allowed[k * chunks + d] : real(d);
                        hits &= d == c ? 0xFFFEu << s : 0xFFFFu;
                        if (!has_masks || !table.alike) hits = chosen(k, d, hits, skin, moving);
                        visit(k, d, hits);
                    }
                }
            }
        }
    }

    // List the pairs of an environment that may touch while the list is valid.
    PBD_APART void make_list() const {
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
            anchors[3 * k * LANES + environment] = xs[k];
            anchors[(3 * k + 1) * LANES + environment] = ys[k];
            anchors[(3 * k + 2) * LANES + environment] = zs[k];
        }
    }

    // Visit the listed pairs of an environment as `scan` does, or search if the list overflowed. Where there are
    // patches, no list is kept, and pairs that may touch now are visited.
    template <class Visit> PBD_INLINE void each_row(Visit&& visit) const {
        if constexpr (Options::SURFACES) {
            place();
            return scan(T(0), visit);
        }
        const int length = *length_of();
        const int* const list = list_of();
        for (int n = 0; n < length; ++n) visit(list[2 * n], (unsigned)list[2 * n + 1] >> 16, list[2 * n + 1] & 0xFFFF);
        if (length >= 0) return;
        place();
        scan(table.skin, visit);
    }
};

}  // namespace pbd
#endif
