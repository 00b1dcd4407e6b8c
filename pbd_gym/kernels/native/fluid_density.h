// Density constraints of a fluid: Macklin, Mueller 2013, Position based fluids, doi:10.1145/2461912.2461984.
//
// C_i = rho_i / rho_0 - 1 >= 0. The density sums the kernel over neighbours, over samples of other bodies (Akinci et
// al. 2012, doi:10.1145/2185520.2185558), and over the space behind walls, in closed form: within the support radius a
// wall is a plane. Where several walls meet, the free share of the kernel is the product of the free shares of each.
// That is exact for walls at right angles through the particle, and where one wall is far.
//
// All constraints of a sweep are solved at once (Jacobi). Each particle gathers its own displacement, and is then moved
// back in front of the walls.
#pragma once
#include "fluid_lift.h"
#include "fluid_stress.h"

namespace pbd {

// Contribution of some neighbours to a particle's density, without the kernel's normalisation.
template <class T>
struct NearDensity {
    T weights;  // sum of the kernel
    T x, y, z;  // sum of its gradients
    T squares;  // sum of squared gradients, times the mobility of each neighbour
};

// Combined effect of a particle's walls.
template <class T>
struct OpenSpace {
    T open;     // share of the kernel that is behind no wall
    T x, y, z;  // minus its gradient [1/m]
};

// One sweep over the density constraints: reads one set of rows and writes another.
template <class Group>
struct DensitySweep {
    using T = typename Group::T;
    using Chunk = typename Group::Chunk;
    using F = typename Chunk::F;
    static constexpr int CHUNK = Chunk::CHUNK;

    Group& fluid;
    T* const from;
    T* const to;
    const T slope;  // factor of gradients [1/m^2]
    const T limit;  // largest displacement of a particle along each axis [m]

    // Sum over the fluid neighbours of a fluid particle; stores the kernel slope of each.
    PBD_INLINE NearDensity<T> near_fluid(int i) const {
        PBD_CONTRACT_ON
        const T px = from[4 * i], py = from[4 * i + 1], pz = from[4 * i + 2], inv_support = fluid.inv_support;
        const int* const list = fluid.near + (size_t)i * fluid.capacity;
        T* const kept = fluid.slopes + (size_t)i * fluid.capacity;
        const int length = fluid.lengths[i];
        typename Chunk::Sum weights, squares;
        typename Chunk::VectorSum slopes;
        for (int part = 0; part < Chunk::ROUNDS; ++part) {
            F w = F(T(0)), gx = w, gy = w, gz = w, g2 = w;
            for (int n = part; n < length; n += CHUNK) {
                const auto q = Chunk::gather(from, list + n);
                const F dx = px - q.x, dy = py - q.y, dz = pz - q.z;
                const F d2 = dx * dx + dy * dy + dz * dz;
                const F e = closeness(d2, inv_support);
                const F cube = e * e * e;
                Chunk::store(kept + n, cube);
                w += cube * e * (T(5) - T(4) * e);
                gx += cube * dx;
                gy += cube * dy;
                gz += cube * dz;
                g2 += cube * cube * d2;
            }
            weights.put(part, w);
            slopes.put(part, gx, gy, gz);
            squares.put(part, g2);
        }
        return {weights.total(), slopes.x.total(), slopes.y.total(), slopes.z.total(), squares.total()};
    }

    // Sum over the boundary samples near a fluid particle.
    PBD_INLINE NearDensity<T> near_boundary(int i) const {
        PBD_CONTRACT_ON
        const T px = from[4 * i], py = from[4 * i + 1], pz = from[4 * i + 2], inv_support = fluid.inv_support;
        const int* const list = fluid.wet + (size_t)i * fluid.wet_capacity;
        const int length = fluid.wet_lengths[i];
        const T* const mobility = fluid.mobility - 1;  // one row lies between fluid and boundary
        typename Chunk::Sum weights, squares;
        typename Chunk::VectorSum slopes;
        for (int part = 0; part < Chunk::ROUNDS; ++part) {
            F w = F(T(0)), gx = w, gy = w, gz = w, g2 = w;
            for (int n = part; n < length; n += CHUNK) {
                const auto q = Chunk::gather(from, list + n);
                const F dx = px - q.x, dy = py - q.y, dz = pz - q.z;
                const F d2 = dx * dx + dy * dy + dz * dz;
                const F e = closeness(d2, inv_support);
                const F cube = e * e * e, pull = q.w * cube;
                w += pull * e * (T(5) - T(4) * e);
                gx += pull * dx;
                gy += pull * dy;
                gz += pull * dz;
                g2 += Chunk::pick(mobility, list + n) * (pull * pull * d2);
            }
            weights.put(part, w);
            slopes.put(part, gx, gy, gz);
            squares.put(part, g2);
        }
        return {weights.total(), slopes.x.total(), slopes.y.total(), slopes.z.total(), squares.total()};
    }

