"""Contacts of rigid bodies with each other, solved for whole bodies.

Contacts between particles (:mod:`pbd_gym.kernels.contacts.particles`) part all balls once, each for itself, with a
bound for the inverse mass of their bodies. That is little for a stack: each body sinks into the next until balls go
past each other. So what overlaps afterwards is looked at again. All balls of one body that a ball touches are one
contact, along the mean of their normals, which is nearly that of the surface. Its impulse pushes both bodies as a
whole, by the inverse mass ``1 / M + (r x n) . I^-1 (r x n)`` that they have at that point, and is never negative;
friction holds the point of contact where it was on the other, with at most the coefficient times that of the push.
Sweeps over all contacts, as in :mod:`pbd_gym.kernels.rigid.contacts`, alternate with contacts with colliders, so that
the ground carries what does not lie on it.

Environments have different contacts, so these are plain numbers, one environment after the other, on one thread: an
environment in which no bodies meet keeps its bits.
"""

import functools
from typing import Any, NamedTuple

import warp as wp

from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.rigid import scratch_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.rigid.algebra import rigid_code, vectors_of

ROUNDS = 3
"""Of contacts between bodies, then with colliders, while bodies meet."""
SWEEPS = 15
"""Over the contacts between bodies in a round, forth and back in turn. With a third of them stacks walk until they
fall; so many take a quarter more time."""
MARGIN = 1.2
"""Balls this many times as far apart as they touch may do so in a later round."""

_TOOLS = (
    vectors_of("T", "P3", "Q3")
    + """
    const int body_count = table.radius.shape[0], member_count = table.members.shape[0];
    int* const near = rigid.near.data + (size_t)group * rigid.near.shape[1];
    const auto slot = [&](int j, int s, int lane) -> int& {
        return near[((size_t)j * (SLOTS + 1) + s) * LANES + lane];
    };
    const auto size_of = [&](int lane) { return VARIED ? parameters[SIZE * LANES + lane] : T(1); };
    const auto get = [&](const T* from, int lane) {
        return P3{from[lane], from[LANES + lane], from[2 * LANES + lane]};
    };
    const auto put = [&](T* to, int lane, const P3& p) {
        to[lane] = p.x; to[LANES + lane] = p.y; to[2 * LANES + lane] = p.z;
    };
    const auto column = [&](int b, int k) { return all + ((size_t)b * COLUMNS + k) * LANES; };
    const auto rows = [&](int b, int k, int lane) {
        return Q3{get(column(b, k), lane), get(column(b, k + 3), lane), get(column(b, k + 6), lane)};
    };
    const auto place = [&](const T* of, int j, int lane) { return get(of + ROW * (size_t)members[j] * LANES, lane); };
"""
)

_NEAR = """
    for (int j = thread; j < member_count; j += thread_count)
        for (int lane = 0; lane < LANES; ++lane) slot(j, 0, lane) = 0;
    PBD_SYNC();
    for (int p = 0; p < table.meets.shape[0] / 2; ++p) {
        const int b = table.meets.data[2 * p], c = table.meets.data[2 * p + 1];
        for (int lane = 0; lane < LANES; ++lane) {
            const T far = T(MARGIN) * size_of(lane) * (table.radius.data[b] + table.radius.data[c]);
            const T wide = size_of(lane) * table.reach.data[c] + far;
            const P3 other = get(column(c, CENTER), lane), offset = get(column(c, OFFSET), lane);
            const Q3 turn = rows(c, TURN, lane);
            const T* const box = table.box.data + 6 * c;
            const P3 between = minus(get(column(b, CENTER), lane), other);
            const T both = wide + size_of(lane) * table.reach.data[b];
            if (!(dot(between, between) < both * both)) continue;
            // A ball is looked after by the same thread for every pair of bodies.
            for (int j = offsets[b] + thread; j < offsets[b] + table.colliding.data[b]; j += thread_count) {
                const P3 here = place(x, j, lane), in = add(apply_back(turn, minus(here, other)), offset);
                const auto beyond = [&](T at, int axis) {
                    return wp::max(size_of(lane) * box[axis] - at, at - size_of(lane) * box[3 + axis]) > far;
                };
                if (beyond(in.x, 0) || beyond(in.y, 1) || beyond(in.z, 2)) continue;
                int number = slot(j, 0, lane);
                for (int k = offsets[c]; k < offsets[c] + table.colliding.data[c] && number < SLOTS; ++k) {
                    const P3 d = minus(here, place(x, k, lane));
                    if (dot(d, d) < far * far) slot(j, ++number, lane) = k;
                }
                slot(j, 0, lane) = number;
            }
        }
    }
    PBD_SYNC();
"""

