// Contacts between rigid bodies, solved for whole bodies.
//
// Contacts between particles skip pairs of rigid bodies: they push the centres of balls, where friction has the wrong
// lever arm and destroys angular momentum. Here all balls of one body that a given ball touches form one contact, along
// the mean of their normals, which is nearly that of the surface. Its impulse acts on both bodies, whose inverse mass
// at the point is 1 / M + (r x n) . I^-1 (r x n), and is never negative. Friction holds the contact point in place on
// the other body with at most the coefficient times the normal impulse. Sweeps over all contacts, as in
// rigid_contacts.h, alternate with contacts with colliders, so that the ground carries bodies that do not lie on it
// themselves.
//
// An overlap from before the substep must not become velocity: bodies are moved out of it gradually, and their
// positions at the start of the substep with them, so that a light body in a heavy one is not thrown. Where they cannot
// part, as between two fingers, the remaining overlap presses them like a spring, as in rigid_overlaps.h. Only bodies
// that lie on supported ones leave them by impulses, by as much as gravity adds in two substeps, and by more if the
// upper body is heavier: otherwise the share of its weight that the sweeps leave unbalanced would let it sink. Bodies
// that approach faster than the resting speed bounce with their mean restitution.
//
// Environments have different contacts, so this is scalar code, one environment after the other, on one thread. An
// environment in which no bodies meet is unchanged to the bit.
#pragma once
#include "rigid_overlaps.h"

