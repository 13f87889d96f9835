// Multiplies pixels by their shares and adds them to bins, kLanes pixels a clock.
//
// Each lane has sums of its own, in four banks, so that nothing collides; two sets take turns, so that the
// sums of a frame are added over the lanes and sent while the next frame is summed. The table has one beat
// for kLanes pixels, or several where a pixel touches more than three bins: the pixels then wait.
//
// integrate_frames.hpp has the stage. In: vectors of pixels, table beats, one_counts. Out: rows_of(bins) rows
// a frame; the beats with invalid pixels and one that is the last, a frame. II = 1 a beat; the feedback
// through the memories is solved by forwarding.
#pragma once

#include <hls_stream.h>

#include "accumulate.hpp"
#include "shares.hpp"

namespace kernels {

constexpr int kSets = 2;
constexpr int kQuantities = kVariance ? 2 : 1;

// The scalars of a launch that decide about values. All limits are inclusive.
struct Screen {
  int64_t lowest;
  int64_t highest;
  int64_t dummy_lowest;
  int64_t dummy_highest;
  bool is_signed;
};

// And those that turn values into sums.
struct Scale {
  uint32_t whole;         // the weights of a pixel: 2^weight_bits
  uint32_t square_shift;  // 2 weight_bits - variance_bits
  int64_t one_count;
};

struct IntegrateState {
  Pixels<kLanes> vector;
  uint32_t remaining[kLanes];
  uint32_t first_pixel;
  bool fresh;  // the next beat is the first of its pixels
  InFlight<kQuantities> recent[kLanes][kBanks];
};

// Before the first beat of a frame.
inline void begin_frame(IntegrateState& state) {
#pragma HLS INLINE
  state.first_pixel = 0;
  state.fresh = true;
each_lane:
  for (int lane = 0; lane < kLanes; ++lane) {
#pragma HLS UNROLL
    state.vector.value[lane] = 0;
    state.remaining[lane] = 0;
  each_bank:
    for (int bank = 0; bank < kBanks; ++bank) {
#pragma HLS UNROLL
      forget(state.recent[lane][bank]);
    }
  }
}

inline int64_t widen(int32_t value, bool is_signed) {
#pragma HLS INLINE
  return is_signed ? int64_t{value} : int64_t{static_cast<uint32_t>(value)};
}

inline bool accepts(const Screen& screen, int64_t raw) {
#pragma HLS INLINE
  const bool dummy = raw >= screen.dummy_lowest && raw <= screen.dummy_highest;
  return raw >= screen.lowest && raw <= screen.highest && !dummy;
}

inline Sums<kQuantities> weigh(uint32_t weight, int64_t raw, const Scale& scale) {
#pragma HLS INLINE
  Sums<kQuantities> change;
  change.of[0] = int64_t{weight} * raw;
  if (kVariance) {
    const int64_t counts = raw > scale.one_count ? raw : scale.one_count;
    change.of[kQuantities - 1] = square_weight(weight, scale.square_shift) * counts;
  }
  return change;
}

// One clock of one bank: in the set that is added to, part of a share; in the other, if `drains`, a row is
// taken out. Every memory is read and written at most once, at the same row. What comes back are the sums
// taken out.
inline Sums<kQuantities> turn_bank(uint32_t set, const BankShare& part, const Sums<kQuantities>& change,
                                   bool drains, uint32_t drained_row, InFlight<kQuantities>& recent,
                                   int64_t (&sums)[kSets][kQuantities][kRows]) {
#pragma HLS INLINE
  const bool adds = part.weight != 0;
  Sums<kQuantities> stored[kSets];
#pragma HLS ARRAY_PARTITION variable = stored complete dim = 1
load:
  for (uint32_t s = 0; s < kSets; ++s) {
#pragma HLS UNROLL
    const uint32_t row = s == set ? part.row : drained_row;
  load_each:
    for (int q = 0; q < kQuantities; ++q) {
#pragma HLS UNROLL
      stored[s].of[q] = (s == set ? adds : drains) ? sums[s][q][row] : 0;
    }
  }
  Sums<kQuantities> added = {};
  if (adds) added = add_forwarded(recent, part.row, stored[set], change);
store:
  for (uint32_t s = 0; s < kSets; ++s) {
#pragma HLS UNROLL
    const uint32_t row = s == set ? part.row : drained_row;
  store_each:
    for (int q = 0; q < kQuantities; ++q) {
#pragma HLS UNROLL
      if (s == set ? adds : drains) sums[s][q][row] = s == set ? added.of[q] : 0;
    }
  }
  return stored[1 - set];
}

inline void clear_row(uint32_t row, int64_t (&sums)[kLanes][kBanks][kSets][kQuantities][kRows]) {
#pragma HLS INLINE
each_lane:
  for (int lane = 0; lane < kLanes; ++lane) {
#pragma HLS UNROLL
  each_bank:
    for (int bank = 0; bank < kBanks; ++bank) {
#pragma HLS UNROLL
    each_sum:
      for (int i = 0; i < kSets * kQuantities; ++i) {
#pragma HLS UNROLL
        sums[lane][bank][i / kQuantities][i % kQuantities][row] = 0;
      }
    }
  }
}

}  // namespace kernels
