// Rigid bodies follow the displacements of their particles, and joints hold bodies together.
//
// Suppose that constraints, contacts between particles and fluids have displaced a particle by d, assuming the mass m.
// To its body of mass M that is the impulse m d (times the substep): the body moves by sum m d / M and turns by I^-1
// sum r x m d. Whatever displaced the particle gave others the opposite impulse, so momentum is conserved.
//
// A joint is a point that two bodies share. With r from either centre to it, the impulse that closes a gap d is (K_1 +
// K_2)^-1 d, where K p = p / M + (I^-1 (r x p)) x r: Mueller et al. 2020 (Detailed rigid body simulation with extended
// position based dynamics, doi:10.1111/cgf.14105). A fixed point in space has K = 0. A particle joined to a body
// becomes one of the body's own, with the inverse mass that the body has at that point.
#pragma once
#include "rigid_bodies.h"

namespace pbd {

// Sweeps over the joints in an iteration, alternately forwards and backwards.
constexpr int JOINT_SWEEPS = 4;

// One lane of joint c.
template <class Bodies> struct Joint : RigidLane<Bodies> {
    using Base = RigidLane<Bodies>;
    using T = typename Base::T;
    using V = typename Base::V;

    const int c;

    PBD_INLINE Joint(const Bodies& in, int lane, int c) : Base(in, lane), c(c) {}

    // Three of the six coordinates of its two points, from k on.
    PBD_INLINE Vec3<V> point(int k) const {
        const T* const from = this->in.table.points.data + 6 * c + k;
        return {V(from[0]), V(from[1]), V(from[2])};
    }
    // Vector from the centre of a body to a point of it, in world axes.
    PBD_INLINE Vec3<V> lever(const T* at, const Vec3<V>& point) const {
        return this->turn(at) * (this->size * point - this->offset(at));
    }
    PBD_INLINE Sym3<V> lightness(const T* at) const { return in_axes(this->turn(at), this->inverse(at)); }
    // Add K of a body at r.
    PBD_INLINE void weaken(Sym3<V>& k, const T* at, const Vec3<V>& r) const {
        PBD_CONTRACT_ON
        const V m = this->inv_mass(at), none = V(T(0));
        const Sym3<V> s = lightness(at);
        const Vec3<V> ex = {none, -r.z, r.y}, ey = {r.z, none, -r.x}, ez = {-r.y, r.x, none};  // rows of -[r]
        const Vec3<V> p = s * ex, q = s * ey, o = s * ez;
        k.xx += m + dot(ex, p);
        k.yy += m + dot(ey, q);
        k.zz += m + dot(ez, o);
        k.xy += dot(ex, q);
        k.xz += dot(ex, o);
        k.yz += dot(ey, o);
    }
    // Apply the impulse p to a body at r.
    PBD_INLINE void push(T* at, const Vec3<V>& r, const Vec3<V>& p) const {
        const Mat3<V> turn = this->turn(at);
        const Sym3<V> s = in_axes(turn, this->inverse(at));
        this->note_push(at, this->center(at) + r, p);
        this->set_place(at, this->center(at) + this->inv_mass(at) * p, rotation(s * cross(r, p)) * turn);
    }
    // Close the gap between its two points.
    PBD_INLINE void close() const {
        const V none = V(T(0));
        const int first = this->in.table.joints.data[2 * c], second = this->in.table.joints.data[2 * c + 1];
        T* const one = this->in.body(first);
        T* const two = this->in.body(second < 0 ? first : second);
        Sym3<V> k = {none, none, none, none, none, none};
        const Vec3<V> mine = lever(one, point(0));
        weaken(k, one, mine);
        Vec3<V> goal = point(3), its = goal;
        if (second >= 0) {
            its = lever(two, goal);
            weaken(k, two, its);
            goal = this->center(two) + its;
        }
        const Vec3<V> p = inverse_of(k) * (goal - (this->center(one) + mine));
        push(one, mine, p);
        if (second >= 0) push(two, its, T(-1) * p);
    }
};

// Velocity that gravity gives a free particle in a substep [m/s].
template <class Wide> struct Fall {
    const Wide &x, &y, &z;
};

// Pull a body at its held members towards their hands, where it is torn from them: by its weight, which they carry, and
// by the way to them and their own motion.
//
// fall: displacement of a free particle by gravity.
template <class Lane>
PBD_INLINE void pull_torn(const Lane& on, int b, const Vec3<typename Lane::V>& fall, typename Lane::T h) {
    PBD_CONTRACT_ON
    using T = typename Lane::T;
    using V = typename Lane::V;
    constexpr int LANES = Lane::LANES;
    const V none = V(T(0));
    T* const at = on.in.body(b);
    const auto torn = on.load(at + BODY_TORN * LANES) > none;
    const Vec3<V> center = on.center(at), offset = on.offset(at), start = on.load3(at + BODY_START * LANES);
    const Mat3<V> turn = on.turn(at), before = on.load_rows(at + BODY_START_TURN * LANES);
    const V one = V(T(1)), each = one / at_least(on.load(at + BODY_HANDS * LANES), 1);
    const V carried = each * on.load(at + BODY_LOOSE_MASS * LANES), reach = on.size * on.in.table.reach.data[b];
    const HandMeans<V> means = on.hand_means(b);
    const Vec3<V> way = on.drawn(means.gap, h, one);
    Vec3<V> push = {none, none, none}, spin = push;
    for (int j = on.in.offsets[b]; j < on.in.offsets[b + 1]; ++j) {
        const auto pulls = torn & on.is_held(j);
        if (!any(pulls)) continue;
        const Vec3<V> r = on.place_in(j, offset), arm = r - means.place;
        const Vec3<V> turns = on.drawn(on.gap_before(b, j, r) - means.gap, h, root(dot(arm, arm)) / reach);
        const Vec3<V> lever = turn * r, went = (center + lever) - (start + before * r);
        const Vec3<V> wanted = on.followed(b, j, means) + way + turns - went;
        const Vec3<V> p = choose(pulls, on.hand_weight(j, b, h) * wanted - carried * fall, {none, none, none});
        push = push + p;
        spin = spin + cross(lever, p);
    }
    const Mat3<V> turned = rotation(in_axes(turn, on.inverse(at)) * spin) * turn;
    on.set_place(at, center + on.inv_mass(at) * push,
                 {choose(torn, turned.a, turn.a), choose(torn, turned.b, turn.b), choose(torn, turned.c, turn.c)});
}

// Whether the hands of body b have yet to pull in a substep h, or 0 where they are not to.
template <class Lane> PBD_INLINE bool is_first(const Lane& on, int b, typename Lane::T h) {
    using T = typename Lane::T;
    return h > T(0) && !any(on.load(on.in.body(b) + BODY_PULLED * Lane::LANES) > typename Lane::V(T(0)));
}

// Let hands of a torn body weigh as they resist, and pull at it once in a substep.
//
// h: substep, or 0 where hands are not to pull.
template <class Lane, class Wide>
PBD_INLINE void let_hands_pull(const Lane& on, int b, typename Lane::V torn, const Fall<Wide>& fall,
                               typename Lane::T h) {
    using T = typename Lane::T;
    using V = typename Lane::V;
    on.weigh(on.in.body(b), torn > V(T(0)) ? V(T(HAND_SET)) : V(T(HEAVY_SET)));
    if (is_first(on, b, h)) pull_torn(on, b, h * Vec3<V>{on.load(fall.x.c), on.load(fall.y.c), on.load(fall.z.c)}, h);
}

// Move body b by the pushes on its particles from where it has come by itself, not from where it was expected to be.
//
// way, turned: displacement and rotation by the pushes. first: whether this is the first iteration of the substep.
template <class Lane>
PBD_INLINE void fall_back(const Lane& on, int b, const Vec3<typename Lane::V>& way,
                          const Vec3<typename Lane::V>& turned, bool first) {
    using T = typename Lane::T;
    using V = typename Lane::V;
    constexpr int LANES = Lane::LANES;
    T* const at = on.in.body(b);
    const V none = V(T(0));
    const Vec3<V> zero = {none, none, none}, center = on.center(at) + way - on.load3(at + BODY_AHEAD * LANES);
    const Mat3<V> turn = rotation(turned - on.load3(at + (BODY_AHEAD + 3) * LANES)) * on.turn(at);
    on.set_place(at, center, turn);
    on.store3(at + BODY_AHEAD * LANES, zero);
    on.store3(at + (BODY_AHEAD + 3) * LANES, zero);
    T* const fallen = at + BODY_FALLEN * LANES;
    on.store3(fallen, first ? center - on.load3(at + BODY_START * LANES) : on.load3(fallen) + way);
    on.store3(fallen + 3 * LANES, first ? rotation_vector(turn, on.load_rows(at + BODY_START_TURN * LANES))
                                        : on.load3(fallen + 3 * LANES) + turned);
}

// Move bodies by the pushes on their particles and by joints, and particles with their bodies.
//
// h: substep, or 0 where hands are not to pull.
template <class L, class Options, class Wide, class Model, class Body, class Scratch>
inline CUDA_CALLABLE void gather_bodies(const Model& model, const Body& body, const Scratch& rigid, typename L::T h,
                                        const Fall<Wide>& fall, int group, int thread, int thread_count) {
    using T = typename L::T;
    using V = typename L::V;
    constexpr int LANES = L::LANES;
    const RigidBodies<L, Options, decltype(model.rigid)> in(model.rigid, body, rigid, group);
    for (int b = thread; b < in.count(); b += thread_count) {
        T* const at = in.body(b);
        for (int lane = 0; lane < L::ROUNDS; ++lane) {
            const RigidLane on(in, lane);
            const V none = V(T(0)), one = V(T(1)), before = on.load(at + BODY_TORN * LANES);
            on.weigh(at, V(T(HEAVY_SET)));  // hands take up what others push
            const Vec3<V> center = on.center(at), offset = on.offset(at), zero = {none, none, none};
            const Mat3<V> turn = on.turn(at);
            const V ball = on.size * in.table.radius.data[b], least = T(TORN) * ball;
            V torn = before > one ? one : none;
            Vec3<V> push = zero, spin = on.load3(at + BODY_TWIST * LANES), pull = zero, twist = zero;
            on.note_moment(at, spin);
            on.store3(at + BODY_TWIST * LANES, zero);
            for (int j = in.offsets[b]; j < in.offsets[b + 1]; ++j) {
                const Vec3<V> r = turn * on.place_in(j, offset);
                const Vec3<V> d = on.load3(in.place(j)) - (center + r);
                const V m = on.unless_held(j, b, in.table.push.data[j]);
                const auto held = on.is_held(j);
                const Vec3<V> p = choose(held, zero, m * d);
                push = push + p;
                spin = spin + cross(r, p);
                on.note_push(at, center + r, p);
                if (any(held)) {
                    torn = (held & (dot(d, d) > least * least)) ? one : torn;
                    const Vec3<V> own = on.load_rows(at + BODY_START_TURN * LANES) * on.place_in(j, offset);
                    const Vec3<V> way = on.load3(in.place_before(j)) - (on.load3(at + BODY_START * LANES) + own);
                    const Vec3<V> back = choose(held, m * (d - way + on.drawn(way, h, one)), zero);
                    pull = pull + back;
                    twist = twist + cross(r, back);
                }
            }
            const bool first = is_first(on, b, h);
            const bool hinged = in.table.hinged.data[b] != 0;
            if (hinged) torn = on.load(at + BODY_HANDS * LANES) > none ? one : torn;
            torn = first ? torn : before;
            push = push + choose(torn > none, zero, pull);
            spin = spin + choose(torn > none, zero, twist);
            const Sym3<V> lightness = in_axes(turn, on.inverse(at));
            if (h > T(0)) {
                fall_back(on, b, on.inv_mass(at) * push, lightness * spin, first);
            } else {
                on.set_place(at, center + on.inv_mass(at) * push, rotation(lightness * spin) * turn);
            }
            on.store(at + BODY_TORN * LANES, torn);
            // Joints to space have the last word over hands.
            if (hinged && any(torn > none)) let_hands_pull(on, b, torn, fall, h);
        }
    }
    sync();
    const int joint_count = in.table.joints.shape[0] / 2;
    if (thread == 0 && joint_count > 0) {  // joints depend on each other
        for (int n = 0; n < JOINT_SWEEPS * joint_count; ++n) {
            const int k = n % joint_count, c = n / joint_count % 2 ? joint_count - 1 - k : k;
            for (int lane = 0; lane < L::ROUNDS; ++lane) Joint(in, lane, c).close();
        }
    }
    sync();
    for (int b = thread; b < in.count(); b += thread_count) {
        T* const at = in.body(b);
        for (int lane = 0; lane < L::ROUNDS; ++lane) {
            const RigidLane on(in, lane);
            const V none = V(T(0)), torn = on.load(at + BODY_TORN * LANES);
            if (any(torn > none) && !in.table.hinged.data[b]) let_hands_pull(on, b, torn, fall, h);
            if (h > T(0)) on.store(at + BODY_PULLED * LANES, V(T(1)));
            on.write(b, on.center(at), on.turn(at), on.offset(at));
        }
    }
}

}  // namespace pbd