_EACH_ENVIRONMENT = """
    if (thread == 0) {  // contacts wait for each other
        int met = 0;
        T* const list = rigid.meetings.data + (size_t)group * rigid.meetings.shape[1];
        const int room = rigid.meetings.shape[1] / WIDTH;
        for (int lane = 0; lane < LANES; ++lane) {
            T* const busy = (T*)(rigid.busy.data + group) + lane;
            if (round > 0 && !(*busy > T(0))) continue;
            const T size = size_of(lane), fastest = model.particle_contacts.separation_speed * T(now.h);
BODY        }
        if (round == 0) rigid.met.data[group] = met;
    }
    PBD_SYNC();
"""

_COLLECT = """
            int count = 0;
            // The point of contact has moved with balls that have turned about their middles.
            const auto turned = [&](int b) {
                const Q3 m = rows(b, TURN, lane), o = rows(b, START_TURN, lane);
                return P3{
                    T(0.5) * (dot(m.c, o.b) - dot(m.b, o.c)), T(0.5) * (dot(m.a, o.c) - dot(m.c, o.a)),
                    T(0.5) * (dot(m.b, o.a) - dot(m.a, o.b))};
            };
            for (int j = 0; j < member_count; ++j) {
                const int number = slot(j, 0, lane), b = table.body_of.data[j];
                for (int s = 1; s <= number && count < room;) {
                    // All that a ball touches of one body is one contact, along the mean normal.
                    const int c = table.body_of.data[slot(j, s, lane)];
                    const P3 here = place(x, j, lane), start = place(previous, j, lane);
                    const T mine = size * table.radius.data[b], its = size * table.radius.data[c];
                    P3 sum = {T(0), T(0), T(0)}, went = sum;
                    T squares = T(0), overlaps = T(0), deepest = T(0);
                    for (; s <= number && table.body_of.data[slot(j, s, lane)] == c; ++s) {
                        const int k = slot(j, s, lane);
                        const P3 d = minus(here, place(x, k, lane)), before = minus(start, place(previous, k, lane));
                        const T length = T(sqrt(dot(d, d))), overlap = mine + its - length;
                        if (!(overlap > T(0)) || !(length > T(1e-12))) continue;
                        sum = add(sum, times(overlap / length, d));
                        went = add(went, times(overlap, minus(d, before)));
                        squares += overlap * overlap;
                        overlaps += overlap;
                        deepest = wp::max(deepest, overlap);
                    }
                    const T much = T(sqrt(dot(sum, sum)));
                    if (!(much > T(1e-3) * overlaps)) continue;
                    const P3 n = times(T(1) / much, sum), gone = times(T(1) / overlaps, went);
                    const P3 slip = add(gone, add(cross(turned(b), times(-mine, n)), cross(turned(c), times(-its, n))));
                    // Out of an overlap no faster than that: what is on its way out gets no further push.
                    const T soft = wp::max(fastest - dot(gone, n), T(0));
                    const T apart = wp::min(wp::min(squares / much, T(2) * deepest), soft);
                    const P3 point = minus(here, times(mine, n));
                    const P3 r = minus(point, get(column(b, CENTER), lane));
                    const P3 q = minus(point, get(column(c, CENTER), lane));
                    T* const one = list + (size_t)count++ * WIDTH;
                    const T numbers[] = {
                        n.x, n.y, n.z, r.x, r.y, r.z, q.x, q.y, q.z, slip.x, slip.y, slip.z, apart,
                        T(0), T(0), T(0), T(0), T(b), T(c), T(0), T(0)};
                    for (int e = 0; e < WIDTH; ++e) one[e] = numbers[e];
                }
            }
            if (round == 0) *busy = count > 0 ? T(1) : T(0);
            if (count == 0) continue;
            met = 1;
"""
"""What touches, with the deepest overlap that is to be taken away, and the slip so far."""

