// Contacts between particles: cloth with itself, rope with itself, body with body.
//
// Particles are balls, or patches of a surface: contact_geometry.h. Those that can collide are called members. Where
// one thread serves a group, each environment has a list of pairs, which are processed sixteen at a time
// (pair_contacts.h). Where a block of threads does, each member has a list of candidates (block_contacts.h,
// block_pairs.h), and is compared with all others if they do not fit.
//
// Corrections are computed from positions that stay fixed meanwhile, and are summed in the order of member numbers.
// Their sums need no atomic operations, and do not depend on the order of threads, the time of the last search, the
// size of the lists or other environments.
//
// For a pair at distance d below the sum r of its radii, C = d - r >= 0 is projected without compliance, each particle
// taking its share of inverse mass. A particle with m contacts assigns 1/m of its mass to each, so that the sum does
// not overshoot and momentum is conserved (mass splitting: Tonge et al. 2012, doi:10.1145/2185520.2185601). With
// surfaces, touching pairs are parted twice, as a hand pulls whole layers along. The second pass takes back any
// excess of the first from pairs that fly apart: otherwise heaps tremble. Patches use the gap of contact_geometry.h in
// place of d. Slip during the substep is opposed by up to the friction coefficient times the depth: Macklin et al.
// 2014, doi:10.1145/2601097.2601152, eq. 24.
//
// An overlap from before the substep is removed at no more than separation_speed, or gentle_speed between patches that
// face each other. Between two surfaces, smaller overlaps are removed more slowly, and do not count as pressure for
// friction.
//
// Placed overlaps are removed more slowly still: rooms.h.
//
// Two balls bounce if they approach by more than gravity adds in four substeps. Their speed of separation is their mean
// restitution times that of approach, from which gravity's part in two substeps is first subtracted. All such contacts
// are solved together: rebounds.h. If there is no room for that, masses are split among contacts here too; this gains
// no energy, and averaging the parts loses some.
//
// Balls meet rigid bodies at feet on their faces: contact_feet.h.
//
// A particle of a rigid body has the body's inverse mass at that point, or rather an upper bound over all directions,
// split among the contacts of the whole body. Its displacement stands for an impulse on its own mass, and the motion of
// the body follows from all of these, as with joints. The second pass starts from where that motion has taken the
// particle.
#pragma once
#include "agitation.h"
#include "block_pairs.h"
#include "pair_contacts.h"

namespace pbd {

// Separate the overlapping particles of one group, with Coulomb friction.
//
// substep: its number, or -1 minus its number after the first iteration.
template <class L, class Options, class Model, class Body, class Lists, class Rigid>
PBD_INLINE void separate_members(const Model& model, const Body& body, const Lists& lists, const Rigid& rigid,
                                 typename L::T inv_h, int substep, int group, int thread, int thread_count,
                                 BallShape shape) {
    using T = typename L::T;
    using Group = ContactGroup<L, Options, Model, Body, Lists>;
    const auto scales =
        contact_scales(model.particle_contacts, inv_h, T(body.parting), T(2) * T(body.fall), T(body.meter), shape);
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
