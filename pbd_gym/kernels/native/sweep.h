// Sweep over the constraints of one kind: the parts of a Gauss-Seidel or Jacobi iteration that all kinds share.
//
// A projection reads and writes the particles of a constraint through an access object. OneConstraint is one constraint
// in every lane; ConstraintBatch is several constraints of a colour in a single environment, which fill the vector
// units instead. The same projection code serves both: V is the type of numbers that differ between lanes or
// constraints, N the type of a constraint's own numbers.
#pragma once
#include "transpose.h"

namespace pbd {

// Arrays of a group that the sweeps of a kind read and write.
template <class L> struct SweepArrays {
    using T = typename L::T;
    const int* indices;   // particles of all constraints
    T* x;                 // positions, in rows of ROW numbers
    T* delta;             // corrections that a Jacobi sweep accumulates, in rows of three
    T* multipliers;       // multipliers of this kind
    T* remembered;        // state that constraints keep between substeps
    T* pulls;             // corrections that held particles would have received, per inverse mass, in rows of three
    const T* w;           // inverse masses
    T* previous;          // positions at the start of the substep
    const T* parameters;  // parameters of the environment
    const int* labels;    // stiffness label of each constraint

    template <class Table, class Body>
    PBD_INLINE SweepArrays(const Table& table, const Body& body)
        : indices((const int*)table.indices.data),
          x((T*)body.x.data),
          delta((T*)body.delta.data),
          multipliers((T*)body.lam.data + L::LANES * table.first),
          remembered((T*)body.memory.data + L::LANES * table.first_memory),
          pulls((T*)body.pull.data),
          w((const T*)body.inv_mass.data),
          previous((T*)body.previous.data),
          parameters((const T*)body.parameters.data),
          labels(table.label.data) {}
};

// Compile-time options: particles per constraint (0 for any number), whether positions are packed in rows of four,
// whether corrections are accumulated (Jacobi), and whether odd iterations run backwards.
template <int Width, bool Packed, bool Jacobi, bool Symmetric> struct SweepOptions {
    static constexpr int WIDTH = Width, ROW = Packed ? 4 : 3;
    static constexpr bool PACKED = Packed, JACOBI = Jacobi, SYMMETRIC = Symmetric;
};

// Access to constraint c, in every lane at once or, in a block of threads, in one.
template <class Group, class Options> struct OneConstraint {
    using L = Group;
    using T = typename L::T;
    using V = typename L::V;
    using N = T;
    using Index = typename L::Index;
    static constexpr int LANES = L::LANES, WIDTH = Options::WIDTH, ROW = Options::ROW;
    static constexpr bool JACOBI = Options::JACOBI;

    const SweepArrays<L>& arrays;
    int c, lane;
    Index at[WIDTH > 0 ? WIDTH : 1];  // its particles; set by gather

    PBD_INLINE OneConstraint(const SweepArrays<L>& arrays, int c, int lane) : arrays(arrays), c(c), lane(lane) {}

    PBD_INLINE V load(const T* numbers) const { return L::load(numbers, lane); }
    PBD_INLINE void store(T* numbers, V value) const { L::store(numbers, lane, value); }

    // A constant of this constraint, entry k of its row of constants, and a parameter of the environment.
    template <class Array> PBD_INLINE N number(const Array& array) const { return array.data[c]; }
    template <class Array> PBD_INLINE N entry(const Array& array, int k) const {
        return ((const T*)(array.data + c))[k];
    }
    PBD_INLINE V parameter(int column) const { return load(arrays.parameters + column * LANES); }
    PBD_INLINE V labelled_parameter(int column) const { return parameter(column + arrays.labels[c]); }

    PBD_INLINE V multiplier() const { return load(arrays.multipliers + LANES * c); }
    PBD_INLINE void set_multiplier(V value) const { store(arrays.multipliers + LANES * c, value); }
    PBD_INLINE V memory() const { return load(arrays.remembered + LANES * c); }
    PBD_INLINE void remember(V value) const { store(arrays.remembered + LANES * c, value); }

    // Load position and inverse mass of its particle k.
    PBD_INLINE void gather(int k, V& px, V& py, V& pz, V& weight) {
        const Index a = at[k] = arrays.indices[WIDTH * c + k];
        px = load(arrays.x + (ROW * a + 0) * LANES);
        py = load(arrays.x + (ROW * a + 1) * LANES);
        pz = load(arrays.x + (ROW * a + 2) * LANES);
        weight = load(arrays.w + a * LANES);
    }
    // Coordinate of its particle k at the start of the substep.
    PBD_INLINE V before(int k, int axis) const { return load(arrays.previous + (ROW * at[k] + axis) * LANES); }

    PBD_INLINE void set_before(int k, V px, V py, V pz) const {
        T* const to = arrays.previous + ROW * at[k] * LANES;
        store(to, px);
        store(to + LANES, py);
        store(to + 2 * LANES, pz);
    }

    // Address to which a coordinate of particle a is written: the accumulated corrections for Jacobi, else its
    // position.
    PBD_INLINE T* place(Index a, int axis) const {
        return JACOBI ? arrays.delta + (3 * a + axis) * LANES : arrays.x + (ROW * a + axis) * LANES;
    }
    PBD_INLINE V gathered(int k, int axis) const { return load(place(at[k], axis)); }
    PBD_INLINE void scatter(int k, V px, V py, V pz, V) const {
        store(place(at[k], 0), px);
        store(place(at[k], 1), py);
        store(place(at[k], 2), pz);
    }

    // Add the correction that particle a would receive if it were not held, per inverse mass.
    PBD_INLINE void add_pull(Index a, V px, V py, V pz, V weight) const {
        PBD_CONTRACT_ON
        if (any(weight <= T(0))) {
            T* const sum = arrays.pulls + 3 * a * LANES;
            const V fixed = weight <= T(0) ? V(T(1)) : V(T(0));
            store(sum, load(sum) + fixed * px);
            store(sum + LANES, load(sum + LANES) + fixed * py);
            store(sum + 2 * LANES, load(sum + 2 * LANES) + fixed * pz);
        }
    }
    PBD_INLINE void pull(int k, V px, V py, V pz, V weight) const { add_pull(at[k], px, py, pz, weight); }
};

#if !PBD_BLOCK
// Access to constraints c ... c + Size - 1 of a single environment with packed positions.
//
// Rows of x, y, z and inverse mass are loaded whole, and transposed to one vector per column.
template <class Group, class Options, int Size> struct ConstraintBatch {
    using L = Group;
    using T = typename L::T;
    using V = typename Register<T, Size>::type;
    using N = V;
    using Row = typename Register<T, 4>::type;
    static constexpr int WIDTH = Options::WIDTH;

    const SweepArrays<L>& arrays;
    int c;
    const int* at;  // particles of the first constraint, followed by the others'

    PBD_INLINE ConstraintBatch(const SweepArrays<L>& arrays, int c)
        : arrays(arrays), c(c), at(arrays.indices + WIDTH * c) {}

    PBD_INLINE static V load(const T* numbers) { return *(const V*)numbers; }
    PBD_INLINE static void store(T* numbers, V value) { *(V*)numbers = value; }

    template <class Array> PBD_INLINE N number(const Array& array) const { return load(array.data + c); }
    template <class Array> PBD_INLINE N entry(const Array& array, int k) const {
        const T* const from = (const T*)(array.data + c) + k;
        constexpr int stride = sizeof(*array.data) / sizeof(T);
        V r;
        for (int l = 0; l < Size; ++l) r[l] = from[l * stride];
        return r;
    }
    PBD_INLINE V parameter(int column) const { return V(arrays.parameters[column]); }
    PBD_INLINE V labelled_parameter(int column) const {
        V r;
        for (int l = 0; l < Size; ++l) r[l] = arrays.parameters[column + arrays.labels[c + l]];
        return r;
    }

    PBD_INLINE V multiplier() const { return load(arrays.multipliers + c); }
    PBD_INLINE void set_multiplier(V value) const { store(arrays.multipliers + c, value); }
    PBD_INLINE V memory() const { return load(arrays.remembered + c); }
    PBD_INLINE void remember(V value) const { store(arrays.remembered + c, value); }

    // Row of particle k of constraint l.
    PBD_INLINE Row& row(int k, int l) const { return *(Row*)(arrays.x + 4 * (long long)at[WIDTH * l + k]); }
    // Rows of every fourth constraint from l on, joined.
    template <int Many> PBD_INLINE typename Register<T, Many>::type rows(int k, int l) const {
        if constexpr (Many == 4)
            return row(k, l);
        else
            return joined(rows<Many / 2>(k, l), rows<Many / 2>(k, l + Many / 2), FirstIntegers<Many>{});
    }
    template <int First> PBD_INLINE void put_rows(int k, int l, V r) const {
        if constexpr (First < Size) {
            row(k, l + First) = four_of<First>(r);
            put_rows<First + 4>(k, l, r);
        }
    }

    PBD_INLINE void gather(int k, V& px, V& py, V& pz, V& weight) const {
        V q[4] = {rows<Size>(k, 0), rows<Size>(k, 1), rows<Size>(k, 2), rows<Size>(k, 3)};
        transpose<Lanes<T, Size>>(q[0], q[1], q[2], q[3]);
        px = q[0];
        py = q[1];
        pz = q[2];
        weight = q[3];
    }
    PBD_INLINE V before(int k, int axis) const {
        V r;
        for (int l = 0; l < Size; ++l) r[l] = arrays.previous[4 * at[WIDTH * l + k] + axis];
        return r;
    }
    PBD_INLINE void set_before(int k, V px, V py, V pz) const {
        for (int l = 0; l < Size; ++l) {
            T* const to = arrays.previous + 4 * at[WIDTH * l + k];
            to[0] = px[l];
            to[1] = py[l];
            to[2] = pz[l];
        }
    }
    PBD_INLINE V gathered(int k, int axis) const {  // never called: Jacobi sweeps are not packed
        V r;
        for (int l = 0; l < Size; ++l) r[l] = arrays.x[4 * at[WIDTH * l + k] + axis];
        return r;
    }
    PBD_INLINE void scatter(int k, V px, V py, V pz, V weight) const {
        V q[4] = {px, py, pz, weight};
        transpose<Lanes<T, Size>>(q[0], q[1], q[2], q[3]);
        for (int l = 0; l < 4; ++l) put_rows<0>(k, l, q[l]);
    }
    PBD_INLINE void pull(int k, V px, V py, V pz, V weight) const {
        if (!any(weight <= T(0))) return;
        for (int l = 0; l < Size; ++l)
            if (weight[l] <= T(0)) {
                T* const sum = arrays.pulls + 3 * at[WIDTH * l + k];
                sum[0] += px[l];
                sum[1] += py[l];
                sum[2] += pz[l];
            }
    }
};

// Project the constraints of a colour in batches of Size, as long as enough are left. Returns the index of the next
// one.
//
// Reversed sweeps start at the end, so that the remainder is the first few constraints, which the next loop takes.
template <int Size, class L, class Options, class Project>
PBD_INLINE int sweep_batches(const SweepArrays<L>& arrays, int n, int begin, int end, bool reversed, Project& project) {
    for (; n + Size <= end; n += Size) {
        ConstraintBatch<L, Options, Size> batch(arrays, reversed ? begin + end - Size - n : n);
        project(batch);
    }
    return n;
}
#endif

// Project all constraints of a kind, colour by colour, or only those of colour `only`, counted over all kinds.
//
// project: called with a OneConstraint or a ConstraintBatch.
template <class L, class Options, class Table, class Body, class Project>
PBD_INLINE void sweep(const Table& table, const Body& body, int iteration, int only, int thread, int thread_count,
                      Project project) {
    const SweepArrays<L> arrays(table, body);
    const int* const bounds = table.bounds.data;
    const int colors = table.bounds.shape[0] - 1;
    const bool reversed = Options::SYMMETRIC && iteration % 2 == 1;
    const int lone = only - table.first_color;
    const int from = only < 0 ? 0 : lone < 0 ? colors : lone, to = only < 0 || lone >= colors ? colors : lone + 1;
    for (int k = from; k < to; ++k) {
        const int color = reversed && only < 0 ? colors - 1 - k : k;
        const int begin = bounds[color], end = bounds[color + 1];
        int n = begin + thread;
#if !PBD_BLOCK
        if constexpr (Options::PACKED && Options::WIDTH > 0) {
#ifdef __AVX512F__
            // Square roots and divisions have a long latency. Larger batches of independent constraints hide it, as
            // long as their numbers fit in registers.
            constexpr int bytes = sizeof(typename L::T), most = 128;
            if constexpr (Options::WIDTH == 2 && 32 * bytes <= most)
                n = sweep_batches<32, L, Options>(arrays, n, begin, end, reversed, project);
            if constexpr (Options::WIDTH == 2 && 16 * bytes <= most)
                n = sweep_batches<16, L, Options>(arrays, n, begin, end, reversed, project);
#endif
            n = sweep_batches<8, L, Options>(arrays, n, begin, end, reversed, project);
        }
#endif
        for (; n < end; n += thread_count) {
            const int c = reversed ? begin + end - 1 - n : n;
            for (int lane = 0; lane < L::ROUNDS; ++lane) {
                OneConstraint<L, Options> one(arrays, c, lane);
                project(one);
            }
        }
        sync();
    }
}

}  // namespace pbd
