// Active pairs: those of patches that may touch within the next substeps.
//
// Most of what is near enough to be a candidate does not touch for a while. So candidates are looked at every few
// substeps, by their number, and in between those alone that may touch until then. Nothing else counts, neither when
// candidates were searched for, nor what other environments do: an environment comes to the same bits wherever it is. A
// control step begins with all of them anew, since states are set between control steps.
//
// What is so quick that it may come from farther than candidates are is looked for on its way.
#pragma once
#include "contact_geometry.h"

namespace pbd {

// Substeps for which pairs are active.
constexpr int RENEWED = 8;
// How fast a gap may close meanwhile: as it does now, and a share of how fast the two move against each other in
// whatever direction, which grows in proportion to the time. In any case by so much [m, in the sizes of the scene], and
// by what falls from rest.
constexpr double ANY_WAY = 0.5, LEAST_AHEAD = 0.0005;
// A member is quick that moves farther than that, against the mean of all, in the largest distance at which two members
// touch.
constexpr double QUICK = 0.5;
// How far off its way a quick member may come, as a share of that.
constexpr double ASTRAY = 0.25;

// How far a member gets until active pairs are renewed if it is quick, else 0.
//
// x, y, z: what this substep has moved it by, against the mean, in the sizes of the scene.
template <class V> PBD_INLINE V headway(V x, V y, V z, Element<V> widest) {
    PBD_CONTRACT_ON
    using T = Element<V>;
    const V far = T(RENEWED - 1) * root(x * x + y * y + z * z);
    return far > T(QUICK) * widest ? far : V(T(0));
}

// Ranks of active pairs: those of rank r may touch from the substep 2 r after the renewal on, and not before. So fewer
// are looked at.
constexpr int RANKS = 4;

// The highest rank that may touch, so many substeps after a renewal.
PBD_INLINE int rank_at(int substeps) { return substeps / 2; }

// Rank of two members, one of them a patch, that may touch within the next substeps, else RANKS. Creases are taken to
// be as wide as in cloth that moves.
//
// quick: whether some members may be quick.
template <class L, class Options>
PBD_INLINE typename L::V rank_of(const Member<L, Options::RIGID>& a, const Member<L, Options::RIGID>& b,
                                 ContactScales<typename L::T> scales, bool quick) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    scales.agitation = T(1);
    const Standing<L> s = standing<L, Options>(a, b, scales);
    const V none = V(T(0)), shrink = V(scales.inv_size), shrink2 = shrink * shrink;
    const V dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
    const V ux = dx - s.px, uy = dy - s.py, uz = dz - s.pz;
    const auto flat = s.flat > none;
    const V d2 = dx * dx + dy * dy + dz * dz, length = root(d2), apart = root(s.px * s.px + s.py * s.py + s.pz * s.pz);
    const V u2 = ux * ux + uy * uy + uz * uz, moved = root(u2) * shrink;
    const V gap = flat ? dx * s.nx + dy * s.ny + dz * s.nz : length;
    const V before = flat ? s.px * s.nx + s.py * s.ny + s.pz * s.nz : apart;
    const V closing = at_least(before - gap, 0) * shrink, room = s.outer - s.least;
    const V nearer = (gap < before ? gap : before) * shrink, range = root(s.range2), rest2 = d2 * shrink2;
    const V beside = flat ? (d2 - gap * gap) * shrink2 : none;
    const V fall = scales.fall * shrink;
    V rank = V(T(RANKS)), near = none;
    for (int r = RANKS - 1; r >= 0; --r) {
        const T substeps = T(2 * r + 1), share = substeps / T(RENEWED - 1);
        const V sooner = closing + (share * T(ANY_WAY)) * moved, brake = sooner * (T(1) / scales.braking);
        const V ahead = substeps * sooner + (T(LEAST_AHEAD) + substeps * substeps * fall);
        const V latest = s.least + (brake < room ? brake : room) + ahead;
        // Beside the gap they may slide as fast as they move.
        const V slide = substeps * moved + ahead, width = s.width + slide;
        const V reach = range + (slide < scales.margin ? slide : V(scales.margin));
        if (r == RANKS - 1) near = reach;
        rank = ((nearer < latest) & (rest2 < reach * reach) & (beside <= width * width)) ? V(T(r)) : rank;
    }
    if (!quick) return rank;
    // Where the two are nearest on their way, if they are farther apart than that.
    const auto far = ((a.headway + b.headway) > none) & (rest2 >= near * near);
    const V back = at_least(-(dx * ux + dy * uy + dz * uz) / at_least(u2, 1e-30), 0);
    const V zone = root(s.least * s.least + s.width * s.width);
    for (int r = RANKS - 1; r >= 0; --r) {
        const V when = back < T(2 * r + 1) ? back : V(T(2 * r + 1)), wider = zone + T(ASTRAY) * when * moved;
        const V mx = dx + when * ux, my = dy + when * uy, mz = dz + when * uz;
        rank = (far & ((mx * mx + my * my + mz * mz) * shrink2 < wider * wider)) ? V(T(r)) : rank;
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
