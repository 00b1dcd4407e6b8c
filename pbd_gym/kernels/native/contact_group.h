// Colliding particles (members) of one group of environments, and their contact data.
#pragma once
#include "lanes.h"

namespace pbd {

// Role of a member: a disc inside a surface or at its rim, or a ball.
template <int inner, int rim, int ball> struct MemberRoles {
    static constexpr int INNER = inner, RIM = rim, BALL = ball;
};

// Parameter columns in which environments may differ: size, its inverse, and a friction factor.
template <int size, int inv_size, int friction> struct ScaleColumns {
    static constexpr int SIZE = size, INV_SIZE = inv_size, FRICTION = friction;
};

// Columns of a rigid body: those that contacts read; `gone`, where they write its displacement, followed by its
// rotation; and `twist`, to which they add the twists of its members.
template <int count, int center, int turn, int start, int start_turn, int offset, int inv_mass, int inverse, int gone,
          int twist>
struct CarryColumns {
    static constexpr int COUNT = count, CENTER = center, TURN = turn, START = start, START_TURN = start_turn;
    static constexpr int OFFSET = offset, INV_MASS = inv_mass, INVERSE = inverse, GONE = gone, TWIST = twist;
};

// Compile-time options.
//
// surfaces: some members are patches of a surface; contacts are then solved in two passes.
// rigid:    some members belong to rigid bodies.
// bouncy:   some have a restitution.
// varied:   environments differ in size and friction.
// row:      scalars per particle row: 4 if the weight is stored with the position, else 3.
// chunk:    members compared, and pairs processed, at a time where one thread serves a group.
// numbers:  scalars per member there.
// kept:     scalars stored for sixteen touching pairs.
template <bool surfaces, bool rigid, bool bouncy, bool varied, int row, int chunk, int numbers, int kept,
          class RolesType, class ScalesType, class CarryType>
struct ContactOptions {
    static constexpr bool SURFACES = surfaces, RIGID = rigid, BOUNCY = bouncy, VARIED = varied;
    static constexpr bool CLAMPS = surfaces && rigid;  // bodies may hold surfaces between them
    static_assert(chunk == 16 && numbers == 16, "members are rows of four times four numbers, compared by sixteens");
    static constexpr int CHUNK = chunk, NUMBERS = numbers, KEPT = kept;
    static constexpr int ROW = row, PASSES = surfaces ? 2 : 1;
    using Roles = RolesType;
    using Columns = ScalesType;
    using Carry = CarryType;
};

// Radius of the ball by which a creased patch stops others, in radii of its disc, for coarse and for fine patches. In
// between, it is thickness_part times half the thickness plus disc_part times the disc's radius.
struct BallShape {
    double coarse, fine, thickness_part, disc_part;
};

// Members of one group. Candidates are found at the scale of the scene; environments of another size are scaled to it.
template <class Lanes, class OptionsType, class Model, class Body, class Lists> struct ContactGroup {
    using L = Lanes;
    using Options = OptionsType;
    using T = typename L::T;
    using V = typename L::V;
    using Table = decltype(Model::particle_contacts);
    static constexpr int LANES = L::LANES, ROW = Options::ROW;

    const Table& table;
    const Body& body;
    const Lists& lists;
    const int group, count;
    const int chunks;   // groups of sixteen members
    const size_t rank;  // group as size_t: lists of all groups may exceed 2^31 numbers
    const int* const members;
    T* const x;
    T* const previous;
    const T* const w;
    T* const patches;  // normal at the start of the substep, and flatness
    T* const anchors;
    const bool has_masks;
    const T widest;       // distance beyond which no two members touch, with some allowance for rounding
    int environment = 0;  // current environment of the group

    PBD_INLINE ContactGroup(const Model& model, const Body& body, const Lists& lists, int group)
        : table(model.particle_contacts),
          body(body),
          lists(lists),
          group(group),
          count(table.members.shape[0]),
          chunks((count + 15) / 16),
          rank((size_t)group),
          members(table.members.data),
          x((T*)body.x.data),
          previous((T*)body.previous.data),
          w((const T*)body.inv_mass.data),
          patches((T*)lists.patches.data + rank * 4 * lists.patches.shape[1] * LANES),
          anchors((T*)lists.anchors.data + rank * 3 * count * LANES),
          has_masks(table.strangers.shape[0] > 0),
          widest(T(1.0005) * (table.cell - table.skin)) {}

    // Parameter of the current environment; 1 unless environments differ.
    PBD_INLINE T parameter(int column) const {
        if constexpr (Options::VARIED) return ((const T*)body.parameters.data)[column * LANES + environment];
        return T(1);
    }
    PBD_INLINE T size() const { return parameter(Options::Columns::SIZE); }
    PBD_INLINE T inv_size() const { return parameter(Options::Columns::INV_SIZE); }
    PBD_INLINE T roughness() const { return parameter(Options::Columns::FRICTION); }

    // Inverse sizes of all environments.
    PBD_INLINE V inv_sizes(int lane) const {
        if constexpr (Options::VARIED) {
            return L::load((const T*)body.parameters.data + Options::Columns::INV_SIZE * LANES, lane);
        }
        return V(T(1));
    }

    // Whether the current environment sleeps: its state is restored afterwards, whatever happens to it.
    PBD_INLINE bool sleeps() const {
        return Options::SURFACES && lists.asleep.data[2 * (group * LANES + environment)] != 0;
    }

    // Position of a member in all environments.
    PBD_INLINE T* place_of(int k) const { return x + ROW * members[k] * LANES; }
    // The same at the start of the substep.
    PBD_INLINE const T* start_of(int k) const { return previous + ROW * members[k] * LANES; }
    // Room that it leaves others, in all environments: see rooms.h.
    PBD_INLINE T* room_of(int k) const { return (T*)body.memory.data + (size_t)(table.first_memory + k) * LANES; }

    // Whether two members can collide at all: not if they are neighbours in one body, or both belong to rigid bodies.
    // Two of these are separated as bodies, and in one of them only a hand that is torn out of it could touch others.
    PBD_INLINE bool strangers(int k, int other) const {
        if (has_masks) return (table.strangers.data[k * chunks + other / 16] >> other % 16 & 1) != 0;
        if constexpr (Options::RIGID) {
            if (table.owner.data[k] >= 0 && table.owner.data[other] >= 0) return false;
        }
        for (int n = table.kin_start.data[k]; n < table.kin_start.data[k + 1]; ++n)
            if (table.kin.data[n] == other) return false;
        return true;
    }

    // Largest squared distance of two members that touch.
    PBD_INLINE T farthest_of(int k, int other) const {
        return has_masks && table.alike ? widest * widest : limit_of(k, other, T(0));
    }

    // Largest squared distance of the anchors of two members that may touch.
    PBD_INLINE T limit_of(int k, int other, T skin) const {
        PBD_CONTRACT_ON
        const T range = wp::min(table.halo.data[k] + table.halo.data[other], widest) + skin;
        return range * range;
    }
};

}  // namespace pbd
