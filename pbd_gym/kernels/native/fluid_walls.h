// Walls of a fluid: colliders near its particles, approximated by planes for a substep.
#pragma once
#include "fluid_group.h"

namespace pbd {

// Load a coordinate of as many particles as a Warp vector holds, from row `first` on [m].
template <class Vector, class Scratch>
inline CUDA_CALLABLE Vector load_spots(const Scratch& scratch, int group, int axis, int first, Vector like) {
    const int stride = scratch.spots.shape[2];
    const auto* const from = scratch.spots.data + ((size_t)group * 3 + axis) * stride + first;
    auto found = like;
    for (unsigned n = 0; n < sizeof(found.c) / sizeof(found.c[0]); ++n) found.c[n] = from[n];
    return found;
}

// Add a wall to each particle near a collider; walls that do not fit are counted.
//
// WIDTH particles from row `first` on are processed together.
// near_by:  positive for particles near the collider.
// distance: from the surface of the collider [m].
// k:        number of the collider.
// n, u:     its normal there, and its displacement in the substep [m].
template <class Options, int WIDTH, class Model, class Body, class Scratch, class Vector>
inline CUDA_CALLABLE void note_walls(const Model& model, const Body& body, const Scratch& scratch, int group, int first,
                                     const Vector& near_by, const Vector& distance, const Vector& nx, const Vector& ny,
                                     const Vector& nz, const Vector& ux, const Vector& uy, const Vector& uz,
                                     typename Options::T kinetic, typename Options::T sticking, int k) {
    PBD_CONTRACT_ON
    using T = typename Options::T;
    const FluidGroup<Options, decltype(model.fluid), Body, Scratch> fluid{model.fluid, body, scratch, group, 0, 1};
    const int active = fluid.active();
    const T inv_size = fluid.inv_size;
    for (int n = 0; n < WIDTH && first + n < active; ++n) {
        if (!(near_by.c[n] > T(0))) continue;
        const int i = first + n;
        if (fluid.wall_counts[i] == Options::PLANES) {
            atomic_add(scratch.overflow.data[fluid.rank * 2 + 1], 1);
            continue;
        }
        auto& wall = fluid.walls(i)[fluid.wall_counts[i]++];
        const T* const p = fluid.sets + 4 * i;
        wall.normal[0] = nx.c[n];
        wall.normal[1] = ny.c[n];
        wall.normal[2] = nz.c[n];
        wall.offset = wall.normal[0] * p[0] + wall.normal[1] * p[1] + wall.normal[2] * p[2] - distance.c[n] * inv_size;
        wall.travel[0] = ux.c[n] * inv_size;
        wall.travel[1] = uy.c[n] * inv_size;
        wall.travel[2] = uz.c[n] * inv_size;
        wall.kinetic = kinetic;
        wall.sticking = sticking;
        wall.pushed = wall.fall = T(0);
        wall.collider = T(k);
        if constexpr (Options::WRENCHES) wall.carried = wall.slope = T(0);
    }
}

}  // namespace pbd
