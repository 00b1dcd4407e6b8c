// Rows of four numbers that become columns, and columns that become rows, four by four within a register.
//
// lower and upper of two rows come first, then firsts and lasts of two of these: a transposition of 4 x 4 numbers, in
// each group of four that the registers hold.
#pragma once
#include "lanes.h"

#if !PBD_BLOCK
namespace pbd {

// The numbers 0 ... N - 1 as template arguments.
template <class Integer, Integer... K> struct Sequence {};
template <int N> using Count = __make_integer_seq<Sequence, int, N>;

template <class V, int... K> PBD_INLINE V lower(V u, V v, Sequence<int, K...>) {
    return __builtin_shufflevector(u, v, (K - K % 4 + K % 4 / 2 + K % 2 * (int)sizeof...(K))...);
}
template <class V, int... K> PBD_INLINE V upper(V u, V v, Sequence<int, K...>) {
    return __builtin_shufflevector(u, v, (K - K % 4 + K % 4 / 2 + K % 2 * (int)sizeof...(K) + 2)...);
}
template <class V, int... K> PBD_INLINE V firsts(V u, V v, Sequence<int, K...>) {
    return __builtin_shufflevector(u, v, (K - K % 4 + K % 2 + K % 4 / 2 * (int)sizeof...(K))...);
}
template <class V, int... K> PBD_INLINE V lasts(V u, V v, Sequence<int, K...>) {
    return __builtin_shufflevector(u, v, (K - K % 4 + K % 2 + K % 4 / 2 * (int)sizeof...(K) + 2)...);
}

// All numbers of two registers in one.
template <class T, int N, int... K>
PBD_INLINE typename Register<T, 2 * N>::type joined(typename Register<T, N>::type u, typename Register<T, N>::type v,
                                                    Sequence<int, K...>) {
    return __builtin_shufflevector(u, v, K...);
}

// Four numbers of a register, from number `First` on.
template <class T, int First, class V> PBD_INLINE typename Register<T, 4>::type four(V v) {
    return __builtin_shufflevector(v, v, First, First + 1, First + 2, First + 3);
}

// Turn the rows q[0 ... 3] into columns, or columns into rows.
template <class T, int N> PBD_INLINE void transpose(typename Register<T, N>::type* q) {
    using V = typename Register<T, N>::type;
    const V t0 = lower(q[0], q[1], Count<N>()), t1 = upper(q[0], q[1], Count<N>());
    const V t2 = lower(q[2], q[3], Count<N>()), t3 = upper(q[2], q[3], Count<N>());
    q[0] = firsts(t0, t2, Count<N>());
    q[1] = lasts(t0, t2, Count<N>());
    q[2] = firsts(t1, t3, Count<N>());
    q[3] = lasts(t1, t3, Count<N>());
}

}  // namespace pbd
#endif
