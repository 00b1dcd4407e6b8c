"""Vectors and rotations on lanes: C++ that the kernels of rigid bodies begin with."""

from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.parameters import DENSITY, SIZE
from pbd_gym.kernels.data.rigid import (
    CENTER,
    COLUMNS,
    DRAG,
    GONE,
    GRIP,
    IMPULSE,
    INV_MASS,
    INVERSE,
    NORMAL,
    NUMBERS,
    OFFSET,
    SLIP,
    SLOTS,
    SPREAD,
    START,
    START_TURN,
    TURN,
    WIDTH,
    WORLD,
)
from pbd_gym.kernels.lanes.snippets import with_lanes
from pbd_gym.kernels.lanes.wide import Wide

_VECTORS = """
    struct VECTOR { NUMBER x, y, z; };
    struct MATRIX { VECTOR a, b, c; };  // rows
    const auto add = [](const VECTOR& p, const VECTOR& q) { return VECTOR{p.x + q.x, p.y + q.y, p.z + q.z}; };
    const auto minus = [](const VECTOR& p, const VECTOR& q) { return VECTOR{p.x - q.x, p.y - q.y, p.z - q.z}; };
    const auto times = [](NUMBER s, const VECTOR& p) { return VECTOR{s * p.x, s * p.y, s * p.z}; };
    const auto dot = [](const VECTOR& p, const VECTOR& q) { return p.x * q.x + p.y * q.y + p.z * q.z; };
    const auto cross = [](const VECTOR& p, const VECTOR& q) {
        return VECTOR{p.y * q.z - p.z * q.y, p.z * q.x - p.x * q.z, p.x * q.y - p.y * q.x};
    };
    const auto apply = [&](const MATRIX& m, const VECTOR& p) {
        return VECTOR{dot(m.a, p), dot(m.b, p), dot(m.c, p)};
    };
    const auto apply_back = [&](const MATRIX& m, const VECTOR& p) {
        return add(add(times(p.x, m.a), times(p.y, m.b)), times(p.z, m.c));
    };
"""


def vectors_of(number: str, vector: str, matrix: str) -> str:
    """Return the C++ of vectors and matrices of a type of numbers: one for each lane, ``V``, or a single one, ``T``.

    Args:
        number: the type.
        vector: what three of them are to be called.
        matrix: what three vectors are to be called, the rows.
    """
    return _VECTORS.replace("NUMBER", number).replace("VECTOR", vector).replace("MATRIX", matrix)


_ALGEBRA = (
    vectors_of("V", "V3", "M3")
    + """
    const auto product = [&](const M3& m, const M3& n) {
        return M3{apply_back(n, m.a), apply_back(n, m.b), apply_back(n, m.c)};
    };
    // Of a rotation vector. sin(t) / t and (1 - cos(t)) / t^2 by their series, which is exact to rounding for half a
    // turn in a substep, more than any body makes that does not fly apart.
    const auto rotation = [&](const V3& p) {
        const V s = dot(p, p), one = V(T(1));
        V a = one, b = one;
        for (int n = 9; n >= 1; --n) {
            a = one - s * a * T(1.0 / ((2 * n) * (2 * n + 1)));
            b = one - s * b * T(1.0 / ((2 * n + 1) * (2 * n + 2)));
        }
        b *= T(0.5);
        const V xx = b * p.x * p.x, yy = b * p.y * p.y, zz = b * p.z * p.z;
        const V xy = b * p.x * p.y, xz = b * p.x * p.z, yz = b * p.y * p.z;
        return M3{
            {one - yy - zz, xy - a * p.z, xz + a * p.y}, {xy + a * p.z, one - xx - zz, yz - a * p.x},
            {xz - a * p.y, yz + a * p.x, one - xx - yy}};
    };
    // The rotation vector of m n^-1.
    const auto turned = [&](const M3& m, const M3& n) {
        const V3 p = {
            T(0.5) * (dot(m.c, n.b) - dot(m.b, n.c)), T(0.5) * (dot(m.a, n.c) - dot(m.c, n.a)),
            T(0.5) * (dot(m.b, n.a) - dot(m.a, n.b))};
        const V sine = SQRT(dot(p, p)), cosine = T(0.5) * (dot(m.a, n.a) + dot(m.b, n.b) + dot(m.c, n.c) - T(1));
        const V angle = ATAN2(sine, cosine);
        return times(sine > T(1e-12) ? angle / FLOOR(sine, 1e-12) : V(T(1)), p);
    };
    // A symmetric matrix, xx, yy, zz, xy, xz, yz, times a vector.
    struct S3 { V xx, yy, zz, xy, xz, yz; };
    const auto stretch = [](const S3& s, const V3& p) {
        return V3{
            s.xx * p.x + s.xy * p.y + s.xz * p.z, s.xy * p.x + s.yy * p.y + s.yz * p.z,
            s.xz * p.x + s.yz * p.y + s.zz * p.z};
    };
    // It in other axes: m s m^T.
    const auto in_axes = [&](const M3& m, const S3& s) {
        const V3 p = stretch(s, m.a), q = stretch(s, m.b), r = stretch(s, m.c);
        return S3{dot(m.a, p), dot(m.b, q), dot(m.c, r), dot(m.a, q), dot(m.a, r), dot(m.b, r)};
    };
    const auto inverse_of = [](const S3& s) {
        const V xx = s.yy * s.zz - s.yz * s.yz, xy = s.xz * s.yz - s.xy * s.zz, xz = s.xy * s.yz - s.xz * s.yy;
        const V det = s.xx * xx + s.xy * xy + s.xz * xz;
        const V over = det > T(0) ? T(1) / (det > T(0) ? det : V(T(1))) : V(T(0));
        return S3{
            over * xx, over * (s.xx * s.zz - s.xz * s.xz), over * (s.xx * s.yy - s.xy * s.xy), over * xy, over * xz,
            over * (s.xy * s.xz - s.xx * s.yz)};
    };
"""
)