_WEIGH = """
            // The inverse inertia of each body in the axes of the world, and how far it has been moved and turned.
            for (int b = 0; b < body_count; ++b) {
                const Q3 m = rows(b, TURN, lane);
                const P3 u = get(column(b, INVERSE), lane), v = get(column(b, INVERSE + 3), lane);
                const Q3 s = {{u.x, v.x, v.y}, {v.x, u.y, v.z}, {v.y, v.z, u.z}};
                const P3 p = apply(s, m.a), q = apply(s, m.b), o = apply(s, m.c);
                put(column(b, WORLD), lane, P3{dot(m.a, p), dot(m.b, q), dot(m.c, o)});
                put(column(b, WORLD + 3), lane, P3{dot(m.a, q), dot(m.a, o), dot(m.b, o)});
                put(column(b, GONE), lane, P3{T(0), T(0), T(0)});
                put(column(b, GONE + 3), lane, P3{T(0), T(0), T(0)});
            }
            const auto stretch = [&](int b, const P3& p) {
                const P3 u = get(column(b, WORLD), lane), v = get(column(b, WORLD + 3), lane);
                return P3{u.x * p.x + v.x * p.y + v.y * p.z, v.x * p.x + u.y * p.y + v.z * p.z,
                          v.y * p.x + v.z * p.y + u.z * p.z};
            };
            const auto light = [&](int b) { return column(b, INV_MASS)[lane]; };
            const auto weakness = [&](int b, const P3& r, const P3& n) {
                const P3 c = cross(r, n);
                return light(b) + dot(c, stretch(b, c));
            };
            for (int m = 0; m < count; ++m) {
                T* const one = list + (size_t)m * WIDTH;
                const P3 n = {one[0], one[1], one[2]}, r = {one[3], one[4], one[5]}, q = {one[6], one[7], one[8]};
                const int b = (int)one[17], c = (int)one[18];
                const P3 axes[] = {{T(1), T(0), T(0)}, {T(0), T(1), T(0)}, {T(0), T(0), T(1)}};
                T all = T(0);
                for (int e = 0; e < 3; ++e) all += weakness(b, r, axes[e]) + weakness(c, q, axes[e]);
                const T along = weakness(b, r, n) + weakness(c, q, n), beside = all - along;
                one[19] = along > T(0) ? T(1) / along : T(0);
                one[20] = beside > T(0) ? T(1.5) / beside : T(0);  // below 2 over the larger of two
            }
"""
"""How much each contact gives way to an impulse."""

_SWEEP = """
            const auto push = [&](int b, const P3& r, const P3& p) {
                put(column(b, GONE), lane, add(get(column(b, GONE), lane), times(light(b), p)));
                put(column(b, GONE + 3), lane, add(get(column(b, GONE + 3), lane), stretch(b, cross(r, p))));
            };
            const auto moved = [&](int b, const P3& r) {
                return add(get(column(b, GONE), lane), cross(get(column(b, GONE + 3), lane), r));
            };
            for (int m = 0; m < SWEEPS * count; ++m) {
                T* const one = list + (size_t)(m / count % 2 ? count - 1 - m % count : m % count) * WIDTH;
                const P3 n = {one[0], one[1], one[2]}, r = {one[3], one[4], one[5]}, q = {one[6], one[7], one[8]};
                const int b = (int)one[17], c = (int)one[18];
                const auto both = [&](const P3& p) { push(b, r, p); push(c, q, times(T(-1), p)); };
                const T old = one[13];
                const P3 way = minus(moved(b, r), moved(c, q));
                const T raised = old + (one[12] - dot(way, n)) * one[19], sum = raised > T(0) ? raised : T(0);
                if (!(sum > T(0)) && !(old > T(0))) continue;
                const P3 slip = add(P3{one[9], one[10], one[11]}, way), beside = minus(slip, times(dot(slip, n), n));
                const P3 dragged = {one[14], one[15], one[16]}, drag = minus(dragged, times(one[20], beside));
                const T much = T(sqrt(dot(drag, drag)));
                const T rub = T(0.5) * (table.friction.data[b] + table.friction.data[c]) * body.friction.c[lane];
                const P3 kept = much > rub * sum ? times(rub * sum / much, drag) : drag;
                one[13] = sum; one[14] = kept.x; one[15] = kept.y; one[16] = kept.z;
                both(add(times(sum - old, n), minus(kept, dragged)));
            }
"""
"""Impulses that fit together."""

