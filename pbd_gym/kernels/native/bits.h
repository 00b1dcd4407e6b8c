// Bit operations.
#pragma once
#include "block.h"

namespace pbd {

// Number of set bits, summed over groups of two, four, eight and all bits. Compilers recognise this idiom and emit a
// single instruction.
PBD_INLINE int bit_count(unsigned word) {
    word -= (word >> 1) & 0x55555555u;
    word = (word & 0x33333333u) + ((word >> 2) & 0x33333333u);
    word = (word + (word >> 4)) & 0x0F0F0F0Fu;
    return (word * 0x01010101u) >> 24;
}

}  // namespace pbd
