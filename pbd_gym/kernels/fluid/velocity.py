"""The end of a fluid's substep: friction at walls, viscosity, and what acts on velocities.

Velocities follow from positions, and their change is brought back to the positions before the substep, from which the
rest of the step takes them: ``previous = x - h v``.
"""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.data.fluid import scratch_type
from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.fluid.chunks import with_chunks
from pbd_gym.kernels.lanes.wide import Wide

MOST_AT_ONCE = 0.5
"""Share of the differences of velocity that one pass evens out at most: what is more viscous takes several passes."""
MOST_PASSES = 16
"""Beyond these a fluid is no more viscous."""

# Coulomb's law, as in pbd_gym.kernels.colliders.response: what the walls have pushed in this substep holds back the
# slip.
_FRICTION = """
    T* const speeds = sets + 4 * row_count;
    for (int i = thread; i < active; i += thread_count) {
        const int member = table.members.data[order[i]];
        T* const p = sets + 4 * i;
        T old[3];
        for (int a = 0; a < 3; ++a) old[a] = previous[ROW * member + a] * inv_size;
        for (int k = 0; k < wall_counts[i]; ++k) {
            const T* const wall = planes + ((size_t)i * PLANES + k) * PLANE;
            if (!(wall[9] > T(0)) || !(mobility[i] > T(0))) continue;
            T u[3];
            for (int a = 0; a < 3; ++a) u[a] = p[a] - old[a] - wall[4 + a];
            const T along = u[0] * wall[0] + u[1] * wall[1] + u[2] * wall[2];
            for (int a = 0; a < 3; ++a) u[a] -= along * wall[a];
            const T slip = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
            const T share = slip > wall[8] * wall[9] ? wall[7] * wall[9] / slip : T(1);
            for (int a = 0; a < 3; ++a) p[a] -= share * u[a];
        }
        for (int a = 0; a < 3; ++a) speeds[4 * i + a] = (p[a] - old[a]) * inv_h;
        speeds[4 * i + 3] = T(0);
    }
    if (thread == 0)
        for (int set = 1; set < 3; ++set)
            for (int a = 0; a < 4; ++a) sets[4 * (set * row_count + members) + a] = T(0);
    PBD_SYNC();
"""

# Differences of velocity are evened out pair by pair, which keeps momentum; walls have the velocity that they have.
_VISCOSITY = """
    const T amount = table.xsph + table.thinning * thicker / heavier * h * inv_size * inv_size;
    const T passes = ceil(amount * T(1.0 / MOST_AT_ONCE));
    const int pass_count = passes < T(1) ? 1 : passes < T(MOST_PASSES) ? (int)passes : MOST_PASSES;
    const T each = wp::min(amount / T(pass_count), T(MOST_AT_ONCE));
    for (int pass = 0; pass < pass_count; ++pass) {
        const T* const from = sets + 4 * row_count * (1 + pass % 2);
        T* const to = sets + 4 * row_count * (2 - pass % 2);
        for (int i = thread; i < active; i += thread_count) {
            const T px = sets[4 * i], py = sets[4 * i + 1], pz = sets[4 * i + 2];
            const int* const list = near + (size_t)i * capacity;
            const int length = lengths[i];
            Sum sum_w, sum_x, sum_y, sum_z;
            EACH_PART {
                F w = F(T(0)), sx = w, sy = w, sz = w;
                for (int n = FIRST; n < length; n += CHUNK) {
                    GATHER(sets, list + n, qx, qy, qz, unused)
                    GATHER(from, list + n, vx, vy, vz, none)
                    const F dx = px - qx, dy = py - qy, dz = pz - qz;
                    const F e = ATLEAST(T(1) - ROOT(dx * dx + dy * dy + dz * dz) * inv_support, T(0));
                    const F weight = (e * e) * (e * e) * (T(5) - T(4) * e);
                    w += weight;
                    sx += weight * vx;
                    sy += weight * vy;
                    sz += weight * vz;
                }
                sum_w.put(part, w);
                sum_x.put(part, sx);
                sum_y.put(part, sy);
                sum_z.put(part, sz);
            }
            const T scale = each * table.amplitude, total = sum_w.total();
            T v[3] = {from[4 * i], from[4 * i + 1], from[4 * i + 2]};
            const T sums[3] = {sum_x.total(), sum_y.total(), sum_z.total()};
            T change[3];
            for (int a = 0; a < 3; ++a) change[a] = scale * (sums[a] - total * v[a]);
            for (int k = 0; k < wall_counts[i]; ++k) {
                const T* const wall = planes + ((size_t)i * PLANES + k) * PLANE;
                const T d = wall[0] * px + wall[1] * py + wall[2] * pz - wall[3];
                if (!(d < support)) continue;
                const T e = T(1) - (d > T(0) ? d : T(0)) * inv_support;
                const T* const c = table.wall_terms.data;
                const T share = each * (e * e * e * e * e * (c[0] + e * (c[1] + e * (c[2] + e * (c[3] + e * c[4])))));
                for (int a = 0; a < 3; ++a) change[a] += share * (wall[4 + a] * inv_h - v[a]);
            }
            for (int a = 0; a < 3; ++a) to[4 * i + a] = v[a] + change[a];
        }
        PBD_SYNC();
    }
    T* const current = sets + 4 * row_count * (1 + pass_count % 2);
    T* const spare = sets + 4 * row_count * (2 - pass_count % 2);
"""

