"""Where a first pass of contacts leads rigid bodies: C++ that :mod:`pbd_gym.kernels.contacts.particles` includes.

What displaces a ball of a rigid body is an impulse of the ball's own small mass: the ball itself goes where its body
goes, with all that pushes at the others. A second pass has to look at it there. Taken at its word, the displacement is
many times too far, and what the second pass took back of it would be energy from nowhere.
"""

from pbd_gym.kernels.data.rigid import CENTER, COLUMNS, GONE, INV_MASS, INVERSE, TURN

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

CARRIED = (
    "{"
    + _VECTORS.replace("NUMBER", "T").replace("VECTOR", "P3").replace("MATRIX", "Q3")
    + f"""
        // What a body is moved and turned by, as at joints, from what its members are displaced by.
        const auto get = [&](const T* from) {{ return P3{{from[0], from[LANES], from[2 * LANES]}}; }};
        const auto put = [&](T* to, const P3& p) {{ to[0] = p.x; to[LANES] = p.y; to[2 * LANES] = p.z; }};
        T* const at = bodies + b * {COLUMNS} * LANES + lane_;
        const P3 center = get(at + {CENTER} * LANES);
        P3 push = {{T(0), T(0), T(0)}}, spin = push;
        for (int n = table.crowd_start.data[b]; n < table.crowd_start.data[b + 1]; ++n) {{
            const int k = table.crowd.data[n], i = members[k];
            const T lightness = w[i * LANES + lane_];
            if (!(lightness > T(0))) continue;
            const P3 p = times(T(1) / lightness, P3{{displaced(k, 0), displaced(k, 1), displaced(k, 2)}});
            push = add(push, p);
            spin = add(spin, cross(minus(get(x + (size_t)ROW * i * LANES + lane_), center), p));
        }}
        const T* const turn = at + {TURN} * LANES;
        const Q3 m = {{get(turn), get(turn + 3 * LANES), get(turn + 6 * LANES)}};
        const P3 u = get(at + {INVERSE} * LANES), v = get(at + {INVERSE + 3} * LANES);
        const Q3 inverse = {{{{u.x, v.x, v.y}}, {{v.x, u.y, v.z}}, {{v.y, v.z, u.z}}}};
        put(at + {GONE} * LANES, times(at[{INV_MASS} * LANES], push));
        put(at + {GONE + 3} * LANES, apply(m, apply(inverse, apply_back(m, spin))));
    }}"""
)
