// Packs pixels that come a few at a time into full vectors of lanes.
#pragma once

#include "streams.hpp"

namespace kernels {

template <int kWidth>
struct PackState {
  int32_t held[kWidth];  // the vector that is being filled
  uint32_t fill = 0;     // its pixels
};

// Adds `count` values to the vector; true if `full` now holds kWidth of them. `flush`: fill up with zeros.
template <int kBytes, int kWidth>
inline bool pack(PackState<kWidth>& state, const int32_t (&value)[kBytes], uint32_t count, bool flush,
                 Pixels<kWidth>& full) {
#pragma HLS INLINE
  int32_t both[2 * kWidth];
#pragma HLS ARRAY_PARTITION variable = both complete dim = 1
join:
  for (uint32_t i = 0; i < 2 * kWidth; ++i) {
#pragma HLS UNROLL
    const uint32_t from = i - state.fill;
    both[i] = i < state.fill ? state.held[i % kWidth] : from < count ? value[from % kBytes] : 0;
  }
  const bool complete = flush || state.fill + count >= kWidth;
split:
  for (int i = 0; i < kWidth; ++i) {
#pragma HLS UNROLL
    full.value[i] = both[i];
    state.held[i] = complete ? both[i + kWidth] : both[i];
  }
  state.fill = flush ? 0 : (state.fill + count) % kWidth;
  return complete;
}

}  // namespace kernels
