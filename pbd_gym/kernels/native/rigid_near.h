// Places where rigid bodies may touch each other: faces of one near the balls and corners of another.
//
// The surface of a body is that of its faces, which balls lie on, at the distance of their radius: flat where the mesh
// is, and round at its edges. What lies on it are the balls of the other body, and its corners, as points.
#pragma once
#include "nearest_place.h"
#include "rigid_bodies.h"

namespace pbd {

// Points up to this multiple of their contact distance from a face may come to touch it within the substep.
constexpr double MEETING_MARGIN = 1.2;

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

    // Points of body b that touch others: its balls, then its corners, which have no radius.
    PBD_INLINE int points_of(int b) const { return in.table.colliding.data[b] + in.table.corner_count.data[b]; }
    // Point number i of body b: a member, or the number of members plus that of the corner among all faces.
    PBD_INLINE int point(int b, int i) const {
        const int balls = in.table.colliding.data[b], corners = in.table.corner_count.data[b];
        return i < balls ? in.offsets[b] + i
                         : in.table.members.shape[0] + in.table.face_offsets.data[b + 1] - corners + (i - balls);
    }
    PBD_INLINE bool is_corner(int j) const { return j >= in.table.members.shape[0]; }
    // Its radius.
    PBD_INLINE T radius_of(int b, int j) const { return is_corner(j) ? T(0) : size * in.table.radius.data[b]; }
    // Its place now, or as the substep began.
    template <bool before> PBD_INLINE Vec3<T> place_of(int b, int j) const {
        if (!is_corner(j)) return place(before ? in.previous : in.x, j);
        const Vec3<T> own = corner(j - in.table.members.shape[0], 0) - vector(b, BODY_OFFSET);
        return vector(b, before ? BODY_START : BODY_CENTER) + rows(b, before ? BODY_START_TURN : BODY_TURN) * own;
    }
    // Entry s of the list of faces near point j; entry 0 is their count.
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

    // A place of the world in the axes of body c, relative to its mesh.
    PBD_INLINE Vec3<T> seen_from(int c, const Vec3<T>& here) const {
        return transposed_times(rows(c, BODY_TURN), here - vector(c, BODY_CENTER)) + vector(c, BODY_OFFSET);
    }
    // Corner number i of face f in the axes of its body.
    PBD_INLINE Vec3<T> corner(int f, int i) const {
        const T* const from = in.table.faces.data + (size_t)FACE_NUMBERS * f + 4 + 3 * i;
        return size * Vec3<T>{from[0], from[1], from[2]};
    }

    // The place of face f of body c that is nearest to a point, all in the axes of the body. Of two faces in one plane,
    // as thin plates have, the one in front of the point counts as nearer.
    PBD_INLINE NearPlace<T> near_place(int c, int f, const Vec3<T>& from) const {
        NearPlace<T> found = nearest_place(from, corner(f, 0), corner(f, 1), corner(f, 2));
        const T little = T(1e-2) * size * in.table.radius.data[c];
        if (found.behind) found.square += little * little;
        return found;
    }

    // List the faces of body c that are nearest to each point of body b that this thread handles.
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
        const int first = table.face_offsets.data[c],
                  last = table.face_offsets.data[c + 1] - table.corner_count.data[c];
        // The same thread handles a point for every pair of bodies.
        for (int i = thread; i < points_of(b); i += thread_count) {
            const int j = point(b, i), listed = slot(j, 0);
            if (listed + NEAR_FACES > NEAR_SLOTS) continue;
            const Vec3<T> inside = seen_from(c, place_of<false>(b, j));
            if (beyond(inside.x, 0) || beyond(inside.y, 1) || beyond(inside.z, 2)) continue;
            int number = 0;
            T gaps[NEAR_FACES], bar = far;
            for (int f = first; f < last; ++f) {
                const T* const from = table.faces.data + (size_t)FACE_NUMBERS * f;
                const Vec3<T> off = inside - size * Vec3<T>{from[0], from[1], from[2]};
                const T limit = bar + size * from[3];
                if (!(dot(off, off) < limit * limit)) continue;
                const NearPlace<T> found = near_place(c, f, inside);
                if (!(found.square < far * far)) continue;
                if (number == NEAR_FACES && !(found.square < gaps[number - 1])) continue;
                int at = number < NEAR_FACES ? number++ : number - 1;
                for (; at > 0 && found.square < gaps[at - 1]; --at) {
                    gaps[at] = gaps[at - 1];
                    slot(j, listed + at + 1) = slot(j, listed + at);
                }
                gaps[at] = found.square;
                if (number == NEAR_FACES) bar = root(gaps[number - 1]);
                slot(j, listed + at + 1) = f;
            }
            slot(j, 0) = listed + number;
        }
    }
};

// List the faces of other bodies near each point of a body.
template <class L, class Options, class Model, class Body, class Scratch>
inline CUDA_CALLABLE void find_near_bodies(const Model& model, const Body& body, const Scratch& rigid, int group,
                                           int thread, int thread_count) {
    using Bodies = RigidBodies<L, Options, decltype(model.rigid)>;
    const Bodies in(model.rigid, body, rigid, group);
    int* const near = rigid.near.data + (size_t)group * rigid.near.shape[1];
    for (int j = thread; j < in.table.members.shape[0] + in.table.face_body.shape[0]; j += thread_count)
        for (int lane = 0; lane < L::LANES; ++lane) near[(size_t)j * (NEAR_SLOTS + 1) * L::LANES + lane] = 0;
    sync();
    for (int p = 0; p < in.table.meets.shape[0] / 2; ++p) {
        const int b = in.table.meets.data[2 * p], c = in.table.meets.data[2 * p + 1];
        for (int lane = 0; lane < L::LANES; ++lane) {
            const RigidEnvironment<Bodies> one(in, near, lane);
            one.find_near(b, c, thread, thread_count);
            one.find_near(c, b, thread, thread_count);
        }
    }
    sync();
}

}  // namespace pbd
