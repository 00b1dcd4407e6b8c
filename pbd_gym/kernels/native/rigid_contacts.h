// Contacts of rigid bodies with colliders.
//
// All contacts of a body are solved together. The impulse of each acts on the whole body, whose inverse mass at that
// point is 1 / M + (r x n) . I^-1 (r x n), and is never negative. It removes the part of the depth that was gained in
// this substep; older overlap must not become speed, and rigid_overlaps.h removes it. Friction holds the contact point
// in place on the surface with at most the normal impulse times the static coefficient if it sticks, or the kinetic one
// if it slides; loads that squeeze the body add to the normal impulse. A few sweeps (projected Gauss-Seidel) find
// consistent
// impulses: Mueller et al. 2020, doi:10.1111/cgf.14105. Sliding is decided late, when they have nearly converged.
//
// A ball that approaches faster than gravity accelerates it in two substeps bounces: it is pushed back by the
// restitution times its displacement. Newton's law of restitution can add energy in eccentric impacts with friction
// (Kane and Levinson 1985, Dynamics: Theory and Applications); the impulses of the body are then scaled down.
#pragma once
#include "rigid_overlaps.h"

namespace pbd {

// Sweeps over the contacts of a body, alternately forwards and backwards.
constexpr int TOUCH_SWEEPS = 12;
// Sweep in which contacts are classified as sliding or sticking. Until then all may use static friction: impulses that
// have not converged would make some balls slide, and these would drag the others along.
constexpr int TOUCH_DECIDED = 8;
// A contact slides if static friction leaves more than this share of its slip. One that is only about to slide is held
// by the same force for a few more substeps, while its slip grows.
constexpr double TOUCH_LEFT = 0.3;
// Nor does it slide below this share of the speed that gravity adds in two substeps, which may be rounding.
constexpr double TOUCH_CREEPS = 0.25;
// Push distance that marks a lane without contact [m].
constexpr double NO_TOUCH = -1e6;

// Contact of a ball with a collider, in Warp's lane vectors.
template <class Wide> struct RigidTouch {
    const Wide &depth, &early;       // depth now and when the substep began [m]
    const Wide &nx, &ny, &nz;        // outward unit normal
    const Wide &ux, &uy, &uz;        // displacement of the surface [m]
    const Wide &kinetic, &sticking;  // Coulomb coefficients
};

// Prepare the search for contacts of body b: find the origin of its mesh.
template <class L, class Options, class Model, class Body, class Scratch>
inline CUDA_CALLABLE void begin_touches(const Model& model, const Body& body, const Scratch& rigid, int group, int b) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    const RigidBodies<L, Options, decltype(model.rigid)> in(model.rigid, body, rigid, group);
    auto* const at = in.body(b);
    for (int lane = 0; lane < L::ROUNDS; ++lane) {
        const RigidLane on(in, lane);
        on.store3(at + BODY_ORIGIN * L::LANES, on.center(at) - on.turn(at) * on.offset(at));
        on.store(at + BODY_TOUCHES * L::LANES, V(T(0)));
    }
}

// Centre of a contact ball on a face of a body, in its axes, relative to its centre of mass [m].
template <class Wide> struct FacePlace {
    const Wide &x, &y, &z;
};

// Address of a temporary; it is valid until the enclosing call returns.
template <class One> PBD_INLINE const One* at(const One& one) { return &one; }

