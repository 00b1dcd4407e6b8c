// Members of pairs on one thread, sixteen pairs at a time, and the room that they leave each other.
#pragma once
#include "contact_feet.h"
#include "pair_search.h"
#include "rooms.h"

#if !PBD_BLOCK
namespace pbd {

template <class Group> struct PairMembers : PairSearch<Group> {
    using Search = PairSearch<Group>;
    using Options = typename Search::Options;
    using L = typename Search::L;
    using Pairs = typename Search::Pairs;
    using T = typename Search::T;
    using V = typename Search::V;
    using W = typename Search::W;
    using One = Member<Pairs, Options::RIGID>;
    static constexpr int LANES = Search::LANES, NUMBERS = Search::NUMBERS;
    using Search::count;
    using Search::environment;
    using Search::table;

    const CarriedBodies<Group> bodies;
    ContactScales<T> scales;
    T* const valence;        // contacts of each member; zero when an environment begins
    T* const moves;          // displacement of each, x, y, z and 0; zero when an environment begins
    T* const moved;          // displacement by the first pass
    T* const crowd_of;       // contacts of each member's rigid body
    T* const twists;         // twist of each member of one, three numbers; zero when an environment begins
    const T* now = nullptr;  // rows of the current environment

    template <class Model, class Body, class Lists, class Rigid>
    PBD_INLINE PairMembers(const Model& model, const Body& body, const Lists& lists, const Rigid& rigid, int group,
                           ContactScales<T> scales)
        : Search(model, body, lists, group),
          bodies(rigid, Search::rank),
          scales(scales),
          valence(Search::boxes + 6 * Search::boxed),
          moves(valence + count),
          moved(Options::PASSES > 1 ? moves + 4 * count : moves),
          crowd_of(moved + 4 * count),
          twists(crowd_of + count) {}

    // Load sixteen members from their rows.
    PBD_INLINE void fill(One& m, const T* rows, const int* at) const {
        W all[NUMBERS];
        Search::all_columns(rows, at, all);
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

    // Load the members of sixteen pairs, with feet in place of balls of rigid bodies.
    //
    // early: whether feet are found where members were when the substep began.
    PBD_INLINE void fill_both(One& a, One& b, const int* from, const int* other, bool early = false) const {
        fill(a, now, from);
        fill(b, now, other);
        if constexpr (Options::RIGID) {
            unsigned pairs = 0;
            bool first;
            for (int s = 0; s < 16; ++s) pairs |= (needs_foot(*this, from[s], other[s], first) ? 1u : 0u) << s;
            if (__builtin_expect(pairs != 0, false)) {
                One c = a, d = b;  // copies: only these need addresses, a and b stay in registers
                stand_all(c, d, from, other, pairs, early);
                a = c;
                b = d;
            }
        }
    }
    // Replace the places of balls of rigid bodies by feet, in the pairs of which a bit is set.
    PBD_APART void stand_all(One& a, One& b, const int* from, const int* other, unsigned pairs, bool early) const {
        // To write single numbers of a vector that is read as a whole soon after would stall the processor.
        T at[12][16];
        W* const all[] = {&a.x, &a.y, &a.z, &a.px, &a.py, &a.pz, &b.x, &b.y, &b.z, &b.px, &b.py, &b.pz};
        for (int n = 0; n < 12; ++n) Pairs::store(at[n], 0, *all[n]);
        const auto spot = [&](int n, int s) {
            return Foot<T>{{at[n][s], at[n + 1][s], at[n + 2][s]}, {at[n + 3][s], at[n + 4][s], at[n + 5][s]}};
        };
        const unsigned others = early ? 0 : foreign(a, b, from, other);
        for (; pairs; pairs &= pairs - 1) {
            const int s = __builtin_ctz(pairs), n = in_body(from[s]) ? 0 : 6;
            Foot<T> foot = nowhere<T>();
            if (!(others >> s & 1)) {
                const Pair<T> found = stand(*this, bodies, from[s], other[s], {spot(0, s), spot(6, s)}, early);
                foot = n ? found.two : found.one;
            }
            at[n][s] = foot.now.x;
            at[n + 1][s] = foot.now.y;
            at[n + 2][s] = foot.now.z;
            at[n + 3][s] = foot.before.x;
            at[n + 4][s] = foot.before.y;
            at[n + 5][s] = foot.before.z;
        }
        for (int n = 0; n < 12; ++n) *all[n] = Pairs::load(at[n], 0);
    }
    // 1 where a member moves with a rigid body, else 0.
    PBD_INLINE W with_bodies(const int* at) const {
        T flags[16];
        for (int s = 0; s < 16; ++s) flags[s] = T(in_body(at[s]));
        return Pairs::load(flags, 0);
    }
    // Pairs in which the particle's foot belongs to another ball of the body, by the quick check alone: a bit for each.
    PBD_INLINE unsigned foreign(const One& a, const One& b, const int* from, const int* other) const {
        PBD_CONTRACT_ON
        using Columns = typename Options::Carry;
        constexpr int TURN = 0, OFFSET = 9, CENTER = 12;
        T pose[15][16];  // numbers of sixteen bodies
        int balls[16];
        for (int s = 0; s < 16; ++s) {
            const bool first = in_body(from[s]);
            balls[s] = first ? from[s] : other[s];
            const T* const at = bodies.row(*this, wp::max(table.owner.data[balls[s]], 0));
            for (int c = 0; c < 9; ++c) pose[TURN + c][s] = at[(Columns::TURN + c) * LANES];
            for (int c = 0; c < 3; ++c) pose[OFFSET + c][s] = at[(Columns::OFFSET + c) * LANES];
            for (int c = 0; c < 3; ++c) pose[CENTER + c][s] = at[(Columns::CENTER + c) * LANES];
        }
        const auto load = [&](int row) { return Pairs::load(pose[row], 0); };
        const auto first = with_bodies(from) > T(0);
        const W r[3] = {(first ? b.x : a.x) - load(CENTER), (first ? b.y : a.y) - load(CENTER + 1),
                        (first ? b.z : a.z) - load(CENTER + 2)};
        W q[3], n[4];
        for (int c = 0; c < 3; ++c)
            q[c] = Search::inv_size() *
                   (r[0] * load(TURN + c) + r[1] * load(TURN + 3 + c) + r[2] * load(TURN + 6 + c) + load(OFFSET + c));
        W most = W(T(-1));
        for (int rival = 0; rival < RIVALS; ++rival) {
            Search::columns(table.bisectors.data + 4 * rival, 4 * RIVALS, balls, n[0], n[1], n[2], n[3]);
            const W beyond = n[0] * q[0] + n[1] * q[1] + n[2] * q[2] + n[3];
            most = beyond > most ? beyond : most;
        }
        return bits(most > W(T(0)));
    }
    // Whether a member moves with a rigid body.
    PBD_INLINE bool in_body(int k) const { return Options::RIGID && table.owner.data[k] >= 0; }

    // Room that sixteen pairs leave each other.
    PBD_INLINE W room_between(const int* from, const int* other) const {
        W left;
        for (int s = 0; s < 16; ++s)
            left[s] = Search::room_of(from[s])[environment] + Search::room_of(other[s])[environment];
        return left;
    }

    // Pad to sixteen pairs with copies of the first.
    PBD_INLINE static void pad(int* from, int* other, int number) {
        for (int s = number; s < 16; ++s) {
            from[s] = from[0];
            other[s] = other[0];
        }
    }

    // Update the largest initial overlap of the members of up to sixteen pairs.
    inline void measure(const int* from, const int* other, int number) const {
        One a, b;
        fill_both(a, b, from, other, true);
        const W overlap = placed_overlap<Pairs, Options>(a, b, scales);
        for (int s = 0; s < number; ++s) {
            moves[4 * from[s]] = wp::max(moves[4 * from[s]], overlap[s]);
            moves[4 * other[s]] = wp::max(moves[4 * other[s]], overlap[s]);
        }
    }

    // Update the room that members leave others.
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

    // Find the environments in which members leave others room, or room is not known yet: nonzero for these.
    PBD_INLINE void find_roomy(T* roomy) const {
        V most = V(T(0));
        for (int k = 0; k < count; ++k) {
            const V room = L::load(Search::room_of(k), 0);
            most = room != T(0) ? V(T(1)) : most;
        }
        L::store(roomy, 0, most);
    }
};

}  // namespace pbd
#endif
