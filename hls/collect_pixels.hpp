// Collects the blocks of all engines in turn, and gives their pixels in order.
//
// In: beats of planes. Out: groups_of(pixels) vectors and one report a frame, whatever the blocks hold: from
// the first faulty block on, pixels are zeros. II = 1 a beat and a vector.
#pragma once

#include <hls_stream.h>

#include "pack_vectors.hpp"
#include "unshuffle_pixels.hpp"

namespace kernels {

template <int kEngines>
inline PlaneBeat next_beat(hls::stream<PlaneBeat> (&planes)[kEngines], uint32_t engine) {
#pragma HLS INLINE
  PlaneBeat beat = {};
each_engine:
  for (uint32_t i = 0; i < kEngines; ++i) {
#pragma HLS UNROLL
    if (i == engine) beat = planes[i].read();
  }
  return beat;
}

struct CollectState {
  Tile gathered;         // what comes
  Tile leaving;          // what goes
  uint32_t group = 0;    // of the beats of a tile
  uint32_t unread = 0;   // pixels of the block that are in no tile yet
  bool fresh = true;     // the next beat is the first of its block
  bool full = false;     // the tile that comes
  bool dropped = false;  // the block
  bool faulty = false;   // a block so far
  uint32_t pixel = 0;    // of the frame, in all good blocks so far
  Report report = {kGood, 0, 0};
};

// Takes a beat; true if it was the last of its block.
inline bool gather_beat(CollectState& state, const PlaneBeat& beat, uint32_t pixel_shift) {
#pragma HLS INLINE
  const bool stored = beat.info.kind == kStored;
  const uint32_t pixels = static_cast<uint32_t>(beat.info.bytes) >> pixel_shift;
  const uint32_t last_group = stored ? 0 : (2u << pixel_shift) - 1;
  if (state.fresh) {
    // What is stored is good as far as it goes, also if its status says that bytes follow it.
    state.dropped = state.faulty || (!stored && beat.info.status != kGood);
    state.pixel += state.dropped ? 0 : pixels;
    state.unread = pixels;
    if (!state.faulty && beat.info.status != kGood) {
      state.faulty = true;
      state.report = {beat.info.status, beat.info.byte, state.pixel};
    }
  }
  put_planes(state.gathered, state.group, beat);
  state.fresh = false;
  const bool full = state.group == last_group;
  state.group = full ? 0 : state.group + 1;
  if (!full) return false;
  state.full = true;
  const uint32_t here = state.unread < kTilePixels ? state.unread : kTilePixels;
  state.gathered.pixels = state.dropped ? 0 : here;
  state.gathered.stored = stored;
  state.unread -= here;
  state.fresh = state.unread == 0;
  return state.fresh;
}

template <int kWidth, int kEngines>
void collect_pixels(hls::stream<PlaneBeat> (&planes)[kEngines], uint32_t frame_count, uint32_t pixels,
                    uint32_t pixel_shift, uint32_t is_signed, hls::stream<Pixels<kWidth>>& vectors,
                    hls::stream<Report>& reports) {
  static_assert(kTilePixels % kWidth == 0 && kWidth >= 8, "a tile is whole vectors, left-over pixels one");
  const uint32_t groups = pixels / kWidth + (pixels % kWidth != 0 ? 1 : 0);
each_frame:
  for (uint32_t frame = 0; frame < frame_count; ++frame) {
    CollectState state;
    PackState<kWidth> vector;
    state.leaving = {};
    uint32_t engine = 0;
    uint32_t sent = 0;
    bool last = false;
  each_vector:
    while (!last) {
#pragma HLS PIPELINE II = 1
      int32_t value[kWidth];
#pragma HLS ARRAY_PARTITION variable = value complete dim = 1
      const uint32_t count = state.leaving.pixels < kWidth ? state.leaving.pixels : kWidth;
      take_vector(state.leaving, pixel_shift, is_signed != 0, value);
      Pixels<kWidth> full;
      if (pack(vector, value, count, false, full)) {
        vectors.write(full);
        ++sent;
      }
      if (!state.full && !state.leaving.stored) {
        if (gather_beat(state, next_beat(planes, engine), pixel_shift))
          engine = engine + 1 == kEngines ? 0 : engine + 1;
      }
      // The stored block is the last of a frame.
      last = state.leaving.stored && state.leaving.pixels == 0;
      if (state.full && state.leaving.pixels == 0) {
        state.leaving = state.gathered;
        state.full = false;
      }
    }
  fill_up:
    for (uint32_t group = sent; group < groups; ++group) {
#pragma HLS PIPELINE II = 1
      const int32_t nothing[kWidth] = {};
      Pixels<kWidth> full;
      pack(vector, nothing, 0, true, full);
      vectors.write(full);
    }
    reports.write(state.report);
  }
}

}  // namespace kernels
