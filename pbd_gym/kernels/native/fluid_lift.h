// Lift of solids that are wholly immersed in a fluid: the push that the displaced fluid would feel.
//
// What the samples of a body feel is the weight of the fluid that its particles leave room for, which is some percent
// off, more so for long substeps, and what the fluid bears like a solid at rest. Bodies of nearly its density would
// sink, rise or stick by that. In a body's place fluid would have moved as the fluid around it does, so pressure pushes
// the body by rho V <dx>, with the mean shift <dx> of the fluid around it by the density constraints: Archimedes, and
// the acceleration of the fluid. While a body is slow in the fluid that and a drag replace what samples feel: all drag
// is less than what they are wrong by. The fluid around the body gets the difference, so momentum is kept. Where a part
// of a body is dry, or it is fast, its samples count alone.
#pragma once
#include "fluid_group.h"

namespace pbd {

// Finds and applies the lift of a group's bodies. `last`: the rows that the sweeps of an iteration end with.
template <class Group>
struct FluidLift {
    using T = typename Group::T;
    // Numbers of a sample: kernel sum, shift and slip of the fluid around it, sum of products of kernels; and of a
    // body: its own shift, and the shift of a particle of the fluid per unit of kernel sum.
    static constexpr int SAMPLE = 8, BODY = 6;
    // Share of the lift that samples may be wrong by.
    static constexpr double WRONG = 0.5;
    // Square of the speed up to which bodies are slow, over the gravity that the fluid bears and the size of the body.
    static constexpr double SLOW = 0.1;
    // Drag of a blunt body that is slow, over half the density, its cross-section and the square of its speed.
    static constexpr double DRAG = 1.0;
    // Unevenness of the fluid around a body, as a share of its size, up to which all of it is wet, and from which a
    // part of it is dry.
    static constexpr double EVEN = 0.12, DRY = 0.22;

    Group& fluid;
    T* const last;
    const T iterations;
    T* const around = fluid.scratch.lift.data + fluid.rank * fluid.scratch.lift.shape[1];
    T* const bodies = around + SAMPLE * fluid.samples;

    // Number of the body of the sample in row second + b, or -1.
    PBD_INLINE int body_of(int b) const { return fluid.table.solid.data[fluid.order[fluid.members + b]]; }

    // Mass of a sample, in those of a particle of the fluid; 0 where it is held.
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

    // Sum up the kernels of samples around each particle of the fluid.
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

    // Look at the fluid around each sample.
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

    // Find how much of a body is wet: 1 for all of it, 0 where a part is dry.
    //
    // center:  of its mass.
    // density: sum of the kernels around its samples, as a share of that around a body in still fluid.
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

    // Find the shift of a body that makes its lift right, and that of the fluid in return.
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
        // What the fluid gets in return is a part of its shift.
        const T damped = share / (T(1) + share * volume * squares / (kernels * kernels));
        for (int a = 0; a < 3; ++a) {
            found[a] = damped * (lift[a] - felt[a]);
            found[3 + a] = -found[a] * mass_sum / kernels;
        }
    }

    // Find the lift of all bodies, and give the fluid what they get.
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

    // Shift of the sample in row second + b along an axis, beside what it has felt.
    PBD_INLINE T shift_of(int b, int axis) const {
        const int body = body_of(b);
        return body < 0 ? T(0) : bodies[BODY * body + axis];
    }
};

}  // namespace pbd
