"""Piercings: edges of a surface that go through one of its triangles, or through another surface.

Contacts keep layers apart, but hands that pull hard enough get cloth through itself. It then stays there, as contact
holds it on the side where it is: so the environments that it happens to are told. Candidates are the pairs that
may touch; where an edge crosses the plane of a patch near by, its triangles are tried one by one.
"""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.contact_geometry import FATNESS
from pbd_gym.kernels.lanes import with_lanes
from pbd_gym.kernels.options import SweepOptions
from pbd_gym.kernels.parameter_columns import SIZE
from pbd_gym.kernels.particle_contact_data import BALL, lists_type
from pbd_gym.kernels.particle_contacts import make_particle_contacts
from pbd_gym.kernels.sweep import body_type
from pbd_gym.kernels.wide import Wide

_TOOLS = """
#define DOT(a, b) (a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
#define CROSS(to, a, b) to[0] = a[1] * b[2] - a[2] * b[1]; to[1] = a[2] * b[0] - a[0] * b[2]; \\
    to[2] = a[0] * b[1] - a[1] * b[0];
"""

_TEXT = """
    constexpr int ROW = PACKED;
    const auto& table = model.particle_contacts;
    const int count = table.members.shape[0], edges = lists.pierced.shape[1];
    const int* const members = table.members.data;
    const T* const x = (const T*)body.x.data;
    const T* const parameters = (const T*)body.parameters.data;
    const size_t rank = (size_t)group;
    const int* const near = lists.near.data + rank * count * table.capacity;
    const int* const lengths = lists.counts.data + rank * 2 * count;
    const T* const patches = (const T*)lists.patches.data + rank * 4 * lists.patches.shape[1] * LANES;
    int* const pierced = lists.pierced.data + rank * edges;
    for (int e = thread; e < edges; e += thread_count) pierced[e] = 0;
    PBD_SYNC();
    // Whether the edge from a along d goes through a triangle of a member, in one lane: Moeller and Trumbore 1997,
    // doi:10.1080/10867651.1997.10487468.
    const auto goes_through = [&](int k, int b, int other, int lane_) {
        T a[3], d[3], corner[3];
        for (int c = 0; c < 3; ++c) {
            corner[c] = x[(ROW * members[other] + c) * LANES + lane_];
            a[c] = x[(ROW * members[k] + c) * LANES + lane_];
            d[c] = x[(ROW * members[b] + c) * LANES + lane_] - a[c];
            a[c] -= corner[c];
        }
        for (int f = table.fan_start.data[other]; f < table.fan_start.data[other + 1]; ++f) {
            const int second = table.fan.data[2 * f], third = table.fan.data[2 * f + 1];
            if (k == second || k == third || b == second || b == third) continue;
            T u[3], v[3], normal[3], moment[3];
            for (int c = 0; c < 3; ++c) {
                u[c] = x[(ROW * members[second] + c) * LANES + lane_] - corner[c];
                v[c] = x[(ROW * members[third] + c) * LANES + lane_] - corner[c];
            }
            CROSS(normal, u, v)
            const T slope = DOT(normal, d), above = DOT(normal, a);
            if (above * (above + slope) >= T(0)) continue;
            CROSS(moment, a, d)
            const T inverse = T(1) / slope, p = -DOT(moment, v) * inverse, q = DOT(moment, u) * inverse;
            if (p >= T(0) && q >= T(0) && p + q <= T(1)) return true;
        }
        return false;
    };
    // All that is nearer than this is in the lists, whatever else is there for the sake of other lanes.
    const auto reach_of = [&](int k, int other) {
        return T(NEARNESS) * (table.extent.data[k] + table.extent.data[other]);
    };
    const auto close = [&](int k, int other) {
        const T most = reach_of(k, other);
        const T* const p = x + ROW * members[k] * LANES;
        const T* const q = x + ROW * members[other] * LANES;
        bool any = false;
        EACH_LANE {
            const V dx = LOAD(p) - LOAD(q), dy = LOAD(p + LANES) - LOAD(q + LANES);
            const V dz = LOAD(p + 2 * LANES) - LOAD(q + 2 * LANES), limit = V(most) * SIZES;
            any = any || ANY(dx * dx + dy * dy + dz * dz < limit * limit);
        }
        return any;
    };
    const auto look = [&](int k, int other) {
        if (table.role.data[k] == BALL || table.role.data[other] == BALL) return;
        const int i = members[k], j = members[other];
        const T width = T(1.1) * table.extent.data[other], most = reach_of(k, other);
        for (int r = table.ring_start.data[k]; r < table.ring_start.data[k + 1]; ++r) {
            const int b = table.ring.data[2 * r], end = members[b];
            if (b == other) continue;
            T crossing[LANES];
            EACH_LANE {
                const T* const normal = patches + 4 * other * LANES;
                const V ox = LOAD(x + ROW * j * LANES), oy = LOAD(x + (ROW * j + 1) * LANES);
                const V oz = LOAD(x + (ROW * j + 2) * LANES);
                const V ax = LOAD(x + ROW * i * LANES) - ox, bx = LOAD(x + ROW * end * LANES) - ox;
                const V ay = LOAD(x + (ROW * i + 1) * LANES) - oy, by = LOAD(x + (ROW * end + 1) * LANES) - oy;
                const V az = LOAD(x + (ROW * i + 2) * LANES) - oz, bz = LOAD(x + (ROW * end + 2) * LANES) - oz;
                const V nx = LOAD(normal), ny = LOAD(normal + LANES), nz = LOAD(normal + 2 * LANES);
                const V from = ax * nx + ay * ny + az * nz, to = bx * nx + by * ny + bz * nz;
                const V whole = FLOOR((from < to ? to - from : from - to), 1e-12);
                const V share = (from < V(T(0)) ? -from : from) / whole;
                const V qx = ax + share * (bx - ax), qy = ay + share * (by - ay), qz = az + share * (bz - az);
                const V far = V(width) * SIZES;
                const V limit = V(most) * SIZES;
                const auto near_by = (from * to <= V(T(0))) & (qx * qx + qy * qy + qz * qz < far * far)
                    & (ax * ax + ay * ay + az * az < limit * limit);
                STORE(crossing, near_by ? V(T(1)) : V(T(0)));
            }
            for (int n = 0; n < LANES; ++n)
                if (crossing[n] > T(0) && goes_through(k, b, other, n))
                    PBD_ATOMIC_OR(pierced[table.ring.data[2 * r + 1]], 1 << n);
        }
    };
    for (int k = thread; k < count; k += thread_count)
        for (int n = 0; n < lengths[k]; ++n) {
            const int other = near[k * table.capacity + n];
            if (!close(k, other)) continue;
            look(k, other);
#if !PBD_BLOCK
            look(other, k);
#endif
        }
    PBD_SYNC();
    if (thread == 0)
        for (int n = 0; n < LANES; ++n) {
            int found = 0;
            for (int e = 0; e < edges; ++e) found += pierced[e] >> n & 1;
            lists.piercings.data[group * LANES + n] = found;
        }
"""


