"""Density constraints of a fluid: Macklin, Mueller 2013, Position based fluids, doi:10.1145/2461912.2461984.

``C_i = rho_i / rho_0 - 1 >= 0``, where the density is a sum over neighbours, over samples of other bodies (Akinci et
al. 2012, doi:10.1145/2185520.2185558), and the share of the kernel that lies behind walls, in closed form: a wall is a
plane as far as the kernel reaches. Where several walls meet, what is free of all of them is the product of what is free
of each: right for walls at right angles through the particle, and where one is far.

All constraints of a sweep are solved at once (Jacobi), each particle gathers its own move, and the position is brought
back in front of the walls.
"""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.data.fluid import scratch_type
from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.fluid.chunks import with_chunks
from pbd_gym.kernels.lanes.wide import Wide

_BOUNDARY_IN = """
    // Constraints of other bodies have moved these since.
    for (int b = thread; b < samples; b += thread_count) {
        const T* const p = x + ROW * table.boundary.data[order[members + b]];
        T* const row = sets + 4 * (second + b);
        for (int a = 0; a < 3; ++a) row[a] = p[a] * inv_size;
        row[4 * row_count + 3] = row[3];
    }
    PBD_SYNC();
"""

_DENSITY = """
        for (int i = thread; i < active; i += thread_count) {
            const T px = from[4 * i], py = from[4 * i + 1], pz = from[4 * i + 2];
            const int* const list = near + (size_t)i * capacity;
            T* const kept = slopes + (size_t)i * capacity;
            const int length = lengths[i];
            Sum sum_w, sum_x, sum_y, sum_z, sum_2;
            EACH_PART {
                F w = F(T(0)), gx = w, gy = w, gz = w, g2 = w;
                for (int n = FIRST; n < length; n += CHUNK) {
                    GATHER(from, list + n, qx, qy, qz, unused)
                    const F dx = px - qx, dy = py - qy, dz = pz - qz;
                    const F d2 = dx * dx + dy * dy + dz * dz;
                    const F e = ATLEAST(T(1) - ROOT(d2) * inv_support, T(0));
                    const F cube = e * e * e;
                    PUT(kept + n, cube);
                    w += cube * e * (T(5) - T(4) * e);
                    gx += cube * dx;
                    gy += cube * dy;
                    gz += cube * dz;
                    g2 += cube * cube * d2;
                }
                sum_w.put(part, w);
                sum_x.put(part, gx);
                sum_y.put(part, gy);
                sum_z.put(part, gz);
                sum_2.put(part, g2);
            }
            T weights = sum_w.total() + T(1), squares = sum_2.total();
            // What has no constraint of its own moves this particle by the multiplier of this particle alone.
            T fx = T(0), fy = T(0), fz = T(0);
#if BOUNDARY
            const int* const other = wet + (size_t)i * wet_capacity;
            const int others = lengths[members + samples + i];
            Sum wet_w, wet_x, wet_y, wet_z, wet_2;
            EACH_PART {
                F w = F(T(0)), gx = w, gy = w, gz = w, g2 = w;
                for (int n = FIRST; n < others; n += CHUNK) {
                    GATHER(from, other + n, qx, qy, qz, volume)
                    const F dx = px - qx, dy = py - qy, dz = pz - qz;
                    const F d2 = dx * dx + dy * dy + dz * dz;
                    const F e = ATLEAST(T(1) - ROOT(d2) * inv_support, T(0));
                    const F cube = e * e * e, pull = volume * cube;
                    w += pull * e * (T(5) - T(4) * e);
                    gx += pull * dx;
                    gy += pull * dy;
                    gz += pull * dz;
                    g2 += PICK(mobility - 1, other + n) * (pull * pull * d2);
                }
                wet_w.put(part, w);
                wet_x.put(part, gx);
                wet_y.put(part, gy);
                wet_z.put(part, gz);
                wet_2.put(part, g2);
            }
            weights += wet_w.total();
            squares += wet_2.total();
            fx = -slope * wet_x.total();
            fy = -slope * wet_y.total();
            fz = -slope * wet_z.total();
#endif
            T open = T(1), wx = T(0), wy = T(0), wz = T(0);
            for (int k = 0; k < wall_counts[i]; ++k) {
                T* const wall = planes + ((size_t)i * PLANES + k) * PLANE;
                const T d = wall[0] * px + wall[1] * py + wall[2] * pz - wall[3];
                const T q = (d < T(0) ? -d : d) * inv_support;
                wall[10] = T(0);
                if (q >= T(1) && d > T(0)) continue;
                const T e = q < T(1) ? T(1) - q : T(0), e4 = e * e * e * e;
                const T* const c = table.wall_terms.data;
                T share = e4 * e * (c[0] + e * (c[1] + e * (c[2] + e * (c[3] + e * c[4]))));
                share = d < T(0) ? T(1) - share : share;
                const T fall = e4 * (T(5) * c[0] + e * (T(6) * c[1] + e * (T(7) * c[2] + e * (T(8) * c[3]
                    + e * (T(9) * c[4]))))) * inv_support;
                const T rest = T(1) - share;
                wall[10] = fall;
                wx = wx * rest - open * fall * wall[0];
                wy = wy * rest - open * fall * wall[1];
                wz = wz * rest - open * fall * wall[2];
                open *= rest;
            }
            fx += wx;
            fy += wy;
            fz += wz;
            const T constraint = table.amplitude * weights - open;
            densities[order[i]] = constraint + T(1);
            const T ux = fx - slope * sum_x.total(), uy = fy - slope * sum_y.total(), uz = fz - slope * sum_z.total();
            const T below = slope * slope * squares + (ux * ux + uy * uy + uz * uz) + table.softness;
            const T above = constraint > table.clamp ? constraint : table.clamp;
            const T lambda = -above / below;
            from[4 * i + 3] = lambda;
            to[4 * i] = px + lambda * fx;
            to[4 * i + 1] = py + lambda * fy;
            to[4 * i + 2] = pz + lambda * fz;
            for (int k = 0; k < wall_counts[i]; ++k) {
                T* const wall = planes + ((size_t)i * PLANES + k) * PLANE;
                wall[9] += lambda < T(0) ? -lambda * wall[10] : T(0);
            }
        }
        PBD_SYNC();
"""

