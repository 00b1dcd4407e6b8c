// Tethers (long-range attachments): an upper bound on the distance of each particle from every held or pinned particle,
// the anchors, equal to their distance along the cloth at rest.
//
// kernels/solve/tethers.py defines anchors, and explains what happens where several of them stretch the cloth between
// them.
#pragma once
#include "lanes.h"

namespace pbd {

// Speed at which a tether takes back excess length that existed before the substep began [m/s, in metres of the
// scene]; what the substep itself
// added is removed at once. Two cases need the limit. The diagonal of a sheared weave is longer than at rest: removing
// the excess at once would jerk resting cloth away faster than friction can hold it. And a towel may be caught on a rod
// while the hand moves on: it would be thrown as it comes free.
constexpr double GATHERING = 0.2;

// Slack of the threads that a hand waits for: a share of the rest length, slightly more than tasks let two hands
// stretch cloth, plus a length [m, in metres of the scene].
constexpr double FOLLOWING = 0.055;
constexpr double FOLLOWING_LEAST = 0.0002;
// Speed at which that slack may be exceeded [m/s, in metres of the scene]. Where a rod has come between two particles
// of a thread, only continued pulling gets them past it.
constexpr double CREEP = 0.2;
// Most particles that a hand waits for in one substep, the farthest first.
constexpr int YIELDS = 3;
// Pattern coordinates closer than this are equal [m, in metres of the scene].
constexpr double SAME = 1e-5;

// Compile-time options: largest number of anchors, scalars per particle row, parameter column of the environment's size
// (-1 if all environments have the same), and whether forces at grips are summed.
template <int Most, int Row, int SizeColumn, bool Forces> struct TetherOptions {
    static constexpr int MOST = Most, ROW = Row, SIZE_COLUMN = SizeColumn;
    static constexpr bool FORCES = Forces;
};

// Evaluate a function of the lane for every lane; in a block of threads, for this thread's lane only.
template <class L, class Function> PBD_INLINE typename L::V of_lanes(int lane, Function number) {
    if constexpr (L::ROUNDS == L::LANES) {
        return number(lane);
    } else {
        typename L::V r;
        for (int k = 0; k < L::LANES; ++k) r[k] = number(k);
        return r;
    }
}

// Pull back the particles of a group that are too far from an anchor.
//
// lengths:  largest distance of each particle from each anchor [m], shape (anchors, n).
// bounds:   first particle and end of each anchor's cloth, shape (anchors, 2).
// tethered: particle of each anchor, -1 for none, shape (environments, anchors).
// least:    act only in environments where two anchors are too far apart by more than this factor; 0 for all.
// loose:    length that stands for "no tether".
template <class L, class Options, class Body, class Lengths, class Bounds, class Tethered, class Pull>
inline CUDA_CALLABLE void pull_back(Body& body, const Lengths& lengths, const Bounds& bounds, const Tethered& tethered,
                                    const Pull& pull, typename L::T inv_h, typename L::T least, typename L::T loose,
                                    int group, int thread, int thread_count) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    using Index = typename L::Index;
    constexpr int ROW = Options::ROW, MOST = Options::MOST, LANES = L::LANES;
    T* const x = (T*)body.x.data;
    const T* const previous = (const T*)body.previous.data;
    const T* const w = (const T*)body.inv_mass.data;
    const T* const rest = (const T*)lengths.data;
    const int anchor_count = lengths.shape[0], count = lengths.shape[1];
    const int* const range = (const int*)bounds.data;
    const int* const anchors = (const int*)tethered.data + group * LANES * anchor_count;
    const auto anchor = [&](int a, int lane) { return anchors[lane * anchor_count + a]; };
    int taut[MOST], used = 0;
    for (int a = 0; a < anchor_count && used < MOST; ++a)
        if (range[2 * a] < range[2 * a + 1]) taut[used++] = a;
    if (used == 0) return;
    for (int lane = 0; lane < L::ROUNDS; ++lane) {
        V size = V(T(1));
        if constexpr (Options::SIZE_COLUMN >= 0)
            size = L::load((const T*)body.parameters.data + Options::SIZE_COLUMN * LANES, lane);
        // Squared ratio of distance to length along the cloth, for the worst pair of anchors.
        V ax[MOST], ay[MOST], az[MOST], bx[MOST], by[MOST], bz[MOST], worst = V(T(1));
        for (int k = 0; k < used; ++k) {
            const int a = taut[k];
            const auto coordinate = [&](const T* of, int axis) {
                return V(of_lanes<L>(lane, [&](int l) {
                    return anchor(a, l) < 0 ? T(0) : of[(ROW * (Index)anchor(a, l) + axis) * LANES + l];
                }));
            };
            ax[k] = coordinate(x, 0);
            ay[k] = coordinate(x, 1);
            az[k] = coordinate(x, 2);
            bx[k] = coordinate(previous, 0);
            by[k] = coordinate(previous, 1);
            bz[k] = coordinate(previous, 2);
            for (int m = 0; m < k; ++m) {
                const int b = taut[m];
                const V length = size * of_lanes<L>(lane, [&](int l) {
                                     return anchor(a, l) < 0 || anchor(b, l) < 0
                                                ? loose
                                                : rest[(b * (Index)count + anchor(a, l)) * LANES + l];
                                 });
                const V dx = ax[k] - ax[m], dy = ay[k] - ay[m], dz = az[k] - az[m];
                const V square = length * length, ratio = (dx * dx + dy * dy + dz * dz) / at_least(square, 1e-30);
                worst = ratio > worst ? ratio : worst;
            }
        }
        const auto asked = worst > V(least * least);
        const V scale = size * root(worst), slow = V(T(GATHERING) * T(body.meter) / inv_h);
        for (int k = 0; k < used && any(asked); ++k) {
            const int a = taut[k], first = range[2 * a], last = range[2 * a + 1];
            // The same thread handles a given particle for every anchor.
            const int ahead = (thread - first) % thread_count;
            for (Index i = first + (ahead < 0 ? ahead + thread_count : ahead); i < last; i += thread_count) {
                T* const place = x + ROW * i * LANES;
                const V px = L::load(place, lane), py = L::load(place + LANES, lane);
                const V pz = L::load(place + 2 * LANES, lane);
                const V dx = px - ax[k], dy = py - ay[k], dz = pz - az[k];
                const V limit = scale * L::load(rest + (a * (Index)count + i) * LANES, lane);
                const V square = dx * dx + dy * dy + dz * dz;
                const V weight = L::load(w + i * LANES, lane);
                const auto over = (square > limit * limit) & (weight > T(0)) & asked;
                if (!any(over)) continue;
                const T* const before = previous + ROW * i * LANES;
                const V ex = L::load(before, lane) - bx[k], ey = L::load(before + LANES, lane) - by[k];
                const V ez = L::load(before + 2 * LANES, lane) - bz[k];
                const V old = root(ex * ex + ey * ey + ez * ez) - slow, wanted = old > limit ? old : limit;
                const V away = root(square), part = wanted / at_least(away, 1e-30) - T(1);
                const V move = (over & (wanted < away)) ? part : V(T(0));
                L::store(place, lane, px + dx * move);
                L::store(place + LANES, lane, py + dy * move);
                L::store(place + 2 * LANES, lane, pz + dz * move);
                if constexpr (Options::FORCES) {
                    if (a < pull.shape[0]) {
                        T* const sum = (T*)pull.data + (a * (Index)count + i) * 3 * LANES;
                        const V taken = move / at_least(weight, 1e-30);
                        L::store(sum, lane, L::load(sum, lane) - dx * taken);
                        L::store(sum + LANES, lane, L::load(sum + LANES, lane) - dy * taken);
                        L::store(sum + 2 * LANES, lane, L::load(sum + 2 * LANES, lane) - dz * taken);
                    }
                }
            }
        }
    }
}

