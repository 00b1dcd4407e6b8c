// Blocks of threads: the same source for a single thread on a CPU and for a block of threads on a GPU.
//
// On a CPU one thread serves a group of environments; on a GPU a block of threads does. Warp can also run a block on a
// CPU, as fibers that take turns at barriers: code for blocks is tested there.
#pragma once

#if defined(__CUDA_ARCH__) || (PBD_CPU_BLOCKS && WP_TILE_BLOCK_DIM > 1)
#define PBD_BLOCK 1  // a block of threads serves a group, lane after lane, with plain numbers
#else
#define PBD_BLOCK 0  // one thread serves a group, on vectors with a number per lane
#endif

#if defined(__CUDA_ARCH__)
#define PBD_INLINE __forceinline__ CUDA_CALLABLE
#define PBD_SHARED __shared__
#define PBD_CONTRACT_ON
#define PBD_CONTRACT_OFF
#else
// For small functions: vectors are passed in registers. Builds that are not optimised are for their compile time, half
// of which it takes to put functions into others.
#if defined(__OPTIMIZE__)
#define PBD_INLINE inline __attribute__((always_inline))
#else
#define PBD_INLINE inline
#endif
// For large functions called from several places, or seldom.
#define PBD_APART inline __attribute__((noinline))
// For arrays shared by the threads of a block. Fibers share static memory, and switch at barriers only.
#define PBD_SHARED static
// First statement of a function: whether Clang may fuse a product and a sum of one expression. NVRTC always may.
#define PBD_CONTRACT_ON _Pragma("clang fp contract(on)")
#define PBD_CONTRACT_OFF _Pragma("clang fp contract(off)")
#endif

namespace pbd {

// Wait until every thread of the block gets here.
PBD_INLINE void sync() {
#if defined(__CUDA_ARCH__)
    __syncthreads();
#elif PBD_BLOCK
    wp_cpu_tile_sync();
#endif
}

// Add to a number shared by the threads of the block. Returns its previous value. The order of additions is arbitrary,
// so only integer sums are reproducible.
template <class T> PBD_INLINE T atomic_add(T& where, T what) {
#if defined(__CUDA_ARCH__)
    return atomicAdd(&where, what);
#else
    const T before = where;
    where += what;
    return before;
#endif
}

// Raise an integer shared by the threads of the block to at least a value.
PBD_INLINE void atomic_max(int& where, int what) {
#if defined(__CUDA_ARCH__)
    atomicMax(&where, what);
#else
    where = where > what ? where : what;
#endif
}

// Raise a non-negative number shared by the threads of the block to at least a value. The bit patterns of such numbers
// are in the same order as their values.
template <class T> PBD_INLINE void atomic_max(T& where, T what) {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) == 4)
        atomicMax((int*)&where, __float_as_int((float)what));
    else
        atomicMax((long long*)&where, __double_as_longlong((double)what));
#else
    where = where > what ? where : what;
#endif
}

// Set bits of an integer shared by the threads of the block.
template <class Bits> PBD_INLINE void atomic_or(Bits& where, Bits what) {
#if defined(__CUDA_ARCH__)
    atomicOr(&where, what);
#else
    where |= what;
#endif
}

}  // namespace pbd