_ACCESS = """
    const auto& table = model.rigid;
    T* const x = (T*)body.x.data;
    T* const previous = (T*)body.previous.data;
    T* const w = (T*)body.inv_mass.data;
    T* const all = (T*)rigid.bodies.data + (size_t)group * rigid.bodies.shape[1] * COLUMNS * LANES;
    T* const contacts = (T*)rigid.contacts.data + (size_t)group * rigid.contacts.shape[1] * NUMBERS * LANES;
    int* const touching = rigid.touching.data + (size_t)group * rigid.touching.shape[1];
    const int* const offsets = table.offsets.data;
    const int* const members = table.members.data;
    const T* const parameters = (const T*)body.parameters.data;
"""

# Within a loop over lanes.
_BODY = """
    const auto load = [&](const T* from) {
        return V3{LOAD(from), LOAD(from + LANES), LOAD(from + 2 * LANES)};
    };
    const auto store = [&](T* to, const V3& p) {
        STORE(to, p.x); STORE(to + LANES, p.y); STORE(to + 2 * LANES, p.z);
    };
    const auto load_rows = [&](const T* from) {
        return M3{load(from), load(from + 3 * LANES), load(from + 6 * LANES)};
    };
    const auto store_rows = [&](T* to, const M3& m) {
        store(to, m.a); store(to + 3 * LANES, m.b); store(to + 6 * LANES, m.c);
    };
    const auto load_symmetric = [&](const T* from) {
        const V3 p = load(from), q = load(from + 3 * LANES);
        return S3{p.x, p.y, p.z, q.x, q.y, q.z};
    };
    const auto store_symmetric = [&](T* to, const S3& s) {
        store(to, V3{s.xx, s.yy, s.zz}); store(to + 3 * LANES, V3{s.xy, s.xz, s.yz});
    };
#if VARIED
    const V size = LOAD(parameters + SIZE * LANES);
    const V heavier = LOAD(parameters + DENSITY * LANES) * size * size * size;
#else
    const V size = V(T(1)), heavier = size;
#endif
    // Member j of body b from its centre, in its own axes, as if that were in `from`.
    const auto place_in = [&](int j, const V3& from) {
        return V3{
            size * table.rest.data[3 * j] - from.x, size * table.rest.data[3 * j + 1] - from.y,
            size * table.rest.data[3 * j + 2] - from.z};
    };
    const auto unless_held = [&](int j, int b, T mass) {
        const V free = V(mass), held = V(table.heavy.data[b]);
        return (LOAD(w + members[j] * LANES) > T(0) ? free : held) * heavier;
    };
    const auto weight = [&](int j, int b) { return unless_held(j, b, table.mass.data[j]); };
    const auto write = [&](int b, const V3& center, const M3& turn, const V3& offset) {
        for (int j = offsets[b]; j < offsets[b + 1]; ++j) {
            const int i = members[j];
            const V free = LOAD(w + i * LANES);
            const V3 p = add(center, apply(turn, place_in(j, offset))), old = load(x + ROW * i * LANES);
            store(x + ROW * i * LANES, V3{
                free > T(0) ? p.x : old.x, free > T(0) ? p.y : old.y, free > T(0) ? p.z : old.z});
        }
    };
"""

_NUMBERS = {
    "CENTER": CENTER, "TURN": TURN, "START": START, "START_TURN": START_TURN, "OFFSET": OFFSET, "INV_MASS": INV_MASS,
    "SPREAD": SPREAD, "INVERSE": INVERSE, "COLUMNS": COLUMNS, "NUMBERS": NUMBERS, "SIZE": int(SIZE),
    "DENSITY": int(DENSITY), "NORMAL": NORMAL, "SLIP": SLIP, "IMPULSE": IMPULSE, "DRAG": DRAG, "GRIP": GRIP,
    "WORLD": WORLD, "GONE": GONE, "SLOTS": SLOTS, "WIDTH": WIDTH,
}  # fmt: skip


def rigid_code(wide: Wide, options: SweepOptions, code: str, **numbers: float) -> str:
    """Wrap C++ statements on rigid bodies into a snippet for ``wp.func_native``.

    They find the table, positions ``x`` and the columns of all bodies by name, and after ``EACH_LANE { LANE`` the
    functions of vectors on lanes as well. Its arguments must be ``model``, ``body``, ``rigid`` and ``group``, at least.

    Args:
        wide: lane count and precision.
        options: what the kernel is compiled for.
        code: the statements.
        numbers: what else they name.
    """
    constants = {"VARIED": int(options.varied), "ROW": 4 if options.packed else 3, **_NUMBERS, **numbers}
    defined = "".join(f"#define {name} {value}\n" for name, value in constants.items())
    undone = "".join(f"#undef {name}\n" for name in constants)
    text = _ACCESS + code.replace("LANE\n", _ALGEBRA + _BODY)
    return with_lanes(wide, f"{defined}{{{text}}}\n{undone}")
