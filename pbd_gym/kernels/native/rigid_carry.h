// Motion of rigid bodies after a first pass of contacts.
//
// A contact displaces a ball of a rigid body by an impulse that assumes the ball's own small mass. The ball really
// moves with its body, by the sum of all pushes. The second pass must see it there: the displacement alone is many
// times too large, and what the second pass took back of it would be energy from nowhere.
#pragma once
#include "algebra.h"
#include "contact_group.h"

namespace pbd {

// Rigid bodies of the environment that a group works on.
template <class Group> struct CarriedBodies {
    using T = typename Group::T;
    using Columns = typename Group::Options::Carry;
    using Vector = Vec3<T>;
    static constexpr int LANES = Group::LANES;

    T* const bodies;

    template <class Rigid>
    PBD_INLINE CarriedBodies(const Rigid& rigid, size_t group)
        : bodies((T*)rigid.bodies.data + group * rigid.bodies.shape[1] * Columns::COUNT * LANES) {}

    // Row of a body in the current environment.
    PBD_INLINE T* row(const Group& in, int b) const { return bodies + b * Columns::COUNT * LANES + in.environment; }

    // Compute the displacement and rotation of a body from those of its members, as for joints (rigid_joints.h).
    //
    // displaced: (member, axis) -> displacement [m].
    // twisted:   (member) -> its twist: see keep_twist.
    template <class Displaced, class Twisted>
    PBD_INLINE void carry(const Group& in, int b, Displaced&& displaced, Twisted&& twisted) const {
        PBD_CONTRACT_ON
        T* const at = row(in, b);
        const Vector center = get(at + Columns::CENTER * LANES);
        Vector push = {T(0), T(0), T(0)}, spin = push;
        for (int n = in.table.crowd_start.data[b]; n < in.table.crowd_start.data[b + 1]; ++n) {
            const int k = in.table.crowd.data[n];
            const T lightness = in.w[in.members[k] * LANES + in.environment];
            if (!(lightness > T(0))) continue;
            const Vector p = (T(1) / lightness) * Vector{displaced(k, 0), displaced(k, 1), displaced(k, 2)};
            push = push + p;
            spin = spin + cross(place(in, k) - center, p);
            spin = spin + twisted(k);
        }
        const Mat3<T> turn = rows(at + Columns::TURN * LANES);
        put(at + Columns::GONE * LANES, at[Columns::INV_MASS * LANES] * push);
        put(at + (Columns::GONE + 3) * LANES, turn * (inverse(at) * transposed_times(turn, spin)));
    }

    // Displacement of a member at a place due to the motion of its body.
    PBD_INLINE void carried(const Group& in, int k, T px, T py, T pz, T* to) const {
        PBD_CONTRACT_ON
        const T* const at = row(in, in.table.owner.data[k]);
        const T* const gone = at + Columns::GONE * LANES;
        const T* const angle = at + (Columns::GONE + 3) * LANES;
        const T rx = px - at[0], ry = py - at[LANES], rz = pz - at[2 * LANES];
        to[0] = gone[0] + (angle[LANES] * rz - angle[2 * LANES] * ry);
        to[1] = gone[LANES] + (angle[2 * LANES] * rx - angle[0] * rz);
        to[2] = gone[2 * LANES] + (angle[0] * ry - angle[LANES] * rx);
    }

    // Number of contacts by which a member's share of a correction is divided. For a member of a rigid body: inverse
    // mass of the body at a place along a direction, relative to that of the member, times the contacts of the body.
    // For a held member or one in no body: its own contacts.
    //
    // contacts, crowd: contacts of the member and of its body.
    PBD_INLINE T shares(const Group& in, int k, const Vector& place, const Vector& n, T contacts, T crowd) const {
        PBD_CONTRACT_ON
        const int b = in.table.owner.data[k];
        const T lightness = in.w[in.members[k] * LANES + in.environment];
        if (b < 0 || !(lightness > T(0))) return contacts;
        const T* const at = row(in, b);
        const Vector spin =
            transposed_times(rows(at + Columns::TURN * LANES), cross(place - get(at + Columns::CENTER * LANES), n));
        return crowd * (at[Columns::INV_MASS * LANES] + dot(spin, inverse(at) * spin)) / lightness;
    }

    // Add to the twist of a member: the moment of an impulse that acts beside its ball, less its moment at the ball.
    //
    // step: distance between the coordinates of the twist in memory.
    PBD_INLINE static void add_twist(T* to, int step, const Vector& arm, const Vector& impulse) {
        const Vector more = cross(arm, impulse);
        to[0] += more.x;
        to[step] += more.y;
        to[2 * step] += more.z;
    }

    // Let a body remember the twists of its members until it is moved (rigid_joints.h), and reset them.
    //
    // twist_of: (member) -> pointer to its twist.
    template <class TwistOf> PBD_INLINE void keep_twist(const Group& in, int b, int step, TwistOf&& twist_of) const {
        Vector sum = {T(0), T(0), T(0)};
        for (int n = in.table.crowd_start.data[b]; n < in.table.crowd_start.data[b + 1]; ++n) {
            T* const twist = twist_of(in.table.crowd.data[n]);
            sum = sum + Vector{twist[0], twist[step], twist[2 * step]};
            for (int a = 0; a < 3; ++a) twist[a * step] = T(0);
        }
        T* const at = row(in, b) + Columns::TWIST * LANES;
        put(at, get(at) + sum);
    }

    PBD_INLINE static Vector place(const Group& in, int k) {
        return get(in.x + (size_t)Group::ROW * in.members[k] * LANES + in.environment);
    }
    PBD_INLINE static Vector get(const T* from) { return {from[0], from[LANES], from[2 * LANES]}; }
    PBD_INLINE static Mat3<T> rows(const T* from) { return {get(from), get(from + 3 * LANES), get(from + 6 * LANES)}; }
    PBD_INLINE static Sym3<T> inverse(const T* at) {
        const Vector u = get(at + Columns::INVERSE * LANES), v = get(at + (Columns::INVERSE + 3) * LANES);
        return {u.x, u.y, u.z, v.x, v.y, v.z};
    }
    PBD_INLINE static void put(T* to, const Vector& p) {
        to[0] = p.x;
        to[LANES] = p.y;
        to[2 * LANES] = p.z;
    }
};

}  // namespace pbd
