// A stage in the form of hls/, for the tests of check_hls_log.
#pragma once

#include <hls_stream.h>

template <int kFactor>
inline int scale_step(int value) {
#pragma HLS INLINE
  return kFactor * value;
}

template <int kFactor>
void scale_words(hls::stream<int>& in, uint32_t frame_count, uint32_t count, hls::stream<int>& out) {
each_frame:
  for (uint32_t frame = 0; frame < frame_count; ++frame) {
  each_word:
    for (uint32_t word = 0; word < count; ++word) {
#pragma HLS PIPELINE II = 1
      out.write(scale_step<kFactor>(in.read()));
    }
  }
}

// Not called by the sample's top, so no log has to show its loop.
inline void drop_words(hls::stream<int>& in, uint32_t count) {
each_dropped:
  for (uint32_t word = 0; word < count; ++word) {
#pragma HLS PIPELINE II = 1
    in.read();
  }
}
