// Motion of rigid bodies: their initial pose, free motion, and velocity at the end of a substep.
//
// A substep turns a body by the rotation vector p that solves I(exp(p / 2) R) p / h = L. This implicit midpoint rule
// conserves the angular momentum L of a free body to rounding, and its energy to third order in h. L is that of the
// predicted particles, so gravity, forces and wind are included. After constraints and contacts, the same formula gives
// L from the total rotation, and particles get the velocities of the rigid motion with this L.
#pragma once
#include "rigid_pulls.h"

namespace pbd {

// Fixed-point iterations for the rotation. Each reduces the error at least by the factor of half the angle of a
// substep.
constexpr int TURN_ROUNDS = 6;

// Store the offset of body b's centre of mass, its inverse mass, inertia tensor and the inverse of that.
//
// mass: function of a member's index.
template <class Lane, class Mass> PBD_INLINE void note_masses(const Lane& on, int b, typename Lane::T* to, Mass mass) {
    PBD_CONTRACT_ON
    using T = typename Lane::T;
    using V = typename Lane::V;
    constexpr int LANES = Lane::LANES;
    const V none = V(T(0));
    const int first = on.in.offsets[b], end = on.in.offsets[b + 1];
    V total = none;
    Vec3<V> offset = {none, none, none};
    for (int j = first; j < end; ++j) {
        const V m = mass(j);
        total += m;
        offset = offset + m * on.place_in(j, {none, none, none});
    }
    const V inverse = T(1) / total;
    offset = inverse * offset;
    Sym3<V> second = {none, none, none, none, none, none};
    for (int j = first; j < end; ++j) add_square(second, mass(j), on.place_in(j, offset));
    const Sym3<V> inertia = inertia_of(second);
    on.store3(to, offset);
    on.store(to + (BODY_INV_MASS - BODY_OFFSET) * LANES, inverse);
    on.store_symmetric(to + (BODY_INERTIA - BODY_OFFSET) * LANES, inertia);
    on.store_symmetric(to + (BODY_INVERSE - BODY_OFFSET) * LANES, inverse_of(inertia));
}

// Fit the position and rotation of body b to its members before the substep. Their masses are stored already.
//
// torn: whether to fit what is not held, per lane.
template <int SQUARINGS, class Lane, class Mask> PBD_INLINE void fit_body(const Lane& on, int b, const Mask& torn) {
    PBD_CONTRACT_ON
    using T = typename Lane::T;
    using V = typename Lane::V;
    constexpr int LANES = Lane::LANES;
    const V none = V(T(0));
    T* const at = on.in.body(b);
    const int first = on.in.offsets[b], end = on.in.offsets[b + 1];
    const auto weight = [&](int j) { return torn ? on.free_weight(j) : on.weight(j, b); };
    const Vec3<V> offset = on.offset(at);
    V total = none;
    Vec3<V> center = {none, none, none}, middle = center;
    for (int j = first; j < end; ++j) {
        const V m = weight(j);
        total += m;
        center = center + m * on.load3(on.in.place_before(j));
        middle = middle + m * on.place_in(j, {none, none, none});
    }
    const V inverse = T(1) / total;
    center = inverse * center;
    middle = inverse * middle;
    Mat3<V> fit = {{none, none, none}, {none, none, none}, {none, none, none}};
    for (int j = first; j < end; ++j)
        add_outer(fit, weight(j) * (on.load3(on.in.place_before(j)) - center), on.place_in(j, middle));
    const Mat3<V> turn = nearest_rotation<SQUARINGS>(fit);
    on.set_place(at, center + turn * (offset - middle), turn);
}

// 1 where body b is torn from its hands, or has been kept from them, else 0: its free particles are then not where a
// fit to all particles puts them.
template <class Lane> PBD_INLINE typename Lane::V is_torn(const Lane& on, int b) {
    PBD_CONTRACT_ON
    using T = typename Lane::T;
    using V = typename Lane::V;
    constexpr int LANES = Lane::LANES;
    T* const at = on.in.body(b);
    const Vec3<V> center = on.center(at), offset = on.offset(at);
    const Mat3<V> turn = on.turn(at);
    const V least = T(TORN_BEFORE) * on.size * on.in.table.radius.data[b];
    V torn = V(T(0));
    for (int j = on.in.offsets[b]; j < on.in.offsets[b + 1]; ++j) {
        const auto free = on.load(on.in.w + on.in.members[j] * LANES) > T(0);
        const Vec3<V> d = on.load3(on.in.place_before(j)) - (center + turn * on.place_in(j, offset));
        torn = (free & (dot(d, d) > least * least)) ? V(T(1)) : torn;
    }
    return torn;
}

// Compute pose, mass and inertia of bodies from their particles.
template <class L, class Options, int SQUARINGS, class Model, class Body, class Scratch>
inline CUDA_CALLABLE void find_bodies(const Model& model, const Body& body, const Scratch& rigid, typename L::T h,
                                      int group, int thread, int thread_count) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    constexpr int LANES = L::LANES;
    const RigidBodies<L, Options, decltype(model.rigid)> in(model.rigid, body, rigid, group);
    for (int b = thread; b < in.count(); b += thread_count) {
        T* const at = in.body(b);
        for (int lane = 0; lane < L::ROUNDS; ++lane) {
            const RigidLane on(in, lane);
            const V none = V(T(0));
            V mass = none, loose = none, hands = none;
            for (int j = in.offsets[b]; j < in.offsets[b + 1]; ++j) {
                const V m = V(in.table.mass.data[j]) * on.heavier;
                mass += m;
                loose += on.is_held(j) ? none : m;
                hands += on.is_held(j) ? V(T(1)) : none;
            }
            on.store(at + BODY_MASS * LANES, mass);
            on.store(at + BODY_LOOSE_MASS * LANES, loose);
            on.store(at + BODY_HANDS * LANES, hands);
            note_masses(on, b, at + BODY_OFFSET * LANES, [&](int j) { return on.weight(j, b); });
            T* const sets = at + BODY_SETS * LANES;
            for (int k = 0; k < SET_NUMBERS; ++k)
                on.store(sets + (HEAVY_SET * SET_NUMBERS + k) * LANES, on.load(at + (BODY_OFFSET + k) * LANES));
            if (any(hands > none)) {
                note_masses(on, b, sets + FREE_SET * SET_NUMBERS * LANES, [&](int j) { return on.free_weight(j); });
                note_masses(on, b, sets + HAND_SET * SET_NUMBERS * LANES,
                            [&](int j) { return on.hand_weight(j, b, h); });
            }
            on.store(at + BODY_WEIGHING * LANES, V(T(HEAVY_SET)));
            on.store(at + BODY_TORN * LANES, none);
            on.store(at + BODY_TOUCHED * LANES, V(T(-1)));
            for (int k = BODY_EXPECTED; k < BODY_FALLEN; ++k) on.store(at + k * LANES, none);
            V torn = none;
            for (int pass = 0; pass < 2; ++pass) {
                fit_body<SQUARINGS>(on, b, torn > none);
                if (pass == 0) torn = hands > none ? (in.table.hinged.data[b] ? V(T(1)) : is_torn(on, b)) : none;
                if (!any(torn > none)) break;
            }
            on.store(at + BODY_TORN * LANES, torn > none ? V(T(2)) : none);
            on.weigh(at, torn > none ? V(T(FREE_SET)) : V(T(HEAVY_SET)));
        }
    }
}

