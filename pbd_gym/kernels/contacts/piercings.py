"""Piercings: edges of a surface that go through one of its triangles, or through another surface.

Contacts keep layers apart, but hands that pull hard enough get cloth through itself. It then stays there, as contact
holds it on the side where it is: so the environments that it happens to are told. Candidates are the pairs that
may touch, and neighbours that face different ways, which may not: a sheet has to turn before it can go through itself.
Where an edge crosses the plane of a patch near by, its triangles are tried one by one. Constraints hold neighbours, and
the front and the back of a shirt, apart at their particles alone: where both are creased, edges cut into triangles by a
fraction of the thickness. Between them only what is through by more than a thickness counts.
"""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.contacts.geometry import FATNESS
from pbd_gym.kernels.contacts.pair_search import CHUNK, KIN, LONE_NAMES, PAIRS
from pbd_gym.kernels.contacts.particles import UNDEFINE, make_particle_contacts, sizes_code
from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.particle_contacts import lists_type
from pbd_gym.kernels.data.rigid import scratch_type
from pbd_gym.kernels.lanes.snippets import in_batches, with_lanes
from pbd_gym.kernels.lanes.wide import Wide

TURNED = 0.7
"""Cosine of 45 degrees: neighbours whose normals differ by less are not looked at."""

_NAMES = """
    const auto& table = model.particle_contacts;
    const int count = table.members.shape[0], edges = lists.pierced.shape[1];
    const int* const members = table.members.data;
    const T* const x = (const T*)body.x.data;
    const T* const parameters = (const T*)body.parameters.data;
    const size_t rank = (size_t)group;
    const T* const patches = (const T*)lists.patches.data + rank * 4 * lists.patches.shape[1] * LANES;
    int* const pierced = lists.pierced.data + rank * edges;
    for (int e = thread; e < edges; e += thread_count) pierced[e] = 0;
    PBD_SYNC();
"""

_LOOK = """
    typedef wp::vec_t<3, T> Point;
#if PBD_BLOCK
    const auto at = [&](int k) {
        const T* const p = x + ROW * members[k] * LANES + lane_;
        return Point(p[0], p[LANES], p[2 * LANES]);
    };
    const auto facing = [&](int k) {
        const T* const n = patches + 4 * k * LANES + lane_;
        return Point(n[0], n[LANES], n[2 * LANES]);
    };
#else
    // Rows of one environment lie side by side; on lanes, its numbers are far apart.
    const auto at = [&](int k) {
        const T* const p = rows + stride * lane_ + NUMBERS * k;
        return Point(p[0], p[1], p[2]);
    };
    const auto facing = [&](int k) {
        const T* const n = rows + stride * lane_ + NUMBERS * k + 8;
        return Point(n[0], n[1], n[2]);
    };
#endif
    // Whether an edge from a along d goes through the triangle of the origin, u and v, whose normal is given, and both
    // its ends are at least so far off: Moeller and Trumbore 1997, doi:10.1080/10867651.1997.10487468.
    const auto pierces = [](Point u, Point v, Point normal, Point a, Point d, T least) {
        const T slope = wp::dot(normal, d), above = wp::dot(normal, a), below = above + slope;
        const T nearer = wp::min(above * above, below * below);
        if (above * below >= T(0) || nearer < least * least * wp::dot(normal, normal)) return false;
        const Point moment = wp::cross(a, d);
        const T p = -wp::dot(moment, v) / slope, q = wp::dot(moment, u) / slope;
        return p >= T(0) && q >= T(0) && p + q <= T(1);
    };
    // Whether the edge between two members goes through a triangle of a third.
    const auto goes_through = [&](int k, int b, int other) {
        const Point corner = at(other), a = at(k) - corner, d = at(b) - at(k);
        for (int f = table.fan_start.data[other]; f < table.fan_start.data[other + 1]; ++f) {
            const int second = table.fan.data[2 * f], third = table.fan.data[2 * f + 1];
            if (k == second || k == third || b == second || b == third) continue;
            const Point u = at(second) - corner, v = at(third) - corner;
            if (pierces(u, v, wp::cross(u, v), a, d, T(0))) return true;
        }
        return false;
    };
    // All that is nearer than this is among the candidates, whatever else is there for the sake of other environments.
    const auto close = [&](int k, int other) {
        const T reach = T(NEARNESS) * (table.traits.data[4 * k + 1] + table.traits.data[4 * other + 1]) * SIZE;
        const Point apart = at(k) - at(other);
        return wp::dot(apart, apart) < reach * reach;
    };
    const auto mark = [&](int r) { PBD_ATOMIC_OR(pierced[table.ring.data[2 * r + 1]], 1 << lane_); };
    // Edges of a member that cross the plane of another's patch near by, through one of its triangles?
    const auto look = [&](int k, int other) {
        const T far = T(1.1) * table.traits.data[4 * other + 1] * SIZE;
        const Point normal = facing(other), middle = at(other), a = at(k) - middle;
        const T from = wp::dot(a, normal);
        for (int r = table.ring_start.data[k]; r < table.ring_start.data[k + 1]; ++r) {
            const int end = table.ring.data[2 * r];
            if (end == other) continue;
            const Point b = at(end) - middle;
            const T to = wp::dot(b, normal);
            if (from * to > T(0)) continue;
            const T share = wp::abs(from) / wp::max(wp::abs(to - from), T(1e-12));
            const Point q = a + share * (b - a);
            if (wp::dot(q, q) < far * far && goes_through(k, end, other)) mark(r);
        }
    };
    // Edges of a member that go through a triangle of a neighbour, by more than a thickness at both ends. The plane of
    // its patch is no help here: in a crease it says little about the triangles.
    const auto look_near = [&](int k, int other) {
        const T thickness = table.traits.data[4 * k] + table.traits.data[4 * other];
        const Point corner = at(other), a = at(k) - corner;
        for (int f = table.fan_start.data[other]; f < table.fan_start.data[other + 1]; ++f) {
            const int second = table.fan.data[2 * f], third = table.fan.data[2 * f + 1];
            if (k == second || k == third) continue;
            const Point u = at(second) - corner, v = at(third) - corner, normal = wp::cross(u, v);
            const T above = wp::dot(normal, a);
            if (above * above < thickness * thickness * wp::dot(normal, normal)) continue;
            for (int r = table.ring_start.data[k]; r < table.ring_start.data[k + 1]; ++r) {
                const int end = table.ring.data[2 * r];
                if (end == other || end == second || end == third) continue;
                if (pierces(u, v, normal, a, at(end) - at(k), thickness)) mark(r);
            }
        }
    };
    const auto is_patch = [&](int k) { return table.traits.data[4 * k + 1] > T(0); };
    // Between a member and its neighbours with higher numbers.
    const auto look_at_kin = [&](int k) {
        const Point normal = facing(k);
        for (int n = table.kin_start.data[k]; n < table.kin_start.data[k + 1]; ++n) {
            const int other = table.kin.data[n];
            if (other < k || wp::dot(normal, facing(other)) >= T(TURNED)) continue;
            if (!is_patch(k) || !is_patch(other) || !close(k, other)) continue;
            look_near(k, other);
            look_near(other, k);
        }
    };
"""

