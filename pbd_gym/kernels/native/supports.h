// The collider that carries a particle of a line, or is near it: a row of body.support.
//
// See kernels/colliders/supports.py.
#pragma once
#include "lanes.h"

namespace pbd {

// Size of a row, and offsets of its fields. In order: outward unit normal (3); how far lines have pressed the particle
// into the collider [m]; how far they press it for friction alone [m]; how far they may still press it in [m]; whether
// the collider carries it; height above the contact surface [m]; number of the collider, from 1; bend radius of the
// collider [m]; kinetic and static friction; displacement of the surface in the substep (3) [m]; whether the particle
// was inside when the substep began; and the last tension in this control step, h^2 w sum(f / length) as in lines.h, of
// a wrapped line that begins at the particle.
constexpr int SUPPORT = 17, PRESSED = 3, GRIPPED = 4, ROOM = 5, TOUCHES = 6, HEIGHT = 7, COLLIDER = 8, BEND = 9,
              KINETIC = 10, STATIC = 11, TRAVEL = 12, OVERLAPS = 15, TENSION = 16;
// Share of the contact radius within which a collider carries a particle, and by which line tension may press it in.
constexpr double CARRIED = 1.0 / 64.0;
// Largest depth at which a line is still wrapped round the collider, as a share of the contact radius. From deeper
// inside, the way along the surface would be much longer than the line's own.
constexpr double SUNKEN = 0.3;

// Whether a curved collider has been near any particle of the group in this step. If not, all rows but their overlaps
// are as begin_support has left them, so that nobody has to read or reset them.
template <class Body> PBD_INLINE bool supported(const Body& body) { return body.supported.data[0] != 0; }

// Write the row of particle i without a support.
template <class L, class Table, class Body> PBD_INLINE void reset_support(Table& colliders, Body& body, int i) {
    using T = typename L::T;
    using V = typename L::V;
    T* const row = (T*)wp::address(body.support, i, 0);
    for (int lane = 0; lane < L::ROUNDS; ++lane) {
        for (int number = 0; number <= COLLIDER; ++number) L::store(row + number * L::LANES, lane, V(T(0)));
        L::store(row + HEIGHT * L::LANES, lane, V(T(colliders.line_reach)));
    }
}

// Forget, at the start of a step, what the step before has found: it is no part of a state.
template <class L, class Table, class Body>
inline CUDA_CALLABLE void begin_support(Table& colliders, Body& body, int i) {
    using T = typename L::T;
    reset_support<L>(colliders, body, i);
    T* const row = (T*)wp::address(body.support, i, 0);
    for (int lane = 0; lane < L::ROUNDS; ++lane)
        for (int number = OVERLAPS; number <= TENSION; ++number)
            L::store(row + number * L::LANES, lane, typename L::V(T(0)));
}

// Reset the support of particle i for a substep. Overlaps that contacts noted in the last one remain for this one.
template <class L, class Table, class Body>
inline CUDA_CALLABLE void clear_support(Table& colliders, Body& body, int i) {
    using T = typename L::T;
    using V = typename L::V;
    if (supported(body)) reset_support<L>(colliders, body, i);
    T* const overlaps = (T*)wp::address(body.support, i, OVERLAPS);
    for (int lane = 0; lane < L::ROUNDS; ++lane) {
        const V noted = L::load(overlaps, lane);
        if (any(noted > T(0))) L::store(overlaps, lane, noted > T(1) ? V(T(1)) : V(T(0)));
    }
}

// Record a collider near particle i, if it is the nearest so far.
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
    body.supported.data[0] = 1;
    for (int lane = 0; lane < L::ROUNDS; ++lane) {
        PBD_CONTRACT_OFF
        const V none = V(T(0)), depth = L::load(near.depth.c, lane), inside = L::load(near.inside.c, lane);
        const auto nearer = L::load(row + HEIGHT * LANES, lane) + depth > T(0);
        // A particle that was deeper inside at the start of the substep overlaps the collider, and does not lie on it.
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
