// How touching members part: push-out and Coulomb friction.
#pragma once
#include "contact_geometry.h"

namespace pbd {

// Over-relaxation of particles with several contacts, whose corrections are averaged. Values up to 2 are safe. With 1,
// convergence is slow, and particles that fall into a heap come too close before they are stopped.
constexpr double CONTACT_RELAXATION = 1.7;
// The same for static friction between surfaces, where larger values make heaps tremble. Kinetic friction is Coulomb's
// force, not over-relaxed. Where all members are balls, CONTACT_RELAXATION applies to both.
constexpr double STICKING_RELAXATION = 1.4;
// Overlap of surfaces, in thicknesses, of which a substep removes half; of smaller overlaps it removes less, of deep
// ones nearly all. Cloth is soft at its surface. If the slightest overlap were removed at once, heaps would never stop
// trembling.
constexpr double SOFTNESS = 0.1;
// Factor on the inverse mass of a surface particle while friction with a collider holds it. What lies on it is then
// stopped within the substep, rather than by half in each, as if both were in free fall. Nor can it be dragged off by
// what lies on it, unless the friction there is ten times that with the collider.
constexpr double HELD_SHARE = 0.1;

// Inverse mass of a surface particle, reduced while friction with a collider holds it (body.traction).
template <class L> PBD_INLINE typename L::V weight_of(typename L::V w, typename L::V traction) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    return traction > T(0) ? T(HELD_SHARE) * w : w;
}

// Inverse mass of the part of a member that takes one of its contacts, as two factors. Their products for both members
// are summed in one expression, so that they are rounded alike everywhere.
//
// less: factor on the number of contacts, one over the relaxation.
template <class L, class Options>
PBD_INLINE typename L::V lent(const Lender<L, Options::RIGID>& m, typename L::V contacts, typename L::V less) {
    PBD_CONTRACT_ON
    if constexpr (Options::RIGID) {
        return at_least(contacts * less, 1) * m.w * m.leverage;
    } else {
        return at_least(contacts * less, 1);
    }
}

template <class L, class Options>
PBD_INLINE typename L::V lent_by(const Lender<L, Options::RIGID>& m, typename L::V less) {
    PBD_CONTRACT_ON
    if constexpr (Options::RIGID) {
        return at_least(m.crowd * less, 1);
    } else {
        return m.w;
    }
}

// Effective number of contacts that share a member's mass, for those that bounce.
template <class L, class Options>
PBD_INLINE typename L::V shares(const Lender<L, Options::RIGID>& m, typename L::V contacts) {
    if constexpr (Options::RIGID) {
        return m.shares;
    } else {
        return contacts;
    }
}

// Data for parting two members that the substep does not change: their masses, and the sums of their radii and friction
// coefficients.
template <class L, bool rigid> struct Partners {
    Lender<L, rigid> a, b;
    typename L::V radii, frictions;

    Partners() = default;
    PBD_INLINE Partners(const Member<L, rigid>& a, const Member<L, rigid>& b)
        : a(a), b(b), radii(a.radius + b.radius), frictions(a.friction + b.friction) {}
};

// Friction of a pair that the first of two passes has left unused, per inverse mass; and whether the second may use it,
// 1 or 0: where one of the pair belongs to a rigid body.
//
// A push is over-relaxed, and the second pass takes back what was too much. Between two jaws nothing is taken back,
// since they undo each other's pushes: cloth there would slip at 0.6 of what Coulomb's law says of the jaws' force.
template <class L, bool clamps> struct Spare {};
template <class L> struct Spare<L, true> {
    typename L::V friction, counts;
    PBD_INLINE Spare() : friction(typename L::V(typename L::T(0))), counts(friction) {}
};