    // Find the share of the kernel that is behind no wall, and its gradient; stores each wall's share in the gradient.
    PBD_INLINE OpenSpace<T> near_walls(int i) const {
        PBD_CONTRACT_ON
        const T px = from[4 * i], py = from[4 * i + 1], pz = from[4 * i + 2], inv_support = fluid.inv_support;
        T open = T(1), wx = T(0), wy = T(0), wz = T(0);
        for (int k = 0; k < fluid.wall_counts[i]; ++k) {
            auto& wall = fluid.walls(i)[k];
            const T d = wall.distance(px, py, pz);
            const T q = (d < T(0) ? -d : d) * inv_support;
            wall.fall = T(0);
            if constexpr (Group::WRENCHES) wall.slope = T(0);
            if (q >= T(1) && d > T(0)) continue;
            const T e = q < T(1) ? T(1) - q : T(0), e4 = e * e * e * e;
            const T* const c = fluid.table.wall_terms.data;
            T share = share_behind(c, e);
            share = d < T(0) ? T(1) - share : share;
            const T fall =
                e4 * (T(5) * c[0] + e * (T(6) * c[1] + e * (T(7) * c[2] + e * (T(8) * c[3] + e * (T(9) * c[4]))))) *
                inv_support;
            const T rest = T(1) - share;
            wall.fall = fall;
            if constexpr (Group::WRENCHES) {
                wall.slope = open * fall;
                for (int n = 0; n < k; ++n) fluid.walls(i)[n].slope *= rest;
            }
            wx = wx * rest - open * fall * wall.normal[0];
            wy = wy * rest - open * fall * wall.normal[1];
            wz = wz * rest - open * fall * wall.normal[2];
            open *= rest;
        }
        return {open, wx, wy, wz};
    }

    // Find the multiplier of each particle, and the displacement by terms without a multiplier of their own: walls and
    // boundary.
    template <bool has_boundary>
    PBD_INLINE void find_multipliers(T* densities) const {
        PBD_CONTRACT_ON
        const auto& table = fluid.table;
        const int active = fluid.active();
        for (int i = fluid.thread; i < active; i += fluid.thread_count) {
            const T px = from[4 * i], py = from[4 * i + 1], pz = from[4 * i + 2];
            const NearDensity<T> near = near_fluid(i);
            T weights = near.weights + T(1), squares = near.squares;
            T fx = T(0), fy = T(0), fz = T(0);
            if constexpr (has_boundary) {
                const NearDensity<T> wet = near_boundary(i);
                weights += wet.weights;
                squares += wet.squares;
                fx = -slope * wet.x;
                fy = -slope * wet.y;
                fz = -slope * wet.z;
            }
            const OpenSpace<T> space = near_walls(i);
            fx += space.x;
            fy += space.y;
            fz += space.z;
            const T constraint = table.amplitude * weights - space.open;
            densities[fluid.order[i]] = constraint + T(1);
            const T ux = fx - slope * near.x, uy = fy - slope * near.y, uz = fz - slope * near.z;
            const T below = slope * slope * squares + (ux * ux + uy * uy + uz * uz) + table.softness;
            const T above = constraint > table.clamp ? constraint : table.clamp;
            const T lambda = -above / below;
            from[4 * i + 3] = lambda;
            to[4 * i] = px + lambda * fx;
            to[4 * i + 1] = py + lambda * fy;
            to[4 * i + 2] = pz + lambda * fz;
            for (int k = 0; k < fluid.wall_counts[i]; ++k) {
                auto& wall = fluid.walls(i)[k];
                wall.pushed += lambda < T(0) ? -lambda * wall.fall : T(0);
                if constexpr (Group::WRENCHES) wall.carried -= fluid.mobility[i] * lambda * wall.slope;
            }
        }
        sync();
    }

