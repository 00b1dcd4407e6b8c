// A fluid of one group, as its thread or block of threads sees it.
#pragma once
#include "fluid_chunks.h"

namespace pbd {

// Columns of the parameters in which environments differ: the first three of a body's row, the others from the first
// column of fluids on.
template <bool Varied, int Size, int InvSize, int Density, int Viscosity, int FluidDensity>
struct FluidParameters {
    static constexpr bool VARIED = Varied;  // without it all environments are alike, and every factor is 1
    static constexpr int SIZE = Size, INV_SIZE = InvSize, DENSITY = Density;
    static constexpr int VISCOSITY = Viscosity, FLUID_DENSITY = FluidDensity;
};

// What a kernel is compiled for.
//
// Stride:      numbers from one position of the body to the next: 3, or 4 where positions are packed.
// ChunkSize:   neighbours at a time, see Chunk.
// MostWalls:   walls that a particle can be near.
// WallNumbers: numbers of a Wall.
// Wrenches:    whether what colliders are pushed by is noted.
template <class Scalar, int Stride, int ChunkSize, int MostWalls, int WallNumbers, class Columns, bool Wrenches>
struct FluidOptions {
    using T = Scalar;
    using Chunk = pbd::Chunk<T, ChunkSize>;
    using Parameters = Columns;
    static constexpr int STRIDE = Stride, PLANES = MostWalls, PLANE = WallNumbers;
    static constexpr bool WRENCHES = Wrenches;
};

// Load of a wall, where loads are recorded: how far it has moved the particle in this substep, to all of which the
// particle answers, and by how much a step away from it lowers the density, other walls included [m, 1/m].
template <class T, bool noted>
struct WallForce {};
template <class T>
struct WallForce<T, true> {
    T carried, slope;
};

// A collider near a particle, as a plane that holds for a substep. Lengths are in the size of the scene.
template <class T, bool noted = false>
struct Wall : WallForce<T, noted> {
    T normal[3];  // outward, of length one
    T offset;     // of the plane from the origin, along the normal [m]
    T travel[3];  // displacement of the surface over the substep [m]
    T kinetic;    // Coulomb coefficient of what slides
    T sticking;   // and of what does not
    T pushed;     // how far it has pushed the particle in this substep [m]
    T fall;       // how much a step away from it lowers the density of the particle now [1/m]
    T collider;   // its number

    // Distance of a place from the plane [m], not positive behind it.
    PBD_INLINE T distance(T x, T y, T z) const {
        PBD_CONTRACT_ON
        return normal[0] * x + normal[1] * y + normal[2] * z - offset;
    }
};

// The arrays of FluidTable and FluidScratch (pbd_gym/kernels/data/fluid.py) as far as they belong to a group.
//
// Particles are in the order of their cells, in two runs: the fluid, then the boundary, which are particles of other
// bodies. A row is four numbers: a position [m] and a multiplier, or a volume in the boundary, or a velocity [m/s];
// there are three sets of rows. Behind each run is a row far away from everything, at which unused places of a list
// point.
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
    const int row_count = members + samples + 2, second = members + 1;  // rows of a set; first one of the boundary
    const size_t rank = (size_t)group;
    T* const sets = scratch.rows.data + rank * 12 * row_count;
    int* const order = scratch.order.data + rank * (members + samples);
    int* const near = scratch.near.data + rank * scratch.near.shape[1];
    int* const wet = near + (size_t)(members + samples) * capacity;  // the boundary near particles of the fluid
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

    // Factor by which a parameter of this environment differs from that of the scene.
    PBD_INLINE T parameter(int column) const {
        if constexpr (Parameters::VARIED)
            return ((const T*)body.parameters.data)[column];
        else
            return T(1);
    }

    // Number of active particles of the fluid, once they are sorted.
    PBD_INLINE int active() const { return scratch.active.data[group]; }

    // First row of one of the three sets.
    PBD_INLINE T* set(int which) const { return sets + 4 * row_count * which; }

    // Walls of a particle, wall_counts[i] of them.
    PBD_INLINE Wall<T, WRENCHES>* walls(int i) const { return planes + (size_t)i * PLANES; }
};

// One minus the distance over the support radius, from a squared distance; 0 beyond it.
template <class F>
PBD_INLINE F closeness(F squared, Element<F> inv_support) {
    PBD_CONTRACT_ON
    return at_least(Element<F>(1) - root(squared) * inv_support, 0);
}

// Share of the kernel that lies behind a wall: a polynomial, of one minus the distance over the support radius.
template <class T>
PBD_INLINE T share_behind(const T* terms, T e) {
    PBD_CONTRACT_ON
    return e * e * e * e * e * (terms[0] + e * (terms[1] + e * (terms[2] + e * (terms[3] + e * terms[4]))));
}

}  // namespace pbd
