// All headers of the kernels: what a Warp module includes.
#pragma once

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpsabi"  // vectors that are wider than registers are passed within a module only
#endif

#include "air_drag.h"
#include "algebra.h"
#include "bits.h"
#include "block.h"
#include "clusters.h"
#include "collider_response.h"
#include "distance_grid.h"
#include "fluid_chunks.h"
#include "fluid_density.h"
#include "fluid_group.h"
#include "fluid_search.h"
#include "fluid_velocity.h"
#include "fluid_walls.h"
#include "lanes.h"
#include "lines.h"
#include "packed.h"
#include "pictures.h"
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
