// Contacts where one thread serves a group.
//
// Pairs that are near enough are collected, and examined sixteen at a time. Where there are patches, pairs that may
// touch soon become active, and later only these are examined. Pairs that touch are stored. Once the contacts of all
// members of the environment have been counted, the stored pairs are parted in the same order (pair_parting.h).
#pragma once
#include "active_pairs.h"
#include "pair_parting.h"
#include "rebounds.h"

#if !PBD_BLOCK
namespace pbd {

template <class Group> struct PairContacts : PairParting<Group> {
    using Search = PairParting<Group>;
    using Options = typename Search::Options;
    using Pairs = typename Search::Pairs;
    using T = typename Search::T;
    using W = typename Search::W;
    using Row = typename Search::Row;
    using One = typename Search::One;
    using Sixteen = typename Search::Sixteen;
    static constexpr int LANES = Search::LANES, ROW = Search::ROW, NUMBERS = Search::NUMBERS;
    static constexpr int SIFTED = 64;                    // sixteens of others that are filtered at a time
    static constexpr int FOUND_ROOM = 16 * SIFTED + 32;  // pairs found among them, and a few from before
    using Search::bodies;
    using Search::count;
    using Search::crowd_of;
    using Search::environment;
    using Search::fill;
    using Search::fill_both;
    using Search::in_body;
    using Search::lists;
    using Search::look_at;
    using Search::moved;
    using Search::moves;
    using Search::now;
    using Search::pad;
    using Search::scales;
    using Search::separate;
    using Search::separate_again;
    using Search::table;
    using Search::touch_of;
    using Search::twists;
    using Search::valence;

    Rebounds<Group, 1> rebounds;
    const int touching_room;  // room for touching pairs
    int* const firsts;        // members of these pairs
    int* const seconds;
    int* const met;         // members with contacts
    const int active_room;  // room for active pairs
    int* const one;         // pairs that are to be looked at
    int* const two;
    int length = 0;   // of the list of candidates
    int found = 0;    // pairs that are to be looked at
    int touched = 0;  // pairs that touch
    int met_count = 0;
    bool forgets = false;  // whether active pairs did not fit: then all candidates are examined
    int highest = 0;       // highest rank of active pairs that are examined
    // What happens to examined pairs: they become active (RENEWING), their contacts are counted and stored (COUNTING),
    // or they are parted in the pass of this number.
    static constexpr int RENEWING = -1, COUNTING = 0;
    int pass = COUNTING;

    // one, two: arrays of FOUND_ROOM numbers each.
    template <class Model, class Body, class Lists, class Rigid>
    PBD_INLINE PairContacts(const Model& model, const Body& body, const Lists& lists, const Rigid& rigid, int group,
                            ContactScales<T> scales, int* one, int* two)
        : Search(model, body, lists, rigid, group, scales),
          rebounds(*this, bodies, lists, Search::moves, Search::twists, true),
          touching_room(lists.touching.shape[2]),
          firsts(lists.touching.data + Search::rank * 3 * touching_room),
          seconds(firsts + touching_room),
          met(seconds + touching_room),
          active_room(lists.active.shape[2] / 3 - 16),
          one(one),
          two(two) {}

    // Active pairs of the current environment: first members, second members and ranks; and the number of pairs.
    PBD_INLINE int* active(int column) const {
        return lists.active.data + ((Search::rank * LANES + environment) * 3 + column) * (active_room + 16);
    }
    PBD_INLINE int& active_count() const { return lists.counts.data[(Search::rank * LANES + environment) * 2 + 1]; }
    // RMS displacement of its members relative to their mean when active pairs were last renewed.
    PBD_INLINE T& spread() const { return lists.spread.data[Search::rank * LANES + environment]; }
    // Rows of its members when active pairs were last renewed.
    PBD_INLINE T* renewed_rows() const {
        return lists.renewed.data + Search::rank * lists.renewed.shape[1] + Search::stride * environment;
    }

    // Let balls of bodies that are met at feet be as large as their reach.
    PBD_INLINE void widen(One& a, One& b, const int* from, const int* other) const {
        if constexpr (Options::RIGID) {
            T one_radius[16], two_radius[16];
            for (int s = 0; s < 16; ++s) {
                one_radius[s] = radius_towards(*this, from[s], other[s]);
                two_radius[s] = radius_towards(*this, other[s], from[s]);
            }
            a.radius = Pairs::load(one_radius, 0);
            b.radius = Pairs::load(two_radius, 0);
        }
    }

    // Which of sixteen pairs have at most a given rank: sixteen bits for each rank, one per pair.
    PBD_APART unsigned long long ranks(const T* rows, const int* from, const int* other) const {
        if constexpr (Options::SURFACES) {
            One a, b;
            fill(a, rows, from);
            fill(b, rows, other);
            widen(a, b, from, other);
            const W rank = rank_of<Pairs, Options>(a, b, scales);
            unsigned long long found = 0;
            for (int r = 0; r < RANKS; ++r) found |= (unsigned long long)bits(rank <= T(r)) << 16 * r;
            return found;
        } else {
            return 0;
        }
    }

    // Which of sixteen pairs touch: one bit per pair.
    PBD_INLINE unsigned touching(const int* from, const int* other) const {
        One a, b;
        fill_both(a, b, from, other);
        const unsigned hits = bits(touch_of(a, b, from, other).inside > W(T(0)));
        return forgets && hits ? hits & ranks(renewed_rows(), from, other) >> 16 * highest : hits;
    }

    // Make those pairs active that may touch soon. Those for which there is no room are counted, but not stored.
    PBD_INLINE void activate(const int* from, const int* other, unsigned long long found) const {
        int& number = active_count();
        for (unsigned hits = found >> 16 * (RANKS - 1) & 0xFFFFu; hits; hits &= hits - 1) {
            const int s = __builtin_ctz(hits), n = wp::min(number, active_room);
            int rank = RANKS - 1;
            for (int r = 0; r < RANKS - 1; ++r) rank -= found >> (16 * r + s) & 1;
            active(0)[n] = from[s];
            active(1)[n] = other[s];
            active(2)[n] = rank;
            ++number;
        }
    }

    // Visit the members with contacts. Few patches have any, so these are listed; otherwise all members are checked.
    template <class Visit> PBD_INLINE void each_met(Visit&& visit) const {
        if constexpr (Options::SURFACES) {
            for (int n = 0; n < met_count; ++n) visit(met[n]);
        } else {
            const T* const contacts = valence;
            for (int k = 0, end = count; k < end; ++k)
                if (contacts[k] > T(0)) visit(k);
        }
    }

    // Count the contacts of touching pairs, and store as many pairs as there is room for.
    PBD_INLINE void keep(const int* from, const int* other, unsigned hits) {
        // Local copies can stay in registers: for all the compiler knows, the writes below change the members of this
        // object.
        T* const contacts = valence;
        int* const one = firsts;
        int* const two = seconds;
        int* const members = met;
        const int most = touching_room;
        int number = touched, met_number = met_count;
        const auto count_contact = [&](int k) {
            if constexpr (Options::SURFACES) {
                members[met_number] = k;
                met_number += contacts[k] == T(0);
            }
            contacts[k] += T(1);
        };
        for (; hits; hits &= hits - 1) {
            const int s = __builtin_ctz(hits), k = from[s], l = other[s];
            count_contact(k);
            count_contact(l);
            if constexpr (Options::BOUNCY) rebounds.consider(k, l, scales.resting);
            if (number < most) {
                one[number] = k;
                two[number] = l;
            }
            ++number;
        }
        touched = number;
        met_count = met_number;
    }

    // Part those of sixteen pairs that touch, where touching pairs could not be stored.
    PBD_APART void separate_forgotten(const int* from, const int* other, int number) const {
        Sixteen c;
        const Touch<Pairs> t = look_at(c, from, other, number);
        c.hits &= touching(from, other);
        if constexpr (Options::PASSES > 1) {
            if (pass > 1) return separate_again(c);
        }
        separate(c, t, W(T(0)), c.spots, false);
    }

    // Add the pairs of a member with others of a sixteen. Their number is unpredictable, so there is no branch on it
    // unless there are more than four.
    PBD_INLINE void unfold(int k, int d, unsigned hits) {
        const int number = __builtin_popcount(hits);
        int* const from = one + found;
        int* const other = two + found;
        found += number;
        for (int s = 0; s < 4; ++s, hits &= hits - 1) {
            from[s] = k;
            other[s] = 16 * d + __builtin_ctz(hits | 0x10000u);
        }
        for (int s = 4; s < number; ++s, hits &= hits - 1) {
            from[s] = k;
            other[s] = 16 * d + __builtin_ctz(hits);
        }
    }

    // Examine pairs, sixteen at a time. The arrays may be padded to whole sixteens.
    PBD_APART void examine(int* from, int* other, int number) {
        const int rest = number % 16, end = (number + 15) / 16;
        if (rest) pad(from + number - rest, other + number - rest, rest);
        if (pass > COUNTING) {
            for (int n = 0; n < end; ++n)
                separate_forgotten(from + 16 * n, other + 16 * n, wp::min(16, number - 16 * n));
            return;
        }
        if constexpr (Options::SURFACES) {
            if (pass == RENEWING) return rank_all(from, other, end, rest);
        }
        for (int begin = 0; begin < end; begin += SIFTED + 2) {
            // Test several sixteens before branching on the results: after a mispredicted branch, work on the next
            // sixteen would be lost.
            unsigned hits[SIFTED + 2];
            const int stop = wp::min(end, begin + SIFTED + 2);
            for (int n = begin; n < stop; ++n) hits[n - begin] = touching(from + 16 * n, other + 16 * n);
            if (rest && stop == end) hits[end - 1 - begin] &= (1u << rest) - 1;
            for (int n = begin; n < stop; ++n) keep(from + 16 * n, other + 16 * n, hits[n - begin]);
        }
    }
    // Make those pairs active that may touch soon.
    PBD_APART void rank_all(const int* from, const int* other, int end, int rest) const {
        for (int n = 0; n < end; ++n) {
            unsigned long long hits = ranks(now, from + 16 * n, other + 16 * n);
            if (rest && n == end - 1) hits &= ((1ull << rest) - 1) * 0x1000100010001ull;
            activate(from + 16 * n, other + 16 * n, hits);
        }
    }

    // Examine the pairs found so far: whole sixteens, and the last few too if `all`.
    PBD_INLINE void examine_found(bool all) {
        const int rest = all ? 0 : found % 16, begin = found - rest;
        if (begin > 0) examine(one, two, begin);
        found = rest;
        for (int s = 0; s < rest; ++s) {
            one[s] = one[begin + s];
            two[s] = two[begin + s];
        }
    }

    // Add the pairs of a member with others of a sixteen, and examine pairs once there are enough.
    PBD_INLINE void take(int k, int d, unsigned hits) {
        unfold(k, d, hits);
        if (found >= 16 * SIFTED) examine_found(false);
    }

    // Examine all candidates: sixteens of others are filtered by distance, and those with a hit are expanded into
    // pairs.
    PBD_APART void examine_candidates() {
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
            for (int n = 0; n < number; ++n)
                take(kept[2 * n], (unsigned)kept[2 * n + 1] >> 16, kept[2 * n + 1] & 0xFFFF);
        }
        if (length < 0) Search::scan(T(0), [&](int k, int d, unsigned hits) { take(k, d, hits); });
        examine_found(true);
    }

