"""Contacts of rigid bodies with colliders.

All balls of a body that touch a collider are looked at together. The impulse of each pushes the body as a whole, by the
inverse mass ``1 / M + (r x n) . I^-1 (r x n)`` that it has at that point, and is never negative. Friction holds the
point of contact where it was on the surface, with an impulse of at most the coefficient times that of the push: the
static one for what sticks, and the kinetic one for what slides. A few sweeps over them (projected Gauss-Seidel) find
impulses that fit together: Mueller et al. 2020, doi:10.1111/cgf.14105. Which contacts slide is decided when these
nearly do.

A ball that comes on faster than gravity makes it in two substeps bounces: it is pushed on until it goes back by
``restitution`` times its way.
"""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.colliders.frames import make_frame
from pbd_gym.kernels.data.colliders import Part, table_type
from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.parameters import SIZE
from pbd_gym.kernels.data.rigid import CENTER, scratch_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.rigid.algebra import rigid_code

SWEEPS = 12
"""Over the contacts of a body, forth and back in turn."""
DECIDED = 8
"""Sweep in which contacts turn out to slide or to stick. Until then friction takes as much as it may of what sticks:
impulses that do not fit together yet would make some balls slide, and these then draw down the others."""
LEFT = 0.3
"""A contact slides if friction that sticks leaves more of its slip than this share. What only just begins to slide is
held back by as much for some more substeps, in which its slip grows."""
CREEPS = 0.25
"""Nor does it slide below this share of the speed that gravity makes in two substeps: that may be rounding."""

_RECORD = """
    const int i = members[j];
    T* const to = contacts + (size_t)(offsets[b] + count) * NUMBERS * LANES;
    T* const at = all + (size_t)b * COLUMNS * LANES;
    touching[offsets[b] + count] = j;
    EACH_LANE {
LANE
        const V none = V(T(0));
        const V3 n = {LOAD(nx.c), LOAD(ny.c), LOAD(nz.c)};
        // The ball has turned about its middle: the point of contact has moved with it.
        const V3 angle = turned(load_rows(at + TURN * LANES), load_rows(at + START_TURN * LANES));
        const V3 arm = times(-size * table.radius.data[b], n);
        const V3 went = minus(load(x + ROW * i * LANES), load(previous + ROW * i * LANES));
        const V3 slip = minus(add(went, cross(angle, arm)), V3{LOAD(ux.c), LOAD(uy.c), LOAD(uz.c)});
        const V along = dot(slip, n);
        V deep = LOAD(depth.c);
        // Later rounds are for environments in which bodies meet.
        if (round > 0) deep = LOAD((T*)(rigid.busy.data + group)) > none ? deep : none;
        const V comes = -along - LOAD(now.resting_speed.c) * now.h, back = -along * (T(1) + bounce);
        const V wanted = ((deep > none) & (comes > none) & (back > deep) & V(bounce) > none) ? back : deep;
        STORE(to, wanted);
        store(to + NORMAL * LANES, n);
        store(to + SLIP * LANES, slip);
        for (int k = IMPULSE; k < GRIP; ++k) STORE(to + k * LANES, none);
        STORE(to + GRIP * LANES, LOAD(kinetic.c));
        STORE(to + (GRIP + 1) * LANES, LOAD(sticking.c));
    }
"""

_SOLVE = """
    T* const at = all + (size_t)b * COLUMNS * LANES;
    EACH_LANE {
LANE
        const V none = V(T(0)), ball = size * table.radius.data[b];
        const V3 center = load(at + CENTER * LANES), offset = load(at + OFFSET * LANES);
        const M3 turn = load_rows(at + TURN * LANES);
        const S3 lightness = in_axes(turn, load_symmetric(at + INVERSE * LANES));
        const V inv_mass = LOAD(at + INV_MASS * LANES);
        V3 gone = {none, none, none}, angle = gone;
        const auto push = [&](const V3& r, const V3& p) {
            gone = add(gone, times(inv_mass, p));
            angle = add(angle, stretch(lightness, cross(r, p)));
        };
        const auto weakness = [&](const V3& r, const V3& n) {
            const V3 c = cross(r, n);
            return inv_mass + dot(c, stretch(lightness, c));
        };
        for (int sweep = 0; sweep < SWEEPS; ++sweep)
            for (int m = 0; m < count; ++m) {
                const int c = offsets[b] + (sweep % 2 ? count - 1 - m : m);
                T* const one = contacts + (size_t)c * NUMBERS * LANES;
                const V3 n = load(one + NORMAL * LANES);
                const V3 r = minus(apply(turn, place_in(touching[c], offset)), times(ball, n));
                const V depth = LOAD(one), old = LOAD(one + IMPULSE * LANES);
                const V3 moved = add(gone, cross(angle, r));
                const V raised = old + (depth - dot(moved, n)) / weakness(r, n);
                const V sum = ((raised > none) & (depth > none)) ? raised : none;
                STORE(one + IMPULSE * LANES, sum);
                push(r, times(sum - old, n));
                const V3 slip = add(load(one + SLIP * LANES), add(gone, cross(angle, r)));
                const V3 beside = minus(slip, times(dot(slip, n), n));
                const V way = SQRT(dot(beside, beside)), over = T(1) / FLOOR(way, 1e-12);
                const V3 dragged = load(one + DRAG * LANES);
                const V3 drag = minus(dragged, times(way > T(1e-12) ? V(T(1)) / weakness(r, times(over, beside)) : none,
                    beside));
                const V much = SQRT(dot(drag, drag)), most = LOAD(one + (GRIP + 1) * LANES) * sum;
                if (sweep == DECIDED) {
                    const V3 all = load(one + SLIP * LANES), came = minus(all, times(dot(all, n), n));
                    const V left = dot(beside, beside), least = T(CREEPS) * LOAD(now.resting_speed.c) * now.h;
                    const auto slides = (much > most) & (left > T(LEFT) * dot(came, came)) & (left > least * least);
                    const V static_ = LOAD(one + (GRIP + 1) * LANES);
                    STORE(one + (GRIP + 1) * LANES, slides ? LOAD(one + GRIP * LANES) : static_);
                }
                const V limit = LOAD(one + (GRIP + 1) * LANES) * sum;
                const V share = much > limit ? limit / FLOOR(much, 1e-30) : V(T(1));
                const V3 kept = times(share, drag);
                store(one + DRAG * LANES, kept);
                push(r, minus(kept, dragged));
            }
        const V3 there = add(center, gone);
        const M3 rotated = product(rotation(angle), turn);
        store(at + CENTER * LANES, there);
        store_rows(at + TURN * LANES, rotated);
        write(b, there, rotated, offset);
    }
"""

