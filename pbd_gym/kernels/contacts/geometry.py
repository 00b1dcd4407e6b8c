"""How far apart two members are, and along which normal: C++ that :mod:`pbd_gym.kernels.contacts.particles` includes.

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
between two of them, and n is the direction of p. In between, the reach and n change gradually: a patch that jumped from
one to the other would be kicked each time, and a crease would tremble. So layers rest at one thickness wherever they
lie smoothly on each other, and keep a distance of the order of the particles' where they are crumpled.

Discs that come closer brake each other before they touch: within the *cushion* the gap shrinks by no more than a part
of itself in each substep. An impact then goes through several layers before one of them can be pushed through another.
"""

import re

import numpy as np

from pbd_gym.kernels.data.particle_contacts import BALL, INNER, RIM

FATNESS, FINE_FATNESS = 0.95, 1.25
"""Radius of the ball in which a creased patch brakes others, in radii of its disc: of coarse patches, where that is 0.7
distances of particles on a square grid, and of fine ones. Hardly anything gets through the fatter ones; coarse creases
made of these would spring open."""
FATTER = 2.2, 0.67
"""What leads from the one to the other as patches get coarser: the radius is the sum of so many halves of the thickness
and so many radii of the disc."""
CREASE_REACH, COARSE_REACH = (0.57, 0.7), 0.57
"""Where between the thickness and twice that radius two creased patches touch: fine ones in cloth at rest and in cloth
that moves, and coarse ones. Beyond the first the threads of a fine crease are stretched, it crawls, and coarse creases
spring open; below the second more gets through."""
FINER = 2.15, 0.12
"""What leads from the one to the other as patches get coarser: a number of thicknesses and a share of that way, both on
top of the thickness."""
SINK = 0.02
"""What layers sink into each other under their weight, in thicknesses: patches touch as much sooner."""
CREASED, FLAT = 0.8, 0.95
"""A patch is a ball where the square of a chord across it, over that at rest, is below the first, and a disc above the
second."""
STEEP, PARALLEL = 0.5, 1.0
"""Likewise for the cosine of the angle between the normals of two patches."""

_NORMALS = """
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
            const V flatness = (open - T(CREASED)) * T(1.0 / (FLAT - CREASED));
            T* const to = patches + 4 * k * LANES;
            STORE(to, wx * unit);
            STORE(to + LANES, wy * unit);
            STORE(to + 2 * LANES, wz * unit);
            STORE(to + 3 * LANES, flatness > T(1) ? V(T(1)) : FLOOR(flatness, 0));
        }
    }
"""

_TOUCH = """
    // What is known of a member, for one pair or, on one thread, for sixteen.
    struct Member { V LIGHTNESS x, y, z, w, px, py, pz, flat, nx, ny, nz, radius, extent, friction, role; };
    struct Touch { V inside, nx, ny, nz, overlap, fastest, sheets, ux, uy, uz; };
    // Two members, the one with the lower number first: whether they touch, and how to part them.
    const auto touch = [&](const Member& a, const Member& b) {
        Touch t;
        const V dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
        const V px = a.px - b.px, py = a.py - b.py, pz = a.pz - b.pz;
        const V d2 = dx * dx + dy * dy + dz * dz, rest2 = d2 * (INV_SIZE * INV_SIZE);
        const V length = SQRT(d2), over = T(1) / FLOOR(length, 1e-12), reach = a.radius + b.radius;
        // Members in the very same place part along y, the one with the higher number upwards.
        const V up = length > T(1e-12) ? dy * over : V(T(-1));
        // What the pair has moved against each other in this substep.
        t.ux = dx - px;
        t.uy = dy - py;
        t.uz = dz - pz;
        GEOMETRY
        return t;
    };
"""

_BALLS = """
        t.nx = dx * over;
        t.ny = up;
        t.nz = dz * over;
        t.overlap = reach * SIZE - length;
        t.fastest = V(fastest);
        t.sheets = V(T(0));
        t.inside = rest2 < reach * reach ? V(T(1)) : V(T(0));
"""

