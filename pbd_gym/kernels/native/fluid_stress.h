// Isotropic stress of a fluid: correction of the density constraints' forces.
//
// The forces (lambda_i + lambda_j) grad W of the density constraints carry the stress lambda_i A_i, where A_i is the
// second moment of particle i's neighbours, weighted by the slope of the kernel. Where the neighbourhood is
// anisotropic, so is the
// stress: particles under pressure then act as an elastic solid whose shear modulus is a third of the pressure, and
// bodies of nearly their density stick in it. With forces (lambda_i N_i + lambda_j N_j) grad W and N_i = 2 - A_i / a,
// where a is a third of the trace of A_i (to first order N_i is the inverse of A_i / a), the stress is a pressure. Pair
// forces still conserve momentum, as with the corrected gradients of Bonet, Lok 1999,
// doi:10.1016/S0045-7825(99)00051-1.
#pragma once
#include "fluid_group.h"

namespace pbd {

// Second moments of a particle's neighbours, and their kernel sum. Number: type for one neighbour or for several.
template <class Number>
struct Neighbourhood {
    Number weights = Number(0);
    Number xx = Number(0), yy = Number(0), zz = Number(0), xy = Number(0), xz = Number(0), yz = Number(0);

    // Add neighbours at offset d with a closeness, weighted by `times`.
    PBD_INLINE void add(Number dx, Number dy, Number dz, Number closeness, Number times) {
        PBD_CONTRACT_ON
        using T = Element<Number>;
        const Number cube = times * (closeness * closeness * closeness);
        const Number x = cube * dx, y = cube * dy, z = cube * dz;
        weights += cube * closeness * (T(5) - T(4) * closeness);
        xx += x * dx;
        yy += y * dy;
        zz += z * dz;
        xy += x * dy;
        xz += x * dz;
        yz += y * dz;
    }
};

// Finds the matrices N of fluid particles, in two sets of rows: diagonals and off-diagonal elements.
template <class Group>
struct FluidStress {
    using T = typename Group::T;
    using Chunk = typename Group::Chunk;
    using F = typename Chunk::F;
    static constexpr int CHUNK = Chunk::CHUNK;
    // Relative densities: below THIN a particle is at the surface and N is the identity; above FULL it is in the
    // interior.
    static constexpr double THIN = 0.85, FULL = 0.9;
    // Share of the anisotropy that N removes. Such forces do not derive from an energy, and keep particles moving: at
    // 0.75 a body in 15 layers of 1 cm still sticks with about 4 % of its weight, at 1 the water moves at 8 cm/s.
    static constexpr double EVEN = 0.9;

    Group& fluid;
    T* const diagonals = fluid.scratch.stress.data + fluid.rank * fluid.scratch.stress.shape[1];
    T* const besides = diagonals + 4 * (fluid.members + 1);

    // Sum over the listed neighbours; boundary samples count with their volumes.
    template <bool in_fluid>
    PBD_INLINE Neighbourhood<T> around(const T* rows, int i) const {
        PBD_CONTRACT_ON
        const T px = rows[4 * i], py = rows[4 * i + 1], pz = rows[4 * i + 2], inv_support = fluid.inv_support;
        const int* const list =
            in_fluid ? fluid.near + (size_t)i * fluid.capacity : fluid.wet + (size_t)i * fluid.wet_capacity;
        const int length = in_fluid ? fluid.lengths[i] : fluid.wet_lengths[i];
        typename Chunk::Sum weights;
        typename Chunk::VectorSum diagonal, beside;
        for (int part = 0; part < Chunk::ROUNDS; ++part) {
            Neighbourhood<F> some;
            for (int n = part; n < length; n += CHUNK) {
                const auto q = Chunk::gather(rows, list + n);
                const F dx = px - q.x, dy = py - q.y, dz = pz - q.z;
                const F e = closeness(dx * dx + dy * dy + dz * dz, inv_support);
                some.add(dx, dy, dz, e, in_fluid ? F(T(1)) : q.w);
            }
            weights.put(part, some.weights);
            diagonal.put(part, some.xx, some.yy, some.zz);
            beside.put(part, some.xy, some.xz, some.yz);
        }
        return {weights.total(),  diagonal.x.total(), diagonal.y.total(), diagonal.z.total(),
                beside.x.total(), beside.y.total(),   beside.z.total()};
    }

