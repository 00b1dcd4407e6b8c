"""Contacts between particles: cloth on itself, rope on itself, body against body.

Particles are balls, or patches of a surface: :mod:`pbd_gym.kernels.contacts.geometry`. The colliding ones are
*members*. Where a thread serves a group, each environment has a list of pairs, which are worked on sixteen at a time
(:mod:`pbd_gym.kernels.contacts.pair_search`). Where a block of threads does, each member has a list of its candidates
(:mod:`pbd_gym.kernels.contacts.grid_search`), and one with more than it has room for is compared with all others.

Corrections follow from positions that nobody changes meanwhile, and are summed in the order of members' numbers: no
atomics, and no dependence on the order of threads, on when the last search was, on the room in the lists, nor on other
environments. Candidates are found in the sizes of the scene: an environment of another size is scaled to them.
"""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.contacts.agitation import BLOCK_AGITATION, LONE_AGITATION
from pbd_gym.kernels.contacts.block_pairs import IN_BLOCKS
from pbd_gym.kernels.contacts.geometry import normals_code, touch_code
from pbd_gym.kernels.contacts.grid_search import SEARCH
from pbd_gym.kernels.contacts.pair_search import CHUNK, KIN, LIST, LONE_NAMES, PAIRS, ROWS, put_code
from pbd_gym.kernels.contacts.pairs import IN_PAIRS
from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.parameters import FRICTION, INV_SIZE, SIZE
from pbd_gym.kernels.data.particle_contacts import lists_type
from pbd_gym.kernels.data.rigid import COLUMNS, GONE, scratch_type
from pbd_gym.kernels.lanes.snippets import in_batches, with_lanes
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.rigid.carried import CARRIED

RELAXATION = 1.7
"""Over-relaxation of particles with several contacts. Averaging is safe up to 2, and slow at 1: what falls into a heap
then comes closer than it should before it is stopped."""

FRICTION_RELAXATION = 1.4
"""The same for surfaces that stick: more of it makes heaps tremble. Those that slide are held back by Coulomb's force.
Balls alone have the relaxation of their contacts for both."""

SOFTNESS = 0.1
"""Overlap of surfaces, in thicknesses, half of which leaves within a substep: of a smaller one less, of a deeper one
nearly all. Cloth is soft at its surface; where the least overlap leaves at once, heaps tremble for ever."""

HELD = 0.1
"""Share of its inverse mass that a particle of a surface counts with while friction with a collider holds it: what lies
on it is stopped within the substep, rather than half by half, as if the two were in free fall. It cannot be dragged off
by what lies on it, unless that rubs ten times as much as the collider."""

_ALIKE = """
#define SIZE T(1)
#define INV_SIZE T(1)
#define INV_SIZES T(1)
#define ROUGHNESS T(1)
"""

_VARIED = """
#define SIZE parameters[{0} * LANES + lane_]
#define INV_SIZE parameters[{1} * LANES + lane_]
#define INV_SIZES LOAD(parameters + {1} * LANES)
#define ROUGHNESS parameters[{2} * LANES + lane_]
"""

UNDEFINE = """
#undef SURFACES
#undef RIGID
#undef SIZE
#undef INV_SIZE
#undef INV_SIZES
#undef ROUGHNESS
"""
"""Ends what :func:`sizes_code` and ``SURFACES`` define."""

_NAMES = """
    const auto& table = model.particle_contacts;
    const int count = table.members.shape[0];
    const int* const members = table.members.data;
    T* const x = (T*)body.x.data;
    T* const previous = (T*)body.previous.data;
    const T* const w = (const T*)body.inv_mass.data;
    const T* const parameters = (const T*)body.parameters.data;
    // Lists of all groups together may have more than 2^31 numbers: 22,000 cloths of 32 x 32 on a large GPU do.
    const size_t rank = (size_t)group;
    T* const patches = (T*)lists.patches.data + rank * 4 * lists.patches.shape[1] * LANES;
    T* const anchors = (T*)lists.anchors.data + rank * 3 * count * LANES;
"""


