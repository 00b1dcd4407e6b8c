// Contact geometry: the gap between two members, the contact normal, and whether they touch.
//
// A particle of a rope or a solid is a ball. The gap between two balls is the distance of their centres, and they touch
// when it is less than the sum of their radii. A particle of a surface, such as cloth, stands for the patch around it.
// Where the surface is nearly flat, the patch is a disc as thick as the material, and the discs cover the surface
// whatever the spacing of its particles. Two discs whose centres differ by d, and by p at the start of the substep,
// have the gap
//
//     s = n . d,    n = m / |m|,    m = (p . n_1) n_1 + (p . n_2) n_2,
//
// where n_1 and n_2 are the normals of the patches. The normal n points to the side on which p was, so a particle stays
// on its side of a patch however fast it moves: contact is swept along the normal. On concentric cylinders s is exact
// to second order. Where a particle at the rim of a surface meets the interior of another, only the normal of the
// interior counts, as between a vertex and a triangle. Discs touch where s is less than the sum of their half
// thicknesses and the offset perpendicular to n is no more than the larger radius of the discs whose normals count.
//
// Where a surface is creased its normals are unreliable. There a patch is a ball large enough that nothing slips
// through between two of them, and n is the direction from one centre to the other. In between, the contact distance
// and n are interpolated: a patch that jumped from one to the other would be kicked each time, and creases would
// tremble. So layers that lie smoothly on each other rest one thickness apart, and crumpled ones keep a distance of the
// order of the particle spacing.
//
// Discs brake each other before they touch: within the cushion, a substep closes at most a fixed share of the gap. An
// impact therefore spreads through several layers before one of them can be pushed through another.
#pragma once
#include "contact_group.h"

