// The splitting stage: split_blocks.hpp over the frames of a launch, and the engines' turns.
#pragma once

#include <hls_stream.h>

#include "split_blocks.hpp"

namespace kernels {

template <int kEngines>
inline void deal_word(hls::stream<BlockWord> (&words)[kEngines], uint32_t engine, const BlockWord& word) {
#pragma HLS INLINE
each_engine:
  for (uint32_t i = 0; i < kEngines; ++i) {
#pragma HLS UNROLL
    if (i == engine) words[i].write(word);
  }
}

inline BlockWord word_without_block(uint8_t kind) {
#pragma HLS INLINE
  const BlockWord word = {{0}, 0, true, {0, kGood, 0, kind}};
  return word;
}

template <int kEngines>
void deal_blocks(hls::stream<uint32_t>& sizes, hls::stream<Beat>& beats, uint32_t frame_count,
                 uint32_t pixels, uint32_t pixel_shift, hls::stream<BlockWord> (&words)[kEngines]) {
each_frame:
  for (uint32_t frame = 0; frame < frame_count; ++frame) {
    SplitState state;
    uint32_t engine = 0;
    state.left = sizes.read();
    state.unread = beats_of(state.left);
    state.pixels = pixels;
    if (state.unread > 0) {
      state.beat = beats.read();
      --state.unread;
    }
    if (state.unread > 0) {
      state.next = beats.read();
      --state.unread;
    }
  each_word:
    while (state.mode != kFrameSplit) {
#pragma HLS PIPELINE II = 1
      BlockWord word;
      uint32_t taken;
      if (split_step(state, pixel_shift, word, taken)) {
        deal_word(words, engine, word);
        if (word.last) engine = engine + 1 == kEngines ? 0 : engine + 1;
      }
      state.byte += taken;
      state.left -= taken;
      state.at += taken;
      if (state.at >= kBeatBytes) {
        state.at -= kBeatBytes;
        state.beat = state.next;
        if (state.unread > 0) {
          state.next = beats.read();
          --state.unread;
        }
      }
    }
  end_frame:
    for (uint32_t i = 0; i < kEngines; ++i) {
#pragma HLS PIPELINE II = 1
      deal_word(words, i, word_without_block(kNoBlock));
    }
  }
end_launch:
  for (uint32_t i = 0; i < kEngines; ++i) {
#pragma HLS PIPELINE II = 1
    deal_word(words, i, word_without_block(kNoMore));
  }
}

}  // namespace kernels
