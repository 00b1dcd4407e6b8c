// How rigid bodies leave overlaps with colliders.
//
// Overlap that existed before the substep must not become speed: a body pushed out at once would be thrown. Contacts
// ignore it, and here the body and its position before the substep are moved out gradually.
//
// Each overlap acts as a spring. The body is moved towards the equilibrium of all springs: out of a floor, or to the
// middle between two plates that are closer together than it is thick. Spring forces that remain at equilibrium squeeze
// the body, and count as normal load for friction. The springs of all contacts with one collider together press with M
// d / SQUEEZE_TIME^2 at an overlap d, whatever the substep.
#pragma once
#include "rigid_bodies.h"

namespace pbd {

// Time in which overlaps are removed [s].
constexpr double LEAVING_TIME = 0.02;
// Time constant that sets the spring stiffness [s]: at an overlap of 0.04 mm they press with the weight of the body.
constexpr double SQUEEZE_TIME = 2e-3;
// Overlaps below this share of a ball's radius are rounding.
constexpr double LEAST_OVERLAP = 2e-5;
// Iterations to find the set of springs that still press.
constexpr int SPRING_ROUNDS = 5;
// Stiffness of springs that hold a body in directions without contact, relative to a contact's.
constexpr double SPRING_FLOOR = 1e-4;

// Response of a body to impulses: its displacement and rotation so far.
template <class V> struct PushedBody {
    V inv_mass;
    Sym3<V> lightness;  // inverse inertia tensor in world axes
    Vec3<V> gone, turn;

    // Apply the impulse p at r.
    PBD_INLINE void push(const Vec3<V>& r, const Vec3<V>& p) {
        gone = gone + inv_mass * p;
        turn = turn + lightness * cross(r, p);
    }
    // Its inverse mass at r, along n.
    PBD_INLINE V weakness(const Vec3<V>& r, const Vec3<V>& n) const {
        const Vec3<V> c = cross(r, n);
        return inv_mass + dot(c, lightness * c);
    }
    // Displacement of its point at r.
    PBD_INLINE Vec3<V> moved(const Vec3<V>& r) const { return gone + cross(turn, r); }
};

// Smallest pivot, relative to the diagonal element; well above rounding. A held body turns some thousand times as
// easily as it moves, and rounding in its pivots would throw it far away.
constexpr double PIVOT_FLOOR = 1e-6;

// Symmetric positive definite system in six unknowns, stored as its lower triangle.
template <class V> struct SixEquations {
    // Row of six numbers. Do not pass a plain `V[6]` of another template here: there V may be a vector of any alignment
    // (`Register`), but as a template argument it is one aligned to its size.
    struct Row {
        V of[6];
    };
    V matrix[6][6];
    V side[6];

    // Add m times the outer square of a row to the matrix, and m times `number` times the row to the right-hand side.
    PBD_INLINE void add(V m, const Row& row, V number) {
        PBD_CONTRACT_ON
        for (int i = 0; i < 6; ++i) {
            const V scaled = m * row.of[i];
            for (int j = 0; j <= i; ++j) matrix[i][j] += scaled * row.of[j];
            side[i] += scaled * number;
        }
    }
    // Solve by Cholesky factorisation; `side` then holds the unknowns.
    PBD_INLINE void solve() {
        PBD_CONTRACT_ON
        using T = Element<V>;
        for (int i = 0; i < 6; ++i) {
            const V least = T(PIVOT_FLOOR) * matrix[i][i];
            for (int j = 0; j <= i; ++j) {
                V sum = matrix[i][j];
                for (int k = 0; k < j; ++k) sum -= matrix[i][k] * matrix[j][k];
                if (i == j)
                    matrix[i][i] = T(1) / root(sum > least ? sum : least);
                else
                    matrix[i][j] = sum * matrix[j][j];
            }
        }
        for (int i = 0; i < 6; ++i) {
            for (int k = 0; k < i; ++k) side[i] -= matrix[i][k] * side[k];
            side[i] *= matrix[i][i];
        }
        for (int i = 5; i >= 0; --i) {
            for (int k = i + 1; k < 6; ++k) side[i] -= matrix[k][i] * side[k];
            side[i] *= matrix[i][i];
        }
    }
};

// Springs of a body's contacts with colliders.
template <class Lane> struct BodySprings {
    using T = typename Lane::T;
    using V = typename Lane::V;
    using Row = typename SixEquations<V>::Row;
    static constexpr int LANES = Lane::LANES;

    const Lane& on;
    const int b, count;
    const Vec3<V> center, offset;
    const Mat3<V> turn;

    PBD_INLINE BodySprings(const Lane& on, int b, int count)
        : on(on),
          b(b),
          count(count),
          center(on.center(on.in.body(b))),
          offset(on.offset(on.in.body(b))),
          turn(on.turn(on.in.body(b))) {}

    PBD_INLINE T* number(int c, int column) const { return on.in.contact(b, c) + column * LANES; }
    // Derivative of a contact's depth by the translation and rotation of the body, negated.
    PBD_INLINE Row row(int c) const {
        const Vec3<V> n = on.load3(number(c, TOUCH_NORMAL));
        const Vec3<V> r = turn * on.touch_in(b, c, offset) - on.size * on.in.table.radius.data[b] * n;
        const Vec3<V> spin = cross(r, n);
        return {{n.x, n.y, n.z, spin.x, spin.y, spin.z}};
    }
    // Overlap that remains after a displacement of the body.
    PBD_INLINE V left(int c, const Row& row, const Row& way) const {
        PBD_CONTRACT_ON
        V depth = on.load(number(c, TOUCH_EARLY));
        for (int k = 0; k < 6; ++k) depth -= row.of[k] * way.of[k];
        return depth;
    }
    // Whether anything overlaps in some lane; also sets the share of each contact in its collider's springs.
    PBD_INLINE bool overlap() const {
        const V none = V(T(0)), one = V(T(1));
        bool found = false;
        for (int first = 0, end = 0; first < count; first = end) {
            V number_of = none;
            for (end = first; end < count && on.in.collider(b, end) == on.in.collider(b, first); ++end)
                number_of += on.load(number(end, TOUCH_EARLY)) > none ? one : none;
            found = found || any(number_of > none);
            const V share = one / at_least(number_of, 1);
            for (int c = first; c < end; ++c)
                on.store(number(c, TOUCH_SHARE), on.load(number(c, TOUCH_EARLY)) > none ? share : none);
        }
        return found;
    }
    // Find the displacement to the equilibrium of the springs.
    PBD_INLINE Row balance() const {
        const V none = V(T(0)), least = V(T(SPRING_FLOOR));
        const T* const at = on.in.body(b);
        const Sym3<V> inertia = in_axes(turn, on.load_symmetric(at + BODY_INERTIA * LANES));
        const V spread = least * on.inv_mass(at);
        Row way;
        for (int k = 0; k < 6; ++k) way.of[k] = none;
        for (int round = 0; round < SPRING_ROUNDS; ++round) {
            SixEquations<V> all;
            for (int i = 0; i < 6; ++i) {
                all.side[i] = none;
                for (int j = 0; j <= i; ++j) all.matrix[i][j] = i == j ? least : none;
            }
            all.matrix[3][3] = spread * inertia.xx;
            all.matrix[4][3] = spread * inertia.xy;
            all.matrix[4][4] = spread * inertia.yy;
            all.matrix[5][3] = spread * inertia.xz;
            all.matrix[5][4] = spread * inertia.yz;
            all.matrix[5][5] = spread * inertia.zz;
            for (int c = 0; c < count; ++c) {
                const Row along = row(c);
                const V stiff = left(c, along, way) > none ? on.load(number(c, TOUCH_SHARE)) : none;
                all.add(stiff, along, on.load(number(c, TOUCH_EARLY)));
            }
            all.solve();
            for (int k = 0; k < 6; ++k) way.of[k] = all.side[k];
        }
        return way;
    }
};

// Move body b and its position before the substep part of the way out of overlaps, and find the loads that squeeze it.
template <class Lane> PBD_INLINE void leave_overlaps(const Lane& on, int b, int count, typename Lane::T h) {
    PBD_CONTRACT_ON
    using T = typename Lane::T;
    using V = typename Lane::V;
    constexpr int LANES = Lane::LANES;
    const BodySprings<Lane> springs(on, b, count);
    if (!springs.overlap()) return;
    const auto way = springs.balance();
    T* const at = on.in.body(b);
    const V none = V(T(0)), soft = V(h * h * T(1.0 / (SQUEEZE_TIME * SQUEEZE_TIME)));
    const auto held = on.load(at + BODY_HANDS * LANES) > none;
    const V pressure = held ? soft * on.load(at + BODY_MASS * LANES) : soft / on.inv_mass(at);
    for (int c = 0; c < count; ++c) {
        const auto row = springs.row(c);
        // Minus the residual that the holding springs leave of every overlap.
        const V left = springs.left(c, row, way) - T(2.0 * SPRING_FLOOR) * on.load(springs.number(c, TOUCH_EARLY));
        on.store(springs.number(c, TOUCH_LOAD),
                 left > none ? pressure * on.load(springs.number(c, TOUCH_SHARE)) * left : none);
    }
    const V share = V(h < T(LEAVING_TIME) ? h * T(1.0 / LEAVING_TIME) : T(1));
    const Vec3<V> gone = share * Vec3<V>{way.of[0], way.of[1], way.of[2]},
                  spin = share * Vec3<V>{way.of[3], way.of[4], way.of[5]};
    const Mat3<V> turn = rotation(spin);
    const Vec3<V> start = on.load3(at + BODY_START * LANES), center = springs.center;
    // Its earlier pose is rotated about the same point.
    on.store3(at + BODY_START * LANES, start + (gone + cross(spin, start - center)));
    on.store_rows(at + BODY_START_TURN * LANES, turn * on.load_rows(at + BODY_START_TURN * LANES));
    const Mat3<V> now = turn * springs.turn;
    on.set_place(at, center + gone, now);
    on.write(b, center + gone, now, springs.offset);
    for (int j = on.in.offsets[b]; j < on.in.offsets[b + 1]; ++j) {
        const V free = on.load(on.in.w + on.in.members[j] * LANES);
        const Vec3<V> old = on.load3(on.in.place_before(j));
        on.store3(on.in.place_before(j), choose(free > none, old + (gone + cross(spin, old - center)), old));
    }
}

}  // namespace pbd
