"""How rigid bodies move: where they are at first, their free motion, and the velocity that they end a substep with.

A substep turns a body by the rotation vector p that solves ``I(exp(p / 2) R) p / h = L``: the implicit midpoint rule,
which keeps the angular momentum L to rounding where nothing acts, and the energy up to third order in h. L comes from
the particles as they were predicted, so that gravity, forces and wind are in it. Where it ends up after constraints and
contacts, L follows from the turn by the same formula, and particles get the velocities of the rigid motion that has it.
"""

import functools
from typing import Any, NamedTuple

import warp as wp

from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.rigid import scratch_type
from pbd_gym.kernels.lanes.rotation import rotation_code
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.rigid.algebra import rigid_code

_SQUARINGS = {wp.float32: 14, wp.float64: 18}
"""As for clusters, :mod:`pbd_gym.kernels.solve.clusters`."""
ROUNDS = 6
"""Of the iteration for the turn. Each takes off what is left by half the angle of a substep or more."""

_FIND = """
    for (int b = thread; b < table.radius.shape[0]; b += thread_count) {
        T* const at = all + (size_t)b * COLUMNS * LANES;
        EACH_LANE {
LANE
            const V none = V(T(0));
            V total = none;
            V3 center = {none, none, none}, offset = center;
            for (int j = offsets[b]; j < offsets[b + 1]; ++j) {
                const V m = weight(j, b);
                total += m;
                center = add(center, times(m, load(previous + ROW * members[j] * LANES)));
                offset = add(offset, times(m, place_in(j, V3{none, none, none})));
            }
            const V inverse = T(1) / total;
            center = times(inverse, center);
            offset = times(inverse, offset);
            S3 second = {none, none, none, none, none, none};
            V a00 = none, a01 = none, a02 = none, a10 = none, a11 = none, a12 = none;
            V a20 = none, a21 = none, a22 = none;
            for (int j = offsets[b]; j < offsets[b + 1]; ++j) {
                const V m = weight(j, b);
                const V3 u = place_in(j, offset);
                const V3 r = times(m, minus(load(previous + ROW * members[j] * LANES), center));
                a00 += r.x * u.x; a01 += r.x * u.y; a02 += r.x * u.z;
                a10 += r.y * u.x; a11 += r.y * u.y; a12 += r.y * u.z;
                a20 += r.z * u.x; a21 += r.z * u.y; a22 += r.z * u.z;
                second.xx += m * u.x * u.x; second.yy += m * u.y * u.y; second.zz += m * u.z * u.z;
                second.xy += m * u.x * u.y; second.xz += m * u.x * u.z; second.yz += m * u.y * u.z;
            }
            ROTATION
            const S3 inertia = {
                second.yy + second.zz, second.xx + second.zz, second.xx + second.yy,
                -second.xy, -second.xz, -second.yz};
            store(at + CENTER * LANES, center);
            store_rows(at + TURN * LANES, M3{{r00, r01, r02}, {r10, r11, r12}, {r20, r21, r22}});
            store(at + OFFSET * LANES, offset);
            STORE(at + INV_MASS * LANES, inverse);
            store_symmetric(at + SPREAD * LANES, inertia);
            store_symmetric(at + INVERSE * LANES, inverse_of(inertia));
        }
    }
"""

_TURN = """
    for (int b = thread; b < table.radius.shape[0]; b += thread_count) {
        T* const at = all + (size_t)b * COLUMNS * LANES;
        EACH_LANE {
LANE
            const V none = V(T(0));
            const V3 start = load(at + CENTER * LANES), offset = load(at + OFFSET * LANES);
            const M3 before = load_rows(at + TURN * LANES);
            const S3 lightness = load_symmetric(at + INVERSE * LANES);
            V3 gone = {none, none, none}, spin = gone;
            for (int j = offsets[b]; j < offsets[b + 1]; ++j) {
                const T* const p = previous + ROW * members[j] * LANES;
                const V3 from = load(p), d = minus(load(x + ROW * members[j] * LANES), from);
                const V m = weight(j, b);
                gone = add(gone, times(m, d));
                spin = add(spin, times(m, cross(minus(from, start), d)));
            }
            gone = times(LOAD(at + INV_MASS * LANES), gone);
            V3 angle = stretch(in_axes(before, lightness), spin);
            for (int round = 0; round < ROUNDS; ++round)
                angle = stretch(in_axes(product(rotation(times(V(T(0.5)), angle)), before), lightness), spin);
            const V3 center = add(start, gone);
            const M3 turn = product(rotation(angle), before);
            store(at + START * LANES, start);
            store_rows(at + START_TURN * LANES, before);
            store(at + CENTER * LANES, center);
            store_rows(at + TURN * LANES, turn);
            write(b, center, turn, offset);
        }
    }
    PBD_SYNC();
"""