_NUMBERS = {"SWEEPS": SWEEPS, "DECIDED": DECIDED, "LEFT": LEFT * LEFT, "CREEPS": CREEPS}


@functools.cache
def make_collide(wide: Wide, options: SweepOptions, data: Any, parts: tuple[Part, ...]) -> Any:
    """Build the contacts of a body with the colliders of all parts, in their order.

    Args:
        wide: lane count and precision.
        options: what the kernel is compiled for.
        data: the struct of the whole model.
        parts: colliders by shape and by whether they move.
    """
    vec, scalar = wide.vec, wide.scalar
    colliders_, body_, rigid_ = table_type(scalar), body_type(vec), scratch_type(vec)
    substep_ = substep_type(vec)

    def then(before: Any, last: Any) -> Any:
        @wp.func
        @no_type_check
        def both(
            model: data, colliders: colliders_, body: body_, rigid: rigid_, now: substep_, round: int, group: int,
            b: int,
        ):  # fmt: skip
            before(model, colliders, body, rigid, now, round, group, b)
            last(model, colliders, body, rigid, now, round, group, b)

        return both

    return functools.reduce(then, [_make_part(wide, options, data, part, index) for index, part in enumerate(parts)])


def _make_part(wide: Wide, options: SweepOptions, data: Any, part: Part, index: int) -> Any:
    """Build the contacts of a body with the colliders of one part."""
    any_positive = wide.any_positive
    vec: Any = wide.vec
    scalar: Any = wide.scalar
    colliders_ = table_type(scalar)
    body_: Any = body_type(vec)
    rigid_: Any = scratch_type(vec)
    substep_: Any = substep_type(vec)
    distance, normal = part.shape.make_distance(wide)
    to_local, to_world, _, travel = make_frame(wide, part.moving)

    @wp.func_native(rigid_code(wide, options, _RECORD))
    def record(
        model: data, body: body_, rigid: rigid_, now: substep_, round: int, group: int, b: int, j: int, count: int,
        depth: vec, nx: vec, ny: vec, nz: vec, ux: vec, uy: vec, uz: vec, kinetic: vec, sticking: vec, bounce: scalar,
    ) -> None: ...  # fmt: skip

    @wp.func_native(rigid_code(wide, options, _SOLVE, **_NUMBERS))
    def solve(model: data, body: body_, rigid: rigid_, now: substep_, group: int, b: int, count: int) -> None: ...

    @wp.func
    @no_type_check
    def collide(
        model: data, colliders: colliders_, body: body_, rigid: rigid_, now: substep_, round: int, group: int, b: int
    ):  # fmt: skip
        """Push body ``b`` out of every collider of the part."""
        size = vec(scalar(1.0))
        if wp.static(options.varied):
            size = body.parameters[SIZE]
        radius = model.rigid.radius[b] * size
        first = model.rigid.offsets[b]
        for k in range(colliders.bounds[index], colliders.bounds[index + 1]):
            cx, cy, cz = to_local(
                body.frames, k, 0, rigid.bodies[group, b, CENTER], rigid.bodies[group, b, CENTER + 1],
                rigid.bodies[group, b, CENTER + 2],
            )  # fmt: skip
            if any_positive(model.rigid.reach[b] * size - distance(colliders, k, cx, cy, cz)):
                count = int(0)
                for j in range(first, first + model.rigid.colliding[b]):
                    i = model.rigid.members[j]
                    px, py, pz = to_local(body.frames, k, 0, body.x[i, 0], body.x[i, 1], body.x[i, 2])
                    depth = radius - distance(colliders, k, px, py, pz)
                    if any_positive(depth):
                        nx, ny, nz = normal(colliders, k, px, py, pz)
                        reach = radius - depth
                        ux, uy, uz = travel(
                            body.frames, k, px - wp.cw_mul(nx, reach), py - wp.cw_mul(ny, reach),
                            pz - wp.cw_mul(nz, reach),
                        )  # fmt: skip
                        wx, wy, wz = to_world(body.frames, k, nx, ny, nz)
                        kinetic = colliders.surfaces[k, 0] * body.friction
                        sticking = colliders.surfaces[k, 1] * body.friction
                        record(
                            model, body, rigid, now, round, group, b, j, count, depth, wx, wy, wz, ux, uy, uz, kinetic,
                            sticking, colliders.surfaces[k, 2],
                        )  # fmt: skip
                        count += 1
                if count > 0:
                    solve(model, body, rigid, now, group, b, count)

    return collide
