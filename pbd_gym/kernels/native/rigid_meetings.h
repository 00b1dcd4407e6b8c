// Contacts between rigid bodies, solved for whole bodies.
//
// Contacts between particles skip pairs of rigid bodies: they push the centres of balls, where friction has the wrong
// lever arm and destroys angular momentum. Here each ball and corner touches the nearest face of another body
// (rigid_near.h). The impulse of a contact acts on both bodies, whose inverse mass at the point is
// 1 / M + (r x n) . I^-1 (r x n), and is never negative. Friction holds the contact point in place on the other body
// with at most the coefficient times the normal impulse. Contacts with colliders (rigid_contacts.h), found before, are
// solved for together with those between bodies, so that the ground carries bodies that do not lie on it themselves.
//
// An overlap from before the substep must not become velocity: bodies are moved out of it gradually, and their
// positions at the start of the substep with them, so that a light body in a heavy one is not thrown. Where they cannot
// part, as between two fingers, the remaining overlap presses them like a spring, as in rigid_overlaps.h. Only bodies
// that lie on supported ones leave them by impulses, little by little, by at most what gravity adds in two substeps, or
// more if the upper body is heavier: otherwise the share of its weight that the sweeps leave unbalanced would let it
// sink. Bodies that approach faster than the resting speed bounce with their mean restitution.
//
// Environments have different contacts, so this is scalar code, one environment after the other, on one thread. An
// environment in which no bodies meet is unchanged to the bit.
#pragma once
#include "rigid_contacts.h"
#include "rigid_near.h"