// Turn the predicted motion of particles into the free motion of their body.
template <class L, class Options, class Model, class Body, class Scratch>
inline CUDA_CALLABLE void turn_bodies(const Model& model, const Body& body, const Scratch& rigid, int group, int thread,
                                      int thread_count) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    constexpr int LANES = L::LANES;
    const RigidBodies<L, Options, decltype(model.rigid)> in(model.rigid, body, rigid, group);
    for (int b = thread; b < in.count(); b += thread_count) {
        T* const at = in.body(b);
        for (int lane = 0; lane < L::ROUNDS; ++lane) {
            const RigidLane on(in, lane);
            const V none = V(T(0));
            const Vec3<V> start = on.center(at), offset = on.offset(at);
            const Mat3<V> before = on.turn(at);
            const Sym3<V> lightness = on.inverse(at);
            const V torn = on.load(at + BODY_TORN * LANES);
            Vec3<V> gone = {none, none, none}, spin = gone;
            for (int j = in.offsets[b]; j < in.offsets[b + 1]; ++j) {
                const Vec3<V> from = on.load3(in.place_before(j)), d = on.load3(in.place(j)) - from;
                const V m = on.weight(j, b, torn);
                gone = gone + m * d;
                Vec3<V> lever = from - start;
                if (any(on.is_held(j))) lever = choose(on.is_held(j), before * on.place_in(j, offset), lever);
                spin = spin + m * cross(lever, d);
            }
            if constexpr (Options::FORCES) begin_pull(on, b);
            gone = on.inv_mass(at) * gone;
            Vec3<V> turn = in_axes(before, lightness) * spin;
            for (int round = 0; round < TURN_ROUNDS; ++round)
                turn = in_axes(rotation(T(0.5) * turn) * before, lightness) * spin;
            const Vec3<V> center = start + gone;
            const Mat3<V> after = rotation(turn) * before;
            on.store3(at + BODY_START * LANES, start);
            on.store_rows(at + BODY_START_TURN * LANES, before);
            on.store(at + BODY_PULLED * LANES, none);
            on.set_place(at, center, after);
            on.write(b, center, after, offset);
        }
    }
    sync();
}

