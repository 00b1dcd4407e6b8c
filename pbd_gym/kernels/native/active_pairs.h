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
// whatever direction. In any case by so much [m, in the sizes of the scene].
constexpr double ANY_WAY = 0.5, LEAST_AHEAD = 0.001;
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

// Whether two members, one of them a patch, may touch within the next substeps: 1 where they may. Creases are taken to
// be as wide as in cloth that moves.
template <class L, class Options>
PBD_INLINE typename L::V touches_soon(const Member<L, Options::RIGID>& a, const Member<L, Options::RIGID>& b,
                                      ContactScales<typename L::T> scales) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    scales.agitation = T(1);
    const Standing<L> s = standing<L, Options>(a, b, scales);
    const V none = V(T(0)), all = V(T(1)), shrink = V(scales.inv_size), shrink2 = shrink * shrink;
    const V dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
    const V ux = dx - s.px, uy = dy - s.py, uz = dz - s.pz;
    const auto flat = s.flat > none;
    const V d2 = dx * dx + dy * dy + dz * dz, length = root(d2), apart = root(s.px * s.px + s.py * s.py + s.pz * s.pz);
    const V u2 = ux * ux + uy * uy + uz * uz, moved = root(u2);
    const V gap = flat ? dx * s.nx + dy * s.ny + dz * s.nz : length;
    const V before = flat ? s.px * s.nx + s.py * s.ny + s.pz * s.nz : apart;
    const V closing = (at_least(before - gap, 0) + T(ANY_WAY) * moved) * shrink;
    const V ahead = T(RENEWED - 1) * closing + T(LEAST_AHEAD);
    const V brake = closing / scales.braking, room = s.outer - s.least;
    const V latest = s.least + (brake < room ? brake : room) + ahead;
    const V nearer = (gap < before ? gap : before) * shrink;
    // Beside the gap they may slide as fast as they move.
    const V slide = T(RENEWED - 1) * moved * shrink + ahead;
    const V beside = flat ? (d2 - gap * gap) * shrink2 : none, width = s.width + slide;
    const V range = root(s.range2), near = range + (slide < scales.margin ? slide : V(scales.margin));
    const auto closes = (nearer < latest) & (d2 * shrink2 < near * near) & (beside <= width * width);
    // Where the two are nearest on their way, if they are farther apart than that.
    const V back = at_least(-(dx * ux + dy * uy + dz * uz) / at_least(u2, 1e-30), 0);
    const V when = back < T(RENEWED - 1) ? back : V(T(RENEWED - 1));
    const V mx = dx + when * ux, my = dy + when * uy, mz = dz + when * uz;
    const V zone = root(s.least * s.least + s.width * s.width) + T(ASTRAY) * when * moved * shrink;
    const auto meets = ((a.headway + b.headway) > none) & (d2 * shrink2 >= near * near) &
                       ((mx * mx + my * my + mz * mz) * shrink2 < zone * zone);
    return (closes | meets) ? all : none;
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
