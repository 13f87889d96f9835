// Reads payloads from memory in bursts, one after the other.
//
// In: memory. Out: for each frame its number of bytes and its one_count; beats_of(bytes) beats; its number.
// II = 1 a beat.
#pragma once

#include <hls_stream.h>

#include "streams.hpp"

namespace kernels {

inline void read_frames(const FrameDescriptor* descriptors, const Beat* frames, uint32_t frame_count,
                        hls::stream<uint32_t>& sizes, hls::stream<uint32_t>& one_counts,
                        hls::stream<Beat>& beats, hls::stream<uint32_t>& numbers) {
each_frame:
  for (uint32_t frame = 0; frame < frame_count; ++frame) {
    const FrameDescriptor descriptor = descriptors[frame];
    sizes.write(descriptor.bytes);
    one_counts.write(descriptor.one_count);
    const uint32_t count = beats_of(descriptor.bytes);
  each_beat:
    for (uint32_t beat = 0; beat < count; ++beat) {
#pragma HLS PIPELINE II = 1
      beats.write(frames[descriptor.first_beat + beat]);
    }
    // Last, because it is taken when the frame is written, for which the next frame must be under way.
    numbers.write(descriptor.number);
  }
}

}  // namespace kernels
