"""Contacts between particles: cloth on itself, rope on itself, body against body.

Particles are balls, or patches of a surface: :mod:`pbd_gym.kernels.contact_geometry`.

Candidates come from a grid of *anchors*, points within half a *skin* of their particles, one grid for each environment.
Lists are shared by the environments of a group: each particle has one sorted list of all whose anchors are near its own
in some lane. An anchor stays until its particle has moved by half a skin, so that whatever touches is on the list. A
particle with more candidates than a list has room for has no list, and is compared with all others until it has fewer.
A pair is corrected in those lanes alone in which it touches, in the order of particle numbers. So results depend
neither on when the last search was, nor on the room in the lists, nor on the other lanes. Anchors are in the sizes of
the scene: an environment of another size is scaled to them.

Each particle then gathers its own corrections, from positions that nobody changes meanwhile: no atomics, and no
dependence on the order of threads.
"""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.contact_geometry import BALLS, NORMALS, RANGES, SURFACES, WORDS
from pbd_gym.kernels.lanes import with_lanes
from pbd_gym.kernels.options import SweepOptions
from pbd_gym.kernels.parameter_columns import FRICTION, INV_SIZE, SIZE
from pbd_gym.kernels.particle_contact_data import BALL, INNER, RIM, lists_type
from pbd_gym.kernels.particle_search import SEARCH_CODE
from pbd_gym.kernels.sweep import body_type
from pbd_gym.kernels.wide import Wide

RELAXATION = 1.7
"""Over-relaxation of particles with several contacts. Averaging is safe up to 2, and slow at 1: what falls into a heap
then comes closer than it should before it is stopped."""


# A pair is in the list of its first member on one thread, and in both lists on a block.
_TOOLS = """
#if PBD_BLOCK
#define FIRST_OTHER 0
#else
#define FIRST_OTHER k + 1
#endif
"""

_ALIKE = """
#define SIZES T(1)
#define INV_SIZES T(1)
#define INV_SIZE T(1)
#define ROUGHNESS T(1)
"""

_VARIED = """
#define SIZES LOAD(parameters + {0} * LANES)
#define INV_SIZES LOAD(parameters + {1} * LANES)
#define INV_SIZE parameters[{1} * LANES + lane_]
#define ROUGHNESS LOAD(parameters + {2} * LANES)
"""

_CLEAR = """
#undef FIRST_OTHER
#undef RIM
#undef INNER
#undef BALL
#undef SURFACES
#undef SIZES
#undef INV_SIZES
#undef INV_SIZE
#undef ROUGHNESS
"""

_COUNT = """
    for (int k = thread; k < count; k += thread_count) {
        EACH_LANE { STORE(valence + LANES * k, V(T(0))); }
    }
    for (int k = thread; k < count; k += thread_count) {
        const int i = members[k];
        int* const list = near + k * table.capacity;
        int* const found = touching + k * table.capacity;
        const bool listed = lengths[k] >= 0;  // else there are too many candidates: it is compared with all
        const int end = listed ? lengths[k] : count;
        int length = 0, kept = 0;
        for (int n = listed ? 0 : FIRST_OTHER; n < end; ++n) {
            const int other = listed ? list[n] : n, j = members[other];
            if (!listed && (other == k || !strangers(k, other))) continue;
            const T range = range_of(k, other), far = range + T(2) * table.skin;
            PAIR
            bool any = false, close = false;
            EACH_LANE {
                const V dx = LOAD(x + (ROW * i) * LANES) - LOAD(x + (ROW * j) * LANES);
                const V dy = LOAD(x + (ROW * i + 1) * LANES) - LOAD(x + (ROW * j + 1) * LANES);
                const V dz = LOAD(x + (ROW * i + 2) * LANES) - LOAD(x + (ROW * j + 2) * LANES);
                const V d2 = dx * dx + dy * dy + dz * dz, rest2 = d2 * INV_SIZES * INV_SIZES;
                close = close || ANY(rest2 < V(far * far));
                if (ANY(rest2 < V(range * range))) {
                    GEOMETRY
                    if (ANY(inside)) {
                        any = true;
                        const V one = inside ? V(T(1)) : V(T(0));
                        STORE(valence + LANES * k, LOAD(valence + LANES * k) + one);
#if !PBD_BLOCK
                        STORE(valence + LANES * other, LOAD(valence + LANES * other) + one);
#endif
                    }
                }
            }
            if (any && length++ < table.capacity) found[length - 1] = other;
            // Anchors are within half a skin of their members: beyond this distance the pair is no candidate.
            if (close && kept++ < table.capacity) list[kept - 1] = other;
        }
        lengths[k] = kept <= table.capacity ? kept : -1;
        touching_lengths[k] = length <= table.capacity ? length : -1;
    }
    PBD_SYNC();
"""

