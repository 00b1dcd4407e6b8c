// Members of pairs on one thread, sixteen pairs at a time, and the room that they leave each other.
#pragma once
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
    static constexpr int NUMBERS = Search::NUMBERS;
    using Search::count;
    using Search::environment;
    using Search::table;

    ContactScales<T> scales;
    T* const valence;        // contacts of each member; zero when an environment begins
    T* const moves;          // displacement of each, x, y, z and 0; zero when an environment begins
    T* const moved;          // displacement by the first pass
    T* const crowd_of;       // contacts of each member's rigid body
    const T* now = nullptr;  // rows of the current environment

    template <class Model, class Body, class Lists>
    PBD_INLINE PairMembers(const Model& model, const Body& body, const Lists& lists, int group, ContactScales<T> scales)
        : Search(model, body, lists, group),
          scales(scales),
          valence(Search::boxes + 6 * Search::boxed),
          moves(valence + count),
          moved(Options::PASSES > 1 ? moves + 4 * count : moves),
          crowd_of(moved + 4 * count) {}

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
        fill(a, now, from);
        fill(b, now, other);
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
