// Splits chunks of bitshuffle-LZ4 into their blocks, and deals these to the engines in turn.
//
// A chunk: decoded bytes (big endian, 8 bytes), bytes of a block (4; 0: 8192), then of each block its length
// (4) and its LZ4; pixels that do not fill 8 follow as they are. In: sizes, beats. Out: words of blocks as
// block_streams.hpp says, whatever the payload holds. II = 1 a word, the header and a length one each; the
// feedback is the place in the beats.
#pragma once

#include <hls_stream.h>

#include "block_streams.hpp"

namespace kernels {

enum SplitMode : uint8_t { kReadHeader, kReadLength, kSendBlock, kSkipRest, kFrameSplit };

struct SplitState {
  Beat beat;
  Beat next;
  uint32_t at = 0;      // of the two beats: the next byte
  uint32_t byte = 0;    // the same, of the payload
  uint32_t left = 0;    // bytes of the payload from there on
  uint32_t unread = 0;  // beats
  uint32_t pixels = 0;  // not yet in a block
  uint32_t block = 0;   // pixels of a full one
  uint32_t length = 0;  // bytes of this block that were not sent yet
  uint8_t mode = kReadHeader;
  BlockInfo info = {0, kGood, 0, kShuffled};
};

template <int kCount>
inline uint64_t big_endian(const uint8_t (&byte)[kWordBytes], int first) {
#pragma HLS INLINE
  uint64_t number = 0;
join:
  for (int i = 0; i < kCount; ++i) {
#pragma HLS UNROLL
    number = number << 8 | byte[first + i];
  }
  return number;
}

// The stored block: after a fault without pixels.
inline void begin_stored(SplitState& state, uint32_t byte, uint32_t status, uint32_t bytes) {
#pragma HLS INLINE
  state.info = {byte, status, static_cast<uint16_t>(bytes), kStored};
  state.length = bytes;
  state.mode = kSendBlock;
}

// What follows a block or the header, which ends at `byte` with `left` bytes after it.
inline void begin_next(SplitState& state, uint32_t byte, uint32_t left, uint32_t pixel_shift) {
#pragma HLS INLINE
  const uint32_t rest = state.pixels << pixel_shift;
  if (state.pixels >= 8) {
    state.mode = kReadLength;
  } else if (left < rest) {
    begin_stored(state, byte, kTruncated, 0);
  } else if (left > rest) {
    begin_stored(state, byte + rest, kTrailingBytes, rest);
  } else {
    begin_stored(state, byte, kGood, rest);
  }
}

// One clock: looks at the next bytes and says how many it took; true if `word` is to be sent.
inline bool split_step(SplitState& state, uint32_t pixel_shift, BlockWord& word, uint32_t& taken) {
#pragma HLS INLINE
  taken = 0;
gather:
  for (uint32_t i = 0; i < kWordBytes; ++i) {
#pragma HLS UNROLL
    const uint32_t at = state.at + i;
    word.byte[i] = at < kBeatBytes ? state.beat.byte[at % kBeatBytes] : state.next.byte[at % kBeatBytes];
  }
  const uint32_t head = static_cast<uint32_t>(big_endian<4>(word.byte, 0));
  const uint32_t said = static_cast<uint32_t>(big_endian<4>(word.byte, 8));
  const uint32_t block_bytes = said == 0 ? kBlockBytes : said;
  const uint32_t least = 8u << pixel_shift;
  // A block is no larger than its frame, whatever the header says.
  const bool fits =
      block_bytes <= kBlockBytes || state.pixels <= static_cast<uint32_t>(kBlockBytes) >> pixel_shift;
  const bool supported = fits && (block_bytes & (least - 1)) == 0;
  bool sends = false;
  if (state.mode == kReadHeader) {
    taken = 12;
    state.block = block_bytes >> pixel_shift;
    if (state.left < 12) {
      begin_stored(state, state.left, kTruncated, 0);
    } else if (big_endian<8>(word.byte, 0) != uint64_t{state.pixels} << pixel_shift) {
      begin_stored(state, 0, kWrongChunkSize, 0);
    } else if (!supported) {
      begin_stored(state, 8, kBlockUnsupported, 0);
    } else {
      begin_next(state, 12, state.left - 12, pixel_shift);
    }
  } else if (state.mode == kReadLength) {
    taken = 4;
    const uint32_t whole = state.pixels < state.block ? state.pixels & ~7u : state.block;
    state.info = {state.byte, kGood, static_cast<uint16_t>(whole << pixel_shift), kShuffled};
    state.length = head;
    state.mode = kSendBlock;
    if (state.left < 4) {
      begin_stored(state, state.byte, kTruncated, 0);
    } else if (head > state.left - 4) {
      begin_stored(state, state.byte, kBlockPastEnd, 0);
    } else {
      state.pixels -= whole;
    }
  } else if (state.mode == kSendBlock) {
    sends = true;
    word.last = state.length <= kWordBytes;
    word.count = word.last ? state.length : kWordBytes;
    word.info = state.info;
    taken = word.count;
    state.length -= word.count;
    if (word.last && state.info.kind == kShuffled) {
      begin_next(state, state.byte + word.count, state.left - word.count, pixel_shift);
    } else if (word.last) {
      state.mode = kSkipRest;
    }
  } else if (state.unread > 0) {
    taken = kBeatBytes;
  } else {
    state.mode = kFrameSplit;
  }
  return sends;
}

}  // namespace kernels
