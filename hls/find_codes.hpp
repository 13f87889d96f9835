// Finds the codes of byte offset in kBytes bytes a clock.
//
// A code has 1, 3, 7 or 15 bytes, so where one starts depends on all before it. Every byte is decoded as if a
// code started there; a backward recursion then gives for each byte, were it a start, the starts that follow
// from it and where in the next word they go on. What is fed back from word to word is that one number, the
// entry.
//
// In: words. Out: codes, one for each window. II = 1: the only feedback is entry = exit[entry], one
// multiplexer.
#pragma once

#include <hls_stream.h>

#include "streams.hpp"

namespace kernels {

struct Code {
  uint8_t length;
  int64_t delta;
};

// The code that would start at byte `at`. Bytes beyond the frame may be anything: the code is then cut
// whatever its length, since every longer code starts like the shorter one that announces it.
template <int kSize>
inline Code decode_code(const uint8_t (&byte)[kSize], int at) {
#pragma HLS INLINE
  uint64_t tail = 0;
gather:
  for (int i = 0; i < 8; ++i) {
#pragma HLS UNROLL
    tail |= uint64_t{byte[at + 7 + i]} << (8 * i);
  }
  const auto delta8 = static_cast<int8_t>(byte[at]);
  const auto delta16 = static_cast<int16_t>(byte[at + 1] | byte[at + 2] << 8);
  const auto delta32 = static_cast<int32_t>(byte[at + 3] | byte[at + 4] << 8 | byte[at + 5] << 16 |
                                            static_cast<uint32_t>(byte[at + 6]) << 24);
  const auto delta64 = static_cast<int64_t>(tail);
  if (delta8 != INT8_MIN) return {1, delta8};
  if (delta16 != INT16_MIN) return {3, delta16};
  if (delta32 != INT32_MIN) return {7, delta32};
  // No two int32 differ by 2^33, so a difference beyond is out of range and stays so when it is limited.
  constexpr int64_t kLimit = int64_t{1} << 33;
  return {15, delta64 > kLimit ? kLimit : delta64 < -kLimit ? -kLimit : delta64};
}

struct FindCodesState {
  uint8_t entry = 0;  // byte of the word at which the first code starts; beyond the word: none does
};

template <int kBytes>
inline Codes<kBytes> find_codes_step(FindCodesState& state, const Window<kBytes>& window) {
#pragma HLS INLINE
  constexpr int kReach = kBytes + kLongestCode;
  Codes<kBytes> codes;
  uint32_t starts[kReach];
#pragma HLS ARRAY_PARTITION variable = starts complete dim = 1
  uint8_t exit[kReach];
#pragma HLS ARRAY_PARTITION variable = exit complete dim = 1
  uint8_t length[kBytes];
#pragma HLS ARRAY_PARTITION variable = length complete dim = 1
  uint32_t whole = 0;
beyond:
  for (int k = kBytes; k < kReach; ++k) {
#pragma HLS UNROLL
    starts[k] = 0;
    exit[k] = k - kBytes;
  }
speculate:
  for (int k = 0; k < kBytes; ++k) {
#pragma HLS UNROLL
    const Code code = decode_code(window.byte, k);
    codes.delta[k] = code.delta;
    length[k] = code.length;
    if (k + code.length <= window.reach) whole |= uint32_t{1} << k;
  }
recurse:
  for (int k = kBytes - 1; k >= 0; --k) {
#pragma HLS UNROLL
    starts[k] = (uint32_t{1} << k) | starts[k + length[k]];
    exit[k] = exit[k + length[k]];
  }
  const uint32_t inside = static_cast<uint32_t>((uint64_t{1} << window.count) - 1);
  codes.starts = starts[state.entry] & inside & whole;
  codes.cut = starts[state.entry] & inside & ~whole;
  codes.count = window.count;
  codes.last = window.last;
  state.entry = exit[state.entry];
  return codes;
}

template <int kBytes>
void find_codes(hls::stream<Window<kBytes>>& windows, uint32_t frame_count,
                hls::stream<Codes<kBytes>>& codes) {
each_frame:
  for (uint32_t frame = 0; frame < frame_count; ++frame) {
    FindCodesState state;
    bool last = false;
  each_word:
    while (!last) {
#pragma HLS PIPELINE II = 1
      const Window<kBytes> window = windows.read();
      codes.write(find_codes_step(state, window));
      last = window.last;
    }
  }
}

}  // namespace kernels
