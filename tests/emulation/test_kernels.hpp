// Kernels whose results are easily known, to test the emulated card itself.
#pragma once

#include <cstdint>

extern "C" {

// sums[i] = left[i] + right[i]
void add_vectors(const uint32_t* left, const uint32_t* right, uint32_t* sums, uint32_t count);

/* How often this compute unit ran, and its arguments as int64. The name frame_count has a meaning for the
   card's times. */
void echo_arguments(int64_t* values, int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f,
                    int64_t g, uint64_t h, uint32_t frame_count);

// Throws, as the stand-ins do when a kernel breaks the protocol of its streams.
void break_protocol(uint32_t* unused);
}