@functools.cache
def make_piercings(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build the function that counts the edges that go through a surface, after contacts have been resolved.

    A particle with more candidates than its list has room for is not looked at.

    Args:
        wide: lane count and precision.
        options: what the kernel is compiled for.
        data: the struct of the whole model.
    """
    body_, lists_ = body_type(wide.vec), lists_type(wide.vec)
    sizes = f"LOAD(parameters + {int(SIZE)} * LANES)" if options.varied else "V(T(1))"
    words = {
        "PACKED": "4" if options.packed else "3",
        "SIZES": sizes,
        "BALL": str(BALL),
        "NEARNESS": str(0.95 * FATNESS),
    }
    text = _TEXT
    for word, code in words.items():
        text = text.replace(word, code)

    @wp.func_native(with_lanes(wide, _TOOLS + text + "#undef DOT\n#undef CROSS\n"))
    def count_piercings(model: data, body: body_, lists: lists_, group: int, thread: int, thread_count: int): ...

    return count_piercings


@functools.cache
def make_contacts(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build the contacts between particles, and in the last substep the count of what they could not hold.

    Args:
        wide: lane count and precision.
        options: what the kernel is compiled for.
        data: the struct of the whole model.
    """
    scalar, body_, lists_ = wide.scalar, body_type(wide.vec), lists_type(wide.vec)
    separate = make_particle_contacts(wide, options, data)
    count_piercings = make_piercings(wide, options, data) if options.surfaces else None

    @wp.func
    def resolve(
        model: data, body: body_, lists: lists_, inv_h: scalar, is_last: bool, group: int, thread: int, threads: int
    ):
        separate(model, body, lists, inv_h, group, thread, threads)
        if wp.static(options.surfaces):
            if is_last:
                count_piercings(model, body, lists, group, thread, threads)

    return resolve