_SETTLE = """
    for (int b = thread; b < table.radius.shape[0]; b += thread_count) {
        T* const at = all + (size_t)b * COLUMNS * LANES;
        EACH_LANE {
LANE
            const V3 center = load(at + CENTER * LANES);
            const M3 before = load_rows(at + START_TURN * LANES), m = load_rows(at + TURN * LANES);
            // Rounding makes a little more or less than a rotation of it: one step of Newton's iteration.
            const M3 square = {
                {dot(m.a, m.a), dot(m.a, m.b), dot(m.a, m.c)}, {dot(m.a, m.b), dot(m.b, m.b), dot(m.b, m.c)},
                {dot(m.a, m.c), dot(m.b, m.c), dot(m.c, m.c)}};
            const M3 n = product(square, m);
            const V much = V(T(1.5)), less = V(T(-0.5));
            const M3 turn = {
                add(times(much, m.a), times(less, n.a)), add(times(much, m.b), times(less, n.b)),
                add(times(much, m.c), times(less, n.c))};
            store_rows(at + TURN * LANES, turn);
            const V3 gone = minus(center, load(at + START * LANES)), angle = turned(turn, before);
            const M3 middle = product(rotation(times(V(T(0.5)), angle)), before);
            const V3 spin = stretch(in_axes(middle, load_symmetric(at + SPREAD * LANES)), angle);
            const V3 swept = stretch(in_axes(turn, load_symmetric(at + INVERSE * LANES)), spin);
            for (int j = offsets[b]; j < offsets[b + 1]; ++j) {
                const int i = members[j];
                const V free = LOAD(w + i * LANES);
                T* const to = previous + ROW * i * LANES;
                const V3 here = load(x + ROW * i * LANES), old = load(to);
                const V3 d = add(gone, cross(swept, minus(here, center)));
                const V3 p = {
                    free > T(0) ? here.x - d.x : old.x, free > T(0) ? here.y - d.y : old.y,
                    free > T(0) ? here.z - d.z : old.z};
                store(to, p);
#if BOUNCING
                const V inv_h = V(T(now.inv_h));
                store((T*)body.velocity.data + 3 * i * LANES, times(inv_h, minus(here, p)));
#endif
            }
        }
    }
    PBD_SYNC();
"""


class RigidMotion(NamedTuple):
    """Warp functions of (model, body, rigid, substep, group, thread, threads)."""

    find: Any
    """Finds bodies in their particles, at the start of a step, once these have been predicted."""
    turn: Any
    """Turns the prediction of particles into the free motion of their body."""
    settle: Any
    """Gives particles the velocities of their body, by the positions before the substep: ``previous = x - h v``."""


@functools.cache
def make_motion(wide: Wide, options: SweepOptions, data: Any, bouncing: bool) -> RigidMotion:
    """Build the motion of rigid bodies.

    Args:
        wide: lane count and precision.
        options: what the kernel is compiled for.
        data: the struct of the whole model.
        bouncing: whether velocities are taken from ``body.velocity`` after this.
    """
    body_: Any = body_type(wide.vec)
    rigid_: Any = scratch_type(wide.vec)
    substep_: Any = substep_type(wide.vec)
    rotation = rotation_code(wide.scalar, _SQUARINGS[wide.scalar])
    find_text = rigid_code(wide, options, _FIND.replace("ROTATION", rotation))
    turn_text = rigid_code(wide, options, _TURN, ROUNDS=ROUNDS)
    settle_text = rigid_code(wide, options, _SETTLE, BOUNCING=int(bouncing))

    @wp.func_native(find_text)
    def find_bodies(
        model: data, body: body_, rigid: rigid_, now: substep_, group: int, thread: int, thread_count: int
    ) -> None: ...

    @wp.func_native(turn_text)
    def turn_bodies(
        model: data, body: body_, rigid: rigid_, now: substep_, group: int, thread: int, thread_count: int
    ) -> None: ...

    @wp.func_native(settle_text)
    def settle_bodies(
        model: data, body: body_, rigid: rigid_, now: substep_, group: int, thread: int, thread_count: int
    ) -> None: ...

    return RigidMotion(find_bodies, turn_bodies, settle_bodies)
