"""Tethers to what is held or pinned: nothing gets farther from it than along the cloth at rest.

A sweep of stretch constraints carries the pull of a hand by one particle, so cloth that is swung stretches more, the
finer it is. Long-range attachments (Kim, Chentanez, Mueller 2012, doi:10.2312/SCA/SCA12/305-310) hold every particle
back at once. Here the anchors are whatever grips hold and whatever is pinned, in each environment for itself: the
first phase of a step notices what has changed and works out the lengths anew, so that everything that closes a grip,
sets a pin or restores a state is served alike.

Anchors that are farther apart than the cloth between them are not to tear at it by turns. All tethers of an environment
grow by the factor by which the worst pair of anchors is too far apart; by the triangle inequality there is then a place
for every particle, and the strain of a thread between two hands is even. Constraints do not want that: a hand by one
particle stretches cloth most where it holds it. Where hands pull, tethers therefore act after the constraints too, and
the force at the hands is more than what the material alone would pull with.
"""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.parameters import SIZE
from pbd_gym.kernels.data.step import state_type
from pbd_gym.kernels.data.tethers import LOOSE
from pbd_gym.kernels.lanes.snippets import with_lanes
from pbd_gym.kernels.lanes.wide import Wide, barrier

_HOLD = """
// A number for each lane, from an expression in which its number is "lane".
#if PBD_BLOCK || LANES_COUNT == 1
#define OF_LANES(expression) V(expression)
#else
#define OF_LANES(expression) [&] { V r; for (int lane = 0; lane < LANES; ++lane) r[lane] = expression; return r; }()
#endif
#define ANCHOR(a) anchors[lane * anchor_count + (a)]
{
    constexpr int ROW = ROW_LENGTH, MOST = MOST_ANCHORS;
    T* const x = (T*)body.x.data;
    const T* const previous = (const T*)body.previous.data;
    const T* const w = (const T*)body.inv_mass.data;
    const T* const rest = (const T*)lengths.data;
    const int anchor_count = lengths.shape[0], count = lengths.shape[1];
    const int* const range = (const int*)bounds.data;
    const int* const anchors = (const int*)tethered.data + group * LANES * anchor_count;
    int taut[MOST], used = 0;
    for (int a = 0; a < anchor_count && used < MOST; ++a)
        if (range[2 * a] < range[2 * a + 1])
            taut[used++] = a;
    if (used > 0) EACH_LANE {
#if VARIED
        const T* const parameters = (const T*)body.parameters.data;
        const V size = LOAD(parameters + SIZE_COLUMN * LANES);
#else
        const V size = V(T(1));
#endif
        V ax[MOST], ay[MOST], az[MOST], bx[MOST], by[MOST], bz[MOST], worst = V(T(1));
        for (int k = 0; k < used; ++k) {
            const int a = taut[k];
#define COORDINATE(of, axis) OF_LANES(ANCHOR(a) < 0 ? T(0) : of[(ROW * (Index)ANCHOR(a) + axis) * LANES + lane])
            ax[k] = COORDINATE(x, 0); ay[k] = COORDINATE(x, 1); az[k] = COORDINATE(x, 2);
            bx[k] = COORDINATE(previous, 0); by[k] = COORDINATE(previous, 1); bz[k] = COORDINATE(previous, 2);
#undef COORDINATE
            for (int m = 0; m < k; ++m) {
                const int b = taut[m];
                const V length = size * OF_LANES(
                    ANCHOR(a) < 0 || ANCHOR(b) < 0 ? T(LOOSE) : rest[(b * (Index)count + ANCHOR(a)) * LANES + lane]);
                const V dx = ax[k] - ax[m], dy = ay[k] - ay[m], dz = az[k] - az[m];
                const V square = length * length, ratio = (dx * dx + dy * dy + dz * dz) / FLOOR(square, 1e-30);
                worst = ratio > worst ? ratio : worst;
            }
        }
        const auto asked = worst > V(least * least);
        const V scale = size * SQRT(worst), slow = V(T(GATHERING) / inv_h);
        for (int k = 0; k < used && ANY(asked); ++k) {
            const int a = taut[k], first = range[2 * a], last = range[2 * a + 1];
            // A particle belongs to one thread, whichever anchor it is about.
            const int ahead = (thread - first) % thread_count;
            for (Index i = first + (ahead < 0 ? ahead + thread_count : ahead); i < last; i += thread_count) {
                T* const place = x + ROW * i * LANES;
                const V px = LOAD(place), py = LOAD(place + LANES), pz = LOAD(place + 2 * LANES);
                const V dx = px - ax[k], dy = py - ay[k], dz = pz - az[k];
                const V limit = scale * LOAD(rest + (a * (Index)count + i) * LANES);
                const V square = dx * dx + dy * dy + dz * dz;
                const V weight = LOAD(w + i * LANES);
                const auto over = (square > limit * limit) & (weight > T(0)) & asked;
                if (ANY(over)) {
                    const T* const before = previous + ROW * i * LANES;
                    const V ex = LOAD(before) - bx[k], ey = LOAD(before + LANES) - by[k];
                    const V ez = LOAD(before + 2 * LANES) - bz[k];
                    const V old = SQRT(ex * ex + ey * ey + ez * ez) - slow, wanted = old > limit ? old : limit;
                    const V away = SQRT(square), part = wanted / FLOOR(away, 1e-30) - T(1);
                    const V move = (over & (wanted < away)) ? part : V(T(0));
                    STORE(place, px + dx * move);
                    STORE(place + LANES, py + dy * move);
                    STORE(place + 2 * LANES, pz + dz * move);
#if FORCES
                    if (a < pull.shape[0]) {
                        T* const sum = (T*)pull.data + (a * (Index)count + i) * 3 * LANES;
                        const V taken = move / FLOOR(weight, 1e-30);
                        STORE(sum, LOAD(sum) - dx * taken);
                        STORE(sum + LANES, LOAD(sum + LANES) - dy * taken);
                        STORE(sum + 2 * LANES, LOAD(sum + 2 * LANES) - dz * taken);
                    }
#endif
                }
            }
        }
    }
}
#undef ANCHOR
#undef OF_LANES
"""


