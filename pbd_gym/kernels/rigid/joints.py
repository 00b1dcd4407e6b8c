"""What pulls at the particles of rigid bodies moves their bodies, and joints hold these together.

Constraints, contacts between particles and fluids have displaced a particle by d. To its body of mass M that is the
impulse ``m d`` (times the substep), for the mass m that they reckoned with, so the body as a whole moves by
``sum m d / M`` and turns by ``I^-1 sum r x m d``. Whatever displaced it gave others the opposite impulse: momentum is
kept.

A joint is a point that two bodies share. With r to it from either centre, the impulse that closes a gap d is
``(K_1 + K_2)^-1 d`` with ``K p = p / M + (I^-1 (r x p)) x r``: Mueller et al. 2020 (Detailed rigid body simulation with
extended position based dynamics, doi:10.1111/cgf.14105). A place in space has ``K = 0``. A particle that is joined to a
body is one of its own, with the inverse mass that the body has at that point.
"""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.rigid import scratch_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.rigid.algebra import rigid_code

SWEEPS = 4
"""Over the joints in an iteration, forth and back in turn."""

_GATHER = """
    for (int b = thread; b < table.radius.shape[0]; b += thread_count) {
        T* const at = all + (size_t)b * COLUMNS * LANES;
        EACH_LANE {
LANE
            const V none = V(T(0));
            const V3 center = load(at + CENTER * LANES), offset = load(at + OFFSET * LANES);
            const M3 turn = load_rows(at + TURN * LANES);
            V3 push = {none, none, none}, spin = push;
            for (int j = offsets[b]; j < offsets[b + 1]; ++j) {
                const V3 r = apply(turn, place_in(j, offset));
                const V3 d = minus(load(x + ROW * members[j] * LANES), add(center, r));
                const V3 p = times(unless_held(j, b, table.push.data[j]), d);
                push = add(push, p);
                spin = add(spin, cross(r, p));
            }
            const S3 lightness = in_axes(turn, load_symmetric(at + INVERSE * LANES));
            store(at + CENTER * LANES, add(center, times(LOAD(at + INV_MASS * LANES), push)));
            store_rows(at + TURN * LANES, product(rotation(stretch(lightness, spin)), turn));
        }
    }
    PBD_SYNC();
    const int joint_count = table.joints.shape[0] / 2;
    if (thread == 0 && joint_count > 0) {  // they wait for each other
        for (int n = 0; n < SWEEPS * joint_count; ++n) {
            const int k = n % joint_count, c = n / joint_count % 2 ? joint_count - 1 - k : k;
            const int first = table.joints.data[2 * c], second = table.joints.data[2 * c + 1];
            EACH_LANE {
LANE
                const V none = V(T(0));
                const auto point_of = [&](int k) {
                    const T* const from = table.points.data + 6 * c + k;
                    return V3{V(from[0]), V(from[1]), V(from[2])};
                };
                const auto lever = [&](const T* at, const V3& point) {
                    return apply(load_rows(at + TURN * LANES), minus(times(size, point), load(at + OFFSET * LANES)));
                };
                S3 k = {none, none, none, none, none, none};
                const auto weaken = [&](const T* at, const V3& r) {
                    const V m = LOAD(at + INV_MASS * LANES);
                    const S3 s = in_axes(load_rows(at + TURN * LANES), load_symmetric(at + INVERSE * LANES));
                    const V3 ex = {none, -r.z, r.y}, ey = {r.z, none, -r.x}, ez = {-r.y, r.x, none};  // rows of -[r]
                    const V3 p = stretch(s, ex), q = stretch(s, ey), o = stretch(s, ez);
                    k.xx += m + dot(ex, p); k.yy += m + dot(ey, q); k.zz += m + dot(ez, o);
                    k.xy += dot(ex, q); k.xz += dot(ex, o); k.yz += dot(ey, o);
                };
                const auto push = [&](T* at, const V3& r, const V3& p) {
                    const M3 turn = load_rows(at + TURN * LANES);
                    const S3 s = in_axes(turn, load_symmetric(at + INVERSE * LANES));
                    store(at + CENTER * LANES, add(load(at + CENTER * LANES), times(LOAD(at + INV_MASS * LANES), p)));
                    store_rows(at + TURN * LANES, product(rotation(stretch(s, cross(r, p))), turn));
                };
                T* const one = all + (size_t)first * COLUMNS * LANES;
                T* const two = all + (size_t)(second < 0 ? first : second) * COLUMNS * LANES;
                const V3 mine = lever(one, point_of(0));
                weaken(one, mine);
                V3 goal = point_of(3), its = goal;
                if (second >= 0) {
                    its = lever(two, goal);
                    weaken(two, its);
                    goal = add(load(two + CENTER * LANES), its);
                }
                const V3 p = stretch(inverse_of(k), minus(goal, add(load(one + CENTER * LANES), mine)));
                push(one, mine, p);
                if (second >= 0) push(two, its, times(V(T(-1)), p));
            }
        }
    }
    PBD_SYNC();
    for (int b = thread; b < table.radius.shape[0]; b += thread_count) {
        const T* const at = all + (size_t)b * COLUMNS * LANES;
        EACH_LANE {
LANE
            write(b, load(at + CENTER * LANES), load_rows(at + TURN * LANES), load(at + OFFSET * LANES));
        }
    }
"""


@functools.cache
def make_gather(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build what moves bodies as their particles have been pushed and joints want, and particles with them.

    Args:
        wide: lane count and precision.
        options: what the kernel is compiled for.
        data: the struct of the whole model.
    """
    body_: Any = body_type(wide.vec)
    rigid_: Any = scratch_type(wide.vec)

    @wp.func_native(rigid_code(wide, options, _GATHER, SWEEPS=SWEEPS))
    def gather(model: data, body: body_, rigid: rigid_, group: int, thread: int, thread_count: int) -> None: ...

    return gather