    // Examine the active pairs that may touch by now, according to their rank.
    PBD_APART void examine_active() {
        int* const from = active(0);
        int* const other = active(1);
        const int* const ranked = active(2);
        const int number = active_count();
        if (highest == RANKS - 1) return examine(from, other, number);
        for (int n = 0; n < number; ++n) {
            one[found] = from[n];
            two[found] = other[n];
            found += ranked[n] <= highest;
            if (found == 16 * SIFTED) examine_found(false);
        }
        examine_found(true);
    }

    // Examine all pairs that may touch now.
    PBD_INLINE void examine_all() {
        if (Options::SURFACES && !forgets)
            examine_active();
        else
            examine_candidates();
    }

    // Sum the contacts of each rigid body, which share its mass equally.
    PBD_INLINE void count_crowds() const {
        T* const crowds = moved;
        for (int b = 0; b < table.crowd_count; ++b) crowds[b] = T(0);
        for (int k = 0; k < count; ++k)
            if (table.owner.data[k] >= 0) crowds[table.owner.data[k]] += valence[k];
        for (int k = 0; k < count; ++k) crowd_of[k] = table.owner.data[k] < 0 ? T(1) : crowds[table.owner.data[k]];
        for (int b = 0; b < table.crowd_count; ++b) crowds[b] = T(0);
    }

