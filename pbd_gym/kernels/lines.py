"""Lines: chains of distance constraints whose corrections are solved for together, exactly.

Gauss-Seidel moves a correction by one particle a sweep, so a fine thread stretches. The segments k of a line, between
its particles k and k + 1, make up the system

    (w_k + w_{k+1} + alpha_k) dl_k - w_k (n_{k-1} . n_k) dl_{k-1} - w_{k+1} (n_k . n_{k+1}) dl_{k+1}
        = -C_k - alpha_k l_k

with directions n, inverse masses w, multipliers l and ``alpha = compliance / h^2``: XPBD's linear system (Macklin et
al. 2016, doi:10.1145/2994258.2994272, eq. 18 and 26) for all segments at once. It is tridiagonal, and Thomas's
algorithm solves it in one pass forth and one back. Deul et al. 2018, Direct position-based solver for stiff rods,
doi:10.1111/cgf.13326. A particle that is held or pinned has w = 0 and cuts the line in two.

A particle that a curved collider carries has no weight along the normal there: :mod:`pbd_gym.kernels.supports`.

Damping multiplies the part of the matrix that comes from the weights by ``1 + gamma``, as it does for one constraint.
"""

from __future__ import annotations

from typing import Any

from pbd_gym.kernels.options import SweepOptions

LEAST_COMPLIANCE = 2.0**-14
"""This part of the larger weight of a segment counts as compliance whatever the material says. A straight line that is
held at both ends, and has no compliance, would have no solution; with this it stretches evenly."""