namespace pbd {

// Contact distance of two creased patches, as a share of the way from the thickness to the sum of their ball radii: for
// fine patches in cloth at rest, for fine patches in moving cloth, and for coarse patches. If the first is larger, fine
// creases stretch their threads and crawl, and coarse ones spring open; if the second is smaller, more slips through.
constexpr double CALM_REACH = 0.57, LIVELY_REACH = 0.7, COARSE_REACH = 0.57;
// Transition from fine to coarse patches. Unless COARSE_REACH allows more, the contact distance exceeds the thickness
// by at most this many thicknesses plus this share of the way.
constexpr double FINER_THICKNESSES = 2.15, FINER_SHARE = 0.12;
// Substep [s] below which creased patches part beyond the thickness only gradually, by (h / CREASE_TIME)^4 of it. A
// patch that curls turns from a disc into a ball, and then overlaps others that it was clear of. If this overlap were
// removed within one substep, however short, corners that lie on other cloth would fly up by themselves. The balls are
// there for long substeps, in which layers would pass each other; short ones can do without.
constexpr double CREASE_TIME = 0.0012;
// Distance by which layers sink into each other under their weight, in thicknesses: patches touch that much earlier.
constexpr double SINK = 0.02;
// A patch is a ball where the squared length of a chord across it, relative to that at rest, is below the first value,
// and a disc above the second.
constexpr double CREASED_BELOW = 0.8, FLAT_ABOVE = 0.95;
// The same for the cosine of the angle between the normals of two patches.
constexpr double STEEP_BELOW = 0.5, PARALLEL_ABOVE = 1.0;

// Acceleration with which a member that has come loose may fall onto another [m/s^2, in metres of the scene].
constexpr double FREE_FALL = 9.81;

// Balls have passed each other within the substep if the line between them has turned by an angle whose cosine is below
// this.
constexpr double PASSED = 0.5;

// Members that leave each other room (rooms.h) are pushed out of a deeper overlap by at most twice the distance by
// which room shrinks in a round, plus this multiple of the displacement up to which nothing bounces. With less, stacks
// that were placed with an overlap, even one due to rounding, would sink.
constexpr double STACKED = 4.0;

// Largest speed at which balls that bounce leave an earlier overlap, in addition to what gravity adds in two substeps
// [m/s, in metres of the scene]. With more, they would be thrown to and fro in heaps without losing the energy that
// they gain.
constexpr double ELASTIC_WAY = 0.2;

// For members of rigid bodies: inverse mass of the body at this point relative to the member's own; number of contacts
// that share the body; and for contacts that bounce the effective number along the normal (rigid_carry.h).
template <class L, bool rigid> struct Leverage {};
template <class L> struct Leverage<L, true> {
    typename L::V leverage, crowd, shares;
};

// Where a body is touched, in pairs of a member with a rigid body: contact_feet.h.
template <class L, bool rigid> struct Spots {};
template <class L> struct Spots<L, true> {
    typename L::V x, y, z;
};

// What a member contributes to its contacts: its inverse mass.
template <class L, bool rigid> struct Lender : Leverage<L, rigid> {
    typename L::V w;
};

// Data of a member, for one pair or, on a single thread, for sixteen.
template <class L, bool rigid> struct Member : Lender<L, rigid> {
    typename L::V x, y, z, px, py, pz, flat, nx, ny, nz, radius, extent, friction, role;
};

// Contact of two members: whether they touch, the normal, and the overlap to remove.
template <class L> struct Touch {
    typename L::V inside, nx, ny, nz, overlap;
    typename L::V fastest;     // largest push out of an earlier overlap [m]
    typename L::V sheets;      // 1 where both are patches
    typename L::V haste;       // share of an earlier overlap of patches that a substep removes
    typename L::V ux, uy, uz;  // relative displacement in this substep
};

// Scales and limits of one environment in one substep.
template <class T> struct ContactScales {
    T size, inv_size, roughness;
    T agitation;        // 0 at rest, 1 in motion
    T fastest, gentle;  // largest pushes out of an overlap: creased, and flat [m]
    T unhurried;        // share of a crease's overlap beyond the thickness that a substep removes
    T braking;          // share of a gap that may close
    T cushion;
    T placed;       // largest push out of an overlap of members that leave others room [m]
    bool roomy;     // whether any do
    bool solved;    // whether bouncing members have already been moved: rebounds.h
    T elastic_way;  // largest push out of an overlap of two balls that bounce [m]
    T resting;      // approach in a substep up to which nothing bounces [m]
    T fall;         // fall from rest in a substep [m]
    T meter;        // length of a metre in the unit of the scene
    T spread;       // RMS displacement in a substep relative to the mean, at the scale of the scene [m]
    BallShape shape;
};

// Limits of pushes out of overlaps, and the share of a gap that may close, for a substep of 1 / inv_h.
template <class Table, class T> PBD_INLINE ContactScales<T> contact_scales(const Table& table, T inv_h, T parting,
                                                                           T resting, T meter, BallShape shape) {
    PBD_CONTRACT_ON
    const T brief = wp::min(T(1), T(1) / (inv_h * T(CREASE_TIME)));
    return {T(1),
            T(1),
            T(1),
            T(0),
            table.separation_speed / inv_h,
            table.gentle_speed / inv_h,
            brief * brief * brief * brief,
            wp::min(T(0.5), T(1) / (inv_h * table.braking_time)),
            table.cushion,
            T(2) * parting + T(STACKED) * resting,
            true,
            false,
            resting + T(ELASTIC_WAY) * meter / inv_h,
            resting,
            T(0.5 * FREE_FALL) * meter / (inv_h * inv_h),
            meter,
            T(0),
            shape};
}

// Store the normals of patches at the start of the substep, and their flatness from 0 to 1.
template <class Group> PBD_INLINE void store_normals(const Group& in, int thread, int thread_count) {
    PBD_CONTRACT_ON
    using L = typename Group::L;
    using T = typename L::T;
    using V = typename L::V;
    constexpr int LANES = L::LANES, ROW = Group::ROW;
    for (int k = thread; k < in.count; k += thread_count) {
        const int* const ends = in.table.chords.data + 4 * k;
        if (ends[0] < 0) continue;  // a ball: its normal is zero
        for (int lane = 0; lane < L::ROUNDS; ++lane) {
            const T* const a = in.previous + ROW * ends[0] * LANES;
            const T* const b = in.previous + ROW * ends[1] * LANES;
            const T* const c = in.previous + ROW * ends[2] * LANES;
            const T* const e = in.previous + ROW * ends[3] * LANES;
            const V ux = L::load(a, lane) - L::load(b, lane), vx = L::load(c, lane) - L::load(e, lane);
            const V uy = L::load(a + LANES, lane) - L::load(b + LANES, lane);
            const V vy = L::load(c + LANES, lane) - L::load(e + LANES, lane);
            const V uz = L::load(a + 2 * LANES, lane) - L::load(b + 2 * LANES, lane);
            const V vz = L::load(c + 2 * LANES, lane) - L::load(e + 2 * LANES, lane);
            const V wx = uy * vz - uz * vy, wy = uz * vx - ux * vz, wz = ux * vy - uy * vx;
            const V unit = T(1) / at_least(root(wx * wx + wy * wy + wz * wz), 1e-12);
            const V first = (ux * ux + uy * uy + uz * uz) * in.table.chord_squares.data[2 * k];
            const V second = (vx * vx + vy * vy + vz * vz) * in.table.chord_squares.data[2 * k + 1];
            const V open = (first < second ? first : second) * in.inv_sizes(lane) * in.inv_sizes(lane);
            const V flatness = (open - T(CREASED_BELOW)) * T(1.0 / (FLAT_ABOVE - CREASED_BELOW));
            T* const to = in.patches + 4 * k * LANES;
            L::store(to, lane, wx * unit);
            L::store(to + LANES, lane, wy * unit);
            L::store(to + 2 * LANES, lane, wz * unit);
            L::store(to + 3 * LANES, lane, flatness > T(1) ? V(T(1)) : at_least(flatness, 0));
        }
    }
}

// Radius of the ball in which a creased patch brakes others.
template <class L, class M> PBD_INLINE typename L::V braking_radius(const M& m, const BallShape& shape) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    const V fine = T(shape.fine) * m.extent, coarse = T(shape.coarse) * m.extent;
    const V between = T(shape.thickness_part) * m.radius + T(shape.disc_part) * m.extent;
    const V most = fine < between ? fine : between, fat = most > coarse ? most : coarse;
    return fat > m.radius ? fat : m.radius;
}

