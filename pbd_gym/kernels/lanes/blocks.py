"""Blocks of threads: the macros that tell C++ for a block of threads from C++ for one.

One thread serves a group of environments on a CPU; on a GPU a block of threads does. Warp can run a block on a CPU too,
as fibers that take turns at barriers (``wp.config.enable_cpu_blocks``): what is written for blocks can then be run and
tested without a GPU. Native snippets choose between the two by these macros alone:

``PBD_BLOCK``
    1 where a block of threads serves a group, lane after lane with plain numbers; 0 where one thread does, on vectors.
``PBD_SYNC()``
    Barrier: every thread of the block has to come here before any goes on.
``PBD_SHARED``
    Before the declaration of an array: one that the threads of a block share. Its content is undefined at first.
``PBD_ATOMIC_ADD(where, what)``
    Adds to an integer that other threads of the block may change too; its value is the one before.
``PBD_ATOMIC_MAX(where, what)``
    Raises an integer that other threads of the block may change too to at least ``what``.
``PBD_ATOMIC_OR(where, what)``
    Sets bits of an integer that other threads of the block may change too.
``PBD_CONTRACT_ON``, ``PBD_CONTRACT_OFF``
    At the start of a block of statements: let Clang fuse a product and a sum of one expression, or keep them apart.
    NVRTC, which has no such pragma, fuses wherever it can.
"""

import warp as wp

_CPU_BLOCK = "WP_TILE_BLOCK_DIM > 1" if hasattr(wp.config, "enable_cpu_blocks") else "0"  # 0: Warp before 1.19

BLOCKS = f"""
#ifndef PBD_BLOCK
#if defined(__CUDA_ARCH__) || {_CPU_BLOCK}
#define PBD_BLOCK 1
#else
#define PBD_BLOCK 0
#endif
#if defined(__CUDA_ARCH__)
#define PBD_SHARED __shared__
#define PBD_CONTRACT_ON
#define PBD_CONTRACT_OFF
#else
// Fibers share static memory, and change places at barriers only.
#define PBD_SHARED static
#define PBD_CONTRACT_ON _Pragma("clang fp contract(on)")
#define PBD_CONTRACT_OFF _Pragma("clang fp contract(off)")
#endif
#endif
#ifndef PBD_SYNC
#if defined(__CUDA_ARCH__)
#define PBD_SYNC() __syncthreads()
#define PBD_ATOMIC_ADD(where, what) atomicAdd(&(where), what)
#define PBD_ATOMIC_MAX(where, what) atomicMax(&(where), what)
#define PBD_ATOMIC_OR(where, what) atomicOr(&(where), what)
#else
#if PBD_BLOCK
#define PBD_SYNC() wp_cpu_tile_sync()
#else
#define PBD_SYNC()
#endif
#define PBD_ATOMIC_ADD(where, what) ((where) += (what), (where) - (what))
#define PBD_ATOMIC_MAX(where, what) ((where) = (where) > (what) ? (where) : (what))
#define PBD_ATOMIC_OR(where, what) ((where) |= (what))
#endif
#endif
"""
"""Definitions of the macros: native snippets that use one begin with this, and the first of a module takes effect."""