_SOLVE = """
    constexpr int LONGEST = {longest};
    const int first = table.offsets.data[c], count = table.offsets.data[c + 1] - first - 1;
    const T* const rest_length = (const T*)table.rest_length.data + first;
    const T* const relative = (const T*)table.relative_compliance.data + first;
    const int* const at = indices + first;
    T* const line_lam = lam + LANES * (first - c);  // a line has a multiplier less than it has particles
#if {damped}
    const V gamma = V(table.damping_time.data[c] * inv_h), growth = T(1) + gamma;
#endif
    const V softness = V(NUMBER(compliance) * inv_h2)
#if {varied}
        * stiffness
#endif
    ;
    const T least = T(count > 1 ? {least} : 0.0);  // one segment alone has a solution
#if {supports}
    // Where tension would but press a particle on what carries it, it has no weight along the normal there.
    T* const support = (T*)body.support.data;
    V carried[LONGEST + 1];
    {{
        V px = V(T(0)), py = px, pz = px;
        for (int k = 0; k <= count; ++k) {{
            const Index a = at[k], b = at[k < count ? k + 1 : k];
            const V dx = LOAD(x + ROW * b * LANES) - LOAD(x + ROW * a * LANES),
                dy = LOAD(x + (ROW * b + 1) * LANES) - LOAD(x + (ROW * a + 1) * LANES),
                dz = LOAD(x + (ROW * b + 2) * LANES) - LOAD(x + (ROW * a + 2) * LANES);
            const V one_over = T(1) / FLOOR(SQRT(dx * dx + dy * dy + dz * dz), 1e-30);
            const V qx = dx * one_over, qy = dy * one_over, qz = dz * one_over;
            const T* const n = support + 5 * a * LANES;
            const V out = LOAD(n) * (qx - px) + LOAD(n + LANES) * (qy - py) + LOAD(n + 2 * LANES) * (qz - pz);
            carried[k] = out < T(0) ? LOAD(w + a * LANES) : V(T(0));
            px = qx; py = qy; pz = qz;
        }}
    }}
#endif
    // Of each segment: its direction, and from elimination dl_{{k-1}} = right_{{k-1}} - ratio_k dl_k.
    V nx[LONGEST], ny[LONGEST], nz[LONGEST], right[LONGEST], ratio[LONGEST];
    {{
        const T* place = x + ROW * (Index)at[0] * LANES;
        V ax = LOAD(place), ay = LOAD(place + LANES), az = LOAD(place + 2 * LANES), wa = LOAD(w + at[0] * LANES);
        V px = V(T(0)), py = px, pz = px, last_right = px, inverse = px;
#if {damped}
        const T* before = previous + ROW * (Index)at[0] * LANES;
        V ux = ax - LOAD(before), uy = ay - LOAD(before + LANES), uz = az - LOAD(before + 2 * LANES);
#endif
        for (int k = 0; k < count; ++k) {{
            place = x + ROW * (Index)at[k + 1] * LANES;
            const V bx = LOAD(place), by = LOAD(place + LANES), bz = LOAD(place + 2 * LANES);
            const V wb = LOAD(w + at[k + 1] * LANES);
            const V dx = bx - ax, dy = by - ay, dz = bz - az;
            const V length = SQRT(dx * dx + dy * dy + dz * dz), one_over = T(1) / FLOOR(length, 1e-30);
            const V qx = dx * one_over, qy = dy * one_over, qz = dz * one_over;
            V weight = wa + wb, coupling = wa * (px * qx + py * qy + pz * qz);
            const V alpha = softness * relative[k];
#if {supports}
            const T *na = support + 5 * (Index)at[k] * LANES, *nb = support + 5 * (Index)at[k + 1] * LANES;
            const V into = LOAD(na) * qx + LOAD(na + LANES) * qy + LOAD(na + 2 * LANES) * qz;
            const V onto = LOAD(nb) * qx + LOAD(nb + LANES) * qy + LOAD(nb + 2 * LANES) * qz;
            weight -= carried[k] * into * into + carried[k + 1] * onto * onto;
            coupling -= carried[k] * into * (LOAD(na) * px + LOAD(na + LANES) * py + LOAD(na + 2 * LANES) * pz);
#endif
            V wanted = size * rest_length[k] - length;
#if {keep_lambda}
            if (iteration > 0)
                wanted -= alpha * LOAD(line_lam + LANES * k);
#endif
            V diagonal = weight;
#if {damped}
            before = previous + ROW * (Index)at[k + 1] * LANES;
            const V vx = bx - LOAD(before), vy = by - LOAD(before + LANES), vz = bz - LOAD(before + 2 * LANES);
            wanted -= gamma * (qx * (vx - ux) + qy * (vy - uy) + qz * (vz - uz));
            ux = vx; uy = vy; uz = vz;
            coupling *= growth;
            diagonal *= growth;
#endif
            const V fraction = -coupling * inverse;
            const V pivot = diagonal + alpha + least * (wa > wb ? wa : wb) + coupling * fraction;
            inverse = T(1) / FLOOR(pivot, 1e-30);
            last_right = (wanted + coupling * last_right) * inverse;
            nx[k] = qx; ny[k] = qy; nz[k] = qz;
            right[k] = last_right; ratio[k] = fraction;
            ax = bx; ay = by; az = bz; wa = wb; px = qx; py = qy; pz = qz;
        }}
    }}
    V pulled_x = V(T(0)), pulled_y = pulled_x, pulled_z = pulled_x, change = pulled_x, fraction = pulled_x;
#if JACOBI
    const V part = V(body.relaxation * table.share.data[c]);
#else
    const V part = V(T(1));
#endif
    for (int k = count - 1; k >= -1; --k) {{
        V push_x = V(T(0)), push_y = push_x, push_z = push_x;
        if (k >= 0) {{
            change = right[k] - fraction * change;
            fraction = ratio[k];
            const V taken = part * change;
#if {keep_lambda}
            V old = V(T(0));
            if (iteration > 0)
                old = LOAD(line_lam + LANES * k);
            STORE(line_lam + LANES * k, old + taken);
#endif
            push_x = nx[k] * taken; push_y = ny[k] * taken; push_z = nz[k] * taken;
        }}
        const Index a = at[k + 1];
        const V weight = LOAD(w + a * LANES);
#if {supports}
        T* const n = support + 5 * a * LANES;
        const V nx_ = LOAD(n), ny_ = LOAD(n + LANES), nz_ = LOAD(n + 2 * LANES);
        const V pressed = carried[k + 1]
            * (nx_ * (pulled_x - push_x) + ny_ * (pulled_y - push_y) + nz_ * (pulled_z - push_z));
        const V room = LOAD(n + 4 * LANES), gone = pressed < room ? FLOOR(pressed, 0) : room, held = pressed - gone;
        STORE(n + 3 * LANES, LOAD(n + 3 * LANES) + FLOOR(held, 0));
        STORE(n + 4 * LANES, room - gone);
        STORE(PLACE(a, 0), LOAD(PLACE(a, 0)) + weight * (push_x - pulled_x) + nx_ * held);
        STORE(PLACE(a, 1), LOAD(PLACE(a, 1)) + weight * (push_y - pulled_y) + ny_ * held);
        STORE(PLACE(a, 2), LOAD(PLACE(a, 2)) + weight * (push_z - pulled_z) + nz_ * held);
#else
        STORE(PLACE(a, 0), LOAD(PLACE(a, 0)) + weight * (push_x - pulled_x));
        STORE(PLACE(a, 1), LOAD(PLACE(a, 1)) + weight * (push_y - pulled_y));
        STORE(PLACE(a, 2), LOAD(PLACE(a, 2)) + weight * (push_z - pulled_z));
#endif
#if {forces}
        ADD_PULL(a, push_x - pulled_x, push_y - pulled_y, push_z - pulled_z, weight)
#endif
        pulled_x = push_x; pulled_y = push_y; pulled_z = push_z;
    }}
"""


def line_text(options: SweepOptions, scalar: Any) -> str:
    """Return C++ statements that solve line ``c``.

    Args:
        options: what to compile for; ``longest_line`` is the number of segments there is room for.
        scalar: ``wp.float32`` or ``wp.float64``; the text is the same.
    """
    flags = {name: int(getattr(options, name)) for name in ("damped", "varied", "keep_lambda", "supports")}
    flags["forces"] = int(options.grip_forces)
    return _SOLVE.format(longest=max(options.longest_line, 1), least=LEAST_COMPLIANCE, **flags)
