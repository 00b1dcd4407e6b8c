// Lift of fully immersed solids: the pressure force that the displaced fluid would feel.
//
// The samples of a body feel the weight of the fluid displaced by its particles, which is off by some percent, more
// with long substeps, and also by forces that the fluid transmits like a solid at rest. Bodies of nearly the fluid's
// density would sink, rise or stick because of that. In the body's place, fluid would move like the fluid around it. So
// pressure pushes the body by rho V <dx>, where <dx> is the mean displacement of the surrounding fluid by the density
// constraints: Archimedes' lift, and the acceleration of the fluid. While a body is slow relative to the fluid, this
// force and a drag replace the force on its samples, since any drag is smaller than their error. The fluid around the
// body gets the opposite of the difference, so momentum is conserved. Where a body is partly dry, or fast, only its
// samples count.
#pragma once
#include "fluid_group.h"

namespace pbd {

// Finds and applies the lift of a group's bodies. `last`: rows written by the last sweep of an iteration.
template <class Group>
struct FluidLift {
    using T = typename Group::T;
    // Scratch sizes. Per sample: kernel sum, displacement and relative displacement of the fluid around it, sum of
    // kernel products. Per body: its displacement, and that of a fluid particle per unit of kernel sum.
    static constexpr int SAMPLE = 8, BODY = 6;
    // Largest error of the samples that is corrected, as a share of the lift.
    static constexpr double WRONG = 0.5;
    // Largest squared speed of a slow body, divided by its size and by the acceleration that the fluid's pressure
    // balances.
    static constexpr double SLOW = 0.1;
    // Drag coefficient of a slow blunt body.
    static constexpr double DRAG = 1.0;
    // Asymmetry of the surrounding fluid, as a share of the body's size: up to EVEN the body is fully wet, from DRY on
    // it counts as partly dry.
    static constexpr double EVEN = 0.12, DRY = 0.22;

    Group& fluid;
    T* const last;
    const T iterations;
    T* const around = fluid.scratch.lift.data + fluid.rank * fluid.scratch.lift.shape[1];
    T* const bodies = around + SAMPLE * fluid.samples;

    // Body of the sample in row second + b, or -1.
    PBD_INLINE int body_of(int b) const { return fluid.table.solid.data[fluid.order[fluid.members + b]]; }

    // Mass of a sample in fluid particle masses; 0 if it is held.
    PBD_INLINE T mass(int b) const {
        const T mobility = fluid.mobility[fluid.members + b];
        return mobility > T(0) ? fluid.table.yielding.data[fluid.order[fluid.members + b]] / mobility : T(0);
    }

    PBD_INLINE T bell(const T* p, const T* q) const {
        PBD_CONTRACT_ON
        const T x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2];
        const T e = closeness(x * x + y * y + z * z, fluid.inv_support), square = e * e;
        return square * square * (T(5) - T(4) * e);
    }

    // Sum the kernel of boundary samples around each fluid particle.
    PBD_INLINE void weigh() const {
        PBD_CONTRACT_ON
        T* const sums = fluid.set(2);
        for (int i = fluid.thread; i < fluid.active(); i += fluid.thread_count) {
            const int* const list = fluid.wet + (size_t)i * fluid.wet_capacity;
            T sum = T(0);
            for (int n = 0; n < fluid.wet_lengths[i]; ++n) {
                const int b = list[n] - fluid.second;
                const T* const p = last + 4 * list[n];
                if (b < fluid.samples && body_of(b) >= 0) sum += p[3] * bell(p, last + 4 * i);
            }
            sums[4 * i + 3] = sum;
        }
        sync();
    }

    // Sum kernel and displacements of the fluid around each sample.
    PBD_INLINE void look() const {
        PBD_CONTRACT_ON
        const auto& table = fluid.table;
        const T* const sums = fluid.set(2);
        for (int b = fluid.thread; b < fluid.samples; b += fluid.thread_count) {
            if (body_of(b) < 0) continue;
            T* const to = around + SAMPLE * b;
            for (int a = 0; a < SAMPLE; ++a) to[a] = T(0);
            const T* const p = last + 4 * (fluid.second + b);
            const int* const list = fluid.near + (size_t)(fluid.members + b) * fluid.capacity;
            for (int n = 0; n < fluid.lengths[fluid.members + b]; ++n) {
                const int i = list[n];
                if (i >= fluid.members) continue;
                const T w = p[3] * bell(p, last + 4 * i);
                const int member = table.members.data[fluid.order[i]];
                to[0] += w;
                to[7] += w * sums[4 * i + 3];
                for (int a = 0; a < 3; ++a) {
                    const T x = last[4 * i + a];
                    to[1 + a] += w * (x - fluid.x[Group::STRIDE * member + a] * fluid.inv_size);
                    to[4 + a] += w * (x - fluid.previous[Group::STRIDE * member + a] * fluid.inv_size);
                }
            }
        }
        sync();
    }