namespace pbd {

// Largest number of sweeps over the contacts between bodies, alternately forwards and backwards; and the share of the
// impulses that a sweep still changes below which it is the last one. Two bodies need about 5, stacks of five 60.
constexpr int MEETING_SWEEPS = 80;
constexpr double MEETING_CLOSE = 1e-3;
// Sweeps in which bodies are moved out of their overlaps.
constexpr int LEAVING_SWEEPS = 15;
// Gap up to which balls may come to touch while bodies push each other, in displacements by gravity in a substep. A
// body that another pushes up would turn about the few of its balls that already touch.
constexpr double MEETING_AHEAD = 4.0;
// Distance of two places of contact that count as the same, in contact distances.
constexpr double MEETING_SAME = 0.6;
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
// Share of an overlap that a body leaves in a substep by impulses. If it left at once it would have a speed, fall back
// in the next substep, and so on: stacks rocked and crept.
constexpr double MEETING_LEAVES = 0.2;
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
    T added;          // what the last sweep added to the impulse, and to the friction impulse
    Vec3<T> added_drag;
    T ahead;  // direction in which both are extrapolated
    Vec3<T> ahead_drag;
};

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
    //
    // h:       substep [s].
    // resting: speed below which nothing bounces [m/s].
    // fall:    length of the displacement of a free body by gravity in the substep [m].
    PBD_INLINE void collect(T h, T resting, T fall) {
        PBD_CONTRACT_ON
        const auto& table = this->in.table;
        for (int b = 0; b < this->in.count(); ++b)
            for (int i = 0; i < this->points_of(b); ++i) {
                const int j = this->point(b, i), number = this->slot(j, 0);
                for (int s = 1; s <= number && count < room;) {
                    // The nearest place of the faces of one body that this point is near.
                    const int c = table.face_body.data[this->slot(j, s)];
                    const Vec3<T> here = this->template place_of<false>(b, j);
                    const T mine = this->radius_of(b, j), its = this->size * table.radius.data[c];
                    const Vec3<T> seen = this->seen_from(c, here);
                    NearPlace<T> found = {seen, T(1e30), false, false};
                    int f = 0;
                    for (; s <= number && table.face_body.data[this->slot(j, s)] == c; ++s) {
                        const int other = this->slot(j, s);
                        const NearPlace<T> one = this->near_place(c, other, seen);
                        if (!(one.square < found.square)) continue;
                        found = one;
                        f = other;
                    }
                    const Vec3<T> side =
                        cross(this->corner(f, 1) - this->corner(f, 0), this->corner(f, 2) - this->corner(f, 0));
                    const Vec3<T> off = seen - found.place;
                    const T length = root(dot(off, off)), area = root(dot(side, side));
                    // Beneath the faces of a solid the way out is back through them.
                    const bool sunk = table.solid.data[c] && found.within && found.behind;
                    const T deep = mine + its + (sunk ? length : -length);
                    if (!(deep > T(-MEETING_AHEAD) * fall) || !(area > T(0))) continue;
                    const bool touches = length > T(1e-6) * its && !(found.within && table.solid.data[c]);
                    const Mat3<T> turn = this->rows(c, BODY_TURN), was = this->rows(c, BODY_START_TURN);
                    const Vec3<T> n = turn * (touches ? (T(1) / length) * off : (T(1) / area) * side);
                    const Vec3<T> own = found.place - this->vector(c, BODY_OFFSET);
                    const Vec3<T> way =
                        (this->vector(c, BODY_CENTER) + turn * own) - (this->vector(c, BODY_START) + was * own);
                    const Vec3<T> gone = (here - this->template place_of<true>(b, j)) - way;
                    const Vec3<T> slip = gone + (cross(turned(b), -mine * n) + cross(turned(c), -its * n));
                    const T comes = -dot(gone, n);
                    const T early =
                        deep - wp::max(comes, T(0)) - T(MEETING_STAYS) * (mine > T(0) ? wp::min(mine, its) : its);
                    const T bounce = T(0.5) * (table.restitution.data[b] + table.restitution.data[c]);
                    const bool bounces = deep > T(0) && bounce > T(0) && comes > h * resting;
                    const T apart = bounces ? (T(1) + bounce) * comes : wp::min(comes, deep);
                    const Vec3<T> point = here - mine * n;
                    const Vec3<T> r = point - this->vector(b, BODY_CENTER), q = point - this->vector(c, BODY_CENTER);
                    if (c < b && listed_near(c, b, point, n, T(MEETING_SAME) * (mine + its))) continue;
                    const int ball = this->is_corner(j) ? table.face_members.data[j - table.members.shape[0]] : j;
                    const int k = table.face_members.data[f];
                    list[count++] = {n,    r,    q,    slip,       apart, T(0), {T(0), T(0), T(0)}, T(b), T(c), T(ball),
                                     T(k), T(0), T(0), T(bounces), early, deep};  // the rest is zero
                }
            }
    }

    // Give hands that hold bodies which overlap others no more strength than where they are torn from them.
    PBD_INLINE void yield_to_bodies() const {
        PBD_CONTRACT_ON
        for (int m = 0; m < count; ++m) {
            if (!(list[m].load > T(0))) continue;
            for (int side = 0; side < 2; ++side) {
                const T body = side ? list[m].c : list[m].b;
                T& torn = this->column((int)body, BODY_TORN)[this->lane];
                if (torn > T(0) || !(this->column((int)body, BODY_HANDS)[this->lane] > T(0))) continue;
                torn = T(1);
                const Vec3<T> way = free_hands((int)body);
                for (int k = 0; k < count; ++k) {
                    if (list[k].b == body) list[k].r = list[k].r - way;
                    if (list[k].c == body) list[k].q = list[k].q - way;
                }
            }
        }
    }

    // Let held parts of body b count as hands that resist; return the way from its centre of mass so far to the new
    // one.
    PBD_INLINE Vec3<T> free_hands(int b) const {
        T* const from = this->column(b, BODY_SETS + HAND_SET * SET_NUMBERS);
        const Vec3<T> off = this->get(from) - this->vector(b, BODY_OFFSET), way = this->rows(b, BODY_TURN) * off;
        this->put(this->column(b, BODY_CENTER), this->vector(b, BODY_CENTER) + way);
        this->put(this->column(b, BODY_START), this->vector(b, BODY_START) + this->rows(b, BODY_START_TURN) * off);
        T* const to = this->column(b, BODY_OFFSET);
        for (int k = 0; k < SET_NUMBERS; ++k) to[k * LANES + this->lane] = from[k * LANES + this->lane];
        this->column(b, BODY_WEIGHING)[this->lane] = T(HAND_SET);
        return way;
    }

    // Mark held bodies that others press as torn from their hands.
    PBD_INLINE void note_torn() const {
        for (int m = 0; m < count; ++m) {
            if (!(list[m].impulse + list[m].load > T(0))) continue;
            for (int side = 0; side < 2; ++side) {
                const int body = (int)(side ? list[m].c : list[m].b);
                if (this->column(body, BODY_HANDS)[this->lane] > T(0)) this->column(body, BODY_TORN)[this->lane] = T(2);
            }
        }
    }

    // Whether a contact of b's balls with c near a point is listed, with a normal opposite to n. Balls of each of two
    // bodies touch the faces of the other; one of two such contacts is enough.
    PBD_INLINE bool listed_near(int b, int c, const Vec3<T>& point, const Vec3<T>& n, T gap) const {
        PBD_CONTRACT_ON
        const Vec3<T> from = point - this->vector(b, BODY_CENTER);
        for (int m = 0; m < count; ++m) {
            if (!(list[m].b == T(b) && list[m].c == T(c))) continue;
            const Vec3<T> off = list[m].r - from;
            if (dot(off, off) < gap * gap && dot(list[m].n, n) < T(-0.9)) return true;
        }
        return false;
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

    // Initialize levels: 1 for bodies that colliders have pushed in this substep.
    PBD_INLINE void note_carried() const {
        for (int b = 0; b < this->in.count(); ++b) {
            T& touched = this->column(b, BODY_TOUCHED)[this->lane];
            level(b) = touched < T(0) ? T(-1) : touched > T(0) ? T(1) : T(MEETING_FLOATS);
            touched = T(0);
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
            if (level((int)one.b) < T(0) || level((int)one.c) < T(0))
                rises = down < -steep ? T(1) : down > steep ? T(-1) : T(0);
            const T ratio = light((int)one.c) / light((int)one.b), heavier = rises > T(0) ? ratio : T(1) / ratio;
            const bool lies = much > T(0) && rises != T(0) && heavier > T(MEETING_LIGHTEST);
            const T leaves = lies ? root(wp::min(heavier, T(MEETING_HEAVIEST))) * most : T(0);
            if (lies) one.early = T(0);
            if (one.bounces > T(0) || !(deep > T(0))) continue;
            const T before = wp::max(deep - one.apart, T(0));
            one.apart = wp::min(deep, one.apart + wp::min(T(MEETING_LEAVES) * before, leaves));
        }
    }

    // Number of overlapping contacts between the two bodies of a contact.
    PBD_INLINE int overlaps_of(int m) const {
        int found = 0;
        for (int k = 0; k < count; ++k) {
            const bool same = list[k].b == list[m].b && list[k].c == list[m].c;
            const bool swapped = list[k].b == list[m].c && list[k].c == list[m].b;
            found += (same || swapped) && list[k].early > T(0) ? 1 : 0;
        }
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
        for (int m = 0; m < LEAVING_SWEEPS * count; ++m) {
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

    // Find consistent impulses, of these contacts and of those with colliders.
    //
    // body:      see part_bodies.
    // roughness: friction factor of this environment.
    // density:   mass factor of the environment, apart from its size.
    //
    // Sweeps are projected Gauss-Seidel, which passes weight on slowly through a stack, accelerated as a non-linear
    // conjugate gradient method whose gradient is what a sweep changes (Silcowitz-Hansen, Niebe, Erleben 2010,
    // doi:10.1007/s00371-010-0502-6).
    template <class Body> PBD_INLINE void sweep(const Body& body, T roughness, T density) const {
        T last = T(0);
        for (int sweep = 0; sweep < MEETING_SWEEPS; ++sweep) {
            T square = T(0), all = T(0);
            for (int m = 0; m < count; ++m) meet(list[sweep % 2 ? count - 1 - m : m], roughness, square, all);
            for (int b = 0; b < this->in.count(); ++b) {
                const int number = (int)this->column(b, BODY_TOUCHES)[this->lane];
                for (int c = 0; c < number; ++c) touch(body, b, sweep % 2 ? number - 1 - c : c, density, square, all);
            }
            if (sweep + 1 == MEETING_SWEEPS || !(square > T(MEETING_CLOSE * MEETING_CLOSE) * all)) return;
            go_ahead(body, sweep > 0 && square < last ? square / last : T(0), density);
            last = square;
        }
    }

    // Extrapolate impulses by a share of the direction so far, and update this direction.
    template <class Body> PBD_INLINE void go_ahead(const Body& body, T share, T density) const {
        PBD_CONTRACT_ON
        for (int m = 0; m < count; ++m) {
            Meeting<T>& one = list[m];
            const T more = share * one.ahead;
            const Vec3<T> drag = share * one.ahead_drag, p = more * one.n + drag;
            one.impulse += more;
            one.dragged = one.dragged + drag;
            one.ahead = more + one.added;
            one.ahead_drag = drag + one.added_drag;
            if (dot(p, p) == T(0)) continue;
            push((int)one.b, one.r, p);
            push((int)one.c, one.q, T(-1) * p);
        }
        for (int b = 0; b < this->in.count(); ++b) {
            const int number = (int)this->column(b, BODY_TOUCHES)[this->lane];
            for (int c = 0; c < number; ++c) {
                T* const one = this->in.contact(b, c);
                const auto at = [&](int k) -> T& { return one[k * LANES + this->lane]; };
                if (!(at(0) > T(0.5 * NO_TOUCH))) continue;
                const T more = share * at(TOUCH_AHEAD);
                const Vec3<T> drag = share * this->get(one + (TOUCH_AHEAD + 1) * LANES);
                const Vec3<T> p = more * this->get(one + TOUCH_NORMAL * LANES) + drag;
                at(TOUCH_IMPULSE) += more;
                this->put(one + TOUCH_DRAG * LANES, this->get(one + TOUCH_DRAG * LANES) + drag);
                at(TOUCH_AHEAD) = more + at(TOUCH_ADDED);
                this->put(one + (TOUCH_AHEAD + 1) * LANES, drag + this->get(one + (TOUCH_ADDED + 1) * LANES));
                if (dot(p, p) == T(0)) continue;
                push_touch(body, b, c, arm_of(b, c), p, density);
            }
        }
    }

    // Improve the impulse of a contact between bodies.
    //
    // square, all: sums of the squares of what is added to impulses, and of the impulses.
    PBD_INLINE void meet(Meeting<T>& one, T roughness, T& square, T& all) const {
        PBD_CONTRACT_ON
        const Vec3<T> n = one.n, r = one.r, q = one.q;
        const int b = (int)one.b, c = (int)one.c;
        const T old = one.impulse;
        const Vec3<T> way = moved(b, r) - moved(c, q);
        const T raised = old + (one.apart - dot(way, n)) * one.along, sum = raised > T(0) ? raised : T(0);
        one.added = T(0);
        one.added_drag = {T(0), T(0), T(0)};
        if (!(sum > T(0)) && old == T(0) && !(one.load > T(0))) return;
        const Vec3<T> slip = one.slip + way, beside = slip - dot(slip, n) * n;
        const Vec3<T> dragged = one.dragged, drag = dragged - one.beside * beside;
        const T much = root(dot(drag, drag));
        const T rub = T(0.5) * (this->in.table.friction.data[b] + this->in.table.friction.data[c]) * roughness;
        const T most = rub * (sum + one.load);
        const Vec3<T> kept = much > most ? (most / much) * drag : drag;
        one.impulse = sum;
        one.dragged = kept;
        one.added = sum - old;
        one.added_drag = kept - dragged;
        square += one.added * one.added + dot(one.added_drag, one.added_drag);
        all += sum * sum;
        const Vec3<T> p = one.added * n + one.added_drag;
        push(b, r, p);
        push(c, q, T(-1) * p);
    }

    // Lever arm of contact c of body b with a collider [m].
    PBD_INLINE Vec3<T> arm_of(int b, int c) const {
        PBD_CONTRACT_ON
        const auto& in = this->in;
        const T* const one = in.contact(b, c);
        const int m = in.member(b, c);
        const T* const rest = in.table.rest.data + 3 * (m < 0 ? 0 : m);
        const Vec3<T> place =
            m < 0 ? this->get(one + TOUCH_PLACE * LANES) : this->size * Vec3<T>{rest[0], rest[1], rest[2]};
        return this->rows(b, BODY_TURN) * (place - this->vector(b, BODY_OFFSET)) -
               (this->size * in.table.radius.data[b]) * this->get(one + TOUCH_NORMAL * LANES);
    }

    // Apply the impulse p of contact c of body b with a collider, and record it.
    template <class Body>
    PBD_INLINE void push_touch(const Body& body, int b, int c, const Vec3<T>& r, const Vec3<T>& p, T density) const {
        PBD_CONTRACT_ON
        const auto& in = this->in;
        push(b, r, p);
        if constexpr (Bodies::WRENCHES) {
            const size_t row = (size_t)(body.inv_mass.shape[0] + b) * body.wrenches.shape[1] + in.collider(b, c);
            T* const to = (T*)body.wrenches.data + row * 6 * LANES;
            this->put(to, this->get(to) - p);
            const Vec3<T> moment = cross(this->vector(b, BODY_CENTER) + r, p);
            this->put(to + 3 * LANES, this->get(to + 3 * LANES) - moment);
        }
        if constexpr (Bodies::TOUCHES) {
            const int m = in.member(b, c), j = m < 0 ? -1 - m : m;
            T* const to = (T*)body.pushes.data + 3 * (size_t)in.members[j] * LANES;
            const T heavier = density * this->size * this->size * this->size;
            this->put(to, this->get(to) + (T(1) / (in.table.push.data[j] * heavier)) * p);
        }
    }

    // Improve the impulse of contact c of body b with a collider, as rigid_contacts.h does.
    template <class Body> PBD_INLINE void touch(const Body& body, int b, int c, T density, T& square, T& all) const {
        PBD_CONTRACT_ON
        T* const one = this->in.contact(b, c);
        const auto at = [&](int k) -> T& { return one[k * LANES + this->lane]; };
        if (!(at(0) > T(0.5 * NO_TOUCH))) return;
        const Vec3<T> n = this->get(one + TOUCH_NORMAL * LANES), r = arm_of(b, c);
        const T old = at(TOUCH_IMPULSE), load = at(TOUCH_LOAD);
        const T raised = old + (at(0) - dot(moved(b, r), n)) / weakness(b, r, n), sum = raised > T(0) ? raised : T(0);
        at(TOUCH_ADDED) = T(0);
        this->put(one + (TOUCH_ADDED + 1) * LANES, {T(0), T(0), T(0)});
        if (!(sum > T(0)) && old == T(0) && !(load > T(0))) return;
        const Vec3<T> normal = (sum - old) * n;
        push_touch(body, b, c, r, normal, density);
        const Vec3<T> slip = this->get(one + TOUCH_SLIP * LANES) + moved(b, r), beside = slip - dot(slip, n) * n;
        const T way = root(dot(beside, beside)), most = at(TOUCH_STATIC) * (sum + load);
        const Vec3<T> dragged = this->get(one + TOUCH_DRAG * LANES);
        const T yields = way > T(1e-12) ? T(1) / weakness(b, r, (T(1) / way) * beside) : T(0);
        const Vec3<T> drag = dragged - yields * beside;
        const T much = root(dot(drag, drag));
        const Vec3<T> kept = much > most ? (most / much) * drag : drag, more = kept - dragged;
        at(TOUCH_IMPULSE) = sum;
        this->put(one + TOUCH_DRAG * LANES, kept);
        at(TOUCH_ADDED) = sum - old;
        this->put(one + (TOUCH_ADDED + 1) * LANES, more);
        square += (sum - old) * (sum - old) + dot(more, more);
        all += sum * sum;
        push_touch(body, b, c, r, more, density);
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
                // Rounded as RigidLane::place_in is: a later round may write places once more that have not changed.
                const T s = this->size;
                const Vec3<T> at = {s * rest[0] - offset.x, s * rest[1] - offset.y, s * rest[2] - offset.z};
                this->put(this->in.x + Base::ROW * (size_t)i * LANES, center + turn * at);
            }
        }
    }
};

