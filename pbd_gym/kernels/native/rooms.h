// Rooms: bodies that a scene or a user places in an overlap are not thrown apart.
//
// Members part at metres per second from an overlap that arose in the simulation: compressed heaps need that, and the
// work was done on them. A placed overlap has done no work. The first substep therefore measures it, and each member
// leaves others half of its largest overlap as room: contact begins that much later. The room shrinks slowly,
// separating the members as it does, but no faster than they have separated, so that bodies caught in each other are
// not pressed. How far the weight of a stack makes it sink does not count.
//
// The overlap is measured at the start of the substep, for all pairs near enough to touch now. So rooms depend neither
// on which pairs are listed nor on other environments. They are stored in body.memory at the scale of the scene, and
// are -1 until first measured.
#pragma once
#include "contact_geometry.h"

namespace pbd {

// The same member at its position at the start of the substep.
template <class M> PBD_INLINE M as_placed(M m) {
    m.x = m.px;
    m.y = m.py;
    m.z = m.pz;
    return m;
}

// Overlap of two members at the start of the substep, at the scale of the scene; 0 if there was none.
template <class L, class Options>
PBD_INLINE typename L::V placed_overlap(const Member<L, Options::RIGID>& a, const Member<L, Options::RIGID>& b,
                                        const ContactScales<typename L::T>& scales) {
    PBD_CONTRACT_ON
    using T = typename L::T;
    using V = typename L::V;
    const Touch<L> t = touch<L, Options, false>(as_placed(a), as_placed(b), scales, V(T(0)));
    return t.inside > T(0) ? t.overlap * V(scales.inv_size) : V(T(0));
}

// Updated room of a member.
//
// room:    room so far.
// most:    its largest overlap with another member.
// parting: distance by which contact begins earlier after each round.
// fall:    displacement by gravity of a body at rest in a substep.
template <class T> PBD_INLINE T next_room(T room, T most, T parting, T fall) {
    PBD_CONTRACT_ON
    const T half = T(0.5) * most, step = T(0.5) * parting;
    if (room < T(0)) return half;
    return wp::max(wp::min(wp::max(room - step, half - parting - fall), room), T(0));
}

// Do not let pushes out of a placed overlap count as support for a line. Next to surfaces, lines do not lean on
// anything, and the reaction of colliders to such a push does count.
template <class Group> PBD_INLINE void forget_push(const Group& in, int k, int lane) {
    PBD_CONTRACT_ON
    if (Group::Options::SURFACES || in.body.untouched.shape[0] == 0) return;
    constexpr int LANES = Group::LANES;
    typename Group::T* const come =
        (typename Group::T*)in.body.untouched.data + 3 * (size_t)in.members[k] * LANES + lane;
    for (int a = 0; a < 3; ++a) come[a * LANES] = in.place_of(k)[a * LANES + lane] - in.start_of(k)[a * LANES + lane];
}

}  // namespace pbd