_MOVE = """
            for (int b = 0; b < body_count; ++b) {
                const P3 gone = get(column(b, GONE), lane), p = get(column(b, GONE + 3), lane);
                if (dot(gone, gone) + dot(p, p) == T(0)) continue;
                const P3 center = add(get(column(b, CENTER), lane), gone);
                // Of a rotation vector: sin(t) / t and (1 - cos(t)) / t^2.
                const T t = T(sqrt(dot(p, p))), half = T(0.5) * t;
                const T over = half > T(1e-4) ? T(sin(half)) / half : T(1);
                const T e = t > T(1e-4) ? T(sin(t)) / t : T(1), f = T(0.5) * over * over;
                Q3 turn = rows(b, TURN, lane);
                const T xx = f * p.x * p.x, yy = f * p.y * p.y, zz = f * p.z * p.z;
                const T xy = f * p.x * p.y, xz = f * p.x * p.z, yz = f * p.y * p.z;
                const Q3 by = {{T(1) - yy - zz, xy - e * p.z, xz + e * p.y},
                               {xy + e * p.z, T(1) - xx - zz, yz - e * p.x},
                               {xz - e * p.y, yz + e * p.x, T(1) - xx - yy}};
                turn = Q3{apply_back(turn, by.a), apply_back(turn, by.b), apply_back(turn, by.c)};
                put(column(b, CENTER), lane, center);
                put(column(b, TURN), lane, turn.a);
                put(column(b, TURN + 3), lane, turn.b);
                put(column(b, TURN + 6), lane, turn.c);
                const P3 offset = get(column(b, OFFSET), lane);
                for (int j = offsets[b]; j < offsets[b + 1]; ++j) {
                    if (!(w[members[j] * LANES + lane] > T(0))) continue;
                    const T* const rest = table.rest.data + 3 * j;
                    const P3 at = minus(times(size, P3{rest[0], rest[1], rest[2]}), offset);
                    put(x + ROW * (size_t)members[j] * LANES, lane, add(center, apply(turn, at)));
                }
            }
"""
"""Bodies to where these take them, and particles with them."""


class Meetings(NamedTuple):
    """Warp functions for one group."""

    find: Any
    """(model, body, rigid, group, thread, threads): lists the balls of other bodies that each ball is near."""
    push: Any
    """(model, body, rigid, substep, round, group, thread, threads): pushes bodies off each other; the first round says
    in ``rigid.busy`` and ``rigid.met`` where some meet."""


@functools.cache
def make_meetings(wide: Wide, options: SweepOptions, data: Any) -> Meetings:
    """Build the contacts of rigid bodies with each other.

    Args:
        wide: lane count and precision.
        options: what the kernel is compiled for, with contacts between particles.
        data: the struct of the whole model.
    """
    body_: Any = body_type(wide.vec)
    rigid_: Any = scratch_type(wide.vec)
    substep_: Any = substep_type(wide.vec)
    push_text = _EACH_ENVIRONMENT.replace("BODY", _COLLECT + _WEIGH + _SWEEP + _MOVE)

    @wp.func_native(rigid_code(wide, options, _TOOLS + _NEAR, MARGIN=MARGIN))
    def find(model: data, body: body_, rigid: rigid_, group: int, thread: int, thread_count: int) -> None: ...

    @wp.func_native(rigid_code(wide, options, _TOOLS + push_text, SWEEPS=SWEEPS))
    def push(
        model: data, body: body_, rigid: rigid_, now: substep_, round: int, group: int, thread: int, thread_count: int
    ) -> None: ...

    return Meetings(find, push)
