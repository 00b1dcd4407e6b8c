// All headers of the kernels: what a Warp module includes.
#pragma once

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpsabi"  // vectors that are wider than registers are passed within a module only
#endif

#include "agitation.h"
#include "block.h"
#include "block_contacts.h"
#include "collider_response.h"
#include "contact_geometry.h"
#include "contact_group.h"
#include "contact_response.h"
#include "grid_search.h"
#include "lanes.h"
#include "pair_contacts.h"
#include "pair_search.h"
#include "particle_contacts.h"
#include "piercings.h"
#include "rigid_carry.h"
#include "transpose.h"
