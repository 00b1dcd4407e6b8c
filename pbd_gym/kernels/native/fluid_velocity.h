// End of a fluid's substep: friction at walls, viscosity, cohesion and vorticity confinement.
//
// Velocities follow from positions. Their change is applied to the positions before the substep, from which the rest of
// the step computes them: previous = x - h v.
#pragma once
#include "fluid_group.h"

namespace pbd {

// Sets of rows that hold velocities.
template <class T>
struct FluidVelocities {
    T* current;  // [m/s]
    T* spare;
};

// What a fluid does between its last iteration and the end of the substep.
template <class Group>
struct FluidSettling {
    using T = typename Group::T;
    using Chunk = typename Group::Chunk;
    using F = typename Chunk::F;
    static constexpr int CHUNK = Chunk::CHUNK;
    // Largest share of velocity differences that one pass of viscosity removes; higher viscosity takes several passes.
    static constexpr double MOST_AT_ONCE = 0.5;
    // Largest number of passes, which limits the viscosity.
    static constexpr int MOST_PASSES = 16;

    Group& fluid;
    const T h, inv_h;  // the substep [s], and one over it

    // Reduce the slip of particles at walls by Coulomb's law, as in respond_to_collider; the wall's push in this
    // substep is the normal force. Then compute velocities from positions into the second set of rows.
    PBD_INLINE void rub_on_walls() const {
        PBD_CONTRACT_ON
        T* const sets = fluid.sets;
        T* const speeds = fluid.set(1);
        const int active = fluid.active();
        for (int i = fluid.thread; i < active; i += fluid.thread_count) {
            const int member = fluid.table.members.data[fluid.order[i]];
            T* const p = sets + 4 * i;
            T old[3];
            for (int a = 0; a < 3; ++a) old[a] = fluid.previous[Group::STRIDE * member + a] * fluid.inv_size;
            for (int k = 0; k < fluid.wall_counts[i]; ++k) {
                const auto& wall = fluid.walls(i)[k];
                if constexpr (Group::WRENCHES) note_wall(wall, member, p, wall.normal, wall.carried);
                if (fluid.table.solids > 0 || !(wall.pushed > T(0)) || !(fluid.mobility[i] > T(0))) continue;
                T u[3];
                for (int a = 0; a < 3; ++a) u[a] = p[a] - old[a] - wall.travel[a];
                const T along = u[0] * wall.normal[0] + u[1] * wall.normal[1] + u[2] * wall.normal[2];
                for (int a = 0; a < 3; ++a) u[a] -= along * wall.normal[a];
                const T slip = root(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
                const T share = slip > wall.sticking * wall.pushed ? wall.kinetic * wall.pushed / slip : T(1);
                for (int a = 0; a < 3; ++a) p[a] -= share * u[a];
                if constexpr (Group::WRENCHES) note_wall(wall, member, p, u, -share);
            }
            for (int a = 0; a < 3; ++a) speeds[4 * i + a] = (p[a] - old[a]) * inv_h;
            speeds[4 * i + 3] = T(0);
        }
        if (fluid.thread == 0)
            for (int set = 1; set < 3; ++set)
                for (int a = 0; a < 4; ++a) fluid.set(set)[4 * fluid.members + a] = T(0);
        sync();
    }

    // Record the force and moment on a wall that has moved a particle by `much` times u.
    template <class Wall>
    PBD_INLINE void note_wall(const Wall& wall, int member, const T* p, const T* u, T much) const {
        PBD_CONTRACT_ON
        const int colliders = fluid.body.wrenches.shape[1];
        T* const to = (T*)fluid.body.wrenches.data + ((size_t)member * colliders + (int)wall.collider) * 6;
        T f[3], at[3];
        for (int a = 0; a < 3; ++a) {
            f[a] = -fluid.mass * fluid.size * much * u[a];
            at[a] = p[a] * fluid.size;
            to[a] += f[a];
        }
        for (int a = 0; a < 3; ++a) to[3 + a] += at[(a + 1) % 3] * f[(a + 2) % 3] - at[(a + 2) % 3] * f[(a + 1) % 3];
    }

    // Apply viscosity: reduce velocity differences of pairs, which conserves momentum; walls keep their velocity.
    PBD_INLINE FluidVelocities<T> apply_viscosity() const {
        PBD_CONTRACT_ON
        const auto& table = fluid.table;
        const T amount =
            table.xsph + table.thinning * fluid.thicker / fluid.heavier * h * fluid.inv_size * fluid.inv_size;
        const T passes = wp::ceil(amount * T(1.0 / MOST_AT_ONCE));
        const int pass_count = passes < T(1) ? 1 : passes < T(MOST_PASSES) ? (int)passes : MOST_PASSES;
        const T each = wp::min(amount / T(pass_count), T(MOST_AT_ONCE));
        for (int pass = 0; pass < pass_count; ++pass) {
            even_out(each, fluid.set(1 + pass % 2), fluid.set(2 - pass % 2));
            sync();
        }
        return {fluid.set(1 + pass_count % 2), fluid.set(2 - pass_count % 2)};
    }

    // One pass of the viscosity.
    PBD_INLINE void even_out(T each, const T* from, T* to) const {
        PBD_CONTRACT_ON
        const auto& table = fluid.table;
        const T* const sets = fluid.sets;
        const T inv_support = fluid.inv_support;
        const int active = fluid.active();
        for (int i = fluid.thread; i < active; i += fluid.thread_count) {
            const T px = sets[4 * i], py = sets[4 * i + 1], pz = sets[4 * i + 2];
            const int* const list = fluid.near + (size_t)i * fluid.capacity;
            const int length = fluid.lengths[i];
            typename Chunk::Sum weights;
            typename Chunk::VectorSum sum;
            for (int part = 0; part < Chunk::ROUNDS; ++part) {
                F w = F(T(0)), sx = w, sy = w, sz = w;
                for (int n = part; n < length; n += CHUNK) {
                    const auto q = Chunk::gather(sets, list + n), v = Chunk::gather(from, list + n);
                    const F dx = px - q.x, dy = py - q.y, dz = pz - q.z;
                    const F e = closeness(dx * dx + dy * dy + dz * dz, inv_support);
                    const F weight = (e * e) * (e * e) * (T(5) - T(4) * e);
                    w += weight;
                    sx += weight * v.x;
                    sy += weight * v.y;
                    sz += weight * v.z;
                }
                weights.put(part, w);
                sum.put(part, sx, sy, sz);
            }
            const T scale = each * table.amplitude, total = weights.total();
            const T v[3] = {from[4 * i], from[4 * i + 1], from[4 * i + 2]};
            const T sums[3] = {sum.x.total(), sum.y.total(), sum.z.total()};
            T change[3];
            for (int a = 0; a < 3; ++a) change[a] = scale * (sums[a] - total * v[a]);
            for (int k = 0; k < fluid.wall_counts[i]; ++k) {
                const auto& wall = fluid.walls(i)[k];
                const T d = wall.distance(px, py, pz);
                if (!(d < fluid.support)) continue;
                const T e = T(1) - (d > T(0) ? d : T(0)) * inv_support;
                const T share = each * share_behind(table.wall_terms.data, e);
                for (int a = 0; a < 3; ++a) change[a] += share * (wall.travel[a] * inv_h - v[a]);
            }
            for (int a = 0; a < 3; ++a) to[4 * i + a] = v[a] + change[a];
        }
    }

    // Apply cohesion: neighbours attract each other, most at half the support radius, and repel at close range. Akinci
    // et al. 2013, doi:10.1145/2508363.2508395, eq. 2.
    PBD_INLINE void apply_cohesion(T* current) const {
        PBD_CONTRACT_ON
        const auto& table = fluid.table;
        const T* const sets = fluid.sets;
        const T inv_support = fluid.inv_support, inv_size = fluid.inv_size, least = table.radius * T(1e-3);
        const int active = fluid.active();
        for (int i = fluid.thread; i < active; i += fluid.thread_count) {
            const T px = sets[4 * i], py = sets[4 * i + 1], pz = sets[4 * i + 2];
            const int* const list = fluid.near + (size_t)i * fluid.capacity;
            const int length = fluid.lengths[i];
            typename Chunk::VectorSum sum;
            for (int part = 0; part < Chunk::ROUNDS; ++part) {
                F sx = F(T(0)), sy = sx, sz = sx;
                for (int n = part; n < length; n += CHUNK) {
                    const auto at = Chunk::gather(sets, list + n);
                    const F dx = px - at.x, dy = py - at.y, dz = pz - at.z;
                    const F r = at_least(root(dx * dx + dy * dy + dz * dz), least);
                    const F q = r * inv_support, e = at_least(T(1) - q, 0);
                    const F bump = T(64) * (e * e * e) * (q * q * q);
                    const F pull = (q > F(T(0.5)) ? bump : T(2) * bump - T(1)) / r;
                    const F inner = e > F(T(0)) ? pull : F(T(0));
                    sx += inner * dx;
                    sy += inner * dy;
                    sz += inner * dz;
                }
                sum.put(part, sx, sy, sz);
            }
            const T pull = h * table.cohesion * inv_size * inv_size * inv_size / fluid.heavier;
            current[4 * i] -= pull * sum.x.total();
            current[4 * i + 1] -= pull * sum.y.total();
            current[4 * i + 2] -= pull * sum.z.total();
        }
        sync();
    }

    // Find the vorticity of each particle and its magnitude: Macklin, Mueller 2013, eq. 15.
    PBD_INLINE void find_vorticity(const T* current, T* vorticity) const {
        PBD_CONTRACT_ON
        const T* const sets = fluid.sets;
        const T slope = fluid.table.slope, inv_support = fluid.inv_support;
        const int active = fluid.active();
        for (int i = fluid.thread; i < active; i += fluid.thread_count) {
            const T px = sets[4 * i], py = sets[4 * i + 1], pz = sets[4 * i + 2];
            const T vx = current[4 * i], vy = current[4 * i + 1], vz = current[4 * i + 2];
            const int* const list = fluid.near + (size_t)i * fluid.capacity;
            const int length = fluid.lengths[i];
            typename Chunk::VectorSum sum;
            for (int part = 0; part < Chunk::ROUNDS; ++part) {
                F sx = F(T(0)), sy = sx, sz = sx;
                for (int n = part; n < length; n += CHUNK) {
                    const auto q = Chunk::gather(sets, list + n), u = Chunk::gather(current, list + n);
                    const F dx = px - q.x, dy = py - q.y, dz = pz - q.z;
                    const F e = closeness(dx * dx + dy * dy + dz * dz, inv_support);
                    const F cube = e * e * e, fx = cube * (u.x - vx), fy = cube * (u.y - vy), fz = cube * (u.z - vz);
                    sx += fy * dz - fz * dy;
                    sy += fz * dx - fx * dz;
                    sz += fx * dy - fy * dx;
                }
                sum.put(part, sx, sy, sz);
            }
            const T wx = slope * sum.x.total(), wy = slope * sum.y.total(), wz = slope * sum.z.total();
            vorticity[4 * i] = wx;
            vorticity[4 * i + 1] = wy;
            vorticity[4 * i + 2] = wz;
            vorticity[4 * i + 3] = root(wx * wx + wy * wy + wz * wz);
        }
        sync();
    }

    // Apply vorticity confinement, a force along the gradient of the vorticity's magnitude crossed with the vorticity:
    // Macklin, Mueller 2013, eq. 16.
    PBD_INLINE void confine_vorticity(T* current, const T* vorticity) const {
        PBD_CONTRACT_ON
        const T* const sets = fluid.sets;
        const T inv_support = fluid.inv_support;
        const int active = fluid.active();
        for (int i = fluid.thread; i < active; i += fluid.thread_count) {
            const T px = sets[4 * i], py = sets[4 * i + 1], pz = sets[4 * i + 2];
            const T* const own = vorticity + 4 * i;
            const int* const list = fluid.near + (size_t)i * fluid.capacity;
            const int length = fluid.lengths[i];
            typename Chunk::VectorSum sum;
            for (int part = 0; part < Chunk::ROUNDS; ++part) {
                F sx = F(T(0)), sy = sx, sz = sx;
                for (int n = part; n < length; n += CHUNK) {
                    const auto q = Chunk::gather(sets, list + n), other = Chunk::gather(vorticity, list + n);
                    const F dx = px - q.x, dy = py - q.y, dz = pz - q.z;
                    const F e = closeness(dx * dx + dy * dy + dz * dz, inv_support);
                    const F f = (e * e * e) * (own[3] - other.w);
                    sx += f * dx;
                    sy += f * dy;
                    sz += f * dz;
                }
                sum.put(part, sx, sy, sz);
            }
            const T nx = sum.x.total(), ny = sum.y.total(), nz = sum.z.total();
            const T steep = root(nx * nx + ny * ny + nz * nz);
            const T scale = steep > T(0) ? h * fluid.table.vorticity * fluid.inv_size / steep : T(0);
            current[4 * i] += scale * (ny * own[2] - nz * own[1]);
            current[4 * i + 1] += scale * (nz * own[0] - nx * own[2]);
            current[4 * i + 2] += scale * (nx * own[1] - ny * own[0]);
        }
    }

    // Write positions, and the positions before the substep that give the velocities.
    template <bool bouncing>
    PBD_INLINE void bring_back(const T* current) const {
        PBD_CONTRACT_ON
        constexpr int STRIDE = Group::STRIDE;
        const T size = fluid.size;
        T* const x = fluid.x;
        T* const previous = fluid.previous;
        const int active = fluid.active();
        for (int i = fluid.thread; i < active; i += fluid.thread_count) {
            const int member = fluid.table.members.data[fluid.order[i]];
            for (int a = 0; a < 3; ++a) {
                const T place = fluid.sets[4 * i + a] * size, v = current[4 * i + a] * size;
                if (fluid.mobility[i] > T(0)) {
                    x[STRIDE * member + a] = place;
                    previous[STRIDE * member + a] = place - h * v;
                }
                if constexpr (bouncing)
                    ((T*)fluid.body.velocity.data)[3 * member + a] =
                        (x[STRIDE * member + a] - previous[STRIDE * member + a]) * inv_h;
            }
        }
        sync();
    }
};

// End a substep of the fluid, after its last iteration.
//
// cohesion, vorticity: whether cohesion and vorticity confinement are used.
// bouncing: whether later phases read velocities from body.velocity.
template <class Options, bool cohesion, bool vorticity, bool bouncing, class Model, class Body, class Scratch,
          class Substep>
inline CUDA_CALLABLE void settle_fluid(const Model& model, const Body& body, const Scratch& scratch, const Substep& now,
                                       int group, int thread, int thread_count) {
    using Group = const FluidGroup<Options, decltype(model.fluid), Body, Scratch>;
    Group fluid{model.fluid, body, scratch, group, thread, thread_count};
    const FluidSettling<Group> end{fluid, now.h, now.inv_h};
    end.rub_on_walls();
    const auto velocities = end.apply_viscosity();
    if constexpr (cohesion) end.apply_cohesion(velocities.current);
    if constexpr (vorticity) {
        end.find_vorticity(velocities.current, velocities.spare);
        end.confine_vorticity(velocities.current, velocities.spare);
    }
    end.template bring_back<bouncing>(velocities.current);
}

}  // namespace pbd
