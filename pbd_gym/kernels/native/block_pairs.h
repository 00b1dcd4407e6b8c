// Active pairs of patches in a block of threads: each pair is computed once, by any thread.
//
// Most members have few active pairs, some have many. If each thread walked through the list of a member, most of its
// warp would wait, and every pair would be computed twice. So renewed lists are merged into one list of pairs, in any
// order, and neighbouring threads take neighbouring pairs. Those that touch are collected and distributed likewise in
// each pass. Members then sum the results of their pairs in the order of the other members' numbers. This gives the
// same sums, to the bit, as block_contacts.h, which takes over where a list is too short or contacts bounce.
#pragma once
#include "block_contacts.h"

#if PBD_BLOCK
namespace pbd {

template <class Group> struct BlockPairs : BlockContacts<Group> {
    using Contacts = BlockContacts<Group>;
    using T = typename Contacts::T;
    using One = typename Contacts::One;
    using Options = typename Contacts::Options;
    static constexpr bool LISTS_ACTIVE = Contacts::LISTS_ACTIVE;
    using Contacts::active;
    using Contacts::active_lengths;
    using Contacts::count;
    using Contacts::delta;
    using Contacts::entry;
    using Contacts::lists;
    using Contacts::member;
    using Contacts::members;
    using Contacts::more;
    using Contacts::rank;
    using Contacts::table;
    using Contacts::thread;
    using Contacts::thread_count;
    using Contacts::valence;

    const int room;       // largest number of pairs
    int* const first;     // members of each pair: the one with the lower number,
    int* const second;    // and the other one, with the rank of the pair
    int* const touches;   // whether each pair touches
    int* const touched;   // pairs that touch
    T* const impulses;    // corrections that part them, per inverse mass
    int* const incident;  // indices of a member's pairs, in the order of its active ones
    int& pair_count;      // exceeds `room` if lists of members are used

    template <class Model, class Body, class Lists, class Rigid>
    PBD_INLINE BlockPairs(const Model& model, const Body& body, const Lists& lists, const Rigid& rigid, int group,
                          int thread, int thread_count, ContactScales<T> scales, const T* agitation, int highest)
        : Contacts(model, body, lists, rigid, group, thread, thread_count, scales, agitation, highest),
          room(lists.pairs.shape[2]),
          first(lists.pairs.data + rank * 4 * room),
          second(first + room),
          touches(second + room),
          touched(touches + room),
          impulses(lists.impulses.data + rank * 3 * room),
          incident(Contacts::touching),
          pair_count(lists.pair_counts.data[group]) {}

    // How far two members may move, and stray, until active pairs are renewed.
    PBD_INLINE T headway(int k, int other) const {
        PBD_CONTRACT_ON
        return T(1.001 * (1 + ASTRAY * BESIDE)) *
                   (Contacts::note(Contacts::HEADWAY, k) + Contacts::note(Contacts::HEADWAY, other)) +
               T(LEAST_AHEAD) * T(Contacts::body.meter) +
               T(BESIDE) * pulled_along(T(table.renewal - 1), Contacts::scales_here());
    }

    // Whether a member moves so far that others which are as quick may come from beyond the lists of candidates. Two
    // members that are not quick cannot meet like this.
    PBD_INLINE bool is_quick(int k) const { return headway(k, k) > table.margin; }

    // Append a pair to the list of a member, in any order.
    PBD_INLINE void list(int k, int other, int rank) const {
        const int at = atomic_add(active_lengths[k], 1);
        if (at < table.capacity) active[entry(k, at)] = RANKS * other + rank;
    }

    // List the active pairs of a member with their ranks. Where two members may move farther than lists of candidates
    // reach, at least one of them is quick, so each member is compared with all quick ones.
    PBD_INLINE void renew(int k, const int* quick, int quick_count) const {
        PBD_CONTRACT_ON
        for (int n = 0; n < Contacts::lengths[k]; ++n) {
            const int other = Contacts::near[entry(k, n)];
            if (!(headway(k, other) <= table.margin)) continue;
            const int rank = Contacts::rank_among_active(k, other);
            if (rank < RANKS) list(k, other, rank);
        }
        for (int n = 0; n < quick_count; ++n) {
            const int other = quick[n];
            const T far = headway(k, other), reach = Contacts::widest + far;
            if (far <= table.margin || other == k) continue;
            if (!(Contacts::distance_square(k, other) < reach * reach && Contacts::strangers(k, other))) continue;
            const int rank = Contacts::rank_among_active(k, other);
            if (rank >= RANKS) continue;
            list(k, other, rank);
            if (!is_quick(k)) list(other, k, rank);
        }
    }

    // Sort the active pairs of a member by the numbers of the others. The list is dropped if these, or the candidates,
    // were too many.
    PBD_INLINE void sort_active(int k) const {
        if (Contacts::lengths[k] < 0 || active_lengths[k] > table.capacity) active_lengths[k] = -1;
        for (int n = 1; n < active_lengths[k]; ++n) {
            const int pair = active[entry(k, n)];
            int at = n;
            for (; at > 0 && active[entry(k, at - 1)] > pair; --at) active[entry(k, at)] = active[entry(k, at - 1)];
            active[entry(k, at)] = pair;
        }
    }

    // Store the pairs of a member with others of higher numbers.
    PBD_INLINE void note_pairs(int k) const {
        const int length = active_lengths[k];
        if (length < 0) atomic_max(pair_count, room + 1);
        int lower = 0;
        while (lower < length && active[entry(k, lower)] / RANKS < k) ++lower;
        if (lower >= length) return;
        const int before = atomic_add(pair_count, length - lower);
        if (before + length - lower > room) return;
        for (int n = lower; n < length; ++n) {
            const int pair = before + n - lower, other = active[entry(k, n)] / RANKS;
            first[pair] = k;
            second[pair] = active[entry(k, n)];
            incident[entry(k, n)] = pair;
            for (int beside = 0; beside < active_lengths[other]; ++beside)
                if (active[entry(other, beside)] / RANKS == k) incident[entry(other, beside)] = pair;
        }
    }

    // Renew active pairs.
    PBD_INLINE void renew_pairs() {
        PBD_SHARED int quick_count;
        int* const quick = touched;  // free here: each substep fills it again
        Contacts::environment = 0;
        if (thread == 0) quick_count = pair_count = 0;
        sync();
        for (int k = thread; k < count; k += thread_count) {
            active_lengths[k] = 0;
            if (is_quick(k)) quick[atomic_add(quick_count, 1)] = k;
        }
        sync();
        for (int k = thread; k < count; k += thread_count) renew(k, quick, quick_count);
        sync();
        for (int k = thread; k < count; k += thread_count) sort_active(k);
        sync();
        for (int k = thread; k < count; k += thread_count) note_pairs(k);
        sync();
    }

    // Find the pairs that touch, and count the contacts of members. Returns the number of these pairs.
    PBD_INLINE int find_touching() {
        PBD_CONTRACT_ON
        PBD_SHARED int found;
        for (int k = thread; k < count; k += thread_count) valence[k] = T(0);
        if (thread == 0) found = 0;
        sync();
        const T widest = Contacts::widest;
        Contacts::environment = 0;
        for (int pair = thread; pair < pair_count; pair += thread_count) {
            touches[pair] = 0;
            const int one = first[pair], two = second[pair] / RANKS;
            if (second[pair] % RANKS > Contacts::highest) continue;
            if (!(Contacts::distance_square(one, two) < widest * widest)) continue;
            if (!(Contacts::in_order(one, member(one), two, member(two)).inside > T(0))) continue;
            touches[pair] = 1;
            touched[atomic_add(found, 1)] = pair;
            atomic_add(valence[one], T(1));  // exact for whole numbers in any order
            atomic_add(valence[two], T(1));
        }
        sync();
        return found;
    }

    // Compute the corrections of touching pairs, and sum them for each member.
    //
    // sum_of: (member) -> pointer to its sum.
    template <class SumOf> PBD_INLINE void part_pairs(int touching_count, bool again, SumOf&& sum_of) {
        PBD_CONTRACT_ON
        Contacts::environment = 0;
        for (int n = thread; n < touching_count; n += thread_count) {
            const int pair = touched[n], one = first[pair], two = second[pair] / RANKS;
            T impulse[3] = {T(0), T(0), T(0)};  // stays zero if rounding on a GPU loses the contact here
            Contacts::part_pair(one, member(one), two, member(two), again, impulse);
            for (int a = 0; a < 3; ++a) impulses[a * room + pair] = impulse[a];
        }
        sync();
        for (int k = thread; k < count; k += thread_count) {
            if (!(valence[k] > T(0))) continue;
            const T w = member(k).w;
            T* const sum = sum_of(k);
            for (int n = 0; n < active_lengths[k]; ++n) {
                const int pair = incident[entry(k, n)];
                if (!touches[pair]) continue;
                const T share = k == first[pair] ? w : -w;
                for (int a = 0; a < 3; ++a) {
                    const T gone = share * impulses[a * room + pair];  // rounded before the addition
                    sum[a] += gone;
                }
                const int other = k == first[pair] ? second[pair] / RANKS : first[pair];
                const T impulse[3] = {impulses[pair], impulses[room + pair], impulses[2 * room + pair]};
                Contacts::twist(k, other, impulse);
            }
        }
        sync();
    }

    // Part all touching members, from their lists of candidates.
    //
    // renews: whether active pairs are renewed.
    PBD_INLINE void part_members(bool renews) {
        Contacts::change_rooms(renews);
        if constexpr (LISTS_ACTIVE) {
            if (renews) renew_pairs();
            if (!Options::BOUNCY && pair_count <= room) {  // bouncing contacts need the lists of members
                const int touching_count = find_touching();
                Contacts::count_crowds();
                part_pairs(touching_count, false, [&](int k) { return delta + 3 * members[k]; });
                Contacts::part_again([&](auto&& sum_of) { part_pairs(touching_count, true, sum_of); });
                Contacts::finish_all();
                return;
            }
        }
        Contacts::part_listed();
    }
};

}  // namespace pbd
#endif
