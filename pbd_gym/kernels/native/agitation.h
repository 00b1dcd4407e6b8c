// How much the members of an environment move.
//
// Creases keep a wide contact distance while cloth moves or hands pull it through itself. The threads of fine cloth
// cannot bend that widely: at rest, they and the contacts would push each other to and fro, and creases would crawl
// along the cloth by themselves, gaining energy. So this distance shrinks as an environment comes to rest.
#pragma once
#include "active_pairs.h"

namespace pbd {

// RMS speeds of an environment's members below which it counts as at rest, and above which it counts as moving [m/s, in
// metres and at the scale of the scene]. A crawling crease, alone in its towel, gives 0.01 to 0.02 m/s.
constexpr double CALM_SPEED = 0.03, LIVELY_SPEED = 0.1;

// Sum of the squared displacements of sixteen members in this substep. Blocks and single threads both sum over sixteen
// members first, so that they round alike.
template <class Group> PBD_INLINE typename Group::V moved_squares(const Group& in, int c, int lane) {
    PBD_CONTRACT_ON
    using L = typename Group::L;
    using T = typename L::T;
    using V = typename L::V;
    constexpr int LANES = L::LANES;
    V part = V(T(0));
    for (int k = 16 * c; k < wp::min(16 * c + 16, in.count); ++k) {
        const T* const p = in.place_of(k);
        const T* const q = in.start_of(k);
        const V dx = L::load(p, lane) - L::load(q, lane), dy = L::load(p + LANES, lane) - L::load(q + LANES, lane);
        const V dz = L::load(p + 2 * LANES, lane) - L::load(q + 2 * LANES, lane);
        part += dx * dx + dy * dy + dz * dz;
    }
    return part;
}

// Compute how much each environment has moved in this substep so far: 0 at rest, 1 in motion.
//
// renews: whether active pairs are renewed.
// drift:  if so, receives the mean displacement of members along each axis and their RMS displacement relative to
//         it, the latter at the scale of the scene.
template <class Group>
PBD_INLINE void find_agitation(const Group& in, typename Group::T inv_h, bool renews, int thread, int thread_count,
                               typename Group::T* agitation, typename Group::T* drift) {
    PBD_CONTRACT_ON
    using L = typename Group::L;
    using T = typename L::T;
    using V = typename L::V;
    constexpr int LANES = L::LANES;
#if PBD_BLOCK
    T* const sums = (T*)in.lists.valence.data + in.rank * in.lists.valence.shape[1] * LANES;
    for (int c = thread; c < in.chunks; c += thread_count)
        for (int lane = 0; lane < L::ROUNDS; ++lane) {
            L::store(sums + LANES * c, lane, moved_squares(in, c, lane));
            if (!renews) continue;
            V sum[3];
            moved_sum(in, c, lane, sum);
            for (int a = 0; a < 3; ++a) L::store(sums + LANES * (in.chunks * (1 + a) + c), lane, sum[a]);
        }
    sync();
    const auto squares = [&](int c, int lane) { return L::load(sums + LANES * c, lane); };
    const auto moved = [&](int c, int lane, V* sum) {
        for (int a = 0; a < 3; ++a) sum[a] = L::load(sums + LANES * (in.chunks * (1 + a) + c), lane);
    };
#else
    const auto squares = [&](int c, int lane) { return moved_squares(in, c, lane); };
    const auto moved = [&](int c, int lane, V* sum) { moved_sum(in, c, lane, sum); };
#endif
    for (int lane = 0; lane < L::ROUNDS; ++lane) {
        V sum = V(T(0));
        for (int c = 0; c < in.chunks; ++c) sum += squares(c, lane);
        const V speed = root(sum / T(in.count)) * (in.inv_sizes(lane) * (inv_h / T(in.body.meter)));
        const V share = at_least((speed - T(CALM_SPEED)) * T(1.0 / (LIVELY_SPEED - CALM_SPEED)), 0);
        L::store(agitation, lane, share < T(1) ? share : V(T(1)));
        if (!renews) continue;
        V whole[3] = {V(T(0)), V(T(0)), V(T(0))}, part[3];
        for (int c = 0; c < in.chunks; ++c) {
            moved(c, lane, part);
            for (int a = 0; a < 3; ++a) whole[a] += part[a];
        }
        V mean_square = V(T(0));
        for (int a = 0; a < 3; ++a) {
            const V mean = whole[a] / T(in.count);
            mean_square += mean * mean;
            L::store(drift + a * LANES, lane, mean);
        }
        L::store(drift + 3 * LANES, lane, root(at_least(sum / T(in.count) - mean_square, 0)) * in.inv_sizes(lane));
    }
}

}  // namespace pbd