# Akinci et al. 2013, eq. 2: neighbours pull each other, most at half the support radius, and push where they are close.
_COHESION = """
    for (int i = thread; i < active; i += thread_count) {
        const T px = sets[4 * i], py = sets[4 * i + 1], pz = sets[4 * i + 2];
        const int* const list = near + (size_t)i * capacity;
        const int length = lengths[i];
        Sum sum_x, sum_y, sum_z;
        EACH_PART {
            F sx = F(T(0)), sy = sx, sz = sx;
            for (int n = FIRST; n < length; n += CHUNK) {
                GATHER(sets, list + n, qx, qy, qz, unused)
                const F dx = px - qx, dy = py - qy, dz = pz - qz;
                const F r = ATLEAST(ROOT(dx * dx + dy * dy + dz * dz), table.radius * T(1e-3));
                const F q = r * inv_support, e = ATLEAST(T(1) - q, T(0));
                const F bump = T(64) * (e * e * e) * (q * q * q);
                const F pull = (q > F(T(0.5)) ? bump : T(2) * bump - T(1)) / r;
                const F inner = e > F(T(0)) ? pull : F(T(0));
                sx += inner * dx;
                sy += inner * dy;
                sz += inner * dz;
            }
            sum_x.put(part, sx);
            sum_y.put(part, sy);
            sum_z.put(part, sz);
        }
        const T pull = h * table.cohesion * inv_size * inv_size * inv_size / heavier;
        current[4 * i] -= pull * sum_x.total();
        current[4 * i + 1] -= pull * sum_y.total();
        current[4 * i + 2] -= pull * sum_z.total();
    }
    PBD_SYNC();
"""

