// Active pairs: pairs of patches that may touch within the next few substeps.
//
// Most candidates do not touch for a while. So all of them are examined only every few substeps, and in between only
// those that may touch before the next renewal. When active pairs are renewed depends on the number of the substep
// alone, not on the last search for candidates or on other environments, so an environment gives the same bits in any
// batch. Each control step begins with a renewal, since states may be set between control steps.
//
// Two members are assumed to keep their relative velocity, but forces, lines and other contacts may divert them: by a
// share of the distance covered, in any direction; by the typical motion of members in their environment, since a pair
// at rest may be pulled along; and by free fall from rest. A pair is active if its gap may close before the next
// renewal and the two come near enough on their paths. Candidates are searched along members' whole
// paths.
#pragma once
#include "contact_geometry.h"

namespace pbd {

// Share of their path by which two members may stray from it; largest distance per substep by which they may be pulled
// along; and a distance that is always allowed for [m, in metres and at the scale of the scene].
constexpr double ASTRAY = 0.5, PULLED_ALONG = 0.001, LEAST_AHEAD = 0.0005;
// Share of this by which they may stray perpendicular to the gap. Less is needed there, since patches are wider than
// their gaps.
constexpr double BESIDE = 0.1;

// Number of ranks of active pairs. Active pairs are renewed after at most twice as many substeps, and those of rank r
// touch no earlier than 2 r substeps after the renewal, so that fewer are examined before.
constexpr int RANKS = 4;

// Highest rank that may touch this many substeps after a renewal.
PBD_INLINE int rank_at(int substeps) { return substeps / 2; }

// Distance by which two members may stray in this many substeps even if they do not move, at the scale of the scene.
template <class T> PBD_INLINE T pulled_along(T substeps, const ContactScales<T>& scales) {
    PBD_CONTRACT_ON
    const T pull = wp::min(scales.spread, T(PULLED_ALONG) * scales.meter);
    return substeps * pull + substeps * substeps * (scales.fall * scales.inv_size);
}

// Rank of two members, at least one of them a patch; RANKS if they cannot touch before the next renewal. Creases are
// assumed to be as wide as in moving cloth.
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
    // Squared offset and motion perpendicular to the gap, and the substeps until closest approach: in space, and
    // perpendicular to the gap.
    const V b2 = at_least(d2 - gap * gap, 0), v2 = at_least(u2 - change * change, 0), bv = du - gap * change;
    const V back = at_least(-du / at_least(u2, 1e-30), 0), beside = at_least(-bv / at_least(v2, 1e-30), 0);
    V rank = V(T(RANKS));
    for (int r = RANKS - 1; r >= 0; --r) {
        const T substeps = T(2 * r + 1);
        const V stray = (substeps * T(ASTRAY)) * moved + pulled_along(substeps, scales);
        const V brake = (closing + T(ASTRAY) * moved) * (T(1) / scales.braking), cushion = s.outer - s.least;
        const V latest = s.least + (brake < cushion ? brake : cushion) +
                         (substeps * closing + stray + T(LEAST_AHEAD) * scales.meter);
        const V off = T(BESIDE) * stray + T(LEAST_AHEAD) * scales.meter;
        const V t = back < substeps ? back : V(substeps), reach = range + off;
        const V w = beside < substeps ? beside : V(substeps), width = s.width + off;
        const auto comes_near = d2 + t * (T(2) * du + t * u2) < reach * reach;
        const V aside = flat ? b2 + w * (T(2) * bv + w * v2) : none;
        rank = ((nearer < latest) & comes_near & (aside <= width * width)) ? V(T(r)) : rank;
    }
    return rank;
}

// Sum of the displacements of sixteen members in this substep, along each axis.
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
