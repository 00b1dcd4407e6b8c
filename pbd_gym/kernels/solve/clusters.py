"""The sweep over clusters: constraints that pull any number of particles towards a common, moved rest shape.

Each particle of a cluster has a goal ``g = c + R (q - o)``, with c its centre of mass now, o that of its rest positions
q, and R the rotation that fits best: of all rigid motions, the one with the least ``sum m |x - g|^2``, m being mass.

As a constraint of XPBD that is ``C = sqrt(sum m |x - g|^2)`` [sqrt(kg) m] with the energy ``C^2 / (2 compliance)``. For
the best motion is a minimum, its own change drops out of the gradient, which is ``m (x - g) / C``. For a cluster alone
``sum w |grad|^2 = 1`` and the step is ``x += (g - x) / (1 + compliance / h^2)``: the classical shape matching with its
factor ``alpha = 1 / (1 + compliance / h^2)``. It is moreover the exact step of implicit Euler, for it leaves both c and
R as they are.

A particle that belongs to n clusters lends each of them 1/n of its mass: a body is then as stiff as its compliance
says, however much its clusters overlap. A Jacobi iteration lets each cluster move its own share of the mass and takes
the mean, which is the region-based scheme; Gauss-Seidel moves the whole particles in turn.

Sums of ``m (x - g)`` and of ``m x cross (x - g)`` vanish over a cluster, so that it changes no momentum.

Mueller, Heidelberger, Teschner, Gross 2005, Meshless deformations based on shape matching, doi:10.1145/1073204.1073216;
Rivers, James 2007, FastLSM, doi:10.1145/1276377.1276480; Macklin et al. 2016, doi:10.1145/2994258.2994272.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from pbd_gym.formulas import emit
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.lanes.rotation import rotation_code
from pbd_gym.kernels.lanes.snippets import precision
from pbd_gym.kernels.solve.projection import Inputs, relaxation, solve

PINNED_FACTOR = 1e5
"""How many times its mass a pinned or held particle weighs in the fit: the goals go through it."""

_SQUARINGS = {wp.float32: 14, wp.float64: 18}
"""Of the rotation; more than a tetrahedron needs, because the cluster of a long rod has two small singular values."""

_NAMES = """
#define DAMPED {damped}
#define JACOBI {jacobi}
#define LOAD(a) it.load(a)
#define STORE(a, value) it.store(a, value)
#define SQRT(a) pbd::root(a)
#define PLACE(a, axis) it.place(a, axis)
#define ADD_PULL(a, px, py, pz, weight) it.add_pull(a, px, py, pz, weight);
using A = decltype(it);
constexpr int LANES = A::LANES, ROW = A::ROW;
const int c = it.c;
const int* const indices = it.arrays.indices;
T* const x = it.arrays.x;
const T* const w = it.arrays.w;
const T* const previous = it.arrays.previous;
"""
_NO_NAMES = """
#undef DAMPED
#undef JACOBI
#undef LOAD
#undef STORE
#undef SQRT
#undef PLACE
#undef ADD_PULL
"""

_MEASURE = """
#define MEMBER \\
    const int a = indices[j]; \\
    const V inv_mass = LOAD(w + a * LANES), one = V(T(1)); \\
    const V m = table.mass.data[j] * (inv_mass > T(0) ? one : V(T(PINNED_FACTOR))); \\
    const T* const place = x + ROW * a * LANES; \\
    const V px = LOAD(place), py = LOAD(place + LANES), pz = LOAD(place + 2 * LANES);
