// Balls that bounce, all that do so within a substep together.
//
// A ball may strike several others at once, and a rigid body strikes with all of its balls that lie on its face.
// Newton's law is to hold at each of these contacts afterwards, so their impulses are found by sweeps over all of them
// (projected Gauss-Seidel), as between bodies (rigid_meetings.h): what they push is moved at once, a ball by its
// inverse mass and a body as a whole by 1 / M + (r x n) . I^-1 (r x n), and no impulse is negative. Equal shares of a
// mass for each contact would send a block back from four balls at a fraction of the speed.
//
// These are plain numbers, one environment after the other, on one thread: few things bounce in any one substep.
#pragma once
#include "rigid_carry.h"
#include "rigid_columns.h"
#include "rotation.h"

namespace pbd {

// Sweeps over contacts that bounce, forth and back in turn, at most.
constexpr int REBOUND_SWEEPS = 60;
// They end when no contact is moved by more than this share of how far it is to part.
constexpr double REBOUND_LEFT = 1e-5;

// A contact of members k and l that bounces, as it is stored.
template <class T> struct Rebound {
    Vec3<T> n;        // normal, from l to k
    Vec3<T> r, q;     // levers of both, if they are in bodies [m]
    Vec3<T> slip;     // what k has moved against l in this substep [m]
    T apart;          // how far they are to part [m]
    T impulse;        // so far, times the substep [kg m]
    Vec3<T> dragged;  // impulse of friction
    T k, l;
    T along, beside;  // one over the inverse masses along the normal, and beside it
};

// Contacts that bounce in one environment.
//
// Group: members.  STEP: numbers between the coordinates of what moves a member.
template <class Group, int STEP> struct Rebounds {
    using T = typename Group::T;
    using Options = typename Group::Options;
    using Columns = typename Options::Carry;
    static constexpr int LANES = Group::LANES;
    static_assert(sizeof(Rebound<T>) == REBOUND_NUMBERS * sizeof(T), "Python makes room for them");

    const Group& in;
    const CarriedBodies<Group>& bodies;
    T* const moves;        // what moves the members
    const bool by_member;  // whether these are in the order of members, or of particles
    Rebound<T>* const list;
    const int room;
    int count = 0;  // of those that bounce; more than there is room for, and contacts have shares of their masses

    template <class Lists>
    PBD_INLINE Rebounds(const Group& in, const CarriedBodies<Group>& bodies, const Lists& lists, T* moves,
                        bool by_member)
        : in(in),
          bodies(bodies),
          moves(moves),
          by_member(by_member),
          list((Rebound<T>*)((T*)lists.rebounds.data + in.rank * lists.rebounds.shape[1])),
          room(lists.rebounds.shape[1] / REBOUND_NUMBERS) {}

    PBD_INLINE Vec3<T> get(const T* from) const {
        return {from[in.environment], from[LANES + in.environment], from[2 * LANES + in.environment]};
    }
    PBD_INLINE T lightness(int k) const { return in.w[in.members[k] * LANES + in.environment]; }
    // Its rigid body, or -1.
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
    // What inverse inertia makes of a vector in the axes of the world.
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

    // Note a contact if its members come on so fast that they bounce.
    //
    // resting: what comes on by no more in a substep does not [m].
    inline void consider(int k, int l, T resting) {
        PBD_CONTRACT_ON
        const T elastic = T(0.5) * (in.table.restitution.data[k] + in.table.restitution.data[l]);
        if (!(elastic > T(0))) return;
        const Vec3<T> d = get(in.place_of(k)) - get(in.place_of(l)), p = get(in.start_of(k)) - get(in.start_of(l));
        const T length = root(dot(d, d)), before = root(dot(p, p));
        // What has gone past the other within the substep goes back to its own side: contact_geometry.h.
        const bool passed = dot(d, p) < T(0.5) * length * before;
        const T over = T(1) / at_least(passed ? before : length, 1e-12);
        const Vec3<T> n = over * (passed ? p : d), slip = d - p;
        const T approach = -dot(slip, n);
        if (!(approach > T(2) * resting)) return;
        if (++count > room) return;
        const auto lever = [&](int m) {
            const int b = body_of(m);
            if (b < 0) return Vec3<T>{T(0), T(0), T(0)};
            return get(in.place_of(m)) - vector(b, Columns::CENTER);
        };
        const Rebound<T> found = {n,    lever(k),           lever(l), slip, approach + elastic * (approach - resting),
                                  T(0), {T(0), T(0), T(0)}, T(k),     T(l), T(0),
                                  T(0)};
        // One thread finds pairs by sixteens of members, blocks one member after the other: sweeps go by numbers.
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
    // How far impulses have moved it.
    PBD_INLINE Vec3<T> moved(int k, const Vec3<T>& r) const {
        PBD_CONTRACT_ON
        const int b = body_of(k);
        if (!(lightness(k) > T(0))) return {T(0), T(0), T(0)};
        if (b >= 0) return vector(b, Columns::GONE) + cross(vector(b, Columns::GONE + 3), r);
        const T* const move = move_of(k);
        return {move[0], move[STEP], move[2 * STEP]};
    }
    // Push it. What displaces a member of a body is an impulse of its own mass, which the body then goes by.
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
    }

    // Find impulses that fit together, and move members by them.
    //
    // Returns whether there was room for all that bounce.
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
            one.beside = beside > T(0) ? T(1.5) / beside : T(0);  // below 2 over the larger of two
        }
        for (int sweep = 0, more = count; sweep < REBOUND_SWEEPS && more > 0; ++sweep) {
            more = 0;
            for (int m = 0; m < count; ++m) {
                Rebound<T>& one = list[sweep % 2 ? count - 1 - m : m];
                const int k = (int)one.k, l = (int)one.l;
                const Vec3<T> n = one.n, way = moved(k, one.r) - moved(l, one.q);
                const T change = one.apart - dot(way, n), raised = one.impulse + change * one.along;
                const T sum = raised > T(0) ? raised : T(0), gained = sum - one.impulse;
                more += gained * gained >
                        T(REBOUND_LEFT * REBOUND_LEFT) * (one.apart * one.along) * (one.apart * one.along);
                const Vec3<T> slip = one.slip + way, beside = slip - dot(slip, n) * n;
                const Vec3<T> drag = one.dragged - one.beside * beside;
                const T much = root(dot(drag, drag));
                const T rub = T(0.5) * (in.table.traits.data[4 * k + 2] + in.table.traits.data[4 * l + 2]) * roughness;
                const Vec3<T> kept = much > rub * sum ? (rub * sum / much) * drag : drag;
                const Vec3<T> p = gained * n + (kept - one.dragged);
                one.impulse = sum;
                one.dragged = kept;
                push(k, one.r, p);
                push(l, one.q, T(-1) * p);
            }
        }
        keep_energy();
        return true;
    }

    // Make impulses smaller if they would gain energy, as Newton's law may off the centre with friction (Kane and
    // Levinson 1985, Dynamics: Theory and Applications). The work of all is theirs times the mean of how their
    // contacts slip before and afterwards.
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