    // Save the displacements of the first pass, and reset them for the second. Members of rigid bodies keep theirs,
    // since they move with their bodies.
    PBD_INLINE void begin_second_pass() const {
        if constexpr (Options::RIGID)
            for (int b = 0; b < table.crowd_count; ++b)
                bodies.carry(
                    *this, b, [&](int k, int a) { return moves[4 * k + a]; },
                    [&](int k) { return Vec3<T>{twists[3 * k], twists[3 * k + 1], twists[3 * k + 2]}; });
        for (int n = 0; n < met_count; ++n) {
            const int k = met[n];
            Row& move = *(Row*)(moves + 4 * k);
            Row& to = *(Row*)(moved + 4 * k);
            if constexpr (Options::RIGID) {
                if (in_body(k)) continue;
            }
            to = move;
            move = Row(T(0));
        }
    }

    // Move members by the displacements of the passes, and record by how many contacts a list was too short.
    PBD_APART void finish() const {
        PBD_CONTRACT_ON
        // Local copies: for all the compiler knows, the writes below change the members of this object.
        T* const contacts = valence;
        T* const again = moves;
        const T* const once = moved;
        const T* const rows = now;
        T* const to = Search::x + environment;
        const int* const particles = Search::members;
        T most = T(0);
        each_met([=, &most](int k) {
            Row place = *(const Row*)(rows + NUMBERS * k);
            if (Options::PASSES > 1 && !in_body(k)) place += *(const Row*)(once + 4 * k);
            place += *(const Row*)(again + 4 * k);
            for (int a = 0; a < 3; ++a) to[(ROW * particles[k] + a) * LANES] = place[a];
            most = wp::max(most, contacts[k]);
            contacts[k] = T(0);
            *(Row*)(again + 4 * k) = Row(T(0));
        });
        if constexpr (Options::RIGID)
            for (int b = 0; b < table.crowd_count; ++b)
                bodies.keep_twist(*this, b, 1, [&](int k) { return twists + 3 * k; });
        int& overflow = lists.overflow.data[Search::group * LANES + environment];
        overflow = wp::max(overflow, (int)most - table.capacity);
        if (!scales.roomy) return;
        for (int k = 0; k < count; ++k)
            if (Search::room_of(k)[environment] > T(0)) forget_push(*this, k, environment);
    }