_SURFACES = """
        const V none = V(T(0)), all = V(T(1));
        // A rim that meets the middle of another surface has no say in the normal.
        const V a_counts = ((a.role == T(RIM)) & (b.role == T(INNER))) ? none : all;
        const V b_counts = ((b.role == T(RIM)) & (a.role == T(INNER))) ? none : all;
        const V from_a = a_counts * (px * a.nx + py * a.ny + pz * a.nz);
        const V from_b = b_counts * (px * b.nx + py * b.ny + pz * b.nz);
        const V sx = from_a * a.nx + from_b * b.nx, sy = from_a * a.ny + from_b * b.ny;
        const V sz = from_a * a.nz + from_b * b.nz;
        const V m = SQRT(sx * sx + sy * sy + sz * sz), unit = T(1) / FLOOR(m, 1e-12);
        const V cosine = a.nx * b.nx + a.ny * b.ny + a.nz * b.nz, even = cosine < none ? -cosine : cosine;
        const V parallel = FLOOR((even - T(STEEP)) * T(1.0 / (PARALLEL - STEEP)), 0);
        const auto a_ball = a.role == T(BALL), b_ball = b.role == T(BALL);
        const V flatness = (a_ball ? all : a.flat) * (b_ball ? all : b.flat) * ((a_ball | b_ball) ? all : parallel);
        // Which way they part: along the normals if they are flat, along the line between them if they are creased, and
        // gradually so in between. Both ways have the side on which they were at the start of the substep.
        const V flatly = m > T(1e-7) ? flatness : none, apart = SQRT(px * px + py * py + pz * pz);
        const V smooth = flatly * unit, round = (all - flatly) / FLOOR(apart, 1e-12);
        const V bx = smooth * sx + round * px, by = smooth * sy + round * py, bz = smooth * sz + round * pz;
        const V norm = T(1) / FLOOR(SQRT(bx * bx + by * by + bz * bz), 1e-12);
        const auto flat = flatly > T(0);
        t.nx = flat ? bx * norm : dx * over;
        t.ny = flat ? by * norm : up;
        t.nz = flat ? bz * norm : dz * over;
        const V gap = flat ? dx * t.nx + dy * t.ny + dz * t.nz : length;
        const V beside = flat ? (d2 - gap * gap) * (INV_SIZE * INV_SIZE) : none;
        const V before = flat ? px * t.nx + py * t.ny + pz * t.nz : apart;
        const V start = before * INV_SIZE, creased = all - flatly;
        // Where creased patches brake each other, and where they touch.
        const auto ball = [](const Member& m) {
            const V fine = T(FINE_FATNESS) * m.extent, coarse = T(FATNESS) * m.extent;
            const V between = T(FATTER_START) * m.radius + T(FATTER_SLOPE) * m.extent;
            const V most = fine < between ? fine : between, fat = most > coarse ? most : coarse;
            return fat > m.radius ? fat : m.radius;
        };
        const V fat = ball(a) + ball(b);
        const V room = fat - reach, coarse = T(COARSE_REACH) * room;
        const V fine = (T(CREASE_CALM) + T(CREASE_MORE) * V(agitation[lane_])) * room;
        const V finer = T(FINER_START) * reach + T(FINER_SLOPE) * room, looser = finer > coarse ? finer : coarse;
        const V thick = reach + (fine < looser ? fine : looser);
        const V sooner = (a_ball | b_ball) ? all : V(T(1.0 + SINK));
        const V least = sooner * reach + creased * (thick - reach);
        const V outer = least + table.cushion + creased * (fat - thick);
        const V wanted = ((start < outer) & (start > least)) ? start - braking * (start - least) : least;
        const V a_width = a_counts * a.extent, b_width = b_counts * b.extent;
        const V width = a_width > b_width ? a_width : b_width, wider = a.extent > b.extent ? a.extent : b.extent;
        const V high = reach + (wider > none ? V(table.cushion) : none), across = high * high + wider * wider;
        const V range2 = fat * fat > across ? fat * fat : across;
        t.overlap = wanted * SIZE - gap;
        t.sheets = (a_ball | b_ball) ? none : all;
        t.fastest = gentle + creased * (fastest - gentle);
        t.inside = ((gap * INV_SIZE < wanted) & (rest2 < range2) & (beside <= width * width)) ? all : none;
"""

_SPEEDS = """
    const T fastest = table.separation_speed / inv_h, gentle = table.gentle_speed / inv_h;
    const T braking = wp::min(T(0.5), T(1) / (inv_h * table.braking_time));
"""

_NUMBERS = {
    "FATNESS": FATNESS,
    "FINE_FATNESS": FINE_FATNESS,
    "FATTER_START": FATTER[0],
    "FATTER_SLOPE": FATTER[1],
    "CREASE_CALM": CREASE_REACH[0],
    "CREASE_MORE": CREASE_REACH[1] - CREASE_REACH[0],
    "COARSE_REACH": COARSE_REACH,
    "FINER_START": FINER[0],
    "FINER_SLOPE": FINER[1],
    "SINK": SINK,
    "CREASED": CREASED,
    "FLAT": FLAT,
    "STEEP": STEEP,
    "PARALLEL": PARALLEL,
    "INNER": INNER,
    "RIM": RIM,
    "BALL": BALL,
}


def ball_radius(radius: np.ndarray, extent: np.ndarray) -> np.ndarray:
    """Return the radius in which a creased patch brakes others [m], shape (k,); that of a ball is its own.

    Args:
        radius: half of the thickness of a disc, or the radius of a ball [m], shape (k,).
        extent: radius of the disc [m], 0 for a ball, shape (k,).
    """
    fine = np.minimum(FINE_FATNESS * extent, FATTER[0] * radius + FATTER[1] * extent)
    return np.maximum(radius, np.maximum(fine, FATNESS * extent))


def _with_numbers(text: str) -> str:
    return re.sub(r"\b[A-Z_]+\b", lambda match: str(_NUMBERS.get(match[0], match[0])), text)


def normals_code() -> str:
    """Return the statements that store the normals of patches at the start of the substep, and how flat they are."""
    return _with_numbers(_NORMALS)


def touch_code(surfaces: bool, rigid: bool = False) -> str:
    """Return the statements that define ``Member``, ``Touch`` and ``touch`` on numbers of type V.

    They read ``SIZE`` and ``INV_SIZE`` of the environment, ``inv_h``, and for surfaces ``agitation``.

    Args:
        surfaces: whether some members are patches of a surface.
        rigid: whether some belong to rigid bodies: members then have a ``leverage``, the inverse mass of their
            body there over their own, and a ``crowd``, the contacts that share it.
    """
    text = _TOUCH.replace("GEOMETRY", _SURFACES if surfaces else _BALLS)
    text = text.replace("LIGHTNESS", "leverage, crowd," if rigid else "")
    return _SPEEDS + _with_numbers(text)
