// Lines: chains of distance constraints whose corrections are solved together, exactly.
//
// kernels/solve/lines.py derives the linear system and its geometric stiffness, with sources.
#pragma once
#include "algebra.h"
#include "supports.h"
#include "sweep.h"

namespace pbd {

// Smallest compliance of a segment, as a share of the larger inverse mass at its ends. The system of a straight line
// held at both ends is singular without compliance; with this one it stretches evenly.
constexpr double LEAST_COMPLIANCE = 6.103515625e-05;
// Lines are solved once while h^2 w sum(f / length), over both segments at a particle, stays below this limit
// everywhere: then a zigzag of neighbours decays within a substep. It grows from 2/3 on.
constexpr double SLACK = 0.5;
// Implicit rounds for lines that exceed it; one round if they stay below TAUT, as cloth swung by hands does.
constexpr int LINE_ROUNDS = 4;
constexpr double TAUT = 2.0;
// Factor of LEAST_COMPLIANCE in these rounds: it would stretch the tautest lines most.
constexpr double ROUND_COMPLIANCE = 0.125;
// Share of its inverse mass that a particle loses along the normal of a contact that tension presses it on: two
// particles pressed on each other move together.
constexpr double HEAVIER = 0.5;
// A line that leans on other particles begins to yield at this h^2 w sum(f / length); from SLACK on its compliance
// grows by this multiple of the inverse mass. Contacts can then withstand the tension, and a thread too short for its
// knot stretches.
constexpr double YIELD = 0.1;
constexpr double YIELDING_COMPLIANCE = 1.0;
// Share of this yielding that remains in the next substep: a line that regained its length at once would throw its
// load.
constexpr double STIFFENING = 0.9;
// Smallest yielding that counts.
constexpr double LEAST_YIELD = 1e-4;
// Mean stretch from which a line is marked as too long for having yielded, by adding MARK to its state, until it has
// its length again.
constexpr double TOO_LONG = 0.05;
constexpr double MARK = 2.0;
// Stretch that is no remainder of yielding but that of the material, under this h^2 w f / length.
constexpr double PULLED = 4.0;

// Compile-time options: most segments of a line; whether multipliers are kept over iterations, colliders can carry
// particles, contacts give directions to lean on, and forces at grips and on colliders are summed; whether the
// compliance of one-segment lines is reduced by the softness that a single Gauss-Seidel sweep adds; and whether
// positions are rounded as those of lines that colliders can carry.
template <int Longest, bool KeepLambda, bool Supports, bool Leans, bool Forces, bool Wrenches, bool Compensated,
          bool Alike = Supports>
struct LineOptions {
    static constexpr int LONGEST = Longest;
    static constexpr bool KEEP_LAMBDA = KeepLambda, SUPPORTS = Supports, LEANS = Leans, FORCES = Forces,
                          WRENCHES = Wrenches, COMPENSATED = Compensated, ALIKE = Alike;
    // Options for lines that no collider is near. What is near in another environment then changes no bit of this one.
    using Free = LineOptions<Longest, KeepLambda, false, Leans, Forces, false, Compensated, Alike>;
};

// Arrays over the segments and particles of a line. They are kept apart from Line so that its other members stay in
// registers.
template <class Options, class V> struct LineArrays {
    static constexpr int SEGMENTS = Options::LONGEST, PARTICLES = SEGMENTS + 1;
    V carried[Options::SUPPORTS ? PARTICLES : 1];  // inverse mass of a particle that its collider carries, else 0
    V leaning[Options::LEANS ? PARTICLES : 1];     // inverse mass that it loses along a contact normal, else 0
    V longer[Options::LEANS ? SEGMENTS : 1];       // allowed excess length of a segment that has yielded
    // Per segment: unit direction, one over the length, and the elimination dl_{k-1} = right_{k-1} - ratio_k dl_k. Back
    // substitution replaces right by dl.
    V nx[PARTICLES], ny[PARTICLES], nz[PARTICLES], right[PARTICLES], ratio[PARTICLES], over[SEGMENTS];
    // Taut lines only: force densities times h^2, and the positions at the start of the rounds.
    V density[SEGMENTS], start_x[PARTICLES], start_y[PARTICLES], start_z[PARTICLES];
};

// Line c of the sweep: its particles and segments.
template <class Options, class One> struct Line {
    using L = typename One::L;
    using T = typename One::T;
    using V = typename One::V;
    using Index = typename One::Index;
    static constexpr int LANES = One::LANES, ROW = One::ROW;
    // Jacobi's method allows no rounds: other lines read the positions that a round writes.
    static constexpr int ROUNDS = One::JACOBI ? 0 : LINE_ROUNDS;

    const One& one;
    const int* at;         // indices of its particles
    int count;             // number of segments
    const T* rest_length;  // per segment, not yet scaled by the size of the environment
    const T* relative;     // compliance of each segment relative to the largest
    T* multipliers;        // one per segment
    T* support;            // rows of particles: see kernels/colliders/supports.py
    const T* lean;         // contact normals of particles: kernels/contacts/leans.py
    T* yielded;            // state of yielding to contacts, 0 to 1
    T* slack;              // allowed excess length of wrapped segments: see wraps.h
    T relief;              // amount of it that is taken back per substep
    V size, softness;      // scale of the environment; largest compliance / h^2
    T left = T(0);         // softness of a single sweep, as a share of the inverse masses
    int iteration;
    T part;  // share of the correction that a Jacobi iteration applies

    V lies;      // summed inverse mass of particles that colliders carry
    V leans;     // the same of those that lean on other particles
    V soft;      // 1 where the line leans or still yields
    V too_long;  // 1 where it has been stretched by yielding
    V *const carried, *const leaning, *const longer, *const nx, *const ny, *const nz,
                                                                               *const right,
                                                                                   *const ratio,
                                                                                       *const over;  // see LineArrays
    V *const density, *const start_x, *const start_y, *const start_z;
    V taut, tauter, most, loose;

    template <class Arrays>
    PBD_INLINE Line(const One& one, Arrays& a)
        : one(one),
          carried(a.carried),
          leaning(a.leaning),
          longer(a.longer),
          nx(a.nx),
          ny(a.ny),
          nz(a.nz),
          right(a.right),
          ratio(a.ratio),
          over(a.over),
          density(a.density),
          start_x(a.start_x),
          start_y(a.start_y),
          start_z(a.start_z) {}

    PBD_INLINE V load(const T* numbers) const { return one.load(numbers); }
    PBD_INLINE void store(T* numbers, V value) const { one.store(numbers, value); }
    PBD_INLINE T* place(int k) const { return one.arrays.x + ROW * (Index)at[k] * LANES; }
    PBD_INLINE T* row(int k) const { return support + SUPPORT * (Index)at[k] * LANES; }
    PBD_INLINE auto touches(int k) const { return load(row(k) + TOUCHES * LANES) > T(0); }
    PBD_INLINE V weight(int k) const { return load(one.arrays.w + at[k] * LANES); }

    // Find the particles that a collider carries: those that tension presses on it. They have no inverse mass along its
    // normal.
    PBD_INLINE void find_carried() {
        PBD_CONTRACT_ON
        lies = V(T(0));
        each_turn([&](int k, V tx, V ty, V tz) {
            PBD_CONTRACT_ON
            const T* const n = row(k);
            const V out = load(n) * tx + load(n + LANES) * ty + load(n + 2 * LANES) * tz;
            carried[k] = ((out < T(0)) & touches(k)) ? weight(k) : V(T(0));
            lies += carried[k];
        });
    }

    // Find the particles that tension presses on other particles. They lose inverse mass along the contact normal.
    PBD_INLINE void find_leaning() {
        PBD_CONTRACT_ON
        leans = V(T(0));
        each_turn([&](int k, V tx, V ty, V tz) {
            PBD_CONTRACT_ON
            auto leant = push_along(k, tx, ty, tz) < T(0);
            if constexpr (Options::SUPPORTS) leant = leant & (carried[k] <= T(0));
            leaning[k] = leant ? T(HEAVIER) * weight(k) : V(T(0));
            leans += leant ? weight(k) : V(T(0));
        });
    }

    // Call a function for each particle with the direction of the net tension on it: unit vector ahead minus unit
    // vector behind.
    template <class Then> PBD_INLINE void each_turn(Then then) const {
        PBD_CONTRACT_ON
        V px = V(T(0)), py = px, pz = px;
        for (int k = 0; k <= count; ++k) {
            const T *const here = place(k), *const next = place(k < count ? k + 1 : k);
            const V dx = load(next) - load(here), dy = load(next + LANES) - load(here + LANES),
                    dz = load(next + 2 * LANES) - load(here + 2 * LANES);
            const V one_over = T(1) / at_least(root(dx * dx + dy * dy + dz * dz), 1e-30);
            const V qx = dx * one_over, qy = dy * one_over, qz = dz * one_over;
            then(k, V(qx - px), V(qy - py), V(qz - pz));
            px = qx;
            py = qy;
            pz = qz;
        }
    }

    // Component of a vector along the contact normal of particle k.
    PBD_INLINE V push_along(int k, V x, V y, V z) const {
        PBD_CONTRACT_ON
        const T* const n = lean + 3 * (Index)at[k] * LANES;
        return load(n) * x + load(n + LANES) * y + load(n + 2 * LANES) * z;
    }

    // Effective compliance of a segment: its material's, plus a small one that keeps long lines solvable.
    //
    // wa, wb: inverse masses of its ends.
    PBD_INLINE V give(V alpha, V wa, V wb) const {
        PBD_CONTRACT_ON
        if constexpr (Options::COMPENSATED) alpha = at_least(alpha - left * (wa + wb), 0);
        return alpha + loose * (wa > wb ? wa : wb);
    }

    // Length of segment k at the start of the substep.
    PBD_INLINE V length_before(int k) const {
        PBD_CONTRACT_ON
        const T *const a = one.arrays.previous + ROW * (Index)at[k] * LANES, *const b = one.arrays.previous +
                                                                                        ROW * (Index)at[k + 1] * LANES;
        const V dx = load(b) - load(a), dy = load(b + LANES) - load(a + LANES),
                dz = load(b + 2 * LANES) - load(a + 2 * LANES);
        return root(dx * dx + dy * dy + dz * dz);
    }

    // Allow segments of a line that is too long the part of their excess that they owe to yielding by more than now,
    // less what they take back in a substep. The pull then stays the same while the line stiffens, and it regains its
    // length at a bounded speed; otherwise it would throw its load.
    //
    // yields:   state of yielding.
    // expected: length of each segment without that excess.
    template <class Expected> PBD_INLINE void keep_length(V yields, Expected expected) {
        PBD_CONTRACT_ON
        V sum = V(T(0)), whole = sum;
        const V known = load(yielded);
        too_long = V(T(0));
        for (int k = 0; k < count; ++k) longer[k] = V(T(0));
        if (!any(known > T(0))) return;
        for (int k = 0; k < count; ++k) {
            const V wa = weight(k), wb = weight(k + 1), rest = size * rest_length[k];
            const V pliant = give(softness * relative[k], wa, wb) / at_least(wa > wb ? wa : wb, 1e-30);
            longer[k] = at_least(length_before(k) - expected(k) - relief - T(PULLED) * rest * pliant, 0);
            sum += longer[k];
            whole += rest;
        }
        const V least = known >= T(MARK) ? V(T(0)) : T(TOO_LONG) * whole;
        too_long = ((known > T(0)) & (sum > least)) ? V(T(1)) : V(T(0));
        const V part = too_long > T(0) ? V(T(1) - yields) : V(T(0));
        for (int k = 0; k < count; ++k) longer[k] = part * longer[k];
    }

    PBD_INLINE void keep_length(V yields) {
        keep_length(yields, [&](int k) { return V(size * rest_length[k]); });
    }

    // Yielding that remains of the last substep's.
    PBD_INLINE V still_yields() const {
        const V known = load(yielded), yields = known >= T(MARK) ? V(known - T(MARK)) : known;
        const V left = T(STIFFENING) * yields;
        return left > T(LEAST_YIELD) ? left : V(T(0));
    }

    // Soften a line that is too taut for its contacts, or still soft from earlier substeps. Returns its yielding.
    PBD_INLINE V yield_to_contacts() {
        PBD_CONTRACT_ON
        const V steep = (leans > T(0) ? most : V(T(0))) * T(1.0 / (SLACK - YIELD)) - T(YIELD / (SLACK - YIELD));
        const V before = still_yields();
        const V now = steep < T(1) ? steep : V(T(1)), yields = now > before ? now : before;
        store(yielded, yields + (too_long > T(0) ? V(T(MARK)) : V(T(0))));
        loose += T(YIELDING_COMPLIANCE) * yields;
        soft = ((leans > T(0)) | (yields > T(0))) ? V(T(1)) : V(T(0));
        return yields;
    }

    // Forward elimination of the tridiagonal system: directions, right-hand sides and ratios of each segment.
    PBD_INLINE void eliminate(int round) {
        PBD_CONTRACT_ON
        const T* from = place(0);
        V ax = load(from), ay = load(from + LANES), az = load(from + 2 * LANES), wa = weight(0);
        V px = V(T(0)), py = px, pz = px, last_right = px, inverse = px;
        for (int k = 0; k < count; ++k) {
            from = place(k + 1);
            const V bx = load(from), by = load(from + LANES), bz = load(from + 2 * LANES);
            const V wb = weight(k + 1);
            const V dx = bx - ax, dy = by - ay, dz = bz - az;
            const V length = root(dx * dx + dy * dy + dz * dz), one_over = T(1) / at_least(length, 1e-30);
            const V qx = dx * one_over, qy = dy * one_over, qz = dz * one_over;
            V both = wa + wb, coupling = wa * (px * qx + py * qy + pz * qz);
            const V alpha = softness * relative[k];
            if constexpr (Options::SUPPORTS) {
                const T *const na = row(k), *const nb = row(k + 1);
                const V into = load(na) * qx + load(na + LANES) * qy + load(na + 2 * LANES) * qz;
                const V onto = load(nb) * qx + load(nb + LANES) * qy + load(nb + 2 * LANES) * qz;
                both -= carried[k] * into * into + carried[k + 1] * onto * onto;
                coupling -= carried[k] * into * (load(na) * px + load(na + LANES) * py + load(na + 2 * LANES) * pz);
            }
            if constexpr (Options::LEANS) {
                const V into = push_along(k, qx, qy, qz), onto = push_along(k + 1, qx, qy, qz);
                both -= leaning[k] * into * into + leaning[k + 1] * onto * onto;
                coupling -= leaning[k] * into * push_along(k, px, py, pz);
            }
            V wanted = size * rest_length[k] - length;
            if constexpr (Options::LEANS) wanted += longer[k];
            if constexpr (Options::KEEP_LAMBDA)
                if (iteration > 0) wanted -= alpha * load(multipliers + LANES * k);
            const V pliant = give(alpha, wa, wb);
            if (round > 0) wanted += pliant * density[k] * length;
            const V fraction = -coupling * inverse;
            const V pivot = both + pliant + coupling * fraction;
            inverse = T(1) / at_least(pivot, 1e-30);
            last_right = (wanted + coupling * last_right) * inverse;
            nx[k] = qx;
            ny[k] = qy;
            nz[k] = qz;
            right[k] = last_right;
            ratio[k] = fraction;
            over[k] = one_over;
            ax = bx;
            ay = by;
            az = bz;
            wa = wb;
            px = qx;
            py = qy;
            pz = qz;
        }
    }

    // Back substitution: multiplier corrections replace the right-hand sides; finds the largest tension too.
    PBD_INLINE void substitute() {
        PBD_CONTRACT_ON
        V change = V(T(0)), fraction = change, pulls = change;
        most = change;
        for (int k = count - 1; k >= 0; --k) {
            change = right[k] - fraction * change;
            fraction = ratio[k];
            right[k] = change;
            const V pull = (change > T(0) ? change : -change) * over[k];
            const V load = weight(k + 1) * (pull + pulls);
            most = load > most ? load : most;
            pulls = pull;
        }
        const V load = weight(0) * pulls;
        most = load > most ? load : most;
    }

    // Find the lanes whose line is taut. Returns whether any needs a round.
    //
    // lying: whether lines that a collider carries may be among them.
    PBD_INLINE bool find_taut(bool lying) {
        PBD_CONTRACT_ON
        taut = most > T(SLACK) ? V(T(1)) : V(T(0));
        if constexpr (Options::SUPPORTS)
            if (!lying) taut = lies > T(0) ? V(T(0)) : taut;
        if constexpr (Options::LEANS) taut = soft > T(0) ? V(T(0)) : taut;
        if (ROUNDS == 0 || !any(taut > T(0))) return false;
        loose = taut > T(0) ? loose * T(ROUND_COMPLIANCE) : loose;
        tauter = most > T(TAUT) ? taut : V(T(0));
        for (int k = 0; k < count; ++k) density[k] = V(T(0));
        return true;
    }

    // Find the lines that need rounds, and store their start positions. Returns whether there are any.
    PBD_INLINE bool begin_rounds() {
        PBD_CONTRACT_ON
        if (!find_taut(false)) return false;  // rounds would press a line through its collider
        for (int k = 0; k <= count; ++k) {
            const T* const from = place(k);
            start_x[k] = load(from);
            start_y[k] = load(from + LANES);
            start_z[k] = load(from + 2 * LANES);
        }
        return true;
    }

    // Apply the forces found so far implicitly, at the positions they lead to: solve (M + L) d = -L start.
    PBD_INLINE void go_on(int round) {
        PBD_CONTRACT_ON
        V q = V(T(0)), way = q, gone_x = q, gone_y = q, gone_z = q, back_x = q, back_y = q, back_z = q;
        for (int k = 0; k <= count; ++k) {
            V next = V(T(0)), ahead_x = next, ahead_y = next, ahead_z = next;
            if (k < count) {
                const V shortest = T(1) / at_least(size * rest_length[k], 1e-30);
                const V found = (round > 0 ? tauter : taut) * right[k] * (over[k] < shortest ? over[k] : shortest);
                next = at_least(density[k] - found, 0);
                density[k] = next;
                ahead_x = next * (start_x[k + 1] - start_x[k]);
                ahead_y = next * (start_y[k + 1] - start_y[k]);
                ahead_z = next * (start_z[k + 1] - start_z[k]);
            }
            const V light = weight(k), behind = light * q;
            const V over_pivot = T(1) / (T(1) + light * next + behind * (T(1) - way));
            way = light * next * over_pivot;
            gone_x = (light * (ahead_x - back_x) + behind * gone_x) * over_pivot;
            gone_y = (light * (ahead_y - back_y) + behind * gone_y) * over_pivot;
            gone_z = (light * (ahead_z - back_z) + behind * gone_z) * over_pivot;
            nx[k] = gone_x;
            ny[k] = gone_y;
            nz[k] = gone_z;
            ratio[k] = way;
            q = next;
            back_x = ahead_x;
            back_y = ahead_y;
            back_z = ahead_z;
        }
        gone_x = gone_y = gone_z = V(T(0));
        for (int k = count; k >= 0; --k) {
            T* const to = place(k);
            gone_x = nx[k] + ratio[k] * gone_x;
            gone_y = ny[k] + ratio[k] * gone_y;
            gone_z = nz[k] + ratio[k] * gone_z;
            store(to, start_x[k] + gone_x);
            store(to + LANES, start_y[k] + gone_y);
            store(to + 2 * LANES, start_z[k] + gone_z);
        }
    }

    // Solve for the corrections of all segments, in several rounds where the line is taut.
    PBD_INLINE void solve() {
        PBD_CONTRACT_ON
        taut = tauter = most = V(T(0));
        loose = V(T(count > 1 ? LEAST_COMPLIANCE : 0.0));  // one segment is never singular
        if constexpr (Options::SUPPORTS) find_carried();
        if constexpr (Options::LEANS) {
            find_leaning();
            keep_length(still_yields());
        }
        for (int round = 0;; ++round) {
            eliminate(round);
            substitute();
            if constexpr (Options::LEANS) {
                const V yields = round == 0 ? yield_to_contacts() : V(T(0));
                if (any(yields > T(0))) {
                    keep_length(yields);
                    eliminate(round);
                    substitute();
                }
            }
            if (round == 0 && !begin_rounds()) break;
            if (round == ROUNDS || (round > 0 && !any(tauter > T(0)))) break;
            go_on(round);
        }
    }

    // Share of the corrections to apply: below 1 where a line is still too taut after the last round.
    PBD_INLINE V part_taken() const {
        PBD_CONTRACT_ON
        auto still_stiff = (taut > T(0)) & (most > T(SLACK));
        if constexpr (Options::LEANS) still_stiff = still_stiff | ((soft > T(0)) & (most > T(SLACK)));
        return still_stiff ? T(SLACK) / at_least(most, SLACK) : V(T(1));
    }

    // Apply the corrections to positions, and update multipliers, grip forces and the pressure on colliders.
    PBD_INLINE void apply() {
        PBD_CONTRACT_ON
        V px = V(T(0)), py = px, pz = px, whole_x = px, whole_y = px, whole_z = px;  // push of the segment ahead
        const V taken_part = One::JACOBI ? V(part) : part_taken();
        for (int k = count - 1; k >= -1; --k) {
            V push_x = V(T(0)), push_y = push_x, push_z = push_x, all_x = push_x, all_y = push_x, all_z = push_x;
            if (k >= 0) {
                const V taken = taken_part * right[k];
                V sum = taken;
                if (ROUNDS > 0 && any(taut > T(0))) sum -= density[k] / over[k];
                if constexpr (Options::KEEP_LAMBDA) {
                    V old = V(T(0));
                    if (iteration > 0) old = load(multipliers + LANES * k);
                    store(multipliers + LANES * k, old + sum);
                }
                push_x = nx[k] * taken;
                push_y = ny[k] * taken;
                push_z = nz[k] * taken;
                all_x = nx[k] * sum;
                all_y = ny[k] * sum;
                all_z = nz[k] * sum;
            }
            const Index a = at[k + 1];
            const V light = weight(k + 1);
            T *const to_x = one.place(a, 0), *const to_y = one.place(a, 1), *const to_z = one.place(a, 2);
            if constexpr (Options::SUPPORTS) {
                press_on(k, {px, py, pz}, {push_x, push_y, push_z}, nx, ny, nz);
            } else if constexpr (Options::ALIKE) {
                const V gx = light * (push_x - px), gy = light * (push_y - py), gz = light * (push_z - pz);
                store(to_x, load(to_x) + gx);
                store(to_y, load(to_y) + gy);
                store(to_z, load(to_z) + gz);
            } else {
                store(to_x, load(to_x) + light * (push_x - px));
                store(to_y, load(to_y) + light * (push_y - py));
                store(to_z, load(to_z) + light * (push_z - pz));
            }
            if constexpr (Options::FORCES) one.add_pull(a, all_x - whole_x, all_y - whole_y, all_z - whole_z, light);
            px = push_x;
            py = push_y;
            pz = push_z;
            whole_x = all_x;
            whole_y = all_y;
            whole_z = all_z;
        }
    }

    // Move particle k + 1 by the pushes of the segments ahead and behind it, and record how far the line has pressed it
    // into its collider.
    //
    // bx, by, bz: directions in which segments arrive at their ends.
    PBD_INLINE void press_on(int k, const Vec3<V>& ahead, const Vec3<V>& behind, const V* bx, const V* by,
                             const V* bz) {
        PBD_CONTRACT_ON
        const V none = V(T(0)), light = weight(k + 1);
        T *const n = row(k + 1), *const pressed = n + PRESSED * LANES, *const room_left = n + ROOM * LANES;
        const V at_all = touches(k + 1) ? V(T(1)) : none;
        const V mx = at_all * load(n), my = at_all * load(n + LANES), mz = at_all * load(n + 2 * LANES);
        const V gx = light * (behind.x - ahead.x), gy = light * (behind.y - ahead.y), gz = light * (behind.z - ahead.z);
        const V press = -(mx * gx + my * gy + mz * gz), room = load(room_left);
        const auto lying = carried[k + 1] > T(0);
        const V in = lying ? press : none, gone = in < room ? at_least(in, 0) : room, held = in - gone;
        const V burden = lying ? held : press;
        if (any(burden > T(0))) {
            // Across an edge the line is a chord: the less it pulls along a face, the more it presses on it, so
            // friction would lock it. Friction is therefore limited to what a thread bent like this one would press by:
            // pull along the face times half the turning angle.
            const bool begins = k < 0, ends = k + 1 == count;
            const V fx = ends ? none : nx[k + 1], fy = ends ? none : ny[k + 1], fz = ends ? none : nz[k + 1];
            const V ex = begins ? none : bx[k], ey = begins ? none : by[k], ez = begins ? none : bz[k];
            const V turn = at_least(mx * (ex - fx) + my * (ey - fy) + mz * (ez - fz), 0);
            const V sx = ex + fx, sy = ey + fy, sz = ez + fz;
            const auto along = [&](const Vec3<V>& u) {
                const V into = mx * u.x + my * u.y + mz * u.z;
                return V(root(at_least(u.x * u.x + u.y * u.y + u.z * u.z - into * into, 0)));
            };
            const V pull = light * (along(ahead) + along(behind));
            const V wrap = pull * turn / at_least(root(sx * sx + sy * sy + sz * sz), 1e-30);
            const V counts = wrap < burden ? wrap : burden;
            // Where the line does move the particle into the face, the remaining depth must not count for friction
            // either.
            const V change = lying ? counts : counts - burden;
            store(pressed, load(pressed) + (burden > T(0) ? change : none));
        }
        store(room_left, room - gone);
        const Index a = at[k + 1];
        T *const to_x = one.place(a, 0), *const to_y = one.place(a, 1), *const to_z = one.place(a, 2);
        store(to_x, load(to_x) + gx + mx * held);
        store(to_y, load(to_y) + gy + my * held);
        store(to_z, load(to_z) + gz + mz * held);
    }
};

}  // namespace pbd
