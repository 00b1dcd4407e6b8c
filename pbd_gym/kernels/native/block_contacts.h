// Contacts where a block of threads serves a group.
//
// Each thread counts the contacts of one member after another, then sums their corrections, twice if there are two
// passes. Both members of a pair compute the pair, the one with the lower number first, so that they get the same bits.
#pragma once
#include "active_pairs.h"
#include "contact_feet.h"
#include "contact_response.h"
#include "grid_search.h"
#include "rebounds.h"
#include "rooms.h"

#if PBD_BLOCK
namespace pbd {

template <class Group> struct BlockContacts : GridSearch<Group> {
    using Search = GridSearch<Group>;
    using Options = typename Group::Options;
    using L = typename Group::L;
    using T = typename L::T;
    using V = typename L::V;
    using Pairs = Lanes<T, Options::CHUNK>;
    using One = Member<Pairs, Options::RIGID>;
    static constexpr int LANES = Group::LANES, ROW = Group::ROW;
    static constexpr int HEADWAY = 10;  // among the stored numbers of a member: how far it will move
    // Whether there are lists of active pairs. Several environments would have to share them, so these have none.
    static constexpr bool LISTS_ACTIVE = Options::SURFACES && LANES == 1;
    using Search::count;
    using Search::entry;
    using Search::environment;
    using Search::lengths;
    using Search::lists;
    using Search::members;
    using Search::near;
    using Search::table;
    using Search::thread;
    using Search::thread_count;
    using Search::touching;
    using Search::touching_lengths;

    const CarriedBodies<Group> bodies;
    const ContactScales<T> scales;
    const T* const agitation;  // how much each environment moves
    T* const delta;            // displacement of each particle
    T* const valence;          // number of contacts of each member
    T* const crowd_of;         // number of contacts of its body
    T* const more;             // displacement by the second pass
    T* const twists;           // twist of each member of a rigid body
    int* const active;         // active pairs of each member
    int* const active_lengths;
    T* const noted;     // states of members when active pairs were renewed
    const int highest;  // highest rank of active pairs that are examined

    template <class Model, class Body, class Lists, class Rigid>
    PBD_INLINE BlockContacts(const Model& model, const Body& body, const Lists& lists, const Rigid& rigid, int group,
                             int thread, int thread_count, ContactScales<T> scales, const T* agitation, int highest)
        : Search(model, body, lists, group, thread, thread_count),
          bodies(rigid, Search::rank),
          scales(scales),
          agitation(agitation),
          delta((T*)body.delta.data),
          valence((T*)lists.valence.data + Search::rank * lists.valence.shape[1] * LANES),
          crowd_of(valence + count * LANES),
          more(valence + (Options::RIGID + 1) * (size_t)count * LANES),
          twists(more + (Options::SURFACES ? 3 : 0) * (size_t)count * LANES),
          active(lists.active.data + Search::rank * count * table.capacity),
          active_lengths(lengths + 2 * count),
          noted(lists.renewed.data + Search::rank * lists.renewed.shape[1]),
          highest(highest) {}

    // Scales of the current environment.
    PBD_INLINE ContactScales<T> scales_here() const {
        ContactScales<T> here = scales;
        here.size = Search::size();
        here.inv_size = Search::inv_size();
        here.roughness = Search::roughness();
        if constexpr (Options::SURFACES) {
            here.agitation = agitation[environment];
            here.spread = spread();
        }
        if constexpr (Options::BOUNCY) here.solved = solved()[environment] > T(0);
        return here;
    }

    PBD_INLINE One member(int k) const {
        One m;
        const T* const now = Search::place_of(k) + environment;
        const T* const before = Search::start_of(k) + environment;
        m.x = now[0];
        m.y = now[LANES];
        m.z = now[2 * LANES];
        m.w = Search::w[members[k] * LANES + environment];
        m.px = before[0];
        m.py = before[LANES];
        m.pz = before[2 * LANES];
        if constexpr (Options::SURFACES) {
            m.w = weight_of<L>(m.w, ((const T*)Search::body.traction.data)[members[k] * LANES + environment]);
            const T* const patch = Search::patches + 4 * k * LANES + environment;
            m.nx = patch[0];
            m.ny = patch[LANES];
            m.nz = patch[2 * LANES];
            m.flat = patch[3 * LANES];
        }
        if constexpr (Options::RIGID) {
            m.leverage = table.leverage.data[k];
            m.crowd = crowd_of[LANES * k + environment];
        }
        read_traits(m, k);
        return m;
    }

    PBD_INLINE void read_traits(One& m, int k) const {
        const T* const traits = table.traits.data + 4 * k;
        m.radius = traits[0];
        m.extent = traits[1];
        m.friction = traits[2];
        m.role = traits[3];
    }

    // Swap two members. To choose one of two objects by address would put both into slow local memory.
    PBD_INLINE static void swap(One& a, One& b) {
        const One c = a;
        a = b;
        b = c;
    }

    // RMS displacement of members relative to their mean when active pairs were renewed.
    PBD_INLINE T& spread() const { return lists.spread.data[Search::rank * LANES + environment]; }

    // A stored number of a member.
    PBD_INLINE T& note(int number, int k) const { return noted[(size_t)(number * count + k) * LANES + environment]; }

    // Store the positions and patches of members when active pairs are renewed, and how far they will move until the
    // next renewal if their velocity relative to the mean stays the same.
    //
    // drift: displacements of each environment: see find_agitation.
    PBD_INLINE void note_members(const T* drift) {
        if (thread == 0)
            for (environment = 0; environment < LANES; ++environment) spread() = drift[3 * LANES + environment];
        for (int k = thread; k < count; k += thread_count)
            for (environment = 0; environment < LANES; ++environment) {
                T gone[3];
                for (int a = 0; a < 3; ++a) {
                    const T p = Search::place_of(k)[a * LANES + environment];
                    const T q = Search::start_of(k)[a * LANES + environment];
                    note(a, k) = p;
                    note(3 + a, k) = q;
                    gone[a] = (p - q - drift[a * LANES + environment]) * Search::inv_size();
                }
                for (int a = 0; a < 4; ++a) note(6 + a, k) = Search::patches[(4 * k + a) * LANES + environment];
                note(HEADWAY, k) =
                    T(table.renewal - 1) * root(gone[0] * gone[0] + gone[1] * gone[1] + gone[2] * gone[2]);
            }
    }

    PBD_INLINE One noted_member(int k) const {
        One m;
        m.x = note(0, k);
        m.y = note(1, k);
        m.z = note(2, k);
        m.px = note(3, k);
        m.py = note(4, k);
        m.pz = note(5, k);
        m.nx = note(6, k);
        m.ny = note(7, k);
        m.nz = note(8, k);
        m.flat = note(9, k);
        read_traits(m, k);
        return m;
    }

    // Squared distance of two members, at the scale of the scene.
    PBD_INLINE T distance_square(int k, int other) const {
        PBD_CONTRACT_ON
        const T* const p = Search::place_of(k) + environment;
        const T* const q = Search::place_of(other) + environment;
        const T dx = p[0] - q[0], dy = p[LANES] - q[LANES], dz = p[2 * LANES] - q[2 * LANES];
        return (dx * dx + dy * dy + dz * dz) * (Search::inv_size() * Search::inv_size());
    }

    // Rank of a pair in the current environment; RANKS if it is not active.
    PBD_INLINE int rank_among_active(int k, int other) const {
        if constexpr (Options::SURFACES) {
            const int one = wp::min(k, other), two = wp::max(k, other);
            One a = noted_member(one), b = noted_member(two);
            if constexpr (Options::RIGID) {
                a.radius = radius_towards(*this, one, two);
                b.radius = radius_towards(*this, two, one);
            }
            return (int)rank_of<Pairs, Options>(a, b, scales_here());
        } else {
            return 0;
        }
    }
    PBD_INLINE bool is_active(int k, int other) const { return rank_among_active(k, other) <= highest; }

    // Whether a candidate, from a list or not, is known to be active without a check.
    PBD_INLINE bool knows(bool listed) const { return !Options::SURFACES || (LISTS_ACTIVE && listed); }

    // Replace the place of a ball of a rigid body by the foot of the other member.
    //
    // early: whether it is found where members were when the substep began.
    PBD_INLINE void put_foot(int one, One& a, int two, One& b, bool early = false) const {
        if constexpr (Options::RIGID) {
            const auto spot = [](const One& m) { return Foot<T>{{m.x, m.y, m.z}, {m.px, m.py, m.pz}}; };
            const auto put = [](One& m, const Foot<T>& at) {
                m.x = at.now.x;
                m.y = at.now.y;
                m.z = at.now.z;
                m.px = at.before.x;
                m.py = at.before.y;
                m.pz = at.before.z;
            };
            const Pair<T> at = stand(*this, bodies, one, two, {spot(a), spot(b)}, early);
            put(a, at.one);
            put(b, at.two);
        }
    }

    // Whether two members touch; the first has the lower number.
    PBD_INLINE Touch<Pairs> in_order(int one, One a, int two, One b) const {
        put_foot(one, a, two, b);
        return touching_now(one, a, two, b);
    }
    // The same, with a foot in place of a ball already.
    PBD_INLINE Touch<Pairs> touching_now(int one, const One& a, int two, const One& b) const {
        PBD_CONTRACT_ON
        return touch<Pairs, Options, true>(a, b, scales_here(), room_between(one, two));
    }
    // Room that two members leave each other.
    PBD_INLINE T room_between(int one, int two) const {
        PBD_CONTRACT_ON
        return Search::room_of(one)[environment] + Search::room_of(two)[environment];
    }

    // Twist of a member in the current environment.
    PBD_INLINE T* twist_of(int k) const { return twists + 3 * (size_t)k * LANES + environment; }

    // Mean restitution of two members.
    PBD_INLINE T elastic(int one, int two) const {
        PBD_CONTRACT_ON
        if constexpr (!Options::BOUNCY) return T(0);
        return T(0.5) * (table.restitution.data[one] + table.restitution.data[two]);
    }

    // Count the contacts of a member, and list them by member number: the order in which displacements are summed.
    PBD_INLINE void count_contacts(int k) {
        PBD_CONTRACT_ON
        const T widest = Search::widest;
        const int* const list = LISTS_ACTIVE ? active : near;
        const int listed_count = (LISTS_ACTIVE ? active_lengths : lengths)[k];
        const bool listed = listed_count >= 0;  // else it has too many candidates and is compared with all
        const int end = listed ? listed_count : count;
        int length = 0;
        T contacts[LANES];
        for (environment = 0; environment < LANES; ++environment) contacts[environment] = T(0);
        environment = 0;
        One mine = member(k);
        for (int n = 0; n < end; ++n) {
            int other = listed ? list[entry(k, n)] : n;
            if (LISTS_ACTIVE && listed) {
                if (other % RANKS > highest) continue;
                other /= RANKS;
            }
            if (!listed && (other == k || !Search::strangers(k, other))) continue;
            bool any = false;
            for (environment = 0; environment < LANES; ++environment) {
                if (!(distance_square(k, other) < widest * widest) || !(knows(listed) || is_active(k, other))) continue;
                if (LANES > 1) mine = member(k);
                One a = mine, b = member(other);
                if (other < k) swap(a, b);
                if (in_order(wp::min(k, other), a, wp::max(k, other), b).inside > T(0)) {
                    any = true;
                    contacts[environment] += T(1);
                }
            }
            if (!any) continue;
            if (length < table.capacity) {
                int at = length;
                for (; at > 0 && touching[entry(k, at - 1)] > other; --at)
                    touching[entry(k, at)] = touching[entry(k, at - 1)];
                touching[entry(k, at)] = other;
            }
            ++length;
        }
        touching_lengths[k] = length <= table.capacity ? length : -1;
        for (int n = 0; n < LANES; ++n) valence[LANES * k + n] = contacts[n];
    }

    // Sum the contacts of a member's body, which share its mass equally.
    PBD_INLINE void count_crowd(int k) const {
        PBD_CONTRACT_ON
        const int b = table.owner.data[k];
        for (int lane = 0; lane < L::ROUNDS; ++lane) {
            V crowd = V(T(b < 0 ? 1 : 0));
            if (b >= 0)
                for (int n = table.crowd_start.data[b]; n < table.crowd_start.data[b + 1]; ++n)
                    crowd += L::load(valence + LANES * table.crowd.data[n], lane);
            L::store(crowd_of + LANES * k, lane, crowd);
        }
    }

    // Whether a member moves with a rigid body.
    PBD_INLINE bool in_body(int k) const { return Options::RIGID && table.owner.data[k] >= 0; }

    // Displacement of a member by the first pass.
    PBD_INLINE wp::vec_t<3, T> moved(const One& m, int k) const {
        if constexpr (Options::RIGID && Options::PASSES > 1) {
            if (in_body(k)) {
                T gone[3] = {T(0), T(0), T(0)};
                if (m.w > T(0)) bodies.carried(*this, k, m.x, m.y, m.z, gone);
                return {gone[0], gone[1], gone[2]};
            }
        }
        const T* const move = delta + 3 * members[k] * LANES + environment;
        return {move[0], move[LANES], move[2 * LANES]};
    }

    // Find the effective number of contacts of a member along the contact normal (rigid_carry.h).
    PBD_INLINE void find_shares(Lender<Pairs, Options::RIGID>& m, const Touch<Pairs>& t, int k,
                                const typename CarriedBodies<Group>::Vector& place, T contacts) const {
        if constexpr (Options::RIGID) {
            m.shares = contacts;
            if constexpr (Options::BOUNCY)
                m.shares = bodies.shares(*this, k, place, {t.nx, t.ny, t.nz}, contacts, m.crowd);
        }
    }

    // Whether bouncing members have been moved in each environment: 1 if so, else 0.
    PBD_INLINE T* solved() const {
        return (T*)lists.rebounds.data + Search::rank * lists.rebounds.shape[1] + lists.rebounds.shape[1] - LANES;
    }

    // Solve bouncing contacts, one environment after another.
    inline void rebound() {
        if (thread == 0) {  // contacts depend on each other
            for (environment = 0; environment < LANES; ++environment) {
                solved()[environment] = T(0);
                Rebounds<Group, LANES> rebounds(*this, bodies, lists, delta, twists, false);
                for (int k = 0; k < count; ++k) {
                    const bool listed = touching_lengths[k] >= 0;
                    for (int n = 0, end = listed ? touching_lengths[k] : count; n < end; ++n) {
                        const int other = listed ? touching[entry(k, n)] : n;
                        if (other <= k || (!listed && !Search::strangers(k, other))) continue;
                        if (in_order(k, member(k), other, member(other)).inside > T(0))
                            rebounds.consider(k, other, scales.resting);
                    }
                }
                solved()[environment] = rebounds.solve(Search::roughness()) ? T(1) : T(0);
            }
            environment = 0;
        }
        sync();
    }

    // Compute the correction that parts two members of one environment, per inverse mass. Returns whether they touch.
    //
    // again: whether in the second pass, which starts from where the first has moved them.
    PBD_INLINE bool part_pair(int one, One a, int two, One b, bool again, T (&impulse)[3]) const {
        PBD_CONTRACT_ON
        put_foot(one, a, two, b);
        Touch<Pairs> t = touching_now(one, a, two, b);
        if (!(t.inside > T(0))) return false;
        const T contacts = valence[LANES * one + environment];
        const T its_contacts = valence[LANES * two + environment];
        Partners<Pairs, Options::RIGID> partners(a, b);
        T gained = T(0);
        wp::vec_t<3, T> first(T(0)), second(T(0));
        Spare<Pairs, Options::CLAMPS> spare;
        if constexpr (Options::CLAMPS) {
            if (again && (in_body(one) || in_body(two))) {  // what the first pass has left, computed once more
                find_shares(partners.a, t, one, {a.x, a.y, a.z}, contacts);
                find_shares(partners.b, t, two, {b.x, b.y, b.z}, its_contacts);
                part<Pairs, Options>(partners, t, contacts, its_contacts, T(0), elastic(one, two), scales_here(), spare,
                                     impulse[0], impulse[1], impulse[2]);
                spare.counts = T(1);
            }
        }
        if constexpr (Options::PASSES > 1) {
            if (again) {
                first = moved(a, one);
                second = moved(b, two);
                const T gx = first[0] - second[0], gy = first[1] - second[1], gz = first[2] - second[2];
                const T dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
                Standing<Pairs> stands = standing<Pairs, Options>(a, b, scales_here());
                leave_room(stands, room_between(one, two), scales_here());
                t = meet<Pairs>(stands, dx + gx, dy + gy, dz + gz, scales_here());
                gained = gx * t.nx + gy * t.ny + gz * t.nz;
            }
        }
        find_shares(partners.a, t, one, {a.x + first[0], a.y + first[1], a.z + first[2]}, contacts);
        find_shares(partners.b, t, two, {b.x + second[0], b.y + second[1], b.z + second[2]}, its_contacts);
        part<Pairs, Options>(partners, t, contacts, its_contacts, gained, elastic(one, two), scales_here(), spare,
                             impulse[0], impulse[1], impulse[2]);
        return true;
    }

    // Add what a pair pushes beside the ball of a rigid body to the twist of that ball, if member k is the ball.
    PBD_INLINE void twist(int k, int other, const T* impulse) const {
        if constexpr (Options::RIGID) {
            bool first;
            const int one = wp::min(k, other), two = wp::max(k, other);
            if (!needs_foot(*this, one, two, first) || (first ? one : two) != k) return;
            One a = member(one), b = member(two);
            if (!((first ? a.w : b.w) > T(0))) return;
            const Vec3<T> ball = bodies.place(*this, k);
            put_foot(one, a, two, b);
            const Vec3<T> foot = first ? Vec3<T>{a.x, a.y, a.z} : Vec3<T>{b.x, b.y, b.z};
            bodies.add_twist(twist_of(k), LANES, foot - ball,
                             T(first ? 1 : -1) * Vec3<T>{impulse[0], impulse[1], impulse[2]});
        }
    }

    // Sum the displacements of each member. The second pass has the same pairs, and starts from where the first has
    // moved them.
    //
    // sum_of: (member) -> pointer to its sum.
    template <class SumOf> PBD_INLINE void part_all(bool again, SumOf&& sum_of) {
        PBD_CONTRACT_ON
        for (int k = thread; k < count; k += thread_count) {
            const bool listed = touching_lengths[k] >= 0;
            const int end = listed ? touching_lengths[k] : count;
            if (end == 0) continue;
            T sum[3 * LANES];
            for (int a = 0; a < 3 * LANES; ++a) sum[a] = sum_of(k)[a];
            environment = 0;
            One mine = member(k);
            for (int n = 0; n < end; ++n) {
                const int other = listed ? touching[entry(k, n)] : n;
                if (!listed && (other == k || !Search::strangers(k, other))) continue;
                const int one = wp::min(k, other), two = wp::max(k, other);
                for (environment = 0; environment < LANES; ++environment) {
                    if (LANES > 1) mine = member(k);
                    One a = mine, b = member(other);
                    if (other < k) swap(a, b);
                    // The pair may be listed because of other environments.
                    if (!(knows(listed) || is_active(k, other))) continue;
                    T m[3];
                    if (!part_pair(one, a, two, b, again, m)) continue;
                    const T share = k == one ? a.w : -b.w;
                    const T sx = share * m[0], sy = share * m[1], sz = share * m[2];
                    sum[environment] += sx;
                    sum[LANES + environment] += sy;
                    sum[2 * LANES + environment] += sz;
                    twist(k, other, m);
                }
            }
            for (int a = 0; a < 3 * LANES; ++a) sum_of(k)[a] = sum[a];
        }
        sync();
    }

    // Part members a second time. Those of rigid bodies have one sum for both passes, since nothing needs the first
    // alone.
    //
    // part_them: (sum_of), parts all touching members once more.
    template <class PartThem> PBD_INLINE void part_again(PartThem&& part_them) {
        if constexpr (Options::RIGID) {
            for (int b = thread; b < table.crowd_count; b += thread_count)
                for (environment = 0; environment < LANES; ++environment)
                    bodies.carry(
                        *this, b, [&](int k, int a) { return delta[(3 * members[k] + a) * LANES + environment]; },
                        [&](int k) { return bodies.get(twist_of(k)); });
            sync();
        }
        for (int k = thread; k < count; k += thread_count)
            for (int a = 0; a < 3 * LANES; ++a) more[3 * k * LANES + a] = T(0);
        part_them([&](int k) { return in_body(k) ? delta + 3 * members[k] * LANES : more + 3 * k * LANES; });
    }

    // Move a member by the displacements of the passes, and record by how many contacts a list was too short.
    PBD_INLINE void finish(int k) const {
        PBD_CONTRACT_ON
        T* const place = Search::place_of(k);
        T* const move = delta + 3 * members[k] * LANES;
        for (int lane = 0; lane < L::ROUNDS; ++lane) {
            const V contacts = L::load(valence + LANES * k, lane);
            if (!any(contacts > T(0))) continue;
            for (int a = 0; a < 3; ++a) {
                const V old = L::load(place + a * LANES, lane);
                V goal = old + L::load(move + a * LANES, lane);
                if constexpr (Options::PASSES > 1) {
                    if (!in_body(k)) goal = goal + L::load(more + (3 * k + a) * LANES, lane);
                }
                L::store(place + a * LANES, lane, contacts > T(0) ? goal : old);  // -0 stays -0 without a contact
                L::store(move + a * LANES, lane, V(T(0)));
            }
            if (any(contacts > T(table.capacity)))
                for (int n = 0; n < LANES; ++n)
                    atomic_max(lists.overflow.data[Search::group * LANES + n],
                               (int)valence[LANES * k + n] - table.capacity);
        }
    }

    // Update the room that a member leaves others.
    //
    // searched: whether lists of candidates hold all that may touch now; else the member is compared with all others.
    PBD_INLINE void change_room(int k, bool searched) {
        T* const room = Search::room_of(k);
        bool roomy = false;
        for (int n = 0; n < LANES; ++n) roomy = roomy || room[n] != T(0);
        if (!roomy) return;
        const bool listed = searched && lengths[k] >= 0;
        const int end = listed ? lengths[k] : count;
        T most[LANES];
        for (int n = 0; n < LANES; ++n) most[n] = T(0);
        for (int n = 0; n < end; ++n) {
            const int other = listed ? near[entry(k, n)] : n;
            if (!listed && (other == k || !Search::strangers(k, other))) continue;
            for (environment = 0; environment < LANES; ++environment) {
                if (!(distance_square(k, other) < Search::farthest_of(k, other))) continue;
                const int one = wp::min(k, other), two = wp::max(k, other);
                One a = member(one), b = member(two);
                put_foot(one, a, two, b, true);
                const T overlap = placed_overlap<Pairs, Options>(a, b, scales_here());
                most[environment] = wp::max(most[environment], overlap);
            }
        }
        for (int n = 0; n < LANES; ++n)
            room[n] = next_room(room[n], most[n], T(Search::body.parting), T(Search::body.fall));
    }

    // Update the room that members leave others.
    PBD_INLINE void change_rooms(bool renews) {
        for (int k = thread; k < count; k += thread_count) change_room(k, renews || !LISTS_ACTIVE);
        sync();
    }

    PBD_INLINE void count_crowds() {
        if constexpr (Options::RIGID) {
            for (int k = thread; k < count; k += thread_count) count_crowd(k);
            sync();
        }
    }

    PBD_INLINE void finish_all() {
        for (int k = thread; k < count; k += thread_count) {
            finish(k);
            for (int n = 0; n < LANES; ++n)
                if (Search::room_of(k)[n] > T(0)) forget_push(*this, k, n);
        }
        if constexpr (Options::RIGID)
            for (int b = thread; b < table.crowd_count; b += thread_count)
                for (environment = 0; environment < LANES; ++environment)
                    bodies.keep_twist(*this, b, LANES, [&](int k) { return twist_of(k); });
        sync();
    }

    // Part all touching members, each from its own list.
    PBD_INLINE void part_listed() {
        for (int k = thread; k < count; k += thread_count) count_contacts(k);
        sync();
        count_crowds();
        if constexpr (Options::BOUNCY) rebound();
        part_all(false, [&](int k) { return delta + 3 * members[k] * LANES; });
        if constexpr (Options::PASSES > 1) part_again([&](auto&& sum_of) { part_all(true, sum_of); });
        finish_all();
    }
};

}  // namespace pbd
#endif
