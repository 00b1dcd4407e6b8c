"""How far apart two members are, and along which normal: C++ that :mod:`pbd_gym.kernels.particle_contacts` includes.

A particle of a rope or of a solid is a ball: two are apart by the distance of their middles, and touch at the sum of
their radii. A particle of a *surface*, such as cloth, stands for the patch around it. Where the surface is nearly flat
the patch is a disc as thick as the material, and the discs cover the surface whatever the distance of its particles.
Two discs whose middles differ by d, and by p at the start of the substep, are apart by

    s = n . d,    n = m / |m|,    m = (p . n_1) n_1 + (p . n_2) n_2.

n has the signs of p: what was on one side of a patch is kept there however fast it comes, so contact is swept along the
normal. On concentric cylinders s is exact to second order. Where the rim of a surface meets the middle of another, the
normal of the other alone counts, as between a vertex and a triangle. Discs touch where s is less than their common
thickness, and d no farther beside the normal than the wider of them reaches.

Where a surface is creased no normal is to be trusted. There a patch is a ball wide enough that nothing gets through
between two of them, and in between the reach changes gradually. So layers rest at one thickness wherever they lie
smoothly on each other, and keep a distance of the order of the particles' where they are crumpled.

Discs that come closer brake each other before they touch: within the *cushion* the gap shrinks by no more than a part
of itself in each substep. An impact then goes through several layers before one of them can be pushed through another.
"""

FATNESS = 0.95
"""Radius of the ball, in radii of its disc, in which a creased patch brakes others: 0.7 distances of particles on a
square grid."""
CREASE_REACH = 0.75
"""Where between the thickness and twice that radius two creased patches touch."""
CREASED, FLAT = 0.8, 0.95
"""A patch is a ball where the square of a chord across it, over that at rest, is below the first, and a disc above the
second."""
STEEP, PARALLEL = 0.5, 1.0
"""Likewise for the cosine of the angle between the normals of two patches."""

NORMALS = """
    for (int k = thread; k < count; k += thread_count) {
        const int* const ends = table.chords.data + 4 * k;
        if (ends[0] < 0) continue;  // a ball: its normal is zero
        EACH_LANE {
            const T* const a = previous + ROW * ends[0] * LANES;
            const T* const b = previous + ROW * ends[1] * LANES;
            const T* const c = previous + ROW * ends[2] * LANES;
            const T* const e = previous + ROW * ends[3] * LANES;
            const V ux = LOAD(a) - LOAD(b), vx = LOAD(c) - LOAD(e);
            const V uy = LOAD(a + LANES) - LOAD(b + LANES), vy = LOAD(c + LANES) - LOAD(e + LANES);
            const V uz = LOAD(a + 2 * LANES) - LOAD(b + 2 * LANES), vz = LOAD(c + 2 * LANES) - LOAD(e + 2 * LANES);
            const V wx = uy * vz - uz * vy, wy = uz * vx - ux * vz, wz = ux * vy - uy * vx;
            const V unit = T(1) / FLOOR(SQRT(wx * wx + wy * wy + wz * wz), 1e-12);
            const V first = (ux * ux + uy * uy + uz * uz) * table.chord_squares.data[2 * k];
            const V second = (vx * vx + vy * vy + vz * vz) * table.chord_squares.data[2 * k + 1];
            const V open = (first < second ? first : second) * INV_SIZES * INV_SIZES;
            const V flatness = (open - T(CREASE_LIMIT)) * T(1.0 / (FLAT_LIMIT - CREASE_LIMIT));
            T* const to = patches + 4 * k * LANES;
            STORE(to, wx * unit);
            STORE(to + LANES, wy * unit);
            STORE(to + 2 * LANES, wz * unit);
            STORE(to + 3 * LANES, flatness > T(1) ? V(T(1)) : FLOOR(flatness, 0));
        }
    }
    PBD_SYNC();
"""
"""Normals of patches at the start of the substep, and how flat they are, from 0 to 1."""

# Particles in the very same place part along y, the one with the higher number upwards.
_BALL = """
                const V px = LOAD(previous + (ROW * i) * LANES) - LOAD(previous + (ROW * j) * LANES);
                const V py = LOAD(previous + (ROW * i + 1) * LANES) - LOAD(previous + (ROW * j + 1) * LANES);
                const V pz = LOAD(previous + (ROW * i + 2) * LANES) - LOAD(previous + (ROW * j + 2) * LANES);
                const V length = SQRT(d2), over = T(1) / FLOOR(length, 1e-12);
                const V up = length > T(1e-12) ? dy * over : V(T(k > other ? 1 : -1));
"""

BALLS = {
    "PAIR": "const T reach = table.radius.data[k] + table.radius.data[other];",
    "GEOMETRY": _BALL
    + """
                const V nx = dx * over, ny = up, nz = dz * over, gap = length, wanted = V(reach);
                const auto inside = rest2 < V(reach * reach);
""",
    "SLOWEST": "slowest",
}
"""Texts for a pair of balls, by the word that they stand for: what is common to all lanes; ``gap``, the distance
``wanted``, the normal and whether the pair is ``inside`` its reach; and how fast an old overlap ends."""