    // Clamp a displacement along an axis to the limit.
    PBD_INLINE T limited(T shift) const {
        const T most = shift > limit ? limit : shift;
        return most < -limit ? -limit : most;
    }

    // Sum of the displacements due to fluid neighbours, without the kernel's normalisation.
    PBD_INLINE typename Chunk::VectorSum push(int i) const {
        PBD_CONTRACT_ON
        const T px = from[4 * i], py = from[4 * i + 1], pz = from[4 * i + 2], own = from[4 * i + 3];
        const int* const list = fluid.near + (size_t)i * fluid.capacity;
        const T* const kept = fluid.slopes + (size_t)i * fluid.capacity;
        const int length = fluid.lengths[i];
        typename Chunk::VectorSum sum;
        for (int part = 0; part < Chunk::ROUNDS; ++part) {
            F mx = F(T(0)), my = mx, mz = mx;
            for (int n = part; n < length; n += CHUNK) {
                const auto q = Chunk::gather(from, list + n);
                const F f = (q.w + own) * Chunk::load(kept + n);
                mx += f * (px - q.x);
                my += f * (py - q.y);
                mz += f * (pz - q.z);
            }
            sum.put(part, mx, my, mz);
        }
        return sum;
    }

    // Move fluid particles, and keep them in front of walls.
    template <bool has_boundary>
    PBD_INLINE void move_fluid() const {
        PBD_CONTRACT_ON
        const int active = fluid.active();
        for (int i = fluid.thread; i < active; i += fluid.thread_count) {
            const T px = from[4 * i], py = from[4 * i + 1], pz = from[4 * i + 2];
            typename Chunk::VectorSum sum;
            if constexpr (has_boundary)
                sum = FluidStress<Group>{fluid}.push(from, fluid.slopes + (size_t)i * fluid.capacity, i);
            else
                sum = push(i);
            const T move[3] = {to[4 * i] - px - slope * sum.x.total(), to[4 * i + 1] - py - slope * sum.y.total(),
                               to[4 * i + 2] - pz - slope * sum.z.total()};
            T at[3];
            const T free = fluid.mobility[i];
            for (int a = 0; a < 3; ++a) at[a] = from[4 * i + a] + free * limited(move[a]);
            for (int k = 0; k < fluid.wall_counts[i]; ++k) {
                auto& wall = fluid.walls(i)[k];
                const T depth = fluid.table.radius - wall.distance(at[0], at[1], at[2]);
                if (!(depth > T(0)) || !(free > T(0))) continue;
                for (int a = 0; a < 3; ++a) at[a] += depth * wall.normal[a];
                wall.pushed += depth;
                if constexpr (Group::WRENCHES) wall.carried += depth;
            }
            for (int a = 0; a < 3; ++a) to[4 * i + a] = at[a];
        }
    }