// Record contact number `count` of body b with collider k: of its member j, or of a place on a face near this member.
template <class L, class Options, class Model, class Body, class Scratch, class Substep, class Wide>
inline CUDA_CALLABLE void record_touch(const Model& model, const Body& body, const Scratch& rigid, const Substep& now,
                                       int round, int group, int b, int j, int k, int count, typename L::T bounce,
                                       const RigidTouch<Wide>& touch, const FacePlace<Wide>* face = nullptr) {
    using T = typename L::T;
    using V = typename L::V;
    constexpr int LANES = L::LANES;
    const RigidBodies<L, Options, decltype(model.rigid)> in(model.rigid, body, rigid, group);
    T* const to = in.contact(b, count);
    T* const at = in.body(b);
    in.member(b, count) = face ? -1 - j : j;
    in.collider(b, count) = k;
    for (int lane = 0; lane < L::ROUNDS; ++lane) {
        PBD_CONTRACT_ON
        const RigidLane on(in, lane);
        const V none = V(T(0));
        const Vec3<V> n = {on.load(touch.nx.c), on.load(touch.ny.c), on.load(touch.nz.c)};
        // The ball has turned about its centre, and the contact point with it.
        const Vec3<V> turn = rotation_vector(on.turn(at), on.load_rows(at + BODY_START_TURN * LANES));
        const Vec3<V> arm = (-on.size * in.table.radius.data[b]) * n;
        Vec3<V> went = on.load3(in.place(j)) - on.load3(in.place_before(j));
        if (face || any(on.is_held(j))) {
            Vec3<V> own = on.place_in(j, on.offset(at));
            if (face) {
                const Vec3<V> place = {on.load(face->x.c), on.load(face->y.c), on.load(face->z.c)};
                own = place - on.offset(at);
                on.store3(to + TOUCH_PLACE * LANES, place);
            }
            const Vec3<V> way = (on.center(at) + on.turn(at) * own) -
                                (on.load3(at + BODY_START * LANES) + on.load_rows(at + BODY_START_TURN * LANES) * own);
            // A particle torn from its hand is not where the hand is.
            went = face ? way : choose(on.is_held(j), way, went);
        }
        const Vec3<V> surface = {on.load(touch.ux.c), on.load(touch.uy.c), on.load(touch.uz.c)};
        const Vec3<V> slip = went + cross(turn, arm) - surface;
        const V along = dot(slip, n);
        V deep = on.load(touch.depth.c), early = on.load(touch.early.c);
        // Later rounds only serve environments in which bodies meet.
        if (round > 0) deep = on.load((const T*)(rigid.busy.data + group)) > none ? deep : none;
        // Overlap within rounding is removed at once: as a speed it is negligible.
        early = early > T(LEAST_OVERLAP) * on.size * in.table.radius.data[b] ? early : none;
        const V deeper = deep - early, comes = -along - on.load(now.resting_speed.c) * now.h;
        const V back = -along * (T(1) + bounce);
        const auto bounces = (comes > none) & (back > deeper) & (V(bounce) > none);
        const V wanted = bounces ? back : deeper;
        on.store(to + TOUCH_BOUNCES * LANES, bounces ? V(T(1)) : none);
        on.store(to, deep > none ? wanted : V(T(NO_TOUCH)));
        on.store(to + TOUCH_EARLY * LANES, deep > none ? early : none);
        on.store(to + TOUCH_LOAD * LANES, none);
        on.store3(to + TOUCH_NORMAL * LANES, n);
        on.store3(to + TOUCH_SLIP * LANES, slip);
        on.store(to + TOUCH_IMPULSE * LANES, none);
        on.store3(to + TOUCH_DRAG * LANES, {none, none, none});
        on.store(to + TOUCH_KINETIC * LANES, on.load(touch.kinetic.c));
        on.store(to + TOUCH_STATIC * LANES, on.load(touch.sticking.c));
    }
}

// Record the pushes of colliders on body b, squeezing loads included: negated in the colliders' wrenches, with the
// moment about the world's origin; in the forces at hands; and in the pushes on balls.
template <class Options, class Lane, class Body>
PBD_INLINE void note_touches(const Lane& on, const Body& body, int b, int count, typename Lane::V ball) {
    PBD_CONTRACT_ON
    using T = typename Lane::T;
    using V = typename Lane::V;
    constexpr int LANES = Lane::LANES;
    T* const at = on.in.body(b);
    const Vec3<V> center = on.center(at), offset = on.offset(at);
    const Mat3<V> turn = on.turn(at);
    for (int c = 0; c < count; ++c) {
        const T* const one = on.in.contact(b, c);
        const int m = on.in.member(b, c), j = m < 0 ? -1 - m : m;
        const Vec3<V> n = on.load3(one + TOUCH_NORMAL * LANES);
        const Vec3<V> point = center + (turn * on.touch_in(b, c, offset) - ball * n);
        const V pressed = on.load(one + TOUCH_IMPULSE * LANES) + on.load(one + TOUCH_LOAD * LANES);
        const Vec3<V> p = pressed * n + on.load3(one + TOUCH_DRAG * LANES);
        if constexpr (Options::WRENCHES) {
            const Vec3<V> f = T(-1) * p;
            const int row = body.inv_mass.shape[0] + b, k = on.in.collider(b, c);
            T* const to = (T*)body.wrenches.data + ((size_t)row * body.wrenches.shape[1] + k) * 6 * LANES;
            on.store3(to, on.load3(to) + f);
            on.store3(to + 3 * LANES, on.load3(to + 3 * LANES) + cross(point, f));
        }
        on.note_push(at, point, p);
        if constexpr (Options::TOUCHES) {
            T* const to = (T*)body.pushes.data + 3 * (size_t)on.in.members[j] * LANES;
            on.store3(to, on.load3(to) + (V(T(1)) / (on.in.table.push.data[j] * on.heavier)) * p);
        }
    }
}