// Move bodies to where they are expected to be kept, for the contacts of other particles with them.
//
// Those contacts come before the contacts of the body. A body on the ground falls until then, as whatever lies on it
// does: nothing would seem to weigh on it, and nothing would hold by friction what then slides down a slope with it.
// Where the body really goes is computed from where it has come by itself (rigid_joints.h), so a wrong guess makes no
// difference to it.
template <class L, class Options, class Model, class Body, class Scratch>
inline CUDA_CALLABLE void expect_bodies(const Model& model, const Body& body, const Scratch& rigid, int group,
                                        int thread, int thread_count) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    constexpr int LANES = L::LANES;
    const RigidBodies<L, Options, decltype(model.rigid)> in(model.rigid, body, rigid, group);
    for (int b = thread; b < in.count(); b += thread_count) {
        T* const at = in.body(b);
        for (int lane = 0; lane < L::ROUNDS; ++lane) {
            const RigidLane on(in, lane);
            const Vec3<V> way = on.load3(at + BODY_EXPECTED * LANES);
            const Vec3<V> turned = on.load3(at + (BODY_EXPECTED + 3) * LANES);
            on.store3(at + BODY_AHEAD * LANES, way);
            on.store3(at + (BODY_AHEAD + 3) * LANES, turned);
            const auto moves = dot(way, way) + dot(turned, turned) > V(T(0));
            if (!any(moves)) continue;
            const Vec3<V> center = on.center(at), offset = on.offset(at), there = center + way;
            const Mat3<V> before = on.turn(at), after = rotation(turned) * before;
            for (int j = in.offsets[b]; j < in.offsets[b + 1]; ++j) {
                const Vec3<V> rest = on.place_in(j, offset), r = before * rest, s = after * rest;
                const Vec3<V> old = on.load3(in.place(j)), pushed = old - (center + r), p = (there + s) + pushed;
                on.store3(in.place(j), choose(moves & (on.load(in.w + in.members[j] * LANES) > T(0)), p, old));
            }
            on.set_place(
                at, choose(moves, there, center),
                {choose(moves, after.a, before.a), choose(moves, after.b, before.b), choose(moves, after.c, before.c)});
        }
    }
}

