// The integrating stage: integrate.hpp over the frames of a launch.
#pragma once

#include <hls_stream.h>

#include "integrate.hpp"

namespace kernels {

// What one clock gives: the invalid pixels of the beat, and a row of the frame before.
struct IntegrateOut {
  RejectedBeat rejected;
  FrameRow row;
};

// A beat of the table into the set of this frame (no beat: all entries 0), and a row out of the other set.
inline IntegrateOut integrate_step(IntegrateState& state, const TableBeat& beat, const Screen& screen,
                                   const Scale& scale, uint32_t set, bool drains, uint32_t drained_row,
                                   int64_t (&sums)[kLanes][kBanks][kSets][kQuantities][kRows]) {
#pragma HLS INLINE
  IntegrateOut out = {};
  out.rejected.first_pixel = state.first_pixel;
each_lane:
  for (int lane = 0; lane < kLanes; ++lane) {
#pragma HLS UNROLL
    const uint32_t remaining = state.fresh ? scale.whole : state.remaining[lane];
    const Footprint share = unpack_share(beat.entry[lane], remaining);
    state.remaining[lane] = remaining - share.weight[1] - share.weight[2];
    const int64_t raw = widen(state.vector.value[lane], screen.is_signed);
    const bool accepted = accepts(screen, raw);
    out.rejected.share[lane] = share;
    if (!accepted && has_weight(share)) out.rejected.rejected |= uint32_t{1} << lane;
  each_bank:
    for (int bank = 0; bank < kBanks; ++bank) {
#pragma HLS UNROLL
      BankShare part = share_of_bank(share, bank);
      if (!accepted) part.weight = 0;
      const Sums<kQuantities> drained = turn_bank(set, part, weigh(part.weight, raw, scale), drains,
                                                  drained_row, state.recent[lane][bank], sums[lane][bank]);
      out.row.signal[bank] += drained.of[0];
      if (kVariance) out.row.variance[bank] += drained.of[kQuantities - 1];
    }
  }
  state.fresh = (beat.entry[0] & kLastBeat) != 0;
  if (state.fresh) state.first_pixel += kLanes;
  return out;
}

inline void integrate_frames(hls::stream<Pixels<kLanes>>& vectors, hls::stream<TableBeat>& table,
                             hls::stream<uint32_t>& one_counts, uint32_t frame_count, uint32_t bins,
                             uint32_t beats, uint32_t weight_bits, uint32_t variance_bits, int64_t lowest,
                             int64_t highest, int64_t dummy_lowest, int64_t dummy_highest, uint32_t is_signed,
                             hls::stream<FrameRow>& rows, hls::stream<RejectedBeat>& rejected) {
  int64_t sums[kLanes][kBanks][kSets][kQuantities][kRows];
#pragma HLS ARRAY_PARTITION variable = sums complete dim = 1
#pragma HLS ARRAY_PARTITION variable = sums complete dim = 2
#pragma HLS ARRAY_PARTITION variable = sums complete dim = 3
#pragma HLS ARRAY_PARTITION variable = sums complete dim = 4
#pragma HLS BIND_STORAGE variable = sums type = ram_2p impl = uram
  const Screen screen = {lowest, highest, dummy_lowest, dummy_highest, is_signed != 0};
  const uint32_t row_count = rows_of(bins);

  // Only once a launch: draining leaves a set empty.
clear_rows:
  for (uint32_t row = 0; row < row_count; ++row) {
#pragma HLS PIPELINE II = 1
    clear_row(row, sums);
  }

  // One pass more than frames: a frame is drained while the next is added.
each_pass:
  for (uint32_t pass = 0; pass <= frame_count; ++pass) {
    const bool adds = pass < frame_count;
    const uint32_t to_add = adds ? beats : 0;
    const uint32_t to_drain = pass > 0 ? row_count : 0;
    const uint32_t steps = to_add > to_drain ? to_add : to_drain;
    const Scale scale = {uint32_t{1} << weight_bits, 2 * weight_bits - variance_bits,
                         adds ? int64_t{one_counts.read()} : 1};
    IntegrateState state;
#pragma HLS ARRAY_PARTITION variable = state.vector.value complete dim = 1
#pragma HLS ARRAY_PARTITION variable = state.remaining complete dim = 1
#pragma HLS ARRAY_PARTITION variable = state.recent complete dim = 0
    begin_frame(state);
  each_beat:
    for (uint32_t step = 0; step < steps; ++step) {
#pragma HLS PIPELINE II = 1
      // A sum may be read again before it is written: add_forwarded covers the kInFlight updates in between.
#pragma HLS DEPENDENCE variable = sums type = inter direction = RAW distance = 7 dependent = true
      TableBeat beat = {};
      if (step < to_add) {
        if (state.fresh) state.vector = vectors.read();
        beat = table.read();
      }
      const bool drains = step < to_drain;
      const IntegrateOut out = integrate_step(state, beat, screen, scale, pass % kSets, drains, step, sums);
      if (out.rejected.rejected != 0) rejected.write(out.rejected);
      if (drains) rows.write(out.row);
    }
    if (adds) {
      RejectedBeat end = {};
      end.last = true;
      rejected.write(end);
    }
  }
}
static_assert(kInFlight + 1 == 7, "the distance that DEPENDENCE states");

}  // namespace kernels
