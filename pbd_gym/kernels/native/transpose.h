// Transposition of rows of four numbers, in the registers of one thread.
#pragma once
#include "lanes.h"

#if !PBD_BLOCK
namespace pbd {

template <class Int, Int... k> struct Integers {};
template <int N> using FirstIntegers = __make_integer_seq<Integers, int, N>;

// Shuffle two vectors in parts of S numbers. Of every four parts, take two from each vector, starting at `first`: those
// of u and v in turn, or those of u before those of v.
template <class V, int S, bool in_turn, int first, int... p>
PBD_INLINE V mixed(V u, V v, Integers<int, p...>) {
    constexpr int N = sizeof...(p);
    return __builtin_shufflevector(
        u, v,
        (in_turn ? p / (2 * S) % 2 + p / S % 2 * (N / S) + first : p / S % 2 + p / (2 * S) % 2 * (N / S) + first) * S +
            p / (4 * S) * (4 * S) + p % S...);
}

// Transpose blocks of four by four parts of S numbers: part q of each four in vector r becomes part r in vector q.
// Vectors of rows r, r + 4, r + 8 ... become four columns, and with S = 1 so do any sixteen rows.
template <class L, int S = 1>
PBD_INLINE void transpose(typename L::V& a, typename L::V& b, typename L::V& c, typename L::V& d) {
    using V = typename L::V;
    constexpr FirstIntegers<L::LANES> all{};
    const V ab = mixed<V, S, true, 0>(a, b, all), ab_ = mixed<V, S, true, 0>(c, d, all);
    const V cd = mixed<V, S, true, 2>(a, b, all), cd_ = mixed<V, S, true, 2>(c, d, all);
    a = mixed<V, S, false, 0>(ab, ab_, all);
    b = mixed<V, S, false, 2>(ab, ab_, all);
    c = mixed<V, S, false, 0>(cd, cd_, all);
    d = mixed<V, S, false, 2>(cd, cd_, all);
}

// Four numbers of a vector, from `first` on.
template <int first, class V> PBD_INLINE auto four_of(V v) {
    return __builtin_shufflevector(v, v, first, first + 1, first + 2, first + 3);
}

// Concatenation of two vectors.
template <class V, int... p> PBD_INLINE auto joined(V u, V v, Integers<int, p...>) {
    return __builtin_shufflevector(u, v, p...);
}

}  // namespace pbd
#endif
