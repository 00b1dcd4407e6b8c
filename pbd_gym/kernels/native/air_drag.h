// Wind: aerodynamic drag on the triangles of cloth.
//
// Air of density rho flows past the middle of a triangle of area A and unit normal n with the relative velocity u. The
// force is quadratic in the components of u along the normal and in the plane of the triangle,
//
//     F = rho A / 2 (c_n |u_n| u_n + c_t |u_t| u_t),    u_n = (u . n) n,    u_t = u - u_n.
//
// Each component has its own coefficient, the cross-flow principle (Hoerner 1965, Fluid-Dynamic Drag, chapter 3). A
// third of F goes to each corner.
#pragma once
#include "algebra.h"

namespace pbd {

// Compute the drag on triangles: the force on a corner, and a bound of its coefficient.
//
// measured: velocities are (positions - before) * inv_h; otherwise `before` holds velocities.
template <class L, bool measured, class Air, class Array>
inline CUDA_CALLABLE void blow(const Air& air, const Array& positions, const Array& before, typename L::T inv_h,
                               int group, int thread, int thread_count) {
    using T = typename L::T;
    using V = typename L::V;
    constexpr int LANES = L::LANES;
    const int row = positions.shape[1], row_before = before.shape[1], count = air.triangles.shape[0];
    const T* const wind = (const T*)air.wind.data + 4 * group * LANES;
    T* const drag = (T*)air.drag.data + 4 * LANES * (size_t(group) * count);
    const T* const at = (const T*)positions.data;
    const T* const other = (const T*)before.data;
    for (int t = thread; t < count; t += thread_count) {
        const int* const corners = air.triangles.data + 3 * t;
        const T along_normal = air.coefficients.data[2 * t], beside_it = air.coefficients.data[2 * t + 1];
        for (int lane = 0; lane < L::ROUNDS; ++lane) {
            PBD_CONTRACT_ON
            const T* const a = at + row * corners[0] * LANES;
            const T* const b = at + row * corners[1] * LANES;
            const T* const c = at + row * corners[2] * LANES;
            const T* const p = other + row_before * corners[0] * LANES;
            const T* const q = other + row_before * corners[1] * LANES;
            const T* const r = other + row_before * corners[2] * LANES;
            const auto number = [&](const T* from, int axis) { return L::load(from + axis * LANES, lane); };
            const auto edge = [&](const T* to) {
                return Vec3<V>{number(to, 0) - number(a, 0), number(to, 1) - number(a, 1),
                               number(to, 2) - number(a, 2)};
            };
            // Velocity of the air relative to the middle of the triangle, along an axis.
            const auto flow = [&](int axis) {
                PBD_CONTRACT_ON
                V sum;
                if constexpr (measured)
                    sum = ((number(a, axis) - number(p, axis)) + (number(b, axis) - number(q, axis)) +
                           (number(c, axis) - number(r, axis))) *
                          inv_h;
                else
                    sum = number(p, axis) + number(q, axis) + number(r, axis);
                return V(number(wind, axis) - sum * (T(1) / T(3)));
            };
            const V none = V(T(0));
            const Vec3<V> w = cross(edge(b), edge(c));
            const V twice_area = root(dot(w, w));
            const Vec3<V> n = (T(1) / at_least(twice_area, 1e-30)) * w;
            const Vec3<V> u = {flow(0), flow(1), flow(2)};
            const V un = dot(u, n);
            const V tx = u.x - un * n.x, ty = u.y - un * n.y, tz = u.z - un * n.z;
            const V scale = number(wind, 3) * twice_area * (T(1) / T(12));
            const V normal = scale * along_normal * (un < none ? -un : un);
            const V beside = scale * beside_it * root(tx * tx + ty * ty + tz * tz);
            T* const to = drag + 4 * t * LANES;
            L::store(to, lane, normal * un * n.x + beside * tx);
            L::store(to + LANES, lane, normal * un * n.y + beside * ty);
            L::store(to + 2 * LANES, lane, normal * un * n.z + beside * tz);
            L::store(to + 3 * LANES, lane, normal > beside ? normal : beside);
        }
    }
}

}  // namespace pbd
