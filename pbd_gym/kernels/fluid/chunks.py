"""C++ on chunks of neighbours: SIMD code for one thread, plain code for a block, with sums in the same order.

``F`` holds a number for each of :data:`pbd_gym.kernels.data.fluid.CHUNK` neighbours: a vector of Clang's, or, in a
block of threads, each of which goes through the neighbours one after the other, a plain number. What stands in the
braces of ``EACH_PART`` is done once on vectors, or once for every place in a chunk; loops within start at ``FIRST``. A
``Sum`` is put together from the parts, always in the same order, so that the bits are the same.
"""

from typing import Any

from pbd_gym.kernels.data.fluid import CHUNK, FLUID_DENSITY, PLANE, PLANES, VISCOSITY
from pbd_gym.kernels.data.parameters import DENSITY, INV_SIZE, SIZE
from pbd_gym.kernels.lanes.blocks import BLOCKS
from pbd_gym.kernels.lanes.snippets import NATIVE

_HEADER = f"""
PBD_CONTRACT_ON
using T = SCALAR;
constexpr int CHUNK = {CHUNK}, PLANES = {PLANES}, PLANE = {PLANE};
#if PBD_BLOCK
using F = T;
#define EACH_PART for (int part = 0; part < CHUNK; ++part)
#define FIRST part
#define ROOT(a) T(sqrt(a))
#define PUT(where, value) *(where) = value
#define GET(where) (*(where))
#define GATHER(rows, at, px, py, pz, pw) \\
    const T* const row_##px = (rows) + 4 * (at)[0]; \\
    const F px = row_##px[0], py = row_##px[1], pz = row_##px[2], pw = row_##px[3];
#define PICK(numbers, at) (numbers)[*(at)]
struct Sum {{
    T parts[CHUNK];
    CUDA_CALLABLE void put(int part, F value) {{ parts[part] = value; }}
    CUDA_CALLABLE T total() const {{
        return ((parts[0] + parts[4]) + (parts[2] + parts[6])) + ((parts[1] + parts[5]) + (parts[3] + parts[7]));
    }}
}};
#else
typedef T F __attribute__((ext_vector_type(CHUNK), aligned(sizeof(T))));
typedef T Row __attribute__((ext_vector_type(4), aligned(sizeof(T))));
#define EACH_PART for (int part = 0; part < 1; ++part)
#define FIRST 0
#define ROOT(a) __builtin_elementwise_sqrt(a)
#define PUT(where, value) *(F*)(where) = value
#define GET(where) (*(const F*)(where))
// Eight rows of four numbers are turned into four columns of eight.
#define ROWS(rows, at, k) __builtin_shufflevector(*(const Row*)((rows) + 4 * (at)[k]), \\
    *(const Row*)((rows) + 4 * (at)[(k) + 4]), 0, 1, 2, 3, 4, 5, 6, 7)
#define GATHER(rows, at, px, py, pz, pw) \\
    F px, py, pz, pw; {{ \\
        const F r0 = ROWS(rows, at, 0), r1 = ROWS(rows, at, 1), r2 = ROWS(rows, at, 2), r3 = ROWS(rows, at, 3); \\
        const F t0 = __builtin_shufflevector(r0, r1, 0, 8, 1, 9, 4, 12, 5, 13); \\
        const F t1 = __builtin_shufflevector(r0, r1, 2, 10, 3, 11, 6, 14, 7, 15); \\
        const F t2 = __builtin_shufflevector(r2, r3, 0, 8, 1, 9, 4, 12, 5, 13); \\
        const F t3 = __builtin_shufflevector(r2, r3, 2, 10, 3, 11, 6, 14, 7, 15); \\
        px = __builtin_shufflevector(t0, t2, 0, 1, 8, 9, 4, 5, 12, 13); \\
        py = __builtin_shufflevector(t0, t2, 2, 3, 10, 11, 6, 7, 14, 15); \\
        pz = __builtin_shufflevector(t1, t3, 0, 1, 8, 9, 4, 5, 12, 13); \\
        pw = __builtin_shufflevector(t1, t3, 2, 3, 10, 11, 6, 7, 14, 15); \\
    }}
#define PICK(numbers, at) [](const T* from, const int* k) {{ F r; for (int l = 0; l < CHUNK; ++l) r[l] = from[k[l]]; \\
    return r; }}(numbers, at)
struct Sum {{
    F parts;
    void put(int, F value) {{ parts = value; }}
    T total() const {{
        const Row a = __builtin_shufflevector(parts, parts, 0, 1, 2, 3);
        const Row b = a + __builtin_shufflevector(parts, parts, 4, 5, 6, 7);
        return (b[0] + b[2]) + (b[1] + b[3]);
    }}
}};
#endif
#define ATLEAST(a, low) ((a) > F(low) ? (a) : F(low))
"""

