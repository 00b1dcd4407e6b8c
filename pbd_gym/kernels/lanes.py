"""C++ on lanes: one text of arithmetic that is SIMD code on a CPU and plain code on CUDA.

Plain Warp on vectors of lanes keeps to the vector unit for short chains of operations only. Longer ones are written as
C++ statements on numbers of type V: a vector of Clang's on a CPU, and on CUDA, where a thread serves one lane after the
other, a plain number. The same text serves every lane count and both precisions.
"""

import warp as wp

from pbd_gym.kernels.wide import Wide

NATIVE = {wp.float32: "float", wp.float64: "double"}
"""C++ name of a scalar type."""

_HEADER = """
using T = {scalar};
constexpr int LANES = {lanes};
#define FLOOR(a, low) ((a) > T(low) ? (a) : V(T(low)))
#if defined(__CUDA_ARCH__) || {lanes} == 1
using V = T;
#define SQRT(a) T(sqrt(a))
#define ATAN2(a, b) T(atan2(a, b))
#define LOAD(a) (a)[lane]
#define STORE(a, value) (a)[lane] = value
#define ANY(condition) (condition)
#define EACH_LANE for (int lane = 0; lane < LANES; ++lane)
#else
typedef T V __attribute__((ext_vector_type({lanes}), aligned(sizeof(T))));
#define SQRT(a) __builtin_elementwise_sqrt(a)
#define ATAN2(a, b) [](V y, V x) {{ V r; for (int k = 0; k < LANES; ++k) r[k] = T(atan2(y[k], x[k])); return r; }}(a, b)
#define LOAD(a) *(const V*)(a)
#define STORE(a, value) *(V*)(a) = value
#define ANY(condition) (__builtin_reduce_or(condition) != 0)
#define EACH_LANE
#endif
"""

_FOOTER = """
#undef FLOOR
#undef SQRT
#undef ATAN2
#undef ANY
#undef LOAD
#undef STORE
#undef EACH_LANE
"""


def with_lanes(wide: Wide, code: str) -> str:
    """Wrap C++ statements that use V, T, LANES and the macros below into a snippet for ``wp.func_native``.

    Between ``EACH_LANE {`` and ``}``, statements on V may use arithmetic, ``condition ? yes : no``, ``SQRT(a)``,
    ``ATAN2(y, x)``, ``FLOOR(a, low)``, ``ANY(condition)`` (in some lane; in this one on CUDA), ``LOAD(numbers)`` and
    ``STORE(numbers, value)`` of an array with one number a lane. On CUDA the braces are the body of a loop over lanes.
    """
    return _HEADER.format(scalar=NATIVE[wide.scalar], lanes=wide.lanes) + code + _FOOTER


def lanes_code(wide: Wide, code: str) -> str:
    """Wrap C++ statements as :func:`with_lanes` does, all of them on lanes."""
    return with_lanes(wide, f"EACH_LANE {{\n{code}\n}}")