// Let hands wait for threads that do not follow them. Among the particles on the threads through the hand, find the one
// whose distance exceeds its rest length and the allowance most, and take back the part of the hand's motion in this
// substep that caused it; repeat up to YIELDS times. Excess from earlier substeps may still grow by CREEP, or hands
// would stand still wherever something else has stretched the cloth. Particles off these threads do not count, because
// the diagonals of a sheared weave are longer than at rest. The hand keeps its motion perpendicular to the particle,
// and two hands that carry taut cloth are not slowed. A hand that waited moves at its own speed again in the next
// substep.
//
// pattern: coordinates of particles in the sewing pattern, whose axes are the threads, shape (n, 2).
// held: number of anchors that are hands; these come first.
template <class L, class Options, class Body, class Pattern, class Lengths, class Bounds, class Tethered>
inline CUDA_CALLABLE void wait_for_cloth(Body& body, const Pattern& pattern, const Lengths& lengths,
                                         const Bounds& bounds, const Tethered& tethered, typename L::T h, int held,
                                         int group, int thread, int thread_count) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    using Index = typename L::Index;
    constexpr int ROW = Options::ROW, LANES = L::LANES;
    T* const x = (T*)body.x.data;
    T* const previous = (T*)body.previous.data;
    const T* const velocity = (const T*)body.velocity.data;
    const T* const rest = (const T*)lengths.data;
    const T* const pattern_of = (const T*)pattern.data;
    const int anchor_count = lengths.shape[0], count = lengths.shape[1];
    const int* const range = (const int*)bounds.data;
    const int* const anchors = (const int*)tethered.data + group * LANES * anchor_count;
    const T same = T(SAME) * T(body.meter);
    for (int a = 0; a < held; ++a) {
        const int first = range[2 * a], last = range[2 * a + 1];
        if (first >= last) continue;
#if PBD_BLOCK
        PBD_SHARED T most[LANES];
        PBD_SHARED int from_end[LANES];  // count minus the index of the farthest particle; ties go to the first
#else
        T most[LANES];
        T farthest[LANES];
#endif
        unsigned waited = 0;  // bit set over lanes
        for (int turn = 0; turn < YIELDS; ++turn) {
#if PBD_BLOCK
            if (thread == 0)
                for (int l = 0; l < LANES; ++l) most[l] = T(from_end[l] = 0);
            sync();
#endif
            for (int lane = 0; lane < L::ROUNDS; ++lane) {
                const auto coordinate = [&](const T* of, int axis) {
                    return V(of_lanes<L>(lane, [&](int l) {
                        const int i = anchors[l * anchor_count + a];
                        return i < 0 ? T(0) : of[(ROW * (Index)i + axis) * LANES + l];
                    }));
                };
                V size = V(T(1));
                if constexpr (Options::SIZE_COLUMN >= 0)
                    size = L::load((const T*)body.parameters.data + Options::SIZE_COLUMN * LANES, lane);
                const auto in_pattern = [&](int axis) {
                    return V(of_lanes<L>(lane, [&](int l) {
                        const int i = anchors[l * anchor_count + a];
                        return i < 0 ? T(0) : pattern_of[2 * i + axis];
                    }));
                };
                const V u = in_pattern(0), v = in_pattern(1);
                const V ax = coordinate(x, 0), ay = coordinate(x, 1), az = coordinate(x, 2);
                const V bx = coordinate(previous, 0), by = coordinate(previous, 1), bz = coordinate(previous, 2);
                V worst = V(T(0)), which = V(T(0));
                for (Index i = first + thread; i < last; i += thread_count) {
                    const V du = u - pattern_of[2 * i], dv = v - pattern_of[2 * i + 1];
                    const auto on_thread = (du * du < same * same) | (dv * dv < same * same);
                    if (!any(on_thread)) continue;
                    const T* const place = x + ROW * i * LANES;
                    const V px = L::load(place, lane), py = L::load(place + LANES, lane);
                    const V pz = L::load(place + 2 * LANES, lane);
                    const V length = L::load(rest + (a * (Index)count + i) * LANES, lane);
                    const V limit = size * (T(1.0 + FOLLOWING) * length + T(FOLLOWING_LEAST) * T(body.meter));
                    const V ux = px - ax, uy = py - ay, uz = pz - az, vx = px - bx, vy = py - by, vz = pz - bz;
                    const V now = root(ux * ux + uy * uy + uz * uz) - limit,
                            old = root(vx * vx + vy * vy + vz * vz) - limit;
                    const auto lags = on_thread & (now > V(T(0))) & (now > old);
                    if (!any(lags)) continue;
                    const V over = now - at_least(old + T(CREEP) * T(body.meter) * h, 0);
                    const auto worse = lags & (over > worst);
                    worst = worse ? over : worst;
                    which = worse ? V(T(i)) : which;
                }
#if PBD_BLOCK
                atomic_max(most[lane], worst);
                sync();
                if (worst > T(0) && worst == most[lane]) atomic_max(from_end[lane], count - (int)which);
#else
                L::store(most, lane, worst);
                L::store(farthest, lane, which);
#endif
            }
            sync();
            bool waits = false;
            for (int l = 0; l < LANES; ++l) waits |= most[l] > T(0);
            if (!waits) break;  // uniform over the threads of the block
            if (thread == 0) {
                for (int l = 0; l < LANES; ++l) {
                    const int hand = anchors[l * anchor_count + a];
                    if (hand < 0 || !(most[l] > T(0))) continue;
#if PBD_BLOCK
                    const Index i = count - from_end[l];
#else
                    const Index i = (Index)farthest[l];
#endif
                    T way[3], square = T(0);
                    for (int axis = 0; axis < 3; ++axis) {
                        way[axis] = x[(ROW * (Index)hand + axis) * LANES + l] - x[(ROW * i + axis) * LANES + l];
                        square += way[axis] * way[axis];
                    }
                    const T part = most[l] / wp::sqrt(square);
                    for (int axis = 0; axis < 3; ++axis) x[(ROW * (Index)hand + axis) * LANES + l] -= part * way[axis];
                    waited |= 1u << l;
                }
            }
            sync();
        }
        for (int l = 0; l < LANES; ++l) {
            if (!(waited >> l & 1)) continue;  // empty in all threads but the first
            const Index i = anchors[l * anchor_count + a];
            for (int axis = 0; axis < 3; ++axis) {
                const T to = x[(ROW * i + axis) * LANES + l];
                previous[(ROW * i + axis) * LANES + l] = to - h * velocity[(3 * i + axis) * LANES + l];
            }
        }
        sync();
    }
}

}  // namespace pbd
