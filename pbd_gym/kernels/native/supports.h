// What carries a particle of a line, or is near it: a row of body.support.
//
// See kernels/colliders/supports.py.
#pragma once
#include "lanes.h"

namespace pbd {

// Numbers of a row, and the place of some of them: outward normal, what lines have pressed the particle by [m], what
// they press it by for friction alone [m], how far they may press it in yet [m], whether the collider carries it, how
// high it is above the contact surface [m], number of the collider from 1 on, radius of its bends [m], friction, and
// how far its surface has gone in the substep [m], whether the particle was in it when the substep began, and how taut
// a line that begins there and goes round something was last in the control step: h^2 w sum(f / length), see lines.h.
constexpr int SUPPORT = 17, PRESSED = 3, GRIPPED = 4, ROOM = 5, TOUCHES = 6, HEIGHT = 7, COLLIDER = 8, BEND = 9,
              KINETIC = 10, STATIC = 11, TRAVEL = 12, OVERLAPS = 15, TENSION = 16;
// Share of the contact radius within which a collider carries a particle, and by which tension takes it in.
constexpr double CARRIED = 1.0 / 64.0;
// Share of it that a particle may be in a collider by, for a line to go round that. Deeper, a way along the surface
// beside it is too much longer than its own.
constexpr double SUNKEN = 0.3;

// Forget what carried particle i.
template <class L, class Table, class Body>
inline CUDA_CALLABLE void clear_support(Table& colliders, Body& body, int i) {
    using T = typename L::T;
    using V = typename L::V;
    T* const row = (T*)wp::address(body.support, i, 0);
    for (int lane = 0; lane < L::ROUNDS; ++lane) {
        for (int number = 0; number <= COLLIDER; ++number) L::store(row + number * L::LANES, lane, V(T(0)));
        T* const overlaps = row + OVERLAPS * L::LANES;  // what contacts found in the last substep
        L::store(overlaps, lane, L::load(overlaps, lane) > T(1) ? V(T(1)) : V(T(0)));
        L::store(row + HEIGHT * L::LANES, lane, V(T(colliders.line_reach)));
    }
}

// Note the collider that particle i is near, if it is the nearest so far.
template <class L, class Table, class Body, class Near>
inline CUDA_CALLABLE void note_support(Table& colliders, Body& body, int i, Near& near) {
    using T = typename L::T;
    using V = typename L::V;
    constexpr int LANES = L::LANES;
    T* const row = (T*)wp::address(body.support, i, 0);
    const int k = near.collider;
    const T *const surface = (const T*)wp::address(colliders.surfaces, k, 0), radius = colliders.contact_radius;
    const T reach = T(CARRIED) * radius;
    const T* const friction = (const T*)body.friction.c;
    for (int lane = 0; lane < L::ROUNDS; ++lane) {
        PBD_CONTRACT_OFF
        const V none = V(T(0)), depth = L::load(near.depth.c, lane), inside = L::load(near.inside.c, lane);
        const auto nearer = L::load(row + HEIGHT * LANES, lane) + depth > T(0);
        // What was in it by more when the substep began does not lie on it.
        const auto carried = (depth + reach > T(0)) & !((depth > reach) & (inside > reach));
        const auto put = [&](int number, V value) {
            T* const to = row + number * LANES;
            L::store(to, lane, nearer ? value : L::load(to, lane));
        };
        put(0, L::load(near.nx.c, lane));
        put(1, L::load(near.ny.c, lane));
        put(2, L::load(near.nz.c, lane));
        const V short_of = V(reach) - depth, room = short_of > T(0) ? short_of : none;
        put(ROOM, carried ? room : none);
        put(TOUCHES, carried ? V(T(1)) : none);
        put(HEIGHT, -depth);
        put(COLLIDER, depth < V(T(SUNKEN) * radius) ? V(T(k + 1)) : none);
        if (any((depth > reach) & (inside > reach))) {
            T* const overlaps = row + OVERLAPS * LANES;
            L::store(overlaps, lane, ((depth > reach) & (inside > reach)) ? V(T(1)) : L::load(overlaps, lane));
        }
        put(BEND, V(*(const T*)wp::address(colliders.bends, k)));
        put(KINETIC, surface[0] * L::load(friction, lane));
        put(STATIC, surface[1] * L::load(friction, lane));
        put(TRAVEL, L::load(near.ax.c, lane));
        put(TRAVEL + 1, L::load(near.ay.c, lane));
        put(TRAVEL + 2, L::load(near.az.c, lane));
    }
}

}  // namespace pbd
