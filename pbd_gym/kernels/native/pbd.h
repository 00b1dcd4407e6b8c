// All headers of the kernels: what a Warp module includes.
#pragma once

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpsabi"  // vectors that are wider than registers are passed within a module only
#endif

#include "block.h"
#include "collider_response.h"
#include "lanes.h"
#include "lines.h"
#include "packed.h"
#include "sweep.h"
#include "tethers.h"
#include "transpose.h"
