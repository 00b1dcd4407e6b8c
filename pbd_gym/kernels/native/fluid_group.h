// The fluid of one group, as seen by its thread or block of threads.
#pragma once
#include "fluid_chunks.h"

namespace pbd {

// Parameter columns in which environments may differ: the first three of the body's row, the others counted from the
// fluid's first column.
template <bool Varied, int Size, int InvSize, int Density, int Viscosity, int FluidDensity>
struct FluidParameters {
    static constexpr bool VARIED = Varied;  // if false, all environments are alike and each factor is 1
    static constexpr int SIZE = Size, INV_SIZE = InvSize, DENSITY = Density;
    static constexpr int VISCOSITY = Viscosity, FLUID_DENSITY = FluidDensity;
};

// Compile-time options.
//
// Stride:      scalars per position of the body: 3, or 4 where positions are packed. ChunkSize:   neighbours processed
// together, see Chunk. MostWalls:   most walls near a particle. WallNumbers: room for a Wall, in scalars. Wrenches:
// whether forces on colliders are recorded.
template <class Scalar, int Stride, int ChunkSize, int MostWalls, int WallNumbers, class Columns, bool Wrenches>
struct FluidOptions {
    using T = Scalar;
    using Chunk = pbd::Chunk<T, ChunkSize>;
    using Parameters = Columns;
    static constexpr int STRIDE = Stride, PLANES = MostWalls, PLANE = WallNumbers;
    static constexpr bool WRENCHES = Wrenches;
};

// Load on a wall, where loads are recorded: total displacement of the particle by the wall in this substep [m], and the
// decrease of density by a step away from the wall, with other walls taken into account [1/m].
template <class T, bool noted>
struct WallForce {};
template <class T>
struct WallForce<T, true> {
    T carried, slope;
};

// A collider near a particle, as a plane that holds for a substep. Lengths are in the size of the scene.
template <class T, bool noted = false>
struct Wall : WallForce<T, noted> {
    T normal[3];  // outward unit normal
    T offset;     // signed distance of the plane from the origin [m]
    T travel[3];  // displacement of the surface over the substep [m]
    T kinetic;    // Coulomb coefficient of sliding
    T sticking;   // Coulomb coefficient of sticking
    T pushed;     // how far it has pushed the particle in this substep [m]
    T fall;       // decrease of the particle's density by a step away from it [1/m]
    T collider;   // index of the collider

    // Signed distance of a place from the plane [m]; negative behind it.
    PBD_INLINE T distance(T x, T y, T z) const {
        PBD_CONTRACT_ON
        return normal[0] * x + normal[1] * y + normal[2] * z - offset;
    }
};

// A group's part of the arrays of FluidTable and FluidScratch (pbd_gym/kernels/data/fluid.py).
//
// Particles are sorted by cell, in two runs: the fluid, then the boundary, which consists of particles of other bodies.
// A row has four numbers: a position [m] and a multiplier (a volume for the boundary), or a velocity [m/s]. There are
// three sets of rows. Each run ends with a dummy row far away, to which unused list entries point.
template <class Options, class Table, class Body, class Scratch>
struct FluidGroup {
    using T = typename Options::T;
    using Chunk = typename Options::Chunk;
    using Parameters = typename Options::Parameters;
    static constexpr int STRIDE = Options::STRIDE, PLANES = Options::PLANES;
    static constexpr bool WRENCHES = Options::WRENCHES;
    static_assert(sizeof(Wall<T, WRENCHES>) <= Options::PLANE * sizeof(T), "Python makes room for other walls");

    const Table& table;
    const Body& body;
    const Scratch& scratch;
    const int group, thread, thread_count;

    const int members = table.members.shape[0], samples = table.boundary.shape[0];
    const int capacity = table.capacity, wet_capacity = table.wet_capacity;
    const int row_count = members + samples + 2, second = members + 1;  // rows per set; first row of the boundary
    const size_t rank = (size_t)group;
    T* const sets = scratch.rows.data + rank * 12 * row_count;
    int* const order = scratch.order.data + rank * (members + samples);
    int* const near = scratch.near.data + rank * scratch.near.shape[1];
    int* const wet = near + (size_t)(members + samples) * capacity;  // boundary samples near each fluid particle
    int* const lengths = scratch.lengths.data + rank * (3 * members + samples);
    int* const wet_lengths = lengths + members + samples;
    int* const wall_counts = lengths + 2 * members + samples;
    T* const slopes = scratch.slopes.data + rank * members * capacity;
    Wall<T, WRENCHES>* const planes = (Wall<T, WRENCHES>*)(scratch.planes.data + rank * scratch.planes.shape[1]);
    T* const mobility = scratch.mobility.data + rank * (members + samples + 1);
    const T support = table.support, inv_support = T(1) / support;
    T* const x = (T*)body.x.data;
    T* const previous = (T*)body.previous.data;

    const T size = parameter(Parameters::SIZE), inv_size = parameter(Parameters::INV_SIZE);
    const T heavier = parameter(Parameters::DENSITY) * parameter(table.column + Parameters::FLUID_DENSITY);
    const T thicker = parameter(table.column + Parameters::VISCOSITY);
    const T mass = table.mass * heavier * (table.dimension == 3 ? size * size * size : size * size);

    // Factor of a parameter in this environment, relative to the scene.
    PBD_INLINE T parameter(int column) const {
        if constexpr (Parameters::VARIED)
            return ((const T*)body.parameters.data)[column];
        else
            return T(1);
    }

    // Number of active fluid particles; valid once they are sorted.
    PBD_INLINE int active() const { return scratch.active.data[group]; }

    // First row of one of the three sets.
    PBD_INLINE T* set(int which) const { return sets + 4 * row_count * which; }

    // Walls of a particle; there are wall_counts[i].
    PBD_INLINE Wall<T, WRENCHES>* walls(int i) const { return planes + (size_t)i * PLANES; }
};

// One minus the distance over the support radius, or 0 beyond it, from the squared distance.
template <class F>
PBD_INLINE F closeness(F squared, Element<F> inv_support) {
    PBD_CONTRACT_ON
    return at_least(Element<F>(1) - root(squared) * inv_support, 0);
}

// Share of the kernel behind a wall: a polynomial in e, one minus the distance over the support radius.
template <class T>
PBD_INLINE T share_behind(const T* terms, T e) {
    PBD_CONTRACT_ON
    return e * e * e * e * e * (terms[0] + e * (terms[1] + e * (terms[2] + e * (terms[3] + e * terms[4]))));
}

}  // namespace pbd
