// From beats with invalid pixels to one share of an invalid pixel a clock. They are few: gaps and known dead
// pixels have no weights.
//
// In: rejected beats. Out: shares, the last of each frame without weights. II = 1 a share.
#pragma once

#include <hls_stream.h>

#include "close_gaps.hpp"
#include "streams.hpp"

namespace kernels {

// The number of the lowest set bit.
inline uint32_t lowest_bit(uint32_t mask) {
#pragma HLS INLINE
  return count_ones<32>(~mask & (mask - 1));
}

inline void list_rejected(hls::stream<RejectedBeat>& beats, uint32_t frame_count,
                          hls::stream<Rejected>& shares) {
each_frame:
  for (uint32_t frame = 0; frame < frame_count; ++frame) {
    RejectedBeat beat = {};
#pragma HLS ARRAY_PARTITION variable = beat.share complete dim = 1
  each_share:
    while (!beat.last) {
#pragma HLS PIPELINE II = 1
      if (beat.rejected == 0) beat = beats.read();
      if (beat.rejected != 0) {
        const uint32_t lane = lowest_bit(beat.rejected) % kLanes;
        shares.write({beat.share[lane], beat.first_pixel + lane, false});
        beat.rejected &= beat.rejected - 1;
      }
    }
    shares.write({{}, 0, true});
  }
}

}  // namespace kernels
