// How far apart two members are, and along which normal.
//
// A particle of a rope or of a solid is a ball: two are apart by the distance of their middles, and touch at the sum of
// their radii. A particle of a surface, such as cloth, stands for the patch around it. Where the surface is nearly flat
// the patch is a disc as thick as the material, and the discs cover the surface whatever the distance of its particles.
// Two discs whose middles differ by d, and by p at the start of the substep, are apart by
//
//     s = n . d,    n = m / |m|,    m = (p . n_1) n_1 + (p . n_2) n_2.
//
// n has the signs of p: what was on one side of a patch is kept there however fast it comes, so contact is swept along
// the normal. On concentric cylinders s is exact to second order. Where the rim of a surface meets the middle of
// another, the normal of the other alone counts, as between a vertex and a triangle. Discs touch where s is less than
// their common thickness, and d no farther beside the normal than the wider of them reaches.
//
// Where a surface is creased no normal is to be trusted. There a patch is a ball wide enough that nothing gets through
// between two of them, and n is the direction of p. In between, the reach and n change gradually: a patch that jumped
// from one to the other would be kicked each time, and a crease would tremble. So layers rest at one thickness wherever
// they lie smoothly on each other, and keep a distance of the order of the particles' where they are crumpled.
//
// Discs that come closer brake each other before they touch: within the cushion the gap shrinks by no more than a part
// of itself in each substep. An impact then goes through several layers before one of them can be pushed through
// another.
#pragma once
#include "contact_group.h"

