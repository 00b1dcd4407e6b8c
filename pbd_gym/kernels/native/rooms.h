// Rooms: what overlaps where it was put, by a scene or by hand, is not thrown.
//
// Out of an overlap that came about by itself members part at metres per second: heaps that are pressed need that, and
// the work has been done on them. One that was put there has done no work. So the first substep finds how deep it is,
// and each member leaves others half of the most that it overlaps one by: they touch that much later, and are stopped
// there. The room shrinks slowly, and parts them as it does, but no further than they have parted, so that bodies that
// are caught in each other are not pressed. What the weight of a stack makes it sink by does not count.
//
// What counts is how deep members overlap where the substep began, of all pairs that are near enough to touch now. So
// rooms depend neither on which pairs are listed nor on other environments. They are remembered (body.memory), in the
// sizes of the scene, and -1 until somebody has looked.
#pragma once
#include "contact_geometry.h"

namespace pbd {

// The same member where it was at the start of the substep.
template <class M> PBD_INLINE M as_placed(M m) {
    m.x = m.px;
    m.y = m.py;
    m.z = m.pz;
    return m;
}

// By how much two members overlapped at the start of the substep, in the sizes of the scene; 0 if they did not.
template <class L, class Options>
PBD_INLINE typename L::V placed_overlap(const Member<L, Options::RIGID>& a, const Member<L, Options::RIGID>& b,
                                        const ContactScales<typename L::T>& scales) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    const Touch<L> t = touch<L, Options, false>(as_placed(a), as_placed(b), scales, V(T(0)));
    return t.inside > T(0) ? t.overlap * V(scales.inv_size) : V(T(0));
}

// Room of a member from now on.
//
// room:    so far.
// most:    the most by which it overlapped another.
// parting: how much sooner two members touch after a round of contacts.
// fall:    how far gravity moves what is at rest in a substep.
template <class T> PBD_INLINE T next_room(T room, T most, T parting, T fall) {
    PBD_CONTRACT_ON
    const T half = T(0.5) * most, step = T(0.5) * parting;
    if (room < T(0)) return half;
    return wp::max(wp::min(wp::max(room - step, half - parting - fall), room), T(0));
}

// Let what pushes a member out of where it was put not count as what its line leans on. Beside surfaces no line leans
// on anything, and what colliders take up of such a push does count.
template <class Group> PBD_INLINE void forget_push(const Group& in, int k, int lane) {
    PBD_CONTRACT_ON
    if (Group::Options::SURFACES || in.body.untouched.shape[0] == 0) return;
    constexpr int LANES = Group::LANES;
    typename Group::T* const come =
        (typename Group::T*)in.body.untouched.data + 3 * (size_t)in.members[k] * LANES + lane;
    for (int a = 0; a < 3; ++a) come[a * LANES] = in.place_of(k)[a * LANES + lane] - in.start_of(k)[a * LANES + lane];
}

}  // namespace pbd
