"""C++ on lanes: one text of arithmetic that is SIMD code for one thread and plain code for a block.

Plain Warp on vectors of lanes keeps to the vector unit for short chains of operations only. Longer ones are written as
C++ statements on numbers of type V: a vector of Clang's, or, in a block of threads, each of which serves one lane after
the other, a plain number (:mod:`pbd_gym.kernels.lanes.blocks`). The same text serves every lane count and both
precisions.
"""

from typing import Any

import warp as wp

from pbd_gym.kernels.lanes.blocks import BLOCKS
from pbd_gym.kernels.lanes.wide import Wide

NATIVE = {wp.float32: "float", wp.float64: "double"}
"""C++ name of a scalar type."""

_HEADER = """
PBD_CONTRACT_ON
#if PBD_BLOCK
using Index = int;
#else
// An index of the width of an address: with a narrower one every access works its address out anew.
using Index = long long;
#endif
using T = {scalar};
constexpr int LANES = {lanes};
#if PBD_BLOCK || {lanes} == 1
using V = T;
#define EACH_LANE for (int lane = 0; lane < LANES; ++lane)
#else
typedef T V __attribute__((ext_vector_type({lanes}), aligned(sizeof(T))));
#define EACH_LANE
#endif
using N = T;
"""

_SCALAR = """
#define SQRT(a) T(sqrt(a))
#define ANY(condition) (condition)
#define ALL(condition) (condition)
"""

_VECTOR = """
#define SQRT(a) __builtin_elementwise_sqrt(a)
#define ANY(condition) (__builtin_reduce_or(condition) != 0)
#define ALL(condition) (__builtin_reduce_and(condition) != 0)
"""

_MACROS = """
#define FLOOR(a, low) ((a) > T(low) ? (a) : V(T(low)))
#define NUMBER(name) table.name.data[c]
#define ENTRY(name, k) ((const T*)(table.name.data + c))[k]
#if PBD_BLOCK
#define LOAD(a) (a)[lane]
#define STORE(a, value) (a)[lane] = value
#elif LANES_COUNT == 1
#define LOAD(a) (*(a))
#define STORE(a, value) *(a) = value
#else
#define LOAD(a) *(const V*)(a)
#define STORE(a, value) *(V*)(a) = value
#endif
#define SHARED(a) LOAD(a)
#if PBD_BLOCK || LANES_COUNT == 1
SCALAR_MACROS
#else
VECTOR_MACROS
#endif
"""

_BATCH_MACROS = """
#define FLOOR(a, low) ((a) > T(low) ? (a) : V(T(low)))
#define NUMBER(name) (*(const V*)(table.name.data + c))
#define ENTRY(name, k) [](const T* from, int stride) { V r; for (int l = 0; l < BATCH; ++l) r[l] = from[l * stride]; \\
    return r; }((const T*)(table.name.data + c) + (k), sizeof(*table.name.data) / sizeof(T))
#define LOAD(a) (*(const V*)(a))
#define STORE(a, value) *(V*)(a) = value
#define SHARED(a) V(*(a))
#define EACH_LANE
"""

