// A cluster (shape matching): a constraint that pulls any number of particles towards a rigidly moved rest shape.
//
// The goal of a particle is g = c + R (q - o), where c is the cluster's centre of mass, o that of its rest positions q,
// and R the best-fitting rotation: of all rigid motions, the one with the least sum m |x - g|^2. The constraint is C =
// sqrt(sum m |x - g|^2) [sqrt(kg) m]; pbd_gym/kernels/solve/clusters.py derives the step.
#pragma once
#include "rotation.h"

namespace pbd {

// Mass factor of a pinned or held particle in the fit, so that goals pass through it.
constexpr double PINNED_FACTOR = 1e5;

// Compile-time options: squarings of the rotation's matrix, and whether damping and grip forces are used.
template <int Squarings, bool Damped, bool Forces> struct ClusterOptions {
    static constexpr int SQUARINGS = Squarings;
    static constexpr bool DAMPED = Damped, FORCES = Forces;
};

// Cluster c, accessed through `it`: see OneConstraint.
template <class Access, class Table, class Options> struct Cluster {
    using T = typename Access::T;
    using V = typename Access::V;
    static constexpr int LANES = Access::LANES, ROW = Access::ROW;

    const Access& it;
    const Table& table;
    const V size;
    const T* const rest;
    const int first, last;
    Vec3<V> center, rest_center;
    Mat3<V> turn;
    V value;     // C
    V reached;   // sum of w |q|^2 with q = m (x - g)
    V advanced;  // sum of q . (x - previous)

    // A particle's index, inverse mass, mass in the fit, and position.
    struct Member {
        int a;
        V inv_mass, m;
        Vec3<V> place;
    };

    // Find the goals and the deviation of the particles from them.
    PBD_INLINE Cluster(const Access& it, const Table& table, V size)
        : it(it),
          table(table),
          size(size),
          rest((const T*)table.rest.data),
          first(table.offsets.data[it.c]),
          last(table.offsets.data[it.c + 1]) {
        fit();
        measure();
    }

    PBD_INLINE Vec3<V> load3(const T* from) const {
        return {it.load(from), it.load(from + LANES), it.load(from + 2 * LANES)};
    }
    PBD_INLINE Member member(int j) const {
        const int a = it.arrays.indices[j];
        const V inv_mass = it.load(it.arrays.w + a * LANES), one = V(T(1));
        const V m = table.mass.data[j] * (inv_mass > T(0) ? one : V(T(PINNED_FACTOR)));
        return {a, inv_mass, m, load3(it.arrays.x + ROW * a * LANES)};
    }
    // Rest position of member j relative to the rest centre.
    PBD_INLINE Vec3<V> rest_place(int j) const {
        return {rest[3 * j] - rest_center.x, rest[3 * j + 1] - rest_center.y, rest[3 * j + 2] - rest_center.z};
    }
    // Vector from the goal of member j to its position p.
    PBD_INLINE Vec3<V> deviation(int j, const Vec3<V>& p) const {
        PBD_CONTRACT_ON
        const Vec3<V> u = rest_place(j);
        return {p.x - center.x - size * dot(turn.a, u), p.y - center.y - size * dot(turn.b, u),
                p.z - center.z - size * dot(turn.c, u)};
    }

    // Find the best-fitting rigid motion: its rotation maximises the sum of m (x - c) . R u, that is R : A.
    PBD_INLINE void fit() {
        PBD_CONTRACT_ON
        const V none = V(T(0));
        V mass = none;
        center = rest_center = {none, none, none};
        for (int j = first; j < last; ++j) {
            const Member k = member(j);
            mass += k.m;
            add_scaled(center, k.m, k.place);
            rest_center.x += k.m * rest[3 * j];
            rest_center.y += k.m * rest[3 * j + 1];
            rest_center.z += k.m * rest[3 * j + 2];
        }
        const V inverse = T(1) / mass;
        center = inverse * center;
        rest_center = inverse * rest_center;
        Mat3<V> a = {{none, none, none}, {none, none, none}, {none, none, none}};
        for (int j = first; j < last; ++j) {
            const Member k = member(j);
            add_outer(a, k.m * (k.place - center), rest_place(j));
        }
        turn = nearest_rotation<Options::SQUARINGS>(a);
    }

    // Evaluate C and its gradient. Pinned particles count as movable here: otherwise pins that do not fit together
    // would make the step of the others arbitrarily long.
    PBD_INLINE void measure() {
        PBD_CONTRACT_ON
        V squares = V(T(0));
        reached = advanced = squares;
        for (int j = first; j < last; ++j) {
            const Member k = member(j);
            const Vec3<V> d = deviation(j, k.place);
            const V square = k.m * dot(d, d);
            squares += square;
            reached += table.part.data[j] * square;
            if constexpr (Options::DAMPED)
                advanced += k.m * dot(d, k.place - load3(it.arrays.previous + ROW * k.a * LANES));
        }
        if constexpr (Access::JACOBI) reached = squares;  // each cluster has its own share of the mass
        value = root(squares);
    }

    // Move each particle by s times its deviation.
    PBD_INLINE void move(V s) const {
        PBD_CONTRACT_ON
        visit(s, [&](const Member& k, const Vec3<V>& d, V part) {
            PBD_CONTRACT_ON
            Vec3<V> onto = k.place;
            if constexpr (Access::JACOBI)
                onto = {it.load(it.place(k.a, 0)), it.load(it.place(k.a, 1)), it.load(it.place(k.a, 2))};
            it.store(it.place(k.a, 0), onto.x + d.x * part);
            it.store(it.place(k.a, 1), onto.y + d.y * part);
            it.store(it.place(k.a, 2), onto.z + d.z * part);
        });
    }

    // Change the displacement of each particle in the substep by s times its deviation, and so its velocity.
    PBD_INLINE void damp(V s) const {
        PBD_CONTRACT_ON
        visit(s, [&](const Member& k, const Vec3<V>& d, V part) {
            PBD_CONTRACT_ON
            T* const to = it.arrays.previous + ROW * k.a * LANES;
            it.store(to, it.load(to) - d.x * part);
            it.store(to + LANES, it.load(to + LANES) - d.y * part);
            it.store(to + 2 * LANES, it.load(to + 2 * LANES) - d.z * part);
        });
    }

    // Visit each particle with its deviation and step, where s times the deviation acts on it; also record the pull.
    template <class Then> PBD_INLINE void visit(V s, Then then) const {
        PBD_CONTRACT_ON
        for (int j = first; j < last; ++j) {
            const Member k = member(j);
            const Vec3<V> d = deviation(j, k.place);
            if constexpr (Options::FORCES) {
                const V pull = k.m * s;
                it.add_pull(k.a, d.x * pull, d.y * pull, d.z * pull, k.inv_mass);
            }
            then(k, d, s * (k.inv_mass > T(0) ? V(table.part.data[j]) : V(T(0))));
        }
    }
};

// Make a cluster; its constructor evaluates it.
template <class Options, class Access, class Table>
PBD_INLINE Cluster<Access, Table, Options> cluster_of(const Access& it, const Table& table, typename Access::V size) {
    return Cluster<Access, Table, Options>(it, table, size);
}

}  // namespace pbd