    // Find the matrix of each particle, from the positions in a set of rows.
    PBD_INLINE void find(const T* rows) const {
        PBD_CONTRACT_ON
        const auto& table = fluid.table;
        const T* const terms = table.wall_moments.data;
        const int active = fluid.active();
        for (int i = fluid.thread; i < active; i += fluid.thread_count) {
            Neighbourhood<T> all = around<true>(rows, i);
            const Neighbourhood<T> wet = around<false>(rows, i);
            T density = table.amplitude * (T(1) + all.weights + wet.weights);
            all.xx += wet.xx;
            all.yy += wet.yy;
            all.zz += wet.zz;
            all.xy += wet.xy;
            all.xz += wet.xz;
            all.yz += wet.yz;
            for (int k = 0; k < fluid.wall_counts[i]; ++k) {
                const auto& wall = fluid.walls(i)[k];
                const T d = wall.distance(rows[4 * i], rows[4 * i + 1], rows[4 * i + 2]);
                const T e = T(1) - (d > T(0) ? d : T(0)) * fluid.inv_support;
                if (!(e > T(0))) continue;
                density += share_behind(table.wall_terms.data, e);
                const T scale = e * e * e * e * fluid.support * fluid.support;
                T along[2];
                for (int a = 0; a < 2; ++a) {
                    const T* const c = terms + 5 * a;
                    along[a] = scale * (c[0] + e * (c[1] + e * (c[2] + e * (c[3] + e * c[4]))));
                }
                const T flat = along[1], more = along[0] - flat, *const n = wall.normal;
                all.xx += flat + more * n[0] * n[0];
                all.yy += flat + more * n[1] * n[1];
                all.zz += flat + more * n[2] * n[2];
                all.xy += more * n[0] * n[1];
                all.xz += more * n[0] * n[2];
                all.yz += more * n[1] * n[2];
            }
            if (table.dimension == 2) all.zz = T(0.5) * (all.xx + all.yy);  // does not matter in 2D
            const T trace = all.xx + all.yy + all.zz;
            const T depth = (density - T(THIN)) * T(1.0 / (FULL - THIN));
            const T share = depth > T(1) ? T(EVEN) : depth > T(0) ? depth * T(EVEN) : T(0);
            const T scale = trace > T(0) ? T(-3) * share / trace : T(0);
            T* const diagonal = diagonals + 4 * i;
            T* const beside = besides + 4 * i;
            diagonal[0] = T(1) + share + scale * all.xx;
            diagonal[1] = T(1) + share + scale * all.yy;
            diagonal[2] = T(1) + share + scale * all.zz;
            beside[0] = scale * all.xy;
            beside[1] = scale * all.xz;
            beside[2] = scale * all.yz;
        }
        sync();
    }

    // Sum of the displacements due to fluid neighbours, without the kernel's normalisation.
    //
    // kept: kernel slopes of the pairs.
    PBD_INLINE typename Chunk::VectorSum push(const T* rows, const T* kept, int i) const {
        PBD_CONTRACT_ON
        const T px = rows[4 * i], py = rows[4 * i + 1], pz = rows[4 * i + 2], own = rows[4 * i + 3];
        const T *const m = diagonals + 4 * i, *const o = besides + 4 * i;
        const T xx = own * m[0], yy = own * m[1], zz = own * m[2], xy = own * o[0], xz = own * o[1], yz = own * o[2];
        const int* const list = fluid.near + (size_t)i * fluid.capacity;
        const int length = fluid.lengths[i];
        typename Chunk::VectorSum sum;
        for (int part = 0; part < Chunk::ROUNDS; ++part) {
            F sx = F(T(0)), sy = sx, sz = sx;
            for (int n = part; n < length; n += CHUNK) {
                const auto q = Chunk::gather(rows, list + n);
                const auto its = Chunk::gather(diagonals, list + n), beside = Chunk::gather(besides, list + n);
                const F slope = Chunk::load(kept + n);
                const F x = slope * (px - q.x), y = slope * (py - q.y), z = slope * (pz - q.z);
                const F both_xy = xy + q.w * beside.x, both_xz = xz + q.w * beside.y, both_yz = yz + q.w * beside.z;
                sx += (xx + q.w * its.x) * x + both_xy * y + both_xz * z;
                sy += both_xy * x + (yy + q.w * its.y) * y + both_yz * z;
                sz += both_xz * x + both_yz * y + (zz + q.w * its.z) * z;
            }
            sum.put(part, sx, sy, sz);
        }
        return sum;
    }
};

}  // namespace pbd
