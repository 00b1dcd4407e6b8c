// Feet: where particles stand on rigid bodies.
//
// A body meets other particles with balls beneath its surface. Between them that surface would be bumpy: a small ball
// sinks in, and has to be lifted over the next bump to slide. So contacts take another point in place of a ball: the
// foot, which is the point nearest to the particle on the faces that the balls lie on. Thus the surface is the body's
// own, with its edges rounded by the balls' radius. Each part of it belongs to the ball nearest to it, and the pairs of
// a particle with other balls have no contact there: a particle on a face has one contact, not several.
//
// A push at the foot turns the body more than at the ball. Members sum what is missing, as a twist (rigid_carry.h).
#pragma once
#include "nearest_place.h"
#include "rigid_carry.h"

namespace pbd {

// Share by which a foot may be farther from its own ball than from others of the body. Where it lies halfway, rounding
// must not leave it without a contact.
constexpr double HALFWAY = 1e-4;
// Place of a foot that belongs to another ball [m]: too far away for any contact.
constexpr double NOWHERE = 1e9;

// Numbers of a face: its normal (3) and corners (9).
constexpr int FACET_NUMBERS = 12;
// Neighbours of a ball by which most places that do not belong to it are rejected.
constexpr int RIVALS = 8;

// Place of a foot now and when the substep began.
template <class T> struct Foot {
    Vec3<T> now, before;
};

template <class T> PBD_INLINE Foot<T> nowhere() {
    const Vec3<T> place = {T(NOWHERE), T(0), T(0)};
    return {place, place};
}

// Whether the foot of a particle at q, in the axes of the body, may belong to a ball: a quick check that rejects most
// others. A bisector (a, b) is the plane between two balls, shifted by how far a foot may be across from what stands on
// it, so that a . q + b > 0 beyond.
template <class T> PBD_INLINE bool may_belong(const T* bisectors, const Vec3<T>& q) {
    PBD_CONTRACT_ON
    for (int n = 0; n < RIVALS; ++n) {
        const T* const at = bisectors + 4 * n;
        if (at[0] * q.x + at[1] * q.y + at[2] * q.z + at[3] > T(0)) return false;
    }
    return true;
}

// Whether a place on a face belongs to ball k.
template <class Table, class T> PBD_INLINE bool belongs(const Table& table, int k, const Vec3<T>& foot) {
    PBD_CONTRACT_ON
    const auto square_to = [&](int other) {
        const T* const at = table.rest.data + 3 * other;
        const Vec3<T> gap = foot - Vec3<T>{at[0], at[1], at[2]};
        return dot(gap, gap);
    };
    const T nearest = T(1.0 - HALFWAY) * square_to(k);
    for (int n = table.beside_start.data[k]; n < table.beside_start.data[k + 1]; ++n)
        if (square_to(table.beside.data[n]) < nearest) return false;
    return true;
}

// Foot of member o, which is at p, on the body of member k: NOWHERE if it belongs to another ball, or is too far away
// for a contact.
//
// early: whether p is a place when the substep began. Otherwise it is one now.
template <class Group>
inline CUDA_CALLABLE Foot<typename Group::T> foot_of(const typename Given<Group>::type& in,
                                                     const CarriedBodies<Group>& bodies, int k, int o,
                                                     const Vec3<typename Group::T>& p, bool early) {
    PBD_CONTRACT_ON
    using T = typename Group::T;
    using Columns = typename Group::Options::Carry;
    constexpr int LANES = Group::LANES;
    const auto& table = in.table;
    const T* const at = bodies.row(in, table.owner.data[k]);
    const Vec3<T> offset = bodies.get(at + Columns::OFFSET * LANES);
    const auto center = [&](bool then) { return bodies.get(at + (then ? Columns::START : Columns::CENTER) * LANES); };
    const auto turn = [&](bool then) { return bodies.rows(at + (then ? Columns::START_TURN : Columns::TURN) * LANES); };
    // In the body's axes, at the scale of the scene.
    const Vec3<T> q = in.inv_size() * (transposed_times(turn(early), p - center(early)) + offset);
    const auto point = [](const T* from) { return Vec3<T>{from[0], from[1], from[2]}; };
    const T reach = table.traits.data[4 * k] + table.traits.data[4 * o] + table.cushion;
    if (!may_belong(table.bisectors.data + 4 * RIVALS * k, q)) return nowhere<T>();
    Vec3<T> best = q;
    T least = reach * reach;
    for (int f = table.facet_start.data[k]; f < table.facet_start.data[k + 1]; ++f) {
        const T* const facet = table.facets.data + FACET_NUMBERS * f;
        const Vec3<T> n = point(facet), a = point(facet + 3);
        const T height = dot(n, q - a);
        if (!(height * height < least)) continue;
        const NearPlace<T> here = nearest_place(q, a, point(facet + 6), point(facet + 9));
        best = here.square < least ? here.place : best;
        least = here.square < least ? here.square : least;
    }
    if (!(least < reach * reach)) return nowhere<T>();
    if (!belongs(table, k, best)) return nowhere<T>();
    const Vec3<T> arm = in.size() * best - offset;
    return {center(false) + turn(false) * arm, center(true) + turn(true) * arm};
}

// Whether members k and l are a ball of a rigid body and a particle that needs a foot on it. first: whether k is that
// ball.
template <class Group> PBD_INLINE bool needs_foot(const Group& in, int k, int l, bool& first) {
    first = in.table.owner.data[k] >= 0;
    const int ball = first ? k : l, other = first ? l : k;
    return first != (in.table.owner.data[l] >= 0) &&
           in.table.facet_start.data[ball + 1] > in.table.facet_start.data[ball] &&
           in.table.traits.data[4 * other + 3] == typename Group::T(Group::Options::Roles::BALL);
}

// Radius with which member k counts where it may touch member l soon: balls that are met at feet are as large as their
// reach.
template <class Group> PBD_INLINE typename Group::T radius_towards(const Group& in, int k, int l) {
    bool first;
    const bool reaches = needs_foot(in, k, l, first) && first;
    return reaches ? in.table.halo.data[k] : in.table.traits.data[4 * k];
}

// Places at which two members meet.
template <class T> struct Pair {
    Foot<T> one, two;
};

// Replace the place of a ball of a body by the foot of the particle that it meets.
//
// at: places of members k and l. early: see foot_of.
template <class Group>
PBD_INLINE Pair<typename Group::T> stand(const typename Given<Group>::type& in, const CarriedBodies<Group>& bodies,
                                         int k, int l, const Pair<typename Group::T>& at, bool early) {
    PBD_CONTRACT_ON
    using T = typename Group::T;
    bool first;
    if constexpr (!Group::Options::RIGID) return at;
    if (!needs_foot(in, k, l, first)) return at;
    const Vec3<T> p = early ? at.one.before : at.one.now, q = early ? at.two.before : at.two.now, apart = p - q;
    const T reach = (in.table.halo.data[k] + in.table.halo.data[l]) * in.size();
    if (!(dot(apart, apart) < reach * reach)) return at;
    if (first) return {foot_of<Group>(in, bodies, k, l, q, early), at.two};
    return {at.one, foot_of<Group>(in, bodies, l, k, p, early)};
}

}  // namespace pbd
