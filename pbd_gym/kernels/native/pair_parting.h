// Parting of touching pairs where one thread serves a group, sixteen at a time.
//
// What the first of two passes computes for sixteen pairs is kept for the second.
#pragma once
#include "pair_members.h"

#if !PBD_BLOCK
namespace pbd {

template <class Group> struct PairParting : PairMembers<Group> {
    using Search = PairMembers<Group>;
    using Options = typename Search::Options;
    using Pairs = typename Search::Pairs;
    using T = typename Search::T;
    using W = typename Search::W;
    using Row = typename Search::Row;
    using One = typename Search::One;
    static constexpr int NUMBERS = Search::NUMBERS;
    using Search::bodies;
    using Search::fill_both;
    using Search::in_body;
    using Search::moved;
    using Search::moves;
    using Search::now;
    using Search::room_between;
    using Search::scales;
    using Search::table;
    using Search::twists;
    using Search::valence;

    // Sixteen touching pairs, before any has been parted.
    struct Sixteen {
        Standing<Pairs> standing;
        Partners<Pairs, Options::RIGID> partners;
        W dx, dy, dz;  // from the second to the first
        W mine, its;   // numbers of contacts
        Spots<Pairs, Options::RIGID> spots;
        int from[16], other[16];
        int hits;  // a bit for each pair that exists
    };
    static_assert(sizeof(Sixteen) <= Options::KEPT * sizeof(T), "room for sixteen pairs");

    template <class Model, class Body, class Lists, class Rigid>
    PBD_INLINE PairParting(const Model& model, const Body& body, const Lists& lists, const Rigid& rigid, int group,
                           ContactScales<T> scales)
        : Search(model, body, lists, rigid, group, scales) {}

    // Whether sixteen pairs touch, and how to part them.
    PBD_INLINE Touch<Pairs> touch_of(const One& a, const One& b, const int* from, const int* other) const {
        if (__builtin_expect(scales.roomy, false)) {
            const One c = a, d = b;  // copies: only these need addresses, a and b stay in registers
            return touch_beyond_room(c, d, from, other);
        }
        return touch<Pairs, Options, false>(a, b, scales, W(T(0)));
    }
    // The same where members leave others room. This is rare, and is kept out of the fast path.
    PBD_APART Touch<Pairs> touch_beyond_room(const One& a, const One& b, const int* from, const int* other) const {
        return touch<Pairs, Options, true>(a, b, scales, room_between(from, other));
    }
    // Mean restitution of the members of sixteen pairs.
    PBD_INLINE W elastic(const int* from, const int* other) const {
        W mean = W(T(0));
        if constexpr (Options::BOUNCY)
            for (int s = 0; s < 16; ++s)
                mean[s] = T(0.5) * (table.restitution.data[from[s]] + table.restitution.data[other[s]]);
        return mean;
    }

    // Transpose the displacements of sixteen members into rows of numbers, one row per pair.
    PBD_INLINE static void in_rows(W* q, W qx, W qy, W qz) {
        q[0] = qx;
        q[1] = qy;
        q[2] = qz;
        q[3] = W(T(0));
        transpose<Pairs>(q[0], q[1], q[2], q[3]);
    }
    PBD_INLINE static Row row(const W* q, int s) { return ((const Row*)(q + s % 4))[s / 4]; }

    // Find the effective numbers of contacts of sixteen members along the contact normals (rigid_carry.h).
    //
    // spots: where bodies are touched.
    PBD_INLINE void find_shares(Lender<Pairs, Options::RIGID>& m, const Touch<Pairs>& t, const int* at, W contacts,
                                const Spots<Pairs, Options::RIGID>& spots) const {
        PBD_CONTRACT_ON
        if constexpr (Options::RIGID) {
            m.shares = contacts;
            if constexpr (!Options::BOUNCY) return;
            for (int s = 0; s < 16; ++s)
                m.shares[s] = bodies.shares(*this, at[s], {spots.x[s], spots.y[s], spots.z[s]},
                                            {t.nx[s], t.ny[s], t.nz[s]}, contacts[s], m.crowd[s]);
        }
    }

    // Add what sixteen pairs push beside the balls of rigid bodies to the twists of these.
    PBD_APART void twist(const Sixteen& c, W mx, W my, W mz) const {
        if constexpr (Options::RIGID) {
            for (unsigned hits = c.hits; hits; hits &= hits - 1) {
                const int s = __builtin_ctz(hits);
                bool first;
                if (!needs_foot(*this, c.from[s], c.other[s], first)) continue;
                const int k = first ? c.from[s] : c.other[s];
                const T* const ball = now + NUMBERS * k;
                if (!(ball[3] > T(0))) continue;
                const Vec3<T> arm =
                    Vec3<T>{c.spots.x[s], c.spots.y[s], c.spots.z[s]} - Vec3<T>{ball[0], ball[1], ball[2]};
                bodies.add_twist(twists + 3 * k, 1, arm, T(first ? 1 : -1) * Vec3<T>{mx[s], my[s], mz[s]});
            }
        }
    }

    // Find the friction that the first pass has left to pairs with a rigid body. It is computed once more, since few
    // scenes have such pairs, and kept pairs have no room for it.
    PBD_APART void find_spare(Sixteen& c, Spare<Pairs, Options::CLAMPS>& spare) const {
        bool any_body = false;
        for (int s = 0; s < 16; ++s) any_body = any_body || in_body(c.from[s]) || in_body(c.other[s]);
        if (!any_body) return;
        const Touch<Pairs> t = meet<Pairs>(c.standing, c.dx, c.dy, c.dz, scales);
        W mx, my, mz;
        find_shares(c.partners.a, t, c.from, c.mine, c.spots);
        find_shares(c.partners.b, t, c.other, c.its, c.spots);
        part<Pairs, Options>(c.partners, t, c.mine, c.its, W(T(0)), elastic(c.from, c.other), scales, spare, mx, my,
                             mz);
        for (int s = 0; s < 16; ++s) spare.counts[s] = T(in_body(c.from[s]) || in_body(c.other[s]));
    }

    // Part sixteen pairs. Displacements of a member are summed in the order of pairs.
    //
    // spots: where bodies are touched now, after earlier passes.
    PBD_INLINE void separate(Sixteen& c, const Touch<Pairs>& t, W gained, const Spots<Pairs, Options::RIGID>& spots,
                             bool again) const {
        PBD_CONTRACT_ON
        W mx, my, mz, p[4], q[4];
        Spare<Pairs, Options::CLAMPS> spare;
        if constexpr (Options::CLAMPS) {
            if (again) find_spare(c, spare);
        }
        find_shares(c.partners.a, t, c.from, c.mine, spots);
        find_shares(c.partners.b, t, c.other, c.its, spots);
        part<Pairs, Options>(c.partners, t, c.mine, c.its, gained, elastic(c.from, c.other), scales, spare, mx, my, mz);
        in_rows(p, c.partners.a.w * mx, c.partners.a.w * my, c.partners.a.w * mz);
        in_rows(q, -c.partners.b.w * mx, -c.partners.b.w * my, -c.partners.b.w * mz);
        T* const to = moves;
        for (unsigned hits = c.hits; hits; hits &= hits - 1) {
            const int s = __builtin_ctz(hits);
            *(Row*)(to + 4 * c.from[s]) += row(p, s);
            *(Row*)(to + 4 * c.other[s]) += row(q, s);
        }
        if constexpr (Options::RIGID) twist(c, mx, my, mz);
    }

    // Prepare up to sixteen pairs for being parted.
    PBD_INLINE Touch<Pairs> look_at(Sixteen& c, const int* from, const int* other, int number) const {
        PBD_CONTRACT_ON
        One a, b;
        fill_both(a, b, from, other);
        c.partners = {a, b};
        if constexpr (Options::RIGID) {
            const auto first = Search::with_bodies(from) > T(0);
            c.spots.x = first ? a.x : b.x;
            c.spots.y = first ? a.y : b.y;
            c.spots.z = first ? a.z : b.z;
        }
        c.hits = (1u << number) - 1;
        for (int s = 0; s < 16; ++s) {
            c.mine[s] = valence[c.from[s] = from[s]];
            c.its[s] = valence[c.other[s] = other[s]];
        }
        if constexpr (Options::SURFACES) {
            c.standing = standing<Pairs, Options>(a, b, scales);
            if (__builtin_expect(scales.roomy, false)) leave_room(c.standing, room_between(from, other), scales);
            c.dx = a.x - b.x;
            c.dy = a.y - b.y;
            c.dz = a.z - b.z;
            return meet<Pairs>(c.standing, c.dx, c.dy, c.dz, scales);
        } else {
            return touch_of(a, b, from, other);
        }
    }

    // Part pairs a second time, from where the first pass has moved them.
    PBD_APART void separate_again(Sixteen& c) const {
        PBD_CONTRACT_ON
        W ax, ay, az, bx, by, bz, none;
        Search::columns(moved, 4, c.from, ax, ay, az, none);
        Search::columns(moved, 4, c.other, bx, by, bz, none);
        Spots<Pairs, Options::RIGID> spots = c.spots;
        if constexpr (Options::RIGID) {  // bodies turn: their feet do not move as their balls do
            T ways[16][3] = {}, columns[3][16];
            for (int s = 0; s < 16; ++s) {
                const int k = in_body(c.from[s]) ? c.from[s] : c.other[s];
                if (in_body(k) && now[NUMBERS * k + 3] > T(0))
                    bodies.carried(*this, k, spots.x[s], spots.y[s], spots.z[s], ways[s]);
                for (int n = 0; n < 3; ++n) columns[n][s] = ways[s][n];
            }
            const W wx = Pairs::load(columns[0], 0), wy = Pairs::load(columns[1], 0), wz = Pairs::load(columns[2], 0);
            const auto first = Search::with_bodies(c.from) > T(0), second = Search::with_bodies(c.other) > T(0);
            ax = first ? wx : ax;
            ay = first ? wy : ay;
            az = first ? wz : az;
            bx = second ? wx : bx;
            by = second ? wy : by;
            bz = second ? wz : bz;
            spots.x += wx;
            spots.y += wy;
            spots.z += wz;
        }
        const W gx = ax - bx, gy = ay - by, gz = az - bz;
        const Touch<Pairs> t = meet<Pairs>(c.standing, c.dx + gx, c.dy + gy, c.dz + gz, scales);
        separate(c, t, gx * t.nx + gy * t.ny + gz * t.nz, spots, true);
    }
};

}  // namespace pbd
#endif
