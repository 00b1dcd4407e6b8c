// Contacts between particles: cloth on itself, rope on itself, body against body.
//
// Particles are balls, or patches of a surface: contact_geometry.h. The colliding ones are members. Where a thread
// serves a group, each environment has a list of pairs, which are worked on sixteen at a time (pair_contacts.h). Where
// a block of threads does, each member has a list of its candidates (block_contacts.h, block_pairs.h), and one with
// more than it has room for is compared with all others.
//
// Corrections follow from positions that nobody changes meanwhile, and are summed in the order of members' numbers: no
// atomics, and no dependence on the order of threads, on when the last search was, on the room in the lists, nor on
// other environments.
//
// For a pair at distance d below the sum r of its radii, C = d - r >= 0 is projected without compliance, each particle
// taking its share of inverse mass. A particle with m contacts lends 1/m of its mass to each, so that the sum does not
// overshoot and momentum is kept (mass splitting: Tonge et al. 2012, doi:10.1145/2185520.2185601). Surfaces are parted
// twice, the pairs that touched: what a hand pulls at moves whole layers with it. The second time, pairs that fly apart
// give back what the first time has parted them by too much: without that heaps tremble. Patches of a surface have a
// gap of their own in place of d. Slip during the substep is held back up to friction times the depth: Macklin et al.
// 2014, doi:10.1145/2601097.2601152, eq. 24.
//
// An overlap that was there before leaves with separation_speed at most, that of patches that face each other with
// gentle_speed. Between two surfaces it leaves the more slowly the smaller it is, and does not count as pressure that
// makes friction.
//
// What overlaps where it was put leaves more slowly still: rooms.h.
//
// Two balls that come on faster than gravity makes it in four substeps bounce: they are pushed on until they part at
// the mean of their restitutions times that speed, less what gravity makes in two. All that do so are solved for
// together: rebounds.h. Where there is no room for that, each contact has a part of its own of the masses, in which
// energy is not gained, and the mean of the parts has less.
//
// A particle of a rigid body counts with the inverse mass of the body at that point, or rather a bound for all
// directions, which the contacts of the whole body share. What it is displaced by is an impulse of its own mass, which
// joints pass on. The second pass looks at it where that impulse, and those of all others, have led its body.
#pragma once
#include "agitation.h"
#include "block_pairs.h"
#include "pair_contacts.h"

namespace pbd {

// Separate the overlapping particles of one group, with Coulomb friction.
//
// substep: its number, or -1 less that after the first iteration.
template <class L, class Options, class Model, class Body, class Lists, class Rigid>
PBD_INLINE void separate_members(const Model& model, const Body& body, const Lists& lists, const Rigid& rigid,
                                 typename L::T inv_h, int substep, int group, int thread, int thread_count,
                                 BallShape shape) {
    using T = typename L::T;
    using Group = ContactGroup<L, Options, Model, Body, Lists>;
    const auto scales = contact_scales(model.particle_contacts, inv_h, T(body.parting), T(2) * T(body.fall), shape);
    const int renewal = model.particle_contacts.renewal;
    const bool renews = Options::SURFACES && substep >= 0 && substep % renewal == 0;
    const int highest = rank_at((substep < 0 ? -1 - substep : substep) % renewal);
    T agitation[L::LANES] = {}, drift[4 * L::LANES] = {};
#if PBD_BLOCK
    using Contacts = BlockPairs<Group>;
    Contacts contacts(model, body, lists, rigid, group, thread, thread_count, scales, agitation, highest);
    if (renews || !Contacts::LISTS_ACTIVE) contacts.search();
    if constexpr (Options::SURFACES) {
        find_agitation(contacts, inv_h, renews, thread, thread_count, agitation, drift);
        store_normals(contacts, thread, thread_count);
        if (renews) contacts.note_members(drift);
        sync();
    }
    contacts.part_members(renews);
#else
    using Contacts = PairContacts<Group>;
    int one[Contacts::FOUND_ROOM], two[Contacts::FOUND_ROOM];
    Contacts contacts(model, body, lists, rigid, group, scales, one, two);
    if constexpr (Options::SURFACES) {
        find_agitation(contacts, inv_h, renews, thread, thread_count, agitation, drift);
        store_normals(contacts, thread, thread_count);
    }
    contacts.part_all(renews, highest, agitation, drift);
#endif
}

}  // namespace pbd
