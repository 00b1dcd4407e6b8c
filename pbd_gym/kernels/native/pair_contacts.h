// Contacts on one thread.
//
// Pairs that are near enough are collected until there are sixteen, and looked at. Those of patches that may touch soon
// become active; of active ones, and of others at once, those that touch are kept. When the contacts of all members of
// the environment are counted, these are parted, in the same order. What the first pass has found out about sixteen of
// them stays for the second.
#pragma once
#include "active_pairs.h"
#include "pair_members.h"
#include "rebounds.h"

#if !PBD_BLOCK
namespace pbd {

template <class Group> struct PairContacts : PairMembers<Group> {
    using Search = PairMembers<Group>;
    using Options = typename Search::Options;
    using Pairs = typename Search::Pairs;
    using T = typename Search::T;
    using W = typename Search::W;
    using Row = typename Search::Row;
    using One = typename Search::One;
    static constexpr int LANES = Search::LANES, ROW = Search::ROW, NUMBERS = Search::NUMBERS;
    static constexpr int SIFTED = 64;                    // sixteens of others that are sifted at a time
    static constexpr int FOUND_ROOM = 16 * SIFTED + 32;  // pairs that are found then, and some before
    using Search::count;
    using Search::crowd_of;
    using Search::environment;
    using Search::fill;
    using Search::lists;
    using Search::moved;
    using Search::moves;
    using Search::now;
    using Search::pad;
    using Search::room_between;
    using Search::scales;
    using Search::table;
    using Search::valence;

    // Sixteen pairs that touch, as they are before any has been parted.
    struct Sixteen {
        Standing<Pairs> standing;
        Partners<Pairs, Options::RIGID> partners;
        W dx, dy, dz;  // from the second to the first
        W mine, its;   // contacts of each
        int from[16], other[16];
        int hits;  // a bit for each that there is
    };
    static_assert(sizeof(Sixteen) <= Options::KEPT * sizeof(T), "room for sixteen pairs");

    const CarriedBodies<Group> bodies;
    Rebounds<Group, 1> rebounds;
    const int touching_room;  // pairs that touch that can be kept
    int* const firsts;        // these
    int* const seconds;
    int* const met;         // members with contacts
    const int active_room;  // pairs that can be active
    int* const one;         // pairs that are to be looked at
    int* const two;
    int length = 0;   // of its list
    int found = 0;    // pairs that are to be looked at
    int touched = 0;  // pairs that touch
    int met_count = 0;
    bool forgets = false;  // whether there is no room for its active pairs: then all candidates are looked at
    int highest = 0;       // rank of active pairs that are looked at
    // What becomes of the pairs that are looked at: they are made active, or counted, or parted by a pass.
    static constexpr int RENEWING = -1, COUNTING = 0;
    int pass = COUNTING;

    // one, two: room for FOUND_ROOM numbers each.
    template <class Model, class Body, class Lists, class Rigid>
    PBD_INLINE PairContacts(const Model& model, const Body& body, const Lists& lists, const Rigid& rigid, int group,
                            ContactScales<T> scales, int* one, int* two)
        : Search(model, body, lists, group, scales),
          bodies(rigid, Search::rank),
          rebounds(*this, bodies, lists, Search::moves, true),
          touching_room(lists.touching.shape[2]),
          firsts(lists.touching.data + Search::rank * 3 * touching_room),
          seconds(firsts + touching_room),
          met(seconds + touching_room),
          active_room(lists.active.shape[2] / 3 - 16),
          one(one),
          two(two) {}

    // Active pairs of the environment that is worked on: first and second members, and ranks; and how many there are.
    PBD_INLINE int* active(int column) const {
        return lists.active.data + ((Search::rank * LANES + environment) * 3 + column) * (active_room + 16);
    }
    PBD_INLINE int& active_count() const { return lists.counts.data[(Search::rank * LANES + environment) * 2 + 1]; }
    // How far its members moved against each other when active pairs were last renewed.
    PBD_INLINE T& spread() const { return lists.spread.data[Search::rank * LANES + environment]; }
    // Rows of all its members when active pairs were last renewed.
    PBD_INLINE T* renewed_rows() const {
        return lists.renewed.data + Search::rank * lists.renewed.shape[1] + Search::stride * environment;
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
    PBD_APART Touch<Pairs> touch_beyond_room(const One& a, const One& b, const int* from, const int* other) const {
        return touch<Pairs, Options, true>(a, b, scales, room_between(from, other));
    }
    // Restitution of sixteen pairs.
    PBD_INLINE W elastic(const int* from, const int* other) const {
        W mean = W(T(0));
        if constexpr (Options::BOUNCY)
            for (int s = 0; s < 16; ++s)
                mean[s] = T(0.5) * (table.restitution.data[from[s]] + table.restitution.data[other[s]]);
        return mean;
    }

    // Which of sixteen pairs have at most the given rank, a bit for each, sixteen bits for each rank.
    PBD_APART unsigned long long ranks(const T* rows, const int* from, const int* other) const {
        if constexpr (Options::SURFACES) {
            One a, b;
            fill(a, rows, from);
            fill(b, rows, other);
            const W rank = rank_of<Pairs, Options>(a, b, scales);
            unsigned long long found = 0;
            for (int r = 0; r < RANKS; ++r) found |= (unsigned long long)bits(rank <= T(r)) << 16 * r;
            return found;
        } else {
            return 0;
        }
    }

    // Which of sixteen pairs touch, a bit for each.
    PBD_INLINE unsigned touching(const int* from, const int* other) const {
        One a, b;
        fill(a, now, from);
        fill(b, now, other);
        const unsigned hits = bits(touch_of(a, b, from, other).inside > W(T(0)));
        return forgets && hits ? hits & ranks(renewed_rows(), from, other) >> 16 * highest : hits;
    }

    // Make those active that may touch soon: as many as there is room for.
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

    // Visit the members with contacts. Those of patches are a few of many: others are looked for.
    template <class Visit> PBD_INLINE void each_met(Visit&& visit) const {
        if constexpr (Options::SURFACES) {
            for (int n = 0; n < met_count; ++n) visit(met[n]);
        } else {
            const T* const contacts = valence;
            for (int k = 0, end = count; k < end; ++k)
                if (contacts[k] > T(0)) visit(k);
        }
    }

    // Count the contacts of those that touch, and keep as many as there is room for.
    PBD_INLINE void keep(const int* from, const int* other, unsigned hits) {
        // In registers, since what is written could be these members, for all that the compiler knows.
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
    //
    // again: whether in the second pass.
    PBD_INLINE void find_shares(Lender<Pairs, Options::RIGID>& m, const Touch<Pairs>& t, const int* at, W contacts,
                                bool again) const {
        PBD_CONTRACT_ON
        if constexpr (Options::RIGID) {
            m.shares = contacts;
            if constexpr (!Options::BOUNCY) return;
            for (int s = 0; s < 16; ++s) {
                const T* const p = now + NUMBERS * at[s];
                const T* const q = moved + 4 * at[s];
                const T x = again ? p[0] + q[0] : p[0], y = again ? p[1] + q[1] : p[1], z = again ? p[2] + q[2] : p[2];
                m.shares[s] =
                    bodies.shares(*this, at[s], {x, y, z}, {t.nx[s], t.ny[s], t.nz[s]}, contacts[s], m.crowd[s]);
            }
        }
    }

    // Part sixteen pairs. What moves a member is summed in the order of pairs.
    PBD_INLINE void separate(Sixteen& c, const Touch<Pairs>& t, W gained, bool again) const {
        PBD_CONTRACT_ON
        W mx, my, mz, p[4], q[4];
        find_shares(c.partners.a, t, c.from, c.mine, again);
        find_shares(c.partners.b, t, c.other, c.its, again);
        part<Pairs, Options>(c.partners, t, c.mine, c.its, gained, elastic(c.from, c.other), scales, mx, my, mz);
        in_rows(p, c.partners.a.w * mx, c.partners.a.w * my, c.partners.a.w * mz);
        in_rows(q, -c.partners.b.w * mx, -c.partners.b.w * my, -c.partners.b.w * mz);
        T* const to = moves;
        for (unsigned hits = c.hits; hits; hits &= hits - 1) {
            const int s = __builtin_ctz(hits);
            *(Row*)(to + 4 * c.from[s]) += row(p, s);
            *(Row*)(to + 4 * c.other[s]) += row(q, s);
        }
    }

    // Find out about up to sixteen pairs what parting them takes.
    PBD_INLINE Touch<Pairs> look_at(Sixteen& c, const int* from, const int* other, int number) const {
        PBD_CONTRACT_ON
        One a, b;
        fill(a, now, from);
        fill(b, now, other);
        c.partners = {a, b};
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

    // Part pairs a second time, where the first pass has led them.
    PBD_APART void separate_again(Sixteen& c) const {
        PBD_CONTRACT_ON
        W ax, ay, az, bx, by, bz, none;
        Search::columns(moved, 4, c.from, ax, ay, az, none);
        Search::columns(moved, 4, c.other, bx, by, bz, none);
        const W gx = ax - bx, gy = ay - by, gz = az - bz;
        const Touch<Pairs> t = meet<Pairs>(c.standing, c.dx + gx, c.dy + gy, c.dz + gz, scales);
        separate(c, t, gx * t.nx + gy * t.ny + gz * t.nz, true);
    }

    // Part those of sixteen pairs that touch, for which there was no room.
    PBD_APART void separate_forgotten(const int* from, const int* other, int number) const {
        Sixteen c;
        const Touch<Pairs> t = look_at(c, from, other, number);
        c.hits &= touching(from, other);
        if constexpr (Options::PASSES > 1) {
            if (pass > 1) return separate_again(c);
        }
        separate(c, t, W(T(0)), false);
    }

    // Add the pairs of a member with others of a sixteen. Which of them there are, and how many, nobody could predict:
    // so there is no branch on that, unless they are more than four.
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

    // Look at pairs, sixteen at a time. They may be filled up to whole sixteens.
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
            // First all that touch, and then the branches on it: until such a branch is known to be taken or not, work
            // on the next sixteen may be in vain.
            unsigned hits[SIFTED + 2];
            const int stop = wp::min(end, begin + SIFTED + 2);
            for (int n = begin; n < stop; ++n) hits[n - begin] = touching(from + 16 * n, other + 16 * n);
            if (rest && stop == end) hits[end - 1 - begin] &= (1u << rest) - 1;
            for (int n = begin; n < stop; ++n) keep(from + 16 * n, other + 16 * n, hits[n - begin]);
        }
    }
    // Make those of them active that may touch soon.
    PBD_APART void rank_all(const int* from, const int* other, int end, int rest) const {
        for (int n = 0; n < end; ++n) {
            unsigned long long hits = ranks(now, from + 16 * n, other + 16 * n);
            if (rest && n == end - 1) hits &= ((1ull << rest) - 1) * 0x1000100010001ull;
            activate(from + 16 * n, other + 16 * n, hits);
        }
    }

    // Look at the pairs that have been found, and at the last few if `all` are to be.
    PBD_INLINE void examine_found(bool all) {
        const int rest = all ? 0 : found % 16, begin = found - rest;
        if (begin > 0) examine(one, two, begin);
        found = rest;
        for (int s = 0; s < rest; ++s) {
            one[s] = one[begin + s];
            two[s] = two[begin + s];
        }
    }

    // Take the pairs of a member with others of a sixteen, to be looked at.
    PBD_INLINE void take(int k, int d, unsigned hits) {
        unfold(k, d, hits);
        if (found >= 16 * SIFTED) examine_found(false);
    }

    // Look at all candidates: sixteens of others are sifted, and then those with a hit are unfolded.
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

    // Look at the active pairs that may touch by now.
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

    // Look at all pairs that may touch now.
    PBD_INLINE void examine_all() {
        if (Options::SURFACES && !forgets)
            examine_active();
        else
            examine_candidates();
    }

    // Whether a member goes where its body goes.
    PBD_INLINE bool in_body(int k) const { return Options::RIGID && table.owner.data[k] >= 0; }

    // Sum the contacts of each rigid body: each of them has its part of the whole body.
    PBD_INLINE void count_crowds() const {
        T* const crowds = moved;
        for (int b = 0; b < table.crowd_count; ++b) crowds[b] = T(0);
        for (int k = 0; k < count; ++k)
            if (table.owner.data[k] >= 0) crowds[table.owner.data[k]] += valence[k];
        for (int k = 0; k < count; ++k) crowd_of[k] = table.owner.data[k] < 0 ? T(1) : crowds[table.owner.data[k]];
        for (int b = 0; b < table.crowd_count; ++b) crowds[b] = T(0);
    }

    // Note what the first pass has moved members by, and make room for what the second does. Members of rigid bodies go
    // with these, and keep what displaces them.
    PBD_INLINE void begin_second_pass() const {
        if constexpr (Options::RIGID)
            for (int b = 0; b < table.crowd_count; ++b)
                bodies.carry(*this, b, [&](int k, int a) { return moves[4 * k + a]; });
        for (int n = 0; n < met_count; ++n) {
            const int k = met[n];
            Row& move = *(Row*)(moves + 4 * k);
            Row& to = *(Row*)(moved + 4 * k);
            if constexpr (Options::RIGID) {
                if (in_body(k)) {
                    const T* const at = now + NUMBERS * k;
                    to = Row(T(0));
                    if (at[3] > T(0)) bodies.carried(*this, k, at[0], at[1], at[2], moved + 4 * k);
                    continue;
                }
            }
            to = move;
            move = Row(T(0));
        }
    }

    // Move members to where the passes lead them, and note how many contacts were too many for a list.
    PBD_APART void finish() const {
        PBD_CONTRACT_ON
        // Copies, since what is written could be the members of this object, for all that the compiler knows.
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
        int& overflow = lists.overflow.data[Search::group * LANES + environment];
        overflow = wp::max(overflow, (int)most - table.capacity);
        if (!scales.roomy) return;
        for (int k = 0; k < count; ++k)
            if (Search::room_of(k)[environment] > T(0)) forget_push(*this, k, environment);
    }

    // Make pairs active that may touch soon, and where there is no room for all of them note where members were.
    PBD_APART void renew(const T* drift) {
        active_count() = 0;
        pass = RENEWING;
        scales.spread = spread() = drift[3 * LANES + environment];
        Search::place_ways(drift);
        Search::template scan<true>(T(LEAST_AHEAD) + T(BESIDE) * pulled_along(T(table.renewal - 1), scales),
                                    [&](int k, int d, unsigned hits) { take(k, d, hits); });
        examine_found(true);
        if (active_count() <= active_room) return;
        active_count() = -1;
        T* const to = renewed_rows();
        for (size_t n = 0; n < (size_t)NUMBERS * count; ++n) to[n] = now[n];
    }

    // Part the pairs that touch, as often as is asked for.
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
            separate(c, t, W(T(0)), false);
        }
        if constexpr (Options::PASSES > 1) {
            begin_second_pass();
            for (int begin = 0; begin < touched; begin += 16) separate_again(sixteen(begin));
        }
    }

    // Find the candidates of the environment that is worked on, if they are not known.
    //
    // worn: whether its list is.
    PBD_INLINE void search(bool worn) {
        const bool anew = worn || *Search::length_of() < 0;
        if (anew || *Search::length_of() > 0) Search::place();
        if (anew) Search::make_list();
        length = *Search::length_of();
    }

    // Part all members that touch in the environment that is worked on.
    //
    // worn:   whether the list of its candidates is, if it has one.
    // roomy:  whether some of them leave others room, or nobody has looked yet.
    // renews: whether active pairs are renewed.
    // drift:  then by how much members move in the mean in each environment.
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
            if (forgets) {  // whatever is near enough to touch is looked at
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

    // Part all members that touch, environment after environment.
    //
    // renews:    whether active pairs are renewed.
    // rank:      the highest of those that are looked at.
    // agitation: how much each environment moves.
    // drift:     by how much its members move in the mean, if active pairs are renewed.
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
