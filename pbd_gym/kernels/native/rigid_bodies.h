// Rigid bodies of a group: the layout of their arrays, and how a lane reads and writes them.
#pragma once
#include "rigid_columns.h"
#include "rotation.h"

namespace pbd {

// A body counts as torn from its hand once the gap exceeds this share of its balls' radius.
constexpr double TORN = 0.02;
// The share from which something is in the way as a control step begins: otherwise no gap is as wide.
constexpr double TORN_BEFORE = 1e-3;
// Mass factor of the held part in this case: the rest of the body then moves as if it were free.
constexpr double TORN_WEIGHT = 1e-3;
// Time constant of the hands of a torn body, which pull like critically damped springs [s].
constexpr double HAND_TIME = 5e-3;
// Speed at which hands pull a torn body towards them, on top of their own motion, at most [m/s].
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
    static constexpr bool WRENCHES = Options::WRENCHES;

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

// Means over the hands of a body: of what they hold, relative to its centre and in its axes; of the gaps from there to
// the hands as a substep begins; and of the ways of the hands within it.
template <class V> struct HandMeans {
    Vec3<V> place, gap, way;
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
    // Whether member j is held.
    PBD_INLINE auto is_held(int j) const { return load(in.w + in.members[j] * LANES) <= T(0); }
    // The same while the body moves freely.
    PBD_INLINE V free_weight(int j) const {
        const V free = V(in.table.mass.data[j]), held = V(T(TORN_WEIGHT) * in.table.mass.data[j]);
        return (is_held(j) ? held : free) * heavier;
    }
    // The same while the hands of a torn body pull at it, or resist what pushes it.
    //
    // A hand then pulls at what it holds like a critically damped spring of time constant s, with M (2 v / s + d / s^2)
    // at a gap d and a relative speed v, where M is the mass of the body. Within a substep h, integrated implicitly,
    // that is a plastic collision with the mass M (2 h / s + h^2 / s^2), which moves as the hand does.
    PBD_INLINE V hand_weight(int j, int b, T h) const {
        const T q = h * T(1.0 / HAND_TIME);
        const V hand = q * (T(2) + q) * load(in.body(b) + BODY_MASS * LANES);
        return is_held(j) ? hand : V(in.table.mass.data[j]) * heavier;
    }
    // Effective mass. torn: above 0 where the body is torn from its hands.
    PBD_INLINE V weight(int j, int b, V torn) const { return torn > T(0) ? free_weight(j) : weight(j, b); }
    // Gap from member j's place in body b to its particle when the substep began.
    PBD_INLINE Vec3<V> gap_before(int b, int j, const Vec3<V>& place) const {
        const T* const at = in.body(b);
        return load3(in.place_before(j)) -
               (load3(at + BODY_START * LANES) + load_rows(at + BODY_START_TURN * LANES) * place);
    }
    // Means over the hands of body b.
    PBD_INLINE HandMeans<V> hand_means(int b) const {
        PBD_CONTRACT_ON
        const T* const at = in.body(b);
        const V none = V(T(0)), each = V(T(1)) / at_least(load(at + BODY_HANDS * LANES), 1);
        const Vec3<V> zero = {none, none, none}, from = offset(at);
        HandMeans<V> means = {zero, zero, zero};
        for (int j = in.offsets[b]; j < in.offsets[b + 1]; ++j) {
            if (!any(is_held(j))) continue;
            const V share = is_held(j) ? each : none;
            const Vec3<V> place = place_in(j, from);
            means.place = means.place + share * place;
            means.gap = means.gap + share * gap_before(b, j, place);
            means.way = means.way + share * (load3(in.place(j)) - load3(in.place_before(j)));
        }
        return means;
    }
    // Way by which the place of member j of a torn body is to follow its hand: with that of all hands, and otherwise
    // turning about their middle as their directions do, however far away they are.
    PBD_INLINE Vec3<V> followed(int b, int j, const HandMeans<V>& means) const {
        PBD_CONTRACT_ON
        const Vec3<V> place = place_in(j, offset(in.body(b))), arm = place - means.place;
        const Vec3<V> gap = gap_before(b, j, place) - means.gap;
        const Vec3<V> way = load3(in.place(j)) - load3(in.place_before(j)) - means.way;
        const V near = root(dot(arm, arm)), far = near + root(dot(gap, gap));
        return means.way + (near / at_least(far, 1e-30)) * way;
    }
    // Way by which a hand of a torn body pulls it beyond its own motion within a substep.
    //
    // before: gap when the substep began.
    // slower: share of the largest speed that is allowed.
    PBD_INLINE Vec3<V> drawn(const Vec3<V>& before, T h, V slower) const {
        PBD_CONTRACT_ON
        const V far = dot(before, before), share = V(h / (h + T(2.0 * HAND_TIME))), most = T(DRAWN) * h * slower;
        return (share * share * far > most * most ? V(most / root(at_least(far, 1e-30))) : share) * before;
    }

    // Let held parts count as in another set.
    //
    // at: row of the body; its centres now and at the start of the substep are moved to the new centre of mass.
    // set: HEAVY_SET, FREE_SET or HAND_SET of each lane.
    PBD_INLINE void weigh(T* at, V set) const {
        PBD_CONTRACT_ON
        const V before = load(at + BODY_WEIGHING * LANES);
        if (!any(before != set)) return;
        for (int s = HEAVY_SET; s <= HAND_SET; ++s) {
            const auto changes = (before != set) & (set == V(T(s)));
            if (!any(changes)) continue;
            const T* const from = at + (BODY_SETS + s * SET_NUMBERS) * LANES;
            const Vec3<V> way = load3(from) - offset(at), start = load3(at + BODY_START * LANES);
            const Vec3<V> now = center(at) + turn(at) * way,
                          then = start + load_rows(at + BODY_START_TURN * LANES) * way;
            store3(at + BODY_CENTER * LANES, choose(changes, now, center(at)));
            store3(at + BODY_START * LANES, choose(changes, then, start));
            for (int k = 0; k < SET_NUMBERS; ++k) {
                T* const to = at + (BODY_OFFSET + k) * LANES;
                store(to, changes ? load(from + k * LANES) : load(to));
            }
        }
        store(at + BODY_WEIGHING * LANES, set);
    }

    // Add a push at a point to the pulls that held particles take up.
    PBD_INLINE void note_push(T* at, const Vec3<V>& place, const Vec3<V>& p) const {
        if constexpr (Bodies::FORCES) {
            T* const sum = at + BODY_PULL * LANES;
            store3(sum, load3(sum) + p);
            store3(sum + 3 * LANES, load3(sum + 3 * LANES) + cross(place, p));
        }
    }

    // The same for a moment.
    PBD_INLINE void note_moment(T* at, const Vec3<V>& moment) const {
        if constexpr (Bodies::FORCES) {
            T* const sum = at + (BODY_PULL + 3) * LANES;
            store3(sum, load3(sum) + moment);
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
