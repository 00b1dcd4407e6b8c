// Piercings: edges of a surface, rope or body that pass through a triangle of a surface.
//
// Contacts keep layers apart, but hands that pull hard enough pull cloth through itself. Contact then holds it on the
// wrong side, so the affected environments are reported. Candidates are the pairs that may touch, and neighbours that
// face different ways, which contacts skip: a sheet has to turn before it can pass through itself. Where an edge
// crosses the plane of a nearby patch, its triangles are tested one by one. Neighbours, and the front and back of a
// shirt, are kept apart by constraints at their particles only: where both are creased, edges cut into triangles by a
// fraction of the thickness. Between those only edges that pass through by more than a thickness count.
#pragma once
#include "grid_search.h"
#include "pair_search.h"

namespace pbd {

// Cosine of 45 degrees: neighbours whose normals differ by less are not tested.
constexpr double TURNED = 0.7;

// Search: provides candidates, positions (`at`) and normals (`facing`) of members.
template <class Search> struct Piercings : Search {
    using T = typename Search::T;
    using Point = wp::vec_t<3, T>;
    static constexpr int LANES = Search::LANES, ROW = Search::ROW;
    using Search::at;
    using Search::count;
    using Search::environment;
    using Search::facing;
    using Search::group;
    using Search::lists;
    using Search::table;

    const int edges;
    int* const pierced;  // per edge, a bit for each environment in which it passes through a triangle
    const T nearness;    // range in which all pairs are candidates, in sums of two discs' radii

    // searched: constructor arguments of Search.
    template <class Lists, class... Searched>
    PBD_INLINE Piercings(T nearness, const Lists& lists, const Searched&... searched)
        : Search(searched...),
          edges(lists.pierced.shape[1]),
          pierced(lists.pierced.data + Search::rank * edges),
          nearness(nearness) {}

    // Whether an edge from a along d passes through the triangle of the origin, u and v with the given normal, with
    // both ends at least `least` away from its plane: Moeller and Trumbore 1997, doi:10.1080/10867651.1997.10487468.
    PBD_INLINE static bool pierces(Point u, Point v, Point normal, Point a, Point d, T least) {
        PBD_CONTRACT_ON
        const T slope = wp::dot(normal, d), above = wp::dot(normal, a), below = above + slope;
        const T nearer = wp::min(above * above, below * below);
        if (above * below >= T(0) || nearer < least * least * wp::dot(normal, normal)) return false;
        const Point moment = wp::cross(a, d);
        const T p = -wp::dot(moment, v) / slope, q = wp::dot(moment, u) / slope;
        return p >= T(0) && q >= T(0) && p + q <= T(1);
    }

    // Whether the edge between two members passes through a triangle of a third.
    PBD_INLINE bool goes_through(int k, int b, int other) const {
        const Point corner = at(other), a = at(k) - corner, d = at(b) - at(k);
        for (int f = table.fan_start.data[other]; f < table.fan_start.data[other + 1]; ++f) {
            const int second = table.fan.data[2 * f], third = table.fan.data[2 * f + 1];
            if (k == second || k == third || b == second || b == third) continue;
            const Point u = at(second) - corner, v = at(third) - corner;
            if (pierces(u, v, wp::cross(u, v), a, d, T(0))) return true;
        }
        return false;
    }

    // Whether two members are within the range in which all pairs are candidates, whatever candidates other
    // environments add.
    PBD_INLINE bool close(int k, int other) const {
        PBD_CONTRACT_ON
        const T discs = nearness * (table.traits.data[4 * k + 1] + table.traits.data[4 * other + 1]);
        // A ball has no disc.
        const T halos = wp::min(table.halo.data[k] + table.halo.data[other], Search::widest);
        const T reach = (is_patch(k) && is_patch(other) ? discs : halos) * Search::size();
        const Point apart = at(k) - at(other);
        return wp::dot(apart, apart) < reach * reach;
    }

    PBD_INLINE bool is_patch(int k) const { return table.traits.data[4 * k + 1] > T(0); }

    PBD_INLINE void mark(int r) const { atomic_or(pierced[table.ring.data[2 * r + 1]], 1 << environment); }

    // Mark edges of a member that cross the plane of another's patch nearby and pass through one of its triangles.
    PBD_INLINE void look(int k, int other) const {
        PBD_CONTRACT_ON
        const T far = T(1.1) * table.traits.data[4 * other + 1] * Search::size();
        const Point normal = facing(other), middle = at(other), a = at(k) - middle;
        const T from = wp::dot(a, normal);
        for (int r = table.ring_start.data[k]; r < table.ring_start.data[k + 1]; ++r) {
            const int end = table.ring.data[2 * r];
            if (end == other) continue;
            const Point b = at(end) - middle;
            const T to = wp::dot(b, normal);
            if (from * to > T(0)) continue;
            const T share = wp::abs(from) / wp::max(wp::abs(to - from), T(1e-12));
            const Point q = a + share * (b - a);
            if (wp::dot(q, q) < far * far && goes_through(k, end, other)) mark(r);
        }
    }

    // Mark edges of a member that pass through a triangle of a neighbour, by more than a thickness at both ends. The
    // plane of its patch does not help here: in a crease it says little about the triangles.
    PBD_INLINE void look_near(int k, int other) const {
        PBD_CONTRACT_ON
        const T thickness = table.traits.data[4 * k] + table.traits.data[4 * other];
        const Point corner = at(other), a = at(k) - corner;
        for (int f = table.fan_start.data[other]; f < table.fan_start.data[other + 1]; ++f) {
            const int second = table.fan.data[2 * f], third = table.fan.data[2 * f + 1];
            if (k == second || k == third) continue;
            const Point u = at(second) - corner, v = at(third) - corner, normal = wp::cross(u, v);
            const T above = wp::dot(normal, a);
            if (above * above < thickness * thickness * wp::dot(normal, normal)) continue;
            for (int r = table.ring_start.data[k]; r < table.ring_start.data[k + 1]; ++r) {
                const int end = table.ring.data[2 * r];
                if (end == other || end == second || end == third) continue;
                if (pierces(u, v, normal, a, at(end) - at(k), thickness)) mark(r);
            }
        }
    }

    // Test a member against its neighbours with higher numbers.
    PBD_INLINE void look_at_kin(int k) const {
        const Point normal = facing(k);
        for (int n = table.kin_start.data[k]; n < table.kin_start.data[k + 1]; ++n) {
            const int other = table.kin.data[n];
            if (other < k || wp::dot(normal, facing(other)) >= T(TURNED)) continue;
            if (!is_patch(k) || !is_patch(other) || !close(k, other)) continue;
            look_near(k, other);
            look_near(other, k);
        }
    }

#if PBD_BLOCK
    // Test all candidates of a member.
    PBD_INLINE void look_around(int k) {
        const bool listed = Search::lengths[k] >= 0;
        for (int n = 0; n < (listed ? Search::lengths[k] : count); ++n) {
            const int other = listed ? Search::near[Search::entry(k, n)] : n;
            if (!listed && (other == k || !Search::strangers(k, other))) continue;
            for (environment = 0; environment < LANES; ++environment)
                if (is_patch(other) && close(k, other)) look(k, other);
        }
        for (environment = 0; environment < LANES; ++environment) look_at_kin(k);
    }
#else
    // Test all candidates of all members. Rows hold the right normals, but positions from before the contacts of this
    // substep.
    PBD_INLINE void look_at_pairs() {
        for (int k = 0; k < count; ++k)
            for (int a = 0; a < 3; ++a)
                for (int n = 0; n < LANES; ++n)
                    Search::rows[Search::stride * n + Search::NUMBERS * k + a] = Search::place_of(k)[a * LANES + n];
        for (environment = 0; environment < LANES; ++environment) {
            if (Search::sleeps()) continue;
            Search::each_row([&](int k, int d, unsigned hits) {
                for (; hits; hits &= hits - 1) {
                    const int other = 16 * d + __builtin_ctz(hits);
                    const bool mine = is_patch(k), its = is_patch(other);
                    if (!(mine || its) || !close(k, other)) continue;
                    if (its) look(k, other);
                    if (mine) look(other, k);
                }
            });
            for (int k = 0; k < count; ++k) look_at_kin(k);
        }
    }
#endif

    // Count the piercing edges of each environment.
    PBD_INLINE void count_edges(int thread, int thread_count) {
        for (int e = thread; e < edges; e += thread_count) pierced[e] = 0;
        sync();
#if PBD_BLOCK
        Search::search();  // candidates may be some substeps old
        for (int k = thread; k < count; k += thread_count) look_around(k);
#else
        look_at_pairs();
#endif
        if (thread == 0)
            for (int n = 0; n < LANES; ++n) lists.piercings.data[group * LANES + n] = 0;
        sync();
        for (int n = 0; n < LANES; ++n) {
            int found = 0;
            for (int e = thread; e < edges; e += thread_count) found += pierced[e] >> n & 1;
            if (found > 0) atomic_add(lists.piercings.data[group * LANES + n], found);
        }
    }
};

// Count the edges that pass through a surface, after contacts have been resolved.
//
// nearness: range in which all pairs are candidates, in sums of two discs' radii.
template <class L, class Options, class Model, class Body, class Lists>
PBD_INLINE void count_piercings(const Model& model, const Body& body, const Lists& lists, int group, int thread,
                                int thread_count, double nearness) {
    using T = typename L::T;
    using Group = ContactGroup<L, Options, Model, Body, Lists>;
#if PBD_BLOCK
    Piercings<GridSearch<Group>> found(T(nearness), lists, model, body, lists, group, thread, thread_count);
#else
    Piercings<PairSearch<Group>> found(T(nearness), lists, model, body, lists, group);
#endif
    found.count_edges(thread, thread_count);
}

}  // namespace pbd