_ATAN2 = {
    # A vector of libm's, lane after lane.
    wp.float64: """
#if PBD_BLOCK || COUNT == 1
#define ATAN2(y, x) T(atan2(y, x))
#else
#define ATAN2(y, x) [](V a, V b) { V r; for (int k = 0; k < COUNT; ++k) r[k] = T(atan2(a[k], b[k])); return r; }(y, x)
#endif
""",
    # Of the smaller over the larger; beyond tan(pi/8) an eighth of a turn is taken off first. The polynomial is the
    # best one for the relative error (Remez), which is 0.012 units in the last place; rounding adds some two units.
    wp.float32: """
#define ATAN2(y, x) [](V a, V b) { \\
    const V none = V(T(0)), up = a < none ? -a : a, along = b < none ? -b : b; \\
    const V large = up > along ? up : along, small = up > along ? along : up; \\
    const V t0 = small / FLOOR(large, 1e-37); \\
    const V far = T(0.41421356237309503) - t0, turned = (small - large) / FLOOR(small + large, 1e-37); \\
    const V t = far < none ? turned : t0, z = t * t; \\
    const V p = T(-0.3333331518861375) + z * (T(0.19998471515581254) + z * (T(-0.14243533346902112) \\
        + z * (T(0.10593813746790418) + z * T(-0.06078221452020248)))); \\
    V r = t + t * (z * p); \\
    r = far < none ? r + T(0.7853981633974483) : r; \\
    r = up > along ? T(1.5707963267948966) - r : r; \\
    r = b < none ? T(3.141592653589793) - r : r; \\
    return a < none ? -r : r; }(y, x)
""",
}
"""Angle of the point (x, y); in float32 by arithmetic alone, so that it vectorises.

Single precision is within 4 units in the last place of the exact angle. (0, 0) has the angle 0, and a zero has no sign.
"""

_NO_MACROS = """
#undef FLOOR
#undef NUMBER
#undef ENTRY
#undef SQRT
#undef ATAN2
#undef ANY
#undef ALL
#undef LOAD
#undef STORE
#undef SHARED
"""


def precision(scalar: Any) -> str:
    """Return ``"float32"`` or ``"float64"`` for a Warp scalar type."""
    return "float64" if scalar is wp.float64 else "float32"


def _macros(wide: Wide) -> str:
    text = _MACROS.replace("SCALAR_MACROS", _SCALAR).replace("VECTOR_MACROS", _VECTOR) + _ATAN2[wide.scalar]
    return text.replace("LANES_COUNT", str(wide.lanes)).replace("COUNT", str(wide.lanes))


def with_lanes(wide: Wide, code: str) -> str:
    """Wrap C++ statements that use V, T, N, LANES and the macros below into a snippet for ``wp.func_native``.

    Between ``EACH_LANE {`` and ``}``, statements on V may use arithmetic, ``condition ? yes : no``, ``SQRT(a)``,
    ``ATAN2(y, x)``, ``FLOOR(a, low)``, ``ANY(condition)`` and ``ALL(condition)`` (in some lane, in all; in a block
    of threads, in this one), ``LOAD(numbers)`` and ``STORE(numbers, value)`` of an array with one number a lane. In a
    block the braces are the body of a loop over lanes.

    Constraint ``c`` reads its row of ``table.name`` by ``NUMBER(name)``, or ``ENTRY(name, k)`` where the row has
    several numbers, as type N: a T, but a V in :func:`in_batches`.
    """
    return (
        BLOCKS
        + _HEADER.format(scalar=NATIVE[wide.scalar], lanes=wide.lanes)
        + _macros(wide)
        + code
        + _NO_MACROS
        + ("#undef EACH_LANE\n")
    )


def in_batches(wide: Wide, code: str, size: int) -> str:
    """Wrap C++ statements on ``size`` constraints or pairs of one environment, to stand within :func:`with_lanes`.

    There a V holds one number for each of the constraints ``c ... c + size - 1``. ``LOAD`` and ``STORE`` are for
    arrays with one number per constraint, ``SHARED(number)`` for what all of them share.
    """
    batch = f"""
    typedef T V __attribute__((ext_vector_type({size}), aligned(sizeof(T))));
    using N = V;
    constexpr int BATCH = {size};
"""
    macros = _BATCH_MACROS + _VECTOR + _ATAN2[wide.scalar].replace("COUNT", str(size))
    undone = _NO_MACROS + "#undef EACH_LANE\n"
    lone = _macros(wide) + "#define EACH_LANE for (int lane = 0; lane < LANES; ++lane)\n"
    return f"{{{batch}{undone}{macros}{code}{undone}{lone}}}\n"


def lanes_code(wide: Wide, code: str) -> str:
    """Wrap C++ statements as :func:`with_lanes` does, all of them on lanes."""
    return with_lanes(wide, f"EACH_LANE {{\n{code}\n}}")
