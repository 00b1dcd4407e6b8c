// Lanes: numbers with one value per environment, for environments that advance together.
//
// Arithmetic is written once, for numbers of type V. In a single thread V is a Clang vector, which compiles to SIMD
// code; in a block of threads each thread serves one lane after the other, and V is a plain number. Comparisons of
// vectors are vectors, and `condition ? yes : no` selects lane by lane. There are no branches on a single lane.
#pragma once
#include "block.h"

namespace pbd {

// Scalar type of a V.
template <class V> struct ElementOf {
    using type = decltype(V()[0] + 0);
};
template <> struct ElementOf<float> {
    using type = float;
};
template <> struct ElementOf<double> {
    using type = double;
};
template <class V> using Element = typename ElementOf<V>::type;

// Clang vector of N numbers, or a plain number for N = 1.
template <class T, int N> struct Register {
    typedef T type __attribute__((ext_vector_type(N), aligned(sizeof(T))));
};
template <class T> struct Register<T, 1> {
    using type = T;
};

// Access of a thread to numbers stored with LANES values side by side:
//
//     for (int lane = 0; lane < L::ROUNDS; ++lane) { const V a = L::load(numbers, lane); ... }
template <class Scalar, int Count> struct Lanes {
    using T = Scalar;
    static constexpr int LANES = Count;
#if PBD_BLOCK
    using V = T;
    using Index = int;
    static constexpr int ROUNDS = LANES;
    PBD_INLINE static V load(const T* numbers, int lane) { return numbers[lane]; }
    PBD_INLINE static void store(T* numbers, int lane, V value) { numbers[lane] = value; }
#else
    using V = typename Register<T, LANES>::type;
    using Index = long long;  // as wide as an address: a narrower one makes every access recompute its address
    static constexpr int ROUNDS = 1;
    PBD_INLINE static V load(const T* numbers, int) { return *(const V*)numbers; }
    PBD_INLINE static void store(T* numbers, int, V value) { *(V*)numbers = value; }
#endif
};

// Square root of each number.
PBD_INLINE float root(float a) { return wp::sqrt(a); }
PBD_INLINE double root(double a) { return wp::sqrt(a); }

// Whether a condition holds in some lane, or in all; in a block of threads, in the current lane.
PBD_INLINE bool any(bool condition) { return condition; }
PBD_INLINE bool all(bool condition) { return condition; }
PBD_INLINE bool any(int condition) { return condition != 0; }  // conditions joined by & and |
PBD_INLINE bool all(int condition) { return condition != 0; }

#if !PBD_BLOCK
template <class V> PBD_INLINE V root(V a) { return __builtin_elementwise_sqrt(a); }
template <class M> PBD_INLINE bool any(M condition) { return __builtin_reduce_or(condition) != 0; }
template <class M> PBD_INLINE bool all(M condition) { return __builtin_reduce_and(condition) != 0; }
#endif

// Each number, clamped from below.
template <class V> PBD_INLINE V at_least(V a, Element<V> low) { return a > low ? a : V(low); }

// Angle of the point (x, y) [rad]; that of (0, 0) is 0.
inline CUDA_CALLABLE double angle(double y, double x) { return atan2(y, x); }

// Single-precision version in plain arithmetic, so that it vectorises. Its error is at most 4 units in the last place,
// and the sign of zeros is ignored.
//
// It evaluates the arc tangent of the smaller over the larger coordinate, after subtracting an eighth of a turn beyond
// tan(pi / 8). The polynomial has minimal relative error (Remez), 0.012 units in the last place; rounding adds two.
template <class V> PBD_INLINE V float_angle(V y, V x) {
    PBD_CONTRACT_ON
    using T = float;
    const V none = V(T(0)), up = y < none ? -y : y, along = x < none ? -x : x;
    const V large = up > along ? up : along, small = up > along ? along : up;
    const V t0 = small / at_least(large, 1e-37);
    const V far = T(0.41421356237309503) - t0, turned = (small - large) / at_least(small + large, 1e-37);
    const V t = far < none ? turned : t0, z = t * t;
    const V p = T(-0.3333331518861375) +
                z * (T(0.19998471515581254) +
                     z * (T(-0.14243533346902112) + z * (T(0.10593813746790418) + z * T(-0.06078221452020248))));
    V r = t + t * (z * p);
    r = far < none ? r + T(0.7853981633974483) : r;
    r = up > along ? T(1.5707963267948966) - r : r;
    r = x < none ? T(3.141592653589793) - r : r;
    return y < none ? -r : r;
}
inline CUDA_CALLABLE float angle(float y, float x) { return float_angle(y, x); }

#if !PBD_BLOCK
template <class V> PBD_INLINE V angle(V y, V x) {
    if constexpr (sizeof(Element<V>) == sizeof(float)) {
        return float_angle(y, x);
    } else {
        V r;
        for (unsigned k = 0; k < sizeof(V) / sizeof(double); ++k) r[k] = atan2(y[k], x[k]);
        return r;
    }
}
#endif

}  // namespace pbd
