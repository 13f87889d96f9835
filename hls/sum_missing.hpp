// Sums what invalid pixels take from the plan's totals: count, normalisation and dark of their shares.
//
// In: shares of invalid pixels; corrections in memory. Out: rows_of(bins) rows and the number of invalid
// pixels a frame. II = 1 a share and a row, by forwarding as in integrate.hpp.
#pragma once

#include <hls_stream.h>

#include "accumulate.hpp"
#include "shares.hpp"

namespace kernels {

constexpr int kMissing = 3;  // count, normalization, dark

inline void add_missing(const Footprint& share, const Correction& correction,
                        InFlight<kMissing> (&recent)[kBanks], int64_t (&sums)[kBanks][kMissing][kRows]) {
#pragma HLS INLINE
each_bank:
  for (uint32_t bank = 0; bank < kBanks; ++bank) {
#pragma HLS UNROLL
    const BankShare part = share_of_bank(share, bank);
    if (part.weight != 0) {
      const int64_t weight = part.weight;
      const Sums<kMissing> change = {{weight, weight * correction.normalization, weight * correction.dark}};
      Sums<kMissing> stored;
    load:
      for (int q = 0; q < kMissing; ++q) {
#pragma HLS UNROLL
        stored.of[q] = sums[bank][q][part.row];
      }
      const Sums<kMissing> sum = add_forwarded(recent[bank], part.row, stored, change);
    store:
      for (int q = 0; q < kMissing; ++q) {
#pragma HLS UNROLL
        sums[bank][q][part.row] = sum.of[q];
      }
    }
  }
}

inline MissingRow drain_missing(uint32_t row, int64_t (&sums)[kBanks][kMissing][kRows]) {
#pragma HLS INLINE
  MissingRow out;
each_bank:
  for (int bank = 0; bank < kBanks; ++bank) {
#pragma HLS UNROLL
    out.count[bank] = sums[bank][0][row];
    out.normalization[bank] = sums[bank][1][row];
    out.dark[bank] = sums[bank][2][row];
  clear:
    for (int q = 0; q < kMissing; ++q) {
#pragma HLS UNROLL
      sums[bank][q][row] = 0;
    }
  }
  return out;
}

inline void sum_missing(const Correction* corrections, hls::stream<Rejected>& shares, uint32_t frame_count,
                        uint32_t bins, hls::stream<MissingRow>& rows, hls::stream<uint32_t>& invalid_counts) {
  int64_t sums[kBanks][kMissing][kRows];
#pragma HLS ARRAY_PARTITION variable = sums complete dim = 1
#pragma HLS ARRAY_PARTITION variable = sums complete dim = 2
#pragma HLS BIND_STORAGE variable = sums type = ram_2p impl = uram
  const uint32_t row_count = rows_of(bins);
clear_rows:
  for (uint32_t row = 0; row < row_count; ++row) {
#pragma HLS PIPELINE II = 1
    drain_missing(row, sums);
  }
each_frame:
  for (uint32_t frame = 0; frame < frame_count; ++frame) {
    InFlight<kMissing> recent[kBanks];
#pragma HLS ARRAY_PARTITION variable = recent complete dim = 0
  forget_banks:
    for (int bank = 0; bank < kBanks; ++bank) {
#pragma HLS UNROLL
      forget(recent[bank]);
    }
    uint32_t invalid = 0;
    bool last = false;
  each_share:
    while (!last) {
#pragma HLS PIPELINE II = 1
      // add_forwarded covers the sums that are read again before they are written.
#pragma HLS DEPENDENCE variable = sums type = inter direction = RAW distance = 7 dependent = true
      const Rejected item = shares.read();
      if (!item.last) add_missing(item.share, corrections[item.pixel], recent, sums);
      if (item.share.closes) ++invalid;
      last = item.last;
    }
  each_row:
    for (uint32_t row = 0; row < row_count; ++row) {
#pragma HLS PIPELINE II = 1
      rows.write(drain_missing(row, sums));
    }
    invalid_counts.write(invalid);
  }
}

}  // namespace kernels
