// Positions of a single environment in rows of four, x, y, z and the inverse mass: one register holds two particles.
#pragma once
#include "lanes.h"

#if !PBD_BLOCK
namespace pbd {

// Compute the velocities at the end of a substep, and predict the positions at the end of the next one.
//
// Products and sums are not fused, as in Warp's own code for batches, so that a single environment gives the same bits.
template <class T, class Body, class Substep> inline void advance_packed(Body& body, const Substep& now) {
    PBD_CONTRACT_OFF
    using Row = typename Register<T, 4>::type;
    using Pair = typename Register<T, 8>::type;
    T* const at = (T*)body.x.data;
    T* const before = (T*)body.previous.data;
    const T h = now.h, inv_h = now.inv_h, gx = now.fall_x.c[0], gy = now.fall_y.c[0], gz = now.fall_z.c[0];
    const Pair pull = {gx, gy, gz, 0, gx, gy, gz, 0}, one = Pair(T(1)), none = Pair(T(0));
    const Pair scaled = Pair(now.velocity_factor.c[0]);
    const int count = body.x.shape[0];
    const auto next = [&](Pair p, Pair q) {
        const Pair w = __builtin_shufflevector(p, p, 3, 3, 3, 3, 7, 7, 7, 7);
        const Pair change = (p - q) * inv_h;
        const Pair kept = change * (w > none ? scaled : one);
        const Pair velocity = kept + (w > none ? pull : none);
        const Pair moved = h * velocity;
        return __builtin_shufflevector(p + moved, p, 0, 1, 2, 11, 4, 5, 6, 15);
    };
    int i = 0;
    for (; i + 2 <= count; i += 2) {
        const Pair p = *(const Pair*)(at + 4 * i), q = *(const Pair*)(before + 4 * i);
        *(Pair*)(at + 4 * i) = next(p, q);
        *(Pair*)(before + 4 * i) = p;
    }
    if (i < count) {
        const Row p = *(const Row*)(at + 4 * i), q = *(const Row*)(before + 4 * i);
        const auto twice = [](Row r) { return __builtin_shufflevector(r, r, 0, 1, 2, 3, 0, 1, 2, 3); };
        const Pair moved = next(twice(p), twice(q));
        *(Row*)(at + 4 * i) = __builtin_shufflevector(moved, moved, 0, 1, 2, 3);
        *(Row*)(before + 4 * i) = p;
    }
}

}  // namespace pbd
#endif