# How two members part. Each lends an equal part of its mass to each of its contacts. `gained`: how far earlier passes
# have moved them apart.
_PART = """
    const auto part = [&](
        const Member& a, const Member& b, const Touch& t, V mine, V its, V gained, V& mx, V& my, V& mz) {
        const V none = V(T(0)), along = t.ux * t.nx + t.uy * t.ny + t.uz * t.nz;
        // Out of an overlap no faster than that: what is on its way out already gets no further push.
        const V soft = t.fastest - along, goal = t.overlap < soft ? t.overlap : soft;
        const V depth = t.inside > none ? FLOOR(goal, 0) : none;
        // Sheets get an impulse to stop them, and what else they overlap by leaves gradually: it does not press.
        const auto sheets = t.sheets > none;
        const V approach = FLOOR(-along, 0), impulse = (sheets & (approach < depth)) ? approach : depth;
        const V rest = depth - impulse, small = T(SOFTNESS) * (a.radius + b.radius) * SIZE;
        const V parting = impulse + rest * rest / FLOOR(rest + small, 1e-30);
        // What the passes before have overshot is taken back: contacts do not bounce.
        const V bounce = along < gained ? along : gained, over = FLOOR(-goal, 0);
        const V back = FLOOR(bounce < over ? bounce : over, 0);
#if !SURFACES
        mine = its = mine > its ? mine : its;
#endif
        const auto inverse = [&](V less) {
            const V shared = WEIGHT(a, mine) + WEIGHT(b, its);
            return shared > none ? T(1) / FLOOR(shared, 1e-30) : none;
        };
        const V tx = t.ux - along * t.nx, ty = t.uy - along * t.ny, tz = t.uz - along * t.nz;
        const V slip = SQRT(tx * tx + ty * ty + tz * tz);
        const V friction = T(0.5) * (a.friction + b.friction) * ROUGHNESS * impulse;
        const V plain = inverse(V(T(1))), stick = inverse(V(T(1.0 / FRICTION_RELAXATION)));
        const V slide = (SURFACES ? plain : stick) * friction / FLOOR(slip, 1e-30);
        const V push = inverse(V(T(1.0 / RELAXATION))) * parting - plain * back;
        const V drag = stick < slide ? stick : slide;
        mx = push * t.nx - drag * tx;
        my = push * t.ny - drag * ty;
        mz = push * t.nz - drag * tz;
    };
"""

# Where the first pass leads the members of rigid bodies.
_CARRY = f"""
    T* const bodies = (T*)rigid.bodies.data + rank * rigid.bodies.shape[1] * {COLUMNS} * LANES;
    const auto carry = [&](int b, auto&& displaced) {CARRIED};
    const auto carried = [&](int k, T px, T py, T pz, T* to) {{
        const T* const at = bodies + table.owner.data[k] * {COLUMNS} * LANES + lane_;
        const T* const gone = at + {GONE} * LANES;
        const T* const angle = at + {GONE + 3} * LANES;
        const T rx = px - at[0], ry = py - at[LANES], rz = pz - at[2 * LANES];
        to[0] = gone[0] + (angle[LANES] * rz - angle[2 * LANES] * ry);
        to[1] = gone[LANES] + (angle[2 * LANES] * rx - angle[0] * rz);
        to[2] = gone[2 * LANES] + (angle[0] * ry - angle[LANES] * rx);
    }};
"""


def sizes_code(options: SweepOptions) -> str:
    """Return the definitions of what may differ between environments: their sizes, and a factor of friction."""
    return _VARIED.format(int(SIZE), int(INV_SIZE), int(FRICTION)) if options.varied else _ALIKE