// Scale down the impulses of a bouncing body if they gain energy. Their work is the impulse times the mean of the
// contact slip before and after.
template <class Lane> PBD_INLINE void keep_energy(const Lane& on, int b, int count,
                                                  PushedBody<typename Lane::V>& pushed,
                                                  const Mat3<typename Lane::V>& turn, typename Lane::V ball) {
    PBD_CONTRACT_ON
    using T = typename Lane::T;
    using V = typename Lane::V;
    constexpr int LANES = Lane::LANES;
    const Vec3<V> offset = on.offset(on.in.body(b));
    const V none = V(T(0));
    V before = none, change = none, bounces = none;
    for (int c = 0; c < count; ++c) {
        const T* const one = on.in.contact(b, c);
        const Vec3<V> n = on.load3(one + TOUCH_NORMAL * LANES);
        const Vec3<V> r = turn * on.touch_in(b, c, offset) - ball * n;
        const Vec3<V> p = on.load(one + TOUCH_IMPULSE * LANES) * n + on.load3(one + TOUCH_DRAG * LANES);
        before -= dot(p, on.load3(one + TOUCH_SLIP * LANES));
        change += T(0.5) * dot(p, pushed.moved(r));
        bounces += on.load(one + TOUCH_BOUNCES * LANES);
    }
    const auto gains = (bounces > none) & (change > before);
    if (!any(gains)) return;
    const V share = gains ? V(at_least(before, 0) / at_least(change, 1e-30)) : V(T(1));
    pushed.gone = share * pushed.gone;
    pushed.turn = share * pushed.turn;
    for (int c = 0; c < count; ++c) {
        T* const one = on.in.contact(b, c);
        on.store(one + TOUCH_IMPULSE * LANES, share * on.load(one + TOUCH_IMPULSE * LANES));
        on.store3(one + TOUCH_DRAG * LANES, share * on.load3(one + TOUCH_DRAG * LANES));
    }
}

// Give hands that hold body b no more strength against colliders than they have where it is torn from them.
template <class Lane> PBD_INLINE void yield_to_touches(const Lane& on, int b, int count) {
    using T = typename Lane::T;
    using V = typename Lane::V;
    constexpr int LANES = Lane::LANES;
    const V none = V(T(0));
    T* const at = on.in.body(b);
    const auto held = on.load(at + BODY_HANDS * LANES) > none;
    const V before = on.load(at + BODY_TORN * LANES);
    V torn = before;
    for (int c = 0; c < count; ++c) {
        const auto touches = on.load(on.in.contact(b, c)) > V(T(0.5 * NO_TOUCH));
        torn = (held & touches & (before <= none)) ? V(T(1)) : torn;
    }
    on.store(at + BODY_TORN * LANES, torn);
    on.weigh(at, torn > none ? V(T(HAND_SET)) : V(T(HEAVY_SET)));
}

// Leave in the rows of contacts what the displacement of the body does not account for: rigid_meetings.h goes on there.
template <class Lane> PBD_INLINE void keep_touches(const Lane& on, int b, int count,
                                                   const PushedBody<typename Lane::V>& pushed,
                                                   const Mat3<typename Lane::V>& turn, typename Lane::V ball) {
    using T = typename Lane::T;
    using V = typename Lane::V;
    constexpr int LANES = Lane::LANES;
    T* const at = on.in.body(b);
    const Vec3<V> offset = on.offset(at);
    for (int c = 0; c < count; ++c) {
        T* const one = on.in.contact(b, c);
        const Vec3<V> n = on.load3(one + TOUCH_NORMAL * LANES);
        const Vec3<V> way = pushed.moved(turn * on.touch_in(b, c, offset) - ball * n);
        on.store(one, on.load(one) - dot(way, n));
        on.store3(one + TOUCH_SLIP * LANES, on.load3(one + TOUCH_SLIP * LANES) + way);
        for (int k = TOUCH_AHEAD; k < TOUCH_NUMBERS; ++k) on.store(one + k * LANES, V(T(0)));
    }
    on.store(at + BODY_TOUCHES * LANES, V(T(count)));
}

