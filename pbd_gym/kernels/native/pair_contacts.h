// Contacts on one thread.
//
// Pairs that are near enough are collected until there are sixteen, and looked at; those that touch are kept. When the
// contacts of all members of the environment are counted, these are parted, in the same order, as often as is asked
// for.
#pragma once
#include "pair_search.h"
#include "rebounds.h"
#include "rooms.h"

#if !PBD_BLOCK
namespace pbd {

template <class Group> struct PairContacts : PairSearch<Group> {
    using Search = PairSearch<Group>;
    using Options = typename Search::Options;
    using L = typename Search::L;
    using Pairs = typename Search::Pairs;
    using T = typename Search::T;
    using V = typename Search::V;
    using W = typename Search::W;
    using Row = typename Search::Row;
    using One = Member<Pairs, Options::RIGID>;
    static constexpr int LANES = Search::LANES, ROW = Search::ROW, NUMBERS = Search::NUMBERS;
    static constexpr int SIFTED = 64;                    // sixteens of others that are sifted at a time
    static constexpr int FOUND_ROOM = 16 * SIFTED + 32;  // pairs that are found then, and some before
    using Search::count;
    using Search::environment;
    using Search::lists;
    using Search::table;

    const CarriedBodies<Group> bodies;
    ContactScales<T> scales;
    Rebounds<Group, 1> rebounds;
    T* const valence;         // contacts of each member
    T* const moves;           // what moves each, x, y, z and 0
    T* const moved;           // where each is after the first pass
    T* const crowd_of;        // contacts of its body
    const int touching_room;  // pairs that touch that can be kept
    int* const firsts;        // these
    int* const seconds;
    int* const one;  // pairs that are to be looked at
    int* const two;
    const T* now = nullptr;  // rows of the environment that is worked on
    int length = 0;          // of its list
    int found = 0;           // pairs that are to be looked at
    int touched = 0;         // pairs that touch
    int pass = 0;            // counts contacts; those that follow part them

    // one, two: room for FOUND_ROOM numbers each.
    template <class Model, class Body, class Lists, class Rigid>
    PBD_INLINE PairContacts(const Model& model, const Body& body, const Lists& lists, const Rigid& rigid, int group,
                            ContactScales<T> scales, int* one, int* two)
        : Search(model, body, lists, group),
          bodies(rigid, Search::rank),
          scales(scales),
          rebounds(*this, bodies, lists, Search::boxes + 6 * Search::boxed + count, true),
          valence(Search::boxes + 6 * Search::boxed),
          moves(valence + count),
          moved(Options::PASSES > 1 ? moves + 4 * count : moves),
          crowd_of(moved + 4 * count),
          touching_room(lists.touching.shape[2]),
          firsts(lists.touching.data + Search::rank * 2 * touching_room),
          seconds(firsts + touching_room),
          one(one),
          two(two) {}

    // Read sixteen members.
    PBD_INLINE void fill(One& m, const int* at) const {
        W all[NUMBERS];
        Search::all_columns(now, at, all);
        m.x = all[0];
        m.y = all[1];
        m.z = all[2];
        m.w = all[3];
        m.px = all[4];
        m.py = all[5];
        m.pz = all[6];
        m.flat = all[7];
        m.nx = all[8];
        m.ny = all[9];
        m.nz = all[10];
        m.radius = all[12];
        m.extent = all[13];
        m.friction = all[14];
        m.role = all[15];
        if constexpr (Options::RIGID) {
            for (int s = 0; s < 16; ++s) {
                m.leverage[s] = table.leverage.data[at[s]];
                m.crowd[s] = crowd_of[at[s]];
            }
        }
    }

    // Whether sixteen pairs touch, and how to part them.
    PBD_INLINE Touch<Pairs> touch_of(const One& a, const One& b, const int* from, const int* other) const {
        if (__builtin_expect(scales.roomy, false)) {
            const One c = a, d = b;  // whose places in memory are asked for here alone
            return touch_beyond_room(c, d, from, other);
        }
        return touch<Pairs, Options, false>(a, b, scales, W(T(0)));
    }
    // The same where members leave others room, which is rare: apart from what is fast without it.
    __attribute__((noinline)) Touch<Pairs> touch_beyond_room(const One& a, const One& b, const int* from,
                                                             const int* other) const {
        W left;
        for (int s = 0; s < 16; ++s)
            left[s] = Search::room_of(from[s])[environment] + Search::room_of(other[s])[environment];
        return touch<Pairs, Options, true>(a, b, scales, left);
    }

    // Restitution of sixteen pairs.
    PBD_INLINE W elastic(const int* from, const int* other) const {
        W mean = W(T(0));
        if constexpr (Options::BOUNCY)
            for (int s = 0; s < 16; ++s)
                mean[s] = T(0.5) * (table.restitution.data[from[s]] + table.restitution.data[other[s]]);
        return mean;
    }

    // Which of sixteen pairs touch, a bit for each.
    PBD_INLINE unsigned touching(const int* from, const int* other) const {
        One a, b;
        fill(a, from);
        fill(b, other);
        return bits(touch_of(a, b, from, other).inside > W(T(0)));
    }

    // Count the contacts of those that touch, and keep as many as there is room for.
    PBD_INLINE void keep(const int* from, const int* other, unsigned hits) {
        for (; hits; hits &= hits - 1) {
            const int s = __builtin_ctz(hits), k = from[s], l = other[s];
            valence[k] += T(1);
            valence[l] += T(1);
            if constexpr (Options::BOUNCY) rebounds.consider(k, l, scales.resting);
            if (touched < touching_room) {
                firsts[touched] = k;
                seconds[touched] = l;
            }
            ++touched;
        }
    }

    // Turn what moves the members of sixteen pairs into rows of numbers that belong to one pair.
    PBD_INLINE static void in_rows(W* q, W qx, W qy, W qz) {
        q[0] = qx;
        q[1] = qy;
        q[2] = qz;
        q[3] = W(T(0));
        transpose<Pairs>(q[0], q[1], q[2], q[3]);
    }
    PBD_INLINE static Row row(const W* q, int s) { return ((const Row*)(q + s % 4))[s / 4]; }

    // Find what parts of rigid bodies sixteen contacts have, along their normals.
    PBD_INLINE void find_shares(One& m, const Touch<Pairs>& t, const int* at, W contacts) const {
        if constexpr (Options::RIGID) {
            m.shares = contacts;
            if constexpr (!Options::BOUNCY) return;
            for (int s = 0; s < 16; ++s)
                m.shares[s] = bodies.shares(*this, at[s], {m.x[s], m.y[s], m.z[s]}, {t.nx[s], t.ny[s], t.nz[s]},
                                            contacts[s], m.crowd[s]);
        }
    }

    // Part up to sixteen pairs that touch. What moves a member is summed in the order of pairs.
    inline void separate(const int* from, const int* other, int number) const {
        PBD_CONTRACT_ON
        One a, b;
        fill(a, from);
        fill(b, other);
        Touch<Pairs> t;
        unsigned hits = (1u << number) - 1;
        // Pairs that have been kept are known to have touched at first.
        if (pass < 2 || touched > touching_room) {
            t = touch_of(a, b, from, other);
            hits &= bits(t.inside > W(T(0)));
        }
        W gained = W(T(0));
        if (pass > 1) {
            const W ax = a.x, ay = a.y, az = a.z, bx = b.x, by = b.y, bz = b.z;
            Search::columns(moved, 4, from, a.x, a.y, a.z, a.w);
            Search::columns(moved, 4, other, b.x, b.y, b.z, b.w);
            t = touch_of(a, b, from, other);
            const W gx = (a.x - ax) - (b.x - bx), gy = (a.y - ay) - (b.y - by), gz = (a.z - az) - (b.z - bz);
            gained = gx * t.nx + gy * t.ny + gz * t.nz;
        }
        W mine, its, mx, my, mz;
        for (int s = 0; s < 16; ++s) {
            mine[s] = valence[from[s]];
            its[s] = valence[other[s]];
        }
        find_shares(a, t, from, mine);
        find_shares(b, t, other, its);
        part<Pairs, Options>(a, b, t, mine, its, gained, elastic(from, other), scales, mx, my, mz);
        W p[4], q[4];
        in_rows(p, a.w * mx, a.w * my, a.w * mz);
        in_rows(q, -b.w * mx, -b.w * my, -b.w * mz);
        for (; hits; hits &= hits - 1) {
            const int s = __builtin_ctz(hits);
            *(Row*)(moves + 4 * from[s]) += row(p, s);
            *(Row*)(moves + 4 * other[s]) += row(q, s);
        }
    }

    // Fill up with the first pair what lacks to sixteen.
    PBD_INLINE static void pad(int* from, int* other, int number) {
        for (int s = number; s < 16; ++s) {
            from[s] = from[0];
            other[s] = other[0];
        }
    }

    // Add the pairs of a member with others of a sixteen. Which of them there are, and how many, nobody could predict:
    // so there is no branch on that, unless they are more than four.
    PBD_INLINE void unfold(int k, int d, unsigned hits) {
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
    }

    // Look at the pairs that have been found, sixteen at a time, and at the last few if `all` are to be.
    PBD_INLINE void examine_found(bool all) {
        const int whole = found / 16, rest = found % 16, begin = 16 * whole;
        const bool more = all && rest > 0;
        if (more) pad(one + begin, two + begin, rest);
        if (pass > 0) {
            for (int at = 0; at < begin; at += 16) separate(one + at, two + at, 16);
            if (more) separate(one + begin, two + begin, rest);
        } else {
            // First all that touch, and then the branches on it: until such a branch is known to be taken or not, work
            // on the next sixteen may be in vain.
            unsigned hits[SIFTED + 2];
            for (int n = 0; n < whole + more; ++n) hits[n] = touching(one + 16 * n, two + 16 * n);
            if (more) hits[whole] &= (1u << rest) - 1;
            for (int n = 0; n < whole + more; ++n) keep(one + 16 * n, two + 16 * n, hits[n]);
        }
        found = all ? 0 : rest;
        for (int s = 0; s < found; ++s) {
            one[s] = one[begin + s];
            two[s] = two[begin + s];
        }
    }

    // Look at all pairs that may touch: sixteens of others are sifted, and then those with a hit are unfolded.
    inline void examine_all() {
        const int* const list = Search::list_of();
        for (int begin = 0; begin < length; begin += SIFTED) {
            int kept[2 * SIFTED], number = 0;
            for (int n = begin; n < wp::min(length, begin + SIFTED); ++n) {
                const int k = list[2 * n], others = list[2 * n + 1], d = (unsigned)others >> 16;
                const unsigned hits = Search::closer(k, d, Search::widest) & others;
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
        if (length < 0) {
            Search::scan(T(0), [&](int k, int d, unsigned hits) {
                unfold(k, d, hits);
                examine_found(false);
            });
        }
        examine_found(true);
    }

    // Whether a member goes where its body goes.
    PBD_INLINE bool in_body(int k) const { return Options::RIGID && table.owner.data[k] >= 0; }

    // Sum the contacts of each rigid body: each of them has its part of the whole body.
    PBD_INLINE void count_crowds() const {
        T* const crowds = moves;
        for (int b = 0; b < table.crowd_count; ++b) crowds[b] = T(0);
        for (int k = 0; k < count; ++k)
            if (table.owner.data[k] >= 0) crowds[table.owner.data[k]] += valence[k];
        for (int k = 0; k < count; ++k) crowd_of[k] = table.owner.data[k] < 0 ? T(1) : crowds[table.owner.data[k]];
    }

    // Find where the first pass leads the members, and make room for what the pass moves them by. Members of rigid
    // bodies go with these, and keep what displaces them.
    PBD_INLINE void begin_pass() const {
        PBD_CONTRACT_ON
        if (pass > 1)
            for (int k = 0; k < count; ++k)
                *(Row*)(moved + 4 * k) = *(const Row*)(now + NUMBERS * k) + *(const Row*)(moves + 4 * k);
        if constexpr (Options::RIGID && Options::PASSES > 1) {
            if (pass > 1)
                for (int b = 0; b < table.crowd_count; ++b)
                    bodies.carry(*this, b, [&](int k, int a) { return moves[4 * k + a]; });
            for (int k = 0; k < count; ++k) {
                if (pass > 1 && in_body(k)) {
                    const T* const at = now + NUMBERS * k;
                    bodies.carried(*this, k, at[0], at[1], at[2], moved + 4 * k);
                    for (int a = 0; a < 3; ++a) moved[4 * k + a] = at[a] + (at[3] > T(0) ? moved[4 * k + a] : T(0));
                }
                if (pass == 1 || !in_body(k))
                    for (int a = 0; a < 4; ++a) moves[4 * k + a] = T(0);
            }
        } else {
            for (int n = 0; n < 4 * count; ++n) moves[n] = T(0);
        }
    }

    // Move members to where the passes lead them, and note how many contacts were too many for a list.
    PBD_INLINE void finish() const {
        PBD_CONTRACT_ON
        T most = T(0);
        for (int k = 0; k < count; ++k) {
            if (valence[k] == T(0)) continue;
            const bool twice = Options::PASSES > 1 && !in_body(k);
            const T* const place = twice ? moved + 4 * k : now + NUMBERS * k;
            for (int a = 0; a < 3; ++a) Search::place_of(k)[a * LANES + environment] = place[a] + moves[4 * k + a];
            most = wp::max(most, valence[k]);
        }
        int& overflow = lists.overflow.data[Search::group * LANES + environment];
        overflow = wp::max(overflow, (int)most - table.capacity);
        if (!scales.roomy) return;
        for (int k = 0; k < count; ++k)
            if (Search::room_of(k)[environment] > T(0)) forget_push(*this, k, environment);
    }

    // Find the most by which up to sixteen members overlapped others.
    inline void measure(const int* from, const int* other, int number) const {
        One a, b;
        fill(a, from);
        fill(b, other);
        const W overlap = placed_overlap<Pairs, Options>(a, b, scales);
        for (int s = 0; s < number; ++s) {
            moves[4 * from[s]] = wp::max(moves[4 * from[s]], overlap[s]);
            moves[4 * other[s]] = wp::max(moves[4 * other[s]], overlap[s]);
        }
    }

    // Let members leave others the room that they need.
    inline void change_rooms() const {
        int from[16], other[16], number = 0;
        for (int k = 0; k < count; ++k) moves[4 * k] = T(0);
        Search::place();
        Search::scan(T(0), [&](int k, int d, unsigned hits) {
            for (; hits; hits &= hits - 1) {
                from[number] = k;
                other[number++] = 16 * d + __builtin_ctz(hits);
                if (number < 16) continue;
                measure(from, other, number);
                number = 0;
            }
        });
        if (number > 0) {
            pad(from, other, number);
            measure(from, other, number);
        }
        for (int k = 0; k < count; ++k) {
            T& room = Search::room_of(k)[environment];
            room = next_room(room, moves[4 * k], T(Search::body.parting), T(Search::body.fall));
            moves[4 * k] = T(0);
        }
    }

    // Part all members that touch in the environment that is worked on.
    //
    // roomy: whether some of them leave others room, or nobody has looked yet.
    PBD_INLINE void part_environment(bool worn, bool roomy, T agitation) {
        now = Search::rows + Search::stride * environment;
        scales.size = Search::size();
        scales.inv_size = Search::inv_size();
        scales.roughness = Search::roughness();
        scales.agitation = agitation;
        scales.roomy = roomy;
        for (int k = 0; k < count; ++k) valence[k] = T(0);
        const bool anew = worn || *Search::length_of() < 0;
        if (anew || *Search::length_of() > 0) Search::place();
        if (anew) Search::make_list();
        length = *Search::length_of();
        if (roomy) change_rooms();
        found = touched = pass = rebounds.count = 0;
        examine_all();
        if (touched == 0) return;
        if constexpr (Options::RIGID) count_crowds();
        for (pass = 1; pass <= Options::PASSES; ++pass) {
            begin_pass();
            if constexpr (Options::BOUNCY)
                if (pass == 1) scales.solved = rebounds.solve(scales.roughness);
            if (touched > touching_room) {
                examine_all();
                continue;
            }
            for (int begin = 0; begin < touched; begin += 16) {
                const int number = wp::min(16, touched - begin);
                for (int s = 0; s < number; ++s) {
                    one[s] = firsts[begin + s];
                    two[s] = seconds[begin + s];
                }
                pad(one, two, number);
                separate(one, two, number);
            }
        }
        finish();
    }

    // Find the environments in which members leave others room, or nobody has looked yet: not 0 for these.
    PBD_INLINE void find_roomy(T* roomy) const {
        V most = V(T(0));
        for (int k = 0; k < count; ++k) {
            const V room = L::load(Search::room_of(k), 0);
            most = room != T(0) ? V(T(1)) : most;
        }
        L::store(roomy, 0, most);
    }

    // Part all members that touch, environment after environment.
    //
    // agitation: how much each moves.
    PBD_INLINE void part_all(const T* agitation) {
        if constexpr (Options::RIGID)
            for (int k = 0; k < count; ++k) crowd_of[k] = T(1);
        Search::fill_rows();
        T worn[LANES], roomy[LANES];
        Search::find_worn(worn);
        find_roomy(roomy);
        for (environment = 0; environment < LANES; ++environment)
            part_environment(worn[environment] > T(0), roomy[environment] > T(0), agitation[environment]);
    }
};

}  // namespace pbd
#endif