    // Make those pairs active that may touch soon. If there is no room for all of them, save the rows of members
    // instead.
    PBD_APART void renew(const T* drift) {
        active_count() = 0;
        pass = RENEWING;
        scales.spread = spread() = drift[3 * LANES + environment];
        Search::place_ways(drift);
        Search::template scan<true>(
            T(LEAST_AHEAD) * scales.meter + T(BESIDE) * pulled_along(T(table.renewal - 1), scales),
            [&](int k, int d, unsigned hits) { take(k, d, hits); });
        examine_found(true);
        if (active_count() <= active_room) return;
        active_count() = -1;
        T* const to = renewed_rows();
        for (size_t n = 0; n < (size_t)NUMBERS * count; ++n) to[n] = now[n];
    }

    // Part the stored pairs in each pass.
    PBD_APART void part_touching() {
        constexpr int KEPT = Options::KEPT;
        T* const kept = lists.kept.data + Search::rank * lists.kept.shape[1];
        const auto sixteen = [&](int begin) -> Sixteen& { return *(Sixteen*)(kept + begin / 16 * KEPT); };
        for (int begin = 0; begin < touched; begin += 16) {
            const int number = wp::min(16, touched - begin);
            for (int s = 0; s < number; ++s) {
                one[s] = firsts[begin + s];
                two[s] = seconds[begin + s];
            }
            pad(one, two, number);
            Sixteen here;
            Sixteen& c = Options::PASSES > 1 ? sixteen(begin) : here;
            const Touch<Pairs> t = look_at(c, one, two, number);
            separate(c, t, W(T(0)), c.spots, false);
        }
        if constexpr (Options::PASSES > 1) {
            begin_second_pass();
            for (int begin = 0; begin < touched; begin += 16) separate_again(sixteen(begin));
        }
    }

