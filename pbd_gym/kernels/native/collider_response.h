// Response of a particle to contact with a collider: push-out and Coulomb friction.
//
// Overlap that existed when the substep began is not an approach, and must not become speed. It is removed by moving
// the particle's earlier position as well, by at most body.relief per round: removed at once, it would strain the rest
// of the body, and the strain would throw it. Only the remaining depth counts as normal load for friction.
#pragma once
#include "lanes.h"
#include "supports.h"

namespace pbd {

// Move particle `i` out along the normal, and reduce its slip on the surface in the substep.
//
// The slip is cancelled while it is at most sticking * depth, and otherwise shortened by kinetic * depth. Lanes without
// contact, and those whose particle is held, keep their bits.
//
// carries:  keep unused friction for the particle's next contact (body.traction).
// supports: add the distance by which lines have pressed the particle on its collider to the depth (body.support).
template <class L, bool carries, bool supports, class Body, class Contact>
inline CUDA_CALLABLE void respond_to_collider(Body& body, int i, Contact& contact) {
    using T = typename L::T;
    using V = typename L::V;
    constexpr int LANES = L::LANES;
    T* const at = (T*)wp::address(body.x, i, 0);
    const T* const w = (const T*)wp::address(body.inv_mass, i);
    for (int lane = 0; lane < L::ROUNDS; ++lane) {
        // Do not fuse products and sums, as in the surrounding Warp code.
        PBD_CONTRACT_OFF
        const V kx = L::load(contact.nx.c, lane), ky = L::load(contact.ny.c, lane), kz = L::load(contact.nz.c, lane);
        const V none = V(T(0)), one = V(T(1));
        // A lane whose particle is held is treated as one without contact.
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
            if (supported(body)) {
                const V lines = L::load(pressed, lane), grips = L::load(gripped, lane);
                load = at_least(push + (found > T(0) ? lines + grips : none), 0);
                L::store(pressed, lane, found > T(0) ? none : lines);
                L::store(gripped, lane, found > T(0) ? none : grips);
            }
            T* const overlaps = pressed + (OVERLAPS - PRESSED) * LANES;
            if (any(over > V(body.relief)))
                L::store(overlaps, lane, over > V(body.relief) ? V(T(2)) : L::load(overlaps, lane));
        }
        T* const kept = carries ? (T*)wp::address(body.traction, i) : nullptr;
        if constexpr (carries) carried = all * L::load(kept, lane);
        // Share of the slip that friction removes: all of it when sticking, none without depth.
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