# Macklin and Mueller 2013, eqs. 15 and 16: a force along the gradient of the vorticity's size, crossed with it.
_VORTICITY = """
    for (int i = thread; i < active; i += thread_count) {
        const T px = sets[4 * i], py = sets[4 * i + 1], pz = sets[4 * i + 2];
        const T vx = current[4 * i], vy = current[4 * i + 1], vz = current[4 * i + 2];
        const int* const list = near + (size_t)i * capacity;
        const int length = lengths[i];
        Sum sum_x, sum_y, sum_z;
        EACH_PART {
            F sx = F(T(0)), sy = sx, sz = sx;
            for (int n = FIRST; n < length; n += CHUNK) {
                GATHER(sets, list + n, qx, qy, qz, unused)
                GATHER(current, list + n, ux, uy, uz, none)
                const F dx = px - qx, dy = py - qy, dz = pz - qz;
                const F e = ATLEAST(T(1) - ROOT(dx * dx + dy * dy + dz * dz) * inv_support, T(0));
                const F cube = e * e * e, fx = cube * (ux - vx), fy = cube * (uy - vy), fz = cube * (uz - vz);
                sx += fy * dz - fz * dy;
                sy += fz * dx - fx * dz;
                sz += fx * dy - fy * dx;
            }
            sum_x.put(part, sx);
            sum_y.put(part, sy);
            sum_z.put(part, sz);
        }
        const T wx = table.slope * sum_x.total(), wy = table.slope * sum_y.total(), wz = table.slope * sum_z.total();
        spare[4 * i] = wx;
        spare[4 * i + 1] = wy;
        spare[4 * i + 2] = wz;
        spare[4 * i + 3] = sqrt(wx * wx + wy * wy + wz * wz);
    }
    PBD_SYNC();
    for (int i = thread; i < active; i += thread_count) {
        const T px = sets[4 * i], py = sets[4 * i + 1], pz = sets[4 * i + 2];
        const T* const own = spare + 4 * i;
        const int* const list = near + (size_t)i * capacity;
        const int length = lengths[i];
        Sum sum_x, sum_y, sum_z;
        EACH_PART {
            F sx = F(T(0)), sy = sx, sz = sx;
            for (int n = FIRST; n < length; n += CHUNK) {
                GATHER(sets, list + n, qx, qy, qz, unused)
                GATHER(spare, list + n, ox, oy, oz, w)
                const F dx = px - qx, dy = py - qy, dz = pz - qz;
                const F e = ATLEAST(T(1) - ROOT(dx * dx + dy * dy + dz * dz) * inv_support, T(0));
                const F f = (e * e * e) * (own[3] - w);
                sx += f * dx;
                sy += f * dy;
                sz += f * dz;
            }
            sum_x.put(part, sx);
            sum_y.put(part, sy);
            sum_z.put(part, sz);
        }
        const T nx = sum_x.total(), ny = sum_y.total(), nz = sum_z.total();
        const T length_of = sqrt(nx * nx + ny * ny + nz * nz);
        const T scale = length_of > T(0) ? h * table.vorticity * inv_size / length_of : T(0);
        current[4 * i] += scale * (ny * own[2] - nz * own[1]);
        current[4 * i + 1] += scale * (nz * own[0] - nx * own[2]);
        current[4 * i + 2] += scale * (nx * own[1] - ny * own[0]);
    }
"""

_BACK = """
    for (int i = thread; i < active; i += thread_count) {
        const int member = table.members.data[order[i]];
        for (int a = 0; a < 3; ++a) {
            const T place = sets[4 * i + a] * size, v = current[4 * i + a] * size;
            if (mobility[i] > T(0)) {
                x[ROW * member + a] = place;
                previous[ROW * member + a] = place - h * v;
            }
#if BOUNCING
            ((T*)body.velocity.data)[3 * member + a] = (x[ROW * member + a] - previous[ROW * member + a]) * inv_h;
#endif
        }
    }
    PBD_SYNC();
"""


@functools.cache
def make_settle(wide: Wide, options: SweepOptions, data: Any, bouncing: bool) -> Any:
    """Build the end of a substep of the fluid, after its last iteration.

    Args:
        wide: one lane, and the precision.
        options: what the kernel is compiled for.
        data: the struct of the whole model.
        bouncing: whether velocities are taken from ``body.velocity`` after this.
    """
    body_: Any = body_type(wide.vec)
    scratch_: Any = scratch_type(wide.scalar)
    substep_: Any = substep_type(wide.vec)
    assert options.fluid is not None
    text = "const T h = now.h, inv_h = now.inv_h;\n" + _FRICTION + _VISCOSITY
    text += _COHESION if options.fluid.cohesion else ""
    text += _VORTICITY if options.fluid.vorticity else ""
    text += _BACK
    for word, number in (("MOST_AT_ONCE", MOST_AT_ONCE), ("MOST_PASSES", MOST_PASSES), ("BOUNCING", int(bouncing))):
        text = text.replace(word, str(number))

    @wp.func_native(with_chunks(wide.scalar, options.varied, options.packed, text))
    def settle(
        model: data, body: body_, fluid: scratch_, now: substep_, group: int, thread: int, thread_count: int
    ) -> None: ...

    return settle