# A pair gives both of its particles the same correction, one of them with the opposite sign, to the bit. In a
# block the thread of a particle adds up its own corrections. A thread that is alone works each pair out once, for both:
# as lists are sorted, sums are added up in the same order.
_CORRECT = """
    const T slowest = table.separation_speed / inv_h, gentle = table.gentle_speed / inv_h;
    for (int k = thread; k < count; k += thread_count) {
        if (touching_lengths[k] == 0) continue;
        const int i = members[k];
        const int* const found = touching + k * table.capacity;
        const bool listed = touching_lengths[k] >= 0;
        const int end = listed ? touching_lengths[k] : count;
        for (int n = listed ? 0 : FIRST_OTHER; n < end; ++n) {
            const int other = listed ? found[n] : n, j = members[other];
            if (!listed && (other == k || !strangers(k, other))) continue;
            const T range = range_of(k, other);
            PAIR
            const T mu = T(0.5) * (table.friction.data[k] + table.friction.data[other]);
            EACH_LANE {
                const V xi = LOAD(x + (ROW * i) * LANES), xj = LOAD(x + (ROW * j) * LANES);
                const V yi = LOAD(x + (ROW * i + 1) * LANES), yj = LOAD(x + (ROW * j + 1) * LANES);
                const V zi = LOAD(x + (ROW * i + 2) * LANES), zj = LOAD(x + (ROW * j + 2) * LANES);
                const V wi = LOAD(w + i * LANES), wj = LOAD(w + j * LANES);
                const V dx = xi - xj, dy = yi - yj, dz = zi - zj;
                const V d2 = dx * dx + dy * dy + dz * dz;
                // The pair may be here because of other lanes: this is what counts as touching above.
                const V rest2 = d2 * INV_SIZES * INV_SIZES, none = V(T(0));
                if (!ANY(rest2 < V(range * range))) continue;
                GEOMETRY
                if (!ANY(inside)) continue;
                // What the pair has moved against each other in this substep.
                const V ux = dx - px, uy = dy - py, uz = dz - pz;
                const V along = ux * nx + uy * ny + uz * nz;
                const V overlap = wanted * SIZES - gap;
                const V soft = FLOOR(-along, 0) + SLOWEST;
                V depth = overlap < soft ? overlap : soft;
                depth = overlap > T(0) ? depth : none;
                depth = inside ? depth : none;
                // Each lends an equal part of itself to its contacts.
                const V mine = LOAD(valence + LANES * k), its = LOAD(valence + LANES * other);
                const V most = mine > its ? mine : its;
                const V shared = FLOOR(most * T(1.0 / RELAXATION), 1) * (wi + wj);
                const V inverse = shared > T(0) ? T(1) / FLOOR(shared, 1e-30) : none;
                const V tx = ux - along * nx, ty = uy - along * ny, tz = uz - along * nz;
                const V slip = SQRT(tx * tx + ty * ty + tz * tz);
                const V friction = mu * ROUGHNESS * depth;
                const V taken = friction / FLOOR((slip > friction ? slip : friction), 1e-30);
                const V mx = inverse * (depth * nx - taken * tx);
                const V my = inverse * (depth * ny - taken * ty);
                const V mz = inverse * (depth * nz - taken * tz);
                T* const move = delta + 3 * i * LANES;
                STORE(move, LOAD(move) + wi * mx);
                STORE(move + LANES, LOAD(move + LANES) + wi * my);
                STORE(move + 2 * LANES, LOAD(move + 2 * LANES) + wi * mz);
#if !PBD_BLOCK
                T* const its_move = delta + 3 * j * LANES;
                STORE(its_move, LOAD(its_move) - wj * mx);
                STORE(its_move + LANES, LOAD(its_move + LANES) - wj * my);
                STORE(its_move + 2 * LANES, LOAD(its_move + 2 * LANES) - wj * mz);
#endif
            }
        }
    }
    PBD_SYNC();
    for (int k = thread; k < count; k += thread_count) {
        const int i = members[k];
        EACH_LANE {
            const V contacts = LOAD(valence + LANES * k);
            if (!ANY(contacts > T(0))) continue;
            for (int a = 0; a < 3; ++a) {
                const V old = LOAD(x + (ROW * i + a) * LANES), moved = old + LOAD(delta + (3 * i + a) * LANES);
                STORE(x + (ROW * i + a) * LANES, contacts > T(0) ? moved : old);  // -0 stays -0 without a contact
                STORE(delta + (3 * i + a) * LANES, V(T(0)));
            }
            if (ANY(contacts > T(table.capacity))) report_crowd(k);
        }
    }
    PBD_SYNC();
"""

