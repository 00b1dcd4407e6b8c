// Bouncing contacts between balls, all those of a substep together.
//
// A ball may strike several others at once, and a rigid body strikes with all balls on a face. Newton's law of
// restitution has to hold at each of these contacts afterwards, so the impulses are found by sweeps over all contacts
// (projected Gauss-Seidel), as between bodies (rigid_meetings.h). Each impulse acts at once, on a ball by its inverse
// mass or on a body by 1 / M + (r x n) . I^-1 (r x n), and none is negative. Splitting a mass equally among its
// contacts instead would return a block that lands on four balls at a fraction of its speed.
//
// This is scalar code, one environment after the other, on one thread: few things bounce in any one substep.
#pragma once
#include "contact_feet.h"
#include "rigid_columns.h"
#include "rotation.h"

namespace pbd {

// Largest number of sweeps over bouncing contacts, alternately forwards and backwards.
constexpr int REBOUND_SWEEPS = 60;
// Sweeps end when no contact changes by more than this share of its separation.
constexpr double REBOUND_LEFT = 1e-5;

// A stored bouncing contact of members k and l.
template <class T> struct Rebound {
    Vec3<T> n;        // normal, from l to k
    Vec3<T> r, q;     // lever arms on both, if they belong to bodies [m]
    Vec3<T> slip;     // displacement of k relative to l in this substep [m]
    T apart;          // distance by which they are to be separated [m]
    T impulse;        // normal impulse so far, times the substep [kg m]
    Vec3<T> dragged;  // friction impulse
    T k, l;
    T along, beside;  // effective masses along and perpendicular to the normal
};

// Bouncing contacts of one environment.
//
// Group: members. STEP: distance between the coordinates of a displacement in memory.
template <class Group, int STEP> struct Rebounds {
    using T = typename Group::T;
    using Options = typename Group::Options;
    using Columns = typename Options::Carry;
    static constexpr int LANES = Group::LANES;
    static_assert(sizeof(Rebound<T>) == REBOUND_NUMBERS * sizeof(T), "Python makes room for them");

    const Group& in;
    const CarriedBodies<Group>& bodies;
    T* const moves;        // displacements of members
    T* const twists;       // and, for those of rigid bodies, twists
    const bool by_member;  // whether they are indexed by member, not by particle
    Rebound<T>* const list;
    const int room;
    int count = 0;  // bouncing contacts; if they exceed `room`, contacts use shared masses

    template <class Lists>
    PBD_INLINE Rebounds(const Group& in, const CarriedBodies<Group>& bodies, const Lists& lists, T* moves, T* twists,
                        bool by_member)
        : in(in),
          bodies(bodies),
          moves(moves),
          twists(twists),
          by_member(by_member),
          list((Rebound<T>*)((T*)lists.rebounds.data + in.rank * lists.rebounds.shape[1])),
          room(lists.rebounds.shape[1] / REBOUND_NUMBERS) {}

    PBD_INLINE Vec3<T> get(const T* from) const {
        return {from[in.environment], from[LANES + in.environment], from[2 * LANES + in.environment]};
    }
    // Place of a member.
    PBD_INLINE Foot<T> spot(int k) const { return {get(in.place_of(k)), get(in.start_of(k))}; }
    PBD_INLINE T lightness(int k) const { return in.w[in.members[k] * LANES + in.environment]; }
    // Rigid body of a member, or -1.
    PBD_INLINE int body_of(int k) const {
        if constexpr (Options::RIGID) return in.table.owner.data[k];
        return -1;
    }
    PBD_INLINE T* column(int b, int c) const {
        return bodies.bodies + ((size_t)b * Columns::COUNT + c) * LANES + in.environment;
    }
    PBD_INLINE Vec3<T> vector(int b, int c) const {
        const T* const from = column(b, c);
        return {from[0], from[LANES], from[2 * LANES]};
    }
    PBD_INLINE void add(int b, int c, const Vec3<T>& p) const {
        T* const to = column(b, c);
        to[0] += p.x;
        to[LANES] += p.y;
        to[2 * LANES] += p.z;
    }
    // Product of the inverse inertia of body b and a vector in world axes.
    PBD_INLINE Vec3<T> lighten(int b, const Vec3<T>& p) const {
        const Vec3<T> u = vector(b, Columns::INVERSE), v = vector(b, Columns::INVERSE + 3);
        const Mat3<T> turn = {vector(b, Columns::TURN), vector(b, Columns::TURN + 3), vector(b, Columns::TURN + 6)};
        const Sym3<T> inverse = {u.x, u.y, u.z, v.x, v.y, v.z};
        return turn * (inverse * transposed_times(turn, p));
    }
    PBD_INLINE T* move_of(int k) const {
        if (by_member) return moves + 4 * k;
        return moves + 3 * (size_t)in.members[k] * LANES + in.environment;
    }

    // Record a contact if its members approach fast enough to bounce.
    //
    // resting: relative displacement in a substep below which contacts do not bounce [m].
    inline void consider(int k, int l, T resting) {
        PBD_CONTRACT_ON
        const T elastic = T(0.5) * (in.table.restitution.data[k] + in.table.restitution.data[l]);
        if (!(elastic > T(0))) return;
        const Pair<T> ends = stand(in, bodies, k, l, {spot(k), spot(l)}, false);
        const Vec3<T> d = ends.one.now - ends.two.now, p = ends.one.before - ends.two.before;
        const T length = root(dot(d, d)), before = root(dot(p, p));
        // A member that has passed the other within the substep returns to its own side: contact_geometry.h.
        const bool passed = dot(d, p) < T(0.5) * length * before;
        const T over = T(1) / at_least(passed ? before : length, 1e-12);
        const Vec3<T> n = over * (passed ? p : d), slip = d - p;
        const T approach = -dot(slip, n);
        if (!(approach > T(2) * resting)) return;
        if (++count > room) return;
        const auto lever = [&](int m, const Vec3<T>& place) {
            const int b = body_of(m);
            if (b < 0) return Vec3<T>{T(0), T(0), T(0)};
            return place - vector(b, Columns::CENTER);
        };
        const Vec3<T> r = lever(k, ends.one.now), q = lever(l, ends.two.now), none = {T(0), T(0), T(0)};
        const T apart = approach + elastic * (approach - resting);
        const Rebound<T> found = {n, r, q, slip, apart, T(0), none, T(k), T(l), T(0), T(0)};
        // Keep contacts sorted by member, because a single thread finds pairs by sixteens and blocks find them one by
        // one.
        int at = count - 1;
        for (; at > 0 && (list[at - 1].k > found.k || (list[at - 1].k == found.k && list[at - 1].l > found.l)); --at)
            list[at] = list[at - 1];
        list[at] = found;
    }

    // Inverse mass of a member, or of its body at r, along n.
    PBD_INLINE T weakness(int k, const Vec3<T>& r, const Vec3<T>& n) const {
        PBD_CONTRACT_ON
        const T w = lightness(k);
        const int b = body_of(k);
        if (b < 0 || !(w > T(0))) return w;
        const Vec3<T> c = cross(r, n);
        return *column(b, Columns::INV_MASS) + dot(c, lighten(b, c));
    }
    // Displacement of a member by impulses.
    PBD_INLINE Vec3<T> moved(int k, const Vec3<T>& r) const {
        PBD_CONTRACT_ON
        const int b = body_of(k);
        if (!(lightness(k) > T(0))) return {T(0), T(0), T(0)};
        if (b >= 0) return vector(b, Columns::GONE) + cross(vector(b, Columns::GONE + 3), r);
        const T* const move = move_of(k);
        return {move[0], move[STEP], move[2 * STEP]};
    }
    // Apply the impulse p. A member's own displacement uses its own mass; its body adds the impulse to its motion.
    PBD_INLINE void push(int k, const Vec3<T>& r, const Vec3<T>& p) const {
        PBD_CONTRACT_ON
        const T w = lightness(k);
        if (!(w > T(0))) return;
        T* const move = move_of(k);
        move[0] += w * p.x;
        move[STEP] += w * p.y;
        move[2 * STEP] += w * p.z;
        const int b = body_of(k);
        if (b < 0) return;
        add(b, Columns::GONE, *column(b, Columns::INV_MASS) * p);
        add(b, Columns::GONE + 3, lighten(b, cross(r, p)));
        const Vec3<T> arm = r - (get(in.place_of(k)) - vector(b, Columns::CENTER));
        bodies.add_twist(twists + (by_member ? 3 * k : 3 * (size_t)k * LANES + in.environment), STEP, arm, p);
    }

    // Find consistent impulses, and move members by them.
    //
    // Returns whether there was room for all bouncing contacts.
    inline bool solve(T roughness) const {
        PBD_CONTRACT_ON
        if (count > room) return false;
        const Vec3<T> none = {T(0), T(0), T(0)};
        const Vec3<T> axes[] = {{T(1), T(0), T(0)}, {T(0), T(1), T(0)}, {T(0), T(0), T(1)}};
        for (int m = 0; m < count; ++m) {
            Rebound<T>& one = list[m];
            const int ends[] = {(int)one.k, (int)one.l};
            T all = T(0);
            for (int e = 0; e < 2; ++e) {
                for (int a = 0; a < 3; ++a) all += weakness(ends[e], e ? one.q : one.r, axes[a]);
                if (const int b = body_of(ends[e]); b >= 0) {
                    add(b, Columns::GONE, T(-1) * vector(b, Columns::GONE));
                    add(b, Columns::GONE + 3, T(-1) * vector(b, Columns::GONE + 3));
                }
            }
            const T along = weakness(ends[0], one.r, one.n) + weakness(ends[1], one.q, one.n), beside = all - along;
            one.along = along > T(0) ? T(1) / along : T(0);
            one.beside = beside > T(0) ? T(1.5) / beside : T(0);  // stable: less than 2 / the larger of two terms
        }
        for (int sweep = 0, more = count; sweep < REBOUND_SWEEPS && more > 0; ++sweep) {
            more = 0;
            for (int m = 0; m < count; ++m) {
                Rebound<T>& one = list[sweep % 2 ? count - 1 - m : m];
                const int k = (int)one.k, l = (int)one.l;
                const Vec3<T> n = one.n, way = moved(k, one.r) - moved(l, one.q);
                const T change = one.apart - dot(way, n), raised = one.impulse + change * one.along;
                const T sum = raised > T(0) ? raised : T(0), gained = sum - one.impulse;
                const Vec3<T> slip = one.slip + way, beside = slip - dot(slip, n) * n;
                const Vec3<T> drag = one.dragged - one.beside * beside;
                const T much = root(dot(drag, drag));
                const T rub = T(0.5) * (in.table.traits.data[4 * k + 2] + in.table.traits.data[4 * l + 2]) * roughness;
                const Vec3<T> kept = much > rub * sum ? (rub * sum / much) * drag : drag;
                const Vec3<T> p = gained * n + (kept - one.dragged);
                more += dot(p, p) > T(REBOUND_LEFT * REBOUND_LEFT) * (one.apart * one.along) * (one.apart * one.along);
                one.impulse = sum;
                one.dragged = kept;
                push(k, one.r, p);
                push(l, one.q, T(-1) * p);
            }
        }
        keep_energy();
        return true;
    }

    // Scale down the impulses if they gain energy, as Newton's law may in eccentric impacts with friction (Kane and
    // Levinson 1985, Dynamics: Theory and Applications). Their work is the impulse times the mean of the contact slip
    // before and after.
    PBD_INLINE void keep_energy() const {
        PBD_CONTRACT_ON
        T before = T(0), change = T(0);
        for (int m = 0; m < count; ++m) {
            const Rebound<T>& one = list[m];
            const Vec3<T> p = one.impulse * one.n + one.dragged;
            before -= dot(p, one.slip);
            change += T(0.5) * dot(p, moved((int)one.k, one.r) - moved((int)one.l, one.q));
        }
        if (!(change > before)) return;
        const T less = wp::max(before, T(0)) / change - T(1);
        for (int m = 0; m < count; ++m) {
            const Rebound<T>& one = list[m];
            const Vec3<T> p = less * (one.impulse * one.n + one.dragged);
            push((int)one.k, one.r, p);
            push((int)one.l, one.q, T(-1) * p);
        }
    }
};

}  // namespace pbd