GATHERING = 0.2
"""How fast a particle is brought back that was too far from an anchor already when the substep began [m/s]; what a
substep adds is taken back at once. A weave that was sheared has a longer diagonal than at rest, and a towel may be
caught at a rod while the hand goes on: brought back at once, one would be jerked away where it lies, faster than
friction can hold it, and the other thrown as it comes free."""
PULLED = 1.01
"""Tethers act once more after the sweep where two anchors are farther apart than along the cloth by more than this
factor. What is pulled so far is stretched unevenly by the sweep: most at the hands. Below, the unevenness is less than
this, and hands that go on by half a percent to tighten a towel disturb nothing."""


class Tethers(NamedTuple):
    """Warp functions of what tethers do to one group."""

    measure: Any
    """(model, state, group, thread, thread_count): finds lengths where a grip holds, or a pin is, something else than
    before. A barrier has to follow."""
    hold: Any
    """(state, body, inv_h, least, group, thread, thread_count): brings back what is too far from an anchor, in
    environments that have two anchors too far apart by more than the factor ``least``, in all if that is 0; ends with
    a barrier."""


@functools.cache
def make_tethers(wide: Wide, options: SweepOptions, data: Any) -> Tethers:
    """Build the functions.

    Args:
        wide: lane count and precision.
        options: what the kernel is compiled for; ``anchors`` is how many there is room for.
        data: the struct of the whole model.
    """
    lanes = wide.lanes
    scalar: Any = wide.scalar
    vec: Any = wide.vec
    state_ = state_type(vec)
    body_: Any = body_type(vec)

    @wp.func
    @no_type_check
    def anchor_of(state: state_, slot: int, a: int):
        """Return the particle that an anchor is, -1 for none: grips come first, then pins."""
        if a < state.held.shape[1]:
            return state.held[slot, a]
        return state.pins[slot, a - state.held.shape[1]]

    @wp.func
    @no_type_check
    def way(model: data, j: int, i: int):
        """Return how far particle i may be from particle j [m]."""
        found = scalar(LOOSE)
        if j >= 0:
            number = model.tethers.body[j]
            if number >= 0 and model.tethers.body[i] == number:
                offset = model.tethers.offsets[number]
                if offset < 0:
                    dx = model.tethers.pattern[i, 0] - model.tethers.pattern[j, 0]
                    dy = model.tethers.pattern[i, 1] - model.tethers.pattern[j, 1]
                    found = wp.sqrt(dx * dx + dy * dy)
                else:
                    first = model.tethers.bounds[number, 0]
                    count = model.tethers.bounds[number, 1] - first
                    found = model.tethers.ways[offset + (j - first) * count + i - first]
        return found

    @wp.func
    @no_type_check
    def lengthen(model: data, state: state_, group: int, thread: int, thread_count: int):
        for a in range(state.tethered.shape[1]):
            for lane in range(wp.static(lanes)):
                slot = group * wp.static(lanes) + lane
                j = anchor_of(state, slot, a)
                if j != state.tethered[slot, a]:
                    for i in range(thread, state.tether_lengths.shape[2], thread_count):
                        state.tether_lengths_scalar[group, a, i, lane] = way(model, j, i)

    @wp.func
    @no_type_check
    def settle(model: data, state: state_, group: int):
        for a in range(state.tethered.shape[1]):
            first = int(state.tether_lengths.shape[2])
            last = int(0)
            for lane in range(wp.static(lanes)):
                slot = group * wp.static(lanes) + lane
                j = anchor_of(state, slot, a)
                state.tethered[slot, a] = j
                if j >= 0:
                    number = model.tethers.body[j]
                    if number >= 0:
                        first = wp.min(first, model.tethers.bounds[number, 0])
                        last = wp.max(last, model.tethers.bounds[number, 1])
            state.tether_bounds[group, a, 0] = first
            state.tether_bounds[group, a, 1] = last

    @wp.func
    @no_type_check
    def measure(model: data, state: state_, group: int, thread: int, thread_count: int):
        lengthen(model, state, group, thread, thread_count)
        barrier()  # what has been measured is then taken for done
        if thread == 0:
            settle(model, state, group)

    flags = {"VARIED": options.varied, "FORCES": options.grip_forces, "LANES_COUNT": lanes}
    code = _HOLD
    for name, value in {
        **flags,
        "ROW_LENGTH": 4 if options.packed else 3,
        "MOST_ANCHORS": max(options.anchors, 1),
        "SIZE_COLUMN": int(SIZE),
        "T(LOOSE)": f"T({LOOSE})",
        "GATHERING": str(GATHERING),
    }.items():
        code = code.replace(name, str(int(value)) if not isinstance(value, str) else value)

    @wp.func_native(with_lanes(wide, code))
    def pull_back(
        body: body_,
        lengths: wp.array2d[vec],
        bounds: wp.array2d[wp.int32],
        tethered: wp.array2d[wp.int32],
        pull: wp.array3d[vec],
        inv_h: scalar,
        least: scalar,
        group: int,
        thread: int,
        thread_count: int,
    ) -> None: ...

    @wp.func
    @no_type_check
    def hold(state: state_, body: body_, inv_h: scalar, least: scalar, group: int, thread: int, thread_count: int):
        pull_back(
            body, state.tether_lengths[group], state.tether_bounds[group], state.tethered, state.tether_pull[group],
            inv_h, least, group, thread, thread_count,
        )  # fmt: skip
        barrier()

    return Tethers(measure, hold)
