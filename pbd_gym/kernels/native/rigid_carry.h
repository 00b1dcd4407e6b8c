// Motion of rigid bodies after a first pass of contacts.
//
// A contact displaces a ball of a rigid body by an impulse that assumes the ball's own small mass. The ball really
// moves with its body, by the sum of all pushes. The second pass must see it there: the displacement alone is many
// times too large, and what the second pass took back of it would be energy from nowhere.
#pragma once
#include "contact_group.h"

namespace pbd {

// Rigid bodies of the environment that a group works on.
template <class Group> struct CarriedBodies {
    using T = typename Group::T;
    using Columns = typename Group::Options::Carry;
    static constexpr int LANES = Group::LANES;

    struct Vector {
        T x, y, z;
    };
    struct Rows {
        Vector a, b, c;
    };

    T* const bodies;

    template <class Rigid>
    PBD_INLINE CarriedBodies(const Rigid& rigid, size_t group)
        : bodies((T*)rigid.bodies.data + group * rigid.bodies.shape[1] * Columns::COUNT * LANES) {}

    // Compute the displacement and rotation of a body from those of its members, as for joints (rigid_joints.h).
    //
    // displaced: (member, axis) -> displacement [m].
    template <class Displaced> PBD_INLINE void carry(const Group& in, int b, Displaced&& displaced) const {
        PBD_CONTRACT_ON
        T* const at = bodies + b * Columns::COUNT * LANES + in.environment;
        const Vector center = get(at + Columns::CENTER * LANES);
        Vector push = {T(0), T(0), T(0)}, spin = push;
        for (int n = in.table.crowd_start.data[b]; n < in.table.crowd_start.data[b + 1]; ++n) {
            const int k = in.table.crowd.data[n], i = in.members[k];
            const T lightness = in.w[i * LANES + in.environment];
            if (!(lightness > T(0))) continue;
            const Vector p = times(T(1) / lightness, {displaced(k, 0), displaced(k, 1), displaced(k, 2)});
            push = add(push, p);
            spin = add(spin, cross(minus(get(in.x + (size_t)Group::ROW * i * LANES + in.environment), center), p));
        }
        const T* const turn = at + Columns::TURN * LANES;
        const Rows m = {get(turn), get(turn + 3 * LANES), get(turn + 6 * LANES)};
        const Vector u = get(at + Columns::INVERSE * LANES), v = get(at + (Columns::INVERSE + 3) * LANES);
        const Rows inverse = {{u.x, v.x, v.y}, {v.x, u.y, v.z}, {v.y, v.z, u.z}};
        put(at + Columns::GONE * LANES, times(at[Columns::INV_MASS * LANES], push));
        put(at + (Columns::GONE + 3) * LANES, apply(m, apply(inverse, apply_back(m, spin))));
    }

    // Displacement of a member at a place due to the motion of its body.
    PBD_INLINE void carried(const Group& in, int k, T px, T py, T pz, T* to) const {
        PBD_CONTRACT_ON
        const T* const at = bodies + in.table.owner.data[k] * Columns::COUNT * LANES + in.environment;
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
        const T* const at = bodies + b * Columns::COUNT * LANES + in.environment;
        const T* const turn = at + Columns::TURN * LANES;
        const Rows m = {get(turn), get(turn + 3 * LANES), get(turn + 6 * LANES)};
        const Vector u = get(at + Columns::INVERSE * LANES), v = get(at + (Columns::INVERSE + 3) * LANES);
        const Rows inverse = {{u.x, v.x, v.y}, {v.x, u.y, v.z}, {v.y, v.z, u.z}};
        const Vector spin = apply_back(m, cross(minus(place, get(at + Columns::CENTER * LANES)), n));
        return crowd * (at[Columns::INV_MASS * LANES] + dot(spin, apply(inverse, spin))) / lightness;
    }

    PBD_INLINE static Vector get(const T* from) { return {from[0], from[LANES], from[2 * LANES]}; }
    PBD_INLINE static void put(T* to, const Vector& p) {
        to[0] = p.x;
        to[LANES] = p.y;
        to[2 * LANES] = p.z;
    }
    PBD_INLINE static Vector add(const Vector& p, const Vector& q) {
        PBD_CONTRACT_ON
        return {p.x + q.x, p.y + q.y, p.z + q.z};
    }
    PBD_INLINE static Vector minus(const Vector& p, const Vector& q) {
        PBD_CONTRACT_ON
        return {p.x - q.x, p.y - q.y, p.z - q.z};
    }
    PBD_INLINE static Vector times(T s, const Vector& p) {
        PBD_CONTRACT_ON
        return {s * p.x, s * p.y, s * p.z};
    }
    PBD_INLINE static T dot(const Vector& p, const Vector& q) {
        PBD_CONTRACT_ON
        return p.x * q.x + p.y * q.y + p.z * q.z;
    }
    PBD_INLINE static Vector cross(const Vector& p, const Vector& q) {
        PBD_CONTRACT_ON
        return {p.y * q.z - p.z * q.y, p.z * q.x - p.x * q.z, p.x * q.y - p.y * q.x};
    }
    PBD_INLINE static Vector apply(const Rows& m, const Vector& p) { return {dot(m.a, p), dot(m.b, p), dot(m.c, p)}; }
    PBD_INLINE static Vector apply_back(const Rows& m, const Vector& p) {
        return add(add(times(p.x, m.a), times(p.y, m.b)), times(p.z, m.c));
    }
};

}  // namespace pbd
