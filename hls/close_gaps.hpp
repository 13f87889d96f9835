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

// A chosen value must move down by the number of gaps below it, and does so one bit of that number at a time,
// lowest first. Which place takes from which is known before anything moves: it depends only on gaps[k], the
// gaps below place k. Proof: before step s, the chosen value of place p with g gaps is at q = p - m, m = g
// mod s. Between q and p lie at most m gaps, so g - m <= gaps[q] <= g, and bit s of gaps[q] is that of g: a
// value that must move is taken. One that must stay is not replaced: between p, itself no gap, and q + s lie
// at most s - m - 1 gaps, so g - m <= gaps[q + s] <= g - m + s - 1, and bit s of it is that of g, which is 0.
template <int kWidth>
inline void close_gaps(int32_t (&value)[kWidth], uint32_t chosen) {
#pragma HLS INLINE
  int gaps[kWidth];
#pragma HLS ARRAY_PARTITION variable = gaps complete dim = 1
count:
  for (int k = 0; k < kWidth; ++k) {
#pragma HLS UNROLL
    gaps[k] = k - count_ones<kWidth>(chosen & ((uint32_t{1} << k) - 1));
  }
each_bit:
  for (int step = 1; step < kWidth; step *= 2) {
#pragma HLS UNROLL
  move:
    for (int k = 0; k < kWidth - step; ++k) {
#pragma HLS UNROLL
      if ((gaps[k + step] & step) != 0) value[k] = value[k + step];
    }
  }
}

}  // namespace kernels
