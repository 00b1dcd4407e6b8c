"""Lines: chains of distance constraints whose corrections are solved for together, exactly.

Gauss-Seidel moves a correction by one particle a sweep, so a fine thread stretches. The segments k of a line, between
its particles k and k + 1, make up the system

    (w_k + w_{k+1} + alpha_k) dl_k - w_k (n_{k-1} . n_k) dl_{k-1} - w_{k+1} (n_k . n_{k+1}) dl_{k+1}
        = -C_k - alpha_k l_k

with directions n, inverse masses w, multipliers l and ``alpha = compliance / h^2``: XPBD's linear system (Macklin et
al. 2016, doi:10.1145/2994258.2994272, eq. 18 and 26) for all segments at once. It is tridiagonal, and Thomas's
algorithm solves it in one pass forth and one back. Deul et al. 2018, Direct position-based solver for stiff rods,
doi:10.1111/cgf.13326. A particle that is held or pinned has w = 0 and cuts the line in two.

A particle that a curved collider carries has no weight along the normal there:
:mod:`pbd_gym.kernels.colliders.supports`.

Damping multiplies the part of the matrix that comes from the weights by ``1 + gamma``, as it does for one constraint.

The system takes directions as they are before the correction. Tension f pulls a particle back sideways by ``f /
length`` for every metre that it is off. Where ``h^2 w f / length`` is above a third, a light particle is thrown beyond
its neighbours within a substep, and farther in the next: what hangs on the line explodes. The missing term is the
geometric stiffness (Tournier et al. 2015, Stable constrained dynamics, doi:10.1145/2766969). A line that is taut is
therefore solved for in rounds. Each takes the force densities ``q = -l / length`` found so far, lets the particles go
where these take them implicitly,

    (M + L) d = -L x,    with L the Laplacian of the line that is weighted by q,

which is tridiagonal too and never overshoots, and solves there for what is left of the correction. Forces act between
particles: momentum is kept. What the last round finds is cut where it is too stiff itself. Lines that a curved collider
carries are solved for once, and so are all by Jacobi's method.
"""

from __future__ import annotations

from typing import Any

from pbd_gym.kernels.data.options import SweepOptions

LEAST_COMPLIANCE = 2.0**-14
"""This part of the larger weight of a segment counts as compliance whatever the material says. A straight line that is
held at both ends, and has no compliance, would have no solution; with this it stretches evenly."""

SLACK = 0.5
"""A line is solved for once if ``h^2 w sum(f / length)``, over both sides of a particle, is nowhere above this: then a
zigzag of neighbours vanishes within a substep, at most. From 2/3 it grows."""
ROUNDS = 4
"""Of implicit steps for lines that are tauter, but one up to :data:`TAUT`: cloth that hands swing."""
TAUT = 4.0 * SLACK
ROUND_COMPLIANCE = 0.125
"""What they make of :data:`LEAST_COMPLIANCE`: less, as it would stretch taut lines most."""

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
    V carried[LONGEST + 1], lies = V(T(0));
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
            lies += carried[k];
            px = qx; py = qy; pz = qz;
        }}
    }}
#endif
    // Of each segment: its direction, one over its length, and from elimination
    // dl_{{k-1}} = right_{{k-1}} - ratio_k dl_k; then dl in place of right.
    V nx[LONGEST + 1], ny[LONGEST + 1], nz[LONGEST + 1], right[LONGEST + 1], ratio[LONGEST + 1], over[LONGEST];
#if JACOBI
    constexpr int ROUNDS = 0;  // others read what a round would write
#else
    constexpr int ROUNDS = {rounds};
