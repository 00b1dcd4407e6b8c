"""Several constraints of a colour at once: how a lone environment on a CPU fills the vector units.

Their particles are packed (:mod:`pbd_gym.kernels.motion.packed`): x, y, z and the weight side by side. Rows of four are
loaded whole, turned into columns of one number for each constraint, and back.
"""

from collections.abc import Callable

import warp as wp

from pbd_gym.kernels.lanes.snippets import in_batches
from pbd_gym.kernels.lanes.wide import Wide

BATCH = 8
"""Constraints at once on any processor: two rows of four numbers fill a register of AVX2."""
REGISTERS = 128
"""Bytes of the numbers that more of them may have side by side with AVX-512: more would not stay in registers."""

_LOOP = """
#define BEFORE(k, axis) [&] { V r; for (int l = 0; l < BATCH; ++l) r[l] = previous[4 * at[WIDTH * l + k] + axis]; \\
    return r; }()
#define STIFFNESS(from) [&] { V r; for (int l = 0; l < BATCH; ++l) r[l] = (from)[table.label.data[c + l]]; return r; }()
#define ROW_AT(k, l) *(Row*)(x + 4 * (Index)at[WIDTH * (l) + k])
#define GATHER(k, px, py, pz, weight) \\
    V px, py, pz, weight; { \\
        const V r0 = ROWS(k, 0), r1 = ROWS(k, 1), r2 = ROWS(k, 2), r3 = ROWS(k, 3); \\
        const V t0 = LOWER(r0, r1), t1 = UPPER(r0, r1), t2 = LOWER(r2, r3), t3 = UPPER(r2, r3); \\
        px = FIRSTS(t0, t2); py = LASTS(t0, t2); pz = FIRSTS(t1, t3); weight = LASTS(t1, t3); \\
    }
#define STORE_ROWS(k, l, rows) { const V r = rows; STORED }
#define SCATTER(k, px, py, pz, weight) { \\
        const V nx = px, ny = py, nz = pz; \\
        const V t0 = LOWER(nx, ny), t1 = UPPER(nx, ny), t2 = LOWER(nz, weight), t3 = UPPER(nz, weight); \\
        STORE_ROWS(k, 0, FIRSTS(t0, t2)) \\
        STORE_ROWS(k, 1, LASTS(t0, t2)) \\
        STORE_ROWS(k, 2, FIRSTS(t1, t3)) \\
        STORE_ROWS(k, 3, LASTS(t1, t3)) \\
    }
#define PULL(k, px, py, pz, weight) \\
    if (ANY((weight) <= T(0))) { \\
        const V fx = px, fy = py, fz = pz; \\
        for (int l = 0; l < BATCH; ++l) \\
            if (weight[l] <= T(0)) { \\
                T* const sum = pull + 3 * at[WIDTH * l + k]; \\
                sum[0] += fx[l]; sum[1] += fy[l]; sum[2] += fz[l]; \\
            } \\
    }
    typedef T Row __attribute__((ext_vector_type(4), aligned(sizeof(T))));
    for (; n + BATCH <= end; n += BATCH) {
        // Backwards from the end, so that the few that are left are the first ones: those that the next loop comes to.
        const int c = reversed ? begin + end - BATCH - n : n;
        PROJECTION
    }
#undef ROW_AT
#undef STORE_ROWS
"""
"""Access to the particles of so many constraints, and the loop over these."""


def _order(size: int, row: Callable[[int], list[int]]) -> str:
    """Return the order of a shuffle of two vectors: what each four of them have, from the number of its first."""
    return ", ".join(str(k) for first in range(0, size, 4) for k in row(first))


def transposing(size: int, code: str) -> str:
    """Return C++ around which shuffles are defined that turn rows into columns, four by four, and columns into rows.

    ``LOWER`` and ``UPPER`` of two rows come first, then ``FIRSTS`` and ``LASTS`` of two of these.

    Args:
        size: numbers of a vector.
        code: what uses them.
    """
    orders = {
        "LOWER": _order(size, lambda k: [k, size + k, k + 1, size + k + 1]),
        "UPPER": _order(size, lambda k: [k + 2, size + k + 2, k + 3, size + k + 3]),
        "FIRSTS": _order(size, lambda k: [k, k + 1, size + k, size + k + 1]),
        "LASTS": _order(size, lambda k: [k + 2, k + 3, size + k + 2, size + k + 3]),
    }
    defined = "".join(
        f"#define {name}(u, v) __builtin_shufflevector(u, v, {order})\n" for name, order in orders.items()
    )
    return f"\n{defined}{code}\n" + "".join(f"#undef {name}\n" for name in orders)


def _joined(size: int, first: int) -> str:
    """Return a vector of the rows of every fourth constraint, from one on: halves are joined until all are."""
    if size == 4:
        return f"ROW_AT(k, l + {first})"
    half = size // 2
    order = ", ".join(map(str, range(size)))
    return f"__builtin_shufflevector({_joined(half, first)}, {_joined(half, first + half)}, {order})"


def _loop(wide: Wide, projection: str, done: str, size: int) -> str:
    """Return the loop over as many constraints at once as ``size`` says, a power of two."""
    rows = " ".join(
        f"ROW_AT(k, l + {k}) = __builtin_shufflevector(r, r, {', '.join(map(str, range(k, k + 4)))});"
        for k in range(0, size, 4)
    )
    text = f"#define ROWS(k, l) {_joined(size, 0)}\n" + _LOOP.replace("STORED", rows).replace("PROJECTION", projection)
    return in_batches(wide, transposing(size, text) + "#undef ROWS\n" + done, size)


def batch_loops(wide: Wide, projection: str, done: str, width: int) -> str:
    """Return loops over the constraints of a colour, many at once as long as there are so many.

    Args:
        wide: lane count and precision.
        projection: statements that project constraint ``c``, or those from ``c`` on.
        done: directives that take back the names of the access.
        width: particles of a constraint.
    """
    # A root and a quotient take long, and constraints that do not wait for each other can wait together.
    together = [
        size for size in (32, 16) if width == 2 and size * wp.types.type_size_in_bytes(wide.scalar) <= REGISTERS
    ]
    many = "".join(_loop(wide, projection, done, size) for size in together)
    return f"#ifdef __AVX512F__\n{many}\n#endif\n{_loop(wide, projection, done, BATCH)}"