_NAMES = f"""
    const auto& table = model.fluid;
    const int members = table.members.shape[0], samples = table.boundary.shape[0];
    const size_t rank = (size_t)group;
    const int capacity = table.capacity, wet_capacity = table.wet_capacity;
    const int row_count = members + samples + 2, second = members + 1;
    T* const sets = fluid.rows.data + rank * 12 * row_count;
    int* const order = fluid.order.data + rank * (members + samples);
    int* const near = fluid.near.data + rank * fluid.near.shape[1];
    int* const wet = near + (size_t)(members + samples) * capacity;
    int* const lengths = fluid.lengths.data + rank * (3 * members + samples);
    T* const slopes = fluid.slopes.data + rank * members * capacity;
    T* const planes = fluid.planes.data + rank * fluid.planes.shape[1];
    T* const mobility = fluid.mobility.data + rank * (members + samples + 1);
    int* const wall_counts = lengths + 2 * members + samples;
    const int active = fluid.active.data[group];
    const T support = table.support, inv_support = T(1) / support;
    T* const x = (T*)body.x.data;
    T* const previous = (T*)body.previous.data;
#if VARIED
    const T* const parameters = (const T*)body.parameters.data;
    const T size = parameters[SIZE_COLUMN], inv_size = parameters[INV_SIZE_COLUMN];
    const T heavier = parameters[DENSITY_COLUMN] * parameters[table.column + {FLUID_DENSITY}];
    const T thicker = parameters[table.column + {VISCOSITY}];
    const T mass = table.mass * heavier * (table.dimension == 3 ? size * size * size : size * size);
#else
    const T size = T(1), inv_size = T(1), mass = table.mass, thicker = T(1), heavier = T(1);
#endif
"""

_CLEAR = "".join(
    f"#undef {name}\n"
    for name in ("EACH_PART", "FIRST", "ROOT", "PUT", "GET", "ROWS", "GATHER", "PICK", "ATLEAST", "VARIED")
)


def with_chunks(scalar: Any, varied: bool, packed: bool, code: str) -> str:
    """Wrap C++ statements that use F, T and the macros above into a snippet for ``wp.func_native``.

    They find what :mod:`pbd_gym.kernels.data.fluid` holds for their group under the names of its fields: ``sets``,
    ``order``, ``near``, ``lengths``, ``slopes``, ``planes``, ``mobility``; ``wet`` is the last part of ``near``, the
    boundary near each particle of the fluid.

    Args:
        scalar: ``wp.float32`` or ``wp.float64``.
        varied: whether environments differ in their parameters.
        packed: whether positions of the body are in rows of four numbers.
        code: the statements.
    """
    names = _NAMES.replace("INV_SIZE_COLUMN", str(int(INV_SIZE))).replace("SIZE_COLUMN", str(int(SIZE)))
    names = names.replace("DENSITY_COLUMN", str(int(DENSITY)))
    return (
        BLOCKS
        + f"#define VARIED {int(varied)}\n"
        + _HEADER.replace("SCALAR", NATIVE[scalar])
        + f"constexpr int ROW = {4 if packed else 3};\n"
        + "{"
        + names
        + code
        + "}\n"
        + _CLEAR
    )
