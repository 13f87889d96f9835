// Moves the chosen of kWidth values to the front, in order, in log2(kWidth) steps of multiplexers.
#pragma once

#include "config.hpp"

namespace kernels {

template <int kWidth>
inline int count_ones(uint32_t mask) {
#pragma HLS INLINE
  int count = 0;
add:
  for (int k = 0; k < kWidth; ++k) {
#pragma HLS UNROLL
    count += mask >> k & 1;
  }
  return count;
}

// Each value moves down by the number of gaps below it, one bit of that number at a time, lowest first. Two
// values never meet: the upper one of a pair has at least as many gaps below it, and at most as many more as
// lie between the two, so at every step their distance stays at least one.
template <int kWidth>
inline void close_gaps(int32_t (&value)[kWidth], uint32_t chosen) {
#pragma HLS INLINE
  int gaps[kWidth];
#pragma HLS ARRAY_PARTITION variable = gaps complete dim = 1
  bool taken[kWidth];
#pragma HLS ARRAY_PARTITION variable = taken complete dim = 1
count:
  for (int k = 0; k < kWidth; ++k) {
#pragma HLS UNROLL
    taken[k] = (chosen >> k & 1) != 0;
    gaps[k] = k - count_ones<kWidth>(chosen & ((uint32_t{1} << k) - 1));
  }
each_bit:
  for (int step = 1; step < kWidth; step *= 2) {
#pragma HLS UNROLL
  move:
    for (int k = 0; k < kWidth; ++k) {
#pragma HLS UNROLL
      const bool arrives =
          k + step < kWidth && taken[(k + step) % kWidth] && (gaps[(k + step) % kWidth] & step) != 0;
      const bool stays = taken[k] && (gaps[k] & step) == 0;
      if (arrives) {
        value[k] = value[(k + step) % kWidth];
        gaps[k] = gaps[(k + step) % kWidth];
      }
      taken[k] = arrives || stays;
    }
  }
}

}  // namespace kernels