// Properties of two members, at least one of them a patch, that depend only on the start of the substep.
template <class L> struct Standing {
    typename L::V px, py, pz;     // from the second to the first, at the start
    typename L::V flat;           // 1 if they part along a normal, 0 if along the line between them
    typename L::V nx, ny, nz;     // this normal, towards the first
    typename L::V least, outer;   // gaps below which they touch, and below which they brake
    typename L::V wanted;         // gap to be kept
    typename L::V reach;          // gap below which they would touch if they were flat
    typename L::V width, range2;  // largest offset beside the normal; largest distance squared
    typename L::V fastest, sheets;
};

// Compute these properties for two members, the one with the lower number first.
template <class L, class Options>
PBD_INLINE Standing<L> standing(const Member<L, Options::RIGID>& a, const Member<L, Options::RIGID>& b,
                                const ContactScales<typename L::T>& scales) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    using Roles = typename Options::Roles;
    Standing<L> s;
    const V none = V(T(0)), all = V(T(1)), reach = a.radius + b.radius;
    const V px = a.px - b.px, py = a.py - b.py, pz = a.pz - b.pz;
    // A rim that meets the interior of another surface does not affect the normal.
    const V a_counts = ((a.role == T(Roles::RIM)) & (b.role == T(Roles::INNER))) ? none : all;
    const V b_counts = ((b.role == T(Roles::RIM)) & (a.role == T(Roles::INNER))) ? none : all;
    const V from_a = a_counts * (px * a.nx + py * a.ny + pz * a.nz);
    const V from_b = b_counts * (px * b.nx + py * b.ny + pz * b.nz);
    const V sx = from_a * a.nx + from_b * b.nx, sy = from_a * a.ny + from_b * b.ny;
    const V sz = from_a * a.nz + from_b * b.nz;
    const V m = root(sx * sx + sy * sy + sz * sz);
    const V cosine = a.nx * b.nx + a.ny * b.ny + a.nz * b.nz, even = cosine < none ? -cosine : cosine;
    const V parallel = at_least((even - T(STEEP_BELOW)) * T(1.0 / (PARALLEL_ABOVE - STEEP_BELOW)), 0);
    const auto a_ball = a.role == T(Roles::BALL), b_ball = b.role == T(Roles::BALL);
    const V flatness = (a_ball ? all : a.flat) * (b_ball ? all : b.flat) * ((a_ball | b_ball) ? all : parallel);
    // Direction in which they part: along the normals if they are flat, along the line between them if they are
    // creased, and interpolated in between. Both point to the side on which the first was at the start of the substep.
    const V flatly = m > T(1e-7) ? flatness : none, apart = root(px * px + py * py + pz * pz);
    // Weights, scaled by the product of both lengths to avoid divisions.
    const V smooth = flatly * apart, round = (all - flatly) * m;
    const V bx = smooth * sx + round * px, by = smooth * sy + round * py, bz = smooth * sz + round * pz;
    const V norm = T(1) / at_least(root(bx * bx + by * by + bz * bz), 1e-18);
    const auto flat = flatly > T(0);
    s.px = px;
    s.py = py;
    s.pz = pz;
    s.flat = flat ? all : none;
    s.nx = bx * norm;
    s.ny = by * norm;
    s.nz = bz * norm;
    const V before = flat ? px * s.nx + py * s.ny + pz * s.nz : apart;
    const V start = before * scales.inv_size, creased = all - flatly;
    // Gaps below which creased patches brake each other, and below which they touch.
    const V fat = braking_radius<L>(a, scales.shape) + braking_radius<L>(b, scales.shape);
    const V room = fat - reach, coarse = T(COARSE_REACH) * room;
    const V fine = (T(CALM_REACH) + T(LIVELY_REACH - CALM_REACH) * V(scales.agitation)) * room;
    const V finer = T(FINER_THICKNESSES) * reach + T(FINER_SHARE) * room, looser = finer > coarse ? finer : coarse;
    const V thick = reach + (fine < looser ? fine : looser);
    const V sooner = (a_ball | b_ball) ? all : V(T(1.0 + SINK));
    s.reach = sooner * reach;
    s.least = sooner * reach + creased * (thick - reach);
    s.outer = s.least + scales.cushion + creased * (fat - thick);
    s.wanted = ((start < s.outer) & (start > s.least)) ? start - scales.braking * (start - s.least) : s.least;
    const V a_width = a_counts * a.extent, b_width = b_counts * b.extent;
    const V wider = a.extent > b.extent ? a.extent : b.extent;
    const V high = reach + (wider > none ? V(scales.cushion) : none), across = high * high + wider * wider;
    s.width = a_width > b_width ? a_width : b_width;
    s.range2 = fat * fat > across ? fat * fat : across;
    s.sheets = (a_ball | b_ball) ? none : all;
    s.fastest = scales.gentle + creased * (scales.fastest - scales.gentle);
    return s;
}

