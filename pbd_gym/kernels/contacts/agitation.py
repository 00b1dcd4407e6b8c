"""How much the members of an environment move: C++ that :mod:`pbd_gym.kernels.contacts.particles` includes.

Creases keep a wide distance while cloth moves, or hands pull it through itself. The threads of fine cloth cannot bend
as wide as that: at rest they and the contacts would push each other to and fro, and creases would crawl along the cloth
by themselves, with energy from nowhere. So what creases keep shrinks as an environment comes to rest.
"""

CALM, LIVELY = 0.03, 0.1
"""Speeds of the members of an environment, root mean square, up to which it is at rest and from which it moves [m/s, in
the sizes of the scene]. A crease that crawls, alone in its towel, makes 0.01 to 0.02 m/s."""

_PART = """
        V part = V(T(0));
        for (int k = 16 * c; k < wp::min(16 * c + 16, count); ++k) {
            const T* const p = x + ROW * members[k] * LANES;
            const T* const q = previous + ROW * members[k] * LANES;
            const V dx = LOAD(p) - LOAD(q), dy = LOAD(p + LANES) - LOAD(q + LANES);
            const V dz = LOAD(p + 2 * LANES) - LOAD(q + 2 * LANES);
            part += dx * dx + dy * dy + dz * dz;
        }
"""
_SHARE = f"""
        const V speed = SQRT(sum / T(count)) * (INV_SIZES * inv_h);
        const V share = FLOOR((speed - T({CALM})) * T({1.0 / (LIVELY - CALM)}), 0);
        STORE(agitation, share < T(1) ? share : V(T(1)));
"""
# Both sum over sixteen members first, for the sake of the same bits.
LONE_AGITATION = f"""
    T agitation[LANES];
    EACH_LANE {{
        V sum = V(T(0));
        for (int c = 0; c < chunks; ++c) {{
{_PART}
            sum += part;
        }}
{_SHARE}
    }}
"""
BLOCK_AGITATION = f"""
    T agitation[LANES];
    T* const sums = (T*)lists.valence.data + rank * lists.valence.shape[1] * LANES;
    for (int c = thread; c < chunks; c += thread_count) EACH_LANE {{
{_PART}
        STORE(sums + LANES * c, part);
    }}
    PBD_SYNC();
    EACH_LANE {{
        V sum = V(T(0));
        for (int c = 0; c < chunks; ++c) sum += LOAD(sums + LANES * c);
{_SHARE}
    }}
"""
"""Statements that give ``agitation[lane]``, from 0 for an environment at rest to 1 for one that moves, by what the
substep has moved it so far: for one thread, and for a block."""