namespace pbd {

// Where between the thickness and twice the radius of the ball two creased patches touch: fine ones in cloth at rest,
// how much farther in cloth that moves, and coarse ones. Beyond the first the threads of a fine crease are stretched,
// it crawls, and coarse creases spring open; below the second more gets through.
constexpr double CALM_REACH = 0.57, LIVELY_REACH = 0.7, COARSE_REACH = 0.57;
// What leads from the one to the other as patches get coarser: a number of thicknesses and a share of that way, both on
// top of the thickness.
constexpr double FINER_THICKNESSES = 2.15, FINER_SHARE = 0.12;
// Time in which creased patches part beyond the thickness [s]: within one substep, if that is longer. What curls turns
// from discs to balls, and so overlaps what it was clear of. If that left within a substep however short, corners that
// lie on other cloth would fly up by themselves.
constexpr double CREASE_TIME = 0.0024;
// What layers sink into each other under their weight, in thicknesses: patches touch as much sooner.
constexpr double SINK = 0.02;
// A patch is a ball where the square of a chord across it, over that at rest, is below the first, and a disc above the
// second.
constexpr double CREASED_BELOW = 0.8, FLAT_ABOVE = 0.95;
// Likewise for the cosine of the angle between the normals of two patches.
constexpr double STEEP_BELOW = 0.5, PARALLEL_ABOVE = 1.0;

// Acceleration with which what has come free may fall onto something [m/s^2].
constexpr double FREE_FALL = 9.81;

// Balls have passed each other within the substep if the direction from one to the other has turned so far: its cosine.
constexpr double PASSED = 0.5;

// Members that leave others room go out of what they overlap beyond it by no more than two rounds of it and this many
// times what does not bounce: less would let stacks sink that were put with an overlap, be it by rounding.
constexpr double STACKED = 4.0;

// Balls that bounce leave an overlap that was there before by no faster than this, and what gravity makes in two
// substeps [m/s]: else they would be thrown to and fro in heaps, without losing what they gain.
constexpr double ELASTIC_WAY = 0.2;

// Members of rigid bodies have the inverse mass of their body there over their own, and the contacts that share it.
// What bounces needs that along the normal: the share that its contacts have, in inverse masses of the member.
template <class L, bool rigid> struct Leverage {};
template <class L> struct Leverage<L, true> {
    typename L::V leverage, crowd, shares;
};

// What a member lends its contacts: its inverse mass.
template <class L, bool rigid> struct Lender : Leverage<L, rigid> {
    typename L::V w;
};

// What is known of a member, for one pair or, on one thread, for sixteen.
template <class L, bool rigid> struct Member : Lender<L, rigid> {
    typename L::V x, y, z, px, py, pz, flat, nx, ny, nz, radius, extent, friction, role;
};

// Whether two members touch, along which normal, and by how much they are to part.
template <class L> struct Touch {
    typename L::V inside, nx, ny, nz, overlap;
    typename L::V fastest;     // way out of an overlap that was there before [m]
    typename L::V sheets;      // 1 where both are patches
    typename L::V haste;       // share of an overlap that was there before which these try to leave in a substep
    typename L::V ux, uy, uz;  // what the pair has moved against each other in this substep
};

// Numbers of one environment in one substep.
template <class T> struct ContactScales {
    T size, inv_size, roughness;
    T agitation;        // 0 at rest, 1 where it moves
    T fastest, gentle;  // ways out of an overlap: creased, and flat [m]
    T unhurried;        // share of what creases overlap by beyond the thickness that leaves in a substep
    T braking;          // share of a gap that may go
    T cushion;
    T placed;       // way out of an overlap of members that leave others room [m]
    bool roomy;     // whether some do
    bool solved;    // whether what bounces has been moved by that already: rebounds.h
    T elastic_way;  // way out of an overlap of two of these [m]
    T resting;      // what comes on by no more in a substep does not bounce [m]
    T fall;         // what falls from rest in a substep [m]
    T spread;  // how far members moved against each other in a substep, root mean square, in the sizes of the scene [m]
    BallShape shape;
};

// Steps out of an overlap, and the share of a gap that may go, for a substep of 1 / inv_h.
template <class Table, class T> PBD_INLINE ContactScales<T> contact_scales(const Table& table, T inv_h, T parting,
                                                                           T resting, BallShape shape) {
    PBD_CONTRACT_ON
    return {T(1),
            T(1),
            T(1),
            T(0),
            table.separation_speed / inv_h,
            table.gentle_speed / inv_h,
            wp::min(T(1), T(1) / (inv_h * inv_h * T(CREASE_TIME * CREASE_TIME))),
            wp::min(T(0.5), T(1) / (inv_h * table.braking_time)),
            table.cushion,
            T(2) * parting + T(STACKED) * resting,
            true,
            false,
            resting + T(ELASTIC_WAY) / inv_h,
            resting,
            T(0.5 * FREE_FALL) / (inv_h * inv_h),
            T(0),
            shape};
}

// Store the normals of patches at the start of the substep, and how flat they are.
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

// What a substep does not change about two members of which one is a patch: what they were like when it began.
template <class L> struct Standing {
    typename L::V px, py, pz;     // from the second to the first
    typename L::V flat;           // 1 where they part along a normal, 0 where they part along the line between them
    typename L::V nx, ny, nz;     // this normal, on the side of the first
    typename L::V least, outer;   // gaps at which they touch, and up to which they brake each other
    typename L::V wanted;         // gap that they are to keep
    typename L::V reach;          // gap at which they would touch if they were flat
    typename L::V width, range2;  // how far beside the normal they meet, and how far apart at most, squared
    typename L::V fastest, sheets;
};

// Find what a substep does not change about two members, the one with the lower number first.
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
    // A rim that meets the middle of another surface has no say in the normal.
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
    // Which way they part: along the normals if they are flat, along the line between them if they are creased, and
    // gradually so in between. Both ways have the side on which they were at the start of the substep.
    const V flatly = m > T(1e-7) ? flatness : none, apart = root(px * px + py * py + pz * pz);
    // Times the lengths of both.
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
    // Where creased patches brake each other, and where they touch.
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

// Let two members leave each other room where they were put: rooms.h.
template <class L>
PBD_INLINE void leave_room(Standing<L>& s, typename L::V left, const ContactScales<typename L::T>& scales) {
    PBD_CONTRACT_ON
    using V = typename L::V;
    s.wanted = s.wanted - left;
    s.fastest = left > V(typename L::T(0)) ? V(scales.placed) : s.fastest;
}

// Whether two members that are apart by (dx, dy, dz) touch, and how to part them.
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
    const V deep = at_least(s.reach * scales.size - gap, 0) / at_least(t.overlap, 1e-12);
    t.haste = scales.unhurried + (T(1) - scales.unhurried) * (deep < all ? deep : all);
    t.inside = ((gap * scales.inv_size < s.wanted) & (rest2 < s.range2) & (beside <= s.width * s.width)) ? all : none;
    return t;
}

// Whether two members touch, the one with the lower number first, and how to part them.
//
// roomy, left: whether they may leave each other room where they were put, and how much: rooms.h.
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
        // What has gone past the other within the substep goes back to its own side.
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