// Reduce the gap between two members by the room that they leave each other: rooms.h.
template <class L>
PBD_INLINE void leave_room(Standing<L>& s, typename L::V left, const ContactScales<typename L::T>& scales) {
    PBD_CONTRACT_ON
    using V = typename L::V;
    s.wanted = s.wanted - left;
    s.fastest = left > V(typename L::T(0)) ? V(scales.placed) : s.fastest;
}

// Whether two members with the offset (dx, dy, dz) touch, and how to part them.
template <class L>
PBD_INLINE Touch<L> meet(const Standing<L>& s, typename L::V dx, typename L::V dy, typename L::V dz,
                         const ContactScales<typename L::T>& scales) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    Touch<L> t;
    const V none = V(T(0)), all = V(T(1));
    const V d2 = dx * dx + dy * dy + dz * dz, shrink2 = V(scales.inv_size * scales.inv_size), rest2 = d2 * shrink2;
    const V length = root(d2), over = T(1) / at_least(length, 1e-12);
    // Members in the very same place part along y, the one with the higher number upwards.
    const V up = length > T(1e-12) ? dy * over : V(T(-1));
    const auto flat = s.flat > none;
    t.ux = dx - s.px;
    t.uy = dy - s.py;
    t.uz = dz - s.pz;
    t.nx = flat ? s.nx : dx * over;
    t.ny = flat ? s.ny : up;
    t.nz = flat ? s.nz : dz * over;
    const V along = dx * s.nx + dy * s.ny + dz * s.nz, gap = flat ? along : length;
    const V beside = flat ? (d2 - gap * gap) * shrink2 : none;
    t.overlap = s.wanted * scales.size - gap;
    t.sheets = s.sheets;
    t.fastest = s.fastest;
    t.haste = all;
    if (scales.unhurried < T(1)) {
        const V deep = at_least(s.reach * scales.size - gap, 0) / at_least(t.overlap, 1e-12);
        t.haste = scales.unhurried + (T(1) - scales.unhurried) * (deep < all ? deep : all);
    }
    t.inside = ((gap * scales.inv_size < s.wanted) & (rest2 < s.range2) & (beside <= s.width * s.width)) ? all : none;
    return t;
}

