// Blocks of threads: one text for a single thread on a CPU and for a block of threads on a GPU.
//
// One thread serves a group of environments on a CPU; a block of threads does on a GPU. Warp can also run a block on a
// CPU, as fibers that take turns at barriers: what is written for blocks is tested there.
#pragma once

#if defined(__CUDA_ARCH__) || (PBD_CPU_BLOCKS && WP_TILE_BLOCK_DIM > 1)
#define PBD_BLOCK 1  // a block of threads serves a group, lane after lane with plain numbers
#else
#define PBD_BLOCK 0  // one thread serves a group, on vectors with a number for each lane
#endif

#if defined(__CUDA_ARCH__)
#define PBD_INLINE __forceinline__ CUDA_CALLABLE
#define PBD_SHARED __shared__
#define PBD_CONTRACT_ON
#define PBD_CONTRACT_OFF
#else
// Before a small function: vectors are passed in registers, and code that is not optimised stays bearable.
#define PBD_INLINE inline __attribute__((always_inline))
// Before a large one that is called from several places, or seldom.
#define PBD_APART inline __attribute__((noinline))
// Before an array that the threads of a block share: fibers share static memory, and change places at barriers only.
#define PBD_SHARED static
// First in a function: may Clang fuse a product and a sum of one expression? NVRTC, which cannot be told, fuses.
#define PBD_CONTRACT_ON _Pragma("clang fp contract(on)")
#define PBD_CONTRACT_OFF _Pragma("clang fp contract(off)")
#endif

namespace pbd {

// Wait until every thread of the block is here.
PBD_INLINE void sync() {
#if defined(__CUDA_ARCH__)
    __syncthreads();
#elif PBD_BLOCK
    wp_cpu_tile_sync();
#endif
}

// Add to a number that other threads of the block may change too. Returns its value before. In which order they come is
// left to chance: sums are the same for whole numbers alone.
template <class T> PBD_INLINE T atomic_add(T& where, T what) {
#if defined(__CUDA_ARCH__)
    return atomicAdd(&where, what);
#else
    const T before = where;
    where += what;
    return before;
#endif
}

// Raise an integer that other threads of the block may change too to at least a value.
PBD_INLINE void atomic_max(int& where, int what) {
#if defined(__CUDA_ARCH__)
    atomicMax(&where, what);
#else
    where = where > what ? where : what;
#endif
}

// Raise a number that is not negative, and which other threads of the block may change too, to at least a value. Such
// numbers are in the order of their bits.
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

// Set bits of an integer that other threads of the block may change too.
template <class Bits> PBD_INLINE void atomic_or(Bits& where, Bits what) {
#if defined(__CUDA_ARCH__)
    atomicOr(&where, what);
#else
    where |= what;
#endif
}

}  // namespace pbd
