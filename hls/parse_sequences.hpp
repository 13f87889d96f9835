// Reads the sequences of LZ4 blocks and checks them.
//
// A sequence: a token with two numbers of 4 bits; if the first is 15, more bytes of literal length; literals;
// the match's offset (2 bytes); if the second is 15, more bytes of match length. The last one ends with its
// literals. One with fewer than 14 literals and a short match takes one clock; a byte of a length takes one,
// and 16 literals of a longer run. In: words of blocks. Out: sequences. II = 1: the feedback is from a token
// to the place of the next. As in the format, a match starts at least 12 bytes before the end of its block
// and leaves it 5.
#pragma once

#include "block_streams.hpp"

namespace kernels {

enum ParseMode : uint8_t { kToken, kLiteralLength, kLiterals, kOffset, kMatchLength, kSkipBlock };

constexpr uint32_t kLengthGoesOn = 15;    // in a token: bytes follow that are added
constexpr uint32_t kShortestMatch = 4;    // is not said
constexpr uint32_t kLastMatchStart = 12;  // bytes before the end of a block, at least
constexpr uint32_t kLastLiterals = 5;     // at the end of a block, at least
constexpr uint32_t kOneClockLiterals = kWordBytes - 3;

struct ParseState {
  uint8_t byte[2 * kWordBytes];   // the last two words
  uint32_t at = 2 * kWordBytes;   // next byte
  uint32_t end = 2 * kWordBytes;  // of the bytes that are there
  bool fresh = true;              // no word of the block was read yet
  bool complete = false;          // its last word was read
  uint8_t mode = kToken;
  uint32_t match_code = 0;  // of the token
  uint32_t length = 0;      // of literals or match, so far or still to come
  uint32_t offset = 0;
  uint32_t position = 0;  // decoded bytes so far
  BlockInfo info;
};

// What one clock takes of a sequence.
struct Piece {
  uint32_t taken;     // bytes
  uint32_t first;     // of them: where the literals start
  uint32_t literals;  // their number
  bool ends;          // the block's bytes end with them
  bool has_match;     // offset and length, or part of the length, are known
  uint32_t match;     // all of its length; 0: not yet
};

// Called if 17 bytes are there, or all that the block has. `state` gets mode and lengths of the next clock.
inline Piece read_piece(ParseState& state, const uint8_t (&view)[kWordBytes], uint32_t available) {
#pragma HLS INLINE
  const uint8_t mode = state.mode;
  const uint32_t run = view[0] >> 4;
  const bool more = view[0] == UINT8_MAX;
  Piece piece = {1, 0, 0, false, false, 0};
  bool run_ends = false;
  if (mode == kToken) {
    state.match_code = view[0] & 15;
    state.length = kLengthGoesOn;
    run_ends = run != kLengthGoesOn;
    piece.first = 1;
    piece.literals = run_ends ? run : 0;
    piece.taken = 1 + piece.literals;
    state.mode = run_ends ? kOffset : kLiteralLength;
  } else if (mode == kLiterals) {
    piece.literals = state.length < kCopyBytes ? state.length : kCopyBytes;
    piece.taken = piece.literals;
    state.length -= piece.literals;
    run_ends = state.length == 0;
    state.mode = run_ends ? kOffset : kLiterals;
  } else if (mode == kOffset) {
    piece.taken = 0;
  } else {
    state.length += view[0];
    if (!more) state.mode = mode == kLiteralLength ? kLiterals : kToken;
    piece.has_match = mode == kMatchLength;
    piece.match = mode == kMatchLength && !more ? state.length : 0;
  }
  piece.ends = run_ends && state.complete && available == piece.taken;
  if (mode == kOffset || (mode == kToken && run_ends && !piece.ends && run <= kOneClockLiterals)) {
    const bool goes_on = state.match_code == kLengthGoesOn;
    state.offset = view[piece.taken % kWordBytes] | view[(piece.taken + 1) % kWordBytes] << 8;
    state.length = state.match_code + kShortestMatch;
    state.mode = goes_on ? kMatchLength : kToken;
    piece.has_match = true;
    piece.match = goes_on ? 0 : state.length;
    piece.taken += 2;
  }
  return piece;
}

// Whether the block can have this; `state` is after the piece but for its position. So no length grows for
// long.
inline uint32_t judge_piece(const ParseState& state, const Piece& piece, uint32_t available) {
#pragma HLS INLINE
  const uint32_t bytes = state.info.bytes;
  const uint32_t position = state.position + piece.literals;
  const bool reads_run = state.mode == kLiteralLength || state.mode == kLiterals;
  if (piece.taken > 0 && available == 0) return kBlockCutShort;
  if (position + (reads_run ? state.length : 0) > bytes) return kLiteralsPastEnd;
  if (available < piece.first + piece.literals) return kBlockCutShort;
  if (piece.has_match && position == bytes) return kBlockSurplus;
  if (available < piece.taken || (piece.ends && position < bytes)) return kBlockCutShort;
  if (!piece.has_match) return kGood;
  if (state.offset == 0 || state.offset > position) return kWrongOffset;
  const bool starts_late = position + kLastMatchStart > bytes;
  return starts_late || position + state.length + kLastLiterals > bytes ? kMatchPastEnd : kGood;
}

}  // namespace kernels
