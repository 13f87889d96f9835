// Splits beats into the words that the decoder takes in one clock, each with the bytes that follow it.
//
// In: sizes, beats. Out: windows. II = 1 a word: a beat is read for every kBeatBytes / kBytes words.
#pragma once

#include <hls_stream.h>

#include "streams.hpp"

namespace kernels {

template <int kBytes>
inline Window<kBytes> cut_window(const Beat& beat, const Beat& next, uint32_t part, uint32_t bytes_left) {
#pragma HLS INLINE
  constexpr uint32_t kSize = Window<kBytes>::kSize;
  static_assert(kSize <= kBytes + kBeatBytes, "a window ends in the next beat at the latest");
  Window<kBytes> window;
copy:
  for (uint32_t i = 0; i < kSize; ++i) {
#pragma HLS UNROLL
    const uint32_t at = part * kBytes + i;
    window.byte[i] = at < kBeatBytes ? beat.byte[at] : next.byte[at - kBeatBytes];
  }
  window.last = bytes_left <= kBytes;
  window.count = window.last ? bytes_left : kBytes;
  window.reach = bytes_left < kSize ? bytes_left : kSize;
  return window;
}

template <int kBytes>
void split_windows(hls::stream<uint32_t>& sizes, hls::stream<Beat>& beats, uint32_t frame_count,
                   hls::stream<Window<kBytes>>& windows) {
  constexpr uint32_t kParts = kBeatBytes / kBytes;
each_frame:
  for (uint32_t frame = 0; frame < frame_count; ++frame) {
    const uint32_t bytes = sizes.read();
    const uint32_t words = bytes == 0 ? 1 : (bytes - 1) / kBytes + 1;
    uint32_t unread = beats_of(bytes);
    Beat beat = {};
    Beat next = {};
    if (unread > 0) {
      next = beats.read();
      --unread;
    }
  each_word:
    for (uint32_t word = 0; word < words; ++word) {
#pragma HLS PIPELINE II = 1
      const uint32_t part = word % kParts;
      if (part == 0) beat = next;
      if (part == 0 && unread > 0) {
        next = beats.read();
        --unread;
      }
      windows.write(cut_window<kBytes>(beat, next, part, bytes - word * kBytes));
    }
  }
}

}  // namespace kernels
