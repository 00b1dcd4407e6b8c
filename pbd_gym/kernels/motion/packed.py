"""Positions of a lone environment in rows of four, x, y, z and the weight: one register holds two particles.

A batch has a number for each environment at every place, and fills the vector units with these. A lone environment
fills them with several constraints of a colour instead (:mod:`pbd_gym.kernels.solve.sweep`), for which whole rows are
loaded and stored.
"""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.lanes.snippets import NATIVE
from pbd_gym.kernels.lanes.wide import Wide

# Products and sums stay apart, as in Warp's own code for batches: a lone environment gives the same bits.
_ADVANCE = """
{
#pragma clang fp contract(off)
    using T = SCALAR;
    typedef T Row __attribute__((ext_vector_type(4), aligned(sizeof(T))));
    typedef T Pair __attribute__((ext_vector_type(8), aligned(sizeof(T))));
    T* const at = (T*)body.x.data;
    T* const before = (T*)body.previous.data;
    const T h = now.h, inv_h = now.inv_h, gx = now.fall_x.c[0], gy = now.fall_y.c[0], gz = now.fall_z.c[0];
    const Pair pull = {gx, gy, gz, 0, gx, gy, gz, 0}, one = Pair(T(1)), none = Pair(T(0));
    const Pair scaled = Pair(now.velocity_factor.c[0]);
    const int count = body.x.shape[0];
    const auto next = [&](Pair p, Pair q) {
        const Pair w = __builtin_shufflevector(p, p, 3, 3, 3, 3, 7, 7, 7, 7);
        const Pair change = (p - q) * inv_h;
        const Pair kept = change * (w > none ? scaled : one);
        const Pair velocity = kept + (w > none ? pull : none);
        const Pair moved = h * velocity;
        return __builtin_shufflevector(p + moved, p, 0, 1, 2, 11, 4, 5, 6, 15);
    };
    int i = 0;
    for (; i + 2 <= count; i += 2) {
        const Pair p = *(const Pair*)(at + 4 * i), q = *(const Pair*)(before + 4 * i);
        *(Pair*)(at + 4 * i) = next(p, q);
        *(Pair*)(before + 4 * i) = p;
    }
    if (i < count) {
        const Row p = *(const Row*)(at + 4 * i), q = *(const Row*)(before + 4 * i);
        const auto twice = [](Row r) { return __builtin_shufflevector(r, r, 0, 1, 2, 3, 0, 1, 2, 3); };
        const Pair moved = next(twice(p), twice(q));
        *(Row*)(at + 4 * i) = __builtin_shufflevector(moved, moved, 0, 1, 2, 3);
        *(Row*)(before + 4 * i) = p;
    }
}
"""


@functools.cache
def make_packed_advance(wide: Wide, data: Any) -> Any:
    """Build :func:`pbd_gym.kernels.motion.integration.make_advance` for packed positions, one lane and one thread.

    Args:
        wide: lane count and precision.
        data: the struct of the whole model.
    """
    body_: Any = body_type(wide.vec)
    substep_: Any = substep_type(wide.vec)

    @wp.func_native(_ADVANCE.replace("SCALAR", NATIVE[wide.scalar]))
    def advance(model: data, body: body_, now: substep_, thread: int, thread_count: int) -> None: ...

    return advance
