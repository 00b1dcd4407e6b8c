"""Wide numbers: one value for each of the L environments that advance together.

A group of L environments shares one topology, so the same instruction can serve all of them. The kernels therefore
work on vectors of length L (*lanes*), which LLVM turns into SIMD instructions on a CPU. Arithmetic on lanes is plain
Warp (``+``, ``-``, ``wp.cw_mul``, ``wp.cw_div``); the few operations Warp lacks for vectors are native snippets here.

Particle state is stored as ``array3d[vec]`` of shape (groups, particles, 3), one vector per coordinate, and never as
3xL matrices: LLVM keeps one coordinate in one register, but scrambles a matrix (measured: 57 k against 10 k frames/s).
"""

import functools
from dataclasses import dataclass
from typing import Any

import warp as wp

LANE_COUNTS = (1, 4, 8, 16)
"""Vector lengths that compile to SIMD code. Longer vectors fall off the vector path (DESIGN: 32 is 10 times slower)."""

_MAP = "auto r = a; for (unsigned i = 0; i < sizeof(a.c) / sizeof(a.c[0]); ++i) r.c[i] = {}; return r;"

_ANY = "bool r = false; for (unsigned i = 0; i < sizeof(a.c) / sizeof(a.c[0]); ++i) r |= {}; return r;"


@wp.func_native("pbd::sync();\n")
def barrier() -> None: ...  # nothing where one thread serves a whole group


_BLOCK_MEMORY = """
alignas(16) PBD_SHARED char memory[SIZE];
return (uint64_t)memory;
"""


@functools.cache
def make_block_memory(size: int) -> Any:
    """Build the function that returns the address of ``size`` bytes shared by the threads of a block.

    On a CPU, where a block is one thread, it is plain memory, the same for every thread, for use in tests.
    """

    @wp.func_native(_BLOCK_MEMORY.replace("SIZE", str(max(size, 16))))
    def block_memory() -> wp.uint64: ...  # type: ignore[empty-body]

    return block_memory


@dataclass(frozen=True)
class Wide:
    """Types and lane-wise functions for one combination of lane count and scalar type."""

    lanes: int
    """Environments of a group. Loops over them run to ``int(wp.static(lanes))``: Warp would unroll a plain constant
    sixteen times, which took a quarter of the compile time of a step with moving colliders.
    """
    scalar: Any
    vec: Any
    sqrt: Any
    """Function (a: vec) -> vec that returns the square root."""
    floor: Any
    """Function (a: vec, low: scalar) -> vec that returns the larger of the two."""
    positive: Any
    """Function (a: vec, value: scalar) -> vec that returns ``value`` where a > 0, otherwise 0."""
    pick: Any
    """Function (a: vec, yes: vec, no: vec) -> vec that returns ``yes`` where a > 0, otherwise ``no``."""
    power: Any
    """Function (a: scalar, b: vec) -> vec that returns a to the power b."""
    exceeds: Any
    """Function (a: vec, limit: scalar, flag: vec) -> vec that returns 1 where a is above the limit or NaN, otherwise
    ``flag``.
    """
    any_positive: Any
    """Function (a: vec) -> bool that returns whether a > 0 in any lane."""


@functools.cache
def wide(lanes: int, scalar: Any) -> Wide:
    """Return the wide types of ``lanes`` environments in precision ``scalar`` (``wp.float32`` or ``wp.float64``)."""
    if lanes not in LANE_COUNTS:
        raise ValueError(f"lanes must be one of {LANE_COUNTS}, got {lanes}")
    vec: Any = wp.types.vector(length=lanes, dtype=scalar)

    @wp.func_native(_MAP.format("sqrt(a.c[i])"))
    def wide_sqrt(a: vec) -> vec: ...

    @wp.func_native(_MAP.format("a.c[i] > low ? a.c[i] : low"))
    def wide_floor(a: vec, low: scalar) -> vec: ...

    @wp.func_native(_MAP.format("a.c[i] > 0 ? value : 0"))
    def wide_positive(a: vec, value: scalar) -> vec: ...

    @wp.func_native(_MAP.format("a.c[i] > 0 ? yes.c[i] : no.c[i]"))
    def wide_pick(a: vec, yes: vec, no: vec) -> vec: ...

    @wp.func_native(_MAP.replace("auto r = a", "auto r = b").replace("a.c", "b.c").format("pow(a, b.c[i])"))
    def wide_power(a: scalar, b: vec) -> vec: ...

    # Written as "not (a <= limit)" so that a NaN counts as too large.
    @wp.func_native(_MAP.format("a.c[i] <= limit ? flag.c[i] : 1"))
    def wide_exceeds(a: vec, limit: scalar, flag: vec) -> vec: ...

    @wp.func_native(_ANY.format("a.c[i] > 0"))
    def wide_any_positive(a: vec) -> bool: ...  # type: ignore[empty-body]

    return Wide(
        lanes, scalar, vec, wide_sqrt, wide_floor, wide_positive, wide_pick, wide_power, wide_exceeds, wide_any_positive
    )  # fmt: skip
