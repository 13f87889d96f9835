// Decodes the sequences of a block: kCopyBytes a clock, literals or a piece of a match.
//
// The decoded bytes lie in the engine's memory of the block, of which the two rows that a clock touches are
// written in every clock. A match is read from there, if it lies so far back that the memory surely has it;
// the last kCopyWindow bytes are also in registers, so that nothing ever waits. A match that overlaps itself
// repeats its first bytes: all of a clock's are taken from the window at once, byte i from i mod offset.
#pragma once

#include "block_streams.hpp"

namespace kernels {

// The reach of kCopyWindow in clocks. A row that is read from the memory ends at most 31 bytes after its
// first byte, which is kCopyWindow + 1 or more bytes back; a clock adds at most kCopyBytes. So it was written
// this many clocks ago or more.
constexpr int kCopyDistance = (kCopyWindow - 2 * (kCopyBytes - 1) + kCopyBytes) / kCopyBytes;

struct CopyRow {
  uint8_t byte[kCopyBytes];
};

struct CopyState {
  uint8_t window[kCopyWindow];  // newest first
  uint32_t position = 0;        // decoded bytes
  uint32_t match = 0;           // bytes still to be copied
  uint32_t offset = 1;
  bool last = false;  // of the block's sequences
};

// i mod offset, of numbers below kCopyBytes: a table of 4 bits when i is a constant.
inline uint32_t remainder_of(uint32_t i, uint32_t offset) {
#pragma HLS INLINE
  uint32_t rest = i;
halve:
  for (uint32_t times = kCopyBytes / 2; times > 0; times /= 2) {
#pragma HLS UNROLL
    if (rest >= times * offset) rest -= times * offset;
  }
  return rest;
}

// Bytes [at, at + kCopyBytes) of a block, from the banks of its even and odd rows.
inline CopyRow read_bytes(const CopyRow (&bank)[2][kCopyRows], uint32_t at) {
#pragma HLS INLINE
  const uint32_t row = at / kCopyBytes;
  const CopyRow even = bank[0][(row + 1) / 2 % kCopyRows];
  const CopyRow odd = bank[1][row / 2 % kCopyRows];
  CopyRow bytes;
rotate:
  for (uint32_t i = 0; i < kCopyBytes; ++i) {
#pragma HLS UNROLL
    const uint32_t from = at % kCopyBytes + i;
    const bool is_odd = (row + from / kCopyBytes) % 2 != 0;
    bytes.byte[i] = is_odd ? odd.byte[from % kCopyBytes] : even.byte[from % kCopyBytes];
  }
  return bytes;
}

// What a clock writes: the row of its first byte and the one after.
struct CopyOut {
  uint32_t row;
  CopyRow rows[2];
};

// `sequence`: taken in this clock, if the match before is done; else without literals. `stored`: what the
// memory has where the match begins.
inline CopyOut copy_step(CopyState& state, const Sequence& sequence, const CopyRow& stored) {
#pragma HLS INLINE
  const uint32_t literals = sequence.literals;
  const uint32_t piece = state.match < kCopyBytes ? state.match : kCopyBytes;
  const uint32_t count = literals > 0 ? literals : piece;
  uint8_t fresh[kCopyBytes];
#pragma HLS ARRAY_PARTITION variable = fresh complete dim = 1
choose:
  for (uint32_t i = 0; i < kCopyBytes; ++i) {
#pragma HLS UNROLL
    const uint32_t ahead = state.offset < kCopyBytes ? remainder_of(i, state.offset) : i;
    const uint8_t near = state.window[(state.offset - 1 - ahead) % kCopyWindow];
    fresh[i] = literals > 0 ? sequence.literal[i] : state.offset <= kCopyWindow ? near : stored.byte[i];
  }
  uint8_t window[kCopyWindow];
#pragma HLS ARRAY_PARTITION variable = window complete dim = 1
shift:
  for (uint32_t i = 0; i < kCopyWindow; ++i) {
#pragma HLS UNROLL
    window[i] = i < count ? fresh[(count - 1 - i) % kCopyBytes] : state.window[(i - count) % kCopyWindow];
  }
  CopyOut out;
  out.row = state.position / kCopyBytes;
  const uint32_t ahead = state.position % kCopyBytes + count;  // of the row's start
cut_rows:
  for (uint32_t i = 0; i < kCopyBytes; ++i) {
#pragma HLS UNROLL
    out.rows[0].byte[i] = window[(ahead - 1 - i) % kCopyWindow];
    out.rows[1].byte[i] = window[(ahead - 1 - kCopyBytes - i) % kCopyWindow];
  }
keep:
  for (uint32_t i = 0; i < kCopyWindow; ++i) {
#pragma HLS UNROLL
    state.window[i] = window[i];
  }
  state.position += count;
  if (literals == 0) state.match -= piece;
  return out;
}

inline void write_rows(CopyRow (&bank)[2][kCopyRows], const CopyOut& out) {
#pragma HLS INLINE
  const bool is_odd = out.row % 2 != 0;
  const uint32_t even = (out.row + 1) / 2;
  const uint32_t odd = out.row / 2;
  // There is no row after the last.
  if (even < kCopyRows) bank[0][even] = is_odd ? out.rows[1] : out.rows[0];
  if (odd < kCopyRows) bank[1][odd] = is_odd ? out.rows[0] : out.rows[1];
}

}  // namespace kernels
