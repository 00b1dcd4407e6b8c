// Extent of the particles of a thread: see kernels/colliders/cull.py.
#pragma once
#include "lanes.h"

namespace pbd {

// Find the box round the particles that a thread handles, and how far one of them has moved in the substep at most,
// both wider by a contact radius: contacts push particles, and while these stay within, nothing is searched again.
template <class L, class Matrix, class Table, class Body>
PBD_INLINE Matrix measure_spread(const Table& colliders, const Body& body, int thread, int thread_count) {
    using T = typename L::T;
    using V = typename L::V;
    constexpr int LANES = L::LANES;
    Matrix found;
    const typename L::Index row = body.x.shape[1] * LANES, count = body.x.shape[0];
    const T *const positions = (const T*)body.x.data, *const before = (const T*)body.previous.data;
    const T room = colliders.contact_radius;
    for (int lane = 0; lane < L::ROUNDS; ++lane) {
        PBD_CONTRACT_ON
        V low_x = V(T(1e30)), low_y = low_x, low_z = low_x, high_x = -low_x, high_y = high_x, high_z = high_x;
        V move2 = V(T(0));
        for (typename L::Index i = thread; i < count; i += thread_count) {
            const T *const at = positions + i * row, *const from = before + i * row;
            const V x = L::load(at, lane), y = L::load(at + LANES, lane), z = L::load(at + 2 * LANES, lane);
            low_x = low_x < x ? low_x : x;
            low_y = low_y < y ? low_y : y;
            low_z = low_z < z ? low_z : z;
            high_x = high_x > x ? high_x : x;
            high_y = high_y > y ? high_y : y;
            high_z = high_z > z ? high_z : z;
            const V dx = x - L::load(from, lane), dy = y - L::load(from + LANES, lane),
                    dz = z - L::load(from + 2 * LANES, lane);
            const V way2 = dx * dx + dy * dy + dz * dz;
            move2 = move2 > way2 ? move2 : way2;
        }
        const V way = root(move2) + room;
        const V rows[7] = {low_x - room,  low_y - room,  low_z - room, high_x + room,
                           high_y + room, high_z + room, way * way};
        for (int k = 0; k < 7; ++k) L::store((T*)found.data[k], lane, rows[k]);
    }
    return found;
}

}  // namespace pbd
