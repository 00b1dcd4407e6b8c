// Lines wrapped round colliders: their lengths along the surface, and belt friction.
//
// A chord through an edge pulls its particle straight into the face, where friction would hold it against any pull. So
// a segment whose ends are near the same convex collider is measured along a string round it: a cylinder that touches
// both surfaces, with straight parts up to the tangent points and an arc between them. That is the shortest path round
// one edge, a round shape or a sphere. The segment pulls each end in the direction of the string there. Friction
// changes the tension across the arc by the factor exp(mu angle) (Euler, Eytelwein), which keeps the system of
// kernels/solve/lines.py tridiagonal.
//
// Consecutive taut segments that are wrapped form a run, which slips or sticks as a whole. A first solve without
// friction gives the direction in which it would slip. A run that friction would make slip the other way sticks
// instead: one of its particles is held at the place it would have without slip. Friction due to the weight of
// particles belongs to their contacts, and so does all friction of one-segment lines. Two cases keep chords: Jacobi's
// method, and threads of cloth that overlaps a collider, since lengths that jump would throw the cloth on its way out.
//
// Taut lines are solved in rounds, as straight ones are (kernels/solve/lines.py), but unrolled: displacements turn with
// the string from one particle to the next, so that sliding is not resisted. The pressure of the tension acts on the
// collider.
#pragma once
#include "lines.h"