// Separate bodies that overlap, and record in rigid.busy and rigid.met where bodies meet.
//
// bouncy: whether some bodies have a restitution.
template <class L, class Options, bool bouncy, class Model, class Body, class Scratch, class Substep>
inline CUDA_CALLABLE void part_bodies(const Model& model, const Body& body, const Scratch& rigid, const Substep& now,
                                      int group, int thread) {
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
            Meetings<Bodies> meetings(in, near, lane, list, room);
            const Vec3<T> fall = T(now.h) * Vec3<T>{((const T*)now.fall_x.c)[lane], ((const T*)now.fall_y.c)[lane],
                                                    ((const T*)now.fall_z.c)[lane]};
            meetings.collect(T(now.h), ((const T*)now.resting_speed.c)[lane], root(dot(fall, fall)));
            meetings.yield_to_bodies();
            meetings.note_carried();
            busy = meetings.count > 0 ? T(1) : T(0);
            if (meetings.count == 0) continue;
            met = 1;
            meetings.prepare();
            meetings.weigh();
            meetings.lift(fall);
            meetings.leave(T(now.h));
            const T density = Options::VARIED ? in.parameters[Options::DENSITY * L::LANES + lane] : T(1);
            meetings.sweep(body, body.friction.c[lane], density);
            meetings.note_torn();
            if constexpr (bouncy) meetings.keep_energy();
            if constexpr (Options::TOUCHES) meetings.note_pushes((T*)body.pushes.data, density);
            meetings.template move<false>();
        }
        rigid.met.data[group] = met;
    }
    sync();
}

}  // namespace pbd
