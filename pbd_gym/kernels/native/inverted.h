// Count of tetrahedra that are inverted or flat at the end of a step.
#pragma once
#include "lanes.h"

namespace pbd {

// Share of its rest volume below which a tetrahedron counts as flat.
constexpr double FLAT = 0.01;

// Add the inverted tetrahedra of a group to `counts`, per lane.
template <class L, class Table, class Positions, class Parameters, class Counts>
inline CUDA_CALLABLE void count_inverted(const Table& table, const Positions& positions, const Parameters& parameters,
                                         int size_column, const Counts& counts, int group, int thread,
                                         int thread_count) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    const T* const x = (const T*)positions.data + (long long)group * positions.shape[1] * 3 * L::LANES;
    const T* const numbers = (const T*)parameters.data + (group * parameters.shape[1] + size_column) * L::LANES;
    const int* const tets = (const int*)table.tets.data;
    int* const found = counts.data + group * L::LANES;
    for (int lane = 0; lane < L::ROUNDS; ++lane) {
        const V size = L::load(numbers, lane);
        const V least = V(T(FLAT)) * size * size * size;
        V low = V(T(0));
        for (int t = thread; t < table.tets.shape[0]; t += thread_count) {
            const auto side = [&](int corner, int axis) {
                const T* const from = x + (3 * tets[4 * t] + axis) * L::LANES;
                const T* const to = x + (3 * tets[4 * t + corner] + axis) * L::LANES;
                return L::load(to, lane) - L::load(from, lane);
            };
            const V ax = side(1, 0), ay = side(1, 1), az = side(1, 2);
            const V bx = side(2, 0), by = side(2, 1), bz = side(2, 2);
            const V cx = side(3, 0), cy = side(3, 1), cz = side(3, 2);
            const V six = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx);
            low += six <= least * table.six_volumes.data[t] ? V(T(1)) : V(T(0));
        }
        for (int k = 0; k < (L::ROUNDS == 1 ? L::LANES : 1); ++k) {
            const int more = (int)((const T*)&low)[k];
            if (more > 0) atomic_add(found[lane + k], more);
        }
    }
}

}  // namespace pbd
