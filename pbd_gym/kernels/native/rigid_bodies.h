// Rigid bodies of a group: the layout of their arrays, and how a lane reads and writes them.
#pragma once
#include "rigid_columns.h"
#include "rotation.h"

namespace pbd {

// A body counts as torn from its hand once the gap exceeds this share of its balls' radius.
constexpr double TORN = 0.02;
// Mass factor of the held part in this case: the rest of the body then moves as if it were free.
constexpr double TORN_WEIGHT = 1e-3;
// Speed at which hands pull a torn body towards them, on top of their own motion [m/s].
constexpr double DRAWN = 0.5;

// Compile-time options: scalars per position row, and the parameter columns of the environment's size and density
// factor, -1 where environments do not differ.
//
// wrenches: record forces on colliders.
// forces:   sum the forces of bodies at held particles.
// touches:  sum the pushes of contacts on balls.
template <int Row, int Size, int Density, bool wrenches, bool forces, bool touches> struct RigidOptions {
    static constexpr int ROW = Row, SIZE = Size, DENSITY = Density;
    static constexpr bool VARIED = Size >= 0, WRENCHES = wrenches, FORCES = forces, TOUCHES = touches;
};

// Arrays of the rigid bodies of a group. Table: their constants in the model.
template <class Group, class Options, class Table> struct RigidBodies {
    using L = Group;
    using T = typename L::T;
    static constexpr int LANES = L::LANES, ROW = Options::ROW, SIZE = Options::SIZE, DENSITY = Options::DENSITY;
    static constexpr bool VARIED = Options::VARIED, FORCES = Options::FORCES, TOUCHES = Options::TOUCHES;

    const Table& table;
    T* const x;         // positions
    T* const previous;  // positions at the start of the substep
    const T* const w;   // inverse masses
    const T* const parameters;
    T* const bodies;           // rows of BODY_COLUMNS
    T* const contacts;         // contacts with colliders, rows of TOUCH_NUMBERS
    int* const touching;       // member and collider of each contact
    const int* const offsets;  // first member of each body, and the end
    const int* const members;  // particles

    template <class Body, class Scratch>
    PBD_INLINE RigidBodies(const Table& table, const Body& body, const Scratch& rigid, int group)
        : table(table),
          x((T*)body.x.data),
          previous((T*)body.previous.data),
          w((const T*)body.inv_mass.data),
          parameters((const T*)body.parameters.data),
          bodies((T*)rigid.bodies.data + (size_t)group * rigid.bodies.shape[1] * BODY_COLUMNS * LANES),
          contacts((T*)rigid.contacts.data + (size_t)group * rigid.contacts.shape[1] * TOUCH_NUMBERS * LANES),
          touching(rigid.touching.data + (size_t)group * rigid.touching.shape[1] * 2),
          offsets(table.offsets.data),
          members(table.members.data) {}

    PBD_INLINE int count() const { return table.radius.shape[0]; }
    PBD_INLINE T* body(int b) const { return bodies + (size_t)b * BODY_COLUMNS * LANES; }
    // Row of contact c of body b.
    PBD_INLINE int row(int b, int c) const { return TOUCH_ROOM * offsets[b] + c; }
    PBD_INLINE T* contact(int b, int c) const { return contacts + (size_t)row(b, c) * TOUCH_NUMBERS * LANES; }
    PBD_INLINE int& member(int b, int c) const { return touching[2 * row(b, c)]; }
    PBD_INLINE int& collider(int b, int c) const { return touching[2 * row(b, c) + 1]; }
    PBD_INLINE T* place(int j) const { return x + ROW * members[j] * LANES; }
    PBD_INLINE T* place_before(int j) const { return previous + ROW * members[j] * LANES; }
};

// Access of one lane, or of all at once, to rigid bodies.
template <class Bodies> struct RigidLane {
    using L = typename Bodies::L;
    using T = typename L::T;
    using V = typename L::V;
    static constexpr int LANES = L::LANES;

    const Bodies& in;
    const int lane;
    V size, heavier;  // factors of lengths and of masses in the environment

    PBD_INLINE RigidLane(const Bodies& in, int lane) : in(in), lane(lane) {
        if constexpr (Bodies::VARIED) {
            size = load(in.parameters + Bodies::SIZE * LANES);
            heavier = load(in.parameters + Bodies::DENSITY * LANES) * size * size * size;
        } else {
            size = heavier = V(T(1));
        }
    }

    PBD_INLINE V load(const T* from) const { return L::load(from, lane); }
    PBD_INLINE void store(T* to, V value) const { L::store(to, lane, value); }
    PBD_INLINE Vec3<V> load3(const T* from) const { return {load(from), load(from + LANES), load(from + 2 * LANES)}; }
    PBD_INLINE void store3(T* to, const Vec3<V>& p) const {
        store(to, p.x);
        store(to + LANES, p.y);
        store(to + 2 * LANES, p.z);
    }
    PBD_INLINE Mat3<V> load_rows(const T* from) const {
        return {load3(from), load3(from + 3 * LANES), load3(from + 6 * LANES)};
    }
    PBD_INLINE void store_rows(T* to, const Mat3<V>& m) const {
        store3(to, m.a);
        store3(to + 3 * LANES, m.b);
        store3(to + 6 * LANES, m.c);
    }
    PBD_INLINE Sym3<V> load_symmetric(const T* from) const {
        const Vec3<V> p = load3(from), q = load3(from + 3 * LANES);
        return {p.x, p.y, p.z, q.x, q.y, q.z};
    }
    PBD_INLINE void store_symmetric(T* to, const Sym3<V>& s) const {
        store3(to, {s.xx, s.yy, s.zz});
        store3(to + 3 * LANES, {s.xy, s.xz, s.yz});
    }

    // Columns of a body; `at` is its row.
    PBD_INLINE Vec3<V> center(const T* at) const { return load3(at + BODY_CENTER * LANES); }
    PBD_INLINE Mat3<V> turn(const T* at) const { return load_rows(at + BODY_TURN * LANES); }
    PBD_INLINE Vec3<V> offset(const T* at) const { return load3(at + BODY_OFFSET * LANES); }
    PBD_INLINE V inv_mass(const T* at) const { return load(at + BODY_INV_MASS * LANES); }
    PBD_INLINE Sym3<V> inverse(const T* at) const { return load_symmetric(at + BODY_INVERSE * LANES); }
    PBD_INLINE void set_place(T* at, const Vec3<V>& center, const Mat3<V>& turn) const {
        store3(at + BODY_CENTER * LANES, center);
        store_rows(at + BODY_TURN * LANES, turn);
    }

    // Rest position of member j in the body's axes, relative to the point `from`.
    PBD_INLINE Vec3<V> place_in(int j, const Vec3<V>& from) const {
        PBD_CONTRACT_ON
        const T* const rest = in.table.rest.data + 3 * j;
        return {size * rest[0] - from.x, size * rest[1] - from.y, size * rest[2] - from.z};
    }
    // The same for the ball of contact c of body b. A contact on a face stores its own point, and its member is -1
    // minus the nearest member.
    PBD_INLINE Vec3<V> touch_in(int b, int c, const Vec3<V>& from) const {
        const int j = in.member(b, c);
        return j < 0 ? load3(in.contact(b, c) + TOUCH_PLACE * LANES) - from : place_in(j, from);
    }
    // Mass of member j of body b [kg]: `mass` if free, a large one if held.
    PBD_INLINE V unless_held(int j, int b, T mass) const {
        const V free = V(mass), held = V(in.table.heavy.data[b]);
        return (load(in.w + in.members[j] * LANES) > T(0) ? free : held) * heavier;
    }
    PBD_INLINE V weight(int j, int b) const { return unless_held(j, b, in.table.mass.data[j]); }
    // The same for a body that is torn from its hands.
    PBD_INLINE V torn_weight(int j) const {
        const V free = V(in.table.mass.data[j]), held = V(T(TORN_WEIGHT) * in.table.mass.data[j]);
        return (load(in.w + in.members[j] * LANES) > T(0) ? free : held) * heavier;
    }
    // Effective mass. torn: 1 where the body is torn from its hands, else 0.
    PBD_INLINE V weight(int j, int b, V torn) const { return torn > T(0) ? torn_weight(j) : weight(j, b); }

    // Distance of member j from the body's centre, divided by the distance of its hand; at most 1.
    //
    // Hands that move apart pull held parts out of place, and the body turns until the held points face the hands. A
    // hand only gives a direction: at its full distance, a hand twice as far away would turn the body past it by as
    // much as it was off.
    //
    // own: from the centre to the member's place.
    // hand: from the centre to its hand.
    PBD_INLINE V reached(const Vec3<V>& own, const Vec3<V>& hand) const {
        PBD_CONTRACT_ON
        const V near = dot(own, own), far = dot(hand, hand);
        return far > near ? V(root(near / far)) : V(T(1));
    }
    // Share of the gap between a held point and its hand that remains after a substep. All growth of the gap within the
    // substep is closed, so that the body follows without gathering speed, and a fixed length of the rest.
    //
    // before: gap when the substep began.
    // most: that fixed length [m].
    PBD_INLINE V left_of(const Vec3<V>& before, V most) const {
        PBD_CONTRACT_ON
        const V far = dot(before, before);
        return far > most * most ? V(T(1) - most / root(at_least(far, 1e-30))) : V(T(0));
    }

    // Switch a body between heavy held parts and almost massless ones, used where it is torn from its hands.
    //
    // at: row of the body; its centres now and at the start of the substep are moved to the new centre of mass.
    // torn: 1 where it is torn, else 0.
    PBD_INLINE void change_weight(T* at, V torn) const {
        PBD_CONTRACT_ON
        const V before = load(at + BODY_TORN * LANES);
        const auto changes = (before > T(0)) != (torn > T(0));
        const Vec3<V> way = load3(at + BODY_OTHER * LANES) - offset(at), start = load3(at + BODY_START * LANES);
        const Vec3<V> now = center(at) + turn(at) * way, then = start + load_rows(at + BODY_START_TURN * LANES) * way;
        store3(at + BODY_CENTER * LANES, choose(changes, now, center(at)));
        store3(at + BODY_START * LANES, choose(changes, then, start));
        for (int k = 0; k < BODY_TORN - BODY_OTHER; ++k) {
            T *const one = at + (BODY_OFFSET + k) * LANES, *const two = at + (BODY_OTHER + k) * LANES;
            const V first = load(one), second = load(two);
            store(one, changes ? second : first);
            store(two, changes ? first : second);
        }
        store(at + BODY_TORN * LANES, torn);
    }

    // Add a push at a point to the pulls that held particles take up.
    PBD_INLINE void note_push(T* at, const Vec3<V>& place, const Vec3<V>& p) const {
        if constexpr (Bodies::FORCES) {
            T* const sum = at + BODY_PULL * LANES;
            store3(sum, load3(sum) + p);
            store3(sum + 3 * LANES, load3(sum + 3 * LANES) + cross(place, p));
        }
    }

    // Move the free members of body b to their places in it.
    PBD_INLINE void write(int b, const Vec3<V>& center, const Mat3<V>& turn, const Vec3<V>& offset) const {
        for (int j = in.offsets[b]; j < in.offsets[b + 1]; ++j) {
            const V free = load(in.w + in.members[j] * LANES);
            const Vec3<V> p = center + turn * place_in(j, offset), old = load3(in.place(j));
            store3(in.place(j), choose(free > T(0), p, old));
        }
    }
};

}  // namespace pbd