// Solve the contacts of body b with colliders.
template <class L, class Options, bool bouncing, class Model, class Body, class Scratch, class Substep>
inline CUDA_CALLABLE void solve_touches(const Model& model, const Body& body, const Scratch& rigid, const Substep& now,
                                        int group, int b, int count) {
    using T = typename L::T;
    using V = typename L::V;
    constexpr int LANES = L::LANES;
    const RigidBodies<L, Options, decltype(model.rigid)> in(model.rigid, body, rigid, group);
    T* const at = in.body(b);
    for (int lane = 0; lane < L::ROUNDS; ++lane) {
        PBD_CONTRACT_ON
        const RigidLane on(in, lane);
        const V none = V(T(0));
        const auto held = on.load(at + BODY_HANDS * LANES) > none;
        if (any(held)) yield_to_touches(on, b, count);
        leave_overlaps(on, b, count, T(now.h));
        const V ball = on.size * in.table.radius.data[b];
        const Vec3<V> center = on.center(at), offset = on.offset(at);
        const Mat3<V> turn = on.turn(at);
        PushedBody<V> pushed = {on.inv_mass(at), in_axes(turn, on.inverse(at)), {none, none, none}, {none, none, none}};
        for (int sweep = 0; sweep < TOUCH_SWEEPS; ++sweep)
            for (int m = 0; m < count; ++m) {
                const int c = sweep % 2 ? count - 1 - m : m;
                T* const one = in.contact(b, c);
                const Vec3<V> n = on.load3(one + TOUCH_NORMAL * LANES);
                const Vec3<V> r = turn * on.touch_in(b, c, offset) - ball * n;
                const V depth = on.load(one), old = on.load(one + TOUCH_IMPULSE * LANES);
                const V raised = old + (depth - dot(pushed.moved(r), n)) / pushed.weakness(r, n);
                const V sum = raised > none ? raised : none, load = sum + on.load(one + TOUCH_LOAD * LANES);
                on.store(one + TOUCH_IMPULSE * LANES, sum);
                pushed.push(r, (sum - old) * n);
                const Vec3<V> slip = on.load3(one + TOUCH_SLIP * LANES) + pushed.moved(r);
                const Vec3<V> beside = slip - dot(slip, n) * n;
                const V way = root(dot(beside, beside)), over = T(1) / at_least(way, 1e-12);
                const Vec3<V> dragged = on.load3(one + TOUCH_DRAG * LANES);
                const V yields = way > T(1e-12) ? V(T(1)) / pushed.weakness(r, over * beside) : none;
                const Vec3<V> drag = dragged - yields * beside;
                const V much = root(dot(drag, drag)), most = on.load(one + TOUCH_STATIC * LANES) * load;
                if (sweep == TOUCH_DECIDED) {
                    const Vec3<V> all = on.load3(one + TOUCH_SLIP * LANES), came = all - dot(all, n) * n;
                    const V left = dot(beside, beside);
                    const V least = T(TOUCH_CREEPS) * on.load(now.resting_speed.c) * now.h;
                    const auto slides =
                        (much > most) & (left > T(TOUCH_LEFT * TOUCH_LEFT) * dot(came, came)) & (left > least * least);
                    const V sticking = on.load(one + TOUCH_STATIC * LANES);
                    on.store(one + TOUCH_STATIC * LANES, slides ? on.load(one + TOUCH_KINETIC * LANES) : sticking);
                }
                const V limit = on.load(one + TOUCH_STATIC * LANES) * load;
                const V share = much > limit ? limit / at_least(much, 1e-30) : V(T(1));
                const Vec3<V> kept = share * drag;
                on.store3(one + TOUCH_DRAG * LANES, kept);
                pushed.push(r, kept - dragged);
            }
        if constexpr (bouncing) keep_energy(on, b, count, pushed, turn, ball);
        if constexpr (Options::WRENCHES || Options::FORCES || Options::TOUCHES)
            note_touches<Options>(on, body, b, count, ball);
        V touched = on.load(at + BODY_TOUCHED * LANES);
        for (int c = 0; c < count; ++c)
            touched = on.load(in.contact(b, c) + TOUCH_IMPULSE * LANES) > none ? V(T(1)) : touched;
        on.store(at + BODY_TOUCHED * LANES, touched);
        if (any(held)) {
            V torn = on.load(at + BODY_TORN * LANES);
            for (int c = 0; c < count; ++c) {
                const T* const one = in.contact(b, c);
                const V pressed = on.load(one + TOUCH_IMPULSE * LANES) + on.load(one + TOUCH_LOAD * LANES);
                torn = (held & (pressed > none)) ? V(T(2)) : torn;
            }
            on.store(at + BODY_TORN * LANES, torn);
        }
        if (in.table.meets.shape[0] > 0) keep_touches(on, b, count, pushed, turn, ball);
        const Vec3<V> there = center + pushed.gone;
        const Mat3<V> rotated = rotation(pushed.turn) * turn;
        on.set_place(at, there, rotated);
        on.write(b, there, rotated, offset);
    }
}

}  // namespace pbd