    // Find the candidates of the current environment, unless its list is still valid.
    //
    // worn: whether it is no longer valid.
    PBD_INLINE void search(bool worn) {
        const bool anew = worn || *Search::length_of() < 0;
        if (anew || *Search::length_of() > 0) Search::place();
        if (anew) Search::make_list();
        length = *Search::length_of();
    }

    // Part all touching members of the current environment.
    //
    // worn:   whether its list of candidates, if there is one, is no longer valid.
    // roomy:  whether some members leave others room, or this is not known yet.
    // renews: whether active pairs are renewed.
    // drift:  if so, displacements of each environment: see find_agitation.
    PBD_INLINE void part_environment(bool worn, bool roomy, bool renews, T agitation, const T* drift) {
        now = Search::rows + Search::stride * environment;
        scales.size = Search::size();
        scales.inv_size = Search::inv_size();
        scales.roughness = Search::roughness();
        scales.agitation = agitation;
        scales.roomy = roomy;
        if (roomy) Search::change_rooms();
        found = touched = met_count = rebounds.count = 0;
        forgets = false;
        if constexpr (Options::SURFACES) {
            if (renews) renew(drift);
            forgets = active_count() < 0;
            scales.spread = spread();
            if (forgets) {  // examine whatever is near enough to touch
                Search::place();
                length = -1;
            }
        } else {
            search(worn);
        }
        pass = COUNTING;
        examine_all();
        if (touched == 0) return;
        if constexpr (Options::RIGID) count_crowds();
        if constexpr (Options::BOUNCY) scales.solved = rebounds.solve(scales.roughness);
        if (touched <= touching_room) {
            part_touching();
        } else {
            for (pass = 1; pass <= Options::PASSES; ++pass) {
                if (pass > 1) begin_second_pass();
                examine_all();
            }
        }
        finish();
    }

    // Part all touching members, one environment after another.
    //
    // renews:    whether active pairs are renewed.
    // rank:      highest rank of active pairs that are examined.
    // agitation: how much each environment moves.
    // drift:     if active pairs are renewed, displacements of each environment: see find_agitation.
    PBD_INLINE void part_all(bool renews, int rank, const T* agitation, const T* drift) {
        if constexpr (Options::RIGID)
            for (int k = 0; k < count; ++k) crowd_of[k] = T(1);
        T worn[LANES] = {}, roomy[LANES];
        highest = rank;
        Search::fill_rows(renews || !Options::SURFACES);
        if constexpr (!Options::SURFACES) Search::find_worn(worn);
        Search::find_roomy(roomy);
        for (environment = 0; environment < LANES; ++environment) {
            if (Search::sleeps()) continue;
            part_environment(worn[environment] > T(0), roomy[environment] > T(0), renews, agitation[environment],
                             drift);
        }
    }
};

}  // namespace pbd
#endif
