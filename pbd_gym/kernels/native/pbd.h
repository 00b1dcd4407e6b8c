// All headers of the kernels: what a Warp module includes.
#pragma once

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpsabi"  // vectors that are wider than registers are passed within a module only
#endif

#include "air_drag.h"
#include "algebra.h"
#include "block.h"
#include "clusters.h"
#include "collider_response.h"
#include "lanes.h"
#include "lines.h"
#include "packed.h"
#include "rigid_bodies.h"
#include "rigid_columns.h"
#include "rigid_contacts.h"
#include "rigid_joints.h"
#include "rigid_meetings.h"
#include "rigid_motion.h"
#include "rotation.h"
#include "sweep.h"
#include "tethers.h"
#include "transpose.h"
