// Vectors and matrices in 3D, of numbers V: one per lane, or a single one.
//
// Products and sums in different functions stay separate; within one function Clang may fuse them.
#pragma once
#include "lanes.h"

namespace pbd {

template <class V> struct Vec3 {
    V x, y, z;
};

// Matrix by its rows.
template <class V> struct Mat3 {
    Vec3<V> a, b, c;
};

// Symmetric matrix.
template <class V> struct Sym3 {
    V xx, yy, zz, xy, xz, yz;
};

// Keeps a template argument from being deduced here, so that a plain number converts to V.
template <class V> struct Given {
    using type = V;
};

template <class V> PBD_INLINE Vec3<V> operator+(const Vec3<V>& p, const Vec3<V>& q) {
    return {p.x + q.x, p.y + q.y, p.z + q.z};
}
template <class V> PBD_INLINE Vec3<V> operator-(const Vec3<V>& p, const Vec3<V>& q) {
    return {p.x - q.x, p.y - q.y, p.z - q.z};
}
template <class V> PBD_INLINE Vec3<V> operator*(typename Given<V>::type s, const Vec3<V>& p) {
    return {s * p.x, s * p.y, s * p.z};
}
template <class V> PBD_INLINE V dot(const Vec3<V>& p, const Vec3<V>& q) {
    PBD_CONTRACT_ON
    return p.x * q.x + p.y * q.y + p.z * q.z;
}
template <class V> PBD_INLINE Vec3<V> cross(const Vec3<V>& p, const Vec3<V>& q) {
    PBD_CONTRACT_ON
    return {p.y * q.z - p.z * q.y, p.z * q.x - p.x * q.z, p.x * q.y - p.y * q.x};
}
// Select `yes` in lanes where the condition holds, else `no`.
template <class M, class V> PBD_INLINE Vec3<V> choose(M condition, const Vec3<V>& yes, const Vec3<V>& no) {
    return {condition ? yes.x : no.x, condition ? yes.y : no.y, condition ? yes.z : no.z};
}
// Add m p to a sum, fused.
template <class V> PBD_INLINE void add_scaled(Vec3<V>& sum, typename Given<V>::type m, const Vec3<V>& p) {
    PBD_CONTRACT_ON
    sum.x += m * p.x;
    sum.y += m * p.y;
    sum.z += m * p.z;
}

// m p, m^T p, m n and the transpose of m.
template <class V> PBD_INLINE Vec3<V> operator*(const Mat3<V>& m, const Vec3<V>& p) {
    return {dot(m.a, p), dot(m.b, p), dot(m.c, p)};
}
template <class V> PBD_INLINE Vec3<V> transposed_times(const Mat3<V>& m, const Vec3<V>& p) {
    return p.x * m.a + p.y * m.b + p.z * m.c;
}
template <class V> PBD_INLINE Mat3<V> operator*(const Mat3<V>& m, const Mat3<V>& n) {
    return {transposed_times(n, m.a), transposed_times(n, m.b), transposed_times(n, m.c)};
}
// Add p q^T to a sum, fused.
template <class V> PBD_INLINE void add_outer(Mat3<V>& sum, const Vec3<V>& p, const Vec3<V>& q) {
    add_scaled(sum.a, p.x, q);
    add_scaled(sum.b, p.y, q);
    add_scaled(sum.c, p.z, q);
}

template <class V> PBD_INLINE Vec3<V> operator*(const Sym3<V>& s, const Vec3<V>& p) {
    PBD_CONTRACT_ON
    return {s.xx * p.x + s.xy * p.y + s.xz * p.z, s.xy * p.x + s.yy * p.y + s.yz * p.z,
            s.xz * p.x + s.yz * p.y + s.zz * p.z};
}
// Add m p p^T to a sum, fused.
template <class V> PBD_INLINE void add_square(Sym3<V>& sum, typename Given<V>::type m, const Vec3<V>& p) {
    PBD_CONTRACT_ON
    sum.xx += m * p.x * p.x;
    sum.yy += m * p.y * p.y;
    sum.zz += m * p.z * p.z;
    sum.xy += m * p.x * p.y;
    sum.xz += m * p.x * p.z;
    sum.yz += m * p.y * p.z;
}
// Symmetric matrix in rotated axes, m s m^T.
template <class V> PBD_INLINE Sym3<V> in_axes(const Mat3<V>& m, const Sym3<V>& s) {
    const Vec3<V> p = s * m.a, q = s * m.b, r = s * m.c;
    return {dot(m.a, p), dot(m.b, q), dot(m.c, r), dot(m.a, q), dot(m.a, r), dot(m.b, r)};
}
// Inertia tensor from the second moments s = sum m r r^T.
template <class V> PBD_INLINE Sym3<V> inertia_of(const Sym3<V>& s) {
    return {s.yy + s.zz, s.xx + s.zz, s.xx + s.yy, -s.xy, -s.xz, -s.yz};
}
// Inverse of a matrix with positive determinant; zero for any other.
template <class V> PBD_INLINE Sym3<V> inverse_of(const Sym3<V>& s) {
    PBD_CONTRACT_ON
    using T = Element<V>;
    const V xx = s.yy * s.zz - s.yz * s.yz, xy = s.xz * s.yz - s.xy * s.zz, xz = s.xy * s.yz - s.xz * s.yy;
    const V det = s.xx * xx + s.xy * xy + s.xz * xz;
    const V over = det > T(0) ? T(1) / (det > T(0) ? det : V(T(1))) : V(T(0));
    return {over * xx, over * (s.xx * s.zz - s.xz * s.xz), over * (s.xx * s.yy - s.xy * s.xy), over * xy,
            over * xz, over * (s.xy * s.xz - s.xx * s.yz)};
}

}  // namespace pbd
