// Rotations: the nearest rotation of a matrix, and rotation vectors.
#pragma once
#include "algebra.h"

namespace pbd {

// Symmetric 4x4 matrix whose dominant eigenvector is a quaternion.
template <class V> struct QuaternionMatrix {
    V ww, xx, yy, zz, wx, wy, wz, xy, xz, yz;

    PBD_INLINE void square() {
        PBD_CONTRACT_ON
        const V wx2 = wx * wx, wy2 = wy * wy, wz2 = wz * wz, xy2 = xy * xy, xz2 = xz * xz, yz2 = yz * yz;
        const V nwx = wx * (ww + xx) + wy * xy + wz * xz;
        const V nwy = wy * (ww + yy) + wx * xy + wz * yz;
        const V nwz = wz * (ww + zz) + wx * xz + wy * yz;
        const V nxy = xy * (xx + yy) + wx * wy + xz * yz;
        const V nxz = xz * (xx + zz) + wx * wz + xy * yz;
        const V nyz = yz * (yy + zz) + wy * wz + xy * xz;
        ww = ww * ww + wx2 + wy2 + wz2;
        xx = xx * xx + wx2 + xy2 + xz2;
        yy = yy * yy + wy2 + xy2 + yz2;
        zz = zz * zz + wz2 + xz2 + yz2;
        wx = nwx;
        wy = nwy;
        wz = nwz;
        xy = nxy;
        xz = nxz;
        yz = nyz;
    }

    PBD_INLINE void scale(V by) {
        ww *= by;
        wx *= by;
        wy *= by;
        wz *= by;
        xx *= by;
        xy *= by;
        xz *= by;
        yy *= by;
        yz *= by;
        zz *= by;
    }
};

// Proper rotation R (det +1) with the largest R : A, hence the smallest |A - R|, of any 3x3 matrix A.
//
// For a unit quaternion q, R(q) : A = q . N q with a symmetric trace-free 4x4 matrix N whose eigenvalues are s1 + s2 +
// s3, s1 - s2 - s3, ... for the singular values s of A, the smallest of which has the sign of det A (Horn 1987,
// doi:10.1364/JOSAA.4.000629). The wanted q belongs to the largest eigenvalue. Squaring N + sqrt(3) |A| I, which has no
// negative eigenvalue, repeatedly at unit trace converges to the projection on the eigenvectors of the largest
// eigenvalue; its column with the largest diagonal element is q. There is no dependence on a start value, and flat or
// inverted A need no special case. Where several rotations are equally near (A of rank one, or zero, which gives I),
// the projection still yields one of them.
//
// Eigenvectors of the next eigenvalue l2 are damped by ((l2 + r) / (l1 + r))^(2^k), with r = sqrt(3) |A| and an even
// number k of squarings. The rounding error is of the order eps |A| / (s2 + s3), as for any method.
template <int SQUARINGS, class V> PBD_INLINE Mat3<V> nearest_rotation(const Mat3<V>& m) {
    PBD_CONTRACT_ON
    static_assert(SQUARINGS % 2 == 0, "the matrix is squared twice between two scalings");
    using T = Element<V>;
    const Vec3<V>&a = m.a, &b = m.b, &c = m.c;
    const V size =
        root(a.x * a.x + a.y * a.y + a.z * a.z + b.x * b.x + b.y * b.y + b.z * b.z + c.x * c.x + c.y * c.y + c.z * c.z);
    const V scale = T(0.14433756729740643) / at_least(size, 1e-18);  // 1 / (4 sqrt 3): unit trace
    QuaternionMatrix<V> n = {T(0.25) + (a.x + b.y + c.z) * scale,
                             T(0.25) + (a.x - b.y - c.z) * scale,
                             T(0.25) + (b.y - a.x - c.z) * scale,
                             T(0.25) + (c.z - a.x - b.y) * scale,
                             (c.y - b.z) * scale,
                             (a.z - c.x) * scale,
                             (b.x - a.y) * scale,
                             (a.y + b.x) * scale,
                             (a.z + c.x) * scale,
                             (b.z + c.y) * scale};
    for (int round = 0; round < SQUARINGS / 2; ++round) {
        // The square of a 4x4 matrix of unit trace has a trace of at least 1/4, and the square of that of at least
        // 1/64.
        n.square();
        n.square();
        n.scale(T(1) / (n.ww + n.xx + n.yy + n.zz));
    }
    // The column with the largest diagonal element; w wins ties, so that a zero matrix gives the identity.
    V qw = n.ww, qx = n.wx, qy = n.wy, qz = n.wz, best = n.ww;
    auto more = n.xx > best;
    qw = more ? n.wx : qw;
    qx = more ? n.xx : qx;
    qy = more ? n.xy : qy;
    qz = more ? n.xz : qz;
    best = more ? n.xx : best;
    more = n.yy > best;
    qw = more ? n.wy : qw;
    qx = more ? n.xy : qx;
    qy = more ? n.yy : qy;
    qz = more ? n.yz : qz;
    best = more ? n.yy : best;
    more = n.zz > best;
    qw = more ? n.wz : qw;
    qx = more ? n.xz : qx;
    qy = more ? n.yz : qy;
    qz = more ? n.zz : qz;
    // R of q / |q|: products of two components are scaled by 2 / |q|^2, and no square root is needed.
    const V two = T(2) / (qw * qw + qx * qx + qy * qy + qz * qz);
    const V sx = two * qx, sy = two * qy, sz = two * qz;
    return {{T(1) - sy * qy - sz * qz, sx * qy - sz * qw, sx * qz + sy * qw},
            {sx * qy + sz * qw, T(1) - sx * qx - sz * qz, sy * qz - sx * qw},
            {sx * qz - sy * qw, sy * qz + sx * qw, T(1) - sx * qx - sy * qy}};
}

// Write the nearest rotation of a matrix, both by rows, with a number per lane.
template <class L, int SQUARINGS, class Array>
inline CUDA_CALLABLE void rotate(const Array& matrices, const Array& rotations) {
    using T = typename L::T;
    using V = typename L::V;
    const T* const in = (const T*)matrices.data;
    T* const out = (T*)rotations.data;
    for (int lane = 0; lane < L::ROUNDS; ++lane) {
        const auto row = [&](int k) {
            return Vec3<V>{L::load(in + k * L::LANES, lane), L::load(in + (k + 1) * L::LANES, lane),
                           L::load(in + (k + 2) * L::LANES, lane)};
        };
        const Mat3<V> r = nearest_rotation<SQUARINGS>(Mat3<V>{row(0), row(3), row(6)});
        const V entries[] = {r.a.x, r.a.y, r.a.z, r.b.x, r.b.y, r.b.z, r.c.x, r.c.y, r.c.z};
        for (int k = 0; k < 9; ++k) L::store(out + k * L::LANES, lane, entries[k]);
    }
}

// Rotation matrix of a rotation vector p of length t, from e = sin(t) / t and f = (1 - cos(t)) / t^2 (Rodrigues).
template <class V> PBD_INLINE Mat3<V> rodrigues(const Vec3<V>& p, V e, V f) {
    PBD_CONTRACT_ON
    const V one = V(Element<V>(1));
    const V xx = f * p.x * p.x, yy = f * p.y * p.y, zz = f * p.z * p.z;
    const V xy = f * p.x * p.y, xz = f * p.x * p.z, yz = f * p.y * p.z;
    return {{one - yy - zz, xy - e * p.z, xz + e * p.y},
            {xy + e * p.z, one - xx - zz, yz - e * p.x},
            {xz - e * p.y, yz + e * p.x, one - xx - yy}};
}

// Rotation matrix of a rotation vector.
//
// sin(t) / t and (1 - cos(t)) / t^2 are evaluated by series that are exact to rounding up to half a turn per substep,
// more than any body makes without flying apart.
template <class V> PBD_INLINE Mat3<V> rotation(const Vec3<V>& p) {
    PBD_CONTRACT_ON
    using T = Element<V>;
    const V s = dot(p, p), one = V(T(1));
    V a = one, b = one;
    for (int n = 9; n >= 1; --n) {
        a = one - s * a * T(1.0 / ((2 * n) * (2 * n + 1)));
        b = one - s * b * T(1.0 / ((2 * n + 1) * (2 * n + 2)));
    }
    b *= T(0.5);
    return rodrigues(p, a, b);
}

// Vector of the antisymmetric part of m n^-1: sin(t) along the axis, for a rotation by t from n to m.
template <class V> PBD_INLINE Vec3<V> sine_vector(const Mat3<V>& m, const Mat3<V>& n) {
    PBD_CONTRACT_ON
    using T = Element<V>;
    return {T(0.5) * (dot(m.c, n.b) - dot(m.b, n.c)), T(0.5) * (dot(m.a, n.c) - dot(m.c, n.a)),
            T(0.5) * (dot(m.b, n.a) - dot(m.a, n.b))};
}

// Rotation vector of m n^-1.
template <class V> PBD_INLINE Vec3<V> rotation_vector(const Mat3<V>& m, const Mat3<V>& n) {
    PBD_CONTRACT_ON
    using T = Element<V>;
    const Vec3<V> p = sine_vector(m, n);
    const V sine = root(dot(p, p)), cosine = T(0.5) * (dot(m.a, n.a) + dot(m.b, n.b) + dot(m.c, n.c) - T(1));
    const V turn = angle(sine, cosine);
    return (sine > T(1e-12) ? turn / at_least(sine, 1e-12) : V(T(1))) * p;
}

}  // namespace pbd