SURFACES = {
    "PAIR": """
            const T reach = table.radius.data[k] + table.radius.data[other];
            // In the order of their numbers, so that both members come to the same bits.
            const int one = wp::min(k, other), two = wp::max(k, other);
            const bool one_ball = table.role.data[one] == BALL, two_ball = table.role.data[two] == BALL;
            // A rim that meets the middle of another surface has no say in the normal.
            const T one_counts = T(table.role.data[one] == RIM && table.role.data[two] == INNER ? 0 : 1);
            const T two_counts = T(table.role.data[two] == RIM && table.role.data[one] == INNER ? 0 : 1);
            const T width = wp::max(one_counts * table.extent.data[one], two_counts * table.extent.data[two]);
            const T fat = fat_reach(k, other), thick = reach + T(CREASE_REACH) * (fat - reach);
            const T* const first = patches + 4 * one * LANES;
            const T* const second = patches + 4 * two * LANES;
""",
    "GEOMETRY": _BALL
    + """
                const V ax = LOAD(first), ay = LOAD(first + LANES), az = LOAD(first + 2 * LANES);
                const V bx = LOAD(second), by = LOAD(second + LANES), bz = LOAD(second + 2 * LANES);
                const V from_one = one_counts * (px * ax + py * ay + pz * az);
                const V from_two = two_counts * (px * bx + py * by + pz * bz);
                const V sx = from_one * ax + from_two * bx, sy = from_one * ay + from_two * by;
                const V sz = from_one * az + from_two * bz;
                const V m = SQRT(sx * sx + sy * sy + sz * sz), unit = T(1) / FLOOR(m, 1e-12);
                const V cosine = ax * bx + ay * by + az * bz, even = cosine < V(T(0)) ? -cosine : cosine;
                const V parallel = FLOOR((even - T(STEEP_LIMIT)) * T(1.0 / (PARALLEL_LIMIT - STEEP_LIMIT)), 0);
                const V flatness = (one_ball ? V(T(1)) : LOAD(first + 3 * LANES))
                    * (two_ball ? V(T(1)) : LOAD(second + 3 * LANES)) * (one_ball || two_ball ? V(T(1)) : parallel);
                const auto facing = (m > T(1e-7)) & (flatness > T(0.05));
                const V nx = facing ? sx * unit : dx * over;
                const V ny = facing ? sy * unit : up;
                const V nz = facing ? sz * unit : dz * over;
                const V gap = dx * nx + dy * ny + dz * nz;
                const V beside = (d2 - gap * gap) * INV_SIZES * INV_SIZES;
                const V before = facing ? px * nx + py * ny + pz * nz : SQRT(px * px + py * py + pz * pz);
                const V start = before * INV_SIZES, creased = facing ? T(1) - flatness : V(T(1));
                const V least = reach + creased * (thick - reach);
                const V outer = least + table.cushion + creased * (fat - thick);
                const auto near_by = (start < outer) & (start > least);
                const V wanted = near_by ? start - braking * (start - least) : least;
                const auto inside = (gap * INV_SIZES < wanted) & (rest2 < V(range * range))
                    & ((facing ? beside : V(T(0))) <= V(width * width));
""",
    "SLOWEST": "(facing ? V(gentle) : V(slowest))",
}
"""The same where some members are patches of a surface."""

RANGES = """
#if SURFACES
    // Distance at which two creased patches touch, or a creased patch and a ball.
    const auto fat_reach = [&](int k, int other) {
        const T mine = wp::max(T(FATNESS) * table.extent.data[k], table.radius.data[k]);
        return mine + wp::max(T(FATNESS) * table.extent.data[other], table.radius.data[other]);
    };
    const T braking = wp::min(T(0.5), T(1) / (inv_h * table.braking_time));
#endif
    // Distance within which two members may touch.
    const auto range_of = [&](int k, int other) {
        const T reach = table.radius.data[k] + table.radius.data[other];
#if SURFACES
        const T wide = wp::max(table.extent.data[k], table.extent.data[other]);
        const T high = reach + (wide > T(0) ? table.cushion : T(0));
        return wp::max(fat_reach(k, other), T(sqrt(high * high + wide * wide)));
#else
        return reach;
#endif
    };
"""
"""Distances that follow from the numbers of two members alone."""

WORDS = {
    "FATNESS": str(FATNESS),
    "CREASE_REACH": str(CREASE_REACH),
    "CREASE_LIMIT": str(CREASED),
    "FLAT_LIMIT": str(FLAT),
    "STEEP_LIMIT": str(STEEP),
    "PARALLEL_LIMIT": str(PARALLEL),
}
"""Numbers in the texts, by the words that stand for them."""
