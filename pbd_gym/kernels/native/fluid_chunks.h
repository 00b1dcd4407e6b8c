// Chunks of neighbours: SIMD code for one thread, scalar code for a block, with sums in the same order.
#pragma once
#include "lanes.h"

namespace pbd {

// A value F for each of Count neighbours: a Clang vector, or in a block of threads a plain number, where each thread
// goes through its neighbours one position of a chunk after the other:
//
//     for (int part = 0; part < Chunk::ROUNDS; ++part) {
//         F sum = F(T(0));
//         for (int n = part; n < length; n += CHUNK) sum += Chunk::load(numbers + n);
//         total.put(part, sum);
//     }
//
// A Sum adds up the parts, always in the same order, so that both give the same bits.
template <class Scalar, int Count>
struct Chunk {
    static_assert(Count == 8, "rows are turned into columns, and sums added up, for eight neighbours");
    using T = Scalar;
    static constexpr int CHUNK = Count;
#if PBD_BLOCK
    using F = T;
    static constexpr int ROUNDS = CHUNK;
    PBD_INLINE static F load(const T* numbers) { return *numbers; }
    PBD_INLINE static void store(T* numbers, F value) { *numbers = value; }
#else
    using F = typename Register<T, CHUNK>::type;
    using Row = typename Register<T, 4>::type;
    static constexpr int ROUNDS = 1;
    PBD_INLINE static F load(const T* numbers) { return *(const F*)numbers; }
    PBD_INLINE static void store(T* numbers, F value) { *(F*)numbers = value; }
#endif

    // Rows of four numbers, one row per neighbour, by column.
    struct Columns {
        F x, y, z, w;
    };

    // Load the rows of the neighbours in a list.
    PBD_INLINE static Columns gather(const T* rows, const int* list) {
#if PBD_BLOCK
        const T* const row = rows + 4 * list[0];
        return {row[0], row[1], row[2], row[3]};
#else
        const F r0 = two_rows(rows, list), r1 = two_rows(rows, list + 1);
        const F r2 = two_rows(rows, list + 2), r3 = two_rows(rows, list + 3);
        const F t0 = __builtin_shufflevector(r0, r1, 0, 8, 1, 9, 4, 12, 5, 13);
        const F t1 = __builtin_shufflevector(r0, r1, 2, 10, 3, 11, 6, 14, 7, 15);
        const F t2 = __builtin_shufflevector(r2, r3, 0, 8, 1, 9, 4, 12, 5, 13);
        const F t3 = __builtin_shufflevector(r2, r3, 2, 10, 3, 11, 6, 14, 7, 15);
        Columns columns;
        columns.x = __builtin_shufflevector(t0, t2, 0, 1, 8, 9, 4, 5, 12, 13);
        columns.y = __builtin_shufflevector(t0, t2, 2, 3, 10, 11, 6, 7, 14, 15);
        columns.z = __builtin_shufflevector(t1, t3, 0, 1, 8, 9, 4, 5, 12, 13);
        columns.w = __builtin_shufflevector(t1, t3, 2, 3, 10, 11, 6, 7, 14, 15);
        return columns;
#endif
    }

    // Load the numbers of the neighbours in a list.
    PBD_INLINE static F pick(const T* numbers, const int* list) {
#if PBD_BLOCK
        return numbers[*list];
#else
        F picked;
        for (int k = 0; k < CHUNK; ++k) picked[k] = numbers[list[k]];
        return picked;
#endif
    }

    // Sum over all neighbours.
    struct Sum {
#if PBD_BLOCK
        T parts[CHUNK];
        PBD_INLINE void put(int part, F value) { parts[part] = value; }
        PBD_INLINE T total() const {
            return ((parts[0] + parts[4]) + (parts[2] + parts[6])) + ((parts[1] + parts[5]) + (parts[3] + parts[7]));
        }
#else
        F parts;
        PBD_INLINE void put(int, F value) { parts = value; }
        PBD_INLINE T total() const {
            const Row a = __builtin_shufflevector(parts, parts, 0, 1, 2, 3);
            const Row b = a + __builtin_shufflevector(parts, parts, 4, 5, 6, 7);
            return (b[0] + b[2]) + (b[1] + b[3]);
        }
#endif
    };

    // Sum of vectors over all neighbours.
    struct VectorSum {
        Sum x, y, z;
        PBD_INLINE void put(int part, F sx, F sy, F sz) {
            x.put(part, sx);
            y.put(part, sy);
            z.put(part, sz);
        }
    };

  private:
#if !PBD_BLOCK
    // Row of a neighbour, and that of the fourth one after it.
    PBD_INLINE static F two_rows(const T* rows, const int* list) {
        const Row first = *(const Row*)(rows + 4 * list[0]), fifth = *(const Row*)(rows + 4 * list[4]);
        return __builtin_shufflevector(first, fifth, 0, 1, 2, 3, 4, 5, 6, 7);
    }
#endif
};

}  // namespace pbd