namespace pbd {

// Sweeps over the contacts between bodies in a round, alternately forwards and backwards. With a third as many, stacks
// creep until they fall; this many take a quarter more time.
constexpr int MEETING_SWEEPS = 15;
// Balls up to this multiple of their contact distance apart may touch in a later round.
constexpr double MEETING_MARGIN = 1.2;
// Overlap that is left, as a share of the smaller radius of the balls: bodies at rest then need not be moved all the
// time.
constexpr double MEETING_STAYS = 1e-3;
// Compliance of the springs of overlaps, as a share of the bodies' inverse mass: opposite springs then balance within
// the sweeps.
constexpr double MEETING_YIELDS = 0.15;
// Share of an overlap that sweeps may leave where nothing is squeezed.
constexpr double MEETING_UNSWEPT = 0.25;
// Mass of the upper of two bodies over that of the lower: above the first value, its effect is capped; below the
// second, the upper body does not leave by impulses.
constexpr double MEETING_HEAVIEST = 16.0, MEETING_LIGHTEST = 0.25;
// Level of a body that nothing carries: larger than any number of stacked bodies.
constexpr double MEETING_FLOATS = 1e6;
// Passes that find which bodies carry which: each advances up a stack by at least one body.
constexpr int MEETING_LEVELS = 4;

// A stored contact between bodies b and c.
template <class T> struct Meeting {
    Vec3<T> n;        // normal, from c to b
    Vec3<T> r, q;     // lever arms on both [m]
    Vec3<T> slip;     // slip in this substep [m]
    T apart;          // distance by which they are to be separated [m]
    T impulse;        // normal impulse so far, times the substep [kg m]
    Vec3<T> dragged;  // friction impulse
    T b, c;
    T j, k;           // a ball of each
    T along, beside;  // effective masses along and perpendicular to the normal
    T bounces;        // 1 if it bounces, else 0
    T early;          // overlap at the start of the substep, to be removed [m]
    T load;           // present overlap [m]; later the squeezing load, as an impulse, times the substep [kg m]
};

// One environment of a group.
template <class Bodies> struct RigidEnvironment {
    using T = typename Bodies::T;
    static constexpr int LANES = Bodies::LANES, ROW = Bodies::ROW;

    const Bodies& in;
    int* const near;
    const int lane;
    const T size;

    PBD_INLINE RigidEnvironment(const Bodies& in, int* near, int lane)
        : in(in), near(near), lane(lane), size(Bodies::VARIED ? in.parameters[Bodies::SIZE * LANES + lane] : T(1)) {}

    // Entry s of the list of balls near member j; entry 0 is their count.
    PBD_INLINE int& slot(int j, int s) const { return near[((size_t)j * (NEAR_SLOTS + 1) + s) * LANES + lane]; }
    PBD_INLINE Vec3<T> get(const T* from) const { return {from[lane], from[LANES + lane], from[2 * LANES + lane]}; }
    PBD_INLINE void put(T* to, const Vec3<T>& p) const {
        to[lane] = p.x;
        to[LANES + lane] = p.y;
        to[2 * LANES + lane] = p.z;
    }
    PBD_INLINE T* column(int b, int k) const { return in.bodies + ((size_t)b * BODY_COLUMNS + k) * LANES; }
    PBD_INLINE Vec3<T> vector(int b, int k) const { return get(column(b, k)); }
    PBD_INLINE Mat3<T> rows(int b, int k) const { return {vector(b, k), vector(b, k + 3), vector(b, k + 6)}; }
    PBD_INLINE Sym3<T> symmetric(int b, int k) const {
        const Vec3<T> u = vector(b, k), v = vector(b, k + 3);
        return {u.x, u.y, u.z, v.x, v.y, v.z};
    }
    // Position of member j in the array `of`: now, or at the start of the substep.
    PBD_INLINE Vec3<T> place(const T* of, int j) const { return get(of + ROW * (size_t)in.members[j] * LANES); }

    // List the balls of body c near each ball of body b that this thread handles.
    PBD_INLINE void find_near(int b, int c, int thread, int thread_count) const {
        PBD_CONTRACT_ON
        const auto& table = in.table;
        const T far = T(MEETING_MARGIN) * size * (table.radius.data[b] + table.radius.data[c]);
        const T wide = size * table.reach.data[c] + far;
        const Vec3<T> other = vector(c, BODY_CENTER), offset = vector(c, BODY_OFFSET);
        const Mat3<T> turn = rows(c, BODY_TURN);
        const T* const box = table.box.data + 6 * c;
        // The centre of a held body is where the hand is; its reach is measured from its centre of mass.
        const Vec3<T> own = vector(b, BODY_CENTER) - rows(b, BODY_TURN) * vector(b, BODY_OFFSET);
        const Vec3<T> between = own - (other - turn * offset);
        const T both = wide + size * table.reach.data[b];
        if (!(dot(between, between) < both * both)) return;
        const auto beyond = [&](T at, int axis) {
            PBD_CONTRACT_ON
            return wp::max(size * box[axis] - at, at - size * box[3 + axis]) > far;
        };
        // The same thread handles a ball for every pair of bodies.
        for (int j = in.offsets[b] + thread; j < in.offsets[b] + table.colliding.data[b]; j += thread_count) {
            const Vec3<T> here = place(in.x, j), inside = transposed_times(turn, here - other) + offset;
            if (beyond(inside.x, 0) || beyond(inside.y, 1) || beyond(inside.z, 2)) continue;
            int number = slot(j, 0);
            for (int k = in.offsets[c]; k < in.offsets[c] + table.colliding.data[c] && number < NEAR_SLOTS; ++k) {
                const Vec3<T> d = here - place(in.x, k);
                if (dot(d, d) < far * far) slot(j, ++number) = k;
            }
            slot(j, 0) = number;
        }
    }
};

// List the balls of other bodies near each ball.
template <class L, class Options, class Model, class Body, class Scratch>
inline CUDA_CALLABLE void find_near_bodies(const Model& model, const Body& body, const Scratch& rigid, int group,
                                           int thread, int thread_count) {
    using Bodies = RigidBodies<L, Options, decltype(model.rigid)>;
    const Bodies in(model.rigid, body, rigid, group);
    int* const near = rigid.near.data + (size_t)group * rigid.near.shape[1];
    for (int j = thread; j < in.table.members.shape[0]; j += thread_count)
        for (int lane = 0; lane < L::LANES; ++lane) near[(size_t)j * (NEAR_SLOTS + 1) * L::LANES + lane] = 0;
    sync();
    for (int p = 0; p < in.table.meets.shape[0] / 2; ++p) {
        const int b = in.table.meets.data[2 * p], c = in.table.meets.data[2 * p + 1];
        for (int lane = 0; lane < L::LANES; ++lane)
            RigidEnvironment<Bodies>(in, near, lane).find_near(b, c, thread, thread_count);
    }
    sync();
}

// Contacts between the bodies of one environment.
template <class Bodies> struct Meetings : RigidEnvironment<Bodies> {
    using Base = RigidEnvironment<Bodies>;
    using T = typename Base::T;
    static constexpr int LANES = Base::LANES;
    static_assert(sizeof(Meeting<T>) == MEETING_NUMBERS * sizeof(T), "Python makes room for them");

    Meeting<T>* const list;
    const int room;
    int count = 0;

    PBD_INLINE Meetings(const Bodies& in, int* near, int lane, Meeting<T>* list, int room)
        : Base(in, near, lane), list(list), room(room) {}

    // Collect contacts, with the overlap to be removed and the slip so far.
    PBD_INLINE void collect(T h, T resting) {
        PBD_CONTRACT_ON
        const auto& table = this->in.table;
        for (int j = 0; j < table.members.shape[0]; ++j) {
            const int number = this->slot(j, 0), b = table.body_of.data[j];
            for (int s = 1; s <= number && count < room;) {
                // All balls of one body that this ball touches form one contact, along the mean normal.
                const int c = table.body_of.data[this->slot(j, s)];
                const Vec3<T> here = this->place(this->in.x, j), start = this->place(this->in.previous, j);
                const T mine = this->size * table.radius.data[b], its = this->size * table.radius.data[c];
                Vec3<T> sum = {T(0), T(0), T(0)}, went = sum;
                T squares = T(0), overlaps = T(0), deepest = T(0);
                int closest = 0;
                for (; s <= number && table.body_of.data[this->slot(j, s)] == c; ++s) {
                    const int k = this->slot(j, s);
                    const Vec3<T> d = here - this->place(this->in.x, k);
                    const Vec3<T> before = start - this->place(this->in.previous, k);
                    const T length = root(dot(d, d)), overlap = mine + its - length;
                    if (!(overlap > T(0)) || !(length > T(1e-12))) continue;
                    sum = sum + (overlap / length) * d;
                    went = went + overlap * (d - before);
                    squares += overlap * overlap;
                    overlaps += overlap;
                    if (overlap > deepest) closest = k;
                    deepest = wp::max(deepest, overlap);
                }
                const T much = root(dot(sum, sum));
                if (!(much > T(1e-3) * overlaps)) continue;
                const Vec3<T> n = (T(1) / much) * sum, gone = (T(1) / overlaps) * went;
                const Vec3<T> slip = gone + (cross(turned(b), -mine * n) + cross(turned(c), -its * n));
                const T comes = -dot(gone, n), deep = wp::min(squares / much, T(2) * deepest);
                const T early = deep - wp::max(comes, T(0)) - T(MEETING_STAYS) * wp::min(mine, its);
                const T bounce = T(0.5) * (table.restitution.data[b] + table.restitution.data[c]);
                const bool bounces = bounce > T(0) && comes > h * resting;
                const T apart = bounces ? (T(1) + bounce) * comes : comes;
                const Vec3<T> point = here - mine * n;
                const Vec3<T> r = point - this->vector(b, BODY_CENTER), q = point - this->vector(c, BODY_CENTER);
                list[count++] = {n,          r,    q,    slip,       apart, T(0), {T(0), T(0), T(0)}, T(b), T(c), T(j),
                                 T(closest), T(0), T(0), T(bounces), early, deep};
            }
        }
    }

    // Rotation of body b in the substep: contact points move with balls that turn about their centres.
    PBD_INLINE Vec3<T> turned(int b) const {
        return sine_vector(this->rows(b, BODY_TURN), this->rows(b, BODY_START_TURN));
    }

    // Compute the inverse inertia of each body in world axes, and reset its displacement and rotation.
    PBD_INLINE void prepare() const {
        for (int b = 0; b < this->in.count(); ++b) {
            const Sym3<T> s = in_axes(this->rows(b, BODY_TURN), this->symmetric(b, BODY_INVERSE));
            this->put(this->column(b, BODY_WORLD), {s.xx, s.yy, s.zz});
            this->put(this->column(b, BODY_WORLD + 3), {s.xy, s.xz, s.yz});
            this->put(this->column(b, BODY_GONE), {T(0), T(0), T(0)});
            this->put(this->column(b, BODY_GONE + 3), {T(0), T(0), T(0)});
        }
    }

    PBD_INLINE T light(int b) const { return this->column(b, BODY_INV_MASS)[this->lane]; }
    // Inverse mass of body b at r, along n.
    PBD_INLINE T weakness(int b, const Vec3<T>& r, const Vec3<T>& n) const {
        const Vec3<T> c = cross(r, n);
        return light(b) + dot(c, this->symmetric(b, BODY_WORLD) * c);
    }
    // Apply the impulse p to body b at r.
    PBD_INLINE void push(int b, const Vec3<T>& r, const Vec3<T>& p) const {
        shift(b, r, p);
        note_pull(b, r, p);
    }
    // Move body b as the impulse p at r does.
    PBD_INLINE void shift(int b, const Vec3<T>& r, const Vec3<T>& p) const {
        T* const gone = this->column(b, BODY_GONE);
        T* const turn = this->column(b, BODY_GONE + 3);
        this->put(gone, this->get(gone) + light(b) * p);
        this->put(turn, this->get(turn) + this->symmetric(b, BODY_WORLD) * cross(r, p));
    }
    PBD_INLINE void note_pull(int b, const Vec3<T>& r, const Vec3<T>& p) const {
        if constexpr (Bodies::FORCES) {
            T* const sum = this->column(b, BODY_PULL);
            T* const moment = this->column(b, BODY_PULL + 3);
            this->put(sum, this->get(sum) + p);
            this->put(moment, this->get(moment) + cross(this->vector(b, BODY_CENTER) + r, p));
        }
    }
    // Displacement of the point at r of body b.
    PBD_INLINE Vec3<T> moved(int b, const Vec3<T>& r) const {
        return this->vector(b, BODY_GONE) + cross(this->vector(b, BODY_GONE + 3), r);
    }

    // Find the effective masses of each contact.
    PBD_INLINE void weigh() const {
        PBD_CONTRACT_ON
        const Vec3<T> axes[] = {{T(1), T(0), T(0)}, {T(0), T(1), T(0)}, {T(0), T(0), T(1)}};
        for (int m = 0; m < count; ++m) {
            Meeting<T>& one = list[m];
            const int b = (int)one.b, c = (int)one.c;
            T all = T(0);
            for (int e = 0; e < 3; ++e) all += weakness(b, one.r, axes[e]) + weakness(c, one.q, axes[e]);
            const T along = weakness(b, one.r, one.n) + weakness(c, one.q, one.n), beside = all - along;
            one.along = along > T(0) ? T(1) / along : T(0);
            one.beside = beside > T(0) ? T(1.5) / beside : T(0);  // stable: less than 2 / the larger of two terms
        }
    }

    // Initialize levels: 1 for bodies that colliders have pushed in this substep, or in the last one if `first`.
    PBD_INLINE void note_carried(bool first) const {
        for (int b = 0; b < this->in.count(); ++b) {
            T& touched = this->column(b, BODY_TOUCHED)[this->lane];
            level(b) = touched < T(0) ? T(-1) : touched > T(0) ? T(1) : T(MEETING_FLOATS);
            if (first) touched = T(0);
        }
    }
    // Number of bodies in the stack that carries a body, itself included; -1 if not known yet.
    PBD_INLINE T& level(int b) const { return this->column(b, BODY_LEVEL)[this->lane]; }

    // Let bodies leave those that carry them by impulses alone.
    //
    // fall: displacement of a free body by gravity in the substep [m]. In the first substep, the upper body of two
    //       counts as carried.
    PBD_INLINE void lift(const Vec3<T>& fall) const {
        PBD_CONTRACT_ON
        const T much = root(dot(fall, fall)), most = T(2) * much;
        for (int pass = 0; pass < MEETING_LEVELS; ++pass)
            for (int m = 0; m < count; ++m) {
                T &one = level((int)list[m].b), &other = level((int)list[m].c);
                if (one < T(0)) continue;
                one = wp::min(one, other + T(1));
                other = wp::min(other, one + T(1));
            }
        for (int m = 0; m < count; ++m) {
            Meeting<T>& one = list[m];
            const T deep = one.load, down = dot(one.n, fall), steep = T(0.5) * much;
            one.load = T(0);
            T rises = level((int)one.b) - level((int)one.c);
            if (level((int)one.b) < T(0)) rises = down < -steep ? T(1) : down > steep ? T(-1) : T(0);
            const T ratio = light((int)one.c) / light((int)one.b), heavier = rises > T(0) ? ratio : T(1) / ratio;
            const bool lies = much > T(0) && rises != T(0) && heavier > T(MEETING_LIGHTEST);
            const T leaves = lies ? root(wp::min(heavier, T(MEETING_HEAVIEST))) * most : T(0);
            if (lies) one.early = T(0);
            if (!(one.bounces > T(0))) one.apart = wp::min(deep, lies ? wp::max(leaves + one.apart, T(0)) : one.apart);
        }
    }

    // Number of overlapping contacts between the two bodies of a contact. Contacts of the same first body are adjacent.
    PBD_INLINE int overlaps_of(int m) const {
        int found = 0, first = m;
        while (first > 0 && list[first - 1].b == list[m].b) --first;
        for (int k = first; k < count && list[k].b == list[m].b; ++k)
            found += list[k].c == list[m].c && list[k].early > T(0) ? 1 : 0;
        return found;
    }

    // Move bodies part of the way out of their overlaps, together with their positions at the start of the substep, and
    // compute what squeezes them.
    //
    // h: substep [s].
    PBD_INLINE void leave(T h) const {
        PBD_CONTRACT_ON
        bool any = false;
        for (int m = 0; m < count; ++m) any = any || list[m].early > T(0);
        if (!any) return;
        const T share = wp::min(h * T(1.0 / LEAVING_TIME), T(1)), firm = T(1.0 / (1.0 + MEETING_YIELDS));
        for (int m = 0; m < MEETING_SWEEPS * count; ++m) {
            Meeting<T>& one = list[m / count % 2 ? count - 1 - m % count : m % count];
            if (!(one.early > T(0))) continue;
            const int b = (int)one.b, c = (int)one.c;
            const T way = dot(moved(b, one.r) - moved(c, one.q), one.n), old = one.load;
            const T sum = wp::max(firm * (old + (share * one.early - way) * one.along), T(0));
            one.load = sum;
            shift(b, one.r, (sum - old) * one.n);
            shift(c, one.q, (old - sum) * one.n);
        }
        const T stiff = h * h * T(1.0 / (SQUEEZE_TIME * SQUEEZE_TIME * (1.0 - MEETING_UNSWEPT)));
        for (int m = 0; m < count; ++m) {
            Meeting<T>& one = list[m];
            const T way = dot(moved((int)one.b, one.r) - moved((int)one.c, one.q), one.n);
            const T left = one.load > T(0) ? T(1.0 - MEETING_UNSWEPT) * one.early - way / share : T(0);
            one.load = left > T(0) ? stiff * left * one.along / T(overlaps_of(m)) : T(0);
            note_pull((int)one.b, one.r, one.load * one.n);
            note_pull((int)one.c, one.q, T(-1) * one.load * one.n);
        }
        move<true>();
        prepare();
    }

    // Find consistent impulses.
    //
    // roughness: friction factor of this environment.
    PBD_INLINE void sweep(T roughness) const {
        PBD_CONTRACT_ON
        for (int m = 0; m < MEETING_SWEEPS * count; ++m) {
            Meeting<T>& one = list[m / count % 2 ? count - 1 - m % count : m % count];
            const Vec3<T> n = one.n, r = one.r, q = one.q;
            const int b = (int)one.b, c = (int)one.c;
            const T old = one.impulse;
            const Vec3<T> way = moved(b, r) - moved(c, q);
            const T raised = old + (one.apart - dot(way, n)) * one.along, sum = raised > T(0) ? raised : T(0);
            if (!(sum > T(0)) && !(old > T(0)) && !(one.load > T(0))) continue;
            const Vec3<T> slip = one.slip + way, beside = slip - dot(slip, n) * n;
            const Vec3<T> dragged = one.dragged, drag = dragged - one.beside * beside;
            const T much = root(dot(drag, drag));
            const T rub = T(0.5) * (this->in.table.friction.data[b] + this->in.table.friction.data[c]) * roughness;
            const T most = rub * (sum + one.load);
            const Vec3<T> kept = much > most ? (most / much) * drag : drag;
            one.impulse = sum;
            one.dragged = kept;
            const Vec3<T> p = (sum - old) * n + (kept - dragged);
            push(b, r, p);
            push(c, q, T(-1) * p);
        }
    }

    // Scale down the impulses of bouncing contacts if they gain energy, as in rigid_contacts.h.
    PBD_INLINE void keep_energy() const {
        PBD_CONTRACT_ON
        T before = T(0), change = T(0);
        for (int m = 0; m < count; ++m) {
            const Meeting<T>& one = list[m];
            if (!(one.bounces > T(0))) continue;
            const Vec3<T> p = one.impulse * one.n + one.dragged;
            before -= dot(p, one.slip);
            change += T(0.5) * dot(p, moved((int)one.b, one.r) - moved((int)one.c, one.q));
        }
        if (!(change > before)) return;
        const T share = wp::max(before, T(0)) / change;
        for (int m = 0; m < count; ++m) {
            Meeting<T>& one = list[m];
            if (!(one.bounces > T(0))) continue;
            const Vec3<T> p = (share - T(1)) * (one.impulse * one.n + one.dragged);
            push((int)one.b, one.r, p);
            push((int)one.c, one.q, T(-1) * p);
            one.impulse *= share;
            one.dragged = share * one.dragged;
        }
    }

    // Record the pushes of contacts on balls.
    //
    // pushes:  sums for each particle, divided by its mass [m].
    // density: mass factor of the environment, apart from its size.
    PBD_INLINE void note_pushes(T* pushes, T density) const {
        PBD_CONTRACT_ON
        const T heavier = density * this->size * this->size * this->size;
        for (int m = 0; m < count; ++m) {
            const Meeting<T>& one = list[m];
            const Vec3<T> p = (one.impulse + one.load) * one.n + one.dragged;
            const int ends[] = {(int)one.j, (int)one.k};
            for (int e = 0; e < 2; ++e) {
                T* const to = pushes + 3 * (size_t)this->in.members[ends[e]] * LANES;
                const T per_mass = T(1) / (this->in.table.push.data[ends[e]] * heavier);
                this->put(to, this->get(to) + (e ? -per_mass : per_mass) * p);
            }
        }
    }

    // Move bodies by their impulses, and their particles with them.
    //
    // before: whether to move their positions at the start of the substep too.
    template <bool before> PBD_INLINE void move() const {
        PBD_CONTRACT_ON
        const auto& table = this->in.table;
        for (int b = 0; b < this->in.count(); ++b) {
            const Vec3<T> gone = this->vector(b, BODY_GONE), p = this->vector(b, BODY_GONE + 3);
            if (dot(gone, gone) + dot(p, p) == T(0)) continue;
            const Vec3<T> center = this->vector(b, BODY_CENTER) + gone;
            const T t = root(dot(p, p)), half = T(0.5) * t;
            const T over = half > T(1e-4) ? wp::sin(half) / half : T(1);
            const T e = t > T(1e-4) ? wp::sin(t) / t : T(1), f = T(0.5) * over * over;
            const Mat3<T> turn = rodrigues(p, e, f) * this->rows(b, BODY_TURN);
            if constexpr (before) {
                const Vec3<T> start = this->vector(b, BODY_START);
                const Mat3<T> turned = rodrigues(p, e, f) * this->rows(b, BODY_START_TURN);
                this->put(this->column(b, BODY_START), start + gone);  // its velocity does not change
                this->put(this->column(b, BODY_START_TURN), turned.a);
                this->put(this->column(b, BODY_START_TURN + 3), turned.b);
                this->put(this->column(b, BODY_START_TURN + 6), turned.c);
                for (int j = this->in.offsets[b]; j < this->in.offsets[b + 1]; ++j) {
                    const int i = this->in.members[j];
                    if (!(this->in.w[i * LANES + this->lane] > T(0))) continue;
                    T* const place = this->in.previous + Base::ROW * (size_t)i * LANES;
                    const Vec3<T> was = this->get(place);
                    this->put(place, was + (gone + cross(p, was - start)));
                }
            }
            this->put(this->column(b, BODY_CENTER), center);
            this->put(this->column(b, BODY_TURN), turn.a);
            this->put(this->column(b, BODY_TURN + 3), turn.b);
            this->put(this->column(b, BODY_TURN + 6), turn.c);
            const Vec3<T> offset = this->vector(b, BODY_OFFSET);
            for (int j = this->in.offsets[b]; j < this->in.offsets[b + 1]; ++j) {
                const int i = this->in.members[j];
                if (!(this->in.w[i * LANES + this->lane] > T(0))) continue;
                const T* const rest = table.rest.data + 3 * j;
                const Vec3<T> at = this->size * Vec3<T>{rest[0], rest[1], rest[2]} - offset;
                this->put(this->in.x + Base::ROW * (size_t)i * LANES, center + turn * at);
            }
        }
    }
};

// Separate bodies that overlap. The first round records in rigid.busy and rigid.met where bodies meet.
//
// bouncy: whether some bodies have a restitution.
template <class L, class Options, bool bouncy, class Model, class Body, class Scratch, class Substep>
inline CUDA_CALLABLE void part_bodies(const Model& model, const Body& body, const Scratch& rigid, const Substep& now,
                                      int round, int group, int thread) {
    using T = typename L::T;
    using Bodies = RigidBodies<L, Options, decltype(model.rigid)>;
    if (thread == 0) {  // contacts depend on each other
        const Bodies in(model.rigid, body, rigid, group);
        int* const near = rigid.near.data + (size_t)group * rigid.near.shape[1];
        const auto list = (Meeting<T>*)(rigid.meetings.data + (size_t)group * rigid.meetings.shape[1]);
        const int room = rigid.meetings.shape[1] / MEETING_NUMBERS;
        int met = 0;
        for (int lane = 0; lane < L::LANES; ++lane) {
            T& busy = ((T*)(rigid.busy.data + group))[lane];
            if (round > 0 && !(busy > T(0))) continue;
            Meetings<Bodies> meetings(in, near, lane, list, room);
            meetings.collect(T(now.h), ((const T*)now.resting_speed.c)[lane]);
            meetings.note_carried(round == 0);
            if (round == 0) busy = meetings.count > 0 ? T(1) : T(0);
            if (meetings.count == 0) continue;
            met = 1;
            meetings.prepare();
            meetings.weigh();
            meetings.lift(T(now.h) * Vec3<T>{((const T*)now.fall_x.c)[lane], ((const T*)now.fall_y.c)[lane],
                                             ((const T*)now.fall_z.c)[lane]});
            if (round == 0) meetings.leave(T(now.h));
            meetings.sweep(body.friction.c[lane]);
            if constexpr (bouncy) meetings.keep_energy();
            if constexpr (Options::TOUCHES) {
                const T density = Options::VARIED ? in.parameters[Options::DENSITY * L::LANES + lane] : T(1);
                meetings.note_pushes((T*)body.pushes.data, density);
            }
            meetings.template move<false>();
        }
        if (round == 0) rigid.met.data[group] = met;
    }
    sync();
}

}  // namespace pbd
