// Search for pairs of members that may touch, where a block of threads serves a group.
//
// Candidates come from a periodic grid of anchors, one grid per environment. Anchors are positions within half a skin
// of their members. Members that share a cell through wrap-around are far apart, and the distance test rejects them
// (Teschner et al. 2003, with a modulus in place of a hash). The environments of a group share lists: each member has
// one list, in any order, of all members whose anchors are near its own in some lane. Lists of neighbouring members are
// interleaved, because neighbouring threads read them together. All lists are renewed once something has moved by half
// a skin, relative to the mean motion of a sample of members: falling or being carried as a whole does not count.
#pragma once
#include "contact_group.h"

#if PBD_BLOCK
namespace pbd {

template <class Group> struct GridSearch : Group {
    using L = typename Group::L;
    using T = typename L::T;
    using V = typename L::V;
    static constexpr int LANES = Group::LANES, ROW = Group::ROW;
    static constexpr int SAMPLES = 8;  // members sampled for the mean motion
    using Group::anchors;
    using Group::count;
    using Group::environment;
    using Group::group;
    using Group::lists;
    using Group::members;
    using Group::rank;
    using Group::table;

    const int thread, thread_count;
    int* const near;      // candidates of each member
    int* const touching;  // those in contact
    int* const lengths;   // lengths of these lists, -1 where they overflowed
    int* const touching_lengths;
    const int mask;        // cells along an axis, minus one
    const int cell_count;  // cells of a grid
    const T inv_cell;

    template <class Model, class Body, class Lists>
    PBD_INLINE GridSearch(const Model& model, const Body& body, const Lists& lists, int group, int thread,
                          int thread_count)
        : Group(model, body, lists, group),
          thread(thread),
          thread_count(thread_count),
          near(lists.near.data + rank * count * table.capacity),
          touching(lists.touching.data + rank * count * table.capacity),
          lengths(lists.counts.data + rank * 3 * count),
          touching_lengths(lengths + count),
          mask((1 << table.bits) - 1),
          cell_count(1 << (3 * table.bits)),
          inv_cell(T(1) / table.cell) {}

    // Index of entry n of member k's list.
    PBD_INLINE int entry(int k, int n) const { return n * count + k; }

    // Position of a member in the current environment, and the normal of its patch.
    PBD_INLINE wp::vec_t<3, T> at(int k) const {
        const T* const p = Group::place_of(k) + environment;
        return {p[0], p[LANES], p[2 * LANES]};
    }
    PBD_INLINE wp::vec_t<3, T> facing(int k) const {
        const T* const n = Group::patches + 4 * k * LANES + environment;
        return {n[0], n[LANES], n[2 * LANES]};
    }

    // Find whether something has moved by half a skin.
    PBD_INLINE void find_stale() const {
        PBD_CONTRACT_ON
        const T room = table.skin - table.margin, limit = T(0.25) * room * room;
        T worst[LANES], gone[3 * LANES];
        const int step = (count + SAMPLES - 1) / SAMPLES;
        for (int lane = 0; lane < L::ROUNDS; ++lane) {
            const V shrink = Group::inv_sizes(lane);
            V number = V(T(0)), mean[3] = {number, number, number};
            for (int k = 0; k < count; k += step) {
                for (int a = 0; a < 3; ++a)
                    mean[a] += shrink * L::load(Group::place_of(k) + a * LANES, lane) -
                               L::load(anchors + (3 * k + a) * LANES, lane);
                number += T(1);
            }
            for (int a = 0; a < 3; ++a) L::store(gone + a * LANES, lane, mean[a] / number);
            L::store(worst, lane, V(T(0)));
        }
        for (int k = thread; k < count; k += thread_count) {
            for (int lane = 0; lane < L::ROUNDS; ++lane) {
                const V shrink = Group::inv_sizes(lane);
                V d2 = V(T(0));
                for (int a = 0; a < 3; ++a) {
                    const V d = shrink * L::load(Group::place_of(k) + a * LANES, lane) -
                                L::load(anchors + (3 * k + a) * LANES, lane) - L::load(gone + a * LANES, lane);
                    d2 += d * d;
                }
                const V most = L::load(worst, lane);
                L::store(worst, lane, d2 <= most ? most : d2);  // propagates NaN
            }
        }
        if (thread == 0) lists.stale.data[group] = 0;
        sync();
        for (int n = 0; n < LANES; ++n)
            if (!(worst[n] <= limit)) lists.stale.data[group] = 1;
        sync();
    }

    // Cell of a point.
    PBD_INLINE int cell_at(T px, T py, T pz) const {
        const int cx = (int)wp::floor(px * inv_cell), cy = (int)wp::floor(py * inv_cell);
        const int cz = (int)wp::floor(pz * inv_cell);
        return (((cz & mask) << table.bits | (cy & mask)) << table.bits) | (cx & mask);
    }

    struct alignas(4 * sizeof(T)) Spot {  // loaded at once
        T x, y, z, member;
    };

    // Sort the members of an environment by cell: count, compute the running sum, and fill each cell from its end.
    PBD_INLINE void sort(int* start, int* cell_of, Spot* sorted) const {
        for (int c = thread; c <= cell_count; c += thread_count) start[c] = 0;
        sync();
        for (int k = thread; k < count; k += thread_count) {
            const T* const p = anchors + 3 * LANES * k + environment;
            cell_of[k] = cell_at(p[0], p[LANES], p[2 * LANES]);
            atomic_add(start[cell_of[k]], 1);
        }
        sync();
        // Each thread sums its share of the cells, then adds the shares before it.
        const int share = (cell_count + thread_count) / thread_count;
        int sum = 0;
        for (int c = thread * share; c < wp::min(thread * share + share, cell_count); ++c) sum += start[c];
        PBD_SHARED int sums[1024];
        sums[thread] = sum;
        sync();
        int total = 0;
        for (int n = 0; n < thread; ++n) total += sums[n];
        for (int c = thread * share; c < wp::min(thread * share + share, cell_count); ++c) {
            total += start[c];
            start[c] = total;
        }
        if (thread == 0) start[cell_count] = count;
        sync();
        for (int k = thread; k < count; k += thread_count) {
            const T* const p = anchors + 3 * LANES * k + environment;
            sorted[atomic_add(start[cell_of[k]], -1) - 1] = {p[0], p[LANES], p[2 * LANES], T(k)};
        }
        sync();
    }

    // Add the members in the cells around a member to its list, unless an earlier lane has added them. A list that
    // overflows is marked as invalid.
    PBD_INLINE void look_up(int k, const int* start, int cell, const Spot* sorted) const {
        PBD_CONTRACT_ON
        const T* const p = anchors + 3 * LANES * k + environment;
        const T px = p[0], py = p[LANES], pz = p[2 * LANES];
        const int cx = cell & mask, cy = (cell >> table.bits) & mask, cz = cell >> (2 * table.bits);
        int length = lengths[k];
        const int earlier = length;
        const auto add = [&](int other) {
            for (int n = 0; n < earlier; ++n)
                if (near[entry(k, n)] == other) return;
            if (length < table.capacity) near[entry(k, length)] = other;
            ++length;
        };
        for (int row = 0; row < 9 && earlier >= 0; ++row) {
            const int y = (cy + row % 3 - 1) & mask, z = (cz + row / 3 - 1) & mask;
            const int line = (z << table.bits | y) << table.bits;
            // The three cells of a row are adjacent, unless the grid wraps around between them.
            const bool whole = cx > 0 && cx < mask;
            for (int part = 0; part < (whole ? 1 : 3); ++part) {
                const int first = line + (whole ? cx - 1 : (cx + part - 1) & mask);
                const int end = start[first + (whole ? 3 : 1)];
                for (int at = start[first]; at < end; ++at) {
                    const Spot q = sorted[at];
                    const T dx = px - q.x, dy = py - q.y, dz = pz - q.z;
                    const T d2 = dx * dx + dy * dy + dz * dz;
                    if (!(d2 < table.cell * table.cell)) continue;
                    const int other = (int)q.member;
                    if (other == k || !(table.alike || d2 < Group::limit_of(k, other, table.skin))) continue;
                    if (Group::strangers(k, other)) add(other);
                }
            }
        }
        lengths[k] = length <= table.capacity ? length : -1;
    }

    // Make sure that the lists hold all pairs that may touch.
    PBD_INLINE void search() {
        PBD_CONTRACT_ON
        find_stale();
        if (!lists.stale.data[group]) return;
        int* const start = lists.cells.data + rank * lists.cells.shape[1];
        int* const cell_of = start + cell_count + 1;
        Spot* const sorted = (Spot*)(lists.spots.data + rank * 4 * count);
        for (int k = thread; k < count; k += thread_count) {
            lengths[k] = 0;
            for (environment = 0; environment < LANES; ++environment)
                for (int a = 0; a < 3; ++a)
                    anchors[(3 * k + a) * LANES + environment] =
                        Group::inv_size() * Group::place_of(k)[a * LANES + environment];
        }
        for (environment = 0; environment < LANES; ++environment) {
            sort(start, cell_of, sorted);
            for (int k = thread; k < count; k += thread_count) look_up(k, start, cell_of[k], sorted);
            sync();
        }
    }
};

}  // namespace pbd
#endif