_NAMES = """
    const auto& table = model.particle_contacts;
    const int count = table.members.shape[0];
    const int* const members = table.members.data;
    T* const x = (T*)body.x.data;
    T* const delta = (T*)body.delta.data;
    const T* const previous = (const T*)body.previous.data;
    const T* const w = (const T*)body.inv_mass.data;
    const T* const parameters = (const T*)body.parameters.data;
    // Lists of all groups together may have more than 2^31 numbers: 22,000 cloths of 32 x 32 on a large GPU do.
    const size_t rank = (size_t)group, first_list = rank * count * table.capacity;
    int* const near = lists.near.data + first_list;
    int* const touching = lists.touching.data + first_list;
    int* const lengths = lists.counts.data + rank * 2 * count;
    int* const touching_lengths = lengths + count;
    T* const valence = (T*)lists.valence.data + rank * count * LANES;
    T* const patches = (T*)lists.patches.data + rank * 4 * lists.patches.shape[1] * LANES;
    T* const anchors = (T*)lists.anchors.data + rank * 3 * count * LANES;
    const auto report_crowd = [&](int k) {
        for (int n = 0; n < LANES; ++n)
            PBD_ATOMIC_MAX(lists.overflow.data[group * LANES + n], (int)valence[LANES * k + n] - table.capacity);
    };
"""


@functools.cache
def make_particle_contacts(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build the function that separates overlapping particles of one group, with Coulomb friction.

    For a pair at distance d below the sum r of its radii, ``C = d - r >= 0`` is projected without compliance, each
    particle taking its share of inverse mass. A particle with m contacts takes 1/m of each correction, or its partner's
    share if that is smaller, so that the sum does not overshoot and momentum is kept (mass splitting: Tonge et al.
    2012, doi:10.1145/2185520.2185601). Patches of a surface have a gap of their own in place of d. Slip during the
    substep is held back up to ``friction`` times the depth: Macklin et al. 2014, doi:10.1145/2601097.2601152, eq. 24.
    An overlap that was there before leaves with ``separation_speed`` at most, patches with ``gentle_speed``.

    The cell grid is that of Teschner et al. 2003 with a modulus in place of a hash: cells that fall on each other are
    far apart, and a distance tells.

    Args:
        wide: lane count and precision.
        options: what the kernel is compiled for. Where environments differ, radii grow with the size, and friction has
            a factor.
        data: the struct of the whole model.
    """
    sizes = _VARIED.format(int(SIZE), int(INV_SIZE), int(FRICTION)) if options.varied else _ALIKE
    scalar, body_, lists_ = wide.scalar, body_type(wide.vec), lists_type(wide.vec)
    roles = f"#define RIM {RIM}\n#define INNER {INNER}\n#define BALL {BALL}\n"
    head = f"constexpr int ROW = {4 if options.packed else 3};\n#define SURFACES {int(options.surfaces)}\n"
    normals, pair = (NORMALS, SURFACES) if options.surfaces else ("", BALLS)
    text = _NAMES + RANGES + SEARCH_CODE + normals + _COUNT + _CORRECT
    for word, code in (*pair.items(), *WORDS.items(), ("RELAXATION", str(RELAXATION))):
        text = text.replace(word, code)
    text = head + roles + _TOOLS + sizes + "{" + text + "}\n" + _CLEAR

    @wp.func_native(with_lanes(wide, text))
    def separate(
        model: data, body: body_, lists: lists_, inv_h: scalar, group: int, thread: int, thread_count: int
    ): ...

    return separate