    // Return 1 for a fully wet body, down to 0 for one that is partly dry.
    //
    // center:  centre of mass.
    // density: kernel sum around its samples, relative to that in still fluid.
    PBD_INLINE T wet_share(int body, const T* center, T density) const {
        PBD_CONTRACT_ON
        T uneven[3] = {T(0), T(0), T(0)}, size = T(0);
        for (int b = 0; b < fluid.samples; ++b) {
            if (body_of(b) != body) continue;
            const T usual = density * fluid.table.open.data[fluid.order[fluid.members + b]];
            const T more = around[SAMPLE * b] - usual, *const p = last + 4 * (fluid.second + b);
            T square = T(0);
            for (int a = 0; a < 3; ++a) {
                uneven[a] += more * (p[a] - center[a]);
                square += (p[a] - center[a]) * (p[a] - center[a]);
            }
            size += usual * root(square);
        }
        const T off = root(uneven[0] * uneven[0] + uneven[1] * uneven[1] + uneven[2] * uneven[2]);
        const T share = (T(DRY) * size - off) / (T(DRY - EVEN) * size);
        return !(size > T(0)) || share < T(0) ? T(0) : share > T(1) ? T(1) : share;
    }

    // Find the displacement of a body that corrects its lift, and the opposite one of the fluid.
    PBD_INLINE void find(int body) const {
        PBD_CONTRACT_ON
        const auto& table = fluid.table;
        T* const found = bodies + BODY * body;
        for (int a = 0; a < BODY; ++a) found[a] = T(0);
        T mass_sum = T(0), kernels = T(0), usual = T(0), squares = T(0);
        T center[3] = {T(0), T(0), T(0)}, felt[3] = {T(0), T(0), T(0)}, gone[3] = {T(0), T(0), T(0)};
        T shift[3] = {T(0), T(0), T(0)}, slip[3] = {T(0), T(0), T(0)};
        for (int b = 0; b < fluid.samples; ++b) {
            if (body_of(b) != body) continue;
            const int k = fluid.order[fluid.members + b], at = Group::STRIDE * table.boundary.data[k];
            const T m = mass(b), *const p = last + 4 * (fluid.second + b), *const q = around + SAMPLE * b;
            if (!(m > T(0))) return;
            mass_sum += m;
            kernels += q[0];
            squares += q[7];
            usual += table.open.data[k];
            for (int a = 0; a < 3; ++a) {
                const T x = fluid.x[at + a] * fluid.inv_size;
                center[a] += m * p[a];
                felt[a] += m * (p[a] - x) / table.yielding.data[k];
                gone[a] += m * (x - fluid.previous[at + a] * fluid.inv_size);
                shift[a] += q[1 + a];
                slip[a] += q[4 + a];
            }
        }
        if (!(kernels > T(0)) || !(usual > T(0))) return;
        const T volume = table.bulk.data[body], spacing = T(2) * table.radius,
                length = spacing * wp::pow(volume, T(1.0 / 3.0));
        T lift[3], flow[3], square = T(0), beyond = T(0), speed = T(0);
        for (int a = 0; a < 3; ++a) {
            shift[a] /= kernels;
            flow[a] = slip[a] / kernels - gone[a] / mass_sum - felt[a] / mass_sum;
            square += shift[a] * shift[a];
            speed += flow[a] * flow[a];
        }
        const T pushed = root(square), slow = T(SLOW) * iterations * pushed * length;
        if (!(speed < slow)) return;
        for (int a = 0; a < 3; ++a) {
            center[a] /= mass_sum;
            felt[a] /= mass_sum;
            const T drag = T(0.5 * DRAG) * root(speed) * flow[a] / (length * iterations);
            lift[a] = (shift[a] + drag) * volume / mass_sum;
            beyond += (felt[a] - lift[a]) * (felt[a] - lift[a]);
        }
        const T wrong = T(WRONG) * pushed * volume / mass_sum, error = root(beyond);
        if (!(error > T(0))) return;
        const T share =
            wet_share(body, center, kernels / usual) * (T(1) - speed / slow) * (error > wrong ? wrong / error : T(1));
        // The reaction moves the fluid whose displacement defines the lift: solve for the correction implicitly.
        const T damped = share / (T(1) + share * volume * squares / (kernels * kernels));
        for (int a = 0; a < 3; ++a) {
            found[a] = damped * (lift[a] - felt[a]);
            found[3 + a] = -found[a] * mass_sum / kernels;
        }
    }

    // Find the lift of all bodies, and apply the reaction to the fluid.
    PBD_INLINE void apply() const {
        PBD_CONTRACT_ON
        weigh();
        look();
        for (int body = fluid.thread; body < fluid.table.solids; body += fluid.thread_count) find(body);
        sync();
        for (int i = fluid.thread; i < fluid.active(); i += fluid.thread_count) {
            if (!(fluid.mobility[i] > T(0))) continue;
            const int* const list = fluid.wet + (size_t)i * fluid.wet_capacity;
            T push[3] = {T(0), T(0), T(0)};
            for (int n = 0; n < fluid.wet_lengths[i]; ++n) {
                const int b = list[n] - fluid.second;
                const int body = b < fluid.samples ? body_of(b) : -1;
                if (body < 0) continue;
                const T* const p = last + 4 * list[n];
                const T w = p[3] * bell(p, last + 4 * i);
                for (int a = 0; a < 3; ++a) push[a] += w * bodies[BODY * body + 3 + a];
            }
            for (int a = 0; a < 3; ++a) last[4 * i + a] += push[a];
        }
        sync();
    }

    // Additional displacement of the sample in row second + b along an axis.
    PBD_INLINE T shift_of(int b, int axis) const {
        const int body = body_of(b);
        return body < 0 ? T(0) : bodies[BODY * body + axis];
    }
};

}  // namespace pbd
