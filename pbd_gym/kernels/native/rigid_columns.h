// Where the numbers of rigid bodies and of their contacts are. Python reads these constants.
#pragma once

namespace pbd {

// Columns of a body: its centre (3) [m] and rotation by rows (9), now and at the start of the substep.
constexpr int BODY_CENTER = 0;
constexpr int BODY_TURN = 3;
constexpr int BODY_START = 12;
constexpr int BODY_START_TURN = 15;
// Offset of the centre of mass from that of the mesh, in the body's axes (3) [m]; inverse mass [1/kg]; inertia tensor
// and its inverse (xx, yy, zz, xy, xz, yz each), in the same axes. Held particles count as heavy in all of these.
constexpr int BODY_OFFSET = 24;
constexpr int BODY_INV_MASS = 27;
constexpr int BODY_INERTIA = 28;
constexpr int BODY_INVERSE = 34;
// Working numbers of contacts between bodies: inverse inertia tensor in world axes (6); displacement (3) [m] and
// rotation (3) of the body so far.
constexpr int BODY_WORLD = 40;
constexpr int BODY_GONE = 46;
// Pushes on the body in the substep that its motion does not account for, as impulses times the substep (3) [kg m], and
// their moment about the world's origin (3): held particles take these up. Only where forces at grips are summed.
constexpr int BODY_PULL = 52;
// The same numbers from BODY_OFFSET on where hands are torn out of a body, if what is held counts as heavy now, and the
// other way round; and 1 where they are torn out of it, else 0.
constexpr int BODY_OTHER = 58;
constexpr int BODY_TORN = 74;
// Where the centre of its mesh is (3) [m], which its reach is measured from.
constexpr int BODY_ORIGIN = 75;
// 1 where colliders have pushed it since contacts of bodies were last looked at, or in the substep before, 0 if none
// have, and -1 in the first substep of a step; and how many bodies carry it, itself among them.
constexpr int BODY_TOUCHED = 78;
constexpr int BODY_LEVEL = 79;
constexpr int BODY_COLUMNS = 80;

// Numbers of a contact with a collider, after how far it is to be pushed [m]: normal (3); what the contact point has
// moved on the surface in this substep (3) [m]; impulse so far times the substep [kg m]; that of friction (3); two
// Coulomb coefficients, kinetic and static; the overlap that the substep began with [m]; its share in the contacts of
// the collider; what the contact is squeezed by, as an impulse [kg m]; 1 where it bounces; and where it is in the axes
// of the body, from its centre of mass (3) [m], if it is no ball's.
constexpr int TOUCH_NORMAL = 1;
constexpr int TOUCH_SLIP = 4;
constexpr int TOUCH_IMPULSE = 7;
constexpr int TOUCH_DRAG = 8;
constexpr int TOUCH_KINETIC = 11;
constexpr int TOUCH_STATIC = 12;
constexpr int TOUCH_EARLY = 13;
constexpr int TOUCH_SHARE = 14;
constexpr int TOUCH_LOAD = 15;
constexpr int TOUCH_BOUNCES = 16;
constexpr int TOUCH_PLACE = 17;
constexpr int TOUCH_NUMBERS = 20;
// Contacts of a body with colliders that are solved together, for each of its particles.
constexpr int TOUCH_ROOM = 2;

// Largest number of other bodies' balls near one ball; further ones are left to contacts between particles.
constexpr int NEAR_SLOTS = 8;
// Numbers of a contact between two bodies (rigid_meetings.h).
constexpr int MEETING_NUMBERS = 26;
// Numbers of a contact that bounces (rebounds.h).
constexpr int REBOUND_NUMBERS = 21;

}  // namespace pbd
