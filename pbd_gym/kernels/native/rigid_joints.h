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

// Move bodies by the pushes on their particles and by joints, and particles with their bodies.
template <class L, class Options, class Model, class Body, class Scratch>
inline CUDA_CALLABLE void gather_bodies(const Model& model, const Body& body, const Scratch& rigid, typename L::T h,
                                        int group, int thread, int thread_count) {
    using T = typename L::T;
    using V = typename L::V;
    constexpr int LANES = L::LANES;
    const RigidBodies<L, Options, decltype(model.rigid)> in(model.rigid, body, rigid, group);
    for (int b = thread; b < in.count(); b += thread_count) {
        T* const at = in.body(b);
        for (int lane = 0; lane < L::ROUNDS; ++lane) {
            const RigidLane on(in, lane);
            const V none = V(T(0));
            if (any(on.load(at + BODY_TORN * LANES) > none)) on.change_weight(at, none);  // hands may reach it again
            const Vec3<V> center = on.center(at), offset = on.offset(at);
            const Mat3<V> turn = on.turn(at);
            const V ball = on.size * in.table.radius.data[b], least = T(TORN) * ball;
            V torn = none;
            Vec3<V> push = {none, none, none}, spin = push;
            for (int j = in.offsets[b]; j < in.offsets[b + 1]; ++j) {
                const Vec3<V> r = turn * on.place_in(j, offset);
                const Vec3<V> here = on.load3(in.place(j)), d = here - (center + r);
                const V m = on.unless_held(j, b, in.table.push.data[j]), free = on.load(in.w + in.members[j] * LANES);
                Vec3<V> p = m * d, moment = cross(r, p);
                if (any(free <= none)) {
                    const Vec3<V> hand = here - center,
                                  from = on.load3(in.place_before(j)) - on.load3(at + BODY_START * LANES);
                    const Vec3<V> own = on.load_rows(at + BODY_START_TURN * LANES) * on.place_in(j, offset);
                    const Vec3<V> way = from - own, turns = on.reached(own, from) * from - own;
                    torn = ((free <= none) & (dot(d, d) > least * least)) ? V(T(1)) : torn;
                    const V most = V(T(DRAWN) * h), left = on.left_of(turns, most);
                    const V near = on.reached(r, hand);
                    p = choose(free > none, p, m * (d - on.left_of(way, most) * way));
                    moment = choose(free > none, moment, (m * near) * cross(r, hand) - (m * left) * cross(r, turns));
                }
                push = push + p;
                spin = spin + moment;
                on.note_push(at, center + r, choose(free > none, p, {none, none, none}));
            }
            const Sym3<V> lightness = in_axes(turn, on.inverse(at));
            on.set_place(at, center + on.inv_mass(at) * push, rotation(lightness * spin) * turn);
            if (any(torn > none)) on.change_weight(at, torn);
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
        const T* const at = in.body(b);
        for (int lane = 0; lane < L::ROUNDS; ++lane) {
            const RigidLane on(in, lane);
            on.write(b, on.center(at), on.turn(at), on.offset(at));
        }
    }
}

}  // namespace pbd