// Whether two members touch, the one with the lower number first, and how to part them.
//
// roomy, left: whether they may leave each other room, and how much: rooms.h.
template <class L, class Options, bool roomy>
PBD_INLINE Touch<L> touch(const Member<L, Options::RIGID>& a, const Member<L, Options::RIGID>& b,
                          const ContactScales<typename L::T>& scales, typename L::V left) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    const V dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
    if constexpr (Options::SURFACES) {
        Standing<L> s = standing<L, Options>(a, b, scales);
        if constexpr (roomy) leave_room(s, left, scales);
        return meet<L>(s, dx, dy, dz, scales);
    } else {
        Touch<L> t;
        const V px = a.px - b.px, py = a.py - b.py, pz = a.pz - b.pz;
        const V d2 = dx * dx + dy * dy + dz * dz, rest2 = d2 * (scales.inv_size * scales.inv_size);
        const V length = root(d2), over = T(1) / at_least(length, 1e-12), reach = a.radius + b.radius;
        // Members in the very same place part along y, the one with the higher number upwards.
        const V up = length > T(1e-12) ? dy * over : V(T(-1));
        t.ux = dx - px;
        t.uy = dy - py;
        t.uz = dz - pz;
        // A member that has passed the other within the substep returns to its own side.
        const V apart = root(px * px + py * py + pz * pz), unit = T(1) / at_least(apart, 1e-12);
        const auto passed = dx * px + dy * py + dz * pz < T(PASSED) * length * apart;
        t.nx = passed ? px * unit : dx * over;
        t.ny = passed ? py * unit : up;
        t.nz = passed ? pz * unit : dz * over;
        const V nearest = roomy ? at_least(reach - left, 0) : reach;
        t.overlap = nearest * scales.size - (passed ? dx * t.nx + dy * t.ny + dz * t.nz : length);
        t.fastest = V(scales.fastest);
        if (roomy) t.fastest = left > T(0) ? V(scales.placed) : t.fastest;
        t.sheets = V(T(0));
        t.inside = rest2 < nearest * nearest ? V(T(1)) : V(T(0));
        return t;
    }
}

}  // namespace pbd