_MOVE = """
        for (int i = thread; i < active; i += thread_count) {
            const T px = from[4 * i], py = from[4 * i + 1], pz = from[4 * i + 2], own = from[4 * i + 3];
            const int* const list = near + (size_t)i * capacity;
            const T* const kept = slopes + (size_t)i * capacity;
            const int length = lengths[i];
            Sum sum_x, sum_y, sum_z;
            EACH_PART {
                F mx = F(T(0)), my = mx, mz = mx;
                for (int n = FIRST; n < length; n += CHUNK) {
                    GATHER(from, list + n, qx, qy, qz, lambda)
                    const F f = (lambda + own) * GET(kept + n);
                    mx += f * (px - qx);
                    my += f * (py - qy);
                    mz += f * (pz - qz);
                }
                sum_x.put(part, mx);
                sum_y.put(part, my);
                sum_z.put(part, mz);
            }
            T move[3] = {to[4 * i] - px - slope * sum_x.total(), to[4 * i + 1] - py - slope * sum_y.total(),
                to[4 * i + 2] - pz - slope * sum_z.total()};
            T at[3];
            const T free = mobility[i];
            for (int a = 0; a < 3; ++a) {
                const T most = move[a] > limit ? limit : move[a], moved = most < -limit ? -limit : most;
                at[a] = from[4 * i + a] + free * moved;
            }
            for (int k = 0; k < wall_counts[i]; ++k) {
                T* const wall = planes + ((size_t)i * PLANES + k) * PLANE;
                const T depth = table.radius - (wall[0] * at[0] + wall[1] * at[1] + wall[2] * at[2] - wall[3]);
                if (!(depth > T(0)) || !(free > T(0))) continue;
                for (int a = 0; a < 3; ++a) at[a] += depth * wall[a];
                wall[9] += depth;
            }
            for (int a = 0; a < 3; ++a) to[4 * i + a] = at[a];
        }
"""

