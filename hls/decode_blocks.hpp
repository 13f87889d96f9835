// The copying stage of an engine: copy_bytes.hpp over the blocks of a launch, and blocks out as bit planes.
//
// There are two memories: while a block is decoded into one, the block before is read from the other, 16
// bytes of a plane in each clock. In: sequences. Out: beats of planes, as block_streams.hpp says. II = 1 a
// piece of a sequence and a piece of a plane.
#pragma once

#include <hls_stream.h>

#include "copy_bytes.hpp"

namespace kernels {

// Where in a finished block the next piece of a plane lies.
struct PlaneState {
  uint32_t left = 0;         // pieces
  uint32_t planes = 0;       // less one
  uint32_t plane_bytes = 0;  // of each
  uint32_t plane = 0;
  uint32_t tile = 0;  // first byte in its plane
  uint32_t at = 0;    // of the block
  PlaneBeat beat;
};

inline void begin_planes(PlaneState& state, const BlockInfo& info, uint32_t pixel_shift) {
#pragma HLS INLINE
  const bool shuffled = info.kind == kShuffled;
  const uint32_t planes = shuffled ? 8u << pixel_shift : 4;
  state.plane_bytes = shuffled ? static_cast<uint32_t>(info.bytes) >> 3 >> pixel_shift : kCopyBytes;
  state.left = info.kind >= kNoBlock ? 0 : (state.plane_bytes + kCopyBytes - 1) / kCopyBytes * planes;
  state.planes = planes - 1;
  state.plane = 0;
  state.tile = 0;
  state.at = 0;
  state.beat.info = info;
}

// Adds a piece; true if the beat is full.
inline bool plane_step(PlaneState& state, const CopyRow& piece) {
#pragma HLS INLINE
  uint64_t low = 0;
  uint64_t high = 0;
join:
  for (int i = 0; i < 8; ++i) {
#pragma HLS UNROLL
    low |= uint64_t{piece.byte[i]} << (8 * i);
    high |= uint64_t{piece.byte[i + 8]} << (8 * i);
  }
  const uint32_t place = state.plane % 4;
  state.beat.low[place] = low;
  state.beat.high[place] = high;
  if (state.plane == state.planes) {
    state.plane = 0;
    state.tile += kCopyBytes;
    state.at = state.tile;
  } else {
    ++state.plane;
    state.at += state.plane_bytes;
  }
  --state.left;
  return place == 3;
}

inline void decode_blocks(hls::stream<Sequence>& sequences, uint32_t pixel_shift,
                          hls::stream<PlaneBeat>& planes) {
  CopyRow block[2][2][kCopyRows];
#pragma HLS AGGREGATE variable = block
#pragma HLS ARRAY_PARTITION variable = block complete dim = 1
#pragma HLS ARRAY_PARTITION variable = block complete dim = 2
#pragma HLS BIND_STORAGE variable = block type = ram_2p impl = bram
  PlaneState out;
  uint32_t set = 0;
  bool ended = false;
each_block:
  while (!ended) {
    CopyState state;
#pragma HLS ARRAY_PARTITION variable = state.window complete dim = 1
    BlockInfo info = {};
    bool last = false;
  each_clock:
    while (!last || out.left > 0) {
#pragma HLS PIPELINE II = 1
      // The window covers the rows that are read again before they are written.
#pragma HLS DEPENDENCE variable = block type = inter direction = RAW distance = kCopyDistance dependent = true
      if (!last) {
        Sequence sequence = {};
        if (state.match == 0) {
          sequence = sequences.read();
          state.match = sequence.match;
          state.offset = sequence.offset;
          state.last = sequence.last;
          info = sequence.info;
        }
        const CopyRow stored = read_bytes(block[set], state.position - state.offset);
        write_rows(block[set], copy_step(state, sequence, stored));
        last = state.last && state.match == 0;
      }
      if (out.left > 0) {
        if (plane_step(out, read_bytes(block[1 - set], out.at))) planes.write(out.beat);
      }
    }
    begin_planes(out, info, pixel_shift);
    ended = info.kind == kNoMore;
    set = 1 - set;
  }
}

}  // namespace kernels
