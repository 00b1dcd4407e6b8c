// Signed distances of a solid, sampled on a grid and interpolated linearly.
#pragma once
#include "lanes.h"

namespace pbd {

// Look up distance and gradient at one place per lane.
//
// samples: distances [m], those of this grid from `first` on, x slowest; nx, ny, nz samples along the axes.
// x, y, z: places relative to the lowest corner of the grid, in cells, clamped to the grid. Returns: a matrix of four
// rows, the distance [m] and its derivatives along x, y and z [m per cell].
template <class L, class Samples, class Vector>
inline CUDA_CALLABLE wp::mat_t<4, L::LANES, typename L::T> look_up_distance(const Samples& samples, int first, int nx,
                                                                            int ny, int nz, const Vector& x,
                                                                            const Vector& y, const Vector& z) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    wp::mat_t<4, L::LANES, T> found;
    for (int lane = 0; lane < L::LANES; ++lane) {
        T share[3];
        int at[3];
        const T place[3] = {x.c[lane], y.c[lane], z.c[lane]};
        const int count[3] = {nx, ny, nz};
        for (int k = 0; k < 3; ++k) {
            const int last = count[k] - 2;
            const T p = place[k] > 0 ? place[k] : 0;  // also for NaN
            at[k] = p < last ? (int)p : last;
            share[k] = p < last + 1 ? p - at[k] : T(1);
        }
        const T* const s = (const T*)samples.data + first + (at[0] * ny + at[1]) * nz + at[2];
        const int i = ny * nz, j = nz;
        const T u = share[0], v = share[1], w = share[2];
        // Differences along z, then between rows, then between sheets.
        const T z00 = s[1] - s[0], z01 = s[j + 1] - s[j], z10 = s[i + 1] - s[i], z11 = s[i + j + 1] - s[i + j];
        const T a00 = s[0] + w * z00, a01 = s[j] + w * z01, a10 = s[i] + w * z10, a11 = s[i + j] + w * z11;
        const T b0 = a00 + v * (a01 - a00), b1 = a10 + v * (a11 - a10);
        found.data[0][lane] = b0 + u * (b1 - b0);
        found.data[1][lane] = b1 - b0;
        found.data[2][lane] = (1 - u) * (a01 - a00) + u * (a11 - a10);
        found.data[3][lane] = (1 - u) * (z00 + v * (z01 - z00)) + u * (z10 + v * (z11 - z10));
    }
    return found;
}

}  // namespace pbd
