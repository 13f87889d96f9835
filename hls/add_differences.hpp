// Adds differences up to pixels: a masked prefix sum over the word, on top of the last pixel before it.
//
// In: codes. Out: values, one for each word. II = 1: the feedback is one addition of 32 bits.
#pragma once

#include <hls_stream.h>

#include "streams.hpp"

namespace kernels {

struct AddDifferencesState {
  int32_t value = 0;  // of the last pixel; wraps after one that is out of range, when nothing counts any more
};

template <int kBytes>
inline Values<kBytes> add_differences_step(AddDifferencesState& state, const Codes<kBytes>& codes) {
#pragma HLS INLINE
  int64_t sum[kBytes];
#pragma HLS ARRAY_PARTITION variable = sum complete dim = 1
mask:
  for (int k = 0; k < kBytes; ++k) {
#pragma HLS UNROLL
    sum[k] = (codes.starts >> k & 1) != 0 ? codes.delta[k] : 0;
  }
double_reach:
  for (int reach = 1; reach < kBytes; reach *= 2) {
#pragma HLS UNROLL
  add:
    for (int k = kBytes - 1; k >= reach; --k) {
#pragma HLS UNROLL
      sum[k] += sum[k - reach];
    }
  }
  Values<kBytes> values;
  values.out_of_range = 0;
carry:
  for (int k = 0; k < kBytes; ++k) {
#pragma HLS UNROLL
    const int64_t value = state.value + sum[k];
    const bool fits = value >= INT32_MIN && value <= INT32_MAX;
    if (!fits) values.out_of_range |= codes.starts & uint32_t{1} << k;
    values.value[k] = static_cast<int32_t>(value);
  }
  state.value = static_cast<int32_t>(state.value + sum[kBytes - 1]);
  values.starts = codes.starts;
  values.cut = codes.cut;
  values.count = codes.count;
  values.last = codes.last;
  return values;
}

template <int kBytes>
void add_differences(hls::stream<Codes<kBytes>>& codes, uint32_t frame_count,
                     hls::stream<Values<kBytes>>& values) {
each_frame:
  for (uint32_t frame = 0; frame < frame_count; ++frame) {
    AddDifferencesState state;
    bool last = false;
  each_word:
    while (!last) {
#pragma HLS PIPELINE II = 1
      const Codes<kBytes> word = codes.read();
      values.write(add_differences_step(state, word));
      last = word.last;
    }
  }
}

}  // namespace kernels
