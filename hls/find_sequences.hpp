// The parsing stage of an engine: parse_sequences.hpp over the blocks of a launch.
#pragma once

#include <hls_stream.h>

#include "parse_sequences.hpp"

namespace kernels {

inline void take_word(ParseState& state, const BlockWord& word) {
#pragma HLS INLINE
shift:
  for (int i = 0; i < kWordBytes; ++i) {
#pragma HLS UNROLL
    state.byte[i] = state.byte[i + kWordBytes];
    state.byte[i + kWordBytes] = word.byte[i];
  }
  state.at -= kWordBytes;
  state.end = kWordBytes + word.count;
  state.complete = word.last;
  if (state.fresh) {
    state.info = word.info;
    state.mode = word.info.kind == kShuffled ? kToken : kLiterals;
    state.length = word.info.bytes;
  }
  state.fresh = false;
}

// One clock; true if `sequence` is to be sent.
inline bool parse_step(ParseState& state, Sequence& sequence) {
#pragma HLS INLINE
  uint8_t view[kWordBytes];
#pragma HLS ARRAY_PARTITION variable = view complete dim = 1
gather:
  for (uint32_t i = 0; i < kWordBytes; ++i) {
#pragma HLS UNROLL
    view[i] = state.byte[(state.at + i) % (2 * kWordBytes)];
  }
  const bool skips = state.mode == kSkipBlock;
  const uint32_t available = state.end - state.at;
  const Piece piece = read_piece(state, view, available);
  const uint32_t status = judge_piece(state, piece, available);
  const bool good = !skips && status == kGood;
copy:
  for (uint32_t i = 0; i < kCopyBytes; ++i) {
#pragma HLS UNROLL
    sequence.literal[i] = view[(i + piece.first) % kWordBytes];
  }
  sequence.literals = good ? piece.literals : 0;
  sequence.match = good ? piece.match : 0;
  sequence.offset = state.offset;
  sequence.last = good ? piece.ends : skips && state.complete;
  state.position += piece.literals + piece.match;
  // Of a faulty block word after word is dropped.
  state.at = good ? state.at + piece.taken : state.complete ? state.at : kWordBytes;
  if (!good && !skips) state.info.status = status;
  if (!good) state.mode = kSkipBlock;
  sequence.info = state.info;
  return sequence.literals > 0 || sequence.match > 0 || sequence.last;
}

inline void find_sequences(hls::stream<BlockWord>& words, hls::stream<Sequence>& sequences) {
  bool ended = false;
each_block:
  while (!ended) {
    ParseState state;
#pragma HLS ARRAY_PARTITION variable = state.byte complete dim = 1
    bool last = false;
  each_piece:
    while (!last) {
#pragma HLS PIPELINE II = 1
      if (state.at >= kWordBytes && !state.complete) take_word(state, words.read());
      if (state.at < kWordBytes || state.complete) {
        Sequence sequence;
        if (parse_step(state, sequence)) sequences.write(sequence);
        last = sequence.last;
      }
    }
    ended = state.info.kind == kNoMore;
  }
}

}  // namespace kernels