// From the rest position relative to its centre, u, to the deviation from the goal.
#define DEVIATION \\
    const V ux = rest[3 * j] - ox, uy = rest[3 * j + 1] - oy, uz = rest[3 * j + 2] - oz; \\
    const V dx = px - cx - size * (r00 * ux + r01 * uy + r02 * uz); \\
    const V dy = py - cy - size * (r10 * ux + r11 * uy + r12 * uz); \\
    const V dz = pz - cz - size * (r20 * ux + r21 * uy + r22 * uz);
    const T* const rest = (const T*)table.rest.data;
    const int first = table.offsets.data[c], last = table.offsets.data[c + 1];
    V mass = V(T(0)), cx = mass, cy = mass, cz = mass, ox = mass, oy = mass, oz = mass;
    for (int j = first; j < last; ++j) {
        MEMBER
        mass += m;
        cx += m * px; cy += m * py; cz += m * pz;
        ox += m * rest[3 * j]; oy += m * rest[3 * j + 1]; oz += m * rest[3 * j + 2];
    }
    const V inverse = T(1) / mass;
    cx *= inverse; cy *= inverse; cz *= inverse;
    ox *= inverse; oy *= inverse; oz *= inverse;
    // The rotation maximises the sum of m (x - c) . R u, that is R : A.
    V a00 = V(T(0)), a01 = a00, a02 = a00, a10 = a00, a11 = a00, a12 = a00, a20 = a00, a21 = a00, a22 = a00;
    for (int j = first; j < last; ++j) {
        MEMBER
        const V ux = rest[3 * j] - ox, uy = rest[3 * j + 1] - oy, uz = rest[3 * j + 2] - oz;
        const V mx = m * (px - cx), my = m * (py - cy), mz = m * (pz - cz);
        a00 += mx * ux; a01 += mx * uy; a02 += mx * uz;
        a10 += my * ux; a11 += my * uy; a12 += my * uz;
        a20 += mz * ux; a21 += mz * uy; a22 += mz * uz;
    }
TRANSFORMATION
    // Sums of m |d|^2, of w |q|^2 with q = m d, and of q . (x - previous). A pinned particle counts as if it could
    // move: otherwise pins in places that do not fit together would make the step of the others arbitrarily long.
    V squares = V(T(0)), reached = squares, advanced = squares;
    for (int j = first; j < last; ++j) {
        MEMBER
        DEVIATION
        const V square = m * (dx * dx + dy * dy + dz * dz);
        squares += square;
        reached += table.part.data[j] * square;
#if DAMPED
        const T* const before = previous + ROW * a * LANES;
        advanced += m * (
            dx * (px - LOAD(before)) + dy * (py - LOAD(before + LANES)) + dz * (pz - LOAD(before + 2 * LANES)));
#endif
    }
#if JACOBI
    reached = squares;  // each cluster has its share of the mass for itself
#endif
    const V value = SQRT(squares);
"""

_SCATTER = """
    for (int j = first; j < last; ++j) {
        MEMBER
        DEVIATION
#if FORCES
        ADD_PULL(a, dx * (m * s), dy * (m * s), dz * (m * s), inv_mass)
#endif
        const V move = s * (inv_mass > T(0) ? V(table.part.data[j]) : V(T(0)));
#if JACOBI
        STORE(PLACE(a, 0), LOAD(PLACE(a, 0)) + dx * move);
        STORE(PLACE(a, 1), LOAD(PLACE(a, 1)) + dy * move);
        STORE(PLACE(a, 2), LOAD(PLACE(a, 2)) + dz * move);
#else
        STORE(PLACE(a, 0), px + dx * move);
        STORE(PLACE(a, 1), py + dy * move);
        STORE(PLACE(a, 2), pz + dz * move);
#endif
    }
#undef MEMBER
#undef DEVIATION
"""


def cluster_text(options: SweepOptions, scalar: Any) -> str:
    """Return C++ statements that pull cluster ``c`` towards its goals.

    Args:
        options: what to compile for.
        scalar: ``wp.float32`` or ``wp.float64``.
    """
    measure = _MEASURE.replace("PINNED_FACTOR", f"{PINNED_FACTOR}")
    measure = measure.replace("TRANSFORMATION", rotation_code(scalar, _SQUARINGS[scalar]))
    scatter = _SCATTER.replace("FORCES", str(int(options.grip_forces)))
    inputs = Inputs(options)
    value, weight, advanced = (inputs.graph.symbol(name) for name in ("value", "reached", "advanced"))
    s = solve(inputs, value, value, weight, advanced if options.damped else None, inputs.alpha)
    if options.jacobi:
        s = s * relaxation(inputs)
    outputs = [("const V s = {};", [s])]
    if options.keep_lambda:
        outputs.append(("it.set_multiplier({});", [inputs.old + s * value]))
    names = _NAMES.format(damped=int(options.damped), jacobi=int(options.jacobi))
    return names + measure + emit(outputs, precision(scalar)) + scatter + _NO_NAMES