// Compute the correction that parts two members, per inverse mass. Each member splits its mass equally among its
// contacts.
//
// mine, its: contacts of the first and of the second.
// gained:    distance by which earlier passes have moved them apart.
// elastic:   their restitution, below 0 for patches.
// spare:     see Spare.
template <class L, class Options>
PBD_INLINE void part(const Partners<L, Options::RIGID>& pair, const Touch<L>& t, typename L::V mine, typename L::V its,
                     typename L::V gained, typename L::V elastic, const ContactScales<typename L::T>& scales,
                     Spare<L, Options::CLAMPS>& spare, typename L::V& mx, typename L::V& my, typename L::V& mz) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    constexpr double STICKING = Options::SURFACES ? STICKING_RELAXATION : CONTACT_RELAXATION;
    const V none = V(T(0)), along = t.ux * t.nx + t.uy * t.ny + t.uz * t.nz;
    // Limit the distance by which they part in a substep: members that part by as much already get no further push.
    V fastest = t.fastest;
    if constexpr (Options::BOUNCY)
        fastest = elastic > none && scales.elastic_way < fastest ? V(scales.elastic_way) : fastest;
    const V soft = fastest - along, goal = t.overlap < soft ? t.overlap : soft;
    const V depth = t.inside > none ? at_least(goal, 0) : none;
    // The approach of sheets is stopped by an impulse. The rest of their overlap is removed gradually, and does not
    // count as pressure for friction.
    const auto sheets = t.sheets > none;
    const V approach = at_least(-along, 0), impulse = (sheets & (approach < depth)) ? approach : depth;
    const V rest = depth - impulse, small = T(SOFTNESS) * pair.radii * scales.size;
    V leaving = rest * rest / at_least(rest + small, 1e-30);
    if constexpr (Options::SURFACES) leaving = sheets ? t.haste * leaving : leaving;
    const V parting = impulse + leaving;
    // Take back what earlier passes have overshot: these contacts do not bounce.
    const V bounce = along < gained ? along : gained, over = at_least(-goal, 0);
    V back = at_least(bounce < over ? bounce : over, 0), pressing = impulse, bounced = none, stays = none;
    // Members that bounce are stopped, then sent back by the restitution times their approach, less gravity's part in
    // it.
    if constexpr (Options::BOUNCY) {
        const V resting = V(scales.resting), came = at_least(gained - along, 0);
        const auto bounces = (elastic > none) & (approach > T(2) * resting);
        const V apart = approach + elastic * (approach - resting);
        const V shared = shares<L, Options>(pair.a, mine) * pair.a.w + shares<L, Options>(pair.b, its) * pair.b.w;
        bounced = (bounces & (shared > none)) ? apart / at_least(shared, 1e-30) : none;
        pressing = bounces ? (scales.solved ? none : apart) : impulse;
        stays = (bounces & (V(T(scales.solved ? 1 : 0)) > none)) ? V(T(1)) : none;
        back = ((elastic > none) & (came > T(2) * resting)) ? none : back;
    }
    // Balls have many contacts: both members split their mass by the larger number of contacts.
    if constexpr (!Options::SURFACES) mine = its = mine > its ? mine : its;
    const auto inverse = [&](V less) {
        PBD_CONTRACT_ON
        const V shared = lent<L, Options>(pair.a, mine, less) * lent_by<L, Options>(pair.a, less) +
                         lent<L, Options>(pair.b, its, less) * lent_by<L, Options>(pair.b, less);
        return shared > none ? T(1) / at_least(shared, 1e-30) : none;
    };
    const V tx = t.ux - along * t.nx, ty = t.uy - along * t.ny, tz = t.uz - along * t.nz;
    const V slip = root(tx * tx + ty * ty + tz * tz);
    const V coefficient = T(0.5) * pair.frictions * scales.roughness;
    const V friction = coefficient * pressing;
    const V plain = inverse(V(T(1))), stick = inverse(V(T(1.0 / STICKING)));
    V slide = (Options::SURFACES ? plain : stick) * friction / at_least(slip, 1e-30);
    V push = inverse(V(T(1.0 / CONTACT_RELAXATION))) * parting - plain * back;
    if constexpr (Options::BOUNCY) {
        push = bounced > none ? bounced : push;
        push = stays > none ? none : push;
    }
    if constexpr (Options::CLAMPS) {
        const V whole = (spare.friction + coefficient * push) / at_least(slip, 1e-30);
        slide = ((spare.counts > none) & (whole > slide)) ? whole : slide;
    }
    const V drag = stick < slide ? stick : slide;
    if constexpr (Options::CLAMPS) {
        const V used = drag * slip;  // rounded before the subtraction
        spare.friction = coefficient * push - used;
    }
    mx = push * t.nx - drag * tx;
    my = push * t.ny - drag * ty;
    mz = push * t.nz - drag * tz;
}

}  // namespace pbd
