// Plain pixels of 1, 2 or 4 bytes to vectors of lanes.
//
// In: sizes, beats. Out: groups_of(pixels) vectors and one report a frame, whatever the payload's size.
// II = 1 a vector: a beat holds 1, 2 or 4 vectors.
#pragma once

#include <hls_stream.h>

#include "streams.hpp"

namespace kernels {

// How a payload of `bytes` fits `pixels` pixels of 2^shift bytes.
inline Report judge_size(uint32_t bytes, uint32_t pixels, uint32_t shift) {
#pragma HLS INLINE
  const uint64_t expected = uint64_t{pixels} << shift;
  const uint32_t whole = bytes >> shift;
  if (bytes == expected) return {kGood, 0, 0};
  if (bytes < expected) return {whole << shift == bytes ? kTooFewPixels : kTruncated, whole << shift, whole};
  return {whole == pixels ? kTrailingBytes : kTooManyPixels, static_cast<uint32_t>(expected), pixels};
}

// Vector `part` of a beat; pixels from `left` on do not belong to the frame.
template <int kWidth>
inline Pixels<kWidth> cut_vector(const Beat& beat, uint32_t part, uint32_t left, uint32_t shift,
                                 bool is_signed) {
#pragma HLS INLINE
  static_assert(4 * kWidth <= kBeatBytes, "a beat holds a vector of the widest pixels");
  Pixels<kWidth> vector;
each_lane:
  for (uint32_t lane = 0; lane < kWidth; ++lane) {
#pragma HLS UNROLL
    const uint8_t byte = beat.byte[(part * kWidth + lane) % kBeatBytes];
    const uint32_t at16 = 2 * (part * kWidth + lane) % kBeatBytes;
    const uint16_t half = static_cast<uint16_t>(beat.byte[at16] | beat.byte[at16 + 1] << 8);
    const uint32_t at32 = 4 * (part * kWidth + lane) % kBeatBytes;
    const uint32_t whole =
        static_cast<uint32_t>(beat.byte[at32]) | static_cast<uint32_t>(beat.byte[at32 + 1]) << 8 |
        static_cast<uint32_t>(beat.byte[at32 + 2]) << 16 | static_cast<uint32_t>(beat.byte[at32 + 3]) << 24;
    const int32_t from8 = is_signed ? static_cast<int8_t>(byte) : static_cast<int32_t>(byte);
    const int32_t from16 = is_signed ? static_cast<int16_t>(half) : static_cast<int32_t>(half);
    const int32_t value = shift == 0 ? from8 : shift == 1 ? from16 : static_cast<int32_t>(whole);
    vector.value[lane] = lane < left ? value : 0;
  }
  return vector;
}

template <int kWidth>
void unpack_pixels(hls::stream<uint32_t>& sizes, hls::stream<Beat>& beats, uint32_t frame_count,
                   uint32_t pixels, uint32_t pixel_shift, uint32_t is_signed,
                   hls::stream<Pixels<kWidth>>& vectors, hls::stream<Report>& reports) {
  const uint32_t groups = pixels / kWidth + (pixels % kWidth != 0 ? 1 : 0);
  const uint32_t last_part = (kBeatBytes / kWidth >> pixel_shift) - 1;
each_frame:
  for (uint32_t frame = 0; frame < frame_count; ++frame) {
    const uint32_t bytes = sizes.read();
    const uint32_t whole = bytes >> pixel_shift;
    uint32_t left = whole < pixels ? whole : pixels;
    uint32_t unread = beats_of(bytes);
    uint32_t unsent = groups;
    uint32_t part = 0;
    Beat beat = {};
  each_vector:
    while (unsent > 0 || unread > 0) {
#pragma HLS PIPELINE II = 1
      if (part == 0 && unread > 0) {
        beat = beats.read();
        --unread;
      }
      if (unsent > 0) {
        vectors.write(cut_vector<kWidth>(beat, part, left, pixel_shift, is_signed != 0));
        --unsent;
      }
      left = left > kWidth ? left - kWidth : 0;
      part = part == last_part ? 0 : part + 1;
    }
    reports.write(judge_size(bytes, pixels, pixel_shift));
  }
}

}  // namespace kernels
