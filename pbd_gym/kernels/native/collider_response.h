// The response of a particle to its contact with a collider: push-out and Coulomb friction.
//
// What a particle was in by when the substep began is no approach, and must not become speed. It leaves by moving where
// the particle was as well, no faster than body.relief per round: at once it would strain what the particle is a part
// of, and the strain would throw that. Only the rest of the depth presses, and makes friction.
#pragma once
#include "lanes.h"
#include "supports.h"

namespace pbd {

// Move particle `i` out along the normal, and hold back its slip on the surface during the substep.
//
// The slip is cancelled while it is no longer than sticking * depth, and shortened by kinetic * depth otherwise. A lane
// without contact keeps its bits, and so does one whose particle is held.
//
// carries:  what friction has not needed is kept for the next contact of the particle (body.traction).
// supports: what lines have pressed the particle on its collider by counts with the depth (body.support).
template <class L, bool carries, bool supports, class Body, class Contact>
inline CUDA_CALLABLE void respond_to_collider(Body& body, int i, Contact& contact) {
    using T = typename L::T;
    using V = typename L::V;
    constexpr int LANES = L::LANES;
    T* const at = (T*)wp::address(body.x, i, 0);
    const T* const w = (const T*)wp::address(body.inv_mass, i);
    for (int lane = 0; lane < L::ROUNDS; ++lane) {
        // Products and sums stay apart, as in the plain Warp around.
        PBD_CONTRACT_OFF
        const V kx = L::load(contact.nx.c, lane), ky = L::load(contact.ny.c, lane), kz = L::load(contact.nz.c, lane);
        const V none = V(T(0)), one = V(T(1));
        // A held lane is treated like one without contact.
        const V found = L::load(w, lane) > T(0) ? at_least(L::load(contact.depth.c, lane), 0) : none;
        const V early = at_least(L::load(contact.early.c, lane), 0), over = early < found ? early : found;
        const V gone = over < V(body.relief) ? over : V(body.relief), push = found - over, out = push + gone;
        if (any(over > none)) {
            T* const old = (T*)wp::address(body.previous, i, 0);
            L::store(old, lane, L::load(old, lane) + kx * gone);
            L::store(old + LANES, lane, L::load(old + LANES, lane) + ky * gone);
            L::store(old + 2 * LANES, lane, L::load(old + 2 * LANES, lane) + kz * gone);
        }
        const V qx = L::load(at, lane) + kx * out, qy = L::load(at + LANES, lane) + ky * out;
        const V qz = L::load(at + 2 * LANES, lane) + kz * out;
        const V ux = qx - L::load(contact.ax.c, lane), uy = qy - L::load(contact.ay.c, lane);
        const V uz = qz - L::load(contact.az.c, lane);
        const V along = ux * kx + uy * ky + uz * kz;
        const V tx = ux - along * kx, ty = uy - along * ky, tz = uz - along * kz;
        const V slip = root(tx * tx + ty * ty + tz * tz);
        const V all = found > T(0) ? one : none;
        V load = push, carried = none;
        if constexpr (supports) {
            T *const pressed = (T*)wp::address(body.support, i, PRESSED), *const gripped = pressed + LANES;
            const V lines = L::load(pressed, lane), grips = L::load(gripped, lane);
            load = at_least(push + (found > T(0) ? lines + grips : none), 0);
            L::store(pressed, lane, found > T(0) ? none : lines);
            L::store(gripped, lane, found > T(0) ? none : grips);
            T* const overlaps = pressed + (OVERLAPS - PRESSED) * LANES;
            L::store(overlaps, lane, over > V(body.relief) ? V(T(2)) : L::load(overlaps, lane));
        }
        T* const kept = carries ? (T*)wp::address(body.traction, i) : nullptr;
        if constexpr (carries) carried = all * L::load(kept, lane);
        // Share of the slip that friction takes: all of it where it sticks, and none without depth.
        const V slides = slip - (L::load(contact.sticking.c, lane) * load + carried);
        const V most = L::load(contact.kinetic.c, lane) * load + carried;
        const V taken = slides > T(0) ? most : all;
        const V share = taken / (slides > T(0) ? at_least(slip, 1e-30) : one);
        if constexpr (carries) L::store(kept, lane, found > T(0) ? at_least(most - slip, 0) : L::load(kept, lane));
        L::store(at, lane, qx - share * tx);
        L::store(at + LANES, lane, qy - share * ty);
        L::store(at + 2 * LANES, lane, qz - share * tz);
    }
}

}  // namespace pbd
