// Bits of a number.
#pragma once
#include "block.h"

namespace pbd {

// How many bits are set: sums over two bits, four, eight, and all of them. Compilers know this idiom and emit the
// instruction there is for it.
PBD_INLINE int bit_count(unsigned word) {
    word -= (word >> 1) & 0x55555555u;
    word = (word & 0x33333333u) + ((word >> 2) & 0x33333333u);
    word = (word + (word >> 4)) & 0x0F0F0F0Fu;
    return (word * 0x01010101u) >> 24;
}

}  // namespace pbd