#endif
    // Of taut lines: force densities times h^2, and where their particles were.
    V density[LONGEST], start_x[LONGEST + 1], start_y[LONGEST + 1], start_z[LONGEST + 1];
    V taut = V(T(0)), tauter = taut, most = taut, loose = V(least);
    for (int round = 0;; ++round) {{
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
            const V pliant = alpha + loose * (wa > wb ? wa : wb);
            if (round > 0)
                wanted += pliant * density[k] * length;
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
            const V pivot = diagonal + pliant + coupling * fraction;
            inverse = T(1) / FLOOR(pivot, 1e-30);
            last_right = (wanted + coupling * last_right) * inverse;
            nx[k] = qx; ny[k] = qy; nz[k] = qz;
            right[k] = last_right; ratio[k] = fraction; over[k] = one_over;
            ax = bx; ay = by; az = bz; wa = wb; px = qx; py = qy; pz = qz;
        }}
        V change = V(T(0)), fraction = change, pulls = change;
        most = change;
        for (int k = count - 1; k >= 0; --k) {{
            change = right[k] - fraction * change;
            fraction = ratio[k];
            right[k] = change;
            const V pull = (change > T(0) ? change : -change) * over[k];
            const V load = LOAD(w + at[k + 1] * LANES) * (pull + pulls);
            most = load > most ? load : most;
            pulls = pull;
        }}
        const V load = LOAD(w + at[0] * LANES) * pulls;
        most = load > most ? load : most;
        if (round == 0) {{
            taut = most > T({slack}) ? V(T(1)) : V(T(0));
#if {supports}
            taut = lies > T(0) ? V(T(0)) : taut;  // rounds would press it through what carries it
#endif
            if (ROUNDS == 0 || !ANY(taut > T(0))) break;
            loose = taut > T(0) ? loose * T({softer}) : loose;
            tauter = most > T({taut}) ? taut : V(T(0));
            for (int k = 0; k <= count; ++k) {{
                const T* const from = x + ROW * (Index)at[k] * LANES;
                start_x[k] = LOAD(from); start_y[k] = LOAD(from + LANES); start_z[k] = LOAD(from + 2 * LANES);
                if (k < count) density[k] = V(T(0));
            }}
        }}
        if (round == ROUNDS || (round > 0 && !ANY(tauter > T(0)))) break;
        // The forces found so far, at positions that they lead to: (M + L) d = -L start, with L of the densities.
        V q = V(T(0)), way = q, gone_x = q, gone_y = q, gone_z = q, back_x = q, back_y = q, back_z = q;
        for (int k = 0; k <= count; ++k) {{
            V next = V(T(0)), ahead_x = next, ahead_y = next, ahead_z = next;
            if (k < count) {{
                const V shortest = T(1) / FLOOR(size * rest_length[k], 1e-30);
                const V found = (round > 0 ? tauter : taut) * right[k] * (over[k] < shortest ? over[k] : shortest);
                next = FLOOR(density[k] - found, 0);
                density[k] = next;
                ahead_x = next * (start_x[k + 1] - start_x[k]);
                ahead_y = next * (start_y[k + 1] - start_y[k]);
                ahead_z = next * (start_z[k + 1] - start_z[k]);
            }}
            const V weight = LOAD(w + at[k] * LANES), behind = weight * q;
            const V over_pivot = T(1) / (T(1) + weight * next + behind * (T(1) - way));
            way = weight * next * over_pivot;
            gone_x = (weight * (ahead_x - back_x) + behind * gone_x) * over_pivot;
            gone_y = (weight * (ahead_y - back_y) + behind * gone_y) * over_pivot;
            gone_z = (weight * (ahead_z - back_z) + behind * gone_z) * over_pivot;
            nx[k] = gone_x; ny[k] = gone_y; nz[k] = gone_z; ratio[k] = way;
            q = next; back_x = ahead_x; back_y = ahead_y; back_z = ahead_z;
        }}
        gone_x = gone_y = gone_z = V(T(0));
        for (int k = count; k >= 0; --k) {{
            T* const to = x + ROW * (Index)at[k] * LANES;
            gone_x = nx[k] + ratio[k] * gone_x;
            gone_y = ny[k] + ratio[k] * gone_y;
            gone_z = nz[k] + ratio[k] * gone_z;
            STORE(to, start_x[k] + gone_x);
            STORE(to + LANES, start_y[k] + gone_y);
            STORE(to + 2 * LANES, start_z[k] + gone_z);
        }}
    }}
    V px = V(T(0)), py = px, pz = px, whole_x = px, whole_y = px, whole_z = px;  // of the segment ahead
#if JACOBI
    const V part = V(body.relaxation * table.share.data[c]);
#else
    const V part = ((taut > T(0)) & (most > T({slack}))) ? T({slack}) / FLOOR(most, {slack}) : V(T(1));