namespace pbd {

// Smallest cosine of the angle between the normals at its ends for which a segment may be wrapped.
constexpr double SHARPEST = -0.55;
// Squared sine of the angle between normals below which the surface counts as flat.
constexpr double STRAIGHT = 1e-6;
// How far rounding may place the axis of a round shape beyond a segment's end, in radii of the bend.
constexpr double DOUBT = 0.5;
// Largest exponent of belt friction at one end of a segment.
constexpr double MOST_GRIP = 4.0;
// Offset of the stored slack of a segment while it is wrapped.
constexpr double ROUND = 4.0;
// Friction state of a run: undecided (0), slipping towards the line's end (1) or its start (-1), or sticking (STUCK).
constexpr int STUCK = 2;

// e^x for |x| <= MOST_GRIP, with a relative error of 5e-5.
template <class V> PBD_INLINE V exponential(V x) {
    PBD_CONTRACT_ON
    using T = Element<V>;
    const V y = x * T(0.125);
    const V e = T(1) + y * (T(1) + y * (T(1.0 / 2) + y * (T(1.0 / 6) + y * (T(1.0 / 24) + y * T(1.0 / 120)))));
    const V square = e * e, fourth = square * square;
    return fourth * fourth;
}

// Arrays over the segments of a wrapped line, besides LineArrays.
template <class Options, class V> struct WrapArrays {
    static constexpr int SEGMENTS = Options::LONGEST;
    V bx[SEGMENTS], by[SEGMENTS], bz[SEGMENTS];  // direction in which the string arrives at its end
    V wanted[SEGMENTS];                          // rest length (with allowed excess) minus length
    V turn[SEGMENTS];                            // angle of its arc [rad], or 0
    V slip[SEGMENTS];                            // slip along the surface before the solve
    V run[SEGMENTS], sum[SEGMENTS + 1];          // friction state of its run; accumulated slip of the run
    V start[SEGMENTS], end[SEGMENTS];            // factors of the segment's tension at each end
};

template <class Options, class One> struct WrappedLine : Line<Options, One> {
    using Base = Line<Options, One>;
    using Base::at, Base::carried, Base::count, Base::density, Base::iteration, Base::leaning, Base::longer,
        Base::loose, Base::most, Base::multipliers, Base::nx, Base::ny, Base::nz, Base::one, Base::over, Base::place,
        Base::ratio, Base::relative, Base::relief, Base::rest_length, Base::right, Base::row, Base::size, Base::slack,
        Base::soft, Base::softness, Base::start_x, Base::start_y, Base::start_z, Base::taut, Base::tauter, Base::load,
        Base::push_along, Base::store, Base::touches, Base::weight;
    using typename Base::Index;
    using typename Base::T;
    using typename Base::V;
    static constexpr int LANES = Base::LANES, ROW = Base::ROW;
    using Vector = Vec3<V>;
    WrapArrays<Options, V>& wraps;
    T* wrenches = nullptr;  // forces and moments of particles on each collider
    int colliders = 0;
    bool woven = false;  // whether this is a thread of cloth
    V hardest;           // tension measure: see find_tension
    V goes_round;        // 1 where a segment is wrapped, or still has slack from wrapping, else 0

    PBD_INLINE WrappedLine(const Base& line, WrapArrays<Options, V>& wraps) : Base(line), wraps(wraps) {}

    PBD_INLINE Vector vector(const T* numbers) const {
        return {load(numbers), load(numbers + LANES), load(numbers + 2 * LANES)};
    }
    PBD_INLINE Vector ahead(int k) const { return {nx[k], ny[k], nz[k]}; }
    PBD_INLINE Vector behind(int k) const { return {wraps.bx[k], wraps.by[k], wraps.bz[k]}; }
    // Displacement of particle k in the substep, relative to the surface below it.
    PBD_INLINE Vector gone(int k) const {
        return vector(place(k)) - vector(one.arrays.previous + ROW * (Index)at[k] * LANES) -
               vector(row(k) + TRAVEL * LANES);
    }

    // Measure all segments; in later rounds only those of taut lines.
    PBD_INLINE void measure(int round) {
        PBD_CONTRACT_ON
        V clear = V(T(1));
        if (woven)
            for (int k = 0; k <= count; ++k) clear = load(row(k) + OVERLAPS * LANES) > T(0) ? V(T(0)) : clear;
        const V lines = round == 0 ? V(T(1)) : (round == 1 ? taut : tauter);
        if (round == 0) goes_round = V(T(0));
        for (int k = 0; k < count; ++k) {
            const Vector d = vector(place(k + 1)) - vector(place(k));
            const V length = root(dot(d, d)), one_over = T(1) / at_least(length, 1e-30);
            if (round == 0) {
                wraps.turn[k] = wraps.slip[k] = wraps.run[k] = V(T(0));
                wraps.start[k] = wraps.end[k] = V(T(1));
            }
            const auto now = lines > T(0);
            over[k] = now ? one_over : over[k];
            put(k, now, one_over * d, one_over * d);
            const V here = load(row(k) + COLLIDER * LANES), there = load(row(k + 1) + COLLIDER * LANES);
            const auto could = (clear > T(0)) & (here > T(0)) & (here == there) & (load(row(k) + BEND * LANES) >= T(0));
            bend(k, d, length, could, now, round == 0);
        }
    }

    template <class Mask> PBD_INLINE void put(int k, Mask now, const Vector& a, const Vector& b) {
        const Vector ahead_ = choose(now, a, ahead(k)), behind_ = choose(now, b, behind(k));
        nx[k] = ahead_.x, ny[k] = ahead_.y, nz[k] = ahead_.z;
        wraps.bx[k] = behind_.x, wraps.by[k] = behind_.y, wraps.bz[k] = behind_.z;
    }

    // Wrap segment k round the collider, between the surfaces nearest to its ends, as a string round the cylinder that
    // touches
    // both: about an edge (of one contact radius) or about the axis of a round shape. In the plane across the axis, the
    // string has straight parts up to the tangent points and an arc between them.
    template <class Mask, class Now>
    PBD_INLINE void bend(int k, const Vector& apart, V length, Mask could, Now now, bool first) {
        PBD_CONTRACT_ON
        const auto straight = [&](auto could) {
            const V allowed =
                any(load(slack + LANES * k) != T(0)) ? leave(k, length < T(0), could, length, length, first) : V(T(0));
            wraps.wanted[k] = now ? size * rest_length[k] + allowed - length : wraps.wanted[k];
            if (first) goes_round = allowed != T(0) ? V(T(1)) : goes_round;
        };
        if (!any(could)) return straight(could);
        const T *const ra = row(k), *const rb = row(k + 1);
        const V radius = load(ra + BEND * LANES);
        const Vector na = vector(ra), nb = vector(rb), e = cross(na, nb);
        const V c = dot(na, nb), sine2 = at_least(dot(e, e), 1e-30), sine = root(sine2), per = T(1) / sine;
        // Coordinates of each end relative to the axis: along its normal and along the surface, towards and away from
        // the other end. An end inside the surface counts as on it.
        const V high_a = load(ra + HEIGHT * LANES), high_b = load(rb + HEIGHT * LANES);
        const V out_a = at_least(-high_a, 0), out_b = at_least(-high_b, 0);
        const V up_a = radius + out_a + high_a;
        V up_b = radius + out_b + high_b;
        const Vector d = apart + out_b * nb - out_a * na;
        V on_a = (up_b - dot(nb, d) - c * up_a) * per, on_b = (c * up_b - up_a - dot(na, d)) * per;
        const Vector ta = per * (nb - c * na), tb = per * (c * nb - na);
        // Heights date from before particles were moved in this substep. Where the normals are nearly parallel, the
        // axis may then seem to lie outside the segment; it is put at the nearer end.
        const V doubt = T(DOUBT) * radius;
        const auto beside = (on_a > doubt) | (on_b < -doubt);
        if (any(beside)) {
            const V onto = on_b < T(0) ? V(on_a - on_b) : V(T(0)), back = beside ? onto : on_a;
            up_b = beside ? V(c * up_a + sine * back + dot(nb, d)) : up_b;
            on_b = beside ? V(c * back - sine * up_a + dot(tb, d)) : on_b;
            on_a = back;
        }
        const V far_a = at_least(up_a * up_a + on_a * on_a, 1e-30), far_b = at_least(up_b * up_b + on_b * on_b, 1e-30);
        const V square = radius * radius, free_a = root(at_least(far_a - square, 0)),
                free_b = root(at_least(far_b - square, 0));
        const V in_a = far_a < square ? V(root(far_a)) : radius, in_b = far_b < square ? V(root(far_b)) : radius;
        // Normals at the tangent points, as angles from the normals at the ends.
        const V cos_a = (in_a * up_a - free_a * on_a) / far_a, sin_a = (free_a * up_a + in_a * on_a) / far_a;
        const V cos_b = (in_b * up_b + free_b * on_b) / far_b, sin_b = (free_b * up_b - in_b * on_b) / far_b;
        const V both_cos = cos_a * cos_b - sin_a * sin_b, both_sin = sin_a * cos_b + cos_a * sin_b;
        const V turn = angle(V(sine * both_cos - c * both_sin), V(c * both_cos + sine * both_sin));
        const auto bends = could & (c > T(SHARPEST)) & (sine2 > T(STRAIGHT)) & (turn > T(0));
        if (!any(bends)) return straight(could);
        const V across = at_least(free_a + free_b + radius * turn, 1e-30), along = dot(d, e) * per;
        const V way = root(across * across + along * along), per_way = T(1) / at_least(way, 1e-30);
        const V share = across * per_way;
        const Vector side = (along * per_way * per) * e;
        const Vector a = (share * cos_a) * ta - (share * sin_a) * na + side;
        const Vector b = (share * cos_b) * tb + (share * sin_b) * nb + side;
        put(k, bends & now, a, b);
        const V measured = bends ? way : length, allowed = leave(k, bends, could, measured, length, first);
        wraps.wanted[k] = now ? size * rest_length[k] + allowed - measured : wraps.wanted[k];
        over[k] = (bends & now) ? per_way : over[k];
        if (first) {
            wraps.turn[k] = bends ? turn * share : V(T(0));
            wraps.slip[k] = bends ? T(0.5) * (dot(gone(k), a) + dot(gone(k + 1), b)) : V(T(0));
            goes_round = (bends | (allowed != T(0))) ? V(T(1)) : goes_round;
        }
    }

    // Allowed difference of segment k's length from its rest length, in either direction.
    //
    // When wrapping begins or ends abruptly, as for cloth that was put through an edge, the jump of the length would
    // throw the cloth. The jump is therefore allowed as slack, which is reduced gradually. It is stored in rest
    // lengths, plus ROUND while the segment is wrapped.
    template <class Mask, class Other>
    PBD_INLINE V leave(int k, Mask bends, Other could, V measured, V chord, bool first) {
        PBD_CONTRACT_ON
        T* const kept = slack + LANES * k;
        const V known = load(kept), rest = size * rest_length[k], per = T(1) / at_least(rest, 1e-30);
        const auto bent = known > T(0.5 * ROUND);
        const V before = (bent ? known - T(ROUND) : known) * rest;
        if (iteration > 0 || !first) return before;
        const V off = measured - rest, over = at_least(off, 0), under = off - over;
        const V longer = at_least(before - relief, 0), shorter = -at_least(-before - relief, 0);
        V left = longer + shorter;
        left = bends ? (bent ? left : before + measured - chord) : (bent ? (could ? left : off) : left);
        left = left > over ? over : left;
        left = left < under ? under : left;
        const V part = left * per,
                limited = part < T(0.25 * ROUND) ? at_least(part, -0.25 * ROUND) : V(T(0.25 * ROUND));
        store(kept, bends ? T(ROUND) + limited : limited);
        return limited * rest;
    }

    // Solve for the corrections of all segments, with the tension factors of friction at each end.
    PBD_INLINE void eliminate(int round) {
        PBD_CONTRACT_ON
        const V none = V(T(0));
        V wa = weight(0), last_right = none, inverse = none, left = none;
        Vector p = {none, none, none};
        for (int k = 0; k < count; ++k) {
            const V wb = weight(k + 1), start = wraps.start[k], end = wraps.end[k];
            const Vector a = ahead(k), b = behind(k), na = vector(row(k)), nb = vector(row(k + 1));
            const V into = dot(na, a), onto = dot(nb, b);
            V here = wa - carried[k] * into * into, there = wb - carried[k + 1] * onto * onto;
            V coupling = wa * dot(p, a) - carried[k] * into * dot(na, p);
            if constexpr (Options::LEANS) {
                const V from = push_along(k, a.x, a.y, a.z), to = push_along(k + 1, b.x, b.y, b.z);
                here -= leaning[k] * from * from;
                there -= leaning[k + 1] * to * to;
                coupling -= leaning[k] * from * push_along(k, p.x, p.y, p.z);
            }
            const V alpha = softness * relative[k], pliant = this->give(alpha, wa, wb);
            V wanted = wraps.wanted[k];
            if constexpr (Options::LEANS) wanted += longer[k];
            if constexpr (Options::KEEP_LAMBDA)
                if (iteration > 0) wanted -= alpha * load(multipliers + LANES * k);
            if (round > 0) wanted += pliant * density[k] / over[k];
            const V fraction = -(coupling * start * inverse), before = coupling * left;
            inverse = T(1) / at_least(here * start + there * end + pliant + before * fraction, 1e-30);
            last_right = (wanted + before * last_right) * inverse;
            right[k] = last_right;
            ratio[k] = fraction;
            left = end;
            p = b;
            wa = wb;
        }
        this->substitute();
    }

    // Sum the slip of each run of taut wrapped segments; the last segment of a run holds its sum.
    template <class Belongs> PBD_INLINE void add_up(Belongs belongs) {
        PBD_CONTRACT_ON
        V sum = V(T(0));
        for (int k = 0; k < count; ++k) {
            const Vector a = ahead(k), b = behind(k);
            V from = -(right[k] * wraps.start[k]), to = right[k] * wraps.end[k];
            if (k > 0) from += dot(behind(k - 1), a) * right[k - 1] * wraps.end[k - 1];
            if (k + 1 < count) to -= dot(ahead(k + 1), b) * right[k + 1] * wraps.start[k + 1];
            const V slips = wraps.slip[k] + T(0.5) * (weight(k) * from + weight(k + 1) * to);
            sum = belongs(k) ? sum + slips : V(T(0));
            wraps.sum[k] = sum;
        }
    }

    // Set the tension factors of belt friction (Euler, Eytelwein) across segment k. way: direction of slip, 1 or -1; 0
    // for none.
    PBD_INLINE void grip(int k, V way, int coefficient) {
        PBD_CONTRACT_ON
        const V power = T(0.5) * load(row(k) + coefficient * LANES) * wraps.turn[k];
        const V least = power < T(MOST_GRIP) ? power : V(T(MOST_GRIP)), factor = exponential(V(way * least));
        wraps.end[k] = factor;
        wraps.start[k] = T(1) / factor;
    }

    // Predict the direction in which runs slip from the solve without friction.
    PBD_INLINE bool begin_runs() {
        PBD_CONTRACT_ON
        const auto taut_round = [&](int k) { return (wraps.turn[k] > T(0)) & (right[k] < T(0)); };
        add_up(taut_round);
        V total = V(T(0));
        bool found = false;
        for (int k = count - 1; k >= 0; --k) {
            const auto inside = taut_round(k);
            const V next = k + 1 < count ? wraps.run[k + 1] : V(T(0));
            total = (next != T(0)) ? total : wraps.sum[k];
            wraps.run[k] = inside ? (total < T(0) ? V(T(-1)) : V(T(1))) : V(T(0));
            found |= any(inside);
        }
        if (found)
            for (int k = 0; k < count; ++k) grip(k, wraps.run[k], STATIC);
        return found;
    }

    // Make runs stick whose slip would reverse; let the others slide.
    PBD_INLINE void decide() {
        PBD_CONTRACT_ON
        add_up([&](int k) { return wraps.run[k] != T(0); });
        V total = V(T(0));
        for (int k = count - 1; k >= 0; --k) {
            const V next = k + 1 < count ? wraps.run[k + 1] : V(T(0)), now = wraps.run[k];
            total = (next != T(0)) ? total : wraps.sum[k];
            wraps.run[k] = ((now != T(0)) & (total * now <= T(0))) ? V(T(STUCK)) : now;
        }
        V before = V(T(0));
        for (int k = 0; k < count; ++k) {
            const V now = wraps.run[k];
            grip(k, now == T(STUCK) ? V(T(0)) : now, KINETIC);
        }
        for (int k = 0; k < count; ++k) {
            const V now = wraps.run[k];
            const auto sticks = (now == T(STUCK)) & (before == T(0));
            if (any(sticks)) {
                stick(k, sticks & touches(k), ahead(k));
                stick(k + 1, sticks & !touches(k), behind(k));
            }
            before = now;
        }
    }

    // Hold particle k at the place it would have without slip along a direction.
    template <class Mask> PBD_INLINE void stick(int k, Mask sticks, const Vector& way) {
        PBD_CONTRACT_ON
        const V back = sticks ? dot(gone(k), way) : V(T(0));
        if constexpr (Options::WRENCHES) push_collider(k, (back / at_least(weight(k), 1e-30)) * way);
        T* const to = place(k);
        store(to, load(to) - back * way.x);
        store(to + LANES, load(to + LANES) - back * way.y);
        store(to + 2 * LANES, load(to + 2 * LANES) - back * way.z);
        if (k < count) {
            wraps.wanted[k] -= back * dot(ahead(k), way);
            wraps.start[k] = sticks ? V(T(0)) : wraps.start[k];
        }
        if (k > 0) {
            wraps.wanted[k - 1] += back * dot(behind(k - 1), way);
            wraps.end[k - 1] = sticks ? V(T(0)) : wraps.end[k - 1];
        }
    }

    // Rotate a vector as the unit vector a is rotated to b, about the axis perpendicular to both.
    PBD_INLINE Vector turned(const Vector& v, const Vector& a, const Vector& b) const {
        PBD_CONTRACT_ON
        const Vector both = a + b;
        const V less = dot(both, v) / at_least(T(1) + dot(a, b), 1e-6), more = T(2) * dot(a, v);
        return v - less * both + more * b;
    }

    // Apply the forces found last implicitly, as Line::go_on does: solve (M + L) d = pushes.
    //
    // Wrapped parts are unrolled: the displacement of each particle is expressed in its own axes, and turns with the
    // string from one particle to the next. Otherwise sliding along the string would be resisted.
    PBD_INLINE void go_on(int round) {
        PBD_CONTRACT_ON
        const V none = V(T(0));
        const Vector zero = {none, none, none};
        const V part = round > 0 ? tauter : taut;
        V q = none, way = none;
        Vector gone = zero, back = zero;
        for (int k = 0; k <= count; ++k) {
            V next = none;
            Vector forth = zero, pulled = zero;
            if (k < count) {
                const V shortest = T(1) / at_least(size * rest_length[k], 1e-30);
                const V found = part * right[k] * (over[k] < shortest ? over[k] : shortest);
                const V before = density[k], all = at_least(before - found, 0), pull = (all - before) / over[k];
                density[k] = all;
                next = all * wraps.start[k];
                forth = (pull * wraps.start[k]) * ahead(k);
                pulled = (pull * wraps.end[k]) * behind(k);
            }
            const V light = weight(k), behind_ = light * q;
            const V over_pivot = T(1) / (T(1) + light * next + behind_ * (T(1) - way));
            way = light * next * over_pivot;
            const Vector n = vector(row(k)), push = forth - back;
            const auto held = (part > T(0)) & touches(k) & (dot(n, push) <= T(0));
            gone = over_pivot * (light * push + behind_ * gone);
            const V low = held ? at_least(load(row(k) + HEIGHT * LANES), 0) : V(T(-1));
            wraps.sum[k] = low;
            gone = gone - (held ? dot(n, gone) + low : none) * n;
            start_x[k] = gone.x, start_y[k] = gone.y, start_z[k] = gone.z;
            ratio[k] = way;
            if (k == count) break;
            q = density[k] * wraps.end[k];
            back = pulled;
            gone = turned(gone, ahead(k), behind(k));
        }
        gone = zero;
        for (int k = count; k >= 0; --k) {
            T* const to = place(k);
            if (k < count) gone = turned(gone, behind(k), ahead(k));
            gone = Vector{start_x[k], start_y[k], start_z[k]} + ratio[k] * gone;
            const Vector n = vector(row(k));
            T* const height = row(k) + HEIGHT * LANES;
            const V up = dot(n, gone), high = load(height), low = wraps.sum[k];
            const V least = touches(k) ? (high > T(0) ? V(-high) : none) : up;
            const V to_go = low >= T(0) ? V(-low) : (up < least ? least : up);
            gone = gone + (to_go - up) * n;
            store(height, high + to_go);
            store(to, load(to) + gone.x);
            store(to + LANES, load(to + LANES) + gone.y);
            store(to + 2 * LANES, load(to + 2 * LANES) + gone.z);
        }
    }

    PBD_INLINE void solve() {
        PBD_CONTRACT_ON
        taut = tauter = most = V(T(0));
        loose = V(T(count > 1 ? LEAST_COMPLIANCE : 0.0));
        this->find_carried();
        // Length of a segment with the excess that is allowed for having begun or ceased to be wrapped.
        const auto expected = [&](int k) { return V(wraps.wanted[k] + T(1) / over[k]); };
        if constexpr (Options::LEANS) {
            this->find_leaning();
            this->keep_length(this->still_yields(), expected);
        }
        eliminate(0);
        if constexpr (Options::LEANS) {
            const V yields = this->yield_to_contacts();
            if (any(yields > T(0))) {
                this->keep_length(yields, expected);
                eliminate(0);
            }
        }
        if (count > 1 && begin_runs()) {
            eliminate(0);
            decide();
            eliminate(0);
        }
        hardest = most;
        if (!this->find_taut(true)) return;
        for (int round = 0;;) {
            go_on(round);
            measure(++round);
            eliminate(round);
            if (round == LINE_ROUNDS || !any(tauter > T(0))) break;
        }
        find_tension();
    }

    // Find the tension after all rounds: the largest h^2 w sum(f / length) of its particles.
    PBD_INLINE void find_tension() {
        PBD_CONTRACT_ON
        const V taken_part = this->part_taken();
        V before = V(T(0));
        hardest = before;
        for (int k = 0; k <= count; ++k) {
            V next = V(T(0));
            if (k < count) next = at_least(density[k] - taken_part * right[k] * over[k], 0);
            const V load = weight(k) * (before + next);
            hardest = load > hardest ? load : hardest;
            before = next;
        }
    }

    // Store the tension of wrapped lines for pbd_gym/sim/watches/pulls.py.
    PBD_INLINE void note_tension() const {
        PBD_CONTRACT_ON
        T* const kept = row(0) + TENSION * LANES;
        store(kept, goes_round > T(0) ? hardest : load(kept));
    }

    // Share of segment k's tension by which it pulls the collider at one of its ends; `share` of it is left to the
    // particle there. A wrapped segment pulls back; a straight one pulls only where its particle sticks.
    PBD_INLINE V taken_up(int k, V share) const {
        PBD_CONTRACT_ON
        return wraps.turn[k] > T(0) ? share : share - T(1);
    }

    // Add to the force and moment of particle k, and of the string at it, on its collider, times the square of the time
    // step.
    PBD_INLINE void push_collider(int k, const Vector& push) {
        PBD_CONTRACT_ON
        if (!any((push.x != T(0)) | (push.y != T(0)) | (push.z != T(0)))) return;
        const Vector at_ = vector(place(k)), moment = cross(at_, push);
        const V number = load(row(k) + COLLIDER * LANES);
        const V sums[6] = {push.x, push.y, push.z, moment.x, moment.y, moment.z};
        for (int c = 0; c < colliders; ++c) {
            const auto it = (goes_round > T(0)) & (number == T(c + 1));
            if (!any(it)) continue;
            T* const to = wrenches + 6 * LANES * ((Index)at[k] * colliders + c);
            for (int i = 0; i < 6; ++i) store(to + i * LANES, load(to + i * LANES) + (it ? sums[i] : V(T(0))));
        }
    }

    // Normal load of a one-segment line at each of its ends, for friction, per unit of tension.
    //
    // The direction of slip depends on everything else that pulls at the ends, so their contacts, or the one contact
    // there is, take care of friction. A load of tanh(mu angle / 2) of the tension at both ends gives their tensions
    // the ratio exp(mu angle).
    PBD_INLINE V alone() const {
        PBD_CONTRACT_ON
        const V half = T(0.5) * wraps.turn[0], power = load(row(0) + STATIC * LANES) * half, square = power * power;
        const V part = half * (T(15) + square) / (T(15) + T(6) * square);  // tanh(x) / x, to 1 % up to 2
        return touches(0) == touches(1) ? part : T(2) * part;
    }

    // Press particle k into its collider by as much of the wanted depth as there is room for, so that it gets a
    // contact. Returns that depth.
    PBD_INLINE V press_in(int k, V wanted) {
        PBD_CONTRACT_ON
        T *const room_left = row(k) + ROOM * LANES, *const to = place(k);
        const V room = load(room_left), in = wanted < room ? wanted : room;
        const Vector n = vector(row(k));
        store(room_left, room - in);
        store(to, load(to) - in * n.x);
        store(to + LANES, load(to + LANES) - in * n.y);
        store(to + 2 * LANES, load(to + 2 * LANES) - in * n.z);
        return in;
    }

    PBD_INLINE void apply() {
        PBD_CONTRACT_ON
        const V none = V(T(0));
        const V taken_part = this->part_taken();
        const bool rounds = any(taut > T(0));
        Vector next = {none, none, none}, whole = next, pulled = next;
        V next_press = none;
        for (int k = count - 1; k >= -1; --k) {
            Vector push = {none, none, none}, from = push, all = push, all_from = push;
            V press = none, sum = none;
            if (k >= 0) {
                const V taken = taken_part * right[k];
                sum = taken;
                if (rounds) sum -= density[k] / over[k];
                if constexpr (Options::KEEP_LAMBDA) {
                    V old = none;
                    if (iteration > 0) old = load(multipliers + LANES * k);
                    store(multipliers + LANES * k, old + sum);
                }
                push = (taken * wraps.end[k]) * behind(k);
                from = (taken * wraps.start[k]) * ahead(k);
                all = (sum * wraps.end[k]) * behind(k);
                all_from = (sum * wraps.start[k]) * ahead(k);
                press = wraps.run[k] == T(STUCK) ? T(-0.5) * sum * wraps.turn[k] : none;
                if (count == 1) press = at_least(-sum, 0) * alone();
            }
            this->press_on(k, next, push, wraps.bx, wraps.by, wraps.bz);
            const V light = weight(k + 1), both = light * (press + next_press);
            T* const gripped = row(k + 1) + GRIPPED * LANES;
            V grips = touches(k + 1) ? at_least(both, 0) : none;
            if (count == 1) grips -= press_in(k + 1, grips);
            store(gripped, load(gripped) + grips);
            if constexpr (Options::WRENCHES) {
                Vector here = {none, none, none}, start = here;
                if (k >= 0) {
                    here = (sum * taken_up(k, wraps.end[k])) * behind(k);
                    start = (sum * taken_up(k, wraps.start[k])) * ahead(k);
                }
                push_collider(k + 1, pulled - here);
                pulled = start;
            }
            if constexpr (Options::FORCES)
                one.add_pull(at[k + 1], all.x - whole.x, all.y - whole.y, all.z - whole.z, light);
            next = from;
            whole = all_from;
            next_press = press;
        }
    }
};

// Copy of everything that solving a line writes, except forces on colliders.
template <class Options, class V> struct LineOutcome {
    V numbers[12 * (Options::LONGEST + 1) + 1];

    // Call a function with the address of each number and its copy.
    template <class Wrapped, class Then> PBD_INLINE void each(const Wrapped& line, Then then) {
        constexpr int LANES = Wrapped::LANES;
        V* number = numbers;
        for (int k = 0; k <= line.count; ++k) {
            for (int c = 0; c < 3; ++c) then(line.place(k) + c * LANES, *number++);
            for (int c = PRESSED; c <= HEIGHT; ++c) then(line.row(k) + c * LANES, *number++);
            if constexpr (Options::KEEP_LAMBDA)
                if (k < line.count) then(line.multipliers + k * LANES, *number++);
            if constexpr (Options::FORCES)
                for (int c = 0; c < 3; ++c) then(line.one.arrays.pulls + (3 * line.at[k] + c) * LANES, *number++);
        }
        if constexpr (Options::LEANS) then(line.yielded, *number++);
    }
};

#if !PBD_BLOCK
// Solve a line that is wrapped in some environments of the group only: both ways, of which each environment keeps its
// own. The result of an environment must not depend on the others.
//
// The line is passed by value, so that its members stay in registers where this is not called.
template <class Options, class Line, class Wrapped>
__attribute__((noinline)) void solve_both_ways(Line line, Wrapped wrapped) {
    using T = typename Wrapped::T;
    using V = typename Wrapped::V;
    LineOutcome<Options, V> outcome;
    const auto here = wrapped.goes_round > T(0);
    outcome.each(wrapped, [&](T* at, auto& number) { number = line.load(at); });
    wrapped.solve();
    wrapped.note_tension();
    wrapped.apply();
    outcome.each(wrapped, [&](T* at, auto& number) {
        const V found = line.load(at);
        line.store(at, here ? found : V(number));
        number = found;
    });
    line.solve();
    line.apply();
    outcome.each(wrapped, [&](T* at, auto& number) { line.store(at, here ? V(number) : line.load(at)); });
}
#endif

// Solve a line that goes round a collider in some environment. Returns whether it does.
//
// first: place of the line's first particle in the table.
template <class Options, class One, class Table, class Body>
PBD_INLINE bool solve_wrapped(const Line<Options, One>& line, const Table& table, const Body& body, int first) {
    using T = typename One::T;
    WrapArrays<Options, typename One::V> wraps;
    WrappedLine<Options, One> wrapped(line, wraps);
    wrapped.woven = table.part.data[first] < T(1);
    if constexpr (Options::WRENCHES) {
        wrapped.wrenches = (T*)body.wrenches.data;
        wrapped.colliders = body.wrenches.shape[1];
    }
    wrapped.measure(0);
    if (!any(wrapped.goes_round > T(0))) return false;
#if !PBD_BLOCK
    if constexpr (One::LANES > 1) {
        if (!all(wrapped.goes_round > T(0))) {
            solve_both_ways<Options>(line, wrapped);
            return true;
        }
    }
#endif
    wrapped.solve();
    wrapped.note_tension();
    wrapped.apply();
    return true;
}

// Whether no collider is near any particle of a line in any environment, and no segment may differ from its rest length
// for having been wrapped.
//
// at:    its particles.
// slack: allowed differences of its segments.
template <class One, class Body>
PBD_INLINE bool is_free(const One& one, const Body& body, const int* at, const typename One::T* slack, int segments) {
    using V = typename One::V;
    using T = typename One::T;
    constexpr int LANES = One::LANES;
    V most = V(T(0));
    if constexpr (!One::JACOBI)
        for (int k = 0; k < segments; ++k) most = one.load(slack + LANES * k) != T(0) ? V(T(1)) : most;
    if (supported(body)) {
        const T* const rows = (const T*)body.support.data;
        for (int k = 0; k <= segments; ++k) {
            const T* const row = rows + SUPPORT * (typename One::Index)at[k] * LANES;
            most += one.load(row + TOUCHES * LANES) + one.load(row + COLLIDER * LANES);
        }
    }
    return !any(most > T(0));
}

// Solve line c of a sweep.
//
// size: factor of rest lengths.  stiffness: factor of the compliance, where environments differ.
template <class Options, class One, class Table, class Body, class T, class V>
PBD_INLINE void solve_line(const One& one, const Table& table, const Body& body, T inv_h, int iteration, V size,
                           V stiffness) {
    PBD_CONTRACT_ON
    const int c = one.c, first = table.offsets.data[c], count = table.offsets.data[c + 1] - first - 1;
    T* const slack = (T*)body.memory.data +
                     One::LANES * ((Options::LEANS ? 3 * body.x.shape[0] + table.offsets.shape[0] - 1 : 0) + first - c);
    if constexpr (Options::SUPPORTS) {
        if (is_free(one, body, one.arrays.indices + first, slack, count)) {
            solve_line<typename Options::Free>(one, table, body, inv_h, iteration, size, stiffness);
            return;
        }
    }
    LineArrays<Options, typename One::V> arrays;
    Line<Options, One> line(one, arrays);
    line.at = one.arrays.indices + first;
    line.count = count;
    line.rest_length = (const T*)table.rest_length.data + first;
    line.relative = (const T*)table.relative_compliance.data + first;
    line.multipliers = one.arrays.multipliers + One::LANES * (first - c);  // one per segment: one fewer than particles
    line.support = (T*)body.support.data;
    line.lean = (const T*)body.memory.data;
    line.yielded = (T*)body.memory.data + One::LANES * (3 * body.x.shape[0] + c);
    line.slack = slack;
    line.relief = body.relief;
    line.size = size;
    line.softness = V(table.compliance.data[c] * (inv_h * inv_h)) * stiffness;
    if constexpr (Options::COMPENSATED) line.left = T(1) - table.kept.data[c];
    line.iteration = iteration;
    line.part = One::JACOBI ? T(body.relaxation * table.share.data[c]) : T(1);
    if constexpr (Options::SUPPORTS && !One::JACOBI)
        if (solve_wrapped<Options>(line, table, body, first)) return;
    line.solve();
    line.apply();
}

}  // namespace pbd