_BOUNDARY_MOVE = """
        for (int b = thread; b < samples; b += thread_count) {
            const T* const p = from + 4 * (second + b);
            const T px = p[0], py = p[1], pz = p[2];
            const int* const list = near + (size_t)(members + b) * capacity;
            const int length = lengths[members + b];
            Sum sum_x, sum_y, sum_z;
            EACH_PART {
                F mx = F(T(0)), my = mx, mz = mx;
                for (int n = FIRST; n < length; n += CHUNK) {
                    GATHER(from, list + n, qx, qy, qz, lambda)
                    const F dx = px - qx, dy = py - qy, dz = pz - qz;
                    const F d2 = dx * dx + dy * dy + dz * dz;
                    const F e = ATLEAST(T(1) - ROOT(d2) * inv_support, T(0));
                    const F f = lambda * (e * e * e);
                    mx += f * dx;
                    my += f * dy;
                    mz += f * dz;
                }
                sum_x.put(part, mx);
                sum_y.put(part, my);
                sum_z.put(part, mz);
            }
            const T scale = -slope * p[3] * mobility[members + b];
            const T move[3] = {scale * sum_x.total(), scale * sum_y.total(), scale * sum_z.total()};
            for (int a = 0; a < 3; ++a) {
                const T most = move[a] > limit ? limit : move[a];
                to[4 * (second + b) + a] = p[a] + (most < -limit ? -limit : most);
            }
        }
"""

_PROJECT = """
    const T slope = table.slope, limit = table.farthest / T(iterations * table.sweeps);
    T* const densities = fluid.density.data + rank * members;
    BOUNDARY_IN
    for (int sweep = 0; sweep < table.sweeps; ++sweep) {
        T* const from = sets + 4 * row_count * (sweep % 2);
        T* const to = sets + 4 * row_count * (1 - sweep % 2);
        DENSITY
        MOVE
        BOUNDARY_MOVE
        PBD_SYNC();
    }
    const T* const last = sets + 4 * row_count * (table.sweeps % 2);
    for (int i = thread; i < active; i += thread_count)
        for (int a = 0; a < 3; ++a) {
            sets[4 * i + a] = last[4 * i + a];
            x[ROW * table.members.data[order[i]] + a] = last[4 * i + a] * size;
        }
#if BOUNDARY
    for (int b = thread; b < samples; b += thread_count)
        if (mobility[members + b] > T(0) && lengths[members + b] > 0)
            for (int a = 0; a < 3; ++a)
                x[ROW * table.boundary.data[order[members + b]] + a] = last[4 * (second + b) + a] * size;
#endif
    PBD_SYNC();
"""


@functools.cache
def make_project(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build the projection of all density constraints in one iteration of the solver.

    Args:
        wide: one lane, and the precision.
        options: what the kernel is compiled for.
        data: the struct of the whole model.
    """
    body_: Any = body_type(wide.vec)
    scratch_: Any = scratch_type(wide.scalar)
    assert options.fluid is not None
    has_boundary = options.fluid.boundary
    text = f"#define BOUNDARY {int(has_boundary)}\n" + _PROJECT + "#undef BOUNDARY\n"
    parts = {
        "    BOUNDARY_IN\n": _BOUNDARY_IN if has_boundary else "",
        "        BOUNDARY_MOVE\n": _BOUNDARY_MOVE if has_boundary else "",
        "        DENSITY\n": _DENSITY,
        "        MOVE\n": _MOVE,
    }
    for word, code in parts.items():
        text = text.replace(word, code)

    @wp.func_native(with_chunks(wide.scalar, options.varied, options.packed, text))
    def project(
        model: data, body: body_, fluid: scratch_, iterations: int, group: int, thread: int, thread_count: int
    ) -> None: ...

    return project