// Expect of body b what it has met with in this substep, unless hands hold it.
//
// A blow, which moves it by more than gravity does in two substeps, will not come again.
//
// gone, turn: displacement and rotation of the body in the substep.
template <class Lane>
PBD_INLINE void expect_again(const Lane& on, int b, const Vec3<typename Lane::V>& gone,
                             const Vec3<typename Lane::V>& turn, typename Lane::V most) {
    PBD_CONTRACT_ON
    using T = typename Lane::T;
    using V = typename Lane::V;
    constexpr int LANES = Lane::LANES;
    T* const at = on.in.body(b);
    const V none = V(T(0)), reach = on.size * on.in.table.reach.data[b];
    const Vec3<V> way = gone - on.load3(at + BODY_FALLEN * LANES), zero = {none, none, none};
    const Vec3<V> turned = turn - on.load3(at + (BODY_FALLEN + 3) * LANES);
    const auto stays = (dot(way, way) <= most * most) & (reach * reach * dot(turned, turned) <= most * most);
    const auto lasts = stays & (on.load(at + BODY_HANDS * LANES) <= none);
    on.store3(at + BODY_EXPECTED * LANES, choose(lasts, way, zero));
    on.store3(at + (BODY_EXPECTED + 3) * LANES, choose(lasts, turned, zero));
}

// Give particles the velocities of their body by setting the positions before the substep: previous = x - h v.
//
// bouncing: also store velocities.
template <class L, class Options, bool bouncing, class Model, class Body, class Scratch, class Substep>
inline CUDA_CALLABLE void settle_bodies(const Model& model, const Body& body, const Scratch& rigid, const Substep& now,
                                        int group, int thread, int thread_count) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    constexpr int LANES = L::LANES;
    const RigidBodies<L, Options, decltype(model.rigid)> in(model.rigid, body, rigid, group);
    for (int b = thread; b < in.count(); b += thread_count) {
        T* const at = in.body(b);
        for (int lane = 0; lane < L::ROUNDS; ++lane) {
            const RigidLane on(in, lane);
            const V none = V(T(0));
            on.weigh(at, on.load(at + BODY_TORN * LANES) > none ? V(T(FREE_SET)) : V(T(HEAVY_SET)));
            const Vec3<V> center = on.center(at);
            const Mat3<V> before = on.load_rows(at + BODY_START_TURN * LANES), m = on.turn(at);
            // Restore orthogonality, lost to rounding, by one step of Newton's iteration.
            const Mat3<V> square = {{dot(m.a, m.a), dot(m.a, m.b), dot(m.a, m.c)},
                                    {dot(m.a, m.b), dot(m.b, m.b), dot(m.b, m.c)},
                                    {dot(m.a, m.c), dot(m.b, m.c), dot(m.c, m.c)}};
            const Mat3<V> n = square * m;
            const V much = V(T(1.5)), less = V(T(-0.5));
            const Mat3<V> after = {much * m.a + less * n.a, much * m.b + less * n.b, much * m.c + less * n.c};
            on.store_rows(at + BODY_TURN * LANES, after);
            const Vec3<V> gone = center - on.load3(at + BODY_START * LANES), turn = rotation_vector(after, before);
            expect_again(on, b, gone, turn, V(on.load(now.resting_speed.c) * T(now.h)));
            const Mat3<V> middle = rotation(T(0.5) * turn) * before;
            const Vec3<V> spin = in_axes(middle, on.load_symmetric(at + BODY_INERTIA * LANES)) * turn;
            const Vec3<V> swept = in_axes(after, on.inverse(at)) * spin;
            if constexpr (Options::FORCES) share_pull(on, body, b, gone, swept);
            for (int j = in.offsets[b]; j < in.offsets[b + 1]; ++j) {
                const int i = in.members[j];
                const V free = on.load(in.w + i * LANES);
                const Vec3<V> here = on.load3(in.place(j)), old = on.load3(in.place_before(j));
                const Vec3<V> d = gone + cross(swept, here - center);
                const Vec3<V> p = choose(free > T(0), here - d, old);
                on.store3(in.place_before(j), p);
                if constexpr (bouncing) on.store3((T*)body.velocity.data + 3 * i * LANES, T(now.inv_h) * (here - p));
            }
        }
    }
    sync();
}

}  // namespace pbd