    // Move the samples of other bodies.
    PBD_INLINE void move_boundary() const {
        PBD_CONTRACT_ON
        const int members = fluid.members, second = fluid.second;
        for (int b = fluid.thread; b < fluid.samples; b += fluid.thread_count) {
            const T* const p = from + 4 * (second + b);
            const T px = p[0], py = p[1], pz = p[2], inv_support = fluid.inv_support;
            const int* const list = fluid.near + (size_t)(members + b) * fluid.capacity;
            const int length = fluid.lengths[members + b];
            typename Chunk::VectorSum sum;
            for (int part = 0; part < Chunk::ROUNDS; ++part) {
                F mx = F(T(0)), my = mx, mz = mx;
                for (int n = part; n < length; n += CHUNK) {
                    const auto q = Chunk::gather(from, list + n);
                    const F dx = px - q.x, dy = py - q.y, dz = pz - q.z;
                    const F d2 = dx * dx + dy * dy + dz * dz;
                    const F e = closeness(d2, inv_support);
                    const F f = q.w * (e * e * e);
                    mx += f * dx;
                    my += f * dy;
                    mz += f * dz;
                }
                sum.put(part, mx, my, mz);
            }
            const T scale = -slope * p[3] * fluid.mobility[members + b];
            const T move[3] = {scale * sum.x.total(), scale * sum.y.total(), scale * sum.z.total()};
            for (int a = 0; a < 3; ++a) to[4 * (second + b) + a] = p[a] + limited(move[a]);
        }
    }
};

// Load the positions of boundary samples: constraints of other bodies have moved them since the last iteration.
template <class Group>
PBD_INLINE void read_boundary(Group& fluid) {
    PBD_CONTRACT_ON
    using T = typename Group::T;
    for (int b = fluid.thread; b < fluid.samples; b += fluid.thread_count) {
        const T* const p = fluid.x + Group::STRIDE * fluid.table.boundary.data[fluid.order[fluid.members + b]];
        T* const row = fluid.sets + 4 * (fluid.second + b);
        for (int a = 0; a < 3; ++a) row[a] = p[a] * fluid.inv_size;
        row[4 * fluid.row_count + 3] = row[3];
    }
    sync();
}

// Apply the displacement of a boundary sample to its particle.
//
// A sample of a rigid body yields only as much as the body would there. Otherwise the fluid would push single samples
// into the body, occupy their place, and lie too close once the body is rigid again: at 2.5 ms it displaced 4 % too
// little. The displacement is scaled up here, so that the body receives the full push.
template <class Group>
PBD_INLINE void return_sample(Group& fluid, int b, const typename Group::T* row) {
    PBD_CONTRACT_ON
    using T = typename Group::T;
    const int k = fluid.order[fluid.members + b];
    const T yielding = fluid.table.yielding.data[k];
    T* const to = fluid.x + Group::STRIDE * fluid.table.boundary.data[k];
    for (int a = 0; a < 3; ++a) {
        const T at = row[a] * fluid.size;
        to[a] = yielding < T(1) ? to[a] + (at - to[a]) / yielding : at;
    }
}

// Project all density constraints in one iteration of the solver.
//
// has_boundary: whether other bodies touch the fluid.
// iterations:   iterations per substep; they share the largest displacement of a particle.
template <class Options, bool has_boundary, class Model, class Body, class Scratch>
inline CUDA_CALLABLE void project_fluid(const Model& model, const Body& body, const Scratch& scratch, int iterations,
                                        int group, int thread, int thread_count) {
    PBD_CONTRACT_ON
    using T = typename Options::T;
    using Group = const FluidGroup<Options, decltype(model.fluid), Body, Scratch>;
    Group fluid{model.fluid, body, scratch, group, thread, thread_count};
    const auto& table = fluid.table;
    const int members = fluid.members, samples = fluid.samples, second = fluid.second, active = fluid.active();
    const T slope = table.slope, limit = table.farthest / T(iterations * table.sweeps), size = fluid.size;
    T* const densities = scratch.density.data + fluid.rank * members;
    if constexpr (has_boundary) {
        read_boundary(fluid);
        FluidStress<Group>{fluid}.find(fluid.set(0));
    }
    for (int sweep = 0; sweep < table.sweeps; ++sweep) {
        const DensitySweep<Group> of{fluid, fluid.set(sweep % 2), fluid.set(1 - sweep % 2), slope, limit};
        of.template find_multipliers<has_boundary>(densities);
        of.template move_fluid<has_boundary>();
        if constexpr (has_boundary) of.move_boundary();
        sync();
    }
    T* const last = fluid.set(table.sweeps % 2);
    const FluidLift<Group> lift{fluid, last, T(iterations)};
    if constexpr (has_boundary)
        if (table.solids > 0) lift.apply();
    for (int i = thread; i < active; i += thread_count)
        for (int a = 0; a < 3; ++a) {
            fluid.sets[4 * i + a] = last[4 * i + a];
            fluid.x[Group::STRIDE * table.members.data[fluid.order[i]] + a] = last[4 * i + a] * size;
        }
    if constexpr (has_boundary)
        for (int b = thread; b < samples; b += thread_count)
            if (fluid.mobility[members + b] > T(0)) {
                if (fluid.lengths[members + b] > 0) return_sample(fluid, b, last + 4 * (second + b));
                if (table.solids == 0) continue;
                T* const to = fluid.x + Group::STRIDE * table.boundary.data[fluid.order[members + b]];
                for (int a = 0; a < 3; ++a) to[a] += lift.shift_of(b, a) * size;
            }
    sync();
}

}  // namespace pbd
