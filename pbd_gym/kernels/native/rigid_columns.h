// Layout of the rows of rigid bodies and of their contacts. Python reads these constants.
#pragma once

namespace pbd {

// Columns of a body: its centre (3) [m] and rotation by rows (9), now and at the start of the substep.
constexpr int BODY_CENTER = 0;
constexpr int BODY_TURN = 3;
constexpr int BODY_START = 12;
constexpr int BODY_START_TURN = 15;
// Offset of the centre of mass from that of the mesh, in the body's axes (3) [m]; inverse mass [1/kg]; inertia tensor
// and its inverse (xx, yy, zz, xy, xz, yz each), in the same axes. What held particles weigh in them changes.
constexpr int BODY_OFFSET = 24;
constexpr int BODY_INV_MASS = 27;
constexpr int BODY_INERTIA = 28;
constexpr int BODY_INVERSE = 34;
// Scratch for contacts between bodies: inverse inertia tensor in world axes (6); displacement (3) [m] and rotation (3)
// of the body so far.
constexpr int BODY_WORLD = 40;
constexpr int BODY_GONE = 46;
// Impulses on the body in the substep, times the substep, that its motion does not account for (3) [kg m], and their
// moment about the world's origin (3): held particles take these up. Only if forces at grips are summed.
constexpr int BODY_PULL = 52;
// 0 where the body is in its hands, 1 where it is torn from them, 2 where a collider has pushed it since hands last
// pulled at it, or a gap says so as a control step begins. Then 1 once hands have pulled in this substep, else 0; and
// which of the sets below is in the columns from BODY_OFFSET on.
constexpr int BODY_TORN = 58;
constexpr int BODY_PULLED = 59;
constexpr int BODY_WEIGHING = 60;
// Mass [kg]: of the whole body, and of what is not held. Then the number of held particles.
constexpr int BODY_MASS = 61;
constexpr int BODY_LOOSE_MASS = 62;
constexpr int BODY_HANDS = 63;
// Origin of the body's mesh (3) [m], from which its reach is measured.
constexpr int BODY_ORIGIN = 64;
// Whether colliders have pushed the body since contacts between bodies were last examined, or in the previous substep:
// 1 if so, 0 if not, -1 in the first substep of a control step. Then the number of bodies in the stack that carries it,
// itself included.
constexpr int BODY_TOUCHED = 67;
constexpr int BODY_LEVEL = 68;
// Sets of offset, inverse mass and inertia tensors, by what held particles count as: so heavy that the body turns about
// them; nearly nothing, as while the body moves freely; as the hand of a torn body resists within a substep.
constexpr int BODY_SETS = 69;
constexpr int SET_NUMBERS = 16;
constexpr int HEAVY_SET = 0;
constexpr int FREE_SET = 1;
constexpr int HAND_SET = 2;
// Number of its contacts with colliders whose rows hold what the last sweeps left.
constexpr int BODY_TOUCHES = 117;
// Twists of its balls since it was last moved, times the substep (3) [kg m^2]: moments of pushes of other particles
// that act beside the ball.
constexpr int BODY_TWIST = 118;
// Displacement (3) [m] and rotation (3) that colliders, other bodies and joints are expected to give it, as in the
// previous substep; how far it is moved by that now; and how far it would have come in this substep without any.
constexpr int BODY_EXPECTED = 121;
constexpr int BODY_AHEAD = 127;
constexpr int BODY_FALLEN = 133;
constexpr int BODY_COLUMNS = 139;

// Row of a contact with a collider. The first number is the distance by which the body is to be pushed [m]; then:
// normal (3); displacement of the contact point on the surface in this substep (3) [m]; normal impulse so far, times
// the substep [kg m]; friction impulse (3); kinetic and static Coulomb coefficients; overlap at the start of the
// substep [m]; share of the collider's contacts; squeezing load, as an impulse, times the substep [kg m]; 1 if it
// bounces, else 0; and for a contact on a face its position in the body's axes, relative to the centre of mass (3) [m].
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
// Where bodies meet: what the last sweep added to the impulse and to the friction impulse (3), and the direction in
// which both are extrapolated.
constexpr int TOUCH_ADDED = 20;
constexpr int TOUCH_AHEAD = 24;
constexpr int TOUCH_NUMBERS = 28;
// Contacts with colliders that there is room for, per particle of a body.
constexpr int TOUCH_ROOM = 2;

// Largest number of faces of one body, and of all others, listed near one ball: the nearest, and those to which it may
// come in later rounds.
constexpr int NEAR_FACES = 3;
constexpr int NEAR_SLOTS = 9;
// Scalars of a face: its middle (3), its reach from there, and its corners (9) [m].
constexpr int FACE_NUMBERS = 13;
// Scalars per contact between two bodies (rigid_meetings.h).
constexpr int MEETING_NUMBERS = 34;
// Scalars per bouncing contact (rebounds.h).
constexpr int REBOUND_NUMBERS = 21;

}  // namespace pbd
