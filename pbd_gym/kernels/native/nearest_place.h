// The place of a triangle that is nearest to a point.
#pragma once
#include "algebra.h"

namespace pbd {

template <class T> struct NearPlace {
    Vec3<T> place;
    T square;     // its squared distance [m^2]
    bool within;  // whether it is on the normal through the point, rather than on an edge
    bool behind;  // whether the point is behind the triangle
};

// The place of the segment from a to a + u that is nearest to p.
template <class T> PBD_INLINE NearPlace<T> nearest_on_edge(const Vec3<T>& p, const Vec3<T>& a, const Vec3<T>& u) {
    PBD_CONTRACT_ON
    const T along = dot(p - a, u) / wp::max(dot(u, u), T(1e-30));
    const Vec3<T> place = a + wp::min(wp::max(along, T(0)), T(1)) * u, off = p - place;
    return {place, dot(off, off), false, false};
}

template <class T>
PBD_INLINE NearPlace<T> nearest_place(const Vec3<T>& p, const Vec3<T>& a, const Vec3<T>& b, const Vec3<T>& c) {
    PBD_CONTRACT_ON
    const Vec3<T> u = b - a, v = c - a, w = p - a, n = cross(u, v);
    const T square = dot(n, n), high = dot(w, n);
    // Weights of b and c, times the square.
    const T x = dot(cross(w, v), n), y = dot(cross(u, w), n);
    if (square > T(0) && x >= T(0) && y >= T(0) && x + y <= square) {
        const T share = high / square;
        return {p - share * n, high * share, true, high < T(0)};
    }
    NearPlace<T> best = nearest_on_edge(p, a, u);
    const NearPlace<T> second = nearest_on_edge(p, a, v), third = nearest_on_edge(p, b, c - b);
    if (second.square < best.square) best = second;
    if (third.square < best.square) best = third;
    best.behind = high < T(0);
    return best;
}

}  // namespace pbd
