// Active pairs: those of patches that may touch within the next substeps.
//
// Most of what is near enough to be a candidate does not touch for a while. So candidates are looked at every few
// substeps, by their number, and in between those alone that may touch until then. Nothing else counts, neither when
// candidates were searched for, nor what other environments do: an environment comes to the same bits wherever it is. A
// control step begins with all of them anew, since states are set between control steps.
//
// Two members go on as they do, relative to each other, but for what forces, lines and other contacts change: a share
// of how far they go, in whatever direction; how far the members of their environment go, since one that is at rest may
// be pulled along; and what falls from rest. They are active if the gap between them may close meanwhile, and if they
// come near enough on their way. Candidates are sought along the ways of all members, however fast these are.
#pragma once
#include "contact_geometry.h"

namespace pbd {

// Share of their way by which two members may stray from it; the most that they stray in a substep by being pulled
// along [m, in the sizes of the scene]; and by how much they do in any case.
constexpr double ASTRAY = 0.5, PULLED_ALONG = 0.001, LEAST_AHEAD = 0.0005;
// Share of that by which they stray beside the gap between them: within its reach it is wider than they are apart.
constexpr double BESIDE = 0.1;

// Ranks of active pairs, which last for twice as many substeps at most: those of rank r may touch from the substep 2 r
// after the renewal on, and not before. So fewer are looked at.
constexpr int RANKS = 4;

// The highest rank that may touch, so many substeps after a renewal.
PBD_INLINE int rank_at(int substeps) { return substeps / 2; }

// How far two members may stray from their way in so many substeps even if they do not move, in the sizes of the scene.
template <class T> PBD_INLINE T pulled_along(T substeps, const ContactScales<T>& scales) {
    PBD_CONTRACT_ON
    const T pull = wp::min(scales.spread, T(PULLED_ALONG));
    return substeps * pull + substeps * substeps * (scales.fall * scales.inv_size);
}

// Rank of two members, one of them a patch, that may touch within the next substeps, else RANKS. Creases are taken to
// be as wide as in cloth that moves.
template <class L, class Options>
PBD_INLINE typename L::V rank_of(const Member<L, Options::RIGID>& a, const Member<L, Options::RIGID>& b,
                                 ContactScales<typename L::T> scales) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    scales.agitation = T(1);
    const Standing<L> s = standing<L, Options>(a, b, scales);
    const V none = V(T(0)), shrink = V(scales.inv_size);
    const V dx = (a.x - b.x) * shrink, dy = (a.y - b.y) * shrink, dz = (a.z - b.z) * shrink;
    const V px = s.px * shrink, py = s.py * shrink, pz = s.pz * shrink;
    const V ux = dx - px, uy = dy - py, uz = dz - pz;
    const auto flat = s.flat > none;
    const V d2 = dx * dx + dy * dy + dz * dz, u2 = ux * ux + uy * uy + uz * uz, du = dx * ux + dy * uy + dz * uz;
    const V moved = root(u2), range = root(s.range2);
    const V gap = flat ? dx * s.nx + dy * s.ny + dz * s.nz : root(d2);
    const V before = flat ? px * s.nx + py * s.ny + pz * s.nz : root(px * px + py * py + pz * pz);
    const V change = gap - before, closing = at_least(-change, 0), nearer = gap < before ? gap : before;
    // Beside the gap, where the two are nearest on their way, and how far they are apart where they are nearest at all.
    const V b2 = at_least(d2 - gap * gap, 0), v2 = at_least(u2 - change * change, 0), bv = du - gap * change;
    const V back = at_least(-du / at_least(u2, 1e-30), 0), beside = at_least(-bv / at_least(v2, 1e-30), 0);
    V rank = V(T(RANKS));
    for (int r = RANKS - 1; r >= 0; --r) {
        const T substeps = T(2 * r + 1);
        const V stray = (substeps * T(ASTRAY)) * moved + pulled_along(substeps, scales);
        const V brake = (closing + T(ASTRAY) * moved) * (T(1) / scales.braking), cushion = s.outer - s.least;
        const V latest = s.least + (brake < cushion ? brake : cushion) + (substeps * closing + stray + T(LEAST_AHEAD));
        const V off = T(BESIDE) * stray + T(LEAST_AHEAD);
        const V t = back < substeps ? back : V(substeps), reach = range + off;
        const V w = beside < substeps ? beside : V(substeps), width = s.width + off;
        const auto comes_near = d2 + t * (T(2) * du + t * u2) < reach * reach;
        const V aside = flat ? b2 + w * (T(2) * bv + w * v2) : none;
        rank = ((nearer < latest) & comes_near & (aside <= width * width)) ? V(T(r)) : rank;
    }
    return rank;
}

// Sum of what sixteen members have moved by in this substep, along each axis.
template <class Group> PBD_INLINE void moved_sum(const Group& in, int c, int lane, typename Group::V* sum) {
    using L = typename Group::L;
    using T = typename L::T;
    using V = typename L::V;
    for (int a = 0; a < 3; ++a) sum[a] = V(T(0));
    for (int k = 16 * c; k < wp::min(16 * c + 16, in.count); ++k)
        for (int a = 0; a < 3; ++a)
            sum[a] += L::load(in.place_of(k) + a * L::LANES, lane) - L::load(in.start_of(k) + a * L::LANES, lane);
}

}  // namespace pbd
