// Damping of lines: the velocities along all segments of a line are damped together, exactly.
#pragma once
#include "lines.h"

namespace pbd {

// Damp line c of a sweep by changing its particles' positions before the substep, and so their velocities.
//
// Longest: most segments. Forces: whether forces at grips are summed.
// stiffness: factor of the compliance, where environments differ.
template <int Longest, bool Forces, class One, class Table, class T, class V>
PBD_INLINE void damp_line(const One& one, const Table& table, T inv_h, V stiffness) {
    PBD_CONTRACT_ON
    using Index = typename One::Index;
    constexpr int LANES = One::LANES, ROW = One::ROW;
    const int c = one.c, first = table.offsets.data[c], count = table.offsets.data[c + 1] - first - 1;
    const V gamma = V(table.damping_time.data[c] * inv_h), growth = T(1) + gamma;
    if (!any(gamma > T(0))) return;
    const int* const at = one.arrays.indices + first;
    const T* const relative = (const T*)table.relative_compliance.data + first;
    const V softness = V(table.compliance.data[c] * (inv_h * inv_h)) * stiffness;
    const V loose = V(T(count > 1 ? LEAST_COMPLIANCE : 0.0));
    const auto weight = [&](int k) { return V(one.load(one.arrays.w + at[k] * LANES)); };
    const auto place = [&](int k) { return one.arrays.x + ROW * (Index)at[k] * LANES; };
    const auto before = [&](int k) { return one.arrays.previous + ROW * (Index)at[k] * LANES; };
    V nx[Longest + 1], ny[Longest + 1], nz[Longest + 1], right[Longest + 1], ratio[Longest + 1];
    V ax = one.load(place(0)), ay = one.load(place(0) + LANES), az = one.load(place(0) + 2 * LANES), wa = weight(0);
    V ux = ax - one.load(before(0)), uy = ay - one.load(before(0) + LANES), uz = az - one.load(before(0) + 2 * LANES);
    V px = V(T(0)), py = px, pz = px, last_right = px, inverse = px;
    for (int k = 0; k < count; ++k) {
        const T *const here = place(k + 1), *const old = before(k + 1);
        const V bx = one.load(here), by = one.load(here + LANES), bz = one.load(here + 2 * LANES);
        const V vx = bx - one.load(old), vy = by - one.load(old + LANES), vz = bz - one.load(old + 2 * LANES);
        const V dx = bx - ax, dy = by - ay, dz = bz - az, wb = weight(k + 1);
        const V over = T(1) / at_least(root(dx * dx + dy * dy + dz * dz), 1e-30);
        const V qx = dx * over, qy = dy * over, qz = dz * over;
        const V coupling = growth * (wa * (px * qx + py * qy + pz * qz));
        const V pliant = softness * relative[k] + loose * (wa > wb ? wa : wb);
        const V wanted = -gamma * (qx * (vx - ux) + qy * (vy - uy) + qz * (vz - uz));
        const V fraction = -coupling * inverse;
        inverse = T(1) / at_least(growth * (wa + wb) + pliant + coupling * fraction, 1e-30);
        last_right = (wanted + coupling * last_right) * inverse;
        nx[k] = px = qx;
        ny[k] = py = qy;
        nz[k] = pz = qz;
        right[k] = last_right;
        ratio[k] = fraction;
        ax = bx;
        ay = by;
        az = bz;
        ux = vx;
        uy = vy;
        uz = vz;
        wa = wb;
    }
    V change = V(T(0)), fraction = change;
    px = py = pz = change;  // push of the segment ahead
    for (int k = count - 1; k >= -1; --k) {
        V push_x = V(T(0)), push_y = push_x, push_z = push_x;
        if (k >= 0) {
            change = right[k] - fraction * change;
            fraction = ratio[k];
            push_x = nx[k] * change;
            push_y = ny[k] * change;
            push_z = nz[k] * change;
        }
        const V light = weight(k + 1);
        T* const to = before(k + 1);
        one.store(to, one.load(to) - light * (push_x - px));
        one.store(to + LANES, one.load(to + LANES) - light * (push_y - py));
        one.store(to + 2 * LANES, one.load(to + 2 * LANES) - light * (push_z - pz));
        if constexpr (Forces) one.add_pull(at[k + 1], push_x - px, push_y - py, push_z - pz, light);
        px = push_x;
        py = push_y;
        pz = push_z;
    }
}

}  // namespace pbd