@functools.cache
def make_particle_contacts(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build the function that separates overlapping particles of one group, with Coulomb friction.

    For a pair at distance d below the sum r of its radii, ``C = d - r >= 0`` is projected without compliance, each
    particle taking its share of inverse mass. A particle with m contacts lends 1/m of its mass to each, so that the sum
    does not overshoot and momentum is kept (mass splitting: Tonge et al. 2012, doi:10.1145/2185520.2185601). Balls have
    many contacts: they take the smaller share of the two. Surfaces are parted twice, the pairs that touched: what a
    hand pulls at moves whole layers with it. The second time, pairs that fly apart give back what the first time has
    parted them by too much: without that heaps tremble. Patches of a surface have a gap of their own in place of d.
    Slip during the substep is held back up to ``friction`` times the depth: Macklin et al. 2014,
    doi:10.1145/2601097.2601152, eq. 24.
    An overlap that was there before leaves with ``separation_speed`` at most, that of patches that face each other with
    ``gentle_speed``. Between two surfaces it leaves the more slowly the smaller it is (:data:`SOFTNESS`), and does not
    count as pressure that makes friction.

    Patches that friction with a collider holds (``body.traction``) hardly give way: :data:`HELD`.

    A particle of a rigid body counts with the inverse mass of the body at that point, or rather a bound for all
    directions, which the contacts of the whole body share. What it is displaced by is an impulse of its own mass, which
    :mod:`pbd_gym.kernels.rigid.motion` passes on. The second pass looks at it where that impulse, and those of all
    others, have led its body: :mod:`pbd_gym.kernels.rigid.carried`.

    Args:
        wide: lane count and precision.
        options: what the kernel is compiled for. Where environments differ, radii grow with the size, and friction has
            a factor.
        data: the struct of the whole model.
    """
    scalar: Any = wide.scalar
    body_: Any = body_type(wide.vec)
    lists_: Any = lists_type(wide.vec)
    rigid_: Any = scratch_type(wide.vec)
    weight = "FLOOR((contacts) * less, 1) * m.w"
    if options.rigid:
        weight += " * m.leverage * FLOOR(m.crowd * less, 1)"
    carried = _CARRY if options.rigid and options.surfaces else ""
    rules = touch_code(options.surfaces, options.rigid) + _PART
    normals = normals_code() if options.surfaces else ""
    alone, together = (LONE_AGITATION, BLOCK_AGITATION) if options.surfaces else ("", "")
    text = f"""
#define SURFACES {int(options.surfaces)}
#define RIGID {int(options.rigid)}
#define PASSES {2 if options.surfaces else 1}
#define RELAXATION {RELAXATION}
#define FRICTION_RELAXATION {FRICTION_RELAXATION if options.surfaces else RELAXATION}
#define SOFTNESS {SOFTNESS}
#define WEIGHT_OF(w, traction) ((traction) > T(0) ? T({HELD}) * (w) : (w))
#define WEIGHT(m, contacts) {weight}
{sizes_code(options)}
    {{
        constexpr int ROW = {4 if options.packed else 3};
        {_NAMES}{KIN}
#if PBD_BLOCK
        {{
            int lane_ = 0;
            {SEARCH}{together}{rules}{normals}{carried}{IN_BLOCKS}
        }}
#else
        {LONE_NAMES}{alone}{normals}{put_code(wide)}{ROWS}
        {in_batches(wide, PAIRS + LIST + rules + carried + IN_PAIRS, CHUNK)}
#endif
    }}
{UNDEFINE}
#undef PASSES
#undef RELAXATION
#undef FRICTION_RELAXATION
#undef SOFTNESS
#undef WEIGHT
#undef WEIGHT_OF
"""

    @wp.func_native(with_lanes(wide, text))
    def separate(
        model: data, body: body_, lists: lists_, rigid: rigid_, inv_h: scalar, group: int, thread: int,
        thread_count: int,
    ) -> None: ...  # fmt: skip

    return separate
