// Packs the pixels of words into full vectors of lanes, and judges the frame.
//
// In: values. Out: groups_of(pixels) vectors and one report a frame, whatever the payload holds: what is
// missing is filled up with zeros, what follows the first fault is dropped, so that the next frame starts
// clean. II = 1 a word: what is fed back are additions that depend on the words alone (codes, bytes, the fill
// level), whether a fault was seen, and the vector that is not yet full. When a loop ends is known without
// any of these, so that the next word need not wait for them.
#pragma once

#include <hls_stream.h>

#include "close_gaps.hpp"
#include "pack_vectors.hpp"

namespace kernels {

template <int kWidth>
struct CompactState {
  PackState<kWidth> vector;
  uint32_t pixel = 0;  // codes so far: pixels, as long as there is no fault
  uint32_t byte = 0;   // of the payload, before this word
  bool faulty = false;
  Report report = {kGood, 0, 0};
};

// Bits below the lowest set one; all if there is none.
inline uint32_t below_lowest(uint32_t mask) {
#pragma HLS INLINE
  return ~mask & (mask - 1);
}

// The bit of the code that comes after the first `count` starts; 0 if there is none.
template <int kBytes>
inline uint32_t start_after(uint32_t starts, uint32_t count) {
#pragma HLS INLINE
  uint32_t found = 0;
  uint32_t seen = 0;
search:
  for (int k = 0; k < kBytes; ++k) {
#pragma HLS UNROLL
    const uint32_t bit = starts >> k & 1;
    if (bit != 0 && seen == count) found |= uint32_t{1} << k;
    seen += bit;
  }
  return found;
}

// Which codes of the word give pixels of the frame; the first fault goes to the report.
template <int kBytes, int kWidth>
inline uint32_t accept_codes(CompactState<kWidth>& state, const Values<kBytes>& values, uint32_t pixels) {
#pragma HLS INLINE
  const uint32_t surplus = start_after<kBytes>(values.starts, pixels - state.pixel);
  const uint32_t faults = surplus | values.out_of_range | values.cut;
  const uint32_t before = below_lowest(faults);
  const uint32_t first = faults & ~(faults - 1);
  const uint32_t accepted = state.faulty ? 0 : values.starts & before;
  const int good = count_ones<kBytes>(accepted);
  if (!state.faulty && faults != 0) {
    const bool complete = state.pixel + good == pixels;
    state.faulty = true;
    state.report.status = (first & surplus) != 0               ? kTooManyPixels
                          : (first & values.out_of_range) != 0 ? kValueOutOfRange
                          : complete                           ? kTrailingBytes
                                                               : kTruncated;
    state.report.byte = state.byte + count_ones<kBytes>(before);
    state.report.pixel = state.pixel + good;
  }
  state.pixel += count_ones<kBytes>(values.starts);
  state.byte += values.count;
  if (values.last && !state.faulty && state.pixel < pixels) {
    state.faulty = true;
    state.report = {kTooFewPixels, state.byte, state.pixel};
  }
  return accepted;
}

template <int kBytes, int kWidth>
void compact_pixels(hls::stream<Values<kBytes>>& values, uint32_t frame_count, uint32_t pixels,
                    hls::stream<Pixels<kWidth>>& vectors, hls::stream<Report>& reports) {
  static_assert(kBytes <= kWidth && is_power_of_two(kWidth), "a word fills at most one vector");
  const uint32_t groups = pixels / kWidth + (pixels % kWidth != 0 ? 1 : 0);
each_frame:
  for (uint32_t frame = 0; frame < frame_count; ++frame) {
    CompactState<kWidth> state;
#pragma HLS ARRAY_PARTITION variable = state.vector.held complete dim = 1
    uint32_t sent = 0;
    bool last = false;
  each_word:
    while (!last) {
#pragma HLS PIPELINE II = 1
      Values<kBytes> word = values.read();
#pragma HLS ARRAY_PARTITION variable = word.value complete dim = 1
      const uint32_t accepted = accept_codes(state, word, pixels);
      close_gaps(word.value, accepted);
      Pixels<kWidth> full;
      if (pack(state.vector, word.value, count_ones<kBytes>(accepted), false, full)) {
        vectors.write(full);
        ++sent;
      }
      last = word.last;
    }
  fill_up:
    for (uint32_t vector = sent; vector < groups; ++vector) {
#pragma HLS PIPELINE II = 1
      const int32_t nothing[kBytes] = {};
      Pixels<kWidth> full;
      pack(state.vector, nothing, 0, true, full);
      vectors.write(full);
    }
    reports.write(state.report);
  }
}

}  // namespace kernels