#endif
    for (int k = count - 1; k >= -1; --k) {{
        V push_x = V(T(0)), push_y = push_x, push_z = push_x, all_x = push_x, all_y = push_x, all_z = push_x;
        if (k >= 0) {{
            const V taken = part * right[k];
            V sum = taken;
            if (ANY(taut > T(0))) sum -= density[k] / over[k];
#if {keep_lambda}
            V old = V(T(0));
            if (iteration > 0)
                old = LOAD(line_lam + LANES * k);
            STORE(line_lam + LANES * k, old + sum);
#endif
            push_x = nx[k] * taken; push_y = ny[k] * taken; push_z = nz[k] * taken;
            all_x = nx[k] * sum; all_y = ny[k] * sum; all_z = nz[k] * sum;
        }}
        const Index a = at[k + 1];
        const V weight = LOAD(w + a * LANES);
#if {supports}
        T* const n = support + 5 * a * LANES;
        const V nx_ = LOAD(n), ny_ = LOAD(n + LANES), nz_ = LOAD(n + 2 * LANES);
        const V press = weight * (nx_ * (px - push_x) + ny_ * (py - push_y) + nz_ * (pz - push_z));
        const auto lying = carried[k + 1] > T(0);
        const V pressed = lying ? press : V(T(0));
        const V room = LOAD(n + 4 * LANES), gone = pressed < room ? FLOOR(pressed, 0) : room, held = pressed - gone;
        const V load = lying ? held : press;
        if (ANY(load > T(0))) {{
            // Round an edge the line is a chord: it presses on a face the more, the less it pulls along it, and would
            // lock. What counts is what a thread bent like it presses: its pull along the face times half the turn.
            const bool begins = k < 0, ends = k + 1 == count;
            const V none = V(T(0));
            const V fx = ends ? none : nx[k + 1], fy = ends ? none : ny[k + 1], fz = ends ? none : nz[k + 1];
            const V bx = begins ? none : nx[k], by = begins ? none : ny[k], bz = begins ? none : nz[k];
            const V turn = FLOOR(nx_ * (bx - fx) + ny_ * (by - fy) + nz_ * (bz - fz), 0);
            const V sx = bx + fx, sy = by + fy, sz = bz + fz;
            const auto along = [&](V ux, V uy, V uz) {{
                const V into = nx_ * ux + ny_ * uy + nz_ * uz;
                return SQRT(FLOOR(ux * ux + uy * uy + uz * uz - into * into, 0));
            }};
            const V pull = weight * (along(px, py, pz) + along(push_x, push_y, push_z));
            const V wrap = pull * turn / FLOOR(SQRT(sx * sx + sy * sy + sz * sz), 1e-30);
            const V counts = wrap < load ? wrap : load;
            // Where the line does move the particle into the face, the rest is depth that must not count either.
            const V change = lying ? counts : counts - load;
            STORE(n + 3 * LANES, LOAD(n + 3 * LANES) + (load > T(0) ? change : none));
        }}
        STORE(n + 4 * LANES, room - gone);
        STORE(PLACE(a, 0), LOAD(PLACE(a, 0)) + weight * (push_x - px) + nx_ * held);
        STORE(PLACE(a, 1), LOAD(PLACE(a, 1)) + weight * (push_y - py) + ny_ * held);
        STORE(PLACE(a, 2), LOAD(PLACE(a, 2)) + weight * (push_z - pz) + nz_ * held);
#else
        STORE(PLACE(a, 0), LOAD(PLACE(a, 0)) + weight * (push_x - px));
        STORE(PLACE(a, 1), LOAD(PLACE(a, 1)) + weight * (push_y - py));
        STORE(PLACE(a, 2), LOAD(PLACE(a, 2)) + weight * (push_z - pz));
#endif
#if {forces}
        ADD_PULL(a, all_x - whole_x, all_y - whole_y, all_z - whole_z, weight)
#endif
        px = push_x; py = push_y; pz = push_z;
        whole_x = all_x; whole_y = all_y; whole_z = all_z;
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
    numbers = {"least": LEAST_COMPLIANCE, "rounds": ROUNDS, "slack": SLACK, "taut": TAUT, "softer": ROUND_COMPLIANCE}
    return _SOLVE.format(longest=max(options.longest_line, 1), **numbers, **flags)
