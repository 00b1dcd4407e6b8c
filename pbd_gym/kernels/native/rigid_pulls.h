// Forces of rigid bodies on the hands that hold them.
//
// A held particle follows its hand whatever the body does, so the body alone does not conserve its momentum. The
// momentum that is missing at the end of a substep, compared with its initial momentum plus all pushes since, was taken
// up by the held particles: that is the force at the hand. Their displacement says nothing about it, since they count
// as heavy.
//
// Several hands share force and moment by the smallest forces that add up to both. A moment about the line through two
// hands is not carried.
#pragma once
#include "rigid_bodies.h"

namespace pbd {

// Regularisation of the inertia of the held points (unit masses), as a share of it.
constexpr double PULL_FLOOR = 1e-4;

// Begin a substep: store the momentum of body b's predicted particles.
template <class Lane> PBD_INLINE void begin_pull(const Lane& on, int b) {
    PBD_CONTRACT_ON
    using T = typename Lane::T;
    using V = typename Lane::V;
    constexpr int LANES = Lane::LANES;
    const V none = V(T(0));
    T* const at = on.in.body(b);
    const Vec3<V> zero = {none, none, none};
    on.store3(at + BODY_PULL * LANES, zero);
    on.store3(at + (BODY_PULL + 3) * LANES, zero);
    for (int j = on.in.offsets[b]; j < on.in.offsets[b + 1]; ++j) {
        const V free = on.load(on.in.w + on.in.members[j] * LANES);
        const Vec3<V> from = on.load3(on.in.place_before(j)), d = on.load3(on.in.place(j)) - from;
        on.note_push(at, from, choose(free > none, on.weight(j, b) * d, zero));
    }
}

// End a substep: compare with the momentum that they have now, and share the difference among held particles.
//
// gone, swept: displacement and rotation of the body according to its velocities.
template <class Lane, class Body>
PBD_INLINE void share_pull(const Lane& on, const Body& body, int b, const Vec3<typename Lane::V>& gone,
                           const Vec3<typename Lane::V>& swept) {
    PBD_CONTRACT_ON
    using T = typename Lane::T;
    using V = typename Lane::V;
    constexpr int LANES = Lane::LANES;
    const V none = V(T(0)), one = V(T(1));
    T* const at = on.in.body(b);
    const Vec3<V> center = on.center(at), offset = on.offset(at), zero = {none, none, none};
    const Mat3<V> turn = on.turn(at);
    // A hand pulls at the place that it holds, though it may be torn from it.
    const auto held_at = [&](int j) { return center + turn * on.place_in(j, offset); };
    V number = none;
    Vec3<V> middle = zero;
    for (int j = on.in.offsets[b]; j < on.in.offsets[b + 1]; ++j) {
        const auto free = on.load(on.in.w + on.in.members[j] * LANES) > none;
        const Vec3<V> here = on.load3(on.in.place(j)), d = gone + cross(swept, here - center);
        on.note_push(at, here, choose(free, T(-1) * (on.weight(j, b) * d), zero));
        number += free ? none : one;
        middle = middle + choose(free, zero, held_at(j));
    }
    if (!any(number > none)) return;
    const V share = one / at_least(number, 1);
    middle = share * middle;
    Sym3<V> second = {none, none, none, none, none, none};
    for (int j = on.in.offsets[b]; j < on.in.offsets[b + 1]; ++j) {
        const auto free = on.load(on.in.w + on.in.members[j] * LANES) > none;
        add_square(second, free ? none : one, held_at(j) - middle);
    }
    const V floor = T(PULL_FLOOR) * (second.xx + second.yy + second.zz) + T(1e-9);
    Sym3<V> inertia = inertia_of(second);
    inertia.xx += floor;
    inertia.yy += floor;
    inertia.zz += floor;
    const Vec3<V> force = on.load3(at + BODY_PULL * LANES);
    const Vec3<V> moment = on.load3(at + (BODY_PULL + 3) * LANES) - cross(middle, force);
    const Vec3<V> spin = inverse_of(inertia) * moment;
    for (int j = on.in.offsets[b]; j < on.in.offsets[b + 1]; ++j) {
        const int i = on.in.members[j];
        const auto free = on.load(on.in.w + i * LANES) > none;
        const Vec3<V> pull = share * force + cross(spin, held_at(j) - middle);
        T* const sum = (T*)body.pull.data + 3 * i * LANES;
        on.store3(sum, on.load3(sum) + choose(free, zero, pull));
    }
}

}  // namespace pbd