_IN_BLOCKS = """
    const int* const near = lists.near.data + rank * count * table.capacity;
    const int* const lengths = lists.counts.data + rank * 2 * count;
    for (int k = thread; k < count; k += thread_count) {
        const bool listed = lengths[k] >= 0;
        for (int n = 0; n < (listed ? lengths[k] : count); ++n) {
            const int other = listed ? near[n * count + k] : n;
            if (!listed && (other == k || !strangers(k, other))) continue;
            for (lane_ = 0; lane_ < LANES; ++lane_)
                if (is_patch(k) && is_patch(other) && close(k, other)) look(k, other);
        }
        for (lane_ = 0; lane_ < LANES; ++lane_) look_at_kin(k);
    }
"""

# Rows have the normals that count, but the positions of before the contacts of this substep.
_IN_PAIRS = """
    for (int k = 0; k < count; ++k)
        for (int a = 0; a < 3; ++a)
            for (int n = 0; n < LANES; ++n)
                rows[stride * n + NUMBERS * k + a] = x[(ROW * members[k] + a) * LANES + n];
    for (lane_ = 0; lane_ < LANES; ++lane_) {
        each_row([&](int k, int d, unsigned hits) {
            for (; hits; hits &= hits - 1) {
                const int other = 16 * d + __builtin_ctz(hits);
                if (!is_patch(k) || !is_patch(other) || !close(k, other)) continue;
                look(k, other);
                look(other, k);
            }
        });
        for (int k = 0; k < count; ++k) look_at_kin(k);
    }
"""

_SUM = """
    if (thread == 0)
        for (int n = 0; n < LANES; ++n) lists.piercings.data[group * LANES + n] = 0;
    PBD_SYNC();
    for (int n = 0; n < LANES; ++n) {
        int found = 0;
        for (int e = thread; e < edges; e += thread_count) found += pierced[e] >> n & 1;
        if (found > 0) PBD_ATOMIC_ADD(lists.piercings.data[group * LANES + n], found);
    }
"""


@functools.cache
def make_piercings(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build the function that counts the edges that go through a surface, after contacts have been resolved.

    Args:
        wide: lane count and precision.
        options: what the kernel is compiled for.
        data: the struct of the whole model.
    """
    body_: Any = body_type(wide.vec)
    lists_: Any = lists_type(wide.vec)
    look = _LOOK.replace("NEARNESS", str(0.95 * FATNESS)).replace("TURNED", str(TURNED))
    text = f"""
{sizes_code(options)}
    {{
        constexpr int ROW = {4 if options.packed else 3};
        {_NAMES}{KIN}
#if PBD_BLOCK
        {{
            int lane_ = 0;
            {look}{_IN_BLOCKS}
        }}
#else
        {LONE_NAMES}{in_batches(wide, PAIRS + look + _IN_PAIRS, CHUNK)}
#endif
        {_SUM}
    }}
{UNDEFINE}
"""

    @wp.func_native(with_lanes(wide, text))
    def count_piercings(
        model: data, body: body_, lists: lists_, group: int, thread: int, thread_count: int
    ) -> None: ...

    return count_piercings


@functools.cache
def make_contacts(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build the contacts between particles, and the count of what they could not hold, which the last substep takes.

    Args:
        wide: lane count and precision.
        options: what the kernel is compiled for.
        data: the struct of the whole model.
    """
    scalar, body_, lists_, rigid_ = wide.scalar, body_type(wide.vec), lists_type(wide.vec), scratch_type(wide.vec)
    separate = make_particle_contacts(wide, options, data)
    count_piercings = make_piercings(wide, options, data) if options.surfaces else None

    @wp.func
    @no_type_check
    def resolve(
        model: data, body: body_, lists: lists_, rigid: rigid_, inv_h: scalar, counts: bool, group: int, thread: int,
        threads: int,
    ):  # fmt: skip
        separate(model, body, lists, rigid, inv_h, group, thread, threads)
        if wp.static(options.surfaces):
            if counts:
                count_piercings(model, body, lists, group, thread, threads)

    return resolve
